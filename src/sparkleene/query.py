"""A query in a user's hands: text in, results out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from sparkleene.errors import Place, QueryError, report_faults
from sparkleene.evaluation import Engine, OutputMode, PreparedWorkload, Strategy, is_spark, like_data, to_spark
from sparkleene.language import ast, to_text
from sparkleene.language.build import Builder, PatternPart
from sparkleene.options import HierarchyLike, Keywords, QueryOptions, list_options
from sparkleene.plan.plan import Plan
from sparkleene.plan.trend_selection import ORDERS, Order, Selection
from sparkleene.prepared import PreparedQuery

if TYPE_CHECKING:
    from sparkleene.charts import Chart, Slide
    from sparkleene.charts.trend_picture import TrendPicture
    from sparkleene.engine.why import Why
    from sparkleene.olap.hierarchy import Hierarchy


class Query:
    """A parsed and planned query; make one with `sparkleene.query`.

    `prepared` is what other parts of the library work with, and may change from version to version.
    """

    def __init__(self, text: str, *, filename: str = "query", **options: Unpack[Keywords]) -> None:
        """Parse, bind and plan the text; see `sparkleene.query`."""
        checked = QueryOptions().change(Place(text, filename), **options)
        self.prepared = PreparedQuery(text, checked, filename)
        self._workload = PreparedWorkload({filename: self.prepared})

    @property
    def text(self) -> str:
        """The query's text as it was written."""
        return self.prepared.text

    @property
    def plan(self) -> Plan:
        """How the query is evaluated, as data, while no table is known."""
        return self.prepared.plan_for(None)

    def run(
        self,
        data: Any,
        *,
        engine: Engine | None = None,
        threads: int | None = None,
        strategy: Strategy | None = None,
        output_mode: OutputMode | None = None,
    ) -> Any:
        """Evaluate the query over a table and return the result as the same kind of data.

        `data` is a pyarrow Table or RecordBatch, a pandas or polars frame, or a list of dicts. Or it is something
        whose result is a Table: a Dataset or reader of pyarrow, whatever else gives an Arrow stream, such as a
        relation of DuckDB, or the path of files of Parquet, CSV or JSON lines: a file, a folder, a pattern, or a
        list of them. `threads` defaults to all cores.

        The result for a DataFrame of Spark, or of pandas on Spark, is one that is not evaluated yet. So it is for
        the path of Parquet files (a file, a folder, a pattern, a URI, or a list of them) with engine="spark": tasks
        of the active session, or of `sparkleene.spark.session()`, read them. `strategy` chooses how rows reach the
        kernels on Spark: "shuffle", "combine" or "sort", by default what `explain(data)` says.

        The result for a streaming DataFrame is one: each window's row comes once, when the watermark has passed the
        window's end. With output_mode="update" the rows of open windows come after each batch that changes them.
        """
        return self._workload.run(data, engine, threads, strategy, output_mode)[0]

    def __call__(self, data: Any) -> Any:
        """Do what `run` does, so that `df.transform(query)` works."""
        return self.run(data)

    def trends(
        self,
        data: Any,
        limit: int | None = 20,
        *,
        order: Order = "first",
        seed: int = 0,
        engine: Engine | None = None,
    ) -> Any:
        """Return trends behind the numbers, a row each, as the same kind of data; a limit of None is for all.

        `events` lists the events of a trend, each with its label, its row in the data (from 0) and the columns that
        the query reads; for P AND Q `events` is a trend of P and `events_2` its partner. `length` and `duration`
        are what LENGTH and DURATION are, `trends` is how many trends the window and group has.

        Rows are ordered by window and group, then by `order`. "first" is by the trends read backwards: by the time
        of the last event, then of the one before; there the limit is for all windows and groups together. In the
        other orders it is for each of them: "last" is the opposite, "longest" and "shortest" are by length, then as
        in "first", and "sample" draws trends at random, each with the same chance, and maybe twice. The same `seed`
        draws the same trends.

        HAVING, ORDER BY and LIMIT are about rows of results, and choose nothing here. On Spark rows have no number,
        and tasks look only for trends of what they are given.

        >>> import pyarrow as pa
        >>> table = pa.table({"time": [1, 2, 3, 4], "type": list("AABB")})
        >>> q = query("RETURN COUNT(*) PATTERN SEQ(A+, B)")
        >>> first = q.trends(table, limit=2).to_pylist()
        >>> [[(event["label"], event["time"]) for event in row["events"]] for row in first]
        [[('A', 1), ('B', 3)], [('A', 2), ('B', 3)]]
        >>> longest = q.trends(table, limit=3, order="longest").to_pylist()
        >>> [(row["trends"], row["length"], row["duration"]) for row in longest]
        [(6.0, 3, 2.0), (6.0, 3, 3.0), (6.0, 2, 2.0)]
        """
        if limit is not None and limit < 0:
            raise self._workload.mistake(f"limit is {limit}", "give a count, or None for all")
        if order not in ORDERS:
            raise self._workload.mistake(f"there is no order '{order}'", f"give one of {', '.join(ORDERS)}")
        if limit is None and order == "sample":
            raise self._workload.mistake("a sample needs a limit", "say how many trends to draw")
        if self._workload.goes_to_spark(data, engine):
            source, [request] = self._workload.ask_spark(data)
            return like_data(source.trends(request, Selection(limit, order, seed)), data)
        from sparkleene.engine.trends import find_trends
        from sparkleene.interrupts import hold_back

        run, read = self._workload.start(data)
        with hold_back(), report_faults(self.prepared.place):
            found = find_trends(run, read.table, Selection(limit, order, seed))
        if not found.num_rows and limit != 0:
            self._workload.warn_unknown_types(read, [*self._workload.queries])
        return read.back(found)

    def plot_trends(
        self,
        data: Any,
        *,
        group: Mapping[str, Any] | None = None,
        window: Any = None,
        limit: int = 12,
        order: Order = "sample",
        seed: int = 0,
        engine: Engine | None = None,
    ) -> TrendPicture:
        """Return a picture of trends of a group and window, which a notebook shows: arcs over a line of time.

        `group` and `window` are as for `why`; without them it is the group and window with most trends. `limit`,
        `order` and `seed` are as for `trends`, but no trend is drawn twice. The picture's `save("trends.svg")`
        writes it as SVG, PNG or PDF, which needs matplotlib. Of a DataFrame of Spark, or a path with
        engine="spark", the rows of the group and window are brought here, a million at most.

        >>> import pyarrow as pa
        >>> table = pa.table({"time": [1, 2, 3, 4], "type": list("AABB")})
        >>> query("RETURN COUNT(*) PATTERN SEQ(A+, B)").plot_trends(table, limit=3)
        <picture of 3 trends over 4 events>
        """
        from sparkleene.charts.trend_picture import TrendPicture
        from sparkleene.engine.chosen_rows import choose_rows
        from sparkleene.engine.trend_lines import find_lines
        from sparkleene.engine.why import MOST_ROWS
        from sparkleene.interrupts import hold_back

        zone = None
        if self._workload.goes_to_spark(data, engine):
            from sparkleene.spark.why import collect_busiest, collect_rows

            source, [request] = self._workload.ask_spark(data)
            zone = source.zone
            if group is None and window is None:
                data = collect_busiest(request, source, MOST_ROWS)
            else:
                data = collect_rows(request, source, dict(group or {}), MOST_ROWS)
        run, read = self._workload.start(data, zone)
        with hold_back(), report_faults(self.prepared.place):
            chosen = choose_rows(run, read.table, dict(group or {}), window)
            return TrendPicture(*find_lines(chosen, Selection(limit, order, seed)))

    def why(self, data: Any, *, group: Mapping[str, Any] | None = None, window: Any = None) -> Why:
        """Tell why a group has no trend, or few: how far the pattern was followed, and what holds trends back.

        `group` has values of keys, `window` is a time in the window that is meant, the latest that holds it;
        without them it is of all rows. HAVING, ORDER BY and LIMIT, which are about rows of results, play no part. A
        DataFrame of Spark is filtered there; what is left must be at most a million rows. `print` the result, or
        read its fields.

        >>> import pyarrow as pa
        >>> table = pa.table({"time": [1, 2, 3], "type": list("ACA"), "user": ["ann"] * 3, "x": [1, 2, 3]})
        >>> q = query("RETURN user, COUNT(*) PATTERN SEQ(A, B) WHERE A.x > 1 GROUP-BY user")
        >>> print(q.why(table, group={"user": "ann"}))
        no trends in 3 rows of user=ann
        <BLANKLINE>
          step  events  that fit  trends so far
          A     2       1         1
          B     0       0         0
        <BLANKLINE>
        Nobody passed B after A.
        There is no event of type B.
        """
        from sparkleene.engine.chosen_rows import choose_rows
        from sparkleene.engine.why import MOST_ROWS, explain_trends
        from sparkleene.interrupts import hold_back

        given, zone = dict(group or {}), None
        if is_spark(data):
            from sparkleene.spark.why import collect_rows

            source, [request] = self._workload.ask_spark(data)
            data, zone = collect_rows(request, source, given, MOST_ROWS), source.zone
        run, read = self._workload.start(data, zone)
        with hold_back(), report_faults(self.prepared.place):
            return explain_trends(choose_rows(run, read.table, given, window))

    def explain(self, data: Any = None, *, engine: Engine | None = None, strategy: Strategy | None = None) -> str:
        """Return how the query is evaluated, as text to read; `plan` is the same as data.

        With a DataFrame of Spark, or a path and engine="spark", also how Spark evaluates it over that data.

        >>> print(query("RETURN COUNT(*) PATTERN SEQ(A+, B)").explain().partition("Sub-streams")[0])
        Query
          RETURN COUNT(*)
          PATTERN SEQ(A+, B)
        ...
        """
        if data is None or not self._workload.goes_to_spark(data, engine):
            return self.prepared.explain(self.plan)
        source, [request] = self._workload.ask_spark(data, strategy)
        return self.prepared.explain(request.plan, {"Spark": list(source.explain([request]))})

    def to_dot(self) -> str:
        """Return the query's automaton as Graphviz reads it."""
        from sparkleene.draw.automaton import to_dot

        return to_dot(self.plan)

    def to_svg(self) -> str:
        """Return a picture of the query's automaton; a notebook shows it for the query."""
        from sparkleene.draw.automaton import to_svg

        return to_svg(self.plan)

    def plot(self, result: Any, value: str | None = None, *, title: str | None = None, most: int = 8) -> Chart:
        """Return a chart of a result of this query, which a notebook shows: a line per group over the windows.

        `result` is what `run` returned, `value` the column to draw, by default the first aggregate. Between the
        first and the last window of the result, one without a row is zero for counts, and a gap for other
        aggregates. The chart's `show()` shows it here, `save("chart.svg")` writes it as SVG, PNG or PDF, which
        needs matplotlib, and `text()` gives it as text.

        >>> import pyarrow as pa
        >>> q = query("RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user")
        >>> data = pa.table({"time": [1, 2, 3, 4], "type": list("AABB"), "user": ["ann"] * 3 + ["bob"]})
        >>> print(q.plot(q.run(data)).text(width=40))
        count by user
        ann █████████████████████████████████  3
        """
        from sparkleene.charts import chart
        from sparkleene.columns.tables import read_data

        table = to_spark(result).toArrow() if is_spark(result) else read_data(result)[0]
        bound = self.plan.bound
        name = self.prepared.tree.name or "" if title is None else title
        counts = list(bound.count_names)
        slide = slide_of(self, table)
        return chart(
            table, value=value, groups=bound.group_names, title=name, most=most, counts=counts, slide=slide
        )

    def roll_up(
        self,
        name: str | None = None,
        to: str | None = None,
        *,
        remove: str | None = None,
        hierarchy: HierarchyLike | None = None,
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
        from sparkleene.olap.roll_up import roll_up

        return self._change(hierarchy, lambda tree, known: roll_up(tree, name, to, remove, known))

    def drill_down(
        self,
        name: str | None = None,
        to: str | None = None,
        *,
        insert: PatternPart | None = None,
        before: str | None = None,
        after: str | None = None,
        hierarchy: HierarchyLike | None = None,
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
        from sparkleene.olap.roll_up import drill_down

        return self._change(hierarchy, lambda tree, known: drill_down(tree, name, to, insert, before, after, known))

    def _change(
        self, hierarchy: HierarchyLike | None, change: Callable[[ast.Query, Hierarchy | None], ast.Query]
    ) -> Query:
        """Return a query with another tree, and with another hierarchy if one is given."""
        known, place = self.prepared.options, self.prepared.place
        if hierarchy is not None:
            known = known.change(place, hierarchy=hierarchy)
        try:
            text = to_text(change(self.prepared.tree, known.hierarchy))
        except QueryError as error:
            raise QueryError(error.diagnostics, error.source or place.source, place.filename) from None
        return Query(text, filename=place.filename, **known.keywords)

    @property
    def time(self) -> str:
        """The column of event times."""
        return self.prepared.options.time

    @property
    def type(self) -> str | None:
        """The column of event types, None if they are not in a column."""
        return self.prepared.options.type_column

    def __repr__(self) -> str:
        """Show the query's text."""
        return f"<sparkleene query {self.text!r}>"

    def __reduce__(self) -> tuple[partial[Query], tuple[()]]:
        """Survive pickling as what the query was made of."""
        place, options = self.prepared.place, self.prepared.options
        return partial(type(self), place.source, filename=place.filename, **options.keywords), ()

    def to_html(self) -> str:
        """Return the query's text and the picture of its automaton to put into a page."""
        from html import escape

        return f"<pre>{escape(self.prepared.canonical)}</pre>{self.to_svg()}"

    def _repr_html_(self) -> str:
        """Show the query's text and the picture of its automaton in a notebook."""
        return self.to_html()


def slide_of(q: Query, result: Any) -> Slide | None:
    """Return how far the windows of a result are from each other, None if they are only where trends end."""
    from sparkleene.charts import Slide
    from sparkleene.columns.times import time_column, window_units
    from sparkleene.engine.grid import calendar_starts
    from sparkleene.language.bound import Window

    window, options = q.plan.bound.window, q.prepared.options
    if not isinstance(window, Window) or window.slide is None or "window_start" not in result.column_names:
        return None
    starts = time_column(result.select(["window_start"]).drop_null(), "window_start", options.time_unit)
    zone = getattr(starts.type, "tz", None)
    if window.calendar is not None and zone is None and starts.clock and options.timezone != "UTC":
        return None  # the zone was lost on the way
    found = calendar_starts(window, starts, options.for_engine(zone))
    if found is not None:
        return Slide(*found)
    _, slide, finer = window_units(window, starts)
    return None if slide is None else Slide(float(slide / finer.scale), window.unit != "events")


@list_options
def query(text: str, **options: Unpack[Keywords]) -> Query:
    """Compile a query.

    Args:
        text: the query.
        time: the column of event times: a timestamp, a date or a number.
        type: the column of event types; None if every row is of the pattern's only type.
        tiebreak: a column that orders rows of equal time; without it they are simultaneous.
        types: event types defined by conditions on columns, for tables without a type column.
        time_unit: what a time column of numbers counts, so that windows may be given in units.
        numbers: "double" for 64-bit floats, "long" for counts as 64-bit integers (a count beyond 2^63 is an error),
            "exact" for integers of any length as decimal text.
        offset: moves the windows' starts: a number in the time column's unit, or a timedelta.
        timezone: the zone whose midnights days, weeks and months of windows begin at, such as "Europe/Berlin"; on
            Spark "session" is the session's own. Times without a zone have their own midnights.
        hierarchy: maps types to concepts above them, or is a file that does; the pattern may name concepts.

    >>> import pyarrow as pa
    >>> table = pa.table({"time": [1, 2, 3, 4, 5, 6, 7, 8], "type": list("ABAACBAB")})
    >>> query("RETURN COUNT(*) PATTERN (SEQ(A+, B))+").run(table).to_pylist()
    [{'count': 43.0}]
    """
    return Query(text, **options)


@dataclass(frozen=True, repr=False)
class QueryBuilder(Builder):
    """A query in the making; `query` compiles it."""

    @list_options
    def query(self, **options: Unpack[Keywords]) -> Query:
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
