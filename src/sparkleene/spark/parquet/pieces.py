"""Parquet by path, read with Arrow inside of tasks: which row groups a query needs, and their columns.

The driver reads each footer once (`discover`) and leaves out the row groups that cannot matter (`select_pieces`);
a task reads the columns of a few row groups (`read`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.fields import decode, integers, kind
from sparkleene.columns.paths import PLACE, File
from sparkleene.language.bound import Bound, Path
from sparkleene.spark.parquet.footers import (
    TICKS,
    Column,
    Files,
    Footer,
    in_microseconds,
    layout_of,
    leaves,
    open_file,
    read_schema,
    unreadable,
    width,
)
from sparkleene.spark.parquet.prune import Ends, can_matter

Group = tuple[Footer, int]
"""A row group: its file and its number there."""
Span = tuple[int, int] | tuple[float, float] | None

BYTES = 128 << 20
"""The most bytes of needed columns, uncompressed, in a piece of several row groups."""
ROWS = 4_000_000
"""The most rows in a piece of several row groups."""


TOO_FINE = "round the column in the data, or pass engine='local': this process counts nanoseconds"


@dataclass(frozen=True, slots=True)
class Piece:
    """What is read at once: row groups of a file, and the values that its folders' names hold."""

    path: str
    filesystem: str | None  # the URI that it is made from, None for local files
    row_groups: tuple[int, ...]
    partitions: tuple[tuple[str, Any], ...]
    rows: int
    bytes: int


@dataclass(frozen=True)
class RowGroups:
    """The pieces to read, in order of path, and the schema in which `read` returns them.

    `spans` are the least and greatest time of each piece, in the unit of the time column, None where unknown.
    """

    schema: pa.Schema
    pieces: tuple[Piece, ...]
    rows: int
    spans: tuple[Span, ...]


def select_pieces(
    files: Files,
    columns: Collection[str],
    time: str,
    *,
    bounds: Sequence[Bound] = (),
    type_column: str | None = None,
    dictionary: Collection[str] = (),
    parallelism: int = 1,
) -> RowGroups:
    """Return the row groups that can matter to some query, in at least `parallelism` pieces where they suffice.

    Text columns named in `dictionary`, and text in folders' names, are read dictionary-encoded. Timestamps in
    the column `time` are read in microseconds, and so are nanoseconds in all columns.
    """
    schema = read_schema(files, columns, time, dictionary)
    groups = [
        (footer, number)
        for footer in files.footers
        for number in range(footer.data.num_row_groups)
        if footer.data.row_group(number).num_rows
    ]
    if bounds:
        before = groups
        ends = cache(lambda path: _ends(files, schema, before, path))
        kept = np.logical_or.reduce([can_matter(bound, type_column, len(groups), ends) for bound in bounds])
        groups = [groups[i] for i in np.flatnonzero(kept)]
    rows = [footer.data.row_group(number).num_rows for footer, number in groups]
    sizes = [_size(group, schema.names) for group in groups]
    spans = _spans(_ends(files, schema, groups, (time,)), len(groups))
    pieces, times = [], []
    for part in _parts([footer.file for footer, _ in groups], rows, sizes, parallelism):
        file = groups[part[0]][0].file
        values = [(name, files.partitions[name].values[raw]) for name, raw in file.partitions]
        piece = Piece(
            file.path,
            file.uri,
            tuple(groups[i][1] for i in part),
            tuple((name, value) for name, value in values if name in schema.names),
            sum(rows[i] for i in part),
            sum(sizes[i] for i in part),
        )
        pieces.append(piece)
        times.append(_unite_spans([spans[i] for i in part]))
    return RowGroups(schema, tuple(pieces), sum(rows), tuple(times))


