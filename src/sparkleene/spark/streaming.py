"""A query over a streaming DataFrame: rows kept in Spark's state by bucket, windows out as the watermark passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from sparkleene.engine.run import Run
from sparkleene.engine.windows import WINDOW
from sparkleene.errors import NOWHERE, warn
from sparkleene.language.bound import Drawn, Term
from sparkleene.language.printer import quote
from sparkleene.ongoing.identity import PARTS_VERSION, SHARING, WORKLOAD, make_identity
from sparkleene.ongoing.seal import damage_error
from sparkleene.plan.part import Part
from sparkleene.plan.text import count, term_to_text
from sparkleene.spark import batch
from sparkleene.spark.having import check_finish, finish_results
from sparkleene.spark.lower import Lowered, Lowering, lower
from sparkleene.spark.request import Request, col, join_requests, map_batches, partitions
from sparkleene.spark.results import combine_parts, make_job, raise_errors, schema_of, task_columns
from sparkleene.spark.session import PROVIDER, ROCKSDB, cores_here
from sparkleene.spark.sql.types import empty_table, schema_to_spark
from sparkleene.spark.state.carrier import make_carrier
from sparkleene.spark.state.parcels import PARCELS, Enter
from sparkleene.spark.state.processor import Processor
from sparkleene.spark.state.standing import number_parts, spread_keys
from sparkleene.spark.state.stream_job import (
    BEFORE,
    BUCKETS,
    END,
    KEPT,
    KEYS,
    LATE,
    MOST,
    OPEN,
    StreamJob,
    StreamRun,
    count_buckets,
)
from sparkleene.spark.status import METRIC_NAMES, METRICS
from sparkleene.workload.joints import divide_stream
from sparkleene.workload.run import QUERY

MODES = ("append", "update")
DELAY = "spark.watermarkDelayMs"  # in the metadata of a column with a watermark
STAGE = "sparkleene.stage"  # in that of window_end: how many queries of ours the stream has come through
BEHIND = "sparkleene.behind"  # there too: the watermark may have passed it before a row comes
MANY = 16  # partitions to a core, beyond which a stream warns
WARNED: set[str] = set()  # applications that have been warned


def run(requests: Sequence[Request], frame: DataFrame) -> DataFrame:
    """Return the windows of a query, or of the parts of a workload, with one scan and one state for all.

    A row that comes after the watermark is counted once in `late_rows`, however many queries would have had it. A
    state belongs to all queries of the workload: a query that began in the middle of a stream would not have the
    rows before, and so there is an error if a stream goes on from its checkpoint with other queries, unless the
    requests know what was before, see generations.py.
    """
    stream, rows, schema = plan_stream(requests, frame)
    request = requests[0]
    mode = request.output_mode or "append"
    entered = map_batches(rows, Enter(stream), PARCELS)
    kept = entered.groupBy("bucket").transformWithStateInPandas(
        make_carrier(Processor(stream)), schema_to_spark(stream.schema), mode, "EventTime"
    )
    tasks = count_tasks(frame.sparkSession)
    together = kept if tasks is None else kept.coalesce(tasks)
    _warn_of_partitions(frame.sparkSession)
    left = raise_errors(together)
    stage = find_stage(frame) + 1
    words = [] if request.name is None or request.named else [request.name]
    named = " ".join([METRICS, *words, *(["after", str(stage - 1)] if stage > 1 else [])])
    there = left.observe(named, *_metrics(requests, frame)).where(col(LATE).isNull())
    results = there.select([col(name) for name in stream.job.schema.names])
    # All parts of a window come in one batch, so adding them up needs no state.
    number = tasks or count_buckets(partitions(frame.sparkSession), stream.runs[0].most)
    whole = combine_parts(stream.job, results, schema, not stream.job.partial, number)
    finished = finish_results(requests, whole, lambda one: batch.check_columns(one, frame))
    renamed = _rename_queries(requests, finished)
    return renamed if mode == "update" else _mark_time(requests, renamed, stage)


def share_panes(requests: Sequence[Request]) -> Sequence[Request]:
    """Return the requests of a workload with those in one whose windows are made of common panes."""
    first = requests[0]
    if not (first.named and first.shares) or first.standing is not None:
        return requests
    known = {request.part.names: request for request in requests}
    alone = {one.part.names[0]: one for request in requests for one in request.queries}
    always = first.options.forced_bursts is not None
    parts = divide_stream([request.part for request in requests], first.options, always)
    return [
        known.get(part.names)
        or replace(join_requests(part, [alone[name] for name in part.names], True), counts=first.counts)
        for part in parts
    ]


def find_stage(frame: DataFrame) -> int:
    """Return how many queries of ours a stream has come through, one after the other."""
    return max((int((field.metadata or {}).get(STAGE, 0)) for field in frame.schema.fields), default=0)


def _mark_time(requests: Sequence[Request], results: DataFrame, stage: int) -> DataFrame:
    """Return results whose window_end is known to Spark as a time with a watermark, so that queries can follow.

    A window is sent in the batch whose watermark is the first to reach its end, so no row of it is late. A window
    with FROM is not: it ends with its last row, and the watermark passes that before anyone knows. A second
    `withWatermark` would not do: Spark waits for the slower of two watermarks, and the second waits for the first.
    """
    windows = [one.plan.bound.window for request in requests for one in request.queries]
    late = any(isinstance(window, Drawn) and window.gap is None for window in windows)
    end = WINDOW[1]
    marked = col(end).alias(end, metadata={STAGE: stage} | ({BEHIND: True} if late else {DELAY: 0}))
    return results.select([marked if name == end else col(name) for name in results.columns])


def _rename_queries(requests: Sequence[Request], results: DataFrame) -> DataFrame:
    """Return results with the names of queries that the user gave, where a name has two meanings for a while."""
    column = col(QUERY)
    for request in requests:
        given = request.part.names if request.standing is None else request.standing.names
        for name, own in zip(request.part.names, given, strict=True):
            if name != own:
                column = F.when(col(QUERY) == F.lit(name), F.lit(own)).otherwise(column)
    return (
        results
        if not requests[0].named
        else results.select([column.alias(name) if name == QUERY else col(name) for name in results.columns])
    )


def _metrics(requests: Sequence[Request], frame: DataFrame) -> list[Column]:
    """Return the columns that a stream is observed by, with the names in METRIC_NAMES."""
    delay = find_delay(requests[0].queries[0], frame)
    late, zero = F.sum(col(LATE)), F.lit(0).cast(LongType())
    found = (F.coalesce(late, zero), F.sum(col(KEPT)), F.max(col(OPEN)), F.min(col(END)), F.sum(col(KEYS)))
    every = (*found, F.max(F.lit(delay).cast(LongType())), _batch_distance())
    return [column.alias(name) for column, name in zip(every, METRIC_NAMES, strict=True)]


def find_delay(request: Request, frame: DataFrame) -> int:
    """Return how far the watermark of a stream is behind, in milliseconds, or raise if there is none."""
    batch.check_columns(request, frame)
    _check_stream(request, frame)
    return int((frame.schema[request.options.time].metadata or {})[DELAY])


def _batch_distance() -> Column:
    """Return how many batches lie between the states of buckets, which is 0; an error if it is not.

    All buckets have a turn in the same batches: a task that packs rows has a parcel for each of them, and their
    timers are for the same watermark. So state that is older than that of other buckets is not what was last kept.
    No task sees the state of two partitions, so it is known when the batch has ended.
    """
    apart = F.max(col(BEFORE)) - F.min(col(BEFORE))
    error = str(damage_error("that of one partition is of an earlier batch than that of another"))
    # In two pieces, for Spark prints its plan with every failure, and this is not to be found there.
    text = F.concat(F.lit(error[:5]), F.lit(error[5:]))
    return F.when(apart > 0, F.raise_error(text).cast(LongType())).otherwise(apart)


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
    most = _read_buckets(requests[0], frame.sparkSession)
    return make_stream_job(requests, lows, batch.task_schema(rows), schema, most), rows, schema


def make_stream_job(
    requests: Sequence[Request], lows: Sequence[Lowered], rows: pa.Schema, schema: pa.Schema, most: int = MOST
) -> StreamJob:
    """Return what workers need to know of parts over a stream, with the columns of its rows and of the results."""
    mode = requests[0].output_mode or "append"
    spread = [spread_keys(low.plan, mode == "update") for low in lows]
    first = number_parts([bool(keys) for keys in spread])
    standings = [request.standing or one for request, one in zip(requests, first, strict=True)]
    whole = all(set(keys) <= set(low.plan.bound.group) for low, keys in zip(lows, spread, strict=True))
    job = make_job(requests, lows, task_columns(lows, schema, not whole), not whole)
    runs = []
    for request, low, run, keys, standing in zip(requests, lows, job.runs, spread, standings, strict=True):
        columns = pa.schema([rows.field(name) for name in _columns_of(request, low)])
        identity = make_identity(
            request.options,
            **_name_queries(requests, request),
            **{"columns": ", ".join(f"{field.name}: {field.type}" for field in columns), "output mode": mode},
        )
        if standing.tenure is not None:
            identity["version"] = PARTS_VERSION
        names = tuple(low.plan.bound.keys[k].path[0] for k in keys)
        runs.append(StreamRun(run, columns, names, identity, most, standing))
    return StreamJob(job, tuple(runs), mode == "update")


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
        return {"query": request.text}
    if request.standing is not None:
        names = request.standing.names
        sums = {name: query.checksum for name, query in zip(names, request.queries, strict=True)}
        return {WORKLOAD: sums, SHARING: ", ".join(names)}
    queries = [query for each in requests for query in each.queries]
    sums = {query.part.names[0]: query.checksum for query in queries}
    return {WORKLOAD: sums, SHARING: "; ".join(", ".join(each.part.names) for each in requests)}


def _explain_run(whole: StreamJob, stream: StreamRun, states: int) -> Iterator[tuple[str, str]]:
    """Yield how one run of a stream is evaluated."""
    if not stream.keys:
        yield "spread", "one bucket: there is no key to spread rows by"
    else:
        buckets = count_buckets(states, stream.most)
        among = f" in {states} partitions" if buckets < states else ""
        yield "spread", f"{count(buckets, 'bucket')}{among}, by {', '.join(stream.keys)}"
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


def count_tasks(spark: SparkSession) -> int | None:
    """Return how many tasks the partitions of the state are done by, None for one each.

    A task has a cost of its own, so on one machine there is one for each core. On a cluster, where cores come and
    go, every partition has its own.
    """
    cores = cores_here(spark)
    return None if cores is None or cores >= partitions(spark) else cores


def _warn_of_partitions(spark: SparkSession) -> None:
    """Warn once of a session that has many more partitions than its machine has cores."""
    cores, there = cores_here(spark), partitions(spark)
    if cores is None or there <= MANY * cores or spark.sparkContext.applicationId in WARNED:
        return
    WARNED.add(spark.sparkContext.applicationId)
    warn(
        f"the state of a stream has {there} partitions, and this machine {count(cores, 'core')}: Spark opens and "
        "commits each of them in every batch, which takes longer than the rows do; before the first start, for a "
        f'checkpoint keeps their number, spark.conf.set("spark.sql.shuffle.partitions", "{2 * cores}")'
    )


# ---- what a stream cannot be asked


def _read_buckets(request: Request, spark: SparkSession) -> int:
    """Return the most buckets of the session's setting."""
    text = str(spark.conf.get(BUCKETS, str(MOST)))
    if not text.isdecimal() or not int(text):
        message = f"{BUCKETS} is '{text}'"
        raise request.place.mistake("bad-option", message, help="set it to a positive whole number")
    return int(text)


