"""HAVING, ORDER BY, LIMIT and expressions over results on Spark: as SQL where it says the same, else by tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from sparkleene.engine.having import finish_rows, finish_schema
from sparkleene.engine.windows import WINDOW
from sparkleene.errors import Place
from sparkleene.language.bound import Bound, Field, Finish
from sparkleene.spark.jobs import add_name, fit_columns
from sparkleene.spark.request import OWN, Request, col, map_batches, zone
from sparkleene.spark.results import raise_errors, schema_of
from sparkleene.spark.sql.terms import condition, value
from sparkleene.spark.sql.types import schema_to_spark
from sparkleene.spark.tasks import ERROR, Batches, gather, send_results
from sparkleene.workload.run import QUERY

PLACE = f"{OWN}place"
"""The column of a row's place in the order that is asked for."""


def finish_results(
    requests: Sequence[Request], results: DataFrame, check: Callable[[Request], pa.Schema]
) -> DataFrame:
    """Return results as the queries ask for them; `check` gives the columns of a query's groups and aggregates."""
    queries = [one for request in requests for one in request.queries]
    if all(one.plan.bound.finish is None for one in queries):
        return results
    schema = finished_schema(requests, check)
    if not requests[0].named:
        native = _finish_by_sql(queries[0], results, schema)
        if native is not None:
            return native
    return _finish_by_tasks(queries, results, schema)


def finished_schema(requests: Sequence[Request], check: Callable[[Request], pa.Schema]) -> pa.Schema:
    """Return the columns that the queries ask for; `check` gives those of a query's groups and aggregates."""
    return schema_of(
        requests, lambda one: finish_schema(one.plan.bound, check(one), one.options.numbers, one.place)
    )


def check_finish(query: Request) -> None:
    """Raise if a stream cannot be asked to keep rows, or to order them."""
    finish = query.plan.bound.finish
    if query.output_mode != "update" or finish is None:
        return
    given = {"HAVING": finish.having is not None, "ORDER BY": bool(finish.order), "LIMIT": finish.limit is not None}
    for word, there in given.items():
        if there:
            why = f"in update mode a row that was sent and that {word} no longer keeps would stay with the reader"
            help = f"leave output_mode out, or {word}, and filter what you read"
            raise query.place.mistake("unsupported-stream", why, help=help)


def _finish_by_sql(query: Request, results: DataFrame, schema: pa.Schema) -> DataFrame | None:
    """Return results by columns of SQL, None where it cannot say what the engine would."""
    bound = query.plan.bound
    finish = bound.finish
    chosen = finish is not None and (bool(finish.order) or finish.limit is not None)
    if finish is None or query.options.numbers == "exact" or (results.isStreaming and chosen):
        return None
    here = zone(results.sparkSession)
    columns = _columns(finish, results, query.place, here)
    kept = None if finish.having is None else condition(finish.having, results.schema, query.place, here)
    order = [(value(term, results.schema, query.place, here), down) for term, down in finish.order]
    unsure = columns is None or any(found is None for found, _ in order)
    if unsure or columns is None or (kept is None and finish.having is not None):
        return None
    if kept is not None:
        results = results.where(kept)
    if chosen:
        keys = [key.desc_nulls_last() if down else key.asc_nulls_first() for (key, _), down in order]  # type: ignore[misc]
        results = _choose(bound, finish, results, keys)
    windows = [col(name) for name in WINDOW if bound.window is not None]
    types = {field.name: field.dataType for field in schema_to_spark(schema).fields}
    cast = [found.cast(types[name]).alias(name) for name, found in columns.items()]
    return results.select(*windows, *cast)


def _columns(finish: Finish, results: DataFrame, place: Place, here: str) -> dict[str, Column] | None:
    """Return the columns that are asked for, None where SQL cannot say one."""
    columns = {}
    for one in finish.columns:
        if isinstance(one.term, Field):
            columns[one.name] = col(one.term.path[0])
        elif (found := value(one.term, results.schema, place, here)) is not None:
            columns[one.name] = found[0]
        else:
            return None
    return columns


def _choose(bound: Bound, finish: Finish, results: DataFrame, keys: list[Column]) -> DataFrame:
    """Return the first rows of each window, in order."""
    windows = [col(name) for name in WINDOW if bound.window is not None]
    order = [*keys, *(col(name).asc_nulls_first() for name in bound.group_names)]
    if finish.limit is not None:
        parts = Window.partitionBy(*(windows or [F.lit(0)])).orderBy(*(order or [F.lit(0)]))
        number = F.row_number().over(parts)
        results = results.withColumn(PLACE, number).where(col(PLACE) <= finish.limit).drop(PLACE)
    return results.orderBy(*windows, *order) if finish.order else results


def _finish_by_tasks(queries: Sequence[Request], results: DataFrame, schema: pa.Schema) -> DataFrame:
    """Return results by tasks, each of which sees all rows of a window where that matters."""
    finishes = [one.plan.bound.finish for one in queries]
    chosen = any(finish is not None and (finish.order or finish.limit is not None) for finish in finishes)
    if chosen:
        names = [QUERY] if queries[0].named else []
        names += [name for name in WINDOW if name in results.columns]
        results = results.repartition(*map(col, names)) if names else results.repartition(1)
    wider = pa.schema([*schema, pa.field(PLACE, pa.int64()), pa.field(ERROR, pa.string())])
    members = tuple((one.part.names[0], one.plan.bound, one.place) for one in queries)
    task = FinishRows(members, queries[0].options.numbers, queries[0].named, wider)
    done = raise_errors(map_batches(results, task, wider))
    ordered = any(finish is not None and finish.order for finish in finishes)
    if ordered and not results.isStreaming:
        listed = F.array(*(F.lit(name) for name, _, _ in members))
        by = [F.array_position(listed, col(QUERY))] if queries[0].named else []
        done = done.orderBy(*by, *(col(name) for name in WINDOW if name in schema.names), col(PLACE))
    return done.select([col(name) for name in schema.names])


@dataclass(frozen=True)
class FinishRows:
    """From groups and aggregates to the rows that queries ask for."""

    members: tuple[tuple[str, Bound, Place], ...]
    numbers: str
    named: bool
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Finish a partition."""
        if (table := gather(batches)) is not None:
            yield from send_results(self.schema, lambda: self.finish(table))

    def finish(self, table: pa.Table) -> Iterator[pa.Table]:
        """Yield the rows of each query."""
        for name, bound, place in self.members:
            own = table.filter(pc.equal(table.column(QUERY), name)) if self.named else table
            if not own.num_rows:
                continue
            if bound.finish is None:
                found = own.drop_columns([QUERY]) if self.named else own
            else:
                found = finish_rows(bound, own, self.numbers, place)
            found = add_name(found, name) if self.named else found
            found = found.append_column(PLACE, pa.array(range(found.num_rows), pa.int64()))
            yield fit_columns(found, self.schema)
