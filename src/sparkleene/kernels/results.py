"""Small steps on results: pairs of trends for AND, and the sums of sub-streams that make up a group."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import kernel
from sparkleene.kernels.numbers import add, mul, nonzero
from sparkleene.kernels.program import Array
from sparkleene.kernels.vectors import Table, add_row
from sparkleene.kernels.wide import widen

_P = np.uint64(0)


@kernel(allocates=False)
def pair_up(trends: Table, out: Table) -> None:
    """From trends of the first operand only, of the second only and of both, to unordered pairs of trends.

    Written as a sum of non-negative terms: nothing is subtracted but the pairing of a trend with itself.
    """
    values, lows = trends
    for k in range(values.shape[0]):
        first, second, both = values[k, 0, 0], values[k, 1, 0], values[k, 2, 0]
        others = add(both, widen(-1.0), _P) if nonzero(both) else both
        with_first = add(second, both, _P)
        with_second = add(first, both, _P)
        with_both = add(add(first, second, _P), others, _P)
        total = add(mul(first, with_first, _P), mul(second, both, _P), _P)
        out.value[k, 0] = add(total, mul(mul(both, others, _P), widen(0.5), _P), _P)
        for a in range(1, values.shape[2]):
            total = mul(values[k, 0, a], with_first, _P)
            total = add(total, mul(values[k, 1, a], with_second, _P), _P)
            out.value[k, a] = add(total, mul(values[k, 2, a], with_both, _P), _P)
        for m in range(lows.shape[2]):
            low = np.inf
            if nonzero(with_first):
                low = min(low, lows[k, 0, m])
            if nonzero(with_second):
                low = min(low, lows[k, 1, m])
            if nonzero(with_both):
                low = min(low, lows[k, 2, m])
            out.low[k, m] = low


@kernel(allocates=False)
def add_to_cells(table: Table, row: Array, cell: Array, repeat: Array, step: int, mod: Array, out: Table) -> None:
    """Add row[k] of a table to cell[k], and to the cells one step and more further, `repeat[k]` cells in all."""
    for k in range(row.size):
        into = cell[k]
        for _ in range(repeat[k]):
            add_row(out, into, table, row[k], mod)
            into += step
