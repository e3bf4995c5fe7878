"""A query over a DataFrame, lazily: SQL before the shuffle, the engine in the tasks, SQL after.

Nothing here starts a job, but where the columns do not fit the query: then a few rows are fetched, so that the
error can show a value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sparkleene.engine.fields import Place
from sparkleene.engine.lower import MASK, TYPES, Lowered, bare, lower, needs_types
from sparkleene.engine.options import Options
from sparkleene.engine.partial import SUMS, adds_up
from sparkleene.engine.schema import check
from sparkleene.errors import DataError
from sparkleene.language.bound import Field
from sparkleene.plan.plan import Plan
from sparkleene.spark import sql, tasks
from sparkleene.spark.strategy import Choice, choose, shuffle_keys
from sparkleene.spark.types import empty, returned, to_arrow, to_spark

Wrap = Callable[[Any], Any]


@dataclass(frozen=True)
class Request:
    """A query as it is asked of Spark."""

    plan: Plan
    options: Options
    needed: tuple[str, ...]
    source: str
    filename: str
    strategy: str | None = None
    wrap: Wrap = lambda task: task  # what benchmarks put around tasks to time them

    @property
    def place(self) -> Place:
        """The query text that errors point into."""
        return Place(self.source, self.filename)


def run(request: Request, frame: DataFrame) -> DataFrame:
    """Return the result of a query over a DataFrame, as one that is not evaluated yet."""
    schema = checked(request, frame)
    low = _lowered(request, frame)
    rows = project(request, low, frame)
    choice = choose(low.plan, _schema(rows), low.options, request.strategy, request.place)
    return evaluated(request, low, rows, schema, choice)


def checked(request: Request, frame: DataFrame) -> pa.Schema:
    """Return the result's schema, or raise an error that shows a value of the column that does not fit."""
    given = (
        request.plan,
        empty(frame.schema, request.needed),
        request.options,
        request.source,
        request.filename,
    )
    try:
        found = check(*given)
    except DataError:
        some = frame.select(
            [sql.column((name,)).alias(name) for name in request.needed if name in frame.columns]
        )
        check(request.plan, some.limit(100).toArrow(), *given[2:])
        raise
    types = [(field.name, returned(field.name, field.type, request.place)) for field in found]
    return pa.schema(types)


def _lowered(request: Request, frame: DataFrame) -> Lowered:
    """Lower the query as far as SQL can say exactly what it means."""
    place, zone = request.place, _zone(frame)
    mask = _masks(request, frame)

    def ready(term: Any) -> bool:
        return sql.value(term, frame.schema, place, zone) is not None

    return lower(request.plan, request.options, ready, bool(mask))


def _masks(request: Request, frame: DataFrame) -> dict[str, Column]:
    """Return the columns of label masks, none where SQL cannot say what they are."""
    bound, type = request.plan.bound, request.options.type
    place, zone = request.place, _zone(frame)
    found = {MASK: sql.masks(bound, frame.schema, type, True, place, zone)}
    if needs_types(request.plan):
        found[TYPES] = sql.masks(bound, frame.schema, type, False, place, zone)
    sure = {name: mask for name, mask in found.items() if mask is not None}
    return sure if len(sure) == len(found) else {}


def _schema(rows: DataFrame) -> pa.Schema:
    """Return the schema of a DataFrame as tasks see it."""
    return pa.schema([(field.name, to_arrow(field.dataType)) for field in rows.schema.fields])


def project(request: Request, low: Lowered, frame: DataFrame) -> DataFrame:
    """Select what tasks are given: the needed rows, in the columns of the lowered plan."""
    plan, options = request.plan, request.options
    place, zone = request.place, _zone(frame)
    bound = bare(plan.bound) if needs_types(plan) else plan.bound
    if not plan.every_row:
        wanted = sql.superset(bound, frame.schema, options.type, place, zone)
        frame = frame if wanted is None else frame.where(wanted)
    for k in plan.universal:
        frame = frame.where(sql.column(plan.bound.keys[k].path).isNotNull())
    columns = []
    for name, term in low.columns:
        if isinstance(term, Field):
            columns.append(sql.column(term.path).alias(name))
        else:
            found = sql.value(term, frame.schema, place, zone)
            assert found is not None
            columns.append(found[0].alias(name))
    masks = _masks(request, frame) if low.options.masks else {}
    rows = frame.select(*columns, *(mask.alias(name) for name, mask in masks.items()))
    if masks and not plan.every_row:
        rows = rows.where(_col(low.options.masks[-1]) != 0)
    return rows


