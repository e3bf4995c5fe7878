"""A query over a streaming DataFrame: rows kept in Spark's state by bucket, windows out as the watermark passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkleene.engine.run import Run
from sparkleene.errors import NOWHERE
from sparkleene.language.bound import Term
from sparkleene.language.printer import quote
from sparkleene.ongoing.identity import WORKLOAD, make_identity
from sparkleene.plan.part import Part
from sparkleene.plan.text import count, term_to_text
from sparkleene.spark import batch
from sparkleene.spark.finish import check_finish, finish_results
from sparkleene.spark.lower import Lowered, Lowering, lower
from sparkleene.spark.request import Request, col, map_batches, partitions
from sparkleene.spark.results import combine_parts, make_job, raise_errors, schema_of, task_columns
from sparkleene.spark.session import PROVIDER, ROCKSDB
from sparkleene.spark.sql.types import empty_table
from sparkleene.spark.state.carrier import make_carrier
from sparkleene.spark.state.parcels import PARCELS, Enter, Leave
from sparkleene.spark.state.processor import RESULTS, Processor
from sparkleene.spark.state.stream_job import LATE, StreamJob, StreamRun

METRICS = "sparkleene"
"""The name under which a stream's own metrics are in the progress of its query, before the name of ours."""

MODES = ("append", "update")


def run(requests: Sequence[Request], frame: DataFrame) -> DataFrame:
    """Return the windows of a query, or of the parts of a workload, with one scan and one state for all.

    A row that comes after the watermark is counted once in `late_rows`, however many queries would have had it. A
    state belongs to all queries of the workload: a query that began in the middle of a stream would not have the
    rows before, and so there is an error if a stream goes on from its checkpoint with other queries.
    """
    stream, rows, schema = plan_stream(requests, frame)
    request = requests[0]
    mode = request.output_mode or "append"
    entered = map_batches(rows, Enter(stream), PARCELS)
    kept = entered.groupBy("bucket").transformWithStateInPandas(
        make_carrier(Processor(stream)), RESULTS, mode, "EventTime"
    )
    left = raise_errors(map_batches(kept, Leave(), stream.schema))
    late = F.coalesce(F.sum(col(LATE)), F.lit(0)).alias("late_rows")
    named = METRICS if request.name is None or request.named else f"{METRICS} {request.name}"
    there = left.observe(named, late).where(col(LATE).isNull())
    results = there.select([col(name) for name in stream.job.schema.names])
    # All parts of a window come in one batch, so adding them up needs no state.
    whole = combine_parts(stream.job, results, schema, not stream.job.partial)
    return finish_results(requests, whole, lambda one: batch.check_columns(one, frame))


def explain(requests: Sequence[Request], frame: DataFrame) -> Iterator[tuple[str, str]]:
    """Yield how `run` evaluates the requests."""
    stream, rows, _ = plan_stream(requests, frame)
    yield "stream", "each window once, when the watermark has passed its end"
    if requests[0].named:
        yield "reads", f"{count(len(rows.columns), 'column')}, once for {count(len(requests), 'part')}"
    for request, each in zip(requests, stream.runs, strict=True):
        if request.named:
            yield "part", ", ".join(request.part.names)
        yield from _explain_run(stream, each, partitions(frame.sparkSession))


def plan_stream(requests: Sequence[Request], frame: DataFrame) -> tuple[StreamJob, DataFrame, pa.Schema]:
    """Lower parts onto the rows of a stream, and decide how they are spread."""

    def check(query: Request) -> pa.Schema:
        columns = batch.check_columns(query, frame)
        _check_stream(query, frame)
        check_finish(query)
        notes = [f"the query is '{query.part.names[0]}'"] if query.named else []
        _check_bounded(query, frame, notes)
        return columns

    schema = schema_of(requests, check)
    _check_session(requests[0], frame.sparkSession)
    lows, rows = batch.lower_frame(requests, frame)
    return make_stream_job(requests, lows, batch.task_schema(rows), schema), rows, schema


def make_stream_job(
    requests: Sequence[Request], lows: Sequence[Lowered], rows: pa.Schema, schema: pa.Schema
) -> StreamJob:
    """Return what workers need to know of parts over a stream, with the columns of its rows and of the results."""
    mode = requests[0].output_mode or "append"
    spread = [_spread_keys(low, mode == "update") for low in lows]
    whole = all(set(keys) <= set(low.plan.bound.group) for low, keys in zip(lows, spread, strict=True))
    job = make_job(requests, lows, task_columns(lows, schema, not whole), not whole)
    runs = []
    for request, low, run, keys in zip(requests, lows, job.runs, spread, strict=True):
        columns = pa.schema([rows.field(name) for name in _columns_of(request, low)])
        identity = make_identity(
            request.options,
            **_name_queries(requests, request),
            **{"columns": ", ".join(f"{field.name}: {field.type}" for field in columns), "output mode": mode},
        )
        names = tuple(low.plan.bound.keys[k].path[0] for k in keys)
        runs.append(StreamRun(run, columns, names, identity))
    return StreamJob(job, tuple(runs), mode == "update")


