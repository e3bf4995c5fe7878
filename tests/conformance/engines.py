"""More engines for the conformance tests: Spark, and what runs in its tasks, without Spark around it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import assume
from pyspark.errors import PySparkException
from tests.runs import flatten, lower_run, run_of

import sparkleene as sk
from sparkleene.columns.schema import result_schema
from sparkleene.engine.results import SUMS
from sparkleene.ongoing.compose import why_not_combined
from sparkleene.spark import packing, tasks
from sparkleene.spark.request import Request
from sparkleene.spark.results import make_jobs

Rows = list[dict[str, Any]]


def through_tasks(query: sk.Query, table: pa.Table) -> Rows:
    """Run what tasks run: rows packed in three parts, composed by bucket, added up.

    Where the parts overlap in time rows are evaluated by bucket.
    """
    run = run_of(query, table.column_names)
    plan, low = run.plan, lower_run(run)
    flat = flatten(run, low, table)
    if len(query.text) % 2:  # in order of time, parts of it do not overlap
        flat = flat.sort_by(low.options.time)
    schema = result_schema(plan, table.slice(0, 0), run.options, run.place)
    [(_, job, _)] = make_jobs([([Request(run.part, run.options, ())], [low])], schema)
    if not job.partial:  # so that several parts of a group can be added up here
        fields = [field for field in job.schema if field.name not in {o.name for o in plan.bound.outputs}]
        lows = [schema.field(o.name) for o in plan.bound.outputs if o.function in ("min", "max")]
        sums = pa.field(SUMS, pa.binary())
        job = replace(job, schema=pa.schema([*fields, *lows, sums]), partial=True)
    keys = [pa.field(packing.key_name(k), flat.schema.field(key.path[0]).type)
            for k, key in enumerate(low.plan.bound.keys) if key.labels is None]  # fmt: skip
    wider = pa.schema([*job.schema, *keys, pa.field(packing.AGAIN, pa.bool_())])
    composing = replace(job, schema=wider)
    parts: list[pa.RecordBatch] = []
    buckets = 3 if low.plan.shuffle_keys else 1
    for combine in (why_not_combined(low.plan, flat.schema, low.options) is None, False):
        pack = packing.Pack(job, combine, buckets)
        packed = [pack.pack(flat.slice(i, 4)) for i in range(0, flat.num_rows, 4)]
        found = pa.Table.from_batches(packed, packing.PACKS)
        parts = []
        for bucket in range(buckets):
            mine = found.filter(pc.equal(found.column(0), bucket))
            parts += packing.Compose(composing)(mine.to_batches())
        together = pa.Table.from_batches(parts, wider)
        if not pc.any(together.column(packing.AGAIN)).as_py():
            break
    total = tasks.Total(job, schema)(pa.Table.from_batches(parts, wider).select(job.schema.names).to_batches())
    return in_order(plan.bound.group_names, pa.Table.from_batches(total, schema).to_pylist())


def in_order(groups: tuple[str, ...], rows: Rows) -> Rows:
    """Sort rows as the in-process engine does; Spark's are in no order."""
    start, end = ([name] if rows and name in rows[0] else [] for name in ("window_start", "window_end"))
    return sorted(rows, key=lambda row: tuple(row[name] for name in (*start, *groups, *end)))


def on_spark(spark: Any, query: sk.Query, table: pa.Table, parts: int = 3) -> Rows:
    """Run Spark, with one strategy after the other."""
    frame = spark.createDataFrame(table).repartition(parts)
    try:
        rows = query.run(frame, strategy=_strategy([query], table)).toArrow().to_pylist()
    except PySparkException as error:  # rows of one time have no order on Spark
        assume("error[ambiguous-order]" not in str(error))
        raise
    return in_order(query.plan.bound.group_names, rows)


def together_on_spark(spark: Any, texts: dict[str, str], table: pa.Table, **options: Any) -> dict[str, Rows]:
    """Run several queries as one job of Spark, and return the rows of each with all columns of the job."""
    made = sk.workload(texts, **options)
    frame = spark.createDataFrame(table).repartition(3)
    found = made.run(frame, strategy=_strategy(made.queries.values(), table)).toArrow()
    rows = {name: found.filter(pc.equal(found.column("query"), name)).to_pylist() for name in texts}
    return {name: in_order(made.queries[name].plan.bound.group_names, rows[name]) for name in texts}


def _strategy(queries: Iterable[sk.Query], table: pa.Table) -> Any:
    """Return the strategy that some queries are run with: all that they allow take turns."""
    queries = list(queries)
    strategies = [None, "shuffle", "sort"]
    plans = [query.prepared.plan_for(tuple(table.column_names)) for query in queries]
    options = queries[0].prepared.options.for_engine()
    if all(why_not_combined(plan, table.schema, options) is None for plan in plans):
        strategies.append("combine")
    return strategies[sum(len(query.text) for query in queries) % len(strategies)]
