"""Data as users have it (Arrow, pandas, polars, files) to Arrow tables, and results back to the same kind."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from sparkleene.engine.fields import Place, duplicate_column, missing_column
from sparkleene.errors import DataError, suggest

Back = Callable[[pa.Table], Any]

PLACE = Place()
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq", ".parq")
NULLS = ["", "NULL", "null"]
"""Cells of CSV files that are NULL; Arrow's own list has NA too, a country's code; a quoted "" is text."""


def read(
    data: Any, columns: Collection[str] | None = None, dictionary: Collection[str] = ()
) -> tuple[pa.Table, Back]:
    """Return the data as an Arrow table, and the function that turns a result into the same kind of data.

    Only the named columns are read, in the data's order; all without `columns`. Text columns of Parquet files
    named in `dictionary` are kept dictionary-encoded.

    >>> table, back = read(pa.table({"a": [1], "b": [2]}), ["b"])
    >>> table.column_names, type(back(table)).__name__
    (['b'], 'Table')
    """
    names = schema_names(data)
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
    return _read_path(Path(data), needed, dictionary), _same


def schema_names(data: Any) -> list[str]:
    """Return the names of the data's columns without reading the data.

    >>> schema_names(pa.table({"time": [1], "type": ["A"]}))
    ['time', 'type']
    """
    if isinstance(data, pa.Table | pa.RecordBatch):
        return list(data.schema.names)
    if _is_frame(data, "pandas"):
        return [str(name) for name in data.columns]
    if _is_frame(data, "polars"):
        return list(data.columns)
    if isinstance(data, str | os.PathLike):
        return list(_schema(Path(data)).names)
    help = "call .collect() first" if type(data).__name__ == "LazyFrame" else None
    kinds = "a pyarrow Table or RecordBatch, a pandas or polars DataFrame, or a path to Parquet or CSV"
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
            notes=[_first_line(error)],
        ) from error
    return table.rename_columns([str(name) for name in part.columns])


# ---- files


def _read_path(path: Path, needed: list[str], dictionary: Collection[str]) -> pa.Table:
    """Read columns of a file, or of a folder of Parquet files."""
    try:
        if _is_csv(path):
            convert = pc_csv.ConvertOptions(include_columns=needed, **_NULL_OPTIONS)
            return pc_csv.read_csv(str(path), parse_options=_parse(path), convert_options=convert)
        schema = _parquet_schema(path)
        text = (pa.string(), pa.large_string())
        encoded = [name for name in needed if name in dictionary and schema.field(name).type in text]
        if path.is_dir():
            return pq.read_table(path, columns=needed, read_dictionary=encoded)
        # without columns Arrow would lose the number of rows; ParquetFile keeps names with dots apart
        return pq.ParquetFile(path, read_dictionary=encoded).read(columns=_leaves(path, needed))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from error


_NULL_OPTIONS: dict[str, Any] = {
    "null_values": NULLS,
    "strings_can_be_null": True,
    "quoted_strings_can_be_null": False,
}


def _leaves(path: Path, needed: Iterable[str]) -> list[str]:
    """Return the dotted leaf paths of the needed top-level columns."""
    wanted = set(needed)
    with pq.ParquetFile(path) as file:
        tops = file.schema_arrow.names
        paths = [file.schema.column(i).path for i in range(len(file.schema))]
    return [leaf for leaf in paths if _top(leaf, tops) in wanted]


def _top(leaf: str, tops: Collection[str]) -> str | None:
    """Return the top-level column of a leaf; a column's own name may have dots."""
    if leaf in tops:
        return leaf
    return next((top for top in tops if leaf.startswith(top + ".")), None)


def _schema(path: Path) -> pa.Schema:
    """Return the schema of a file or folder."""
    if not path.exists():
        siblings = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise PLACE.error("missing-file", f"there is no file '{path}'", help=suggest(path.name, siblings))
    try:
        if _is_csv(path):
            convert = pc_csv.ConvertOptions(**_NULL_OPTIONS)
            with pc_csv.open_csv(str(path), parse_options=_parse(path), convert_options=convert) as reader:
                return reader.schema
        return _parquet_schema(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _parquet_schema(path: Path) -> pa.Schema:
    """Return the schema of a Parquet file, or of a folder with its partition columns."""
    if not path.is_dir():
        return pq.read_schema(path)
    dataset = pq.ParquetDataset(path)
    if not dataset.files:
        raise PLACE.error("unreadable-file", f"the folder '{path}' has no Parquet files")
    return dataset.schema


def _is_csv(path: Path) -> bool:
    """Tell CSV from Parquet by the name, any other name by the first bytes."""
    name = path.name.lower()
    if path.is_dir() or name.endswith(PARQUET):
        return False
    if name.endswith(CSV):
        return True
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return False
    raise PLACE.error(
        "unsupported-data",
        f"the file '{path}' is neither Parquet nor CSV",
        help=f"CSV files are named {', '.join(CSV)}; Parquet files are known by their first bytes",
    )


def _parse(path: Path) -> pc_csv.ParseOptions:
    """Return how the cells of a file are parted."""
    return pc_csv.ParseOptions(delimiter="\t" if ".tsv" in path.name.lower() else ",")


def _unreadable(path: Path, error: Exception) -> DataError:
    """Return the error for a file that cannot be read."""
    return PLACE.error("unreadable-file", f"cannot read '{path}'", notes=[_first_line(error)])


def _first_line(error: Exception) -> str:
    """Return what an error of another library says, in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
