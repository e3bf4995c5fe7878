"""The time column as numbers, and windows in its unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy, make_array
from sparkleene.columns.fields import bounds, decode, describe_column, find_column, integers, kind, sample, simplify
from sparkleene.columns.reading import EngineOptions
from sparkleene.errors import NOWHERE, DataError, Place, QueryError, suggest
from sparkleene.language.bound import Drawn, Finish, Window
from sparkleene.language.units import TICKS_PER_MS

Numbers = np.ndarray[Any, Any]

_ARROW_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


@dataclass(frozen=True, slots=True)
class Time:
    """The times of all rows, and how to write times of that kind.

    `values` are int64 (timestamps, dates and durations in their unit, integers) or float64; `type` is that of
    the window columns: the column's own, int64 for integers of any width, float64 for floats, date32 for dates;
    `ticks_per_ms` is how many of its units a millisecond is, None for a number that counts nobody knows what;
    `scale` is how many of them are one of the column's own unit.
    """

    values: Numbers
    type: pa.DataType
    ticks_per_ms: Fraction | None
    scale: int = 1

    @property
    def clock(self) -> bool:
        """Whether the column is a time of itself, not a number."""
        return not (pa.types.is_integer(self.type) or pa.types.is_floating(self.type))

    def to_array(self, values: Sequence[int | float | Fraction] | Numbers) -> pa.Array:
        """Return times, in the unit of `values`, as an array of the column's type.

        >>> Time(np.zeros(0, np.int64), pa.timestamp("s"), None).to_array([Fraction(60)])[0].as_py()
        datetime.datetime(1970, 1, 1, 0, 1)
        """
        if pa.types.is_floating(self.type):
            return make_array(np.array([float(value) for value in values], np.float64))
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            numbers = values.astype(np.int64, copy=False)
        else:
            whole = [int(value) for value in values]
            if any(one != other for one, other in zip(whole, values, strict=True)):
                raise ValueError("times of an integer column are integers")
            numbers = np.array(whole, np.int64)
        array = make_array(numbers)
        return (array.cast(pa.int32()) if pa.types.is_date32(self.type) else array).cast(self.type)


def time_column(
    table: pa.Table, name: str, time_unit: str | None = None, place: Place = Place(), numbered: bool = True
) -> Time:
    """Return the times of a table's rows; errors name a row by its number, if `numbered`.

    >>> time_column(pa.table({"t": [1, 2]}), "t", "seconds").ticks_per_ms
    Fraction(1, 1000)
    """
    path = tuple([name])
    column = find_column(table, path, place)
    if pa.types.is_date64(column.type) or (
        pa.types.is_dictionary(column.type) and not pa.types.is_string(column.type.value_type)
    ):
        column = simplify(column)
    type = column.type
    if time_unit is not None and time_unit not in TICKS_PER_MS:
        help = suggest(time_unit, TICKS_PER_MS)
        note = f"the units are {', '.join(TICKS_PER_MS)}"
        raise place.mistake("unknown-time-unit", f"unknown time unit '{time_unit}'", help=help, notes=[note])
    if pa.types.is_null(type) and not len(column):  # a file without rows tells no types, and any unit will do
        return Time(np.zeros(0, np.int64), pa.int64(), TICKS_PER_MS[time_unit or "nanoseconds"])
    if pa.types.is_floating(type):
        return _float_time(column, name, time_unit, place, numbered)
    ticks = None if time_unit is None else TICKS_PER_MS[time_unit]
    if pa.types.is_integer(type):
        _no_nulls(column, name, place, numbered)
        column = simplify(column)
        if pa.types.is_decimal(column.type):
            message = f"times in '{name}' are beyond the range of int64"
            raise place.error("overflow", message, notes=[describe_column(path, column)])
        return Time(as_numpy(column), pa.int64(), ticks)
    if pa.types.is_timestamp(type) or pa.types.is_duration(type):
        unit = _ARROW_UNITS[type.unit]
    elif pa.types.is_date(type):
        unit = "days"
    else:
        raise _no_time(column, name, place, numbered)
    if time_unit is not None:
        message = f"a time unit is for number columns: {describe_column(path, column)}"
        raise place.mistake("time-unit-given", message, help="leave the time unit out")
    _no_nulls(column, name, place, numbered)
    return Time(as_numpy(integers(column)), type, TICKS_PER_MS[unit])


_CLOCK = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?"
_DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_LIKE_TIMES = {
    "pa.timestamp('us')": rf"^{_DATE}([T ]{_CLOCK})?$",
    "pa.timestamp('us', 'UTC')": rf"^{_DATE}[T ]{_CLOCK}(Z|[+-]\d\d(:?\d\d)?)$",
    "pa.float64()": r"^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$",
}
"""Text that could be times, by the type that it is to be cast to."""


def _no_time(column: Any, name: str, place: Place, numbered: bool) -> DataError:
    """Return the error for a column that holds no times: if most of its text does, which value does not."""
    message = f"a time cannot be read: {describe_column((name,), column)}"
    help = f"cast '{name}' to a timestamp or to a number in the data"
    if kind(column.type) != "text":
        return place.error("wrong-type", message, help=help)
    values = decode(simplify(column)).combine_chunks()

    def show(row: int) -> str:
        return f"{f'row {row}' if numbered else 'some row'} is {sample(values.slice(row, 1))}"

    notes = [_ROWS] if numbered else []
    like = {type: as_numpy(_is_like_time(values, type)) for type in _LIKE_TIMES}
    fits = np.logical_or.reduce(list(like.values()))
    there = as_numpy(values.is_valid())
    odd = np.flatnonzero(there & ~fits)
    if odd.size >= fits.sum():
        if odd.size:
            message = f"a time cannot be read: '{name}' is text, and {show(int(odd[0]))}"
        return place.error("wrong-type", message, help=help, notes=notes if odd.size else [])
    if odd.size:
        message = f"most of '{name}' are times, but it is text: {show(int(odd[0]))}"
        return place.error("wrong-type", message, help="drop such rows, or give them a time", notes=notes)
    for type, good in like.items():
        if good.sum() == there.sum():
            help += f": pc.cast(column, {type}) in pyarrow does" if numbered else ""
            return place.error("wrong-type", message, help=help)
    first = next(good for good in like.values() if good.any())
    other = np.flatnonzero(there & ~first)
    message = f"times in '{name}' are written in several ways: {show(int(np.argmax(first)))}, {show(int(other[0]))}"
    return place.error("wrong-type", message, help=f"write those in '{name}' in one way", notes=notes)


def _is_like_time(values: Any, type: str) -> Any:
    """Tell of each text whether it can be read as a type; NULL cannot."""
    like = pc.match_substring_regex(values, _LIKE_TIMES[type]).fill_null(False)
    if "timestamp" not in type:
        return like
    # 30 February looks like a time: days are those of the calendar
    parts = pc.if_else(like, pc.utf8_slice_codeunits(values, 0, 10), None)
    day = pc.strptime(parts, format="%Y-%m-%d", unit="s", error_is_null=True)
    same = pc.equal(pc.strftime(day, format="%Y-%m-%d"), parts)
    return pc.and_(like, same.fill_null(False))


def _float_time(column: Any, name: str, time_unit: str | None, place: Place, numbered: bool) -> Time:
    """Return times that are floats, all finite."""
    _no_nulls(column, name, place, numbered)
    values = as_numpy(column.cast(pa.float64()))
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        help = "drop such rows, or give them a time"
        message = f"the time '{name}' is {values[row]} in " + (f"row {row}" if numbered else "some row")
        raise place.error("nan-time", message, help=help, notes=[_ROWS] if numbered else [])
    return Time(values, pa.float64(), None if time_unit is None else TICKS_PER_MS[time_unit])


_ROWS = "rows are counted from 0"


def _no_nulls(column: Any, name: str, place: Place, numbered: bool) -> None:
    """Raise if a row has no time."""
    if column.null_count:
        row = int(np.argmax(as_numpy(column.is_null())))
        help = "drop such rows, or give them a time"
        notes = [f"{column.null_count} rows{'' if numbered else ' of a task'} have no time"]
        message = f"the time '{name}' is NULL in " + (f"row {row}" if numbered else "some row")
        raise place.error("null-time", message, help=help, notes=[*([_ROWS] if numbered else []), *notes])


# ---- windows


def window_units(window: Window, time: Time, place: Place = Place()) -> tuple[Fraction, Fraction | None, Time]:
    """Return a window's size and slide in the unit of the times, and the times, in a finer unit where needed.

    A window in events is returned as it is.

    >>> time = Time(np.array([1, 2]), pa.timestamp("s"), Fraction(1, 1000))
    >>> size, slide, finer = window_units(Window(Fraction(1500), None, "milliseconds"), time)
    >>> size, finer.values, finer.type
    (Fraction(1500, 1), array([1000, 2000]), TimestampType(timestamp[ms]))
    """
    if window.unit == "events":
        return window.size, window.slide, time
    if window.unit == "time":
        if time.clock:
            message = f"the time column is {time.type}, so the window needs a unit"
            raise place.mistake("unit-needed", message, window.span, "write for example WITHIN 10 minutes")
        factor = Fraction(1)
    elif time.ticks_per_ms is None:
        raise unknown_unit(window, place)
    else:
        factor = time.ticks_per_ms
    if _whole(window, factor) or pa.types.is_floating(time.type):
        return window.size * factor, _times(window.slide, factor), time
    if not time.clock:
        raise place.mistake(
            "window-not-integer",
            "the times are integers, and the window is not a whole number of their unit",
            window.span,
            "choose a longer window, or convert the time column to a finer unit or to double",
        )
    for unit, name in _ARROW_UNITS.items():
        finer = TICKS_PER_MS[name]
        if finer > factor and _whole(window, finer):
            return window.size * finer, _times(window.slide, finer), _refine(time, unit, place)
    message = "the window is not a whole number of nanoseconds"
    raise place.mistake("window-not-integer", message, window.span)


def unknown_unit(window: Window, place: Place) -> QueryError:
    """Return the error for a window with a unit over numbers that count nobody knows what."""
    message = "the window has a unit, but the time column is a number and nobody said what it counts"
    help = "pass time_unit, for example 'seconds', or write the window without a unit"
    return place.mistake("unit-unknown", message, window.span, help)


def drawn_units(window: Drawn, time: Time, place: Place = Place()) -> tuple[Fraction | None, Fraction | None, Time]:
    """Return the gap of sessions and the greatest length of windows as `window_units` returns lengths."""
    if window.gap is None and window.most is None:
        return None, None, time
    first, second = (window.most, None) if window.gap is None else (window.gap, window.most)
    assert first is not None
    size, other, finer = window_units(Window(first, second, window.unit, window.span), time, place)
    return (None, size, finer) if window.gap is None else (size, other, finer)


def _times(slide: Fraction | None, factor: Fraction) -> Fraction | None:
    """Return a slide in another unit."""
    return None if slide is None else slide * factor


def _whole(window: Window, factor: Fraction) -> bool:
    """Tell whether size and slide are integers in a unit."""
    return all((length * factor).denominator == 1 for length in (window.size, window.slide or Fraction(0)))


def _refine(time: Time, unit: str, place: Place) -> Time:
    """Return times in a finer unit; dates become timestamps."""
    assert time.ticks_per_ms is not None
    ticks = TICKS_PER_MS[_ARROW_UNITS[unit]]
    factor = int(ticks / time.ticks_per_ms)
    ends = bounds(make_array(time.values))
    if ends is not None and not (ends[0] * factor >= -(2**63) and ends[1] * factor < 2**63):
        message = f"the window needs times in {_ARROW_UNITS[unit]}, and some are beyond the range of int64"
        raise place.error("overflow", message, NOWHERE, "choose a window of whole units of the time column")
    make = pa.duration if pa.types.is_duration(time.type) else pa.timestamp
    type = make(unit) if getattr(time.type, "tz", None) is None else make(unit, time.type.tz)
    return Time(time.values * factor, type, ticks, factor)


def check_durations(finish: Finish | None, time: Time, place: Place) -> None:
    """Raise if results are compared with a duration in a unit, and nobody knows what the times count."""
    if finish is not None and finish.seconds and time.ticks_per_ms is None:
        message = "this duration has a unit, but the time column is a number and nobody said what it counts"
        help = "pass time_unit, for example 'seconds', or write a number without a unit"
        raise place.mistake("unit-unknown", message, finish.seconds[0], help)


def window_offset(options: EngineOptions, time: Time) -> Fraction:
    """Return how far the windows are moved, in the unit of the times."""
    if not options.offset_in_ms:
        offset = options.offset * time.scale
    elif time.ticks_per_ms is not None:
        offset = options.offset * time.ticks_per_ms
    else:
        message = "the offset is a timedelta, but the time column is a number and nobody said what it counts"
        help = "pass time_unit, for example 'seconds', or give the offset as a number"
        raise Place().mistake("unit-unknown", message, help=help)
    if offset.denominator != 1 and time.values.dtype == np.int64:
        message = "the times are integers, and the offset is not a whole number of their unit"
        help = "round the offset, or convert the time column to a finer unit or to double"
        raise Place().mistake("bad-option", message, help=help)
    return offset
