"""Skip-till-next-match with pairs of one inequality: every stored event leaves its heap once.

A state keeps the partial trends that no event has extended yet in a skew heap by the left side of its pair's
comparison, least first (`>` negates). A new event pops what it can extend. Where each new event pops before it
is pushed, as for S+ over one column, the heap is a mere stack and all steps take constant time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.program import GT, LE, LT, NO, ZERO, Array, Events, NumberSystem, Predicates, Program
from sparkleene.kernels.ranks import Room, room_for, sort
from sparkleene.kernels.skew_heaps import Heaps, clear, meld, pop
from sparkleene.kernels.ticks import Transitions, longest, tick_symbol, transitions_of
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

SOME, ALL = 1, 2


class Plan(NamedTuple):
    """Per state the column, sign and strictness of its comparison, and where it goes."""

    column: Array
    sign: Array
    strict: Array
    left: Array  # where what an event extends goes
    move: Array  # int64[symbols, states]: where what no event extends goes after a tick
    order: Array  # int64[symbols, states]: the states that move, in the order to do it, then -1
    ask_off: Array  # the stored states that events of symbol y take from are ask_state[ask_off[y]:ask_off[y + 1]]
    ask_state: Array
    ask_kind: Array  # SOME by predicate, ALL without, or both
    asks: Array  # bool[symbols, states]: by predicate


class Sums(NamedTuple):
    """Sums by state: of all partial trends, and of what a tick takes and moves."""

    total: Table  # of states that are not stored
    moved: Table  # what the tick moves into a state
    stuck: Table  # of entries without a value to compare, which only a step without predicate takes
    part: Table  # taken by predicate; row s + k * states is for the k-th event of the tick
    full: Table  # taken without


class Store(NamedTuple):
    """The heaps, how they are ordered, and all that a tick needs."""

    heaps: Heaps
    plan: Plan
    sums: Sums
    fresh: Fresh
    room: Room


@helper
def _share_out(store: Store, events: Events, s: int, i: int, j: int, mod: Array) -> None:
    """Let the events i:j of one tick take from state s by predicate, and add all of it to `full`.

    They come from the most selective to the least: what one takes is for the next ones too.
    """
    heaps, plan, room, part = store.heaps, store.plan, store.room, store.sums.part
    states, sign = len(heaps.root), plan.sign[s]
    n = ZERO
    for e in range(i, j):
        x = events.g[plan.column[s], e] * sign
        if x == x and plan.asks[np.int64(events.symbol[e]), s]:
            room.key[0, n], room.who[0, n] = x, e - i
            n += 1
    sort(room, n, events.stop)
    for k in range(n):
        at = s + room.who[0, k] * states
        if k > 0:
            add_row(part, at, part, s + room.who[0, k - 1] * states, mod)
        pop(heaps, s, room.key[0, k], plan.strict[s], part, at, mod)
    if n:
        add_row(store.sums.full, s, part, s + room.who[0, n - 1] * states, mod)


# The loop over ticks is written out here as in fenwick.py, for the reason that is told there.
@helper
def _run_stretch(
    program: Program, by: Transitions, events: Events, field: NumberSystem, store: Store, lo: int, hi: int
) -> None:
    """Run the rows of one stretch from an empty store on."""
    tick, symbol, f, g, mod = events.tick, events.symbol, events.f, events.g, field.mod
    heaps, plan = store.heaps, store.plan
    total, moved, stuck, part, full = store.sums
    root, child, key, entry, free = heaps
    value, low = entry
    column, sign, strict, stored = plan.column, plan.sign, plan.strict, by.stored
    tot, tot_low = total
    part_value, part_low = part
    full_value, full_low = full
    new, to_state, to_event = store.fresh
    into, into_low = new
    clear_row(new, ZERO)
    keep, states = program.keep, program.states
    rows = (program.sum_row, program.sum_of, events.sums, program.low_row, program.low_adds, events.lows)
    carry = Carry(*rows, mod)
    width, columns, low_width = value.shape[1], len(mod), low.shape[1]
    single = width + low_width == 1
    i, stop = lo, events.stop
    while i < hi and not stop[0]:
        j = i + 1
        while j < hi and tick[j] == tick[i]:
            j += 1
        alone = j == i + 1
        y = np.int64(symbol[i]) if alone else tick_symbol(program.labels, symbol, i, j)
        for x in range(plan.ask_off[y], plan.ask_off[y + 1]):
            s, kind = plan.ask_state[x], plan.ask_kind[x]
            if kind & SOME and alone:
                # The same as pop(), which is too slow to call for every event.
                bound = g[column[s], i] * sign[s]
                node = np.int64(root[s])
                while node >= 0 and (key[node] < bound or (key[node] == bound and not strict[s])):
                    part_value[s, 0] = add(part_value[s, 0], value[node, 0], mod[0])
                    for w in range(1, width):
                        part_value[s, w] = add(part_value[s, w], value[node, w], mod[w % columns])
                    for m in range(low_width):
                        part_low[s, m] = min(part_low[s, m], low[node, m])
                    rest = np.int64(child[node, 0])
                    if child[node, 1] >= 0:
                        rest = meld(child, key, rest, np.int64(child[node, 1]))
                    child[node, 0] = free[0]
                    free[0] = node
                    node = rest
                root[s] = node
            elif kind & SOME:
                _share_out(store, events, s, i, j, mod)
            if kind & ALL:
                if alone:
                    add_row(full, s, part, s, mod)
                pop(heaps, s, np.inf, NO, full, s, mod)
                add_row(full, s, stuck, s, mod)
                clear_row(stuck, s)
        n = ZERO
        for e in range(i, j):
            here = np.int64(symbol[e])
            for a in range(by.off[here], by.off[here + 1]):
                s = by.src[a]
                at = s + (e - i) * states
                if single:
                    x = tot[s, 0]
                    if stored[s]:
                        x = full_value[s, 0] if by.pair[a] < 0 else part_value[at, 0]
                    into[n, 0] = add(into[n, 0], x, mod[0])
                else:
                    for w in range(width):
                        x = tot[s, w]
                        if stored[s]:
                            x = full_value[s, w] if by.pair[a] < 0 else part_value[at, w]
                        into[n, w] = add(into[n, w], x, mod[w % columns])
                    for m in range(low_width):
                        v = tot_low[s, m]
                        if stored[s]:
                            v = full_low[s, m] if by.pair[a] < 0 else part_low[at, m]
                        into_low[n, m] = min(into_low[n, m], v)
                if by.last[a] and (nonzero(into[n, 0]) or not (single or is_blank(new, n))):
                    if not single:
                        take_in(new, n, by.label[a], e, carry)
                    to_state[n], to_event[n] = by.dst[a], e
                    n += 1
                    for w in range(width):
                        into[n, w] = 0
                    for m in range(low_width):
                        into_low[n, m] = np.inf
        moves = False
        for x in range(plan.ask_off[y], plan.ask_off[y + 1]):
            s, kind = plan.ask_state[x], plan.ask_kind[x]
            t = plan.left[s]
            if t >= 0 and keep[y, t] >= 0:
                moves = True
                add_row(moved, keep[y, t], part if alone and kind == SOME else full, s, mod)
            if alone and single:
                part_value[s, 0] = 0
                full_value[s, 0] = 0
            else:
                for k in range(j - i):
                    clear_row(part, s + k * states)
                clear_row(full, s)
        for k in range(states):
            s = plan.order[y, k]
            if s < 0:
                break
            t = plan.move[y, s]
            moves = True
            if not stored[s]:
                if t >= 0:
                    add_row(moved, t, total, s, mod)
                clear_row(total, s)
                continue
            if t >= 0 and stored[t]:
                root[t] = meld(child, key, np.int64(root[t]), np.int64(root[s]))
                add_row(stuck, t, stuck, s, mod)
            elif t >= 0:
                pop(heaps, s, np.inf, NO, moved, t, mod)
                add_row(moved, t, stuck, s, mod)
            root[s] = -1
            clear_row(stuck, s)
        if moves:
            for s in range(states):
                add_row(total, s, moved, s, mod)
                clear_row(moved, s)
        for k in range(n):
            d = to_state[k]
            if not stored[d]:
                if single:
                    tot[d, 0] = add(tot[d, 0], into[k, 0], mod[0])
                else:
                    add_row(total, d, new, k, mod)
                continue
            x = f[column[d], to_event[k]] * sign[d]
            if x != x:
                add_row(stuck, d, new, k, mod)
                continue
            node = free[0]
            if node >= 0:
                free[0] = child[node, 0]
            else:
                node = free[1]
                free[1] = node + 1
            child[node, 0] = child[node, 1] = -1
            key[node] = x
            for w in range(width):
                value[node, w] = into[k, w]
            for m in range(low_width):
                low[node, m] = into_low[k, m]
            top = np.int64(root[d])
            if top < 0 or x <= key[top]:
                child[node, 0] = top
                root[d] = node
            else:
                root[d] = meld(child, key, top, node)
        for w in range(width):
            into[0, w] = 0
        for m in range(low_width):
            into_low[0, m] = np.inf
        i = j


def _order(move: Array, stored: Array) -> Array:
    """List per symbol the states that move, stored ones after the stored state they move to; -1 ends a list."""
    order = np.full(move.shape, -1, np.int64)
    for y in range(move.shape[0]):
        k = 0
        pending = move[y] != np.arange(move.shape[1])
        for _ in range(move.shape[1]):
            for s in range(move.shape[1]):
                t = move[y, s]
                if pending[s] and (t < 0 or not stored[s] or not stored[t] or not pending[t]):
                    pending[s] = False
                    order[y, k] = s
                    k += 1
    return order


def _plan_of(program: Program, predicates: Predicates, stored: Array) -> Plan:
    """Say per state how its heap is ordered and where what leaves it goes."""
    states = program.states
    column, sign = np.zeros(states, np.int64), np.ones(states)
    strict, left = np.zeros(states, np.bool_), np.full(states, -1, np.int64)
    for label in range(len(program.off) - 1):
        for t in range(program.off[label], program.off[label + 1]):
            s, p = program.src[t], program.pair[t]
            if stored[s]:
                left[s] = program.leave[label, s]
            if p >= 0:
                c = predicates.off[p]
                op = predicates.op[c]
                column[s], strict[s] = c, op in (LT, GT)
                sign[s] = 1.0 if op in (LT, LE) else -1.0
    # Where a tick moves what it did not extend: for a state without predicates, leave and then keep.
    move = program.keep.copy()
    for y in range(len(program.labels)):
        for s in range(states):
            if not stored[s]:
                target = s
                for label in range(len(program.off) - 1):
                    if (program.labels[y] >> np.uint64(label)) & np.uint64(1) and target >= 0:
                        for t in range(program.off[label], program.off[label + 1]):
                            if program.src[t] == s:
                                target = program.leave[label, target]
                                break
                move[y, s] = program.keep[y, target] if target >= 0 else -1
    kinds = np.zeros((len(program.labels), states), np.int64)
    for label in range(len(program.off) - 1):
        for t in range(program.off[label], program.off[label + 1]):
            for y in range(len(program.labels)):
                if program.labels[y] >> np.uint64(label) & np.uint64(1) and stored[program.src[t]]:
                    kinds[y, program.src[t]] |= ALL if program.pair[t] < 0 else SOME
    which, state = map(np.ascontiguousarray, np.nonzero(kinds))
    kind = np.zeros(len(state), np.int64)
    off = np.zeros(len(kinds) + 1, np.int64)
    for x in range(len(state)):
        kind[x] = kinds[which[x], state[x]]
        off[which[x] + 1] = x + 1
    for y in range(len(kinds)):
        off[y + 1] = max(off[y], off[y + 1])
    order = _order(move, stored)
    return Plan(column, sign, strict, left, move, order, off, state, kind, kinds & SOME != 0)


@kernel(allocates=False)
def _run_stretches(
    program: Program,
    by: Transitions,
    events: Events,
    field: NumberSystem,
    store: Store,
    lo: Array,
    hi: Array,
    out: Table,
) -> None:
    """Run stretch after stretch, and write the results of each."""
    heaps, sums = store.heaps, store.sums
    for k in range(len(lo)):
        if events.stop[0]:
            break
        start(sums.total, field.one, program.low_adds)
        clear(heaps)
        for s in range(program.states):
            clear_row(sums.stuck, s)
        _run_stretch(program, by, events, field, store, lo[k], hi[k])
        for s in range(program.states):
            if by.stored[s]:
                add_row(sums.total, s, sums.stuck, s, field.mod)
                pop(heaps, s, np.inf, NO, sums.total, s, field.mod)
        collect(program, sums.total, field.mod, out, k)


def run(
    program: Program, predicates: Predicates, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table
) -> None:
    """Run a program over stretches of events."""
    one, states = field.one, program.states
    by = transitions_of(program, False)
    size, together = longest(events.tick, lo, hi)
    most = int(np.diff(by.off).max(initial=0))
    nodes = size * most
    heaps = Heaps(
        np.full(states, -1, np.int32),
        np.empty((nodes, 2), np.int32),
        np.empty(nodes),
        empty_table(nodes, program, one),
        np.zeros(2, np.int64),
    )
    total, moved, stuck, full = (empty_table(states, program, one) for _ in range(4))
    sums = Sums(total, moved, stuck, empty_table(states * together, program, one), full)
    fresh = empty_fresh(together * most, program, one)
    store = Store(heaps, _plan_of(program, predicates, by.stored), sums, fresh, room_for(together))
    _run_stretches(program, by, events, field, store, lo, hi, out)
