"""A query in a user's hands: text in, results out."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from sparkleene.errors import DataError, Diagnostic, Place, QueryError, suggest_column
from sparkleene.language import ast, parse, parse_expression, to_text
from sparkleene.language.bind import bind
from sparkleene.language.build import Builder, PatternPart
from sparkleene.plan.plan import Plan, plan

if TYPE_CHECKING:
    from sparkleene.charts import Chart
    from sparkleene.columns.options import Options
    from sparkleene.olap.hierarchy import Hierarchy
    from sparkleene.spark.request import Request

Strategy = Literal["shuffle", "combine", "sort"]
OutputMode = Literal["append", "update"]
TimeUnit = Literal["nanoseconds", "microseconds", "milliseconds", "seconds", "minutes", "hours", "days"]


class Query:
    """A parsed and planned query; make one with `sparkleene.query`."""

    def __init__(
        self,
        text: str,
        *,
        time: str = "time",
        type: str | None = "type",
        tiebreak: str | None = None,
        types: Mapping[str, str] | None = None,
        time_unit: TimeUnit | None = None,
        numbers: Literal["double", "exact"] = "double",
        offset: float | Fraction | timedelta | None = None,
        hierarchy: Mapping[str, str] | str | os.PathLike[str] | Hierarchy | None = None,
        filename: str = "query",
    ) -> None:
        """Parse, bind and plan the text; see `sparkleene.query`."""
        if numbers not in ("double", "exact"):
            raise QueryError(
                Diagnostic("bad-option", f"numbers is '{numbers}'", help="choose 'double' or 'exact'"),
                text,
                filename,
            )
        number = isinstance(offset, int | float | Fraction) and math.isfinite(offset)
        if offset is not None and not number and not isinstance(offset, timedelta):
            wrong = Diagnostic("bad-option", f"offset is {offset!r}", help="pass a number or a timedelta")
            raise QueryError(wrong, text, filename)
        self.text = text
        self._filename = filename
        self._given: dict[str, Any] = {
            "time": time,
            "type": type,
            "tiebreak": tiebreak,
            "types": types,
            "time_unit": time_unit,
            "numbers": numbers,
            "offset": offset,
            "hierarchy": None,
        }
        self._tree = parse(text, filename)
        if hierarchy is not None:
            self._given["hierarchy"], types = self._concepts(hierarchy)
            type = None
        self._time, self._type, self._tiebreak = time, type, tiebreak
        self._time_unit, self._numbers, self._offset = time_unit, numbers, offset
        defined = (
            {}
            if types is None
            else {name: parse_expression(of, f"types[{name!r}]") for name, of in types.items()}
        )
        self._types = defined if types is not None else None
        self._plan_for = lru_cache(maxsize=8)(self._make_plan)
        self.plan: Plan = self._plan_for(None)

    def _concepts(self, given: Any) -> tuple[Hierarchy, dict[str, str]]:
        """Return a hierarchy, and the types of the pattern as conditions: a concept is all that is below it."""
        from sparkleene.language.patterns import type_spans
        from sparkleene.olap.hierarchy import Hierarchy, hierarchy

        column = self._given["type"]
        if column is None or self._given["types"] is not None:
            help = "leave out types=, and name the column with type="
            raise self._wrong("a hierarchy is for types in a column", help)
        known = given if isinstance(given, Hierarchy) else hierarchy(given)
        return known, known.types(type_spans(self._tree.pattern), column)

    def _make_plan(self, columns: tuple[str, ...] | None) -> Plan:
        bound = bind(
            self._tree,
            columns=columns,
            types=self._types,
            any_type=self._type is None and self._types is None,
            source=self.text,
            filename=self._filename,
        )
        return plan(bound, self.text, self._filename)

    def _options(self) -> Options:
        from sparkleene.columns.options import Options

        span = isinstance(self._offset, timedelta)
        if isinstance(self._offset, timedelta):
            offset = Fraction(self._offset // timedelta(microseconds=1), 1000)
        else:
            offset = Fraction(self._offset or 0)
        return Options(self._time, self._type, self._tiebreak, self._time_unit, self._numbers, offset, span)

    def _needed(self, made: Plan, names: Collection[str]) -> list[str]:
        """Return the columns of the data that the query reads."""
        from sparkleene.plan.needs import needs

        wanted = needs(made.bound) | {self._time}
        if self._type is not None and self._types is None:
            wanted.add(self._type)
        if self._tiebreak is not None:
            wanted.add(self._tiebreak)
        return sorted(wanted)

    def _check_type(self, names: Collection[str]) -> None:
        """Raise if there is no column of event types, with the ways to do without."""
        if self._types is None and self._type is not None and self._type not in names:
            message = f"the data has no column '{self._type}' for event types"
            notes = (f"its columns are {', '.join(names)}",)
            help = suggest_column(self._type, names) or (
                "pass type= with its name, type=None if all rows are of one type,"
                " or types= to define types by conditions"
            )
            raise DataError(
                Diagnostic("missing-column", message, notes=notes, help=help), self.text, self._filename
            )

    def run(
        self,
        data: Any,
        *,
        engine: Literal["local", "spark"] | None = None,
        threads: int | None = None,
        strategy: Strategy | None = None,
        output_mode: OutputMode | None = None,
    ) -> Any:
        """Evaluate the query over a table and return the result as the same kind of data.

        `data` is a pyarrow Table or RecordBatch, a pandas or polars frame, or the path of files of Parquet, CSV or
        JSON lines: a file, a folder, a pattern, or a list of them (the result is then a Table). `threads` defaults
        to all cores.

        The result for a DataFrame of Spark is one that is not evaluated yet. So it is for the path of Parquet files
        (a file, a folder, a pattern, a URI, or a list of them) with engine="spark": tasks of the active session, or
        of `sparkleene.spark.session()`, read them. `strategy` chooses how rows reach the kernels on Spark:
        "shuffle", "combine" or "sort", by default what `explain(data)` says.

        The result for a streaming DataFrame is one: each window's row comes once, when the watermark has passed the
        window's end. With output_mode="update" the rows of open windows come after each batch that changes them.
        """
        streaming = _is_spark(data) and data.isStreaming
        if output_mode is not None and not streaming:
            raise self._wrong("an output mode is for streams", "leave it out, or pass a streaming DataFrame")
        if self._on_spark(data, engine):
            ask, request = self._spark(data, strategy, output_mode)
            return ask["run"](request)
        if strategy is not None:
            raise self._wrong("a strategy is for Spark", "leave it out, or pass a DataFrame of Spark")
        from sparkleene.columns.tables import opened, read, schema_names
        from sparkleene.engine.run import run
        from sparkleene.interrupts import held

        data = opened(data)
        names = schema_names(data)
        self._check_type(names)
        made = self._plan_for(tuple(names))
        text = [] if self._type is None else [self._type]
        table, back = read(data, self._needed(made, names), text)
        with held():
            return back(run(made, table, self._options(), threads, Place(self.text, self._filename)))

    def __call__(self, data: Any) -> Any:
        """Do what `run` does, so that `df.transform(query)` works."""
        return self.run(data)

    def _wrong(self, message: str, help: str) -> QueryError:
        """Return the error for an argument."""
        return QueryError(Diagnostic("bad-option", message, help=help), self.text, self._filename)

    def _on_spark(self, data: Any, engine: str | None) -> bool:
        """Tell whether Spark evaluates the query over some data."""
        if engine not in (None, "local", "spark"):
            raise self._wrong(f"engine is '{engine}'", "choose 'local' or 'spark'")
        if _is_spark(data):
            if engine == "local":
                raise self._wrong(
                    "a DataFrame of Spark is not local", "pass df.toArrow(), or leave engine= out"
                )
            return True
        if engine == "spark" and not isinstance(data, str | os.PathLike | list | tuple):
            help = "make a DataFrame of it: spark.createDataFrame(data)"
            raise self._wrong("Spark reads paths and DataFrames of its own", help)
        return engine == "spark"

    def _spark(
        self, data: Any, strategy: str | None = None, output_mode: str | None = None
    ) -> tuple[dict[str, Any], Request]:
        """Return what can be asked of data on Spark, and the request to ask with."""
        from sparkleene.spark.facade import opened
        from sparkleene.spark.request import Request

        names, ask = opened(data)
        self._check_type(names)
        made = self._plan_for(tuple(names))
        needed = tuple(self._needed(made, names))
        options = replace(self._options(), numbered=False)
        given = (
            Place(self.text, self._filename),
            strategy,
            output_mode,
            to_text(self._tree),
            self._tree.name,
        )
        return ask, Request(made, options, needed, *given)

    def trends(
        self, data: Any, *, limit: int | None = 20, engine: Literal["local", "spark"] | None = None
    ) -> Any:
        """Return the first trends behind the numbers, a row each, as the same kind of data; None for all.

        `events` lists the events of a trend, each with its label, its row in the data (from 0) and the columns that
        the query reads; for P AND Q `events` is a trend of P and `events_2` its partner. Rows are ordered by
        window and group, then by the trends read backwards: by the time of the last event, then of the one before.
        On Spark rows have no number, and each task looks only for the first trends of what it is given.

        >>> import pyarrow as pa
        >>> table = pa.table({"time": [1, 2, 3, 4], "type": list("AABB")})
        >>> first = query("RETURN COUNT(*) PATTERN SEQ(A+, B)").trends(table, limit=2).to_pylist()
        >>> [[(event["label"], event["time"]) for event in row["events"]] for row in first]
        [[('A', 1), ('B', 3)], [('A', 2), ('B', 3)]]
        """
        from sparkleene.columns.tables import opened, read, schema_names
        from sparkleene.engine.trends import trends
        from sparkleene.interrupts import held

        if limit is not None and limit < 0:
            wrong = Diagnostic("bad-option", f"limit is {limit}", help="give a count, or None for all")
            raise QueryError(wrong, self.text, self._filename)
        if self._on_spark(data, engine):
            ask, request = self._spark(data)
            return ask["trends"](request, limit)
        data = opened(data)
        names = schema_names(data)
        self._check_type(names)
        made = self._plan_for(tuple(names))
        text = [] if self._type is None else [self._type]
        table, back = read(data, self._needed(made, names), text)
        with held():
            return back(trends(made, table, self._options(), limit, Place(self.text, self._filename)))

    def explain(
        self,
        data: Any = None,
        *,
        engine: Literal["local", "spark"] | None = None,
        strategy: Strategy | None = None,
    ) -> str:
        """Return how the query is evaluated, as text to read; `plan` is the same as data.

        With a DataFrame of Spark, or a path and engine="spark", also how Spark evaluates it over that data.

        >>> print(query("RETURN COUNT(*) PATTERN SEQ(A+, B)").explain().partition("Sub-streams")[0])
        Query
          RETURN COUNT(*)
          PATTERN SEQ(A+, B)
        ...
        """
        from sparkleene.plan.explain import Reading, explain

        offset = None if self._offset is None else f"windows start {self._offset} later"
        reading = Reading(self._time, self._type, self._tiebreak, self._numbers, offset)
        made, more = self.plan, {}
        if data is not None and self._on_spark(data, engine):
            ask, request = self._spark(data, strategy)
            made, more = request.plan, {"Spark": ask["explain"](request)}
        return explain(made, to_text(self._tree), reading, more)

    def to_dot(self) -> str:
        """Return the query's automaton as Graphviz reads it."""
        from sparkleene.draw.automaton import to_dot

        return to_dot(self.plan)

    def to_svg(self) -> str:
        """Return a picture of the query's automaton; a notebook shows it for the query."""
        from sparkleene.draw.automaton import to_svg

        return to_svg(self.plan)

    def plot(
        self, result: Any, value: str | None = None, *, title: str | None = None, most: int = 8
    ) -> Chart:
        """Return a chart of a result of this query, which a notebook shows: a line per group over the windows.

        `result` is what `run` returned, `value` the column to draw, by default the first aggregate. The chart's
        `save("chart.svg")` writes it as SVG or PNG, which needs matplotlib, and `text()` gives it as text.

        >>> import pyarrow as pa
        >>> q = query("RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user")
        >>> data = pa.table({"time": [1, 2, 3, 4], "type": list("AABB"), "user": ["ann"] * 3 + ["bob"]})
        >>> print(q.plot(q.run(data)).text(width=40))
        count by user
        ann █████████████████████████████████  3
        """
        from sparkleene.charts import chart
        from sparkleene.columns.tables import read

        table = result.toArrow() if _is_spark(result) else read(result)[0]
        name = self._tree.name or "" if title is None else title
        return chart(table, value=value, groups=self.plan.bound.group_names, title=name, most=most)

    def roll_up(
        self,
        name: str | None = None,
        to: str | None = None,
        *,
        remove: str | None = None,
        hierarchy: Mapping[str, str] | str | os.PathLike[str] | None = None,
    ) -> Query:
        """Return a coarser query: with a type replaced by the concept above it, or taken out of the pattern.

        `name` is a label or a type of the pattern, `to` a concept further up than the next; labels keep their
        names. `remove` takes the events of a label or type out, and the conditions on them. `hierarchy` is that of
        the query unless another is given.

        >>> q = query("RETURN COUNT(*) PATTERN SEQ(Dallas, Tulsa)", hierarchy={"Dallas": "Texas"})
        >>> print(q.roll_up("Dallas").text)
        RETURN COUNT(*)
        PATTERN SEQ(Texas Dallas, Tulsa)
        >>> print(query("RETURN COUNT(*) PATTERN SEQ(G, NOT D, A, T)").roll_up(remove="D").text)
        RETURN COUNT(*)
        PATTERN SEQ(G, A, T)
        """
        from sparkleene.olap.refine import roll_up

        known = self._hierarchy(hierarchy)
        return self._again(lambda: roll_up(self._tree, name, to, remove, known), known)

    def drill_down(
        self,
        name: str | None = None,
        to: str | None = None,
        *,
        insert: PatternPart | None = None,
        before: str | None = None,
        after: str | None = None,
        hierarchy: Mapping[str, str] | str | os.PathLike[str] | None = None,
    ) -> Query:
        """Return a finer query: with a concept replaced by one below it, or with more in the pattern.

        `name` is a label or a type of the pattern, `to` what is below that type; labels keep their names. `insert`
        is a part of a pattern, such as "D", "D+" or "NOT D", and `before` or `after` the label or type beside which
        it is put. `hierarchy` is that of the query unless another is given.

        >>> q = query("RETURN COUNT(*) PATTERN SEQ(Texas, Tulsa)", hierarchy={"Dallas": "Texas"})
        >>> print(q.drill_down("Texas", "Dallas").text)
        RETURN COUNT(*)
        PATTERN SEQ(Dallas Texas, Tulsa)
        >>> print(query("RETURN COUNT(*) PATTERN SEQ(G, A, T)").drill_down(insert="NOT D", after="G").text)
        RETURN COUNT(*)
        PATTERN SEQ(G, NOT D, A, T)
        """
        from sparkleene.olap.refine import drill_down

        known = self._hierarchy(hierarchy)
        return self._again(lambda: drill_down(self._tree, name, to, insert, before, after, known), known)

    def _hierarchy(self, given: Any) -> Hierarchy | None:
        """Return the hierarchy that is given, or that the query has."""
        return self._given["hierarchy"] if given is None else self._concepts(given)[0]

    def _again(self, made: Callable[[], ast.Query], hierarchy: Hierarchy | None) -> Query:
        """Return a query with the same options and another tree."""
        try:
            text = to_text(made())
        except QueryError as error:
            raise QueryError(error.diagnostics, error.source or self.text, self._filename) from None
        return Query(text, **(self._given | {"hierarchy": hierarchy}), filename=self._filename)

    @property
    def time(self) -> str:
        """The column of event times."""
        return self._time

    @property
    def type(self) -> str | None:
        """The column of event types, None if they are not in a column."""
        return self._type if self._types is None else None

    def __repr__(self) -> str:
        """Show the query's text."""
        return f"<sparkleene query {self.text!r}>"

    def _repr_html_(self) -> str:
        """Show the query's text and the picture of its automaton in a notebook."""
        from html import escape

        return f"<pre>{escape(to_text(self._tree))}</pre>{self.to_svg()}"


