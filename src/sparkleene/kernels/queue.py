"""Skip-till-any-match where neighbours are compared by their times alone: O(1) an event.

Both sides of such a comparison rise in time. So the entries that a new event can extend are an interval of the
stored ones, and both its ends only move on. Every (state, pair) has a queue of its entries. Those from `head` to
`after` are in the interval: the sum of the newer ones, from `middle` on, is at hand, and each of the older ones
holds the sum of itself and all older ones after it. When the newer ones begin to leave, they become the older ones.
Nothing is ever subtracted, so no digit is lost. Counts alone are in queue_counts.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.program import GE, GT, LT, ZERO, Array, Events, NumberSystem, Predicates, Program
from sparkleene.kernels.queue_counts import Counts, Queues, count_stretches
from sparkleene.kernels.ticks import Transitions, longest, move_order, tick_symbol, transitions_of
from sparkleene.kernels.vectors import (
    Carry,
    Fresh,
    Table,
    add_row,
    clear_row,
    collect,
    empty_fresh,
    empty_table,
    is_blank,
    start,
    take_in,
)


class Sums(NamedTuple):
    """What states hold, what entries hold, and for each queue the sum of its entries from middle to after."""

    total: Table
    entry: Table
    newer: Table


# The loop over ticks is written out here as in fenwick.py, for the reason that is told there.
@helper
def _run_stretch(
    program: Program, by: Transitions, events: Events, field: NumberSystem, queues: Queues, sums: Sums,
    fresh: Fresh, lo: int, hi: int,
) -> None:  # fmt: skip
    """Run the rows of one stretch from an empty store on."""
    tick, symbol, f, g, stop, mod = events.tick, events.symbol, events.f, events.g, events.stop, field.mod
    off, src, dst, label, last, keep = by.off, by.src, by.dst, by.label, by.last, program.keep
    of_step, of_state, old, new, strict, order, _, at, when = queues
    head, middle, after, end, when_old, when_new = at[0], at[1], at[2], at[3], when[0], when[1]
    total, entry, newer = sums
    tot, tot_low = total
    value, low = entry
    near, near_low = newer
    made, (into, into_low) = fresh.table, fresh.table
    to_state, to_event = fresh.state, fresh.event
    rows = (program.sum_row, program.sum_of, events.sums, program.low_row, program.low_adds, events.lows)
    carry = Carry(*rows, mod)
    width, columns, lows = tot.shape[1], len(mod), tot_low.shape[1]
    clear_row(made, ZERO)
    i = lo
    while i < hi and not stop[0]:
        j = i + 1
        while j < hi and tick[j] == tick[i]:
            j += 1
        n = ZERO
        for e in range(i, j):
            y = np.int64(symbol[e])
            for a in range(off[y], off[y + 1]):
                q = of_step[a]
                if q < 0:
                    s = src[a]
                    for w in range(width):
                        into[n, w] = add(into[n, w], tot[s, w], mod[w % columns])
                    for m in range(lows):
                        into_low[n, m] = min(into_low[n, m], tot_low[s, m])
                else:
                    if new[q] >= 0:
                        z, border = after[q], g[new[q], e]
                        while z < end[q] and (when_new[z] < border or (when_new[z] == border and not strict[q, 1])):
                            for w in range(width):
                                near[q, w] = add(near[q, w], value[z, w], mod[w % columns])
                            for m in range(lows):
                                near_low[q, m] = min(near_low[q, m], low[z, m])
                            z += 1
                        after[q] = z
                    h = head[q]
                    if old[q] >= 0:
                        border = g[old[q], e]
                        if strict[q, 0]:
                            while h < after[q] and when_old[h] <= border:
                                h += 1
                        else:
                            while h < after[q] and when_old[h] < border:
                                h += 1
                        head[q] = h
                    if h > middle[q]:
                        for z in range(after[q] - 2, h - 1, -1):
                            for w in range(width):
                                value[z, w] = add(value[z, w], value[z + 1, w], mod[w % columns])
                            for m in range(lows):
                                low[z, m] = min(low[z, m], low[z + 1, m])
                        middle[q] = after[q]
                        for w in range(width):
                            near[q, w] = 0
                        for m in range(lows):
                            near_low[q, m] = np.inf
                    older = h < middle[q]
                    for w in range(width):
                        sum = add(into[n, w], near[q, w], mod[w % columns])
                        into[n, w] = add(sum, value[h, w], mod[w % columns]) if older else sum
                    for m in range(lows):
                        least = min(into_low[n, m], near_low[q, m])
                        into_low[n, m] = min(least, low[h, m]) if older else least
                if last[a] and (nonzero(into[n, 0]) or not is_blank(made, n)):
                    take_in(made, n, label[a], e, carry)
                    to_state[n], to_event[n] = dst[a], e
                    n += 1
                    for w in range(width):
                        into[n, w] = 0
                    for m in range(lows):
                        into_low[n, m] = np.inf
        y = np.int64(symbol[i]) if j == i + 1 else tick_symbol(program.labels, symbol, i, j)
        for x in range(order.shape[1]):
            s = order[y, x]
            if s < 0:
                break
            t = keep[y, s]
            if t >= 0:
                add_row(total, t, total, s, mod)
            clear_row(total, s)
            for q in range(of_state[s], of_state[s + 1]):
                head[q] = middle[q] = after[q] = end[q]
                clear_row(newer, q)
        for x in range(n):
            d, e = to_state[x], to_event[x]
            for w in range(width):
                tot[d, w] = add(tot[d, w], into[x, w], mod[w % columns])
            for m in range(lows):
                tot_low[d, m] = min(tot_low[d, m], into_low[x, m])
            for q in range(of_state[d], of_state[d + 1]):
                z = end[q]
                end[q] = z + 1
                for w in range(width):
                    value[z, w] = into[x, w]
                for m in range(lows):
                    low[z, m] = into_low[x, m]
                if old[q] >= 0:
                    when_old[z] = f[old[q], e]
                if new[q] >= 0:
                    when_new[z] = f[new[q], e]
                else:
                    after[q] = z + 1
                    for w in range(width):
                        near[q, w] = add(near[q, w], into[x, w], mod[w % columns])
                    for m in range(lows):
                        near_low[q, m] = min(near_low[q, m], into_low[x, m])
        for w in range(width):
            into[0, w] = 0
        for m in range(lows):
            into_low[0, m] = np.inf
        i = j


@kernel(allocates=False)
def _run_stretches(
    program: Program, by: Transitions, events: Events, field: NumberSystem, queues: Queues, sums: Sums,
    fresh: Fresh, lo: Array, hi: Array, out: Table,
) -> None:  # fmt: skip
    """Run stretch after stretch, and write the results of each."""
    for k in range(len(lo)):
        if events.stop[0]:
            break
        start(sums.total, field.one, program.low_adds)
        for q in range(len(queues.old)):
            for x in range(4):
                queues.at[x, q] = q * queues.room
            clear_row(sums.newer, q)
        _run_stretch(program, by, events, field, queues, sums, fresh, lo[k], hi[k])
        collect(program, sums.total, field.mod, out, k)


def run(
    program: Program, predicates: Predicates, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table
) -> None:
    """Run a program over stretches of events."""
    states, by = program.states, transitions_of(program, False)
    size, together = longest(events.tick, lo, hi)
    used = sorted({(s, p) for s, p in zip(program.src.tolist(), program.pair.tolist(), strict=True) if p >= 0})
    number = {pair: q for q, pair in enumerate(used)}
    count = len(used)
    old, new = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    strict = np.zeros((count, 2), np.bool_)
    for q, (_, p) in enumerate(used):
        for c in range(predicates.off[p], predicates.off[p + 1]):
            op = predicates.op[c]
            (old if op in (GE, GT) else new)[q] = c
            strict[q, 0 if op in (GE, GT) else 1] = op in (GT, LT)
    # An event brings an entry to a state by each of its labels.
    symbol = np.repeat(np.arange(len(program.labels)), np.diff(by.off))[by.last]
    brought = np.zeros((len(program.labels), states), np.int64)
    np.add.at(brought, (symbol, by.dst[by.last]), 1)
    room = size * int(brought[:, by.stored].max(initial=1)) + 1
    queues = Queues(
        np.array([number.get(pair, -1) for pair in zip(by.src.tolist(), by.pair.tolist(), strict=True)], np.int64),
        np.searchsorted([s for s, _ in used], np.arange(states + 1)).astype(np.int64),
        old,
        new,
        strict,
        move_order(program),
        room,
        np.zeros((4, count), np.int64),
        np.empty((2, count * room)),
    )
    one, brings = field.one, together * int(np.diff(by.off).max(initial=0))
    if len(one) + len(program.sum_of) + len(program.low_adds) == 1:
        empty = (np.empty(states, one.dtype), np.empty(count * room, one.dtype), np.empty(count, one.dtype))
        fresh_counts = (np.empty(brings, one.dtype), np.empty(brings, np.int64), np.empty(brings, np.int64))
        count_stretches(program, by, events, field, queues, Counts(*empty, *fresh_counts), lo, hi, out.value)
        return
    sums = Sums(*(empty_table(rows, program, one) for rows in (states, count * room, count)))
    _run_stretches(program, by, events, field, queues, sums, empty_fresh(brings, program, one), lo, hi, out)
