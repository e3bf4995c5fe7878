"""Where windows lie in time: all arithmetic about which windows a time opens, is in, or closes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns.arrow import Array
from sparkleene.columns.calendar import Calendar, find_calendar
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.times import Time, drawn_units, window_offset, window_units
from sparkleene.engine.substreams import read_only
from sparkleene.errors import Place
from sparkleene.kernels import windows as kernel
from sparkleene.language.ast import MILLISECONDS
from sparkleene.language.bound import Drawn, Window
from sparkleene.plan.plan import Plan

MANY = 1 << 28  # windows that no memory should be asked to hold
_NO_TIMES = read_only(np.zeros(0, np.int64))


@dataclass(frozen=True)
class Grid:
    """The windows of WITHIN size SLIDE slide: number k is [base + k*step, base + k*step + span) by a clock.

    They are made of panes of one width. The clock is the times where these are integers, the numbers of the panes
    for doubles, the days or months of a calendar, and a row's place in its sub-stream for windows of events.
    """

    base: int
    span: int
    step: int
    width: int
    pane: Fraction  # the length of a pane by the times; in a calendar about that
    events: bool
    clock: Callable[[Array], Array]  # of times
    columns: Callable[[Array], list[pa.Array]]  # window_start and window_end of keys
    calendar: Calendar | None = None

    @property
    def overlap(self) -> int:
        """How many windows hold a time, at most."""
        return -(-self.span // self.step)

    @property
    def length(self) -> int:
        """How long a window is by integer times; in a calendar about that."""
        return int(self.pane * (self.span // self.width))

    def clock_at(self, time: int) -> int:
        """Return what the clock shows at an integer time."""
        return time if self.calendar is None else int(self.clock(np.array([time]))[0])

    def time_at(self, clock: int) -> int:
        """Return the first integer time at which the clock shows something."""
        return clock if self.calendar is None else math.ceil(self.calendar.border(clock))

    # The following are by the clock.

    def start(self, key: int) -> int:
        """Return when a window begins."""
        return self.base + key * self.step

    def end(self, key: int) -> int:
        """Return when a window has ended."""
        return self.start(key) + self.span

    def last_closed(self, clock: int) -> int:
        """Return the last window that has ended."""
        return (clock - self.base - self.span) // self.step

    def last_before(self, clock: int) -> int:
        """Return the window before the first that is open or to come."""
        return self.last_closed(clock)

    def last_started(self, clock: int) -> int:
        """Return the last window that has begun."""
        return (clock - self.base) // self.step

    def pane_of(self, clock: Array) -> Array:
        """Return the numbers of the panes that hold times."""
        return (clock - self.base) // self.width

    def _slide(self, clock: Array, bounds: Array, size: int, step: int) -> tuple[Array, Array, Array, Array, Array]:
        """Return windows of a size, one every step, that hold rows."""
        clock = _NO_TIMES if self.events else read_only(clock)
        given = (clock, self.events, bounds, self.base, size, step)
        found = kernel.sliding(*given, interrupts.stop_flag())
        interrupts.check()
        return found  # type: ignore[no-any-return]

    def panes(self, clock: Array, bounds: Array) -> tuple[Array, Array, Array, Array]:
        """Return the panes that hold rows: sub-stream, number, rows from, rows to."""
        return self._slide(clock, bounds, self.width, self.width)[:4]

    def windows(self, clock: Array, bounds: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return the windows that hold rows: sub-stream, number, rows from, rows to, and how many hold the same."""
        return self._slide(clock, bounds, self.span, self.step)

    def by_panes(self, of: Grid | None = None) -> Grid:
        """Return the same windows by a clock that numbers panes: their own, or smaller ones of another grid."""
        of = of or self
        base, span, step = (time // of.width for time in (self.base - of.base, self.span, self.step))
        return Grid(base, span, step, 1, of.pane, False, lambda time: time, self.columns)

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
            _check_count(kernel.windows(read_only(clock), bounds, self.base, self.span, self.step))


@dataclass(frozen=True)
class Trailing:
    """The windows of WITHIN size alone: (t - span, t] for ticks t at which trends end. A window's key is its t."""

    span: int

    @property
    def length(self) -> int:
        """How long a window is."""
        return self.span

    def clock_at(self, time: int) -> int:
        """Return a time: the clock of these windows shows it."""
        return time

    def time_at(self, clock: int) -> int:
        """Return a time that the clock shows."""
        return clock

    def start(self, key: int) -> int:
        """Return the first time of a window."""
        return key - self.span + 1

    def end(self, key: int) -> int:
        """Return the first time after a window."""
        return key + 1

    def last_closed(self, watermark: int) -> int:
        """Return the last window that a watermark has passed."""
        return watermark

    def last_before(self, time: int) -> int:
        """Return the window before the first that can hold a time."""
        return time - 1

    def last_started(self, time: int) -> int:
        """Return the last window that has begun."""
        return time + self.span - 1


class Clock(NamedTuple):
    """The times of a table, the size of windows by them, and where windows with a slide lie.

    Of windows that rows draw, the gap of sessions and the greatest length.
    """

    time: Time
    size: Fraction | None
    grid: Grid | None
    gap: Fraction | None = None
    most: Fraction | None = None


def read_clock(plan: Plan, time: Time, options: EngineOptions, place: Place) -> Clock:
    """Return times by the clock of a plan's windows, and where these lie."""
    window = plan.bound.window
    if window is None:
        return Clock(time, None, None)
    if isinstance(window, Drawn):
        gap, most, time = drawn_units(window, time, place)
        return Clock(time, None, None, gap, most)
    if (calendar := find_calendar(window, time, options, place)) is not None:
        return Clock(time, window.size, calendar_grid(time, window, calendar))
    size, slide, time = window_units(window, time, place)
    if slide is None:
        return Clock(time, size, None)
    events = window.unit == "events"
    offset = Fraction(0) if events else window_offset(options, time)
    if window.origin:
        offset += window.origin * (time.ticks_per_ms or 1)
    return Clock(time, size, make_grid(time, size, slide, offset, events))


def make_grid(time: Time, size: Fraction, slide: Fraction, offset: Fraction, events: bool) -> Grid:
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
        return pane_numbers(time, pane, offset)

    return Grid(0, int(size / pane), int(slide / pane), 1, pane, False, numbers, exactly)


def calendar_grid(time: Time, window: Window, calendar: Calendar) -> Grid:
    """Return where the windows of a calendar lie, which are some of its days or months long."""
    assert window.slide is not None
    unit = 1 if calendar.unit == "months" else MILLISECONDS["days"]
    base, span, step = (int(length / unit) for length in (window.origin, window.size, window.slide))
    width = math.gcd(span, step)

    def columns(key: Array) -> list[pa.Array]:
        starts = base + key * step
        return [calendar.to_array(starts, time), calendar.to_array(starts + span, time)]

    pane = calendar.length * width
    return Grid(base, span, step, width, pane, False, calendar.numbers, columns, calendar)


def calendar_starts(
    window: Window, time: Time, options: EngineOptions
) -> tuple[float, bool, pa.ChunkedArray] | None:
    """Return for charts about how far a calendar's windows are apart, True (all groups share them), and all starts.

    None where they are of a fixed length. The times are starts of windows.
    """
    calendar = find_calendar(window, time, options, Place())
    if calendar is None or not time.values.size:
        return None
    grid = calendar_grid(time, window, calendar)
    first, last = calendar.numbers(np.array([time.values.min(), time.values.max()]))
    numbers = np.arange(first, last + 1, grid.step)
    return float(calendar.length * grid.step), True, pa.chunked_array([calendar.to_array(numbers, time)])


def pane_numbers(time: Array, pane: Fraction, offset: Fraction) -> Array:
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


def trailing_starts(ends: Array, size: Fraction) -> Array:
    """Return for each end the greatest time that its type has and that is at most end - size."""
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


def last_times(times: Array, length: Fraction) -> Array:
    """Return the last time of each time's type that is at most a length after it."""
    if times.dtype == np.int64:
        _check_range(0, int(times.max(initial=0)), 0, int(length), 1)
        return times + int(length)
    return trailing_starts(times, -length)


def _below(value: Fraction) -> float:
    """Return the greatest double that is not above a number."""
    near = float(value)
    return near if near <= value else float(np.nextafter(near, -np.inf))


def _check_range(low: int, high: int, offset: int, size: int, slide: int) -> None:
    """Raise if the bounds of windows over times from low to high are beyond int64."""
    if low - offset - size < -(2**63) or max(high + size, slide, high - offset) >= 2**63:
        message = "the windows reach beyond the range of 64-bit times"
        help = "choose a shorter window or a coarser unit, or drop rows with extreme times"
        raise Place().error("overflow", message, help=help)


def _check_count(count: float) -> None:
    """Raise if there are too many windows."""
    if count > MANY:
        message = f"{count:.3g} windows hold rows, and each would be a row of the result"
        help = "choose a longer SLIDE or a shorter WITHIN; WITHIN alone has windows only where trends end"
        raise Place().error("too-many-windows", message, help=help)


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    while b:
        a, b = b, a % b
    return a
