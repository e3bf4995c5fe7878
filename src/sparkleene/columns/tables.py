"""Data as users have it (Arrow, frames, rows, files) to Arrow tables, and results back to the same kind."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from sparkleene.columns.fields import duplicate_column, missing_column
from sparkleene.columns.files import PLACE, Files, open_files
from sparkleene.errors import DataError, first_line

Back = Callable[[pa.Table], Any]


KINDS = (
    "a pyarrow Table, RecordBatch, Dataset or reader, a DataFrame of pandas or polars, anything else that gives an"
    " Arrow stream (a relation of DuckDB), a list of dicts, or paths of Parquet, CSV or JSON lines"
)


_READ: WeakSet[Any] = WeakSet()
"""Readers that were read, which would seem to have no rows the second time."""


@dataclass(frozen=True)
class ArrowStream:
    """Data that comes as Arrow batches, once."""

    reader: pa.RecordBatchReader

    def read(self, needed: list[str]) -> pa.Table:
        """Return some of the columns."""
        names = self.reader.schema.names
        places = [names.index(name) for name in needed]
        schema = pa.schema([self.reader.schema.field(i) for i in places])
        try:
            batches = [batch.select(places) for batch in self.reader]
        except (pa.ArrowException, OSError, RuntimeError, ValueError) as error:
            message = "the data's stream of batches cannot be read"
            raise PLACE.error("unsupported-data", message, notes=[first_line(error)]) from error
        return pa.Table.from_batches(batches, schema)


@dataclass(frozen=True)
class Rows:
    """A list of dicts as a table, whose results are such a list too."""

    table: pa.Table


def is_paths(data: Any) -> bool:
    """Tell whether data is a path, or several."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(one, str | os.PathLike) for one in data)
    return isinstance(data, str | os.PathLike)


def open_data(data: Any) -> Any:
    """Return data so that it can be looked at twice: paths as the files they name, streams and rows as opened."""
    if is_paths(data):
        found = open_files(data)
        found.warn_of_guesses()
        return found
    if isinstance(data, list | tuple) and data and all(isinstance(one, Mapping) for one in data):
        return Rows(_from_rows(data))
    if _is_of(data, "pyarrow.dataset", "Scanner"):
        return ArrowStream(data.to_reader())
    arrow = isinstance(data, pa.Table | pa.RecordBatch) or _is_frame(data, "pandas") or _is_frame(data, "polars")
    if arrow or _is_dataset(data) or not (hasattr(data, "__arrow_c_stream__") or _is_batch(data)):
        return data
    try:
        if _is_batch(data):
            return pa.record_batch(data)
        if isinstance(data, pa.RecordBatchReader):
            if data in _READ:
                raise ValueError("it was read before, and comes once")
            _READ.add(data)
        return ArrowStream(pa.RecordBatchReader.from_stream(data))
    except (pa.ArrowException, TypeError, ValueError) as error:  # a stream of something else than rows
        message = f"the Arrow stream of {_type_name(data)} cannot be read as a table"
        raise PLACE.error("unsupported-data", message, notes=[first_line(error), f"data is {KINDS}"]) from error


def read_data(
    data: Any, columns: Collection[str] | None = None, dictionary: Collection[str] = ()
) -> tuple[pa.Table, Back]:
    """Return the data as an Arrow table, and the function that turns a result into the same kind of data.

    Only the named columns are read, in the data's order; all without `columns`. Text columns of Parquet files
    named in `dictionary` are kept dictionary-encoded.

    >>> table, back = read_data(pa.table({"a": [1], "b": [2]}), ["b"])
    >>> table.column_names, type(back(table)).__name__
    (['b'], 'Table')
    """
    data = open_data(data)
    names = column_names(data)
    needed = _select_names(data, names, columns)
    if isinstance(data, pa.Table):
        return data.select(needed), _same
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data.select(needed)]), _batch
    if isinstance(data, Rows):
        return data.table.select(needed), pa.Table.to_pylist
    if isinstance(data, ArrowStream):
        return data.read(needed), _same
    if _is_dataset(data):
        return data.to_table(columns=needed), _same
    if _is_frame(data, "pandas"):
        return _from_pandas(data, needed), pa.Table.to_pandas
    if _is_frame(data, "polars"):
        import polars

        plain = polars.CompatLevel.oldest()  # text without views, which many kernels cannot read
        return data.select(needed).to_arrow(compat_level=plain), polars.from_arrow
    return data.read(needed, dictionary), _same


