"""Rows as text for people and for pipes: aligned tables with readable numbers, CSV and JSON lines."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, TextIO

from sparkleene.plan.trend_selection import Order

Format = Literal["table", "csv", "json", "parquet"]

MOST = 1000
"""Rows that a table on a terminal has; other formats have all."""
LONG = 100
"""Digits of an exact number that a table shows."""


def write_text(table: Any, kind: Format, file: TextIO, header: bool = True) -> None:
    """Write rows as text in one of the formats that people read."""
    names = table.column_names
    if kind == "csv":
        rows = csv.writer(file, lineterminator="\n")
        if header:
            rows.writerow(names)
        rows.writerows([plain(value) for value in row] for row in rows_of(table))
    elif kind == "json":
        for row in rows_of(table):
            file.write(json.dumps(dict(zip(names, map(_json, row), strict=True)), ensure_ascii=False) + "\n")
    else:
        file.write(align(names, cells(table.slice(0, MOST)), are_numeric(table), header))
        if table.num_rows > MOST:
            file.write(f"... and {table.num_rows - MOST:,} rows more; --output FILE has them all\n")


def rows_of(table: Any) -> Iterator[tuple[Any, ...]]:
    """Return the rows, some thousands at a time."""
    for batch in table.to_batches(max_chunksize=10_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def are_numeric(table: Any) -> list[bool]:
    """Tell of each column whether it holds numbers; exact ones are text."""
    import pyarrow.types as types

    tests: tuple[Callable[[Any], bool], ...] = (types.is_integer, types.is_floating, types.is_decimal)
    return [
        any(test(field.type) for test in tests)
        or (types.is_string(field.type) and _are_digits(table.column(i).slice(0, MOST).to_pylist()))
        for i, field in enumerate(table.schema)
    ]


def _are_digits(values: Sequence[str | None]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(value.lstrip("-").replace(".", "", 1).isdigit() for value in given)


def align(names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], header: bool = True) -> str:
    """Return a table of text, numbers to the right.

    >>> print(align(["user", "count"], [["a", "12"], ["bob", "3"]], [False, True]), end="")
    user  count
    ----  -----
    a        12
    bob       3
    """
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = [names, ["-" * width for width in widths], *rows] if header else rows
    return "".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def cells(table: Any) -> list[list[str]]:
    """Return the rows as people read them; the fractions of a column have the same number of digits."""
    columns = [column.to_pylist() for column in table.columns]
    return [list(row) for row in zip(*map(_cells, columns), strict=True)]


def _cells(values: Sequence[Any]) -> list[str]:
    numbers = [value for value in values if isinstance(value, float) and math.isfinite(value)]
    most = max(map(abs, numbers), default=0.0)
    if all(value.is_integer() for value in numbers) or most >= 1e6:
        return [readable(value) for value in values]
    digits = max(1, 6 - len(str(int(most))))
    if min(abs(value) for value in numbers if value) < 10.0 ** (2 - digits):  # too small for these digits
        return [readable(value) for value in values]
    texts = [f"{value:.{digits}f}" for value in numbers]
    digits = max(1, digits - min(len(text) - len(text.rstrip("0")) for text in texts))
    return [
        f"{value:,.{digits}f}" if isinstance(value, float) and math.isfinite(value) else readable(value)
        for value in values
    ]


def readable(value: Any) -> str:
    """Return a value as a person reads it.

    >>> readable(3.0), readable(1234567.0), readable(4.31e120), readable(0.1234567891), readable(None)
    ('3', '1,234,567', '4.31e+120', '0.123457', '')
    >>> readable("7" * 30), readable("7" * 300)
    ('777777777777777777777777777777', '7.77778e+299')
    """
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return f"{int(value):,}"
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, str) and len(value) > LONG and value.lstrip("-").isdigit():
        sign, digits = ("-", value[1:]) if value[0] == "-" else ("", value)
        return f"{sign}{Decimal(digits[:20]).scaleb(-19):.5f}e+{len(digits) - 1}"
    return plain(value)


def plain(value: Any) -> str:
    """Return a value as it is in CSV.

    >>> plain(datetime(2024, 3, 4, 12)), plain(11.0), plain(0.1), plain(None), plain(True)
    ('2024-03-04 12:00:00', '11', '0.1', '', 'true')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        text = value.isoformat(sep=" ")
        return text.removesuffix("+00:00") if value.utcoffset() == timedelta(0) else text
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, list | dict):
        return json.dumps(_json(value), ensure_ascii=False)
    return str(value)


def _json(value: Any) -> Any:
    """Return a value as JSON has it; what JSON lacks is text, as Spark writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {name: _json(item) for name, item in value.items()}
    return plain(value) if isinstance(value, datetime | date | time | timedelta | bytes | Decimal) else value


def trend_line(row: dict[str, Any], groups: Sequence[str], time: str, keys: Sequence[str] = ()) -> str:
    """Return a trend as a line: its window, group and keys, and its events with their labels and times.

    >>> events = [{"label": "A", "row": 0, "time": 1, "user": 7}, {"label": "B", "row": 2, "time": 3, "user": 7}]
    >>> trend_line({"window_start": 0, "window_end": 10, "shop": "x", "events": events}, ["shop"], "time", ["user"])
    '[0, 10)  shop=x  user=7  A@1 B@3'
    """
    parts = [f"{name}={plain(row[name])}" for name in groups]
    if "window_start" in row:
        parts.insert(0, f"[{plain(row['window_start'])}, {plain(row['window_end'])})")
    whole = [row[name] for name in ("events", "events_2") if row.get(name)]
    first = whole[0][0] if whole else {}
    parts += [f"{name}={plain(first[name])}" for name in keys if name in first and name not in groups]
    days = {event[time].date() for events in whole for event in events if isinstance(event[time], datetime)}
    known = len(days) == 1 and "window_start" in row
    events = [" ".join(f"{event['label']}@{_at(event[time], known)}" for event in one) for one in whole]
    return "  ".join([*parts, " AND ".join(events)])


def tell_how_many(counts: Any, limit: int, order: Order) -> str:
    """Say how many trends were shown, given how many the window and group of each has.

    >>> tell_how_many([6.0, 6.0], 2, "sample"), tell_how_many([2.0, 2.0], 20, "first")
    ('2 of 6 trends, drawn at random; --limit N shows more', 'all 2 trends')
    """
    shown = len(counts)
    if order == "first":
        return f"all {shown} trends" if shown < limit else f"the first {limit} trends; --limit N shows more"
    several = len(set(map(str, counts))) > 1
    of = "" if several or not shown else f" of {plain(float(str(counts[0])))}"
    which = "drawn at random" if order == "sample" else f"the {order} ones"
    each = " of each window and group" if several else ""
    return f"{shown}{of} trends, {which}{each}; --limit N shows more"


def _at(value: Any, day_is_known: bool) -> str:
    """Return a time; of the day only, where all are of one."""
    text = plain(value)
    return text.partition(" ")[2] if day_is_known and " " in text else text.replace(" ", "T")
