"""Data that does not fit gives an error to act on; odd data that does fit gives the right rows."""

from __future__ import annotations

import datetime as dt
import math
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases

import sparkleene as sk

Rows = list[dict[str, Any]]

LAST = 2**63 - 1
FIRST = -(2**63)


def table(types: str, times: Any = None, **columns: Any) -> pa.Table:
    """Return a row per letter, at the times 1, 2, ... or at those given."""
    given_times = list(range(1, len(types) + 1)) if times is None else times
    return pa.table({"time": given_times, "type": pa.array(list(types), pa.string()), **columns})


def run(text: str, data: Any, **options: Any) -> Rows:
    return sk.query(text, **options).run(data).to_pylist()  # type: ignore[no-any-return]


def count(clauses: str, data: Any, **options: Any) -> list[Any]:
    """Return the counts of A+ with more clauses."""
    return [row["n"] for row in run(f"RETURN COUNT(*) AS n PATTERN A+ {clauses}", data, **options)]


def code(text: str, data: Any, **options: Any) -> str:
    """Return the code of the one error that a query over some data has."""
    with pytest.raises(sk.SparkleeneError) as caught:
        sk.query(text, **options).run(data)
    (found,) = caught.value.diagnostics
    return found.code


A = "RETURN COUNT(*) AS n PATTERN A+"

# ---- columns that are not there, or twice


@pytest.mark.parametrize(
    ("text", "columns", "options", "near"),
    [
        (A, {"tme": [1], "type": ["A"]}, {}, "tme"),
        (A, {"time": [1], "typ": ["A"]}, {}, "typ"),
        (A, {"time": [1], "type": ["A"], "seq": [1]}, {"tiebreak": "sec"}, "seq"),
    ],
    ids=["time", "type", "tie-break"],
)
def test_missing_column(text: str, columns: Any, options: Any, near: str) -> None:
    with pytest.raises(sk.DataError) as caught:
        sk.query(text, **options).run(pa.table(columns))
    (found,) = caught.value.diagnostics
    assert found.code == "missing-column"
    assert found.help == f"did you mean '{near}'?"


@pytest.mark.parametrize(
    "text",
    [
        "RETURN SUM(A.prise) PATTERN A",
        "RETURN COUNT(*) PATTERN A WHERE A.prise > 1",
        "RETURN COUNT(*) PATTERN A+ WHERE A.prise < NEXT(A).price",
        "RETURN COUNT(*) PATTERN A WHERE [prise]",
        "RETURN COUNT(*) PATTERN A GROUP-BY A.prise",
    ],
)
def test_missing_attribute(text: str) -> None:
    with pytest.raises(sk.SparkleeneError) as caught:
        sk.query(text).run(table("A", price=[1]))
    (found,) = caught.value.diagnostics
    assert found.code == "unknown-attribute"
    assert found.help == "did you mean 'price'?"
    assert found.start is not None
    assert text[found.start : found.end].endswith("prise")


def test_missing_field_of_a_struct() -> None:
    assert code("RETURN SUM(A.p.z) PATTERN A", table("A", p=[{"x": 1}])) == "unknown-attribute"


def test_column_twice() -> None:
    twice = pa.table([pa.array([1]), pa.array(["A"]), pa.array([2])], names=["time", "type", "time"])
    assert code(A, twice) == "duplicate-column"
    unread = pa.table([pa.array([1]), pa.array(["A"]), *[pa.array([2])] * 2], names=["time", "type", "x", "x"])
    assert run(A, unread) == [{"n": 1.0}]


def test_no_columns() -> None:
    assert code(A, pa.table({})) == "missing-column"


# ---- columns of a wrong type

