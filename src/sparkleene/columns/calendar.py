"""Calendars: the days and months of a time zone as numbers, and when each begins by the times of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, make_array
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.time_zones import first_instant, is_utc
from sparkleene.columns.times import Time, unknown_unit, window_offset
from sparkleene.errors import Place
from sparkleene.language.bound import Window

MANY = 1 << 14  # borders that are looked up without asking between which of them times lie
NEAR = 3  # days: a zone is at most two away from UTC
_DAY = 86_400


@dataclass(frozen=True)
class Calendar:
    """The days or the months of a time zone, numbered from 1 January 1970, by times of some unit.

    Each begins when clocks show midnight of its first day and the `shift` after it.
    """

    unit: Literal["days", "months"]
    zone: str
    ticks: Fraction  # of the times in a second
    shift: Fraction  # in ticks
    whole: bool  # whether times are integers

    @property
    def length(self) -> Fraction:
        """About how long a day or a month is, in ticks."""
        return self.ticks * _DAY * (1 if self.unit == "days" else Fraction(146_097, 4_800))

    def border(self, number: int) -> Fraction:
        """Return when a day or month begins."""
        days = number
        if self.unit == "months":
            cycles, month = divmod(number, 4_800)  # dates come again after 400 years
            first = np.datetime64(month, "M").astype("M8[D]")
            days = cycles * 146_097 + int(first.astype(np.int64))
        seconds, rest = divmod(self.shift / self.ticks, 1)
        return (first_instant(self.zone, days * _DAY + int(seconds)) + rest) * self.ticks

    def numbers(self, times: Array) -> Array:
        """Return the day or month that each time is in."""
        if not times.size:
            return np.zeros(0, np.int64)
        day = self.ticks * _DAY
        if self.whole:
            near = times // int(day)
        else:
            with np.errstate(over="ignore"):
                quotient = np.floor(times / float(day))
            if not (np.abs(quotient) < 2.0**52).all():
                raise _overflow()
            near = quotient.astype(np.int64)
        near -= int(self.shift // day)
        some = self._around(near)
        borders = self._bounds([self.border(int(number)) for number in some])
        return some[np.searchsorted(borders, times, "right") - 1]

    def _around(self, days: Array) -> Array:
        """Return the numbers that times of some days, by UTC, can have."""
        low, high = self._number(np.array([days.min() - NEAR, days.max() + NEAR]))
        if high - low <= MANY:
            return np.arange(low, high + 1)
        return np.unique(self._number(np.unique(days)[:, None] + np.arange(-NEAR, NEAR + 1)))

    def _number(self, days: Array) -> Array:
        """Return the numbers of days or of their months, by dates alone."""
        if self.unit == "days":
            return days
        cycles, rest = np.divmod(days, 146_097)
        return cycles * 4_800 + rest.astype("M8[D]").astype("M8[M]").astype(np.int64)

    def _bounds(self, borders: Sequence[Fraction]) -> Array:
        """Return for each border the least time of its type that is not before it."""
        if self.whole:
            return np.array([min(max(-(-border // 1), -(2**63)), 2**63 - 1) for border in borders], np.int64)
        near = np.array([float(border) for border in borders])
        below = np.array([float(border) < border for border in borders])
        return np.where(below, np.nextafter(near, np.inf), near)

    def to_array(self, numbers: Array, time: Time) -> pa.Array:
        """Return when days or months begin, as a column of times."""
        distinct, place = np.unique(numbers, return_inverse=True)
        borders = [self.border(int(number)) for number in distinct]
        if self.whole and any(border.denominator != 1 for border in borders):
            message = f"days of {self.zone} begin between times, which are integers of a coarser unit"
            help = "convert the time column to seconds, or to double"
            raise Place().error("window-not-integer", message, help=help)
        if self.whole and borders and (borders[0] < -(2**63) or borders[-1] >= 2**63):
            raise _overflow()
        return time.to_array(borders).take(make_array(place))


def find_calendar(window: Window, time: Time, options: EngineOptions, place: Place) -> Calendar | None:
    """Return the calendar that the borders of windows go by, None where windows are of a fixed length.

    Days and weeks of UTC are.
    """
    if window.calendar is None or window.slide is None:
        return None
    if time.ticks_per_ms is None:
        raise unknown_unit(window, place)
    utc = is_utc(options.timezone)
    if pa.types.is_duration(time.type) and not (utc and window.calendar != "months" and not window.origin):
        message = "the time column is a duration, and has no weeks, months and time zones"
        raise place.mistake("wrong-type", message, window.span, "count in days, or add a date to the times")
    if utc and window.calendar != "months":
        return None
    if window.calendar == "mixed":
        message = (
            f"days of {options.timezone} are not all of 24 hours, and WITHIN or SLIDE is no number of whole days"
        )
        help = "give both in whole days or weeks, or both in hours"
        raise place.mistake("mixed-units", message, window.span, help)
    if not utc and time.clock and getattr(time.type, "tz", None) is None:
        message = f"timezone is '{options.timezone}', but the time column is {time.type} and has no time zone"
        help = (
            "leave timezone= out if the times are those of clocks there: days then begin at their midnights;"
            " else give the column the zone that its times are of, in pandas by tz_localize"
        )
        raise place.mistake("bad-option", message, window.span, help)
    shift = window_offset(options, time)
    unit: Literal["days", "months"] = "months" if window.calendar == "months" else "days"
    return Calendar(unit, options.timezone, time.ticks_per_ms * 1000, shift, not pa.types.is_floating(time.type))


def _overflow() -> Exception:
    message = "the windows reach beyond the range of 64-bit times"
    help = "choose a shorter window or a coarser unit, or drop rows with extreme times"
    return Place().error("overflow", message, help=help)
