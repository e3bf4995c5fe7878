"""Queries that differ in their windows: the panes of the greatest common divisor are evaluated once for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.engine import cost, execute
from sparkleene.engine.grid import common_grid
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.windows import grid_windows
from sparkleene.plan.part import Part

Array = np.ndarray[Any, Any]


def evaluate_by_panes(run: Run, kinds: Sequence[Part], table: pa.Table) -> list[Evaluated] | None:
    """Evaluate a part in the windows of several others, or return None where each of these costs less by itself."""
    if run.options.numbers == "exact" or run.plan.pairs:
        return None
    clocks = [replace(run, part=kind).clock(table) for kind in kinds]
    grids = [clock.grid for clock in clocks if clock.grid is not None and not clock.grid.events]
    times = [clock.time for clock in clocks]
    if len(grids) < len(clocks) or any(time.values.dtype != np.int64 for time in times):
        return None
    if not all(np.array_equal(time.values, times[0].values) for time in times):
        return None
    rows = run.order(table, times[0])
    windows = [grid_windows(rows, grid, run.options.numbered) for grid in grids]
    arrays, recipe = run.arrays(table, rows)
    spans = [(each.lo, each.hi) for each in windows]
    states = [len(kind.plan.machine.states) for kind in kinds]
    if run.options.choice is None and not cost.common_panes_pay(arrays, spans, states):
        return None
    common = common_grid(grids)

    def units() -> tuple[Array, Array]:
        return common.panes(rows.time, rows.bounds)[2:]

    found = execute.run_panes(arrays, windows, units, run.threads)
    return [Evaluated(run.part, recipe, rows, *each) for each in zip(windows, found, strict=True)]
