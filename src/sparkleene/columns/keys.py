"""Key columns as dense integer codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.fields import (
    bounds,
    decode,
    describe_column,
    find_column,
    integers,
    join_arrays,
    kind,
    simplify,
    value_type,
)
from sparkleene.errors import Place
from sparkleene.language.bound import Path

Codes = np.ndarray[Any, Any]

BLOCK = 1 << 16
"""Rows that are scattered at once, so that numpy's 8-byte copy of the codes stays in the cache."""


def codes(table: pa.Table, path: Path, place: Place = Place()) -> tuple[Codes, pa.Array]:
    """Return a code for each row, -1 for NULL and NaN, and the distinct values that the codes stand for.

    Every value of the result occurs in the rows.

    >>> codes(pa.table({"k": ["b", None, "a", "b"]}), ("k",))[0]
    array([ 0, -1,  1,  0], dtype=int32)
    """
    found = find_column(table, path, place)
    column = simplify(found)
    type = value_type(found.type)
    if kind(column.type) == "other":
        raise place.error("wrong-type", f"a key cannot be formed: {describe_column(path, found)}")
    if column.null_count == len(column):
        return np.full(len(column), -1, np.int32), make_array([], value_type(found.type))
    if pa.types.is_dictionary(column.type):
        return _from_dictionary(column)
    if column.type == pa.int64():
        ends = bounds(column)
        if ends is not None and ends[1] - ends[0] < _room(len(column)):
            return _from_range(column, ends[0], ends[1], type)
    if column.type == pa.float64():
        column = pc.add(column, make_scalar(0.0))  # -0.0 is 0.0
    coded, values = _hash_codes(column)
    return coded, values.cast(type)


def _hash_codes(column: Any) -> tuple[Codes, pa.Array]:
    """Code values of any type by hashing.

    One thread: merging the dictionaries of several took longer than it saved.
    """
    coded = column.dictionary_encode()
    parts = [fill_null(c.indices, -1) if c.null_count else c.indices for c in coded.chunks]
    return join_arrays(parts), coded.chunk(0).dictionary


def _room(rows: int) -> int:
    """Return how large a table is worth its memory for a number of rows; beyond, hashing is better."""
    return max(1 << 16, 2 * rows)


def _from_range(column: Any, low: int, high: int, type: pa.DataType) -> tuple[Codes, pa.Array]:
    """Code integers of a small range without hashing, in order of value."""
    shifted = pc.subtract(column, make_scalar(low))
    raw = as_numpy(fill_null(shifted, high - low + 1) if column.null_count else shifted)
    compact, used, _ = _dense(raw, high - low + 1, bool(column.null_count))
    return compact, make_array(used + low).cast(type)


def _from_dictionary(column: Any) -> tuple[Codes, pa.Array]:
    """Reuse the codes of a dictionary column; dictionaries may differ, repeat values, hold unused ones."""
    unified = column.unify_dictionaries()
    values = unified.chunk(0).dictionary
    size = len(values)
    if size == 0:
        return np.full(len(column), -1, np.int32), values
    raw = join_arrays(
        fill_null(chunk.indices.cast(pa.int64()), size) if chunk.null_count else chunk.indices
        for chunk in unified.chunks
    )
    distinct = values.dictionary_encode()
    if len(distinct.dictionary) < size:
        merge = np.append(as_numpy(distinct.indices), len(distinct.dictionary))
        raw, values, size = _take(merge, raw), distinct.dictionary, len(distinct.dictionary)
    compact, used, _ = _dense(raw, size, bool(column.null_count))
    return compact, values if len(used) == size else values.take(make_array(used))


