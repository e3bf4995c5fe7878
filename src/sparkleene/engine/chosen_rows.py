"""The rows of a group and window that a person asks about, and a query of what is in that window alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import Array, make_array, make_scalar
from sparkleene.columns.fields import decode, find_column, simplify
from sparkleene.columns.labels import label_masks
from sparkleene.columns.times import Time
from sparkleene.engine.grid import Clock, Grid, trailing_starts
from sparkleene.engine.results import write_results
from sparkleene.engine.run import Run
from sparkleene.engine.trend_rows import TAKEN, free_name
from sparkleene.engine.trends import count_only, find_trends
from sparkleene.engine.windows import WINDOW, KeyRange, rows_between
from sparkleene.errors import Place
from sparkleene.language.bound import Bound, Drawn, Key, Window
from sparkleene.plan.part import Part
from sparkleene.plan.plan import plan
from sparkleene.plan.text import attribute
from sparkleene.plan.trend_selection import Selection

WINDOW_KEY = Key(("\0window",), None)
"""What stands for windows that rows draw, where some of these rows are taken away."""

Values = Mapping[int, Any]  # of keys, by their places in the query


@dataclass(frozen=True)
class Chosen:
    """Rows of a group and window; `run` has no window if one was chosen, and rows that are not in it are gone.

    Windows of events stay, for each sub-stream has its own: there `key` is the number of the one that is meant.
    """

    run: Run
    rows: pa.Table
    group_rows: pa.Table  # in and outside of the window
    values: Values  # that keys of the query have here
    window: Window | Drawn | None  # of the query as it was written
    key: int | None
    borders: tuple[Any, Any] | None  # of the window, as results have them
    where: str  # in words

    def find_trends(self, selection: Selection) -> pa.Table:
        """Return some of the trends of the group and window."""
        wanted: KeyRange = None if self.key is None else (self.key - 1, self.key)
        found = find_trends(self.run, self.rows, selection, wanted=wanted)
        bound = self.run.plan.bound
        for place, name in zip(bound.group, bound.group_names, strict=True):
            if place in self.values:
                column = found.column(free_name(name, TAKEN))
                found = found.filter(equals(self.run.place, column, self.values[place]))
        return found


def choose_rows(run: Run, table: pa.Table, group: Mapping[str, Any], window: Any) -> Chosen:
    """Return the rows of a group and of the latest window that holds a time."""
    bound = run.plan.bound
    values = find_keys(bound, group, run.place)
    words = [f"{name}={value}" for name, value in group.items()]
    drawn = isinstance(bound.window, Drawn)
    # All rows of what GROUP-BY groups draw its windows, whatever their other keys.
    table = keep_group(run, table, values, [k for k in values if not drawn or k in bound.group])
    others = [k for k in values if drawn and k not in bound.group]
    if window is None:
        rows = group_rows = keep_group(run, table, values, others)
        if others:
            run, fixed = _fix_windows(run, table)
            rows = keep_group(run, fixed, values, others)
        return Chosen(run, rows, group_rows, values, bound.window, None, None, ", ".join(words))
    if bound.window is None:
        raise run.place.mistake("bad-option", "the query has no windows", help="leave out the window")
    key = None
    if isinstance(bound.window, Window) and bound.window.unit == "events":
        rows = table
        key, start, end = _events_window(run, table, window)
    else:
        inside, start, end = _time_window(run, table, window)
        rows = table.filter(make_array(inside))
        run = change_query(run, replace(bound, window=None))
    words.append(f"the window from {start} to {end}")
    rows, group_rows = (keep_group(run, one, values, others) for one in (rows, table))
    return Chosen(run, rows, group_rows, values, bound.window, key, (start, end), ", ".join(words))


def change_query(run: Run, bound: Bound) -> Run:
    """Return a run of another query."""
    return replace(run, part=Part.single(run.part.names[0], plan(bound, run.place), run.place), memo=None)


# ---- groups


def find_keys(bound: Bound, group: Mapping[str, Any], place: Place) -> dict[int, Any]:
    """Return the values of keys by their places; a key has the name of its column in the result, or of its own."""
    named = {name: [k] for name, k in zip(bound.group_names, bound.group, strict=True)}
    for name in group:
        if name not in named:
            named[name] = [
                k
                for k, key in enumerate(bound.keys)
                if name in (".".join(key.path), attribute(bound, key.labels, key.path))
            ]
        if not named[name]:
            shown = dict(zip(bound.group, bound.group_names, strict=True))
            known = [shown.get(k, ".".join(key.path)) for k, key in enumerate(bound.keys)]
            help = f"its keys are {', '.join(dict.fromkeys(known)) or 'none'}"
            raise place.mistake("bad-option", f"'{name}' is no key of the query", help=help)
    return {k: value for name, value in group.items() for k in named[name]}


def keep_group(run: Run, table: pa.Table, values: Values, keys: Sequence[int]) -> pa.Table:
    """Return the rows that have the values of some keys; those that a key does not bind have any."""
    bound = run.plan.bound
    for k in keys:
        key = bound.keys[k]
        derived = run.with_derived(table)
        keep = equals(run.place, find_column(derived, key.path, run.place), values[k]).fill_null(False)
        if key.labels is not None:
            mask = label_masks(bound.without_local(), derived, run.options.type, run.place)
            bound_by = mask.dtype.type(sum(1 << label for label in key.labels))
            keep = pc.or_(keep, make_array((mask & ~bound_by != 0) | (mask == 0)))
        table = table.filter(keep)
    return table


def equals(place: Place, column: Any, value: Any) -> Any:
    """Tell of each value of a column whether it is what a person gave."""
    column = decode(simplify(column))
    return pc.equal(column, as_scalar(place, value, column.type))


def as_scalar(place: Place, value: Any, type: pa.DataType) -> pa.Scalar:
    """Return a value that a person gave as one of a column's type."""
    try:
        if pa.types.is_timestamp(type) and isinstance(value, str):
            plain = make_scalar(value.removesuffix("Z")).cast(pa.timestamp(type.unit))
            return plain if type.tz is None else pa.scalar(plain.value, type)
        return make_scalar(value).cast(type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise place.mistake("bad-option", f"'{value}' is no {type}", notes=[str(error)]) from None


# ---- windows


def _fix_windows(run: Run, table: pa.Table) -> tuple[Run, pa.Table]:
    """Return the query with a key instead of windows that rows draw, and the rows that are in some window."""
    # Then rows can be taken away, and the windows stay as they are.
    bound = run.plan.bound
    drawing = run.drawing(table, run.clock(table))
    groups = drawing.order_groups()
    _, lo, hi, _ = drawing.find(groups)
    inside = rows_between(lo, hi)
    number = np.full(table.num_rows, -1, np.int64)
    number[inside if groups.rows is None else groups.rows[inside]] = np.repeat(np.arange(lo.size), hi - lo)
    table = table.append_column(WINDOW_KEY.path[0], make_array(number)).filter(make_array(number >= 0))
    return change_query(run, replace(bound, window=None, keys=(*bound.keys, WINDOW_KEY))), table


def _time_window(run: Run, table: pa.Table, given: Any) -> tuple[Array, Any, Any]:
    """Tell which rows are in the latest window that holds a time, where it begins and where it ends."""
    clock = run.clock(table)
    time = clock.time
    scalar = as_scalar(run.place, given, time.type)
    at = np.array([scalar.value if time.clock else scalar.as_py()], time.values.dtype)
    if isinstance(run.plan.bound.window, Drawn):
        found = _drawn_window(run, table, clock, at[0])
    elif clock.grid is not None:
        found = _grid_window(clock.grid, time, at)
    else:
        found = _trailing_window(run, table, clock, at[0])
    if found is None:
        raise run.place.mistake("bad-option", f"no window with rows of the group holds {given}")
    inside, borders = found
    start, end = (border[0].as_py() for border in borders)
    return inside, start, end


Found = tuple[Array, Sequence[pa.Array]]  # which rows are in a window, and its borders


def _grid_window(grid: Grid, time: Time, at: Array) -> Found | None:
    """Find a window of WITHIN and SLIDE."""
    here, clock = int(grid.clock(at)[0]), grid.clock(time.values)
    key = np.minimum((clock - grid.base) // grid.step, grid.last_started(here))
    over = np.maximum((clock - grid.base - grid.span) // grid.step, grid.last_closed(here))
    key = key[key > over]
    if not key.size:
        return None
    best = int(key.max())
    inside = (clock >= grid.start(best)) & (clock < grid.end(best))
    return inside, grid.columns(np.array([best]))


def _trailing_window(run: Run, table: pa.Table, clock: Clock, at: Any) -> Found | None:
    """Find a window of WITHIN alone: one that ends where a trend does or, where none holds the time, a row is."""
    assert clock.size is not None
    time = clock.time
    counted = replace(run, part=run.part.map(count_only))
    ends = counted.prepare(table)[3].key
    for some in (ends, time.values):
        holding = some[(trailing_starts(some, clock.size) < at) & (at <= some)]
        if holding.size:
            end = holding.max(keepdims=True)
            start = trailing_starts(end, clock.size)
            inside = (time.values > start) & (time.values <= end)
            return inside, [time.to_array(start), time.to_array(end)]
    return None


def _drawn_window(run: Run, table: pa.Table, clock: Clock, at: Any) -> Found | None:
    """Find a window that rows draw; of groups whose windows are different it is the latest."""
    drawing = run.drawing(table, clock)
    groups = drawing.order_groups()
    _, lo, hi, _ = drawing.find(groups)
    time = clock.time.values if groups.rows is None else clock.time.values[groups.rows]
    gap: Any = clock.gap or 0
    gap = float(gap) if time.dtype == np.float64 else int(gap)
    first, last = time[lo], time[hi - 1]
    holding = np.flatnonzero((first <= at) & (at <= last + gap))
    if not holding.size:
        return None
    best = holding[np.lexsort((last[holding], first[holding]))[-1]]
    same = (first == first[best]) & (last == last[best])
    chosen = rows_between(lo[same], hi[same])
    inside = np.zeros(table.num_rows, bool)
    inside[chosen if groups.rows is None else groups.rows[chosen]] = True
    return inside, [clock.time.to_array(first[best : best + 1]), clock.time.to_array(last[best : best + 1] + gap)]


def _events_window(run: Run, table: pa.Table, given: Any) -> tuple[int, Any, Any]:
    """Return the number of the latest window of events that holds a row's number, where it begins and ends."""
    counted = replace(run, part=run.part.map(count_only))
    found = write_results(counted.evaluate(table, zeros=True), zeros=True)
    starts, ends = (np.asarray(found.column(name)) for name in WINDOW)
    at = as_scalar(run.place, given, pa.int64()).as_py()
    holding = np.flatnonzero((starts <= at) & (at < ends))
    if not holding.size:
        raise run.place.mistake("bad-option", f"no window with rows of the group holds {given}")
    best = holding[np.argmax(starts[holding])]
    window = run.plan.bound.window
    assert isinstance(window, Window) and window.slide is not None
    return int(starts[best] // int(window.slide)), int(starts[best]), int(ends[best])
