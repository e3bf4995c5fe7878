"""Rows and units that the watermark has passed: as few bytes as can be, put together, and summed up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.columns.fields import decode, value_type
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.engine.run import Run
from sparkleene.kernels.matrices import transform
from sparkleene.kernels.program import NumberSystem
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE
from sparkleene.ongoing.compose import order_pieces
from sparkleene.ongoing.matrix_bytes import pack_matrices, unpack_matrices
from sparkleene.ongoing.segments import ROWS, UNITS
from sparkleene.ongoing.stretches import stretches


def join_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Put tables together whose keys may be encoded."""
    plain = [pa.table([decode(c) for c in t.columns], names=t.column_names) for t in tables]
    return pa.concat_tables(plain, promote_options="permissive")


def select_keys(table: pa.Table, names: list[str], wanted: pa.Table, theirs: list[str]) -> pa.Table:
    """Return the rows whose keys are those of some wanted row."""
    if not names or not table.num_rows:
        return table
    ours = [decode(table.column(name)) for name in names]
    given = [decode(wanted.column(name)).cast(mine.type) for name, mine in zip(theirs, ours, strict=True)]
    if len(names) == 1 and not pa.types.is_floating(ours[0].type):
        return table.filter(pc.is_in(ours[0], value_set=given[0].combine_chunks().unique()))
    both = pa.table(
        [pa.chunked_array([*o.chunks, *g.chunks]) for o, g in zip(ours, given, strict=True)], names=names
    )
    found = [codes(both, (name,)) for name in names]
    code, _ = combine_codes([code for code, _ in found], [len(values) for _, values in found])
    return table.filter(pa.array(np.isin(code[: table.num_rows], code[table.num_rows :])))


def settle_rows(run: Run, rows: pa.Table) -> tuple[str, pa.Table]:
    """Return settled rows as a matrix for each sub-stream and pane where that is smaller, and what they are."""
    units, left = stretches(run, rows, settled=True)
    return (UNITS, units) if units.num_rows else (ROWS, left)


def join_settled(run: Run, parts: Sequence[tuple[str, pa.Table]]) -> tuple[str, pa.Table] | None:
    """Put settled rows and units together; None where some are units, and others cannot be."""
    rows, units = ([table for kind, table in parts if kind == wanted] for wanted in (ROWS, UNITS))
    if not units:
        return ROWS, pa.concat_tables(rows, promote_options="permissive")
    if rows:
        made, left = stretches(run, pa.concat_tables(rows, promote_options="permissive"), settled=True, times=0)
        if left.num_rows:
            return None
        units.append(made)
    return UNITS, join_tables(units)


def sum_up(run: Run, kind: str, table: pa.Table, schema: pa.Schema, times: int) -> pa.Table:
    """Return one matrix for each sub-stream of units, or of rows of a schema where that is smaller by a factor."""
    return join_units(run, table, schema) if kind == UNITS else stretches(run, table, True, times, whole=True)[0]


def find_panes(run: Run, kind: str, table: pa.Table) -> Array:
    """Return the panes that rows or units are in."""
    if kind == UNITS:
        return as_numpy(table.column("pane"))
    time, _, grid, *_ = run.clock(table)
    assert grid is not None
    return grid.pane_of(grid.clock(time.values))


def join_units(run: Run, units: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return one unit for each sub-stream, in the pane of its first, from units that do not overlap in time."""
    nothing = schema.empty_table()
    rows = run.order(nothing, run.clock(nothing).time)
    arrays, _ = run.arrays(nothing, rows)
    program = arrays.program
    names = [f"k{i}" for i in range(len(run.plan.bound.keys))]
    none = {name: pa.array([], value_type(units.column(name).type)).dictionary_encode() for name in names}
    ordered = order_pieces(run, none, units, as_numpy(units.column("first")))
    order = np.arange(units.num_rows) if ordered.rows is None else ordered.rows
    filled = np.flatnonzero(np.diff(ordered.bounds))
    begin, end = ordered.bounds[:-1][filled], ordered.bounds[1:][filled]

    states, width, minima = program.states, 1 + program.sum_of.size, program.low_adds.size
    shapes = {"matrix": (states, states * width), "low": (states, states * minima)}
    kept = {
        name: unpack_matrices(units.column(name), shape, dtype)[order]
        for (name, shape), dtype in zip(shapes.items(), (WIDE, np.float64), strict=True)
    }
    columns = [_to_columns(matrix[begin], states) for matrix in kept.values()]  # each is a vector that goes through
    field = NumberSystem(np.ones(1, WIDE), np.zeros(1, np.uint64))
    first, last = (np.repeat(where, states) for where in (begin + 1, end))
    transform(program, field, Table(*kept.values()), first, last, Table(*columns), arrays.events.stop)
    found: dict[str, Any] = {
        name: units.column(name).take(make_array(order[begin])) for name in [*names, "pane", "first"]
    }
    found["last"] = units.column("last").take(make_array(order[end - 1]))
    for name, made in zip(shapes, columns, strict=True):
        found[name] = pack_matrices(_to_matrices(made, states))
    return pa.table(found)


def _to_columns(matrices: Array, states: int) -> Array:
    """Return the columns of matrices as vectors, those of a matrix one after the other."""
    count, rows, width = matrices.shape
    parted = matrices.reshape(count, rows, width // states, states)
    return np.ascontiguousarray(parted.transpose(0, 3, 1, 2)).reshape(count * states, rows, width // states)


def _to_matrices(columns: Array, states: int) -> Array:
    """Return the matrices that have these columns."""
    count, rows, width = columns.shape
    parted = columns.reshape(count // states, states, rows, width)
    return np.ascontiguousarray(parted.transpose(0, 2, 3, 1)).reshape(count // states, rows, width * states)
