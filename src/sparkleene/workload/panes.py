"""Queries that differ in their windows: windows that hold the same rows, or panes of all, are evaluated once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array
from sparkleene.engine import cost, execute
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.windows import Windows, grid_windows
from sparkleene.plan.part import Part


def evaluate_by_panes(run: Run, kinds: Sequence[Part], table: pa.Table) -> list[Evaluated] | None:
    """Evaluate a part in the windows of several others, or return None where each of these costs less by itself."""
    plan = run.plan
    exact = run.options.numbers == "exact"
    if run.options.numbers == "long" or plan.pairs or plan.whole is not None or plan.aggregates.spreads:
        return None
    clocks = [replace(run, part=kind).clock(table) for kind in kinds]
    grids = [clock.grid for clock in clocks if clock.grid is not None and not clock.grid.events]
    times = [clock.time for clock in clocks]
    if len(grids) < len(clocks) or any(time.values.dtype != np.int64 for time in times):
        return None
    if not all(np.array_equal(time.values, times[0].values) for time in times):
        return None
    asked = run.options.forced_bursts is not None
    overlaps = [(kind.plan, grid.overlap) for kind, grid in zip(kinds, grids, strict=True)]
    if not asked and not cost.joint_may_pay(plan, overlaps):
        return None
    rows = run.order(table, times[0], pruned=True)
    windows = [grid_windows(rows, grid, run.options.numbered) for grid in grids]
    arrays, recipe = run.arrays(table, rows)
    spans = [(each.lo, each.hi) for each in windows]
    union, places = _find_different(spans, len(rows.tick))
    found_kinds = [
        cost.Kind(span, kind.plan, _labels(run.part, kind)) for span, kind in zip(spans, kinds, strict=True)
    ]
    way = cost.joint_way(arrays, found_kinds, union, plan, asked, exact)
    if way is None:
        return None
    if exact:
        number = np.arange(union[0].size)
        once = run.aggregate(table, rows, arrays, recipe, Windows(number, number, *union, False, lambda key: []))
        return [_take_own(once, *each) for each in zip(windows, places, strict=True)]
    if way == "each":
        none = np.zeros(0, np.int64)
        counted = execute.run_windows(arrays, Windows(none, none, *union, False, lambda key: []), run.threads)
        found = [counted.where(place) for place in places]
    else:
        found = execute.run_panes(arrays, windows, run.threads)
    return [Evaluated(run.part, recipe, rows, *each) for each in zip(windows, found, strict=True)]


def _take_own(once: Evaluated, windows: Windows, place: Array) -> Evaluated:
    """Return what is of one kind's windows, among those of all kinds that have trends, by their numbers."""
    at = np.full(max(place.max(initial=-1), once.windows.key.max(initial=-1)) + 1, -1)
    at[once.windows.key] = np.arange(once.windows.key.size)
    there = np.flatnonzero(at[place] >= 0)
    results = once.results.where(at[place[there]])
    return replace(once, windows=windows.where(there), results=results)


def _labels(whole: Part, kind: Part) -> int:
    """Return the labels that queries of one kind have among those of all."""
    machine, names = whole.plan.machine, set(kind.names)
    operands = zip(whole.names, machine.operands, strict=True)
    return reduce(or_, (operand.every_label for name, operand in operands if name in names))


def _find_different(spans: Sequence[cost.Span], rows: int) -> tuple[cost.Span, list[Array]]:
    """Return the windows of all kinds that hold different rows, and where among them those of each kind are."""
    code = np.concatenate([lo * (rows + 1) + hi for lo, hi in spans])
    different, place = np.unique(code, return_inverse=True)
    cuts = np.cumsum([lo.size for lo, _ in spans])[:-1]
    return (different // (rows + 1), different % (rows + 1)), np.split(place, cuts)
