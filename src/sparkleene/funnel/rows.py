"""From the results of a funnel's queries to its rows: shares, drop-off, and zeros where nobody came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import Array, as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.keys import codes
from sparkleene.funnel.queries import SHORTEST, TIMES
from sparkleene.workload.run import QUERY

COLUMNS = ("step", "name", "users", "trends", "share_of_first", "share_of_previous", "drop_off", *TIMES)


@dataclass(frozen=True)
class Layout:
    """What the rows of a funnel are made of: its steps, and for each step the one that it is compared with."""

    names: tuple[str, ...]
    before: tuple[int, ...]
    keys: tuple[str, ...]  # the columns of windows and breakdown
    trends: bool
    times: bool
    users: tuple[str, ...] | None = None  # with sessions the columns that tell users apart, beside the keys

    @property
    def is_one(self) -> bool:
        """Whether there is one funnel, not one for each window and group."""
        return not self.keys

    @property
    def has_sessions(self) -> bool:
        """Whether the queries have a row for each user and session."""
        return self.users is not None

    def schema(self, found: pa.Schema) -> pa.Schema:
        """Return the columns of the rows, from those of the queries' results."""
        return make_rows(self, found.empty_table()).schema


def make_rows(layout: Layout, table: pa.Table) -> pa.Table:
    """Return a row for each step of each window and group, in the order in which the first step has them.

    Windows and groups in which nobody takes the first step have no rows; without any of them there always are some.
    Of several rows of one step the one with the most users counts.
    """
    steps = len(layout.names)
    step = pc.index_in(table.column(QUERY), make_array(layout.names, pa.string()))
    step = as_numpy(fill_null(step, 0)).astype(np.int64)
    users = _integers(table.column("users"))
    order = np.lexsort((users, step))
    group, first = _groups(layout, table, np.argsort(step, kind="stable"))
    row = np.full((first.size, steps), -1, np.int64)  # of a group's step, in the table
    row[group[order], step[order]] = order
    where = make_array(row.ravel(), mask=row.ravel() < 0)
    many = np.append(users, 0)[row]  # none where there is no row
    previous = many[:, list(layout.before)]
    columns: dict[str, Any] = {}
    at = make_array(np.repeat(first, steps))
    for name in layout.keys:
        columns[name] = table.column(name).take(at)
    columns["step"] = make_array(np.tile(np.arange(1, steps + 1), first.size), pa.int64())
    columns["name"] = make_array(layout.names * first.size, pa.string())
    columns["users"] = make_array(many.ravel())
    if layout.has_sessions:
        columns["sessions"] = make_array(np.append(_integers(table.column("sessions")), 0)[row].ravel())
    if layout.trends:
        trends = table.column("trends")
        zero = make_scalar(0).cast(trends.type)
        columns["trends"] = pc.fill_null(trends.take(where), zero)
    columns["share_of_first"] = _share(many, many[:, :1])
    columns["share_of_previous"] = _share(many, previous)
    columns["drop_off"] = make_array((previous - many).ravel())
    for name in TIMES if layout.times else ():
        given = table.column(name) if name in table.column_names else pa.nulls(table.num_rows, pa.float64())
        columns[name] = given.take(where)
    return pa.table(columns)


def count_users(layout: Layout, found: Mapping[str, pa.Table], limit: float) -> pa.Table:
    """Return the users of each step, as its query would, from those whose shortest trend is within a limit."""
    tables = []
    for name in layout.names:
        table = found[name]
        table = table.filter(pc.less_equal(table.column(SHORTEST), make_scalar(limit)))
        if layout.is_one:
            users = pa.table({"users": make_array([table.num_rows], pa.int64())})
        else:
            users = table.group_by(list(layout.keys), use_threads=False).aggregate([([], "count_all")])
            users = users.rename_columns([*layout.keys, "users"])
        tables.append(users.append_column(QUERY, make_array([name] * users.num_rows, pa.string())))
    return pa.concat_tables(tables)


def number_rows(table: pa.Table, names: Sequence[str]) -> Array:
    """Return for each row a number from 0 on, the same for rows with the same values of some columns."""
    number = np.zeros(table.num_rows, np.int64)
    for name in names:
        code = codes(table, (name,))[0].astype(np.int64) + 1
        _, number = np.unique(number * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return number


def _groups(layout: Layout, table: pa.Table, order: Array) -> tuple[Array, Array]:
    """Return the number of each row's window and group, and of each the first row; both by an order of rows."""
    number = number_rows(table, layout.keys)
    if layout.is_one:
        if not table.num_rows:
            return number, np.zeros(1, np.int64)
        return number, order[:1]
    _, first, sorted_number = np.unique(number[order], return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    found = np.empty(table.num_rows, np.int64)
    found[order] = rank[sorted_number]
    return found, order[np.sort(first)]


def _share(part: Array, whole: Array) -> pa.Array:
    """Return shares, NULL of nobody."""
    whole = np.broadcast_to(whole, part.shape)
    found = part / np.where(whole == 0, 1, whole)
    return make_array(found.ravel(), mask=(whole == 0).ravel())


def _integers(column: pa.ChunkedArray) -> Array:
    """Return counts, which may be doubles or text, as integers."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return as_numpy(column).astype(np.int64)
    return np.array([int(value) for value in column.to_pylist()], np.int64)
