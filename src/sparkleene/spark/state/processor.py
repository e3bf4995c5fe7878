"""What keeps the rows of a stream in Spark's state, by bucket, and sends windows when the watermark passes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkleene.columns.ipc import to_bytes
from sparkleene.ongoing.seal import damage_error
from sparkleene.spark.state.parcels import read_parcels
from sparkleene.spark.state.stream_job import LATE, StreamJob
from sparkleene.spark.tasks import error_batch, send_errors, to_batches

if TYPE_CHECKING:  # Spark loads a processor on the driver too, which has no use for kernels
    from sparkleene.ongoing.live import Bucket, Live

RESULTS = "kept binary"


class Processor:
    """Keeps the rows of buckets in Spark's state store and sends windows when the watermark has passed them."""

    def __init__(self, stream: StreamJob) -> None:
        """Take the runs."""
        self.stream = stream
        self.before: int | None = None  # the bucket whose turn was before

    @cached_property
    def lives(self) -> list[Live]:
        """The runs as the engine evaluates them."""
        return [run.make_live() for run in self.stream.runs]

    @cached_property
    def owners(self) -> dict[int, int]:
        """The number of the run that each bucket is of."""
        return {bucket: number for number, ids in enumerate(self.stream.bucket_ids()) for bucket in ids}

    def load(self, id: int) -> Bucket:
        """Return the bucket whose turn it is, as it was kept; a partition has one of each run."""
        from sparkleene.ongoing.live import Bucket

        bucket = Bucket.load(self.lives[self.owners.get(id, 0)], self.kept)
        before, self.before = self.before, id
        same = before is None or self.stream.partition(id) == self.stream.partition(before)
        if id not in self.owners or not same:
            raise damage_error(f"bucket {id} is in the partition of bucket {before}")
        return bucket

    def open(self, handle: Any, head: Any, segments: Any) -> None:
        """Take the state's variables."""
        self.handle, self.kept = handle, Kept(head, segments)

    def keep_rows(self, id: int, frames: Iterator[Any]) -> Iterator[Any]:
        """Keep the rows of a bucket's parcels; in update mode send the windows that they changed."""
        places = self.stream.job.places
        yield from send_errors(lambda: self._keep_rows(id, frames), self._send_error, places)

    def _keep_rows(self, id: int, frames: Iterator[Any]) -> Iterator[Any]:
        new = self.kept.head() is None
        bucket = self.load(id)
        late, there = 0, bucket.next
        for frame in frames:
            for parcel in read_parcels(frame):
                if parcel.error is not None:
                    yield self._send_error(parcel.error)
                    return
                if parcel.kept is not None:
                    rows, first, last = map(int, parcel[:3])
                    late += bucket.add(parcel.kept, rows, first, last, parcel.counted)
        added = [segment for segment in bucket.segments if segment.number >= there]
        if self.stream.update and added:
            fresh = pa.concat_tables([bucket.read(segment) for segment in added], promote_options="permissive")
            for evaluated in bucket.evaluate_early(fresh):
                yield from self._send(self.stream.job.write_all(evaluated, zeros=True))
        if added or new:
            bucket.tidy()
            bucket.save()
        if new:
            self.handle.registerTimer(1)
        if late:
            yield from self._send(pa.table({LATE: pa.array([late])}))

    def move_watermark(self, id: int, watermark: int) -> Iterator[Any]:
        """Send the windows of a bucket that end at a watermark, in milliseconds; set a timer for its next step."""
        places = self.stream.job.places
        yield from send_errors(lambda: self._close_windows(id, watermark), self._send_error, places)
        self.handle.registerTimer(watermark + 1)

    def _close_windows(self, id: int, watermark: int) -> Iterator[Any]:
        bucket = self.load(id)
        for evaluated in bucket.advance(bucket.live.clock(watermark)):
            if not self.stream.update:
                yield from self._send(self.stream.job.write_all(evaluated))
        bucket.save()

    def _send(self, table: pa.Table) -> Iterator[Any]:
        if table.num_rows:
            yield _to_row(to_batches(table, self.stream.schema))

    def _send_error(self, error: str) -> Any:
        return _to_row([error_batch(self.stream.schema, error)])


def _to_row(batches: list[pa.RecordBatch]) -> Any:
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
