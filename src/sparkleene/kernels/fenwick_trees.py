"""Fenwick trees over ranks, one per state and comparison, and the lists of what is in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper
from sparkleene.kernels.lanes import Lanes
from sparkleene.kernels.numbers import add
from sparkleene.kernels.program import ZERO, Array, Events
from sparkleene.kernels.ranks import Parts, Room, sort_elements
from sparkleene.kernels.vectors import Carry, Table, clear_row, take_in


class Trace(NamedTuple):
    """What each event brings to each state, in order of events, for those who want to know; else without rows."""

    place: Array  # int64[rows, 2]: event and state, -1 where a row is not used
    table: Table


class Trees(NamedTuple):
    """Fenwick trees and what is needed to move entries between them.

    The trees of a part lie cell by cell side by side: events look in all of them at the same cells.
    """

    part_off: Array  # int64[pairs + 1]: the parts of a pair
    order: Array  # int64[symbols, states]: the states that a tick moves, in the order to do it, then -1
    slot: Array  # int64[states, parts]: number of the tree, -1 if there is none
    base: Array  # int64[slots]: first cell of a tree
    stride: Array  # int64[parts]: from one cell of a tree to the next
    cells: Table
    rank: Array  # int32[parts, n, 4]: segment and place as previous event, segment and prefix as new event
    segment: Array  # int32[parts, segments, 2]: first cell and size
    listed: Array  # bool[states]: entries are also kept in a list, since they may move
    first: Array  # int64[states]: first entry of a state's list, -1
    link: Array  # int64[entries]
    owner: Array  # int64[entries]: event of the entry
    entry: Table
    lanes: Lanes
    trace: Trace


@helper
def rank_part(part: Parts, q: int, role: Array, events: Events, lo: int, hi: int, room: Room, trees: Trees) -> int:
    """Fill rank and segment of part q over one stretch; return the number of cells."""
    rank, segment, symbol, f, g = trees.rank, trees.segment, events.symbol, events.f, events.g
    size, p = hi - lo, part.pair[q]
    for i in range(size):
        rank[q, i, 1] = rank[q, i, 3] = 0
    n, same = sort_elements(part, q, ZERO, role, events, lo, hi, room)
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


@helper
def fill_lanes(trees: Trees, step: int, at: int, e: int, lo: int, carry: Carry) -> int:
    """Write what event e brings to lanes by a step, into rows from `at` on; return the row after them."""
    (_, label, _, count, off, src, pair), rows, row, total, cell, _, _ = trees.lanes
    mod, width = carry.mod, rows.value.shape[1]
    columns, first, size = len(mod), at * width, count[step] * width
    for w in range(size):
        row[first + w] = 0
    for a in range(off[step], off[step + 1]):
        s, p = src[a], pair[a]
        if p < 0:
            for w in range(size):
                row[first + w] = add(row[first + w], total[s * width + w], mod[w % columns])
            continue
        for q in range(trees.part_off[p], trees.part_off[p + 1]):
            k = np.int64(trees.rank[q, e - lo, 3])
            if k == 0:
                continue
            stride = trees.stride[q]
            begin = trees.base[trees.slot[s, q]] + (trees.segment[q, trees.rank[q, e - lo, 2], 0] - 1) * stride
            while k > 0:
                c = (begin + k * stride) * width
                for w in range(size):
                    row[first + w] = add(row[first + w], cell[c + w], mod[w % columns])
                k &= k - 1
    for i in range(at, at + count[step] if width > columns else at):
        take_in(rows, i, label[step], e, carry)
    return at + count[step]  # type: ignore[no-any-return]


@helper
def store_lanes(trees: Trees, step: int, at: int, i: int, mod: Array) -> int:
    """Add what event i brought to lanes, in rows from `at` on, to their states and trees; return the row after."""
    (_, _, dst, count, _, _, _), rows, row, total, cell, _, _ = trees.lanes
    columns, width, d = len(mod), rows.value.shape[1], dst[step]
    first, size = at * width, count[step] * width
    for w in range(size):
        total[d * width + w] = add(total[d * width + w], row[first + w], mod[w % columns])
    for q in range(trees.slot.shape[1]):
        k = np.int64(trees.rank[q, i, 1])
        if trees.slot[d, q] < 0 or k == 0:
            continue
        seg = trees.rank[q, i, 0]
        stride = trees.stride[q]
        begin = trees.base[trees.slot[d, q]] + (trees.segment[q, seg, 0] - 1) * stride
        while k <= trees.segment[q, seg, 1]:
            c = (begin + k * stride) * width
            for w in range(size):
                cell[c + w] = add(cell[c + w], row[first + w], mod[w % columns])
            k += k & -k
    return at + count[step]  # type: ignore[no-any-return]


@helper
def _insert(trees: Trees, s: int, i: int, row: int, mod: Array) -> None:
    """Put an entry of the lists into the trees of state s, for event i."""
    tree, tree_low, value, low = trees.cells.value, trees.cells.low, trees.entry.value, trees.entry.low
    columns = len(mod)
    for q in range(trees.slot.shape[1]):
        k = np.int64(trees.rank[q, i, 1])
        if trees.slot[s, q] < 0 or k == 0:
            continue
        seg = trees.rank[q, i, 0]
        step = trees.stride[q]
        at = trees.base[trees.slot[s, q]] + (trees.segment[q, seg, 0] - 1) * step
        size = np.int64(trees.segment[q, seg, 1])
        while k <= size:
            cell = at + k * step
            for w in range(tree.shape[1]):
                tree[cell, w] = add(tree[cell, w], value[row, w], mod[w % columns])
            for m in range(tree_low.shape[1]):
                tree_low[cell, m] = min(tree_low[cell, m], low[row, m])
            k += k & -k


@helper
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
                step = trees.stride[q]
                at = trees.base[slot] + (trees.segment[q, seg, 0] - 1) * step
                while k <= trees.segment[q, seg, 1]:
                    clear_row(trees.cells, at + k * step)
                    k += k & -k
        node = trees.link[node]
    trees.first[s] = -1


@helper
def move_entries(trees: Trees, s: int, t: int, stored: Array, mod: Array) -> None:
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
        _insert(trees, t, trees.owner[node], node, mod)
        last = node
        node = trees.link[node]
    _erase(trees, s)
    if trees.listed[t] and last >= 0:
        trees.link[last] = trees.first[t]
        trees.first[t] = head