WRONG = {
    "text time": (A, table("AA", ["1", "2"]), "wrong-type"),
    "boolean time": (A, table("AA", [True, False]), "wrong-type"),
    "time of day": (A, table("AA", pa.array([1, 2], pa.time64("us"))), "wrong-type"),
    "decimal time": (A, table("AA", [Decimal("1.5"), Decimal("2.5")]), "wrong-type"),
    "NULL time": (A, table("AA", [1, None]), "null-time"),
    "NULL timestamp": (A, table("AA", pa.array([1, None], pa.timestamp("s"))), "null-time"),
    "NULL double time": (A, table("AA", [1.0, None]), "null-time"),
    "NaN time": (A, table("AA", [1.0, math.nan]), "nan-time"),
    "infinite time": (A, table("AA", [-math.inf, 1.0]), "nan-time"),
    "time beyond int64": (A, table("AA", pa.array([1, 2**63], pa.uint64())), "overflow"),
    "float type": (A, pa.table({"time": [1], "type": [1.5]}), "wrong-type"),
    "boolean type": (A, pa.table({"time": [1], "type": [True]}), "wrong-type"),
    "sum of text": ("RETURN SUM(A.x) PATTERN A", table("A", x=["a"]), "wrong-type"),
    "average of text": ("RETURN AVG(A.x) PATTERN A", table("A", x=["a"]), "wrong-type"),
    "sum of booleans": ("RETURN SUM(A.x) PATTERN A", table("A", x=[True]), "wrong-type"),
    "sum of times": ("RETURN SUM(A.x) PATTERN A", table("A", x=[dt.datetime(2024, 1, 1)]), "wrong-type"),
    "least list": ("RETURN MIN(A.x) PATTERN A", table("A", x=[[1]]), "wrong-type"),
    "text > number": (f"{A} WHERE A.x > 3", table("A", x=["a"]), "wrong-type"),
    "number = text": (f"{A} WHERE A.x = 'a'", table("A", x=[1]), "wrong-type"),
    "text > next number": (f"{A} WHERE A.x > NEXT(A).y", table("A", x=["a"], y=[1]), "wrong-type"),
    "time > text": (f"{A} WHERE A.x > 'noon'", table("A", x=[dt.datetime(2024, 1, 1)]), "wrong-type"),
    "text + number": (f"{A} WHERE A.x + 1 > 3", table("A", x=["a"]), "wrong-type"),
    "list key": (f"{A} GROUP-BY k", table("A", k=[[1]]), "wrong-type"),
    "struct key": (f"{A} GROUP-BY k", table("A", k=[{"x": 1}]), "wrong-type"),
    "clock without unit": (f"{A} WITHIN 2 SLIDE 2", table("A", pa.array([1], pa.timestamp("s"))), "unit-needed"),
    "number with unit": (f"{A} WITHIN 2 s SLIDE 2 s", table("A"), "unit-unknown"),
    "half of an integer": (f"{A} WITHIN 1.5 SLIDE 1.5", table("A"), "window-not-integer"),
    "overflow in a condition": (f"{A} WHERE A.x + A.x > 1", table("A", x=[2**62]), "overflow"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_type(case: str) -> None:
    text, data, expected = WRONG[case]
    assert code(text, data) == expected


CONVERT, QUOTES = "convert the column to numbers in the data", "put the constant in quotes"
TIME = "write times in quotes, like '2024-05-31' or '2024-05-31 23:59:59'"
DAY = dt.datetime(2024, 3, 1)


@pytest.mark.parametrize(
    ("where", "value", "advice"),
    [
        ("A.x > 3", "tall", QUOTES),
        ("A.x = 3", "tall", QUOTES),
        ("A.x = 3", None, QUOTES),
        ("A.x = 3", "10045", QUOTES),
        ("A.x > 3", "10045", CONVERT),
        ("A.x = 3", "1,000", CONVERT),
        ("A.x > 3", "12 km", CONVERT),
        ("-3 < A.x", " -12.50", CONVERT),
        ("A.x < 3", "$5", CONVERT),
        ("A.x < 3", "7 %", CONVERT),
        ("A.x < 3", "10.0.0.158", QUOTES),
        ("A.x > 2024", "2024-03-01", QUOTES),
        ("A.x = 2024-01", "2024-01", "put it in quotes: '2024-01'"),
        ("2024-01-31 >= A.x", "2024-01", "put it in quotes: '2024-01-31'"),
        ("A.x > 2024-03-01", DAY, "put it in quotes: '2024-03-01'"),
        ("A.x > 2024-03-01", DAY.replace(tzinfo=dt.UTC), "put it in quotes: '2024-03-01'"),
        ("A.x > 2024-03-01", DAY.date(), "put it in quotes: '2024-03-01'"),
        ("A.x > 2024", DAY, TIME),
        ("A.x > '3'", 3, "write the number without quotes"),
        ("A.x > NEXT(A).n", "12 km", "convert one of them in the data"),
    ],
)
def test_advice_for_comparisons(where: str, value: Any, advice: str) -> None:
    type = pa.string() if value is None else None
    data = table("A", x=pa.array([value], type), n=[1])
    with pytest.raises(sk.DataError) as caught:
        sk.query(f"{A} WHERE {where}").run(data)
    assert caught.value.diagnostics[0].help == advice


def test_advice_for_times_holds() -> None:
    for day in (DAY, DAY.replace(tzinfo=dt.UTC), DAY.date()):
        assert count("WHERE A.x >= '2024-03-01'", table("A", x=[day])) == [1.0]
        assert count("WHERE A.x > '2024-03-01'", table("A", x=[day])) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"numbers": "float"}, "bad-option"),
        ({"time_unit": "secs"}, "unknown-time-unit"),
        ({"offset": 0.5}, "bad-option"),
        ({"offset": dt.timedelta(seconds=1)}, "unit-unknown"),
        ({"offset": dt.timedelta(milliseconds=1), "time_unit": "seconds"}, "bad-option"),
    ],
    ids=str,
)
def test_wrong_option(options: Any, expected: str) -> None:
    assert code(f"{A} WITHIN 2 SLIDE 2", table("A"), **options) == expected


