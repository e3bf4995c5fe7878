"""What keeps the rows of a stream in Spark's state, by bucket, and sends windows when the watermark passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sparkleene.ongoing.seal import damage_error
from sparkleene.spark.garbage import spare_modules
from sparkleene.spark.jobs import fit_columns
from sparkleene.spark.state.parcels import read_parcels
from sparkleene.spark.state.stream_job import LATE, METRICS, StreamJob, find_batch
from sparkleene.spark.tasks import OUT, error_batch, send_errors

if TYPE_CHECKING:  # Spark loads a processor on the driver too, which has no use for kernels
    from sparkleene.ongoing.live import Bucket, Live


class Processor:
    """Keeps the rows of buckets in Spark's state store and sends windows when the watermark has passed them."""

    def __init__(self, stream: StreamJob) -> None:
        """Take the runs."""
        self.stream = stream
        self.buckets: dict[int, Bucket] = {}  # those whose turn it was in this batch
        self.unsaved: set[int] = set()  # those whose head is kept when their timer comes

    @cached_property
    def lives(self) -> list[Live]:
        """The runs as the engine evaluates them."""
        return [run.make_live() for run in self.stream.runs]

    @cached_property
    def owners(self) -> dict[int, int]:
        """The number of the run that each bucket is of."""
        return {bucket: number for number, ids in enumerate(self.stream.bucket_ids()) for bucket in ids}

    @cached_property
    def batch(self) -> int | None:
        """The number of this batch."""
        return find_batch()

    def load(self, id: int) -> Bucket:
        """Return the bucket whose turn it is, as it was kept; a partition has one of each run."""
        from sparkleene.ongoing.live import Bucket

        if id in self.buckets:
            return self.buckets[id]
        bucket = Bucket.load(self.lives[self.owners.get(id, 0)], self.kept)
        before = next(reversed(self.buckets), None)
        same = before is None or self.stream.partition(id) == self.stream.partition(before)
        if id not in self.owners or not same:
            raise damage_error(f"bucket {id} is in the partition of bucket {before}")
        bucket.batch = self.batch
        self.buckets[id] = bucket
        return bucket

    def open(self, handle: Any, head: Any, segments: Any) -> None:
        """Take the state's variables."""
        self.handle, self.kept = handle, Kept(head, segments)

    def keep_rows(self, id: int, frames: Iterator[Any], watermark: int) -> Iterator[Any]:
        """Keep the rows of a bucket's parcels; in update mode send the windows that they changed."""
        places = self.stream.job.places
        yield from send_errors(lambda: self._keep_rows(id, frames, watermark), self._send_error, places)

    def _keep_rows(self, id: int, frames: Iterator[Any], watermark: int) -> Iterator[Any]:
        from sparkleene.ongoing.live import Packed

        bucket = self.load(id)
        new, there = bucket.new, bucket.next
        bucket.join_generation(watermark)
        found = []
        for frame in frames:
            for parcel in read_parcels(frame):
                if parcel.error is not None:
                    yield self._send_error(parcel.error)
                    return
                if parcel.kept is not None:
                    rows, first, last = map(int, parcel[:3])
                    found.append(Packed(parcel.kept, rows, first, last, parcel.counted))
        late = bucket.add_all(found)
        added = [segment for segment in bucket.segments if segment.number >= there]
        if self.stream.update and added:
            fresh = pa.concat_tables([bucket.read(segment) for segment in added], promote_options="permissive")
            for evaluated in bucket.evaluate_early(fresh):
                yield from self._send([self.stream.job.write_all(evaluated, zeros=True)])
        if added:
            bucket.tidy()
        if new:
            self.handle.registerTimer(1)
        clock = bucket.live.clock
        due = not bucket.over and clock(watermark) > bucket.seen  # the timer comes next, and tells the rest
        if due and clock(watermark - 1) > bucket.seen:  # surely: the timer's time is past, and not just reached
            self.unsaved.add(id)
        else:
            bucket.save()  # without rows too, for all buckets are to be of the same batch
        if late or not due:
            yield from self._send([_metrics(bucket, late, None) if not due else pa.table({LATE: [late]})])

    def move_watermark(self, id: int, watermark: int) -> Iterator[Any]:
        """Send the windows of a bucket that end at a watermark, in milliseconds; set a timer for its next step."""
        places = self.stream.job.places
        yield from send_errors(lambda: self._close_windows(id, watermark), self._send_error, places)
        if id not in self.buckets or not self.buckets[id].over:
            self.handle.registerTimer(watermark + 1)

    def _close_windows(self, id: int, watermark: int) -> Iterator[Any]:
        bucket = self.load(id)
        self.unsaved.discard(id)
        bucket.join_generation(watermark)
        tables, keys = [], None
        for evaluated in bucket.advance(bucket.live.clock(watermark)):
            keys = (keys or 0) + np.unique(evaluated.windows.segment).size
            if not self.stream.update:
                tables.append(self.stream.job.write_all(evaluated))
        bucket.save()
        yield from self._send([*tables, _metrics(bucket, 0, keys)])

    def close(self) -> None:
        """End the turn of a partition."""
        spare_modules()
        if self.unsaved:
            raise damage_error(f"bucket {min(self.unsaved)} has no timer")

    def _send(self, tables: Sequence[pa.Table]) -> Iterator[Any]:
        schema = self.stream.schema
        whole = pa.concat_tables([fit_columns(table, schema) for table in tables]).combine_chunks()
        yield from map(_to_frame, whole.to_batches(OUT))

    def _send_error(self, error: str) -> Any:
        return _to_frame(error_batch(self.stream.schema, error))


def _metrics(bucket: Bucket, late: int, keys: int | None) -> pa.Table:
    """Return the row that tells how a bucket is doing; `keys` are the sub-streams of windows that have ended."""
    from sparkleene.ongoing.outlook import look_ahead

    ahead, tenure = look_ahead(bucket), bucket.live.tenure
    # Buckets of parts that come and go have their first and last turns in other batches.
    before = None if tenure is not None and tenure.is_bounded else bucket.before
    values = (late, ahead.rows, ahead.windows, ahead.end, keys, before)
    return pa.table([[value] for value in values], METRICS)


def _to_frame(batch: pa.RecordBatch) -> Any:
    """Return a batch as the data frame that Spark's interface asks for, with columns that stay Arrow's."""
    import pandas as pd

    return batch.to_pandas(types_mapper=pd.ArrowDtype)


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
