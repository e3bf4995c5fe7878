"""Times in files of text: those in a format are read by what the engine in this process reads them with.

Others Spark reads itself, and would cut what is finer than its microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkleene.columns.time_formats import TimeFormat
from sparkleene.errors import Place
from sparkleene.spark.parquet.pieces import TOO_FINE
from sparkleene.spark.request import col, map_batches
from sparkleene.spark.results import raise_errors
from sparkleene.spark.sql.types import to_arrow
from sparkleene.spark.tasks import ERROR, Batches, send_results

FINER = r"\.\d{6}\d*[1-9]"
"""A fraction of a second that is no whole number of microseconds."""


def load_whole_times(schema: T.StructType, load: Callable[[T.StructType], DataFrame]) -> DataFrame:
    """Load files of text with columns of a schema; times finer than microseconds are an error, and are not cut."""
    times = {field.name for field in schema if isinstance(field.dataType, T.TimestampType | T.TimestampNTZType)}
    if not times:
        return load(schema)
    texts = [T.StructField(one.name, T.StringType() if one.name in times else one.dataType) for one in schema]
    columns = [_whole_time(one) if one.name in times else col(one.name) for one in schema]
    return load(T.StructType(texts)).select(columns)


def _whole_time(field: T.StructField) -> Column:
    """Return a column of text as times."""
    text = col(field.name)
    message = f"a time in '{field.name}' does not fit Spark's, which count microseconds"
    error = Place().error("time-too-fine", message, help=TOO_FINE, notes=["it is \0"])
    before, after = map(F.lit, error.render().split("\0"))
    fault = F.raise_error(F.concat(before, text, after)).cast(field.dataType)
    return F.when(text.rlike(FINER), fault).otherwise(text.try_cast(field.dataType)).alias(field.name)


def parse_times(frame: DataFrame, name: str, format: TimeFormat) -> DataFrame:
    """Return a DataFrame with a column of text as times; what is no time is an error when it is evaluated."""
    if name not in frame.columns:
        return frame  # whoever asks for the column says that it is missing
    fields = [(field.name, to_arrow(field.dataType)) for field in frame.schema.fields]
    schema = pa.schema([(each, format.type if each == name else type) for each, type in fields])
    wider = schema.append(pa.field(ERROR, pa.string()))
    return raise_errors(map_batches(frame, ParseTimes(wider, name, format), wider)).drop(ERROR)


@dataclass(frozen=True)
class ParseTimes:
    """From rows to the same rows with times."""

    schema: pa.Schema
    name: str
    format: TimeFormat

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Read the times of a partition."""
        for batch in batches:
            yield from send_results(self.schema, lambda: iter([self.parse(pa.Table.from_batches([batch]))]))  # noqa: B023

    def parse(self, table: pa.Table) -> pa.Table:
        """Read the times of a table."""
        times = self.format.read(table.column(self.name), self.name, numbered=False)
        return table.set_column(table.column_names.index(self.name), self.name, times)
