"""From a result table to a chart of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.charts.chart import Chart
from sparkleene.charts.data import WINDOW, Series, one_line, order_by_size, split_series, value_column
from sparkleene.charts.numbers import Array, Numbers, numbers
from sparkleene.charts.scale import Scale, scale_of
from sparkleene.charts.times import Axis, Slide, axis_of, format_starts, localize, read_starts
from sparkleene.charts.zeros import add_zeros, fill_starts
from sparkleene.errors import Diagnostic, QueryError


def chart(
    table: pa.Table,
    *,
    value: str | None = None,
    groups: Sequence[str] = (),
    title: str = "",
    most: int = 8,
    counts: Collection[str] = (),
    slide: Slide | None = None,
) -> Chart:
    """Prepare a chart of a result: a line per group over the windows, or a bar per group without windows.

    `value` names the aggregate, by default the first one that is a number, and `groups` the columns of groups; of
    more than `most` groups those with the largest values are drawn, and the chart says how many are not.

    A window without a row has no trends. Columns named in `counts` are zero there, from the first window of the
    result to the last; of other aggregates the line breaks there, and at NULL and NaN. `slide` says where windows
    are; without it they are known only if they stand at equal distances. On a log scale zeros have a place of their
    own below it.

    >>> made = chart(pa.table({"sector": ["tools", "banks"], "count": ["12", "7"]}), groups=["sector"])
    >>> print(made.text(width=40))
    count by sector
    tools ██████████████████████████████  12
    banks █████████████████▌               7
    """
    if most < 1:
        raise QueryError(Diagnostic("bad-option", f"most is {most}", help="draw at least one group"))
    name = value_column(table, value, groups)
    shown, by, title = one_line(name), one_line(", ".join(groups)), one_line(title)
    if "window_start" in table.column_names:
        table = table.filter(pc.is_valid(table.column("window_start")))
    if not table.num_rows:
        return Chart(shown, (), Scale(False, 0.0, 1.0), title=title, by=by)
    axis, window = None, ""
    x = np.zeros(table.num_rows)
    if "window_start" in table.column_names:
        x, zone = read_starts(table.column("window_start"))
        axis = axis_of(x, zone, None if slide is None else slide.step)
        if axis.windows == 1:
            window, axis = describe_window(table), None
    found, left_out = split_series(table, groups, x, numbers(table.column(name)), most)
    if axis is None:  # bars read best from the largest down
        found = [found[i] for i in order_by_size(found)]
    else:
        if name in counts and axis.step:
            shared = slide is None or slide.shared
            ends = [(axis.low, axis.high) if shared else (one.x[0], one.x[-1]) for one in found]
            if slide is not None and slide.starts is not None:
                found = [fill_starts(one, read_starts(slide.starts)[0]) for one in found]
            else:
                found = [add_zeros(one, *end, axis.step) for one, end in zip(found, ends, strict=True)]
        axis, found = _localize(axis, x, found)
    drawn = Numbers(*(np.concatenate([getattr(s.y, part) for s in found]) for part in ("sign", "log10")))
    return Chart(shown, tuple(found), scale_of(drawn, axis is None), axis, title, by, left_out, window)


def _localize(axis: Axis, x: Array, found: Sequence[Series]) -> tuple[Axis, list[Series]]:
    """Return the axis and the series with times as clocks of their zone show them."""
    local, zone = localize(x, axis.zone)
    series = [replace(one, x=localize(one.x, axis.zone)[0]) for one in found]
    every = np.concatenate([local, *(one.x for one in series)])  # clocks are set back: the first may not be least
    return replace(axis, low=every.min(), high=every.max(), zone=zone), series


def describe_window(table: pa.Table) -> str:
    """Write the only window there is."""
    ends, zone = [], ""
    for name in WINDOW:
        if name in table.column_names:
            [end], zone = localize(*read_starts(table.column(name).slice(0, 1)))
            ends.append(end)
    return " to ".join(format_starts(*ends)) + (f" {zone}" if zone else "")
