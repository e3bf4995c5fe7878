"""What runs in Spark's Python workers for a stream: rows are packed by bucket, kept in state, and windows come out.

Rows cross to Python once, as Arrow, and are packed into one sealed table for each bucket before the shuffle; so the
processor of a bucket is given a few rows of bytes, and keeps them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.fields import as_numpy
from sparkleene.columns.ipc import to_bytes, to_table
from sparkleene.errors import SparkleeneError
from sparkleene.ongoing.seal import damage_error, seal
from sparkleene.spark.jobs import Job, with_cores
from sparkleene.spark.tasks import Batches, by_bucket, chunks, failed, sent

if TYPE_CHECKING:  # Spark loads a processor on the driver too, which has no use for kernels
    from sparkleene.engine.run import Run
    from sparkleene.ongoing.live import Bucket, Live

STATES = "spark.sql.streaming.internal.stateStore.partitions"
LATE = "sparkleene late"  # the number of rows that were dropped, in a row of its own
PARCELS = pa.schema(  # with plain names, for the state store takes no others
    [
        ("bucket", pa.int32()),
        ("rows", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("kept", pa.binary()),
        (
            "counted",
            pa.binary(),
        ),  # the bits of rows that are counted here if they are late; none where all are
        ("error", pa.string()),
    ]
)
COUNTED = "sparkleene counted"
EMPTY = (0, 0, 0, None, None, None)
RESULTS = "kept binary"


@dataclass(frozen=True)
class Stream:
    """A run over a stream: the columns of its rows, where they go, and what its state is known by."""

    run: Run
    rows: pa.Schema
    keys: tuple[str, ...]
    identity: dict[str, Any]

    def live(self) -> Live:
        """Return what the engine makes of it."""
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
            found = context.getLocalProperty(STATES) or context.getLocalProperty(
                "spark.sql.shuffle.partitions"
            )
        return 1 if not self.keys or found is None else int(found)


@dataclass(frozen=True)
class Streams:
    """The runs of a job, each over the same rows of a stream."""

    job: Job
    streams: tuple[Stream, ...]
    update: bool

    @property
    def schema(self) -> pa.Schema:
        """The columns that come out of the processor: each run has those of all."""
        return pa.schema([*self.job.schema, pa.field(LATE, pa.int64())])


def homes(streams: Sequence[Stream]) -> list[tuple[int, ...]]:
    """Return for each of some streams the numbers of its buckets, one in each partition of the state.

    Streams without a key have one bucket, each in the next partition. The first stream always has the bucket 0, so
    that whatever a checkpoint was written by is seen in the first batch that goes on from it.
    """
    most = max(stream.buckets for stream in streams)
    place = homes_of(most).index(0)
    found = []
    for part, stream in enumerate(streams):
        numbers = homes_of(most, part)
        if stream.buckets < most:
            numbers = (numbers[place],)
            place = (place + 1) % most
        found.append(numbers)
    return found


@dataclass(frozen=True)
class Enter:
    """From rows to parcels: a sealed table of rows for each bucket.

    Every bucket gets a parcel, if an empty one, so that all of them know the watermark from the first batch on.
    """

    stream: Streams

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Pack a partition."""
        found = False
        numbers = homes(self.stream.streams)
        try:
            lives = [stream.live() for stream in self.stream.streams]
            for chunk in chunks(batches):
                found = True
                yield self.packed(lives, chunk, numbers)
        except SparkleeneError as error:
            yield parcels({0: (0, 0, 0, None, None, error.render())})
        if not found:
            yield parcels({home: EMPTY for some in numbers for home in some})

    def packed(self, lives: list[Live], table: pa.Table, numbers: list[tuple[int, ...]]) -> pa.RecordBatch:
        """Pack a chunk of rows; a row that several streams need is counted by the first of them if it is late."""
        found: dict[int, tuple[Any, ...]] = {home: EMPTY for some in numbers for home in some}
        lives[0].times(table)  # rows without a label need a time too
        rest = np.ones(table.num_rows, bool)
        for stream, live, some in zip(self.stream.streams, lives, numbers, strict=True):
            rows = table.select(stream.rows.names)
            needed = wanted(live, rows)
            rows = rows.append_column(COUNTED, pa.array(rest))
            rest &= ~needed
            for bucket, part in by_bucket(
                rows if needed.all() else rows.filter(pa.array(needed)), stream.keys, len(some)
            ):
                counted = part.column(COUNTED).to_numpy()
                bits = None if counted.all() else np.packbits(counted).tobytes()
                part = part.drop_columns([COUNTED])
                times = live.times(part)
                kept: Any = seal(to_bytes(part.cast(stream.rows)))  # times are the same in every zone
                found[some[bucket]] = part.num_rows, int(times.min()), int(times.max()), kept, bits, None
        return parcels(found)


