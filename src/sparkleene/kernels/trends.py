"""Where the partial trends of a window end, and what each end extends: trends without dead ends.

A forward pass notes the ends of partial trends: at which event, with which label, in which state. It is the step of
the other kernels with "is there one" in place of counts. From the ends that complete a trend the trends are read
backwards, and each step back is on the way to the beginning of at least one: no search is in vain. Where an end
moves to another state, or is gone, the pass writes a log; a place in the log is a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.conditions import compare, holds
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import ANY, NEXT, Array, Predicates, Program
from sparkleene.kernels.room import grow_rows
from sparkleene.kernels.ticks import has, tick_symbol

# Columns of an end. EARLIER: how many ends are of earlier ticks. SINCE, UNTIL: the log's lengths before and after
# its tick. LOGGED: its last place in the log. LINK: the next end that waits in the same state.
EVENT, LABEL, STATE, KIND, BEGINS, EARLIER, SINCE, UNTIL, LOGGED, LINK = range(10)


class Events(NamedTuple):
    """The rows in order, as in kernels.program, without what is added up."""

    tick: Array
    symbol: Array
    f: Array
    g: Array
    stop: Array


class Index(NamedTuple):
    """What tells at once whether some waiting event fits a new one, for pairs with at most one inequality.

    Of the events that wait in a state and agree in the pair's equalities (one cell), the least and the greatest
    left side of the inequality tell; a cell holds them while its stamp is that of the state.
    """

    real: Array  # int64[labels]: the pattern's label that a program's label stands for
    order: Array  # int64[labels]: the program's labels in the order of those
    final: Array  # bool[states]
    moves: bool  # whether a tick can move partial trends
    lasting: bool  # whether finished trends stay as they are until the window's end
    column: Array  # int64[pairs]: of the inequality, -1 for none, -2 where events are compared one by one
    left: Array  # int64[pairs, n]: cell of a waiting event, -1 if it fits no other
    right: Array  # int64[pairs, n]: cell of a new event
    slot: Array  # int64[states, pairs]
    cells: Array  # float64[slots, cells, 2]
    stamp: Array  # int64[slots, cells]
    clock: Array  # int64[1]: the last stamp


class Waiting(NamedTuple):
    """The ends that wait in each state, as a list."""

    head: Array  # int64[states]: the newest, -1 for none
    left: Array  # int64[states]: those taken out in this tick
    stamp: Array  # int64[states]: what valid cells of the index are stamped with
    touched: Array  # bool[states]: whether some are extended in this tick


class Pass(NamedTuple):
    """What a forward pass over a window is given, and what it keeps."""

    program: Program
    predicates: Predicates
    events: Events
    index: Index
    wait: Waiting
    lo: int  # the window's first row
    kinds: Array  # int8[rows, outs]: the class that finished trends of a row will have, -1 if they are gone
    out: Array  # int64[states]: place of a state's results in `kinds`, -1
    stack: Array  # scratch for code


@helper(allocates=True)
def _kinds(program: Program, events: Events, lasting: bool, lo: int, hi: int) -> Array:
    """Return the class that finished trends of each row will have when the window closes, -1 if they are gone."""
    outs = len(program.out_state)
    kinds = np.empty((1 if lasting else hi - lo, outs), np.int8)
    place = np.full(program.states, -1)
    now, after = np.empty(outs, np.int8), np.empty(outs, np.int8)
    for o in range(outs):
        place[program.out_state[o]] = o
        now[o] = program.out_class[o]
        if lasting:
            kinds[0, o] = now[o]
    j = lo if lasting else hi
    while j > lo:
        i = j - 1
        while i > lo and events.tick[i - 1] == events.tick[i]:
            i -= 1
        for e in range(i, j):
            for o in range(outs):
                kinds[e - lo, o] = now[o]
        y = tick_symbol(program.labels, events.symbol, i, j)
        for o in range(outs):
            t = program.keep[y, program.out_state[o]]
            after[o] = now[place[t]] if t >= 0 else -1
        now, after = after, now
        j = i
    return kinds


@helper
def _push(index: Index, f: Array, ends: Array, wait: Waiting, lo: int, k: int, state: int) -> None:
    """Let an end wait in a state."""
    ends[k, LINK] = wait.head[state]
    wait.head[state] = k
    e = lo + ends[k, EVENT]
    for p in range(len(index.column)):
        slot, cell, c = index.slot[state, p], index.left[p, e], index.column[p]
        if slot < 0 or cell < 0:
            continue
        x = f[c, e] if c >= 0 else 0.0
        if x != x:
            continue
        least = greatest = x
        if index.stamp[slot, cell] == wait.stamp[state]:
            least, greatest = min(x, index.cells[slot, cell, 0]), max(x, index.cells[slot, cell, 1])
        index.stamp[slot, cell] = wait.stamp[state]
        index.cells[slot, cell, 0], index.cells[slot, cell, 1] = least, greatest


@helper
def _fits(run: Pass, ends: Array, s: int, p: int, e: int) -> bool:
    """Tell whether event e satisfies pair p with some event that waits in state s."""
    predicates, events, index, wait = run.predicates, run.events, run.index, run.wait
    op = predicates.op
    slot, cell, c = index.slot[s, p], index.right[p, e], index.column[p]
    if slot >= 0:
        if cell < 0 or index.stamp[slot, cell] != wait.stamp[s]:
            return False
        if c < 0:
            return True
        y = events.g[c, e]
        return compare(op[c], index.cells[slot, cell, 0], y) or compare(op[c], index.cells[slot, cell, 1], y)
    k = wait.head[s]
    while k >= 0:
        if holds(predicates, events.f, events.g, p, run.lo + ends[k, EVENT], e, run.stack):
            return True
        k = ends[k, LINK]
    return False


@helper(allocates=True)
def _extend(
    run: Pass, by: Array, start: int, e: int, label: int, ends: Array, begin: int, n: int
) -> tuple[Array, int]:
    """Add the ends of the partial trends that event e extends or begins; return all ends and their number.

    From number `begin` on they have the same event and the same label of the pattern.
    """
    program, events, index, wait, lo, out = run.program, run.events, run.index, run.wait, run.lo, run.out
    for t in range(program.off[label], program.off[label + 1]):
        s, d, p = program.src[t], program.dst[t], program.pair[t]
        if s != start:
            if wait.head[s] < 0:
                continue
            if p >= 0 and not _fits(run, ends, s, p, e):
                continue
            wait.touched[s] = True
            k = wait.head[s] if len(by) else -1
            while k >= 0:
                old = lo + ends[k, EVENT]
                if p < 0 or holds(run.predicates, events.f, events.g, p, old, e, run.stack):
                    by[k, 0] |= np.uint64(1) << np.uint64(label)
                k = ends[k, LINK]
        kind = -1
        if out[d] >= 0:
            kind = run.kinds[0 if index.lasting else e - lo, out[d]]
        if kind < 0 and index.final[d]:
            continue
        k = begin
        while k < n and ends[k, STATE] != d:
            k += 1
        if k == n:
            ends = grow_rows(ends, n)
            ends[n, EVENT], ends[n, LABEL], ends[n, STATE], ends[n, KIND] = e - lo, index.real[label], d, kind
            ends[n, BEGINS], ends[n, LOGGED] = 0, -1
            n += 1
        if s == start:
            ends[k, BEGINS] = 1
    return ends, n


@helper(allocates=True)
def _settle(
    program: Program,
    index: Index,
    f: Array,
    lo: int,
    y: int,
    wait: Waiting,
    ends: Array,
    by: Array,
    log: Array,
    logged: int,
) -> tuple[Array, int]:
    """Move the ends that waited through a tick of symbol y; return the log and its length."""
    for s in range(program.states):
        wait.left[s] = -1
        if wait.head[s] >= 0 and (program.keep[y, s] != s or (len(by) and wait.touched[s])):
            wait.left[s], wait.head[s] = wait.head[s], -1
            index.clock[0] += 1
            wait.stamp[s] = index.clock[0]
        wait.touched[s] = False
    for s in range(program.states):
        k = wait.left[s]
        while k >= 0:
            following = ends[k, LINK]
            t = s
            if len(by):
                for label in range(len(program.leave)):
                    if t >= 0 and has(by[k, 0], label):
                        t = program.leave[label, t]
                by[k, 0] = 0
            if t >= 0:
                t = program.keep[y, t]
            if t != s:
                log = grow_rows(log, logged)
                log[logged, 0], log[logged, 1], log[logged, 2] = k, t, ends[k, LOGGED]
                ends[k, LOGGED] = logged
                logged += 1
            if t >= 0:
                _push(index, f, ends, wait, lo, k, t)
            k = following
    return log, logged


@kernel
def reach(
    program: Program, predicates: Predicates, events: Events, index: Index, lo: Array, hi: Array, need: int
) -> tuple[Array, Array, Array]:
    """Go through windows until `need` ends (for AND, of either operand) are those of complete trends.

    Return the event that completes the first trend of each (for AND, the first operand's), -1 if there is none,
    and for the last of them the ends of partial trends, in order, and the log of what became of them.
    """
    states, tick = program.states, events.tick
    firsts = np.full(len(lo), -1)
    leaving = program.mode == NEXT and len(index.column) > 0
    out = np.full(states, -1)
    for o in range(len(program.out_state)):
        out[program.out_state[o]] = o
    ends, log = np.empty((64, 10), np.int32), np.empty((64, 3), np.int32)
    by = np.zeros((64 if leaving else 0, 1), np.uint64)  # labels that extend an end in this tick
    stack = np.zeros(len(predicates.code) + 1)
    wait = Waiting(np.full(states, -1), np.full(states, -1), np.zeros(states, np.int64), np.zeros(states, np.bool_))
    n = logged = 0
    for w in range(len(lo)):
        kinds = _kinds(program, events, index.lasting, lo[w], hi[w])
        run = Pass(program, predicates, events, index, wait, lo[w], kinds, out, stack)
        index.clock[0] += 1
        for s in range(states):
            wait.head[s], wait.stamp[s], wait.touched[s] = -1, index.clock[0], False
        n = logged = start = one = two = 0
        i = lo[w]
        while i < hi[w] and not events.stop[0] and (one < need or (program.classes > 1 and two < need)):
            j = i + 1
            while j < hi[w] and tick[j] == tick[i]:
                j += 1
            earlier, since = n, logged
            for e in range(i, j):
                if events.stop[0]:
                    break
                begin, before_it = n, -1
                for label in index.order:
                    if index.real[label] != before_it:
                        begin, before_it = n, index.real[label]
                    if has(program.labels[events.symbol[e]], label):
                        ends, n = _extend(run, by, start, e, label, ends, begin, n)
            if index.moves or leaving:
                y = tick_symbol(program.labels, events.symbol, i, j)
                log, logged = _settle(program, index, events.f, lo[w], y, wait, ends, by, log, logged)
                start = program.keep[y, start]
            for k in range(earlier, n):
                ends[k, EARLIER], ends[k, SINCE], ends[k, UNTIL] = earlier, since, logged
                kind = ends[k, KIND]
                if one == 0 and (kind == 0 or kind == 2):
                    firsts[w] = lo[w] + ends[k, EVENT]
                one += kind == 0 or kind == 2
                two += kind >= 1
                if leaving:
                    by = grow_rows(by, k)
                    by[k, 0] = 0
                if not index.final[ends[k, STATE]]:
                    _push(index, events.f, ends, wait, lo[w], k, ends[k, STATE])
            i = j
        if program.classes > 1 and two == 0:
            firsts[w] = -1
    return firsts, ends[:n], log[:logged]


class Wish(NamedTuple):
    """Which of the ends that an end extends are wanted: the first or the last `most` events and labels.

    Where ends have a merit, only those with the least one or more; `missed` gets the greatest merit of the others.
    """

    most: int
    backwards: bool
    merit: Array  # int64[ends], or empty
    least: int
    missed: Array  # int64[1]


@helper
def state_at(ends: Array, log: Array, j: int, since: int) -> int:
    """Return the state in which end j was when the log had `since` lines, -1 if it was gone."""
    at = ends[j, LOGGED]
    while at >= since:
        at = log[at, 2]
    return log[at, 1] if at >= 0 else ends[j, STATE]  # type: ignore[no-any-return]


@helper
def find_sources(program: Program, events: Events, real: Array, ends: Array, lo: int, k: int, pair: Array) -> None:
    """Write for each state the pair on the step from it to end k, -1 for a step without, -2 for no step."""
    e, label = lo + ends[k, EVENT], ends[k, LABEL]
    for s in range(program.states):
        pair[s] = -2
    for by in range(len(real)):
        if real[by] == label and has(program.labels[events.symbol[e]], by):
            for t in range(program.off[by], program.off[by + 1]):
                if program.dst[t] == ends[k, STATE]:
                    pair[program.src[t]] = program.pair[t]


@kernel
def before(
    program: Program,
    predicates: Predicates,
    events: Events,
    real: Array,
    ends: Array,
    log: Array,
    lo: int,
    k: int,
    wish: Wish,
) -> Array:
    """Return the ends that end k extends, in any order; at least those that are wanted."""
    stack = np.zeros(len(predicates.code) + 1)
    e, since = lo + ends[k, EVENT], ends[k, SINCE]
    pair = np.empty(program.states, np.int64)
    find_sources(program, events, real, ends, lo, k, pair)
    # Where trends may not skip, what an event extends leaves its state, and so is in the log of its tick.
    every, chosen = program.mode == ANY, len(wish.merit) > 0
    first, last = (np.int32(0), ends[k, EARLIER]) if every else (since, ends[k, UNTIL])
    found = np.empty((16, 1), np.int64)
    size = groups = 0
    for step in range(last - first):
        c = last - 1 - step if wish.backwards else first + step
        j = np.int64(c) if every else np.int64(log[c, 0])
        if chosen and wish.merit[j] < wish.least and wish.merit[j] <= wish.missed[0]:
            continue
        s = state_at(ends, log, j, since)
        if s < 0 or pair[s] == -2:
            continue
        old = lo + ends[j, EVENT]
        if pair[s] >= 0 and not holds(predicates, events.f, events.g, pair[s], old, e, stack):
            continue
        if chosen and wish.merit[j] < wish.least:
            wish.missed[0] = wish.merit[j]
            continue
        if every:
            p = found[size - 1, 0] if size else 0
            if size == 0 or ends[p, EVENT] != ends[j, EVENT] or ends[p, LABEL] != ends[j, LABEL]:
                groups += 1
            if groups > wish.most:
                break
        found = grow_rows(found, size)
        found[size, 0] = j
        size += 1
    return found[:size, 0]
