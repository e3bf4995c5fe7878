"""GRETA (2017): a node per event and state with the count of its partial trends; each new event looks at all nodes.

Quadratic in the events of a window. Under the stricter semantics it is the event-grained aggregation that COGRA
(2019, section 8.2) compares with.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from benchmarks.baselines.problem import Array, Problem
from benchmarks.baselines.steps import GONE, fits, has


def count(problem: Problem) -> Array:
    """Return the number of trends of each window, infinite where it is beyond doubles."""
    return _count(problem.rows, problem.machine, problem.lo, problem.hi)


@nb.njit(nogil=True)
def _count(rows: Any, machine: Any, los: Array, his: Array) -> Array:
    states, labels = machine.out.size, machine.off.size - 1
    counts = np.zeros(los.size)
    new = np.zeros(states)
    for w in range(los.size):
        lo, hi = los[w], his[w]
        room = 1024
        event, state, amount = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
        event[0], state[0], amount[0] = -1, 0, 1.0  # the empty trend
        nodes, done = 1, 0.0
        for i in range(lo, hi):
            mask, symbol = rows.mask[i], rows.symbol[i]
            if mask != 0:
                new[:] = 0.0
                for k in range(nodes):
                    s = state[k]
                    after = s
                    for label in range(labels):
                        if not has(mask, label):
                            continue
                        extended = False
                        for t in range(machine.off[label], machine.off[label + 1]):
                            if machine.source[t] == s and fits(machine, rows, machine.pair[t], event[k], i):
                                new[machine.target[t]] += amount[k]
                                extended = True
                        if extended and after != GONE:
                            after = machine.leave[label, after]
                    state[k] = after
            if machine.moves[symbol] or mask != 0:
                kept = 0
                for k in range(nodes):
                    s = state[k] if state[k] == GONE else machine.keep[symbol, state[k]]
                    if s != GONE:
                        event[kept], state[kept], amount[kept] = event[k], s, amount[k]
                        kept += 1
                nodes = kept
            if mask != 0:
                for s in range(states):
                    if new[s] == 0.0:
                        continue
                    if machine.inert[s]:
                        done += new[s] * machine.out[s]
                        continue
                    if nodes == room:
                        room *= 2
                        event, state, amount = _grow(event, room), _grow(state, room), _grow(amount, room)
                    event[nodes], state[nodes], amount[nodes] = i, s, new[s]
                    nodes += 1
        for k in range(nodes):
            if machine.out[state[k]]:
                done += amount[k]
        counts[w] = done
    return counts


@nb.njit(nogil=True)
def _grow(array: Array, room: int) -> Array:
    larger = np.empty(room, array.dtype)
    larger[: array.size] = array
    return larger
