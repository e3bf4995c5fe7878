"""What the footers of Parquet files tell: their columns, one schema of all, and where each column is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparkleene.columns.fields import describe_type, duplicate_column, kind, missing_column, value_type
from sparkleene.columns.hive import PartitionColumn, check_partition, infer_partitions
from sparkleene.columns.paths import (
    PLACE,
    File,
    Paths,
    filesystem,
    list_files,
    path_texts,
    spark_hint,
    suggest_file,
)
from sparkleene.errors import DataError, first_line

THREADS = 16
"""Footers that are read at once; mostly they wait for the storage."""
SIGNATURE = 28
"""Bytes that sign a footer which is not encrypted itself: a nonce of 12, a tag of 16."""
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Column:
    """A column of a file: its type, and the number of its first leaf, for Parquet stores structs in leaves."""

    name: str
    type: pa.DataType
    leaf: int


Layout = tuple[Column, ...]


@dataclass(frozen=True)
class Footer:
    """What is known of a file without reading its rows."""

    file: File
    data: Any  # a pyarrow.parquet.FileMetaData
    layout: Layout


@dataclass(frozen=True)
class Files:
    """All files of a source. `schema` has the columns of every file, and those of folders' names."""

    schema: pa.Schema
    footers: tuple[Footer, ...]
    partitions: dict[str, PartitionColumn]


def find_files(given: Paths) -> list[File]:
    """Return the files with anything in them of one or several paths, in order; one that several lead to, once."""
    paths = path_texts(given)
    found: dict[tuple[str, str | None], File] = {}
    for path in paths:
        try:
            files = list_files(path)
            if files is None:
                help = suggest_file(path) or spark_hint(path)
                raise PLACE.error("missing-file", f"there is no file '{path}'", help=help)
        except (pa.ArrowException, OSError, ValueError) as error:
            message, notes = f"cannot read '{path}'", [first_line(error)]
            raise PLACE.error("unreadable-file", message, help=spark_hint(path), notes=notes) from error
        for file in files:
            if file.size != 0:
                found.setdefault((file.path, file.uri), file)
    if not found:
        shown = "', '".join(paths)
        help = spark_hint(paths[0]) if paths else "pass a path"
        raise PLACE.error("unreadable-file", f"there are no Parquet files in '{shown}'", help=help)
    return sorted(found.values(), key=lambda file: (file.path, file.uri or ""))


def discover(path: Paths, zone: str = "UTC") -> Files:
    """Read the footers below one or several paths; `zone` is Spark's, for timestamps in folders' names."""
    files = find_files(path)
    with ThreadPoolExecutor(THREADS) as pool:
        footers = _make_footers(files, pool.map(_footer, files))
    partitions = infer_partitions(files, zone)
    layouts = {id(footer.layout): footer.layout for footer in _with_rows(footers)}
    fields: dict[str, Any] = {}
    for column in (column for layout in layouts.values() for column in layout):
        # a conflict of types is an error only if the column is needed
        fields[column.name] = wider(fields.get(column.name, pa.null()), column.type) or fields[column.name]
    fields = {name: in_microseconds(type) for name, type in fields.items()}
    fields |= {name: column.type for name, column in partitions.items()}
    return Files(pa.schema(list(fields.items())), footers, partitions)


def open_file(file: File, encoded: Sequence[str] = ()) -> Any:
    """Open a Parquet file; Spark's timestamps of 96 bits are read in microseconds, as Spark does."""
    return pq.ParquetFile(
        file.path,
        filesystem=filesystem(file.uri),
        read_dictionary=list(encoded),
        coerce_int96_timestamp_unit="us",
        pre_buffer=True,
    )


def _footer(file: File) -> tuple[Any, pa.Schema]:
    """Read the footer of a file."""
    try:
        with open_file(file) as parquet:
            _check_plain(file, parquet.metadata)
            return parquet.metadata, parquet.schema_arrow
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable(file, error) from error


