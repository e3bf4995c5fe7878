"""COGRA (2019) as published: a count per state and open window; every event updates all windows that are open.

Type-grained under skip-till-any-match, pattern-grained under the others; no comparisons. Linear in the events,
times the number of windows that overlap: no panes.
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
        raise ValueError("with comparisons of all its events, COGRA is the event graph")
    return _count(problem.rows, problem.machine, problem.segment, problem.lo, problem.hi)


@nb.njit(nogil=True)
def _count(rows: Any, machine: Any, segment: Array, los: Array, his: Array) -> Array:
    states, labels = machine.out.size, machine.off.size - 1
    counts = np.zeros(los.size)
    most = _most_open(segment, los, his)
    vectors, new = np.zeros((most, states)), np.zeros(states)
    opened = closed = 0  # windows are in the order in which they begin, and end
    i = 0
    while closed < los.size:
        if opened == closed:
            i = los[opened]
        while opened < los.size and segment[opened] == segment[closed] and los[opened] == i:
            vectors[opened % most] = 0.0
            vectors[opened % most, 0] = 1.0
            opened += 1
        mask, symbol = rows.mask[i], rows.symbol[i]
        for w in range(closed, opened):
            vector = vectors[w % most]
            for label in range(labels):
                if mask == 0 or not has(mask, label):
                    continue
                for t in range(machine.off[label], machine.off[label + 1]):
                    new[machine.target[t]] += vector[machine.source[t]]
            if machine.moves[symbol]:
                for s in range(states):
                    to = machine.keep[symbol, s]
                    if to != GONE and to != s:
                        new[to] += vector[s]
                    if to != s:
                        vector[s] = 0.0
            for s in range(states):
                vector[s] += new[s]
                new[s] = 0.0
        i += 1
        while closed < opened and his[closed] == i:
            for s in range(states):
                if machine.out[s]:
                    counts[closed] += vectors[closed % most, s]
            closed += 1
    return counts


@nb.njit(nogil=True)
def _most_open(segment: Array, los: Array, his: Array) -> int:
    """Return how many windows are open at once at most."""
    most, first = 1, 0
    for w in range(los.size):
        while segment[first] != segment[w] or his[first] <= los[w]:
            first += 1
        most = max(most, w - first + 1)
    return most