def wanted(live: Live, rows: pa.Table) -> np.ndarray[Any, Any]:
    """Tell which rows have a part in a query."""
    plan, masks = live.plan, live.run.options.masks
    needed = np.ones(rows.num_rows, bool)
    if masks and not plan.every_row:
        needed &= np.asarray(as_numpy(rows.column(masks[-1]))) != 0
    for k in plan.universal:
        key = rows.column(plan.bound.keys[k].path[0])
        if key.null_count:
            needed &= key.is_valid().to_numpy()
    return needed


@cache
def homes_of(count: int, rank: int = 0) -> tuple[int, ...]:
    """Return a number for each of so many buckets, which Spark's hash brings to a partition of its own.

    With another rank they are others.

    >>> homes_of(1), homes_of(4), homes_of(4, 1)
    ((0,), (12, 6, 2, 0), (13, 9, 4, 1))
    """
    there = np.zeros(count, np.int64)
    size = 64 * count
    while there.min() <= rank:
        places = hashed(np.arange(size, dtype=np.uint32)) % count
        there = np.bincount(places, minlength=count)
        size *= 2
    order = np.argsort(places, kind="stable")
    return tuple(order[np.cumsum(there) - there + rank].tolist())


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


def parcels(found: dict[int, tuple[Any, ...]]) -> pa.RecordBatch:
    """Return the parcels of buckets as a batch."""
    columns = [list(found), *zip(*found.values(), strict=True)]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PARCELS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PARCELS)


@dataclass(frozen=True)
class Leave:
    """From what processors send, tables as bytes, to their rows."""

    stream: Streams

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Unpack a partition."""
        for batch in batches:
            for kept in batch.column(0):
                yield from to_table(memoryview(kept.as_buffer())).to_batches()


class Processor:
    """Keeps the rows of buckets in Spark's state store and sends windows when the watermark has passed them."""

    def __init__(self, stream: Streams) -> None:
        """Take the jobs."""
        self.stream = stream
        self.home: int | None = None

    @cached_property
    def lives(self) -> list[Live]:
        """The queries, as the engine sees them."""
        return [stream.live() for stream in self.stream.streams]

    @cached_property
    def parts(self) -> dict[int, int]:
        """The stream that each bucket is of."""
        return {home: part for part, some in enumerate(homes(self.stream.streams)) for home in some}

    def bucket(self, home: int) -> Bucket:
        """Return the bucket whose turn it is, as it was kept; a partition has one of a stream."""
        from sparkleene.ongoing.live import Bucket

        part = self.parts.get(home, 0)
        bucket = Bucket.load(self.lives[part], self.kept)
        first, self.home = self.home, home
        if home not in self.parts or (first is not None and self.place(home) != self.place(first)):
            raise damage_error(f"bucket {home} is in the partition of bucket {first}")
        return bucket

    def place(self, home: int) -> int:
        """Return the partition of a bucket."""
        most = max(stream.buckets for stream in self.stream.streams)
        return int(hashed(np.array([home], np.uint32))[0] % most)

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
            for count, first, last, kept, bits, error in zip(
                *(frame[field.name] for field in list(PARCELS)[1:]), strict=True
            ):
                if error is not None:
                    yield _sent([failed(self.stream.schema, error)])
                    return
                if count:
                    late += bucket.add(kept, int(count), int(first), int(last), _counted(bits, int(count)))
        added = [segment for segment in bucket.segments if segment.number >= there]
        if self.stream.update and added:
            fresh = pa.concat_tables(
                [bucket.read(segment) for segment in added], promote_options="permissive"
            )
            for evaluated in bucket.evaluate_early(fresh):
                yield from self._shaped(self.stream.job.write_all(evaluated, zeros=True))
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
            for evaluated in bucket.advance(bucket.live.clock(watermark)):
                if not self.stream.update:
                    yield from self._shaped(self.stream.job.write_all(evaluated))
            bucket.save()
        except SparkleeneError as error:
            yield _sent([failed(self.stream.schema, error.render())])
        self.handle.registerTimer(watermark + 1)

    def _shaped(self, table: pa.Table) -> Iterator[Any]:
        if table.num_rows:
            yield _sent(sent(table, self.stream.schema))


def _counted(bits: bytes | None, count: int) -> np.ndarray[Any, Any] | None:
    """Return which rows of a parcel are counted, None for all."""
    return None if bits is None else np.unpackbits(np.frombuffer(bits, np.uint8), count=count).astype(bool)


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
