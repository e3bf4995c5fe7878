"""A query over a DataFrame, lazily: SQL before the shuffle, the engine in the tasks, SQL after.

Nothing here starts a job, but where the columns do not fit the query: then a few rows are fetched, so that the
error can show a value.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sparkleene.engine.lower import MASK, TYPES, Lowered, bare, lower, needs_types
from sparkleene.engine.schema import check
from sparkleene.errors import DataError
from sparkleene.language.bound import Field
from sparkleene.spark import sql, tasks
from sparkleene.spark.request import Request, col, partitions, quoted, zone
from sparkleene.spark.results import finished, job_of, raised
from sparkleene.spark.strategy import Choice, choose_strategy
from sparkleene.spark.types import empty, returned, to_arrow


def run(request: Request, frame: DataFrame) -> DataFrame:
    """Return the result of a query over a DataFrame, as one that is not evaluated yet."""
    schema = checked(request, frame)
    low, rows, choice = planned(request, frame)
    job = job_of(request, low, schema)
    keys = [low.plan.bound.keys[k].path[0] for k in low.plan.together]
    ways = {"shuffle": _shuffled, "sort": _sorted, "combine": _combined}
    return finished(request, low, job, ways[choice.strategy](request, job, rows, keys), schema)


def planned(request: Request, frame: DataFrame) -> tuple[Lowered, DataFrame, Choice]:
    """Lower the query and choose a strategy."""
    low, rows = lowered(request, frame)
    return low, rows, choose_strategy(low.plan, flat(rows), low.options, request.strategy, request.place)


def lowered(request: Request, frame: DataFrame) -> tuple[Lowered, DataFrame]:
    """Lower the query as far as SQL can say exactly what it means, and select its columns."""
    place, here = request.place, zone(frame.sparkSession)

    def ready(term: Any) -> bool:
        return sql.value(term, frame.schema, place, here) is not None

    masks = _masks(request, frame)
    low = lower(request.plan, request.options, ready, bool(masks))
    return low, project(request, low, frame, masks)


def flat(rows: DataFrame) -> pa.Schema:
    """Return the columns that tasks are given."""
    return pa.schema([(field.name, to_arrow(field.dataType)) for field in rows.schema.fields])


def checked(request: Request, frame: DataFrame) -> pa.Schema:
    """Return the result's schema, or raise an error that shows a value of the column that does not fit."""
    request.look_up(frame.columns)
    given = (
        request.plan,
        empty(frame.schema, request.needed),
        request.options,
        request.source,
        request.filename,
    )
    try:
        found = check(*given)
    except DataError as error:
        if error.diagnostics[0].code == "wrong-type":
            some = frame.select([sql.column((name,)).alias(name) for name in request.needed])
            with suppress(PySparkException):  # of columns that Arrow has no type for
                check(request.plan, some.limit(100).toArrow(), *given[2:])
        raise
    request.refuse([*request.needed, *found.names])
    types = [(field.name, returned(field.name, field.type, request.place)) for field in found]
    return pa.schema(types)


def _masks(request: Request, frame: DataFrame) -> dict[str, Column]:
    """Return the columns of label masks, none where SQL cannot say what they are."""
    bound, type = request.plan.bound, request.options.type
    place, here = request.place, zone(frame.sparkSession)
    found = {MASK: sql.masks(bound, frame.schema, type, True, place, here)}
    if needs_types(request.plan):
        found[TYPES] = sql.masks(bound, frame.schema, type, False, place, here)
    sure = {name: mask for name, mask in found.items() if mask is not None}
    return sure if len(sure) == len(found) else {}


def relevant(request: Request, frame: DataFrame) -> DataFrame:
    """Leave out rows that surely have no part in a query, by conditions that reach the files."""
    plan, options = request.plan, request.options
    bound = bare(plan.bound) if needs_types(plan) else plan.bound
    if not plan.every_row:
        wanted = sql.superset(bound, frame.schema, options.type, request.place, zone(frame.sparkSession))
        frame = frame if wanted is None else _where(request, frame, wanted)
    for k in plan.universal:
        frame = _where(request, frame, sql.column(plan.bound.keys[k].path).isNotNull())
    return frame


