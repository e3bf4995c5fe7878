"""What becomes of the rows of a result: HAVING, ORDER BY and LIMIT by window, and expressions over results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.columns.expressions import evaluate_condition
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.row_values import row_values
from sparkleene.columns.schema import result_schema
from sparkleene.engine.cells import rank_groups
from sparkleene.engine.exact_values import ExactValues, exact_outputs
from sparkleene.engine.windows import WINDOW
from sparkleene.errors import Place
from sparkleene.language.bound import Bound, Field, Finish, Term
from sparkleene.plan.plan import Plan


def finish_rows(bound: Bound, table: pa.Table, numbers: str, place: Place = Place()) -> pa.Table:
    """Return the rows of a result as the query asks for them; `table` has group attributes and aggregates.

    Rows of one window come together, in the order of their windows, and so they stay unless there is an ORDER BY.
    """
    finish = bound.finish
    if finish is None:
        return table
    values = ExactValues(table, exact_outputs(bound, table) if numbers == "exact" else frozenset(), place)
    if finish.having is not None:
        kept = _condition(finish.having, values)
        if not kept.all():
            table = table.filter(make_array(kept))
            values = ExactValues(table, values.exact, place)
    if finish.order or finish.limit is not None:
        table = table.take(make_array(_choose(bound, finish, table, values)))
        values = ExactValues(table, values.exact, place)
    columns = {name: table.column(name) for name in WINDOW if bound.window is not None}
    for column in finish.columns:
        plain = isinstance(column.term, Field)
        columns[column.name] = table.column(column.term.path[0]) if plain else _column(column.term, values)  # type: ignore[union-attr]
    return pa.table(columns)


def finished_schema(plan: Plan, table: pa.Table, options: EngineOptions, place: Place) -> pa.Schema:
    """Return the schema of the result, or raise what a run over a table of these columns would."""
    return finish_schema(plan.bound, result_schema(plan, table, options, place), options.numbers, place)


def finish_schema(bound: Bound, schema: pa.Schema, numbers: str, place: Place) -> pa.Schema:
    """Return the columns of the result from those of group attributes and aggregates."""
    return finish_rows(bound, schema.empty_table(), numbers, place).schema


def _condition(term: Term, values: ExactValues) -> Array:
    """Return which rows are kept."""
    simple, table = values.simplify(term)
    return evaluate_condition(simple, table, values.place)


def _column(term: Term, values: ExactValues) -> pa.ChunkedArray:
    """Return the values of an expression, exact ones as text."""
    found = values.exact_text(term)
    if found is not None:
        return pa.chunked_array([found])
    simple, table = values.simplify(term)
    return row_values(simple, table, values.place)


def _choose(bound: Bound, finish: Finish, table: pa.Table, values: ExactValues) -> Array:
    """Return the rows that are kept of each window, in order; NULL is less than all values."""
    keys: dict[str, Any] = {}
    ways: list[str] = []

    def add(column: Any, descending: bool = False) -> None:
        keys[str(len(keys))] = column
        ways.append("descending" if descending else "ascending")

    window = _windows(bound, table)
    add(make_array(window))
    for term, descending in finish.order:
        column = values.ranks(term)
        if column is None:
            simple, wider = values.simplify(term)
            column = row_values(simple, wider, values.place)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        add(pc.is_valid(column).cast(pa.int8()), descending)
        add(column, descending)
    add(make_array(rank_groups(table.select(list(bound.group_names)))[: table.num_rows]))
    how = list(zip(keys, ways, strict=True))
    order = as_numpy(pc.sort_indices(pa.table(keys), how))
    if finish.limit is None:
        return order
    ordered = window[order]
    starts = np.flatnonzero(np.r_[True, np.diff(ordered) != 0])[: ordered.size]
    place = np.arange(ordered.size) - np.repeat(starts, np.diff(np.r_[starts, ordered.size]))
    return order[place < finish.limit]


def _windows(bound: Bound, table: pa.Table) -> Array:
    """Return a number for the window of each row, in the order in which they come."""
    number = np.zeros(table.num_rows, np.int64)
    if bound.window is None or not table.num_rows:
        return number
    # Two windows of a calendar may start together, or end, where a day does not exist.
    found = [codes(table, (name,)) for name in WINDOW]
    number, _ = combine_codes([code for code, _ in found], [len(values) for _, values in found])
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[number]
