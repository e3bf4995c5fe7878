"""Windows whose borders the rows of a group draw: sessions, and windows from a row that opens one on.

Borders are drawn at times: all rows of one time are in the same windows, also where a tie-break orders them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns.arrow import Array
from sparkleene.columns.expressions import evaluate_condition
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.engine.grid import Clock, last_times
from sparkleene.engine.memo import Memo
from sparkleene.engine.substreams import SubStreams, instants, read_only, take_rows
from sparkleene.engine.windows import Windows, rows_between
from sparkleene.errors import Place
from sparkleene.kernels import sort
from sparkleene.kernels import windows as kernel
from sparkleene.language.bound import Drawn
from sparkleene.plan.plan import Plan

_NONE = read_only(np.zeros(0, np.int64))


class Groups(NamedTuple):
    """All rows of groups in order of time; those of group g are bounds[g]:bounds[g+1]."""

    rows: Array | None  # the table's row of each, None where the table is in order as it is
    bounds: Array
    tick: Array  # int64 numbers that order the times


class Drawing(NamedTuple):
    """A table whose rows draw windows, with the columns that the query computes, and how it is read."""

    plan: Plan
    table: pa.Table
    clock: Clock
    threads: int
    place: Place
    memo: Memo

    def windows(self, streams: SubStreams) -> Windows:
        """Return the windows of sub-streams: those of their groups, as far as they hold rows."""
        bound, time = self.plan.bound, self.clock.time
        alike = set(bound.group) == set(range(len(bound.keys)))  # each group is one sub-stream
        groups = Groups(streams.rows, streams.bounds, instants(streams.time)) if alike else self.order_groups()
        segment, lo, hi, _ = self.find(groups)
        rows = groups.rows
        first, last = (time.values[at if rows is None else rows[at]] for at in (lo, hi - 1))
        if not alike:
            number = np.full(self.table.num_rows, -1, np.int64)
            inside = rows_between(lo, hi)
            number[inside if rows is None else rows[inside]] = np.repeat(np.arange(lo.size), hi - lo)
            which, segment, lo, hi = _runs(number if streams.rows is None else number[streams.rows], streams.bounds)
            first, last = first[which], last[which]
        gap: Any = 0
        if self.clock.gap is not None:
            gap = float(self.clock.gap) if time.values.dtype == np.float64 else int(self.clock.gap)

        def columns(key: Array) -> list[pa.Array]:
            return [time.to_array(key), time.to_array(key + gap)]

        return Windows(segment, first, lo, hi, False, columns, last)

    def order_groups(self) -> Groups:
        """Put all rows of each group in order of time, whatever their labels and the other keys."""
        bound, tick = self.plan.bound, instants(read_only(self.clock.time.values))
        paths = [bound.keys[k].path for k in bound.group]
        if not paths:
            bounds = np.array([0, tick.size], np.int64)
            if not sort.survey(tick)[0]:
                return Groups(None, bounds, tick)
            rows = np.argsort(tick, kind="stable")
            return Groups(rows, bounds, read_only(take_rows(tick, rows, self.threads)))
        found = [
            self.memo.once(("codes", path), self.table, partial(codes, self.table, path, self.place))
            for path in paths
        ]
        code, first = combine_codes([code for code, _ in found], [len(values) for _, values in found])
        rows, bounds = sort.by_code(read_only(code), len(first))
        ordered = take_rows(tick, rows, self.threads)
        sort.sort_segments(ordered, rows, bounds, interrupts.stop_flag())
        interrupts.check()
        return Groups(rows, bounds, read_only(ordered))

    def find(self, groups: Groups) -> Array:
        """Return four rows about the windows of groups: group, first row, end row, whether a later row ended it."""
        window, rows = self.plan.bound.window, groups.rows
        assert isinstance(window, Drawn)
        furthest = _NONE if self.clock.most is None else self._last_ticks(groups, self.clock.most)
        if self.clock.gap is not None:
            reach = self._last_ticks(groups, self.clock.gap)
            return np.ascontiguousarray(kernel.sessions(groups.tick, reach, furthest, groups.bounds).T)
        assert window.opens is not None
        opens, closes = (
            evaluate_condition(term, self.table, self.place)
            for term in (window.opens, window.closes or window.opens)
        )
        flags = [read_only(flag if rows is None else flag[rows]) for flag in (opens, closes)]
        has_end = window.closes is not None
        return np.ascontiguousarray(kernel.from_to(groups.tick, furthest, *flags, has_end, groups.bounds).T)

    def _last_ticks(self, groups: Groups, length: Any) -> Array:
        """Return for each row the tick of the last time that is at most a length after it."""
        last = instants(last_times(self.clock.time.values, length))
        return read_only(last if groups.rows is None else take_rows(last, groups.rows, self.threads))

    def divide(self, until: int | float) -> tuple[Array, Array]:
        """Tell which rows are in windows that are over, and which in windows that later rows may be in.

        Rows before a time have all come. The others are in no window yet.
        """
        groups = self.order_groups()
        clock, rows = self.clock, groups.rows
        time = clock.time.values if rows is None else clock.time.values[rows]
        there = np.flatnonzero(time < until)
        groups = Groups(
            there if rows is None else rows[there],
            np.searchsorted(there, groups.bounds).astype(np.int64),
            read_only(groups.tick[there]),
        )
        _, lo, hi, closed = self.find(groups)
        over = closed != 0
        for length, at in ((clock.gap, hi - 1), (clock.most, lo)):
            if length is not None:
                over |= last_times(time[there[at]], length) < until
        found = []
        for chosen in (over, ~over):
            flag = np.zeros(self.table.num_rows, bool)
            inside = rows_between(lo[chosen], hi[chosen])
            assert groups.rows is not None
            flag[groups.rows[inside]] = True
            found.append(flag)
        return found[0], found[1]


def _runs(number: Array, bounds: Array) -> tuple[Array, Array, Array, Array]:
    """Return the runs of equal numbers in each segment, without -1: the number, the segment, rows from, rows to."""
    if not number.size:
        return number, number, number, number
    new = np.r_[True, np.diff(number) != 0]
    new[bounds[:-1][np.diff(bounds) > 0]] = True
    lo = np.flatnonzero(new)
    hi = np.append(lo[1:], number.size)
    there = number[lo] >= 0
    lo, hi = lo[there], hi[there]
    return number[lo], np.searchsorted(bounds, lo, "right") - 1, lo, hi
