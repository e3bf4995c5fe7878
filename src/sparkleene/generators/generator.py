"""What the streams have in common: their options, their clock, and events that belong to groups."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sparkleene.errors import Diagnostic, QueryError, suggest

Array = np.ndarray[Any, Any]
Columns = dict[str, Any]

START = datetime(2024, 3, 4, tzinfo=UTC)
"""The time of the first event, or just before it."""
LONGEST = 1000 * 365.25 * 86400
MOST_EVENTS = 1 << 40
MOST = 1 << 24
"""What groups and other counts are at most, and the keys that two of them make four times as many."""
CHUNK = 1 << 24
"""Rows of a chunk of text: Arrow holds at most 2 GiB of it in one."""


@dataclass(frozen=True)
class Option:
    """An option of a stream: its default, None where others decide, and what its values are."""

    default: float | None
    kind: Literal["events", "count", "amount", "share", "whole"]

    def value(self, given: Any) -> float | None:
        """Return the value given, which may be text, or raise ValueError."""
        if given is None:
            return self.default
        if isinstance(given, bool) or not isinstance(given, int | float | str | np.integer | np.floating):
            raise ValueError(given)
        if self.kind in ("events", "count", "whole"):
            if isinstance(given, float | np.floating) and not float(given).is_integer():
                raise ValueError(given)
            whole = int(given)
            if self.kind != "whole" and not 1 <= whole <= (MOST if self.kind == "count" else MOST_EVENTS):
                raise ValueError(given)
            return whole
        number = float(given)
        if not math.isfinite(number) or number < 0 or (self.kind == "share" and number > 1):
            raise ValueError(given)
        if self.kind == "amount" and number == 0:
            raise ValueError(given)
        return number


HELP = {
    "events": "give a whole number, at least 1",
    "count": f"give a whole number from 1 to {MOST}",
    "amount": "give a number above 0",
    "share": "give a number from 0 to 1",
    "whole": "give a whole number",
}


@dataclass(frozen=True)
class Generator:
    """A stream: its name, how many groups and events per second it has, and how its columns are made."""

    name: str
    make: Callable[..., Columns]
    groups: int | None
    rate: float | None
    more: Mapping[str, Option] = field(default_factory=dict)
    ramp: bool = False

    @cached_property
    def known(self) -> dict[str, Option]:
        """All options by name."""
        return {
            "events": Option(1_000_000, "events"),
            "seed": Option(0, "whole"),
            "groups": Option(self.groups, "count"),
            "rate": Option(self.rate, "amount"),
            "tick": Option(None, "amount"),
            **self.more,
        }

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options with their values, or raise with all that is wrong in them."""
        wrong = []
        for name in given:
            if name not in self.known:
                help = suggest(name, self.known) or f"its options are {', '.join(self.known)}"
                message = f"the stream '{self.name}' has no option '{name}'"
                wrong.append(Diagnostic("bad-option", message, help=help))
        values: dict[str, Any] = {}
        for name, option in self.known.items():
            try:
                values[name] = option.value(given.get(name))
            except ValueError:
                message = f"{name} of the stream '{self.name}' is {given[name]!r}"
                wrong.append(Diagnostic("bad-option", message, help=HELP[option.kind]))
        if not wrong and values["events"] / (values["rate"] or values["groups"]) > LONGEST:
            message = f"rate of the stream '{self.name}' is {values['rate']}: its events take over a thousand years"
            wrong.append(Diagnostic("bad-option", message, help="give more events per second"))
        if wrong:
            raise QueryError(wrong)
        return values

    def table(self, options: Mapping[str, Any]) -> pa.Table:
        """Return the stream for options that were checked."""
        more = dict(options)
        events, seed, tick = more.pop("events"), more.pop("seed"), more.pop("tick")
        rate = more.pop("rate") or more["groups"]  # where none is known, an event a second of each
        # a seed of its own for each stream, so that two of them are not alike
        rng = np.random.default_rng([seed & 0xFFFFFFFFFFFFFFFF, zlib.crc32(self.name.encode())])
        seconds = clock(rng, events, rate, self.ramp)
        columns = self.make(rng, seconds, rate=rate, **more)
        return pa.table({"time": to_timestamps(seconds, tick), **columns})


# ---- time


