"""What runs in Spark's Python workers: functions over Arrow batches that call the engine.

Each is a small object that Spark pickles; the plan it holds is lowered, see lower.py. A mistake in the data
does not fail the worker: it becomes a row with the text of the error, which Spark raises, without a stack trace of
two languages around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from sparkleene.errors import SparkleeneError
from sparkleene.spark.jobs import Job, fit_columns

Batches = Iterable[pa.RecordBatch]

ERROR = "sparkleene error"
OUT = 1 << 16  # rows of a batch of results


@dataclass(frozen=True)
class Evaluate:
    """From rows, all those of some sub-streams, to results."""

    job: Job

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Evaluate a partition."""
        rows = list(batches)
        if rows:
            yield from send_results(self.job.schema, lambda: iter([self.job.evaluate(pa.Table.from_batches(rows))]))


@dataclass(frozen=True)
class Total:
    """From parts of results, all those of some groups and windows, to results."""

    job: Job
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Add up a partition."""
        rows = list(batches)
        if rows:
            yield from to_batches(self.job.add_up(pa.Table.from_batches(rows).drop_columns([ERROR])), self.schema)


def send_results(schema: pa.Schema, work: Callable[[], Iterator[pa.Table]]) -> Iterator[pa.RecordBatch]:
    """Yield the results of the work as batches; if it fails for a mistake in the data, the error as a row."""
    try:
        for table in work():
            yield from to_batches(table, schema)
    except SparkleeneError as error:
        yield error_batch(schema, error.render())


def to_batches(table: pa.Table, schema: pa.Schema) -> list[pa.RecordBatch]:
    """Return a table as batches of a schema."""
    found: list[pa.RecordBatch] = fit_columns(table, schema).to_batches(OUT)
    return found


def error_batch(schema: pa.Schema, error: str) -> pa.RecordBatch:
    """Return a batch of one row that is an error."""
    columns = [pa.array([error]) if field.name == ERROR else pa.nulls(1, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
