"""Trends whose first event is at most so long before their last: starts leave a queue as time goes on.

Two stacks, as for sliding windows: starts that are there to leave are kept as vectors of what has followed from
them, and from all later ones, up to a border; the rows since the border are one matrix. A row goes into the matrix
once, and once back into vectors, however many trends it is in. Until the first start leaves, and whenever all have
left, one vector is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.conditions import compare
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.matrices import multiply
from sparkleene.kernels.program import Array, Events, NumberSystem, Program
from sparkleene.kernels.vectors import Table, blank_rows, collect, set_identity, unset_vectors
from sparkleene.kernels.whole_steps import (
    Borders,
    Chosen,
    Parts,
    can_close,
    close_row,
    find_borders,
    go_back,
    go_on,
    is_over,
    make_borders,
    part_machine,
    read_column,
    unit_row,
)


@helper
def _leave(chosen: Chosen, first: int, i: int) -> int:
    """Return the first start that the rows of a tick may still be the end of."""
    for c in range(len(chosen.predicates.op)):
        while first < i and not compare(chosen.predicates.op[c], chosen.f[c, first], chosen.g[c, i]):
            first += 1
    return first


class Front(NamedTuple):
    """Vectors for the rows from the base to the border of a window, and room for the matrices that make them."""

    begin: int
    base: int
    border: int
    vectors: Table
    back: Table
    fresh: Table
    old: Table


class Work(NamedTuple):
    """A machine in parts, and room for windows: vectors, matrices, and a vector for each row up to a border."""

    parts: Parts
    borders: Borders
    now: Table
    ending: Table
    fresh: Table
    done: Table
    since: Table
    back: Table
    wide_fresh: Table
    old: Table
    front: Table


def prepare(program: Program, one: Array, rows: int) -> Work:
    """Return what windows of up to so many rows are worked out in."""
    states, width, lows = program.states, 1 + program.sum_of.size, program.low_adds.size
    parts = part_machine(program)
    vectors = (blank_rows(states, width, lows, one) for _ in range(4))
    matrices = (blank_rows(states, width * states, lows * states, one) for _ in range(4))
    front = unset_vectors(rows + 1, states, width, lows, one)
    return Work(parts, make_borders(parts, states, rows), *vectors, *matrices, front)


@helper
def turn(
    program: Program, parts: Parts, events: Events, field: NumberSystem, starts: Array, start: Array, to: Front,
    alone: bool,
) -> None:  # fmt: skip
    """Write for each row from the base to the border what its starts, and with them all later ones, have come to.

    With `alone` it is what the starts of the row's own tick have come to.
    """
    states = program.states
    begin, base, border, front, back, fresh, old = to
    set_identity(back, field.one, program.low_adds)
    leads = len(start) > 1
    unit = Table(front.value[border - base], front.low[border - base])
    unit_row(unit, start[border - begin] if leads else start[0], field.one, program.low_adds)
    j = border
    while j > base and not events.stop[0]:
        i = j - 1
        while i > base and events.tick[i - 1] == events.tick[i]:
            i -= 1
        go_back(program, parts, events, field, starts, i, j, back, fresh, old)
        at = start[i - begin] if leads else start[0]
        for e in range(i, j):
            vector = Table(front.value[e - base], front.low[e - base])
            if at < 0:
                unit_row(vector, -1, field.one, program.low_adds)
            else:
                read_column(fresh if alone else back, at, states, vector)
        j = i


def run(
    program: Program, events: Events, field: NumberSystem, square: NumberSystem, chosen: Chosen, lo: Array,
    hi: Array, out: Table,
) -> None:  # fmt: skip
    """Write the results of windows; f and g of every comparison rise with time, and early starts fail first.

    `square` is the number system with a column for each state.
    """
    work = prepare(program, field.one, int((hi - lo).max(initial=1)))
    _run(program, work, events, field, square, chosen, lo, hi, out)


@kernel(allocates=False)
def _run(
    program: Program, work: Work, events: Events, field: NumberSystem, square: NumberSystem, chosen: Chosen,
    lo: Array, hi: Array, out: Table,
) -> None:  # fmt: skip
    """Do what `run` tells."""
    one = field.one
    parts, borders, now, ending, fresh, done, since, back, wide_fresh, old, front = work
    for n in range(lo.size):
        begin, end = lo[n], hi[n]
        if events.stop[0]:
            return
        find_borders(program, parts, events, begin, end, borders)
        unit_row(now, np.int64(0), one, program.low_adds)
        unit_row(done, np.int64(-1), one, program.low_adds)
        first = anchor = base = border = begin
        fronted = False
        i = begin
        while i < end and not events.stop[0]:
            j = i + 1
            while j < end and events.tick[j] == events.tick[i]:
                j += 1
            first = _leave(chosen, first, i)
            if not fronted and is_over(program, parts, field, now):
                first = i  # what began before has come to its end
            if first == i and first > anchor:
                at = borders.start[i - begin] if parts.leading else np.int64(0)
                unit_row(now, at, one, program.low_adds)
                anchor, fronted = i, False
            elif (first > border) if fronted else (first > anchor):
                base, border, fronted = first, i, True
                to = Front(begin, base, border, front, back, wide_fresh, old)
                turn(program, parts, events, square, chosen.starts, borders.start, to, False)
                unit_row(wide_fresh, np.int64(-1), one, program.low_adds)
                set_identity(since, square.one, program.low_adds)
            if can_close(parts, events, chosen.stops, i, j):
                image = borders.image[i - begin if parts.trailing else 0]
                if fronted:
                    left = Table(front.value[first - base], front.low[first - base])
                    multiply(program, since, left, field.mod, 1, ending)
                before = ending if fronted else now
                for e in range(i, j):
                    if chosen.stops[e] and _counts_alone(chosen, e):
                        close_row(program, parts, events, field, chosen, e, before, image, fresh, done)
            if fronted:
                go_on(program, parts, events, square, chosen.starts, i, j, since, wide_fresh)
            else:
                go_on(program, parts, events, field, chosen.starts, i, j, now, fresh)
            i = j
        collect(program, done, field.mod, out, n)


@helper
def _counts_alone(chosen: Chosen, e: int) -> bool:
    """Tell whether a trend of one event counts; if it does not, none does."""
    for c in range(len(chosen.predicates.op)):
        if not compare(chosen.predicates.op[c], chosen.f[c, e], chosen.g[c, e]):
            return False
    return True
