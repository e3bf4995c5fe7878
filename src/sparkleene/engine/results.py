"""From the aggregates of windows to rows: finished results, or parts of results that are added up elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.columns.fields import EXACT
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.values import low_values
from sparkleene.engine.arrays import Recipe
from sparkleene.engine.cells import Cells, add_runs, make_cells
from sparkleene.engine.decimals import digits_of, read_decimal, write_decimal
from sparkleene.engine.execute import Results
from sparkleene.engine.long_counts import LARGEST
from sparkleene.engine.outputs import (
    add_exact_spreads,
    add_spreads,
    double_column,
    exact_column,
    part_width,
    write_exact_parts,
    write_parts,
)
from sparkleene.engine.run import Evaluated
from sparkleene.engine.windows import WINDOW
from sparkleene.errors import DataError, Diagnostic
from sparkleene.kernels.wide import WIDE, to_double, to_wide
from sparkleene.plan.aggregates import Made
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import shown_name

SUMS = "sparkleene sums"
"""The column of partial results: wide numbers (complex128, the count first), or decimals as text."""


def write_results(evaluated: Evaluated, zeros: bool = False) -> pa.Table:
    """Return a row for each group and window that has trends, sorted by window and group.

    With `zeros` groups and windows that have rows but no trends are written too.
    """
    cells = make_cells(evaluated, zeros)
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
    cells = make_cells(evaluated)
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
    sums, least = add_runs(values, np.where(np.isnan(keys), np.inf, keys), starts)
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
        windows, of_it = replace(windows, whose=None).where(mine), of_it.where(mine)
        spreads, longs = ({at: of[mine] for at, of in each.items()} for each in (spreads, longs))
    evaluated = replace(evaluated, recipe=own, rows=rows, windows=windows, results=of_it)
    return replace(evaluated, spreads=spreads, longs=longs)


# ---- partial results


def _add_columns(rows: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Add up the columns of rows."""
    return [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]


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


def _low_column(cells: Cells, recipe: Recipe, made: Made) -> pa.Array:
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


def _wide_parts(cells: Cells, recipe: Recipe, made: Made) -> Array:
    """Return the wide numbers that an output is made of, for each row."""
    if made.is_apart:
        return to_wide(cells.apart[made.output.name])
    if made.output.name in cells.spreads:
        return cells.spreads[made.output.name]
    return write_parts(made, cells.values, recipe.units)


def _exact_parts(cells: Cells, recipe: Recipe, made: Made) -> list[list[Fraction]]:
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
