"""Columns of rows in one pass: what NumPy would take several for."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import kernel
from sparkleene.kernels.numbers import null
from sparkleene.kernels.program import Array


@kernel
def write_since(time: Array, lo: Array, hi: Array, out: Array) -> None:
    """Write for each row of some windows how long after the first row of its window it is."""
    for k in range(lo.size):
        for i in range(lo[k], hi[k]):
            out[i] = np.float64(time[i] - time[lo[k]])


@kernel
def find_largest(column: Array) -> float:
    """Return the largest absolute value of a column, 1 at least."""
    most = 1.0
    for i in range(column.size):
        if not null(column[i]):
            most = max(most, abs(np.float64(column[i])))
    return most


@kernel
def mark_seen(mask: Array, seen: Array) -> None:
    """Mark the masks of one byte that rows have."""
    for i in range(mask.size):
        seen[mask[i]] = True


@kernel
def translate(table: Array, mask: Array, out: Array) -> None:
    """Write for each mask of one byte what a table has for it."""
    for i in range(mask.size):
        out[i] = table[mask[i]]
