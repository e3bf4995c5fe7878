"""CSV files without a header, and without rows: on the local engine and on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import EVENTS, LOCAL, QUERY, ROWS, bad, good, sparkleene

NAMES = ("--columns", "time,type, user,x")
HEADER, _, BARE = EVENTS.partition("\n")
SPARK = ("--engine", "spark", "--master", "local[2]")


@pytest.fixture(params=[LOCAL, pytest.param(SPARK, marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The options that choose an engine."""
    if request.param == SPARK:
        request.getfixturevalue("commands_share_spark")
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder with files that have no header."""
    (tmp_path / "bare.csv").write_text(BARE)
    (tmp_path / "bare.tsv").write_text(BARE.replace(",", "\t"))
    return tmp_path


def test_columns_are_named(bare: Path, engine: tuple[str, ...]) -> None:
    assert good("run", QUERY, "bare.csv", *NAMES, *engine, cwd=bare) == ROWS
    (bare / "day").mkdir()
    lines = BARE.splitlines(keepends=True)
    (bare / "day" / "1.csv").write_text("".join(lines[:2]))
    (bare / "day" / "2.csv").write_text("".join(lines[2:]))
    (bare / "day" / "3.csv").write_text("")
    assert good("run", QUERY, "day", *NAMES, *engine, cwd=bare) == ROWS


def test_commands_that_name_columns(bare: Path) -> None:
    assert good("run", QUERY, "bare.tsv", *NAMES, *LOCAL, cwd=bare) == ROWS
    assert len(good("trends", QUERY, "bare.csv", *NAMES, cwd=bare).splitlines()) == 4
    good("check", QUERY, "--schema", "bare.csv", *NAMES, cwd=bare)
    assert "add --schema" in bad("check", QUERY, *NAMES, cwd=bare)


def test_names_that_do_not_fit(bare: Path) -> None:
    said = bad("run", QUERY, "bare.csv", "--columns", "time,type,user", *LOCAL, cwd=bare)
    assert "'bare.csv' has 4 columns, and names are given for 3" in said
    (bare / "a.json").write_text('{"time": 1, "type": "A"}\n')
    said = bad("run", QUERY, "a.json", *NAMES, *LOCAL, cwd=bare)
    assert "names of columns are for CSV files without a header, and this is json" in said


@pytest.mark.parametrize("more", [(), ("--one-type",), ("--type", "A")])
def test_a_first_line_of_data_is_told(bare: Path, more: tuple[str, ...]) -> None:
    said = bad("run", "RETURN COUNT(*) PATTERN A+ WHERE A.x > 3", "bare.csv", *more, *LOCAL, cwd=bare)
    assert "help: the first line looks like data: name the columns with --columns\n" in said


def test_a_quiet_day(tmp_path: Path, engine: tuple[str, ...]) -> None:
    (tmp_path / "quiet.csv").write_text(HEADER + "\n")
    (tmp_path / "bare.csv").write_text("")
    text = QUERY + " WITHIN 10 minutes SLIDE 5 minutes"
    header = "window_start,window_end,user,count,sum_A_x\n"
    for given in (["quiet.csv"], ["bare.csv", *NAMES]):
        assert run(text, *given, *engine, cwd=tmp_path) == header
        assert run(text, *given, *engine, "--output", f"out-{given[0]}/", cwd=tmp_path) == ""
        assert len(list((tmp_path / f"out-{given[0]}").iterdir())) == 1


def test_streams_whose_columns_are_not_named(tmp_path: Path) -> None:
    said = bad("stream", QUERY, "generate:stock", *NAMES, cwd=tmp_path)
    assert "--columns is for a folder" in said
    said = bad("stream", QUERY, ".", "--schema", "time timestamp, type string", *NAMES, cwd=tmp_path)
    assert "--option header=false" in said


@pytest.mark.spark
@pytest.mark.usefixtures("commands_share_spark")
def test_a_stream_of_files_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [f"2024-03-04T00:0{minute}:00Z,{type}" for minute, type in enumerate("AABAA")]
    (tmp_path / "in" / "1.csv").write_text("\n".join(lines))
    text = "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 3 minutes SLIDE 3 minutes"
    named = ("--columns", "time,type", "--watermark", "1 second", "--once", "--master", "local[2]")
    shown = good("stream", text, "in", *named, cwd=tmp_path).splitlines()
    assert len(shown) == 2 and shown[0].endswith(",count") and shown[1].endswith(",3"), shown


def run(*arguments: str, cwd: Path) -> str:
    """Run a query that finds nothing, which may be noted."""
    done = sparkleene("run", *arguments, cwd=cwd)
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr
    return done.stdout
