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
from sparkleene.kernels.room import double_rows, grow_rows
from sparkleene.kernels.ticks import has, tick_symbol

# Columns of an end. EARLIER: how many ends are of earlier ticks. SINCE, UNTIL: the log's lengths before and after
# its tick. LOGGED: its last place in the log. LINK: the next end that waits in the same state.
EVENT, LABEL, STATE, KIND, BEGINS, EARLIER, SINCE, UNTIL, LOGGED, LINK = range(10)
_ROOM = 1024  # ends and lines of the log at first


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
    """What a forward pass over windows is given, and what it keeps."""

    program: Program
    predicates: Predicates
    events: Events
    index: Index
    wait: Waiting
    kinds: Array  # int8[rows, outs]: the class that finished trends of a row will have, -1 if they are gone
    passing: Array  # int8[2, outs]: the same before and after a tick
    out: Array  # int64[states]: place of a state's results in `kinds`, -1
    stack: Array  # scratch for code


class Room(NamedTuple):
    """Ends and log, which the caller lets grow, and what goes on from one call to the next."""

    ends: Array  # int32[ends, 10]
    by: Array  # uint64[ends, 1] or none: labels that extend an end in this tick
    log: Array  # int32[lines, 3]
    at: Array  # int64[10], see below


WINDOW, TICK, ROW, OLDER, LINES, START, ONE, TWO, SIZE, LOG = range(10)  # TICK is -1 before a window begins


@helper
def _find_kinds(run: Pass, lo: int, hi: int) -> None:
    """Write the class that finished trends of each row will have when the window closes, -1 if they are gone."""
    program, events, kinds, passing, lasting = run.program, run.events, run.kinds, run.passing, run.index.lasting
    outs, now = len(program.out_state), 0
    for o in range(outs):
        passing[now, o] = program.out_class[o]
        if lasting:
            kinds[0, o] = passing[now, o]
    j = lo if lasting else hi
    while j > lo:
        i = j - 1
        while i > lo and events.tick[i - 1] == events.tick[i]:
            i -= 1
        for e in range(i, j):
            for o in range(outs):
                kinds[e - lo, o] = passing[now, o]
        y = tick_symbol(program.labels, events.symbol, i, j)
        for o in range(outs):
            t = program.keep[y, program.out_state[o]]
            passing[1 - now, o] = passing[now, run.out[t]] if t >= 0 else -1
        now = 1 - now
        j = i


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
def _fits(run: Pass, ends: Array, lo: int, s: int, p: int, e: int) -> bool:
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
        if holds(predicates, events.f, events.g, p, lo + ends[k, EVENT], e, run.stack):
            return True
        k = ends[k, LINK]
    return False


@helper
def _extend(run: Pass, room: Room, lo: int, start: int, e: int, label: int, begin: int, n: int) -> int:
    """Add the ends of the partial trends that event e extends or begins; return the number of all ends.

    From number `begin` on they have the same event and the same label of the pattern.
    """
    program, events, index, wait, out = run.program, run.events, run.index, run.wait, run.out
    ends, by = room.ends, room.by
    for t in range(program.off[label], program.off[label + 1]):
        s, d, p = program.src[t], program.dst[t], program.pair[t]
        if s != start:
            if wait.head[s] < 0:
                continue
            if p >= 0 and not _fits(run, ends, lo, s, p, e):
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
            ends[n, EVENT], ends[n, LABEL], ends[n, STATE], ends[n, KIND] = e - lo, index.real[label], d, kind
            ends[n, BEGINS], ends[n, LOGGED] = 0, -1
            n += 1
        if s == start:
            ends[k, BEGINS] = 1
    return n


@helper
def _settle(run: Pass, room: Room, lo: int, y: int, logged: int) -> int:
    """Move the ends that waited through a tick of symbol y; return the length of the log."""
    program, index, wait, ends, by, log = run.program, run.index, run.wait, room.ends, room.by, room.log
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
                log[logged, 0], log[logged, 1], log[logged, 2] = k, t, ends[k, LOGGED]
                ends[k, LOGGED] = logged
                logged += 1
            if t >= 0:
                _push(index, run.events.f, ends, wait, lo, k, t)
            k = following
    return logged


