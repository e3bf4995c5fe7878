"""Rows of files, or of a generated stream, in order of time, repeated and put out of order on options, by number.

The driver knows where each row group begins, in rows and in time (`Timeline`). A task reads the row groups of its
stretch and puts the rows in the order of play (`read_stretch`). Which rows are between two numbers depends on the
data and on the options only.
"""

from __future__ import annotations

import sys
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pa_fs

from sparkleene.columns import tables
from sparkleene.columns.fields import decode, describe_type, missing_column, value_type
from sparkleene.columns.files import CSV, JSON
from sparkleene.columns.ipc import to_bytes, to_table
from sparkleene.columns.paths import PLACE, File, filesystem
from sparkleene.columns.times import Numbers, Time, time_column
from sparkleene.errors import first_line
from sparkleene.spark.parquet.footers import discover, find_files
from sparkleene.spark.parquet.pieces import Piece, read, select_pieces
from sparkleene.spark.replay.options import FOREVER, ReplayOptions

BATCH = 1 << 16
"""Rows of the Arrow batches that Spark gets."""
HELD = 512 << 20
"""The most bytes of Parquet data out of order that are sorted in memory."""
LATE = 4
"""Late rows come three to four bounds after their time; all others that are up to two bounds newer come before."""

Part = Any
"""A Piece of one row group, or a pyarrow Table."""


@dataclass(frozen=True)
class Slice:
    """Rows of a row group, or rows themselves in Arrow's format, and how far their times are moved."""

    data: Piece | bytes
    skip: int
    rows: int
    shift: int


@dataclass(frozen=True)
class Order:
    """The order of play: that of times, or of row numbers, each with a delay of its own below the bound."""

    bound: int = 0
    by_time: bool = False
    late: float = 0.0
    seed: int = 0

    @property
    def longest(self) -> int:
        """A delay that is longer than that of any row."""
        return self.bound * (LATE if self.late else 1)

    def delays(self, numbers: Numbers) -> Numbers:
        """Return the delays of rows by their numbers, the same in every task."""
        delays = (_random(numbers, 3 * self.seed) % np.uint64(self.bound)).astype(np.int64)
        if self.late:
            late = _random(numbers, 3 * self.seed + 1) < np.uint64(int(self.late * 2**64))
            delays[late] += (LATE - 1) * self.bound
        return delays


