"""Columns of a table as the arrays that kernels read: label masks, values to sum, values to compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns import compare
from sparkleene.columns.expressions import condition
from sparkleene.columns.fields import (
    EXACT,
    as_numpy,
    bounds,
    doubles,
    find,
    in_pieces,
    integers,
    kind,
    owned,
    plain,
    told,
)
from sparkleene.columns.keys import codes, combine
from sparkleene.columns.times import Time, time_column, window_units
from sparkleene.errors import DataError, Place
from sparkleene.language.bound import Bound, Literal_, Path, Term
from sparkleene.threads import Pool

__all__ = [
    "Time",
    "codes",
    "combine",
    "exact_values",
    "label_masks",
    "low_values",
    "ready_masks",
    "sum_values",
    "time_column",
    "window_units",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
Masks = np.ndarray[Any, Any]

NULL = -(2**63)
"""The least int64 stands for NULL among exact values."""


PIECE = 1 << 20
"""Rows that one thread looks up at a time."""


# ---- labels


def label_masks(
    bound: Bound,
    table: pa.Table,
    type_column: str | None,
    place: Place = Place(),
    threads: int = 1,
) -> tuple[Masks, bool]:
    """Return for each row the bits of the labels that it can have, and whether types alone decided them.

    A bit is set where the row is of the label's type and satisfies all local predicates of the label.
    """
    count = len(bound.labels)
    dtype = _mask_type(bound, place)
    if bound.types is not None:
        masks = _defined_types(bound, table, dtype, place)
    elif type_column is None:
        masks = np.full(table.num_rows, (1 << count) - 1, dtype)
    else:
        bits: dict[str, int] = {}
        for i, label in enumerate(bound.labels):
            bits[label.type] = bits.get(label.type, 0) | 1 << i
        masks = _typed(find(table, (type_column,), place), bits, dtype, type_column, threads, place)
    seen: dict[Term, Masks] = {}
    for i, terms in enumerate(bound.local):
        for term in terms:
            holds = seen.get(term)
            if holds is None:
                holds, everywhere = _holds(term, table, masks, i, place)
                if everywhere:
                    seen[term] = holds
            masks &= ~((~holds).astype(dtype) << dtype.type(i))
    return masks, not any(bound.local)


def ready_masks(bound: Bound, table: pa.Table, name: str) -> Masks:
    """Return a column of label masks as they are; integers of any width will do."""
    return as_numpy(table.column(name)).astype(_mask_type(bound, Place()), copy=False)


def _mask_type(bound: Bound, place: Place) -> np.dtype[Any]:
    """Return the narrowest type that has a bit for every label."""
    count = len(bound.labels)
    if count > 64:
        message = f"the pattern has {count} labels, and 64 is the most"
        raise place.mistake("too-many-labels", message, help="repeat a label, or split the query")
    return np.dtype(next(kind for bits, kind in _MASKS if count <= bits))


_MASKS: tuple[tuple[int, type[np.unsignedinteger[Any]]], ...] = (
    (8, np.uint8),
    (16, np.uint16),
    (32, np.uint32),
    (64, np.uint64),
)


def _defined_types(bound: Bound, table: pa.Table, dtype: np.dtype[Any], place: Place) -> Masks:
    """Return the masks where types are predicates; a row may be of several types."""
    assert bound.types is not None
    masks = np.zeros(table.num_rows, dtype)
    for name, term in bound.types:
        bits = sum(1 << i for i, label in enumerate(bound.labels) if label.type == name)
        if term == Literal_(True):
            masks |= dtype.type(bits)
        elif bits:
            masks |= condition(term, table, place).astype(dtype) * dtype.type(bits)
    return masks


def _holds(term: Term, table: pa.Table, masks: Masks, label: int, place: Place) -> tuple[Masks, bool]:
    """Return where a local predicate holds; if other rows overflow, ask only those of the label."""
    try:
        return condition(term, table, place), True
    except DataError as error:
        if error.diagnostics[0].code != "overflow":
            raise
    own = np.flatnonzero(masks >> masks.dtype.type(label) & masks.dtype.type(1))
    holds = np.zeros(table.num_rows, bool)
    holds[own] = condition(term, table.take(pa.array(own)), place)
    return holds, False


def _typed(
    column: Any, bits: Mapping[str, int], dtype: np.dtype[Any], name: str, threads: int, place: Place
) -> Masks:
    """Return the masks of the values of a type column; no type has no bits."""
    integer = pa.types.is_integer(
        column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    )
    if kind(column.type) not in ("text", "null") and not integer:
        help = f"cast '{name}' to text in the data"
        message = f"an event type is text or an integer: {told((name,), column)}"
        raise place.error("wrong-type", message, help=help)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype)
    if not pa.types.is_dictionary(column.type):
        lut, indices = _matched(plain(column), bits, dtype)
        return _look_up([(lut, chunk) for chunk in indices.chunks], dtype, threads)
    parts = []
    for chunk in column.chunks:
        names = chunk.dictionary.to_pylist()
        lut = np.array([0 if name is None else bits.get(str(name), 0) for name in names], dtype)
        parts.append((lut, chunk.indices))
    return _look_up(parts, dtype, threads)


def _matched(column: Any, bits: Mapping[str, int], dtype: np.dtype[Any]) -> tuple[Masks, pa.ChunkedArray]:
    """Return a table of masks, and for each row its place in it, NULL for none."""
    if kind(column.type) == "text":
        names = list(bits)
        values = pa.array(names, column.type)
    else:
        numbers = {int(name): name for name in bits if _is_integer(name)}
        low, high = (-(2**63), 2**63) if column.type == pa.int64() else (0, 2**64)
        ends = bounds(column) if low else None
        if ends is not None and ends[1] - ends[0] < 1 << 16:
            span = range(ends[0], ends[1] + 1)
            lut = np.array([bits[numbers[value]] if value in numbers else 0 for value in span], dtype)
            return lut, pc.subtract(column, ends[0])
        inside = {value: name for value, name in numbers.items() if low <= value < high}
        names = list(inside.values())
        values = pa.array(inside, pa.int64() if low else pa.uint64()).cast(column.type)
    lut = np.array([bits[name] for name in names], dtype)
    return lut, in_pieces(lambda piece: pc.index_in(piece, value_set=values), column)


def _is_integer(name: str) -> bool:
    """Tell whether a type's name is the text of an integer."""
    return name.removeprefix("-").isdecimal() and str(int(name)) == name


