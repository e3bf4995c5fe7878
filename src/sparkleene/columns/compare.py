"""Comparisons of Arrow values: in one type, exact, and as float64 ranks for pairs of rows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.fields import EXACT, bounds, decode, doubles, integers, kind, value_type
from sparkleene.language.operators import FLIPPED

Value = Any
Floats = np.ndarray[Any, np.dtype[np.float64]]

OPERATORS: dict[str, Callable[..., Value]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_UNITS = ("s", "ms", "us", "ns")


def parse_constant(text: str, type: pa.DataType, value: Value) -> Value:
    """Return a text constant as a time of a type, as it is for other types; ValueError if it is no time."""
    if pa.types.is_time(type):
        return make_scalar(datetime.time.fromisoformat(text), pa.time64("us"))
    if not (pa.types.is_timestamp(type) or pa.types.is_date(type)):
        return value
    zone = type.tz if pa.types.is_timestamp(type) else None
    finer = [pa.timestamp(unit, zone) for unit in _UNITS]
    for wanted in (type, *finer):
        try:
            return value.cast(wanted)
        except pa.ArrowInvalid:
            continue
    if zone is not None:  # without an offset: in the column's own zone
        for unit in _UNITS:
            try:
                return pc.assume_timezone(value.cast(pa.timestamp(unit)), zone)
            except pa.ArrowInvalid:
                continue
    raise ValueError(text)


def is_exact(value: Value) -> bool:
    """Tell whether integers are all exact as float64."""
    if isinstance(value, pa.Scalar):
        return value.as_py() is None or abs(value.as_py()) <= EXACT
    ends = bounds(value)
    return ends is None or (ends[0] >= -EXACT and ends[1] <= EXACT)


def align(left: Value, right: Value, fixed: tuple[bool, bool] = (False, False)) -> tuple[Value, Value]:
    """Return two values of one kind in one type; int64 beside float64 only where all its values are exact.

    A constant beside a decimal column (`fixed`) is the decimal that was written: 0.1, not the double near it.
    """
    a, b = left.type, right.type
    if pa.types.is_null(a) or pa.types.is_null(b):
        return left, right
    word = kind(a)
    if word == "number":
        return _align_numbers(left, right, fixed)
    if word == "text":
        return _align_text(left, right)
    if a == b:
        return left, right
    if word in ("timestamp", "zoned timestamp"):
        if pa.types.is_date(a) and pa.types.is_date(b):
            return left, right
        units = [t.unit if pa.types.is_timestamp(t) else "s" for t in (a, b)]
        wanted = pa.timestamp(max(units, key=_UNITS.index), getattr(a, "tz", None))
        return left.cast(wanted), right.cast(wanted)
    if word == "time of day":
        return left.cast(pa.time64("ns")), right.cast(pa.time64("ns"))
    if word == "duration":
        wanted = pa.duration(max((a.unit, b.unit), key=_UNITS.index))
        return left.cast(wanted), right.cast(wanted)
    return left.cast(pa.large_binary()), right.cast(pa.large_binary())


def _align_text(left: Value, right: Value) -> tuple[Value, Value]:
    """Return text in one type; dictionaries stay beside a constant or beside the same type."""
    a, b = value_type(left.type), value_type(right.type)
    if isinstance(left, pa.Scalar):
        return left.cast(b), right
    if isinstance(right, pa.Scalar):
        return left, right.cast(a)
    if left.type == right.type:
        return left, right
    left, right = decode(left), decode(right)
    return (left, right) if a == b else (left.cast(pa.large_string()), right.cast(pa.large_string()))


def _align_numbers(left: Value, right: Value, fixed: tuple[bool, bool]) -> tuple[Value, Value]:
    """Return numbers in one type, or int64 and float64 where casting would not be exact."""
    floats = [pa.types.is_floating(value.type) for value in (left, right)]
    decimals = [pa.types.is_decimal(value.type) for value in (left, right)]
    if any(decimals) and any(floats):
        left = _exact_constant(left) if floats[0] and fixed[0] else left
        right = _exact_constant(right) if floats[1] and fixed[1] else right
        if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
            return left.cast(pa.float64(), safe=False), right.cast(pa.float64(), safe=False)
    if any(decimals):
        scales = [value.type.scale if pa.types.is_decimal(value.type) else 0 for value in (left, right)]
        digits = [
            value.type.precision - value.type.scale if pa.types.is_decimal(value.type) else 19
            for value in (left, right)
        ]
        need = max(digits) + max(scales)
        make = pa.decimal128 if need <= 38 else pa.decimal256
        wanted = make(min(need, 76), max(scales))
        return left.cast(wanted), right.cast(wanted)
    if floats[0] != floats[1]:
        if not floats[0] and is_exact(left):
            left = left.cast(pa.float64())
        if not floats[1] and is_exact(right):
            right = right.cast(pa.float64())
    return left, right


def _exact_constant(value: Value) -> Value:
    """Return a float constant as the decimal that was written, as it is where that is too long."""
    number = value.as_py()
    if number is None or not math.isfinite(number):
        return value
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    if len(digits) + abs(exponent) > 38:
        return value
    return make_scalar(Decimal((sign, digits, exponent)))


def compare(op: str, left: Value, right: Value) -> Value:
    """Compare values row by row; a comparison with NULL is NULL."""
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        column = next((value for value in (left, right) if not isinstance(value, pa.Scalar)), None)
        none = make_scalar(None, pa.bool_())
        return none if column is None else pa.nulls(len(column), pa.bool_())
    for one, two, name in ((left, right, op), (right, left, FLIPPED[op])):
        if pa.types.is_dictionary(one.type) and isinstance(two, pa.Scalar):
            return _on_dictionary(name, one, two)
    left, right = decode(left), decode(right)
    if {left.type, right.type} == {pa.int64(), pa.float64()}:
        if left.type == pa.int64():
            return _exactly(op, left, right)
        return _exactly(FLIPPED[op], right, left)
    return OPERATORS[op](left, right)


def _on_dictionary(op: str, column: Value, scalar: Value) -> Value:
    """Compare each distinct value once, then look the rows up."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [OPERATORS[op](chunk.dictionary, scalar).take(chunk.indices) for chunk in chunks]
    return pa.chunked_array(parts, pa.bool_())