def _random(numbers: Numbers, seed: int) -> Numbers:
    """Return 64 random bits for each number (the mixing function of splitmix64)."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64(seed * 0xD1342543DE82EF95 & 0xFFFFFFFFFFFFFFFF)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True)
class Stretch:
    """What a task plays: of the rows in `slices`, numbered from `first` on, some `rows` after the first `skip`."""

    schema: pa.Schema
    time: str
    slices: tuple[Slice, ...]
    order: Order
    first: int
    skip: int
    rows: int


class Timeline:
    """All rows in order of time, repetitions included, known by the ends of the parts that hold them."""

    def __init__(self, options: ReplayOptions) -> None:
        self.options = options
        self.schema, parts = _parts(options)
        if options.time not in self.schema.names:
            raise missing_column(options.time, self.schema.names, PLACE)
        self.ticks_per_ms = self._time(self.schema.empty_table()).ticks_per_ms
        self.order = self._order()
        self._arrange(parts)
        self.times = lru_cache(maxsize=4)(lambda number: self._time(self.parts[number]).values)
        self.rows = self.starts[-1]
        self.total = min(self.rows * options.repeat, FOREVER)
        first, last = (self.lows[0], self.highs[-1]) if self.rows else (0, 0)
        # the gap between two repetitions is that between two rows, on the average
        self.period = last - first + max(1, (last - first) // max(1, self.rows - 1))
        about: tuple[Any, ...] = (self.rows, first, last, options.time, options.repeat, self.order)
        if options.generated is not None:
            about += (options.generated,)
        # checkpoints hold the mark: `Order` and `Generated` keep their names and fields
        self.mark = f"{zlib.crc32(repr(about).encode()):08x}"

    def _arrange(self, parts: Sequence[Part]) -> None:
        """Put parts in order of time; sort all rows if they are not in order within and between them."""
        ends, within = [], True
        for part in parts:
            values = self._time(part).values
            within = within and bool((values[1:] >= values[:-1]).all())
            ends.append((int(values.min()), int(values.max())))
        order = sorted(range(len(parts)), key=ends.__getitem__)
        self.parts = [parts[i] for i in order]
        self.lows, self.highs = [ends[i][0] for i in order], [ends[i][1] for i in order]
        counts = [part.rows if isinstance(part, Piece) else part.num_rows for part in self.parts]
        self.starts: list[int] = [0, *np.cumsum(counts, dtype=np.int64).tolist()]
        if not within or any(high > low for high, low in zip(self.highs, self.lows[1:], strict=False)):
            table = pa.concat_tables(self._table(part) for part in self._small(parts))
            self._arrange([table.take(np.argsort(self._time(table).values, kind="stable"))])

    def _small(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Return parts that can be sorted in memory, or raise."""
        size = sum(part.bytes for part in parts if isinstance(part, Piece))
        if size > HELD:
            message = f"the rows of '{self.options.path}' are not in order of '{self.options.time}'"
            help = f'sort them: spark.read.parquet(path).orderBy("{self.options.time}").write.parquet(sorted)'
            notes = [f"up to {HELD >> 20} MiB are sorted by themselves, and these are {size >> 20}"]
            raise PLACE.error("not-in-order", message, help=help, notes=notes)
        return parts

    def _order(self) -> Order:
        """Return the order of play, with the bound in the unit of the times."""
        bound, late, seed = self.options.disorder, self.options.late, self.options.seed
        if not isinstance(bound, Fraction):
            return Order(bound, False, late, seed)
        ticks = int(bound * self.ticks("disorder"))
        if bound and not ticks:
            message = f"the interval of disorder is below the unit of '{self.options.time}'"
            raise PLACE.mistake("bad-option", message, help="select_pieces a longer one, or a number of rows")
        return Order(ticks, True, late, seed)

    def ticks(self, option: str) -> Fraction:
        """Return how many units of the time column are a millisecond, or raise if nobody knows."""
        if self.ticks_per_ms is None:
            message = f"{option} is about time, '{self.options.time}' is a number and nobody said what it counts"
            raise PLACE.mistake("unit-unknown", message, help="give timeUnit, for example 'seconds'")
        return self.ticks_per_ms

    def _table(self, part: Part, *columns: str) -> pa.Table:
        """Return columns of a part, all without names."""
        schema = pa.schema([self.schema.field(name) for name in columns or self.schema.names])
        return read(part, schema) if isinstance(part, Piece) else part.select(schema.names)

    def _time(self, part: Part) -> Time:
        """Return the times of a part's rows, which are integers."""
        name = self.options.time
        found = time_column(self._table(part, name), name, self.options.time_unit, numbered=False)
        if pa.types.is_floating(found.type):
            message = f"a replay needs times that are exact: '{name}' is {describe_type(found.type)}"
            raise PLACE.error("wrong-type", message, help="cast it to a timestamp or to an integer in the data")
        return found

    def time(self, number: int) -> int:
        """Return the time of a row."""
        turn, row = divmod(number, self.rows)
        part = bisect_right(self.starts, row) - 1
        return int(self.times(part)[row - self.starts[part]]) + turn * self.period

    def before(self, time: int) -> int:
        """Return how many rows have an earlier time."""
        turn = min(max(0, (time - self.lows[0]) // self.period), self.options.repeat - 1)
        time -= turn * self.period
        part = bisect_left(self.highs, time)
        inside = int(np.searchsorted(self.times(part), time)) if part < len(self.parts) else 0
        return turn * self.rows + self.starts[part] + inside

    def stretch(self, start: int, end: int, names: Sequence[str]) -> Stretch:
        """Return what a task needs to play the rows from one number to another.

        Let delays be below d. The row that is played k-th has a time plus delay of at least the k-th time, and
        below the k-th time plus d. So rows d or more before the k-th time are played earlier, and rows d or more
        after it are played later.
        """
        for name in names:
            if name not in self.schema.names:
                raise missing_column(name, self.schema.names, PLACE)
        low, high, longest = start, end, self.order.longest
        if longest and self.order.by_time:
            low, high = self.before(self.time(start) - longest + 1), self.before(self.time(end - 1) + longest)
        elif longest:
            low, high = max(0, start - longest + 1), min(self.total, end + longest - 1)
        schema = pa.schema([field for field in self.schema if field.name in {*names, self.options.time}])
        slices = tuple(self._slices(low, high, schema.names))
        return Stretch(schema, self.options.time, slices, self.order, low, start - low, end - start)

    def _slices(self, low: int, high: int, names: Sequence[str]) -> Iterator[Slice]:
        """Yield where rows are, or the rows if no file has them in order."""
        while low < high:
            turn, row = divmod(low, self.rows)
            number = bisect_right(self.starts, row) - 1
            skip, rows = row - self.starts[number], min(high - low, self.starts[number + 1] - row)
            part = self.parts[number]
            if isinstance(part, Piece):
                yield Slice(part, skip, rows, turn * self.period)
            else:
                yield Slice(bytes(to_bytes(part.slice(skip, rows).select(names))), 0, rows, turn * self.period)
            low += rows


def _parts(options: ReplayOptions) -> tuple[pa.Schema, Sequence[Part]]:
    """Return the row groups of Parquet files, or the rows of CSV or JSON files or of a generated stream."""
    if options.generated is not None:
        table = options.generated.table()
        return table.schema, [table]
    path = options.path
    files = find_files(path)
    if all(file.path.lower().endswith((*CSV, *JSON)) for file in files):
        table = pa.concat_tables([_text(file) for file in files], promote_options="permissive")
        return table.schema, [table] if table.num_rows else []
    known = discover(path)
    source = select_pieces(known, known.schema.names, options.time, parallelism=sys.maxsize)  # a row group each
    return pa.schema([field.with_type(value_type(field.type)) for field in source.schema]), source.pieces


def _text(file: File) -> pa.Table:
    """Read a file of CSV or JSON lines, with timestamps in Spark's unit."""
    if not isinstance(filesystem(file.uri), pa_fs.LocalFileSystem):
        message = f"'{file.shown}' is a CSV or JSON file that is not on this machine"
        raise PLACE.error("unsupported-data", message, help="copy it here, or write it as Parquet")
    table = tables.read_data(file.path)[0]
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            try:
                column = table.column(i).cast(pa.timestamp("us", field.type.tz))
            except pa.ArrowInvalid as error:
                message = f"times in '{field.name}' of '{file.shown}' are finer than Spark's microseconds"
                help = "round the column in the data"
                raise PLACE.error("time-too-fine", message, help=help, notes=[first_line(error)]) from error
            table = table.set_column(i, field.name, column)
    return table


# ---- in tasks


def read_stretch(stretch: Stretch, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a stretch in the order of play, as Spark wants them."""
    recall = lru_cache(maxsize=2)(lambda piece: read(piece, stretch.schema))  # short files may be repeated
    found, times = [], []
    for part in stretch.slices:
        data = part.data
        whole = recall(data) if isinstance(data, Piece) else to_table(data)
        rows = whole.slice(part.skip, part.rows)
        time = time_column(rows, stretch.time, numbered=False)
        if part.shift:
            place = rows.schema.get_field_index(stretch.time)
            rows = rows.set_column(place, stretch.time, time.to_array(time.values + part.shift))
        if stretch.order.bound:
            found.append(_fit(rows, target))
            times.append(time.values + part.shift)
        else:
            yield from _fit(rows, target).to_batches(max_chunksize=BATCH)
    if found:
        numbers = np.arange(stretch.first, stretch.first + sum(map(len, times)))
        keys = np.concatenate(times) if stretch.order.by_time else numbers
        order = np.argsort(keys + stretch.order.delays(numbers), kind="stable")
        order = order[stretch.skip : stretch.skip + stretch.rows]
        yield from pa.concat_tables(found).combine_chunks().take(order).to_batches(max_chunksize=BATCH)


def _fit(table: pa.Table, target: pa.Schema) -> pa.Table:
    """Return the columns of a schema, in its types."""
    columns: list[Any] = [decode(table.column(field.name)).cast(field.type) for field in target]
    return pa.Table.from_arrays(columns, schema=target)
