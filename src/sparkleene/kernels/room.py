"""Arrays that grow: kernels that cannot know how much they will find double the room when it is full."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import helper
from sparkleene.kernels.program import Array


def double_rows(old: Array, size: int) -> Array:
    """Return the first rows with room for as many again as there was; what is not written takes no memory."""
    new = np.empty((2 * len(old), *old.shape[1:]), old.dtype)
    new[:size] = old[:size]
    return new


@helper(allocates=True)
def grow(old: Array, size: int) -> Array:
    """Return the numbers with room for as many again if there are `size` of them already."""
    if size < len(old):
        return old
    new = np.empty(2 * len(old), old.dtype)
    for i in range(size):
        new[i] = old[i]
    return new


@helper(allocates=True)
def grow_rows(old: Array, size: int) -> Array:
    """Return the rows with room for as many again if there are `size` of them already."""
    if size < len(old):
        return old
    new = np.empty((2 * len(old), old.shape[1]), old.dtype)
    for i in range(size):
        for c in range(old.shape[1]):
            new[i, c] = old[i, c]
    return new


@helper(allocates=True)
def grow_columns(old: Array, size: int) -> Array:
    """Return the columns with room for as many again if there are `size` of them already."""
    if size < old.shape[1]:
        return old
    new = np.empty((old.shape[0], 2 * old.shape[1]), old.dtype)
    for r in range(old.shape[0]):
        for i in range(size):
            new[r, i] = old[r, i]
    return new
