"""A query over Parquet files by path: tasks read row groups with Arrow themselves, and the JVM sees no rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sparkleene.engine.fields import kind
from sparkleene.engine.lower import Lowered, lower, lowered
from sparkleene.engine.options import Options
from sparkleene.engine.schema import check
from sparkleene.errors import DataError, SparkleeneError
from sparkleene.plan.plan import Plan
from sparkleene.spark import tasks
from sparkleene.spark.parquet import Files, Piece, Source, choose, read
from sparkleene.spark.request import Request, col, partitions
from sparkleene.spark.results import finished, job_of, raised
from sparkleene.spark.strategy import Choice, choose_strategy, in_order
from sparkleene.spark.types import returned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def run(request: Request, files: Files, spark: SparkSession) -> DataFrame:
    """Return the result of a query over files, as a DataFrame that is not evaluated yet."""
    schema = checked(request, files)
    low, source, choice = planned(request, files, spark)
    job = job_of(request, low, schema)
    keys = low.plan.together
    pack = tasks.Pack(job, choice.strategy == "combine", partitions(spark) if keys else 1)
    pieces = _shared(source.pieces, 4 * partitions(spark))
    task = ReadAndPack(pack, request.plan, request.options, low, source.schema, pieces)
    number = max(1, len(pieces))
    packed = request.mapped(spark.range(number, numPartitions=number), task, tasks.PACKS)
    moved = packed.repartition(col(tasks.BUCKET)) if keys else packed.repartition(1)
    composed = raised(request.mapped(moved, tasks.Compose(job, certain=True), job.schema))
    return finished(request, low, job, composed, schema)


def planned(request: Request, files: Files, spark: SparkSession) -> tuple[Lowered, Source, Choice]:
    """Lower the query, find the row groups that it needs, and choose a strategy."""
    plan, options = request.plan, request.options
    if request.strategy == "sort":
        message = "files read by path are not sorted by Spark"
        help = 'read them as a DataFrame: q.run(spark.read.parquet("..."), strategy="sort")'
        raise request.place.mistake("bad-option", message, help=help)
    low = lower(plan, options, lambda term: True, True)
    text = [key.path[0] for key in plan.bound.keys if len(key.path) == 1]
    text += [] if options.type is None else [options.type]
    source = choose(
        files,
        request.needed,
        options.time,
        bound=plan.bound,
        type_column=options.type,
        dictionary=[name for name in dict.fromkeys(text) if kind(files.schema.field(name).type) == "text"],
        parallelism=partitions(spark),
    )
    given = (plan, low, source.schema.empty_table(), options, 1, request.source, request.filename)
    flat = lowered(*given).schema
    ordered = in_order(source.spans)
    return low, source, choose_strategy(low.plan, flat, low.options, request.strategy, request.place, ordered)


def checked(request: Request, files: Files) -> pa.Schema:
    """Return the result's schema, or raise an error that shows a value of the column that does not fit."""
    request.look_up(files.schema.names)
    empty = pa.schema([files.schema.field(name) for name in request.needed]).empty_table()
    rest = (request.options, request.source, request.filename)
    try:
        found = check(request.plan, empty, *rest)
    except DataError:
        source = choose(files, request.needed, request.options.time)
        for piece in source.pieces[:1]:
            check(request.plan, read(piece, source.schema).slice(0, 100), *rest)
        raise
    request.refuse([*request.needed, *found.names])
    types = [(field.name, returned(field.name, field.type, request.place)) for field in found]
    return pa.schema(types)


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
class ReadAndPack:
    """From the numbers of tasks to packed tables of what they read."""

    pack: tasks.Pack
    plan: Plan
    options: Options
    low: Lowered
    schema: pa.Schema
    pieces: tuple[tuple[Piece, ...], ...]

    def __call__(self, batches: tasks.Batches) -> Iterator[pa.RecordBatch]:
        """Read and pack the pieces of each task."""
        job = self.pack.job
        try:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    for piece in self.pieces[number] if self.pieces else ():
                        yield self.pack.packed(self.made(read(piece, self.schema), job.source, job.filename))
        except SparkleeneError as error:
            yield tasks.packs({0: [None]}, error.render())

    def made(self, table: pa.Table, source: str, filename: str) -> pa.Table:
        """Return the columns of the lowered plan."""
        cores = tasks.cores()
        return lowered(self.plan, self.low, table, self.options, cores, source, filename)
