"""A-Seq (2014) on Kleene patterns: a fixed-length query for every length up to that of the longest match.

So COGRA (2019, section 8.1) and HAMLET (2021, section 5.1, as SHARON) flatten what has no Kleene plus: a count per
state and length. Quadratic in the events of a window; no comparisons, skip-till-any-match only.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from benchmarks.baselines.problem import Array, Problem
from benchmarks.baselines.steps import GONE, has


def count(problem: Problem) -> Array:
    """Return the number of trends of each window."""
    if (problem.machine.pair >= 0).any():
        raise ValueError("A-Seq has no comparisons of neighbours")
    return _count(problem.rows, problem.machine, problem.lo, problem.hi)


@nb.njit(nogil=True)
def _count(rows: Any, machine: Any, los: Array, his: Array) -> Array:
    states, labels = machine.out.size, machine.off.size - 1
    counts = np.zeros(los.size)
    moved = np.zeros(states)
    for w in range(los.size):
        lo, hi = los[w], his[w]
        longest = 0  # the length of the longest match, estimated from above
        for i in range(lo, hi):
            longest += rows.mask[i] != 0
        prefix = np.zeros((longest + 2, states))  # of each length and state: how many partial trends
        prefix[0, 0] = 1.0
        used = 0
        for i in range(lo, hi):
            mask, symbol = rows.mask[i], rows.symbol[i]
            top = used
            for length in range(top, -1, -1):
                for label in range(labels):
                    if mask == 0 or not has(mask, label):
                        continue
                    for t in range(machine.off[label], machine.off[label + 1]):
                        amount = prefix[length, machine.source[t]]
                        if amount != 0.0:
                            moved[machine.target[t]] += amount
                            used = max(used, length + 1)
                if machine.moves[symbol]:
                    _move(prefix[length], machine.keep[symbol])
                for s in range(states):
                    prefix[length + 1, s] += moved[s]
                    moved[s] = 0.0
        for length in range(used + 1):
            for s in range(states):
                if machine.out[s]:
                    counts[w] += prefix[length, s]
    return counts


@nb.njit(nogil=True)
def _move(vector: Array, keep: Array) -> None:
    before = vector.copy()
    vector[:] = 0.0
    for s in range(vector.size):
        if keep[s] != GONE:
            vector[keep[s]] += before[s]
