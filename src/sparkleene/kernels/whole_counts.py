"""Counts of trends that are chosen by their first and last events: the inner part of a small machine as matrices.

Between its first and its last event a trend is in an inner state. By symbol there is a vector of what a first
event puts into these states, a matrix of what a tick makes of them, and a covector of what a last event takes out.
Without sums and minima that is all, and a few doubles stay in registers. All else is done by `start_queue` and
`first_last`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper
from sparkleene.kernels.program import Array, Events, Program
from sparkleene.kernels.ticks import symbol_of
from sparkleene.kernels.tuples import tuple_setitem
from sparkleene.kernels.words import Vector

MAX_STATES = 4
MAX_SYMBOLS = 64


class Counts(NamedTuple):
    """The inner part of a machine by symbol; `states` is a tuple of as many zeros, as in `Words`."""

    states: tuple[int, ...]
    kept: Array  # float64[symbols, states, states]: what a tick keeps
    added: Array  # what one event adds
    step: Array  # what a tick of one event does
    enter: Array  # float64[symbols, states]: what a first event brings
    leave: Array  # what a last event ends
    alone: Array  # float64[symbols]: the trends of one event
    still: Array  # bool[symbols]: a tick of one event leaves all as it is
    cut: Array  # bool[symbols, 2]: no trend reaches such a tick; none goes on from it

    @property
    def identity(self) -> Vector:
        """The matrix of nothing, row by row."""
        return tuple(np.eye(len(self.states)).ravel().tolist())

    @property
    def zero(self) -> Vector:
        """The vector without trends."""
        return (0.0,) * len(self.states)


def prepare(program: Program) -> Counts | None:
    """Return the inner part of a machine, None if it is too large, carries more than counts, or moves its ends."""
    if program.sum_of.size or program.low_adds.size or program.classes > 1 or program.labels.size > MAX_SYMBOLS:
        return None
    final = np.zeros(program.states, bool)
    final[program.out_state] = True
    fixed = final.copy()
    fixed[0] = True
    stays = (program.keep == np.arange(program.states)) | ~fixed
    moved = np.isin(program.keep, np.flatnonzero(fixed)) & ~fixed
    if (
        not stays.all()
        or moved.any()
        or final[program.src].any()
        or not program.dst.all()
        or (program.pair >= 0).any()
    ):
        return None
    inner = _find_inner(program, fixed, final)
    if not 1 <= inner.size <= MAX_STATES:
        return None
    kept, added = (np.zeros((program.labels.size, program.states, program.states)) for _ in range(2))
    for y, mask in enumerate(program.labels.tolist()):
        for s, k in enumerate(program.keep[y].tolist()):
            if k >= 0:
                kept[y, k, s] = 1.0
        for label in range(program.off.size - 1):
            if mask >> label & 1:
                of_label = slice(program.off[label], program.off[label + 1])
                np.add.at(added[y], (program.dst[of_label], program.src[of_label]), 1.0)
    out = np.bincount(program.out_state, minlength=program.states).astype(np.float64)
    enter, leave, alone = added[:, inner, 0], (out @ added)[:, inner], (out @ added)[:, 0]
    kept, added = (np.ascontiguousarray(one[:, inner][:, :, inner]) for one in (kept, added))
    still = (kept + added == np.eye(inner.size)).all(axis=(1, 2))
    gone = ~(kept + added).any(axis=(1, 2))
    cut = np.stack([gone & ~leave.any(axis=1), gone & ~enter.any(axis=1)], axis=1)
    made = (np.ascontiguousarray(enter), np.ascontiguousarray(leave), np.ascontiguousarray(alone))
    return Counts((0,) * inner.size, kept, added, kept + added, *made, still, cut)


def _find_inner(program: Program, fixed: Array, final: Array) -> Array:
    """Return the inner states from which a trend can end."""
    useful = final.copy()
    for _ in range(program.states):
        useful[program.src[useful[program.dst]]] = True
        for row in program.keep:
            useful |= (row >= 0) & useful[row]
    return np.flatnonzero(useful & ~fixed)


@helper
def tick_end(events: Events, i: int, end: int) -> int:
    """Return the row after the tick that begins with row i."""
    j = i + 1
    while j < end and events.tick[j] == events.tick[i]:
        j += 1
    return j


@helper
def _union(program: Program, events: Events, i: int, j: int) -> int:
    """Return the symbol of a tick."""
    union = program.labels[events.symbol[i]]
    for e in range(i + 1, j):
        union |= program.labels[events.symbol[e]]
    return symbol_of(program.labels, union)  # type: ignore[no-any-return]


@helper
def write_tick(program: Program, counts: Counts, events: Events, i: int, j: int, out: Array) -> None:
    """Write the matrix of a tick of several events to out[0]."""
    m = len(counts.states)
    y = _union(program, events, i, j)
    for d in range(m):
        for s in range(m):
            out[0, d, s] = counts.kept[y, d, s]
            for e in range(i, j):
                out[0, d, s] += counts.added[events.symbol[e], d, s]


@helper
def find_cuts(program: Program, counts: Counts, events: Events, i: int, j: int) -> tuple[bool, bool]:
    """Tell whether no trend reaches the tick of rows i:j, and whether none goes on after it."""
    if j == i + 1:
        y = events.symbol[i]
        return counts.cut[y, 0], counts.cut[y, 1]
    m, union = len(counts.states), _union(program, events, i, j)
    for d in range(m):
        for s in range(m):
            if counts.kept[union, d, s]:
                return False, False
    before = after = True
    for e in range(i, j):
        y = events.symbol[e]
        for d in range(m):
            before &= counts.leave[y, d] == 0.0
            after &= counts.enter[y, d] == 0.0
            for s in range(m):
                before &= counts.added[y, d, s] == 0.0
                after &= counts.added[y, d, s] == 0.0
    return before, after


@helper(fastmath={"contract"})
def go_on(counts: Counts, step: Array, y: int, matrix: Vector) -> Vector:
    """Return a matrix with a step behind it."""
    m = len(counts.states)
    after = matrix
    for d in range(m):
        for c in range(m):
            total = 0.0
            for s in range(m):
                total += step[y, d, s] * matrix[s * m + c]
            after = tuple_setitem(after, d * m + c, total)
    return after


@helper(fastmath={"contract"})
def go_back(counts: Counts, step: Array, y: int, matrix: Vector) -> Vector:
    """Return a matrix with a step before it."""
    m = len(counts.states)
    after = matrix
    for d in range(m):
        for c in range(m):
            total = 0.0
            for s in range(m):
                total += matrix[d * m + s] * step[y, s, c]
            after = tuple_setitem(after, d * m + c, total)
    return after


@helper(fastmath={"contract"})
def step_vector(counts: Counts, step: Array, y: int, vector: Vector) -> Vector:
    """Return what a step makes of a vector."""
    m = len(counts.states)
    after = vector
    for d in range(m):
        total = 0.0
        for s in range(m):
            total += step[y, d, s] * vector[s]
        after = tuple_setitem(after, d, total)
    return after
