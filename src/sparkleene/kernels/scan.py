"""The general kernel: every stored event is compared with every new one, in all three semantics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.conditions import code_holds, compare
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.program import NEXT, ZERO, Array, Events, NumberSystem, Predicates, Program
from sparkleene.kernels.ticks import Transitions, tick_symbol, transitions_of
from sparkleene.kernels.vectors import (
    Carry,
    Table,
    add_row,
    clear_row,
    copy_row,
    empty_table,
    is_blank,
    make_rows,
    take_in,
)


class Moves(NamedTuple):
    """The states whose entries a tick of symbol y moves: state[y, :count[y]]."""

    count: Array
    state: Array
    spare: int  # entries that one event may bring


class Lists(NamedTuple):
    """A list of entries for each state, of the same room; a state without predicates has one, the sum of all.

    The entries of state s are those from s * room + at[0, s] on: old ones up to at[1, s], and up to at[2, s] those
    that the tick brings.
    """

    at: Array  # int64[3, states]
    event: Array  # int64[entries]
    extended: Array  # uint64[entries]: labels that extend an entry in this tick
    fits: Array  # bool[entries]: whether the event at hand satisfies a pair with the entry's
    entry: Table


@helper
def _copy(lists: Lists, i: int, j: int) -> None:
    """Copy entry i to place j."""
    lists.event[j] = lists.event[i]
    copy_row(lists.entry, j, lists.entry, i)


@helper
def _test_entries(
    predicates: Predicates, events: Events, p: int, e: int, first: int, last: int, lists: Lists, stack: Array
) -> None:
    """Find which entries first:last have an event that satisfies pair p with event e."""
    f, g, event, fits = events.f, events.g, lists.event, lists.fits
    for q in range(first, last):
        fits[q] = True
    for c in range(predicates.off[p], predicates.off[p + 1]):
        op, right = predicates.op[c], g[c, e]
        for q in range(first, last):
            fits[q] &= compare(op, f[c, event[q]], right)
    begin, end = predicates.code_off[p], predicates.code_off[p + 1]
    if begin < end:
        code, consts = predicates.code, predicates.consts
        for q in range(first, last):
            fits[q] = fits[q] and code_holds(code, begin, end, consts, f, g, event[q], e, stack)


@helper
def _settle(program: Program, s: int, y: int, lists: Lists) -> None:
    """Move the extended entries of state s by leave, then all its old entries by keep."""
    at, event, extended, _, (value, low) = lists
    keep, leave = program.keep, program.leave
    room = len(event) // program.states
    base = s * room
    head, mid, end = at[0, s], at[1, s], at[2, s]
    free = head
    for i in range(head, end):
        target, to = s, base + free
        if i < mid:
            labels, label = extended[base + i], 0
            extended[base + i] = 0
            while labels and target >= 0:
                if labels & np.uint64(1):
                    target = leave[label, target]
                labels >>= np.uint64(1)
                label += 1
            if target >= 0:
                target = keep[y, target]
        elif i == mid:
            at[1, s] = free
        if target == s:
            free += 1
        elif target >= 0:
            to = target * room + at[2, target]
            at[2, target] += 1
        if target >= 0 and to != base + i:
            event[to] = event[base + i]
            for w in range(value.shape[1]):
                value[to, w] = value[base + i, w]
            for m in range(low.shape[1]):
                low[to, m] = low[base + i, m]
    if mid == end:
        at[1, s] = free
    at[2, s] = free


# The loop over ticks is written out here as in fenwick.py, for the reason that is told there.
@helper(allocates=True)
def _advance(
    program: Program, by: Transitions, predicates: Predicates, events: Events, field: NumberSystem, moves: Moves,
    lists: Lists, i: int, end: int,
) -> int:  # fmt: skip
    """Process ticks from row i until the end or until a list might become too long; return where it stopped."""
    tick, symbol, f, g, mod = events.tick, events.symbol, events.f, events.g, field.mod
    at, event, extended, fits, entry = lists
    value, low = entry
    width, lows, columns, states = value.shape[1], low.shape[1], len(mod), program.states
    room = len(event) // states
    following, single = program.mode == NEXT, width + lows == 1
    rows = (program.sum_row, program.sum_of, events.sums, program.low_row, program.low_adds, events.lows)
    carry = Carry(*rows, mod)
    off, ops, code_off = predicates.off, predicates.op, predicates.code_off
    stack = np.zeros(len(predicates.code) + 1)
    sum, sum_low = buffer = make_rows(1, width, lows, field.one)
    touched = np.zeros(states, np.bool_)
    used = alive = 0
    for s in range(states):
        used = max(used, at[2, s])
        alive += at[2, s] - at[0, s]
    stop = events.stop
    while i < end and not stop[0]:
        j = i + 1
        while j < end and tick[j] == tick[i]:
            j += 1
        if used + (j - i) * moves.spare + alive > room:
            break
        for e in range(i, j):
            y = np.int64(symbol[e])
            for a in range(by.off[y], by.off[y + 1]):
                s, p = by.src[a], by.pair[a]
                first, last = s * room + at[0, s], s * room + at[1, s]
                kind, c, op, right = 0, 0, 0, 0.0
                if p >= 0 and off[p + 1] - off[p] == 1 and code_off[p] == code_off[p + 1]:
                    kind, c = 1, off[p]
                    op, right = ops[c], g[c, e]
                elif p >= 0:
                    kind = 2
                    _test_entries(predicates, events, p, e, first, last, lists, stack)
                for q in range(first, last):
                    if kind == 1:
                        if not compare(op, f[c, event[q]], right):
                            continue
                    elif kind == 2 and not fits[q]:
                        continue
                    sum[0, 0] = add(sum[0, 0], value[q, 0], mod[0])
                    for w in range(1, width):
                        sum[0, w] = add(sum[0, w], value[q, w], mod[w % columns])
                    for m in range(lows):
                        sum_low[0, m] = min(sum_low[0, m], low[q, m])
                    if following:
                        extended[q] |= np.uint64(1) << np.uint64(by.label[a])
                        touched[s] = True
                if by.last[a] and (nonzero(sum[0, 0]) or not (single or is_blank(buffer, ZERO))):
                    d = by.dst[a]
                    if not single:
                        take_in(buffer, ZERO, by.label[a], e, carry)
                    to = d * room + at[2, d]
                    for w in range(width):
                        value[to, w] = sum[0, w]
                        sum[0, w] = 0
                    for m in range(lows):
                        low[to, m] = sum_low[0, m]
                        sum_low[0, m] = np.inf
                    event[to] = e
                    at[2, d] += 1
        y = np.int64(symbol[i]) if j == i + 1 else tick_symbol(program.labels, symbol, i, j)
        if following:
            for s in range(states):
                if touched[s]:
                    _settle(program, s, y, lists)
        for k in range(moves.count[y]):
            s = moves.state[y, k]
            if not touched[s]:
                t = program.keep[y, s]
                if t >= 0:
                    for q in range(at[0, s], at[1, s]):
                        _copy(lists, s * room + q, t * room + at[2, t])
                        at[2, t] += 1
                at[0, s] = at[1, s]
        used = alive = 0
        for s in range(states):
            touched[s] = False
            first, last = at[0, s], at[2, s]
            if not by.stored[s] and last - first > 1:
                to = s * room + first
                for q in range(to + 1, s * room + last):
                    for w in range(width):
                        value[to, w] = add(value[to, w], value[q, w], mod[w % columns])
                    for m in range(lows):
                        low[to, m] = min(low[to, m], low[q, m])
                last = first + 1
                at[2, s] = last
            at[1, s] = last
            used = max(used, last)
            alive += last - first
        i = j
    return i


@helper(allocates=True)
def _make_room(lists: Lists, one: Array, tick: Array, spare: int, i: int, end: int) -> Lists:
    """Shift all entries to the front; return lists of twice the room if that does not help much."""
    at, event, _, _, entry = lists
    states = at.shape[1]
    room = len(event) // states
    j = i + 1
    while j < end and tick[j] == tick[i]:
        j += 1
    need = (j - i) * spare
    for s in range(states):
        for q in range(at[0, s], at[2, s]):
            _copy(lists, s * room + q, s * room + q - at[0, s])
        at[2, s] -= at[0, s]
        at[1, s] = at[2, s]
        at[0, s] = 0
        need += 2 * at[2, s]
    if 2 * need <= room:
        return lists
    size = max(2 * room, 2 * need)
    new = make_rows(states * size, entry.value.shape[1], entry.low.shape[1], one)
    new_event = np.zeros(states * size, np.int64)
    for s in range(states):
        for q in range(at[2, s]):
            new_event[s * size + q] = event[s * room + q]
            copy_row(new, s * size + q, entry, s * room + q)
    fits = np.zeros(states * size, np.bool_)
    return Lists(at, new_event, np.zeros(states * size, np.uint64), fits, new)


@kernel
def _run_stretches(
    program: Program, by: Transitions, predicates: Predicates, events: Events, field: NumberSystem, moves: Moves,
    lists: Lists, lo: Array, hi: Array, out: Table,
) -> None:  # fmt: skip
    """Run stretch after stretch, and write the results of each."""
    mod, at = field.mod, lists.at
    for k in range(len(lo)):
        if events.stop[0]:
            break
        for s in range(program.states):
            at[0, s] = at[1, s] = at[2, s] = 0 if s else 1
        at[0, 0] = 0
        lists.event[0] = -1
        clear_row(lists.entry, ZERO)
        for c in range(len(mod)):
            lists.entry.value[0, c] = field.one[c]
        for m in range(len(program.low_adds)):
            if program.low_adds[m]:
                lists.entry.low[0, m] = 0.0
        i = _advance(program, by, predicates, events, field, moves, lists, lo[k], hi[k])
        while i < hi[k] and not events.stop[0]:
            lists = _make_room(lists, field.one, events.tick, moves.spare, i, hi[k])
            i = _advance(program, by, predicates, events, field, moves, lists, i, hi[k])
        room = len(lists.event) // program.states
        for o in range(len(program.out_state)):
            s, c = program.out_state[o], program.out_class[o]
            row = Table(out.value[k], out.low[k])
            for q in range(s * room + at[0, s], s * room + at[1, s]):
                add_row(row, c, lists.entry, q, mod)


def run(
    program: Program, predicates: Predicates, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table
) -> None:
    """Run a program over stretches of events."""
    by, states, room = transitions_of(program, True), program.states, 64
    moving = program.keep != np.arange(states)
    spare = int(np.diff(by.off).max(initial=1))
    moves = Moves(moving.sum(axis=1), np.argsort(~moving, axis=1, kind="stable"), spare)
    lists = Lists(
        np.zeros((3, states), np.int64),
        np.zeros(states * room, np.int64),
        np.zeros(states * room, np.uint64),
        np.zeros(states * room, np.bool_),
        empty_table(states * room, program, field.one),
    )
    _run_stretches(program, by, predicates, events, field, moves, lists, lo, hi, out)