def read(piece: Piece, schema: pa.Schema) -> pa.Table:
    """Return the rows of a piece in the schema of its source, or in some columns of it.

    Columns that the file does not have are NULL.
    """
    file = File(piece.path, piece.filesystem)
    values = dict(piece.partitions)
    wanted = set(schema.names) - set(values)
    encoded = [name for name in wanted if pa.types.is_dictionary(schema.field(name).type)]
    try:
        with open_file(file, encoded) as parquet:
            layout = layout_of(parquet.schema, parquet.schema_arrow)
            numbers = [leaf for column in layout if column.name in wanted for leaf in leaves(column)]
            # leaves go by number, for names may have dots; threads belong to Spark
            table = parquet.reader.read_row_groups(list(piece.row_groups), numbers, use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable(file, error) from error
    arrays = [
        _convert(table.column(field.name), field, file)
        if field.name in table.column_names
        else _constant(values.get(field.name), field.type, piece.rows)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _convert(column: Any, field: pa.Field, file: File) -> Any:
    """Return a column of a file in the type that it has in all files."""
    if column.type == field.type:
        return column
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(field.type):
        column = decode(column)
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        timed = pa.types.is_timestamp(field.type)
        if not timed and in_microseconds(column.type) == column.type:
            raise unreadable(file, error) from error
        message = f"times in '{field.name}' of '{file.shown}' do not fit Spark's, which count microseconds"
        raise PLACE.error("time-too-fine", message, help=TOO_FINE, notes=[str(error)]) from error


def _constant(value: Any, type: pa.DataType, rows: int) -> pa.Array:
    """Return one value for all rows."""
    if value is None:
        return pa.nulls(rows, type)
    if not pa.types.is_dictionary(type):
        return pa.repeat(pa.scalar(value, type), rows)
    codes = pa.repeat(pa.scalar(0, type.index_type), rows)
    return pa.DictionaryArray.from_arrays(codes, pa.array([value], type.value_type))


# ---- statistics


def _ends(files: Files, schema: pa.Schema, groups: Sequence[Group], path: Path) -> Ends | None:
    """Return the bounds of a column, or of a struct's field, in each row group."""
    if path[0] not in schema.names:
        return None
    type = schema.field(path[0]).type
    type = type.value_type if pa.types.is_dictionary(type) else type
    for name in path[1:]:
        if not pa.types.is_struct(type) or type.get_field_index(name) < 0:
            return None
        type = type.field(name).type
    if kind(type) not in ("number", "text", "boolean", "timestamp", "zoned timestamp", "binary"):
        return None
    found = []
    for footer, number in groups:
        if path[0] in files.partitions:
            value = files.partitions[path[0]].values[dict(footer.file.partitions)[path[0]]]
            found.append((value, value, value is not None, value is None))
        else:
            found.append(_read_statistics(footer.data.row_group(number), _leaf(footer, path), type))
    low, high, full, empty = zip(*found, strict=True) if found else ((), (), (), ())
    try:
        return Ends(pa.array(low, type), pa.array(high, type), np.array(full, bool), np.array(empty, bool))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # kept in a form Arrow does not tell
        return None


def _leaf(footer: Footer, path: Path) -> Column | None:
    """Return the leaf of a path in a file, None if the file does not have it."""
    found = next((column for column in footer.layout if column.name == path[0]), None)
    for name in path[1:]:
        if found is None or not pa.types.is_struct(found.type):
            return None
        leaf, inner = found.leaf, None
        for field in found.type:
            if field.name == name:
                inner = Column(name, field.type, leaf)
            leaf += width(field.type)
        found = inner
    return found


def _read_statistics(group: Any, leaf: Column | None, type: pa.DataType) -> tuple[Any, Any, bool, bool]:
    """Return the bounds of a leaf as values of a type, whether it has no NULL, and whether nothing else."""
    if leaf is None or pa.types.is_null(leaf.type):
        return None, None, False, True
    told = group.column(leaf.leaf).statistics
    if told is None or told.physical_type == "INT96":
        return None, None, False, False
    full, empty = told.null_count == 0, told.null_count == group.num_rows
    if not told.has_min_max:
        return None, None, full, empty
    if pa.types.is_timestamp(leaf.type) and pa.types.is_timestamp(type):
        up, down = TICKS[type.unit], TICKS[leaf.type.unit]
        return told.min_raw * up // down, -(-told.max_raw * up // down), full, empty
    try:
        low, high = told.min, told.max
    except (ValueError, OverflowError):  # text that was cut within a character, a date beyond Python's
        return None, None, full, empty
    if isinstance(low, float) and (math.isnan(low) or math.isnan(high)):
        return None, None, full, empty
    return low, high, full, empty


def _spans(times: Ends | None, count: int) -> list[Span]:
    """Return the least and greatest times of row groups as numbers."""
    if times is None or kind(times.low.type) not in ("number", "timestamp", "zoned timestamp"):
        return [None] * count
    ends = [times.low, times.high]
    if pa.types.is_decimal(times.low.type):
        return [None] * count
    if not pa.types.is_floating(times.low.type):
        ends = [integers(end) if not pa.types.is_integer(end.type) else end for end in ends]
    pairs = zip(*(end.to_pylist() for end in ends), strict=True)
    return [None if low is None else (low, high) for low, high in pairs]


def _unite_spans(spans: Sequence[Span]) -> Span:
    """Return the span of several, None if one is unknown."""
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


# ---- pieces


def _size(group: Group, names: Collection[str]) -> int:
    """Return the uncompressed bytes of the needed columns."""
    footer, number = group
    data = footer.data.row_group(number)
    numbers = [leaf for column in footer.layout if column.name in names for leaf in leaves(column)]
    return sum(data.column(leaf).total_uncompressed_size for leaf in numbers)


def _parts(files: Sequence[File], rows: Sequence[int], sizes: Sequence[int], parallelism: int) -> list[list[int]]:
    """Join row groups of one file to pieces of a good size, then halve the largest until there are enough.

    >>> file = File("a", None)
    >>> _parts([file] * 4, [10, 10, 10, 10], [1, 1, 1, 1], 2)
    [[0, 1], [2, 3]]
    """
    parts: list[list[int]] = []
    count = size = 0
    for i, file in enumerate(files):
        count, size = count + rows[i], size + sizes[i]
        if parts and file == files[parts[-1][0]] and count <= ROWS and size <= BYTES:
            parts[-1].append(i)
        else:
            parts.append([i])
            count, size = rows[i], sizes[i]
    done = [part for part in parts if len(part) == 1]
    heap = [(-sum(rows[i] for i in part), part) for part in parts if len(part) > 1]
    heapq.heapify(heap)
    while heap and len(done) + len(heap) < parallelism:
        _, part = heapq.heappop(heap)
        for half in (part[: len(part) // 2], part[len(part) // 2 :]):
            if len(half) == 1:
                done.append(half)
            else:
                heapq.heappush(heap, (-sum(rows[i] for i in half), half))
    return sorted([*done, *(part for _, part in heap)])
