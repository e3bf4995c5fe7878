"""The trends behind the numbers on Spark: tasks find those of their rows, Spark the first or best of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from sparkleene.engine.run import Run
from sparkleene.plan.trend_selection import DRAW, SCORE, Selection
from sparkleene.spark import batch, tasks
from sparkleene.spark.jobs import with_cores
from sparkleene.spark.request import Request, col, find_paths, map_batches
from sparkleene.spark.results import raise_errors, schema_of
from sparkleene.spark.sql.types import empty_table, result_type
from sparkleene.spark.sql.values import column

EVENTS = ("events", "events_2")
KEY, NUMBER = "sparkleene key {}", "sparkleene number"


def count_request(request: Request) -> Request:
    """Return the request for how many trends each window and group has."""
    from sparkleene.engine.trends import count_only

    return replace(request, part=request.part.map(count_only))


def trends(request: Request, frame: DataFrame, selection: Selection, counts: DataFrame) -> DataFrame:
    """Return trends of a query over a DataFrame, as one that is not evaluated yet.

    `counts` has the window and the group, and then how many trends there are.
    """
    schema_of([request], lambda one: batch.check_columns(one, frame))
    plan = request.plan
    task = FindTrends(Run(request.part, request.options), pa.schema([]), selection)
    found = task.find(empty_table(frame.schema, request.needed)).schema
    schema = pa.schema([(field.name, result_type(field.name, field.type, request.place)) for field in found])
    rows = batch.drop_irrelevant([request], frame).select([column((name,)) for name in request.needed])
    keys = [column(path) for path in find_paths(plan, plan.shuffle_keys)]
    moved = rows.repartition(*keys) if keys else rows.repartition(1)
    wider = schema.append(pa.field(tasks.ERROR, pa.string()))
    task = replace(task, schema=wider)
    results = raise_errors(map_batches(moved, task, wider)).drop(tasks.ERROR)
    cells = schema.names[: schema.names.index("trends")]  # the window and the group
    shown = [name for name in schema.names if name not in (DRAW, SCORE)]
    best = _keep_best(results, schema, [name for name in cells if name != "window_end"], selection)
    counted = _count(best, counts, cells)
    order = [col(name) for name in cells if name != "window_end"] + _order(schema, selection)
    ordered = counted.orderBy(*order).select(*map(col, shown))
    return ordered.limit(selection.most) if selection.order == "first" and selection.limit is not None else ordered


def _order(schema: pa.Schema, selection: Selection) -> list[Column]:
    """Return what orders the trends of a window and group."""
    if selection.order == "sample":
        return [col(DRAW)]
    time = next(field.name for field in schema.field("events").type.value_type if field.name != "label")
    ends = [F.transform(F.reverse(col(name)), lambda event: event.getField(time))
            for name in EVENTS if name in schema.names]  # fmt: skip
    if selection.order in ("first", "last"):
        return ends if selection.order == "first" else [one.desc() for one in ends]
    length = sum((col(name) for name in ("length_2",) if name in schema.names), col("length"))
    return [length.desc() if selection.order == "longest" else length, *ends]


def _keep_best(results: DataFrame, schema: pa.Schema, cells: list[str], selection: Selection) -> DataFrame:
    """Keep of what tasks found in their parts of a window and group what all of it has."""
    if selection.order == "first" or selection.limit is None:
        return results
    by, order, most = [col(name) for name in cells], _order(schema, selection), selection.limit
    if selection.order == "sample":
        by, order, most = [*by, col(DRAW)], [col(SCORE).desc()], 1
    number = F.row_number().over(Window.partitionBy(*by).orderBy(*order))
    return results.withColumn(NUMBER, number).where(col(NUMBER) <= most).drop(NUMBER)


def _count(results: DataFrame, counts: DataFrame, cells: list[str]) -> DataFrame:
    """Put beside trends how many there are."""
    names = [KEY.format(i) for i in range(len(cells))]
    known = counts.toDF(*names, NUMBER)
    if not cells:
        both = results.crossJoin(known)
    else:
        pairs = zip(cells, names, strict=True)
        equal = reduce(lambda one, other: one & other, (col(cell) == col(name) for cell, name in pairs))
        both = results.join(known, equal)
    return both.withColumn("trends", col(NUMBER)).drop(*names, NUMBER)


@dataclass(frozen=True)
class FindTrends:
    """From rows, all those of some sub-streams, to trends of theirs."""

    run: Run
    schema: pa.Schema
    selection: Selection

    def __call__(self, batches: tasks.Batches) -> Iterator[pa.RecordBatch]:
        """Find trends of a partition."""
        if (table := tasks.gather(batches)) is not None:
            yield from tasks.send_results(self.schema, lambda: iter([self.find(table)]), [self.run.place])

    def find(self, table: pa.Table) -> pa.Table:
        """Find trends of a table; the number of a row, which means nothing here, is left out."""
        from sparkleene.engine.trends import find_trends

        result = find_trends(with_cores(self.run), table, self.selection, scores=True)
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