def evaluated(
    request: Request, low: Lowered, rows: DataFrame, schema: pa.Schema, choice: Choice
) -> DataFrame:
    """Shuffle rows, or what they were packed into, and evaluate them in the tasks."""
    keys = shuffle_keys(low.plan)
    whole = set(keys) <= set(low.plan.bound.group)
    partial = not whole and not adds_up(low.plan, low.options.numbers)
    job = _job(request, low, schema, partial)
    names = [low.plan.bound.keys[k].path[0] for k in keys]
    if choice.strategy == "combine":
        results = _combined(request, job, rows, names)
    else:
        results = _shuffled(request, job, rows, names)
    if whole:
        return results.select([_col(name) for name in schema.names])
    return _totalled(request, job, results, schema)


def _job(request: Request, low: Lowered, schema: pa.Schema, partial: bool) -> tasks.Job:
    """Return what tasks need to know."""
    fields = list(schema)
    if partial:
        minima = {o.name for o in low.plan.bound.outputs if o.function in ("min", "max")}
        outputs = {o.name for o in low.plan.bound.outputs}
        fields = [f for f in schema if f.name not in outputs or f.name in minima]
        fields.append(pa.field(SUMS, pa.binary()))
    columns = pa.schema([*fields, pa.field(tasks.ERROR, pa.string())])
    return tasks.Job(low.plan, low.options, columns, partial, request.source, request.filename)


def _shuffled(request: Request, job: tasks.Job, rows: DataFrame, keys: list[str]) -> DataFrame:
    """Bring the rows of each sub-stream together and evaluate them."""
    moved = rows.repartition(*(_hashed(rows, key) for key in keys)) if keys else rows.repartition(1)
    return _raised(_mapped(request, moved, tasks.Evaluate(job), job.schema))


def _combined(request: Request, job: tasks.Job, rows: DataFrame, keys: list[str]) -> DataFrame:
    """Turn stretches into matrices before the shuffle; where they overlap, go back to the rows."""
    count = _partitions(rows) if keys else 1
    packed = _mapped(request, rows, tasks.Pack(job, True, count), tasks.PACKS)
    moved = packed.repartition(_col(tasks.BUCKET)) if keys else packed.repartition(1)
    types = {field.name: field.dataType for field in rows.schema.fields}
    fields = [pa.field(tasks.key_name(k), to_arrow(types[key])) for k, key in enumerate(keys)]
    wider = pa.schema([*job.schema, *fields, pa.field(tasks.AGAIN, pa.bool_())])
    composed = _raised(_mapped(request, moved, tasks.Compose(replace(job, schema=wider)), wider))
    again = F.broadcast(
        composed.where(_col(tasks.AGAIN)).select(*(_col(f.name) for f in fields), _col(tasks.AGAIN))
    )
    if keys:
        same = [_hashed(rows, key) == again[_quoted(tasks.key_name(k))] for k, key in enumerate(keys)]
    else:
        same = [again[_quoted(tasks.AGAIN)]]
    left = rows.join(again, on=same, how="left_semi")
    done = composed.where(_col(tasks.AGAIN).isNull()).select([_col(name) for name in job.schema.names])
    return done.unionByName(_shuffled(request, job, left, keys))


def _mapped(request: Request, rows: DataFrame, task: Any, schema: pa.Schema) -> DataFrame:
    return rows.mapInArrow(request.wrap(task), to_spark(schema))


def _raised(results: DataFrame) -> DataFrame:
    """Raise the error that a task sent."""
    error = _col(tasks.ERROR)
    return results.where(F.when(error.isNull(), F.lit(True)).otherwise(F.raise_error(error).cast("boolean")))


def _totalled(request: Request, job: tasks.Job, results: DataFrame, schema: pa.Schema) -> DataFrame:
    """Combine the parts of each group and window."""
    bound = job.plan.bound
    outputs = {output.name: output for output in bound.outputs}
    names = [name for name in schema.names if name not in outputs]
    if job.partial:
        moved = results.repartition(*map(_col, names)) if names else results.repartition(1)
        return _mapped(request, moved, tasks.Total(job, schema), schema)
    how = {"count": F.sum, "min": F.min, "max": F.max}
    added = [how[o.function](_col(name)).alias(name) for name, o in outputs.items()]
    rows = F.count(F.lit(1)).alias(tasks.ERROR)  # SQL's aggregate of nothing is a row; here it is none
    total = results.groupBy(*map(_col, names)).agg(*added, rows).where(_col(tasks.ERROR) > 0)
    return total.select([_col(name) for name in schema.names])


def _hashed(rows: DataFrame, key: str) -> Column:
    """Return a key so that equal values are equal in SQL: 0.0 for -0.0."""
    type = next(field.dataType for field in rows.schema.fields if field.name == key)
    return _col(key) + F.lit(0.0).cast(type) if type.typeName() in ("float", "double") else _col(key)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _col(name: str) -> Column:
    return F.col(_quoted(name))


def _zone(frame: DataFrame) -> str:
    """Return the session's time zone."""
    return str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))


def _partitions(frame: DataFrame) -> int:
    """Return how many partitions the session's shuffles have."""
    return int(str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions")))
