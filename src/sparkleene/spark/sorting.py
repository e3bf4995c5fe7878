"""The task of the strategy "sort": rows come sorted by key and time, and are evaluated as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from sparkleene.spark.tasks import Batches, Job, cores, guarded

ROWS = 1 << 22  # rows that are evaluated together; see `engine.carry` for what they cost


@dataclass(frozen=True)
class Sorted:
    """From rows sorted by the keys they were shuffled by, then by time, to results."""

    job: Job
    rows: int = ROWS

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Evaluate a partition."""
        yield from guarded(self.job.schema, lambda: self.results(batches))

    def results(self, batches: Batches) -> Iterator[pa.Table]:
        """Yield results as soon as their rows have come."""
        from sparkleene.engine.carry import Carry

        job = self.job
        carry = Carry(job.plan, job.options, cores(), job.source, job.filename, self.rows)
        for batch in batches:
            for evaluated in carry.feed(pa.Table.from_batches([batch])):
                yield job.written(evaluated)
        for evaluated in carry.end():
            yield job.written(evaluated)