def test_tie_break_without_order() -> None:
    assert code(A, table("AA", s=[[1], [2]]), tiebreak="s") == "wrong-type"


def test_tie_break_without_values() -> None:
    assert code(A, table("AA", s=[1, None]), tiebreak="s") == "null-tiebreak"
    assert code(A, table("AA", s=[1.0, math.nan]), tiebreak="s") == "null-tiebreak"


def test_values_without_an_exact_form() -> None:
    text = "RETURN SUM(A.x) PATTERN A+"
    assert code(text, table("AA", x=[math.inf, 1.0]), numbers="exact") == "not-exact"
    assert code(text, table("AA", x=[FIRST, 1]), numbers="exact") == "not-exact"


# ---- little data

EVERYTHING = ["COUNT(*) AS n, SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x), COUNT(A), LOG2(COUNT(*))"]
WINDOWS = ["", "WITHIN 10 SLIDE 10", "WITHIN 10 SLIDE 5", "WITHIN 10", "WITHIN 4 EVENTS SLIDE 2 EVENTS"]


def empty(*, chunks: bool) -> pa.Table:
    kinds = {"time": pa.int64(), "type": pa.string(), "x": pa.float64(), "k": pa.string()}
    kinds["type" if chunks else "k"] = pa.dictionary(pa.int8(), pa.string())
    return pa.table(
        {name: pa.chunked_array([] if chunks else [pa.array([], kind)], kind) for name, kind in kinds.items()}
    )


@pytest.mark.parametrize("where", ["", "WHERE A.x < NEXT(A).x", "WHERE [A.k]"])
@pytest.mark.parametrize("window", WINDOWS)
def test_no_rows(window: str, where: str) -> None:
    text = f"RETURN {EVERYTHING[0]} PATTERN A+ {where} GROUP-BY k {window}"
    full = table("AA", x=[1.0, 2.0], k=["a", "a"])
    for numbers in ("double", "exact"):
        query = sk.query(text, numbers=numbers)  # type: ignore[arg-type]
        wanted = query.run(full).schema
        for chunks in (False, True):
            found = query.run(empty(chunks=chunks))
            assert found.num_rows == 0
            assert found.schema.names == wanted.names
            for name in wanted.names:
                assert found.schema.field(name).type == wanted.field(name).type, name


