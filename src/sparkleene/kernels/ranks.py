"""Ranks of the two sides of comparisons within a stretch, so that order becomes small integers.

A pair of comparisons is taken apart into disjoint *parts*, each a conjunction of equalities and at most two
inequalities: `!=` becomes `<` or `>`. `>` is `<` over negated values, so that every part asks for a prefix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper
from sparkleene.kernels.program import EQ, GT, LE, LT, NE, ZERO, Array, Events, Predicates, Program

SMALL = 40  # elements up to which insertion sort is fastest
WIDE = 1 << 14  # elements from which on wider digits pay


class Parts(NamedTuple):
    """Disjoint parts of the pairs; those of pair p are off[p]:off[p+1]."""

    off: Array
    pair: Array  # of each part
    equal_off: Array
    equal: Array  # columns of equalities, those of part q are equal[equal_off[q]:equal_off[q+1]]
    orders: Array  # number of inequalities
    column: Array  # [parts, 2] of inequalities
    sign: Array  # [parts, 2], -1.0 for > and >=
    strict: Array  # [parts, 2]


def parts_of(predicates: Predicates) -> Parts:
    """Take all pairs apart."""
    pairs = len(predicates.off) - 1
    off = np.zeros(pairs + 1, np.int64)
    equals = 0
    for p in range(pairs):
        different, same = 0, 0
        for c in range(predicates.off[p], predicates.off[p + 1]):
            different += predicates.op[c] == NE
            same += predicates.op[c] == EQ
        off[p + 1] = off[p] + (1 << different)
        equals += same << different
    count = off[pairs]
    equal_off, equal = np.zeros(count + 1, np.int64), np.zeros(equals, np.int64)
    orders, column = np.zeros(count, np.int64), np.zeros((count, 2), np.int64)
    sign, strict = np.ones((count, 2)), np.zeros((count, 2), np.bool_)
    k = 0
    for p in range(pairs):
        for q in range(off[p], off[p + 1]):
            choice = q - off[p]
            for c in range(predicates.off[p], predicates.off[p + 1]):
                op = predicates.op[c]
                if op == EQ:
                    equal[k] = c
                    k += 1
                    continue
                if op == NE:
                    op = GT if choice & 1 else LT
                    choice >>= 1
                n = orders[q]
                if n < 2:  # pairs with more are not for those who use parts
                    column[q, n], strict[q, n] = c, op in (LT, GT)
                    sign[q, n] = 1.0 if op in (LT, LE) else -1.0
                orders[q] = n + 1
            equal_off[q + 1] = k
    return Parts(off, np.repeat(np.arange(pairs), np.diff(off)), equal_off, equal, orders, column, sign, strict)


def roles_of(program: Program, pairs: int) -> Array:
    """Say per pair and symbol whether an event can be the previous one (1), the new one (2), or both (3)."""
    label = np.repeat(np.arange(len(program.off) - 1, dtype=np.uint64), np.diff(program.off))
    bit = np.uint64(1) << label
    into = np.zeros(program.states, np.uint64)
    np.bitwise_or.at(into, program.dst, bit)
    symbol, source = np.nonzero((program.keep != np.arange(program.states)) & (program.keep >= 0))
    before = None
    while before is None or not np.array_equal(before, into):
        before = into.copy()
        np.bitwise_or.at(into, program.keep[symbol, source], before[source])
    role = np.zeros((pairs, len(program.labels)), np.int64)
    for t in np.flatnonzero(program.pair >= 0).tolist():
        role[program.pair[t]] |= program.labels & into[program.src[t]] != 0
        role[program.pair[t]] |= 2 * (program.labels & bit[t] != 0)
    return role


class Room(NamedTuple):
    """Room for sorting: keys and element numbers, twice, and digit counts."""

    key: Array  # float64[2, n]
    bits: Array  # the same as uint64
    who: Array  # int32[2, n]
    count: Array


def room_for(n: int) -> Room:
    """Return room to sort n elements."""
    key = np.empty((2, n))
    return Room(key, key.view(np.uint64), np.empty((2, n), np.int32), np.zeros((8, 2048), np.int64))


@helper
def _insertion(key: Array, who: Array, n: int) -> None:
    for j in range(1, n):
        x, e = key[0, j], who[0, j]
        i = j - 1
        while i >= 0 and key[0, i] > x:
            key[0, i + 1], who[0, i + 1] = key[0, i], who[0, i]
            i -= 1
        key[0, i + 1], who[0, i + 1] = x, e


@helper
def sort(room: Room, n: int, stop: Array) -> None:
    """Sort the first n (key, who) stably by key, none of them NaN, unless it is told to stop."""
    key, bits, who, count = room.key, room.bits, room.who, room.count
    if n <= SMALL:
        _insertion(key, who, n)
        return
    ordered = True
    for j in range(1, n):
        if key[0, j - 1] > key[0, j]:
            ordered = False
            break
    if ordered:
        return
    digit = np.uint64(11 if n >= WIDE else 8)
    passes = 6 if n >= WIDE else 8
    mask = (np.uint64(1) << digit) - np.uint64(1)
    top = np.uint64(1) << np.uint64(63)
    for d in range(passes):
        for b in range(np.int64(mask) + 1):
            count[d, b] = 0
    for j in range(n):
        u = bits[0, j]
        u = ~u if u & top else u | top
        bits[0, j] = u
        for d in range(passes):
            count[d, u & mask] += 1
            u >>= digit
    here = 0
    for d in range(passes):
        if stop[0]:
            break
        shift = np.uint64(d) * digit
        if count[d, (bits[here, 0] >> shift) & mask] == n:
            continue
        total = 0
        for b in range(np.int64(mask) + 1):
            c = count[d, b]
            count[d, b] = total
            total += c
        there = 1 - here
        for j in range(n):
            u = bits[here, j]
            b = np.int64((u >> shift) & mask)
            to = count[d, b]
            count[d, b] = to + 1
            bits[there, to] = u
            who[there, to] = who[here, j]
        here = there
    for j in range(n):
        u = bits[here, j]
        bits[0, j] = u ^ top if u & top else ~u
    if here:
        for j in range(n):
            who[0, j] = who[1, j]


@helper
def sort_elements(
    part: Parts, q: int, order: int, role: Array, events: Events, lo: int, hi: int, room: Room
) -> Any:
    """Sort the events of a stretch that have a role in part q by its equalities, then by inequality `order`.

    Fill who[0] with element numbers: i for row lo + i as the previous event, size + i for it as the new event. If
    both sides are the same in all rows, i stands for both. NaN has no place. Return the number of elements,
    and whether the sides are the same.
    """
    key, who, symbol, f, g = room.key, room.who, events.symbol, events.f, events.g
    size, p = hi - lo, part.pair[q]
    first, last = part.equal_off[q], part.equal_off[q + 1]
    ranked = part.orders[q] > order
    c0, sign = part.column[q, order], part.sign[q, order]
    same = True
    for k in range(first - 1, last):
        c = c0 if k < first else part.equal[k]
        if k >= first or ranked:
            for i in range(lo, hi):
                if (
                    role[p, np.int64(symbol[i])]
                    and f[c, i] != g[c, i]
                    and not (f[c, i] != f[c, i] and g[c, i] != g[c, i])
                ):
                    same = False
                    break
    n = ZERO
    for i in range(lo, hi):
        r = role[p, np.int64(symbol[i])]
        for side in range(2):
            if side == 1 and same:
                break
            if (same and not r) or (not same and not (r >> side) & 1):
                continue
            value = 0.0
            known = True
            for k in range(first, last):
                c = part.equal[k]
                x = f[c, i] if side == 0 else g[c, i]
                known &= x == x
            if ranked:
                value = (f[c0, i] if side == 0 else g[c0, i]) * sign + 0.0
                known &= value == value
            if known:
                key[0, n] = value
                who[0, n] = i - lo + side * size
                n += 1
    if ranked:
        sort(room, n, events.stop)
    for k in range(first, last):
        c = part.equal[k]
        for j in range(n):
            e = who[0, j]
            key[0, j] = (f[c, lo + e] if e < size else g[c, lo + e - size]) + 0.0
        sort(room, n, events.stop)
    return n, same
