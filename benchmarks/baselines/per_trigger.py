"""A window per trigger, `WITHIN w` without SLIDE, of sequences of fixed length: A-Seq (2014), and stacks before it.

A-Seq (section 3.2) keeps for each START event a count per prefix, so that counts can expire with it. The stacks
that it compares with build each new sequence when its last event comes.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np

from benchmarks.baselines.problem import Array, Problem
from benchmarks.baselines.steps import has


def count_prefixes(problem: Problem) -> Array:
    """Return the number of sequences in the window of each trigger, by counts per START event and prefix."""
    counts = _prefixes(problem.rows, problem.machine, problem.bounds, problem.size)
    return counts[counts >= 0]


def build_sequences(problem: Problem) -> Array:
    """Return the same by building every sequence; what is forbidden in between is looked for afterwards."""
    counts = _sequences(problem.rows, problem.machine, problem.bounds, problem.size)
    return counts[counts >= 0]


@nb.njit(nogil=True)
def _prefixes(rows: Any, machine: Any, bounds: Array, size: float) -> Array:
    states, labels = machine.out.size, machine.off.size - 1
    counts = np.full(rows.time.size, -1.0)
    new = np.zeros(states)
    for segment in range(bounds.size - 1):
        lo, hi = bounds[segment], bounds[segment + 1]
        start, prefix = np.empty(hi - lo, rows.time.dtype), np.zeros((hi - lo, states))
        first = last = 0  # START events whose windows are open
        for i in range(lo, hi):
            mask, symbol = rows.mask[i], rows.symbol[i]
            while first < last and start[first] <= rows.time[i] - size:
                first += 1
            ends = False
            for k in range(first, last):
                for label in range(labels):
                    if mask == 0 or not has(mask, label):
                        continue
                    for t in range(machine.off[label], machine.off[label + 1]):
                        if machine.source[t] != 0:
                            new[machine.target[t]] += prefix[k, machine.source[t]]
                if machine.moves[symbol]:
                    for s in range(states):
                        if machine.keep[symbol, s] != s:  # what is forbidden has come: this prefix counts anew
                            prefix[k, s] = 0.0
                for s in range(states):
                    ends |= machine.out[s] and new[s] > 0.0
                    prefix[k, s] += new[s]
                    new[s] = 0.0
            for label in range(labels):
                if mask == 0 or not has(mask, label):
                    continue
                for t in range(machine.off[label], machine.off[label + 1]):
                    if machine.source[t] == 0:
                        start[last] = rows.time[i]
                        prefix[last, machine.target[t]] = 1.0
                        last += 1
            if ends:
                counts[i] = 0.0
                for k in range(first, last):
                    for s in range(states):
                        if machine.out[s]:
                            counts[i] += prefix[k, s]
    return counts


@nb.njit(nogil=True)
def _sequences(rows: Any, machine: Any, bounds: Array, size: float) -> Array:
    states, labels = machine.out.size, machine.off.size - 1
    counts = np.full(rows.time.size, -1.0)
    before = np.zeros(states, np.int64)  # the state before each; sequences have one
    for t in range(machine.source.size):
        before[machine.target[t]] = machine.source[t]
    row, state, place = np.empty(states, np.int64), np.empty(states, np.int64), np.empty(states, np.int64)
    for segment in range(bounds.size - 1):
        lo, hi = bounds[segment], bounds[segment + 1]
        stack, height = np.empty((states, hi - lo), np.int64), np.zeros(states, np.int64)
        found = np.zeros(hi - lo)  # the sequences from each START event on
        first = lo
        for i in range(lo, hi):
            mask, ends = rows.mask[i], False
            while rows.time[first] <= rows.time[i] - size:
                first += 1
            for label in range(labels):
                if mask == 0 or not has(mask, label):
                    continue
                for t in range(machine.off[label], machine.off[label + 1]):
                    s = machine.target[t]
                    if not machine.out[s]:
                        stack[s, height[s]] = i
                        height[s] += 1
                        continue
                    depth = 0
                    row[0], state[0], place[0] = i, s, height[before[s]]
                    while depth >= 0:
                        source = before[state[depth]]
                        if source == 0:
                            if _is_free(rows, machine, row, state, depth):
                                found[row[depth] - lo] += 1.0
                                ends = True
                            depth -= 1
                            continue
                        place[depth] -= 1
                        if place[depth] < 0 or stack[source, place[depth]] < first:
                            depth -= 1
                            continue
                        event = stack[source, place[depth]]
                        if event < row[depth]:
                            row[depth + 1], state[depth + 1] = event, source
                            place[depth + 1] = height[before[source]]
                            depth += 1
            if ends:
                counts[i] = found[first - lo : i + 1 - lo].sum()
    return counts


@nb.njit(nogil=True)
def _is_free(rows: Any, machine: Any, row: Array, state: Array, depth: int) -> bool:
    """Tell whether nothing forbidden is between the events of a sequence."""
    for d in range(depth, 0, -1):
        for i in range(row[d] + 1, row[d - 1]):
            if machine.keep[rows.symbol[i], state[d]] != state[d]:
                return False
    return True
