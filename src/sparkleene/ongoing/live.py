"""A query over rows that come in any order up to a watermark: a bucket of sub-streams, its state, and its windows.

Rows wait in segments, each the rows that came together. When the watermark passes the ends of windows, the segments
that these reach into are read, the windows are evaluated, and what no later window needs is let go. Rows that the
watermark has passed are settled: nothing will come between them. Where the query allows it they are then folded
into a matrix for each sub-stream and pane, see stretches.py, and their segments go.

The state of a bucket is a head, a small list of its segments, and a blob for each segment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.fields import decode
from sparkleene.columns.ipc import to_bytes, to_table
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.engine.grid import Clock, Grid, Trailing
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.windows import KeyRange
from sparkleene.language.bound import Piece
from sparkleene.ongoing.compose import compose, why_not_combined
from sparkleene.ongoing.identity import compare_identities
from sparkleene.ongoing.seal import checksum, damage_error, seal, unseal
from sparkleene.ongoing.stretches import stretches
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]

PARTS = 16  # of a window, after which what the watermark has passed is folded
STEPS = 4  # of the watermark that a window should last for that
FEW = 16  # small segments that are put together
SMALL = 1 << 14  # rows of a small segment
PENDING, ROWS, UNITS = "pending", "rows", "units"


class Store(Protocol):
    """Where a bucket's bytes are kept."""

    def head(self) -> bytes | None:
        """Return the head, None for a new bucket."""

    def set_head(self, kept: bytes) -> None:
        """Keep the head."""

    def blob(self, number: int) -> bytes | None:
        """Return the blob of a segment."""

    def set_blob(self, number: int, kept: bytes) -> None:
        """Keep the blob of a segment."""

    def remove(self, number: int) -> None:
        """Let the blob of a segment go."""


class Segment(NamedTuple):
    """What the head knows of a segment."""

    number: int
    kind: str
    rows: int
    first: int  # the least and greatest time, by the clock of the windows
    last: int
    sum: int  # the checksum of its blob, so that no other is taken for it


@dataclass(frozen=True)
class Live:
    """A lowered part over rows of a schema, and where its windows lie."""

    run: Run
    schema: pa.Schema
    identity: dict[str, Any]  # what has to stay the same for a state to go on

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
        _, size, grid = self._clock
        return Trailing(int(size or 0)) if grid is None else grid

    def clock(self, milliseconds: int) -> int:
        """Return a time in milliseconds by the clock of the windows."""
        ticks = self._clock.time.ticks_per_ms
        assert ticks is not None  # the time of a stream has a watermark, and so is a timestamp
        return int(milliseconds * ticks)

    def times(self, table: pa.Table) -> Array:
        """Return the times of rows by the clock of the windows."""
        return self.run.clock(table).time.values

    @cached_property
    def folds(self) -> bool:
        """Whether settled rows can become matrices."""
        lows = {low.of.path[0] for low in self.plan.aggregates.lows if isinstance(low.of, Piece)}
        # What is folded is gone, so that keys of MIN and MAX have to be doubles without looking at the data.
        sure = all(name in self.schema.names and _is_narrow(self.schema.field(name).type) for name in lows)
        return sure and why_not_combined(self.plan, self.schema, self.run.options) is None

    def evaluate(self, rows: pa.Table, units: list[pa.Table], wanted: KeyRange, zeros: bool) -> Evaluated:
        """Evaluate some windows from the rows and units that they are made of."""
        if not units:
            return self.run.evaluate(rows, wanted, zeros)
        found = compose(self.run, join_tables(units), rows, wanted)
        if found is None:
            message = "folded rows do not fit those after them: MIN or MAX meets the greatest doubles"
            raise self.run.place.error("overflow", message, help="leave such rows out")
        return found


def _is_narrow(type: pa.DataType) -> bool:
    """Tell whether all values of a type are doubles."""
    t = pa.types
    return bool(t.is_floating(type) or t.is_boolean(type) or (t.is_integer(type) and type.bit_width <= 32))