def _make_footers(files: Sequence[File], read: Iterable[tuple[Any, pa.Schema]]) -> tuple[Footer, ...]:
    """Return footers, of which those alike share one layout; files of a source mostly are."""
    footers = []
    recent: list[tuple[Any, pa.Schema, Layout]] = []
    for file, (data, schema) in zip(files, read, strict=True):
        alike = (known for leaves, other, known in recent if other.equals(schema) and leaves.equals(data.schema))
        layout = next(alike, None)
        if layout is None:
            layout = layout_of(data.schema, schema)
            recent = [(data.schema, schema, layout), *recent[:7]]
        footers.append(Footer(file, data, layout))
    return tuple(footers)


def _check_plain(file: File, data: Any) -> None:
    """Raise if columns are encrypted: to ask for their statistics would end the process.

    A plain footer of such a file is followed by a signature, which Arrow does not count.
    """
    with filesystem(file.uri).open_input_file(file.path) as source:
        tail = source.read_at(8, source.size() - 8)
    if int.from_bytes(tail[:4], "little") == data.serialized_size + SIGNATURE:
        raise OSError("the file is encrypted")


def unreadable(file: File, error: Exception) -> DataError:
    """Return the error for a file that Arrow cannot read."""
    if "magic bytes" not in str(error) and "footer" not in str(error):
        return PLACE.error(
            "unreadable-file", f"cannot read '{file.shown}'", help=spark_hint(file.shown), notes=[first_line(error)]
        )
    reader = next((word for word in ("csv", "json", "orc", "avro") if f".{word}" in file.path.lower()), "")
    help = spark_hint(file.shown, {"": "parquet", "avro": 'format("avro")'}.get(reader, reader))
    return PLACE.error("unsupported-data", f"'{file.shown}' is not a Parquet file", help=help)


def layout_of(stored: Any, schema: pa.Schema) -> Layout:
    """Return the top-level columns of a file, from its Parquet schema and its Arrow schema."""
    physical = [stored.column(i).physical_type for i in range(len(stored))]
    columns, leaf = [], 0
    for field in schema:
        columns.append(Column(field.name, _plain(field.type, physical, leaf), leaf))
        leaf += width(field.type)
    return tuple(columns)


def width(type: pa.DataType) -> int:
    """Return how many leaves a column has."""
    if isinstance(type, pa.BaseExtensionType):
        return width(type.storage_type)
    if pa.types.is_struct(type):
        return sum(width(field.type) for field in type)
    if pa.types.is_map(type):
        return width(type.key_type) + width(type.item_type)
    return width(type.value_type) if pa.types.is_nested(type) else 1


def leaves(column: Column) -> range:
    """Return the numbers of a column's leaves."""
    return range(column.leaf, column.leaf + width(column.type))


def _plain(type: pa.DataType, physical: Sequence[str], leaf: int) -> pa.DataType:
    """Return a type without encodings, all of it nullable; timestamps of 96 bits are instants to Spark."""
    type = value_type(type)
    if pa.types.is_struct(type):
        fields = []
        for field in type:
            fields.append((field.name, _plain(field.type, physical, leaf)))
            leaf += width(field.type)
        return pa.struct(fields)
    if pa.types.is_list(type):
        return pa.list_(_plain(type.value_type, physical, leaf))
    return pa.timestamp("us", "UTC") if physical[leaf] == "INT96" else type


# ---- schemas


