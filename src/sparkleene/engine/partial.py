"""Results of parts of the sub-streams, in a form that can be added up: for groups that no one place sees whole."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.values import low_values
from sparkleene.engine.compile import Compiled, aggregates
from sparkleene.engine.execute import Results
from sparkleene.engine.finish import added, cells_of, decimal, double, exact, gathered
from sparkleene.engine.stream import Stream
from sparkleene.engine.windows import Windows
from sparkleene.kernels.wide import WIDE
from sparkleene.plan.plan import Plan

SUMS = "sparkleene sums"
"""The column of wide numbers (the count first), or of integers and fractions as text."""


def adds_up(plan: Plan, numbers: str) -> bool:
    """Tell whether finished results can be added up as they are: counts added, the least and greatest taken.

    Sums cannot, for two infinite ones may cancel, nor means and logarithms.
    """
    plain = all(
        output.function in ("count", "min", "max") and output.log is None for output in plan.bound.outputs
    )
    return plain and numbers == "double"


def partial(
    plan: Plan,
    compiled: Compiled,
    stream: Stream,
    windows: Windows,
    results: Results,
    integers: list[list[list[int]]] | None,
) -> pa.Table:
    """Write what `finish` would, with minima as values under their outputs' names and all else in one column."""
    cells = cells_of(compiled, stream, windows, results)
    columns = dict(cells.columns)
    for output, made_of in compiled.outputs:
        if output.function in ("min", "max"):
            columns[output.name] = compiled.lows[made_of[0]](cells.lows[:, made_of[0]])
    if integers is None:
        width = 16 * cells.values.shape[1]
        raw = pa.py_buffer(np.ascontiguousarray(cells.values).tobytes())
        fixed = pa.Array.from_buffers(pa.binary(width), len(cells.values), [None, raw])
        columns[SUMS] = fixed.cast(pa.binary())
    else:
        rows = gathered(integers, cells.there, cells.starts)
        columns[SUMS] = pa.array([_told(row, compiled) for row in rows], pa.binary())
    return pa.table(columns)


def _told(row: list[int], compiled: Compiled) -> bytes:
    """Write the count and the totals of a cell as decimals."""
    totals = [sum((row[1 + k] * scale for k, scale in parts), Fraction(0)) for parts in compiled.totals]
    return " ".join(map(decimal, (Fraction(row[0]), *totals))).encode()


def total(plan: Plan, table: pa.Table, numbers: str) -> pa.Table:
    """Add up partial results and write what `finish` would have, in no order."""
    bound = plan.bound
    made = aggregates(bound)
    names = [name for name in table.column_names if name in ("window_start", *bound.group_names)]
    row, starts = _runs(table, names)
    ordered = table.take(pa.array(row))
    columns: dict[str, Any] = {}
    for name in table.column_names:
        if name in ("window_start", "window_end", *bound.group_names):
            columns[name] = ordered.column(name).take(pa.array(starts))
    lows = [(output, low_values(ordered, (output.name,), output.function == "max"))
            for output in bound.outputs if output.function in ("min", "max")]  # fmt: skip
    keys = np.stack([key for _, (key, _) in lows], 1) if lows else np.zeros((len(row), 0))
    raw = ordered.column(SUMS)
    if numbers == "double":
        width = 1 + len(made.totals)
        values = np.frombuffer(b"".join(raw.to_pylist()), WIDE).reshape(len(row), width)
        sums, least = added(values, np.where(np.isnan(keys), np.inf, keys), starts)
    else:
        none = np.zeros((len(row), 1), WIDE)
        _, least = added(none, np.where(np.isnan(keys), np.inf, keys), starts)
        cells = [[Fraction(text) for text in item.decode().split()] for item in raw.to_pylist()]
        edges = [*starts.tolist(), len(row)]
        whole = [
            [sum(column, Fraction(0)) for column in zip(*cells[a:b], strict=True)] for a, b in pairwise(edges)
        ]
        parts = tuple(((i, Fraction(1)),) for i in range(len(made.totals)))
    low = {output.name: back(least[:, i]) for i, (output, (_, back)) in enumerate(lows)}
    for output, made_of in made.outputs:
        if output.name in low:
            columns[output.name] = low[output.name]
        elif numbers == "double":
            columns[output.name] = double(output.function, output.log, sums, made_of)
        else:
            columns[output.name] = exact(output.function, output.log, whole, made_of, parts)
    return pa.table(columns)


def _runs(table: pa.Table, names: list[str]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the rows ordered by some columns, and where each run of equal ones begins."""
    if not table.num_rows or not names:
        rows = np.arange(table.num_rows)
        return rows, np.zeros(min(1, table.num_rows), np.int64)
    found = [codes(table, (name,)) for name in names]
    code, _ = combine_codes([code for code, _ in found], [len(values) for _, values in found])
    rows = np.argsort(code, kind="stable")
    new = np.r_[True, np.diff(code[rows]) != 0]
    return rows, np.flatnonzero(new).astype(np.int64)