def _look_up(parts: Sequence[tuple[Masks, pa.Array]], dtype: np.dtype[Any], threads: int) -> Masks:
    """Return the masks at indices into tables, 0 for NULL; Arrow takes at the speed of memory."""
    masks = np.empty(sum(len(indices) for _, indices in parts), dtype)
    pieces = []
    start = 0
    for lut, indices in parts:
        for begin in range(0, len(indices), PIECE):
            pieces.append((start + begin, pa.array(lut), indices.slice(begin, PIECE)))
        start += len(indices)

    def task(part: slice) -> None:
        for at, lut, indices in pieces[part]:
            found = pc.take(lut, indices, boundscheck=False)
            masks[at : at + len(indices)] = as_numpy(pc.fill_null(found, 0) if found.null_count else found)

    Pool(threads).map(task, [slice(i, i + 1) for i in range(len(pieces))])
    return masks


# ---- values


def _number(table: pa.Table, path: Path, place: Place, what: str) -> Any:
    """Return a column of numbers in a plain type, or raise."""
    found = find(table, path, place)
    column = plain(found)
    if kind(column.type) not in ("number", "null"):
        help = "convert the column in the data" if kind(column.type) == "text" else None
        raise place.error("wrong-type", f"{what} needs numbers, but {told(path, found)}", help=help)
    return column.cast(pa.int64()) if pa.types.is_null(column.type) else column


def sum_values(table: pa.Table, path: Path, place: Place = Place()) -> Floats:
    """Return a column of numbers as float64, NaN for NULL.

    >>> sum_values(pa.table({"x": [1, None]}), ("x",))
    array([ 1., nan])
    """
    return doubles(_number(table, path, place, "a sum"))


def exact_values(
    table: pa.Table, path: Path, place: Place = Place()
) -> tuple[tuple[Integers, Fraction], ...]:
    """Return integers and scales: a value is the sum of its integers times their scales; the least int64 is NULL.

    One part is enough for most columns; doubles of very different sizes take a few.

    >>> exact_values(pa.table({"x": [0.5, 3.0, None]}), ("x",))
    ((array([                   1,                    6, -9223372036854775808]), Fraction(1, 2)),)
    """
    column = _number(table, path, place, "a sum")
    if column.type == pa.float64():
        result = _exact_floats(doubles(column))
    elif pa.types.is_decimal(column.type):
        result = _exact_decimals(column)
    else:
        ends = bounds(column)
        filled = as_numpy(pc.fill_null(column, NULL))
        result = None if ends is not None and ends[0] == NULL else ((filled, Fraction(1)),)
    if result is None:
        message = f"the values of '{'.'.join(path)}' have no exact form in a few 64-bit integers"
        help = "use double mode, or round the column in the data"
        raise place.error("not-exact", message, help=help, notes=[told(path, find(table, path, place))])
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
    table: pa.Table, path: Path, maximum: bool, place: Place = Place()
) -> tuple[Floats, Callable[[Floats], pa.Array]]:
    """Return float64 keys whose least is the MIN (or MAX), and the way back from keys to values; NaN is NULL.

    >>> keys, back = low_values(pa.table({"name": ["b", "a", None]}), ("name",), maximum=True)
    >>> back(np.array([keys[0], np.nan])).to_pylist()
    ['b', None]
    """
    found = find(table, path, place)
    column = plain(found)
    word = kind(column.type)
    if word == "other":
        raise place.error("wrong-type", f"values cannot be ordered: {told(path, found)}")
    type = owned(found.type)
    sign = -1.0 if maximum else 1.0
    if pa.types.is_null(column.type):
        return np.full(len(column), math.nan), lambda keys: pa.nulls(len(keys), type)
    if column.type == pa.float64() and not np.isposinf(sign * doubles(column)).any():
        return sign * doubles(column), lambda keys: _nullable(sign * keys, pa.float64()).cast(type)
    if column.type == pa.float64() or word in ("binary", "text") or pa.types.is_decimal(column.type):
        keys, values = compare.ranked(column)
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
        keys = doubles(pc.subtract(column, base))
    else:
        keys, values = compare.ranked(column)
        back = as_numpy(values)

    def restore(found: Floats) -> pa.Array:
        whole = _nullable(sign * found, pa.int64())
        whole = pa.array(back).take(whole) if len(back) else pc.add(whole, base)
        if pa.types.is_date32(plain_type) or pa.types.is_time32(plain_type):
            whole = whole.cast(pa.int32())
        return whole.cast(plain_type).cast(type)

    return sign * keys, restore


def _nullable(keys: Floats, type: pa.DataType) -> pa.Array:
    """Return numbers with NULL for NaN."""
    return pa.array(keys, from_pandas=True).cast(type)
