"""What runs in Spark's Python workers: functions over Arrow batches that call the engine.

Each is a small object that Spark pickles; the plan it holds is lowered, see lower.py. A mistake in the data
does not fail the worker: it becomes a row with the text of the error, which Spark raises, without a stack trace of
two languages around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pyarrow as pa

from sparkleene.errors import Place, SparkleeneError, report_faults
from sparkleene.spark.jobs import Job, fit_columns

Batches = Iterable[pa.RecordBatch]
T = TypeVar("T")

ERROR = "sparkleene error"
OUT = 1 << 16  # rows of a batch of results


@dataclass(frozen=True)
class Evaluate:
    """From rows, all those of some sub-streams, to results."""

    job: Job

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Evaluate a partition."""
        if (table := gather(batches)) is not None:
            yield from send_results(self.job.schema, lambda: iter([self.job.evaluate(table)]), self.job.places)


@dataclass(frozen=True)
class Total:
    """From parts of results, all those of some groups and windows, to results."""

    job: Job
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Add up a partition."""
        if (table := gather(batches)) is not None:
            with report_faults(*self.job.places):
                total = self.job.add_up(table.drop_columns([ERROR]))
            yield from to_batches(total, self.schema)


def gather(batches: Batches) -> pa.Table | None:
    """Return all rows of a partition as one table, None where it has no batch."""
    rows = list(batches)
    return pa.Table.from_batches(rows) if rows else None


def send_results(
    schema: pa.Schema, work: Callable[[], Iterator[pa.Table]], places: Iterable[Place] = ()
) -> Iterator[pa.RecordBatch]:
    """Yield the results of the work as batches; if it fails for a mistake in the data, the error as a row."""

    def batches() -> Iterator[pa.RecordBatch]:
        return (batch for table in work() for batch in to_batches(table, schema))

    return send_errors(batches, partial(error_batch, schema), places)


def send_errors(
    work: Callable[[], Iterator[T]], send: Callable[[str], T], places: Iterable[Place] = ()
) -> Iterator[T]:
    """Yield what the work does; if it fails for a mistake in the data or in this package, what sends the error."""
    try:
        with report_faults(*places):
            yield from work()
    except SparkleeneError as error:
        yield send(error.render())


def to_batches(table: pa.Table, schema: pa.Schema) -> list[pa.RecordBatch]:
    """Return a table as batches of a schema."""
    found: list[pa.RecordBatch] = fit_columns(table, schema).to_batches(OUT)
    return found


def error_batch(schema: pa.Schema, error: str) -> pa.RecordBatch:
    """Return a batch of one row that is an error."""
    columns = [pa.array([error]) if field.name == ERROR else pa.nulls(1, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
