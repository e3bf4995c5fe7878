"""The first trends behind the numbers on Spark: every task finds its own first ones, Spark the first of those."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkleene.engine.run import Run
from sparkleene.spark import batch, tasks
from sparkleene.spark.jobs import with_cores
from sparkleene.spark.request import Request, col, find_paths, map_batches
from sparkleene.spark.results import raise_errors, schema_of
from sparkleene.spark.sql.types import empty_table, result_type
from sparkleene.spark.sql.values import column

EVENTS = ("events", "events_2")


def trends(request: Request, frame: DataFrame, limit: int | None) -> DataFrame:
    """Return the first trends of a query over a DataFrame, all for None, as one that is not evaluated yet."""
    schema_of([request], lambda one: batch.check_columns(one, frame))
    plan = request.plan
    task = FindTrends(Run(request.part, request.options), pa.schema([]), limit)
    found = task.find(empty_table(frame.schema, request.needed)).schema
    schema = pa.schema([(field.name, result_type(field.name, field.type, request.place)) for field in found])
    rows = batch.drop_irrelevant([request], frame).select([column((name,)) for name in request.needed])
    keys = [column(path) for path in find_paths(plan, plan.shuffle_keys)]
    moved = rows.repartition(*keys) if keys else rows.repartition(1)
    wider = schema.append(pa.field(tasks.ERROR, pa.string()))
    task = replace(task, schema=wider)
    results = raise_errors(map_batches(moved, task, wider)).drop(tasks.ERROR)
    order = [col(name) for name in schema.names if name not in EVENTS and name != "window_end"]
    time = next(field.name for field in schema.field("events").type.value_type if field.name != "label")
    for name in EVENTS:
        if name in schema.names:
            order.append(F.transform(F.reverse(col(name)), lambda event: event.getField(time)))
    ordered = results.orderBy(*order)
    return ordered if limit is None else ordered.limit(limit)


@dataclass(frozen=True)
class FindTrends:
    """From rows, all those of some sub-streams, to their first trends."""

    run: Run
    schema: pa.Schema
    limit: int | None

    def __call__(self, batches: tasks.Batches) -> Iterator[pa.RecordBatch]:
        """Find the first trends of a partition."""
        rows = list(batches)
        if rows:
            table = pa.Table.from_batches(rows)
            yield from tasks.send_results(self.schema, lambda: iter([self.find(table)]), [self.run.place])

    def find(self, table: pa.Table) -> pa.Table:
        """Find the first trends of a table; the number of a row, which means nothing here, is left out."""
        from sparkleene.engine.trends import find_trends

        result = find_trends(with_cores(self.run), table, self.limit)
        for name in EVENTS:
            if name in result.column_names:
                at = result.column_names.index(name)
                result = result.set_column(at, name, _without_row(result.column(name)))
        return result


def _without_row(column: pa.ChunkedArray) -> pa.Array:
    """Return lists of events without the events' row numbers."""
    lists = column.combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    events = lists.values
    names = [field.name for field in events.type if field.name != "row"]
    fields = [events.field(name) for name in names]
    return pa.ListArray.from_arrays(lists.offsets, pa.StructArray.from_arrays(fields, names))
