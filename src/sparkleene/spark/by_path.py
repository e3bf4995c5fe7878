"""A query over Parquet files by path: tasks read row groups with Arrow themselves, and the JVM sees no rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.fields import kind
from sparkleene.columns.options import Options
from sparkleene.columns.schema import result_schema
from sparkleene.engine.run import Run
from sparkleene.errors import DataError, SparkleeneError
from sparkleene.plan.part import Part
from sparkleene.spark import tasks
from sparkleene.spark.jobs import task_cores
from sparkleene.spark.lower import Lowered, lower_table
from sparkleene.spark.parquet.footers import Files
from sparkleene.spark.parquet.pieces import Piece, Source, choose, read
from sparkleene.spark.request import Request, col, lower_together, partitions
from sparkleene.spark.results import finished, make_jobs, raised, schema_of
from sparkleene.spark.strategy import Choice, choose_strategy, families, in_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run(request: Request, files: Files, spark: SparkSession) -> DataFrame:
    """Return the result of a query over files, as a DataFrame that is not evaluated yet."""
    return evaluated([request], files, spark, checked(request, files))


def evaluated(requests: Sequence[Request], files: Files, spark: SparkSession, schema: pa.Schema) -> DataFrame:
    """Return the results of plans that read files once: each family of them packs rows for itself."""
    source = chosen(requests, files, spark)
    groups = families(requests, [_choice(request, source).strategy for request in requests])
    lows = [lower_together(family, lambda term: True, [True] * len(family)) for _, family in groups]
    jobs, whole = make_jobs([(family, some) for (_, family), some in zip(groups, lows, strict=True)], schema)
    count = partitions(spark)
    packings = []
    for number, ((strategy, family), some, job) in enumerate(zip(groups, lows, jobs, strict=True)):
        pack = tasks.Pack(job, strategy == "combine", count if job.keys else 1, number * count)
        parts = tuple((request.part, low) for request, low in zip(family, some, strict=True))
        packings.append(Packing(pack, parts))
    pieces = _shared(source.pieces, 4 * count)
    task = ReadAndPack(tuple(packings), requests[0].options, source.schema, pieces)
    number = max(1, len(pieces))
    packed = requests[0].mapped(spark.range(number, numPartitions=number), task, tasks.PACKS)
    spread = len(jobs) > 1 or jobs[0].keys
    moved = packed.repartition(col(tasks.BUCKET)) if spread else packed.repartition(1)
    compose = tasks.ComposeEach(tuple(tasks.Compose(job, certain=True) for job in jobs), count)
    composed = raised(requests[0].mapped(moved, compose, jobs[0].schema))
    together = replace(jobs[0], runs=tuple(run for job in jobs for run in job.runs))
    return finished(requests[0], together, composed, schema, whole)


def planned(request: Request, files: Files, spark: SparkSession) -> tuple[Lowered, Source, Choice]:
    """Lower the query, find the row groups that it needs, and choose a strategy."""
    source = chosen([request], files, spark)
    (low,) = lower_together([request], lambda term: True, [True])
    return low, source, _choice(request, source)


def chosen(requests: Sequence[Request], files: Files, spark: SparkSession) -> Source:
    """Return the row groups that some query needs."""
    options, plans = requests[0].options, [request.plan for request in requests]
    text = [key.path[0] for plan in plans for key in plan.bound.keys if len(key.path) == 1]
    text += [] if options.type is None else [options.type]
    return choose(
        files,
        sorted({name for request in requests for name in request.needed}),
        options.time,
        bounds=[plan.bound for plan in plans],
        type_column=options.type,
        dictionary=[name for name in dict.fromkeys(text) if kind(files.schema.field(name).type) == "text"],
        parallelism=partitions(spark),
    )


def _choice(request: Request, source: Source) -> Choice:
    """Choose a strategy."""
    if request.strategy == "sort":
        message = "files read by path are not sorted by Spark"
        help = 'read them as a DataFrame: q.run(spark.read.parquet("..."), strategy="sort")'
        raise request.place.mistake("bad-option", message, help=help)
    given = (request.plan, source.schema, request.options, request.strategy, request.place)
    return choose_strategy(*given, in_order(source.spans))


def checked(request: Request, files: Files) -> pa.Schema:
    """Return the result's schema, or raise an error that shows a value of the column that does not fit."""
    return schema_of([request], lambda one: fits(one, files))


def fits(request: Request, files: Files) -> pa.Schema:
    """Return the columns of a query's result, or raise."""
    request.look_up(files.schema.names)
    empty = pa.schema([files.schema.field(name) for name in request.needed]).empty_table()
    rest = (request.options, request.place)
    try:
        return result_schema(request.plan, empty, *rest)
    except DataError:
        source = choose(files, request.needed, request.options.time)
        for piece in source.pieces[:1]:
            result_schema(request.plan, read(piece, source.schema).slice(0, 100), *rest)
        raise


def _shared(pieces: tuple[Piece, ...], most: int) -> tuple[tuple[Piece, ...], ...]:
    """Share pieces out to at most so many tasks, neighbours together, about equally many bytes to each."""
    if len(pieces) <= most:
        return tuple((piece,) for piece in pieces)
    ends = np.cumsum([piece.bytes + 1 for piece in pieces])
    task = ((ends - 1) * most // ends[-1]).tolist()
    shares: dict[int, list[Piece]] = {}
    for number, piece in zip(task, pieces, strict=True):
        shares.setdefault(number, []).append(piece)
    return tuple(map(tuple, shares.values()))


@dataclass(frozen=True)
class Packing:
    """How plans that read one table get it, and what is packed of it."""

    pack: tasks.Pack
    parts: tuple[tuple[Part, Lowered], ...]

    def packed(self, table: pa.Table, options: Options) -> pa.RecordBatch:
        """Make the columns of the lowered plans from a table, and pack them."""
        columns: dict[str, Any] = {}
        for part, low in self.parts:
            wanted = low if not columns else replace(low, columns=())
            with Run(part, options).blame(table):
                found = lower_table(part, wanted, table, options, task_cores())
            columns |= zip(found.column_names, found.columns, strict=True)
        return self.pack.packed(pa.table(columns))


@dataclass(frozen=True)
class ReadAndPack:
    """From the numbers of tasks to packed tables of what they read."""

    packings: tuple[Packing, ...]
    options: Options
    schema: pa.Schema
    pieces: tuple[tuple[Piece, ...], ...]

    def __call__(self, batches: tasks.Batches) -> Iterator[pa.RecordBatch]:
        """Read and pack the pieces of each task."""
        try:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    for piece in self.pieces[number] if self.pieces else ():
                        table = read(piece, self.schema)
                        for packing in self.packings:
                            yield packing.packed(table, self.options)
        except SparkleeneError as error:
            yield tasks.packs({0: [None]}, error.render())