def _exactly(op: str, ints: Value, floats: Value) -> Value:
    """Compare int64 with float64 where a cast would round."""
    whole, gap = (_fill_zeros(value) for value in (ints, floats))
    floor = np.floor(gap)
    inside = (floor >= -(2.0**63)) & (floor < 2.0**63)
    near = np.where(inside, floor, 0).astype(np.int64)
    sign = (whole > near).astype(np.int8) - (whole < near).astype(np.int8)
    sign = np.where((sign == 0) & (gap > floor), -1, sign)
    sign = np.where(inside, sign, np.where(gap > 0, -1, 1)).astype(np.int8)
    null = [pc.is_null(value) for value in (ints, floats)]
    result = OPERATORS[op](make_scalar(int(sign)) if sign.ndim == 0 else make_array(sign), make_scalar(0))
    return pc.if_else(pc.or_(*null), make_scalar(None, pa.bool_()), result)


def _fill_zeros(value: Value) -> Any:
    """Return values as numpy, with 0 for NULL."""
    if isinstance(value, pa.Scalar):
        item = value.as_py()
        return np.asarray(0 if item is None else item, np.int64 if value.type == pa.int64() else np.float64)
    return as_numpy(fill_null(value, 0))


# ---- pairs of rows


def ranks(left: Value, right: Value, rows: int) -> tuple[Floats, Floats]:
    """Return float64 arrays that compare like two aligned values do, NaN for NULL; one value, one array."""
    same = left is right
    left = _column(left, rows)
    right = left if same else _column(right, rows)
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        nothing = np.full(rows, math.nan)
        return nothing, nothing
    if kind(left.type) == "boolean":
        left, right = left.cast(pa.int64()), right.cast(pa.int64())
    if _direct(left) and (same or _direct(right)):
        first = doubles(left)
        return first, first if same else doubles(right)
    if {left.type, right.type} == {pa.int64(), pa.float64()}:
        return _mixed_ranks(left, right)
    if kind(left.type) in ("number", "timestamp", "zoned timestamp", "time of day", "duration") and not (
        pa.types.is_decimal(left.type)
    ):
        shifted = _shift([integers(left)] if same else [integers(left), integers(right)])
        if shifted is not None:
            return shifted[0], shifted[-1]
    coded = _rank(left) if same else _rank(_join(left, right))
    return (coded, coded) if same else (coded[:rows], coded[rows:])


