"""Trends as rows: the window, the group, how many trends there are, and the trend with its events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import make_array
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.times import Time
from sparkleene.engine.substreams import SubStreams
from sparkleene.engine.trend_search import Match, Trend
from sparkleene.engine.windows import Windows
from sparkleene.plan.plan import Plan

EVENTS = ("events", "events_2")
TAKEN = ("trends", "length", "duration", "length_2", "duration_2", *EVENTS)
"""Columns of the result: a group's attribute of such a name gets an underscore."""


@dataclass(frozen=True)
class TrendRows:
    """What rows of trends are written from."""

    plan: Plan
    table: pa.Table
    options: EngineOptions
    time: Time
    rows: SubStreams

    def write(self, windows: Windows, found: Sequence[tuple[int, Match]], counts: pa.Array) -> pa.Table:
        """Return the rows of matches, each with the number of its window, and how many matches are beside it."""
        which = np.array([w for w, _ in found], np.int64)
        columns: dict[str, Any] = {}
        columns.update(zip(("window_start", "window_end"), windows.borders(which), strict=False))
        group = make_array(self.rows.group[windows.segment[which]])
        for name in self.rows.groups.column_names:
            columns[free_name(name, TAKEN)] = self.rows.groups.column(name).take(group)
        columns["trends"] = counts
        parts = [[match[part] for _, match in found] for part in range(len(self.plan.machine.operands))]
        for part, end in zip(parts, ("", "_2"), strict=False):
            columns[f"length{end}"] = make_array([len(trend) for trend in part], pa.int64())
            columns[f"duration{end}"] = self._durations(part)
        for part, name in zip(parts, EVENTS, strict=False):
            columns[name] = self._events(part)
        return pa.table(columns)

    def _durations(self, found: list[Trend]) -> pa.Array:
        """Return what DURATION is for each trend: from its first event to its last, of clock times in seconds."""
        ends = np.array([(trend[-1][0], trend[0][0]) for trend in found], np.int64).reshape(-1, 2)
        first, last = self.rows.time[ends[:, 0]], self.rows.time[ends[:, 1]]
        unit = float(self.time.scale)
        if self.time.clock and self.time.ticks_per_ms is not None:
            unit = float(1000 * self.time.ticks_per_ms)
        return make_array((last - first) / unit, pa.float64())

    def _events(self, found: list[Trend]) -> pa.Array:
        """Return lists of events, each with its label, its row in the input, and the columns that are read."""
        table, rows = self.table, self.rows.rows
        flat = np.array([pair for trend in found for pair in reversed(trend)], np.int64).reshape(-1, 2)
        offsets = np.append(0, np.cumsum([len(trend) for trend in found], dtype=np.int64))
        place = flat[:, 0] if rows is None else rows[flat[:, 0]].astype(np.int64)
        names = make_array([label.name for label in self.plan.bound.labels], pa.string())
        fields: dict[str, pa.Array] = {"label": names.take(make_array(flat[:, 1]))}
        told = (self.options.time, self.options.type)
        heads = [name for name in told if name is not None and name in table.column_names]
        chosen = table.unify_dictionaries().take(make_array(place))
        for name in heads:
            fields[free_name(name, ("label", "row"))] = _plain(chosen.column(name))
        fields["row"] = make_array(place)
        for name in chosen.column_names:
            if name not in heads:
                fields[free_name(name, ("label", "row", *heads))] = _plain(chosen.column(name))
        events = pa.StructArray.from_arrays(list(fields.values()), list(fields))
        return pa.ListArray.from_arrays(make_array(offsets, pa.int32()), events)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, without a dictionary."""
    type = column.type
    return (column.cast(type.value_type) if pa.types.is_dictionary(type) else column).combine_chunks()


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name, with underscores if it is taken."""
    while name in taken:
        name += "_"
    return name
