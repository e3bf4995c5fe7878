"""Columns that a query computes from each row, added to a table."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from sparkleene.columns.row_values import row_values
from sparkleene.errors import Place
from sparkleene.language.bound import Derived


def add_derived(table: pa.Table, derived: Iterable[Derived], place: Place = Place()) -> pa.Table:
    """Return a table with the columns that a query computes; those that it has already stay as they are.

    >>> from sparkleene.language.bound import Call, Field, Literal_
    >>> doubled = Derived("x * 2", Call("*", (Field(("x",)), Literal_(2))))
    >>> add_derived(pa.table({"x": [1, None]}), [doubled]).column("x * 2").to_pylist()
    [2, None]
    """
    made = table
    for one in derived:
        if one.name not in made.column_names:
            made = made.append_column(one.name, row_values(one.term, table, place))
    return made