def _is_spark(data: Any) -> bool:
    """Tell whether data is a DataFrame of Spark, classic or Connect, without importing Spark."""
    return any(kind.__module__.startswith("pyspark.sql.") for kind in type(data).__mro__)


def query(
    text: str,
    *,
    time: str = "time",
    type: str | None = "type",
    tiebreak: str | None = None,
    types: Mapping[str, str] | None = None,
    time_unit: TimeUnit | None = None,
    numbers: Literal["double", "exact"] = "double",
    offset: float | Fraction | timedelta | None = None,
    hierarchy: Mapping[str, str] | str | os.PathLike[str] | None = None,
) -> Query:
    """Compile a query.

    Args:
        text: the query.
        time: the column of event times: a timestamp, a date or a number.
        type: the column of event types; None if every row is of the pattern's only type.
        tiebreak: a column that orders rows of equal time; without it they are simultaneous.
        types: event types defined by conditions on columns, for tables without a type column.
        time_unit: what a time column of numbers counts, so that windows may be given in units.
        numbers: "double" for 64-bit floats, "exact" for integers of any length as decimal text.
        offset: moves the windows' starts: a number in the time column's unit, or a timedelta.
        hierarchy: maps types to concepts above them, or is a file that does; the pattern may name concepts.

    >>> import pyarrow as pa
    >>> table = pa.table({"time": [1, 2, 3, 4, 5, 6, 7, 8], "type": list("ABAACBAB")})
    >>> query("RETURN COUNT(*) PATTERN (SEQ(A+, B))+").run(table).to_pylist()
    [{'count': 43.0}]
    """
    return Query(
        text,
        time=time,
        type=type,
        tiebreak=tiebreak,
        types=types,
        time_unit=time_unit,
        numbers=numbers,
        offset=offset,
        hierarchy=hierarchy,
    )


@dataclass(frozen=True, repr=False)
class QueryBuilder(Builder):
    """A query in the making; `query` compiles it."""

    def query(self, **options: Any) -> Query:
        """Compile what was built, with the options of `sparkleene.query`."""
        return query(self.text, **options)


def pattern(first: PatternPart, *more: PatternPart) -> QueryBuilder:
    """Return a query over the trends of a pattern, to be told more, for those who prefer Python to text.

    Parts are text, or what `seq`, `plus`, `star`, `optional`, `times`, `either`, `both` and `no` return; several
    parts are one SEQ. Every method returns a new query in the making, `text` is what it says so far.

    >>> from sparkleene import plus, seq
    >>> rides = pattern(seq("Pickup P", plus("Trip T"), "Dropoff D")).where("[driver]")
    >>> rides = rides.within("1 hour", slide="1 hour")
    >>> rides
    RETURN COUNT(*)
    PATTERN SEQ(Pickup P, Trip T+, Dropoff D)
    WHERE [driver]
    WITHIN 1 hour SLIDE 1 hour
    >>> q = rides.query(time="ts")
    """
    return QueryBuilder.of(first, *more)
