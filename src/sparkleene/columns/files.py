"""Files of events: one, several, whole folders, and patterns of names, read as one table."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from sparkleene.columns.file_formats import (
    CSV,
    JSON,
    PARQUET,
    EventFile,
    Kind,
    file_kind,
    kind_by_name,
    unreadable_file,
)
from sparkleene.columns.hive import PartitionColumn, infer_partitions
from sparkleene.columns.paths import PLACE, File, Paths, is_uri, list_files, path_texts, suggest_file
from sparkleene.errors import DataError, first_line


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
        given = self.sources[0].columns
        return given if given is None or self.names else None

    @cached_property
    def is_blank(self) -> bool:
        """Whether the files are CSV without any rows, which tell no types."""
        return all(source.is_blank() for source in self.sources)

    def empty(self) -> pa.Table:
        """Return a table with the columns and no rows."""
        schemas = [source.schema for source in self.sources]
        try:
            unified = (
                schemas[0] if len(schemas) == 1 else pa.unify_schemas(schemas, promote_options="permissive")
            )
        except pa.ArrowException as error:
            raise _misfit_error(error) from error
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
            raise _misfit_error(error) from error


def open_files(given: Paths, columns: Sequence[str] | None = None) -> Files:
    """Return the files of a path, a folder, a pattern such as `events/*.csv`, or of several of these.

    `columns` names the columns of CSV files without a header.
    """
    sources = [source for path in path_texts(given) for source in _open_path(path)]
    kinds = sorted({source.kind for source in sources})
    if len(kinds) > 1:
        message = f"the events are of several kinds: {', '.join(kinds)}"
        raise PLACE.error("unsupported-data", message, help="give files of one kind")
    if not kinds:
        raise PLACE.error("missing-file", "no file is given")
    if columns is not None:
        if kinds != ["csv"]:
            message = f"names of columns are for CSV files without a header, and this is {kinds[0]}"
            raise PLACE.mistake("bad-option", message, help="leave the names of columns out")
        sources = [replace(source, columns=tuple(columns)) for source in sources]
    partitions = infer_partitions([file for source in sources for file in source.inside])
    sources = [replace(source, partitions=_partitions_of(source, partitions)) for source in sources]
    return Files(kinds[0], tuple(sources))


def _open_path(given: str) -> list[EventFile]:
    """Return a folder of Parquet files as one, and of other kinds its files."""
    path = Path(given)
    try:
        found = None if is_uri(given) else list_files(given)
    except (pa.ArrowException, OSError) as error:
        raise unreadable_file(path, error) from error
    if found is None:
        if any(sign in given for sign in "*?[{"):
            raise PLACE.error("missing-file", f"no file is named like '{given}'")
        help = None if is_uri(given) else suggest_file(given)
        raise PLACE.error("missing-file", f"there is no file '{path}'", help=help)
    if not path.is_dir():
        return [EventFile(one, file_kind(one)) for one in (_shown(file, given) for file in found)]
    if not found:
        help = f"files of events end in {', '.join((*PARQUET, *CSV, *JSON))}"
        raise PLACE.error("unreadable-file", f"the folder '{path}' has no files of events", help=help)
    inside = [_shown(file, given) for file in found]
    if {kind_by_name(one) or "parquet" for one in inside} == {"parquet"}:
        return [EventFile(path, "parquet", inside=tuple(file for file in found if file.size) or tuple(found))]
    return [EventFile(one, file_kind(one)) for one in inside]


def _shown(file: File, given: str) -> Path:
    """Return the path of a file as it was given: from here, or from the root."""
    return Path(file.path if os.path.isabs(given) else os.path.relpath(file.path))


def _partitions_of(source: EventFile, all: Mapping[str, PartitionColumn]) -> dict[str, PartitionColumn]:
    """Return the columns that the folders' names of one source hold."""
    names = dict.fromkeys(name for file in source.inside for name, _ in file.partitions)
    return {name: all[name] for name in names}


def _misfit_error(error: Exception) -> DataError:
    """Return the error for files whose columns are of different types."""
    note = first_line(error)
    return PLACE.error(
        "unreadable-file", "the files do not fit together", notes=[note], help="give columns one type"
    )
