"""Skip-till-any-match with pairs of up to two inequalities, `!=` counting as one, and equalities.

Divide and conquer over time: solve the left half of a stretch, add what its events give to those of the right
half, solve the right half. The middle step sweeps both halves in the order of the first inequality, with a
Fenwick tree over the order of the second; both orders are kept by splitting sorted lists on the way down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.conditions import compare
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.program import ZERO, Array, Events, NumberSystem, Predicates, Program
from sparkleene.kernels.ranks import Parts, Room, parts_of, roles_of, room_for, sort_elements
from sparkleene.kernels.ticks import Transitions, longest, move_order, tick_symbol, transitions_of
from sparkleene.kernels.vectors import (
    Carry,
    Table,
    add_row,
    clear_row,
    collect,
    empty_table,
    is_blank,
    start,
    take_in,
)

LEAF = 40  # events that are compared one by one
F1, G1, F2, G2, FG, GG = range(6)  # tables of ranks: by first and second inequality, and of equal values
DEEP = 64


class Lists(NamedTuple):
    """The events of a stretch in the order of every part's inequalities."""

    pair: Array  # int64[parts]
    orders: Array  # int64[parts]: number of inequalities
    strict: Array  # bool[parts, 2]
    rank: Array  # int32[6, parts, n], -1 for none
    event: Array  # int32[4, parts, n]: events by F1, G1, F2, G2
    saved: Array  # int32[2, parts, n]: lists F1 and F2 of left halves, from the whole stretch to the present piece
    counts: Array  # int64[parts, 2]: lengths of the lists of both sides
    room: Array  # int32[1, n]: scratch


class Ranking(NamedTuple):
    """What events are ranked by, room to do it, and what comes of it."""

    part: Parts
    role: Array
    room: Room
    lists: Lists


class State(NamedTuple):
    """What is known of every event: its entries, and what the events before its block give to it."""

    held: Array  # bool[states, n]: there is an entry
    entry: Table  # row s * n + i is of event i in state s
    slot: Array  # int64[states, pairs]: number of what is given, -1 if there is none
    given: Table  # row slot * n + i
    total: Table
    increment: Table  # what a tick adds to `total`
    buffer: Table  # one row
    order: Array  # int64[symbols, states]: the states that a tick moves, in the order to do it, then -1
    place: Array  # int32[2, n]: places of events in the tree
    tree: Table


class Piece(NamedTuple):
    """The way from the whole stretch to the present piece: its rows, and per part the bounds of its lists."""

    rows: Array  # int64[depth, 3]: first, middle, end
    step: Array  # int64[depth]: halves done
    bound: Array  # int64[depth, parts, 2, 3]: by side, where a list begins, parts and ends
    top: Array  # int64[depth, parts]: where `saved` begins


@helper
def _rank(ranking: Ranking, q: int, order: int, events: Events, lo: int, hi: int) -> None:
    """Rank both sides of inequality `order` of part q after its equalities, and list them in that order."""
    part, role, room, into = ranking
    rank, lists, counts = into.rank, into.event, into.counts
    f, g, size, p = events.f, events.g, hi - lo, part.pair[q]
    a, b = (F1, G1) if order == 0 else (F2, G2)
    for i in range(size):
        rank[a, q, i] = rank[b, q, i] = -1
    n, same = sort_elements(part, q, order, role, events, lo, hi, room)
    who = room.who
    c, sign = part.column[q, order], part.sign[q, order]
    place = group = 0
    fs = gs = 0
    for j in range(n):
        e = np.int64(who[0, j])
        if j > 0:
            old = np.int64(who[0, j - 1])
            for k in range(part.equal_off[q], part.equal_off[q + 1] + 1):
                if k < part.equal_off[q + 1]:
                    col, s = part.equal[k], 1.0
                elif part.orders[q] > order:
                    col, s = c, sign
                else:
                    break
                x = f[col, lo + e] if e < size else g[col, lo + e - size]
                y = f[col, lo + old] if old < size else g[col, lo + old - size]
                if x * s != y * s:
                    place += 1
                    group += k < part.equal_off[q + 1]
                    break
        i = e if e < size else e - size
        r = role[p, np.int64(events.symbol[lo + i])] if same else (1 if e < size else 2)
        if r & 1:
            rank[a, q, i], rank[FG, q, i] = place, group
            lists[a, q, fs] = i
            fs += 1
        if r & 2:
            rank[b, q, i], rank[GG, q, i] = place, group
            lists[b, q, gs] = i
            gs += 1
    counts[q, 0], counts[q, 1] = fs, gs


