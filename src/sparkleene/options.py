"""What a user says beside the text of a query: which columns hold what, and how numbers are kept."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast, get_args

from sparkleene.columns.reading import EngineOptions
from sparkleene.errors import Place
from sparkleene.olap.hierarchy import Hierarchy, read_hierarchy

TimeUnit = Literal["nanoseconds", "microseconds", "milliseconds", "seconds", "minutes", "hours", "days"]
Numbers = Literal["double", "long", "exact"]
HierarchyLike = Mapping[str, str] | str | os.PathLike[str] | Hierarchy
"""A hierarchy as users give it: names to those above them, or a file of them."""

SESSION = "session"
"""The time zone that stands for the one of Spark's session."""

F = TypeVar("F", bound=Callable[..., Any])


class ReadingKeywords(TypedDict, total=False):
    """The arguments that say how events are read; `sparkleene.query` says what they mean."""

    time: str
    type: str | None
    tiebreak: str | None
    types: Mapping[str, str] | None
    time_unit: TimeUnit | None
    numbers: Numbers
    offset: float | Fraction | timedelta | None
    timezone: str


class Keywords(ReadingKeywords, total=False):
    """The arguments of `sparkleene.query` beside the text."""

    hierarchy: HierarchyLike | None


@dataclass(frozen=True)
class QueryOptions:
    """The options of a query, checked; all queries of a workload or a cube have the same."""

    time: str = "time"
    type: str | None = "type"
    tiebreak: str | None = None
    types: Mapping[str, str] | None = None
    time_unit: TimeUnit | None = None
    numbers: Numbers = "double"
    offset: float | Fraction | timedelta | None = None
    timezone: str = "UTC"
    hierarchy: Hierarchy | None = None

    def change(self, place: Place = Place(), **given: Unpack[Keywords]) -> QueryOptions:
        """Return other options, of which some are given, or raise what is wrong with them.

        >>> QueryOptions().change(time="at", hierarchy={"Dallas": "Texas"}).hierarchy
        Hierarchy(parents={'Dallas': 'Texas'})
        """
        concepts = given.get("hierarchy")
        if concepts is not None and not isinstance(concepts, Hierarchy):
            given["hierarchy"] = read_hierarchy(concepts)
        made = replace(self, **given)  # type: ignore[arg-type]
        if made.numbers not in get_args(Numbers):
            help = "choose 'double', 'long' or 'exact'"
            raise place.mistake("bad-option", f"numbers is '{made.numbers}'", help=help)
        number = isinstance(made.offset, int | float | Fraction) and math.isfinite(made.offset)
        if made.offset is not None and not number and not isinstance(made.offset, timedelta):
            help = "pass a number or a timedelta"
            raise place.mistake("bad-option", f"offset is {made.offset!r}", help=help)
        if not isinstance(made.timezone, str):
            help = "pass the name of a time zone, such as 'Europe/Berlin', or leave it out for UTC"
            raise place.mistake("bad-option", f"timezone is {made.timezone!r}", help=help)
        if made.timezone not in ("UTC", SESSION):
            from sparkleene.columns.time_zones import find_zone

            find_zone(made.timezone, place)
        if made.hierarchy is not None and (made.type is None or made.types is not None):
            help = "leave out types=, and name the column with type="
            raise place.mistake("bad-option", "a hierarchy is for types in a column", help=help)
        return made

    @property
    def keywords(self) -> Keywords:
        """The options as the arguments that they are given by."""
        return cast(Keywords, dict(vars(self)))

    @property
    def type_column(self) -> str | None:
        """The column whose values are event types, None if there is none or types are conditions."""
        return self.type if self.types is None and self.hierarchy is None else None

    def for_engine(self, zone: str | None = None) -> EngineOptions:
        """Return what the engine needs to know; `zone` is that of a session of Spark, if there is one."""
        if isinstance(self.offset, timedelta):
            offset = Fraction(self.offset // timedelta(microseconds=1), 1000)
        else:
            offset = Fraction(self.offset or 0)
        type = None if self.hierarchy is not None else self.type
        in_ms = isinstance(self.offset, timedelta)
        timezone = self.timezone if self.timezone != SESSION else self._session_zone(zone)
        return EngineOptions(self.time, type, self.tiebreak, self.time_unit, self.numbers, offset, in_ms, timezone)

    @staticmethod
    def _session_zone(zone: str | None) -> str:
        """Return the zone of Spark's session, or raise if there is none or Python does not know it."""
        if zone is None:
            message = "timezone is 'session', which is known for DataFrames and paths on Spark alone, not in SQL"
            help = "write the name of a time zone, such as 'Europe/Berlin'"
            raise Place().mistake("bad-option", message, help=help)
        from sparkleene.columns.time_zones import find_zone

        find_zone(zone)
        return zone


def list_options(function: F, *more: type) -> F:
    """Make `help` and editors show the options of a function one by one, after those of `more` dataclasses."""
    signature = inspect.signature(function)
    shown = {name: one for name, one in signature.parameters.items() if one.kind is not one.VAR_KEYWORD}
    for option in (field for kind in (*more, QueryOptions) for field in fields(kind)):
        hint = "HierarchyLike | None" if option.name == "hierarchy" else option.type
        one = inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hint
        )
        shown.setdefault(option.name, one)
    function.__signature__ = signature.replace(parameters=[*shown.values()])  # type: ignore[attr-defined]
    return function
