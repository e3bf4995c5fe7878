"""`sparkleene funnel`: the library's funnel over files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from tests.cli.command import sparkleene

import sparkleene as sk

EVENTS = pa.table(
    {
        "time": range(8),
        "type": ["View", "View", "Cart", "View", "Remove", "Buy", "Cart", "Buy"],
        "user": [1, 2, 1, 3, 1, 1, 2, 2],
        "page": ["/", "/", "/cart", "/", "/cart", "/till", "/cart", "/till"],
    }
)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    return tmp_path / "events.parquet"


@pytest.mark.parametrize(
    ("arguments", "users"),
    [
        (["View", "Cart", "Buy"], [3, 2, 2]),
        (["View", "Cart", "Buy", "--exclude", "Buy=Remove"], [3, 2, 1]),
        (["View", "Buy", "--exclude", "Remove", "--exclude", "Cart"], [3, 0]),
        (["home=page = '/'", "till=page = '/till'"], [3, 2]),
        (["View", "Cart", "Buy", "--order", "strict"], [3, 2, 1]),
        (["View", "Cart", "Buy", "--session", "2"], [3, 1, 1]),
        (["View", "Remove", "Cart", "Buy", "--any-order", "between"], [3, 2, 1, 1]),
        (["View", "Cart+", "Buy", "--touch", "every", "--where", "user < 2"], [1, 1, 1]),
    ],
)
def test_rows_are_those_of_the_library(
    arguments: list[str], users: list[int], events: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rows.csv"
    done = sparkleene("funnel", events, *arguments, "--by", "user", "--engine", "local", "-o", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert csv.read_csv(out).column("users").to_pylist() == users


def test_charts_and_measures(events: Path, tmp_path: Path) -> None:
    picture = tmp_path / "funnel.svg"
    done = sparkleene(
        "funnel", events, "View", "Cart", "--by", "user", "--measure", "users", "--breakdown", "page", "--format",
        "table", "--plot", "--plot-file", picture, "--engine", "local", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == [
        "page", "step", "name", "users", "share_of_first", "share_of_previous", "drop_off",
    ]  # fmt: skip
    assert "users by step and page" in done.stdout
    assert picture.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["View", "--measure", "all"], "measures is 'all'"),
        (["View", "Cart", "--exclude", "Cart=Buy", "--exclude", "Buy"], "some of --exclude name a step"),
        (["View", "Cart", "--exclude", "Pay=Buy"], "there is no such step"),
        (["View?", "Cart"], "the first step, 'View?', can be left out"),
        (["View", "Cart", "--window", "3"], "window is given without every"),
        (["A AND B"], "a step of a funnel is one pattern"),
    ],
)
def test_mistakes(arguments: list[str], message: str, events: Path) -> None:
    done = sparkleene("funnel", events, *arguments, "--by", "user", "--engine", "local", cwd=events.parent)
    assert done.returncode in (1, 2)
    assert message in done.stderr


def test_nobody(events: Path) -> None:
    done = sparkleene("funnel", events, "Vieuw", "Cart", "--by", "user", "--engine", "local", cwd=events.parent)
    assert done.returncode == 0
    assert "there are no trends in 8 events" in done.stderr
    assert [row["users"] for row in sk.funnel(["Vieuw", "Cart"], by="user").run(EVENTS.to_pylist())] == [0, 0]