@helper
def _rank_both(ranking: Ranking, q: int, events: Events, lo: int, hi: int) -> None:
    """Rank and list the events of part q; where it has two inequalities, only those that both rank."""
    into = ranking.lists
    rank, lists, counts = into.rank, into.event, into.counts
    first = (counts[q, 0], counts[q, 1])
    for order in range(max(1, into.orders[q])):
        first = (counts[q, 0], counts[q, 1])
        _rank(ranking, q, order, events, lo, hi)
    if into.orders[q] < 2:
        return
    for side in range(2):
        kept = 0
        for order in range(2):
            kept = 0
            length = first[side] if order == 0 else counts[q, side]
            for k in range(length):
                i = lists[2 * order + side, q, k]
                if rank[side, q, i] >= 0 and rank[2 + side, q, i] >= 0:
                    lists[2 * order + side, q, kept] = i
                    kept += 1
        counts[q, side] = kept


@helper
def _split(lists: Array, kind: int, q: int, first: int, last: int, middle: int, room: Array) -> int:
    """Bring events before `middle` to the front of a list, all in order; return where the others begin."""
    left, right = first, 0
    for k in range(first, last):
        i = lists[kind, q, k]
        if i < middle:
            lists[kind, q, left] = i
            left += 1
        else:
            room[0, right] = i
            right += 1
    for k in range(right):
        lists[kind, q, left + k] = room[0, k]
    return left


@helper
def _place(of: Lists, q: int, begin: int, count: int, right: int, end: int, place: Array) -> None:
    """Find places in the order of the second inequality among `count` events of the left half."""
    rank, lists, saved, strict = of.rank, of.event, of.saved, of.strict[q, 1]
    k = 0
    for x in range(right, end):
        e = lists[G2, q, x]
        r = rank[G2, q, e]
        while k < count:
            i = saved[1, q, begin + k]
            if rank[F2, q, i] > r or (rank[F2, q, i] == r and strict):
                break
            k += 1
            place[0, i] = k
        place[1, e] = k
    while k < count:
        k += 1
        place[0, saved[1, q, begin + k - 1]] = k