def clock(rng: np.random.Generator, events: int, rate: float, ramp: bool = False) -> Array:
    """Return ascending seconds, one at random in each 1 / rate; on a ramp the rate grows from 0 up to `rate`.

    >>> seconds = clock(np.random.default_rng(0), 100, 4)
    >>> bool(np.all(np.floor(seconds * 4) == np.arange(100)))
    True
    """
    places = rng.random(events)
    places += np.arange(events)
    if ramp:  # by the time t, rate * t² / (2 * whole) events have come, with the whole time 2 * events / rate
        return np.sqrt(places * events) * (2 / rate)
    places /= rate
    return places


def to_timestamps(seconds: Array, tick: float | None = None) -> pa.Array:
    """Return seconds after the start as timestamps, rounded down to multiples of `tick` seconds."""
    micros = (seconds * 1e6).astype(np.int64)
    if tick is not None:
        micros -= micros % max(1, round(tick * 1e6))
    micros += int(START.timestamp()) * 1_000_000
    return pa.array(micros).view(pa.timestamp("us", "UTC"))


# ---- groups


class Members:
    """Which group each event belongs to, and the events sorted by group: there a group is one stretch.

    Values made for the sorted events, such as random walks, go back to their places with `spread`.
    """

    def __init__(self, codes: Array, groups: int) -> None:
        self.codes = codes
        self.order = np.argsort(codes, kind="stable")  # a radix sort, for codes of 16 bits
        self.sizes = np.bincount(codes, minlength=groups)
        self.starts = np.cumsum(self.sizes) - self.sizes

    @classmethod
    def random(cls, rng: np.random.Generator, events: int, groups: int) -> Members:
        """Let each event belong to any group, all equally likely."""
        if groups > 4 * MOST:
            message = f"the stream would have {groups} sub-streams"
            raise QueryError(Diagnostic("bad-option", message, help=f"let it have {4 * MOST} or less"))
        return cls(rng.integers(0, groups, events, dtype=np.uint16 if groups <= 1 << 16 else np.uint32), groups)

    @cached_property
    def sorted(self) -> Array:
        """The groups of the sorted events."""
        return np.repeat(np.arange(self.sizes.size, dtype=self.codes.dtype), self.sizes)

    @cached_property
    def places(self) -> Array:
        """The numbers of the sorted events within their groups, from 0."""
        return np.arange(self.codes.size) - np.repeat(self.starts, self.sizes)

    def walk(self, steps: Array) -> Array:
        """Return the sums of the steps of the sorted events within each group."""
        sums = np.cumsum(steps)
        before = np.where(self.starts > 0, sums[np.maximum(self.starts, 1) - 1], 0)
        return np.asarray(sums - np.repeat(before, self.sizes))

    def spread(self, values: Array) -> Array:
        """Put values of sorted events back in order of time."""
        found = np.empty_like(values)
        found[self.order] = values
        return found


def cut(lengths: Array, events: int) -> tuple[Array, Array]:
    """Return for each event which of the stretches, one after the other, it is in, and its number there.

    >>> [found.tolist() for found in cut(np.array([2, 3, 4]), 6)]
    [[0, 0, 1, 1, 1, 2], [0, 1, 0, 1, 2, 0]]
    """
    ends = np.cumsum(lengths)
    count = int(np.searchsorted(ends, events)) + 1
    number = np.repeat(np.arange(count, dtype=np.int32), lengths[:count])[:events]
    places = np.arange(events) - (ends - lengths)[number]
    return number, places.astype(np.int32)


# ---- columns


def text(codes: Array, vocabulary: Sequence[str]) -> pa.ChunkedArray:
    """Return codes as a column of text; a code of -1 is NULL.

    >>> text(np.array([1, -1, 0]), ["a", "b"]).to_pylist()
    ['b', None, 'a']
    """
    known = pa.array(list(vocabulary), pa.string())
    parts = []
    for first in range(0, codes.size, CHUNK):
        part = codes[first : first + CHUNK]
        parts.append(known.take(pa.array(part, mask=part < 0 if part.dtype.kind == "i" else None)))
    return pa.chunked_array(parts, pa.string())


def constant(word: str, events: int) -> pa.ChunkedArray:
    """Return a column of one word."""
    return text(np.zeros(events, np.uint8), [word])


def number_names(prefix: str, count: int, named: Sequence[str] = ()) -> list[str]:
    """Return names: those given, then numbers after a prefix.

    >>> number_names("C", 3, ["DELL"])
    ['DELL', 'C1', 'C2']
    """
    width = len(str(max(count - 1, 0)))
    return [*named[:count], *(f"{prefix}{i:0{width}}" for i in range(len(named), count))]
