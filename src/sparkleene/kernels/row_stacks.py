"""Windows of rows that overlap, without a matrix for each tick: two stacks whose units are the rows themselves.

Rows that are there to leave are kept as vectors: what a trend that begins at such a row or later has come to at a
border. Rows beyond the border are one matrix. A row goes into the matrix once and becomes a vector once, and either
touches no more than the states that its transitions join, however many windows hold it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.linear import Steps, list_steps
from sparkleene.kernels.numbers import add, mul, nonzero
from sparkleene.kernels.program import Array, Events, NumberSystem, Program
from sparkleene.kernels.vectors import (
    Table,
    add_row,
    blank_rows,
    clear_row,
    collect,
    copy_row,
    set_identity,
    unset_vectors,
)
from sparkleene.kernels.whole_steps import step_row, union_symbol


class Moves(NamedTuple):
    """What rows and ticks do to a machine, by symbol.

    Transitions of a symbol are in an order in which none leads to where a later one begins, if it is `plain`.
    """

    steps: Steps
    plain: Array  # bool[symbols]


def list_moves(program: Program) -> Moves:
    """List what each symbol does."""
    steps, symbols = list_steps(program), len(program.labels)
    symbol = np.repeat(np.arange(symbols), np.diff(steps.off))
    order = np.lexsort((-steps.dst, symbol))  # those that lead to later states first
    src, dst = steps.src[order], steps.dst[order]
    base = symbol * program.states + program.states - 1
    first = np.searchsorted(base - dst, base - src)  # of the transitions that lead to where this one begins
    after = np.flatnonzero(first < np.arange(src.size))
    plain = np.ones(symbols, np.bool_)
    plain[symbol[after[(base - dst)[first[after]] == (base - src)[after]]]] = False
    return Moves(steps._replace(label=steps.label[order], src=src, dst=dst), plain)


@helper
def _put(
    program: Program, moves: Moves, events: Events, field: NumberSystem, i: int, j: int, matrix: Table,
    fresh: Table, before: bool,
) -> None:  # fmt: skip
    """Put the tick of rows i:j after a matrix, or `before` a transposed one; `fresh` is scratch, left clear."""
    steps = moves.steps
    symbol = union_symbol(program, events, i, j)
    if j == i + 1 and steps.moved_off[symbol] == steps.moved_off[symbol + 1] and moves.plain[symbol]:
        _put_plain(program, steps, events, field, i, matrix, fresh, before)
        return
    for e in range(i, j):
        y = np.int64(events.symbol[e])
        for k in range(steps.off[y], steps.off[y + 1]):
            s, d = (steps.dst[k], steps.src[k]) if before else (steps.src[k], steps.dst[k])
            step_row(program, events, field, steps.label[k], e, matrix, s, fresh, d)
    begin, end = steps.moved_off[symbol], steps.moved_off[symbol + 1]
    for m in range(begin, end):
        s, d = steps.moved[m, 0], steps.moved[m, 1]
        if d >= 0:
            add_row(fresh, s if before else d, matrix, d if before else s, field.mod)
    for m in range(begin, end):
        clear_row(matrix, steps.moved[m, 0])
    for e in range(i, j):
        y = np.int64(events.symbol[e])
        for k in range(steps.off[y], steps.off[y + 1]):
            d = steps.src[k] if before else steps.dst[k]  # one that was there before has nothing left to add
            add_row(matrix, d, fresh, d, field.mod)
            clear_row(fresh, d)
    for m in range(begin, end):
        d = steps.moved[m, 0 if before else 1]
        if d >= 0:
            add_row(matrix, d, fresh, d, field.mod)
            clear_row(fresh, d)


@helper
def _put_plain(
    program: Program, steps: Steps, events: Events, field: NumberSystem, e: int, matrix: Table, fresh: Table,
    before: bool,
) -> None:  # fmt: skip
    """Put a row that moves nothing by itself, one transition after the other."""
    y = np.int64(events.symbol[e])
    begin, end = steps.off[y], steps.off[y + 1]
    for n in range(end - begin):
        k = end - 1 - n if before else begin + n
        s, d = (steps.dst[k], steps.src[k]) if before else (steps.src[k], steps.dst[k])
        if s != d:
            step_row(program, events, field, steps.label[k], e, matrix, s, matrix, d)
        else:
            step_row(program, events, field, steps.label[k], e, matrix, s, fresh, d)
            add_row(matrix, d, fresh, d, field.mod)
            clear_row(fresh, d)


@helper
def _turn(
    program: Program, moves: Moves, events: Events, field: NumberSystem, begin: int, end: int, later: Table,
    fresh: Table, front: Table,
) -> None:  # fmt: skip
    """Write for the first row of each tick what trends that begin there or later come to by the end."""
    set_identity(later, field.one, program.low_adds)
    j = end
    while j > begin and not events.stop[0]:
        i = j - 1
        while i > begin and events.tick[i - 1] == events.tick[i]:
            i -= 1
        _put(program, moves, events, field, i, j, later, fresh, True)
        copy_row(front, i - begin, later, 0)
        j = i


@helper
def _meet(program: Program, since: Table, front: Table, row: int, mod: Array, rows: Array, result: Table) -> None:
    """Write what has come to the states of results: a vector of the border through the matrix of the rows since."""
    states = program.states
    for r in range(rows.size):
        s = rows[r]
        clear_row(result, s)
        for a in range(result.value.shape[1]):
            of = program.sum_of[a - 1] if a > 0 else 0
            for c in range(states):
                path = since.value[s, c]
                value = mul(path, front.value[row, a * states + c], mod[0])
                if a > 0:
                    value = add(value, mul(since.value[s, a * states + c], front.value[row, c], mod[0]), mod[0])
                if of > 0:
                    both = mul(since.value[s, of * states + c], front.value[row, of * states + c], mod[0])
                    value = add(value, both, mod[0])
                result.value[s, a] = add(result.value[s, a], value, mod[0])
        for m in range(result.low.shape[1]):
            for c in range(states):
                if nonzero(since.value[s, c]) and nonzero(front.value[row, c]):
                    one, two = since.low[s, m * states + c], front.low[row, m * states + c]
                    result.low[s, m] = min(result.low[s, m], one + two if program.low_adds[m] else min(one, two))


def run(program: Program, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table) -> None:
    """Write the results of windows lo[k]:hi[k], neither end ever falling; `field` has a column for each state.

    Windows begin and end between ticks.
    """
    states, width, lows = program.states, 1 + program.sum_of.size, program.low_adds.size
    since, later, fresh = (blank_rows(states, width * states, lows * states, field.one) for _ in range(3))
    front = unset_vectors(1, int((hi - lo).max(initial=0)), width * states, lows * states, field.one)
    rooms = _Rooms(since, later, fresh, front, blank_rows(states, width, lows, field.one))
    _run(program, list_moves(program), np.unique(program.out_state), rooms, events, field, lo, hi, out)


class _Rooms(NamedTuple):
    """What the kernel works in."""

    since: Table  # the matrix of the rows since the border
    later: Table  # that of later and later rows before it
    fresh: Table
    fronts: Table  # one table of what a window begins with, by its first row before the border
    result: Table


@kernel(allocates=False)
def _run(
    program: Program, moves: Moves, rows: Array, rooms: _Rooms, events: Events, field: NumberSystem, lo: Array,
    hi: Array, out: Table,
) -> None:  # fmt: skip
    """Do what `run` tells; `rows` are the states of results, each once."""
    since, later, fresh, fronts, result = rooms
    front = Table(fronts.value[0], fronts.low[0])
    mod = field.mod[:1]
    base = border = top = np.int64(-1)
    for k in range(lo.size):
        if events.stop[0]:
            return
        if lo[k] >= border:
            base, border, top = lo[k], hi[k], hi[k]
            _turn(program, moves, events, field, base, border, later, fresh, front)
            set_identity(since, field.one, program.low_adds)
        while top < hi[k] and not events.stop[0]:
            i = top
            top += 1
            while top < hi[k] and events.tick[top] == events.tick[i]:
                top += 1
            _put(program, moves, events, field, i, top, since, fresh, False)
        _meet(program, since, front, lo[k] - base, mod, rows, result)
        collect(program, result, mod, out, k)
