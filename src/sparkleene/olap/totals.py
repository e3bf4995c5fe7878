"""Results of several queries added up: one table from tables with the same keys and aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import Array, as_numpy, fill_null, make_array


def add_results(tables: Sequence[pa.Table], functions: Sequence[str]) -> pa.Table | None:
    """Combine tables row by row where their keys are equal, sorted by the keys.

    The last columns are aggregates by these functions, all before them are keys. Numbers as text are exact. None if
    sums of doubles have left their range, and so do not add up.

    >>> one = pa.table({"k": [1, 2], "n": [5.0, 7.0], "low": [3, None]})
    >>> two = pa.table({"k": [0, 2], "n": [1.0, 1.0], "low": [4, 9]})
    >>> add_results([one, two], ["count", "min"]).to_pydict()
    {'k': [0, 1, 2], 'n': [1.0, 5.0, 8.0], 'low': [4, 3, 9]}
    """
    rows = pa.concat_tables(tables).combine_chunks()
    if len(tables) == 1 or not rows.num_rows:
        return rows
    keys = rows.num_columns - len(functions)
    order, starts = _group_rows([_decode(column) for column in rows.columns[:keys]], rows.num_rows)
    rows = rows.take(order)
    columns = [column.take(make_array(starts)) for column in rows.columns[:keys]]
    for column, function in zip(rows.columns[keys:], functions, strict=True):
        if function in ("min", "max"):
            columns.append(_find_extremes(column, starts, function))
            continue
        added = _add_digits(column, starts) if pa.types.is_string(column.type) else _add_doubles(column, starts)
        if function == "sum" and pa.types.is_floating(added.type) and not np.isfinite(_fill_zeros(added)).all():
            return None
        columns.append(added)
    return pa.table(columns, schema=rows.schema)


def _group_rows(keys: Sequence[pa.Array], size: int) -> tuple[pa.Array, Array]:
    """Return the order of rows by their keys, and where in it each key begins."""
    if not keys:
        return make_array(np.arange(size)), np.zeros(1, np.int64)
    plain = pa.table({str(i): key for i, key in enumerate(keys)})
    order = pc.sort_indices(plain, [(name, "ascending") for name in plain.column_names])
    new = np.zeros(size, np.bool_)
    new[0] = True
    for key in keys:
        codes = as_numpy(key.dictionary_encode().indices)[as_numpy(order)]
        new[1:] |= np.diff(codes) != 0
    return order, np.flatnonzero(new)


def _decode(column: pa.ChunkedArray) -> pa.Array:
    """Return a key in one piece, without a dictionary."""
    kind = column.type
    column = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    return pa.concat_arrays(column.chunks)


def _fill_zeros(column: Any) -> Array:
    """Return doubles with 0 for NULL."""
    return as_numpy(fill_null(column, 0.0))


def _add_doubles(column: pa.ChunkedArray, starts: Array) -> pa.Array:
    """Add up doubles; the sum of NULLs alone is NULL."""
    absent = np.logical_and.reduceat(as_numpy(column.is_null()), starts)
    with np.errstate(over="ignore", invalid="ignore"):
        return make_array(np.add.reduceat(_fill_zeros(column), starts), mask=absent)


def _add_digits(column: pa.ChunkedArray, starts: Array) -> pa.Array:
    """Add up numbers that are decimal text, of any length."""
    exact = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
    texts = column.to_pylist()
    out: list[str | None] = []
    for begin, end in pairwise([*starts.tolist(), len(texts)]):
        known = [Decimal(text) for text in texts[begin:end] if text is not None]
        value = known[0] if known else None
        for one in known[1:]:
            value = exact.add(value, one)  # type: ignore[arg-type]
        out.append(None if value is None else _decimal_to_text(value))
    return make_array(out, pa.string())


def _decimal_to_text(value: Decimal) -> str:
    """Write a number with no more digits than it needs.

    >>> _decimal_to_text(Decimal("3.50")), _decimal_to_text(Decimal("-0.0")), _decimal_to_text(Decimal(10) ** 20)
    ('3.5', '0', '100000000000000000000')
    """
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _find_extremes(column: pa.ChunkedArray, starts: Array, function: str) -> pa.ChunkedArray:
    """Return the smallest or the largest value of each group, NULL where there is none."""
    group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(column)]))
    pairs = pa.table({"group": group, "value": _decode(column)})
    how = "ascending" if function == "min" else "descending"
    order = pc.sort_indices(pairs, [("group", "ascending"), ("value", how)])
    return column.take(order.take(make_array(starts)))
