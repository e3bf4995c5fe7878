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

from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.values import low_values
from sparkleene.engine.arrays import Recipe
from sparkleene.engine.decimals import digits_of, exact_column, read_decimal, write_decimal
from sparkleene.engine.execute import Results
from sparkleene.engine.run import Evaluated
from sparkleene.engine.substreams import read_only
from sparkleene.kernels import results as kernel
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE, is_positive, log2, ratio, to_double
from sparkleene.plan.aggregates import aggregates
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]

SUMS = "sparkleene sums"
"""The column of partial results: wide numbers (complex128, the count first), or decimals as text."""

WINDOW = ("window_start", "window_end")


def write_results(evaluated: Evaluated, zeros: bool = False) -> pa.Table:
    """Return a row for each group and window that has trends, sorted by window and group.

    With `zeros` groups and windows that have rows but no trends are written too.
    """
    cells = _cells(evaluated, zeros)
    recipe, columns = evaluated.recipe, dict(cells.columns)
    for output, made_of in recipe.outputs:
        if output.function in ("min", "max"):
            columns[output.name] = recipe.lows[made_of[0]](cells.lows[:, made_of[0]])
        elif cells.integers is None:
            columns[output.name] = _double_column(output.function, output.log, cells.values, made_of)
        else:
            columns[output.name] = exact_column(output, cells.integers, made_of, recipe.totals)
    return pa.table(columns)


def write_partial(evaluated: Evaluated) -> pa.Table:
    """Return what `write_results` does, with minima under their outputs' names and all else in one column."""
    cells = _cells(evaluated)
    recipe, columns = evaluated.recipe, dict(cells.columns)
    for output, made_of in recipe.outputs:
        if output.function in ("min", "max"):
            columns[output.name] = recipe.lows[made_of[0]](cells.lows[:, made_of[0]])
    if cells.integers is None:
        width = 16 * cells.values.shape[1]
        raw = pa.py_buffer(np.ascontiguousarray(cells.values).tobytes())
        fixed = pa.Array.from_buffers(pa.binary(width), len(cells.values), [None, raw])
        columns[SUMS] = fixed.cast(pa.binary())
    else:
        columns[SUMS] = pa.array([_decimals(row, recipe) for row in cells.integers], pa.binary())
    return pa.table(columns)


def add_partial(plan: Plan, table: pa.Table, numbers: str) -> pa.Table:
    """Add up partial results and return what `write_results` would have, in no order."""
    bound = plan.bound
    made = aggregates(bound)
    names = [name for name in table.column_names if name in (WINDOW[0], *bound.group_names)]
    row, starts = _equal_runs(table, names)
    ordered = table.take(pa.array(row))
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name in (*WINDOW, *bound.group_names):
            columns[name] = ordered.column(name).take(pa.array(starts))
    lows = [(output, low_values(ordered, (output.name,), output.function == "max"))
            for output in bound.outputs if output.function in ("min", "max")]  # fmt: skip
    keys = np.stack([key for _, (key, _) in lows], 1) if lows else np.zeros((len(row), 0))
    raw = ordered.column(SUMS).to_pylist()
    width = 1 + len(made.totals) if numbers == "double" else 1
    values = np.zeros((len(row), width), WIDE)
    if numbers == "double":
        values = np.frombuffer(b"".join(raw), WIDE).reshape(len(row), width)
    sums, least = _add_runs(values, np.where(np.isnan(keys), np.inf, keys), starts)
    low = {output.name: back(least[:, i]) for i, (output, (_, back)) in enumerate(lows)}
    integers = [] if numbers == "double" else _add_decimals(raw, starts)
    totals = tuple(((i, Fraction(1)),) for i in range(len(made.totals)))
    for output, made_of in made.outputs:
        if output.name in low:
            columns[output.name] = low[output.name]
        elif numbers == "double":
            columns[output.name] = _double_column(output.function, output.log, sums, made_of)
        else:
            columns[output.name] = exact_column(output, integers, made_of, totals)
    return pa.table(columns)


def adds_up(plan: Plan, numbers: str) -> bool:
    """Tell whether finished results can be added up as they are: counts added, the least and greatest taken.

    Sums cannot, for two infinite ones may cancel, nor means and logarithms.
    """
    plain = all(output.function in ("count", "min", "max") and output.log is None for output in plan.bound.outputs)
    return plain and numbers == "double"


def select_member(evaluated: Evaluated, k: int) -> Evaluated:
    """Return what member k of a part would have given by itself."""
    part = evaluated.part
    if not part.is_shared:
        return evaluated
    member, recipe, results = part.members[k], evaluated.recipe, evaluated.results
    outputs = [recipe.outputs[i] for i in member.outputs]
    is_low = [output.function in ("min", "max") for output, _ in outputs]
    lows = list(dict.fromkeys(low for (_, of), is_it in zip(outputs, is_low, strict=True) if is_it for low in of))
    totals = list(
        dict.fromkeys(total for (_, of), is_it in zip(outputs, is_low, strict=True) if not is_it for total in of)
    )
    columns = [column for total in totals for column, _ in recipe.totals[total]]
    own = Recipe(
        tuple(tuple((columns.index(c), scale) for c, scale in recipe.totals[total]) for total in totals),
        tuple(recipe.lows[low] for low in lows),
        tuple(
            (output, tuple((lows if is_it else totals).index(i) for i in of))
            for (output, of), is_it in zip(outputs, is_low, strict=True)
        ),
    )
    kept, integers = [0, *(1 + column for column in columns)], results.integers
    values = results.values[:, k : k + 1]
    if integers is None:
        values = values[:, :, kept]
    else:  # then the values in doubles only tell where there are trends
        values = values[:, :, [0]]
        integers = [[[classes[k][column] for column in kept]] for classes in integers]
    of_it = Results(values, results.lows[:, k : k + 1][:, :, lows], integers)
    groups = evaluated.rows.groups.rename_columns(list(member.group_names))
    return replace(evaluated, recipe=own, rows=replace(evaluated.rows, groups=groups), results=of_it)