def reach(
    program: Program, predicates: Predicates, events: Events, index: Index, lo: Array, hi: Array, need: int
) -> tuple[Array, Array, Array]:
    """Go through windows until `need` ends (for AND, of either operand) are those of complete trends.

    Return the event that completes the first trend of each (for AND, the first operand's), -1 if there is none,
    and for the last of them the ends of partial trends, in order, and the log of what became of them.
    """
    states, outs = program.states, len(program.out_state)
    out = np.full(states, -1)
    out[program.out_state] = np.arange(outs)
    wait = Waiting(np.full(states, -1), np.full(states, -1), np.zeros(states, np.int64), np.zeros(states, np.bool_))
    kinds = np.empty((1 if index.lasting else (hi - lo).max(initial=1), outs), np.int8)
    stack = np.zeros(len(predicates.code) + 1)
    run = Pass(program, predicates, events, index, wait, kinds, np.empty((2, outs), np.int8), out, stack)
    leaving = program.mode == NEXT and len(index.column) > 0
    firsts, at = np.full(len(lo), -1), np.zeros(10, np.int64)
    at[TICK] = -1
    by = np.empty((_ROOM if leaving else 0, 1), np.uint64)
    room = Room(np.empty((_ROOM, 10), np.int32), by, np.empty((_ROOM, 3), np.int32), at)
    while not _reach(run, room, lo, hi, need, firsts):
        ends, log = double_rows(room.ends, at[SIZE]), double_rows(room.log, at[LOG])
        room = Room(ends, double_rows(room.by, at[SIZE]), log, at)
    return firsts, room.ends[: at[SIZE]], room.log[: at[LOG]]


@kernel(allocates=False)
def _reach(run: Pass, room: Room, lo: Array, hi: Array, need: int, firsts: Array) -> bool:
    """Do what `reach` tells, and return whether it is done; if not, there was no room for what a row may add."""
    program, events, index, wait = run.program, run.events, run.index, run.wait
    ends, by, log, at = room
    tick, most, leaving = events.tick, len(program.src), len(by) > 0
    for w in range(at[WINDOW], len(lo)):
        if at[TICK] < 0:
            _find_kinds(run, lo[w], hi[w])
            index.clock[0] += 1
            for s in range(program.states):
                wait.head[s], wait.stamp[s], wait.touched[s] = -1, index.clock[0], False
            at[TICK] = at[ROW] = lo[w]
            at[START] = at[ONE] = at[TWO] = at[SIZE] = at[LOG] = 0
        i, row, start, one, two, n, logged = at[TICK], at[ROW], at[START], at[ONE], at[TWO], at[SIZE], at[LOG]
        while i < hi[w] and not events.stop[0] and (one < need or (program.classes > 1 and two < need)):
            j = i + 1
            while j < hi[w] and tick[j] == tick[i]:
                j += 1
            if row == i:
                at[OLDER], at[LINES] = n, logged
            earlier, since = at[OLDER], at[LINES]
            for e in range(row, j):
                if events.stop[0]:
                    break
                if n + most > len(ends) or since + earlier > len(log):
                    at[WINDOW], at[TICK], at[ROW], at[START], at[ONE], at[TWO] = w, i, e, start, one, two
                    at[SIZE], at[LOG] = n, logged
                    return False
                begin, before_it = n, -1
                for label in index.order:
                    if index.real[label] != before_it:
                        begin, before_it = n, index.real[label]
                    if has(program.labels[events.symbol[e]], label):
                        n = _extend(run, room, lo[w], start, e, label, begin, n)
            if index.moves or leaving:
                y = tick_symbol(program.labels, events.symbol, i, j)
                logged = _settle(run, room, lo[w], y, logged)
                start = program.keep[y, start]
            for k in range(earlier, n):
                ends[k, EARLIER], ends[k, SINCE], ends[k, UNTIL] = earlier, since, logged
                kind = ends[k, KIND]
                if one == 0 and (kind == 0 or kind == 2):
                    firsts[w] = lo[w] + ends[k, EVENT]
                one += kind == 0 or kind == 2
                two += kind >= 1
                if leaving:
                    by[k, 0] = 0
                if not index.final[ends[k, STATE]]:
                    _push(index, events.f, ends, wait, lo[w], k, np.int64(ends[k, STATE]))
            i = row = j
        if program.classes > 1 and two == 0:
            firsts[w] = -1
        at[TICK], at[SIZE], at[LOG] = -1, n, logged
    return True


