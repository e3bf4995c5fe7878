"""The windows of a run: which rows of which sub-stream each holds, and how its bounds are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.engine.columns import Time
from sparkleene.engine.stream import Stream
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


def whole(stream: Stream) -> Windows:
    """Return one window per sub-stream, over all of it."""
    segment = np.flatnonzero(np.diff(stream.bounds))
    lo, hi = stream.bounds[:-1][segment], stream.bounds[1:][segment]
    return Windows(segment, np.zeros(segment.size, np.int64), lo, hi, None, lambda key: [])


def sliding(
    stream: Stream, time: Time, size: Fraction, slide: Fraction, offset: Fraction, events: bool
) -> Windows:
    """Return the windows of WITHIN size SLIDE slide that hold rows."""
    pane = _gcd(size, slide)
    if events:
        clock, base = stream.time, 0
        span, step, width = int(size), int(slide), int(pane)
    elif stream.time.dtype == np.int64:
        clock, base = stream.time, int(offset)
        span, step, width = int(size), int(slide), int(pane)
    else:  # panes number the times of doubles
        clock, base = panes(stream.time, pane, offset), 0
        span, step, width = int(size / pane), int(slide / pane), 1
    segment, key, lo, hi = kernel.sliding(clock, events, stream.bounds, base, span, step)

    def units() -> tuple[Array, Array]:
        _, _, begin, end = kernel.sliding(clock, events, stream.bounds, base, width, width)
        return begin, end

    def columns(key: Array) -> list[pa.Array]:
        if events:
            return [pa.array(key * step), pa.array(key * step + span)]
        if clock is stream.time:
            return [time.to_array(base + key * step), time.to_array(base + key * step + span)]
        starts = [offset + int(k) * slide for k in key]
        return [time.to_array(starts), time.to_array([start + size for start in starts])]

    return Windows(segment, key, lo, hi, units if span > step else None, columns)


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
    segment, which, lo, hi = kernel.trailing(stream.time, stream.bounds, group, ends, bounds, span)
    if until is not None:
        hi = until[which]

    def units() -> tuple[Array, Array]:
        starts, _ = kernel.ticks(stream.tick, stream.bounds)
        return starts[:-1], starts[1:]

    def columns(key: Array) -> list[pa.Array]:
        return [time.to_array(key - span), time.to_array(key)]

    return Windows(segment, ends[which], lo, hi, units, columns)


def panes(time: Array, pane: Fraction, offset: Fraction) -> Array:
    """Return floor((time - offset) / pane) of doubles, exactly."""
    quotient = (time - float(offset)) / float(pane)
    number = np.floor(quotient)
    close = np.abs(quotient - np.round(quotient)) <= 1e-9 * np.maximum(1.0, np.abs(quotient))
    for value in np.unique(time[close]).tolist():
        number[time == value] = (Fraction(value) - offset) // pane
    return np.asarray(number, np.int64)


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    while b:
        a, b = b, a % b
    return a
