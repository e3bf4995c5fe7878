"""The queues of queue.py for counts alone: the everyday case, with sums in registers, twice as fast."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add
from sparkleene.kernels.program import Array, Events, NumberSystem, Program
from sparkleene.kernels.ticks import Transitions, tick_symbol


class Queues(NamedTuple):
    """A queue of entries for each state and pair on a step out of it: those of queue q begin at q * room.

    A pair has one comparison that old entries fail, or one that new entries fail, or both.
    """

    of_step: Array  # int64[steps]: the queue that a transition asks, -1 for none
    of_state: Array  # int64[states + 1]: the queues of a state are those from here on
    old: Array  # int64[queues]: the comparison that old entries fail, -1 for none
    new: Array  # int64[queues]: the comparison that new entries fail, -1 for none
    strict: Array  # bool[queues, 2]: whether equal sides fail it
    order: Array  # int64[symbols, states]: the states that a tick moves
    room: int
    at: Array  # int64[4, queues]: head, middle, after and end
    when: Array  # float64[2, entries]: the sides of the entries in both comparisons


class Counts(NamedTuple):
    """Room for the counts of states, of entries, of the newer entries of queues, and of what a tick brings."""

    total: Array
    entry: Array
    newer: Array
    fresh: Array
    to_state: Array
    to_event: Array


@helper
def _count_stretch(
    program: Program, by: Transitions, events: Events, field: NumberSystem, queues: Queues, counts: Counts,
    lo: int, hi: int,
) -> None:  # fmt: skip
    """Run the rows of one stretch from an empty store on."""
    tick, symbol, f, g, stop, mod = events.tick, events.symbol, events.f, events.g, events.stop, field.mod[0]
    off, src, dst, last, keep = by.off, by.src, by.dst, by.last, program.keep
    of_step, of_state, old, new, strict, order, _, at, when = queues
    head, middle, after, end, when_old, when_new = at[0], at[1], at[2], at[3], when[0], when[1]
    total, value, near, fresh, to_state, to_event = counts
    zero = field.one[0] - field.one[0]
    i = lo
    while i < hi and not stop[0]:
        j = i + 1
        while j < hi and tick[j] == tick[i]:
            j += 1
        n = 0
        for e in range(i, j):
            y = np.int64(symbol[e])
            sum = zero
            for a in range(off[y], off[y + 1]):
                q = of_step[a]
                if q < 0:
                    sum = add(sum, total[src[a]], mod)
                else:
                    if new[q] >= 0:
                        z, border, last_one, equal = after[q], g[new[q], e], end[q], not strict[q, 1]
                        while z < last_one and (when_new[z] < border or (equal and when_new[z] == border)):
                            near[q] = add(near[q], value[z], mod)
                            z += 1
                        after[q] = z
                    h = head[q]
                    if old[q] >= 0:
                        border, stays = g[old[q], e], after[q]
                        if strict[q, 0]:
                            while h < stays and when_old[h] <= border:
                                h += 1
                        else:
                            while h < stays and when_old[h] < border:
                                h += 1
                        head[q] = h
                    if h > middle[q]:
                        older = zero
                        for z in range(after[q] - 1, h - 1, -1):
                            older = add(older, value[z], mod)
                            value[z] = older
                        middle[q] = after[q]
                        near[q] = zero
                    sum = add(sum, near[q], mod)
                    if h < middle[q]:
                        sum = add(sum, value[h], mod)
                if last[a]:
                    fresh[n], to_state[n], to_event[n] = sum, dst[a], e
                    sum = zero
                    n += 1
        y = np.int64(symbol[i]) if j == i + 1 else tick_symbol(program.labels, symbol, i, j)
        for x in range(order.shape[1]):
            s = order[y, x]
            if s < 0:
                break
            t = keep[y, s]
            if t >= 0:
                total[t] = add(total[t], total[s], mod)
            total[s] = zero
            for q in range(of_state[s], of_state[s + 1]):
                head[q] = middle[q] = after[q] = end[q]
                near[q] = zero
        for x in range(n):
            d, more = to_state[x], fresh[x]
            total[d] = add(total[d], more, mod)
            for q in range(of_state[d], of_state[d + 1]):
                z, e = end[q], to_event[x]
                end[q] = z + 1
                value[z] = more
                if old[q] >= 0:
                    when_old[z] = f[old[q], e]
                if new[q] >= 0:
                    when_new[z] = f[new[q], e]
                else:
                    after[q] = z + 1
                    near[q] = add(near[q], more, mod)
        i = j


@kernel(allocates=False)
def count_stretches(
    program: Program, by: Transitions, events: Events, field: NumberSystem, queues: Queues, counts: Counts,
    lo: Array, hi: Array, out: Array,
) -> None:  # fmt: skip
    """Add the counts of stretch k to out[k, class, 0], in a number system of one column."""
    one = field.one[0]
    for k in range(len(lo)):
        if events.stop[0]:
            break
        for s in range(program.states):
            counts.total[s] = one if s == 0 else one - one
        for q in range(len(queues.old)):
            for x in range(4):
                queues.at[x, q] = q * queues.room
            counts.newer[q] = one - one
        _count_stretch(program, by, events, field, queues, counts, lo[k], hi[k])
        for o in range(len(program.out_state)):
            s, c = program.out_state[o], program.out_class[o]
            out[k, c, 0] = add(out[k, c, 0], counts.total[s], field.mod[0])
