"""More engines for the conformance tests: Spark, and what runs in its tasks, without Spark around it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import assume
from pyspark.errors import PySparkException

import sparkleene as sk
from sparkleene.columns.schema import result_schema
from sparkleene.engine.lower import lower, lowered
from sparkleene.engine.partial import SUMS
from sparkleene.errors import Place
from sparkleene.ongoing.compose import combines
from sparkleene.spark import tasks
from sparkleene.spark.request import Request
from sparkleene.spark.results import job_of

Rows = list[dict[str, Any]]


def through_tasks(query: sk.Query, table: pa.Table) -> Rows:
    """Run what tasks run: rows packed in three parts, composed by bucket, added up.

    Where the parts overlap in time rows are evaluated by bucket.
    """
    plan, options = query.prepared.plan_for(tuple(table.column_names)), query.prepared.options.for_engine()
    low = lower(plan, options, lambda term: True, True)
    flat = lowered(plan, low, table, options, 1, Place(query.text))
    if len(query.text) % 2:  # in order of time, parts of it do not overlap
        flat = flat.sort_by(low.options.time)
    schema = result_schema(plan, table.slice(0, 0), options, Place(query.text))
    request = Request(plan, options, (), Place(query.text))
    job = job_of(request, low, schema)
    if not job.partial:  # so that several parts of a group can be added up here
        fields = [field for field in job.schema if field.name not in {o.name for o in plan.bound.outputs}]
        lows = [schema.field(o.name) for o in plan.bound.outputs if o.function in ("min", "max")]
        sums = pa.field(SUMS, pa.binary())
        job = tasks.Job(low.plan, low.options, pa.schema([*fields, *lows, sums]), True, Place(query.text))
    keys = [pa.field(tasks.key_name(k), flat.schema.field(key.path[0]).type)
            for k, key in enumerate(low.plan.bound.keys) if key.labels is None]  # fmt: skip
    wider = pa.schema([*job.schema, *keys, pa.field(tasks.AGAIN, pa.bool_())])
    composing = tasks.Job(job.plan, job.options, wider, True, Place(query.text))
    parts: list[pa.RecordBatch] = []
    buckets = 3 if low.plan.together else 1
    for combine in (combines(low.plan, flat.schema, low.options) is None, False):
        pack = tasks.Pack(job, combine, buckets)
        packed = [pack.packed(flat.slice(i, 4)) for i in range(0, flat.num_rows, 4)]
        found = pa.Table.from_batches(packed, tasks.PACKS)
        parts = []
        for bucket in range(buckets):
            mine = found.filter(pc.equal(found.column(0), bucket))
            parts += tasks.Compose(composing)(mine.to_batches())
        together = pa.Table.from_batches(parts, wider)
        if not pc.any(together.column(tasks.AGAIN)).as_py():
            break
    total = tasks.Total(job, schema)(
        pa.Table.from_batches(parts, wider).select(job.schema.names).to_batches()
    )
    return in_order(plan.bound.group_names, pa.Table.from_batches(total, schema).to_pylist())


def in_order(groups: tuple[str, ...], rows: Rows) -> Rows:
    """Sort rows as the in-process engine does; Spark's are in no order."""
    return sorted(rows, key=lambda row: (row.get("window_start", 0), *(row[name] for name in groups)))


def on_spark(spark: Any, query: sk.Query, table: pa.Table, parts: int = 3) -> Rows:
    """Run Spark, with one strategy after the other."""
    frame = spark.createDataFrame(table).repartition(parts)
    plan = query.prepared.plan_for(tuple(table.column_names))
    strategies = [None, "shuffle", "sort"]
    if combines(plan, table.schema, query.prepared.options.for_engine()) is None:
        strategies.append("combine")
    strategy: Any = strategies[len(query.text) % len(strategies)]
    try:
        rows = query.run(frame, strategy=strategy).toArrow().to_pylist()
    except PySparkException as error:  # rows of one time have no order on Spark
        assume("error[ambiguous-order]" not in str(error))
        raise
    return in_order(plan.bound.group_names, rows)
