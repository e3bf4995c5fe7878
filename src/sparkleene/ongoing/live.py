"""A query over rows that come in any order up to a watermark: a bucket of sub-streams, its state, and its windows.

Rows wait in segments, each the rows that came together. When the watermark passes the ends of windows, the segments
that these reach into are read, the windows are evaluated, and what no later window needs is let go. Rows that the
watermark has passed are settled: nothing will come between them. Where the query allows it they are then folded
into a matrix for each sub-stream and pane, see stretches.py, and their segments go. Where a window has many panes,
what is settled together is also folded into one matrix for each sub-stream: a window reads that of every segment
that it holds as a whole, and panes or rows only of the one that it begins in, see segments.py.

Windows that rows draw are found among the settled rows each time the watermark moves: those that no later row can
be in are evaluated, and only the rows of the others stay.

The state of a bucket is a head, a small list of its segments, and a blob for each segment.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array
from sparkleene.columns.ipc import to_bytes, to_table
from sparkleene.engine.grid import Clock, Grid, Trailing
from sparkleene.engine.run import Evaluated, Run
from sparkleene.language.bound import Drawn, Piece
from sparkleene.ongoing.compose import why_not_combined
from sparkleene.ongoing.identity import compare_identities
from sparkleene.ongoing.kinds import Kinds, Range, compose_kinds, evaluate_rows, find_kinds
from sparkleene.ongoing.seal import checksum, damage_error, seal, unseal
from sparkleene.ongoing.segments import FAN, PENDING, ROWS, UNITS, WHOLE, Segment, Store, find_joint, split, sums_up
from sparkleene.ongoing.settled import find_panes, join_settled, join_tables, select_keys, settle_rows, sum_up
from sparkleene.ongoing.tenure import Reach, Tenure, check_arrival, check_generation, find_reach
from sparkleene.plan.plan import Plan

PARTS = 16  # of a window, after which what the watermark has passed is folded
MANY_PANES = 4 * PARTS  # of a window, from which on what is folded together gets one matrix as well
LARGE = 1 << 8  # rows or matrices of a segment that is worth one
LESS = 2  # times at least that these are smaller
STEPS = 4  # of the watermark that a window should last for that
FEW = 16  # small segments that are put together
SMALL = 1 << 14  # rows of a small segment
TOGETHER = 1 << 22  # bytes of parcels that become one segment
NEW = -1  # in the place of a batch, for a bucket of which nothing is kept yet


class Packed(NamedTuple):
    """Rows that come together."""

    kept: bytes  # the sealed table
    rows: int
    first: int  # the least and greatest time
    last: int
    counted: Array | None = None  # which rows are counted here if they are late; None for all


class Kept(NamedTuple):
    """What windows are made of: rows, and units of rows that were folded before them."""

    rows: pa.Table
    units: list[pa.Table]


@dataclass(frozen=True)
class Live:
    """A run over a stream, without state: evaluates windows from rows and folded rows. A `Bucket` has the state."""

    run: Run
    schema: pa.Schema
    identity: dict[str, Any]  # what has to stay the same for a state to go on
    tenure: Tenure | None = None  # where the workload may change

    @property
    def plan(self) -> Plan:
        """The plan that is evaluated."""
        return self.run.plan

    @cached_property
    def _clock(self) -> Clock:
        return self.run.clock(self.schema.empty_table())

    @cached_property
    def windows(self) -> Grid | Trailing:
        """Where the windows lie."""
        _, size, grid, *_ = self._clock
        return Trailing(int(size or 0)) if grid is None else grid

    @cached_property
    def reach(self) -> Reach:
        """Which windows are served."""
        tenure = self.tenure
        if tenure is None or not tenure.is_bounded:
            return Reach()
        return find_reach(self.windows, *self._borders, self.run.part.is_mixed)

    @property
    def _borders(self) -> tuple[int | None, int | None]:
        """From when to when windows start that are served, in the unit that they are of."""
        found = (None, None) if self.tenure is None else (self.tenure.begin, self.tenure.end)
        begin, end = (None if time is None else self.clock(time) for time in found)
        return begin, end

    @cached_property
    def kinds(self) -> Kinds | None:
        """The kinds of windows, None where there is one."""
        if not self.run.part.is_mixed:
            return None
        return find_kinds(self.run, self.schema.empty_table(), *self._borders)

    def find_begin(self, member: int) -> int | None:
        """Return when the first window of a query begins, given its place in the part; None for any time."""
        if self.kinds is None or self.kinds.begin is None:
            return self.reach.begin
        [grid] = [kind.grid for kind in self.kinds.each if member in kind.members]
        return grid.time_at(grid.start(grid.last_started(self.kinds.begin - 1) + 1))

    def clock(self, milliseconds: int) -> int:
        """Return a time in milliseconds in the unit that windows are of."""
        ticks = self._clock.time.ticks_per_ms
        assert ticks is not None  # the time of a stream has a watermark, and so is a timestamp
        return int(milliseconds * ticks)

    def milliseconds(self, time: int) -> int:
        """Return a time in the unit that windows are of in milliseconds, the next whole one."""
        ticks = self._clock.time.ticks_per_ms
        assert ticks is not None
        return math.ceil(time / Fraction(ticks))

    def times(self, table: pa.Table) -> Array:
        """Return the times of rows in the unit that windows are of."""
        return self.run.clock(table).time.values

    @cached_property
    def folds(self) -> bool:
        """Whether settled rows can become matrices."""
        lows = {low.of.path[0] for low in self.plan.aggregates.lows if isinstance(low.of, Piece)}
        # What is folded is gone, so that keys of MIN and MAX have to be doubles without looking at the data.
        sure = all(name in self.schema.names and _is_narrow(self.schema.field(name).type) for name in lows)
        return sure and why_not_combined(self.plan, self.schema, self.run.options) is None

    @cached_property
    def panes(self) -> int:
        """How many panes a window has, 0 where settled rows cannot become matrices."""
        windows = self.windows
        return windows.span // windows.width if isinstance(windows, Grid) and self.folds else 0

    def evaluate(self, kept: Kept, after: int, last: int) -> Iterator[Evaluated]:
        """Evaluate the windows that end after one window, but not after another."""
        wanted = [(after, last)] if self.kinds is None else self.kinds.list_ended(after, last)
        yield from self._evaluate(kept, wanted, False)

    def evaluate_early(self, kept: Kept, after: int, last: int) -> Iterator[Evaluated]:
        """Evaluate the windows that end after one window and do not start after another, as they are so far."""
        wanted = [(after, last)] if self.kinds is None else self.kinds.list_started(after, last)
        yield from self._evaluate(kept, wanted, not self.plan.machine.monotone)

    def _evaluate(self, kept: Kept, wanted: list[Range], zeros: bool) -> Iterator[Evaluated]:
        """Evaluate some windows of each kind from the rows and units that they are made of."""
        if not kept.units:
            yield from evaluate_rows(self.run, self.kinds, wanted, kept.rows, zeros)
            return
        found = compose_kinds(self.run, self.kinds, wanted, join_tables(kept.units), kept.rows)
        if found is None:
            message = "folded rows do not fit those after them: MIN or MAX meets the greatest doubles"
            raise self.run.place.error("overflow", message, help="leave such rows out")
        yield from found


def _is_narrow(type: pa.DataType) -> bool:
    """Tell whether all values of a type are doubles."""
    t = pa.types
    return bool(t.is_floating(type) or t.is_boolean(type) or (t.is_integer(type) and type.bit_width <= 32))


@dataclass
class Bucket:
    """The state of some sub-streams; `load` it, change it, and `save` its head."""

    live: Live
    store: Store
    seen: int = 0  # the watermark that windows were last closed by; rows up to it are late
    done: int | None = None  # the key of the last window that was closed
    settled: int = 0  # the watermark up to which rows were last settled
    next: int = 0
    segments: list[Segment] = field(default_factory=list)
    new: bool = True  # nothing of it is kept yet
    batch: int | None = None  # the batch whose turn it is, where batches have numbers
    before: int | None = NEW  # the batch that the head was kept in; None if it does not say
    generation: int = 0  # of the workload, when it was kept
    over: bool = False  # all windows that it serves have ended

    @classmethod
    def load(cls, live: Live, store: Store) -> Bucket:
        """Return the bucket that is kept in a store, or a new one."""
        kept = store.head()
        bucket = cls(live, store)
        if kept is None:
            return bucket
        bucket.new = False
        try:
            head = json.loads(bytes(unseal(kept)))
            identity = head["identity"]
            check_generation(head, live.tenure)
            bucket.generation, bucket.over = head.get("generation", 0), head.get("over", False)
            if not bucket.over:
                compare_identities(identity, live.identity)
            bucket.seen, bucket.done, bucket.settled, bucket.next = (
                head[name] for name in ("seen", "done", "settled", "next")
            )
            bucket.segments = [Segment(*segment) for segment in head["segments"]]
            bucket.before = None if head.get("batch") is None else int(head["batch"])
        except (KeyError, SyntaxError, TypeError, ValueError) as error:
            raise damage_error(f"its head cannot be read ({error})") from error
        return bucket

    def save(self) -> None:
        """Keep the head."""
        head = {name: getattr(self, name) for name in ("seen", "done", "settled", "next")}
        head |= {"identity": self.live.identity, "segments": self.segments}
        if self.batch is not None:
            head["batch"] = self.batch
        if self.live.tenure is not None:
            head |= {"generation": self.generation} | ({"identity": {}, "over": True} if self.over else {})
        self.store.set_head(seal(json.dumps(head, separators=(",", ":")).encode()))
        self.new = False

    def join_generation(self, watermark: int) -> None:
        """Go over to the workload's generation, at a watermark in milliseconds."""
        tenure = self.live.tenure
        known = -1 if tenure is None else tenure.birth - 1 if self.new else self.generation
        if tenure is None or known == tenure.generation:
            return
        check_arrival(tenure, known, watermark)
        if self.new:
            self.done = self.live.reach.after
        self.generation = tenure.generation

    # ---- rows in

    def add(self, kept: bytes, rows: int, first: int, last: int, counted: Array | None = None) -> int:
        """Take sealed rows, with their least and greatest time; return how many were late and are dropped.

        Where rows are not `counted`, another bucket does that.
        """
        if self.over:
            return 0
        reach = self.live.reach
        inside = (reach.begin is None or first >= reach.begin) and (reach.stop is None or last < reach.stop)
        if first > self.seen and inside:
            self._put(PENDING, kept, rows, first, last)
            return 0
        table = to_table(unseal(kept))
        times = self.live.times(table)
        good = times > self.seen
        late = int((~good if counted is None else counted & ~good).sum())
        if not inside:
            good &= reach.find_inside(times)
        self._write(PENDING, table.filter(pa.array(good)), times[good])
        return late

    def add_all(self, parcels: Sequence[Packed]) -> int:
        """Take sealed rows as `add` does, as few segments; return how many were late."""
        late = size = 0
        together: list[Packed] = []
        for parcel in parcels:
            if together and size + len(parcel.kept) > TOGETHER:
                late += self._add_together(together)
                together, size = [], 0
            together.append(parcel)
            size += len(parcel.kept)
        return late + self._add_together(together)

    def _add_together(self, parcels: Sequence[Packed]) -> int:
        """Take sealed rows as one segment."""
        if len(parcels) < 2 or self.over:
            return sum(self.add(*parcel) for parcel in parcels)
        late, found = 0, []
        for parcel in parcels:
            table = to_table(unseal(parcel.kept))
            times = self.live.times(table)
            good = times > self.seen
            late += int((~good if parcel.counted is None else parcel.counted & ~good).sum())
            good &= self.live.reach.find_inside(times)
            found.append(table if good.all() else table.filter(pa.array(good)))
        whole = pa.concat_tables(found, promote_options="permissive")
        self._write(PENDING, whole, self.live.times(whole))
        return late

    def tidy(self) -> None:
        """Put small segments together."""
        small = [s for s in self.segments if s.kind == PENDING and s.rows < SMALL]
        if len(small) >= FEW:
            table = pa.concat_tables([self.read(s) for s in small], promote_options="permissive")
            self._drop(small)
            self._write(PENDING, table, self.live.times(table))

    # ---- windows out

    def advance(self, watermark: int) -> Iterator[Evaluated]:
        """Let the watermark pass: yield the windows that end, let go what no other needs, settle the rest."""
        live = self.live
        if isinstance(live.plan.bound.window, Drawn):
            yield from self._advance_drawn(watermark)
            return
        windows, end = live.windows, live.reach.last
        over = windows.last_closed(windows.clock_at(watermark))
        over = over if end is None else min(over, end)
        if self.segments and (self.done is None or over > self.done):
            after = windows.last_before(windows.clock_at(min(s.first for s in self.segments)))
            after = after if self.done is None else max(after, self.done)
            if after < over:
                kept = self._between(after + 1, over)
                if kept.rows.num_rows or kept.units:
                    yield from live.evaluate(kept, after, over)
            needed = windows.time_at(windows.start(over + 1))
            self._drop([s for s in self.segments if s.last < needed])
            self._trim(needed)
            if live.panes >= MANY_PANES:
                self._split(needed, needed + watermark - self.seen)
        self.done = over if self.done is None else max(over, self.done)
        if end is not None and self.done >= end:
            self._drop(self.segments)
            self.over = True
        step, self.seen = watermark - self.seen, max(watermark, self.seen)
        if self._is_due(watermark, step):
            self._settle(watermark)

    def _is_due(self, watermark: int, step: int) -> bool:
        """Tell whether to settle what a watermark has passed with its last step."""
        length, passed = self.live.windows.length, watermark - self.settled
        if step * STEPS > length:  # where windows end after a few steps anyway, rows are not written twice
            return False
        if passed * PARTS >= length or self.live.panes < MANY_PANES:
            return passed * PARTS >= length
        # Each window that ends reads what is not settled. But rows that have to wait are written again.
        waiting = [s for s in self.segments if s.kind == PENDING and s.first <= watermark]
        enough = sum(s.rows for s in waiting) >= LARGE
        return enough and passed >= max(s.last for s in waiting) - watermark

    def _advance_drawn(self, watermark: int) -> Iterator[Evaluated]:
        """Yield the windows that no later row can be in, and keep the rows of the others that have begun.

        The rows that are kept draw the same windows as all rows did: a window begins with the first of them.
        """
        live = self.live
        passed = [s for s in self.segments if s.first <= watermark]
        if passed and watermark > self.seen:
            table = pa.concat_tables([self.read(s) for s in passed], promote_options="permissive")
            clock = live.run.clock(table)
            over, kept = live.run.drawing(table, clock).divide(watermark + 1)
            kept |= clock.time.values > watermark
            if over.any():
                yield live.run.evaluate(table.filter(pa.array(over)))
            if not kept.all():
                self._drop(passed)
                self._write(PENDING, table.filter(pa.array(kept)), clock.time.values[kept])
        self.seen = max(watermark, self.seen)

    def evaluate_early(self, new: pa.Table) -> Iterator[Evaluated]:
        """Yield the windows that new rows have changed, as they are so far, of the groups that have such rows."""
        live = self.live
        times = live.times(new)
        if not times.size:
            return
        windows = live.windows
        assert isinstance(windows, Grid)
        first, latest = windows.clock_at(int(times.min())), windows.clock_at(int(times.max()))
        after, last = windows.last_before(first), windows.last_started(latest)
        last = last if live.reach.last is None else min(last, live.reach.last)
        after = after if self.done is None else max(after, self.done)
        if after >= last:
            return
        kept = self._between(after + 1, last)
        bound = live.plan.bound
        keys = [k for k in live.plan.universal if k in bound.group]
        paths = [bound.keys[k].path[0] for k in keys]
        rows = select_keys(kept.rows, paths, new, paths)
        units = [select_keys(table, [f"k{k}" for k in keys], new, paths) for table in kept.units]
        yield from live.evaluate_early(Kept(rows, [table for table in units if table.num_rows]), after, last)

    # ---- segments

    def _put(self, kind: str, kept: bytes, rows: int, first: int, last: int) -> None:
        self.store.set_blob(self.next, kept)
        self.segments.append(Segment(self.next, kind, rows, first, last, checksum(kept)))
        self.next += 1

    def _write(self, kind: str, table: pa.Table, times: Array, ends: Array | None = None) -> None:
        """Keep a table, if it has rows."""
        if table.num_rows:
            last = int((times if ends is None else ends).max())
            self._put(kind, seal(to_bytes(table)), table.num_rows, int(times.min()), last)

    def read(self, segment: Segment) -> pa.Table:
        """Return the table of a segment."""
        kept = self.store.blob(segment.number)
        if kept is None:
            raise damage_error(f"segment {segment.number} is missing")
        if checksum(kept) != segment.sum:
            raise damage_error(f"segment {segment.number} is not the one that the head names")
        table = to_table(unseal(kept))
        if table.num_rows != segment.rows:
            raise damage_error(f"segment {segment.number} has {table.num_rows} rows, not {segment.rows}")
        return table

    def _drop(self, gone: Sequence[Segment]) -> None:
        for segment in gone:
            self.store.remove(segment.number)
        lost = {segment.number for segment in gone}
        self.segments = [s for s in self.segments if s.number not in lost]

    def _between(self, first: int, last: int) -> Kept:
        """Return the rows from the start of one window to the end of another, and the units that reach there."""
        windows = self.live.windows
        begin, end = windows.time_at(windows.start(first)), windows.time_at(windows.end(last))
        latest, earliest = windows.time_at(windows.start(last)), windows.time_at(windows.end(first))
        rows, units = [self.live.schema.empty_table()], []
        parts = {s.number - 1 for s in self.segments if s.kind == WHOLE and latest <= s.first and s.last < earliest}
        for segment in self.segments:
            if segment.first >= end or segment.last < begin or segment.number in parts:
                continue
            if segment.kind == WHOLE and segment.number - 1 not in parts:
                continue
            table = self.read(segment)
            if segment.kind in (UNITS, WHOLE):
                units.append(table)
                continue
            if segment.first < begin or segment.last >= end:
                times = self.live.times(table)
                table = table.filter(pa.array((times >= begin) & (times < end)))
            rows.append(table)
        return Kept(pa.concat_tables(rows, promote_options="permissive"), units)

    def _trim(self, needed: int) -> None:
        """Rewrite segments of which half or more is before the time from which rows are needed."""
        for segment in self.segments:
            middle = segment.first + (segment.last - segment.first) // 2
            if segment.kind in (UNITS, WHOLE) or segment.first >= needed or needed <= middle:
                continue
            table = self.read(segment)
            times = self.live.times(table)
            good = times >= needed
            if 2 * good.sum() <= good.size:
                self._drop([s for s in self.segments if s == segment or sums_up(s, segment)])
                self._write(segment.kind, table.filter(pa.array(good)), times[good])

    def _settle(self, watermark: int) -> None:
        """Put the rows together that the watermark has passed, as matrices where that can be."""
        live = self.live
        self.settled = watermark
        passed = [s for s in self.segments if s.kind == PENDING and s.first <= watermark]
        if not passed:
            return
        table = pa.concat_tables([self.read(s) for s in passed], promote_options="permissive")
        self._drop(passed)
        times = live.times(table)
        over = times <= watermark
        if not over.all():
            self._write(PENDING, table.filter(pa.array(~over)), times[~over])
            table, times = table.filter(pa.array(over)), times[over]
        self._write_settled(*settle_rows(live.run, table) if live.folds else (ROWS, table))
        if live.panes >= MANY_PANES:
            while parts := find_joint(self.segments, live.windows.length // PARTS):
                if not self._join(parts):
                    break

    def _write_settled(self, kind: str, table: pa.Table) -> None:
        """Keep settled rows or units, and where windows are long one unit for each sub-stream besides."""
        live = self.live
        if kind == ROWS:
            self._write(kind, table, live.times(table))
        else:
            self._write_units(kind, table)
        if live.panes >= MANY_PANES and table.num_rows >= LARGE:
            whole = sum_up(live.run, kind, table, live.schema, LESS)
            if whole.num_rows and table.num_rows >= LESS * whole.num_rows:
                self._write_units(WHOLE, whole)

    def _join(self, parts: Sequence[Segment]) -> bool:
        """Put settled segments together; return False where some rows cannot become matrices, as others have."""
        tables = [(part.kind, self.read(part)) for part in parts]
        joined = join_settled(self.live.run, tables)
        if joined is None:
            return False
        self._drop([s for s in self.segments if any(s == part or sums_up(s, part) for part in parts)])
        self._write_settled(*joined)
        return True

    def _split(self, needed: int, soon: int) -> None:
        """Part the segment that the next window begins in, so that of few pieces all rows or units are read."""
        windows = self.live.windows
        assert isinstance(windows, Grid)
        start, end = windows.pane_of(np.array([windows.clock_at(time) for time in (needed, soon)]))
        for segment in [s for s in self.segments if s.kind in (ROWS, UNITS) and s.first < needed <= s.last]:
            [whole] = [s for s in self.segments if sums_up(s, segment)] or [segment]
            small = max(LARGE, FAN * whole.rows)
            if segment.rows <= small:
                continue
            table = self.read(segment)
            panes = find_panes(self.live.run, segment.kind, table)
            small = max(small, int(((panes >= start) & (panes < end)).sum()))
            self._drop([s for s in self.segments if s == segment or sums_up(s, segment)])
            for piece in split(panes, start, small):
                self._write_settled(segment.kind, table.take(pa.array(piece)))

    def _write_units(self, kind: str, units: pa.Table) -> None:
        self._write(kind, units, *(units.column(name).to_numpy() for name in ("first", "last")))
