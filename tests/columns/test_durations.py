"""Times, durations and functions in expressions over one row."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.columns.expressions import evaluate
from sparkleene.columns.row_values import row_values
from sparkleene.errors import Place
from sparkleene.language.bound import Call, Field, Interval, Literal_, Term

MINUTE = Interval(Fraction(60_000))
OPEN = Interval(Fraction(60_000), 60)  # the time column is a number of seconds


def of(given: Any) -> Term:
    """Return a column for text, a constant for all else, a call for a list."""
    if isinstance(given, list):
        return Call(given[0], tuple(map(of, given[1:])))
    return Field((given,)) if isinstance(given, str) else given if isinstance(given, Literal_) else Literal_(given)


def text(value: str) -> Literal_:
    return Literal_(value)


STAMPS = [dt.datetime(2024, 5, 1, 12), dt.datetime(2024, 5, 1, 12, 1, 30), None]
TABLE = pa.table(
    {
        "t": pa.array(STAMPS, pa.timestamp("ms")),
        "u": pa.array([dt.datetime(2024, 5, 1, 12, 2)] * 3, pa.timestamp("ns")),
        "z": pa.array(STAMPS, pa.timestamp("us", "Europe/Berlin")),
        "day": pa.array([dt.date(2024, 5, 1)] * 3),
        "d": pa.array([90_000, 0, None], pa.duration("ms")),
        "n": [7, -3, None],
        "f": [2.5, math.nan, -math.inf],
        "s": ["Größe", "a%b", None],
    }
)


@pytest.mark.parametrize(
    "term, expected",
    [
        (["-", "u", "t"], [120.0, 30.0, None]),
        (["-", "t", "day"], [43200.0, 43290.0, None]),
        (["+", "d", MINUTE], [150.0, 60.0, None]),
        (["neg", "d"], [-90.0, -0.0, None]),
        (["abs", ["-", "t", "u"]], [120.0, 30.0, None]),
        (["*", "d", 2], [180.0, 0.0, None]),
        (["*", 0.5, "d"], [45.0, 0.0, None]),
        (["/", "d", 4], [22.5, 0.0, None]),
        (["/", "d", MINUTE], [1.5, 0.0, None]),
        (["/", "d", ["-", "d", "d"]], [None, None, None]),
        (["+", "t", MINUTE], [dt.datetime(2024, 5, 1, 12, 1), dt.datetime(2024, 5, 1, 12, 2, 30), None]),
        (["+", "day", ["*", MINUTE, 1.5]], [dt.datetime(2024, 5, 1, 0, 1, 30)] * 3),
        (["least", "t", "u"], [STAMPS[0], STAMPS[1], dt.datetime(2024, 5, 1, 12, 2)]),
        (["<=", ["-", "u", "t"], MINUTE], [False, True, None]),
        (["<", "d", MINUTE], [False, True, None]),
        (["=", ["+", "t", MINUTE], text("2024-05-01 12:01")], [True, False, None]),
        (["=", ["+", "z", MINUTE], text("2024-05-01T12:01Z")], [True, False, None]),
        (["<", "n", OPEN], [True, True, None]),
        (["<", ["-", "u", "t"], OPEN], [False, True, None]),
        (["*", OPEN, 2], [120, 120, 120]),
    ],
)  # fmt: skip
def test_times_and_durations(term: Any, expected: list[Any]) -> None:
    found = row_values(of(term), TABLE)
    values = found.cast(pa.timestamp("us")) if pa.types.is_timestamp(found.type) else found
    assert values.to_pylist() == expected
    assert row_values(of(term), TABLE.slice(0, 0)).type == found.type


@pytest.mark.parametrize(
    "term, expected",
    [
        (["abs", "n"], [7, 3, None]),
        (["abs", "f"], [2.5, None, math.inf]),
        (["round", "f"], [3.0, None, -math.inf]),
        (["floor", "f"], [2, None, None]),
        (["ceil", "f"], [3, None, None]),
        (["floor", "n"], [7, -3, None]),
        (["round", "n", -1], [10, 0, None]),
        (["round", "n", 2], [7, -3, None]),
        (["least", "n", "f"], [2.5, -3.0, -math.inf]),
        (["greatest", "n", "f", 0], [7.0, 0.0, 0.0]),
        (["greatest", "n", 5], [7, 5, 5]),
        (["coalesce", "f", "n"], [2.5, -3.0, -math.inf]),
        (["coalesce", "n", None, 1], [7, -3, 1]),
        (["coalesce", "s", text("none")], ["Größe", "a%b", "none"]),
        (["least", "s", text("b")], ["Größe", "a%b", "b"]),
        (["lower", "s"], ["größe", "a%b", None]),
        (["upper", "s"], ["GRÖSSE", "A%B", None]),
        (["like", "s", text("Gr__e")], [True, False, None]),
        (["like", "s", text("a\\%%")], [False, True, None]),
        (["like", "s", text("a.b")], [False, False, None]),
    ],
)
def test_functions(term: Any, expected: list[Any]) -> None:
    found = row_values(of(term), TABLE)
    assert found.to_pylist() == expected
    encoded = TABLE.set_column(TABLE.schema.get_field_index("s"), "s", TABLE["s"].dictionary_encode())
    assert row_values(of(term), encoded).to_pylist() == expected
    assert row_values(of(term), TABLE.slice(0, 0)).type == found.type


@pytest.mark.parametrize(
    "number, digits, expected",
    [
        (2.675, 2, 2.68), (1.005, 2, 1.01), (-0.5, 0, -1.0), (0.49999999999999994, 0, 0.0), (1234.5, -2, 1200.0),
        (2.5, 0, 3.0), (1e300, 2, 1e300), (0.000123456, 6, 0.000123), (8e15 + 0.5, 0, 8e15), (5e-324, 3, 0.0),
        (55.0, -1, 60.0), (49.0, -2, 0.0), (50.0, -2, 100.0), (0.1, 17, 0.1), (1.0, -400, 0.0),
    ],
)  # fmt: skip
def test_round(number: float, digits: int, expected: float) -> None:
    """A number is rounded as it is written, and a half goes away from zero."""
    for column in (pa.array([number, None]), pa.array([number] * 3)):
        found = evaluate(of(["round", "x", digits]), pa.table({"x": column})).to_pylist()
        assert found[0] == (expected if number != 8e15 + 0.5 else round(number))


def test_round_integers() -> None:
    numbers = [15, -15, 14, 2**63 - 1, -(2**63) + 10, None]
    found = evaluate(of(["round", "x", -1]), pa.table({"x": numbers[:3]})).to_pylist()
    assert found == [20, -20, 10]
    assert evaluate(of(["round", "x", -30]), pa.table({"x": numbers})).to_pylist() == [0, 0, 0, 0, 0, None]
    with pytest.raises(sk.DataError, match="beyond the range of 64-bit"):
        evaluate(of(["round", "x", -19]), pa.table({"x": numbers}))


@pytest.mark.parametrize(
    "term, message, help",
    [
        (["+", "t", "t"], "cannot add a time and a time", "a time minus a time is a duration"),
        (["<", ["-", "t", "u"], 5], "cannot compare a duration and a number by <", "such as 5 seconds"),
        (["<", "n", MINUTE], "cannot compare a number and a duration by <", "pass time_unit"),
        (["<", "t", MINUTE], "cannot compare a time and a duration by <", None),
        (["-", "t", "z"], "cannot subtract a time and a time with a time zone", "give both a time zone"),
        (["*", "d", "d"], "cannot multiply a duration and a duration", None),
        (["-", "d", "t"], "cannot subtract a duration and a time", None),
        (["+", "d", "n"], "cannot add a duration and a number", "divide the duration"),
        (["floor", "d"], "FLOOR needs a number, not a duration", "divide a duration by another"),
        (["abs", "t"], "ABS needs a number, not a time", None),
        (["abs", "s"], "ABS needs a number, but 's' is text", None),
        (["like", "n", text("a")], "LIKE needs text, but 'n' is a number", None),
        (["coalesce", "n", "s"], "COALESCE needs values of one kind", None),
        (["coalesce", "d", "n"], "cannot choose between a duration and a number", None),
        (["=", ["+", "t", MINUTE], text("noon")], "'noon' is text and does not read as a time", "write it like"),
    ],
)  # fmt: skip
def test_kinds_that_do_not_go_together(term: Any, message: str, help: str | None) -> None:
    with pytest.raises(sk.DataError) as caught:
        row_values(of(term), TABLE, Place())
    (found,) = caught.value.diagnostics
    assert found.code == "wrong-type"
    assert message in found.message
    assert help is None or help in (found.help or "")


def test_overflow() -> None:
    with pytest.raises(sk.DataError, match="beyond the range of 64-bit"):
        row_values(of(["abs", "x"]), pa.table({"x": [-(2**63)]}))
    far = pa.table({"t": pa.array([2**61], pa.timestamp("s")), "u": pa.array([0], pa.timestamp("ns"))})
    with pytest.raises(sk.DataError, match="beyond the range of 64-bit"):
        row_values(of(["-", "t", "u"]), far)
