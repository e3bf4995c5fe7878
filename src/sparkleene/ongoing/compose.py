"""Stretches of several tables put together: their matrices are multiplied in time order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, as_numpy
from sparkleene.columns.fields import value_type
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.times import Time
from sparkleene.engine import cost
from sparkleene.engine.arrays import Arrays, Recipe
from sparkleene.engine.execute import Results, run_windows, stretch_matrices
from sparkleene.engine.grid import Grid
from sparkleene.engine.memo import Memo
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.substreams import SubStreams, instants, order_rows, read_only
from sparkleene.engine.windows import KeyRange, Windows, grid_windows
from sparkleene.kernels.matrices import chain, slide
from sparkleene.kernels.program import NumberSystem
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE
from sparkleene.kernels.windows import ticks
from sparkleene.language.bound import Drawn, Key, Measure, Path
from sparkleene.ongoing.matrix_bytes import unpack_matrices
from sparkleene.ongoing.stretches import key_columns, with_absolute_keys
from sparkleene.plan.plan import Plan
from sparkleene.threads import Pool, shares


def why_not_combined(plan: Plan, schema: pa.Schema, options: EngineOptions) -> str | None:
    """Return why stretches of tables of this schema cannot be put together, None where they can."""
    bound, window = plan.bound, plan.bound.window
    if plan.pairs:
        return "an adjacent predicate compares events one by one"
    if plan.whole is not None:
        return "trends are chosen by their first and last events, for which the rows themselves are needed"
    if plan.aggregates.each:
        return "EACH needs the rows themselves, to tell which of them are in a trend"
    if any(key.labels is not None for key in bound.keys):
        return "a key binds only some labels, so that a row is in several sub-streams"
    if window is not None and window.unit == "events":
        return "windows of events count the rows before them"
    if isinstance(window, Drawn):
        return "windows begin and end where all rows of their group say"
    if window is not None and window.slide is None:
        return "windows without a slide end where trends end"
    if options.numbers == "exact":
        return "exact integers need the rows a second time"
    if plan.aggregates.spreads:
        return "VAR and STDDEV keep their digits by a number near the mean of all rows"
    for low in plan.aggregates.lows:
        pieces = low.of.pieces if isinstance(low.of, Measure) else (low.of,)
        for path in (piece.path for piece in pieces if piece.path):
            type = _type(schema, path)
            if type is not None and not _has_absolute_keys(type):
                what = f"{'MAX' if low.maximum else 'MIN'} of '{'.'.join(path)}' ({type})"
                return f"{what} needs all its values to order them"
    return None


def _type(schema: pa.Schema, path: Path) -> pa.DataType | None:
    """Return the type of an attribute's values, None where there is no such attribute."""
    fields: Any = schema
    for name in path:
        at = fields.get_field_index(name) if fields is schema or pa.types.is_struct(fields) else -1
        if at < 0:
            return None
        fields = fields.field(at).type
    return value_type(fields)


def _has_absolute_keys(type: pa.DataType) -> bool:
    """Tell whether values of a type may be compared across tables as doubles; `with_absolute_keys` checks each."""
    t = pa.types
    if t.is_timestamp(type) or t.is_duration(type):
        return bool(type.unit != "ns")
    small = t.is_integer(type) and not t.is_uint64(type)
    return bool(
        small or t.is_floating(type) or t.is_boolean(type) or t.is_date(type) or t.is_time(type) or t.is_null(type)
    )


def compose(run: Run, units: pa.Table, table: pa.Table, wanted: KeyRange = None) -> Evaluated | None:
    """Evaluate all windows of all sub-streams, or some, from what `stretches` made of parts of a table.

    Return None where stretches of a sub-stream overlap in time, or where keys of MIN and MAX do not agree.
    """
    if not units.num_rows:
        rows, arrays, recipe, windows = run.prepare(table, wanted)
        return Evaluated(run.part, recipe, rows, windows, run_windows(arrays, windows, run.threads))
    ordered = order_units(run, units, table)
    if ordered is None:
        return None
    grid = run.clock(table).grid
    return ordered.evaluate(run, None if grid is None else grid.by_panes(), wanted)


class OrderedUnits(NamedTuple):
    """Stretches of rows and units in the order of sub-streams and time, by the panes that they are in."""

    rows: SubStreams
    arrays: Arrays
    recipe: Recipe
    matrix: Array
    low: Array

    def evaluate(self, run: Run, grid: Grid | None, wanted: KeyRange) -> Evaluated:
        """Evaluate windows that lie by the numbers of panes."""
        windows = grid_windows(self.rows, grid).within(wanted)
        results = _multiply(self.arrays, self.matrix, self.low, windows, run.threads)
        return Evaluated(run.part, self.recipe, self.rows, windows, results)


