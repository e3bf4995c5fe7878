"""From what tasks send back to the result: errors raised, the parts of groups combined."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkleene.engine.lower import Lowered
from sparkleene.engine.partial import SUMS, adds_up
from sparkleene.spark import tasks
from sparkleene.spark.request import Request, col


def job_of(request: Request, low: Lowered, schema: pa.Schema, parts: bool | None = None) -> tasks.Job:
    """Return what tasks need to know; `parts` tells whether they send parts of results, None to decide it here."""
    bound = low.plan.bound
    if parts is None:
        parts = not one_place(low) and not adds_up(low.plan, low.options.numbers)
    fields = list(schema)
    if parts:
        lost = {output.name for output in bound.outputs if output.function not in ("min", "max")}
        fields = [field for field in schema if field.name not in lost] + [pa.field(SUMS, pa.binary())]
    columns = pa.schema([*fields, pa.field(tasks.ERROR, pa.string())])
    return tasks.Job(low.plan, low.options, columns, parts, request.source, request.filename)


def one_place(low: Lowered) -> bool:
    """Tell whether all sub-streams of a group come to one task."""
    return set(low.plan.together) <= set(low.plan.bound.group)


def raised(results: DataFrame) -> DataFrame:
    """Raise the error that a task sent."""
    error = col(tasks.ERROR)
    return results.where(F.when(error.isNull(), F.lit(True)).otherwise(F.raise_error(error).cast("boolean")))


def finished(
    request: Request, low: Lowered, job: tasks.Job, results: DataFrame, schema: pa.Schema
) -> DataFrame:
    """Combine the parts of each group and window, where there are several.

    Counts, minima and maxima are combined by Spark itself. Sums beyond the range of doubles and integers of any
    length are types that Spark does not have, so tasks add up those.
    """
    columns = [col(name) for name in schema.names]
    if one_place(low):
        return results.select(columns)
    outputs = {output.name: output for output in job.plan.bound.outputs}
    names = [col(name) for name in schema.names if name not in outputs]
    if job.partial:
        moved = results.repartition(*names) if names else results.repartition(1)
        return request.mapped(moved, tasks.Total(job, schema), schema)
    how = {"count": F.sum, "min": F.min, "max": F.max}
    added = [how[output.function](col(name)).alias(name) for name, output in outputs.items()]
    rows = F.count(F.lit(1)).alias(tasks.ERROR)  # SQL's aggregate of nothing is a row; here it is none
    total = results.groupBy(*names).agg(*added, rows).where(col(tasks.ERROR) > 0)
    return total.select(columns)
