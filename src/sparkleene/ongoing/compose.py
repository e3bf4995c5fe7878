"""Stretches of several tables put together: their matrices are multiplied in time order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.fields import value_type
from sparkleene.columns.options import Options
from sparkleene.columns.times import Time
from sparkleene.engine import execute
from sparkleene.engine.compile import Compiled, aggregates, compile
from sparkleene.engine.execute import Results
from sparkleene.engine.run import Only, clocked, prepare
from sparkleene.engine.stream import Stream, frozen, stream
from sparkleene.engine.windows import Windows, sliding, whole
from sparkleene.errors import Place
from sparkleene.kernels import linear
from sparkleene.kernels.chains import chains
from sparkleene.kernels.program import Field
from sparkleene.kernels.wide import WIDE
from sparkleene.kernels.windows import ticks
from sparkleene.language.bound import Key, Path
from sparkleene.ongoing.stretches import absolute, instants, key_columns, matrices, stretches, unpacked
from sparkleene.plan.plan import Plan
from sparkleene.threads import Pool, shares

__all__ = ["combines", "compose", "stretches"]

Array = np.ndarray[Any, Any]


def combines(plan: Plan, schema: pa.Schema, options: Options) -> str | None:
    """Return why stretches of tables of this schema cannot be put together, None where they can."""
    bound, window = plan.bound, plan.bound.window
    if plan.pairs:
        return "an adjacent predicate compares events one by one"
    if any(key.labels is not None for key in bound.keys):
        return "a key binds only some labels, so that a row is in several sub-streams"
    if window is not None and window.unit == "events":
        return "windows of events count the rows before them"
    if window is not None and window.slide is None:
        return "windows without a slide end where trends end"
    if options.numbers != "double":
        return "exact integers need the rows a second time"
    for _, path, maximum in aggregates(bound).lows:
        type = _type(schema, path)
        if type is not None and not _absolute(type):
            what = f"{'MAX' if maximum else 'MIN'} of '{'.'.join(path)}' ({type})"
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


def _absolute(type: pa.DataType) -> bool:
    """Tell whether values of a type are mostly doubles of themselves; `absolute` looks at the data."""
    t = pa.types
    if t.is_timestamp(type) or t.is_duration(type):
        return bool(type.unit != "ns")
    small = t.is_integer(type) and not t.is_uint64(type)
    return bool(
        small
        or t.is_floating(type)
        or t.is_boolean(type)
        or t.is_date(type)
        or t.is_time(type)
        or t.is_null(type)
    )


def compose(
    plan: Plan,
    units: pa.Table,
    rows: pa.Table,
    options: Options,
    threads: int = 1,
    place: Place = Place(),
    only: Only = None,
) -> tuple[Compiled, Stream, Windows, Results] | None:
    """Evaluate all windows of all sub-streams, or some, from what `stretches` made of parts of a table.

    Return None where stretches of a sub-stream overlap in time, or where keys of MIN and MAX do not agree.
    """
    if not units.num_rows:
        ordered, compiled, windows = prepare(plan, rows, options, threads, place, only)
        results = execute.run(compiled, compiled.program, windows.lo, windows.hi, windows.units, threads)
        return compiled, ordered, windows, results
    time, _, grid = clocked(plan, rows, options, place)
    ordered = stream(plan, rows, time, options.type, options.tiebreak, threads, place, options.masks)
    meant = absolute(rows, compile(plan, rows, ordered, False, threads, place), ordered, place)
    if meant is None:
        return None

    # What there is to put in order: the instants of the rows, then the units.
    when = frozen(instants(ordered.time))
    starts = ticks(when, ordered.bounds)
    pieces = starts.size - 1
    at = when[starts[:-1]]
    segment = np.searchsorted(ordered.bounds, starts[:-1], "right") - 1
    keys = key_columns(plan, rows, ordered, segment, starts[:-1], place)
    pane = np.zeros(pieces, np.int64)
    if grid is not None:
        clock = grid.clock(ordered.time)
        grid.check(clock, ordered.bounds)
        pane = (clock[starts[:-1]] - grid.base) // grid.width
    first = np.concatenate([at, units.column("first").to_numpy()])
    last = np.concatenate([at, units.column("last").to_numpy()])
    pane = np.concatenate([pane, units.column("pane").to_numpy()])
    joined = _joined(plan, keys, units, first, threads, place)
    order = np.arange(first.size) if joined.rows is None else joined.rows
    sub = np.repeat(np.arange(joined.bounds.size - 1), np.diff(joined.bounds))
    same = np.diff(sub) == 0
    if (same & (last[order[:-1]] >= first[order[1:]])).any():
        return None

    # Instants between which no unit and no end of a pane lies are one stretch.
    own = order < pieces
    follows = same & own[1:] & own[:-1] & (np.diff(pane[order]) == 0)
    run = np.flatnonzero(np.concatenate([[True], ~follows]))
    until = np.append(run[1:], order.size) - 1
    whose, ours = order[run], own[run]
    lo, hi = starts[whose[ours]], starts[order[until[ours]] + 1]
    matrix, low = (
        _mixed(ours, mine, units.column(name), whose[~ours] - pieces)
        for name, mine in zip(("matrix", "low"), matrices(meant, lo, hi, threads), strict=True)
    )
    merged = replace(
        joined,
        rows=None,
        bounds=np.searchsorted(run, joined.bounds).astype(np.int64),
        tick=frozen(first[whose]),
        time=frozen(pane[whose]),
        mask=np.ones(run.size, np.uint8),
        known_ties=False,
    )
    windows = whole(merged) if grid is None else sliding(merged, grid.by_panes()).within(only)
    return meant, merged, windows, _multiplied(meant, matrix, low, windows, threads)


def _joined(
    plan: Plan,
    keys: dict[str, pa.Array],
    units: pa.Table,
    first: Array,
    threads: int,
    place: Place,
) -> Stream:
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
    bound = replace(plan.bound, keys=tuple(Key((name,), None) for name in keys))
    times = Time(frozen(first), pa.int64(), None)
    flat = replace(plan, bound=bound)
    return stream(flat, pa.table(columns), times, None, None, threads, place, ("mask",))


def _mixed(ours: Array, mine: Array, column: pa.ChunkedArray, rows: Array) -> Array:
    """Return matrices in order: `mine` where they are ours, elsewhere those of some rows of a packed column."""
    out = np.empty((ours.size, *mine.shape[1:]), mine.dtype)
    out[ours] = mine
    out[~ours] = unpacked(column, mine.shape[1:], mine.dtype)[rows]
    return out


def _multiplied(compiled: Compiled, matrix: Array, low: Array, windows: Windows, threads: int) -> Results:
    """Multiply the matrices of all windows."""
    program = compiled.program
    lo, hi = windows.lo, windows.hi
    shape = (lo.size, program.classes)
    values = np.zeros((*shape, 1 + program.sum_labels.size), WIDE)
    lows = np.full((*shape, program.low_labels.size), np.inf)
    # A vector through a matrix is one of so many columns; sliding multiplies every matrix twice.
    apart = int((hi - lo).sum()) <= 2 * program.states * len(matrix)
    columns = 1 if apart else program.states
    field = Field(np.ones(columns, WIDE), np.zeros(columns, np.uint64))
    kernel = chains if apart else linear.slide

    def task(part: slice) -> None:
        kernel(program, field, matrix, low, lo[part], hi[part], values[part], lows[part])

    Pool(threads).map(task, shares(hi - lo, threads))
    return Results(values, lows)
