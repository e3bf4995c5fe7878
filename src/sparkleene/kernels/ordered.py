"""Skip-till-any-match with pairs of equalities and at most one inequality or `!=`: O(n log n).

Every (state, part) has a Fenwick tree over the ranks of the left side, a segment for each combination of
equal values; the right side's rank of a new event says which prefix of which segment it can extend.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparkleene.kernels.common import Actions, actions, blank, clear, pick_up, put, table, tick_symbol
from sparkleene.kernels.jit import jit
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.program import ANY, Array, Events, Field, Predicates, Program
from sparkleene.kernels.ranks import Parts, Work, parts, roles, shape, work
from sparkleene.kernels.trees import Trees, move, rank_part


def supports(program: Program, predicates: Predicates) -> bool:
    """Tell whether this kernel can run a program."""
    if program.mode != ANY:
        return False
    for pair in {int(p) for p in program.pair if p >= 0}:
        counts = shape(predicates, pair)
        if counts is None or sum(counts) > 1:
            return False
    return in_order(program)


def in_order(program: Program) -> bool:
    """Tell whether the moves of every symbol can be done one after the other, and start no list of entries."""
    stored = {int(s) for s, p in zip(program.src, program.pair, strict=True) if p >= 0}
    for row in program.keep.tolist():
        for s, target in enumerate(row):
            if target != s and target in stored and s not in stored:
                return False
            steps, at = 0, s
            while at >= 0 and row[at] != at and steps <= len(row):
                steps, at = steps + 1, row[at]
            if steps > len(row):
                return False
    return True


class Spans(NamedTuple):
    """The windows of stretches: those of stretch k are off[k]:off[k+1], each with its own columns of values.

    In the columns of a window trends start from row `begin` on, and are read at row `end`. Events are ranked and
    looked up once for all of them; only the arithmetic is done for each.
    """

    off: Array  # int64[stretches + 1]
    begin: Array  # int64[windows], ascending in a stretch
    end: Array  # int64[windows], ascending in a stretch
    columns: int  # of a window


@jit
def capture(
    program: Program,
    tot: Array,
    tot_low: Array,
    out: Array,
    out_low: Array,
    window: int,
    column: int,
    each: int,
    mod: Array,
) -> None:
    """Add the results in some columns to those of a window."""
    columns = len(mod)
    for o in range(len(program.out_state)):
        s, kind = program.out_state[o], program.out_class[o]
        for a in range(tot.shape[1] // columns):
            for c in range(each):
                x = tot[s, a * columns + column + c]
                out[window, kind, a * each + c] = add(out[window, kind, a * each + c], x, mod[column + c])
        for m in range(tot_low.shape[1]):
            out_low[window, kind, m] = min(out_low[window, kind, m], tot_low[s, m])


@jit
def _stretch(
    program: Program,
    act: Actions,
    part_off: Array,
    events: Events,
    mod: Array,
    trees: Trees,
    order: Array,
    tot: Array,
    tot_low: Array,
    new: Array,
    new_low: Array,
    new_at: Array,
    lo: int,
    hi: int,
    one: Array,
    spans: Spans,
    item: int,
    out: Array,
    out_low: Array,
) -> None:
    """Process one stretch, and the windows in it."""
    tick, symbol, sums, lows = events.tick, events.symbol, events.sums, events.lows
    a_off, a_label, a_src, a_dst, a_pair, a_last, stored = act
    slot, base, stride, tree, tree_low, rank, segment = trees[:7]
    listed, first, link, owner, entry, entry_low = trees[7:]
    width, columns, low_width = tot.shape[1], len(mod), tot_low.shape[1]
    single = width + low_width == 1
    buf, buf_low = np.zeros(width, tot.dtype), np.full(low_width, np.inf)
    labels, sum_labels, low_labels = program.labels, program.sum_labels, program.low_labels
    entries = 0
    first_window = opened = closed = spans.off[item]
    last_window = spans.off[item + 1]
    each = spans.columns
    i = lo
    while i < hi:
        while closed < opened and spans.end[closed] <= i:
            capture(program, tot, tot_low, out, out_low, closed, (closed - first_window) * each, each, mod)
            closed += 1
        while opened < last_window and spans.begin[opened] <= i:
            for c in range((opened - first_window) * each, (opened - first_window + 1) * each):
                tot[0, c] = one[c]  # from here on trends may start in this window
            opened += 1
        j = i + 1
        while j < hi and tick[j] == tick[i]:
            j += 1
        fresh = 0
        for e in range(i, j):
            y = np.int64(symbol[e])
            for a in range(a_off[y], a_off[y + 1]):
                s, p = a_src[a], a_pair[a]
                if p < 0 and single:
                    buf[0] = add(buf[0], tot[s, 0], mod[0])
                elif p < 0:
                    for w in range(width):
                        buf[w] = add(buf[w], tot[s, w], mod[w % columns])
                    for m in range(low_width):
                        buf_low[m] = min(buf_low[m], tot_low[s, m])
                else:
                    for q in range(part_off[p], part_off[p + 1]):
                        k = np.int64(rank[q, e - lo, 3])
                        if k == 0:
                            continue
                        seg = rank[q, e - lo, 2]
                        step = stride[q]
                        at = base[slot[s, q]] + (segment[q, seg, 0] - 1) * step
                        if single:
                            total = buf[0]
                            while k > 0:
                                total = add(total, tree[at + k * step, 0], mod[0])
                                k &= k - 1
                            buf[0] = total
                        else:
                            while k > 0:
                                cell = at + k * step
                                for w in range(width):
                                    buf[w] = add(buf[w], tree[cell, w], mod[w % columns])
                                for m in range(low_width):
                                    buf_low[m] = min(buf_low[m], tree_low[cell, m])
                                k &= k - 1
                if not a_last[a]:
                    continue
                if single:
                    if nonzero(buf[0]):
                        new[fresh, 0] = buf[0]
                        buf[0] = 0
                        new_at[fresh, 0], new_at[fresh, 1] = a_dst[a], e - lo
                        fresh += 1
                elif not blank(buf):
                    pick_up(buf, buf_low, a_label[a], e, sum_labels, sums, low_labels, lows, mod)
                    for w in range(width):
                        new[fresh, w] = buf[w]
                        buf[w] = 0
                    for m in range(low_width):
                        new_low[fresh, m] = buf_low[m]
                        buf_low[m] = np.inf
                    new_at[fresh, 0], new_at[fresh, 1] = a_dst[a], e - lo
                    fresh += 1
        y = np.int64(symbol[i]) if j == i + 1 else tick_symbol(labels, symbol, i, j)
        for k in range(order.shape[1]):
            s = order[y, k]
            if s < 0:
                break
            t = program.keep[y, s]
            if t >= 0:
                put(tot, tot_low, t, tot, tot_low, s, mod)
            clear(tot, tot_low, s)
            if stored[s]:
                move(trees, s, t, stored, mod)
        for k in range(fresh):
            d = new_at[k, 0]
            if single:
                tot[d, 0] = add(tot[d, 0], new[k, 0], mod[0])
            else:
                put(tot, tot_low, d, new, new_low, k, mod)
            if stored[d]:
                # The same as insert(), which is too slow to call for every event.
                x = new_at[k, 1]
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
                        tree[cell, 0] = add(tree[cell, 0], new[k, 0], mod[0])
                        for w in range(1, width):
                            tree[cell, w] = add(tree[cell, w], new[k, w], mod[w % columns])
                        for m in range(low_width):
                            tree_low[cell, m] = min(tree_low[cell, m], new_low[k, m])
                        place += place & -place
                if listed[d]:
                    for w in range(width):
                        entry[entries, w] = new[k, w]
                    for m in range(low_width):
                        entry_low[entries, m] = new_low[k, m]
                    owner[entries], link[entries] = new_at[k, 1], first[d]
                    first[d] = entries
                    entries += 1
        i = j
    while closed < last_window:
        capture(program, tot, tot_low, out, out_low, closed, (closed - first_window) * each, each, mod)
        closed += 1


def move_order(program: Program) -> Array:
    """List per symbol the states that move, each after the state it moves to; -1 ends a list."""
    order = np.full((len(program.labels), program.states), -1, np.int64)
    for y in np.flatnonzero((program.keep != np.arange(program.states)).any(axis=1)).tolist():
        keep = program.keep[y].tolist()
        waiting = [s for s, t in enumerate(keep) if t != s]
        k = 0
        while waiting:
            ready = [s for s in waiting if keep[s] not in waiting]
            order[y, k : k + len(ready)] = ready
            k += len(ready)
            waiting = [s for s in waiting if s not in ready]
    return order


@jit
def longest(tick: Array, lo: Array, hi: Array) -> Any:
    """Return the length of the longest stretch and of the longest tick."""
    stretch = together = 1
    for k in range(len(lo)):
        stretch = max(stretch, hi[k] - lo[k])
        run = 0
        for i in range(lo[k], hi[k]):
            run = run + 1 if i > lo[k] and tick[i] == tick[i - 1] else 1
            together = max(together, run)
    return stretch, together


@jit
def _items(
    program: Program,
    act: Actions,
    part: Parts,
    role: Array,
    order: Array,
    events: Events,
    field: Field,
    room: Work,
    trees: Trees,
    cells: Array,
    tot: Array,
    tot_low: Array,
    new: Array,
    new_low: Array,
    new_at: Array,
    lo: Array,
    hi: Array,
    spans: Spans,
    out: Array,
    out_low: Array,
) -> None:
    """Process all stretches."""
    slot, base, states = trees.slot, trees.base, program.states
    for k in range(len(lo)):
        for p in range(len(part.off) - 1):
            for q in range(part.off[p], part.off[p + 1]):
                if cells[q] >= 0:
                    cells[q] = rank_part(
                        part,
                        q,
                        p,
                        role,
                        events.symbol,
                        events.f,
                        events.g,
                        lo[k],
                        hi[k],
                        room,
                        trees.rank,
                        trees.segment,
                    )
        total = 0
        for q in range(len(cells)):
            trees.stride[q] = 0
            for s in range(states):
                if slot[s, q] >= 0:
                    base[slot[s, q]] = total + trees.stride[q]
                    trees.stride[q] += 1
            total += trees.stride[q] * max(cells[q], 0)
        for cell in range(total):
            clear(trees.tree, trees.tree_low, cell)
        for s in range(states):
            trees.first[s] = -1
        for s in range(states):
            clear(tot, tot_low, s)
        _stretch(
            program,
            act,
            part.off,
            events,
            field.mod,
            trees,
            order,
            tot,
            tot_low,
            new,
            new_low,
            new_at,
            lo[k],
            hi[k],
            field.one,
            spans,
            k,
            out,
            out_low,
        )


def run(
    program: Program,
    predicates: Predicates,
    events: Events,
    field: Field,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
    spans: Spans | None = None,
) -> None:
    """Run a program over stretches of events; with `spans` a stretch holds several windows, side by side."""
    if spans is None:
        spans = Spans(np.arange(len(lo) + 1), lo, hi, len(field.one))
    one, states = field.one, program.states
    width, lows = (1 + len(program.sum_labels)) * len(one), len(program.low_labels)
    act, part = actions(program, False), parts(predicates)
    size, together = longest(events.tick, lo, hi)
    most = int(np.diff(act.off).max(initial=0))
    slot = np.full((states, len(part.orders)), -1, np.int64)
    slots = 0
    for s, p in zip(program.src, program.pair, strict=True):
        for q in range(part.off[p], part.off[p + 1]) if p >= 0 else ():
            if slot[s, q] < 0:
                slot[s, q] = slots
                slots += 1
    listed = act.stored & (program.keep != np.arange(states)).any(axis=0)
    nodes = size * most if listed.any() else 0
    trees = Trees(
        slot,
        np.zeros(slots, np.int64),
        np.zeros(len(part.orders), np.int64),
        *table(slots * size, width, lows, one),
        np.empty((len(part.orders), size, 4), np.int32),
        np.empty((len(part.orders), 2 * size, 2), np.int32),
        listed,
        np.full(states, -1, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        *table(nodes, width, lows, one),
    )
    cells = np.where((slot >= 0).any(axis=0), 0, -1)
    role, order = roles(program, len(part.off) - 1), move_order(program)
    tot, new = table(states, width, lows, one), table(together * most, width, lows, one)
    new_at = np.empty((together * most, 2), np.int64)
    _items(
        program,
        act,
        part,
        role,
        order,
        events,
        field,
        work(2 * size),
        trees,
        cells,
        *tot,
        *new,
        new_at,
        lo,
        hi,
        spans,
        out,
        out_low,
    )
