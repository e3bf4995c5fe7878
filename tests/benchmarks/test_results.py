"""Results as files: what they say, when a ratio is lost, and that the pages are made from them."""

from __future__ import annotations

import json

import pytest
from benchmarks import record, report
from benchmarks.common import Line
from benchmarks.record import Ratios


def runs(*ratios: float, bound: str = "<= 2") -> Ratios:
    (found,) = record.gather([[Line("ours / theirs", ratio, bound, f"{ratio} s")] for ratio in ratios])
    return found


def test_runs_are_gathered_by_line() -> None:
    found = record.gather([[Line("a", 1.0, "", "x"), Line("b", 2.0, ">= 1", "")], [Line("a", 3.0, "", "y")]])
    assert [(line.name, line.ratios, line.detail) for line in found] == [("a", (1.0, 3.0), "y"), ("b", (2.0,), "")]


@pytest.mark.parametrize(
    ("bound", "met"),
    [
        ("<= 2", True),
        ("<= 1", False),
        ("< 1.5", False),
        (">= 1.5", True),
        (">= 2", False),
        ("> 1", True),
        ("> 1.5", False),
        ("", None),
    ],
)
def test_bounds_hold_the_median(bound: str, met: bool | None) -> None:
    assert runs(1.0, 1.5, 9.0, bound=bound).met is met


def test_a_loss_is_what_every_run_shows() -> None:
    stored = runs(1.0, 1.2)
    assert not runs(1.5, 3.0).is_lost(stored)
    assert runs(1.7, 3.0).is_lost(stored)
    assert not runs(30.0, bound="").is_lost(runs(1.0, bound=""))
    fast = runs(30.0, 40.0, bound=">= 8")
    assert not runs(20.0, 25.0, bound=">= 8").is_lost(fast)
    assert runs(20.0, 22.0, bound=">= 8").is_lost(fast)
    assert record.losses([runs(1.7)], [stored]) == ["ours / theirs: 1.70, it was 1.10 (bound <= 2)"]
    assert record.losses([runs(1.7)], []) == []


def test_files_come_back_as_written(tmp_path) -> None:
    line = runs(1.0, 1.25)
    path = record.write("some", record.circumstances() | {"lines": [line.as_json()]}, tmp_path)
    content = json.loads(path.read_text())
    assert record.lines_of(content) == [line]
    assert content["lines"][0] | {"detail": ""} == {
        "name": "ours / theirs", "ratios": [1.0, 1.25], "median": 1.125, "low": 1.0, "high": 1.25,
        "bound": "<= 2", "met": True, "detail": "",
    }  # fmt: skip
    assert content["machine"]["cores"] >= 1
    assert content["commit"]
    assert "numba" in content["versions"]
    assert record.read("none", tmp_path) == {"lines": []}


def test_tables_are_made_from_files(tmp_path) -> None:
    lines = [
        line.as_json()
        for line in record.gather([[Line("a / b, 10 events", 3.0, "<= 2", "x"), Line("c", 0.5, "", "")]])
    ]
    record.write("some", {"note": "long ago", "lines": lines}, tmp_path)
    text = "# T\n\n| line of some | what it means |\n|---|---|\n| `a / b` | how |\n| `d*e` | why |\n\nend\n"
    assert report.page(text, tmp_path).splitlines()[2:] == [
        "| line | what it means | bound | measured | times of the last run |",
        "|---|---|---|---:|---|",
        "| `a / b, 10 events` | how | <= 2 | 3.00, **not met** | x |",
        "| `d*e` | why | | not measured | |",
        "| `c` |  |  | 0.50 |  |",
        "",
        "`some`: long ago.",
        "",
        "end",
    ]


def test_pages_are_what_the_files_make_them() -> None:
    for path, text in report.pages():
        assert path.read_text() == text, f"run benchmarks/report.py: {path.name} is not what it makes"
