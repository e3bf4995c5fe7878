"""Machines whose trends are chosen by their first and last events: steps forward, steps back, and ends.

A trend leaves a start state with its first event and enters a final state with its last. Forward, a matrix says
what rows make of partial trends. Back, row s of a transposed matrix says what becomes of a partial trend in state s
by the rows from here on: the row of the start state is what all trends that begin here or later come to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper
from sparkleene.kernels.linear import Steps, list_steps, settle, step_row, union_symbol
from sparkleene.kernels.numbers import nonzero
from sparkleene.kernels.program import CONTIGUOUS, Array, Events, NumberSystem, Predicates, Program
from sparkleene.kernels.vectors import Table, add_row, clear_row, copy_row


class Chosen(NamedTuple):
    """Which rows may begin and end a trend, and what must hold between the two, as between neighbours."""

    starts: Array  # bool[n]
    stops: Array  # bool[n]
    f: Array  # float64[comparisons, n]
    g: Array
    predicates: Predicates  # with what is asked of both as its one pair
    lengths: Array  # bool[]: of maximal trends, which numbers of rows count; the last is for all larger ones


class Parts(NamedTuple):
    """A machine in parts: steps that go on, steps that end a trend, and which states are starts."""

    body: Steps
    close: Steps
    starts: Array  # bool[states]
    moving: bool  # whether ticks move or drop partial trends
    leading: bool  # whether ticks move the start
    trailing: bool  # whether ticks move or drop finished trends


def part_machine(program: Program) -> Parts:
    """Return a machine in parts."""
    final, starts = np.zeros(program.states, np.bool_), np.zeros(program.states, np.bool_)
    final[program.out_state], starts[0] = True, True
    before = 0
    while before < (before := np.count_nonzero(starts)):  # a tick may move the start
        to = program.keep[:, starts]
        starts[to[to >= 0]] = True
    moved = program.keep != np.arange(program.states)
    moving, leading, trailing = (bool(moved[:, some].any()) for some in (~final, starts, final))
    closing = final[program.dst]
    return Parts(
        list_steps(program, ~closing), list_steps(program, closing), starts, moving, leading, trailing
    )  # fmt: skip


@helper
def go_on(
    program: Program, parts: Parts, events: Events, field: NumberSystem, starts: Array, i: int, j: int,
    state: Table, fresh: Table,
) -> None:  # fmt: skip
    """Bring partial trends through the tick of rows i:j; `fresh` is scratch, left clear."""
    steps = parts.body
    for e in range(i, j):
        y = np.int64(events.symbol[e])
        for k in range(steps.off[y], steps.off[y + 1]):
            if starts[e] or not parts.starts[steps.src[k]]:
                step_row(program, events, field, steps.label[k], e, state, steps.src[k], fresh, steps.dst[k])
    settle(program, steps, events, field.mod, i, j, state, fresh, parts.moving)


@helper
def go_back(
    program: Program, parts: Parts, events: Events, field: NumberSystem, starts: Array, i: int, j: int,
    later: Table, fresh: Table, old: Table,
) -> None:  # fmt: skip
    """Put the tick of rows i:j before a transposed matrix; `fresh` is left with what begins in the tick."""
    steps = parts.body
    states = program.states
    for s in range(states):
        clear_row(fresh, s)
    for e in range(i, j):
        y = np.int64(events.symbol[e])
        for k in range(steps.off[y], steps.off[y + 1]):
            if starts[e] or not parts.starts[steps.src[k]]:
                step_row(program, events, field, steps.label[k], e, later, steps.dst[k], fresh, steps.src[k])
    symbol = union_symbol(program, events, i, j) if parts.moving else np.int64(0)
    if parts.moving:
        _pull_back(program, symbol, later, old)
    for s in range(states):
        add_row(later, s, fresh, s, field.mod)


@helper
def _pull_back(program: Program, symbol: int, later: Table, old: Table) -> None:
    """Let every state be what the one is to which a tick moves it, nothing if it is gone; `old` is scratch."""
    for s in range(program.states):
        copy_row(old, s, later, s)
    for s in range(program.states):
        k = program.keep[symbol, s]
        if k >= 0:
            copy_row(later, s, old, k)
        else:
            clear_row(later, s)


@helper
def unit_row(table: Table, s: int, one: Array, low_adds: Array) -> None:
    """Put one empty trend into a state, and nothing into the others; s < 0 leaves all of them empty."""
    for k in range(len(table.value)):
        clear_row(table, k)
    if s >= 0:
        table.value[s, 0] = one[0]
        for m in range(len(low_adds)):
            if low_adds[m]:
                table.low[s, m] = 0.0


@helper
def is_over(program: Program, parts: Parts, field: NumberSystem, state: Table) -> bool:
    """Tell whether no trend goes on: only contiguous ones come to an end so; of residues nobody can tell."""
    if program.mode != CONTIGUOUS or field.mod[0] != 0:
        return False
    for s in range(program.states):
        if not parts.starts[s]:
            for c in range(field.mod.size):
                if nonzero(state.value[s, c]):
                    return False
    return True


@helper
def read_column(row: Table, s: int, states: int, vector: Table) -> None:
    """Write row s of a transposed matrix as a vector: for each state what has come there."""
    for k in range(states):
        for a in range(vector.value.shape[1]):
            vector.value[k, a] = row.value[s, a * states + k]
        for m in range(vector.low.shape[1]):
            vector.low[k, m] = row.low[s, m * states + k]


@helper
def can_close(parts: Parts, events: Events, stops: Array, i: int, j: int) -> bool:
    """Tell whether a trend may end in the rows i:j."""
    for e in range(i, j):
        y = np.int64(events.symbol[e])
        if stops[e] and parts.close.off[y] < parts.close.off[y + 1]:
            return True
    return False


@helper
def close_row(
    program: Program, parts: Parts, events: Events, field: NumberSystem, chosen: Chosen, e: int, before: Table,
    images: Array, fresh: Table, done: Table,
) -> None:  # fmt: skip
    """Add to `done` the trends that event e ends; images[s] is where those of final state s are in the end."""
    steps = parts.close
    y = np.int64(events.symbol[e])
    for k in range(steps.off[y], steps.off[y + 1]):
        s, d = steps.src[k], steps.dst[k]
        if images[d] >= 0 and (chosen.starts[e] or not parts.starts[s]):
            step_row(program, events, field, steps.label[k], e, before, s, fresh, d)
            add_row(done, images[d], fresh, d, field.mod)
            clear_row(fresh, d)


class Borders(NamedTuple):
    """For each tick of a window the start state before it, and where those that end in it are at the window's end.

    Both stand at the tick's first row, counted from the window's. If ticks move neither, the first row is for all.
    """

    start: Array  # int64[rows]
    image: Array  # int64[rows + 2, states]


def make_borders(parts: Parts, states: int, rows: int) -> Borders:
    """Return room for the borders of windows of up to so many rows."""
    image = np.zeros((rows + 2 if parts.trailing else 1, states), np.int64)
    image[0] = np.arange(states)
    return Borders(np.zeros(rows if parts.leading else 1, np.int64), image)


@helper
def find_borders(program: Program, parts: Parts, events: Events, begin: int, end: int, borders: Borders) -> None:
    """Write the borders of a window."""
    start, image = borders
    i, at = begin, np.int64(0)
    while parts.leading and i < end:
        j = i + 1
        while j < end and events.tick[j] == events.tick[i]:
            j += 1
        for e in range(i, j):
            start[e - begin] = at
        if at >= 0:
            at = program.keep[union_symbol(program, events, i, j), at]
        i = j
    if not parts.trailing:
        return
    rows = end - begin
    for s in range(program.states):
        image[rows, s] = s  # where a finished trend that is in s before the next tick is in the end
    j = end
    while j > begin:
        i = j - 1
        while i > begin and events.tick[i - 1] == events.tick[i]:
            i -= 1
        symbol = union_symbol(program, events, i, j)
        for s in range(program.states):
            image[i - begin, s] = image[rows, s]
            k = program.keep[symbol, s]
            image[rows + 1, s] = image[rows, k] if k >= 0 else -1
        for s in range(program.states):
            image[rows, s] = image[rows + 1, s]
        j = i