def column_names(data: Any) -> list[str]:
    """Return the names of the data's columns without reading the data.

    >>> column_names(pa.table({"time": [1], "type": ["A"]}))
    ['time', 'type']
    """
    data = open_data(data)
    if isinstance(data, pa.Table | pa.RecordBatch) or _is_dataset(data):
        return list(data.schema.names)
    if isinstance(data, Rows):
        return list(data.table.column_names)
    if isinstance(data, ArrowStream):
        return list(data.reader.schema.names)
    if _is_frame(data, "pandas"):
        return [str(name) for name in data.columns]
    if _is_frame(data, "polars"):
        return list(data.columns)
    if isinstance(data, Files):
        return data.names
    message = f"cannot read data of type {_type_name(data)}"
    raise PLACE.error("unsupported-data", message, help=_advise(data), notes=[f"data is {KINDS}"])


def _advise(data: Any) -> str | None:
    """Return what to do with data that cannot be read."""
    if type(data).__name__ == "LazyFrame":
        return "call .collect() first"
    if isinstance(data, Mapping):
        return "make a table of its columns: pa.table(data)"
    if isinstance(data, list | tuple):
        return "a list holds paths, or a dict for each row" if data else "the list is empty, and tells no columns"
    return None


def _type_name(data: Any) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")


def _select_names(data: Any, names: list[str], columns: Collection[str] | None) -> list[str]:
    """Return the names of the needed columns, each of which is there once."""
    counts = Counter(names)
    wanted = counts if columns is None else columns
    for name in wanted:
        if name not in counts:
            raise _missing(data, name, names)
        if counts[name] > 1:
            raise duplicate_column(name, PLACE)
    return [name for name in counts if name in wanted]


def _missing(data: Any, name: str, names: list[str]) -> DataError:
    """Return the error for a missing column; an index of pandas is not a column."""
    if _is_frame(data, "pandas") and name in data.index.names:
        message = f"'{name}' is an index of the DataFrame, not a column"
        return PLACE.error("missing-column", message, help="call .reset_index() first")
    return missing_column(name, names, PLACE)


def _is_frame(data: Any, library: str) -> bool:
    """Tell whether the data is a DataFrame of a library, without importing it."""
    return _is_of(data, library, "DataFrame")


def _is_dataset(data: Any) -> bool:
    """Tell whether the data is a Dataset of pyarrow."""
    return _is_of(data, "pyarrow.dataset", "Dataset")


def _is_of(data: Any, module: str, name: str) -> bool:
    """Tell whether the data is of a class, without importing the module of it."""
    found = sys.modules.get(module)
    return found is not None and isinstance(data, getattr(found, name))


def _is_batch(data: Any) -> bool:
    """Tell whether the data is one batch of another library."""
    return hasattr(data, "__arrow_c_array__") and not hasattr(data, "__arrow_c_stream__")


def _from_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return a list of dicts as a table; where one lacks a key, it is NULL there."""
    names = dict.fromkeys(name for row in rows for name in row)
    if not names or not all(isinstance(name, str) for name in names):
        raise PLACE.error("unsupported-data", "the keys of the rows are not the names of columns", help="use text")
    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([row.get(name) for row in rows])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            message = f"the values of '{name}' in the rows have no common type"
            help = "give them one type"
            raise PLACE.error("unsupported-data", message, help=help, notes=[first_line(error)]) from error
    return pa.table(columns)


def _same(table: pa.Table) -> pa.Table:
    """Return the result as it is."""
    return table


def _batch(table: pa.Table) -> pa.RecordBatch:
    """Return a table as one record batch."""
    arrays = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def _from_pandas(frame: Any, needed: list[str]) -> pa.Table:
    """Return columns of a pandas DataFrame; their names need not be text."""
    places = [i for i, name in enumerate(frame.columns) if str(name) in needed]
    part = frame.iloc[:, places]
    try:
        table = pa.Table.from_pandas(part, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise PLACE.error(
            "unsupported-data",
            "a column of the DataFrame cannot be read",
            help="give the column one type, with .astype",
            notes=[first_line(error)],
        ) from error
    return table.rename_columns([str(name) for name in part.columns])
