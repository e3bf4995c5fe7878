"""Variances that keep their digits: each window that needs it is evaluated again, from its own mean.

A first pass counts from the mean of the whole column. Where a window's own mean is far from that, little is left of
the variance. Such a window is run once more, with the differences to its own mean. Windows that overlap have
different means, so those of one run do not.

A measure has no such number to count from, for trends have more or fewer events. Where little is left of its
variance, the least and the greatest value tell whether all trends have the same; if not, it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparkleene.columns.arrow import Array, as_numpy
from sparkleene.engine.arrays import Arrays, Recipe
from sparkleene.engine.execute import Results
from sparkleene.engine.outputs import rounding_error, write_parts
from sparkleene.engine.substreams import read_only
from sparkleene.engine.weights import Unit, Weights
from sparkleene.engine.whole_trends import run_windows
from sparkleene.engine.windows import Windows, rows_between
from sparkleene.errors import DataError, Diagnostic
from sparkleene.kernels.wide import is_positive, log2, to_double, to_wide
from sparkleene.language.ast import And
from sparkleene.plan.aggregates import SPREADS, Made
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan

FAR = 1e-3  # of the squares: a variance below that has lost digits that are worth a second pass
DIGITS = 1e-3  # of a variance, that may be wrong
EQUAL = 2.0**-47  # of values, by which those that should be the same may differ

Build = Callable[[Plan], tuple[Arrays, Recipe]]


def find_spreads(
    part: Part, weights: Weights, arrays: Arrays, recipe: Recipe, windows: Windows, results: Results, build: Build
) -> dict[int, Array]:
    """Return variance, mean and number of values [windows, classes, 3] for outputs that are spreads.

    These are named by their places in the recipe. `build` makes the arrays of another plan over the same rows.
    """
    if isinstance(part.plan.bound.pattern, And) and not part.is_shared:
        return {}  # pairs of trends have no values of their own
    found = {}
    for place, made in enumerate(recipe.outputs):
        if made.output.function not in SPREADS:
            continue
        if made.output.measure is not None:
            spread = _MeasureSpread(part, made, recipe, build, weights)
            found[place] = spread.check(_by_query(part, results.values), windows)
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


class _MeasureSpread(NamedTuple):
    """The variance of a measure."""

    part: Part
    made: Made
    recipe: Recipe
    build: Build
    weights: Weights

    def check(self, values: Array, windows: Windows) -> Array:
        """Return variance, mean and number of values [windows, classes, 3], or raise where digits are lost."""
        made, units = self.made, self.recipe.units
        kinds = range(values.shape[1])
        parts = np.stack([write_parts(made, values[:, kind], units) for kind in kinds], 1)
        error = np.stack([rounding_error(made, values[:, kind], units) for kind in kinds], 1)
        alone = to_double(parts[..., 2]) <= 1.0
        parts[alone, 0], error[alone] = 0.0, 0.0
        doubtful = (error > DIGITS * to_double(parts[..., 0])).any(axis=0)  # where no window is, no cell is
        for kind in np.flatnonzero(doubtful).tolist():
            cells = _Cells.of(windows, self.weights.rows.group, is_positive(parts[:, kind, 2]))
            lost = cells.find_lost(parts[:, kind], error[:, kind])
            some = np.unique(cells.window[lost[cells.cell] & (error[cells.window, kind] > 0)])
            if not some.size:
                continue
            least, greatest = self._ends(windows.where(some), kind)
            width = np.zeros(len(parts))
            width[some] = greatest - least
            equal = some[width[some] <= EQUAL * np.maximum(np.abs(least), np.abs(greatest))]
            parts[equal, kind, 0], error[equal, kind] = 0.0, 0.0
            times = units[made.of[1]].scale != 1.0
            if cells.find_lost(parts[:, kind], error[:, kind], width, times).any():
                raise self._digits_error(times)
        return parts

    def _ends(self, windows: Windows, kind: int) -> tuple[Array, Array]:
        """Return the least and the greatest value of the measure in windows."""
        plan, output = self.part.plan, self.made.output
        ends = [replace(output, function=function, name=function, log=None) for function in ("min", "max")]
        arrays, recipe = self.build(replace(plan, bound=replace(plan.bound, outputs=tuple(ends))))
        lows = _by_query(self.part, run_windows(arrays, windows, self.weights.threads).lows)[:, kind]
        found = []
        for made in recipe.outputs:
            keys = lows[:, made.block * len(recipe.lows) + made.of[0]]
            values = recipe.lows[made.of[0]](np.where(np.isinf(keys), 0.0, keys))
            found.append(as_numpy(values).astype(np.float64))
        return found[0], found[1]

    def _digits_error(self, times: bool) -> DataError:
        """Return the error for a variance of which too little is left."""
        name = self.made.output.function.upper()
        message = f"{name} of values that differ little beside their size has lost its digits"
        help = "take a number near their mean off the values, SUM(A.x - 1000), if all trends have as many of them"
        if times:
            message = (
                f"{name} of durations that are much shorter than the time that windows span has lost its digits"
            )
            help = "use windows that do not overlap, or shorter ones"
        return DataError([Diagnostic("not-exact", message, help=help)])


class _Cells(NamedTuple):
    """Windows of sub-streams by window and group, as results put them together."""

    window: Array  # one for each window of a sub-stream
    cell: Array
    size: int

    @classmethod
    def of(cls, windows: Windows, group: Array, there: Array) -> _Cells:
        """Find the cells of windows that are there."""
        window, each = windows.each(np.flatnonzero(there))
        _, key = np.unique(each.key, return_inverse=True)
        number = key * (int(group.max(initial=0)) + 1) + group[each.segment]
        names, cell = np.unique(number, return_inverse=True)
        return cls(window, cell, names.size)

    def find_lost(self, parts: Array, error: Array, width: Array | None = None, times: bool = False) -> Array:
        """Tell in which cells the variance may be more wrong than it should; of times a millisecond is let pass."""
        log = log2(parts[self.window, 2])
        most = np.full(self.size, -np.inf)
        np.maximum.at(most, self.cell, log)
        share = np.exp2(log - most[self.cell])
        share /= np.bincount(self.cell, share, self.size)[self.cell]
        mean, variance = to_double(parts[self.window, 1]), to_double(parts[self.window, 0])
        whole = np.bincount(self.cell, share * mean, self.size)
        variance = np.bincount(self.cell, share * (variance + (mean - whole[self.cell]) ** 2), self.size)
        allowed = DIGITS * variance
        if width is not None:
            allowed += np.bincount(self.cell, share * (DIGITS * width[self.window]) ** 2, self.size)
        if times:
            allowed += 1e-10 * whole**2 + 1e-6
        return np.asarray(np.bincount(self.cell, share * error[self.window], self.size) > allowed)


def _by_query(part: Part, values: Array) -> Array:
    """Return the numbers of classes of trends by query: of one alone, classes are blocks side by side."""
    windows, classes, width = values.shape
    return values if part.is_shared else values.reshape(windows, 1, classes * width)


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
    for total, values in zip(made.of[:2], (weights.square(column, made.output.path), column), strict=True):
        rows = {int(row) for row in program.sum_row[total] if row >= 0}
        for row in rows:
            sums[row] = values
    events = arrays.events._replace(sums=read_only(sums))
    largest = max(arrays.largest, float(np.nanmax(np.abs(sums), initial=1.0)))
    again = replace(arrays, events=events, bursts=None, largest=largest)
    return run_windows(again, replace(windows, composes=False), weights.threads).values
