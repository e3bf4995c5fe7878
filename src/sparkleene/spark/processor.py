"""What runs in Spark's Python workers for a stream: rows are packed by bucket, kept in state, and windows come out.

Rows cross to Python once, as Arrow, and are packed into one sealed table for each bucket before the shuffle; so the
processor of a bucket is given a few rows of bytes, and keeps them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkleene.engine.seal import damaged, sealed, to_bytes, to_table
from sparkleene.errors import SparkleeneError
from sparkleene.spark.tasks import (
    Batches,
    Job,
    by_bucket,
    chunks,
    cores,
    failed,
    labelled,
    sent,
)

if TYPE_CHECKING:  # Spark loads a processor on the driver too, which has no use for kernels
    from sparkleene.engine.live import Bucket, Live
    from sparkleene.engine.run import Evaluated

STATES = "spark.sql.streaming.internal.stateStore.partitions"
LATE = "sparkleene late"  # the number of rows that were dropped, in a row of its own
PARCELS = pa.schema(  # with plain names, for the state store takes no others
    [
        ("bucket", pa.int32()),
        ("rows", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("kept", pa.binary()),
        ("error", pa.string()),
    ]
)
RESULTS = "kept binary"


@dataclass(frozen=True)
class Stream:
    """A job over a stream: the columns of its rows, where they go, and what its state is known by."""

    job: Job
    rows: pa.Schema
    keys: tuple[str, ...]
    identity: dict[str, str]
    update: bool

    @property
    def schema(self) -> pa.Schema:
        """The columns that come out of the processor."""
        return pa.schema([*self.job.schema, pa.field(LATE, pa.int64())])

    def live(self) -> Live:
        """Return what the engine makes of it."""
        from sparkleene.engine.live import Live

        job = self.job
        identity = self.identity | {"number of buckets": str(self.buckets)}
        return Live(job.plan, job.options, self.rows, identity, cores(), job.source, job.filename)

    @property
    def buckets(self) -> int:
        """The number of buckets: one for each partition of the state, of which a checkpoint always has as many."""
        from pyspark import TaskContext

        context = TaskContext.get()
        found = None
        if context is not None:
            found = context.getLocalProperty(STATES) or context.getLocalProperty(
                "spark.sql.shuffle.partitions"
            )
        return 1 if not self.keys or found is None else int(found)

    def written(self, evaluated: Evaluated, zeros: bool) -> pa.Table:
        """Write evaluated windows as results, or as parts of them."""
        return self.job.written(evaluated, zeros and self.update)


@dataclass(frozen=True)
class Enter:
    """From rows to parcels: a sealed table of rows for each bucket.

    Every bucket gets a parcel, if an empty one, so that all of them know the watermark from the first batch on.
    """

    stream: Stream

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Pack a partition."""
        found = False
        homes = homes_of(self.stream.buckets)
        try:
            for chunk in chunks(batches):
                found = True
                yield self.packed(self.stream.live(), chunk, homes)
        except SparkleeneError as error:
            yield parcels([(homes[0], 0, 0, 0, None, error.render())])
        if not found:
            yield parcels([(home, 0, 0, 0, None, None) for home in homes])

    def packed(self, live: Live, table: pa.Table, homes: tuple[int, ...]) -> pa.RecordBatch:
        """Pack a chunk of rows."""
        found = {home: (home, 0, 0, 0, None, None) for home in homes}
        live.times(table)  # rows without a label need a time too
        rows = labelled(live.plan, live.options, table)
        for bucket, part in by_bucket(rows, self.stream.keys, len(homes)):
            times = live.times(part)
            kept: Any = sealed(to_bytes(part.cast(self.stream.rows)))  # times are the same in every zone
            home = homes[bucket]
            found[home] = (home, part.num_rows, int(times.min()), int(times.max()), kept, None)
        return parcels(list(found.values()))


@cache
def homes_of(count: int) -> tuple[int, ...]:
    """Return a number for each of so many buckets, which Spark's hash brings to a partition of its own.

    >>> homes_of(1), homes_of(4)
    ((0,), (12, 6, 2, 0))
    """
    found: dict[int, int] = {}
    begin = 0
    while len(found) < count:
        numbers = np.arange(begin, begin + 64 * count, dtype=np.uint32)
        places, first = np.unique(hashed(numbers) % count, return_index=True)
        for place, number in zip(places.tolist(), numbers[first].tolist(), strict=True):
            found.setdefault(place, number)
        begin += 64 * count
    return tuple(found[place] for place in range(count))