@pytest.mark.parametrize("window", WINDOWS)
def test_one_row(window: str) -> None:
    rows = run(f"RETURN {EVERYTHING[0]} PATTERN A+ WHERE A.x <= NEXT(A).x {window}", table("A", x=[3]))
    assert len(rows) == {"WITHIN 10 SLIDE 5": 2, "WITHIN 4 EVENTS SLIDE 2 EVENTS": 2}.get(window, 1)
    for row in rows:
        found = {name: value for name, value in row.items() if not name.startswith("window")}
        assert list(found.values()) == [1.0, 3.0, 3.0, 3, 3, 1.0, 0.0]


def test_nothing_but_a_time() -> None:
    assert run(A, pa.table({"time": [3, 1, 2]}), type=None) == [{"n": 7.0}]


def test_rows_without_a_type() -> None:
    assert run(A, pa.table({"time": [1, 2], "type": pa.nulls(2)})) == []
    assert run(A, pa.table({"time": [1, 2, 3], "type": ["A", None, "A"]})) == [{"n": 3.0}]
    assert count("SEMANTICS contiguous", pa.table({"time": [1, 2, 3], "type": ["A", None, "A"]})) == [2.0]


def test_attributes_that_are_always_null() -> None:
    for numbers in ("double", "exact"):
        (row,) = run(
            "RETURN SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x) PATTERN A+", table("AA", x=pa.nulls(2)), numbers=numbers
        )
        assert list(row.values()) == [None] * 4
    assert count("WHERE A.x < NEXT(A).x", table("AA", x=pa.nulls(2))) == [2.0]
    assert count("WHERE A.x = 1", table("AA", x=pa.nulls(2))) == []
    assert count("WHERE [x]", table("AA", x=pa.nulls(2))) == []


# ---- times


def test_unsorted_and_negative_times() -> None:
    shuffled = table("ABAB", [3, -2, -7, 5])
    assert run("RETURN COUNT(*) AS n PATTERN SEQ(A, B)", shuffled) == [{"n": 3.0}]
    rows = run(f"{A} WITHIN 3 SLIDE 2", table("AAA", [-1, -5, -4]))
    assert [(row["window_start"], row["n"]) for row in rows] == [(-6, 3.0), (-4, 1.0), (-2, 1.0)]


