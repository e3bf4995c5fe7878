"""Times that are text in a format, as times: read in tasks by what the engine in this process reads them with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from sparkleene.columns.time_formats import TimeFormat
from sparkleene.spark.request import map_batches
from sparkleene.spark.results import raise_errors
from sparkleene.spark.sql.types import to_arrow
from sparkleene.spark.tasks import ERROR, Batches, send_results


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
