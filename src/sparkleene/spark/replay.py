"""A data source of Spark that plays files, or a generated stream, in order of time, as a stream or as a batch.

Offsets count the rows played. The clock decides no more than how far the stream has come.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from sparkleene.columns.paths import PLACE
from sparkleene.columns.times import TICKS_PER_MS
from sparkleene.errors import Diagnostic, QueryError, suggest
from sparkleene.generators import NAMES, find
from sparkleene.spark.timeline import FOREVER, Generated, Line, Request, Stretch, play
from sparkleene.spark.types import returned, schema_to_spark, to_arrow

Offset = dict[str, Any]
Value = TypeVar("Value")

ROWS = 100_000
"""Rows of a micro-batch where nothing else says how many."""
TASK = 250_000
"""A task plays at most so many rows, if the number of tasks is not chosen."""
GENERATOR = ("events", "groups")
PREFIX = "generate."
"""Options of a generated stream: these two, and all others with a prefix, for some names have a meaning here."""


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
        options = parse(self.options)
        if options.generated is not None:
            options = replace(options, generated=options.generated.sample())
        line = Line(options)
        if options.speed:
            line.ticks("speed")  # raises if it is unknown
        schema = line.schema
        return schema_to_spark(pa.schema([(f.name, returned(f.name, f.type, PLACE)) for f in schema]))

    def reader(self, schema: T.StructType) -> ReplayReader:
        """Return the reader of a batch: all that a stream would play; once, if that were forever."""
        return ReplayReader(parse(self.options), schema)

    def streamReader(self, schema: T.StructType) -> ReplayStreamReader:
        """Return the reader of a stream."""
        return ReplayStreamReader(parse(self.options), schema)


class _Player:
    """What the two readers have in common."""

    def __init__(self, options: Options, schema: T.StructType) -> None:
        self.options, self.schema = options, schema

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the data behind on the way to a task."""
        return type(self), (self.options, self.schema)

    @cached_property
    def line(self) -> Line:
        """The rows in order of time."""
        return Line(self.options)

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
            yield from play(partition.value, pa.schema([pa.field(*field) for field in fields]))


class ReplayReader(_Player, DataSourceReader):
    """Plays everything at once."""

    def partitions(self) -> list[InputPartition]:
        """Return the tasks; their rows follow each other in the order of play."""
        forever = self.line.total == FOREVER
        return self.between(0, self.line.rows if forever else self.line.total)


