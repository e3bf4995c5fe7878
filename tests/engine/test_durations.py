"""Conditions with times and durations, run by the engine: any unit of time, kinds checked, columns called gap."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import sparkleene as sk

START = datetime(2024, 5, 1)
SECONDS = (0, 60, 200, 900, 1000)


def events(type: pa.DataType, **columns: Any) -> pa.Table:
    """Return events of types A and B in turn."""
    times = [START + timedelta(seconds=second) for second in SECONDS]
    return pa.table({"time": pa.array(times, type), "type": list("ABABA"), "x": [1, 5, 2, 8, 3], **columns})


def count(where: str, data: pa.Table, semantics: str = "any", **options: Any) -> float:
    query = sk.query(f"RETURN COUNT(*) PATTERN SEQ(A, B)+ SEMANTICS {semantics} WHERE {where}", **options)
    rows = query.run(data).to_pylist()
    return rows[0]["count"] if rows else 0.0


UNITS = [*(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")), pa.timestamp("ns", "UTC")]


@pytest.mark.parametrize("semantics", ["any", "next", "contiguous"])
@pytest.mark.parametrize("type", UNITS, ids=str)
@pytest.mark.parametrize(
    "where, counts",
    [
        ("GAP <= 5 minutes", (1, 1, 1)),
        ("GAP != 1 minute", (2, 2, 1)),
        ("A.x < NEXT(B).x OR GAP < 5 minutes", (4, 3, 3)),
        ("(NEXT(B).time - A.time) * A.x < 5 minutes", (1, 1, 1)),
        ("A.time + 1 minute >= NEXT(B).time", (1, 1, 1)),
        ("B.time - 1 minute <= PREV(A).time", (1, 1, 1)),
        ("GAP(A, B) / 1 second = 60", (1, 1, 1)),
        ("LEAST(A.time, NEXT(B).time) < '2024-05-01 00:03'", (2, 1, 1)),
    ],
)
def test_units_of_time(where: str, counts: tuple[int, ...], type: pa.DataType, semantics: str) -> None:
    assert count(where, events(type), semantics) == counts[("any", "next", "contiguous").index(semantics)]


def test_times_finer_than_microseconds() -> None:
    data = events(pa.timestamp("ns"))
    fine = pa.array([one + 1 for one in data["time"].cast(pa.int64()).to_pylist()]).cast(pa.timestamp("ns"))
    data = data.set_column(0, "time", fine)
    assert count("GAP <= 60 seconds", data) == 1
    with pytest.raises(sk.DataError, match="round the times to microseconds"):
        count("GAP != 60 seconds", data)


def test_times_that_are_numbers() -> None:
    data = pa.table({"time": SECONDS, "type": list("ABABA"), "x": [1, 5, 2, 8, 3]})
    assert count("GAP <= 300", data) == count("GAP <= 5 minutes", data, time_unit="seconds") == 1
    assert count("GAP <= 300", data, time_unit="milliseconds") == 1
    with pytest.raises(sk.DataError, match="pass time_unit"):
        count("GAP <= 5 minutes", data)


def test_a_column_called_gap() -> None:
    data = events(pa.timestamp("us"), Gap=[1, 2, 3, 4, 5])
    with pytest.raises(sk.QueryError, match="the column 'Gap'") as caught:
        count("gap < 5 minutes", data)
    assert "write GAP()" in (caught.value.diagnostics[0].help or "")
    assert count("GAP() <= 5 minutes", data) == 1
    assert count("A.Gap = 1", data) == 2
    assert count("A.x > 0", data, types={"A": "Gap % 2 = 1", "B": "Gap % 2 = 0"}) == 4


def test_types_by_functions_and_durations() -> None:
    data = events(pa.timestamp("us"), name=["ann", "Bob", "Al", "bea", None], sent=[START] * 5)
    types = {"A": "LOWER(name) LIKE 'a%' AND time - sent < 1 hour", "B": "UPPER(name) LIKE 'B%'"}
    assert count("A.x > 0", data, types=types) == 4
    with pytest.raises(sk.QueryError, match="GAP has no meaning in the definition of a type"):
        count("A.x > 0", data, types={"A": "GAP() < 3", "B": "x > 1"})


def test_size_of_a_difference() -> None:
    text = sk.query("RETURN COUNT(*) PATTERN A+ WHERE ABS(A.x - NEXT(A).x) <= 2").explain()
    assert "scan" not in text
    data = events(pa.timestamp("us"))
    assert [count(f"ABS(A.x - NEXT(B).x) {op} 4", data) for op in ("=", "<=", "<", ">=", ">")] == [1, 1, 0, 4, 2]