def _where(request: Request, frame: DataFrame, condition: Column) -> DataFrame:
    """Keep the rows that fulfil a condition.

    Spark would push it below the watermark of a stream, which the rows that are left out could then not move. It
    does not push what depends on the time.
    """
    return frame.where(
        condition | sql.column((request.options.time,)).isNull() if frame.isStreaming else condition
    )


def project(request: Request, low: Lowered, frame: DataFrame, masks: dict[str, Column]) -> DataFrame:
    """Select what tasks are given: the needed rows, in the columns of the lowered plan."""
    place, here = request.place, zone(frame.sparkSession)
    frame = relevant(request, frame)
    columns = []
    for name, term in low.columns:
        if isinstance(term, Field):
            # an alias for each column would double what Spark infers from a filter over all of them
            found = sql.column(term.path)
            columns.append(found if term.path == (name,) else found.alias(name))
        else:
            value = sql.value(term, frame.schema, place, here)
            assert value is not None
            columns.append(value[0].alias(name))
    rows = frame.select(*columns, *(mask.alias(name) for name, mask in masks.items()))
    if masks and not low.plan.every_row:
        named = replace(request, options=low.options)
        rows = _where(named, rows, col(low.options.masks[-1]) != 0)
    return rows


def _shuffled(request: Request, job: tasks.Job, rows: DataFrame, keys: list[str]) -> DataFrame:
    """Bring the rows of each sub-stream together and evaluate them."""
    moved = rows.repartition(*(_hashed(rows, key) for key in keys)) if keys else rows.repartition(1)
    return raised(request.mapped(moved, tasks.Evaluate(job), job.schema))


def _sorted(request: Request, job: tasks.Job, rows: DataFrame, keys: list[str]) -> DataFrame:
    """Let Spark sort the rows of each task, on disk if need be, and evaluate them as they come."""
    from sparkleene.spark.sorting import Sorted

    hashed = [_hashed(rows, key) for key in keys]
    moved = rows.repartition(*hashed) if keys else rows.repartition(1)
    order = [job.options.time, *([] if job.options.tiebreak is None else [job.options.tiebreak])]
    ordered = moved.sortWithinPartitions(*hashed, *map(col, order))
    return raised(request.mapped(ordered, Sorted(job), job.schema))


def _combined(request: Request, job: tasks.Job, rows: DataFrame, keys: list[str]) -> DataFrame:
    """Turn stretches into matrices before the shuffle; where they overlap, go back to the rows."""
    count = partitions(rows.sparkSession) if keys else 1
    packed = request.mapped(rows, tasks.Pack(job, True, count), tasks.PACKS)
    moved = packed.repartition(col(tasks.BUCKET)) if keys else packed.repartition(1)
    types = {field.name: field.dataType for field in rows.schema.fields}
    fields = [pa.field(tasks.key_name(k), to_arrow(types[key])) for k, key in enumerate(keys)]
    wider = pa.schema([*job.schema, *fields, pa.field(tasks.AGAIN, pa.bool_())])
    composed = raised(request.mapped(moved, tasks.Compose(replace(job, schema=wider)), wider))
    again = F.broadcast(
        composed.where(col(tasks.AGAIN)).select(*(col(f.name) for f in fields), col(tasks.AGAIN))
    )
    if keys:
        same = [_hashed(rows, key) == again[quoted(tasks.key_name(k))] for k, key in enumerate(keys)]
    else:
        same = [again[quoted(tasks.AGAIN)]]
    left = rows.join(again, on=same, how="left_semi")
    done = composed.where(col(tasks.AGAIN).isNull()).select([col(name) for name in job.schema.names])
    return done.unionByName(_shuffled(request, job, left, keys))


def _hashed(rows: DataFrame, key: str) -> Column:
    """Return a key so that equal values are equal in SQL: 0.0 for -0.0."""
    type = next(field.dataType for field in rows.schema.fields if field.name == key)
    return col(key) + F.lit(0.0).cast(type) if type.typeName() in ("float", "double") else col(key)