@helper
def _cross(of: Lists, q: int, piece: Piece, depth: int, s: int, state: State, mod: Array) -> None:
    """Add what events of the left half have in state s to what the right half is given by part q."""
    rank, lists, saved = of.rank, of.event, of.saved
    held, place, n = state.held, state.place, state.held.shape[1]
    entry, entry_low = state.entry
    given, given_low = state.given
    tree, tree_low = state.tree
    width, low_width, columns = entry.shape[1], entry_low.shape[1], len(mod)
    begin, count = piece.top[depth, q], piece.bound[depth, q, 0, 1] - piece.bound[depth, q, 0, 0]
    right, end = piece.bound[depth, q, 1, 1], piece.bound[depth, q, 1, 2]
    if count == 0 or end == right:
        return
    row = state.slot[s, of.pair[q]] * n
    twice, strict = of.orders[q] == 2, of.strict[q, 0] and of.orders[q] > 0
    if twice:
        _place(of, q, begin, count, right, end, place)
    cells = count if twice else 1
    for k in range(1, cells + 1):
        clear_row(state.tree, k)
    group = np.int32(-1)
    k = since = 0
    for x in range(right, end):
        e = lists[G1, q, x]
        if rank[GG, q, e] != group:
            group = rank[GG, q, e]
            for y in range(since, k):
                at = np.int64(place[0, saved[0, q, begin + y]]) if twice else 1
                while at <= cells:
                    for w in range(width):
                        tree[at, w] = 0
                    for m in range(low_width):
                        tree_low[at, m] = np.inf
                    at += at & -at
            while k < count and rank[FG, q, saved[0, q, begin + k]] < group:
                k += 1
            since = k
        r = rank[G1, q, e]
        while k < count:
            i = saved[0, q, begin + k]
            if rank[FG, q, i] != group or rank[F1, q, i] > r or (rank[F1, q, i] == r and strict):
                break
            k += 1
            if held[s, i]:
                at = np.int64(place[0, i]) if twice else 1
                while at <= cells:
                    tree[at, 0] = add(tree[at, 0], entry[s * n + i, 0], mod[0])
                    for w in range(1, width):
                        tree[at, w] = add(tree[at, w], entry[s * n + i, w], mod[w % columns])
                    for m in range(low_width):
                        tree_low[at, m] = min(tree_low[at, m], entry_low[s * n + i, m])
                    at += at & -at
        if k > since:
            at = np.int64(place[1, e]) if twice else 1
            while at > 0:
                given[row + e, 0] = add(given[row + e, 0], tree[at, 0], mod[0])
                for w in range(1, width):
                    given[row + e, w] = add(given[row + e, w], tree[at, w], mod[w % columns])
                for m in range(low_width):
                    given_low[row + e, m] = min(given_low[row + e, m], tree_low[at, m])
                at &= at - 1


# The loop over ticks is written out here as in fenwick.py, for the reason that is told there.
@helper
def _run_leaf(
    program: Program, by: Transitions, predicates: Predicates, events: Events, mod: Array, state: State, lo: int,
    first: int, last: int,
) -> None:  # fmt: skip
    """Process rows first:last, ticks in order, comparing its events one by one."""
    tick, symbol, f, g = events.tick, events.symbol, events.f, events.g
    held, entry, total, increment, buffer = (state.held, state.entry, state.total, state.increment, state.buffer)
    value, low = entry
    given, given_low = state.given
    tot, tot_low = total
    inc, inc_low = increment
    sum, sum_low = buffer
    slot = state.slot
    width, low_width, columns, n = value.shape[1], low.shape[1], len(mod), held.shape[1]
    rows = (program.sum_row, program.sum_of, events.sums, program.low_row, program.low_adds, events.lows)
    carry = Carry(*rows, mod)
    i = first
    while i < last:
        j = i + 1
        while j < last and tick[j] == tick[i]:
            j += 1
        for e in range(i, j):
            y = np.int64(symbol[e])
            for a in range(by.off[y], by.off[y + 1]):
                s, p = by.src[a], by.pair[a]
                if p < 0:
                    for w in range(width):
                        sum[0, w] = add(sum[0, w], tot[s, w], mod[w % columns])
                    for m in range(low_width):
                        sum_low[0, m] = min(sum_low[0, m], tot_low[s, m])
                else:
                    row = slot[s, p] * n + e - lo
                    for w in range(width):
                        sum[0, w] = add(sum[0, w], given[row, w], mod[w % columns])
                    for m in range(low_width):
                        sum_low[0, m] = min(sum_low[0, m], given_low[row, m])
                    for x in range(first, i):
                        if not held[s, x - lo]:
                            continue
                        true = True
                        for c in range(predicates.off[p], predicates.off[p + 1]):
                            true &= compare(predicates.op[c], f[c, x], g[c, e])
                        if true:
                            row = s * n + x - lo
                            sum[0, 0] = add(sum[0, 0], value[row, 0], mod[0])
                            for w in range(1, width):
                                sum[0, w] = add(sum[0, w], value[row, w], mod[w % columns])
                            for m in range(low_width):
                                sum_low[0, m] = min(sum_low[0, m], low[row, m])
                if not by.last[a] or (not nonzero(sum[0, 0]) and is_blank(buffer, ZERO)):
                    continue
                d = by.dst[a]
                if width + low_width > 1:
                    take_in(buffer, ZERO, by.label[a], e, carry)
                row = d * n + e - lo
                if by.stored[d]:
                    held[d, e - lo] = True
                for w in range(width):
                    if by.stored[d]:
                        value[row, w] = add(value[row, w], sum[0, w], mod[w % columns])
                    inc[d, w] = add(inc[d, w], sum[0, w], mod[w % columns])
                    sum[0, w] = 0
                for m in range(low_width):
                    if by.stored[d]:
                        low[row, m] = min(low[row, m], sum_low[0, m])
                    inc_low[d, m] = min(inc_low[d, m], sum_low[0, m])
                    sum_low[0, m] = np.inf
        y = np.int64(symbol[i]) if j == i + 1 else tick_symbol(program.labels, symbol, i, j)
        for k in range(program.states):
            s = state.order[y, k]
            if s < 0:
                break
            if program.keep[y, s] >= 0:
                add_row(total, program.keep[y, s], total, s, mod)
            clear_row(total, s)
        for s in range(program.states):
            for w in range(width):
                tot[s, w] = add(tot[s, w], inc[s, w], mod[w % columns])
                inc[s, w] = 0
            for m in range(low_width):
                tot_low[s, m] = min(tot_low[s, m], inc_low[s, m])
                inc_low[s, m] = np.inf
        i = j


