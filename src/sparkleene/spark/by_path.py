"""A query over Parquet files by path: tasks read row groups with Arrow themselves, and the JVM sees no rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.derived_columns import add_derived
from sparkleene.columns.fields import kind
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.schema import result_schema
from sparkleene.engine.run import Run
from sparkleene.errors import DataError
from sparkleene.language.bound import Bound
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan
from sparkleene.spark.jobs import task_cores
from sparkleene.spark.lower import Lowered, lower_table
from sparkleene.spark.packing import BUCKET, PACKS, Compose, ComposeEach, Pack, pack_error
from sparkleene.spark.parquet.footers import Files
from sparkleene.spark.parquet.pieces import Piece, RowGroups, read, select_pieces
from sparkleene.spark.request import Request, col, find_paths, lower_together, map_batches, partitions
from sparkleene.spark.results import JobPlan, combine_parts, make_jobs, raise_errors, schema_of
from sparkleene.spark.strategy import Choice, Family, choose_strategy, find_families, in_order
from sparkleene.spark.tasks import ERROR, Batches, send_errors, send_results

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class FileJob:
    """Families of requests in one job that reads files once: each family packs rows for itself."""

    families: Sequence[Family]
    plans: Sequence[JobPlan]  # of each family
    selection: RowGroups  # the row groups that some request needs

    def run(self, spark: SparkSession, schema: pa.Schema) -> DataFrame:
        """Return the results in a schema."""
        jobs = [plan.job for plan in self.plans]
        count = partitions(spark)
        packers = []
        for number, (family, plan) in enumerate(zip(self.families, self.plans, strict=True)):
            combine = family.choice.strategy == "combine"
            pack = Pack(plan.job, combine, count if plan.job.keys else 1, number * count)
            parts = tuple((request.part, low) for request, low in zip(family.requests, plan.lows, strict=True))
            packers.append(Packer(pack, parts))
        pieces = _divide_pieces(self.selection.pieces, 4 * count)
        options = self.families[0].requests[0].options
        task = ReadAndPack(tuple(packers), options, self.selection.schema, pieces)
        number = max(1, len(pieces))
        packed = map_batches(spark.range(number, numPartitions=number), task, PACKS)
        spread = len(jobs) > 1 or jobs[0].keys
        moved = packed.repartition(col(BUCKET)) if spread else packed.repartition(1)
        compose = ComposeEach(tuple(Compose(job, certain=True) for job in jobs), count)
        composed = raise_errors(map_batches(moved, compose, jobs[0].schema))
        together = replace(jobs[0], runs=tuple(run for job in jobs for run in job.runs))
        return combine_parts(together, composed, schema, self.plans[0].whole)


def plan_jobs(requests: Sequence[Request], files: Files, spark: SparkSession) -> tuple[pa.Schema, list[FileJob]]:
    """Return the columns of the results, and the jobs that make them: one for all requests that may share."""
    schema = schema_of(requests, lambda one: check_columns(one, files))
    groups = [requests] if requests[0].shares else [[one] for one in requests]
    return schema, [_plan_job(group, files, spark, schema) for group in groups]


def _plan_job(requests: Sequence[Request], files: Files, spark: SparkSession, schema: pa.Schema) -> FileJob:
    selection = _select(requests, files, spark)
    families = find_families(requests, [_choose(request, selection) for request in requests])
    given = []
    for _, family in families:
        given.append((family, lower_together(family, lambda term: True, [True] * len(family))))
    return FileJob(families, make_jobs(given, schema), selection)


def _select(requests: Sequence[Request], files: Files, spark: SparkSession) -> RowGroups:
    """Return the row groups that some query needs."""
    options, plans = requests[0].options, [request.plan for request in requests]
    paths = [path for plan in plans for path in find_paths(plan, range(len(plan.bound.keys)))]
    text = [path[0] for path in paths if len(path) == 1]
    text += [] if options.type is None else [options.type]
    return select_pieces(
        files,
        sorted({name for request in requests for name in request.needed}),
        options.time,
        bounds=[_without_derived_keys(plan) for plan in plans],
        type_column=options.type,
        dictionary=[name for name in dict.fromkeys(text) if kind(files.schema.field(name).type) == "text"],
        parallelism=partitions(spark),
    )


def _without_derived_keys(plan: Plan) -> Bound:
    """Return a query without the keys that it computes, of which files do not tell, and those a row can lack."""
    paths = find_paths(plan, range(len(plan.bound.keys)))
    needed = [key for k, key in enumerate(plan.bound.keys) if key.labels is not None or k in plan.needed_keys]
    return replace(plan.bound, keys=tuple(key for key in needed if key.path in paths), group=())


def _choose(request: Request, selection: RowGroups) -> Choice:
    """Choose a strategy."""
    if request.strategy == "sort":
        message = "files read by path are not sorted by Spark"
        help = 'read them as a DataFrame: q.run(spark.read.parquet("..."), strategy="sort")'
        raise request.place.mistake("bad-option", message, help=help)
    wider = add_derived(selection.schema.empty_table(), request.plan.bound.derived, request.place)
    given = (request.plan, wider.schema, request.options, request.strategy, request.place)
    return choose_strategy(*given, in_order(selection.spans))


def check_columns(request: Request, files: Files) -> pa.Schema:
    """Return the columns of a query's result, or raise an error that shows a value that does not fit."""
    request.check_needed(files.schema.names)
    empty = pa.schema([files.schema.field(name) for name in request.needed]).empty_table()
    rest = (request.options, request.place)
    try:
        return result_schema(request.plan, empty, *rest)
    except DataError:
        selection = select_pieces(files, request.needed, request.options.time)
        for piece in selection.pieces[:1]:
            result_schema(request.plan, read(piece, selection.schema).slice(0, 100), *rest)
        raise


