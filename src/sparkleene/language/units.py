"""Units of time: how they are written, and how long they are."""

from __future__ import annotations

from fractions import Fraction

from sparkleene.language import ast
from sparkleene.language.bound import Interval

UNITS: dict[str, ast.Unit] = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "milliseconds"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "seconds"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hours"),
    **dict.fromkeys(("d", "day", "days"), "days"),
    **dict.fromkeys(("week", "weeks"), "weeks"),
    **dict.fromkeys(("month", "months"), "months"),
    **dict.fromkeys(("quarter", "quarters"), "quarters"),
    **dict.fromkeys(("year", "years"), "years"),
    **dict.fromkeys(("event", "events"), "events"),
}
"""The words of a query for each unit."""

TICKS_PER_MS = {
    "nanoseconds": Fraction(1_000_000),
    "microseconds": Fraction(1_000),
    "milliseconds": Fraction(1),
    "seconds": Fraction(1, 1_000),
    "minutes": Fraction(1, 60_000),
    "hours": Fraction(1, 3_600_000),
    "days": Fraction(1, 86_400_000),
}
"""How many units a millisecond is, for each unit that a time column can count."""


def make_interval(duration: ast.Duration, time_unit: str | None) -> Interval:
    """Return a duration with what it is in the unit of a time column that is a number.

    >>> make_interval(ast.Duration(Fraction(3, 2), "minutes"), "seconds")
    Interval(milliseconds=Fraction(90000, 1), number=90)
    """
    assert duration.unit is not None
    milliseconds = duration.value * ast.MILLISECONDS[duration.unit]
    if time_unit not in TICKS_PER_MS:
        return Interval(milliseconds)
    number = milliseconds * TICKS_PER_MS[time_unit]
    return Interval(milliseconds, int(number) if number.denominator == 1 else float(number))