@helper
def _middle(tick: Array, first: int, last: int) -> int:
    """Find the start of a tick near the middle of rows first:last, or `last` if they are one tick."""
    m = (first + last) // 2
    a = b = m
    while a > first and tick[a] == tick[a - 1]:
        a -= 1
    while b < last and tick[b] == tick[b - 1]:
        b += 1
    if a > first and (m - a <= b - m or b == last):
        return a
    return b


@helper
def _start(
    program: Program, ranking: Ranking, events: Events, state: State, one: Array, piece: Piece, lo: int, hi: int
) -> None:
    """Forget the stretch before, and rank and list the events of this one."""
    states, n = state.held.shape
    for i in range(hi - lo):
        for s in range(states):
            state.held[s, i] = False
            clear_row(state.entry, s * n + i)
        for row in range(i, len(state.given.value), n):
            clear_row(state.given, row)
    start(state.total, one, program.low_adds)
    counts = ranking.lists.counts
    for q in range(len(counts)):
        counts[q, 0] = counts[q, 1] = 0
        if hi - lo > LEAF:
            _rank_both(ranking, q, events, lo, hi)
        for side in range(2):
            piece.bound[0, q, side, 0], piece.bound[0, q, side, 2] = 0, counts[q, side]
        piece.top[0, q] = 0
    piece.rows[0, 0], piece.rows[0, 2], piece.step[0] = lo, hi, 0


@helper
def _go_left(of: Lists, piece: Piece, depth: int, lo: int) -> None:
    """Split the lists of a piece, and go down to its left half."""
    lists, saved, bound, top = of.event, of.saved, piece.bound, piece.top
    middle = piece.rows[depth, 1]
    for q in range(len(of.counts)):
        twice = of.orders[q] == 2
        for side in range(2):
            a, b = bound[depth, q, side, 0], bound[depth, q, side, 2]
            bound[depth, q, side, 1] = _split(lists, side, q, a, b, middle - lo, of.room)
            if twice:
                _split(lists, 2 + side, q, a, b, middle - lo, of.room)
            bound[depth + 1, q, side, 0] = a
            bound[depth + 1, q, side, 2] = bound[depth, q, side, 1]
        # The left half's lists get split further before they are needed here: keep a copy.
        a, at = bound[depth, q, 0, 0], top[depth, q]
        length = bound[depth, q, 0, 1] - a
        for x in range(length):
            saved[0, q, at + x] = lists[F1, q, a + x]
            if twice:
                saved[1, q, at + x] = lists[F2, q, a + x]
        top[depth + 1, q] = at + length
    piece.rows[depth + 1, 0], piece.rows[depth + 1, 2] = piece.rows[depth, 0], middle


