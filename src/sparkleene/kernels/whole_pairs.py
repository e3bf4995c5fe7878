"""First and last events, pair by pair: the rows of a pass from each first event, and which pairs count."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.conditions import compare, holds
from sparkleene.kernels.jit import kernel
from sparkleene.kernels.program import Array
from sparkleene.kernels.whole_steps import Chosen


@kernel
def find_passes(chosen: Chosen, begins: Array, bounds: int, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
    """Return the first events of all windows: the window of each, its row, and the row where its pass may end.

    `begins` tells which rows begin a trend. The first comparisons, `bounds` of them, fail for good once they fail.
    """
    total = 0
    for k in range(lo.size):
        for i in range(lo[k], hi[k]):
            total += begins[i]
    window, first, last = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    n = 0
    for k in range(lo.size):
        end = lo[k]
        for i in range(lo[k], hi[k]):
            if not begins[i]:
                continue
            end = max(end, i + 1)
            while end < hi[k]:
                inside = True
                for c in range(bounds):
                    inside &= compare(chosen.predicates.op[c], chosen.f[c, i], chosen.g[c, end])
                if not inside:
                    break
                end += 1
            window[n], first[n], last[n] = k, i, end
            n += 1
    return window, first, last


@kernel
def find_longest(chosen: Chosen, bounds: int, lo: Array, hi: Array) -> Array:
    """Return how many rows at most lie between a first and a last event in each window, both with them."""
    longest = np.zeros(lo.size, np.int64)
    for k in range(lo.size):
        first = lo[k]
        for j in range(lo[k], hi[k]):
            for c in range(bounds):
                while first < j and not compare(chosen.predicates.op[c], chosen.f[c, first], chosen.g[c, j]):
                    first += 1
            longest[k] = max(longest[k], j - first + 1)
    return longest


@kernel
def check_pairs(chosen: Chosen, first: Array, last: Array, out: Array) -> None:
    """Tell of pairs of a first and a last event which satisfy all that is asked of both."""
    stack = np.empty(chosen.predicates.code.shape[0] + 1)
    for k in range(first.size):
        out[k] = holds(chosen.predicates, chosen.f, chosen.g, 0, first[k], last[k], stack)
