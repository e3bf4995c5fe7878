"""Skip-till-next-match with pairs of one inequality: every stored event leaves its heap once.

A state keeps the partial trends that no event has extended yet in a skew heap by the left side of its pair's
comparison, least first (`>` negates). A new event pops what it can extend. Where each new event pops before it
is pushed, as for S+ over one column, the heap is a mere stack and all steps take constant time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.common import (
    Actions,
    actions,
    blank,
    clear,
    give,
    has,
    pick_up,
    put,
    start,
    table,
    tick_symbol,
)
from sparkleene.kernels.heaps import Heaps, meld, pop
from sparkleene.kernels.jit import jit
from sparkleene.kernels.numbers import add, nonzero
from sparkleene.kernels.ordered import in_order, longest
from sparkleene.kernels.program import GE, GT, LE, LT, NEXT, Array, Events, Field, Predicates, Program
from sparkleene.kernels.ranks import Work, sort, work

SOME, ALL = 1, 2


def supports(program: Program, predicates: Predicates) -> bool:
    """Tell whether this kernel can run a program."""
    if program.mode != NEXT or not in_order(program):
        return False
    pair_of: dict[int, int] = {}
    for s, p in zip(program.src.tolist(), program.pair.tolist(), strict=True):
        if p >= 0 and pair_of.setdefault(s, p) != p:
            return False
    for p in set(pair_of.values()):
        ops = predicates.op[predicates.off[p] : predicates.off[p + 1]]
        code = predicates.code_off[p] != predicates.code_off[p + 1]
        if code or len(ops) != 1 or int(ops[0]) not in (LT, LE, GT, GE):
            return False
    for row in program.keep.tolist():  # a heap moves only where it is ordered the same way
        for s, t in enumerate(row):
            if s in pair_of and t in pair_of and pair_of[s] != pair_of[t]:
                return False
    out = {s: set[int]() for s in range(program.states)}
    for label in range(len(program.off) - 1):
        for s in program.src[program.off[label] : program.off[label + 1]].tolist():
            out[s].add(label)
    for s, labels in out.items():
        reached = {s}
        for _ in labels:
            reached |= {int(program.leave[label, t]) for t in reached if t >= 0 for label in labels}
        reached.discard(-1 if s in pair_of else s)
        # What is extended may go to one state without predicates, whatever the labels.
        if s in pair_of:
            first = {int(program.leave[label, s]) for label in labels}
            if len(first) > 1 or reached - {s} - first or first & {s}:
                return False
        if (reached - {s}) & pair_of.keys():
            return False
    return True


class Plan(NamedTuple):
    """Per state the column, sign and strictness of its comparison, and where it goes."""

    column: Array
    sign: Array
    strict: Array
    left: Array  # where what an event extends goes
    move: Array  # int64[symbols, states]: where what no event extends goes after a tick
    order: Array  # int64[symbols, states]: the states that move, in the order to do it, then -1
    ask_off: (
        Array  # the stored states that events of symbol y take from are ask_state[ask_off[y]:ask_off[y + 1]]
    )
    ask_state: Array
    ask_kind: Array  # SOME by predicate, ALL without, or both
    asks: Array  # bool[symbols, states]: by predicate


@jit
def _share(
    heaps: Heaps,
    plan: Plan,
    room: Work,
    symbol: Array,
    g: Array,
    s: int,
    i: int,
    j: int,
    part: Array,
    part_low: Array,
    full: Array,
    full_low: Array,
    mod: Array,
) -> None:
    """Let the events i:j of one tick take from state s: row s + k * states of `part` is for the k-th of them.

    They come from the most selective to the least: what one takes is for the next ones too. All goes to `full`.
    """
    root, child, key, value, low, free = heaps
    states, sign = len(root), plan.sign[s]
    n = 0
    for e in range(i, j):
        x = g[plan.column[s], e] * sign
        if x == x and plan.asks[np.int64(symbol[e]), s]:
            room.key[0, n], room.who[0, n] = x, e - i
            n += 1
    sort(room, n)
    for k in range(n):
        at = s + room.who[0, k] * states
        if k > 0:
            put(part, part_low, at, part, part_low, s + room.who[0, k - 1] * states, mod)
        pop(root, child, key, value, low, free, s, room.key[0, k], plan.strict[s], part, part_low, at, mod)
    if n:
        put(full, full_low, s, part, part_low, s + room.who[0, n - 1] * states, mod)


@jit
def _stretch(
    program: Program,
    act: Actions,
    events: Events,
    mod: Array,
    heaps: Heaps,
    plan: Plan,
    room: Work,
    tot: Array,
    tot_low: Array,
    inc: Array,
    inc_low: Array,
    stuck: Array,
    stuck_low: Array,
    part: Array,
    part_low: Array,
    full: Array,
    full_low: Array,
    new: Array,
    new_low: Array,
    new_at: Array,
    lo: int,
    hi: int,
) -> None:
    """Process one stretch."""
    tick, symbol, sums, lows, f, g = events
    a_off, a_label, a_src, a_dst, a_pair, a_last, stored = act
    root, child, key, value, low, free = heaps
    column, sign, strict, left, move, order, ask_off, ask_state, ask_kind, _ = plan
    keep, labels, states = program.keep, program.labels, program.states
    sum_labels, low_labels = program.sum_labels, program.low_labels
    width, columns, low_width = tot.shape[1], len(mod), tot_low.shape[1]
    single = width + low_width == 1
    buf, buf_low = np.zeros(width, tot.dtype), np.full(low_width, np.inf)
    i = lo
    while i < hi:
        j = i + 1
        while j < hi and tick[j] == tick[i]:
            j += 1
        fresh = 0
        alone = j == i + 1
        y = np.int64(symbol[i]) if alone else tick_symbol(labels, symbol, i, j)
        for x in range(ask_off[y], ask_off[y + 1]):
            s, kind = ask_state[x], ask_kind[x]
            if kind & SOME and alone:
                # The same as pop(), which is too slow to call for every event.
                bound = g[column[s], i] * sign[s]
                node = np.int64(root[s])
                while node >= 0 and (key[node] < bound or (key[node] == bound and not strict[s])):
                    part[s, 0] = add(part[s, 0], value[node, 0], mod[0])
                    for w in range(1, width):
                        part[s, w] = add(part[s, w], value[node, w], mod[w % columns])
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
                _share(heaps, plan, room, symbol, g, s, i, j, part, part_low, full, full_low, mod)
            if kind & ALL:
                if alone:
                    put(full, full_low, s, part, part_low, s, mod)
                pop(root, child, key, value, low, free, s, np.inf, False, full, full_low, s, mod)
                put(full, full_low, s, stuck, stuck_low, s, mod)
                clear(stuck, stuck_low, s)
        for e in range(i, j):
            here = np.int64(symbol[e])
            for a in range(a_off[here], a_off[here + 1]):
                s = a_src[a]
                if single:
                    if not stored[s]:
                        buf[0] = add(buf[0], tot[s, 0], mod[0])
                    elif a_pair[a] < 0:
                        buf[0] = add(buf[0], full[s, 0], mod[0])
                    else:
                        buf[0] = add(buf[0], part[s + (e - i) * states, 0], mod[0])
                else:
                    for w in range(width):
                        x = tot[s, w]
                        if stored[s]:
                            x = full[s, w] if a_pair[a] < 0 else part[s + (e - i) * states, w]
                        buf[w] = add(buf[w], x, mod[w % columns])
                    for m in range(low_width):
                        v = tot_low[s, m]
                        if stored[s]:
                            v = full_low[s, m] if a_pair[a] < 0 else part_low[s + (e - i) * states, m]
                        buf_low[m] = min(buf_low[m], v)
                if not a_last[a]:
                    continue
                if single:
                    if nonzero(buf[0]):
                        new[fresh, 0] = buf[0]
                        buf[0] = 0
                        new_at[fresh, 0], new_at[fresh, 1] = a_dst[a], e
                        fresh += 1
                elif not blank(buf):
                    pick_up(buf, buf_low, a_label[a], e, sum_labels, sums, low_labels, lows, mod)
                    for w in range(width):
                        new[fresh, w] = buf[w]
                        buf[w] = 0
                    for m in range(low_width):
                        new_low[fresh, m] = buf_low[m]
                        buf_low[m] = np.inf
                    new_at[fresh, 0], new_at[fresh, 1] = a_dst[a], e
                    fresh += 1
        moved = False
        for x in range(ask_off[y], ask_off[y + 1]):
            s, kind = ask_state[x], ask_kind[x]
            t = left[s]
            if t >= 0 and keep[y, t] >= 0:
                moved = True
                if alone and kind == SOME:
                    put(inc, inc_low, keep[y, t], part, part_low, s, mod)
                else:
                    put(inc, inc_low, keep[y, t], full, full_low, s, mod)
            if alone and single:
                part[s, 0] = 0
                full[s, 0] = 0
            else:
                for k in range(j - i):
                    clear(part, part_low, s + k * states)
                clear(full, full_low, s)
        for k in range(states):
            s = order[y, k]
            if s < 0:
                break
            t = move[y, s]
            moved = True
            if not stored[s]:
                if t >= 0:
                    put(inc, inc_low, t, tot, tot_low, s, mod)
                clear(tot, tot_low, s)
                continue
            if t >= 0 and stored[t]:
                root[t] = meld(child, key, np.int64(root[t]), np.int64(root[s]))
                put(stuck, stuck_low, t, stuck, stuck_low, s, mod)
            elif t >= 0:
                pop(root, child, key, value, low, free, s, np.inf, False, inc, inc_low, t, mod)
                put(inc, inc_low, t, stuck, stuck_low, s, mod)
            root[s] = -1
            clear(stuck, stuck_low, s)
        if moved:
            for s in range(states):
                put(tot, tot_low, s, inc, inc_low, s, mod)
                clear(inc, inc_low, s)
        for k in range(fresh):
            d, e = new_at[k, 0], new_at[k, 1]
            if not stored[d]:
                if single:
                    tot[d, 0] = add(tot[d, 0], new[k, 0], mod[0])
                else:
                    put(tot, tot_low, d, new, new_low, k, mod)
                continue
            x = f[column[d], e] * sign[d]
            if x == x:
                node = free[0]
                if node >= 0:
                    free[0] = child[node, 0]
                else:
                    node = free[1]
                    free[1] = node + 1
                child[node, 0] = child[node, 1] = -1
                key[node] = x
                value[node, 0] = new[k, 0]
                for w in range(1, width):
                    value[node, w] = new[k, w]
                for m in range(low_width):
                    low[node, m] = new_low[k, m]
                top = np.int64(root[d])
                if top < 0 or x <= key[top]:
                    child[node, 0] = top
                    root[d] = node
                else:
                    root[d] = meld(child, key, top, node)
            else:
                put(stuck, stuck_low, d, new, new_low, k, mod)
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


def _plan(program: Program, predicates: Predicates, stored: Array) -> Plan:
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
                if has(program.labels[y], label) and stored[program.src[t]]:
                    kinds[y, program.src[t]] |= ALL if program.pair[t] < 0 else SOME
    which, state = np.nonzero(kinds)
    kind = np.zeros(len(state), np.int64)
    off = np.zeros(len(kinds) + 1, np.int64)
    for x in range(len(state)):
        kind[x] = kinds[which[x], state[x]]
        off[which[x] + 1] = x + 1
    for y in range(len(kinds)):
        off[y + 1] = max(off[y], off[y + 1])
    order = _order(move, stored)
    return Plan(column, sign, strict, left, move, order, off, state, kind, kinds & SOME != 0)


@jit
def _items(
    program: Program,
    act: Actions,
    plan: Plan,
    events: Events,
    field: Field,
    heaps: Heaps,
    room: Work,
    tot: Array,
    tot_low: Array,
    inc: Array,
    inc_low: Array,
    stuck: Array,
    stuck_low: Array,
    part: Array,
    part_low: Array,
    full: Array,
    full_low: Array,
    new: Array,
    new_low: Array,
    new_at: Array,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
) -> None:
    """Process all stretches."""
    mod = field.mod
    for k in range(len(lo)):
        start(tot, tot_low, field.one)
        for s in range(program.states):
            clear(stuck, stuck_low, s)
            heaps.root[s] = -1
        heaps.free[0], heaps.free[1] = -1, 0
        _stretch(
            program,
            act,
            events,
            mod,
            heaps,
            plan,
            room,
            tot,
            tot_low,
            inc,
            inc_low,
            stuck,
            stuck_low,
            part,
            part_low,
            full,
            full_low,
            new,
            new_low,
            new_at,
            lo[k],
            hi[k],
        )
        for s in range(program.states):
            if act.stored[s]:
                put(tot, tot_low, s, stuck, stuck_low, s, mod)
                pop(
                    heaps.root,
                    heaps.child,
                    heaps.key,
                    heaps.value,
                    heaps.low,
                    heaps.free,
                    s,
                    np.inf,
                    False,
                    tot,
                    tot_low,
                    s,
                    mod,
                )
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
    act = actions(program, False)
    size, together = longest(events.tick, lo, hi)
    most = int(np.diff(act.off).max(initial=0))
    nodes, spare = size * most, together * most
    heaps = Heaps(
        np.full(states, -1, np.int32),
        np.empty((nodes, 2), np.int32),
        np.empty(nodes),
        np.empty((nodes, width), one.dtype),
        np.empty((nodes, lows)),
        np.zeros(2, np.int64),
    )
    tot, inc, stuck, full = (table(states, width, lows, one) for _ in range(4))
    part, new = table(states * together, width, lows, one), table(spare, width, lows, one)
    new_at = np.empty((spare, 2), np.int64)
    plan = _plan(program, predicates, act.stored)
    _items(
        program,
        act,
        plan,
        events,
        field,
        heaps,
        work(together),
        *tot,
        *inc,
        *stuck,
        *part,
        *full,
        *new,
        new_at,
        lo,
        hi,
        out,
        out_low,
    )
