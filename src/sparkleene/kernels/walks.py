"""How many partial trends have each end and how long they are, and trends drawn at random by walking back.

The trends of an end are itself, if it begins one, and those of the ends that it extends, each with one event more.
So counts and lengths of ends come in one pass forward. Who goes back from an end to one that it extends, with a
chance in proportion to its count, until the beginning of a trend, draws each trend with the same chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.conditions import compare, holds
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import ANY, Array, Predicates, Program
from sparkleene.kernels.room import double_rows
from sparkleene.kernels.ticks import tick_symbol
from sparkleene.kernels.trends import (
    BEGINS,
    EARLIER,
    EVENT,
    KIND,
    SINCE,
    STATE,
    UNTIL,
    Events,
    Index,
    find_sources,
    state_at,
)
from sparkleene.kernels.wide import WIDE, add, mantissa, scale_beside

NONE = -(1 << 62)  # the length of no trend
_UNIT = 2.0**-53


class Pass(NamedTuple):
    """The ends of the partial trends of a window, and what became of them."""

    ends: Array
    log: Array
    lo: int
    hi: int


class Lists(NamedTuple):
    """The ends that are in each state, as lists, with their counts added up and the greatest length."""

    head: Array
    tail: Array
    total: Array
    best: Array


class _Work(NamedTuple):
    """What ends are weighed with: lists before and after a tick, links between ends, and scratch."""

    lists: Lists
    other: Lists
    link: Array  # int64[ends]
    pair: Array  # int64[states]
    stack: Array


def _empty_lists(states: int) -> Lists:
    return Lists(np.full(states, -1), np.full(states, -1), np.zeros(states, WIDE), np.full(states, NONE))


@helper
def _move(program: Program, y: int, lists: Lists, link: Array, into: Lists) -> None:
    """Write where the ends of all states are after a tick of symbol y."""
    for s in range(program.states):
        into.head[s] = into.tail[s] = -1
        into.total[s], into.best[s] = complex(0.0, 0.0), NONE
    for s in range(program.states):
        t = program.keep[y, s]
        if t < 0 or lists.head[s] < 0:
            continue
        if into.head[t] < 0:
            into.head[t] = lists.head[s]
        else:
            link[into.tail[t]] = lists.head[s]
        into.tail[t] = lists.tail[s]
        into.total[t] = add(into.total[t], lists.total[s])
        into.best[t] = max(into.best[t], lists.best[s])


def weigh(
    program: Program, predicates: Predicates, events: Events, index: Index, window: Pass, sign: int, count: Array,
    length: Array,
) -> None:  # fmt: skip
    """Write how many partial trends each end has, and the length of the longest, or with sign -1 of the shortest.

    Lengths are times the sign, so that the greatest is wanted.
    """
    states, stack = program.states, np.zeros(len(predicates.code) + 1)
    link, pair = np.full(len(window.ends), -1), np.empty(states, np.int64)
    work = _Work(_empty_lists(states), _empty_lists(states), link, pair, stack)
    _weigh(program, predicates, events, index, window, work, sign, count, length)


@kernel(allocates=False)
def _weigh(
    program: Program, predicates: Predicates, events: Events, index: Index, window: Pass, work: _Work, sign: int,
    count: Array, length: Array,
) -> None:  # fmt: skip
    """Do what `weigh` tells."""
    ends, log, lo, hi = window
    lists, other, link, pair, stack = work
    every, tick = program.mode == ANY, events.tick
    k, i = 0, lo
    while i < hi and k < len(ends) and not events.stop[0]:
        j = i + 1
        while j < hi and tick[j] == tick[i]:
            j += 1
        first = k
        while k < len(ends) and lo + ends[k, EVENT] < j and not events.stop[0]:
            e, since = lo + ends[k, EVENT], ends[k, SINCE]
            sum, best = complex(0.0, 0.0), NONE
            if ends[k, BEGINS]:
                sum, best = complex(1.0, 0.0), sign
            find_sources(program, events, index.real, ends, lo, k, pair)
            if every:
                for s in range(program.states):
                    if pair[s] == -1 and lists.head[s] >= 0:
                        sum = add(sum, lists.total[s])
                        best = max(best, lists.best[s] + sign)
                    elif pair[s] >= 0:
                        old = lists.head[s]
                        while old >= 0:
                            if holds(predicates, events.f, events.g, pair[s], lo + ends[old, EVENT], e, stack):
                                sum = add(sum, count[old])
                                best = max(best, length[old] + sign)
                            old = link[old]
            else:
                for c in range(since, ends[k, UNTIL]):
                    old = np.int64(log[c, 0])
                    s = state_at(ends, log, old, since)
                    if s < 0 or pair[s] == -2:
                        continue
                    if pair[s] < 0 or holds(
                        predicates, events.f, events.g, pair[s], lo + ends[old, EVENT], e, stack
                    ):
                        sum = add(sum, count[old])
                        best = max(best, length[old] + sign)
            count[k], length[k] = sum, best
            k += 1
        if every and index.moves:
            _move(program, tick_symbol(program.labels, events.symbol, i, j), lists, link, other)
            lists, other = other, lists
        for new in range(first, k):
            s = ends[new, STATE]
            if every and not index.final[s]:
                if lists.head[s] < 0:
                    lists.tail[s] = new
                link[new] = lists.head[s]
                lists.head[s] = new
                lists.total[s] = add(lists.total[s], count[new])
                lists.best[s] = max(lists.best[s], length[new])
        i = j


@helper
def _shift(x: int) -> int:
    """Return the next of a sequence of random bits (xorshift, Marsaglia 2003)."""
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    return x


@helper
def _chance(x: int) -> float:
    """Return a number from 0 up to 1 for random bits."""
    return np.float64(x >> np.uint64(11)) * _UNIT


class _Draws(NamedTuple):
    """What walks are drawn with, and what is found of them, which the caller lets grow."""

    event: Array  # int64[ends]: what is looked at for every earlier end, close together
    state: Array
    last_of: Array  # int64[]: the ends of the class, and their counts added up
    sums: Array
    pair: Array  # int64[states]
    stack: Array
    found: Array
    offsets: Array  # int64[seeds + 1]
    at: Array  # int64[1]: how many are drawn


def draw(
    program: Program, predicates: Predicates, events: Events, real: Array, window: Pass, count: Array, kind: int,
    seeds: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Draw trends of a class, one for each seed: their ends from last to first, and where those of each begin.

    The chances of what an end extends are laid side by side, and a random place among them is looked for from the
    latest on. What rounding leaves over goes to the earliest.
    """
    event, state = window.ends[:, EVENT].astype(np.int64), window.ends[:, STATE].astype(np.int64)
    last_of = np.flatnonzero(window.ends[:, KIND] == kind)
    pair, stack = np.empty(program.states, np.int64), np.zeros(len(predicates.code) + 1)
    found, offsets = np.empty(2 * len(event) + 64, np.int64), np.zeros(len(seeds) + 1, np.int64)
    sums, at = np.empty(len(last_of), WIDE), np.zeros(1, np.int64)
    draws = _Draws(event, state, last_of, sums, pair, stack, found, offsets, at)
    while not _draw(program, predicates, events, real, window, count, seeds, draws):
        draws = draws._replace(found=double_rows(draws.found, offsets[at[0]]))
    return draws.found[: offsets[-1]], offsets