def hashed(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return Spark's hash of integers: Murmur3 of their four bytes, with the seed 42."""

    def turned(value: np.ndarray[Any, Any], by: int) -> np.ndarray[Any, Any]:
        return (value << np.uint32(by)) | (value >> np.uint32(32 - by))

    mix = turned(numbers * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mix = turned(mix ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mix = mix ^ np.uint32(4)
    mix = (mix ^ (mix >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mix = (mix ^ (mix >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return np.asarray((mix ^ (mix >> np.uint32(16))).view(np.int32).astype(np.int64))


def parcels(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return parcels as a batch."""
    columns = [
        pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), PARCELS, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=PARCELS)


@dataclass(frozen=True)
class Leave:
    """From what processors send, tables as bytes, to their rows."""

    stream: Stream

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Unpack a partition."""
        for batch in batches:
            for kept in batch.column(0):
                yield from to_table(memoryview(kept.as_buffer())).to_batches()


class Processor:
    """Keeps the rows of a bucket in Spark's state store and sends windows when the watermark has passed them."""

    def __init__(self, stream: Stream) -> None:
        """Take the job."""
        self.stream = stream
        self.home: int | None = None

    @cached_property
    def live(self) -> Live:
        """The query, as the engine sees it."""
        return self.stream.live()

    def bucket(self, home: int) -> Bucket:
        """Return the bucket whose turn it is, as it was kept; a partition has one."""
        from sparkleene.engine.live import Bucket

        if self.home not in (None, home):
            raise damaged(f"bucket {home} is in the partition of bucket {self.home}")
        self.home = home
        return Bucket.load(self.live, self.kept)

    def open(self, handle: Any, head: Any, segments: Any) -> None:
        """Take the state's variables."""
        self.handle, self.kept = handle, Kept(head, segments)

    def taken(self, home: int, frames: Iterator[Any]) -> Iterator[Any]:
        """Keep rows; in update mode send the windows that they changed."""
        try:
            yield from self._taken(home, frames)
        except SparkleeneError as error:
            yield _sent([failed(self.stream.schema, error.render())])

    def _taken(self, home: int, frames: Iterator[Any]) -> Iterator[Any]:
        new = self.kept.head() is None
        bucket = self.bucket(home)
        late, there = 0, bucket.next
        for frame in frames:
            for count, first, last, kept, error in zip(
                *(frame[field.name] for field in list(PARCELS)[1:]), strict=True
            ):
                if error is not None:
                    yield _sent([failed(self.stream.schema, error)])
                    return
                if count:
                    late += bucket.add(kept, int(count), int(first), int(last))
        added = [segment for segment in bucket.segments if segment.number >= there]
        if self.stream.update and added:
            fresh = pa.concat_tables(
                [bucket.read(segment) for segment in added], promote_options="permissive"
            )
            for evaluated in bucket.early(fresh):
                yield from self._shaped(self.stream.written(evaluated, not self.live.monotone))
        if added or new:
            bucket.tidy()
            bucket.save()
        if new:
            self.handle.registerTimer(1)
        if late:
            yield from self._shaped(pa.table({LATE: pa.array([late])}))

    def passed(self, home: int, watermark: int) -> Iterator[Any]:
        """Let the watermark, in milliseconds, pass; the next timer is for its next step."""
        try:
            bucket = self.bucket(home)
            for evaluated in bucket.advance(self.live.clock(watermark)):
                if not self.stream.update:
                    yield from self._shaped(self.stream.written(evaluated, False))
            bucket.save()
        except SparkleeneError as error:
            yield _sent([failed(self.stream.schema, error.render())])
        self.handle.registerTimer(watermark + 1)

    def _shaped(self, table: pa.Table) -> Iterator[Any]:
        if table.num_rows:
            yield _sent(sent(table, self.stream.schema))


def _sent(batches: list[pa.RecordBatch]) -> Any:
    """Return a table as the one row that Spark is sent."""
    import pandas as pd

    return pd.DataFrame({"kept": [bytes(to_bytes(pa.Table.from_batches(batches)))]})


class Kept:
    """A bucket's bytes in Spark's state store: a value for its head, and a map of its segments."""

    def __init__(self, head: Any, segments: Any) -> None:
        """Take the two variables."""
        self._head, self._blobs = head, segments

    def head(self) -> bytes | None:
        """Return the head, None for a new bucket."""
        found = self._head.get()
        return None if found is None else bytes(found[0])

    def set_head(self, kept: bytes) -> None:
        """Keep the head."""
        self._head.update((kept,))

    def blob(self, number: int) -> bytes | None:
        """Return the blob of a segment."""
        found = self._blobs.getValue((number,))
        return None if found is None else bytes(found[0])

    def set_blob(self, number: int, kept: bytes) -> None:
        """Keep the blob of a segment."""
        self._blobs.updateValue((number,), (bytes(kept),))

    def remove(self, number: int) -> None:
        """Let the blob of a segment go."""
        self._blobs.removeKey((number,))
