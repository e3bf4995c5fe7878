"""Rows on their way into the state of a stream, as parcels.

Rows cross to Python once, as Arrow, and are packed into one sealed table for each bucket before the shuffle; so the
processor of a bucket is given a few rows of bytes, and keeps them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import as_numpy
from sparkleene.columns.ipc import to_bytes
from sparkleene.ongoing.seal import seal
from sparkleene.ongoing.tenure import Reach
from sparkleene.spark.packing import by_bucket, chunks
from sparkleene.spark.state.stream_job import StreamJob
from sparkleene.spark.tasks import Batches, send_errors

if TYPE_CHECKING:
    from sparkleene.ongoing.live import Live

PARCELS = pa.schema(  # with plain names, for the state store takes no others
    [
        ("bucket", pa.int32()),
        ("rows", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("kept", pa.binary()),
        ("counted", pa.binary()),
        ("error", pa.string()),
    ]
)
COUNTED = "sparkleene counted"


class Parcel(NamedTuple):
    """Rows for a bucket; the fields are the columns of PARCELS after the first."""

    rows: int = 0
    first: int = 0  # the least and greatest time
    last: int = 0
    kept: bytes | None = None  # the sealed table
    bits: bytes | None = None  # of the rows that are counted here if they are late; None where all are
    error: str | None = None

    @property
    def counted(self) -> np.ndarray[Any, Any] | None:
        """Which rows are counted, None for all."""
        if self.bits is None:
            return None
        return np.unpackbits(np.frombuffer(self.bits, np.uint8), count=int(self.rows)).astype(bool)


@dataclass(frozen=True)
class Enter:
    """From rows to parcels: a sealed table of rows for each bucket.

    Every bucket gets a parcel, if an empty one, so that all of them know the watermark from the first batch on.
    """

    stream: StreamJob

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Pack a partition."""
        yield from send_errors(lambda: self.pack_all(batches), _to_error, self.stream.job.places)

    def pack_all(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the parcels of each chunk of rows."""
        found = False
        ids = self.stream.bucket_ids()
        lives = [run.make_live() for run in self.stream.runs]
        for chunk in chunks(batches):
            found = True
            yield self.pack(lives, chunk, ids)
        if not found:
            yield to_batch({bucket: Parcel() for some in ids for bucket in some})

    def pack(self, lives: list[Live], table: pa.Table, ids: list[tuple[int, ...]]) -> pa.RecordBatch:
        """Pack a chunk of rows; a row that several runs need is counted by the first of them if it is late."""
        found = {bucket: Parcel() for some in ids for bucket in some}
        lives[0].times(table)  # rows without a label need a time too
        rest = np.ones(table.num_rows, bool)
        # Parts that end are the last to count a row, for they may have let go of all by now.
        every = zip(self.stream.runs, lives, ids, strict=True)
        for run, live, some in sorted(every, key=lambda one: one[1].reach.last is not None):
            rows = table.select(run.rows.names)
            needed = find_needed(live, rows)
            rows = rows.append_column(COUNTED, pa.array(rest))
            rest &= ~needed
            for bucket, part in by_bucket(
                rows if needed.all() else rows.filter(pa.array(needed)), run.keys, len(some)
            ):
                counted = part.column(COUNTED).to_numpy()
                bits = None if counted.all() else np.packbits(counted).tobytes()
                part = part.drop_columns([COUNTED])
                times = live.times(part)
                kept: Any = seal(to_bytes(part.cast(run.rows)))  # times are the same in every zone
                found[some[bucket]] = Parcel(part.num_rows, int(times.min()), int(times.max()), kept, bits)
        return to_batch(found)


def find_needed(live: Live, rows: pa.Table) -> np.ndarray[Any, Any]:
    """Tell which rows have a part in a query."""
    plan, masks = live.plan, live.run.options.masks
    needed = np.ones(rows.num_rows, bool)
    if masks and not plan.every_row:
        needed &= np.asarray(as_numpy(rows.column(masks[-1]))) != 0
    for k in plan.needed_keys:
        key = rows.column(plan.bound.keys[k].path[0])
        if key.null_count:
            needed &= key.is_valid().to_numpy()
    if live.reach != Reach():
        needed &= live.reach.find_inside(live.times(rows))
    return needed


def to_batch(parcels: dict[int, Parcel]) -> pa.RecordBatch:
    """Return parcels by bucket as a batch."""
    columns = [list(parcels), *zip(*parcels.values(), strict=True)]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PARCELS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PARCELS)


def _to_error(text: str) -> pa.RecordBatch:
    return to_batch({0: Parcel(error=text)})


def read_parcels(frame: Any) -> Iterator[Parcel]:
    """Yield the parcels of a pandas DataFrame."""
    return map(Parcel, *(frame[field.name] for field in list(PARCELS)[1:]))
