"""Machines without adjacent predicates: a tick is a linear map, whatever the semantics, negation or aggregates.

Values are laid out as `value[s, a*C + c]`: aggregate a (0 the count, then sums) of the partial trends in state s,
column c. Columns are independent runs side by side: moduli of exact arithmetic, or the basis vectors whose images
make up the matrix of a stretch. `low[s, m*C + c]` are minima.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add, nonzero, null, times
from sparkleene.kernels.program import Array, Events, NumberSystem, Program
from sparkleene.kernels.ticks import has, symbol_of
from sparkleene.kernels.vectors import Table, add_row, blank_rows, clear_row, collect, set_identity, start, summand


@helper
def _can_move(program: Program) -> bool:
    """Tell whether some tick moves partial trends out of their state."""
    for y in range(program.keep.shape[0]):
        for s in range(program.states):
            if program.keep[y, s] != s:
                return True
    return False


class Steps(NamedTuple):
    """Transitions by symbol, those of symbol y are off[y]:off[y+1], and what its ticks move by themselves."""

    off: Array
    label: Array
    src: Array
    dst: Array
    moved_off: Array  # moves of symbol y are moved_off[y]:moved_off[y+1]
    moved: Array  # int64[moves, 2]: from where, where to; -1 for gone


@helper(allocates=True)
def list_chosen_steps(program: Program, chosen: Array) -> Steps:
    """List the chosen transitions that an event of each symbol takes."""
    symbols, labels = len(program.labels), len(program.off) - 1
    off = np.zeros(symbols + 1, np.int64)
    for y in range(symbols):
        off[y + 1] = off[y]
        for label in range(labels):
            if has(program.labels[y], label):
                for t in range(program.off[label], program.off[label + 1]):
                    off[y + 1] += chosen[t]
    by = np.empty(off[symbols], np.int64)
    src, dst = np.empty(off[symbols], np.int64), np.empty(off[symbols], np.int64)
    for y in range(symbols):
        k = off[y]
        for label in range(labels):
            if has(program.labels[y], label):
                for t in range(program.off[label], program.off[label + 1]):
                    if chosen[t]:
                        by[k], src[k], dst[k] = label, program.src[t], program.dst[t]
                        k += 1
    moved_off = np.zeros(symbols + 1, np.int64)
    for y in range(symbols):
        moved_off[y + 1] = moved_off[y]
        for s in range(program.states):
            moved_off[y + 1] += program.keep[y, s] != s
    moved = np.empty((moved_off[symbols], 2), np.int64)
    for y in range(symbols):
        m = moved_off[y]
        for s in range(program.states):
            if program.keep[y, s] != s:
                moved[m, 0], moved[m, 1] = s, program.keep[y, s]
                m += 1
    return Steps(off, by, src, dst, moved_off, moved)


@helper(allocates=True)
def list_steps(program: Program) -> Steps:
    """List the transitions that an event of each symbol takes."""
    return list_chosen_steps(program, np.ones(len(program.dst), np.bool_))  # type: ignore[no-any-return]


@helper
def step_row(
    program: Program,
    events: Events,
    field: NumberSystem,
    label: int,
    e: int,
    source: Table,
    s: int,
    to: Table,
    d: int,
) -> None:
    """Add to row d what event e makes of the partial trends of row s by a label."""
    columns = field.one.size
    for w in range(source.value.shape[1]):
        to.value[d, w] = add(to.value[d, w], source.value[s, w], field.mod[w % columns])
    for i in range(program.sum_of.size):
        r = program.sum_row[i, label]
        if r != -1:
            x = summand(events.sums, r, e)
            if not null(x):
                of = program.sum_of[i] * columns
                for c in range(columns):
                    w = (1 + i) * columns + c
                    more = times(source.value[s, of + c], x, field.mod[c])
                    to.value[d, w] = add(to.value[d, w], more, field.mod[c])
    for m in range(program.low_adds.size):
        r, adds = program.low_row[m, label], program.low_adds[m]
        x = 0.0 if adds else np.inf
        if r >= 0:
            value = events.lows[r, e]
            if not null(value):
                x = value
        for c in range(columns):
            if nonzero(source.value[s, c]):
                w = m * columns + c
                least = source.low[s, w] + x if adds else min(x, source.low[s, w])
                to.low[d, w] = min(to.low[d, w], least)


@helper
def union_symbol(program: Program, events: Events, i: int, j: int) -> int:
    """Return the symbol of the labels of a tick."""
    symbol = np.int64(events.symbol[i])
    if j == i + 1:
        return symbol  # type: ignore[return-value]
    union = program.labels[symbol]
    for e in range(i + 1, j):
        union |= program.labels[events.symbol[e]]
    return symbol_of(program.labels, union)  # type: ignore[no-any-return]


@helper
def settle(
    program: Program, steps: Steps, events: Events, mod: Array, i: int, j: int, state: Table, fresh: Table,
    moving: bool,
) -> None:  # fmt: skip
    """Let the tick of rows i:j move what was there, and add what its events have made; `fresh` is left clear."""
    if moving:
        symbol = union_symbol(program, events, i, j)
        begin, end = steps.moved_off[symbol], steps.moved_off[symbol + 1]
        for m in range(begin, end):  # into `fresh` first, for one may move to where another moves away
            if steps.moved[m, 1] >= 0:
                add_row(fresh, steps.moved[m, 1], state, steps.moved[m, 0], mod)
        for m in range(begin, end):
            clear_row(state, steps.moved[m, 0])
        for m in range(begin, end):
            if steps.moved[m, 1] >= 0:
                add_row(state, steps.moved[m, 1], fresh, steps.moved[m, 1], mod)
                clear_row(fresh, steps.moved[m, 1])
    for e in range(i, j):
        y = np.int64(events.symbol[e])
        for k in range(steps.off[y], steps.off[y + 1]):
            add_row(state, steps.dst[k], fresh, steps.dst[k], mod)
            clear_row(fresh, steps.dst[k])  # a second step to the same state has nothing left to add


@helper
def advance(
    program: Program,
    steps: Steps,
    events: Events,
    field: NumberSystem,
    begin: int,
    end: int,
    state: Table,
    tick: Table,
    moving: bool,
) -> None:
    """Run the rows begin:end over `state` in place; `tick` is scratch, left clear."""
    i, stop = begin, events.stop
    while i < end and not stop[0]:
        j = i
        while j < end and events.tick[j] == events.tick[i]:
            y = np.int64(events.symbol[j])
            for k in range(steps.off[y], steps.off[y + 1]):
                step_row(program, events, field, steps.label[k], j, state, steps.src[k], tick, steps.dst[k])
            j += 1
        settle(program, steps, events, field.mod, i, j, state, tick, moving)
        i = j


@kernel
def run(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table) -> None:
    """Run every stretch lo[k]:hi[k] from the start and write its results to row k of `out`, by class."""
    columns = field.one.size
    width, lows = columns * (1 + program.sum_of.size), columns * program.low_adds.size
    state = blank_rows(program.states, width, lows, field.one)
    tick = blank_rows(program.states, width, lows, field.one)
    moving, steps = _can_move(program), list_steps(program)
    for k in range(lo.size):
        start(state, field.one, program.low_adds)
        advance(program, steps, events, field, lo[k], hi[k], state, tick, moving)
        collect(program, state, field.mod, out, k)


@kernel
def resume(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, state: Table) -> None:
    """Run the rows lo[k]:hi[k] over the vectors state.value[k], state.low[k] in place."""
    tick = blank_rows(program.states, state.value.shape[2], state.low.shape[2], field.one)
    moving, steps = _can_move(program), list_steps(program)
    for k in range(lo.size):
        one = Table(state.value[k], state.low[k])
        advance(program, steps, events, field, lo[k], hi[k], one, tick, moving)


@kernel
def write_matrices(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table) -> None:
    """Write the matrix of every stretch lo[k]:hi[k]: column c is the image of one partial trend in state c."""
    tick = blank_rows(program.states, out.value.shape[2], out.low.shape[2], field.one)
    moving, steps = _can_move(program), list_steps(program)
    for k in range(lo.size):
        one = Table(out.value[k], out.low[k])
        set_identity(one, field.one, program.low_adds)
        advance(program, steps, events, field, lo[k], hi[k], one, tick, moving)
