"""What runs in Spark's Python workers for a stream: rows are packed by bucket, kept in state, and windows come out.

Rows cross to Python once, as Arrow, and are packed into one sealed table for each bucket before the shuffle; so the
processor of a bucket is given a few rows of bytes, and keeps them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sparkleene.engine.seal import sealed, to_bytes, to_table
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
    homes: tuple[int, ...]  # for each bucket the number that brings it to a partition of its own
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
        return Live(job.plan, job.options, self.rows, self.identity, cores(), job.source, job.filename)

    def written(self, evaluated: Evaluated, zeros: bool) -> pa.Table:
        """Write evaluated windows as results, or as parts of them."""
        from sparkleene.engine.finish import finish

        if self.update:
            return finish(self.job.plan, *evaluated, zeros)
        return self.job.written(evaluated)


@dataclass(frozen=True)
class Enter:
    """From rows to parcels: a sealed table of rows for each bucket.

    Every bucket gets a parcel, if an empty one, so that all of them know the watermark from the first rows on.
    """

    stream: Stream

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Pack a partition."""
        live = self.stream.live()
        try:
            for chunk in chunks(batches):
                yield self.packed(live, chunk)
        except SparkleeneError as error:
            yield parcels([(home, 0, 0, 0, None, error.render()) for home in self.stream.homes[:1]])

    def packed(self, live: Live, table: pa.Table) -> pa.RecordBatch:
        """Pack a chunk of rows."""
        homes = self.stream.homes
        found = {home: (home, 0, 0, 0, None, None) for home in homes}
        live.times(table)  # rows without a label need a time too
        rows = labelled(live.plan, live.options, table)
        for bucket, part in by_bucket(rows, self.stream.keys, len(homes)):
            times = live.times(part)
            kept: Any = sealed(to_bytes(part.cast(self.stream.rows)))  # times are the same in every zone
            home = homes[bucket]
            found[home] = (home, part.num_rows, int(times.min()), int(times.max()), kept, None)
        return parcels(list(found.values()))


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


class Processor(StatefulProcessor):
    """Keeps the rows of a bucket in Spark's state store and sends windows when the watermark has passed them."""

    def __init__(self, stream: Stream) -> None:
        """Take the job."""
        self.stream = stream

    @cached_property
    def live(self) -> Live:
        """The query, as the engine sees it."""
        return self.stream.live()

    def bucket(self) -> Bucket:
        """Return the bucket whose turn it is, as it was kept."""
        from sparkleene.engine.live import Bucket

        return Bucket.load(self.live, self.kept)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self.handle = handle
        self.kept = Kept(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Keep rows; in update mode send the windows that they changed."""
        try:
            yield from self._taken(rows)
        except SparkleeneError as error:
            yield _sent([failed(self.stream.schema, error.render())])

    def _taken(self, frames: Iterator[Any]) -> Iterator[Any]:
        new = self.kept.head() is None
        bucket = self.bucket()
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

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        """Let the watermark pass; the next timer is for its next step."""
        watermark = timerValues.getCurrentWatermarkInMs()
        try:
            bucket = self.bucket()
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

    def close(self) -> None:
        """Hold nothing."""


def _sent(batches: list[pa.RecordBatch]) -> Any:
    """Return a table as the one row that Spark is sent."""
    import pandas as pd

    return pd.DataFrame({"kept": [bytes(to_bytes(pa.Table.from_batches(batches)))]})


class Kept:
    """A bucket's bytes in Spark's state store: a value for its head, and a map of its segments."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        """Open the two variables."""
        self._head = handle.getValueState("head", "kept binary")
        self._blobs = handle.getMapState("segments", "number bigint", "kept binary")

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
