"""Tables of vectors and their minima, and the small steps that every kernel takes on their rows.

A vector is what is known of some partial trends: `value[row]` is their count and then their sums, all of them once
for each column of the number system, and `low[row]` their minima.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper
from sparkleene.kernels.numbers import add, nonzero, null, times
from sparkleene.kernels.program import Array, Events, Program


class Table(NamedTuple):
    """Vectors and their minima, row by row. Results and matrices have one more dimension in front."""

    value: Array  # float64, wide or uint64[rows, width]
    low: Array  # float64[rows, lows], Infinity is no value


class Fresh(NamedTuple):
    """What the events of a tick bring: one row for each, and one more in which the next is added up."""

    table: Table
    state: Array  # int64[rows]: where it goes
    event: Array  # int64[rows]


class Carry(NamedTuple):
    """What trends carry along from their events."""

    sum_row: Array
    sum_of: Array
    sums: Array
    low_row: Array
    low_adds: Array
    lows: Array
    mod: Array


def empty_table(rows: int, program: Program, one: Array) -> Table:
    """Return a table of vectors that hold nothing."""
    width, lows = (1 + len(program.sum_of)) * len(one), len(program.low_adds)
    return Table(np.zeros((rows, width), one.dtype), np.full((rows, lows), np.inf))


def empty_fresh(rows: int, program: Program, one: Array) -> Fresh:
    """Return room for what the transitions of a tick bring, up to a number of them."""
    return Fresh(empty_table(rows + 1, program, one), np.empty(rows, np.int64), np.empty(rows, np.int64))


@helper
def add_row(into: Table, i: int, table: Table, j: int, mod: Array) -> None:
    """Add row j of one table to row i of another."""
    columns = len(mod)
    for w in range(table.value.shape[1]):
        into.value[i, w] = add(into.value[i, w], table.value[j, w], mod[w % columns])
    for m in range(table.low.shape[1]):
        into.low[i, m] = min(into.low[i, m], table.low[j, m])


@helper
def copy_row(into: Table, i: int, table: Table, j: int) -> None:
    """Copy row j of one table to row i of another."""
    for w in range(table.value.shape[1]):
        into.value[i, w] = table.value[j, w]
    for m in range(table.low.shape[1]):
        into.low[i, m] = table.low[j, m]


@helper
def clear_row(table: Table, i: int) -> None:
    """Empty row i of a table."""
    for w in range(table.value.shape[1]):
        table.value[i, w] = 0
    for m in range(table.low.shape[1]):
        table.low[i, m] = np.inf


def blank_rows(rows: int, width: int, lows: int, one: Array) -> Table:
    """Return rows that hold nothing."""
    return Table(np.zeros((rows, width), one.dtype), np.full((rows, lows), np.inf))


def unset_vectors(count: int, rows: int, width: int, lows: int, one: Array) -> Table:
    """Return room for as many tables of rows; what is not written takes no memory."""
    return Table(np.empty((count, rows, width), one.dtype), np.empty((count, rows, lows)))


@helper(allocates=True)
def make_rows(rows: int, width: int, lows: int, one: Array) -> Table:
    """Return rows that hold nothing, in a kernel: numba takes long to compile `zeros` and `full`."""
    table = Table(np.empty((rows, width), one.dtype), np.empty((rows, lows)))
    for i in range(rows):
        clear_row(table, i)
    return table


@helper(allocates=True)
def make_vectors(count: int, rows: int, width: int, lows: int, one: Array) -> Table:
    """Return as many tables of rows that hold nothing, in a kernel."""
    table = Table(np.empty((count, rows, width), one.dtype), np.empty((count, rows, lows)))
    for k in range(count):
        for i in range(rows):
            clear_row(Table(table.value[k], table.low[k]), i)
    return table


@helper
def is_blank(table: Table, i: int) -> bool:
    """Tell whether row i holds nothing."""
    for w in range(table.value.shape[1]):
        if nonzero(table.value[i, w]):
            return False
    return True


@helper
def start(table: Table, one: Array, low_adds: Array) -> None:
    """Empty all states, then put the empty trend into the start."""
    columns = len(one)
    for s in range(table.value.shape[0]):
        clear_row(table, s)
    for c in range(columns):
        table.value[0, c] = one[c]
    for m in range(table.low.shape[1]):
        if low_adds[m // columns]:
            table.low[0, m] = 0.0


@helper
def set_identity(matrix: Table, one: Array, low_adds: Array) -> None:
    """Write the matrix of nothing: it leads from every state to itself."""
    states = len(matrix.value)
    for s in range(states):
        clear_row(matrix, s)
        matrix.value[s, s] = one[s]
        for m in range(len(low_adds)):
            if low_adds[m]:
                matrix.low[s, m * states + s] = 0.0


@helper
def summand(sums: Array, row: int, e: int) -> float:
    """Return what event e adds to a sum by a row of values; row -2 - r is row r with its sign turned."""
    x = sums[row if row >= 0 else -2 - row, e]
    return x if row >= 0 or null(x) else -x  # type: ignore[no-any-return]


@helper
def low_of(program: Program, events: Events, m: int, label: int, e: int) -> float:
    """Return what event e brings to a minimum by a label; where it brings nothing, what changes none."""
    r = program.low_row[m, label]
    if r >= 0:
        x = events.lows[r, e]
        if not null(x):
            return x  # type: ignore[no-any-return]
    return 0.0 if program.low_adds[m] else np.inf


@helper
def take_in(table: Table, row: int, label: int, e: int, carry: Carry) -> None:
    """Let the partial trends of a row take in event e by a label."""
    value, low, mod = table.value, table.low, carry.mod
    columns = len(mod)
    for i in range(len(carry.sum_of)):
        r = carry.sum_row[i, label]
        if r != -1:
            x = summand(carry.sums, r, e)
            if not null(x):
                base, of = (1 + i) * columns, carry.sum_of[i] * columns
                for c in range(columns):
                    value[row, base + c] = add(value[row, base + c], times(value[row, of + c], x, mod[c]), mod[c])
    for i in range(len(carry.low_adds)):
        r = carry.low_row[i, label]
        if r >= 0:
            x = carry.lows[r, e]
            if carry.low_adds[i]:
                if not null(x):
                    low[row, i] += x
            elif x < low[row, i]:
                low[row, i] = x


@helper
def collect(program: Program, state: Table, mod: Array, out: Table, k: int) -> None:
    """Add the states that hold results to those of window k: out.value[k, class], out.low[k, class]."""
    columns = len(mod)
    for o in range(len(program.out_state)):
        s, c = program.out_state[o], program.out_class[o]
        for w in range(state.value.shape[1]):
            out.value[k, c, w] = add(out.value[k, c, w], state.value[s, w], mod[w % columns])
        for m in range(state.low.shape[1]):
            out.low[k, c, m] = min(out.low[k, c, m], state.low[s, m])
