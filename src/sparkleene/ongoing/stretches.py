"""Stretches of sub-streams as small matrices that mean the same in every table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, make_array
from sparkleene.columns.fields import EXACT, bounds, decode, doubles, find_column, integers, simplify, value_type
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.values import low_values
from sparkleene.engine import cost
from sparkleene.engine.arrays import Arrays, Recipe, replace_lows
from sparkleene.engine.execute import stretch_matrices
from sparkleene.engine.grid import Grid
from sparkleene.engine.run import Run
from sparkleene.engine.substreams import SubStreams, instants
from sparkleene.engine.windows import rows_between, whole_windows
from sparkleene.errors import Place
from sparkleene.language.bound import Path
from sparkleene.ongoing.matrix_bytes import pack_matrices

HOLES = 3  # a table with more holes in time than this is sparse, not parted


def stretches(
    run: Run, table: pa.Table, settled: bool = False, times: int = 1, whole: bool = False
) -> tuple[pa.Table, pa.Table]:
    """Return the stretches of all sub-streams as matrices, and the rows that are left as they are.

    A stretch is a run of rows of one sub-stream and one pane without a long gap. Its columns are the sub-stream's
    keys `k0`, `k1` and so on, `pane`, the `first` and `last` of its instants, `matrix` and `low`. Rows at the
    table's first and last time stay rows, since another table may have more of that time; so do all rows
    where matrices would not be smaller by a factor of `times`, or where MIN or MAX needs keys beyond doubles. With
    `settled` no other table has rows between those of this one, or at their times. With `whole` a sub-stream is one
    stretch, in whatever panes its rows are: it is in the first of them, and for windows that hold them all.
    """
    plan = run.plan
    found = [codes(table, key.path, run.place) for key in plan.bound.keys]
    if found and table.num_rows:  # before rows are put in order: a stretch per sub-stream may be too many
        _, subs = combine_codes([code for code, _ in found], [len(values) for _, values in found])
        if not cost.matrices_are_smaller(plan, table.num_columns, table.num_rows, len(subs), times):
            nothing, _ = stretches(run, table.slice(0, 0))
            return nothing, table
    time, _, grid, *_ = run.clock(table)
    rows = run.order(table, time)
    cut = _join_rows(rows, grid) if whole else _cut_rows(rows, grid, settled)
    inner = cut if settled else _without_edges(rows.time, cut)
    filled = inner.where(np.flatnonzero(inner.lo < inner.hi))
    arrays, recipe = run.arrays(table, rows)
    found_keys = with_absolute_keys(table, arrays, recipe, rows, run.place)
    smaller = cost.matrices_are_smaller(plan, table.num_columns, len(rows.tick), filled.lo.size, times)
    if found_keys is None or not smaller:
        return _to_units(run, table, rows, arrays, filled.where(np.zeros(0, np.int64))), table
    left = np.concatenate([rows_between(cut.lo, inner.lo), rows_between(inner.hi, cut.hi)])
    if plan.bound.semantics != "contiguous":
        left = left[rows.mask[left] != 0]
    kept = np.sort(left if rows.rows is None else rows.rows[left])
    return _to_units(run, table, rows, found_keys[0], filled), table.take(make_array(kept))


class Cut(NamedTuple):
    """Stretches of rows: the sub-stream and the pane of each, rows from, rows to."""

    segment: Array
    pane: Array
    lo: Array
    hi: Array

    def where(self, chosen: Array) -> Cut:
        """Keep some of the stretches."""
        return Cut(*(column[chosen] for column in self))


def with_absolute_keys(
    table: pa.Table, arrays: Arrays, recipe: Recipe, rows: SubStreams, place: Place
) -> tuple[Arrays, Recipe] | None:
    """Give MIN and MAX keys that mean the same in every table, or return None where some value has none.

    Keys are the values, as far as integers are exact as doubles. Infinity, which stands for nothing, takes the
    place of the greatest double, and that one the place of its neighbour, which has to be absent.
    """
    keys = arrays.events.lows
    back = list(recipe.lows)
    for output, made_of, _ in recipe.outputs:
        if output.function not in ("min", "max") or output.measure is not None:
            continue
        column = simplify(find_column(table, output.path, place))
        maximum = output.function == "max"
        if pa.types.is_floating(column.type):
            values = -doubles(column) if maximum else doubles(column)
            high = values >= _NEXT
            if (values[high] == _NEXT).any():
                return None
            if high.any():
                moved = np.where(values == _MOST, _NEXT, np.minimum(values, _MOST))
                keys = np.array(keys)
                keys[made_of[0]] = rows.take(moved)
        elif not (pa.types.is_boolean(column.type) or pa.types.is_null(column.type)):
            ends = bounds(integers(column))
            if ends is not None and (ends[0] < -EXACT or ends[1] > EXACT):
                return None
        _, values_of = low_values(table.slice(0, 0), output.path, maximum, place)
        back[made_of[0]] = lambda keys, of=values_of: of(_restore(keys))  # type: ignore[misc]
    return replace_lows(arrays, keys), replace(recipe, lows=tuple(back))


_MOST = float(np.finfo(np.float64).max)
_NEXT = float(np.nextafter(_MOST, 0.0))


def _restore(keys: Array) -> Array:
    """Undo what `with_absolute_keys` did to the greatest doubles."""
    return np.where(keys == _MOST, np.inf, np.where(keys == _NEXT, _MOST, keys))


def key_columns(run: Run, table: pa.Table, rows: SubStreams, segment: Array, lo: Array) -> dict[str, pa.Array]:
    """Return the keys of the sub-streams of rows, dictionary-encoded; those of one follow each other."""
    new = np.flatnonzero(np.diff(segment, prepend=-1))
    code = np.repeat(np.arange(new.size, dtype=np.int32), np.diff(np.append(new, segment.size)))
    at = make_array(lo[new] if rows.rows is None else rows.rows[lo[new]])
    return {
        f"k{i}": pa.DictionaryArray.from_arrays(code, _values(table, key.path, at, run.place))
        for i, key in enumerate(run.plan.bound.keys)
    }


def _values(table: pa.Table, path: Path, at: pa.Array, place: Place) -> pa.Array:
    """Return the values of an attribute at some rows, in the type in which they are given back."""
    found = find_column(table, path, place)
    taken = decode(simplify(found.take(at))).cast(value_type(found.type))
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


# ---- cuts


def _cut_rows(rows: SubStreams, grid: Grid | None, settled: bool) -> Cut:
    """Cut sub-streams at panes and, if not settled, at long gaps."""
    if grid is None:
        windows = whole_windows(rows)
        cut = Cut(windows.segment, windows.key, windows.lo, windows.hi)
    else:
        clock = grid.clock(rows.time)
        grid.check(clock, rows.bounds)
        cut = Cut(*grid.panes(clock, rows.bounds))
    if settled or not cut.lo.size:
        return cut
    limit = _limit(rows.time, cut.lo, cut.hi)
    if grid is not None and grid.pane <= limit:
        return cut
    at = np.union1d(cut.lo, np.flatnonzero(_far(rows.time[1:], rows.time[:-1], limit)) + 1)
    of = np.searchsorted(cut.lo, at, "right") - 1
    return Cut(cut.segment[of], cut.pane[of], at, np.append(at[1:], len(rows.time)))


def _join_rows(rows: SubStreams, grid: Grid | None) -> Cut:
    """Return each sub-stream as one stretch, in the pane of its first row."""
    windows = whole_windows(rows)
    pane = windows.key if grid is None else grid.pane_of(grid.clock(rows.time[windows.lo]))
    return Cut(windows.segment, pane, windows.lo, windows.hi)


def _limit(time: Array, lo: Array, hi: Array) -> int | float:
    """Return an eighth of the time from the first row to the last."""
    first, last = time[lo].min(), time[hi - 1].max()
    return (int(last) - int(first)) // 8 if time.dtype == np.int64 else float(last / 8 - first / 8)


def _far(later: Array, earlier: Array, limit: int | float) -> Array:
    """Tell where times are farther apart than the limit."""
    if later.dtype == np.int64:  # as unsigned integers differences do not overflow
        apart = later.view(np.uint64) - earlier.view(np.uint64)
        return np.asarray((apart > np.uint64(limit)) & (later > earlier))
    return np.asarray(later / 8 - earlier / 8 > limit / 8)


def _without_edges(time: Array, cut: Cut) -> Cut:
    """Return stretches without the rows at the first and the last time of the table, or of parts far apart."""
    lo, hi = cut.lo, cut.hi
    if not lo.size:
        return cut
    first, last = time[lo], time[hi - 1]
    order = np.argsort(first, kind="stable")
    begins, reach = first[order], np.maximum.accumulate(last[order])
    holes = np.flatnonzero(_far(begins[1:], reach[:-1], _limit(time, lo, hi)))
    if holes.size > HOLES:
        holes = holes[:0]
    edges = np.concatenate([begins[:1], begins[holes + 1], reach[holes], reach[-1:]])
    begin, end = lo.copy(), hi.copy()
    some = np.flatnonzero(np.isin(first, edges))
    begin[some] = _search(time, lo[some], hi[some], first[some], True)
    some = np.flatnonzero(np.isin(last, edges))
    end[some] = _search(time, begin[some], hi[some], last[some], False)
    return cut._replace(lo=begin, hi=end)


def _search(time: Array, lo: Array, hi: Array, value: Array, past: bool) -> Array:
    """Return the first rows of lo[k]:hi[k] at or past value[k], with `past` only those past it."""
    lo, hi = lo.copy(), hi.copy()
    while (open := np.flatnonzero(lo < hi)).size:
        middle = (lo[open] + hi[open]) >> 1
        at, wanted = time[middle], value[open]
        before = at <= wanted if past else at < wanted
        lo[open[before]] = middle[before] + 1
        hi[open[~before]] = middle[~before]
    return lo


# ---- tables of units


def _to_units(run: Run, table: pa.Table, rows: SubStreams, arrays: Arrays, cut: Cut) -> pa.Table:
    """Return stretches as a table of matrices."""
    matrix, low = stretch_matrices(arrays, cut.lo, cut.hi, run.threads)
    columns: dict[str, Any] = dict(key_columns(run, table, rows, cut.segment, cut.lo))
    columns["pane"] = make_array(cut.pane)
    columns["first"] = make_array(instants(rows.time[cut.lo]))
    columns["last"] = make_array(instants(rows.time[cut.hi - 1]))
    columns["matrix"], columns["low"] = pack_matrices(matrix), pack_matrices(low)
    return pa.table(columns)
