"""Attributes of an Arrow table: find them by path, bring them to a few plain types, say what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy, make_array, make_scalar
from sparkleene.errors import NOWHERE, DataError, Place, Span, suggest, suggest_column
from sparkleene.language.bound import Path

Column = Any
"""A pyarrow.ChunkedArray or pyarrow.Array; pyarrow has no type stubs."""

EXACT = 2**53
"""Integers of at most this size are exact as float64."""


def find_column(table: pa.Table, path: Path, place: Place, span: Span = NOWHERE) -> Column:
    """Return the column of a path as it is in the table, a struct's field with the struct's NULLs."""
    found = table.schema.get_all_field_indices(path[0])
    if not found:
        raise missing_column(path[0], table.column_names, place, span)
    if len(found) > 1:
        raise duplicate_column(path[0], place, span)
    column = table.column(found[0])
    for depth, name in enumerate(path[1:], 1):
        type = column.type
        struct = pa.types.is_struct(type)
        known = [type.field(i).name for i in range(type.num_fields)] if struct else []
        if name not in known:
            raise place.error(
                "unknown-attribute",
                f"'{'.'.join(path[:depth])}' has no field '{name}'",
                span,
                suggest(name, known),
                [f"its fields are {', '.join(known)}" if struct else f"it is {describe_type(type)}, not a struct"],
            )
        column = pc.struct_field(column, [name])
    return column


def missing_column(name: str, known: Iterable[str], place: Place, span: Span = NOWHERE) -> DataError:
    """Return the error for a column that the data does not have."""
    names = list(known)
    note = f"its columns are {', '.join(names)}" if names else "it has no columns"
    message = f"the data has no column '{name}'"
    return place.error("missing-column", message, span, suggest_column(name, names), [note])


def duplicate_column(name: str, place: Place, span: Span = NOWHERE) -> DataError:
    """Return the error for a column name that stands for several columns."""
    message = f"the data has more than one column '{name}'"
    return place.error("duplicate-column", message, span, "rename all but one of them")


def simplify(column: Column) -> Column:
    """Return a column as int64, float64, decimal, text, boolean, time or binary, with NULL for NaN.

    Text may stay dictionary-encoded, with no NULL in its dictionary; all else is decoded. Unsigned integers
    beyond int64 become decimals.
    """
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    type = column.type
    if pa.types.is_dictionary(type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        text = type.value_type in (pa.string(), pa.large_string())
        if text and not any(chunk.dictionary.null_count for chunk in chunks):
            return column
        return simplify(decode(column))
    if pa.types.is_uint64(type):
        high = pc.max(column).as_py()
        return column.cast(pa.int64() if high is None or high < 2**63 else pa.decimal128(20, 0))
    if pa.types.is_integer(type):
        return column if type == pa.int64() else column.cast(pa.int64())
    if pa.types.is_floating(type):
        return nan_to_null(column if type == pa.float64() else column.cast(pa.float64()))
    if type == pa.string_view():
        return column.cast(pa.large_string())
    if type == pa.binary_view():
        return column.cast(pa.large_binary())
    if pa.types.is_date64(type):
        try:
            return column.cast(pa.date32())
        except pa.ArrowInvalid as error:
            message = f"a column of dates (date64) has a value that is not at midnight: {error}"
            help = "cast it to pa.timestamp('ms'), which keeps the time of the day"
            raise Place().error("wrong-type", message, help=help) from None
    if pa.types.is_decimal(type) and not pa.types.is_decimal256(type):
        return column if pa.types.is_decimal128(type) else column.cast(pa.decimal128(18, type.scale))
    return column


def decode(column: Column) -> Column:
    """Return a dictionary-encoded column as plain values, any other as it is.

    Taking from the dictionary is used since casting refuses some types of values.
    """
    if not pa.types.is_dictionary(column.type):
        return column
    type = value_type(column.type)
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([c.dictionary.cast(type).take(c.indices) for c in column.chunks], type)
    return column.dictionary.cast(type).take(column.indices)


def value_type(type: pa.DataType) -> pa.DataType:
    """Return the type in which a column's values are given back: not encoded, and no views.

    >>> value_type(pa.dictionary(pa.int8(), pa.string())), value_type(pa.string_view())
    (DataType(string), DataType(large_string))
    """
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return value_type(type.value_type)
    if isinstance(type, pa.BaseExtensionType):
        return value_type(type.storage_type)
    return {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(type, type)


def nan_to_null(value: Any) -> Any:
    """Return float64 values with NULL for NaN."""
    nan = pc.is_nan(value)
    if isinstance(value, pa.Scalar):
        return make_scalar(None, value.type) if nan.as_py() else value
    return pc.if_else(nan, make_scalar(None, pa.float64()), value) if pc.any(nan).as_py() else value


def kind(type: pa.DataType) -> str:
    """Return which values a type can be compared with: its own kind only.

    >>> kind(pa.int16()), kind(pa.decimal128(9, 2)), kind(pa.date32()), kind(pa.list_(pa.int8()))
    ('number', 'number', 'timestamp', 'other')
    """
    t = pa.types
    if t.is_dictionary(type):
        return kind(type.value_type)
    if t.is_integer(type) or t.is_floating(type) or t.is_decimal(type):
        return "number"
    if t.is_string(type) or t.is_large_string(type) or type == pa.string_view():
        return "text"
    if t.is_timestamp(type):
        return "timestamp" if type.tz is None else "zoned timestamp"
    if t.is_date(type):
        return "timestamp"
    for name, test in OTHER_KINDS.items():
        if test(type):
            return name
    return "other"


OTHER_KINDS = {
    "null": pa.types.is_null,
    "boolean": pa.types.is_boolean,
    "time of day": pa.types.is_time,
    "duration": pa.types.is_duration,
    "binary": lambda type: (
        pa.types.is_binary(type)
        or pa.types.is_large_binary(type)
        or pa.types.is_fixed_size_binary(type)
        or type == pa.binary_view()
    ),
}


def is_clock(type: pa.DataType) -> bool:
    """Tell whether values are times or durations, not numbers."""
    return bool(pa.types.is_timestamp(type) or pa.types.is_date(type) or pa.types.is_duration(type))


def describe_type(type: pa.DataType) -> str:
    """Return a type in words, with Arrow's name of it.

    >>> describe_type(pa.string())
    'text (string)'
    """
    if pa.types.is_dictionary(type):
        type = type.value_type
    words = {
        "number": "a number",
        "timestamp": "a date" if pa.types.is_date(type) else "a timestamp without a time zone",
        "zoned timestamp": "a timestamp with a time zone",
        "boolean": "a boolean",
        "time of day": "a time of day",
        "duration": "a duration",
        "null": "always NULL",
        "other": "of a type that cannot be compared",
    }
    word = kind(type)
    return f"{words.get(word, word)} ({type})"


def sample(column: Column) -> str | None:
    """Return a value of the column as shown to a person, None where a thousand rows are NULL."""
    values = decode(column.slice(0, 1000)).drop_null()
    if not len(values):
        return None
    try:
        text = repr(values[0].as_py()) if kind(values.type) == "text" else str(values[0])
    except (ValueError, OverflowError):  # a time that Python cannot show
        return None
    return text if len(text) <= 60 else text[:57] + "..."


def describe_column(path: Path, column: Column) -> str:
    """Return what a column holds, for an error: its name, its type, a value."""
    value = sample(column)
    return f"'{'.'.join(path)}' is {describe_type(column.type)}" + (f", for example {value}" if value else "")


def doubles(column: Column) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return plain numbers as float64 with NaN for NULL; the nearest double where there is no equal one."""
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return as_numpy(column).astype(np.float64, copy=False)


def join_arrays(parts: Iterable[pa.Array]) -> np.ndarray[Any, Any]:
    """Return Arrow arrays without NULL as one numpy array."""
    arrays = [as_numpy(part) for part in parts]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


PIECE = 1 << 20


def map_pieces(function: Callable[[pa.Array], pa.Array], column: Column) -> pa.ChunkedArray:
    """Apply a function to pieces of a column, on all cores; Arrow's kernels let other threads run."""
    pieces = [
        chunk.slice(start, PIECE)
        for chunk in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])
        for start in range(0, len(chunk), PIECE)
    ] or [make_array([], column.type)]
    if len(pieces) == 1:
        return pa.chunked_array([function(pieces[0])])
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return pa.chunked_array(list(pool.map(function, pieces)))


def bounds(column: Column) -> tuple[int, int] | None:
    """Return the least and the greatest of int64 values, None where there is none."""
    ends = pc.min_max(column)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return None if low is None else (low, high)


def integers(column: Column) -> Column:
    """Return timestamps, dates, durations, times of day or integers as int64 in their own unit."""
    if pa.types.is_date32(column.type) or pa.types.is_time32(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.int64())
