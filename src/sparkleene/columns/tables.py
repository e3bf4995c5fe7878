"""Data as users have it (Arrow, pandas, polars, files) to Arrow tables, and results back to the same kind."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa

from sparkleene.columns.fields import duplicate_column, missing_column
from sparkleene.columns.files import PLACE, Files, open_files
from sparkleene.errors import DataError, first_line

Back = Callable[[pa.Table], Any]


def open_data(data: Any) -> Any:
    """Return data as it is, and paths as the files they name, so that these are looked at once."""
    if isinstance(data, str | os.PathLike):
        return open_files(data)
    if isinstance(data, list | tuple) and data and all(isinstance(one, str | os.PathLike) for one in data):
        return open_files(data)
    return data


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
    needed = _needed(data, names, columns)
    if isinstance(data, pa.Table):
        return data.select(needed), _same
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data.select(needed)]), _batch
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
    if isinstance(data, pa.Table | pa.RecordBatch):
        return list(data.schema.names)
    if _is_frame(data, "pandas"):
        return [str(name) for name in data.columns]
    if _is_frame(data, "polars"):
        return list(data.columns)
    data = open_data(data)
    if isinstance(data, Files):
        return data.names
    help = "call .collect() first" if type(data).__name__ == "LazyFrame" else None
    kinds = "a pyarrow Table or RecordBatch, a pandas or polars DataFrame, or paths of Parquet, CSV or JSON lines"
    name = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
    message = f"cannot read data of type {name}"
    raise PLACE.error("unsupported-data", message, help=help, notes=[f"data is {kinds}"])


def _needed(data: Any, names: list[str], columns: Collection[str] | None) -> list[str]:
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
    module = sys.modules.get(library)
    return module is not None and isinstance(data, module.DataFrame)


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