class Wish(NamedTuple):
    """Which of the ends that an end extends are wanted: the first or the last `most` events and labels.

    Where ends have a merit, only those with the least one or more; `missed` gets the greatest merit of the others.
    An event further back both are lower by `fall`. With `onward`, an end that is wanted alone is gone on from.
    """

    most: int
    backwards: bool
    merit: Array  # int64[ends], or empty
    tops: Array  # the greatest merit up to each end
    least: int
    missed: Array  # int64[1]
    fall: int
    onward: bool


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


@helper
def _skip_low(wish: Wish, least: int, last: int) -> int:
    """Return how many of the first ends have too low a merit to be looked at."""
    enough = min(least, wish.missed[0] + 1)
    low, high = 0, np.int64(last)
    while low < high:
        middle = (low + high) >> 1
        if wish.tops[middle] < enough:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def step_back(
    program: Program,
    predicates: Predicates,
    events: Events,
    real: Array,
    ends: Array,
    log: Array,
    lo: int,
    k: int,
    wish: Wish,
) -> tuple[Array, Array]:
    """Return the ends that end k extends, in any order; at least those that are wanted.

    Where that is one alone, and with it begins no trend that is wanted, the next are looked for, if so wished.
    Return the ends that were passed, too.
    """
    stack = np.zeros(len(predicates.code) + 1)
    pair = np.empty(program.states, np.int64)
    # Where trends may not skip, what an event extends leaves its state, and so is in the log of its tick.
    every, chosen = program.mode == ANY, len(wish.merit) > 0
    found, passed = np.empty((16, 1), np.int64), np.empty((16, 1), np.int64)
    least, steps = wish.least, 0
    while True:
        e, since = lo + ends[k, EVENT], ends[k, SINCE]
        find_sources(program, events, real, ends, lo, k, pair)
        first, last = np.int64(0 if every else since), np.int64(ends[k, EARLIER] if every else ends[k, UNTIL])
        if every and chosen:
            first = _skip_low(wish, least, last)
        size = groups = 0
        for step in range(last - first):
            c = last - 1 - step if wish.backwards else first + step
            j = np.int64(c) if every else np.int64(log[c, 0])
            if chosen and wish.merit[j] < least and wish.merit[j] <= wish.missed[0]:
                continue
            s = state_at(ends, log, j, since)
            if s < 0 or pair[s] == -2:
                continue
            old = lo + ends[j, EVENT]
            if pair[s] >= 0 and not holds(predicates, events.f, events.g, pair[s], old, e, stack):
                continue
            if chosen and wish.merit[j] < least:
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
        if not wish.onward or size != 1 or events.stop[0]:
            break
        k = found[0, 0]
        if ends[k, BEGINS]:
            if wish.fall == 0 or least == wish.fall:
                break
            if wish.fall < least:  # a trend, but too short
                wish.missed[0] = max(wish.missed[0], wish.fall)
        passed = grow_rows(passed, steps)
        passed[steps, 0] = k
        steps += 1
        least -= wish.fall
        wish.missed[0] -= wish.fall
    wish.missed[0] += wish.fall * steps
    return found[:size, 0], passed[:steps, 0]
