"""Ticks of pictures: numbers and powers of ten beside, times below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparkleene.charts.numbers import Array
from sparkleene.charts.scale import Scale, Tick
from sparkleene.charts.times import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# For ticks of years, months, days, hours, minutes and seconds, and where the finer part of one is zero.
FORMATS = ["%Y", "%b", "%b %d", "%H:%M", "%H:%M", "%H:%M:%S.%f"]
ZERO_FORMATS = ["", "%Y", "%b %d", "%b %d", "%H:%M", "%H:%M"]
CALENDAR = (-719_162, 2_932_895)  # the days of the years 1 to 9999, which are all that Python has
MINUTES = [1, 2, 5, 10, 15, 20, 30, 60]
STEPS = {
    1: [1, 2, 3, 4, 6, 12],
    4: [1, 2, 3, 4, 6, 12, 24],
    5: MINUTES,
    6: MINUTES,
}  # months, hours, minutes, seconds


def tick_labels(scale: Scale, ticks: Sequence[Tick]) -> list[str]:
    """Write the ticks of a scale: plain numbers as long as all are short, else powers of ten.

    >>> scale = Scale(True, 0.0, 4.0)
    >>> tick_labels(scale, scale.ticks())
    ['1', '10', '100', '1,000', '10,000']
    >>> scale = Scale(True, 0.0, 40.0)
    >>> tick_labels(scale, scale.ticks(2))
    ['$10^{0}$', '$10^{20}$', '$10^{40}$']
    """
    short = all(tick.power is None or -4 < tick.power < 6 for tick in ticks)
    return [_label(tick, scale.power, short) for tick in ticks]


def _label(tick: Tick, power: int, short: bool) -> str:
    if tick.power is None:
        text = f"{tick.number:,.6g}".replace("-", "−")
        return text if not power or not tick.number else f"{text}×$10^{{{power}}}$"
    if short:
        return f"{tick.number * 10.0**tick.power:,.6g}"
    return ("" if tick.number == 1 else f"{tick.number:g}×") + f"$10^{{{tick.power}}}$"


def to_plot_units(x: Array) -> Array:
    """Return the starts of windows as matplotlib counts them: times in days."""
    if x.dtype.kind != "M":
        return x.astype(np.float64)
    from matplotlib.dates import date2num

    return np.asarray(date2num(x), np.float64)  # type: ignore[no-untyped-call]


def set_time_ticks(axes: Axes, axis: Axis, most: int) -> str:
    """Set the ticks of windows, `most` at most, and return what to write below them."""
    low, high = axes.get_xlim()
    first, last = (
        (str(day) for day in np.array([axis.low, axis.high], "datetime64[D]")) if axis.is_dated else ("", "")
    )
    if axis.is_dated and CALENDAR[0] <= low < high <= CALENDAR[1]:
        ticks, labels = _dates(axes, most)
    else:
        from matplotlib.ticker import MaxNLocator

        places = MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10], integer=axis.span >= 4).tick_values(low, high)
        ticks = [float(place) for place in places]
        labels = [_year(place) if axis.is_dated else f"{place:,.10g}".replace("-", "−") for place in ticks]
    inside = [i for i, place in enumerate(ticks) if low <= place <= high]
    made = axes.set_xticks([ticks[i] for i in inside], [labels[i] for i in inside])
    axes.set_xlim(low, high)
    for tick in made if most < 5 else ():  # there are neighbours to the left and to the right
        share = (float(tick.get_loc()) - low) / (high - low)
        tick.label1.set_horizontalalignment("left" if share < 0.06 else "right" if share > 0.94 else "center")
    days = first if first == last else f"{first} to {last}"
    return f"window start{f', {days}' if days else ''}{f' {axis.zone}' if axis.zone else ''}"


def _dates(axes: Axes, most: int) -> tuple[list[float], list[str]]:
    """Return ticks at round times."""
    from matplotlib import dates

    locator = dates.AutoDateLocator(minticks=min(4, most - 2), maxticks=most)  # type: ignore[no-untyped-call]
    locator.intervald.update(STEPS)
    locator.set_axis(axes.xaxis)
    ticks = [float(place) for place in locator()]
    written = dates.ConciseDateFormatter(locator, formats=FORMATS, zero_formats=ZERO_FORMATS)  # type: ignore[no-untyped-call]
    return ticks, written.format_ticks(ticks)  # type: ignore[no-untyped-call]


def _year(day: float) -> str:
    """Write the year of a day that is far off."""
    return str(np.datetime64(int(day), "D"))[:-6]
