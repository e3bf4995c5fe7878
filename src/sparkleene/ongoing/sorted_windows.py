"""A vector for each window that is still open, kept in place of its rows; for sorted_rows.py alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.columns.fields import decode, find_column, simplify, value_type
from sparkleene.columns.values import low_values
from sparkleene.engine import cost
from sparkleene.engine.arrays import Arrays, Recipe, replace_lows
from sparkleene.engine.execute import Results, find_units, stretch_matrices
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.substreams import SubStreams
from sparkleene.engine.windows import Windows
from sparkleene.kernels import linear
from sparkleene.kernels.matrices import collect_all, transform
from sparkleene.kernels.program import NumberSystem
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE
from sparkleene.language.bound import Measure
from sparkleene.threads import Pool, shares


@dataclass(frozen=True)
class OpenWindows:
    """The vectors of the windows of one sub-stream that may get more rows; minima are values, not keys."""

    keys: Array  # of the windows, ascending
    state: Array  # complex128[windows, states, 1 + sums]
    lows: tuple[pa.Array, ...]  # per minimum those of all windows and states


NONE = OpenWindows(np.zeros(0, np.int64), np.zeros((0, 0, 0)), ())


def advance_windows(
    run: Run, old: OpenWindows, table: pa.Table, rows: SubStreams, windows: Windows, last: int
) -> tuple[Evaluated, OpenWindows]:
    """Bring the vectors of all windows through more rows; return the windows up to the `last`, and the others."""
    arrays, recipe, old_low = _with_common_keys(run, old, table, rows)
    program, minima = arrays.program, len(recipe.lows)
    keys = np.union1d(old.keys, windows.key)
    lo, hi = np.zeros((2, keys.size), np.int64)
    now, then = np.searchsorted(keys, windows.key), np.searchsorted(keys, old.keys)
    lo[now], hi[now] = windows.lo, windows.hi
    state = np.zeros((keys.size, program.states, 1 + program.sum_of.size), WIDE)
    state[:, 0, 0] = 1
    low = np.full((keys.size, program.states, minima), np.inf)
    low[:, 0, program.low_adds] = 0.0
    if then.size:
        state[then], low[then] = old.state, old_low
    field = NumberSystem(np.ones(1, WIDE), np.zeros(1, np.uint64))
    _run_rows(arrays, field, lo, hi, state, low, run.threads)

    ended = keys <= last
    count = int(ended.sum())
    results = Results.empty(program, count)
    collect_all(program, field, Table(state[ended], low[ended]), Table(results.values, results.lows))
    some = Windows(np.zeros(count, np.int64), keys[ended], lo[ended], hi[ended], False, windows.columns)
    left = low[~ended].reshape((keys.size - count) * program.states, minima)
    left = np.where(np.isposinf(left), np.nan, left)
    made = run.plan.aggregates.lows
    values = tuple(
        make_array(left[:, m], nan_is_null=True) if isinstance(made[m].of, Measure) else back(left[:, m])
        for m, back in enumerate(recipe.lows)
    )
    return Evaluated(run.part, recipe, rows, some, results), OpenWindows(keys[~ended], state[~ended], values)


def _with_common_keys(
    run: Run, old: OpenWindows, table: pa.Table, rows: SubStreams
) -> tuple[Arrays, Recipe, Array]:
    """Give the minima of vectors and rows keys that can be compared; return those of the vectors last."""
    arrays, recipe = run.arrays(table, rows)
    minima = run.plan.aggregates.lows
    count = old.keys.size * arrays.program.states
    found = np.full((count, len(minima)), np.inf)
    if count and minima:
        keys = np.array(arrays.events.lows)
        lows = []
        for m, low in enumerate(minima):
            if isinstance(low.of, Measure):
                key = as_numpy(old.lows[m])
                found[:, m] = np.where(np.isnan(key), np.inf, key)
                lows.append(recipe.lows[m])
                continue
            column = find_column(table, low.of.path, run.place)
            values = decode(simplify(column)).cast(value_type(column.type))
            both = pa.table({"x": pa.chunked_array([old.lows[m], *values.chunks])})
            key, back = low_values(both, ("x",), low.maximum)
            found[:, m] = np.where(np.isnan(key[:count]), np.inf, key[:count])
            keys[m] = rows.take(key[count:])
            lows.append(back)
        arrays, recipe = replace_lows(arrays, keys), replace(recipe, lows=tuple(lows))
    return arrays, recipe, found.reshape(old.keys.size, arrays.program.states, len(minima))


def _run_rows(
    arrays: Arrays, field: NumberSystem, lo: Array, hi: Array, state: Array, low: Array, threads: int
) -> None:
    """Run rows over vectors, by themselves or as matrices of the rows between borders, whichever costs less."""
    program, events = arrays.program, arrays.events
    begin, end = find_units([(lo, hi)])
    first, last = np.searchsorted(begin, lo), np.searchsorted(begin, hi)
    sizes = (int((end - begin).sum()), int((last - first).sum()), int((hi - lo).sum()))
    matrices = None
    if cost.matrices_pay_for_vectors(program, len(events.tick), *sizes):
        matrices = stretch_matrices(arrays, begin, end, threads)

    def task(part: slice) -> None:
        if matrices is None:
            linear.resume(program, events, field, lo[part], hi[part], Table(state[part], low[part]))
        else:
            one = Table(state[part], low[part])
            transform(program, field, Table(*matrices), first[part], last[part], one, events.stop)

    Pool(threads).map(task, shares(hi - lo, threads))
