"""Values of SQL with what is known of them, and constants as the engine calculates them."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkleene.columns import compare
from sparkleene.columns.expressions import evaluate
from sparkleene.columns.fields import EXACT
from sparkleene.errors import DataError, Place
from sparkleene.language.bound import Path, Term
from sparkleene.language.printer import quote

NO_TEXT = Place()
INT64 = (-(2**63), 2**63 - 1)
INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
FLOATS = (T.FloatType, T.DoubleType)
TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)
OTHERS = (T.DecimalType, T.BooleanType, T.BinaryType, T.NullType)
# Casts are to these and not to their names: for a name Spark loads its parser of SQL, which takes a while once.
LONG, DOUBLE, BOOLEAN = T.LongType(), T.DoubleType(), T.BooleanType()
BITS = dict(zip((*INTEGERS, *TIMES), (8, 16, 32, 64, 32, 64, 64), strict=True))

PLAIN: dict[str, Callable[..., Any]] = {
    "neg": operator.neg, "+": operator.add, "-": operator.sub, "*": operator.mul,
    "/": F.try_divide, "%": F.try_mod,
}  # fmt: skip
TRY: dict[str, Callable[..., Column]] = {
    "neg": lambda a: F.try_subtract(F.lit(0).cast(LONG), a),
    "+": F.try_add, "-": F.try_subtract, "*": F.try_multiply,
}  # fmt: skip


class Unsure(Exception):
    """SQL cannot be shown to give what the engine gives."""


def column(path: Path) -> Column:
    """Return a column, or a field of a struct column, by its name."""
    return reduce(Column.getField, path[1:], F.col(quote(path[0])))


@dataclass(frozen=True, slots=True)
class Value:
    """A column with what is known of it."""

    column: Column
    type: T.DataType
    constant: Any = ...  # what it always is, if that is known
    ends: tuple[int, int] = INT64  # of integers
    known: tuple[Column, ...] = ()  # integers are NULL unless these hold


def is_comparable(type: T.DataType) -> bool:
    """Tell whether Spark's values of a type are compared as the engine's are."""
    if isinstance(type, T.StringType):
        return type == T.StringType()  # by bytes, not by a collation
    return isinstance(type, (*INTEGERS, *FLOATS, *TIMES, *OTHERS))


def combine(op: Callable[[Column, Column], Column], parts: list[Column]) -> Column:
    """Join columns in a tree that is not deep, for Spark descends by recursion."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return op(combine(op, parts[:half]), combine(op, parts[half:]))


def constant_of(term: Term) -> Value:
    """Return a term without attributes, as the engine calculates it."""
    try:
        item = evaluate(term, pa.table({})).as_py()
    except (DataError, UnicodeError) as error:
        raise Unsure from error
    if isinstance(item, datetime.timedelta):
        raise Unsure
    if item is None:
        return Value(F.lit(None), T.NullType(), None)
    if isinstance(item, bool):
        return Value(F.lit(item), T.BooleanType(), item)
    if isinstance(item, str):
        return Value(F.lit(item), T.StringType(), item)
    if isinstance(item, float):
        return Value(F.lit(item), T.DoubleType(), item)
    if isinstance(item, Decimal):  # an integer beyond int64
        return Value(literal(int(item), T.DecimalType(38, 0)), T.DecimalType(38, 0), item)
    return Value(F.lit(item).cast(LONG), T.LongType(), item, (item, item))


def literal(number: int, type: T.DataType) -> Column:
    """Return a number of units as a value of a type: whole numbers, last digits, days, microseconds."""
    if isinstance(type, T.DecimalType):
        return F.lit(f"{number}E-{type.scale}").cast(type)
    if isinstance(type, T.DateType):
        return F.date_from_unix_date(F.lit(number))
    if isinstance(type, T.TimestampType):
        return F.timestamp_micros(F.lit(number).cast(LONG))
    if isinstance(type, T.TimestampNTZType):
        return F.lit(pa.scalar(number, pa.timestamp("us")).cast(pa.string()).as_py()).cast(type)
    return F.lit(number).cast(type)