@pytest.mark.parametrize("window", ["WITHIN 10 SLIDE 10", "WITHIN 10 SLIDE 5", "WITHIN 5 SLIDE 10"])
def test_windows_at_the_ends_of_int64(window: str) -> None:
    for ends in ([LAST - 1, LAST], [FIRST, FIRST + 1], [FIRST, LAST]):
        assert code(f"{A} {window}", table("AA", ends)) == "overflow"
    for near in ((LAST - 100) // 10 * 10, (FIRST + 100) // 10 * 10):
        rows = run(f"{A} {window}", table("AA", [near, near + 1]))
        assert sum(row["n"] for row in rows) >= 2
        for row in rows:
            assert row["window_end"] - row["window_start"] == int(window.split()[1])
            assert row["window_start"] % int(window.split()[-1]) == 0
            assert row["window_start"] <= near + 1 and row["window_end"] > near


def test_windows_per_trigger_at_the_ends_of_int64() -> None:
    rows = run(f"{A} WITHIN 10", table("AA", [LAST - 1, LAST]))
    assert rows == [
        {"window_start": LAST - 11, "window_end": LAST - 1, "n": 1.0},
        {"window_start": LAST - 10, "window_end": LAST, "n": 3.0},
    ]
    assert code(f"{A} WITHIN 10", table("AA", [FIRST, FIRST + 1])) == "overflow"
    assert code(f"{A} WITHIN 10", table("AA", [FIRST, LAST])) == "overflow"


def test_all_of_int64_without_windows() -> None:
    assert run(A, table("AAA", [FIRST, 0, LAST])) == [{"n": 7.0}]


@pytest.mark.parametrize(
    ("offset", "start"), [(LAST, 7), (FIRST, 2), (10**30, 0), (-(10**30) + 1, 1), (2**64 + 5, 1)]
)
def test_far_offsets(offset: int, start: int) -> None:
    (row,) = run(f"{A} WITHIN 10 SLIDE 10", table("A", [5 + start]), offset=offset)
    assert (row["window_start"], row["window_end"]) == (start, start + 10)


def test_huge_windows() -> None:
    (row,) = run(f"{A} WITHIN {10**18} SLIDE {10**18}", table("AA", [1, 10**17]))
    assert row == {"window_start": 0, "window_end": 10**18, "n": 3.0}
    assert [row["n"] for row in run(f"{A} WITHIN {10**18}", table("AA", [1, 10**17]))] == [1.0, 3.0]
    (row,) = run(f"{A} WITHIN {10**18} EVENTS SLIDE {10**18} EVENTS", table("AA"))
    assert row["n"] == 3.0
    for text in (f"WITHIN {10**19} SLIDE {10**19}", f"WITHIN {10**19}"):
        assert code(f"{A} {text}", table("AA")) == "overflow"


@pytest.mark.parametrize("window", [f"WITHIN {10**18} SLIDE 1", f"WITHIN {10**12} SLIDE 3"])
def test_windows_beyond_number(window: str) -> None:
    begin = time.perf_counter()
    assert code(f"{A} {window}", table("AA")) == "too-many-windows"
    assert time.perf_counter() - begin < 20


def test_a_tiny_slide_over_few_rows() -> None:
    data = table("AB", [0, 10**9])
    rows = sk.query("RETURN COUNT(*) AS n PATTERN SEQ(A, B) WITHIN 100000 SLIDE 1").run(data)
    assert rows.num_rows == 0
    rows = sk.query(f"{A} WITHIN 100000 SLIDE 1").run(data)
    assert rows.num_rows == 100000
    assert rows["window_start"][0].as_py() == -99999


@pytest.mark.parametrize("step", [0.1, 0.25, 1.0, 1e-3, 1e9])
@pytest.mark.parametrize(("size", "slide"), [("0.3", "0.1"), ("1", "1"), ("0.7", "0.35"), ("3", "7")])
def test_windows_over_doubles_are_exact(step: float, size: str, slide: str) -> None:
    times = [k * step for k in range(-20, 40)]
    rows = run(f"RETURN COUNT(*) AS n PATTERN A WITHIN {size} SLIDE {slide}", table("A" * 60, times))
    found = {round(row["window_start"] / float(slide)): row["n"] for row in rows}
    expected: dict[int, float] = {}
    for t in map(Fraction, times):
        k = math.floor(t / Fraction(slide))
        while k * Fraction(slide) + Fraction(size) > t:
            expected[k] = expected.get(k, 0.0) + 1
            k -= 1
    assert found == expected


@pytest.mark.parametrize("size", ["0.3", "0.1", "1", "0.25", "2.7"])
@given(times=st.lists(st.integers(-50, 50).map(lambda k: k * 0.1) | st.floats(-5, 5), min_size=1, max_size=12))
@settings(max_examples=cases(30))
def test_windows_per_trigger_over_doubles_are_exact(size: str, times: list[float]) -> None:
    rows = run(f"RETURN COUNT(*) AS n PATTERN A WITHIN {size}", table("A" * len(times), times))
    expected = [
        float(sum(Fraction(t) - Fraction(size) < Fraction(u) <= Fraction(t) for u in times))
        for t in sorted({t + 0.0 for t in times})
    ]
    assert [row["n"] for row in rows] == expected


def test_large_doubles() -> None:
    assert count("WITHIN 0.3", table("AA", [1e300, 1e301])) == [1.0, 1.0]
    assert count("WITHIN 1", table("AA", [1e16, 1e16 + 2])) == [1.0, 1.0]
    assert code(f"{A} WITHIN 0.3 SLIDE 0.3", table("AA", [1e300, 1e301])) == "overflow"
    assert count("WITHIN 2 SLIDE 2", table("AA", [2.0**60, 2.0**60 + 512])) == [1.0, 1.0]
    assert count("", table("AA", [0.0, -0.0])) == [2.0]


def test_many_doubles_on_the_edges_of_windows() -> None:
    n = 50_000
    begin = time.perf_counter()
    rows = sk.query(f"{A} WITHIN 1 SLIDE 0.1").run(table("A" * n, np.arange(n) * 0.1))
    assert rows.num_rows == n + 9
    assert time.perf_counter() - begin < 30


# ---- kinds of times


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30"])
def test_timestamps(unit: str, zone: str | None) -> None:
    kind = pa.timestamp(unit, zone)
    ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    data = table("AAA", pa.array([k * ticks for k in (1, 2, 3)], pa.int64()).cast(kind))
    found = sk.query(f"{A} WITHIN 2 seconds SLIDE 2 seconds").run(data)
    assert found.schema.field("window_start").type == kind
    assert found["window_start"].cast(pa.int64()).to_pylist() == [0, 2 * ticks]
    assert found["window_end"].cast(pa.int64()).to_pylist() == [2 * ticks, 4 * ticks]
    assert found["n"].to_pylist() == [1.0, 3.0]
    per_trigger = sk.query(f"{A} WITHIN 2 seconds").run(data)
    assert per_trigger["window_start"].cast(pa.int64()).to_pylist() == [-ticks, 0, ticks]
    assert per_trigger["n"].to_pylist() == [1.0, 3.0, 3.0]


def test_windows_finer_than_timestamps() -> None:
    data = table("AAAA", pa.array([0, 1, 2, 3], pa.timestamp("s")))
    found = sk.query(f"{A} WITHIN 1500 milliseconds SLIDE 1500 milliseconds").run(data)
    assert found.schema.field("window_start").type == pa.timestamp("ms")
    assert found["n"].to_pylist() == [3.0, 1.0, 1.0]
    # a number counts the column's own unit, here seconds
    for offset in (1, dt.timedelta(seconds=1)):
        moved = sk.query(f"{A} WITHIN 1500 milliseconds SLIDE 1500 milliseconds", offset=offset).run(data)
        assert moved["window_start"].cast(pa.int64()).to_pylist() == [-500, 1000, 2500]
        assert moved["n"].to_pylist() == [1.0, 3.0, 1.0]
    far = table("A", pa.array([2**62], pa.timestamp("s")))
    assert code(f"{A} WITHIN 1 millisecond", far) == "overflow"


def test_dates_and_durations() -> None:
    days = table("AA", pa.array([1, 2], pa.date32()))
    rows = run(f"{A} WITHIN 2 days SLIDE 2 days", days)
    assert [(row["window_start"], row["n"]) for row in rows] == [
        (dt.date(1970, 1, 1), 1.0),
        (dt.date(1970, 1, 3), 1.0),
    ]
    hours = run(f"{A} WITHIN 36 hours SLIDE 36 hours", days)
    assert [row["window_start"] for row in hours] == [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 2, 12)]
    long = table("AA", pa.array([1, 2], pa.duration("s")))
    assert count("WITHIN 2 seconds SLIDE 2 seconds", long) == [1.0, 1.0]
    assert count("WITHIN 2 seconds SLIDE 2 seconds", table("AA"), time_unit="seconds") == [1.0, 1.0]
    assert count("WITHIN 2 seconds SLIDE 2 seconds", table("AA"), time_unit="milliseconds") == [3.0]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint32(), pa.uint64(), pa.float32()]
)
def test_numbers_of_any_width_as_times(kind: pa.DataType) -> None:
    data = table("AAA", pa.array([1, 2, 3], kind))
    found = sk.query(f"{A} WITHIN 200 SLIDE 100").run(data)
    assert found["window_start"].to_pylist() == [-100, 0]
    assert found["n"].to_pylist() == [7.0, 7.0]


