"""Values of a column as arrays to add up and to compare: doubles, exact integers, keys for MIN and MAX."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns import compare
from sparkleene.columns.arrow import as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.fields import (
    EXACT,
    bounds,
    decode,
    describe_column,
    doubles,
    find_column,
    integers,
    kind,
    simplify,
    value_type,
)
from sparkleene.errors import NOWHERE, Place, Span
from sparkleene.language.bound import Path

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

NULL = -(2**63)
"""The least int64 stands for NULL among exact values."""


def _number(table: pa.Table, path: Path, place: Place, span: Span) -> Any:
    """Return a column of numbers in a plain type, or raise."""
    found = find_column(table, path, place, span)
    column = simplify(found)
    word = kind(column.type)
    if word not in ("number", "null"):
        timed = "timestamp" in word
        help = "MIN and MAX take times" if timed else "convert the column in the data" if word == "text" else None
        shown = found
        if word == "text":  # of text that is mostly numbers, show what is none
            text = decode(column)
            like = pc.match_substring_regex(text, r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$")
            odd = text.filter(pc.equal(like, make_scalar(False)))
            shown = odd if len(odd) else found
        message = f"a sum needs numbers, but {describe_column(path, shown)}"
        raise place.error("wrong-type", message, span, help)
    return column.cast(pa.int64()) if pa.types.is_null(column.type) else column


def sum_values(table: pa.Table, path: Path, place: Place = Place(), span: Span = NOWHERE) -> Floats:
    """Return a column of numbers as float64, NaN for NULL.

    >>> sum_values(pa.table({"x": [1, None]}), ("x",))
    array([ 1., nan])
    """
    return doubles(_number(table, path, place, span))


def exact_values(
    table: pa.Table, path: Path, place: Place = Place(), span: Span = NOWHERE
) -> tuple[tuple[Integers, Fraction], ...]:
    """Return integers and scales: a value is the sum of its integers times their scales; the least int64 is NULL.

    One part is enough for most columns; doubles of very different sizes take a few.

    >>> exact_values(pa.table({"x": [0.5, 3.0, None]}), ("x",))
    ((array([                   1,                    6, -9223372036854775808]), Fraction(1, 2)),)
    """
    column = _number(table, path, place, span)
    if column.type == pa.float64():
        result = _exact_floats(doubles(column))
    elif pa.types.is_decimal(column.type):
        result = _exact_decimals(column)
    else:
        ends = bounds(column)
        filled = as_numpy(fill_null(column, NULL))
        result = None if ends is not None and ends[0] == NULL else ((filled, Fraction(1)),)
    if result is None:
        message = f"the values of '{'.'.join(path)}' have no exact form in a few 64-bit integers"
        help = "use double mode, or round the column in the data"
        notes = [describe_column(path, find_column(table, path, place))]
        raise place.error("not-exact", message, span, help, notes)
    return result


def _exact_floats(values: Floats) -> tuple[tuple[Integers, Fraction], ...] | None:
    """Return floats as integers times powers of two, or None where there are infinite ones or too many sizes."""
    null = np.isnan(values)
    if np.isinf(values).any():
        return None
    mantissa, exponent = np.frexp(np.where(null, 0, values))
    whole = (mantissa * 2.0**53).astype(np.int64)
    least = whole & -whole  # the lowest set bit, a power of two
    zeros = np.where(whole == 0, 0, np.frexp(least.astype(np.float64))[1] - 1)
    some = whole != 0
    low = int((exponent - 53 + zeros)[some].min()) if some.any() else 0
    odd = whole >> zeros.astype(np.int64)
    shift = np.where(some, exponent - 53 + zeros - low, 0).astype(np.int64)
    if not some.any() or int(exponent[some].max()) - low <= 62:
        return ((np.where(null, NULL, odd << shift), Fraction(2) ** low),)
    size = shift // 9  # 53 bits moved by up to 8 fit
    sizes = np.unique(size[some]).tolist()
    if len(sizes) > 64:
        return None
    return tuple(
        (
            np.where(null, NULL, np.where(some & (size == k), odd << (shift - 9 * k).clip(0, 8), 0)),
            Fraction(2) ** (low + 9 * k),
        )
        for k in sizes
    )


def _exact_decimals(column: Any) -> tuple[tuple[Integers, Fraction], ...] | None:
    """Return decimals without their point, or None where one is beyond int64."""
    scale = column.type.scale
    whole = column.type.precision
    try:
        bare = [chunk.cast(pa.decimal128(min(whole, 38), scale)) for chunk in column.chunks]
    except pa.ArrowInvalid:
        return None
    parts = []
    for chunk in bare:
        words = np.frombuffer(chunk.buffers()[1], np.int64)[2 * chunk.offset :][: 2 * len(chunk)]
        low, high = words[0::2].copy(), words[1::2]
        null = as_numpy(chunk.is_null())
        if ((high != low >> 63) | (low == NULL))[~null].any():
            return None
        low[null] = NULL
        parts.append(low)
    return ((np.concatenate([np.zeros(0, np.int64), *parts]), Fraction(10) ** -scale),)


def low_values(
    table: pa.Table, path: Path, maximum: bool, place: Place = Place(), span: Span = NOWHERE
) -> tuple[Floats, Callable[[Floats], pa.Array]]:
    """Return float64 keys whose least is the MIN (or MAX), and the way back from keys to values; NaN is NULL.

    >>> keys, back = low_values(pa.table({"name": ["b", "a", None]}), ("name",), maximum=True)
    >>> back(np.array([keys[0], np.nan])).to_pylist()
    ['b', None]
    """
    found = find_column(table, path, place, span)
    column = simplify(found)
    word = kind(column.type)
    if word == "other":
        raise place.error("wrong-type", f"values cannot be ordered: {describe_column(path, found)}", span)
    type = value_type(found.type)
    sign = -1.0 if maximum else 1.0
    if pa.types.is_null(column.type):
        return np.full(len(column), math.nan), lambda keys: pa.nulls(len(keys), type)
    if column.type == pa.float64() and not np.isposinf(sign * doubles(column)).any():
        return sign * doubles(column), lambda keys: _nullable(sign * keys, pa.float64()).cast(type)
    if column.type == pa.float64() or word in ("binary", "text") or pa.types.is_decimal(column.type):
        keys, values = compare.dense_ranks(column)
        values = values.cast(type)
        return sign * keys, lambda keys: values.take(_nullable(sign * keys, pa.int64()))
    if word == "boolean":
        flags = doubles(column.cast(pa.int8()))
        return sign * flags, lambda keys: _nullable(sign * keys, pa.int64()).cast(pa.bool_())
    return _low_integers(integers(column), column.type, type, sign)


def _low_integers(
    column: Any, plain_type: pa.DataType, type: pa.DataType, sign: float
) -> tuple[Floats, Callable[[Floats], pa.Array]]:
    """Return keys of int64 values: themselves, or less their least, or ranks, whatever is exact."""
    low, high = bounds(column) or (0, 0)
    base = 0 if low >= -EXACT and high <= EXACT else low
    back = np.zeros(0, np.int64)
    if high - base <= EXACT:
        keys = doubles(pc.subtract(column, make_scalar(base)))
    else:
        keys, values = compare.dense_ranks(column)
        back = as_numpy(values)

    def restore(found: Floats) -> pa.Array:
        whole = _nullable(sign * found, pa.int64())
        whole = make_array(back).take(whole) if len(back) else pc.add(whole, make_scalar(base))
        if pa.types.is_date32(plain_type) or pa.types.is_time32(plain_type):
            whole = whole.cast(pa.int32())
        return whole.cast(plain_type).cast(type)

    return sign * keys, restore


def _nullable(keys: Floats, type: pa.DataType) -> pa.Array:
    """Return numbers with NULL for NaN."""
    return make_array(keys, nan_is_null=True).cast(type)
