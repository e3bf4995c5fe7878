"""A result's rows parted into groups, the largest of them kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.charts.numbers import Array, Numbers, is_numeric
from sparkleene.errors import DataError, Diagnostic, QueryError, suggest

WINDOW = ("window_start", "window_end")


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """The values of one group, in order of their windows; `x` holds the starts, and nothing without windows.

    A `whole` series has a value for every window that there is, so that its line is not broken.
    """

    name: str
    x: Array
    y: Numbers
    largest: int  # which of the values is the largest
    whole: bool = False

    def peak(self) -> Numbers:
        """Return the largest value, as an array of one."""
        return self.y.take(slice(self.largest, self.largest + 1))


def order_by_size(series: Sequence[Series]) -> list[int]:
    """Return the places of series from the one with the largest value down."""
    keys = [np.array([one.peak().keys()[i][0] for one in series]) for i in (0, 1)]
    order: list[int] = np.lexsort((-np.arange(len(series)), *keys))[::-1].tolist()
    return order


def largest_of(series: Sequence[Series], most: int) -> tuple[Series, ...]:
    """Return the series with the largest values, in the order that they have."""
    return tuple(series[i] for i in sorted(order_by_size(series)[:most]))


def value_column(table: pa.Table, value: str | None, groups: Sequence[str]) -> str:
    """Return the column to draw: the one named, or the first aggregate that is a number.

    >>> value_column(pa.table({"sector": ["tools"], "count": [2.0]}), None, ["sector"])
    'count'
    """
    names: list[str] = table.column_names
    for name in (*groups, *([] if value is None else [value])):
        if name not in names:
            message = f"the result has no column '{name}'"
            notes = (f"its columns are {', '.join(names)}",)
            raise DataError(Diagnostic("missing-column", message, notes=notes, help=suggest(name, names)))
    numeric = [name for name in names if name not in (*groups, *WINDOW) and is_numeric(table.column(name))]
    if value is None and numeric:
        return numeric[0]
    if value is None:
        message = "the result has no column of numbers to draw"
        raise QueryError(Diagnostic("bad-option", message, notes=(f"its columns are {', '.join(names)}",)))
    if value not in numeric:
        help = f"choose one of {', '.join(numeric)}" if numeric else None
        raise QueryError(Diagnostic("bad-option", f"column '{value}' is no number to draw", help=help))
    return value


def split_series(
    table: pa.Table, groups: Sequence[str], x: Array, y: Numbers, most: int
) -> tuple[list[Series], int]:
    """Return the groups with the largest values, in order of their names, and how many are left out.

    Of several rows of one window and group, as a stream in update mode writes them, the largest value counts.
    """
    code, first = _codes(table, groups)
    minor, major = y.keys()
    order = np.lexsort((minor, major, x, code))
    code, x, y = code[order], x[order], y.take(order)
    last = np.r_[(np.diff(code) != 0) | (x[1:] != x[:-1]), True]
    code, x, y = code[last], x[last], y.take(last)
    minor, major = y.keys()
    ranked = np.lexsort((minor, major, code))
    edges = np.flatnonzero(np.r_[True, np.diff(code) != 0, True])
    largest = ranked[edges[1:] - 1]  # the last row of each group is its largest
    order_by_size = np.lexsort((-np.arange(largest.size), minor[largest], major[largest]))[::-1]
    kept = np.sort(order_by_size[:most]).tolist()
    names = _names(table.take(pa.array(first[kept])), groups)
    found = [
        Series(name, x[edges[k] : edges[k + 1]], y.take(slice(edges[k], edges[k + 1])), int(largest[k] - edges[k]))
        for k, name in zip(kept, names, strict=True)
    ]
    return found, largest.size - len(found)


def _codes(table: pa.Table, groups: Sequence[str]) -> tuple[Array, Array]:
    """Give the groups numbers in order of their columns; return that of each row, and a row of each group."""
    code = np.zeros(table.num_rows, np.int64)
    for name in groups:
        # Numbers of single columns keep to the order of values, so those of several do to that of tuples.
        column = table.column(name).combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.dictionary_encode("encode")  # NULL is a group too
        distinct = len(encoded.dictionary)
        rank = np.empty(distinct, np.int64)
        rank[np.asarray(pc.sort_indices(encoded.dictionary))] = np.arange(distinct)
        code = np.unique(code * distinct + rank[np.asarray(encoded.indices)], return_inverse=True)[1]
    first = np.unique(code, return_index=True)[1]
    return code, first


def _names(table: pa.Table, groups: Sequence[str]) -> list[str]:
    columns = [table.column(name).to_pylist() for name in groups]
    return [", ".join(map(_name, row)) for row in zip(*columns, strict=True)] if groups else [""]


def _name(value: Any) -> str:
    """Write a value of a group.

    >>> _name("tools"), _name(None), _name(2.0)
    ('tools', 'NULL', '2')
    """
    if value is None:
        return "NULL"
    return one_line(f"{value:g}" if isinstance(value, float) else str(value))


def one_line(text: str) -> str:
    r"""Replace what would break a line or move a cursor.

    >>> one_line("a\n\tb")
    'a  b'
    """
    return "".join(c if c.isprintable() else " " for c in text)
