"""The rows of a funnel on Spark: all steps of a window and group in one task, and no state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkleene.funnel.rows import Layout, make_rows
from sparkleene.funnel.sessions import add_up, count_sessions, with_stddev
from sparkleene.spark.request import col, map_batches
from sparkleene.spark.sql.types import empty_table
from sparkleene.spark.tasks import Batches, gather, to_batches
from sparkleene.workload.run import QUERY


def run_funnel(layout: Layout, results: DataFrame) -> DataFrame:
    """Return the rows of a funnel from the results of its queries.

    All results of a window come in one batch of a stream, so that they meet in one task there, too.
    """
    if layout.has_sessions:
        results = _add_by_user(layout, results)
    schema = layout.schema(empty_table(results.schema, results.columns).schema)
    if layout.keys:
        together = results.repartition(*map(col, layout.keys))
    else:
        together = results.union(_nobody(layout, results)).repartition(1)
    return map_batches(together, MakeRows(layout, schema), schema)


def _add_by_user(layout: Layout, results: DataFrame) -> DataFrame:
    """Return a few rows of each step and group, one for all users that meet in a task."""
    nothing = empty_table(results.schema, results.columns)
    schema = add_up(layout, count_sessions(layout, nothing)).schema
    names = (*layout.keys, *(layout.users or ()))
    return map_batches(results.repartition(*map(col, names)), AddUsers(layout, schema), schema)


def _nobody(layout: Layout, results: DataFrame) -> DataFrame:
    """Return the row of a first step that nobody took, so that there is something to make rows of."""
    known = {QUERY: F.lit(layout.names[0]), "users": F.lit(0), "sessions": F.lit(0), "trends": F.lit(0)}
    columns = [
        known.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in results.schema.fields
    ]
    return results.sparkSession.range(1).select(*columns)


@dataclass(frozen=True)
class MakeRows:
    """From all results of some windows and groups to the rows of a funnel."""

    layout: Layout
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Make the rows of a partition."""
        if (table := gather(batches)) is not None:
            if self.layout.has_sessions:
                table = with_stddev(add_up(self.layout, table))
            yield from to_batches(make_rows(self.layout, table), self.schema)


@dataclass(frozen=True)
class AddUsers:
    """From all sessions of some users to a row for each step and group."""

    layout: Layout
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Add up a partition."""
        if (table := gather(batches)) is not None:
            yield from to_batches(add_up(self.layout, count_sessions(self.layout, table)), self.schema)
