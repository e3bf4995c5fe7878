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
from sparkleene.kernels.ticks import symbol_of
from sparkleene.kernels.vectors import (
    Table,
    add_row,
    blank_rows,
    clear_row,
    collect,
    low_of,
    set_identity,
    start,
    summand,
)

_BIT = np.uint64(1)


class Steps(NamedTuple):
    """Transitions by symbol, those of symbol y are off[y]:off[y+1], and what its ticks move by themselves."""

    off: Array
    label: Array
    src: Array
    dst: Array
    moved_off: Array  # moves of symbol y are moved_off[y]:moved_off[y+1]
    moved: Array  # int64[moves, 2]: from where, where to; -1 for gone


def list_steps(program: Program, chosen: Array | None = None) -> Steps:
    """List the transitions that an event of each symbol takes, all or the chosen ones."""
    symbols = np.arange(len(program.labels) + 1)
    bit = np.arange(len(program.off) - 1, dtype=np.uint64)
    symbol, label = np.nonzero(program.labels[:, None] >> bit & _BIT)
    count = np.diff(program.off)[label]
    t = np.arange(count.sum()) + np.repeat(program.off[label] - (np.cumsum(count) - count), count)
    symbol, label = np.repeat(symbol, count), np.repeat(label, count)
    if chosen is not None:
        some = chosen[t]
        symbol, label, t = symbol[some], label[some], t[some]
    by, s = np.nonzero(program.keep != np.arange(program.states))
    moved = np.stack([s, program.keep[by, s]], axis=1)
    off, moved_off = np.searchsorted(symbol, symbols), np.searchsorted(by, symbols)
    return Steps(off, label, program.src[t], program.dst[t], moved_off, moved)


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
        x, adds = low_of(program, events, m, label, e), program.low_adds[m]
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


class _Work(NamedTuple):
    """What a kernel is given besides: the transitions by symbol, and rows to work in."""

    steps: Steps
    moving: bool  # whether some tick moves partial trends out of their state
    state: Table
    tick: Table


def _prepare(program: Program, width: int, lows: int, one: Array) -> _Work:
    """Return what rows of this many columns are run with."""
    steps = list_steps(program)
    state, tick = blank_rows(program.states, width, lows, one), blank_rows(program.states, width, lows, one)
    return _Work(steps, len(steps.moved) > 0, state, tick)


def run(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table) -> None:
    """Run every stretch lo[k]:hi[k] from the start and write its results to row k of `out`, by class."""
    columns = field.one.size
    work = _prepare(program, columns * (1 + program.sum_of.size), columns * program.low_adds.size, field.one)
    _run(program, work, events, field, lo, hi, out)


@kernel(allocates=False)
def _run(
    program: Program, work: _Work, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table
) -> None:
    """Do what `run` tells."""
    for k in range(lo.size):
        start(work.state, field.one, program.low_adds)
        advance(program, work.steps, events, field, lo[k], hi[k], work.state, work.tick, work.moving)
        collect(program, work.state, field.mod, out, k)


def resume(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, state: Table) -> None:
    """Run the rows lo[k]:hi[k] over the vectors state.value[k], state.low[k] in place."""
    work = _prepare(program, state.value.shape[2], state.low.shape[2], field.one)
    _resume(program, work, events, field, lo, hi, state)


@kernel(allocates=False)
def _resume(
    program: Program, work: _Work, events: Events, field: NumberSystem, lo: Array, hi: Array, state: Table
) -> None:
    """Do what `resume` tells."""
    for k in range(lo.size):
        one = Table(state.value[k], state.low[k])
        advance(program, work.steps, events, field, lo[k], hi[k], one, work.tick, work.moving)


def write_matrices(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table) -> None:
    """Write the matrix of every stretch lo[k]:hi[k]: column c is the image of one partial trend in state c."""
    work = _prepare(program, out.value.shape[2], out.low.shape[2], field.one)
    _write_matrices(program, work, events, field, lo, hi, out)


@kernel(allocates=False)
def _write_matrices(
    program: Program, work: _Work, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table
) -> None:
    """Do what `write_matrices` tells."""
    for k in range(lo.size):
        one = Table(out.value[k], out.low[k])
        set_identity(one, field.one, program.low_adds)
        advance(program, work.steps, events, field, lo[k], hi[k], one, work.tick, work.moving)
