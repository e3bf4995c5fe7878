"""SASE, as COGRA (2019, section 8.1) describes it: first all trends are built, then counted.

Events are kept, and every pair that may be neighbours gets a pointer. From each event that ends trends, the
pointers are followed back to the first events; one current trend is kept, and each complete one adds 1.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from benchmarks.baselines.problem import Array, Problem
from benchmarks.baselines.steps import GONE, fits, has


def count(problem: Problem) -> Array:
    """Return the number of trends of each window."""
    return _count(problem.rows, problem.machine, problem.lo, problem.hi)


@nb.njit(nogil=True)
def _count(rows: Any, machine: Any, los: Array, his: Array) -> Array:
    counts = np.zeros(los.size)
    for w in range(los.size):
        ends, off, back = _pointers(rows, machine, los[w], his[w])
        counts[w] = _build(ends, off, back)
    return counts


@nb.njit(nogil=True)
def _pointers(rows: Any, machine: Any, lo: int, hi: int) -> Any:
    """Find the nodes, an event in a state, and for each the nodes that may come before it; node 0 is the start."""
    states, labels = machine.out.size, machine.off.size - 1
    number = np.full((hi - lo, states), -1, np.int64)
    node_event, node_state, ends = [-1], [0], [False]
    earlier, later = [0], [0]  # the ends of each pointer; the first is none
    k = 0
    while k < len(node_event):  # nodes are added in an order in which all before a node come first
        s, i = node_state[k], node_event[k]
        j = lo if i < 0 else i + 1
        while j < hi and s != GONE and not machine.inert[s]:
            mask, after = rows.mask[j], s
            for label in range(labels):
                if mask == 0 or not has(mask, label):
                    continue
                extended = False
                for t in range(machine.off[label], machine.off[label + 1]):
                    if machine.source[t] == s and fits(machine, rows, machine.pair[t], i, j):
                        target = machine.target[t]
                        if number[j - lo, target] < 0:
                            number[j - lo, target] = len(node_event)
                            node_event.append(j)
                            node_state.append(target)
                            ends.append(False)
                        earlier.append(k)
                        later.append(number[j - lo, target])
                        extended = True
                if extended and after != GONE:
                    after = machine.leave[label, after]
            s = after if after == GONE else machine.keep[rows.symbol[j], after]
            j += 1
        ends[k] = s != GONE and machine.out[s]
        k += 1
    off = np.zeros(len(node_event) + 1, np.int64)
    for p in range(1, len(later)):
        off[later[p] + 1] += 1
    off = np.cumsum(off)
    back, filled = np.empty(len(later) - 1, np.int64), off[:-1].copy()
    for p in range(1, len(later)):
        back[filled[later[p]]] = earlier[p]
        filled[later[p]] += 1
    return np.array(ends), off, back


@nb.njit(nogil=True)
def _build(ends: Array, off: Array, back: Array) -> float:
    """Build every trend once, from its last event to its first, and count."""
    found = 0.0
    trend, next_pointer = np.empty(ends.size, np.int64), np.empty(ends.size, np.int64)
    for end in range(1, ends.size):
        if not ends[end]:
            continue
        depth = 0
        trend[0], next_pointer[0] = end, off[end]
        while depth >= 0:
            node = trend[depth]
            if next_pointer[depth] == off[node + 1]:
                depth -= 1
                continue
            before = back[next_pointer[depth]]
            next_pointer[depth] += 1
            if before == 0:
                found += 1.0
                continue
            depth += 1
            trend[depth], next_pointer[depth] = before, off[before]
    return found
