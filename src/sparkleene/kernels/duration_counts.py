"""Counts of trends whose first event is at most so long before their last: `start_queue`, in registers."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.conditions import compare
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import Array, Events, Program
from sparkleene.kernels.tuples import tuple_setitem
from sparkleene.kernels.whole_counts import Counts, go_back, go_on, step_vector, tick_end, write_tick
from sparkleene.kernels.whole_steps import Chosen
from sparkleene.kernels.words import Vector


@helper
def _leave(chosen: Chosen, first: int, i: int) -> int:
    """Return the first row from which trends to the tick of row i may still count."""
    for c in range(len(chosen.predicates.op)):
        while first < i and not compare(chosen.predicates.op[c], chosen.f[c, first], chosen.g[c, i]):
            first += 1
    return first


@helper
def _counts_alone(chosen: Chosen, e: int) -> bool:
    """Tell whether a trend of one event counts; if it does not, none does."""
    for c in range(len(chosen.predicates.op)):
        if not compare(chosen.predicates.op[c], chosen.f[c, e], chosen.g[c, e]):
            return False
    return True


@helper(fastmath={"contract"})
def _turn(
    program: Program, counts: Counts, events: Events, starts: Array, base: int, border: int, identity: Vector,
    front: Array, room: Array,
) -> None:  # fmt: skip
    """Write for each row from the base to the border what its starts and all later ones have come to there."""
    m, matrix = len(counts.states), identity
    for s in range(m):
        front[border - base, s] = 0.0
    j = border
    while j > base and not events.stop[0]:
        i = j - 1
        while i > base and events.tick[i - 1] == events.tick[i]:
            i -= 1
        for s in range(m):
            total = front[j - base, s]
            for e in range(i, j):
                y = events.symbol[e]
                for k in range(m):
                    total += matrix[s * m + k] * (counts.enter[y, k] if starts[e] else 0.0)
            front[i - base, s] = total
        if j == i + 1:
            matrix = go_back(counts, counts.step, np.int64(events.symbol[i]), matrix)
        else:
            write_tick(program, counts, events, i, j, room)
            matrix = go_back(counts, room, np.int64(0), matrix)
        j = i


@kernel(fastmath={"contract"})
def run(
    program: Program, counts: Counts, identity: Vector, zero: Vector, events: Events, chosen: Chosen, lo: Array,
    hi: Array, out: Array,
) -> None:  # fmt: skip
    """Write the counts of windows whose numbers fit doubles; f and g rise with time, and early starts fail first.

    A window is cut into the starts before a border, as vectors, and those since, which are one vector.
    """
    m = len(counts.states)
    front, room = np.zeros((16, m)), np.zeros((1, m, m))
    for n in range(lo.size):
        if events.stop[0]:
            break
        i, end, total = lo[n], hi[n], 0.0
        first = base = border = (
            i  # starts from `base` to the border are in `front`; if both are one, there are none
        )
        since, newer = identity, zero
        while i < end and not events.stop[0]:
            j = tick_end(events, i, end)
            first = _leave(chosen, first, i)
            if first > border:
                base = border = i
                if first < i:
                    base = first
                    if len(front) < border - base + 1:
                        front = np.zeros((2 * (border - base + 1), m))
                    _turn(program, counts, events, chosen.starts, base, border, identity, front, room)
                since, newer = identity, zero
            before = newer
            if border > base:
                for s in range(m):
                    some = newer[s]
                    for k in range(m):
                        some += since[s * m + k] * front[first - base, k]
                    before = tuple_setitem(before, s, some)
            for e in range(i, j):
                y = np.int64(events.symbol[e])
                ended = counts.alone[y] if chosen.starts[e] else 0.0
                for s in range(m):
                    ended += counts.leave[y, s] * before[s]
                if ended != 0.0 and chosen.stops[e] and _counts_alone(chosen, e):
                    total += ended
            y, step = np.int64(events.symbol[i]), counts.step
            if j > i + 1:
                write_tick(program, counts, events, i, j, room)
                y, step = np.int64(0), room
            if border > base:
                since = go_on(counts, step, y, since)
            newer = step_vector(counts, step, y, newer)
            for e in range(i, j):
                if chosen.starts[e]:
                    for s in range(m):
                        newer = tuple_setitem(newer, s, newer[s] + counts.enter[events.symbol[e], s])
            i = j
        out[n, 0] = total
