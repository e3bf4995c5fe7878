"""From the aggregates of windows to rows: finished results, or parts of results that are added up elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.columns.fields import EXACT
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.values import low_values
from sparkleene.engine.arrays import Recipe
from sparkleene.engine.decimals import digits_of, exact_column, read_decimal, write_decimal
from sparkleene.engine.execute import Results
from sparkleene.engine.long_counts import LARGEST, add_counts
from sparkleene.engine.outputs import (
    add_exact_spreads,
    add_spreads,
    double_column,
    part_width,
    write_exact_parts,
    write_parts,
)
from sparkleene.engine.run import Evaluated
from sparkleene.engine.substreams import read_only
from sparkleene.errors import DataError, Diagnostic
from sparkleene.kernels import results as kernel
from sparkleene.kernels import sort
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE, is_positive, to_double, to_wide
from sparkleene.language.ast import And
from sparkleene.plan.aggregates import Made
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import shown_name

MOST_CELLS = 8  # for each window of a sub-stream, where windows are sorted by counting
SUMS = "sparkleene sums"
"""The column of partial results: wide numbers (complex128, the count first), or decimals as text."""

WINDOW = ("window_start", "window_end")


def write_results(evaluated: Evaluated, zeros: bool = False) -> pa.Table:
    """Return a row for each group and window that has trends, sorted by window and group.

    With `zeros` groups and windows that have rows but no trends are written too.
    """
    cells = _cells(evaluated, zeros)
    recipe, columns = evaluated.recipe, dict(cells.columns)
    for made in recipe.outputs:
        name = made.output.name
        if made.is_low:
            columns[name] = _low_column(cells, recipe, made)
        elif cells.integers is None:
            parts = _wide_parts(cells, recipe, made)
            columns[name] = _number_column(made, parts, recipe.long, cells.columns, cells.longs.get(name))
        else:
            columns[name] = exact_column(made, _exact_parts(cells, recipe, made))
    return pa.table(columns)


def write_partial(evaluated: Evaluated) -> pa.Table:
    """Return partial results: MIN and MAX as columns, the numbers of all other outputs packed into one column."""
    cells = _cells(evaluated)
    recipe, columns = evaluated.recipe, dict(cells.columns)
    for made in recipe.outputs:
        if made.is_low:
            columns[made.output.name] = _low_column(cells, recipe, made)
    summed = [made for made in recipe.outputs if not made.is_low]
    if cells.integers is None:
        parts = np.concatenate([cells.values[:, :1], *(_wide_parts(cells, recipe, made) for made in summed)], 1)
        raw = pa.py_buffer(np.ascontiguousarray(parts).tobytes())
        fixed = pa.Array.from_buffers(pa.binary(16 * parts.shape[1]), len(parts), [None, raw])
        columns[SUMS] = fixed.cast(pa.binary())
    else:
        exact = [_exact_parts(cells, recipe, made) for made in summed]
        columns[SUMS] = make_array(
            [
                " ".join([digits_of(row[0]), *(write_decimal(one) for parts in exact for one in parts[i])]).encode()
                for i, row in enumerate(cells.integers)
            ],
            pa.binary(),
        )
    return pa.table(columns)


def add_partial(plan: Plan, table: pa.Table, numbers: str) -> pa.Table:
    """Add up partial results and return what `write_results` would have, in no order."""
    bound = plan.bound
    names = [name for name in table.column_names if name in (WINDOW[0], *bound.group_names)]
    row, starts = _equal_runs(table, names)
    ordered = table.take(make_array(row))
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name in (*WINDOW, *bound.group_names):
            columns[name] = ordered.column(name).take(make_array(starts))
    outputs = plan.aggregates.outputs
    lows = [(made.output, low_values(ordered, (made.output.name,), made.output.function == "max"))
            for made in outputs if made.is_low]  # fmt: skip
    keys = np.stack([key for _, (key, _) in lows], 1) if lows else np.zeros((len(row), 0))
    raw = ordered.column(SUMS).to_pylist()
    edges = np.cumsum([1, *(part_width(made) for made in outputs)]).tolist()
    values = np.zeros((len(row), 1), WIDE)
    if numbers != "exact":
        values = np.frombuffer(b"".join(raw), WIDE).reshape(len(row), edges[-1])
    sums, least = _add_runs(values, np.where(np.isnan(keys), np.inf, keys), starts)
    low = {output.name: back(least[:, i]) for i, (output, (_, back)) in enumerate(lows)}
    exact = [] if numbers != "exact" else [[read_decimal(one) for one in cell.decode().split()] for cell in raw]
    places = dict(columns)
    for made, (begin, end) in zip(outputs, pairwise(edges), strict=True):
        spread = part_width(made) == 3
        if made.is_low:
            columns[made.output.name] = low[made.output.name]
        elif numbers != "exact":
            parts = sums[:, begin:end]
            parts = add_spreads(values[:, begin:end], parts, starts) if spread else parts
            columns[made.output.name] = _number_column(made, parts, numbers == "long", places)
        else:
            runs = [[cell[begin:end] for cell in exact[a:b]] for a, b in pairwise([*starts.tolist(), len(row)])]
            added = [add_exact_spreads(run) if spread else _add_columns(run) for run in runs]
            columns[made.output.name] = exact_column(made, added)
    return pa.table(columns)


def adds_up(plan: Plan, numbers: str) -> bool:
    """Tell whether finished results can be added up as they are: counts added, the least and greatest taken.

    Sums cannot, for two infinite ones may cancel, nor means and logarithms.
    """
    plain = all(made.output.function in ("count", "min", "max") and made.output.log is None
                for made in plan.aggregates.outputs)  # fmt: skip
    return plain and numbers != "exact"


def select_member(evaluated: Evaluated, k: int) -> Evaluated:
    """Return what member k of a part would have given by itself."""
    part = evaluated.part
    if not part.is_shared:
        return evaluated
    member, recipe, results = part.members[k], evaluated.recipe, evaluated.results
    own = replace(recipe, outputs=tuple(recipe.outputs[i] for i in member.outputs))
    integers = results.integers
    if integers is not None:
        integers = [[classes[k]] for classes in integers]
    of_it = Results(results.values[:, k : k + 1], results.lows[:, k : k + 1], integers)
    groups = evaluated.rows.groups.rename_columns(list(member.group_names))
    spreads = {place: evaluated.spreads[i][:, k : k + 1]
               for place, i in enumerate(member.outputs) if i in evaluated.spreads}  # fmt: skip
    longs = {place: evaluated.longs[i][:, k : k + 1]
             for place, i in enumerate(member.outputs) if i in evaluated.longs}  # fmt: skip
    rows, windows = replace(evaluated.rows, groups=groups), evaluated.windows
    if windows.whose is not None:  # the others end where trends of other queries do
        mine = np.flatnonzero(windows.whose[:, k])
        windows, of_it = windows.where(mine), of_it.where(mine)
        spreads, longs = ({at: of[mine] for at, of in each.items()} for each in (spreads, longs))
    evaluated = replace(evaluated, recipe=own, rows=rows, windows=windows, results=of_it)
    return replace(evaluated, spreads=spreads, longs=longs)


def count_trends(part: Part, results: Results) -> Array:
    """Return the wide number of trends of each window, or for AND of pairs of trends."""
    return _merge_classes(results, _is_paired(part))[0][:, 0]


def _is_paired(part: Part) -> bool:
    """Tell whether results are of pairs of trends."""
    return isinstance(part.plan.bound.pattern, And) and not part.is_shared


def rank_groups(groups: pa.Table) -> Array:
    """Return the place of each group in the order of their attributes."""
    if not groups.num_columns:
        return np.zeros(max(1, groups.num_rows), np.int64)
    plain = pa.table({str(i): _sortable(column) for i, column in enumerate(groups.columns)})
    order = pc.sort_indices(plain, [(name, "ascending") for name in plain.column_names])
    rank = np.empty(groups.num_rows, np.int64)
    rank[as_numpy(order)] = np.arange(groups.num_rows)
    return rank


# ---- the sub-streams of a group


@dataclass(frozen=True)
class _Cells:
    """The aggregates of all groups and windows that have trends, sorted by window and group."""

    columns: dict[str, Any]  # the window and the group of each
    values: Array
    lows: Array  # keys, NaN for none
    integers: list[list[int]] | None
    apart: dict[str, Array]  # the numbers that outputs over events or keys are made of; fractions in exact mode
    spreads: dict[str, Array]  # of outputs that were evaluated with centres of their own
    longs: dict[str, list[int]]  # of counts that doubles do not tell from their neighbours


def _cells(evaluated: Evaluated, zeros: bool = False) -> _Cells:
    """Add up the sub-streams of each group and window."""
    rows, windows, results = evaluated.rows, evaluated.windows, evaluated.results
    paired = _is_paired(evaluated.part)
    values, lows = _merge_classes(results, paired)
    there, windows = windows.each(np.flatnonzero(zeros | is_positive(values[:, 0])))
    group = rows.group[windows.segment]
    rank = rank_groups(rows.groups)[group]
    order = _sort_cells(windows.key, rank)
    there, windows, rank, group = there[order], windows.where(order), rank[order], group[order]
    key = windows.key
    starts = np.flatnonzero(np.r_[True, (np.diff(key) != 0) | (np.diff(rank) != 0)]) if key.size else key[:0]
    starts = starts.astype(np.int64)
    out, out_low = _add_runs(values[there], lows[there], starts)
    columns: dict[str, Any] = dict(zip(WINDOW, windows.borders(starts), strict=False))
    for name in rows.groups.column_names:
        columns[name] = rows.groups.column(name).take(make_array(group[starts]))
    integers = None
    if results.integers is not None:
        integers = _add_integers([_merge_integers(results.integers[k], paired) for k in there.tolist()], starts)
    apart = {name: _add_rows(parts[there], starts) for name, parts in evaluated.each.items()}
    run = np.repeat(np.arange(starts.size), np.diff(np.append(starts, there.size)))
    some = is_positive(values[there, 0])
    segment = windows.segment
    for made in evaluated.recipe.outputs:
        if made.output.distinct:
            codes = [rows.codes[k][segment[some]] for k in made.output.distinct]
            number = _count_distinct(run[some], codes, starts.size)
            apart[made.output.name] = number[:, None].astype(np.float64 if integers is None else object)
    spreads = {}
    for place, parts in evaluated.spreads.items():
        some_parts = np.ascontiguousarray(parts[there, 0])
        sums, _ = _add_runs(some_parts, np.zeros((len(there), 0)), starts)
        spreads[evaluated.recipe.outputs[place].output.name] = add_spreads(some_parts, sums, starts)
    longs = {evaluated.recipe.outputs[place].output.name: add_counts(counts[there, 0], starts)
             for place, counts in evaluated.longs.items()}  # fmt: skip
    return _Cells(columns, out, out_low, integers, apart, spreads, longs)


def _sort_cells(key: Array, rank: Array) -> Array:
    """Return the order of windows by key, then by the rank of their groups."""
    if key.size and key.dtype == np.int64:
        ranks, least, most = int(rank.max()) + 1, int(key.min()), int(key.max())
        cells = (most - least + 1) * ranks
        if cells <= 1 << 16:  # then numpy sorts by counting
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


def _add_runs(values: Array, lows: Array, starts: Array) -> tuple[Array, Array]:
    """Add up runs of aggregates; a minimum of nothing is NaN."""
    out = np.zeros((starts.size, values.shape[1]), WIDE)
    out_low = np.full((starts.size, lows.shape[1]), np.inf)
    kernel.add_runs(Table(read_only(values), read_only(lows)), starts, np.zeros(1, np.uint64), Table(out, out_low))
    return out, np.where(np.isposinf(out_low), np.nan, out_low)


def _add_columns(rows: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Add up the columns of rows."""
    return [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]


