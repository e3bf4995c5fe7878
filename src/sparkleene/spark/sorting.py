"""The task of the strategy "sort": rows come sorted by key and time, and are evaluated as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from sparkleene.spark.jobs import Job, with_cores
from sparkleene.spark.tasks import Batches, send_results

ROWS = 1 << 22  # rows that are evaluated together; see `ongoing.sorted_rows` for what they cost


@dataclass(frozen=True)
class EvaluateSorted:
    """From rows sorted by the keys they were shuffled by, then by time, to results."""

    job: Job
    rows: int = ROWS

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Evaluate a partition."""
        yield from send_results(self.job.schema, lambda: self.results(batches), self.job.places)

    def results(self, batches: Batches) -> Iterator[pa.Table]:
        """Yield results as soon as their rows have come."""
        from sparkleene.ongoing.sorted_rows import SortedRows

        job, chunk = self.job, max(1, self.rows // len(self.job.runs))
        carries = [(replace(job, runs=(run,)), SortedRows(with_cores(run), chunk)) for run in job.runs]
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for one, carry in carries:
                with carry.run.blame(table):
                    for evaluated in carry.feed(one.select(table)):
                        yield job.write_all(evaluated)
        for _, carry in carries:
            for evaluated in carry.end():
                yield job.write_all(evaluated)
