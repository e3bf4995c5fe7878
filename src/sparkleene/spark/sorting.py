"""The task of the strategy "sort": rows come sorted by key and time, and are evaluated as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from sparkleene.spark.tasks import Batches, Work, cores, guarded

ROWS = 1 << 22  # rows that are evaluated together; see `ongoing.carry` for what they cost


@dataclass(frozen=True)
class Sorted:
    """From rows sorted by the keys they were shuffled by, then by time, to results."""

    job: Work
    rows: int = ROWS

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Evaluate a partition."""
        yield from guarded(self.job.schema, lambda: self.results(batches))

    def results(self, batches: Batches) -> Iterator[pa.Table]:
        """Yield results as soon as their rows have come."""
        from sparkleene.ongoing.carry import Carry

        carries = [
            (
                job,
                Carry(
                    job.plan,
                    job.options,
                    cores(),
                    job.place,
                    max(1, self.rows // len(self.job.each)),
                ),
            )
            for job in self.job.each
        ]
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for job, carry in carries:
                with job.blamed(table):
                    for evaluated in carry.feed(job.own(table)):
                        yield job.written(evaluated)
        for job, carry in carries:
            for evaluated in carry.end():
                yield job.written(evaluated)