def _column(value: Value, rows: int) -> Value:
    """Return a value for each row."""
    if isinstance(value, pa.Scalar):
        return pa.chunked_array([pa.repeat(value, rows)])
    return value if isinstance(value, pa.ChunkedArray) else pa.chunked_array([value])


def _direct(column: Value) -> bool:
    """Tell whether values are their own ranks as float64."""
    return is_exact(column) if column.type == pa.int64() else bool(column.type == pa.float64())


def _shift(columns: list[Value]) -> list[Floats] | None:
    """Return int64 values less their least, as float64, or None if their range is beyond 2^53."""
    ends = [each for each in map(bounds, columns) if each is not None]
    if not ends:
        return [np.full(len(column), math.nan) for column in columns]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    if high - low > EXACT:
        return None
    return [doubles(pc.subtract(column, make_scalar(low))) for column in columns]


def _join(left: Value, right: Value) -> Value:
    """Return the rows of both sides below each other."""
    if left.type != right.type:
        left, right = decode(left), decode(right)
    return pa.chunked_array([*left.chunks, *right.chunks], left.type)


def _rank(column: Value) -> Floats:
    """Return the dense rank of each value among the distinct ones, NaN for NULL."""
    return dense_ranks(column)[0]


def dense_ranks(column: Value) -> tuple[Floats, Value]:
    """Return the dense rank of each value as float64, NaN for NULL, and the distinct values in order.

    >>> dense_ranks(pa.chunked_array([["b", None, "a", "b"]]))[0]
    array([ 1., nan,  0.,  1.])
    """
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    if pa.types.is_floating(column.type):
        column = pc.add(column, make_scalar(0.0))  # -0.0 is 0.0
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    coded = coded.unify_dictionaries()
    if coded.num_chunks == 0:
        return np.zeros(0), make_array([], value_type(column.type))
    values = coded.chunk(0).dictionary
    order = pc.array_sort_indices(values)
    place = as_numpy(pc.rank(values, tiebreaker="dense")).astype(np.float64) - 1
    distinct = values.take(order)
    if len(values) and place.max() + 1 < len(values):  # a dictionary may hold a value twice
        distinct = distinct.unique()
    table = np.append(place, math.nan)
    codes = [fill_null(chunk.indices.cast(pa.int64()), len(values)) for chunk in coded.chunks]
    return np.concatenate([table[as_numpy(part)] for part in codes]), distinct


def _mixed_ranks(left: Value, right: Value) -> tuple[Floats, Floats]:
    """Return joint ranks of int64 and float64 values, which Python compares exactly."""
    one, two = (side.dictionary_encode().combine_chunks() for side in (left, right))
    parts = [side if isinstance(side, pa.DictionaryArray) else side.chunk(0) for side in (one, two)]
    values = [part.dictionary.to_pylist() for part in parts]
    place = {value: rank for rank, value in enumerate(sorted({*values[0], *values[1]}))}
    tables = [np.array([*(place[v] for v in each), math.nan], np.float64) for each in values]
    first, second = (
        table[as_numpy(fill_null(part.indices, len(part.dictionary)))]
        for table, part in zip(tables, parts, strict=True)
    )
    return first, second
