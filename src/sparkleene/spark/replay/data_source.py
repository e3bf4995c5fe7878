"""A data source of Spark that plays files, or a generated stream, in order of time, as a stream or as a batch.

Offsets count the rows played. The clock decides no more than how far the stream has come.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from sparkleene.columns.paths import PLACE
from sparkleene.spark.replay.options import FOREVER, ReplayOptions, parse_options
from sparkleene.spark.replay.timeline import Stretch, Timeline, read_stretch
from sparkleene.spark.sql.types import result_type, schema_to_spark, to_arrow

Offset = dict[str, Any]

ROWS = 100_000
"""Rows of a micro-batch where nothing else says how many."""
TASK = 250_000
"""The most rows of a task, if the number of tasks is not chosen."""


class Replay(DataSource):
    """The data source: `sparkleene.spark.register(spark)`, then `spark.readStream.format("sparkleene.replay")`.

    docs/reference/replay.md lists its options.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "sparkleene.replay"

    def schema(self) -> T.StructType:
        """Return the columns of the files, or of the generated stream."""
        options = parse_options(self.options)
        if options.generated is not None:
            options = replace(options, generated=options.generated.sample())
        line = Timeline(options)
        if options.speed:
            line.ticks("speed")  # raises if it is unknown
        schema = line.schema
        return schema_to_spark(pa.schema([(f.name, result_type(f.name, f.type, PLACE)) for f in schema]))

    def reader(self, schema: T.StructType) -> ReplayReader:
        """Return the reader of a batch: all that a stream would play; once, if that were forever."""
        return ReplayReader(parse_options(self.options), schema)

    def streamReader(self, schema: T.StructType) -> ReplayStreamReader:
        """Return the reader of a stream."""
        return ReplayStreamReader(parse_options(self.options), schema)


class _Reader:
    """What the two readers have in common."""

    def __init__(self, options: ReplayOptions, schema: T.StructType) -> None:
        self.options, self.schema = options, schema

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the data behind on the way to a task."""
        return type(self), (self.options, self.schema)

    @cached_property
    def line(self) -> Timeline:
        """The rows in order of time."""
        return Timeline(self.options)

    def between(self, start: int, end: int) -> list[InputPartition]:
        """Return tasks of about the same number of rows, in order."""
        count = min(self.options.partitions or -(-(end - start) // TASK), end - start)
        cuts = [start + (end - start) * i // count for i in range(count + 1)] if count else []
        names = self.schema.fieldNames()
        return [InputPartition(self.line.stretch(*ends, names)) for ends in pairwise(cuts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        if isinstance(partition.value, Stretch):  # Spark makes a partition of None where there is none
            fields = [(field.name, to_arrow(field.dataType), field.nullable) for field in self.schema.fields]
            yield from read_stretch(partition.value, pa.schema([pa.field(*field) for field in fields]))


class ReplayReader(_Reader, DataSourceReader):
    """Plays everything at once."""

    def partitions(self) -> list[InputPartition]:
        """Return the tasks; their rows follow each other in the order of play."""
        forever = self.line.total == FOREVER
        return self.between(0, self.line.rows if forever else self.line.total)


class ReplayStreamReader(_Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plays as the clock goes, or as fast as it can."""

    clock = staticmethod(time.monotonic)

    def __init__(self, options: ReplayOptions, schema: T.StructType) -> None:
        super().__init__(options, schema)
        self.available_now = False
        self._target: int | None = None
        self._begun: tuple[float, int] | None = None  # the clock and the number of rows when this run began

    def initialOffset(self) -> Offset:
        """Return the offset before the first row."""
        return self._offset(0)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return how far to play from an offset on."""
        at = self._number(start)
        if isinstance(limit, ReadAllAvailable):  # the trigger wants everything in one batch
            return self._offset(self._end(at))
        due = self._end(at) if self.available_now else self._due(at)
        by_clock = not self.available_now and (self.options.rate or self.options.speed)
        most = self.options.rows_per_batch or (FOREVER if by_clock else ROWS)
        return self._offset(max(at, min(due, at + most, self.line.total)))

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return a limit other than that of a trigger that wants everything."""
        return ReadMaxRows(self.options.rows_per_batch or FOREVER)

    def prepareForTriggerAvailableNow(self) -> None:
        """Play to the end of the data, whatever the clock says."""
        self.available_now = True

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the tasks of a micro-batch."""
        return self.between(self._number(start), self._number(end))

    def _end(self, at: int) -> int:
        """Return where the data ends; if it is repeated forever, where the present repetition does."""
        if self.line.total < FOREVER:
            return self.line.total
        if self._target is None:
            self._target = (at // self.line.rows + 1) * self.line.rows
        return self._target

    def _due(self, at: int) -> int:
        """Return how many rows are to be played by now."""
        if self._begun is None:
            self._begun = (self.clock(), at)
        clock, first = self._begun
        seconds = self.clock() - clock
        if self.options.rate:
            return first + int(seconds * self.options.rate)
        if self.options.speed and first < self.line.total:
            ticks = seconds * self.options.speed * 1000 * float(self.line.ticks("speed"))
            return self.line.before(self.line.time(first) + int(ticks) + 1)
        return FOREVER

    def _offset(self, rows: int) -> Offset:
        """Return an offset; it tells which replay it belongs to."""
        return {"rows": rows, "replay": self.line.mark}

    def _number(self, offset: Offset) -> int:
        """Return how many rows an offset counts, or raise if they are not rows of this replay."""
        if offset["replay"] != self.line.mark:
            message = "the checkpoint is that of a replay with other data, or another order of it"
            help = "give the data, disorder, late, seed and repeat of that replay, or choose a new checkpoint"
            raise PLACE.mistake("other-replay", message, help=help)
        return int(offset["rows"])