def _dense(raw: Codes, size: int, nulls: bool) -> tuple[Codes, Codes, Codes]:
    """Renumber codes 0 to size - 1 (and `size` for NULL) without gaps.

    Return the new codes, with -1 for NULL, the old number of each, and a row of each.
    """
    rows = _scatter(raw, size)
    used = np.flatnonzero(rows)
    row = rows[used].astype(np.int64) - 1
    if len(used) == size and not nulls:
        return raw.astype(np.int32, copy=False), used, row
    place = np.full(size + 1, -1, np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return _take(place, raw), used, row


def _scatter(raw: Codes, size: int) -> Codes:
    """Return for each code one more than a row that has it, 0 where none has; `size` and -1 are no codes."""
    rows = np.zeros(size + 1, np.int32 if len(raw) < 2**31 - 1 else np.int64)
    for start in range(0, len(raw), BLOCK):
        block = raw[start : start + BLOCK]
        rows[block] = np.arange(start + 1, start + 1 + len(block), dtype=rows.dtype)
    return rows[:size]


def _take(values: Codes, indices: Codes) -> Codes:
    """Return `values[indices]`, which Arrow does faster; all indices are in range."""
    return as_numpy(pc.take(make_array(values), make_array(indices), boundscheck=False))


def combine_codes(keys: Sequence[Codes], sizes: Sequence[int]) -> tuple[Codes, Codes]:
    """Return one code per distinct combination, -1 where any key is -1, and a row for each code.

    Codes have no gaps; their order is not specified. `sizes` are the numbers of distinct values of the keys.

    >>> combine_codes([np.array([0, 0, 1, -1]), np.array([1, 1, 0, 0])], [2, 2])
    (array([ 0,  0,  1, -1], dtype=int32), array([1, 2]))
    """
    if not keys:
        raise ValueError("no keys to combine")
    code, size = keys[0], int(sizes[0])
    if len(keys) == 1:
        row = _scatter(code, size).astype(np.int64) - 1
        if size == 0 or row.min() >= 0:
            return code, row
        code, _, row = _dense(np.where(code < 0, size, code), size, True)  # a caller's codes had gaps
        return code, row
    for other, count in zip(keys[1:], sizes[1:], strict=True):
        code, row = _pair(code, size, other, int(count))
        size = len(row)
    return code, row


def _pair(one: Codes, size: int, two: Codes, count: int) -> tuple[Codes, Codes]:
    """Combine two keys, return the codes and a row of each."""
    total = size * count
    if not len(one) or not total:
        return np.full(len(one), -1, np.int32), np.zeros(0, np.int64)
    both: Codes = one.astype(np.int32 if total < 2**31 - 1 else np.int64)
    np.multiply(both, count, out=both)
    np.add(both, two, out=both, casting="same_kind")
    nulls = bool(one.min() < 0 or two.min() < 0)
    absent = (one < 0) | (two < 0) if nulls else None
    if total <= _room(len(one)):
        if absent is not None:
            both[absent] = total
        code, _, row = _dense(both, total, nulls)
        return code, row
    code, size = _slot_codes(both.astype(np.int64, copy=False), absent)
    return code, _scatter(code, size).astype(np.int64) - 1


SLOT_BITS = 18
"""Bits of a slot's number: a table of all slots is about as large as a core's own cache."""


def _slot_codes(values: Codes, absent: Codes | None) -> tuple[Codes, int]:
    """Code non-negative integers, -1 where absent: by their slots in a small table, as far as that goes.

    A slot belongs to the last value written there. The rows of other values are hashed by Arrow, whose own
    table is far larger: 100,000 combinations in 10 million rows took half the time this way.
    """
    table = np.full(1 << SLOT_BITS, -1, np.int64)
    if absent is not None:
        values[absent] = -1
    blocks = [slice(start, start + SLOT_BLOCK) for start in range(0, len(values), SLOT_BLOCK)]
    for block in blocks:
        table[_slots(values[block])] = values[block]
    used = np.flatnonzero(table >= 0)
    place = np.full(len(table), -1, np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    code = np.empty(len(values), np.int32)
    other = np.empty(len(values), bool)
    for block in blocks:
        slot = _slots(values[block])
        np.take(place, slot, out=code[block], mode="clip")
        np.not_equal(np.take(table, slot, mode="clip"), values[block], out=other[block])
    if absent is not None:
        code[absent] = -1
        other &= ~absent
    rest = np.flatnonzero(other)
    if not len(rest):
        return code, len(used)
    found, distinct = _hash_codes(pa.chunked_array([values[rest]]))
    code[rest] = found + np.int32(len(used))
    return code, len(used) + len(distinct)


SLOT_BLOCK = 1 << 14


def _slots(values: Codes) -> Codes:
    """Return the top bits of the values times the golden ratio (Knuth's multiplicative hashing)."""
    mixed = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((mixed >> np.uint64(64 - SLOT_BITS)).view(np.int64))


# ---- buckets


def buckets(table: pa.Table, keys: Sequence[str], count: int) -> Codes:
    """Return a bucket for each row, the same for equal keys in every table and process; -1 where a key is NULL.

    >>> one, two = (buckets(pa.table({"k": k}), ["k"], 9).tolist() for k in (["x", None], ["y", "x"]))
    >>> one[0] == two[1], one[1]
    (True, -1)
    """
    mixed = np.zeros(table.num_rows, np.uint64)
    absent = np.zeros(table.num_rows, bool)
    for name in keys:
        code, values = codes(table, (name,))
        absent |= code < 0
        hashed = np.append(_hashes(values), np.uint64(0))
        mixed = (mixed ^ hashed[code]) * np.uint64(0x9E3779B97F4A7C15)
    number = ((mixed >> np.uint64(33)) % np.uint64(count)).astype(np.int32)
    number[absent] = -1
    return number


def _hashes(values: pa.Array) -> Codes:
    """Return 64 bits for each value, whatever the process."""
    values = decode(values)
    type = values.type
    if pa.types.is_floating(type):
        return as_numpy(values.cast(pa.float64())).view(np.uint64)
    if pa.types.is_boolean(type) or (pa.types.is_integer(type) and type != pa.uint64()):
        return as_numpy(values.cast(pa.int64())).view(np.uint64)
    if pa.types.is_temporal(type):
        return as_numpy(integers(values)).view(np.uint64)
    raw = values if kind(type) == "binary" else values.cast(pa.string()).cast(pa.binary())
    return np.array([crc32(item) for item in raw.to_pylist()], np.uint64)
