"""Variances that keep their digits: each window that needs it is evaluated again, from its own mean.

A first pass counts from the mean of the whole column. Where a window's own mean is far from that, little is left of
the variance. Such a window is run once more, with the differences to its own mean. Windows that overlap have
different means, so those of one run do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.engine.arrays import Arrays, Recipe
from sparkleene.engine.execute import Results
from sparkleene.engine.outputs import write_parts
from sparkleene.engine.substreams import read_only
from sparkleene.engine.weights import Unit, Weights
from sparkleene.engine.whole_trends import run_windows
from sparkleene.engine.windows import Windows, rows_between
from sparkleene.kernels.wide import is_positive, to_double, to_wide
from sparkleene.language.ast import And
from sparkleene.plan.aggregates import SPREADS, Made
from sparkleene.plan.part import Part

FAR = 1e-3  # of the squares: a variance below that has lost digits that are worth a second pass


def find_spreads(
    part: Part, weights: Weights, arrays: Arrays, recipe: Recipe, windows: Windows, results: Results
) -> dict[int, Array]:
    """Return variance, mean and number of values [windows, classes, 3] for outputs that are spreads of attributes.

    These are named by their places in the recipe.
    """
    if isinstance(part.plan.bound.pattern, And) and not part.is_shared:
        return {}  # pairs of trends have no values of their own
    found = {}
    for place, made in enumerate(recipe.outputs):
        if made.output.function not in SPREADS or made.output.measure is not None:
            continue
        kinds = range(results.values.shape[1])
        parts = np.stack([write_parts(made, results.values[:, kind], recipe.units) for kind in kinds], 1)
        for kind in kinds:
            doubtful = _is_doubtful(parts[:, kind], recipe.units[made.of[1]])
            for some in _divide_windows(windows, np.flatnonzero(doubtful)):
                centre = to_double(parts[some, kind, 1])
                again = _run_again(made, centre, weights, arrays, windows.where(some))[:, kind]
                better = write_parts(made, again, tuple(Unit(1.0, 0.0) for _ in recipe.units))
                better[:, 1] = to_wide(to_double(better[:, 1]) + centre)
                parts[some, kind] = better
        found[place] = parts
    return found


def _is_doubtful(parts: Array, unit: Unit) -> Array:
    """Tell where a variance is small beside the distance of the mean from where values were counted from."""
    variance, mean = to_double(parts[:, 0]), to_double(parts[:, 1])
    distance = mean - unit.centre
    return is_positive(parts[:, 2]) & np.isfinite(mean) & (variance < FAR * distance**2)


def _divide_windows(windows: Windows, chosen: Array) -> Iterator[Array]:
    """Divide windows into sets of such that do not overlap."""
    sets: list[list[int]] = []
    ends: list[int] = []
    order = chosen[np.argsort(windows.lo[chosen], kind="stable")]
    for window, begin, end in zip(
        order.tolist(), windows.lo[order].tolist(), windows.hi[order].tolist(), strict=True
    ):
        place = next((i for i, last in enumerate(ends) if last <= begin), len(ends))
        if place == len(ends):
            sets.append([])
            ends.append(0)
        sets[place].append(window)
        ends[place] = end
    for one in sets:
        yield np.array(sorted(one), np.int64)


def _run_again(made: Made, centre: Array, weights: Weights, arrays: Arrays, windows: Windows) -> Array:
    """Return the aggregates of windows that do not overlap, each with the differences to its own centre."""
    column = weights.column(made.output.path, made.output.span).copy()
    column[rows_between(windows.lo, windows.hi)] -= np.repeat(centre, windows.hi - windows.lo)
    if arrays.backward:
        column = column[::-1]
    program, sums = arrays.program, arrays.events.sums.copy()
    for total, values in zip(made.of[:2], (column * column, column), strict=True):
        rows = {int(row) for row in program.sum_row[total] if row >= 0}
        for row in rows:
            sums[row] = values
    events = arrays.events._replace(sums=read_only(sums))
    largest = max(arrays.largest, float(np.nanmax(np.abs(sums), initial=1.0)))
    again = replace(arrays, events=events, bursts=None, largest=largest)
    return run_windows(again, replace(windows, composes=False), weights.threads).values
