"""What a run warns of: misspelt types, long scans, and ties that multiply trends."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.engine import notes


def warnings_of(asked: Any, table: pa.Table | Path, **options: Any) -> list[str]:
    """Run and return what was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asked.run(table, **options)
    assert all(one.category is sk.SparkleeneWarning for one in told)
    return [str(one.message) for one in told]


LETTERS = pa.table({"time": [1, 2, 3], "type": list("ABA")})


def test_a_type_that_no_event_has() -> None:
    query = sk.query("RETURN COUNT(*) PATTERN SEQ(A, Bb)")
    with pytest.warns(sk.SparkleeneWarning, match="no event is of the type 'Bb'") as told:
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        assert query.run(LETTERS).num_rows == 0
    assert (Path(told[0].filename), told[0].lineno) == (Path(__file__), line)
    with pytest.warns(sk.SparkleeneWarning, match="'Bb'"):
        query.trends(LETTERS)


def test_types_are_not_told_of_where_there_is_a_result() -> None:
    """A forbidden type may well be absent, and so may a type of an empty table."""
    assert warnings_of(sk.query("RETURN COUNT(*) PATTERN SEQ(A, NOT C, B)"), LETTERS) == []
    assert warnings_of(sk.query("RETURN COUNT(*) PATTERN SEQ(B, B)"), LETTERS) == []
    assert warnings_of(sk.query("RETURN COUNT(*) PATTERN Z"), LETTERS.slice(0, 0)) == []


def test_queries_of_a_workload_warn_once() -> None:
    both = sk.workload({name: f"RETURN COUNT(*) PATTERN SEQ({name}, Z)" for name in "AB"}, sharing="never")
    assert warnings_of(both, LETTERS) == ["no event is of the type 'Z'; the types are A, B"]


STOPS = pa.table({"time": [1, 2, 2, 3, 4, 4, 4], "car": [*"aaaaaab"]})


def test_ties_under_contiguous() -> None:
    """Of the last three, one is another car's."""
    text = "RETURN COUNT(*) PATTERN S+ SEMANTICS {} WHERE [car]"
    [told] = warnings_of(sk.query(text.format("contiguous"), type=None), STOPS)
    assert told.startswith("2 rows have the time of another row") and "pass tiebreak= with a column" in told
    assert warnings_of(sk.query(text.format("any"), type=None), STOPS) == []
    assert warnings_of(sk.query(text.format("contiguous"), type=None), STOPS.slice(2, 3)) == []


def test_ties_that_a_tie_break_leaves() -> None:
    query = sk.query("RETURN COUNT(*) PATTERN S+ SEMANTICS contiguous", type=None, tiebreak="n")
    table = pa.table({"time": [1, 1, 1], "n": [1, 2, 2]})
    [told] = warnings_of(query, table)
    assert told.startswith("1 row has the time") and "'n' does not order them" in told


def test_rows_without_a_label_do_not_multiply() -> None:
    table = pa.table({"time": [1, 2, 2, 3], "type": [*"ACBA"]})
    assert warnings_of(sk.query("RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS contiguous"), table) == []


def many(n: int) -> pa.Table:
    return pa.table({"time": np.arange(n), "x": np.ones(n)})


def test_a_long_scan_is_told_of_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is estimated for the rows that meet: short windows are fine."""
    monkeypatch.setattr(notes, "LONG", 0.01)
    text = "RETURN COUNT(*) PATTERN S+ WHERE {} {}"
    slow = sk.query(text.format("NEXT(S).x / S.x > 2", ""), type=None)
    [told] = warnings_of(slow, many(2000))
    assert "2,000 rows" in told and "NEXT(S).x / S.x > 2 does not separate the two events" in told
    assert (
        warnings_of(sk.query(text.format("NEXT(S).x / S.x > 2", "WITHIN 10 SLIDE 10"), type=None), many(2000)) == []
    )
    assert warnings_of(sk.query(text.format("NEXT(S).x - S.x > 2", ""), type=None), many(2000)) == []
    with warnings.catch_warnings(), pytest.raises(sk.SparkleeneWarning):  # before anything is compared
        warnings.simplefilter("error")
        slow.run(many(200_000))


def test_other_reasons_for_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "LONG", 0.0)
    three = " AND ".join(f"S.{name} < NEXT(S).{name}" for name in "xyz")
    table = pa.table({"time": [1, 2], "x": [1, 2], "y": [1, 2], "z": [1, 2]})
    [told] = warnings_of(sk.query(f"RETURN COUNT(*) PATTERN S+ WHERE {three}", type=None), table)
    assert "between S and S there are more than two inequalities" in told


def test_a_delimiter_that_was_guessed(tmp_path: Path) -> None:
    query = sk.query("RETURN COUNT(*) PATTERN A+")
    for name, sign, shown in (
        ("a.csv", ";", "';'"),
        ("b.csv", "\t", "tabs"),
        ("c.csv", ",", None),
        ("d.tsv", "\t", None),
    ):
        path = tmp_path / name
        path.write_text(f"time{sign}type\n1{sign}A\n")
        wanted = f"'{path}' has {shown} between its cells; if not, read it yourself and pass the table"
        assert warnings_of(query, path) == ([] if shown is None else [wanted])
    with pytest.warns(sk.SparkleeneWarning, match="has ';' between its cells"):
        query.trends(tmp_path / "a.csv")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        query.run([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert len(told) == 1  # of the first
