"""Skip-till-any-match with pairs of equalities and at most one inequality or `!=`: O(n log n).

Every (state, part) has a Fenwick tree over the ranks of the left side, a segment for each combination of
equal values; the right side's rank of a new event says which prefix of which segment it can extend.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .common import Actions, actions, blank, clear, compiled, pick_up, put, table, tick_symbol
from .numbers import add, nonzero
from .program import ANY, Array, Events, Field, Predicates, Program
from .ranks import Parts, Work, parts, roles, shape, sort_elements, work


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


class Trees(NamedTuple):
    """Fenwick trees and what is needed to move entries between them."""

    slot: Array  # int64[states, parts]: number of the tree, -1 if there is none
    base: Array  # int64[slots]: first cell of a tree
    tree: Array  # value[cells, width]
    tree_low: Array
    rank: Array  # int32[parts, n, 4]: segment and place as previous event, segment and prefix as new event
    segment: Array  # int32[parts, segments, 2]: first cell and size
    listed: Array  # bool[states]: entries are also kept in a list, since they may move
    first: Array  # int64[states]: first entry of a state's list, -1
    link: Array  # int64[entries]
    owner: Array  # int64[entries]: event of the entry
    entry: Array  # value[entries, width]
    entry_low: Array


@compiled
def rank_part(
    part: Parts,
    q: int,
    p: int,
    role: Array,
    symbol: Array,
    f: Array,
    g: Array,
    lo: int,
    hi: int,
    room: Work,
    rank: Array,
    segment: Array,
) -> int:
    """Fill rank and segment of part q over one stretch; return the number of cells."""
    size = hi - lo
    for i in range(size):
        rank[q, i, 1] = rank[q, i, 3] = 0
    n, same = sort_elements(part, q, 0, role, p, symbol, f, g, lo, hi, room)
    key, who = room.key, room.who
    first, last = part.equal_off[q], part.equal_off[q + 1]
    ranked = part.orders[q] > 0
    c, sign, strict = part.column[q, 0], part.sign[q, 0], part.strict[q, 0]
    cells = places = segments = 0
    j = 0
    while j < n:
        # A run of equal values: its previous events share one place.
        lead = who[0, j]
        if j > 0 and first < last:
            before = who[0, j - 1]
            fresh = False
            for k in range(first, last):
                e = part.equal[k]
                x = f[e, lo + before] if before < size else g[e, lo + before - size]
                y = f[e, lo + lead] if lead < size else g[e, lo + lead - size]
                fresh |= x != y
            if fresh:
                segment[q, segments, 0], segment[q, segments, 1] = cells, places
                cells += places
                places = 0
                segments += 1
        end = j
        held = False
        value = 0.0
        while end < n:
            e = who[0, end]
            if first == last:
                x = key[0, end]
            else:
                x = 0.0
                if ranked:
                    x = (f[c, lo + e] if e < size else g[c, lo + e - size]) * sign
                other = False
                for k in range(first, last):
                    col = part.equal[k]
                    u = f[col, lo + e] if e < size else g[col, lo + e - size]
                    v = f[col, lo + lead] if lead < size else g[col, lo + lead - size]
                    other |= u != v
                if other:
                    break
            if end == j:
                value = x
            elif x != value:
                break
            held |= e < size and (not same or role[p, np.int64(symbol[lo + e])] & 1 != 0)
            end += 1
        below = places
        places += held
        prefix = below if ranked and strict else places
        for k in range(j, end):
            e = who[0, k]
            if same:
                r = role[p, np.int64(symbol[lo + e])]
                if r & 1:
                    rank[q, e, 0], rank[q, e, 1] = segments, places
                if r & 2:
                    rank[q, e, 2], rank[q, e, 3] = segments, prefix
            elif e < size:
                rank[q, e, 0], rank[q, e, 1] = segments, places
            else:
                rank[q, e - size, 2], rank[q, e - size, 3] = segments, prefix
        j = end
    if n:
        segment[q, segments, 0], segment[q, segments, 1] = cells, places
    return cells + places


@compiled
def insert(
    slot: Array,
    base: Array,
    tree: Array,
    tree_low: Array,
    rank: Array,
    segment: Array,
    s: int,
    i: int,
    value: Array,
    low: Array,
    row: int,
    mod: Array,
) -> None:
    """Put row `row` of values into the trees of state s as an entry of event i."""
    columns = len(mod)
    for q in range(slot.shape[1]):
        k = np.int64(rank[q, i, 1])
        if slot[s, q] < 0 or k == 0:
            continue
        seg = rank[q, i, 0]
        at = base[slot[s, q]] + segment[q, seg, 0] - 1
        size = np.int64(segment[q, seg, 1])
        while k <= size:
            for w in range(tree.shape[1]):
                tree[at + k, w] = add(tree[at + k, w], value[row, w], mod[w % columns])
            for m in range(tree_low.shape[1]):
                tree_low[at + k, m] = min(tree_low[at + k, m], low[row, m])
            k += k & -k


@compiled
def _erase(trees: Trees, s: int) -> None:
    """Empty the trees of state s along the paths of its entries."""
    node = trees.first[s]
    while node >= 0:
        i = trees.owner[node]
        for q in range(trees.slot.shape[1]):
            slot = trees.slot[s, q]
            k = np.int64(trees.rank[q, i, 1])
            if slot >= 0 and k > 0:
                seg = trees.rank[q, i, 0]
                at = trees.base[slot] + trees.segment[q, seg, 0] - 1
                while k <= trees.segment[q, seg, 1]:
                    clear(trees.tree, trees.tree_low, at + k)
                    k += k & -k
        node = trees.link[node]
    trees.first[s] = -1


@compiled
def _move(trees: Trees, s: int, t: int, stored: Array, mod: Array) -> None:
    """Move the entries of stored state s to state t, which is not stored, or gone (-1), or stored."""
    if t < 0 or not stored[t]:
        _erase(trees, s)
        return
    alike = trees.listed[t] and trees.first[t] < 0
    for q in range(trees.slot.shape[1]):
        alike &= (trees.slot[s, q] >= 0) == (trees.slot[t, q] >= 0)
    if alike:
        for q in range(trees.slot.shape[1]):
            trees.slot[s, q], trees.slot[t, q] = trees.slot[t, q], trees.slot[s, q]
        trees.first[s], trees.first[t] = trees.first[t], trees.first[s]
        return
    head = node = trees.first[s]
    last = -1
    while node >= 0:
        insert(
            trees.slot, trees.base, trees.tree, trees.tree_low, trees.rank, trees.segment, t,
            trees.owner[node], trees.entry, trees.entry_low, node, mod,
        )  # fmt: skip
        last = node
        node = trees.link[node]
    _erase(trees, s)
    if trees.listed[t] and last >= 0:
        trees.link[last] = trees.first[t]
        trees.first[t] = head


class Spans(NamedTuple):
    """The windows of stretches: those of stretch k are off[k]:off[k+1], each with its own columns of values.

    In the columns of a window trends start from row `begin` on, and are read at row `end`. Events are ranked and
    looked up once for all of them; only the arithmetic is done for each.
    """

    off: Array  # int64[stretches + 1]
    begin: Array  # int64[windows], ascending in a stretch
    end: Array  # int64[windows], ascending in a stretch
    columns: int  # of a window


@compiled
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


@compiled
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
    slot, base, tree, tree_low, rank, segment = trees[:6]
    listed, first, link, owner, entry, entry_low = trees[6:]
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
                        at = base[slot[s, q]] + segment[q, seg, 0] - 1
                        if single:
                            total = buf[0]
                            while k > 0:
                                total = add(total, tree[at + k, 0], mod[0])
                                k &= k - 1
                            buf[0] = total
                        else:
                            while k > 0:
                                for w in range(width):
                                    buf[w] = add(buf[w], tree[at + k, w], mod[w % columns])
                                for m in range(low_width):
                                    buf_low[m] = min(buf_low[m], tree_low[at + k, m])
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
                _move(trees, s, t, stored, mod)
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
                    at = base[slot[d, q]] + segment[q, seg, 0] - 1
                    size = np.int64(segment[q, seg, 1])
                    while place <= size:
                        tree[at + place, 0] = add(tree[at + place, 0], new[k, 0], mod[0])
                        for w in range(1, width):
                            tree[at + place, w] = add(tree[at + place, w], new[k, w], mod[w % columns])
                        for m in range(low_width):
                            tree_low[at + place, m] = min(tree_low[at + place, m], new_low[k, m])
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
    for y in range(len(program.labels)):
        k = 0
        waiting = program.keep[y] != np.arange(program.states)
        for _ in range(program.states):
            for s in range(program.states):
                t = program.keep[y, s]
                if waiting[s] and (t < 0 or not waiting[t]):
                    waiting[s] = False
                    order[y, k] = s
                    k += 1
    return order


@compiled
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


@compiled
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
            for s in range(states):
                if slot[s, q] >= 0:
                    base[slot[s, q]] = total
                    total += cells[q]
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
