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
class Axis:
    """The windows of a chart, by their starts.

    `step` is from one window to the next where they stand at equal distances, so that missing ones leave gaps; it
    is 0 for windows that are only where trends end.
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
    """Return the starts of windows as an array to sort and subtract, and the time zone that they are shown in."""
    zone = getattr(column.type, "tz", None) or ""
    if zone:
        try:
            column = pc.local_timestamp(column)
        except pa.ArrowInvalid:  # a zone that this machine does not know
            column, zone = column.cast(pa.timestamp(column.type.unit)), "UTC"
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s" if pa.types.is_date32(column.type) else "ms"))
    if pa.types.is_timestamp(column.type) or pa.types.is_integer(column.type):
        return column.to_numpy(), zone
    return column.cast(pa.float64(), safe=False).to_numpy(), zone


def axis_of(values: Array, zone: str = "") -> Axis:
    """Return the axis for the starts of all windows.

    >>> axis_of(np.array([0, 10, 20, 40, 50])).step, axis_of(np.array([0, 1, 17, 90])).step
    (10.0, 0.0)
    """
    distinct = np.unique(values)
    gaps = np.diff(distances(distinct, distinct[0]))
    step = float(gaps.min(initial=math.inf))
    # Windows that are mostly missing have no step to speak of.
    regular = bool(gaps.size) and step > 0 and gaps.sum() / step + 1 <= 2 * distinct.size
    return Axis(distinct[0], distinct[-1], step if regular else 0.0, distinct.size, zone)


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