def wider(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Return the type that holds the values of two types exactly, None if there is none.

    >>> wider(pa.int32(), pa.int64()), wider(pa.int64(), pa.float64())
    (DataType(int64), None)
    """
    t = pa.types
    if a == b or t.is_null(b):
        return a
    if t.is_null(a):
        return b
    if t.is_struct(a) and t.is_struct(b):
        types = {field.name: field.type for field in a}
        types |= {field.name: wider(types.get(field.name, pa.null()), field.type) for field in b}
        return None if None in types.values() else pa.struct(list(types.items()))
    if t.is_list(a) and t.is_list(b):
        value = wider(a.value_type, b.value_type)
        return None if value is None else pa.list_(value)
    if kind(a) == kind(b) == "text":
        return pa.large_string()
    if kind(a) == kind(b) == "binary":
        return pa.large_binary()
    if t.is_timestamp(a) and t.is_timestamp(b) and (a.tz is None) == (b.tz is None):
        return pa.timestamp(max(a.unit, b.unit, key=TICKS.__getitem__), a.tz if a.tz == b.tz else "UTC")
    if t.is_integer(a) and t.is_integer(b):
        if pa.uint64() not in (a, b):
            return pa.int64()
        return None if t.is_signed_integer(a) or t.is_signed_integer(b) else pa.uint64()
    exact = [type for type in (a, b) if t.is_floating(type) or (t.is_integer(type) and type.bit_width <= 32)]
    if len(exact) == 2:
        return pa.float64()
    if t.is_decimal(a) and t.is_decimal(b):
        scale = max(a.scale, b.scale)
        digits = max(a.precision - a.scale, b.precision - b.scale) + scale
        return pa.decimal128(digits, scale) if digits <= 38 else None
    return None


def in_microseconds(type: pa.DataType) -> pa.DataType:
    """Return a type with microseconds for nanoseconds, which Spark does not count.

    >>> in_microseconds(pa.timestamp("ns", "UTC")), in_microseconds(pa.struct([("at", pa.duration("ns"))]))
    (TimestampType(timestamp[us, tz=UTC]), StructType(struct<at: duration[us]>))
    """
    t = pa.types
    if t.is_timestamp(type) and type.unit == "ns":
        return pa.timestamp("us", type.tz)
    if t.is_duration(type) and type.unit == "ns":
        return pa.duration("us")
    if t.is_struct(type):
        return pa.struct([(field.name, in_microseconds(field.type)) for field in type])
    return pa.list_(in_microseconds(type.value_type)) if t.is_list(type) else type


def _with_rows(footers: Sequence[Footer]) -> Sequence[Footer]:
    """Return the files with rows, whose types count; all files if none has."""
    return [footer for footer in footers if footer.data.num_rows] or footers


def read_schema(files: Files, columns: Collection[str], time: str, dictionary: Collection[str]) -> pa.Schema:
    """Return the needed columns as they are read, or raise if the files do not agree on them."""
    for name in columns:
        if name not in files.schema.names:
            raise missing_column(name, files.schema.names, PLACE)
    names = [name for name in files.schema.names if name in columns]
    return pa.schema([_field(files, name, time, dictionary) for name in names])


def _field(files: Files, name: str, time: str, dictionary: Collection[str]) -> pa.Field:
    """Return a column as it is read, or raise if the files do not agree on it."""
    type = files.schema.field(name).type
    if name in files.partitions:
        check_partition([footer.file for footer in files.footers], name)
    else:
        _check(_with_rows(files.footers), name)
    if name == time and pa.types.is_timestamp(type):
        type = pa.timestamp("us", type.tz)
    if (name in dictionary or name in files.partitions) and kind(type) == "text":
        type = pa.dictionary(pa.int32(), type)
    return pa.field(name, type)


def _check(footers: Sequence[Footer], name: str) -> None:
    """Raise if a column is in a file twice, or of types in two files that no type holds exactly."""
    first: tuple[Footer, pa.DataType] | None = None
    seen: dict[int, Footer] = {}
    for footer in footers:
        seen.setdefault(id(footer.layout), footer)
    for footer in seen.values():
        types = [column.type for column in footer.layout if column.name == name]
        if len(types) > 1:
            raise duplicate_column(name, PLACE)
        for type in types:
            wide = type if first is None else wider(first[1], type)
            if wide is None:
                assert first is not None
                raise PLACE.error(
                    "conflicting-types",
                    f"files differ in the type of '{name}'",
                    help="cast the column in one of the files, or read them apart",
                    notes=[f"in '{f.file.shown}' it is {describe_type(t)}" for f, t in (first, (footer, type))],
                )
            first = (footer if first is None or wide != first[1] else first[0], wide)
