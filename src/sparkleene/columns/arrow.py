"""Arrow values from NumPy's and Python's and back, by their buffers.

Where pandas is installed, pyarrow's own ways (`pa.array`, `pa.scalar`, `to_numpy`) import it to ask whether a value
is one of its objects. That takes longer than all else of a first answer, so they are left to values that are rare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Column = Any
"""A pyarrow.ChunkedArray or pyarrow.Array; pyarrow has no type stubs."""

Array = np.ndarray[Any, Any]

_DTYPES: dict[pa.DataType, np.dtype[Any]] = {
    type: np.dtype(str(type))
    for type in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
} | {pa.float32(): np.dtype(np.float32), pa.float64(): np.dtype(np.float64)}
_TYPES = {dtype: type for type, dtype in _DTYPES.items()} | {np.dtype(bool): pa.bool_()}
_OFFSETS: dict[pa.DataType, type[np.signedinteger[Any]]] = {pa.string(): np.int32, pa.large_string(): np.int64}
_PLAIN: dict[type, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def as_numpy(column: Column) -> Array:
    """Return a column as a numpy array, without a copy where there is one chunk and no NULL.

    Numbers with NULLs become doubles with NaN for NULL, as pyarrow has it.

    >>> as_numpy(pa.chunked_array([[1, None], [3]]))
    array([ 1., nan,  3.])
    """
    if not isinstance(column, pa.ChunkedArray):
        return _array_to_numpy(column)
    if column.num_chunks == 1:
        return _array_to_numpy(column.chunk(0))
    if column.type not in _DTYPES and not (column.type == pa.bool_() and not column.null_count):
        return np.asarray(column.to_numpy())
    if column.null_count and column.type not in (pa.float32(), pa.float64()):
        column = column.cast(pa.float64(), safe=False)
    parts = [_array_to_numpy(chunk) for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.empty(0, _DTYPES.get(column.type, np.dtype(bool)))


def _array_to_numpy(array: pa.Array) -> Array:
    """Return one array as a numpy array, which is read-only if it is not a copy."""
    dtype = _DTYPES.get(array.type)
    if dtype is None:
        if array.type == pa.bool_() and not array.null_count:
            return _read_bits(array.buffers()[1], array.offset, len(array))
        return np.asarray(array.to_numpy(zero_copy_only=False))
    there, data = array.buffers()
    if not len(array):
        return np.empty(0, dtype)
    values = np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)
    values.flags.writeable = False
    if not array.null_count:
        return values
    filled = values.astype(dtype if dtype.kind == "f" else np.float64)
    filled[~_read_bits(there, array.offset, len(array))] = np.nan
    return filled


def _read_bits(buffer: pa.Buffer, offset: int, size: int) -> Array:
    """Return some bits of a buffer as booleans."""
    if not size:
        return np.zeros(0, bool)
    whole, rest = divmod(offset, 8)
    packed = np.frombuffer(buffer, np.uint8, (rest + size + 7) // 8, whole)
    return np.unpackbits(packed, count=rest + size, bitorder="little")[rest:].view(bool)


def make_array(
    values: Array | Iterable[Any],
    type: pa.DataType | None = None,
    *,
    mask: Array | None = None,
    nan_is_null: bool = False,
) -> pa.Array:
    """Return an Arrow array of a NumPy array, without a copy of numbers, or of Python's values of a type.

    >>> make_array(np.array([1.5, np.nan, 2.5]), mask=np.array([True, False, False])).to_pylist()
    [None, nan, 2.5]
    >>> make_array(["a", None, "bc"], pa.string()).to_pylist()
    ['a', None, 'bc']
    """
    if not isinstance(values, np.ndarray):
        return _make_of_python(list(values), type)
    natural = _TYPES.get(values.dtype)
    if natural is None or values.ndim != 1:
        return pa.array(values, type, mask=mask, from_pandas=nan_is_null)
    if nan_is_null and values.dtype.kind == "f":
        nan = np.isnan(values)
        mask = nan if mask is None else mask | nan
    data = np.packbits(values, bitorder="little") if natural == pa.bool_() else np.ascontiguousarray(values)
    there = None if mask is None or not mask.any() else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    made = pa.Array.from_buffers(natural, len(values), [there, pa.py_buffer(data)])
    return made if type is None or type == natural else made.cast(type)


def _make_of_python(values: Sequence[Any], type: pa.DataType | None) -> pa.Array:
    """Return an array of integers, doubles, booleans or texts with None by its buffers; others as pyarrow does."""
    plain = next((each for each, of in _PLAIN.items() if of == type or (each is str and type in _OFFSETS)), None)
    if plain is None or not all(value is None or value.__class__ is plain for value in values):
        return pa.array(values, type)
    mask = np.fromiter((value is None for value in values), bool, len(values))
    if plain is str:
        return _make_of_texts(values, type, mask)
    try:
        made: Array = np.array([0 if value is None else value for value in values], plain)
    except OverflowError:
        return pa.array(values, type)  # which says what is wrong
    return make_array(made, mask=mask)


def _make_of_texts(values: Sequence[str | None], type: pa.DataType, mask: Array) -> pa.Array:
    """Return texts: their bytes one after the other, and where each begins."""
    parts = [b"" if value is None else value.encode() for value in values]
    ends = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=ends[1:])
    offsets = _OFFSETS[type]
    if ends[-1] > np.iinfo(offsets).max:
        return pa.array(values, type)
    there = pa.py_buffer(np.packbits(~mask, bitorder="little")) if mask.any() else None
    buffers = [there, pa.py_buffer(ends.astype(offsets)), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(type, len(parts), buffers)


def make_scalar(value: Any, type: pa.DataType | None = None) -> pa.Scalar:
    """Return one value as Arrow has it, of the type that Arrow would choose if none is given.

    >>> make_scalar(3), make_scalar(None, pa.float64()), make_scalar("a", pa.large_string())
    (<pyarrow.Int64Scalar: 3>, <pyarrow.DoubleScalar: None>, <pyarrow.LargeStringScalar: 'a'>)
    """
    if value is None:
        return pa.nulls(1, type)[0]
    natural = _PLAIN.get(value.__class__)
    if natural is None or (natural == pa.int64() and not -(2**63) <= value < 2**63):
        return pa.scalar(value, type)
    if type is None or type == natural or (natural == pa.string() and type in _OFFSETS):
        return _make_of_python([value], type or natural)[0]
    if type in _DTYPES and natural != pa.string():
        return _make_of_python([value], natural).cast(type)[0]
    return pa.scalar(value, type)


def fill_null(column: Column, value: bool | int | float | str) -> Column:
    """Return a column with a value in place of NULL."""
    return pc.fill_null(column, make_scalar(value, column.type))
