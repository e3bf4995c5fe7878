"""A query over a DataFrame, lazily: SQL before the shuffle, the engine in the tasks, SQL after.

Nothing here starts a job, but where the columns do not fit the query: then a few rows are fetched, so that the
error can show a value.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sparkleene.columns.derived_columns import add_derived
from sparkleene.columns.schema import result_schema
from sparkleene.errors import DataError
from sparkleene.language.bound import Field, Term
from sparkleene.language.printer import quote
from sparkleene.spark import packing, tasks
from sparkleene.spark.jobs import Job
from sparkleene.spark.lower import Lowered, needs_types
from sparkleene.spark.request import (
    Places,
    Request,
    col,
    find_paths,
    lower_together,
    map_batches,
    partitions,
    places,
    zone,
)
from sparkleene.spark.results import JobPlan, combine_parts, make_jobs, raise_errors, schema_of
from sparkleene.spark.sql.pushdown import superset
from sparkleene.spark.sql.terms import masks, value
from sparkleene.spark.sql.types import empty_table, to_arrow
from sparkleene.spark.sql.values import column, combine
from sparkleene.spark.strategy import Choice, Family, choose_strategy, find_families


@dataclass(frozen=True)
class FrameJob:
    """A family of requests in one job: one scan, and one shuffle by the keys that they have in common."""

    family: Family
    rows: DataFrame  # in the columns of the lowered parts
    plan: JobPlan

    def run(self, schema: pa.Schema) -> DataFrame:
        """Return the results in a schema."""
        ways = {"shuffle": _shuffle, "sort": _sort, "combine": _combine}
        results = ways[self.family.choice.strategy](self.plan.job, self.rows)
        return combine_parts(self.plan.job, results, schema, self.plan.whole)


def plan_jobs(requests: Sequence[Request], frame: DataFrame) -> tuple[pa.Schema, list[FrameJob]]:
    """Return the columns of the results, and the jobs that make them."""
    schema = schema_of(requests, lambda one: check_columns(one, frame))
    jobs = []
    for family in find_families(requests, [_choose(request, frame) for request in requests]):
        lows, rows = lower_frame(family.requests, frame)
        [plan] = make_jobs([(family.requests, lows)], schema)
        jobs.append(FrameJob(family, rows, plan))
    return schema, jobs


def _choose(request: Request, frame: DataFrame) -> Choice:
    schema = add_derived(
        empty_table(frame.schema, request.needed), request.plan.bound.derived, request.place
    ).schema
    return choose_strategy(request.plan, schema, request.options, request.strategy, request.place)


def lower_frame(requests: Sequence[Request], frame: DataFrame) -> tuple[list[Lowered], DataFrame]:
    """Lower parts as far as SQL can say exactly what they mean, and select the columns of all."""
    here = zone(frame.sparkSession)

    def ready(term: Term) -> bool:
        return value(term, frame.schema, zone=here) is not None

    texts = places(requests)
    masks = [_masks(request, frame, texts) for request in requests]
    lows = lower_together(requests, ready, [bool(some) for some in masks])
    columns = {
        name: mask
        for low, some in zip(lows, masks, strict=True)
        for name, mask in zip(low.options.masks, some, strict=True)
    }
    return lows, project(requests, lows, frame, columns)


def task_schema(rows: DataFrame) -> pa.Schema:
    """Return the columns that tasks are given."""
    return pa.schema([(field.name, to_arrow(field.dataType)) for field in rows.schema.fields])


def check_columns(request: Request, frame: DataFrame) -> pa.Schema:
    """Return the columns of a query's result, or raise an error that shows a value that does not fit."""
    request.check_needed(frame.columns)
    given = (request.plan, empty_table(frame.schema, request.needed), request.options, request.place)
    try:
        return result_schema(*given)
    except DataError as error:
        if error.diagnostics[0].code == "wrong-type":
            some = frame.select([column((name,)).alias(name) for name in request.needed])
            with suppress(PySparkException):  # of columns that Arrow has no type for
                result_schema(request.plan, some.limit(100).toArrow(), *given[2:])
        raise


def _masks(request: Request, frame: DataFrame, texts: Places) -> list[Column]:
    """Return the columns of label masks, none where SQL cannot say what they are."""
    bound, type = request.plan.bound, request.options.type
    place, here = request.place, zone(frame.sparkSession)
    found = [masks(bound, frame.schema, type, True, place, here, texts)]
    if needs_types(request.plan):
        found.append(masks(bound, frame.schema, type, False, place, here))
    sure = [mask for mask in found if mask is not None]
    return sure if len(sure) == len(found) else []


