"""A query over a streaming DataFrame: rows kept in Spark's state by bucket, windows out as the watermark passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkleene.engine.lower import Lowered
from sparkleene.engine.run import clocked
from sparkleene.language.ast import NOWHERE
from sparkleene.plan.text import term_to_text
from sparkleene.spark import batch, tasks
from sparkleene.spark.carrier import carried
from sparkleene.spark.processor import LATE, PARCELS, RESULTS, Enter, Leave, Processor, Stream
from sparkleene.spark.request import Request, col, partitions, quoted
from sparkleene.spark.results import job_of, raised
from sparkleene.spark.session import PROVIDER, ROCKSDB

METRICS = "sparkleene"
"""The name under which a stream's own metrics are in the progress of its query, before the name of ours."""

MODES = ("append", "update")


def run(request: Request, frame: DataFrame) -> DataFrame:
    """Return the windows of a query over a streaming DataFrame, as a streaming DataFrame."""
    stream, rows, schema = planned(request, frame)
    entered = request.mapped(rows, Enter(stream), PARCELS)
    kept = entered.groupBy("bucket").transformWithStateInPandas(
        carried(Processor(stream)), RESULTS, "update" if stream.update else "append", "EventTime"
    )
    left = raised(request.mapped(kept, Leave(stream), stream.schema))
    late = F.coalesce(F.sum(col(LATE)), F.lit(0)).alias("late_rows")
    windows = left.observe(METRICS if request.name is None else f"{METRICS} {request.name}", late).where(
        col(LATE).isNull()
    )
    columns = [col(name) for name in schema.names]
    if not stream.job.partial:
        return windows.select(columns)
    # All parts of a window come in one batch, so adding them up needs no state.
    outputs = {output.name for output in stream.job.plan.bound.outputs}
    names = [col(name) for name in schema.names if name not in outputs]
    moved = windows.select([col(name) for name in stream.job.schema.names]).repartition(*names)
    return request.mapped(moved, tasks.Total(stream.job, schema), schema)


def planned(request: Request, frame: DataFrame) -> tuple[Stream, DataFrame, pa.Schema]:
    """Lower a query onto the rows of a stream, and decide how they are spread."""
    spark = frame.sparkSession
    mode = request.output_mode or "append"
    schema = batch.checked(request, frame)
    _check_stream(request, frame, mode)
    _check_session(request, spark)
    low, rows = batch.lowered(request, frame)
    flat = batch.flat(rows)
    update = mode == "update"
    _check_bounded(request, low, flat, update)
    together = low.plan.together
    if update:  # a window's value is sent by one bucket, so all of its group is there
        together = tuple(k for k in together if k in low.plan.bound.group)
    job = job_of(request, low, schema, parts=not set(together) <= set(low.plan.bound.group))
    keys = tuple(low.plan.bound.keys[k].path[0] for k in together)
    types = [f"{name} AS {term_to_text(term)}" for name, term in request.plan.bound.types or ()]
    identity = {
        "query": "\n".join([request.canonical, *types]),
        "options": str(request.options),
        "columns": ", ".join(f"{field.name}: {field.type}" for field in flat),
        "output mode": mode,
    }
    return Stream(job, flat, keys, identity, update), rows, schema


def explained(request: Request, frame: DataFrame) -> Iterator[tuple[str, str]]:
    """Tell how a stream is evaluated."""
    stream, _, _ = planned(request, frame)
    live = stream.live()
    some = (
        f"{partitions(frame.sparkSession)} buckets, by {', '.join(stream.keys)}"
        if stream.keys
        else "one bucket: there is no key"
    )
    yield "stream", "each window once, when the watermark has passed its end"
    yield "spread", some
    yield "columns", ", ".join(stream.rows.names)
    if live.folds:
        yield (
            "state",
            "rows the watermark has passed become a matrix per sub-stream and pane, where that is smaller",
        )
    else:
        yield "state", "the rows of open windows"
    yield (
        "groups",
        "the parts of each are added up by tasks" if stream.job.partial else "each is whole in one bucket",
    )


# ---- what a stream cannot be asked


def _check_stream(request: Request, frame: DataFrame, mode: str) -> None:
    """Raise if the DataFrame has no watermark on the time."""
    place, time = request.place, request.options.time
    if mode not in MODES:
        raise place.mistake("bad-option", f"output_mode is '{mode}'", help="choose 'append' or 'update'")
    if request.strategy is not None:
        raise place.mistake("bad-option", "a strategy is for batches", help="leave it out for a stream")
    marked = [
        field.name for field in frame.schema.fields if "spark.watermarkDelayMs" in (field.metadata or {})
    ]
    if time not in marked:
        notes = [f"there is one on '{name}', and the query's time is '{time}'" for name in marked]
        message = f"the stream has no watermark on '{time}', so no window would ever end"
        name = time if time.isidentifier() else quoted(time)
        help = f'add one before the query: df.withWatermark("{name}", "10 minutes")'
        raise place.error("no-watermark", message, help=help, notes=notes)


def _check_session(request: Request, spark: SparkSession) -> None:
    """Raise if the session's state store cannot hold the state."""
    there = str(spark.conf.get(PROVIDER))
    if not there.endswith("RocksDBStateStoreProvider"):
        name = there.rpartition(".")[2]
        message = f"the state of a query needs Spark's RocksDB state store, and the session has {name}"
        help = f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")'
        raise request.place.mistake("wrong-state-store", message, help=help)


def _check_bounded(request: Request, low: Lowered, flat: pa.Schema, update: bool) -> None:
    """Raise if some window would never end, or its trends depend on more than its rows."""
    place, bound = request.place, request.plan.bound
    window = bound.window

    def refuse(why: str, help: str, span: Any = NOWHERE) -> Exception:
        return place.mistake("unsupported-stream", why, span, help)

    if window is None:
        help = "write WITHIN and SLIDE"
        raise refuse("a query without WITHIN has one window, the whole stream, which never ends", help)
    if window.unit == "events":
        why = "a window of events ends with the rows of its sub-stream, and of a silent one it never would"
        raise refuse(why, "write a window of time", window.span)
    if update and window.slide is None:
        why = (
            "a window without SLIDE ends where a trend does, and earlier rows may still take that trend away"
        )
        raise refuse(why, "leave output_mode out, or write a SLIDE", window.span)
    for key in request.plan.bound.keys:
        if key.labels is not None and not key.labels & low.plan.mandatory:
            name = ".".join(key.path)
            why = (
                f"'{name}' is a key of events that a trend may lack; such a trend counts with all its values"
            )
            raise refuse(
                f"{why} in the whole stream", "let the key bind an event that every trend has, or all events"
            )
    time, _, _ = clocked(low.plan, flat.empty_table(), low.options, request.source, request.filename)
    if time.values.dtype != np.int64:
        raise refuse("the windows of a stream begin and end at whole microseconds", "round them", window.span)
