"""Data that Spark evaluates queries over: a DataFrame, files by path, or a stream, all asked in the same way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from sparkleene.columns.tables import is_paths
from sparkleene.plan.trend_selection import Selection
from sparkleene.spark import batch, by_path
from sparkleene.spark.having import finish_results, finished_schema
from sparkleene.spark.parquet.footers import discover
from sparkleene.spark.request import Request, col, zone
from sparkleene.spark.results import JobPlan
from sparkleene.spark.session import session, suggest_settings
from sparkleene.spark.strategy import MEANING, Family
from sparkleene.spark.trends import count_request, trends
from sparkleene.spark.workers import check_workers

Line = tuple[str, str]
"""A line of what explain prints: a word, and what it is here."""


class Source(Protocol):
    """Data, and what can be asked of it.

    Requests are the parts of a workload; a query is asked by one request, which is not `named`.
    """

    @property
    def columns(self) -> list[str]:
        """The names of the data's columns."""

    @property
    def zone(self) -> str:
        """The session's time zone."""

    @property
    def spark(self) -> SparkSession:
        """The session."""

    def group(self, requests: Sequence[Request]) -> Sequence[Request]:
        """Return the requests as they are evaluated: some of them may become one."""

    def run(self, requests: Sequence[Request]) -> DataFrame:
        """Return the results of all requests, as a DataFrame that is not evaluated yet."""

    def explain(self, requests: Sequence[Request]) -> Iterator[Line]:
        """Yield how `run` evaluates the requests."""

    def trends(self, request: Request, selection: Selection) -> DataFrame:
        """Return trends of a query, as a DataFrame that is not evaluated yet."""

    def schema(self, requests: Sequence[Request]) -> pa.Schema:
        """Return the columns of the results of all requests."""

    def types(self, request: Request, column: str, names: Collection[str]) -> frozenset[str]:
        """Return which of these event types occur in a column, or may occur where nobody can know."""


def open_source(data: Any) -> Source:
    """Return the source for a DataFrame, or for the path of Parquet files, or several."""
    if is_paths(data):
        return ParquetSource(data)
    return StreamSource(data) if data.isStreaming else FrameSource(data)


class FrameSource:
    """A DataFrame that is no stream."""

    def __init__(self, frame: DataFrame) -> None:
        """Take the DataFrame whose rows are events."""
        self.frame = frame
        self.columns = list(frame.columns)
        self.spark = frame.sparkSession
        self.zone = zone(self.spark)

    def group(self, requests: Sequence[Request]) -> Sequence[Request]:
        """Leave them: what they share is decided when rows are seen."""
        return requests

    def run(self, requests: Sequence[Request]) -> DataFrame:
        """Evaluate each family of requests in a job of its own."""
        check_workers(self.spark)
        schema, jobs = batch.plan_jobs(requests, self.frame)
        results = _unite([job.run(schema) for job in jobs])
        return finish_results(requests, results, lambda one: batch.check_columns(one, self.frame))

    def explain(self, requests: Sequence[Request]) -> Iterator[Line]:
        """Say which requests are in which job, or how the rows of a query reach the tasks."""
        _, jobs = batch.plan_jobs(requests, self.frame)
        for job in jobs:
            if requests[0].named:
                strategy = job.family.choice.strategy
                yield "job", f"{strategy}: {MEANING[strategy]}"
                yield from _explain_family(job.family)
            else:
                finder = "SQL" if job.plan.lows[0].options.masks else "the tasks"
                yield from _explain_query(job.family, job.plan, finder)
        yield from _advise(self.spark)

    def trends(self, request: Request, selection: Selection) -> DataFrame:
        """Find the trends in tasks."""
        check_workers(self.spark)
        return trends(request, self.frame, selection, self.run([count_request(request)]))

    def schema(self, requests: Sequence[Request]) -> pa.Schema:
        """Check the columns of the DataFrame."""
        return finished_schema(requests, lambda one: batch.check_columns(one, self.frame))

    def types(self, request: Request, column: str, names: Collection[str]) -> frozenset[str]:
        """Look for the types in a small job."""
        return _find_types(self.frame, column, names)