@kernel(allocates=False)
def _draw(
    program: Program, predicates: Predicates, events: Events, real: Array, window: Pass, count: Array,
    seeds: Array, draws: _Draws,
) -> bool:  # fmt: skip
    """Do what `draw` tells, and return whether it is done; if not, there was no room for one more."""
    ends, log, lo, _ = window
    event, state, last_of, sums, pair, stack, found, offsets, drawn = draws
    every, still, whole = program.mode == ANY, len(window.log) == 0, len(last_of)
    off, ops, code_off, f, g = predicates.off, predicates.op, predicates.code_off, events.f, events.g
    total = complex(0.0, 0.0)
    for k in range(whole):
        total = add(total, count[last_of[k]])
        sums[k] = total
    for d in range(drawn[0], len(seeds)):
        size = offsets[d]
        if events.stop[0] or not whole:
            break
        drawn[0] = d
        if size + len(ends) > len(found):
            return False
        x = _shift(seeds[d])
        target = _chance(x) * mantissa(total)
        a, b = 0, whole - 1
        while a < b:
            middle = (a + b) >> 1
            if target < scale_beside(sums[middle], total):
                b = middle
            else:
                a = middle + 1
        at = last_of[a]
        while at >= 0 and not events.stop[0]:
            found[size] = at
            size += 1
            e, since = lo + ends[at, EVENT], ends[at, SINCE]
            x = _shift(x)
            here = count[at]
            target, sum = _chance(x) * mantissa(here), 0.0
            if ends[at, BEGINS]:
                sum = scale_beside(complex(1.0, 0.0), here)
                if target < sum:
                    break
            find_sources(program, events, real, ends, lo, at, pair)
            first, last = (np.int32(0), ends[at, EARLIER]) if every else (since, ends[at, UNTIL])
            at = -1
            for c in range(last - 1, first - 1, -1):
                j = np.int64(c) if every else np.int64(log[c, 0])
                s = state[j] if still else np.int64(state_at(ends, log, j, since))
                if s < 0 or pair[s] == -2:
                    continue
                p = pair[s]
                if p >= 0:
                    comparison = off[p]
                    if off[p + 1] - comparison == 1 and code_off[p] == code_off[p + 1]:
                        if not compare(ops[comparison], f[comparison, lo + event[j]], g[comparison, e]):
                            continue
                    elif not holds(predicates, f, g, p, lo + event[j], e, stack):
                        continue
                sum += scale_beside(count[j], here)
                at = j
                if target < sum:
                    break
        offsets[d + 1] = size
    return True
