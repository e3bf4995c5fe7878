"""Columns that names of folders hold, as in `day=2024-05-31/k=7/`, with the types that Spark infers."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import pyarrow as pa

from sparkleene.columns.paths import File
from sparkleene.errors import Place

DEFAULT = "__HIVE_DEFAULT_PARTITION__"
"""What a folder is called whose rows have NULL."""


@dataclass(frozen=True)
class PartitionColumn:
    """A column that folders' names hold: its type, and the value that each text in a name stands for."""

    type: pa.DataType
    values: Mapping[str, Any]


def infer_partition(raw: Iterable[str], zone: str | None = None) -> PartitionColumn:
    """Return the column that texts in folders' names make, with the type that Spark infers for them.

    Timestamps are in the given zone, without one in that of this machine, which is Spark's own default.

    >>> infer_partition(["1", "02"]), infer_partition(["1", "a%20b"]).values
    (PartitionColumn(type=DataType(int32), values={'1': 1, '02': 2}), {'1': '1', 'a%20b': 'a b'})
    """
    parsed = {text: _parse(text) for text in dict.fromkeys(raw)}
    words = {word for word, _ in parsed.values()} - {"null"}
    word = next((wide for kinds, wide in _WIDER if words <= kinds), "text")
    values: dict[str, Any] = {}
    for text, (own, value) in parsed.items():
        if own == "null":
            values[text] = None
        elif word == "text":
            values[text] = unquote(text)
        elif word == "timestamp":
            at = value if own == word else datetime.datetime.combine(value, datetime.time())
            here = at if zone is None else at.replace(tzinfo=ZoneInfo(zone))
            values[text] = here.astimezone(datetime.UTC)
        else:
            values[text] = float(value) if word == "double" else value
    return PartitionColumn(_TYPES[word], values)


def _parse(text: str) -> tuple[str, Any]:
    """Return the kind of value that a folder's name shows, and the value."""
    if text == DEFAULT:
        return "null", None
    if re.fullmatch(r"[+-]?\d+", text) and abs(int(text)) < 2**63:
        return "int" if -(2**31) <= int(text) < 2**31 else "bigint", int(text)
    if re.fullmatch(r"[+-]?\d+\.?([eE]\+?\d{1,2})?", text, re.ASCII) and abs(Decimal(text)) < 10**38:
        return "decimal", Decimal(int(Decimal(text)))
    if number := re.fullmatch(r"\s*([+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?))[fFdD]?\s*", text):
        return "double", float(number[1])
    for word, form, read in _TIMES:
        if re.fullmatch(form, unquote(text), re.ASCII):
            try:
                return word, read(unquote(text))
            except ValueError:  # no day of the calendar
                return "text", text
    return "text", text


_TIMES: tuple[tuple[str, str, Any], ...] = (
    ("date", r"\d{4}-\d\d-\d\d", datetime.date.fromisoformat),
    ("timestamp", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d)?", datetime.datetime.fromisoformat),
)
_WIDER: tuple[tuple[set[str], str], ...] = (
    (set(), "null"),
    ({"int"}, "int"),
    ({"int", "bigint"}, "bigint"),
    ({"int", "bigint", "decimal"}, "decimal"),
    ({"int", "double"}, "double"),
    ({"date"}, "date"),
    ({"date", "timestamp"}, "timestamp"),
)
_TYPES = {
    "null": pa.null(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "decimal": pa.decimal128(38, 0),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "text": pa.string(),
}


def infer_partitions(files: Sequence[File], zone: str | None = None) -> dict[str, PartitionColumn]:
    """Return the columns that the folders' names of files hold, by their names."""
    raw: dict[str, list[str]] = {}
    for file in files:
        for name, text in file.partitions:
            raw.setdefault(name, []).append(text)
    return {name: infer_partition(texts, zone) for name, texts in raw.items()}


def check_partition(files: Sequence[File], name: str) -> None:
    """Raise if a column is in the folders' names of some files only."""
    without = next((file for file in files if name not in dict(file.partitions)), None)
    if without is None:
        return
    having = next(file for file in files if name in dict(file.partitions))
    message = f"the folders' names give '{name}' for some files only"
    notes = [f"'{having.shown}' has it, '{without.shown}' does not"]
    raise Place().error("conflicting-partitions", message, help="read a folder that has all", notes=notes)
