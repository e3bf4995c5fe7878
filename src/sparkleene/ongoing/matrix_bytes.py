"""Matrices of wide numbers as bytes: in plain doubles where these are enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array
from sparkleene.kernels.wide import WIDE, as_doubles, is_plain

BLOCK = 1 << 30  # bytes; Arrow's offsets are of 32 bits


def pack_matrices(values: Array) -> pa.ChunkedArray:
    """Return matrices of doubles or wide numbers as bytes, a row each."""
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    per = max(1, BLOCK // max(1, 16 * flat.shape[1]))
    blocks = [flat[start : start + per] for start in range(0, len(flat), per)]
    return pa.chunked_array([_pack(block) for block in blocks], pa.binary())


def unpack_matrices(column: pa.ChunkedArray, shape: tuple[int, int], dtype: Any) -> Array:
    """Return matrices of a shape that were packed."""
    width = shape[0] * shape[1]
    parts = [_unpack(chunk, width, dtype) for chunk in column.chunks]
    return np.concatenate([np.zeros((0, width), dtype), *parts]).reshape(len(column), *shape)


def _pack(flat: Array) -> pa.Array:
    count, width = flat.shape
    wide = ~np.logical_and.reduce(is_plain(flat), axis=1)
    offsets = np.concatenate([[0], np.cumsum(np.where(wide, 2 * width, width))])
    data = np.empty(offsets[-1])
    if wide.any():
        data[_places(offsets, ~wide, width)] = as_doubles(flat[~wide])
        data[_places(offsets, wide, 2 * width)] = flat[wide].view(np.float64)
    else:
        data = as_doubles(flat)
    buffers = [None, pa.py_buffer((8 * offsets).astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _unpack(chunk: pa.Array, width: int, dtype: Any) -> Array:
    _, where, buffer = chunk.buffers()
    kind = np.int64 if pa.types.is_large_binary(chunk.type) else np.int32
    offsets = np.frombuffer(where, kind)[chunk.offset : chunk.offset + len(chunk) + 1].astype(np.int64)
    if not width or not len(chunk):
        return np.zeros((len(chunk), width), dtype)
    data = np.frombuffer(buffer, np.uint8)[offsets[0] : offsets[-1]].view(np.float64)
    offsets = (offsets - offsets[0]) // 8
    wide = np.asarray(np.diff(offsets) != width)
    if not wide.any():
        return data.reshape(len(chunk), width).astype(dtype)
    out = np.zeros((len(chunk), width), dtype)
    out[~wide] = data[_places(offsets, ~wide, width)]
    out[wide] = data[_places(offsets, wide, 2 * width)].view(WIDE)
    return out


def _places(offsets: Array, chosen: Array, width: int) -> Array:
    """Return the places of the numbers of some rows."""
    return np.asarray(offsets[:-1][chosen][:, None] + np.arange(width))
