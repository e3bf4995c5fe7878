"""The windows of a run: which rows of which sub-stream each holds, and how its bounds are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.times import Time
from sparkleene.engine.stream import Stream
from sparkleene.errors import Place
from sparkleene.kernels import windows as kernel

Array = np.ndarray[Any, Any]
Units = Callable[[], tuple[Array, Array]]


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

    def within(self, only: tuple[int, int] | None) -> Windows:
        """Keep the windows whose keys are greater than the first number and at most the second; None for all."""
        if only is None:
            return self
        return self.where(np.flatnonzero((self.key > only[0]) & (self.key <= only[1])))


def whole(stream: Stream) -> Windows:
    """Return one window per sub-stream, over all of it."""
    segment = np.flatnonzero(np.diff(stream.bounds))
    lo, hi = stream.bounds[:-1][segment], stream.bounds[1:][segment]
    return Windows(segment, np.zeros(segment.size, np.int64), lo, hi, None, lambda key: [])


@dataclass(frozen=True)
class Grid:
    """Where the windows of WITHIN size SLIDE slide lie: number k is [base + k*step, ... + span) by a clock.

    They are made of panes of one width. The clock is the times where these are integers, the numbers of the panes
    for doubles, and a row's place in its sub-stream for windows of events.
    """

    base: int
    span: int
    step: int
    width: int
    pane: Fraction  # the length of a pane by the times
    events: bool
    clock: Callable[[Array], Array]  # of times
    columns: Callable[[Array], list[pa.Array]]  # window_start and window_end of keys

    def panes(self, clock: Array, bounds: Array) -> tuple[Array, Array, Array, Array]:
        """Return the panes that hold rows: sub-stream, number, rows from, rows to."""
        return kernel.sliding(clock, self.events, bounds, self.base, self.width, self.width)  # type: ignore[no-any-return]

    def by_panes(self) -> Grid:
        """Return the same windows by a clock that numbers the panes."""
        span, step = self.span // self.width, self.step // self.width
        return Grid(0, span, step, 1, self.pane, False, lambda time: time, self.columns)

    def check(self, clock: Array, bounds: Array) -> None:
        """Raise if the windows reach beyond the range of their clock, or are too many."""
        if self.events:
            _check_range(0, int(np.diff(bounds).max(initial=0)), 0, self.span, self.step)
            return
        filled = np.flatnonzero(np.diff(bounds))
        first, last = clock[bounds[:-1][filled]], clock[bounds[1:][filled] - 1]
        _check_range(int(first.min(initial=0)), int(last.max(initial=0)), self.base, self.span, self.step)
        # If no window were empty:
        most = float(((last.astype(np.float64) - first + self.span) / self.step + 1.0).sum())
        if most > MANY and (self.span // self.step + 1) * len(clock) > MANY:
            _check_count(kernel.windows(clock, bounds, self.base, self.span, self.step))


def grid(time: Time, size: Fraction, slide: Fraction, offset: Fraction, events: bool) -> Grid:
    """Return where the windows of WITHIN size SLIDE slide lie."""
    pane = _gcd(size, slide)
    offset %= slide
    if events or time.values.dtype == np.int64:
        base = 0 if events else int(offset)
        span, step = int(size), int(slide)

        def columns(key: Array) -> list[pa.Array]:
            write = pa.array if events else time.to_array
            return [write(base + key * step), write(base + key * step + span)]

        return Grid(base, span, step, int(pane), pane, events, lambda time: time, columns)

    def exactly(key: Array) -> list[pa.Array]:
        starts = [offset + int(k) * slide for k in key]
        return [time.to_array(starts), time.to_array([start + size for start in starts])]

    def numbers(time: Array) -> Array:
        return panes(time, pane, offset)

    return Grid(0, int(size / pane), int(slide / pane), 1, pane, False, numbers, exactly)


def sliding(stream: Stream, grid: Grid, numbered: bool = True) -> Windows:
    """Return the windows that hold rows; windows of events part simultaneous rows only if those are `numbered`."""
    clock = grid.clock(stream.time)
    grid.check(clock, stream.bounds)
    segment, key, lo, hi = kernel.sliding(clock, grid.events, stream.bounds, grid.base, grid.span, grid.step)

    if grid.events and not numbered:
        _check_order(stream, segment, lo, hi)

    def units() -> tuple[Array, Array]:
        return grid.panes(clock, stream.bounds)[2:]

    # Panes of so many rows would part simultaneous rows.
    composes = grid.span > grid.step and not (grid.events and stream.tied)
    return Windows(segment, key, lo, hi, units if composes else None, grid.columns)


def ending(
    stream: Stream,
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
    span: Any = float(size) if stream.time.dtype == np.float64 else int(size)
    segment, which, lo, hi = kernel.trailing(
        stream.time, stream.bounds, group, _starts(ends, size), ends, bounds
    )
    if until is not None:
        hi = until[which]

    def units() -> tuple[Array, Array]:
        starts = kernel.ticks(stream.tick, stream.bounds)
        return starts[:-1], starts[1:]

    def columns(key: Array) -> list[pa.Array]:
        return [time.to_array(key - span), time.to_array(key)]

    return Windows(segment, ends[which], lo, hi, units, columns)


MANY = 1 << 28  # windows that no memory should be asked to hold


def _check_range(low: int, high: int, offset: int, size: int, slide: int) -> None:
    """Raise if the bounds of windows over times from low to high are beyond int64."""
    if low - offset - size < -(2**63) or max(high + size, slide, high - offset) >= 2**63:
        message = "the windows reach beyond the range of 64-bit times"
        help = "choose a shorter window or a coarser unit, or drop rows with extreme times"
        raise Place().error("overflow", message, help=help)


def _check_order(stream: Stream, segment: Array, lo: Array, hi: Array) -> None:
    """Raise if a window begins or ends between simultaneous rows."""
    edges = np.concatenate([lo[lo > stream.bounds[segment]], hi[hi < stream.bounds[segment + 1]]])
    if (stream.tick[edges] == stream.tick[edges - 1]).any():
        message = "a window of events ends between rows of one time, and nothing tells which of them is first"
        help = "pass tiebreak= with a column that orders them"
        raise Place().error("ambiguous-order", message, help=help)


def _check_count(count: float) -> None:
    """Raise if there are too many windows."""
    if count > MANY:
        message = f"{count:.3g} windows hold rows, and each would be a row of the result"
        help = "choose a longer SLIDE or a shorter WITHIN; WITHIN alone has windows only where trends end"
        raise Place().error("too-many-windows", message, help=help)


def _starts(ends: Array, size: Fraction) -> Array:
    """Return the last time of each end's type that is not in (end - size, end]."""
    if ends.dtype == np.int64:
        _check_range(int(ends.min(initial=0)), 0, 0, int(size), 1)
        return ends - int(size)
    span = float(size)
    if span == size:  # what rounding took away tells whether the difference was rounded up
        with np.errstate(over="ignore", invalid="ignore"):
            start = ends - span
            back = start - ends
            lost = (ends - (start - back)) - (span + back)
        return np.where(lost < 0, np.nextafter(start, -np.inf), start)
    return np.array([_below(Fraction(end) - size) for end in ends.tolist()], np.float64)


def _below(value: Fraction) -> float:
    """Return the greatest double that is not above a number."""
    near = float(value)
    return near if near <= value else float(np.nextafter(near, -np.inf))


def panes(time: Array, pane: Fraction, offset: Fraction) -> Array:
    """Return floor((time - offset) / pane) of doubles, exactly."""
    with np.errstate(over="ignore", divide="ignore"):
        quotient = (time - float(offset)) / float(pane)
    if not (np.abs(quotient) < 2.0**62).all():
        _check_range(0, 2**63, 0, 0, 0)
    number = np.floor(quotient).astype(np.int64)
    size = np.abs(quotient) + abs(float(offset / pane))  # what was rounded
    close = np.abs(quotient - np.round(quotient)) <= 1e-9 * np.maximum(1.0, size)
    if close.any():
        values, place = np.unique(time[close], return_inverse=True)
        (a, b), (c, d) = offset.as_integer_ratio(), pane.as_integer_ratio()
        ratios = map(float.as_integer_ratio, values.tolist())
        number[close] = np.array([(n * b - a * m) * d // (m * b * c) for n, m in ratios], np.int64)[place]
    return number


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    while b:
        a, b = b, a % b
    return a