def order_units(run: Run, units: pa.Table, table: pa.Table) -> OrderedUnits | None:
    """Put units and the rows after them in order; return None where `compose` does."""
    time, _, grid, *_ = run.clock(table)
    rows = run.order(table, time)
    absolute = with_absolute_keys(table, *run.arrays(table, rows), rows, run.place)
    if absolute is None:
        return None
    arrays, recipe = absolute

    # What there is to put in order: the instants of the rows, then the units.
    when = read_only(instants(rows.time))
    starts = ticks(when, rows.bounds)
    pieces = starts.size - 1
    at = when[starts[:-1]]
    segment = np.searchsorted(rows.bounds, starts[:-1], "right") - 1
    keys = key_columns(run, table, rows, segment, starts[:-1])
    pane = np.zeros(pieces, np.int64)
    if grid is not None:
        clock = grid.clock(rows.time)
        grid.check(clock, rows.bounds)
        pane = grid.pane_of(clock[starts[:-1]])
    first = np.concatenate([at, as_numpy(units.column("first"))])
    last = np.concatenate([at, as_numpy(units.column("last"))])
    pane = np.concatenate([pane, as_numpy(units.column("pane"))])
    joined = order_pieces(run, keys, units, first)
    order = np.arange(first.size) if joined.rows is None else joined.rows
    sub = np.repeat(np.arange(joined.bounds.size - 1), np.diff(joined.bounds))
    same = np.diff(sub) == 0
    if (same & (last[order[:-1]] >= first[order[1:]])).any():
        return None

    # Instants between which no unit and no end of a pane lies are one stretch.
    of_rows = order < pieces
    follows = same & of_rows[1:] & of_rows[:-1] & (np.diff(pane[order]) == 0)
    start = np.flatnonzero(np.concatenate([[True], ~follows]))
    until = np.append(start[1:], order.size) - 1
    whose, ours = order[start], of_rows[start]
    lo, hi = starts[whose[ours]], starts[order[until[ours]] + 1]
    matrix, low = (
        _mix(ours, mine, units.column(name), whose[~ours] - pieces)
        for name, mine in zip(("matrix", "low"), stretch_matrices(arrays, lo, hi, run.threads), strict=True)
    )
    merged = replace(
        joined,
        rows=None,
        bounds=np.searchsorted(start, joined.bounds).astype(np.int64),
        tick=read_only(first[whose]),
        time=read_only(pane[whose]),
        mask=np.ones(start.size, np.uint8),
        known_ties=False,
    )
    return OrderedUnits(merged, arrays, recipe, matrix, low)


def order_pieces(run: Run, keys: dict[str, pa.Array], units: pa.Table, first: Array) -> SubStreams:
    """Order the instants of rows, with these keys, and the units after them."""
    columns: dict[str, Any] = {"mask": np.ones(first.size, np.uint8)}
    for name, values in keys.items():
        column = units.column(name)
        type = pa.dictionary(pa.int32(), value_type(column.type))
        if pa.types.is_dictionary(column.type):
            parts = [values.cast(type), *column.cast(type).chunks]
        else:
            plain = values.dictionary.cast(column.type).take(values.indices)
            parts = [plain, *column.chunks]
        columns[name] = pa.chunked_array(parts)
    bound = replace(run.plan.bound, keys=tuple(Key((name,), None) for name in keys))
    times = Time(read_only(first), pa.int64(), None)
    flat = replace(run.plan, bound=bound)
    options = EngineOptions(type=None, masks=("mask",))
    return order_rows(flat, pa.table(columns), times, options, run.threads, run.place, Memo())


def _mix(ours: Array, mine: Array, column: pa.ChunkedArray, rows: Array) -> Array:
    """Return matrices in order: `mine` where they are ours, elsewhere those of some rows of a packed column."""
    out = np.empty((ours.size, *mine.shape[1:]), mine.dtype)
    out[ours] = mine
    out[~ours] = unpack_matrices(column, mine.shape[1:], mine.dtype)[rows]
    return out


def _multiply(arrays: Arrays, matrix: Array, low: Array, windows: Windows, threads: int) -> Results:
    """Multiply the matrices of all windows."""
    program, lo, hi = arrays.program, windows.lo, windows.hi
    results = Results.empty(program, lo.size)
    vectors = cost.vectors_pay(program, lo, hi, len(matrix))
    columns = 1 if vectors else program.states
    field = NumberSystem(np.ones(columns, WIDE), np.zeros(columns, np.uint64))
    kernel, units = chain if vectors else slide, Table(matrix, low)

    def task(part: slice) -> None:
        out = Table(results.values[part], results.lows[part])
        kernel(program, field, units, lo[part], hi[part], out, arrays.events.stop)

    Pool(threads).map(task, shares(hi - lo, threads))
    return results
