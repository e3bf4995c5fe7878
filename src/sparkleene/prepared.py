"""A query before it meets data: its text, its syntax tree and its options, and a plan for any set of columns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from sparkleene.errors import Place, suggest_column
from sparkleene.language import parse, parse_expression, to_text
from sparkleene.language.bind import bind
from sparkleene.language.patterns import type_spans
from sparkleene.options import SESSION, QueryOptions
from sparkleene.plan.needed_columns import needed_columns
from sparkleene.plan.plan import Plan, plan

V = TypeVar("V")
Columns = tuple[str, ...] | None
"""The names of a table's columns, None while no table is known."""


class Recent(Generic[V]):
    """The values of the last few keys, which threads may share."""

    def __init__(self, most: int = 8) -> None:
        """Take how many values are kept."""
        self._most = most
        self._values: dict[Hashable, V] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of a key, which is made if it is not there."""
        with self._lock:
            if key in self._values:
                return self._values[key]
        made = make()
        with self._lock:
            while len(self._values) >= self._most:
                del self._values[next(iter(self._values))]
            return self._values.setdefault(key, made)


class PreparedQuery:
    """What the library knows of a query; `Query`, workloads, cubes and Spark all use it.

    >>> one = PreparedQuery("RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE A.price > 3", QueryOptions(), "a.q")
    >>> one.columns(one.plan_for(None))
    ['price', 'time', 'type']
    """

    def __init__(self, text: str, options: QueryOptions, filename: str = "query") -> None:
        """Parse the text and plan the query for columns that nobody knows yet."""
        self.place = Place(text, filename)
        self.options = options
        self.tree = parse(text, filename)
        conditions = options.types
        if options.hierarchy is not None and options.type is not None:  # a concept is all that is below it
            conditions = options.hierarchy.type_conditions(type_spans(self.tree.pattern), options.type)
        self.conditions = conditions
        self._types = (
            None
            if conditions is None
            else {name: parse_expression(of, f"types[{name!r}]") for name, of in conditions.items()}
        )
        self._plans: Recent[Plan] = Recent()
        self.plan_for(None)

    @property
    def text(self) -> str:
        """The query's text as it was written."""
        return self.place.source

    @property
    def canonical(self) -> str:
        """The query's text, however it was written."""
        return to_text(self.tree)

    def plan_for(self, columns: Columns) -> Plan:
        """Return the plan for a table with these columns."""
        return self._plans.get(columns, lambda: self._make_plan(columns))

    def _make_plan(self, columns: Columns) -> Plan:
        bound = bind(
            self.tree,
            columns=columns,
            types=self._types,
            any_type=self.options.type is None and self._types is None,
            time=self.options.time,
            time_unit=self.options.time_unit,
            place=self.place,
        )
        return plan(bound, self.place)

    def columns(self, plan: Plan) -> list[str]:
        """Return the columns of the data that a plan of the query reads."""
        others = (self.options.time, self.options.type_column, self.options.tiebreak)
        return sorted(needed_columns(plan.bound) | {name for name in others if name is not None})

    def check_types(self, names: Collection[str]) -> None:
        """Raise if data with these columns has none of event types, with the ways to do without."""
        column = self.options.type_column
        if column is not None and column not in names:
            help = suggest_column(column, names) or (
                "pass type= with its name, type=None if all rows are of one type,"
                " or types= to define types by conditions"
            )
            message = f"the data has no column '{column}' for event types"
            notes = [f"its columns are {', '.join(names)}"]
            raise self.place.error("missing-column", message, help=help, notes=notes)

    def explain(self, plan: Plan, more: Mapping[str, Iterable[tuple[str, ...]]] | None = None) -> str:
        """Say how a plan of the query is evaluated; `more` are further sections."""
        from sparkleene.columns.time_zones import changes_clocks
        from sparkleene.plan.explain import Reading, explain

        given = self.options
        type = None if given.hierarchy is not None else given.type
        offset = None if given.offset is None else f"windows start {given.offset} later"
        zone = given.timezone if given.timezone != SESSION else "the session's time zone"
        clocks = given.timezone == SESSION or changes_clocks(given.timezone)
        reading = Reading(given.time, type, given.tiebreak, given.numbers, offset, zone, clocks)
        return explain(plan, self.canonical, reading, more)

    def __reduce__(self) -> tuple[type[PreparedQuery], tuple[Any, ...]]:
        """Survive pickling as what the query was made of."""
        return type(self), (self.text, self.options, self.place.filename)