class ReplayStreamReader(_Player, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plays as the clock goes, or as fast as it can."""

    clock = staticmethod(time.monotonic)

    def __init__(self, options: Options, schema: T.StructType) -> None:
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


# ---- options


@dataclass(frozen=True)
class Options(Request):
    """What to play, in which order, and how fast."""

    rate: float | None = None
    speed: float | None = None
    rows_per_batch: int | None = None
    partitions: int | None = None


def parse(given: Mapping[str, str]) -> Options:
    """Return the options of a reader, or raise with all that is wrong in them.

    >>> parse({"path": "a.parquet", "time": "ts", "disorder": "5 seconds"}).disorder
    Fraction(5000, 1)
    """
    values: dict[str, Any] = {}
    wrong = []
    made: dict[str, str] = {}
    known = {name.lower(): name for name in _OPTIONS}
    for key, text in given.items():
        name = known.get(key.lower())
        if key.lower() in GENERATOR or key.lower().startswith(PREFIX):
            made[key.lower().removeprefix(PREFIX)] = text
            continue
        if name is None:
            every = (*_OPTIONS, *GENERATOR)
            help = suggest(key.lower(), map(str.lower, every)) or f"the options are {', '.join(every)}"
            wrong.append(Diagnostic("bad-option", f"there is no option '{key}'", help=help))
            continue
        field, convert, help = _OPTIONS[name]
        try:
            values[field] = convert(text)
        except ValueError:
            wrong.append(Diagnostic("bad-option", f"{name} is '{text}'", help=help))
    stream = values.pop("generate", None)
    wrong += _what(values, stream, made)
    if {"rate", "speed"} <= values.keys():
        wrong.append(Diagnostic("bad-option", "both rate and speed are given", help="leave one of them out"))
    if values.get("late") and not values.get("disorder"):
        help = "say later than what, for example disorder '5 seconds'"
        wrong.append(Diagnostic("bad-option", "late is given without disorder", help=help))
    if wrong:
        raise QueryError(wrong)
    return Options(**values)


def _what(values: dict[str, Any], stream: str | None, made: dict[str, str]) -> list[Diagnostic]:
    """Decide between files and a generated stream; return what is wrong with the choice."""
    wrong = []
    if stream:
        if values.get("path"):
            message = "both path and generate are given"
            wrong.append(Diagnostic("bad-option", message, help="leave one of them out"))
        try:
            options = find(stream).options(made)
            values["generated"] = Generated(stream, tuple(options.items()))
        except QueryError as error:
            wrong += error.diagnostics
        return wrong
    if not values.get("path"):
        help = f"{_OPTIONS['path'][2]}; or {_OPTIONS['generate'][2]}"
        wrong.append(Diagnostic("bad-option", "neither path nor generate is given", help=help))
    if not values.get("time"):
        wrong.append(Diagnostic("bad-option", "the option time is missing", help=_OPTIONS["time"][2]))
    for name in made:
        message = f"{name if name in GENERATOR else PREFIX + name} is given without generate"
        wrong.append(Diagnostic("bad-option", message, help=_OPTIONS["generate"][2]))
    return wrong


def _where(right: Callable[[Any], bool], convert: Callable[[str], Value]) -> Callable[[str], Value]:
    """Return a conversion that refuses some values."""

    def converted(text: str) -> Value:
        value = convert(text)
        if not right(value):
            raise ValueError(text)
        return value

    return converted


def _bound(text: str) -> int | Fraction:
    """Return a number of rows, or an interval in milliseconds.

    >>> _bound("100"), _bound("1.5 minutes")
    (100, Fraction(90000, 1))
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if found is None:
        raise ValueError(text)
    if found[2] in ("", "row", "rows"):
        return int(found[1])
    ticks = TICKS_PER_MS.get(found[2].rstrip("s") + "s")
    if ticks is None:
        raise ValueError(text)
    return Fraction(found[1]) / ticks


_count = _where(lambda value: 0 < value < FOREVER, int)
_amount = _where(lambda value: 0 < value < float("inf"), float)
_OPTIONS: dict[str, tuple[str, Callable[[str], Any], str]] = {
    "path": ("path", str, "name a file of Parquet, CSV or JSON lines, or a folder of them"),
    "generate": ("generate", str, f"name a stream to generate: {', '.join(NAMES)}"),
    "time": ("time", str, "name the column of the events' times"),
    "timeUnit": (
        "time_unit",
        _where(TICKS_PER_MS.__contains__, str),
        f"choose from {', '.join(TICKS_PER_MS)}",
    ),
    "rate": ("rate", _amount, "give rows per second, more than 0"),
    "speed": ("speed", _amount, "give a factor above 0: 60 plays an hour in a minute"),
    "rowsPerBatch": ("rows_per_batch", _count, "give a number of rows, at least 1"),
    "disorder": ("disorder", _bound, "give a number of rows, or an interval such as '5 seconds'"),
    "late": (
        "late",
        _where(lambda value: 0 <= value < 1, float),
        "give a fraction of the rows, 0 to below 1",
    ),
    "seed": ("seed", int, "give a whole number"),
    "repeat": (
        "repeat",
        lambda text: FOREVER if text.lower() == "forever" else _count(text),
        "give how many times to play the data, or 'forever'",
    ),
    "numPartitions": ("partitions", _count, "give a number of tasks, at least 1"),
}
