"""The axis of windows: times or plain numbers, their distances and how they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.charts.numbers import Array


@dataclass(frozen=True, slots=True)
class Slide:
    """How far a query's windows are from each other, in the unit of `window_start`.

    `shared` windows are those of the clock, the same for all groups; others count the rows of their group.
    Those of a calendar are about a step apart, and `starts` has them all.
    """

    step: float
    shared: bool = True
    starts: pa.ChunkedArray | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """The windows of a chart, by their starts.

    `step` is from one window to the next where they stand at equal distances, so that one knows which are missing;
    it is 0 for windows that are only where trends end.
    """

    low: Any
    high: Any
    step: float
    windows: int
    zone: str = ""

    @property
    def span(self) -> float:
        """Return the distance from the first window to the last."""
        return float(distances(np.array([self.high]), self.low)[0])

    @property
    def cells(self) -> int:
        """Return how many windows there would be without gaps."""
        return round(self.span / self.step) + 1 if self.step else self.windows

    @property
    def is_dated(self) -> bool:
        """Tell whether the windows are of times, not of numbers."""
        return isinstance(self.low, np.datetime64)

    def ends(self) -> tuple[str, str]:
        """Write the first and the last start; the last without its date if that is the same.

        >>> Axis(np.datetime64("2024-03-04T09:00:00"), np.datetime64("2024-03-04T10:30:00"), 600.0, 10).ends()
        ('2024-03-04 09:00', '10:30')
        """
        first, last = format_starts(self.low, self.high)
        if self.is_dated and " " in first and first[:10] == last[:10]:
            last = last[11:]
        return first, last


def read_starts(column: pa.ChunkedArray) -> tuple[Array, str]:
    """Return the starts of windows as an array to sort and subtract, and the time zone that they are shown in.

    Times are those of UTC; `localize` makes them those of the zone.
    """
    zone = getattr(column.type, "tz", None) or ""
    type = column.type
    if pa.types.is_timestamp(type) or pa.types.is_date(type) or pa.types.is_integer(type):
        return column.to_numpy(), zone
    return column.cast(pa.float64(), safe=False).to_numpy(), zone


def localize(values: Array, zone: str) -> tuple[Array, str]:
    """Return times of UTC as clocks of a zone show them, and the zone: UTC if this machine does not know it.

    >>> localize(np.array(["2024-07-01T10:00:00"], "datetime64[s]"), "Europe/Berlin")
    (array(['2024-07-01T12:00:00'], dtype='datetime64[s]'), 'Europe/Berlin')
    """
    if not zone:
        return values, zone
    times = pa.array(values)
    try:
        local = pc.local_timestamp(times.cast(pa.timestamp(times.type.unit, zone)))
        return local.to_numpy(zero_copy_only=False), zone
    except pa.ArrowInvalid:
        return values, "UTC"


def axis_of(values: Array, zone: str = "", step: float | None = None) -> Axis:
    """Return the axis for the starts of all windows; a step that is not given is looked for.

    >>> axis_of(np.array([0, 10, 20, 40, 50])).step, axis_of(np.array([0, 1, 17, 90])).step
    (10.0, 0.0)
    """
    distinct = np.unique(values)
    if step is None:
        gaps = np.diff(distances(distinct, distinct[0]))
        least = float(gaps.min(initial=math.inf))
        # Windows that are mostly missing have no step to speak of.
        regular = bool(gaps.size) and least > 0 and gaps.sum() / least + 1 <= 2 * distinct.size
        step = least if regular else 0.0
    return Axis(distinct[0], distinct[-1], step, distinct.size, zone)


def distances(values: Array, origin: Any) -> Array:
    """Return how far values are from an origin, in units of their own."""
    if values.dtype.kind == "f":
        return np.asarray(values - origin)
    if values.dtype.kind == "M":
        values, origin = values.astype(np.int64), np.asarray(origin, values.dtype).astype(np.int64)
    # Integers near the ends of their range would wrap around.
    far = int(values.max(initial=0)) - int(values.min(initial=0)) >= 1 << 62
    return values.astype(np.float64) - float(origin) if far else (values - origin).astype(np.float64)


def format_starts(*values: Any) -> list[str]:
    """Write starts of windows, all of them as finely as one of them needs.

    >>> format_starts(np.datetime64("2024-03-04T09:00:00"), np.datetime64("2024-03-04T09:00:10"))
    ['2024-03-04 09:00:00', '2024-03-04 09:00:10']
    >>> format_starts(np.float64(2.5), np.int64(1200))
    ['2.5', '1200']
    """
    if not isinstance(values[0], np.datetime64):
        return [str(int(value)) if value == np.floor(value) else f"{value:.6g}" for value in values]
    texts = [str(value).replace("T", " ") for value in values]
    if all("." in text for text in texts):
        while all(text.endswith("0") for text in texts):
            texts = [text[:-1] for text in texts]
        texts = [text.removesuffix(".") for text in texts]
    for end in (":00", " 00:00"):
        if all(text.endswith(end) and "." not in text for text in texts):
            texts = [text.removesuffix(end) for text in texts]
    return texts