def _spread_keys(low: Lowered, update: bool) -> tuple[int, ...]:
    """Return the numbers of the keys by which rows are spread."""
    # In update mode a window's value is sent by one bucket, so all of its group is there.
    return tuple(k for k in low.plan.shuffle_keys if not update or k in low.plan.bound.group)


def _columns_of(request: Request, low: Lowered) -> list[str]:
    """Return the names of the columns that a request reads, of those of all requests."""
    # by text as well, for 1 and 1.0 are equal, but not the same
    names = {(term_to_text(term), term): name for name, term in low.columns}

    def ready(term: Term) -> bool:
        return (term_to_text(term), term) in names

    whole = Part.single("", request.plan, request.place)
    found = lower(whole, request.options, Lowering(ready, bool(low.options.masks), {}))
    return [*(names[term_to_text(term), term] for _, term in found.columns), *low.options.masks]


def _name_queries(requests: Sequence[Request], request: Request) -> dict[str, Any]:
    """Return the entries of an identity that say which queries a state is of: a text, or names and checksums."""
    if not request.named:
        return {"query": _text(request)}
    queries = [query for each in requests for query in each.queries]
    sums = {query.part.names[0]: sha256(_text(query).encode()).hexdigest()[:16] for query in queries}
    sharing = "; ".join(", ".join(each.part.names) for each in requests)
    return {WORKLOAD: sums, "sharing": sharing}


def _text(request: Request) -> str:
    """Return a query's text, however it was written, with the types that are defined beside it."""
    types = [f"{name} AS {term_to_text(term)}" for name, term in request.plan.bound.types or ()]
    return "\n".join([request.canonical, *types])


def _explain_run(whole: StreamJob, stream: StreamRun, buckets: int) -> Iterator[tuple[str, str]]:
    """Yield how one run of a stream is evaluated."""
    yield (
        "spread",
        f"{buckets} buckets, by {', '.join(stream.keys)}"
        if stream.keys
        else "one bucket: there is no key to spread rows by",
    )
    yield "columns", ", ".join(stream.rows.names)
    if stream.make_live().folds:
        yield (
            "state",
            "rows the watermark has passed become a matrix per sub-stream and pane, where that is smaller",
        )
    else:
        yield "state", "the rows of open windows"
    yield (
        "groups",
        "the parts of each are added up by tasks" if whole.job.partial else "each is whole in one bucket",
    )


# ---- what a stream cannot be asked


def _check_stream(request: Request, frame: DataFrame) -> None:
    """Raise if the DataFrame has no watermark on the time."""
    place, time, mode = request.place, request.options.time, request.output_mode
    if mode not in (None, *MODES):
        raise place.mistake("bad-option", f"output_mode is '{mode}'", help="choose 'append' or 'update'")
    if request.strategy is not None:
        raise place.mistake("bad-option", "a strategy is for batches", help="leave it out for a stream")
    marked = [field.name for field in frame.schema.fields if "spark.watermarkDelayMs" in (field.metadata or {})]
    if time not in marked:
        notes = [f"there is one on '{name}', and the query's time is '{time}'" for name in marked]
        message = f"the stream has no watermark on '{time}', so no window would ever end"
        name = time if time.isidentifier() else quote(time)
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


def _check_bounded(request: Request, frame: DataFrame, notes: Sequence[str]) -> None:
    """Raise if some window would never end, or its trends depend on more than its rows."""
    place, bound = request.place, request.plan.bound
    window = bound.window

    def refuse(why: str, help: str, span: Any = NOWHERE) -> Exception:
        return place.mistake("unsupported-stream", why, span, help, notes)

    if window is None:
        help = "write WITHIN and SLIDE"
        raise refuse("a query without WITHIN has one window, the whole stream, which never ends", help)
    if window.unit == "events":
        why = "a window of events ends with the rows of its sub-stream, and of a silent one it never would"
        raise refuse(why, "write a window of time", window.span)
    if request.output_mode == "update" and window.slide is None:
        why = "a window without SLIDE ends where a trend does, and earlier rows may still take that trend away"
        raise refuse(why, "leave output_mode out, or write a SLIDE", window.span)
    for key in bound.keys:
        if key.labels is not None and not key.labels & request.plan.mandatory:
            name = ".".join(key.path)
            why = f"'{name}' is a key of events that a trend may lack; such a trend counts with all its values"
            raise refuse(
                f"{why} in the whole stream", "let the key bind an event that every trend has, or all events"
            )
    rows = empty_table(frame.schema, request.needed)
    time = Run(request.part, request.options).clock(rows).time
    if time.values.dtype != np.int64:
        raise refuse("the windows of a stream begin and end at whole microseconds", "round them", window.span)
