"""Funnels of sessions: the queries have a row for each user and session, which are added up for each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.engine.cells import rank_groups
from sparkleene.errors import DataError, Diagnostic
from sparkleene.funnel.queries import VARIANCE
from sparkleene.funnel.rows import Layout, number_rows
from sparkleene.workload.run import QUERY

SUMMED = ("trends", "avg_time", "min_time", "max_time", VARIANCE)


def add_sessions(layout: Layout, table: pa.Table) -> pa.Table:
    """Return a row for each step and group, in the order of groups, as queries without sessions would."""
    found = with_stddev(add_up(layout, count_sessions(layout, table)))
    return found.take(np.argsort(rank_groups(found.select(layout.keys)))) if layout.keys else found


def count_sessions(layout: Layout, table: pa.Table) -> pa.Table:
    """Return the rows of users and sessions such that `users` and `sessions` can be added up.

    Each row is a session. Of the rows of a user in a step and group the first counts the user, the others nobody.
    """
    number = number_rows(table, (QUERY, *layout.keys, *(layout.users or ())))
    users = np.zeros(table.num_rows, np.int64)
    users[np.unique(number, return_index=True)[1]] = 1
    kept = table.select([QUERY, *layout.keys, *(name for name in SUMMED if name in table.column_names)])
    sessions = np.ones(table.num_rows, np.int64)
    return kept.append_column("users", make_array(users)).append_column("sessions", make_array(sessions))


def add_up(layout: Layout, table: pa.Table) -> pa.Table:
    """Return a row for each step and group. What was added up can be added up again."""
    number = number_rows(table, (QUERY, *layout.keys))
    first = np.unique(number, return_index=True)[1]
    columns: dict[str, Any] = {}
    for name in (QUERY, *layout.keys):
        columns[name] = table.column(name).take(make_array(first))
    for name in ("users", "sessions"):
        columns[name] = make_array(_add(as_numpy(table.column(name)), number, first.size))
    if "trends" in table.column_names:
        trends = table.column("trends")
        counts = _read_counts(trends)
        totals = _add(counts, number, first.size)
        columns["trends"] = _write_counts(totals, trends.type)
        if VARIANCE in table.column_names:
            columns |= _add_times(table, counts, totals, number)
    return pa.table(columns)


def with_stddev(table: pa.Table) -> pa.Table:
    """Return the sums with the standard deviation of the times, NULL of less than two."""
    if VARIANCE not in table.column_names:
        return table
    count = np.array([float(min(one, 2**1000)) for one in _read_counts(table.column("trends"))], np.float64)
    found = np.sqrt(_doubles(table, VARIANCE) * (count / np.maximum(count - 1.0, 1.0)))
    return table.append_column("stddev_time", make_array(found, mask=np.isnan(found) | (count < 2)))


def _add_times(table: pa.Table, counts: Array, totals: Array, number: Array) -> dict[str, pa.Array]:
    """Return means, minima, maxima and variances of times over all trends.

    The first step has none. Nor is there a mean where the trends are more than a double tells.
    """
    size = totals.size
    with np.errstate(invalid="ignore"):
        share = (counts / np.where(totals == 0, 1, totals)[number]).astype(np.float64)
    means, variances = _doubles(table, "avg_time"), _doubles(table, VARIANCE)
    mean = _add(share * means, number, size)
    variance = _add(share * (variances + (means - mean[number]) ** 2), number, size)
    low, high = np.full(size, np.nan), np.full(size, np.nan)
    np.fmin.at(low, number, _doubles(table, "min_time"))
    np.fmax.at(high, number, _doubles(table, "max_time"))
    found = {"avg_time": mean, "min_time": low, "max_time": high, VARIANCE: variance}
    return {name: make_array(values, mask=np.isnan(values)) for name, values in found.items()}


def _add(values: Array, number: Array, size: int) -> Array:
    """Return the sums of the values that have the same number."""
    found = np.zeros(size, values.dtype)
    np.add.at(found, number, values)
    return found


def _doubles(table: pa.Table, name: str) -> Array:
    """Return a column as doubles, with NaN for NULL."""
    return as_numpy(table.column(name).cast(pa.float64()))


def _read_counts(column: pa.ChunkedArray) -> Array:
    """Return counts as doubles, or as integers of any length where they are integers or text."""
    if pa.types.is_floating(column.type):
        return as_numpy(column).astype(np.float64, copy=False)
    return np.array([int(value) for value in column.to_pylist()], object)


def _write_counts(counts: Array, type: pa.DataType) -> pa.Array:
    """Return counts as a column like the one that they come from."""
    if pa.types.is_floating(type):
        return make_array(counts)
    if not pa.types.is_integer(type):
        return make_array([str(value) for value in counts], type)
    if any(value >= 2**63 for value in counts):
        help = "use numbers='exact' for counts of any size"
        raise DataError(Diagnostic("overflow", "'trends' is more than 2^63", help=help))
    return make_array(list(counts), type)