def drop_irrelevant(requests: Sequence[Request], frame: DataFrame) -> DataFrame:
    """Leave out rows that surely have no part in any of several plans, by conditions that reach the files."""
    wanted = [_superset(request, frame) for request in requests]
    some = [each for each in wanted if each is not None]
    if len(some) == len(wanted):
        frame = _where(requests[0], frame, combine(operator.or_, some))
    keys = [dict.fromkeys(find_paths(request.plan, request.plan.needed_keys)) for request in requests]
    for path in keys[0]:
        if all(path in other for other in keys):
            frame = _where(requests[0], frame, column(path).isNotNull())
    return frame


def _superset(request: Request, frame: DataFrame) -> Column | None:
    """Return a condition that all rows of a plan fulfil, None if there is none."""
    plan = request.plan
    if plan.every_row:
        return None
    bound = plan.bound.without_local() if needs_types(plan) else plan.bound
    here = zone(frame.sparkSession)
    return superset(bound, frame.schema, request.options.type, request.place, here)


def _where(request: Request, frame: DataFrame, condition: Column) -> DataFrame:
    """Keep the rows that fulfil a condition.

    Spark would push it below the watermark of a stream, which the rows that are left out could then not move. It
    does not push what depends on the time.
    """
    return frame.where(condition | column((request.options.time,)).isNull() if frame.isStreaming else condition)


def project(
    requests: Sequence[Request], lows: Sequence[Lowered], frame: DataFrame, masks: dict[str, Column]
) -> DataFrame:
    """Select what tasks are given: the needed rows, in the columns of the lowered plans."""
    here, texts = zone(frame.sparkSession), places(requests)
    frame = drop_irrelevant(requests, frame)
    columns = []
    for name, term in lows[0].columns:
        if isinstance(term, Field):
            # an alias for each column would double what Spark infers from a filter over all of them
            found = column(term.path)
            columns.append(found if term.path == (name,) else found.alias(name))
        else:
            place = texts.get((term, term.span), requests[0].place)
            found_value = value(term, frame.schema, place, here)
            assert found_value is not None
            columns.append(found_value[0].alias(name))
    rows = frame.select(*columns, *(mask.alias(name) for name, mask in masks.items()))
    if all(low.options.masks and not low.plan.every_row for low in lows):
        named = replace(requests[0], options=lows[0].options)
        labelled = [col(low.options.masks[-1]) != 0 for low in lows]
        rows = _where(named, rows, combine(operator.or_, labelled))
    return rows


def _shuffle(job: Job, rows: DataFrame) -> DataFrame:
    """Bring the rows of each sub-stream together and evaluate them."""
    keys = [_normalize(rows, key) for key in job.keys]
    moved = rows.repartition(*keys) if keys else rows.repartition(1)
    return raise_errors(map_batches(moved, tasks.Evaluate(job), job.schema))


def _sort(job: Job, rows: DataFrame) -> DataFrame:
    """Let Spark sort the rows of each task, on disk if need be, and evaluate them as they come."""
    from sparkleene.spark.sorting import EvaluateSorted

    keys = [_normalize(rows, key) for key in job.keys]
    moved = rows.repartition(*keys) if keys else rows.repartition(1)
    options = job.runs[0].options
    order = [options.time, *([] if options.tiebreak is None else [options.tiebreak])]
    ordered = moved.sortWithinPartitions(*keys, *map(col, order))
    return raise_errors(map_batches(ordered, EvaluateSorted(job), job.schema))


def _combine(job: Job, rows: DataFrame) -> DataFrame:
    """Turn stretches into matrices before the shuffle; where they overlap, go back to the rows."""
    keys = job.keys
    count = partitions(rows.sparkSession) if keys else 1
    packed = map_batches(rows, packing.Pack(job, True, count), packing.PACKS)
    moved = packed.repartition(col(packing.BUCKET)) if keys else packed.repartition(1)
    types = {field.name: field.dataType for field in rows.schema.fields}
    fields = [pa.field(packing.key_name(k), to_arrow(types[key])) for k, key in enumerate(keys)]
    wider = pa.schema([*job.schema, *fields, pa.field(packing.AGAIN, pa.bool_())])
    composed = raise_errors(map_batches(moved, packing.Compose(replace(job, schema=wider)), wider))
    again = F.broadcast(
        composed.where(col(packing.AGAIN)).select(*(col(f.name) for f in fields), col(packing.AGAIN))
    )
    if keys:
        same = [_normalize(rows, key) == again[quote(packing.key_name(k))] for k, key in enumerate(keys)]
    else:
        same = [again[quote(packing.AGAIN)]]
    left = rows.join(again, on=same, how="left_semi")
    done = composed.where(col(packing.AGAIN).isNull()).select([col(name) for name in job.schema.names])
    return done.unionByName(_shuffle(job, left))


def _normalize(rows: DataFrame, key: str) -> Column:
    """Return a key so that equal values are equal in SQL: 0.0 for -0.0."""
    type = next(field.dataType for field in rows.schema.fields if field.name == key)
    return col(key) + F.lit(0.0).cast(type) if type.typeName() in ("float", "double") else col(key)