# ---- kinds of keys and names


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        (pa.array([True, False, True, None]), [False, True]),
        (pa.array([b"y", b"x", b"y", None]), [b"x", b"y"]),
        (pa.array([2.5, -0.0, 2.5, math.nan]), [0.0, 2.5]),
        (pa.array([Decimal("1.10"), Decimal("1"), Decimal("1.1"), None]), [Decimal(1), Decimal("1.1")]),
        (pa.array([2, 1, 2, None], pa.date32()), [dt.date(1970, 1, 2), dt.date(1970, 1, 3)]),
        (pa.array([LAST, FIRST, LAST, None]), [FIRST, LAST]),
        (pa.array(["b", "", "b", None]), ["", "b"]),
        (pa.array(["b", "a", "b", None]).dictionary_encode(), ["a", "b"]),
        (pa.array(["b", "a", "b", None], pa.string_view()), ["a", "b"]),
    ],
    ids=lambda item: str(item.type) if isinstance(item, pa.Array) else None,
)
def test_keys_of_any_type(keys: pa.Array, groups: list[Any]) -> None:
    for clause in ("GROUP-BY k", "GROUP-BY A.k", "WHERE [k] GROUP-BY k"):
        rows = run(f"{A} {clause}", table("AAAA", k=keys))
        assert [(row["k"], row["n"]) for row in rows] == list(zip(groups, [1.0, 3.0], strict=True))


