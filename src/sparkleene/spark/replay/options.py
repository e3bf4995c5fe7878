"""The options of a replay: what to play, in which order, and how fast."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import pyarrow as pa

from sparkleene.errors import Diagnostic, QueryError, suggest
from sparkleene.generators import NAMES, find
from sparkleene.language.units import TICKS_PER_MS

Value = TypeVar("Value")

FOREVER = 1 << 62  # rows, or repetitions
GENERATOR = ("events", "groups")
PREFIX = "generate."
"""Options of a generated stream: these two, and all others with a prefix, for some names have a meaning here."""


@dataclass(frozen=True)
class Generated:
    """A stream that `sparkleene.generate` makes, with the values of all its options."""

    name: str
    options: tuple[tuple[str, Any], ...]

    def table(self) -> pa.Table:
        """Make the stream."""
        return find(self.name).table(dict(self.options))

    def sample(self) -> Generated:
        """Return the same with one event, which has the columns of all."""
        return Generated(self.name, tuple((dict(self.options) | {"events": 1}).items()))


@dataclass(frozen=True)
class ReplayOptions:
    """What to play, either files or a generated stream, in which order, and how fast.

    `disorder` is a number of rows, or an interval of time in milliseconds.
    """

    path: str = ""
    generated: Generated | None = None
    time: str = "time"
    time_unit: str | None = None
    disorder: int | Fraction = 0
    late: float = 0.0
    seed: int = 0
    repeat: int = 1
    rate: float | None = None
    speed: float | None = None
    rows_per_batch: int | None = None
    partitions: int | None = None


def parse_options(given: Mapping[str, str]) -> ReplayOptions:
    """Return the options of a reader, or raise with all that is wrong in them.

    >>> parse_options({"path": "a.parquet", "time": "ts", "disorder": "5 seconds"}).disorder
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
    return ReplayOptions(**values)


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

    def convert_checked(text: str) -> Value:
        value = convert(text)
        if not right(value):
            raise ValueError(text)
        return value

    return convert_checked


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
    "timeUnit": ("time_unit", _where(TICKS_PER_MS.__contains__, str), f"choose from {', '.join(TICKS_PER_MS)}"),
    "rate": ("rate", _amount, "give rows per second, more than 0"),
    "speed": ("speed", _amount, "give a factor above 0: 60 plays an hour in a minute"),
    "rowsPerBatch": ("rows_per_batch", _count, "give a number of rows, at least 1"),
    "disorder": ("disorder", _bound, "give a number of rows, or an interval such as '5 seconds'"),
    "late": ("late", _where(lambda value: 0 <= value < 1, float), "give a fraction of the rows, 0 to below 1"),
    "seed": ("seed", int, "give a whole number"),
    "repeat": (
        "repeat",
        lambda text: FOREVER if text.lower() == "forever" else _count(text),
        "give how many times to play the data, or 'forever'",
    ),
    "numPartitions": ("partitions", _count, "give a number of tasks, at least 1"),
}
