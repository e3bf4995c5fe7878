"""The windows of a run: which rows of which sub-stream each holds, and how its bounds are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array
from sparkleene.columns.times import Time
from sparkleene.engine.grid import Grid, trailing_starts
from sparkleene.engine.substreams import SubStreams
from sparkleene.errors import Place
from sparkleene.kernels import windows as kernel

WINDOW = ("window_start", "window_end")
"""The columns of results that say where a window begins and ends."""

KeyRange = tuple[int, int] | None
"""The windows that are wanted: keys greater than the first number and at most the second; None for all."""


@dataclass(frozen=True)
class Windows:
    """Windows in the order of their sub-streams; `key` orders them in time."""

    segment: Array
    key: Array
    lo: Array
    hi: Array
    composes: bool  # whether they may be products of matrices of the rows between their borders
    columns: Callable[[Array], list[pa.Array]]  # window_start and window_end of keys
    last: Array | None = None  # of windows that rows draw, the time of their last row
    repeat: Array | None = None  # how many windows, from `key` on, hold the same rows; None for one each
    whose: Array | None = None  # bool[windows, classes]: which queries' windows they are; None for all

    def where(self, chosen: Array) -> Windows:
        """Keep some of the windows."""
        columns = (self.segment[chosen], self.key[chosen], self.lo[chosen], self.hi[chosen])
        more = (None if of is None else of[chosen] for of in (self.last, self.repeat, self.whose))
        return Windows(*columns, self.composes, self.columns, *more)

    def borders(self, chosen: Array) -> list[pa.Array]:
        """Return window_start and window_end of some of the windows, none where there is one window."""
        if self.last is None:
            return self.columns(self.key[chosen])
        return [*self.columns(self.key[chosen])[:1], *self.columns(self.last[chosen])[1:]]

    def within(self, wanted: KeyRange) -> Windows:
        """Keep the windows of a range of keys."""
        if wanted is None:
            return self
        if self.repeat is None:
            return self.where(np.flatnonzero((self.key > wanted[0]) & (self.key <= wanted[1])))
        first = np.maximum(self.key, wanted[0] + 1)
        last = np.minimum(self.key + self.repeat - 1, wanted[1])
        return replace(self, key=first, repeat=last - first + 1).where(np.flatnonzero(first <= last))

    def each(self, chosen: Array | None = None) -> tuple[Array, Windows]:
        """Return some windows, or all, one by one, and where each is among those that hold different rows."""
        if chosen is None:
            chosen = np.arange(self.lo.size)
        some = self.where(chosen)
        if some.repeat is None:
            return chosen, some
        where = np.repeat(np.arange(chosen.size), some.repeat)
        before = np.cumsum(some.repeat) - some.repeat
        key = some.key[where] + np.arange(where.size) - before[where]
        return chosen[where], replace(some.where(where), key=key, repeat=None)


def rows_between(lo: Array, hi: Array) -> Array:
    """Return all rows from each lo to before its hi, one after the other."""
    size = hi - lo
    return np.repeat(lo - np.append(0, np.cumsum(size)[:-1]), size) + np.arange(int(size.sum()))


def whole_windows(rows: SubStreams) -> Windows:
    """Return one window per sub-stream, over all of it."""
    segment = np.flatnonzero(np.diff(rows.bounds))
    lo, hi = rows.bounds[:-1][segment], rows.bounds[1:][segment]
    return Windows(segment, np.zeros(segment.size, np.int64), lo, hi, False, lambda key: [])


def grid_windows(rows: SubStreams, grid: Grid | None, numbered: bool = True) -> Windows:
    """Return the windows of a grid that hold rows, those that hold the same once; else one per sub-stream.

    Windows of events may begin or end between simultaneous rows only if these are `numbered`.
    """
    if grid is None:
        return whole_windows(rows)
    clock = grid.clock(rows.time)
    grid.check(clock, rows.bounds)
    segment, key, lo, hi, repeat = grid.windows(clock, rows.bounds)
    if grid.events and not numbered:
        _check_order(rows, segment, lo, hi)

    # Windows of a number of rows may end between simultaneous rows.
    composes = grid.span > grid.step and not (grid.events and rows.tied)
    several = repeat if grid.span > grid.step else None
    return Windows(segment, key, lo, hi, composes, grid.columns, None, several)


def trailing_windows(
    rows: SubStreams,
    time: Time,
    size: Fraction,
    group: Array,
    ends: Array,
    bounds: Array,
    until: Array | None = None,
    whose: Array | None = None,
) -> Windows:
    """Return the windows (t - size, t] for each t in `ends`; those of group g are ends[bounds[g]:bounds[g+1]].

    `until` gives end rows where windows stop at a tick in the midst of a time (tie-breaks), `whose` the queries
    that have a window at each end.
    """
    span: Any = float(size) if rows.time.dtype == np.float64 else int(size)
    starts = trailing_starts(ends, size)
    segment, which, lo, hi = kernel.trailing(rows.time, rows.bounds, group, starts, ends, bounds)
    if until is not None:
        hi = until[which]

    def columns(key: Array) -> list[pa.Array]:
        return [time.to_array(key - span), time.to_array(key)]

    whose = None if whose is None else whose[which]
    return Windows(segment, ends[which], lo, hi, True, columns, whose=whose)


def _check_order(rows: SubStreams, segment: Array, lo: Array, hi: Array) -> None:
    """Raise if a window begins or ends between simultaneous rows."""
    edges = np.concatenate([lo[lo > rows.bounds[segment]], hi[hi < rows.bounds[segment + 1]]])
    if (rows.tick[edges] == rows.tick[edges - 1]).any():
        message = "a window of events ends between rows of one time, and nothing tells which of them is first"
        help = "pass tiebreak= with a column that orders them"
        raise Place().error("ambiguous-order", message, help=help)


def find_distinct(rows: Array) -> Array:
    """Return the different numbers of rows, ascending; where most are in order that is far less work than `unique`.

    >>> find_distinct(np.array([0, 4, 12, 4, 10, 12])).tolist()
    [0, 4, 10, 12]
    """
    ordered = np.sort(rows, kind="stable")  # which finds what is in order
    new = np.ones(ordered.size, np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return np.asarray(ordered[new])