def test_fields_of_structs() -> None:
    data = table("AAAA", p=[{"x": 1, "q": {"k": "u"}}, {"x": 3, "q": {"k": "u"}}, {"x": 2, "q": None}, None])
    text = "RETURN SUM(A.p.x) AS s, MAX(A.p.x) AS m PATTERN A+ WHERE A.p.x < NEXT(A).p.x GROUP-BY p.q.k"
    assert run(text, data) == [{"k": "u", "s": 8.0, "m": 3}]


def test_names_of_all_kinds() -> None:
    columns = {"a.b c": [1, 2], "x`y": [3, 4], "my key": ["u", "u"], "SELECT": [5, 6], "ünï": [7, 8]}
    data = pa.table({"the time": [1, 2], "the.type": ["a type", "b.c"], **columns})
    text = (
        "RETURN SUM(`a type`.`a.b c`) AS s, MAX(`x``y`) AS m, MIN(`b.c`.`SELECT`) AS t, SUM(`ünï`) AS u"
        " PATTERN SEQ(`a type`, `b.c`) WHERE `a type`.`x``y` < `b.c`.`x``y` GROUP-BY `my key`"
    )
    rows = run(text, data, time="the time", type="the.type")
    assert rows == [{"my key": "u", "s": 1.0, "m": 4, "t": 6, "u": 15.0}]


def test_types_that_are_numbers() -> None:
    data = pa.table({"time": [1, 2, 3], "type": pa.array([1, -2, 7], pa.int16())})
    assert run("RETURN COUNT(*) AS n PATTERN SEQ(`1`, `-2`)", data) == [{"n": 1.0}]


def test_time_and_type_are_attributes_too() -> None:
    text = "RETURN MAX(A.time) AS m, MIN(type) AS t PATTERN A+ WHERE A.time > 1 AND A.time + 1 = NEXT(A).time"
    assert run(text, table("AAA")) == [{"m": 3, "t": "A"}]


@pytest.mark.parametrize("offset", ["1", math.nan, math.inf, [1]])
def test_offsets_that_are_none(offset: Any) -> None:
    assert code(A, table("AA"), offset=offset) == "bad-option"


# ---- dates with a time of the day


def test_dates_in_milliseconds_that_are_not_at_midnight() -> None:
    day = 86_400_000
    good, bad = (pa.array([0, day, second], pa.int64()).cast(pa.date64()) for second in (2 * day, 2 * day + 1))
    assert count("WITHIN 2 days SLIDE 2 days", table("AAA", times=good)) == [3.0, 1.0]
    with pytest.raises(sk.DataError, match=r"not at midnight(.|\n)*cast it to pa.timestamp"):
        sk.query(A).run(table("AAA", times=bad))
    with pytest.raises(sk.DataError, match="not at midnight"):
        sk.query(f"{A} WHERE [k]").run(table("AAA", k=bad))