def _add_integers(rows: Sequence[Sequence[Any]], starts: Array) -> list[list[Any]]:
    """Add up runs of rows of integers or fractions."""
    edges = [*starts.tolist(), len(rows)]
    return [[sum(column) for column in zip(*rows[a:b], strict=True)] for a, b in pairwise(edges)]


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


def _sortable(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _equal_runs(table: pa.Table, names: list[str]) -> tuple[Array, Array]:
    """Return the rows ordered by some columns, and where each run of equal ones begins."""
    if not table.num_rows or not names:
        rows = np.arange(table.num_rows)
        return rows, np.zeros(min(1, table.num_rows), np.int64)
    found = [codes(table, (name,)) for name in names]
    code, _ = combine_codes([code for code, _ in found], [len(values) for _, values in found])
    rows = np.argsort(code, kind="stable")
    new = np.r_[True, np.diff(code[rows]) != 0]
    return rows, np.flatnonzero(new).astype(np.int64)


# ---- columns


def _low_column(cells: _Cells, recipe: Recipe, made: Made) -> pa.Array:
    """Return a column of minima or maxima."""
    at = made.block * len(recipe.lows) + made.of[0]
    return recipe.lows[made.of[0]](cells.lows[:, at])


def _number_column(
    made: Made, parts: Array, long: bool, columns: dict[str, Any], counts: list[int] | None = None
) -> pa.Array:
    """Return a column of doubles, or `long` counts; `columns` are those of the window and the group.

    Without exact `counts` the doubles are counts up to 2^53.
    """
    found = double_column(made, parts)
    if not long or made.output.function != "count" or made.output.log is not None:
        return found
    power = 53 if counts is None else 63
    if counts is None:
        large = np.flatnonzero(as_numpy(found) > EXACT)
    else:
        large = np.flatnonzero([count > LARGEST for count in counts])
    if large.size:
        row = {name: column[int(large[0])].as_py() for name, column in columns.items()}
        where = ", ".join(f"{name} {value}" for name, value in row.items() if name != WINDOW[1])
        message = f"'{shown_name(made.output.name)}' is more than 2^{power}{f' at {where}' if where else ''}"
        help = "use numbers='exact' for counts of any size, numbers='double' for rounded ones"
        raise DataError([Diagnostic("overflow", message, help=help)])
    return found.cast(pa.int64()) if counts is None else make_array(counts, pa.int64())


def _wide_parts(cells: _Cells, recipe: Recipe, made: Made) -> Array:
    """Return the wide numbers that an output is made of, for each row."""
    if made.is_apart:
        return to_wide(cells.apart[made.output.name])
    if made.output.name in cells.spreads:
        return cells.spreads[made.output.name]
    return write_parts(made, cells.values, recipe.units)


def _exact_parts(cells: _Cells, recipe: Recipe, made: Made) -> list[list[Fraction]]:
    """Return the exact numbers that an output is made of, for each row."""
    assert cells.integers is not None
    if made.is_apart:
        return [[Fraction(one) for one in row] for row in cells.apart[made.output.name]]
    spreads = np.zeros((len(cells.integers), 2))
    if part_width(made) == 3:
        spreads = to_double(_wide_parts(cells, recipe, made)[:, :2])
    width = 1 + sum(map(len, recipe.totals))
    rows = zip(cells.integers, spreads.tolist(), strict=True)
    return [write_exact_parts(made, row, recipe.totals, width, spread) for row, spread in rows]
