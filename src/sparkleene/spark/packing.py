"""Tables as bytes on their way through a shuffle: packed by bucket of keys, and evaluated where they arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns import ipc
from sparkleene.columns.fields import decode
from sparkleene.columns.keys import buckets
from sparkleene.plan.plan import Plan
from sparkleene.spark.jobs import Job
from sparkleene.spark.tasks import ERROR, Batches, error_batch, send_errors, send_results

Tables = tuple[list[pa.Table], list[pa.Table]]  # of rows, and of stretches

BUCKET = "sparkleene bucket"
AGAIN = "sparkleene again"  # marks the keys of sub-streams that have to be evaluated from their rows
CHUNK = 1 << 21  # rows that are packed together
SMALLER = 12  # times that matrices have to be smaller than rows, for it takes longer to make them than to send rows
MANY = 1 << 17  # rows from which on that is felt
PACKS = pa.schema([(BUCKET, pa.int32()), ("rows", pa.binary()), ("units", pa.binary()), (ERROR, pa.string())])


@dataclass(frozen=True)
class Pack:
    """From rows to packed tables of rows and matrices, one of each for a bucket of keys and a chunk of rows."""

    job: Job
    combine: bool
    buckets: int
    first: int = 0  # the number of the first bucket

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Pack a partition."""
        yield from send_errors(lambda: map(self.pack, chunks(batches)), pack_error, self.job.places)

    def pack(self, table: pa.Table) -> pa.RecordBatch:
        """Pack a chunk of rows."""
        job = self.job
        if self.combine:
            from sparkleene.ongoing.stretches import stretches

            run = job.run
            with run.blame(table):
                units, rows = stretches(run, table, times=SMALLER if table.num_rows >= MANY else 1)
            parts = [(job.select(rows), job.keys), (units, unit_keys(run.plan))]
        else:
            parts = [(job.select(table), job.keys)]
        found: dict[int, list[Any]] = {}
        for place, (part, names) in enumerate(parts):
            for bucket, some in by_bucket(part, names, self.buckets):
                found.setdefault(bucket, [None] * len(parts))[place] = some
        for tables in found.values():  # without rows, but with all columns
            tables[:] = [
                t if t is not None else part.slice(0, 0) for t, (part, _) in zip(tables, parts, strict=True)
            ]
        return to_packs({self.first + n: [to_bytes(table) for table in tables] for n, tables in found.items()})