def join_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Put tables together whose keys may be encoded."""
    plain = [pa.table([decode(c) for c in t.columns], names=t.column_names) for t in tables]
    return pa.concat_tables(plain, promote_options="permissive")


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

    @classmethod
    def load(cls, live: Live, store: Store) -> Bucket:
        """Return the bucket that is kept in a store, or a new one."""
        kept = store.head()
        bucket = cls(live, store)
        if kept is None:
            return bucket
        try:
            head = json.loads(bytes(unseal(kept)))
            compare_identities(head["identity"], live.identity)
            bucket.seen, bucket.done, bucket.settled, bucket.next = (
                head[name] for name in ("seen", "done", "settled", "next")
            )
            bucket.segments = [Segment(*segment) for segment in head["segments"]]
        except (KeyError, SyntaxError, TypeError, ValueError) as error:
            raise damage_error(f"its head cannot be read ({error})") from error
        return bucket

    def save(self) -> None:
        """Keep the head."""
        head = {name: getattr(self, name) for name in ("seen", "done", "settled", "next")}
        head |= {"identity": self.live.identity, "segments": self.segments}
        self.store.set_head(seal(json.dumps(head, separators=(",", ":")).encode()))

    # ---- rows in

    def add(self, kept: bytes, rows: int, first: int, last: int, counted: Array | None = None) -> int:
        """Take sealed rows, with their least and greatest time; return how many were late and are dropped.

        Where rows are not `counted`, another bucket does that.
        """
        if first > self.seen:
            self._put(PENDING, kept, rows, first, last)
            return 0
        table = to_table(unseal(kept))
        times = self.live.times(table)
        good = times > self.seen
        self._write(PENDING, table.filter(pa.array(good)), times[good])
        return int((~good if counted is None else counted & ~good).sum())

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
        windows = live.windows
        over = windows.last_closed(watermark)
        if self.segments and (self.done is None or over > self.done):
            after = windows.last_before(min(s.first for s in self.segments))
            after = after if self.done is None else max(after, self.done)
            if after < over:
                rows, units = self._between(windows.start(after + 1), windows.end(over))
                if rows.num_rows or units:
                    yield live.evaluate(rows, units, (after, over), False)
            needed = windows.start(over + 1)
            self._drop([s for s in self.segments if s.last < needed])
            self._trim(needed)
        self.done = over if self.done is None else max(over, self.done)
        step, self.seen = watermark - self.seen, max(watermark, self.seen)
        # Where windows end after a few steps anyway, rows are not written twice.
        if step * STEPS <= windows.span <= (watermark - self.settled) * PARTS:
            self._settle(watermark)

    def evaluate_early(self, new: pa.Table) -> Iterator[Evaluated]:
        """Yield the windows that new rows have changed, as they are so far, of the groups that have such rows."""
        live = self.live
        times = live.times(new)
        if not times.size:
            return
        windows = live.windows
        assert isinstance(windows, Grid)
        after, last = windows.last_before(int(times.min())), windows.last_started(int(times.max()))
        after = after if self.done is None else max(after, self.done)
        if after >= last:
            return
        rows, units = self._between(windows.start(after + 1), windows.end(last))
        bound = live.plan.bound
        keys = [k for k in live.plan.universal if k in bound.group]
        paths = [bound.keys[k].path[0] for k in keys]
        rows = _among(rows, paths, new, paths)
        units = [_among(table, [f"k{k}" for k in keys], new, paths) for table in units]
        there = [table for table in units if table.num_rows]
        yield live.evaluate(rows, there, (after, last), not live.plan.machine.monotone)

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

    def _between(self, begin: int, end: int) -> tuple[pa.Table, list[pa.Table]]:
        """Return the rows from one time to before another, and the units of segments that reach there."""
        rows, units = [self.live.schema.empty_table()], []
        for segment in self.segments:
            if segment.first >= end or segment.last < begin:
                continue
            table = self.read(segment)
            if segment.kind == UNITS:
                units.append(table)
                continue
            if segment.first < begin or segment.last >= end:
                times = self.live.times(table)
                table = table.filter(pa.array((times >= begin) & (times < end)))
            rows.append(table)
        return pa.concat_tables(rows, promote_options="permissive"), units

    def _trim(self, needed: int) -> None:
        """Rewrite segments of which half or more is before the time from which rows are needed."""
        for segment in self.segments:
            middle = segment.first + (segment.last - segment.first) // 2
            if segment.kind == UNITS or segment.first >= needed or needed <= middle:
                continue
            table = self.read(segment)
            times = self.live.times(table)
            good = times >= needed
            if 2 * good.sum() <= good.size:
                self._drop([segment])
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
        if live.folds:
            units, table = stretches(live.run, table, settled=True)
            if units.num_rows:
                ends = [units.column(name).to_numpy() for name in ("first", "last")]
                self._write(UNITS, units, *ends)
                times = live.times(table)
        self._write(ROWS, table, times)


def _among(table: pa.Table, names: list[str], wanted: pa.Table, theirs: list[str]) -> pa.Table:
    """Return the rows whose keys are those of some wanted row."""
    if not names or not table.num_rows:
        return table
    ours = [decode(table.column(name)) for name in names]
    given = [decode(wanted.column(name)).cast(mine.type) for name, mine in zip(theirs, ours, strict=True)]
    if len(names) == 1 and not pa.types.is_floating(ours[0].type):
        return table.filter(pc.is_in(ours[0], value_set=given[0].combine_chunks().unique()))
    both = pa.table(
        [pa.chunked_array([*o.chunks, *g.chunks]) for o, g in zip(ours, given, strict=True)], names=names
    )
    found = [codes(both, (name,)) for name in names]
    code, _ = combine_codes([code for code, _ in found], [len(values) for _, values in found])
    return table.filter(pa.array(np.isin(code[: table.num_rows], code[table.num_rows :])))
