"""Queries that differ in their windows: the panes of the greatest common divisor are evaluated once for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.options import Options
from sparkleene.engine import execute
from sparkleene.engine.compile import compile
from sparkleene.engine.run import Evaluated, clocked
from sparkleene.engine.stream import stream
from sparkleene.engine.windows import Grid, sliding
from sparkleene.errors import Place
from sparkleene.language.bound import Window
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]


def together(
    plan: Plan,
    windows: Sequence[Window],
    states: Sequence[int],
    table: pa.Table,
    options: Options,
    threads: int,
    place: Place,
) -> list[Evaluated] | None:
    """Evaluate a plan in windows of several kinds, or return None where each kind by itself costs less.

    By itself a kind would have a machine of so many `states`.
    """
    if options.numbers == "exact" or plan.pairs:
        return None
    clocks = [clocked(_within(plan, one), table, options, place) for one in windows]
    times, grids = [time for time, _, _ in clocks], [grid for _, _, grid in clocks]
    known = [grid for grid in grids if grid is not None and not grid.events]
    if len(known) < len(grids) or any(time.values.dtype != np.int64 for time in times):
        return None
    if not all(np.array_equal(time.values, times[0].values) for time in times):
        return None
    rows = stream(plan, table, times[0], options.type, options.tiebreak, threads, place, options.masks)
    each = [sliding(rows, grid, options.numbered) for grid in known]
    compiled = compile(plan, table, rows, False, threads, place)
    spans = [(one.lo, one.hi) for one in each]
    if options.choice is None and not execute.composing_pays(compiled, spans, states):
        return None
    common = _common(known)

    def units() -> tuple[Array, Array]:
        return common.panes(rows.time, rows.bounds)[2:]

    found = execute.run_panes(compiled, spans, units, threads)
    return [(compiled, rows, one, results, None) for one, results in zip(each, found, strict=True)]


def _within(plan: Plan, window: Window) -> Plan:
    return replace(plan, bound=replace(plan.bound, window=window))


def _common(grids: Sequence[Grid]) -> Grid:
    """Return a grid whose panes are cut wherever one of the windows begins or ends."""
    first = grids[0]
    width = math.gcd(*(n for grid in grids for n in (grid.span, grid.step, grid.base - first.base)))
    return replace(first, width=width)
