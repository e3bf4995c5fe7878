"""The windows of a run: which rows of which sub-stream each holds, and how its bounds are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.times import Time
from sparkleene.engine.grid import Grid, trailing_starts
from sparkleene.engine.substreams import SubStreams
from sparkleene.errors import Place
from sparkleene.kernels import windows as kernel

Array = np.ndarray[Any, Any]
Units = Callable[[], tuple[Array, Array]]

KeyRange = tuple[int, int] | None
"""The windows that are wanted: keys greater than the first number and at most the second; None for all."""


@dataclass(frozen=True)
class Windows:
    """Windows in the order of their sub-streams; `key` orders them in time."""

    segment: Array
    key: Array
    lo: Array
    hi: Array
    units: Units | None  # the panes or ticks that they are made of: rows from, rows to
    columns: Callable[[Array], list[pa.Array]]  # window_start and window_end of keys

    def where(self, chosen: Array) -> Windows:
        """Keep some of the windows."""
        return Windows(
            self.segment[chosen], self.key[chosen], self.lo[chosen], self.hi[chosen], self.units, self.columns
        )

    def within(self, wanted: KeyRange) -> Windows:
        """Keep the windows of a range of keys."""
        if wanted is None:
            return self
        return self.where(np.flatnonzero((self.key > wanted[0]) & (self.key <= wanted[1])))


def whole_windows(rows: SubStreams) -> Windows:
    """Return one window per sub-stream, over all of it."""
    segment = np.flatnonzero(np.diff(rows.bounds))
    lo, hi = rows.bounds[:-1][segment], rows.bounds[1:][segment]
    return Windows(segment, np.zeros(segment.size, np.int64), lo, hi, None, lambda key: [])


def grid_windows(rows: SubStreams, grid: Grid | None, numbered: bool = True) -> Windows:
    """Return the windows of a grid that hold rows; without a grid, one window per sub-stream.

    Windows of events may begin or end between simultaneous rows only if these are `numbered`.
    """
    if grid is None:
        return whole_windows(rows)
    clock = grid.clock(rows.time)
    grid.check(clock, rows.bounds)
    segment, key, lo, hi = grid.windows(clock, rows.bounds)
    if grid.events and not numbered:
        _check_order(rows, segment, lo, hi)

    def units() -> tuple[Array, Array]:
        return grid.panes(clock, rows.bounds)[2:]

    # Panes of a number of rows would part simultaneous rows.
    composes = grid.span > grid.step and not (grid.events and rows.tied)
    return Windows(segment, key, lo, hi, units if composes else None, grid.columns)


def trailing_windows(
    rows: SubStreams,
    time: Time,
    size: Fraction,
    group: Array,
    ends: Array,
    bounds: Array,
    until: Array | None = None,
) -> Windows:
    """Return the windows (t - size, t] for each t in `ends`; those of group g are ends[bounds[g]:bounds[g+1]].

    `until` gives end rows where windows stop at a tick in the midst of a time (tie-breaks).
    """
    span: Any = float(size) if rows.time.dtype == np.float64 else int(size)
    starts = trailing_starts(ends, size)
    segment, which, lo, hi = kernel.trailing(rows.time, rows.bounds, group, starts, ends, bounds)
    if until is not None:
        hi = until[which]

    def units() -> tuple[Array, Array]:
        starts = kernel.ticks(rows.tick, rows.bounds)
        return starts[:-1], starts[1:]

    def columns(key: Array) -> list[pa.Array]:
        return [time.to_array(key - span), time.to_array(key)]

    return Windows(segment, ends[which], lo, hi, units, columns)


def _check_order(rows: SubStreams, segment: Array, lo: Array, hi: Array) -> None:
    """Raise if a window begins or ends between simultaneous rows."""
    edges = np.concatenate([lo[lo > rows.bounds[segment]], hi[hi < rows.bounds[segment + 1]]])
    if (rows.tick[edges] == rows.tick[edges - 1]).any():
        message = "a window of events ends between rows of one time, and nothing tells which of them is first"
        help = "pass tiebreak= with a column that orders them"
        raise Place().error("ambiguous-order", message, help=help)
