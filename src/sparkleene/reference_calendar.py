"""Windows of days and months by definition, with Python's own calendar: what the reference takes for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from sparkleene.language.bound import Window

EPOCH = datetime(1970, 1, 1)
MILLISECOND = timedelta(milliseconds=1)
DAY = timedelta(days=1)


def calendar_windows(window: Window, times: Iterable[Any], offset: Any, timezone: str) -> list[tuple[int, int]]:
    """Return the windows that hold some time, as (start, end); times and offset are milliseconds.

    >>> from sparkleene.language.bind import bind
    >>> from sparkleene.language.parser import parse
    >>> window = bind(parse("RETURN COUNT(*) PATTERN A WITHIN 1 month SLIDE 1 month")).window
    >>> [(start, end)] = calendar_windows(window, [0], 0, "Europe/Berlin")
    >>> start // 3_600_000, end // 3_600_000
    (-1, 743)
    """
    assert window.slide is not None
    unit = Fraction(1 if window.unit == "months" else DAY // MILLISECOND)
    size, slide, origin = (int(length / unit) for length in (window.size, window.slide, window.origin))
    found = set()
    for time in times:
        shown = EPOCH + timedelta(milliseconds=float(time - offset))
        near = (shown.year - 1970) * 12 + shown.month - 1 if window.unit == "months" else (shown - EPOCH) // DAY
        # A time zone is at most two days away from UTC.
        for number in range(near - size - 2, near + 3):
            if (number - origin) % slide == 0:
                start, end = (_border(n, window.unit, offset, timezone) for n in (number, number + size))
                if start <= time < end:
                    found.add((start, end))
    return sorted(found)


@cache
def _border(number: int, unit: str, offset: Any, timezone: str) -> int:
    """Return the first millisecond at which clocks show the midnight that begins a day or a month, or later."""
    first = datetime(1970 + number // 12, number % 12 + 1, 1) if unit == "months" else EPOCH + number * DAY
    wanted = first + timedelta(milliseconds=float(offset))
    zone = UTC if timezone == "UTC" else ZoneInfo(timezone)
    # Clocks are set by multiples of a quarter of an hour, or ran by the sun, by some seconds off.
    instant = wanted - timedelta(hours=26)
    for step in (timedelta(minutes=15), timedelta(seconds=1)):
        while instant.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None) < wanted:
            instant += step
        instant -= step
    return (instant + step - EPOCH) // MILLISECOND