def read_rows(request: Request, files: Files, spark: SparkSession) -> DataFrame:
    """Return the rows that a query may need, read by tasks, in Spark's types."""
    request.check_needed(files.schema.names)
    return _read(request, _select([request], files, spark), spark)


def read_column(request: Request, files: Files, spark: SparkSession, name: str) -> DataFrame:
    """Return one column of all rows, read by tasks, in Spark's types."""
    replace(request, needed=(name,)).check_needed(files.schema.names)
    return _read(request, select_pieces(files, [name], request.options.time, parallelism=partitions(spark)), spark)


def _read(request: Request, selection: RowGroups, spark: SparkSession) -> DataFrame:
    """Return the rows of a selection."""
    schema = request.to_spark(selection.schema).append(pa.field(ERROR, pa.string()))
    pieces = _divide_pieces(selection.pieces, 4 * partitions(spark))
    number = max(1, len(pieces))
    task = ReadRows(schema, selection.schema, pieces)
    return raise_errors(map_batches(spark.range(number, numPartitions=number), task, schema)).drop(ERROR)


def _divide_pieces(pieces: tuple[Piece, ...], most: int) -> tuple[tuple[Piece, ...], ...]:
    """Divide pieces among at most `most` tasks, neighbours together, with about as many bytes for each."""
    if len(pieces) <= most:
        return tuple((piece,) for piece in pieces)
    ends = np.cumsum([piece.bytes + 1 for piece in pieces])
    task = ((ends - 1) * most // ends[-1]).tolist()
    shares: dict[int, list[Piece]] = {}
    for number, piece in zip(task, pieces, strict=True):
        shares.setdefault(number, []).append(piece)
    return tuple(map(tuple, shares.values()))


@dataclass(frozen=True)
class Packer:
    """How plans that read one table get it, and what is packed of it."""

    task: Pack
    parts: tuple[tuple[Part, Lowered], ...]

    def pack(self, table: pa.Table, options: EngineOptions) -> pa.RecordBatch:
        """Make the columns of the lowered plans from a table, and pack them."""
        columns: dict[str, Any] = {}
        for part, low in self.parts:
            wanted = low if not columns else replace(low, columns=())
            with Run(part, options).blame(table):
                found = lower_table(part, wanted, table, options, task_cores())
            columns |= zip(found.column_names, found.columns, strict=True)
        return self.task.pack(pa.table(columns))


@dataclass(frozen=True)
class ReadRows:
    """From the numbers of tasks to the rows that they read."""

    schema: pa.Schema  # in which rows are sent
    read: pa.Schema  # in which they are read
    pieces: tuple[tuple[Piece, ...], ...]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Read the pieces of each task."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                mine = self.pieces[number] if self.pieces else ()
                yield from send_results(self.schema, lambda: (read(piece, self.read) for piece in mine))  # noqa: B023


@dataclass(frozen=True)
class ReadAndPack:
    """From the numbers of tasks to packed tables of what they read."""

    packers: tuple[Packer, ...]
    options: EngineOptions
    schema: pa.Schema
    pieces: tuple[tuple[Piece, ...], ...]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Read and pack the pieces of each task."""
        places = [place for packer in self.packers for place in packer.task.job.places]
        yield from send_errors(lambda: self.pack_all(batches), pack_error, places)

    def pack_all(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield what the packers make of each piece."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for piece in self.pieces[number] if self.pieces else ():
                    table = read(piece, self.schema)
                    for packer in self.packers:
                        yield packer.pack(table, self.options)
