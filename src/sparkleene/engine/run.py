"""One query over one table, in this process."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns.options import Options
from sparkleene.columns.times import Time, time_column, window_offset, window_units
from sparkleene.engine import exact, execute, finish
from sparkleene.engine.compile import Compiled, compile
from sparkleene.engine.stream import Stream, stream
from sparkleene.engine.windows import Grid, Windows, ending, grid, sliding, whole
from sparkleene.errors import Place
from sparkleene.kernels.wide import is_one, is_positive
from sparkleene.kernels.windows import ticks
from sparkleene.plan.plan import Plan
from sparkleene.threads import threads_of

Array = np.ndarray[Any, Any]


def run(
    plan: Plan,
    table: pa.Table,
    options: Options,
    threads: int | None = None,
    place: Place = Place(),
) -> pa.Table:
    """Evaluate a planned query over a table."""
    return finish.finish(plan, *evaluate(plan, table, options, threads_of(threads), place))


Evaluated = tuple[Compiled, Stream, Windows, execute.Results, list[list[list[int]]] | None]
"""What `finish.finish` and `partial.partial` are given: the results of all windows of all sub-streams."""


Only = tuple[int, int] | None
"""The windows that are wanted: their keys are greater than the first number and at most the second."""


def evaluate(
    plan: Plan,
    table: pa.Table,
    options: Options,
    threads: int,
    place: Place,
    only: Only = None,
    zeros: bool = False,
) -> Evaluated:
    """Evaluate all windows of all sub-streams, or some, in exact mode as integers too."""
    prepared = prepare(plan, table, options, threads, place, only)
    return aggregated(plan, table, options, *prepared, threads, place, zeros)


def aggregated(
    plan: Plan,
    table: pa.Table,
    options: Options,
    rows: Stream,
    compiled: Compiled,
    windows: Windows,
    threads: int,
    place: Place,
    zeros: bool = False,
) -> Evaluated:
    """Evaluate the windows that were found, or some of them; with `zeros` those without trends count too."""
    results = execute.run(compiled, compiled.program, windows.lo, windows.hi, windows.units, threads)
    if options.numbers != "exact":
        return compiled, rows, windows, results, None
    there = np.flatnonzero(zeros | is_positive(results.values[:, :, 0]).any(axis=1))
    windows = windows.where(there)
    results = execute.Results(results.values[there], results.lows[there])
    precise = compile(plan, table, rows, True, threads, place, True, options.choice)
    integers = exact.integers(precise, results, windows.lo, windows.hi, threads)
    return precise, rows, windows, results, integers


def prepare(
    plan: Plan,
    table: pa.Table,
    options: Options,
    threads: int,
    place: Place,
    only: Only = None,
) -> tuple[Stream, Compiled, Windows]:
    """Put a table in order, build the arrays for the kernels and find the windows, or some of them."""
    time, size, lie = clocked(plan, table, options, place)
    rows = stream(plan, table, time, options.type, options.tiebreak, threads, place, options.masks)
    interrupts.check()
    compiled = compile(plan, table, rows, False, threads, place, True, options.choice)
    interrupts.check()
    if size is None:
        return rows, compiled, whole(rows)
    if lie is None:
        return rows, compiled, _triggered(compiled, rows, time, size, threads, only)
    return rows, compiled, sliding(rows, lie, options.numbered).within(only)


def clocked(
    plan: Plan, table: pa.Table, options: Options, place: Place
) -> tuple[Time, Fraction | None, Grid | None]:
    """Return the times of a table, the windows' size by them, and where windows with a slide lie."""
    window = plan.bound.window
    time = time_column(table, options.time, options.time_unit, place, options.numbered)
    if window is None:
        return time, None, None
    size, slide, time = window_units(window, time, place)
    if slide is None:
        return time, size, None
    events = window.unit == "events"
    offset = Fraction(0) if events else window_offset(options, time)
    return time, size, grid(time, size, slide, offset, events)


def _triggered(
    compiled: Compiled, rows: Stream, time: Time, size: Fraction, threads: int, only: Only
) -> Windows:
    """Return the windows that end at a tick at which a trend of their group ends."""
    assert compiled.momentary is not None
    program = compiled.momentary
    # Candidates: ticks with a row whose label can finish a trend.
    enders = 0
    final = set(program.out_state.tolist())
    for label in range(program.off.size - 1):
        if final & set(program.dst[program.off[label] : program.off[label + 1]].tolist()):
            enders |= 1 << label
    starts = ticks(rows.tick, rows.bounds)
    ends_one = (
        program.labels & np.uint64(enders) != 0
    )  # by symbol, for labels of predicates are not in the mask
    chosen = np.flatnonzero(ends_one[compiled.events.symbol])
    number = np.unique(np.searchsorted(starts, chosen, "right") - 1)
    if only is not None:
        ends = rows.time[starts[number]]
        number = number[(ends > only[0]) & (ends <= only[1])]
    segment = np.searchsorted(rows.bounds, starts[number], "right") - 1
    subs = len(rows.bounds) - 1
    bounds = np.searchsorted(segment, np.arange(subs + 1)).astype(np.int64)
    windows = ending(rows, time, size, np.arange(subs), rows.time[starts[number]], bounds, starts[number + 1])
    found = execute.run(compiled, program, windows.lo, windows.hi, windows.units, threads)
    last = is_positive(found.values[:, :, 0])
    if program.classes == 1:
        fires = last[:, 0]
    else:  # a pair counts when its later trend ends
        count = execute.run(compiled, compiled.program, windows.lo, windows.hi, windows.units, threads)
        first, second, both = (is_positive(count.values[:, kind, 0]) for kind in range(3))
        single = is_one(count.values[:, 2, 0])
        fires = (last[:, 0] & (second | both)) | (last[:, 1] & (first | both))
        fires |= last[:, 2] & (first | second | (both & ~single))
    fired = windows.where(np.flatnonzero(fires))
    group = rows.group[fired.segment]
    ends, bounds = _distinct(group, fired.key, int(rows.group.max(initial=-1)) + 1)
    return ending(rows, time, size, rows.group, ends, bounds)


def _distinct(owner: Array, time: Array, owners: int) -> tuple[Array, Array]:
    """Return the distinct times of each owner, ascending, and where each owner's begin."""
    order = np.lexsort((time, owner))
    owner, time = owner[order], time[order]
    new = np.flatnonzero(np.r_[True, (np.diff(owner) != 0) | (np.diff(time) != 0)]) if owner.size else order
    owner, time = owner[new], time[new]
    return time, np.searchsorted(owner, np.arange(owners + 1)).astype(np.int64)
