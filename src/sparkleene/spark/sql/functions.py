"""Functions of expressions as SQL, which mean what `columns/functions.py` means."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkleene.language.bound import Call, Literal_
from sparkleene.spark.sql.values import BOOLEAN, DOUBLE, FLOATS, INT64, INTEGERS, LONG, Unsure, Value, number

Made = tuple[Column | None, Value]
"""Where a value overflows, None if nowhere, and the value."""


def _integer(found: Column, ends: tuple[int, int] = INT64) -> Value:
    return Value(found, T.LongType(), ends=ends, known=(found.isNotNull(),))


def _absolute(term: Call, values: list[Value]) -> Made:
    given = number(values[0])
    if isinstance(given.type, FLOATS):
        return None, Value(F.abs(given.column), T.DoubleType())
    whole = given.column.cast(LONG)
    most = max(map(abs, given.ends))
    if most <= INT64[1]:
        return None, _integer(F.abs(whole), (0, most))
    least = whole == F.lit(INT64[0]).cast(LONG)
    return least, _integer(F.when(~least, F.abs(whole)), (0, INT64[1]))


def _round(term: Call, values: list[Value]) -> Made:
    given = number(values[0])
    digits = term.args[1].value if len(term.args) > 1 and isinstance(term.args[1], Literal_) else 0
    assert isinstance(digits, int)
    if isinstance(given.type, FLOATS):
        return None, Value(F.round(given.column.cast(DOUBLE), digits), T.DoubleType())
    if digits < 0:
        raise Unsure
    return None, given


def _whole(term: Call, values: list[Value]) -> Made:
    given = number(values[0])
    if not isinstance(given.type, FLOATS):
        return None, given
    double = given.column.cast(DOUBLE)
    inside = (double >= F.lit(-(2.0**63))) & (double < F.lit(2.0**63))
    found = F.floor(double) if term.op == "floor" else F.ceil(double)
    return None, _integer(F.when(inside, found))


def _make_choice(term: Call, values: list[Value]) -> Made:
    known = [value for value in values if not isinstance(value.type, T.NullType)]
    if not known:
        raise Unsure
    ends = (min(value.ends[0] for value in known), max(value.ends[1] for value in known))
    types = [value.type for value in known]
    if all(isinstance(type, INTEGERS) for type in types):
        return None, _integer(_choose(term.op, [value.column.cast(LONG) for value in known]), ends)
    if all(isinstance(type, (*INTEGERS, *FLOATS)) for type in types):
        return None, Value(_choose(term.op, [value.column.cast(DOUBLE) for value in known]), T.DoubleType())
    if types[0] in (T.StringType(), T.BooleanType()) and all(type == types[0] for type in types):
        return None, Value(_choose(term.op, [value.column for value in known]), types[0])
    raise Unsure


def _choose(op: str, columns: list[Column]) -> Column:
    if len(columns) == 1:
        return columns[0]
    return {"least": F.least, "greatest": F.greatest, "coalesce": F.coalesce}[op](*columns)


def _text(values: list[Value]) -> Column:
    """Return text whose letters have no collation."""
    if values[0].type != T.StringType():
        raise Unsure
    return values[0].column


def _like(term: Call, values: list[Value]) -> Made:
    pattern = term.args[1]
    assert isinstance(pattern, Literal_) and isinstance(pattern.value, str)
    return None, Value(_text(values).like(pattern.value), BOOLEAN)


FUNCTIONS: dict[str, Callable[[Call, list[Value]], Made]] = {
    "abs": _absolute,
    "round": _round,
    "floor": _whole,
    "ceil": _whole,
    "least": _make_choice,
    "greatest": _make_choice,
    "coalesce": _make_choice,
    "like": _like,
    "lower": lambda term, values: (None, Value(F.lower(_text(values)), T.StringType())),
    "upper": lambda term, values: (None, Value(F.upper(_text(values)), T.StringType())),
}


def interval_micros(interval: Column) -> Column:
    """Return an interval of days, hours, minutes and seconds in microseconds."""
    total = F.lit(0).cast(LONG)
    for unit, size in (("DAY", 86_400), ("HOUR", 3_600), ("MINUTE", 60)):
        total = total + F.extract(F.lit(unit), interval).cast(LONG) * F.lit(size * 10**6).cast(LONG)
    seconds = F.extract(F.lit("SECOND"), interval)
    return total + (seconds * F.lit(10**6)).cast(LONG)
