"""The inner part of a machine: states that are neither start nor end, and rows over which nothing goes on.

Between its first and its last event a trend is in one of these states. They have numbers of their own here, so that
vectors and matrices are as small as can be; states that no trend ends from are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.linear import Steps, union_symbol
from sparkleene.kernels.numbers import add, nonzero, null, times
from sparkleene.kernels.program import Array, Events, Program
from sparkleene.kernels.vectors import Table, summand
from sparkleene.kernels.whole_steps import Parts, part_machine


class Core(NamedTuple):
    """The inner states of a machine, and the steps between, into and out of them."""

    states: int
    inner: Steps  # from one to another
    enter: Steps  # from a start, which has the machine's number
    leave: Steps  # to an end, which has the machine's number
    alone: Steps  # from a start to an end, both with the machine's numbers
    keep: Array  # int64[symbols, states]: where a tick moves an inner state, -1 if it is gone
    moving: bool  # whether ticks move or drop any


def _number(program: Program, parts: Parts) -> Array:
    """Return the number of every inner state from which a trend can end, -1 for the other states."""
    inside = ~parts.starts
    inside[program.out_state] = False
    useful = np.zeros(program.states, np.bool_)
    useful[parts.close.src] = True
    useful &= inside
    before = -1
    while before < (before := np.count_nonzero(useful)):
        useful[parts.body.src[useful[parts.body.dst]]] = True
        useful &= inside
        useful |= inside & ((program.keep >= 0) & useful[program.keep]).any(axis=0)
    return np.where(useful, np.cumsum(useful) - 1, -1)


def _choose_steps(steps: Steps, starts: Array, number: Array, first: bool, last: bool) -> Steps:
    """Choose the steps that leave a start, or those that leave an inner state, to an end or to an inner state.

    What ticks move by themselves is not among them.
    """
    some = starts[steps.src] if first else number[steps.src] >= 0
    if not last:
        some = some & (number[steps.dst] >= 0)
    off = np.concatenate([[0], np.cumsum(some)])[steps.off]
    src, dst = steps.src[some], steps.dst[some]
    none = (np.zeros(len(off), np.int64), np.empty((0, 2), np.int64))
    return Steps(off, steps.label[some], src if first else number[src], dst if last else number[dst], *none)


def find_core(program: Program, parts: Parts) -> Core:
    """Return the inner part of a machine."""
    number = _number(program, parts)
    inner = np.flatnonzero(number >= 0)
    to = program.keep[:, inner]
    return Core(
        inner.size,
        _choose_steps(parts.body, parts.starts, number, False, False),
        _choose_steps(parts.body, parts.starts, number, True, False),
        _choose_steps(parts.close, parts.starts, number, False, True),
        _choose_steps(parts.close, parts.starts, number, True, True),
        np.ascontiguousarray(np.where(to >= 0, number[to], -1)),
        bool((to != inner).any()),
    )


@helper
def find_cuts(program: Program, core: Core, events: Events, i: int, j: int) -> tuple[bool, bool]:
    """Tell whether no trend reaches the tick of rows i:j, and whether none goes on after it."""
    if not core.moving:
        return core.states == 0, core.states == 0
    symbol = union_symbol(program, events, i, j)
    for s in range(core.states):
        if core.keep[symbol, s] >= 0:
            return False, False
    inner = enter = leave = False
    for e in range(i, j):
        y = np.int64(events.symbol[e])
        inner |= core.inner.off[y] < core.inner.off[y + 1]
        enter |= core.enter.off[y] < core.enter.off[y + 1]
        leave |= core.leave.off[y] < core.leave.off[y + 1]
    return not (inner or leave), not (inner or enter)


def find_stretches(program: Program, events: Events, lo: Array, hi: Array) -> Array:
    """Return for each window how many rows at most a trend can lie over."""
    longest = np.zeros(len(lo), np.int64)
    _find_stretches(program, find_core(program, part_machine(program)), events, lo, hi, longest)
    return longest


@kernel(allocates=False)
def _find_stretches(program: Program, core: Core, events: Events, lo: Array, hi: Array, longest: Array) -> None:
    """Do what `find_stretches` tells."""
    for n in range(len(lo)):
        i = first = lo[n]
        while i < hi[n]:
            j = i + 1
            while j < hi[n] and events.tick[j] == events.tick[i]:
                j += 1
            before, after = find_cuts(program, core, events, i, j)
            if before:
                first = i
            longest[n] = max(longest[n], j - first)
            if after:
                first = j
            i = j


class Size(NamedTuple):
    """Columns of a table: how many each aggregate has, and how many of those are in use."""

    columns: int
    used: int


@helper
def step(
    program: Program, events: Events, mod: int, label: int, e: int, source: Table, s: int, to: Table, d: int,
    size: Size,
) -> None:  # fmt: skip
    """Add to row d what event e makes of the partial trends of row s by a label."""
    columns, used = size
    value, made = source.value[s], to.value[d]
    for a in range(1 + program.sum_of.size):
        for w in range(a * columns, a * columns + used):
            made[w] = add(made[w], value[w], mod)
    for i in range(program.sum_of.size):
        r = program.sum_row[i, label]
        if r != -1:
            x = summand(events.sums, r, e)
            if not null(x):
                of, at = program.sum_of[i] * columns, (1 + i) * columns
                for c in range(used):
                    made[at + c] = add(made[at + c], times(value[of + c], x, mod), mod)
    for m in range(program.low_adds.size):
        r, adds = program.low_row[m, label], program.low_adds[m]
        x = 0.0 if adds else np.inf
        if r >= 0:
            low = events.lows[r, e]
            if not null(low):
                x = low
        for c in range(used):
            if nonzero(value[c]):
                w = m * columns + c
                least = source.low[s, w] + x if adds else min(x, source.low[s, w])
                to.low[d, w] = min(to.low[d, w], least)


@helper
def clear(table: Table, s: int, size: Size) -> None:
    """Empty the columns of row s that are in use."""
    columns, used = size
    for begin in range(0, table.value.shape[1], columns):
        for w in range(begin, begin + used):
            table.value[s, w] = 0
    for begin in range(0, table.low.shape[1], columns):
        for w in range(begin, begin + used):
            table.low[s, w] = np.inf


@helper
def add_columns(into: Table, d: int, table: Table, s: int, mod: int, size: Size) -> None:
    """Add the columns of row s that are in use to row d of another table."""
    columns, used = size
    for begin in range(0, table.value.shape[1], columns):
        for w in range(begin, begin + used):
            into.value[d, w] = add(into.value[d, w], table.value[s, w], mod)
    for begin in range(0, table.low.shape[1], columns):
        for w in range(begin, begin + used):
            into.low[d, w] = min(into.low[d, w], table.low[s, w])


@helper
def pass_tick(
    program: Program, core: Core, events: Events, mod: int, i: int, j: int, state: Table, fresh: Table, size: Size,
    back: bool,
) -> None:  # fmt: skip
    """Bring partial trends through the tick of rows i:j, or put it before a transposed matrix."""
    steps = core.inner
    y = np.int64(events.symbol[i])
    first = steps.off[y]
    count = steps.off[y + 1] - first if j == i + 1 else np.int64(2)
    if not core.moving and count == 0:
        return
    if not core.moving and count == 1 and steps.src[first] != steps.dst[first]:
        s, d = steps.src[first], steps.dst[first]
        step(program, events, mod, steps.label[first], i, state, d if back else s, state, s if back else d, size)
        return
    for s in range(core.states):
        clear(fresh, s, size)
    for e in range(i, j):
        y = np.int64(events.symbol[e])
        for k in range(steps.off[y], steps.off[y + 1]):
            s, d = steps.src[k], steps.dst[k]
            step(program, events, mod, steps.label[k], e, state, d if back else s, fresh, s if back else d, size)
    symbol = union_symbol(program, events, i, j) if core.moving else np.int64(0)
    for s in range(core.states):
        k = core.keep[symbol, s] if core.moving else s
        if k >= 0:
            add_columns(fresh, s if back else k, state, k if back else s, mod, size)
    for s in range(core.states):
        clear(state, s, size)
        add_columns(state, s, fresh, s, mod, size)
