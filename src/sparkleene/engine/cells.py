"""From the aggregates of windows of sub-streams to cells: one for each group and window that has trends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.columns.keys import combine_codes
from sparkleene.engine.execute import Results
from sparkleene.engine.long_counts import add_counts
from sparkleene.engine.outputs import add_spreads
from sparkleene.engine.run import Evaluated
from sparkleene.engine.substreams import read_only
from sparkleene.engine.windows import WINDOW
from sparkleene.kernels import results as kernel
from sparkleene.kernels import sort
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE, is_positive
from sparkleene.language.ast import And
from sparkleene.plan.part import Part

MOST_CELLS = 8  # for each window of a sub-stream, where windows are sorted by counting
MOST_PLACES = 2  # for each window of a sub-stream, where cells have places of their own
FEW_CELLS = 1 << 16


@dataclass(frozen=True)
class Cells:
    """The aggregates of all groups and windows that have trends, sorted by window and group."""

    columns: dict[str, Any]  # the window and the group of each
    values: Array
    lows: Array  # keys, NaN for none
    integers: list[list[int]] | None
    apart: dict[str, Array]  # the numbers that outputs over events or keys are made of; fractions in exact mode
    spreads: dict[str, Array]  # of outputs that were evaluated with centres of their own
    longs: dict[str, list[int]]  # of counts that doubles do not tell from their neighbours


def make_cells(evaluated: Evaluated, zeros: bool = False) -> Cells:
    """Add up the sub-streams of each group and window; with `zeros` those without trends have cells, too."""
    values, lows = _merge_classes(evaluated.results, _is_paired(evaluated.part))
    there = np.flatnonzero(zeros | is_positive(values[:, 0]))
    rank = rank_groups(evaluated.rows.groups)
    if not zeros and _has_sums_alone(evaluated):
        found = _add_in_places(evaluated, Table(values, lows), there, rank)
        if found is not None:
            return found
    return _add_in_order(evaluated, Table(values, lows), there, rank)


def count_trends(part: Part, results: Results) -> Array:
    """Return the wide number of trends of each window, or for AND of pairs of trends."""
    return _merge_classes(results, _is_paired(part))[0][:, 0]


def rank_groups(groups: pa.Table) -> Array:
    """Return the place of each group in the order of their attributes."""
    if not groups.num_columns:
        return np.zeros(max(1, groups.num_rows), np.int64)
    plain = pa.table({str(i): _sortable(column) for i, column in enumerate(groups.columns)})
    order = pc.sort_indices(plain, [(name, "ascending") for name in plain.column_names])
    rank = np.empty(groups.num_rows, np.int64)
    rank[as_numpy(order)] = np.arange(groups.num_rows)
    return rank


def add_runs(values: Array, lows: Array, starts: Array) -> tuple[Array, Array]:
    """Add up runs of aggregates; a minimum of nothing is NaN."""
    cell = np.repeat(np.arange(starts.size), np.diff(np.append(starts, len(values))))
    return _add_to_cells(Table(values, lows), np.arange(len(values)), cell, starts.size)


def _sortable(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_paired(part: Part) -> bool:
    """Tell whether results are of pairs of trends."""
    return isinstance(part.plan.bound.pattern, And) and not part.is_shared


def _has_sums_alone(evaluated: Evaluated) -> bool:
    """Tell whether everything that cells have are wide numbers that are added up, and minima."""
    others = evaluated.each or evaluated.spreads or evaluated.longs or evaluated.results.integers is not None
    distinct = any(made.output.distinct for made in evaluated.recipe.outputs)
    return not (others or distinct or evaluated.windows.last is not None)


# ---- cells that have places of their own


def _add_in_places(evaluated: Evaluated, table: Table, there: Array, rank: Array) -> Cells | None:
    """Add windows to cells by key and rank, without a sort; None where cells are far more than windows."""
    windows = evaluated.windows.where(there)
    key, repeat = windows.key, windows.repeat
    if key.dtype != np.int64 or not key.size:
        return None
    group = evaluated.rows.group[windows.segment]
    repeat = np.ones(key.size, np.int64) if repeat is None else repeat
    least, most, ranks = int(key.min()), int((key + (repeat - 1)).max()), len(rank)
    cells = (most - least + 1) * ranks
    if cells > max(FEW_CELLS, MOST_PLACES * int(repeat.sum())):
        return None
    if not table.value.flags.c_contiguous:  # of one query of several
        table, there = Table(table.value[there], table.low[there]), np.arange(there.size)
    values, lows = _add_to_cells(table, there, (key - least) * ranks + rank[group], cells, repeat, ranks)
    found = np.flatnonzero(is_positive(values[:, 0]))
    of_rank = np.empty(ranks, np.int64)
    of_rank[rank] = np.arange(ranks)
    columns = _columns(evaluated, windows.columns(found // ranks + least), of_rank[found % ranks])
    return Cells(columns, values[found], lows[found], None, {}, {}, {})


def _add_to_cells(
    table: Table, row: Array, cell: Array, cells: int, repeat: Array | None = None, step: int = 0
) -> tuple[Array, Array]:
    """Add each row to its cell, and so often to the cell that is a step further; a minimum of nothing is NaN."""
    out = Table(np.zeros((cells, table.value.shape[1]), WIDE), np.full((cells, table.low.shape[1]), np.inf))
    given = Table(*(read_only(np.ascontiguousarray(part)) for part in table))  # of one query of several: a view
    repeat = np.ones(cell.size, np.int64) if repeat is None else repeat
    kernel.add_to_cells(given, row, cell, repeat, step, np.zeros(1, np.uint64), out)
    return out.value, np.where(np.isposinf(out.low), np.nan, out.low)


def _columns(evaluated: Evaluated, borders: Sequence[pa.Array], group: Array) -> dict[str, Any]:
    """Return the columns of the windows and the groups of cells."""
    columns: dict[str, Any] = dict(zip(WINDOW, borders, strict=False))
    groups = evaluated.rows.groups
    for name in groups.column_names:
        columns[name] = groups.column(name).take(make_array(group))
    return columns


# ---- cells in order


def _add_in_order(evaluated: Evaluated, table: Table, there: Array, rank: Array) -> Cells:
    """Sort windows by key and rank, and add up those of each cell."""
    rows, results = evaluated.rows, evaluated.results
    there, windows = evaluated.windows.each(there)
    group = rows.group[windows.segment]
    order = _sort_cells(windows.key, rank[group])
    there, windows, group = there[order], windows.where(order), group[order]
    key = windows.key
    starts = np.flatnonzero(np.r_[True, (np.diff(key) != 0) | (np.diff(group) != 0)]) if key.size else key[:0]
    starts = starts.astype(np.int64)
    run = np.repeat(np.arange(starts.size), np.diff(np.append(starts, there.size)))
    out, out_low = _add_to_cells(table, there, run, starts.size)
    integers = None
    if results.integers is not None:
        paired = _is_paired(evaluated.part)
        integers = _add_integers([_merge_integers(results.integers[k], paired) for k in there.tolist()], starts)
    apart = {name: _add_rows(parts[there], starts) for name, parts in evaluated.each.items()}
    some = is_positive(table.value[there, 0])
    segment = windows.segment
    for made in evaluated.recipe.outputs:
        if made.output.distinct:
            codes = [rows.codes[k][segment[some]] for k in made.output.distinct]
            number = _count_distinct(run[some], codes, starts.size)
            apart[made.output.name] = number[:, None].astype(np.float64 if integers is None else object)
    spreads = {}
    for place, parts in evaluated.spreads.items():
        some_parts = np.ascontiguousarray(parts[there, 0])
        sums, _ = add_runs(some_parts, np.zeros((len(there), 0)), starts)
        spreads[evaluated.recipe.outputs[place].output.name] = add_spreads(some_parts, sums, starts)
    longs = {evaluated.recipe.outputs[place].output.name: add_counts(counts[there, 0], starts)
             for place, counts in evaluated.longs.items()}  # fmt: skip
    columns = _columns(evaluated, windows.borders(starts), group[starts])
    return Cells(columns, out, out_low, integers, apart, spreads, longs)


def _sort_cells(key: Array, rank: Array) -> Array:
    """Return the order of windows by key, then by the rank of their groups."""
    if key.size and key.dtype == np.int64:
        ranks, least, most = int(rank.max()) + 1, int(key.min()), int(key.max())
        cells = (most - least + 1) * ranks
        if cells <= FEW_CELLS:  # then numpy sorts by counting
            return np.argsort(((key - least) * ranks + rank).astype(np.uint16), kind="stable")
        if cells <= MOST_CELLS * key.size:
            return sort.by_code(read_only((key - least) * ranks + rank), cells)[0]
    return np.lexsort((rank, key))


def _add_rows(parts: Array, starts: Array) -> Array:
    """Add up runs of rows."""
    return np.add.reduceat(parts, starts, axis=0) if starts.size else parts[:0]


def _count_distinct(run: Array, codes: Sequence[Array], runs: int) -> Array:
    """Return how many different combinations of codes each run has."""
    _, first = combine_codes([run, *codes], [runs, *(int(one.max(initial=-1)) + 1 for one in codes)])
    return np.bincount(run[first], minlength=runs)


def _add_integers(rows: Sequence[Sequence[Any]], starts: Array) -> list[list[Any]]:
    """Add up runs of rows of integers or fractions."""
    edges = [*starts.tolist(), len(rows)]
    return [[sum(column) for column in zip(*rows[a:b], strict=True)] for a, b in pairwise(edges)]


# ---- classes of results


def _merge_classes(results: Results, paired: bool) -> tuple[Array, Array]:
    """Return the aggregates of all results of a window: of trends block by block, or for AND of pairs of trends."""
    values, lows = results.values, results.lows
    if not paired:
        windows, blocks = values.shape[:2]
        return values.reshape(windows, blocks * values.shape[2]), lows.reshape(windows, blocks * lows.shape[2])
    out = np.zeros((values.shape[0], values.shape[2]), WIDE)
    out_low = np.full((values.shape[0], lows.shape[2]), np.inf)
    kernel.pair_up(Table(values, lows), Table(out, out_low))
    return out, out_low


def _merge_integers(classes: list[list[int]], paired: bool) -> list[int]:
    """Do for integers what the kernel of pairs does for doubles."""
    if not paired:
        return [one for block in classes for one in block]
    (first, *sums1), (second, *sums2), (both, *sums3) = classes
    count = first * second + first * both + second * both + both * (both - 1) // 2
    weights = (second + both, first + both, first + second + both - 1)
    sums = zip(sums1, sums2, sums3, strict=True)
    return [count, *(sum(w * s for w, s in zip(weights, each, strict=True)) for each in sums)]