class ParquetSource:
    """Parquet files by path."""

    def __init__(self, paths: Any) -> None:
        """List the files and read what is at their ends."""
        self.spark = session()
        self.zone = zone(self.spark)
        self.files = discover(paths, self.zone)
        self.columns: list[str] = self.files.schema.names

    def group(self, requests: Sequence[Request]) -> Sequence[Request]:
        """Leave them: what they share is decided when rows are seen."""
        return requests

    def run(self, requests: Sequence[Request]) -> DataFrame:
        """Evaluate requests that may share in one job, and the others in one each."""
        check_workers(self.spark)
        schema, jobs = by_path.plan_jobs(requests, self.files, self.spark)
        results = _unite([job.run(self.spark, schema) for job in jobs])
        return finish_results(requests, results, lambda one: by_path.check_columns(one, self.files))

    def explain(self, requests: Sequence[Request]) -> Iterator[Line]:
        """Say which requests are in which job, or what is read for a query and how it reaches the tasks."""
        _, jobs = by_path.plan_jobs(requests, self.files, self.spark)
        for job in jobs:
            if requests[0].named:
                yield "job", "tasks read the files themselves"
                for family in job.families:
                    yield from _explain_family(family)
            else:
                footers, selection = self.files.footers, job.selection
                groups = sum(footer.data.num_row_groups for footer in footers)
                kept = sum(len(piece.row_groups) for piece in selection.pieces)
                read = f"{kept} of {groups} row groups of {len(footers)} files, {selection.rows:,} rows"
                yield "reads", read
                yield from _explain_query(job.families[0], job.plans[0], "the tasks")

    def trends(self, request: Request, selection: Selection) -> DataFrame:
        """Let tasks read the files, and others find the trends."""
        check_workers(self.spark)
        rows = by_path.read_rows(request, self.files, self.spark)
        return trends(request, rows, selection, self.run([count_request(request)]))

    def schema(self, requests: Sequence[Request]) -> pa.Schema:
        """Check the columns of the files."""
        return finished_schema(requests, lambda one: by_path.check_columns(one, self.files))

    def types(self, request: Request, column: str, names: Collection[str]) -> frozenset[str]:
        """Look for the types in a job that reads one column."""
        check_workers(self.spark)
        return _find_types(by_path.read_column(request, self.files, self.spark, column), column, names)


class StreamSource(FrameSource):
    """A streaming DataFrame."""

    def group(self, requests: Sequence[Request]) -> Sequence[Request]:
        """Put those together whose windows are made of common panes."""
        from sparkleene.spark import streaming

        return streaming.share_panes(requests)

    def run(self, requests: Sequence[Request]) -> DataFrame:
        """Evaluate all requests with one scan and one state."""
        check_workers(self.spark)
        from sparkleene.spark import streaming

        return streaming.run(requests, self.frame)

    def explain(self, requests: Sequence[Request]) -> Iterator[Line]:
        """Say how rows are spread and what is kept of them."""
        from sparkleene.spark import streaming

        yield from streaming.explain(requests, self.frame)
        yield from _advise(self.spark)

    def trends(self, request: Request, selection: Selection) -> DataFrame:
        """Refuse: the trends of a stream are not listed."""
        help = "ask for those of a batch: write the stream to a table, or read its source with spark.read"
        raise request.place.mistake("unsupported-stream", "the trends of a stream are not listed", help=help)

    def types(self, request: Request, column: str, names: Collection[str]) -> frozenset[str]:
        """Return all: nobody knows which events are still to come."""
        return frozenset(names)


def _advise(spark: SparkSession) -> Iterator[Line]:
    """Say what to set so that rows of the JVM take less time to Python."""
    for setting in suggest_settings(spark):
        yield "set", setting


def _unite(results: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.union(other), results)


def _find_types(rows: DataFrame, column: str, names: Collection[str]) -> frozenset[str]:
    """Return which of these event types occur in a column."""
    kind = col(column).cast(T.StringType())
    found = rows.select(kind.alias("type")).where(kind.isin(*names)).distinct().collect()
    return frozenset(row[0] for row in found)


def _explain_family(family: Family) -> Iterator[Line]:
    """Say which queries are evaluated over one table, and by which keys its rows are spread."""
    common = set.intersection(*(set(request.keys) for request in family.requests))
    yield "queries", ", ".join(name for request in family.requests for name in request.part.names)
    spread = (
        f"once, by {', '.join(sorted(map('.'.join, common)))}"
        if common
        else "not at all: there is no key to spread them by"
    )
    yield "spread", spread


def _explain_query(family: Family, plan: JobPlan, finder: str) -> Iterator[Line]:
    """Say how Spark evaluates a query; `finder` is who finds the labels of rows."""
    [request], [low], job, choice = family.requests, plan.lows, plan.job, family.choice
    yield "strategy", f"{choice.strategy}: {MEANING[choice.strategy]}"
    yield "because", choice.reason
    every = request.options.type is None and request.plan.bound.types is None
    if every and not any(request.plan.bound.local):
        yield "labels", "every row has them"
    else:
        rest = "" if low.plan.every_row else "; rows without any are left out"
        yield "labels", f"found by {finder}{rest}"
    yield "columns", ", ".join(name for name, _ in low.columns)
    yield ("spread", f"by {', '.join(job.keys)}" if job.keys else "not at all: one task sees all that is shuffled")
    if plan.whole:
        yield "groups", "each is whole in one task"
    else:
        by = "tasks, in numbers that Spark does not have" if job.partial else "Spark"
        yield "groups", f"the parts of each are added up by {by}"
