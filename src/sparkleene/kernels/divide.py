"""Skip-till-any-match with pairs of up to two inequalities, `!=` counting as one, and equalities.

Divide and conquer over time: solve the left half of a stretch, add what its events give to those of the right
half, solve the right half. The middle step sweeps both halves in the order of the first inequality, with a
Fenwick tree over the order of the second; both orders are kept by splitting sorted lists on the way down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.common import (
    Actions,
    actions,
    blank,
    clear,
    compare,
    give,
    pick_up,
    put,
    start,
    table,
    tick_symbol,
)
from sparkleene.kernels.jit import jit
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.ordered import in_order, longest, move_order
from sparkleene.kernels.program import ANY, Array, Events, Field, Predicates, Program
from sparkleene.kernels.ranks import Parts, Work, parts, roles, shape, sort_elements, work

LEAF = 40  # events that are compared one by one
F1, G1, F2, G2, FG, GG = range(6)  # tables of ranks: by first and second inequality, and of equal values


def supports(program: Program, predicates: Predicates) -> bool:
    """Tell whether this kernel can run a program."""
    if program.mode != ANY or not in_order(program):
        return False
    stored = set()
    for s, pair in zip(program.src.tolist(), program.pair.tolist(), strict=True):
        if pair >= 0:
            counts = shape(predicates, pair)
            if counts is None or sum(counts) > 2:
                return False
            stored.add(s)
    return all(row[s] == s for row in program.keep.tolist() for s in stored)


class State(NamedTuple):
    """What is known of every event: its entries, and what the events before its block give to it."""

    held: Array  # bool[states, n]: there is an entry
    entry: Array  # value[states, n, width]
    entry_low: Array
    slot: Array  # int64[states, pairs]: row of `given`, -1 if there is none
    given: Array  # value[slots, n, width]
    given_low: Array


@jit
def _rank(
    part: Parts,
    q: int,
    order: int,
    p: int,
    role: Array,
    symbol: Array,
    f: Array,
    g: Array,
    lo: int,
    hi: int,
    room: Work,
    rank: Array,
    lists: Array,
    counts: Array,
) -> None:
    """Rank both sides of inequality `order` of part q after its equalities, and list them in that order."""
    size = hi - lo
    a, b = (F1, G1) if order == 0 else (F2, G2)
    for i in range(size):
        rank[a, q, i] = rank[b, q, i] = -1
    n, same = sort_elements(part, q, order, role, p, symbol, f, g, lo, hi, room)
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
        r = role[p, np.int64(symbol[lo + i])] if same else (1 if e < size else 2)
        if r & 1:
            rank[a, q, i], rank[FG, q, i] = place, group
            lists[a, q, fs] = i
            fs += 1
        if r & 2:
            rank[b, q, i], rank[GG, q, i] = place, group
            lists[b, q, gs] = i
            gs += 1
    counts[q, 0], counts[q, 1] = fs, gs


@jit
def _drop_unranked(rank: Array, lists: Array, q: int, counts: Array, first: Array) -> None:
    """Leave in the lists of part q only events that both inequalities rank."""
    for side in range(2):
        kept = 0
        for order in range(2):
            kept = 0
            length = first[q, side] if order == 0 else counts[q, side]
            for k in range(length):
                i = lists[2 * order + side, q, k]
                if rank[side, q, i] >= 0 and rank[2 + side, q, i] >= 0:
                    lists[2 * order + side, q, kept] = i
                    kept += 1
        counts[q, side] = kept


@jit
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


@jit
def _cross(
    orders: int, strict: Array, rank: Array, lists: Array, saved: Array, q: int, begin: int, count: int,
    right: int, end: int, s: int, row: int, state: State, place: Array, tree: Array, tree_low: Array, mod: Array,
) -> None:  # fmt: skip
    """Add what `count` events of the left half have in state s to what the right half is given."""
    held, entry, entry_low, _, given, given_low = state
    width, low_width, columns = entry.shape[2], entry_low.shape[2], len(mod)
    strict0 = strict[q, 0] and orders > 0
    if orders == 2:
        # Places in the order of the second inequality among the left half's events.
        k = 0
        for x in range(right, end):
            e = lists[G2, q, x]
            r = rank[G2, q, e]
            while k < count:
                i = saved[1, q, begin + k]
                if rank[F2, q, i] > r or (rank[F2, q, i] == r and strict[q, 1]):
                    break
                k += 1
                place[0, i] = k
            place[1, e] = k
        while k < count:
            k += 1
            place[0, saved[1, q, begin + k - 1]] = k
    cells = count if orders == 2 else 1
    for k in range(1, cells + 1):
        clear(tree, tree_low, k)
    group = np.int32(-1)
    k = since = 0
    for x in range(right, end):
        e = lists[G1, q, x]
        if rank[GG, q, e] != group:
            group = rank[GG, q, e]
            for y in range(since, k):
                at = np.int64(place[0, saved[0, q, begin + y]]) if orders == 2 else 1
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
            if rank[FG, q, i] != group or rank[F1, q, i] > r or (rank[F1, q, i] == r and strict0):
                break
            k += 1
            if held[s, i]:
                at = np.int64(place[0, i]) if orders == 2 else 1
                while at <= cells:
                    tree[at, 0] = add(tree[at, 0], entry[s, i, 0], mod[0])
                    for w in range(1, width):
                        tree[at, w] = add(tree[at, w], entry[s, i, w], mod[w % columns])
                    for m in range(low_width):
                        tree_low[at, m] = min(tree_low[at, m], entry_low[s, i, m])
                    at += at & -at
        if k > since:
            at = np.int64(place[1, e]) if orders == 2 else 1
            while at > 0:
                given[row, e, 0] = add(given[row, e, 0], tree[at, 0], mod[0])
                for w in range(1, width):
                    given[row, e, w] = add(given[row, e, w], tree[at, w], mod[w % columns])
                for m in range(low_width):
                    given_low[row, e, m] = min(given_low[row, e, m], tree_low[at, m])
                at &= at - 1


@jit
def _leaf(
    program: Program,
    act: Actions,
    predicates: Predicates,
    events: Events,
    mod: Array,
    state: State,
    order: Array,
    tot: Array,
    tot_low: Array,
    inc: Array,
    inc_low: Array,
    lo: int,
    first: int,
    last: int,
) -> None:
    """Process rows first:last, ticks in order, comparing its events one by one."""
    tick, symbol, sums, lows, f, g = events
    a_off, a_label, a_src, a_dst, a_pair, a_last, stored = act
    held, entry, entry_low, slot, given, given_low = state
    off, ops, keep = predicates.off, predicates.op, program.keep
    width, low_width, columns, states = tot.shape[1], tot_low.shape[1], len(mod), program.states
    buf, buf_low = np.zeros(width, tot.dtype), np.full(low_width, np.inf)
    i = first
    while i < last:
        j = i + 1
        while j < last and tick[j] == tick[i]:
            j += 1
        for e in range(i, j):
            y = np.int64(symbol[e])
            for a in range(a_off[y], a_off[y + 1]):
                s, p = a_src[a], a_pair[a]
                if p < 0:
                    for w in range(width):
                        buf[w] = add(buf[w], tot[s, w], mod[w % columns])
                    for m in range(low_width):
                        buf_low[m] = min(buf_low[m], tot_low[s, m])
                else:
                    row = slot[s, p]
                    for w in range(width):
                        buf[w] = add(buf[w], given[row, e - lo, w], mod[w % columns])
                    for m in range(low_width):
                        buf_low[m] = min(buf_low[m], given_low[row, e - lo, m])
                    for x in range(first, i):
                        if not held[s, x - lo]:
                            continue
                        true = True
                        for c in range(off[p], off[p + 1]):
                            true &= compare(ops[c], f[c, x], g[c, e])
                        if true:
                            buf[0] = add(buf[0], entry[s, x - lo, 0], mod[0])
                            for w in range(1, width):
                                buf[w] = add(buf[w], entry[s, x - lo, w], mod[w % columns])
                            for m in range(low_width):
                                buf_low[m] = min(buf_low[m], entry_low[s, x - lo, m])
                if not a_last[a] or (not nonzero(buf[0]) and blank(buf)):
                    continue
                d = a_dst[a]
                if width + low_width > 1:
                    pick_up(
                        buf, buf_low, a_label[a], e, program.sum_labels, sums, program.low_labels, lows, mod
                    )
                if stored[d]:
                    held[d, e - lo] = True
                for w in range(width):
                    if stored[d]:
                        entry[d, e - lo, w] = add(entry[d, e - lo, w], buf[w], mod[w % columns])
                    inc[d, w] = add(inc[d, w], buf[w], mod[w % columns])
                    buf[w] = 0
                for m in range(low_width):
                    if stored[d]:
                        entry_low[d, e - lo, m] = min(entry_low[d, e - lo, m], buf_low[m])
                    inc_low[d, m] = min(inc_low[d, m], buf_low[m])
                    buf_low[m] = np.inf
        y = np.int64(symbol[i]) if j == i + 1 else tick_symbol(program.labels, symbol, i, j)
        for k in range(states):
            s = order[y, k]
            if s < 0:
                break
            if keep[y, s] >= 0:
                put(tot, tot_low, keep[y, s], tot, tot_low, s, mod)
            clear(tot, tot_low, s)
        for s in range(states):
            for w in range(width):
                tot[s, w] = add(tot[s, w], inc[s, w], mod[w % columns])
                inc[s, w] = 0
            for m in range(low_width):
                tot_low[s, m] = min(tot_low[s, m], inc_low[s, m])
                inc_low[s, m] = np.inf
        i = j


@jit
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


@jit
def _items(
    program: Program,
    act: Actions,
    predicates: Predicates,
    part: Parts,
    role: Array,
    order: Array,
    events: Events,
    field: Field,
    state: State,
    room: Work,
    rank: Array,
    lists: Array,
    saved: Array,
    place: Array,
    tree: Array,
    tree_low: Array,
    tot: Array,
    tot_low: Array,
    inc: Array,
    inc_low: Array,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
) -> None:
    """Process all stretches."""
    one, mod, states, symbol, slot = field.one, field.mod, program.states, events.symbol, state.slot
    pairs, total = len(part.off) - 1, len(part.orders)
    counts, firsts = np.zeros((total, 2), np.int64), np.zeros((total, 2), np.int64)
    # The way from the whole stretch to the present piece: rows, step, and per part the bounds of its lists.
    deep = 64
    rows, step = np.zeros((deep, 3), np.int64), np.zeros(deep, np.int64)
    bound, top = np.zeros((deep, total, 2, 3), np.int64), np.zeros((deep, total), np.int64)
    for k in range(len(lo)):
        base, size = lo[k], hi[k] - lo[k]
        for s in range(states):
            for i in range(size):
                state.held[s, i] = False
                clear(state.entry[s], state.entry_low[s], i)
        for s in range(len(state.given)):
            for i in range(size):
                clear(state.given[s], state.given_low[s], i)
        start(tot, tot_low, one)
        for p in range(pairs):
            for q in range(part.off[p], part.off[p + 1]):
                counts[q, 0] = counts[q, 1] = 0
                if size > LEAF:
                    _rank(
                        part,
                        q,
                        0,
                        p,
                        role,
                        symbol,
                        events.f,
                        events.g,
                        base,
                        hi[k],
                        room,
                        rank,
                        lists,
                        counts,
                    )
                    if part.orders[q] == 2:
                        firsts[q, 0], firsts[q, 1] = counts[q, 0], counts[q, 1]
                        _rank(
                            part, q, 1, p, role, symbol, events.f, events.g, base, hi[k], room, rank, lists,
                            counts,
                        )  # fmt: skip
                        _drop_unranked(rank, lists, q, counts, firsts)
                for side in range(2):
                    bound[0, q, side, 0], bound[0, q, side, 2] = 0, counts[q, side]
                top[0, q] = 0
        rows[0, 0], rows[0, 2], step[0] = base, hi[k], 0
        depth = 0
        while depth >= 0:
            first, last = rows[depth, 0], rows[depth, 2]
            middle = last
            if step[depth] == 0 and last - first > LEAF and depth + 1 < deep:
                middle = _middle(events.tick, first, last)
            if step[depth] == 0 and middle == last:
                _leaf(
                    program, act, predicates, events, mod, state, order, tot, tot_low, inc, inc_low, base, first,
                    last,
                )  # fmt: skip
                depth -= 1
                continue
            if step[depth] == 2:
                depth -= 1
                continue
            if step[depth] == 0:
                rows[depth, 1] = middle
                for q in range(total):
                    twice = part.orders[q] == 2
                    for side in range(2):
                        a, b = bound[depth, q, side, 0], bound[depth, q, side, 2]
                        bound[depth, q, side, 1] = _split(lists, side, q, a, b, middle - base, room.who)
                        if twice:
                            _split(lists, 2 + side, q, a, b, middle - base, room.who)
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
                rows[depth + 1, 0], rows[depth + 1, 2] = first, middle
            else:
                for p in range(pairs):
                    for q in range(part.off[p], part.off[p + 1]):
                        length = bound[depth, q, 0, 1] - bound[depth, q, 0, 0]
                        right, end = bound[depth, q, 1, 1], bound[depth, q, 1, 2]
                        for s in range(states):
                            if slot[s, p] >= 0 and length > 0 and end > right:
                                _cross(
                                    part.orders[q], part.strict, rank, lists, saved, q, top[depth, q], length,
                                    right, end, s, slot[s, p], state, place, tree, tree_low, mod,
                                )  # fmt: skip
                        for side in range(2):
                            bound[depth + 1, q, side, 0] = bound[depth, q, side, 1]
                            bound[depth + 1, q, side, 2] = bound[depth, q, side, 2]
                        top[depth + 1, q] = top[depth, q]
                rows[depth + 1, 0], rows[depth + 1, 2] = rows[depth, 1], last
            step[depth] += 1
            depth += 1
            step[depth] = 0
        give(program, tot, tot_low, out, out_low, k, mod)


def run(
    program: Program,
    predicates: Predicates,
    events: Events,
    field: Field,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
) -> None:
    """Run a program over stretches of events."""
    one, states = field.one, program.states
    width, lows = (1 + len(program.sum_labels)) * len(one), len(program.low_labels)
    act, part = actions(program, False), parts(predicates)
    pairs, total = len(part.off) - 1, len(part.orders)
    n, _ = longest(events.tick, lo, hi)
    slot = np.full((states, pairs), -1, np.int64)
    slots = 0
    for s, p in zip(program.src, program.pair, strict=True):
        if p >= 0 and slot[s, p] < 0:
            slot[s, p] = slots
            slots += 1
    state = State(
        np.zeros((states, n), np.bool_),
        np.zeros((states, n, width), one.dtype),
        np.full((states, n, lows), np.inf),
        slot,
        np.zeros((slots, n, width), one.dtype),
        np.full((slots, n, lows), np.inf),
    )
    role, order = roles(program, pairs), move_order(program)
    rank, lists = np.empty((6, total, n), np.int32), np.empty((4, total, n), np.int32)
    saved, place = np.empty((2, total, n), np.int32), np.empty((2, n), np.int32)
    tree, tot, inc = (table(rows, width, lows, one) for rows in (n + 2, states, states))
    _items(
        program,
        act,
        predicates,
        part,
        role,
        order,
        events,
        field,
        state,
        work(2 * n),
        rank,
        lists,
        saved,
        place,
        *tree,
        *tot,
        *inc,
        lo,
        hi,
        out,
        out_low,
    )
