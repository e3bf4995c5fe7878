"""Ticks of pictures: numbers and powers of ten beside, times below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparkleene.charts.scale import Scale, Tick
from sparkleene.charts.times import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def time_axis(axes: Axes, axis: Axis) -> str:
    """Set the ticks of windows, and return what to write below them."""
    from matplotlib import dates, ticker

    zone = f" {axis.zone}" if axis.zone else ""
    if not axis.dated:
        axes.xaxis.set_major_locator(ticker.MaxNLocator(8, integer=axis.span >= 4))
        axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:,.10g}".replace("-", "−")))
        return "window start"
    first, last = (str(day) for day in np.array([axis.low, axis.high], "datetime64[D]"))
    locator = dates.AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, show_offset=False))  # type: ignore[no-untyped-call]
    return f"window start, {first if first == last else f'{first} to {last}'}{zone}"
