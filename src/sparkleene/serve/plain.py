"""Tables as JSON that any reader takes as it was meant: no NaN, no integers that lose digits, times as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

SAFE = 1 << 53
"""Integers up to this are the same in a double; others are sent as text."""
LONGEST = 10_000  # characters of a value


def plain(value: Any) -> Any:
    """Return a value as JSON has it.

    >>> plain([1, 2**60, 1e300, float("inf"), None, "a", {"at": datetime(2024, 1, 2)}])
    [1, '1152921504606846976', 1e+300, 'Infinity', None, 'a', {'at': '2024-01-02T00:00:00'}]
    """
    match value:
        case None | bool():
            return value
        case str():
            return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
        case int():
            return value if -SAFE <= value <= SAFE else str(value)
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return str(value)
        case bytes():
            return value[:LONGEST].hex()
        case Mapping():
            return {str(key): plain(one) for key, one in value.items()}
        case Sequence():
            return [plain(one) for one in value]
    isoformat = getattr(value, "isoformat", None)  # a Timestamp of pandas, for nanoseconds
    return str(value if isoformat is None else isoformat())


def kind_of(type: pa.DataType) -> str:
    """Return what the page should know of a column's type.

    >>> kind_of(pa.timestamp("us")), kind_of(pa.int32()), kind_of(pa.list_(pa.int8()))
    ('time', 'number', 'nested')
    """
    t = pa.types
    if t.is_dictionary(type):
        return kind_of(type.value_type)
    for kind, tests in (
        ("time", (t.is_timestamp, t.is_date)),
        ("boolean", (t.is_boolean,)),
        ("number", (t.is_integer, t.is_floating, t.is_decimal)),
        ("text", (t.is_string, t.is_large_string, t.is_string_view)),
        ("nested", (t.is_nested,)),
    ):
        if any(test(type) for test in tests):
            return kind
    return "other"


def columns_of(schema: pa.Schema) -> list[dict[str, str]]:
    """Return the names and types of columns."""
    return [{"name": one.name, "type": str(one.type), "kind": kind_of(one.type)} for one in schema]


def rows_of(table: pa.Table) -> list[list[Any]]:
    """Return the rows of a table, each a list of its values."""
    columns = [[plain(value) for value in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)] if columns else []
