"""Charts as lines of text: a panel per group over the windows, or a bar per group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparkleene.charts.cells import ASCII, BLOCKS, Ink, draw_area, draw_bar, fit, width_of
from sparkleene.charts.chart import Chart
from sparkleene.charts.data import Series, largest_of
from sparkleene.charts.numbers import Array
from sparkleene.charts.times import distances

COLORS = (32, 166, 36, 175, 178, 74, 240, 89)  # of 256, close to those of pictures
STRETCH = 6  # columns that a single window takes at most


def text(chart: Chart, width: int, height: int, color: bool, ascii: bool) -> str:
    """Draw a chart as text; see `Chart.text`."""
    width, height = max(24, width), max(4, height)
    if not chart.scale.log and chart.scale.low > 0:  # areas are read by their size
        chart = replace(chart, scale=replace(chart.scale, low=0.0))
    ink = ASCII if ascii else BLOCKS
    head = [fit(line, width, ink).rstrip() for line in _heading(chart) if line]
    head = head[-1:] if height < 6 else head
    if chart.empty:
        return "\n".join([*head, f"  {chart.empty}"])
    room = height - len(head) - (chart.axis is not None)
    if room < len(chart.series) or chart.left_out:
        room -= 1
    room -= chart.beyond
    series = largest_of(chart.series, max(1, room))
    tail = [chart.more(len(series))]
    if chart.beyond:
        tail.append("inf is beyond 1.8e+308; numbers='exact' and LOG10 have no such limit")
    if chart.axis is None:
        body = _draw_bars(chart, series, width, ink)
    elif len(chart.series) == 1:
        body = _draw_panel(chart, series[0], width, max(1, room), ink)
    else:
        body = _draw_panels(chart, series, width, max(1, room), ink)
    painted = [paint(line, which) if color else line for line, which in body]
    end = [fit(line, width, ink) for line in tail if line]
    return "\n".join(line.rstrip() for line in [*head, *painted, *end])


def _heading(chart: Chart) -> list[str]:
    """Return the title, and what is drawn."""
    what = f"{chart.value} by {chart.by}" if chart.by else chart.value
    if chart.by and chart.axis is not None and len(chart.series) == 1:
        what += f": {chart.series[0].name}"  # its panel has no place for it
    extra = [chart.window, "log scale" if chart.scale.log else ""]
    if chart.axis is not None and len(chart.series) > 1 and not chart.empty:
        extra.append(" to ".join(chart.scale.end(top).words()[0] for top in (False, True)))
    note = ", ".join(part for part in extra if part)
    return [chart.title, f"{what} ({note})" if note else what]


Line = tuple[str, int | None]  # a line, and the number of its colour


def paint(line: str, which: int | None) -> str:
    """Return a line in the colour of a number; None leaves it as it is."""
    return line if which is None else f"\033[38;5;{COLORS[which % len(COLORS)]}m{line.rstrip()}\033[0m"


# ---- over windows


def _draw_panel(chart: Chart, series: Series, width: int, rows: int, ink: Ink) -> list[Line]:
    """Draw the only group: values at the left, from top to bottom."""
    ends = [chart.scale.end(top).words()[0] for top in (True, False)]
    side = max(map(width_of, ends))
    places = columns(chart, series, max(1, width - side - 2))
    drawn = draw_area(places, rows, chart.scale.origin(), ink)
    labels = {rows - 1: ends[1], 0: ends[0]}
    body: list[Line] = [
        (f"{fit(labels.get(i, ''), side, ink, True)} {ink.mark if i in labels else ink.edge}{line}", 0)
        for i, line in enumerate(drawn)
    ]
    return [*body, (_time_line(chart, side + 2, len(places), width), None)]


def _draw_panels(chart: Chart, series: tuple[Series, ...], width: int, room: int, ink: Ink) -> list[Line]:
    """Draw the groups one below the other on one scale: the name of each at the left, its largest value right."""
    rows = max(1, room // len(series))
    apart = rows > 1  # with more than a row each there is room to part them
    rows -= apart
    tops = [s.peak().words()[0] for s in series]
    left = min(max(width_of(s.name) for s in series), width // 4)
    right = max(map(width_of, tops))
    body: list[Line] = []
    for i, (s, top) in enumerate(zip(series, tops, strict=True)):
        places = columns(chart, s, max(1, width - left - right - 3))
        for row, line in enumerate(draw_area(places, rows, chart.scale.origin(), ink)):
            name = fit(s.name if row == 0 else "", left, ink)
            label = f"  {fit(top, right, ink, True)}" if row == 0 else ""
            body.append((f"{name} {line}{label}", i))
        if apart and i + 1 < len(series):
            body.append(("", None))
    return [*body, (_time_line(chart, left + 1, len(places), width), None)]


def columns(chart: Chart, series: Series, width: int) -> Array:
    """Return the place of each column of text: the largest of the windows in it, NaN if there is none."""
    axis = chart.axis
    assert axis is not None
    places = chart.scale.places(series.y)
    where = distances(series.x, axis.low)
    cells = axis.cells
    if axis.step and cells <= width:
        wide = min(STRETCH, width // cells)
        out = np.full((cells, wide), np.nan)
        out[np.rint(where / axis.step).astype(int)] = places[:, None]
        return out.ravel()
    span = axis.span + axis.step
    at = np.minimum((where / span * width).astype(int), width - 1)
    highest = np.full(width, np.nan)
    np.fmax.at(highest, at, places)
    return highest


def _time_line(chart: Chart, indent: int, long: int, width: int) -> str:
    """Return the line below: the first and the last window, below the ends as far as there is room."""
    assert chart.axis is not None
    first, last = chart.axis.ends()
    zone = f" {chart.axis.zone}" if chart.axis.zone else ""
    for end in (last + zone, last):
        least = len(first) + 2 + len(end)
        if least <= width:
            start = min(indent, width - least)
            return " " * start + first + end.rjust(max(indent + long - start, least) - len(first))
    return first[:width]


# ---- without windows


def _draw_bars(chart: Chart, series: tuple[Series, ...], width: int, ink: Ink) -> list[Line]:
    """Draw a bar per group: its name at the left, its value at the right."""
    words = [s.peak().words()[0] or "none" for s in series]
    left = min(max(width_of(s.name) for s in series), width // 3)
    right = max(map(width_of, words))
    long = max(1, width - left - bool(left) - right - 2)
    return [
        (
            f"{fit(s.name, left, ink)}{' ' * bool(left)}"
            f"{draw_bar(float(chart.scale.places(s.peak())[0]), long, chart.scale.origin(), ink)}"
            f"  {fit(word, right, ink, True)}",
            i,
        )
        for i, (s, word) in enumerate(zip(series, words, strict=True))
    ]
