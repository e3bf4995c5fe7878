"""Key columns as dense integer codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.engine.fields import Place, as_numpy, bounds, find, kind, plain, told
from sparkleene.language.bound import Path

Codes = np.ndarray[Any, Any]

TABLE = 1 << 24
"""Combinations are looked up in a table of up to this size, or of the number of rows; else hashed."""


def codes(table: pa.Table, path: Path, source: str = "", filename: str = "query") -> tuple[Codes, pa.Array]:
    """Return a code for each row, -1 for NULL and NaN, and the distinct values that the codes stand for.

    Every value of the result occurs in the rows.

    >>> codes(pa.table({"k": ["b", None, "a", "b"]}), ("k",))[0]
    array([ 0, -1,  1,  0], dtype=int32)
    """
    place = Place(source, filename)
    found = find(table, path, place)
    column = plain(found)
    type = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
    if kind(column.type) == "other":
        raise place.error("wrong-type", f"a key cannot be formed: {told(path, found)}")
    if pa.types.is_null(column.type) or not len(column):
        return np.full(len(column), -1, np.int32), pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        return _from_dictionary(column)
    if column.type == pa.int64():
        ends = bounds(column)
        if ends is not None and ends[1] - ends[0] < max(1 << 16, len(column) // 2):
            return _from_range(column, ends[0], ends[1], type)
    if column.type == pa.float64():
        column = pc.add(column, 0.0)  # -0.0 is 0.0
    coded = column.dictionary_encode().combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    return _filled(coded.indices), _cast_back(coded.dictionary, type)


def _cast_back(values: pa.Array, type: pa.DataType) -> pa.Array:
    """Return distinct values in the column's own type where it is one that results are built of."""
    if isinstance(type, pa.BaseExtensionType) or pa.types.is_run_end_encoded(type) or values.type == type:
        return values
    return values.cast(type)


def _filled(indices: pa.Array) -> Codes:
    """Return indices as numpy, with -1 for NULL."""
    return as_numpy(pc.fill_null(indices, -1) if indices.null_count else indices)


def _from_range(column: Any, low: int, high: int, type: pa.DataType) -> tuple[Codes, pa.Array]:
    """Code integers of a small range without hashing, in order of value."""
    shifted = pc.subtract(column, low)
    raw = as_numpy(pc.fill_null(shifted, high - low + 1) if column.null_count else shifted)
    compact, used = _dense(raw, high - low + 1, bool(column.null_count))
    return compact, pa.array(used + low).cast(type)


def _from_dictionary(column: Any) -> tuple[Codes, pa.Array]:
    """Reuse the codes of a dictionary column; dictionaries may differ, repeat values, hold unused ones."""
    unified = column.unify_dictionaries()
    values = unified.chunk(0).dictionary
    size = len(values)
    if size == 0:
        return np.full(len(column), -1, np.int32), values
    parts = [
        as_numpy(pc.fill_null(chunk.indices.cast(pa.int64()), size) if chunk.null_count else chunk.indices)
        for chunk in unified.chunks
    ]
    raw = parts[0] if len(parts) == 1 else np.concatenate(parts)
    distinct = values.dictionary_encode()
    if len(distinct.dictionary) < size:
        merge = np.append(as_numpy(distinct.indices), len(distinct.dictionary))
        raw, values, size = merge[raw], distinct.dictionary, len(distinct.dictionary)
    compact, used = _dense(raw, size, bool(column.null_count))
    return compact, values if len(used) == size else values.take(pa.array(used))


def _dense(raw: Codes, size: int, nulls: bool) -> tuple[Codes, Codes]:
    """Return codes 0 to size - 1 (and `size` for NULL) renumbered without gaps, and the numbers in use."""
    present = np.zeros(size + 1, bool)
    present[raw] = True
    used = np.flatnonzero(present[:size])
    narrow = np.int32 if len(used) < 2**31 else np.int64
    if len(used) == size and not nulls:
        return raw.astype(narrow, copy=False), used
    place = np.full(size + 1, -1, narrow)
    place[used] = np.arange(len(used), dtype=narrow)
    return place[raw], used


def combine(keys: Sequence[Codes], sizes: Sequence[int]) -> tuple[Codes, Codes]:
    """Return one code per distinct combination, -1 where any key is -1, and a row for each code.

    Codes have no gaps; their order is not specified. `sizes` are the numbers of distinct values of the keys.

    >>> combine([np.array([0, 0, 1, -1]), np.array([1, 1, 0, 0])], [2, 2])
    (array([ 0,  0,  1, -1], dtype=int32), array([1, 2]))
    """
    if not keys:
        raise ValueError("no keys to combine")
    code, size = keys[0], int(sizes[0])
    for other, count in zip(keys[1:], sizes[1:], strict=True):
        code, size = _pair(code, size, other, int(count))
    row = _rows(code, size)
    if (row < 0).any():  # a caller's codes had gaps
        code, used = _dense(np.where(code < 0, size, code), size, True)
        row = row[used]
    return code, row


def _pair(one: Codes, size: int, two: Codes, count: int) -> tuple[Codes, int]:
    """Combine two keys."""
    total = size * count
    wide = np.int32 if total < 2**31 - 1 else np.int64
    both: Codes = one.astype(wide)
    np.multiply(both, count, out=both)
    np.add(both, two, out=both, casting="same_kind")
    absent = (one < 0) | (two < 0)
    if total <= max(TABLE, len(one)):
        nulls = bool(absent.any())
        if nulls:
            both[absent] = total
        code, used = _dense(both, total, nulls)
        return code, len(used)
    coded = pa.array(both, mask=absent if absent.any() else None).dictionary_encode()
    return _filled(coded.indices), len(coded.dictionary)


def _rows(code: Codes, size: int) -> Codes:
    """Return a row of each code, -1 for a code without rows."""
    rows = np.full(size + 1, -1, np.int64)
    rows[code] = np.arange(len(code))  # -1 falls on the extra last place
    return rows[:size]
