"""Skip-till-any-match with pairs of equalities and at most one inequality or `!=`: O(n log n).

Every (state, part) has a Fenwick tree over the ranks of the left side, a segment for each combination of
equal values; the right side's rank of a new event says which prefix of which segment it can extend.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.fenwick_trees import Trace, Trees, fill_lanes, move_entries, rank_part, store_lanes
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.lanes import Lanes, find_lanes
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.program import ZERO, Array, Events, NumberSystem, Predicates, Program
from sparkleene.kernels.ranks import Parts, Room, parts_of, roles_of, room_for
from sparkleene.kernels.ticks import Transitions, longest, move_order, tick_symbol, transitions_of
from sparkleene.kernels.vectors import (
    Carry,
    Fresh,
    Table,
    add_row,
    clear_row,
    copy_row,
    empty_fresh,
    empty_table,
    is_blank,
    take_in,
)
from sparkleene.kernels.wide import WIDE


class Spans(NamedTuple):
    """Stretches of rows and the windows in them: those of stretch k are off[k]:off[k+1], with columns of their own.

    In the columns of a window trends start from row `begin` on, and are read at row `end`. Events are ranked and
    looked up once for all of them; only the arithmetic is done for each.
    """

    lo: Array  # int64[stretches]: rows from
    hi: Array  # int64[stretches]: rows to
    off: Array  # int64[stretches + 1]
    begin: Array  # int64[windows], ascending in a stretch
    end: Array  # int64[windows], ascending in a stretch
    columns: int  # of a window


@helper
def _collect_window(
    program: Program, total: Table, mod: Array, spans: Spans, item: int, window: int, out: Table
) -> None:
    """Add the results in the columns of a window to those of the window."""
    columns, each = len(mod), spans.columns
    column = (window - spans.off[item]) * each
    for o in range(len(program.out_state)):
        s, kind = program.out_state[o], program.out_class[o]
        for a in range(total.value.shape[1] // columns):
            for c in range(each):
                w = a * each + c
                x = total.value[s, a * columns + column + c]
                out.value[window, kind, w] = add(out.value[window, kind, w], x, mod[column + c])
        for m in range(total.low.shape[1]):
            out.low[window, kind, m] = min(out.low[window, kind, m], total.low[s, m])


# The loop over ticks is written out in each of fenwick, heap, divide and scan. One loop over a store, its own steps
# being functions chosen by the type of the store, was measured for this one: 1.4 to 1.8 times slower if numba
# inlines them, 1.7 to 2.3 times if not, probably since every step counts references to all arrays of the store. A
# function of Tables (two arrays) costs 10 ns or more; so what is done for every event is written out as well.
@helper
def _run_stretch(
    program: Program, by: Transitions, events: Events, field: NumberSystem, trees: Trees, total: Table,
    fresh: Fresh, spans: Spans, item: int, out: Table,
) -> None:  # fmt: skip
    """Process one stretch, and the windows in it."""
    lo, hi, mod, labels, stored = spans.lo[item], spans.hi[item], field.mod, program.labels, by.stored
    tick, symbol, rank, segment, slot = events.tick, events.symbol, trees.rank, trees.segment, trees.slot
    base, stride, tree, tree_low = trees.base, trees.stride, trees.cells.value, trees.cells.low
    tot, tot_low = total
    new, (into, into_low) = fresh.table, fresh.table
    to_state, to_event = fresh.state, fresh.event
    rows = (program.sum_row, program.sum_of, events.sums, program.low_row, program.low_adds, events.lows)
    carry = Carry(*rows, mod)
    width, columns, low_width = tot.shape[1], len(mod), tot_low.shape[1]
    single = width + low_width == 1
    clear_row(new, ZERO)
    entries = noted = ZERO
    traced, note = trees.trace
    lanes = trees.lanes
    opened = closed = spans.off[item]
    each = spans.columns
    i, stop = lo, events.stop
    while i < hi and not stop[0]:
        while closed < opened and spans.end[closed] <= i:
            _collect_window(program, total, mod, spans, item, closed, out)
            closed += 1
        while opened < spans.off[item + 1] and spans.begin[opened] <= i:
            for c in range((opened - spans.off[item]) * each, (opened - spans.off[item] + 1) * each):
                tot[0, c] = field.one[c]  # from here on trends may start in this window
            for m in range(low_width):
                if program.low_adds[m]:
                    tot_low[0, m] = 0.0
            opened += 1
        j = i + 1
        while j < hi and tick[j] == tick[i]:
            j += 1
        n = filled = row = ZERO
        for e in range(i, j):
            y = np.int64(symbol[e])
            for step in range(lanes.steps.off[y], lanes.steps.off[y + 1]):
                lanes.step[filled], lanes.event[filled] = step, e - lo
                filled += 1
                row = fill_lanes(trees, step, row, e, lo, carry)
            for a in range(by.off[y], by.off[y + 1]):
                s, p = by.src[a], by.pair[a]
                if p < 0 and single:
                    into[n, 0] = add(into[n, 0], tot[s, 0], mod[0])
                elif p < 0:
                    for w in range(width):
                        into[n, w] = add(into[n, w], tot[s, w], mod[w % columns])
                    for m in range(low_width):
                        into_low[n, m] = min(into_low[n, m], tot_low[s, m])
                else:
                    for q in range(trees.part_off[p], trees.part_off[p + 1]):
                        k = np.int64(rank[q, e - lo, 3])
                        if k == 0:
                            continue
                        step = stride[q]
                        at = base[slot[s, q]] + (segment[q, rank[q, e - lo, 2], 0] - 1) * step
                        if single:
                            sum = into[n, 0]
                            while k > 0:
                                sum = add(sum, tree[at + k * step, 0], mod[0])
                                k &= k - 1
                            into[n, 0] = sum
                        while k > 0:
                            cell = at + k * step
                            for w in range(width):
                                into[n, w] = add(into[n, w], tree[cell, w], mod[w % columns])
                            for m in range(low_width):
                                into_low[n, m] = min(into_low[n, m], tree_low[cell, m])
                            k &= k - 1
                if by.last[a] and (nonzero(into[n, 0]) or not (single or is_blank(new, n))):
                    if not single:
                        take_in(new, n, by.label[a], e, carry)
                    to_state[n], to_event[n] = by.dst[a], e - lo
                    n += 1
                    for w in range(width):
                        into[n, w] = 0
                    for m in range(low_width):
                        into_low[n, m] = np.inf
        y = np.int64(symbol[i]) if j == i + 1 else tick_symbol(labels, symbol, i, j)
        for k in range(trees.order.shape[1]):
            s = trees.order[y, k]
            if s < 0:
                break
            t = program.keep[y, s]
            if t >= 0:
                add_row(total, t, total, s, mod)
            clear_row(total, s)
            if stored[s]:
                move_entries(trees, s, t, stored, mod)
        row = ZERO
        for k in range(filled):
            row = store_lanes(trees, lanes.step[k], row, lanes.event[k], mod)
        for k in range(n):
            d, x = to_state[k], to_event[k]
            if len(traced):
                traced[noted, 0], traced[noted, 1] = x, d
                copy_row(note, noted, new, k)
                noted += 1
            if single:
                tot[d, 0] = add(tot[d, 0], into[k, 0], mod[0])
            else:
                add_row(total, d, new, k, mod)
            if not stored[d]:
                continue
            for q in range(slot.shape[1]):
                place = np.int64(rank[q, x, 1])
                if slot[d, q] < 0 or place == 0:
                    continue
                seg = rank[q, x, 0]
                step = stride[q]
                at = base[slot[d, q]] + (segment[q, seg, 0] - 1) * step
                size = np.int64(segment[q, seg, 1])
                while place <= size:
                    cell = at + place * step
                    tree[cell, 0] = add(tree[cell, 0], into[k, 0], mod[0])
                    for w in range(1, width):
                        tree[cell, w] = add(tree[cell, w], into[k, w], mod[w % columns])
                    for m in range(low_width):
                        tree_low[cell, m] = min(tree_low[cell, m], into_low[k, m])
                    place += place & -place
            if trees.listed[d]:
                copy_row(trees.entry, entries, new, k)
                trees.owner[entries], trees.link[entries] = x, trees.first[d]
                trees.first[d] = entries
                entries += 1
        for w in range(width):
            into[0, w] = 0
        for m in range(low_width):
            into_low[0, m] = np.inf
        i = j
    while closed < spans.off[item + 1]:
        _collect_window(program, total, mod, spans, item, closed, out)
        closed += 1


class Ranking(NamedTuple):
    """What events are ranked by, and room to do it."""

    part: Parts
    role: Array
    room: Room
    used: Array  # bool[parts]


@kernel(allocates=False, vectors=True)
def _run_stretches(
    program: Program, by: Transitions, events: Events, field: NumberSystem, ranking: Ranking, trees: Trees,
    total: Table, fresh: Fresh, spans: Spans, out: Table,
) -> None:  # fmt: skip
    """Run stretch after stretch, and write the results of each."""
    for k in range(len(spans.lo)):
        if events.stop[0]:
            break
        cells = 0
        for q in range(len(ranking.used)):
            if not ranking.used[q]:
                continue
            size = rank_part(ranking.part, q, ranking.role, events, spans.lo[k], spans.hi[k], ranking.room, trees)
            trees.stride[q] = 0
            for s in range(program.states):
                if trees.slot[s, q] >= 0:
                    trees.base[trees.slot[s, q]] = cells + trees.stride[q]
                    trees.stride[q] += 1
            cells += trees.stride[q] * size
        for cell in range(cells):
            clear_row(trees.cells, cell)
        for s in range(program.states):
            trees.first[s] = -1
            clear_row(total, s)
        _run_stretch(program, by, events, field, trees, total, fresh, spans, k, out)


def run(
    program: Program, predicates: Predicates, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table
) -> None:
    """Run a program over stretches of events, each of them one window."""
    run_side_by_side(
        program, predicates, events, field, Spans(lo, hi, np.arange(len(lo) + 1), lo, hi, len(field.one)), out
    )


def count_lanes(program: Program, predicates: Predicates) -> int:
    """Return to how many states an event brings partial trends in one step, at most."""
    by = transitions_of(program, False)
    steps, _ = find_lanes(by, _number_trees(program, parts_of(predicates)), ~_find_listed(program, by))
    return 0 if len(program.low_adds) else int(steps.count.max(initial=0))


def _number_trees(program: Program, part: Parts) -> Array:
    """Return a number for each state and part that have a tree, -1 for others."""
    slot = np.full((program.states, len(part.orders)), -1, np.int64)
    slots = 0
    for s, p in zip(program.src, program.pair, strict=True):
        for q in range(part.off[p], part.off[p + 1]) if p >= 0 else ():
            if slot[s, q] < 0:
                slot[s, q] = slots
                slots += 1
    return slot


def _find_listed(program: Program, by: Transitions) -> Array:
    """Mark the states with trees whose entries may move."""
    moves: Array = (program.keep != np.arange(program.states)).any(axis=0)
    return by.stored & moves


def run_side_by_side(
    program: Program, predicates: Predicates, events: Events, field: NumberSystem, spans: Spans, out: Table,
    traced: bool = False,
) -> Trace:  # fmt: skip
    """Run a program over stretches that hold several windows, side by side; return the last one's trace."""
    one, states = field.one, program.states
    by, part = transitions_of(program, False), parts_of(predicates)
    size, together = longest(events.tick, spans.lo, spans.hi)
    most = int(np.diff(by.off).max(initial=0))
    slot, listed = _number_trees(program, part), _find_listed(program, by)
    slots = int(slot.max(initial=-1)) + 1
    nodes = size * most if listed.any() else 0
    noted = size * most if traced else 0
    total, cells = empty_table(states, program, one), empty_table(slots * size, program, one)
    fixed = ~listed & (not traced and not len(program.low_adds))  # lanes have no minima, and do not tell of events
    steps, by = find_lanes(by, slot, fixed)
    rows, places = empty_table(together * most, program, one), np.empty((2, together * most), np.int64)
    lanes = Lanes(steps, rows, *(each.value.reshape(-1) for each in (rows, total, cells)), *places)
    trace = Trace(np.full((noted, 2), -1, np.int64), empty_table(noted, program, one))
    trees = Trees(
        part.off,
        move_order(program),
        slot,
        np.zeros(slots, np.int64),
        np.zeros(len(part.orders), np.int64),
        cells,
        np.empty((len(part.orders), size, 4), np.int32),
        np.empty((len(part.orders), 2 * size, 2), np.int32),
        listed,
        np.full(states, -1, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        empty_table(nodes, program, one),
        lanes,
        trace,
    )
    ranking = Ranking(part, roles_of(program, len(part.off) - 1), room_for(2 * size), (slot >= 0).any(axis=0))
    fresh = empty_fresh(together * most, program, one)
    _run_stretches(program, by, events, field, ranking, trees, total, fresh, spans, out)
    return trace


def trace_stretch(
    program: Program, predicates: Predicates, events: Events, lo: int, hi: int
) -> tuple[Trace, Table]:
    """Return what each event of a stretch brings to each state, in wide numbers, and the results by class."""
    rows = np.array([lo]), np.array([hi])
    field = NumberSystem(np.ones(1, WIDE), np.zeros(1, np.uint64))
    width, lows = 1 + program.sum_of.size, program.low_adds.size
    out = Table(np.zeros((1, program.classes, width), WIDE), np.full((1, program.classes, lows), np.inf))
    spans = Spans(*rows, np.arange(2), *rows, 1)
    place, table = run_side_by_side(program, predicates, events, field, spans, out, traced=True)
    size = int((place[:, 1] >= 0).sum())
    return Trace(place[:size], Table(table.value[:size], table.low[:size])), Table(out.value[0], out.low[0])