def decimal(number: float, written: bool) -> Decimal:
    """Return a constant beside decimals as it was written; the engine calculates in double if that is too long."""
    _, digits, exponent = (found := Decimal(repr(number))).as_tuple()
    if not written or len(digits) + abs(int(exponent)) > 38:
        raise Unsure
    return found


def around_float(type: T.DataType, item: Any) -> tuple[Column, Column]:
    """Return the floats next to a number, below and above."""
    if isinstance(item, Decimal):
        item = pa.scalar(item).cast(pa.float64(), safe=False).as_py()
    kind: Any = np.float32 if isinstance(type, T.FloatType) else np.float64
    with np.errstate(over="ignore"):
        near = kind(float(item))
    if float(near) == item:
        same = F.lit(float(near)).cast(type)
        return same, same
    above = float(near) > item
    other = np.nextafter(near, kind(-math.inf if above else math.inf))
    low, high = (other, near) if above else (near, other)
    return F.lit(float(low)).cast(type), F.lit(float(high)).cast(type)


def no_nan(double: Column) -> Column:
    """Return doubles with NULL for NaN."""
    return F.nanvl(double, F.lit(None).cast(DOUBLE))


def number(found: Value) -> Value:
    """Return a number to calculate with: NULL is an integer, and decimals are left to the engine."""
    if isinstance(found.type, T.NullType):
        return Value(found.column.cast(LONG), T.LongType(), None, (0, 0), (F.lit(False),))
    if not isinstance(found.type, (*INTEGERS, *FLOATS)):
        raise Unsure
    return found


def ends_of(op: str, ends: list[tuple[int, int]]) -> tuple[int, int]:
    """Return between which integers a result is."""
    if op == "%":
        size = min(max(map(abs, ends[0])), max(1, *map(abs, ends[1])) - 1)
        return -size, size
    found = [PLAIN[op](*each) for each in product(*ends)]
    return min(found), max(found)


def align(left: Value, right: Value) -> tuple[Column, Column]:
    """Return two columns in one type that holds all values of both."""
    one, two = left.type, right.type
    if isinstance(one, INTEGERS) and isinstance(two, INTEGERS):
        return left.column, right.column
    if isinstance(one, FLOATS) or isinstance(two, FLOATS):
        for each in (left, right):
            if not isinstance(each.type, FLOATS) and not (
                isinstance(each.type, INTEGERS) and each.ends[0] >= -EXACT and each.ends[1] <= EXACT
            ):
                raise Unsure
        return left.column.cast(DOUBLE), right.column.cast(DOUBLE)
    if isinstance(one, T.DecimalType) or isinstance(two, T.DecimalType):
        sizes = [_digits(each) for each in (one, two)]
        scale = max(size[1] for size in sizes)
        digits = max(size[0] for size in sizes) + scale
        if digits > 38:
            raise Unsure
        type = T.DecimalType(digits, scale)
        return left.column.cast(type), right.column.cast(type)
    if {one.__class__, two.__class__} == {T.DateType, T.TimestampNTZType}:
        return left.column.cast(T.TimestampNTZType()), right.column.cast(T.TimestampNTZType())
    if one != two:
        raise Unsure
    return left.column, right.column


def _digits(type: T.DataType) -> tuple[int, int]:
    """Return how many digits a number has before and after its point."""
    if isinstance(type, T.DecimalType):
        return type.precision - type.scale, type.scale
    if not isinstance(type, INTEGERS):
        raise Unsure
    return 19, 0


def has_offset(text: str) -> bool:
    """Tell whether a time is not written in a zone that is left open."""
    try:
        compare.parse_constant(text, pa.timestamp("us"), pa.scalar(text))
    except ValueError:
        return True
    return False
