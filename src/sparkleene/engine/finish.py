"""From the aggregates of windows and sub-streams to result rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.engine.compile import Compiled, Parts
from sparkleene.engine.execute import Results
from sparkleene.engine.stream import Stream
from sparkleene.engine.windows import Windows
from sparkleene.kernels import results as kernel
from sparkleene.kernels.wide import WIDE, is_positive, is_zero, log2, ratio, to_double
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]


def finish(
    plan: Plan,
    compiled: Compiled,
    stream: Stream,
    windows: Windows,
    results: Results,
    integers: list[list[list[int]]] | None,
    zeros: bool = False,
) -> pa.Table:
    """Combine the sub-streams of each group and write the result table, sorted by window and group.

    With `zeros` groups and windows that have rows but no trends are written too.
    """
    cells = cells_of(compiled, stream, windows, results, zeros)
    whole = None if integers is None else gathered(integers, cells.there, cells.starts)
    columns = dict(cells.columns)
    for output, made_of in compiled.outputs:
        if output.function in ("min", "max"):
            columns[output.name] = compiled.lows[made_of[0]](cells.lows[:, made_of[0]])
        elif whole is None:
            columns[output.name] = double(output.function, output.log, cells.values, made_of)
        else:
            columns[output.name] = exact(output.function, output.log, whole, made_of, compiled.totals)
    return pa.table(columns)


@dataclass(frozen=True)
class Cells:
    """The aggregates of all groups and windows that have trends, sorted by window and group."""

    columns: dict[str, Any]  # the window and the group of each
    values: Array
    lows: Array  # keys, NaN for none
    there: Array  # the results that they are made of
    starts: Array


def cells_of(
    compiled: Compiled, stream: Stream, windows: Windows, results: Results, zeros: bool = False
) -> Cells:
    """Add up the sub-streams of each group and window."""
    values, lows = merged(results)
    there = np.flatnonzero(zeros | (is_positive(values[:, 0])))
    group = stream.group[windows.segment[there]]
    rank = _ranks(stream.groups)[group]
    key = windows.key[there]
    order = np.lexsort((rank, key))
    there, key, rank, group = there[order], key[order], rank[order], group[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(key) != 0) | (np.diff(rank) != 0)]) if key.size else key[:0]
    starts = starts.astype(np.int64)
    out, out_low = added(values[there], lows[there], starts)
    columns: dict[str, Any] = {}
    bounds = windows.columns(key[starts])
    columns.update(zip(("window_start", "window_end"), bounds, strict=False))
    for name in stream.groups.column_names:
        columns[name] = stream.groups.column(name).take(pa.array(group[starts]))
    return Cells(columns, out, out_low, there, starts)


def added(values: Array, lows: Array, starts: Array) -> tuple[Array, Array]:
    """Add up runs of aggregates; a minimum of nothing is NaN."""
    out = np.zeros((starts.size, values.shape[1]), WIDE)
    out_low = np.full((starts.size, lows.shape[1]), np.inf)
    kernel.gather(values, lows, starts, out, out_low)
    return out, np.where(np.isposinf(out_low), np.nan, out_low)


def merged(results: Results) -> tuple[Array, Array]:
    """Return the aggregates of all results of a window: trends, or for AND pairs of trends."""
    values, lows = results.values, results.lows
    if values.shape[1] == 1:
        return values[:, 0], lows[:, 0]
    out = np.zeros((values.shape[0], values.shape[2]), WIDE)
    out_low = np.full((values.shape[0], lows.shape[2]), np.inf)
    kernel.pairs(values, lows, out, out_low)
    return out, out_low


def _ranks(groups: pa.Table) -> Array:
    """Return the place of each group in the order of their attributes."""
    if not groups.num_columns:
        return np.zeros(max(1, groups.num_rows), np.int64)
    plain = pa.table({str(i): _sortable(column) for i, column in enumerate(groups.columns)})
    order = pc.sort_indices(plain, [(name, "ascending") for name in plain.column_names])
    rank = np.empty(groups.num_rows, np.int64)
    rank[np.asarray(order)] = np.arange(groups.num_rows)
    return rank


def _sortable(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def double(function: str, log: int | None, out: Array, made_of: tuple[int, ...]) -> pa.Array:
    """Return a column of results from wide numbers."""
    total = out[:, 0] if not made_of else out[:, 1 + made_of[0]]
    if log is not None:
        positive = is_positive(total)
        logs = np.where(positive, log2(np.where(positive, total, 1.0)), np.nan)
        return pa.array(logs if log == 2 else logs * math.log10(2), mask=~positive)
    if function == "count":
        return pa.array(to_double(total))
    present = out[:, 1 + made_of[1]]
    absent = is_zero(present)
    if function == "sum":
        return pa.array(to_double(total), mask=absent)
    return pa.array(ratio(total, np.where(absent, 1.0, present)), mask=absent)


# ---- exact integers


def gathered(integers: list[list[list[int]]], there: Array, starts: Array) -> list[list[int]]:
    """Add up the integers of the sub-streams that make up each cell."""
    edges = [*starts.tolist(), there.size]
    out = []
    for begin, end in pairwise(edges):
        parts = [_pairs(integers[k]) for k in there[begin:end].tolist()]
        out.append([sum(column) for column in zip(*parts, strict=True)])
    return out


def _pairs(classes: list[list[int]]) -> list[int]:
    """Do for integers what the kernel of the same name does for doubles."""
    if len(classes) == 1:
        return classes[0]
    (first, *sums1), (second, *sums2), (both, *sums3) = classes
    count = first * second + first * both + second * both + both * (both - 1) // 2
    weights = (second + both, first + both, first + second + both - 1)
    return [
        count,
        *(
            sum(w * s for w, s in zip(weights, sums, strict=True))
            for sums in zip(sums1, sums2, sums3, strict=True)
        ),
    ]


def exact(
    function: str,
    log: int | None,
    rows: Sequence[Sequence[int | Fraction]],
    made_of: tuple[int, ...],
    totals: tuple[Parts, ...],
) -> pa.Array:
    """Return a column of results from integers."""

    def total(row: Sequence[int | Fraction], which: int) -> Fraction:
        return sum((row[1 + column] * scale for column, scale in totals[which]), Fraction(0))

    counts = [int(total(row, made_of[-1])) if made_of else int(row[0]) for row in rows]
    if log is not None:
        per = 1.0 if log == 2 else math.log10(2)
        return pa.array([_log2(count) * per if count else None for count in counts], pa.float64())
    if function == "count":
        return pa.array([_digits(count) for count in counts], pa.string())
    sums = [total(row, made_of[0]) if count else None for row, count in zip(rows, counts, strict=True)]
    if function == "sum":
        return pa.array([None if value is None else decimal(value) for value in sums], pa.string())
    means = [None if value is None else float(value / n) for value, n in zip(sums, counts, strict=True)]
    return pa.array(means, pa.float64())


def _log2(value: int) -> float:
    shift = max(0, value.bit_length() - 64)
    return math.log2(value >> shift) + shift


def decimal(value: Fraction) -> str:
    """Write a number whose denominator divides a power of ten exactly.

    >>> decimal(Fraction(-7, 4)), decimal(Fraction(10**30))
    ('-1.75', '1000000000000000000000000000000')
    """
    digits = 0
    while (10**digits) % value.denominator:
        digits += 1
    whole = abs(value.numerator) * (10**digits // value.denominator)
    text = _digits(whole).rjust(digits + 1, "0")
    body = text if not digits else f"{text[:-digits]}.{text[-digits:]}"
    return f"-{body}" if value < 0 else body


def _digits(value: int) -> str:
    """Write an integer that is not negative; Python's own way stops at 4300 digits, or at fewer."""
    if value.bit_length() <= 2048:
        return str(value)
    low = int(value.bit_length() * math.log10(2) / 2)
    head, tail = divmod(value, 10**low)
    return _digits(head) + _digits(tail).rjust(low, "0")
