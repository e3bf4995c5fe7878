"""What a bucket of a stream waits for: the windows that are open, and when the first of them ends."""

from __future__ import annotations

from typing import NamedTuple

from sparkleene.engine.grid import Grid
from sparkleene.language.bound import Drawn
from sparkleene.ongoing.live import Bucket
from sparkleene.ongoing.segments import WHOLE


class Outlook(NamedTuple):
    """What a bucket keeps, and until when."""

    rows: int  # that are kept, or the matrices in their place
    windows: int | None = None  # that are open; None where rows draw them, or trends end them
    end: int | None = None  # of the first of them, in milliseconds; None where rows to come decide it


def look_ahead(bucket: Bucket) -> Outlook:
    """Return what a bucket waits for, by its head alone.

    Nothing is read for it, so a window between two that have rows counts as well, and may be the first.
    """
    rows = sum(segment.rows for segment in bucket.segments if segment.kind != WHOLE)
    live = bucket.live
    if not bucket.segments or isinstance(live.plan.bound.window, Drawn):
        return Outlook(rows, 0 if not bucket.segments else None)
    windows = live.windows
    first, last = min(s.first for s in bucket.segments), max(s.last for s in bucket.segments)
    if not isinstance(windows, Grid):
        waiting = [max(s.first, bucket.seen + 1) for s in bucket.segments if s.last > bucket.seen]
        return Outlook(rows, None, live.milliseconds(min(waiting)) if waiting else None)
    after = windows.last_before(windows.clock_at(first))
    after = after if bucket.done is None else max(after, bucket.done)
    started = windows.last_started(windows.clock_at(last))
    started = started if live.reach.last is None else min(started, live.reach.last)
    if started <= after:
        return Outlook(rows, 0)
    ranges, grids = [(after, started)], [windows]
    if live.kinds is not None:
        ranges, grids = live.kinds.list_started(after, started), [kind.grid for kind in live.kinds.each]
    ends = [grid.end(one + 1) for grid, (one, two) in zip(grids, ranges, strict=True) if one < two]
    count = sum(two - one for one, two in ranges)
    return Outlook(rows, count, live.milliseconds(windows.time_at(min(ends))) if ends else None)