@dataclass(frozen=True)
class Compose:
    """From packed tables, all those of some buckets, to results.

    Sub-streams whose stretches overlap in time give no results but their keys, marked in the column AGAIN, and
    with them all of their bucket.
    """

    job: Job
    certain: bool = False  # the files' statistics say that nothing overlaps

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Compose a partition."""
        yield from unpack(batches, self.job, self.results)

    def results(self, found: dict[int, Tables]) -> Iterator[pa.Table]:
        """Yield the results of all buckets, together if they can be."""
        if not found:
            return
        if not any(table.num_rows for _, units in found.values() for table in units):
            rows = [table for tables, _ in found.values() for table in tables]
            yield self.job.evaluate(concat(rows))
            return
        together = self.compose(list(found.values()))
        if together is not None:
            yield together
            return
        if self.certain:
            message = (
                "row groups do not fit together: their times overlap, though their statistics deny it, "
                "or MIN or MAX meets integers beyond 2^53"
            )
            help = "pass strategy='shuffle', which relies on neither"
            raise self.job.runs[0].place.error("wrong-statistics", message, help=help)
        for parts in found.values():
            one = self.compose([parts])
            yield one if one is not None else self.mark_keys(*parts)

    def mark_keys(self, rows: list[pa.Table], units: list[pa.Table]) -> pa.Table:
        """Return the keys of all sub-streams of a bucket, marked."""
        plan = self.job.run.plan
        names = {key_name(k): key.path[0] for k, key in enumerate(plan.bound.keys)}
        found = [table.select(unit_keys(plan)).rename_columns(list(names)) for table in units]
        found += [table.select(list(names.values())).rename_columns(list(names)) for table in rows]
        plain = [pa.table({n: decode(c) for n, c in zip(t.column_names, t.columns, strict=True)}) for t in found]
        distinct = pa.concat_tables(plain, promote_options="permissive").group_by(list(names)).aggregate([])
        marks = pa.array(np.ones(distinct.num_rows if names else 1, bool))
        return distinct.append_column(AGAIN, marks) if names else pa.table({AGAIN: marks})

    def compose(self, parts: list[Tables]) -> pa.Table | None:
        """Return the results of some buckets, None where stretches overlap."""
        from sparkleene.ongoing.compose import compose

        run = self.job.run
        rows, units = (concat([table for part in parts for table in part[place]]) for place in (0, 1))
        with run.blame(rows):
            evaluated = compose(run, units, rows)
        return None if evaluated is None else self.job.write_all(evaluated)


@dataclass(frozen=True)
class ComposeEach:
    """From packed tables of several kinds, each with buckets of its own, to results."""

    kinds: tuple[Compose, ...]
    buckets: int  # of each kind

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Compose a partition."""
        yield from unpack(batches, self.kinds[0].job, self.results)

    def results(self, found: dict[int, Tables]) -> Iterator[pa.Table]:
        """Yield the results of all buckets."""
        for number, kind in enumerate(self.kinds):
            yield from kind.results({n: some for n, some in found.items() if n // self.buckets == number})


def unpack(
    batches: Batches, job: Job, work: Callable[[dict[int, Tables]], Iterator[pa.Table]]
) -> Iterator[pa.RecordBatch]:
    """Yield what the work makes of packed tables: by bucket those of rows and those of stretches."""
    found: dict[int, Tables] = {}
    for batch in batches:
        errors = batch.column(3).drop_null()
        if len(errors):
            yield error_batch(job.schema, errors[0].as_py())
            return
        for place in (0, 1):
            for number, blob in zip(batch.column(0).to_pylist(), batch.column(1 + place), strict=True):
                if blob.is_valid:
                    table = ipc.to_table(blob.as_buffer())
                    found.setdefault(number, ([], []))[place].append(table)
    yield from send_results(job.schema, lambda: work(found), job.places)


def chunks(batches: Batches) -> Iterator[pa.Table]:
    """Put batches together to tables of a good size."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= CHUNK:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def unit_keys(plan: Plan) -> list[str]:
    """Return the names of the keys in tables of stretches."""
    return [f"k{k}" for k in range(len(plan.bound.keys))]


def key_name(k: int) -> str:
    """Return the name of a key among the columns of results."""
    return f"sparkleene key {k}"


def by_bucket(table: pa.Table, keys: Sequence[str], count: int) -> Iterator[tuple[int, pa.Table]]:
    """Divide a table into buckets of its keys; rows keep their order, and those with a NULL key are dropped."""
    from sparkleene.engine.substreams import read_only
    from sparkleene.kernels.sort import by_code

    if not table.num_rows:
        return
    if not keys or count == 1:
        yield 0, table
        return
    number = buckets(table, keys, count)
    rows, bounds = by_code(read_only(number), count)
    ordered = table.take(pa.array(rows))
    for bucket in np.flatnonzero(np.diff(bounds)).tolist():
        yield bucket, ordered.slice(bounds[bucket], bounds[bucket + 1] - bounds[bucket])


def to_packs(blobs: dict[int, list[Any]], error: str | None = None) -> pa.RecordBatch:
    """Return packed tables as a batch: by bucket one of rows and perhaps one of units."""
    columns = [
        pa.array(blobs, pa.int32()),
        pa.array([some[0] for some in blobs.values()], pa.binary()),
        pa.array([some[1] if len(some) > 1 else None for some in blobs.values()], pa.binary()),
        pa.array([error] * len(blobs), pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=PACKS)


def pack_error(error: str) -> pa.RecordBatch:
    """Return an error as a batch of packed tables."""
    return to_packs({0: [None]}, error)


def to_bytes(table: pa.Table) -> Any:
    """Return a table in Arrow's stream format."""
    columns = [slim(column) for column in table.combine_chunks().columns]
    return ipc.to_bytes(pa.table(columns, names=table.column_names))


def concat(tables: list[pa.Table]) -> pa.Table:
    """Put tables of the same columns together; a column that is encoded in some only is decoded."""
    coded = [{f.name for f in table.schema if pa.types.is_dictionary(f.type)} for table in tables]
    mixed = set().union(*coded) - set.intersection(*coded)
    plain = [
        pa.table([decode(c) if n in mixed else c for n, c in zip(t.column_names, t.columns, strict=True)],
                 names=t.column_names)
        for t in tables
    ]  # fmt: skip
    return pa.concat_tables(plain, promote_options="permissive")


def slim(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode a column whose dictionary is larger than what is left of its rows."""
    if not pa.types.is_dictionary(column.type):
        return column
    entries = sum(len(chunk.dictionary) for chunk in column.chunks)
    return column if 2 * entries <= len(column) else decode(column)