def _check_stream(request: Request, frame: DataFrame) -> None:
    """Raise if the DataFrame has no watermark on the time."""
    place, time, mode = request.place, request.options.time, request.output_mode
    if mode not in (None, *MODES):
        raise place.mistake("bad-option", f"output_mode is '{mode}'", help="choose 'append' or 'update'")
    if request.strategy is not None:
        raise place.mistake("bad-option", "a strategy is for batches", help="leave it out for a stream")
    marked = [field.name for field in frame.schema.fields if DELAY in (field.metadata or {})]
    if time not in marked:
        notes = [f"there is one on '{name}', and the query's time is '{time}'" for name in marked]
        message = f"the stream has no watermark on '{time}', so no window would ever end"
        name = time if time.isidentifier() else quote(time)
        help = f'add one before the query: df.withWatermark("{name}", "10 minutes")'
        raise place.error("no-watermark", message, help=help, notes=notes)
    metadata = frame.schema[time].metadata or {}
    if STAGE in metadata and (metadata[DELAY] or BEHIND in metadata):
        message = f"'{time}' of a query's results has a second watermark, so no window would ever end"
        note = "Spark waits for the slowest watermark, and the second one moves with rows that wait for the first"
        help = f'leave withWatermark("{time}", ...) out: the results of a query have a watermark'
        if BEHIND in metadata:
            help = "write these results to a table, and read that as a stream: windows with FROM may come late"
        raise place.error("second-watermark", message, help=help, notes=[note])


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
    if isinstance(window, Drawn) and window.gap is None and window.most is None:
        why = "a window with FROM may wait for its end for ever"
        raise refuse(why, "write MAX, such as MAX 2 hours", window.span)
    if isinstance(window, Drawn) and request.output_mode == "update":
        why = "the next row may move the end of a session or window, and what was sent would stay with the reader"
        raise refuse(why, "leave output_mode out", window.span)
    if request.output_mode == "update" and bound.per_trigger:
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
