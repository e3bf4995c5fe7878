"""Contiguous trends whose rows are not a proper part of another trend's, where no rows are simultaneous.

A contiguous trend is an interval of rows. From the end of a window back, every state knows the furthest row at
which a trend can end that is in it: so every row knows the furthest end of the trends that begin with it. Such an
interval is maximal if it reaches further than those of all earlier rows. Maximal intervals have rising starts and
rising ends, and are counted with the two stacks of start_queue.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.conditions import holds
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.matrices import multiply
from sparkleene.kernels.program import Array, Events, NumberSystem, Program
from sparkleene.kernels.start_queue import Front, Work, prepare, turn
from sparkleene.kernels.vectors import Table, collect, set_identity
from sparkleene.kernels.whole_steps import (
    Borders,
    Chosen,
    Parts,
    close_row,
    find_borders,
    go_on,
    make_borders,
    part_machine,
    unit_row,
)


class _Intervals(NamedTuple):
    """First and last rows of the maximal intervals of a window, and room to find them."""

    first: Array
    last: Array
    reach: Array  # int64[2, states]
    stack: Array  # scratch for code


def _make_intervals(program: Program, rows: int, code: int = 0) -> _Intervals:
    """Return room for the intervals of windows of up to so many rows."""
    reach = np.empty((2, program.states), np.int64)
    return _Intervals(np.empty(rows, np.int64), np.empty(rows, np.int64), reach, np.empty(code + 1))


@helper
def _find_intervals(
    program: Program, parts: Parts, events: Events, borders: Borders, begin: int, end: int,
    intervals: _Intervals,
) -> int:  # fmt: skip
    """Write the first and last rows of the maximal intervals of a window, and return how many there are."""
    body, close = parts.body, parts.close
    first, last, reach, _ = intervals
    for s in range(program.states):
        reach[0, s] = -1
    for e in range(end - 1, begin - 1, -1):
        y = np.int64(events.symbol[e])
        image = borders.image[e - begin if parts.trailing else 0]
        start = borders.start[e - begin] if parts.leading else np.int64(0)
        for s in range(program.states):
            reach[1, s] = -1
        for k in range(body.off[y], body.off[y + 1]):
            s, d = body.src[k], body.dst[k]
            reach[1, s] = max(reach[1, s], reach[0, d])
        for k in range(close.off[y], close.off[y + 1]):
            if image[close.dst[k]] >= 0:
                reach[1, close.src[k]] = max(reach[1, close.src[k]], e)
        last[e - begin] = reach[1, start] if start >= 0 else -1
        for s in range(program.states):
            reach[0, s] = reach[1, s]
    count, furthest = 0, np.int64(-1)
    for e in range(begin, end):
        if last[e - begin] > furthest:
            furthest = last[e - begin]
            first[count], last[count] = e, furthest
            count += 1
    return count


def run(
    program: Program, events: Events, field: NumberSystem, square: NumberSystem, chosen: Chosen, lo: Array,
    hi: Array, out: Table,
) -> None:  # fmt: skip
    """Write the results of windows; `square` is the number system with a column for each state."""
    rows = int((hi - lo).max(initial=1))
    work = prepare(program, field.one, rows)
    intervals = _make_intervals(program, rows, len(chosen.predicates.code))
    _run(program, work, intervals, events, field, square, chosen, lo, hi, out)


@kernel(allocates=False)
def _run(
    program: Program, work: Work, intervals: _Intervals, events: Events, field: NumberSystem, square: NumberSystem,
    chosen: Chosen, lo: Array, hi: Array, out: Table,
) -> None:  # fmt: skip
    """Do what `run` tells."""
    one, adds = field.one, program.low_adds
    parts, borders, _, ending, fresh, done, since, back, wide_fresh, old, front = work
    first, last, _, stack = intervals
    for n in range(lo.size):
        if events.stop[0]:
            return
        begin, end = lo[n], hi[n]
        find_borders(program, parts, events, begin, end, borders)
        count = _find_intervals(program, parts, events, borders, begin, end, intervals)
        unit_row(done, np.int64(-1), one, adds)
        base = border = at = begin
        fronted = False
        for r in range(count):
            if events.stop[0]:
                return
            i, j = first[r], last[r]
            counts = (
                chosen.lengths[min(j - i + 1, len(chosen.lengths) - 1)] and chosen.starts[i] and chosen.stops[j]
            )
            if not counts or not holds(chosen.predicates, chosen.f, chosen.g, 0, i, j, stack):
                continue
            if i == j:
                unit_row(ending, borders.start[i - begin] if parts.leading else np.int64(0), one, adds)
            else:
                if not fronted or i >= border:
                    base, border, at, fronted = i, j, j, True
                    to = Front(begin, base, border, front, back, wide_fresh, old)
                    turn(program, parts, events, square, chosen.starts, borders.start, to, True)
                    unit_row(wide_fresh, np.int64(-1), one, adds)
                    set_identity(since, square.one, adds)
                while at < j and not events.stop[0]:
                    go_on(program, parts, events, square, chosen.starts, at, at + 1, since, wide_fresh)
                    at += 1
                left = Table(front.value[i - base], front.low[i - base])
                multiply(program, since, left, field.mod, 1, ending)
            image = borders.image[j - begin if parts.trailing else 0]
            close_row(program, parts, events, field, chosen, j, ending, image, fresh, done)
        collect(program, done, field.mod, out, n)


def find(program: Program, events: Events, begin: int, end: int) -> tuple[Array, Array]:
    """Return the first and last rows of the maximal intervals of a window."""
    parts, intervals = part_machine(program), _make_intervals(program, end - begin)
    borders = make_borders(parts, program.states, max(1, end - begin))
    count = _find(program, parts, events, borders, begin, end, intervals)
    return intervals.first[:count], intervals.last[:count]


@kernel(allocates=False)
def _find(
    program: Program, parts: Parts, events: Events, borders: Borders, begin: int, end: int, intervals: _Intervals
) -> int:
    """Write the first and last rows of the maximal intervals of a window, and return how many there are."""
    find_borders(program, parts, events, begin, end, borders)
    return _find_intervals(program, parts, events, borders, begin, end, intervals)  # type: ignore[no-any-return]