@helper
def _go_right(of: Lists, piece: Piece, depth: int, state: State, mod: Array) -> None:
    """Give what the left half has to the right half, and go down to that."""
    for q in range(len(of.counts)):
        for s in range(len(state.slot)):
            if state.slot[s, of.pair[q]] >= 0:
                _cross(of, q, piece, depth, s, state, mod)
        for side in range(2):
            piece.bound[depth + 1, q, side, 0] = piece.bound[depth, q, side, 1]
            piece.bound[depth + 1, q, side, 2] = piece.bound[depth, q, side, 2]
        piece.top[depth + 1, q] = piece.top[depth, q]
    piece.rows[depth + 1, 0], piece.rows[depth + 1, 2] = piece.rows[depth, 1], piece.rows[depth, 2]


@kernel(allocates=False)
def _run_stretches(
    program: Program, by: Transitions, predicates: Predicates, events: Events, field: NumberSystem,
    ranking: Ranking, state: State, piece: Piece, span: tuple[Array, Array], out: Table,
) -> None:  # fmt: skip
    """Run stretch after stretch, and write the results of each."""
    mod, lists, rows, step = field.mod, ranking.lists, piece.rows, piece.step
    lo, hi = span
    for k in range(len(lo)):
        if events.stop[0]:
            break
        _start(program, ranking, events, state, field.one, piece, lo[k], hi[k])
        depth = ZERO
        while depth >= 0 and not events.stop[0]:
            first, last = rows[depth, 0], rows[depth, 2]
            middle = last
            if step[depth] == 0 and last - first > LEAF and depth + 1 < DEEP:
                middle = _middle(events.tick, first, last)
            if step[depth] == 0 and middle == last:
                _run_leaf(program, by, predicates, events, mod, state, lo[k], first, last)
                depth -= 1
                continue
            if step[depth] == 2:
                depth -= 1
                continue
            if step[depth] == 0:
                rows[depth, 1] = middle
                _go_left(lists, piece, depth, lo[k])
            else:
                _go_right(lists, piece, depth, state, mod)
            step[depth] += 1
            depth += 1
            step[depth] = 0
        collect(program, state.total, mod, out, k)


def run(
    program: Program, predicates: Predicates, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table
) -> None:
    """Run a program over stretches of events."""
    one, states = field.one, program.states
    by, part = transitions_of(program, False), parts_of(predicates)
    pairs, total = len(part.off) - 1, len(part.orders)
    n, _ = longest(events.tick, lo, hi)
    slot = np.full((states, pairs), -1, np.int64)
    slots = 0
    for s, p in zip(program.src, program.pair, strict=True):
        if p >= 0 and slot[s, p] < 0:
            slot[s, p] = slots
            slots += 1
    tables = [empty_table(rows, program, one) for rows in (states * n, slots * n, states, states, 1, n + 2)]
    entry, given, sums, increment, buffer, tree = tables
    held, place = np.zeros((states, n), np.bool_), np.empty((2, n), np.int32)
    state = State(held, entry, slot, given, sums, increment, buffer, move_order(program), place, tree)
    rank, event, saved = (np.empty((size, total, n), np.int32) for size in (6, 4, 2))
    counts, room = np.zeros((total, 2), np.int64), np.empty((1, n), np.int32)
    lists = Lists(part.pair, part.orders, part.strict, rank, event, saved, counts, room)
    ranking = Ranking(part, roles_of(program, pairs), room_for(2 * n), lists)
    rows, step = np.zeros((DEEP, 3), np.int64), np.zeros(DEEP, np.int64)
    piece = Piece(rows, step, np.zeros((DEEP, total, 2, 3), np.int64), np.zeros((DEEP, total), np.int64))
    _run_stretches(program, by, predicates, events, field, ranking, state, piece, (lo, hi), out)
