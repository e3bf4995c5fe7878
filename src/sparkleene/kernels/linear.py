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
from sparkleene.kernels.vectors import Table, collect, set_identity, start


@helper
def _can_move(program: Program) -> bool:
    """Tell whether some tick moves partial trends out of their state."""
    for y in range(program.keep.shape[0]):
        for s in range(program.states):
            if program.keep[y, s] != s:
                return True
    return False


class Steps(NamedTuple):
    """Transitions by symbol: those of symbol y are off[y]:off[y+1]."""

    off: Array
    label: Array
    src: Array
    dst: Array


@helper(allocates=True)
def list_steps(program: Program) -> Steps:
    """List the transitions that an event of each symbol takes."""
    symbols, labels = len(program.labels), len(program.off) - 1
    off = np.zeros(symbols + 1, np.int64)
    for y in range(symbols):
        off[y + 1] = off[y]
        for label in range(labels):
            if has(program.labels[y], label):
                off[y + 1] += program.off[label + 1] - program.off[label]
    by = np.empty(off[symbols], np.int64)
    src, dst = np.empty(off[symbols], np.int64), np.empty(off[symbols], np.int64)
    for y in range(symbols):
        k = off[y]
        for label in range(labels):
            if has(program.labels[y], label):
                for t in range(program.off[label], program.off[label + 1]):
                    by[k], src[k], dst[k] = label, program.src[t], program.dst[t]
                    k += 1
    return Steps(off, by, src, dst)


@helper
def _extend(
    program: Program, steps: Steps, events: Events, field: NumberSystem, e: int, state: Table, tick: Table
) -> None:
    """Add to `tick` what event e makes of the partial trends in `state`."""
    columns = field.one.size
    y = np.int64(events.symbol[e])
    for k in range(steps.off[y], steps.off[y + 1]):
        label, s, d = steps.label[k], steps.src[k], steps.dst[k]
        for w in range(state.value.shape[1]):
            tick.value[d, w] = add(tick.value[d, w], state.value[s, w], field.mod[w % columns])
        for i in range(program.sum_of.size):
            r = program.sum_row[i, label]
            if r >= 0:
                x = events.sums[r, e]
                if not null(x):
                    of = program.sum_of[i] * columns
                    for c in range(columns):
                        w = (1 + i) * columns + c
                        more = times(state.value[s, of + c], x, field.mod[c])
                        tick.value[d, w] = add(tick.value[d, w], more, field.mod[c])
        for m in range(program.low_adds.size):
            r, adds = program.low_row[m, label], program.low_adds[m]
            x = 0.0 if adds else np.inf
            if r >= 0:
                value = events.lows[r, e]
                if not null(value):
                    x = value
            for c in range(columns):
                if nonzero(state.value[s, c]):
                    w = m * columns + c
                    least = state.low[s, w] + x if adds else min(x, state.low[s, w])
                    tick.low[d, w] = min(tick.low[d, w], least)


@helper
def _settle(steps: Steps, field: NumberSystem, y: int, state: Table, tick: Table) -> None:
    """Add to the states what an event of symbol y has made, and clear it."""
    columns = field.one.size
    for k in range(steps.off[y], steps.off[y + 1]):
        d = steps.dst[k]  # one that was there before has nothing left to add
        for w in range(state.value.shape[1]):
            state.value[d, w] = add(state.value[d, w], tick.value[d, w], field.mod[w % columns])
            tick.value[d, w] = 0
        for w in range(state.low.shape[1]):
            state.low[d, w] = min(state.low[d, w], tick.low[d, w])
            tick.low[d, w] = np.inf


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
        j = i + 1
        time = events.tick[i]
        _extend(program, steps, events, field, i, state, tick)
        while j < end and events.tick[j] == time:
            _extend(program, steps, events, field, j, state, tick)
            j += 1
        if moving:
            symbol = np.int64(events.symbol[i])
            if j > i + 1:
                union = program.labels[symbol]
                for e in range(i + 1, j):
                    union |= program.labels[events.symbol[e]]
                symbol = symbol_of(program.labels, union)
            value, low = state
            new, new_low = tick
            # Additions into `tick` first, so that `state` can be overwritten.
            for s in range(program.states):
                k = program.keep[symbol, s]
                if k >= 0:
                    for w in range(value.shape[1]):
                        new[k, w] = add(new[k, w], value[s, w], field.mod[w % field.mod.size])
                    for w in range(low.shape[1]):
                        new_low[k, w] = min(new_low[k, w], low[s, w])
            for s in range(program.states):
                for w in range(value.shape[1]):
                    value[s, w] = new[s, w]
                    new[s, w] = 0
                for w in range(low.shape[1]):
                    low[s, w] = new_low[s, w]
                    new_low[s, w] = np.inf
        else:
            for e in range(i, j):
                _settle(steps, field, np.int64(events.symbol[e]), state, tick)
        i = j


@kernel
def run(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table) -> None:
    """Run every stretch lo[k]:hi[k] from the start and write its results to row k of `out`, by class."""
    columns = field.one.size
    width, lows = columns * (1 + program.sum_of.size), columns * program.low_adds.size
    state = Table(np.zeros((program.states, width), field.one.dtype), np.full((program.states, lows), np.inf))
    tick = Table(np.zeros((program.states, width), field.one.dtype), np.full((program.states, lows), np.inf))
    moving, steps = _can_move(program), list_steps(program)
    for k in range(lo.size):
        start(state, field.one, program.low_adds)
        advance(program, steps, events, field, lo[k], hi[k], state, tick, moving)
        collect(program, state, field.mod, out, k)


@kernel
def resume(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, state: Table) -> None:
    """Run the rows lo[k]:hi[k] over the vectors state.value[k], state.low[k] in place."""
    tick = Table(np.zeros(state.value.shape[1:], state.value.dtype), np.full(state.low.shape[1:], np.inf))
    moving, steps = _can_move(program), list_steps(program)
    for k in range(lo.size):
        one = Table(state.value[k], state.low[k])
        advance(program, steps, events, field, lo[k], hi[k], one, tick, moving)


@kernel
def write_matrices(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table) -> None:
    """Write the matrix of every stretch lo[k]:hi[k]: column c is the image of one partial trend in state c."""
    tick = Table(np.zeros(out.value.shape[1:], out.value.dtype), np.full(out.low.shape[1:], np.inf))
    moving, steps = _can_move(program), list_steps(program)
    for k in range(lo.size):
        one = Table(out.value[k], out.low[k])
        set_identity(one, field.one, program.low_adds)
        advance(program, steps, events, field, lo[k], hi[k], one, tick, moving)
