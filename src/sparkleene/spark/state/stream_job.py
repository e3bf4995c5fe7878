"""What Spark's Python workers know of a stream: its runs, and where their rows go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkleene.spark.jobs import Job, with_cores
from sparkleene.spark.state.bucket_ids import hash_ids, scatter, spread_ids
from sparkleene.spark.state.standing import Standing

if TYPE_CHECKING:  # Spark loads a processor on the driver too, which has no use for kernels
    from sparkleene.engine.run import Run
    from sparkleene.ongoing.live import Live

STATES = "spark.sql.streaming.internal.stateStore.partitions"
BATCH = "streaming.sql.batchId"
BUCKETS = "spark.sparkleene.buckets"
"""A setting of the session: the most buckets that the rows of a stream are spread over, if MOST are not enough."""

MOST = 32
FIRST = Standing()
LATE = "sparkleene late"
"""The number of rows that were dropped, in a row of its own that every bucket sends in every batch; with it are:"""
KEPT, OPEN, END, KEYS = "sparkleene kept", "sparkleene open", "sparkleene end", "sparkleene keys"
BEFORE = "sparkleene before"  # the batch that a bucket's state was kept in
METRICS = pa.schema([pa.field(name, pa.int64()) for name in (LATE, KEPT, OPEN, END, KEYS, BEFORE)])


@dataclass(frozen=True)
class StreamRun:
    """A run over a stream: the columns of its rows, the keys that spread them, and what its state is known by."""

    run: Run
    rows: pa.Schema
    keys: tuple[str, ...]
    identity: dict[str, Any]
    most: int = MOST  # buckets
    standing: Standing = FIRST

    def make_live(self) -> Live:
        """Return the run as the engine evaluates it piece by piece."""
        from sparkleene.ongoing.identity import NUMBER
        from sparkleene.ongoing.live import Live

        identity = self.identity | {NUMBER: str(self.buckets)}
        return Live(with_cores(self.run), self.rows, identity, self.standing.tenure)

    @property
    def partitions(self) -> int:
        """The number of partitions of the state, of which a checkpoint always has as many."""
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            return 1
        found = context.getLocalProperty(STATES) or context.getLocalProperty("spark.sql.shuffle.partitions")
        return 1 if found is None else int(found)

    @property
    def buckets(self) -> int:
        """The number of buckets: each is in a partition of its own, and of many partitions some have none."""
        return count_buckets(self.partitions, self.most) if self.keys else 1


def find_batch() -> int | None:
    """Return the number of the batch that a task is of, None where Spark does not tell."""
    from pyspark import TaskContext

    context = TaskContext.get()
    found = None if context is None else context.getLocalProperty(BATCH)
    return int(found) if found is not None and found.isdecimal() else None


def count_buckets(partitions: int, most: int = MOST) -> int:
    """Return how many buckets there are. A checkpoint is bound to it, so no more than this may decide it.

    >>> count_buckets(8), count_buckets(200), count_buckets(200, 64)
    (8, 32, 64)
    """
    return min(partitions, most)


@dataclass(frozen=True)
class StreamJob:
    """The runs of a job, each over the same rows of a stream."""

    job: Job
    runs: tuple[StreamRun, ...]
    update: bool

    @property
    def schema(self) -> pa.Schema:
        """The columns that come out of the processor: each run has those of all."""
        return pa.schema([*self.job.schema, *METRICS])

    def bucket_ids(self) -> list[tuple[int, ...]]:
        """Return for each run the ids of its buckets, each in another partition of the state.

        All runs use the same partitions. Runs without a key have one bucket, each in the next of them. The first
        run that a checkpoint has seen has the bucket 0, so that whatever a checkpoint was written by is seen in the
        first batch that goes on from it. The ids of a run do not depend on which others there are.
        """
        most = count_buckets(self.partitions, self.runs[0].most)
        found = []
        for run in self.runs:
            rank, turn, narrow, *_ = run.standing
            count = 1 if narrow or most == 1 else self.partitions
            first = spread_ids(count).index(0)
            used = scatter(count, min(count, most), first)
            ids = tuple(spread_ids(count, rank)[place] for place in used)
            found.append(ids if run.keys or count == 1 else (ids[(used.index(first) + turn) % most],))
        return found

    @property
    def partitions(self) -> int:
        """The number of partitions of the state."""
        return self.runs[0].partitions

    def partition(self, bucket: int) -> int:
        """Return the partition of a bucket."""
        return int(hash_ids(np.array([bucket], np.uint32))[0] % self.partitions)