def count_trends(results: Results) -> Array:
    """Return the wide number of trends of each window, or for AND of pairs of trends."""
    return _merge_classes(results)[0][:, 0]


def rank_groups(groups: pa.Table) -> Array:
    """Return the place of each group in the order of their attributes."""
    if not groups.num_columns:
        return np.zeros(max(1, groups.num_rows), np.int64)
    plain = pa.table({str(i): _sortable(column) for i, column in enumerate(groups.columns)})
    order = pc.sort_indices(plain, [(name, "ascending") for name in plain.column_names])
    rank = np.empty(groups.num_rows, np.int64)
    rank[np.asarray(order)] = np.arange(groups.num_rows)
    return rank


# ---- the sub-streams of a group


@dataclass(frozen=True)
class _Cells:
    """The aggregates of all groups and windows that have trends, sorted by window and group."""

    columns: dict[str, Any]  # the window and the group of each
    values: Array
    lows: Array  # keys, NaN for none
    integers: list[list[int]] | None


def _cells(evaluated: Evaluated, zeros: bool = False) -> _Cells:
    """Add up the sub-streams of each group and window."""
    rows, windows, results = evaluated.rows, evaluated.windows, evaluated.results
    values, lows = _merge_classes(results)
    there = np.flatnonzero(zeros | is_positive(values[:, 0]))
    group = rows.group[windows.segment[there]]
    rank = rank_groups(rows.groups)[group]
    key = windows.key[there]
    order = np.lexsort((rank, key))
    there, key, rank, group = there[order], key[order], rank[order], group[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(key) != 0) | (np.diff(rank) != 0)]) if key.size else key[:0]
    starts = starts.astype(np.int64)
    out, out_low = _add_runs(values[there], lows[there], starts)
    columns: dict[str, Any] = dict(zip(WINDOW, windows.columns(key[starts]), strict=False))
    for name in rows.groups.column_names:
        columns[name] = rows.groups.column(name).take(pa.array(group[starts]))
    integers = None
    if results.integers is not None:
        integers = _add_integers([_merge_integers(results.integers[k]) for k in there.tolist()], starts)
    return _Cells(columns, out, out_low, integers)


def _add_runs(values: Array, lows: Array, starts: Array) -> tuple[Array, Array]:
    """Add up runs of aggregates; a minimum of nothing is NaN."""
    out = np.zeros((starts.size, values.shape[1]), WIDE)
    out_low = np.full((starts.size, lows.shape[1]), np.inf)
    kernel.add_runs(Table(read_only(values), read_only(lows)), starts, np.zeros(1, np.uint64), Table(out, out_low))
    return out, np.where(np.isposinf(out_low), np.nan, out_low)


def _add_integers(rows: Sequence[Sequence[Any]], starts: Array) -> list[list[Any]]:
    """Add up runs of rows of integers or fractions."""
    edges = [*starts.tolist(), len(rows)]
    return [[sum(column) for column in zip(*rows[a:b], strict=True)] for a, b in pairwise(edges)]


def _merge_classes(results: Results) -> tuple[Array, Array]:
    """Return the aggregates of all results of a window: trends, or for AND pairs of trends."""
    values, lows = results.values, results.lows
    if values.shape[1] == 1:
        return values[:, 0], lows[:, 0]
    out = np.zeros((values.shape[0], values.shape[2]), WIDE)
    out_low = np.full((values.shape[0], lows.shape[2]), np.inf)
    kernel.pair_up(Table(values, lows), Table(out, out_low))
    return out, out_low


def _merge_integers(classes: list[list[int]]) -> list[int]:
    """Do for integers what the kernel of pairs does for doubles."""
    if len(classes) == 1:
        return classes[0]
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


def _double_column(function: str, log: int | None, out: Array, made_of: tuple[int, ...]) -> pa.Array:
    """Return a column of results from wide numbers."""
    total = out[:, 0] if not made_of else out[:, 1 + made_of[0]]
    if log is not None:
        positive = is_positive(total)
        logs = np.where(positive, log2(np.where(positive, total, 1.0)), np.nan)
        return pa.array(logs if log == 2 else logs * np.log10(2), mask=~positive)
    if function == "count":
        return pa.array(to_double(total))
    present = out[:, 1 + made_of[1]]
    absent = ~is_positive(present)
    if function == "sum":
        return pa.array(to_double(total), mask=absent)
    assert function == "avg", function
    return pa.array(ratio(total, np.where(absent, 1.0, present)), mask=absent)


def _decimals(row: Sequence[int], recipe: Recipe) -> bytes:
    """Write the count and the totals of a cell as decimals."""
    totals = [sum((row[1 + k] * scale for k, scale in scaled), Fraction(0)) for scaled in recipe.totals]
    return " ".join([digits_of(row[0]), *map(write_decimal, totals)]).encode()


def _add_decimals(raw: Sequence[bytes], starts: Array) -> list[list[Fraction]]:
    """Add up runs of cells that were written as decimals."""
    return _add_integers([[read_decimal(text) for text in cell.decode().split()] for cell in raw], starts)
