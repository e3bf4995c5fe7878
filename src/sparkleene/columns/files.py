"""Files of events: Parquet, CSV and JSON lines; one, several, whole folders, and patterns of names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.json as pc_json
import pyarrow.parquet as pq

from sparkleene.columns.arrow import make_array
from sparkleene.columns.delimiters import guess_delimiter
from sparkleene.columns.fields import kind
from sparkleene.columns.hive import PartitionColumn, check_partition, infer_partitions
from sparkleene.columns.paths import File, Paths, is_uri, list_files, path_texts, suggest_file
from sparkleene.columns.time_formats import TimeFormat
from sparkleene.errors import DataError, Place, first_line, warn
from sparkleene.plan.text import count

_NUMBER = "__fragment_index"
"""The column in which Arrow tells the number of the file that a row is from."""

Kind = Literal["parquet", "csv", "json"]

PLACE = Place()
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
JSON = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
PARQUET = (".parquet", ".pq", ".parq")
NULLS = ["", "NULL", "null"]
"""Cells of CSV files that are NULL; Arrow's own list has NA too, a country's code; a quoted "" is text."""
_NULL_OPTIONS: dict[str, Any] = {
    "null_values": NULLS,
    "strings_can_be_null": True,
    "quoted_strings_can_be_null": False,
}


@dataclass(frozen=True)
class TextOptions:
    """How files of text, CSV and JSON lines, are read."""

    columns: tuple[str, ...] | None = None
    """Names for the columns of CSV files without a header."""
    delimiter: str | None = None
    """What is between the cells of CSV files; by default what a file looks like."""
    time: str | None = None
    """A column of times that are written in a format of their own."""
    format: TimeFormat | None = None
    """How they are written."""


PLAIN = TextOptions()


@dataclass(frozen=True)
class EventFile:
    """A file of events, or a folder of Parquet files that is read as one."""

    path: Path
    kind: Kind
    text: TextOptions = PLAIN
    inside: tuple[File, ...] = ()
    """The files of a folder."""
    partitions: Mapping[str, PartitionColumn] = field(default_factory=dict)
    """The columns that the names of its folders hold."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        try:
            if self.kind == "csv":
                columns = self.text.columns
                schema = self._csv_schema() if columns is None else self._name_columns(columns)
                return self._mark_times(schema)
            if self.kind == "json":
                return self._json.schema
            return self._folder_schema() if self.inside else pq.read_schema(self.path)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable(self.path, error) from error

    def read(self, needed: list[str], dictionary: Collection[str]) -> pa.Table:
        """Return some of the columns."""
        try:
            if self.kind == "csv":
                if self._bare:
                    return self.schema.empty_table().select(needed)
                convert = pc_csv.ConvertOptions(include_columns=needed, column_types=self._texts(), **_NULL_OPTIONS)
                names = None if self.text.columns is None else self.schema.names
                found = pc_csv.read_csv(
                    str(self.path),
                    read_options=pc_csv.ReadOptions(column_names=names),
                    parse_options=self._parse,
                    convert_options=convert,
                )
                return self._read_times(found)
            if self.kind == "json":
                return self._json.select(needed)
            text = (pa.string(), pa.large_string())
            schema = self.schema
            encoded = [name for name in needed if name in dictionary and schema.field(name).type in text]
            if self.inside:
                return self._read_folder(needed, encoded)
            # without columns Arrow would lose the number of rows; ParquetFile keeps names with dots apart
            file = pq.ParquetFile(self.path, read_dictionary=encoded)
            return file.read(columns=_leaves(file, needed))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable(self.path, error) from error

    def count(self) -> int:
        """Return the number of rows of Parquet files, which their footers tell."""
        if self.inside:
            return int(self._dataset().count_rows())
        return int(pq.read_metadata(self.path).num_rows)

    def blank(self) -> bool:
        """Tell whether a CSV file has no rows."""
        if self.kind != "csv" or not all(pa.types.is_null(each.type) for each in self.schema):
            return False
        return not len(self.read(self.schema.names[:1], ()))

    def _dataset(self, encoded: Sequence[str] = ()) -> Any:
        """Return the files of a folder as Arrow reads them."""
        import pyarrow.dataset as ds  # brings pandas, most of a second
        from pyarrow.fs import LocalFileSystem

        format = ds.ParquetFileFormat(dictionary_columns=encoded, pre_buffer=True)
        return ds.dataset([file.path for file in self.inside], format=format, filesystem=LocalFileSystem())

    def _folder_schema(self) -> pa.Schema:
        """Return the columns of a folder's first file, and those of folders' names, which hide others."""
        types = {name: _partition_type(column) for name, column in self.partitions.items()}
        fields = [(each.name, types.pop(each.name, each.type)) for each in self._dataset().schema]
        return pa.schema([*fields, *types.items()])

    def _read_folder(self, needed: list[str], encoded: Sequence[str]) -> pa.Table:
        """Return some columns of a folder's files and of its folders' names."""
        here = [name for name in needed if name not in self.partitions]
        dataset = self._dataset([name for name in encoded if name in here])
        if len(here) == len(needed):
            return dataset.to_table(columns=here)
        table = dataset.to_table(columns=[*here, _NUMBER])
        number = table.column(_NUMBER)  # of the file that a row is from
        files = {file.path: dict(file.partitions) for file in self.inside}
        order = [files[path] for path in dataset.files]
        found = {}
        for name in needed:
            if name in self.partitions:
                check_partition(self.inside, name)
                column = self.partitions[name]
                values = make_array([column.values[texts[name]] for texts in order], column.type)
                found[name] = values.cast(_partition_type(column)).take(number)
            else:
                found[name] = table.column(name)
        return pa.table(found)

    def _csv_schema(self, headerless: bool = False) -> pa.Schema:
        """Return the columns of a CSV file, called f0, f1 and so on without a header."""
        with pc_csv.open_csv(
            str(self.path),
            read_options=pc_csv.ReadOptions(autogenerate_column_names=headerless),
            parse_options=self._parse,
            convert_options=pc_csv.ConvertOptions(column_types=self._texts(), **_NULL_OPTIONS),
        ) as reader:
            return reader.schema

    def _name_columns(self, columns: Sequence[str]) -> pa.Schema:
        """Return the columns of a CSV file without a header, by the names given."""
        if self._bare:
            return pa.schema([(name, pa.null()) for name in columns])
        types = self._csv_schema(headerless=True).types
        if len(types) != len(columns):
            message = f"'{self.path}' has {count(len(types), 'column')}, and names are given for {len(columns)}"
            raise PLACE.error("unreadable-file", message, help="give a name for each column, in their order")
        return pa.schema(list(zip(columns, types, strict=True)))

    @cached_property
    def _bare(self) -> bool:
        """Whether there is nothing in a CSV file without a header, which Arrow refuses to read."""
        if self.text.columns is None:
            return False
        with pa.input_stream(str(self.path)) as stream:
            while piece := stream.read(1 << 16):
                if piece.strip(b"\r\n"):
                    return False
        return True

    @cached_property
    def delimiter(self) -> str:
        """What is between the cells of a CSV file."""
        if self.text.delimiter is not None:
            return self.text.delimiter
        return "\t" if ".tsv" in self.path.name.lower() else guess_delimiter(self.path)

    @property
    def _parse(self) -> pc_csv.ParseOptions:
        """How the cells of a CSV file are parted."""
        return pc_csv.ParseOptions(delimiter=self.delimiter)

    def _texts(self) -> dict[str, pa.DataType]:
        """Return the columns that are read as text, whatever they look like."""
        return {} if self.text.time is None or self.text.format is None else {self.text.time: pa.string()}

    def _mark_times(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of a file, of which one has times in a format."""
        if self.text.format is None or self.text.time not in schema.names:
            return schema
        place = schema.get_field_index(self.text.time)
        return schema.set(place, pa.field(self.text.time, self.text.format.type))

    def _read_times(self, table: pa.Table) -> pa.Table:
        """Return what was read with the times that are in a format."""
        time, format = self.text.time, self.text.format
        if format is None or time is None or time not in table.column_names:
            return table
        return table.set_column(table.column_names.index(time), time, format.read(table.column(time), time))

    @cached_property
    def _json(self) -> pa.Table:
        """All of a file of JSON lines, whose columns nothing tells beforehand."""
        table = pc_json.read_json(str(self.path))
        time, format = self.text.time, self.text.format
        if format is not None and time in table.column_names:
            if pa.types.is_timestamp(table.schema.field(time).type):  # Arrow took the text for times in ISO 8601
                parse = pc_json.ParseOptions(explicit_schema=pa.schema([(time, pa.string())]))
                table = pc_json.read_json(str(self.path), parse_options=parse)
            table = self._read_times(table)
        for i, each in enumerate(table.schema):
            if pa.types.is_string(each.type):
                table = table.set_column(i, each.name, _times(table.column(i)))
        return table


@dataclass(frozen=True)
class Files:
    """All files of some paths, of one kind."""

    kind: Kind
    sources: tuple[EventFile, ...]

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns, those of the first file first."""
        if len(self.sources) == 1:
            return list(self.sources[0].schema.names)  # a name that is there twice is twice
        return list(dict.fromkeys(name for source in self.sources for name in source.schema.names))

    @cached_property
    def rows(self) -> int | None:
        """How many rows there are, if that is known without reading them."""
        if self.kind != "parquet":
            return None
        try:
            return sum(source.count() for source in self.sources)
        except (pa.ArrowException, OSError, ValueError):  # reading the rows will tell what is wrong
            return None

    @cached_property
    def bytes(self) -> int:
        """How large the files are."""
        inside = [file.size or 0 for source in self.sources for file in source.inside]
        return sum(inside) + sum(source.path.stat().st_size for source in self.sources if not source.inside)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names given to the columns of CSV files without a header, of which each has as many."""
        given = self.sources[0].text.columns
        return given if given is None or self.names else None

    @cached_property
    def blank(self) -> bool:
        """Whether the files are CSV without any rows, which tell no types."""
        return all(source.blank() for source in self.sources)

    def warn_of_guesses(self) -> None:
        """Warn of the first file that has something else than commas between its cells, if nobody said so."""
        for source in self.sources:
            given = source.text.delimiter is not None or ".tsv" in source.path.name.lower()
            if source.kind == "csv" and not given and source.delimiter != ",":
                shown = {"\t": "tabs"}.get(source.delimiter, f"'{source.delimiter}'")
                warn(f"'{source.path}' has {shown} between its cells; if not, read it yourself and pass the table")
                return

    def empty(self) -> pa.Table:
        """Return a table with the columns and no rows."""
        schemas = [source.schema for source in self.sources]
        try:
            unified = schemas[0] if len(schemas) == 1 else pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            raise _unfit(error) from error
        return unified.empty_table()

    def read(self, needed: list[str], dictionary: Collection[str] = ()) -> pa.Table:
        """Return some of the columns; where a file lacks one, its rows are NULL there."""
        if len(self.sources) == 1:
            return self.sources[0].read(needed, dictionary)
        tables = []
        for source in self.sources:
            here = [name for name in needed if name in source.schema.names]
            if not here:  # Arrow would lose its rows
                message = f"'{source.path}' has none of the columns {', '.join(needed)}"
                raise PLACE.error("missing-column", message, help="leave the file out")
            tables.append(source.read(here, dictionary))
        try:
            return pa.concat_tables(tables, promote_options="permissive").select(needed)
        except pa.ArrowException as error:
            raise _unfit(error) from error


def open_files(given: Paths, text: TextOptions = PLAIN) -> Files:
    """Return the files of a path, a folder, a pattern such as `events/*.csv`, or of several of these."""
    sources = [source for path in path_texts(given) for source in _open_path(path)]
    kinds = sorted({source.kind for source in sources})
    if len(kinds) > 1:
        message = f"the events are of several kinds: {', '.join(kinds)}"
        raise PLACE.error("unsupported-data", message, help="give files of one kind")
    if not kinds:
        raise PLACE.error("missing-file", "no file is given")
    for what, option, fitting in (
        ("names of columns are for CSV files without a header", text.columns, ["csv"]),
        ("a delimiter is for CSV files", text.delimiter, ["csv"]),
        ("a time format is for CSV and JSON files", text.format, ["csv", "json"]),
    ):
        if option is not None and kinds[0] not in fitting:
            raise PLACE.mistake("bad-option", f"{what}, and this is {kinds[0]}", help="leave the option out")
    sources = [replace(source, text=text) for source in sources]
    partitions = infer_partitions([file for source in sources for file in source.inside])
    sources = [replace(source, partitions=_partitions_of(source, partitions)) for source in sources]
    return Files(kinds[0], tuple(sources))


def _open_path(given: str) -> list[EventFile]:
    """Return a folder of Parquet files as one, and of other kinds its files."""
    path = Path(given)
    try:
        found = None if is_uri(given) else list_files(given)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error
    if found is None:
        if any(sign in given for sign in "*?[{"):
            raise PLACE.error("missing-file", f"no file is named like '{given}'")
        help = None if is_uri(given) else suggest_file(given)
        raise PLACE.error("missing-file", f"there is no file '{path}'", help=help)
    if not path.is_dir():
        return [EventFile(one, _kind(one)) for one in (_display_path(file, given) for file in found)]
    if not found:
        help = f"files of events end in {', '.join((*PARQUET, *CSV, *JSON))}"
        raise PLACE.error("unreadable-file", f"the folder '{path}' has no files of events", help=help)
    inside = [_display_path(file, given) for file in found]
    if {_by_name(one) or "parquet" for one in inside} == {"parquet"}:
        return [EventFile(path, "parquet", inside=tuple(file for file in found if file.size) or tuple(found))]
    return [EventFile(one, _kind(one)) for one in inside]


def _display_path(file: File, given: str) -> Path:
    """Return the path of a file as it was given: from here, or from the root."""
    return Path(file.path if os.path.isabs(given) else os.path.relpath(file.path))


def _partitions_of(source: EventFile, all: Mapping[str, PartitionColumn]) -> dict[str, PartitionColumn]:
    """Return the columns that the folders' names of one source hold."""
    names = dict.fromkeys(name for file in source.inside for name, _ in file.partitions)
    return {name: all[name] for name in names}


def _partition_type(column: PartitionColumn) -> pa.DataType:
    """Return the type that a column of folders' names is read in: text stays encoded."""
    return pa.dictionary(pa.int32(), column.type) if kind(column.type) == "text" else column.type


def is_event_file(given: str) -> bool:
    """Tell whether a text is the path of files of events, by their names.

    >>> is_event_file("events.csv"), is_event_file("query.q"), is_event_file("RETURN COUNT(*) PATTERN A")
    (True, False, False)
    """
    return _by_name(Path(given)) is not None


def _by_name(path: Path) -> Kind | None:
    name = path.name.lower()
    kinds: tuple[tuple[Kind, tuple[str, ...]], ...] = (("parquet", PARQUET), ("csv", CSV), ("json", JSON))
    return next((kind for kind, ends in kinds if name.endswith(ends)), None)


def _kind(path: Path) -> Kind:
    """Tell the kind of a file by the name, and Parquet of any other name by the first bytes."""
    known = _by_name(path)
    if known is not None:
        return known
    try:
        with path.open("rb") as file:
            if file.read(4) == b"PAR1":
                return "parquet"
    except OSError as error:
        raise _unreadable(path, error) from error
    raise PLACE.error(
        "unsupported-data",
        f"the file '{path}' is neither Parquet, CSV nor JSON lines",
        help=f"name it {', '.join((*CSV, *JSON))}; Parquet files are known by their first bytes",
    )


def _times(column: Any) -> Any:
    """Return text as times if every one is a time in ISO 8601; JSON has no times of its own."""
    if column.null_count == len(column):
        return column
    for zone in (None, "UTC"):
        try:
            return column.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            continue
    return column


def _leaves(file: Any, needed: Iterable[str]) -> list[str]:
    """Return the dotted leaf paths of the needed top-level columns."""
    wanted = set(needed)
    tops = file.schema_arrow.names
    paths = [file.schema.column(i).path for i in range(len(file.schema))]
    return [leaf for leaf in paths if _top(leaf, tops) in wanted]


def _top(leaf: str, tops: Collection[str]) -> str | None:
    """Return the top-level column of a leaf; a column's own name may have dots."""
    if leaf in tops:
        return leaf
    return next((top for top in tops if leaf.startswith(top + ".")), None)


def _unfit(error: Exception) -> DataError:
    """Return the error for files whose columns are of different types."""
    note = first_line(error)
    return PLACE.error(
        "unreadable-file", "the files do not fit together", notes=[note], help="give columns one type"
    )


def _unreadable(path: Path, error: Exception) -> DataError:
    """Return the error for a file that cannot be read."""
    return PLACE.error("unreadable-file", f"cannot read '{path}'", notes=[first_line(error)])
