"""Results for people and for pipes: aligned tables with readable numbers, CSV, JSON lines and Parquet."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TextIO

from sparkleene.cli.failures import wrong

Format = Literal["table", "csv", "json", "parquet"]

MOST = 1000
"""Rows that a table on a terminal has; other formats have all."""
LONG = 100
"""Digits of an exact number that a table shows."""
ENDS: dict[str, Format] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "table",
}


def format_of(given: Format | None, output: str | None) -> Format:
    """Return the format to write: the one asked for, that of the file's name, or what fits who reads it."""
    if given == "parquet" and output is None:
        raise wrong("Parquet is for files", "add --output PATH")
    if given is not None:
        return given
    if output is None:
        return "table" if sys.stdout.isatty() else "csv"
    found = ENDS.get(Path(output).suffix.lower())
    if found is not None:
        return found
    if is_folder(output):
        return "parquet"
    raise wrong(f"the format of '{output}' is not clear", "add --format csv, json or parquet")


def is_folder(output: str) -> bool:
    """Tell whether an output is a folder, which Spark's tasks write side by side: a name without an ending.

    >>> is_folder("results"), is_folder("results.d/"), is_folder("results.csv"), is_folder("/")
    (True, True, False, True)
    """
    path = Path(output)
    return output.endswith(("/", os.sep)) or path.is_dir() or not (path.suffix or path.exists())


def check_output(output: str, folders: bool = True) -> None:
    """Raise for a place where nothing can be written, before there is anything to write."""
    if "://" in output:
        return
    target = Path(output)
    if folders and is_folder(output):
        if target.exists() and not target.is_dir():
            raise wrong(f"'{output}' is a file", "leave out the slash at the end")
        if target.is_dir() and any(target.iterdir()):
            raise wrong(
                f"there is something in the folder '{output}' already", "name a new folder, or a file"
            )
        return
    if target.is_dir():
        raise wrong(f"'{output}' is a folder", "name a file in it")
    if not target.absolute().parent.is_dir():
        raise wrong(f"there is no folder '{target.parent}' to write to", code="missing-file")


def write(table: Any, kind: Format, output: str | None) -> None:
    """Write a result to a file, or print it."""
    if output is None:
        write_text(table, kind, sys.stdout)
        sys.stdout.flush()
        return
    if is_folder(output):
        Path(output).mkdir(parents=True, exist_ok=True)
        output = os.path.join(output, f"part-0.{kind}")
    with written(output) as path:
        if kind == "parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            with pa.OSFile(
                path, "wb"
            ) as sink:  # what is given a path deletes it when it fails, be it a device
                pq.write_table(table, sink)
        else:
            with open(path, "w", encoding="utf_8", newline="") as file:
                write_text(table, kind, file)


def write_events(table: Any, kind: Format, output: str) -> None:
    """Write events to a file: millions of rows, as Arrow writes them."""
    if kind != "csv":
        write(table, kind, output)
        return
    import pyarrow.csv

    with written(output) as path:
        pyarrow.csv.write_csv(table, path)


@contextmanager
def written(output: str) -> Iterator[str]:
    """Give a path to write to: a file beside the output that takes its place when it is whole."""
    check_output(output, folders=False)
    target = Path(os.path.realpath(output))  # a link stays one
    if output.startswith("/dev/") or (target.exists() and not target.is_file()):
        with _named(output):
            yield output  # a pipe or a device; /dev/stdout may be a file, which is not ours to replace
        return
    with _named(output):
        number, path = tempfile.mkstemp(target.suffix, f".{target.stem}-", target.parent)
        os.close(number)
        try:
            yield path
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(path, 0o666 & ~mask)
            os.replace(path, target)
        except BaseException:
            os.unlink(path)
            raise


@contextmanager
def _named(output: str) -> Iterator[None]:
    """Let errors name the output, not the file beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror or error}", output) from error


def write_text(table: Any, kind: Format, file: TextIO, header: bool = True) -> None:
    """Write rows as text."""
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
        file.write(aligned(names, cells(table.slice(0, MOST)), numeric(table), header))
        if table.num_rows > MOST:
            file.write(f"... and {table.num_rows - MOST:,} rows more; --output FILE has them all\n")


def rows_of(table: Any) -> Iterator[tuple[Any, ...]]:
    """Return the rows, some thousands at a time."""
    for batch in table.to_batches(max_chunksize=10_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def numeric(table: Any) -> list[bool]:
    """Tell which columns are numbers, exact ones as text too."""
    import pyarrow.types as types

    tests: tuple[Callable[[Any], bool], ...] = (types.is_integer, types.is_floating, types.is_decimal)
    return [
        any(test(field.type) for test in tests)
        or (types.is_string(field.type) and _digits(table.column(i).slice(0, MOST).to_pylist()))
        for i, field in enumerate(table.schema)
    ]


def _digits(values: Sequence[str | None]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(value.lstrip("-").replace(".", "", 1).isdigit() for value in given)


def aligned(
    names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], header: bool = True
) -> str:
    """Return a table of text, numbers to the right.

    >>> print(aligned(["user", "count"], [["a", "12"], ["bob", "3"]], [False, True]), end="")
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
    if min(abs(value) for value in numbers if value) < 10.0 ** (2 - digits):  # too small for so few digits
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


def trend(row: dict[str, Any], groups: Sequence[str], time: str, keys: Sequence[str] = ()) -> str:
    """Return a trend as a line: its window, group and keys, and its events with their labels and times.

    >>> events = [{"label": "A", "row": 0, "time": 1, "user": 7}, {"label": "B", "row": 2, "time": 3, "user": 7}]
    >>> trend({"window_start": 0, "window_end": 10, "shop": "x", "events": events}, ["shop"], "time", ["user"])
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


def _at(value: Any, day_is_known: bool) -> str:
    """Return a time; of the day only, where all are of one."""
    text = plain(value)
    return text.partition(" ")[2] if day_is_known and " " in text else text.replace(" ", "T")
