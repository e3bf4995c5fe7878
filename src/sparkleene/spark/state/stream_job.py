"""What Spark's Python workers know of a stream: its runs, and where their rows go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkleene.spark.jobs import Job, with_cores
from sparkleene.spark.state.bucket_ids import hash_ids, spread_ids

if TYPE_CHECKING:  # Spark loads a processor on the driver too, which has no use for kernels
    from sparkleene.engine.run import Run
    from sparkleene.ongoing.live import Live

STATES = "spark.sql.streaming.internal.stateStore.partitions"
LATE = "sparkleene late"  # the number of rows that were dropped, in a row of its own


@dataclass(frozen=True)
class StreamRun:
    """A run over a stream: the columns of its rows, the keys that spread them, and what its state is known by."""

    run: Run
    rows: pa.Schema
    keys: tuple[str, ...]
    identity: dict[str, Any]

    def make_live(self) -> Live:
        """Return the run as the engine evaluates it piece by piece."""
        from sparkleene.ongoing.live import Live

        identity = self.identity | {"number of buckets": str(self.buckets)}
        return Live(with_cores(self.run), self.rows, identity)

    @property
    def buckets(self) -> int:
        """The number of buckets: one for each partition of the state, of which a checkpoint always has as many."""
        from pyspark import TaskContext

        context = TaskContext.get()
        found = None
        if context is not None:
            found = context.getLocalProperty(STATES) or context.getLocalProperty("spark.sql.shuffle.partitions")
        return 1 if not self.keys or found is None else int(found)


@dataclass(frozen=True)
class StreamJob:
    """The runs of a job, each over the same rows of a stream."""

    job: Job
    runs: tuple[StreamRun, ...]
    update: bool

    @property
    def schema(self) -> pa.Schema:
        """The columns that come out of the processor: each run has those of all."""
        return pa.schema([*self.job.schema, pa.field(LATE, pa.int64())])

    def bucket_ids(self) -> list[tuple[int, ...]]:
        """Return for each run the ids of its buckets, one in each partition of the state.

        Runs without a key have one bucket, each in the next partition. The first run always has the bucket 0, so
        that whatever a checkpoint was written by is seen in the first batch that goes on from it.
        """
        most = max(run.buckets for run in self.runs)
        place = spread_ids(most).index(0)
        found = []
        for number, run in enumerate(self.runs):
            ids = spread_ids(most, number)
            if run.buckets < most:
                ids = (ids[place],)
                place = (place + 1) % most
            found.append(ids)
        return found

    def partition(self, bucket: int) -> int:
        """Return the partition of a bucket."""
        most = max(run.buckets for run in self.runs)
        return int(hash_ids(np.array([bucket], np.uint32))[0] % most)
