"""A funnel in a user's hands: steps in, one table of how many came how far out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from textwrap import indent
from typing import TYPE_CHECKING, Any, Unpack

from sparkleene.errors import mistake
from sparkleene.evaluation import Engine, OutputMode, Strategy, is_spark, like_data, to_spark
from sparkleene.funnel.options import FunnelKeywords, list_funnel_options, split_options, with_types
from sparkleene.funnel.steps import Step, StepLike, Steps, step
from sparkleene.language.bound import Bound
from sparkleene.query import Query, slide_of
from sparkleene.workload import Workload

if TYPE_CHECKING:
    from sparkleene.charts import Chart, FunnelChart
    from sparkleene.funnel.rows import Layout

__all__ = ["Funnel", "Step", "StepLike", "Steps", "funnel", "step"]


class Funnel:
    """How many users come how far along some steps; make one with `sparkleene.funnel`."""

    def __init__(self, steps: Steps, by: str | Sequence[str], **options: Unpack[FunnelKeywords]) -> None:
        """Compile the queries of the steps; see `sparkleene.funnel`."""
        self._arguments: dict[str, Any] = {"steps": steps, "by": by, **options}
        own, reading = split_options(options)
        self._design = own.design(steps, by, reading.get("time", "time"))
        self.steps = self._design.steps
        checked: dict[str, Any] = {**with_types(self._design, reading)}
        self._has_seconds = self._design.has_units  # whether times are known to be in seconds
        self._workload = Workload(self._design.queries, **checked)
        shortest = self._design.shortest_queries if reading.get("time_unit") is None else {}
        self._shortest = Workload(shortest, **checked) if shortest else None

    @property
    def queries(self) -> dict[str, Query]:
        """The query of each step, over all steps up to it, by the step's name."""
        return self._workload.queries

    @property
    def breakdown(self) -> tuple[str, ...]:
        """The columns that tell groups apart."""
        names, design = self._bound.group_names, self._design
        return names if design.session is None else names[: len(names) - len(design.user_columns)]

    @property
    def _bound(self) -> Bound:
        """The query of the first step, bound."""
        return next(iter(self.queries.values())).plan.bound

    @cached_property
    def _layout(self) -> Layout:
        from sparkleene.engine.windows import WINDOW
        from sparkleene.funnel.queries import VARIANCE
        from sparkleene.funnel.rows import COLUMNS, Layout
        from sparkleene.workload.run import QUERY

        design = self._design
        taken = {QUERY, *COLUMNS}
        if design.session is not None:
            taken |= {"sessions", VARIANCE, *WINDOW, *design.user_columns}
        for name in self.breakdown:
            if name in taken:
                raise mistake(f"the breakdown '{name}' is the name of a column of the result", "rename the column")
        windows = () if design.window is None else WINDOW
        before = tuple(design.required_before(i) for i in range(len(self.steps)))
        names = tuple(design.names)
        measures = design.measures
        users = None if design.session is None else tuple(design.user_columns)
        keys = (*windows, *self.breakdown)
        return Layout(names, before, keys, "trends" in measures, "times" in measures, users)

    def run(
        self,
        data: Any,
        *,
        engine: Engine | None = None,
        threads: int | None = None,
        strategy: Strategy | None = None,
        output_mode: OutputMode | None = None,
    ) -> Any:
        """Return a row for each step, of each window and group of the breakdown, as the same kind of data.

        `data` and the options are those of `Query.run`. All steps are found in one pass over the events. Over a
        stream the rows of a window come together, when the watermark has passed its end.
        """
        from pyarrow.types import is_temporal, is_timestamp

        from sparkleene.funnel.rows import count_users, make_rows
        from sparkleene.funnel.sessions import add_sessions
        from sparkleene.workload.run import unite_results

        layout, prepared = self._layout, self._workload.prepared
        if output_mode == "update":
            why = "in update mode only those steps of a window would come that have changed"
            raise mistake(why, "leave output_mode out: each window comes once, and whole")
        if layout.has_sessions and is_spark(data) and to_spark(data).isStreaming:
            why = "a funnel of sessions is over all events, and a stream has no end"
            raise mistake(why, "leave session= out, and make a funnel for each window: every='1 day'")
        if prepared.goes_to_spark(data, engine):
            from sparkleene.spark.funnel import run_funnel

            results = to_spark(prepared.run(data, engine, threads, strategy, output_mode)[0])
            return like_data(run_funnel(layout, results), data)
        if strategy is not None or output_mode is not None:
            prepared.run(data, engine, threads, strategy, output_mode)  # says what is wrong with it
        local = prepared.read(data)
        time = local.table.schema.field(prepared.options.time).type
        self._has_seconds |= is_temporal(time)
        limit = self._design.seconds
        if self._shortest is not None and limit is not None and is_timestamp(time):
            found, _ = self._shortest.prepared.evaluate(local, threads)
            return local.back(make_rows(layout, count_users(layout, found, limit)))
        results, _ = prepared.evaluate(local, threads)
        table = unite_results(results)
        return local.back(make_rows(layout, add_sessions(layout, table) if layout.has_sessions else table))

    def __call__(self, data: Any) -> Any:
        """Do what `run` does, so that `df.transform(funnel)` works."""
        return self.run(data)

    def explain(self, data: Any = None, *, engine: Engine | None = None) -> str:
        """Say which queries the steps are, and what they share; see `Workload.explain`."""
        if self._shortest is not None and (data is None or not self._workload.prepared.goes_to_spark(data, engine)):
            return self._explain_shortest()
        how = self._workload.explain(data, engine=engine)
        if self._design.session is not None:
            how = f"Users: the rows of all users and sessions are added up for each step\n{how}"
        return _explain(self.queries, how)

    def _explain_shortest(self) -> str:
        """Say how users are found by their shortest trends."""
        assert self._shortest is not None
        whose = f"those whose shortest trend to a step takes at most {self._design.seconds:g} seconds"
        how = f"Users: {whose}, where times are timestamps"
        return _explain(self._shortest.queries, f"{how}\n{self._shortest.explain()}")

    def plot(
        self, result: Any, value: str = "share_of_first", *, title: str = "", most: int = 6
    ) -> FunnelChart | Chart:
        """Return a chart of a result, which a notebook shows: a bar for each step, groups side by side.

        `result` is what `run` returned. Of several windows it is a line for each step and group over the windows,
        and `value` is the column to draw. The chart's `show()` shows it here, `save("funnel.svg")` writes it as
        SVG, PNG or PDF, which needs matplotlib, and `text()` gives it as text. `most` is how many groups, or lines,
        are drawn at most.

        >>> import pyarrow as pa
        >>> made = funnel(["V", "B"], by="user", measures=["users"])
        >>> data = pa.table({"time": range(6), "type": list("VVVVBV"), "user": [1, 1, 2, 3, 1, 4]})
        >>> print(made.plot(made.run(data)).text(width=48))
        users by step
        V ███████████████████████████  4  100.0%
        B ██████▊                      1   25.0%  −75.0%
        """
        from sparkleene.charts import chart, funnel_chart
        from sparkleene.columns.tables import read_data

        table = to_spark(result).toArrow() if is_spark(result) else read_data(result)[0]
        if "window_start" in table.column_names and len(table.column("window_start").unique()) > 1:
            counts, slide = ["users", "trends", "drop_off"], slide_of(next(iter(self.queries.values())), table)
            names = [*self.breakdown, "name"]
            return chart(table, value=value, groups=names, title=title, most=most, counts=counts, slide=slide)
        return funnel_chart(table, groups=self.breakdown, title=title, most=most, dated=self._has_seconds)

    def __repr__(self) -> str:
        """Name the steps."""
        names: list[str] = [one.name for one in self.steps]
        free = self._design.free
        if free:
            names[free.start : free.stop] = [f"{{{', '.join(names[free.start : free.stop])}}}"]
        return f"<sparkleene funnel {' -> '.join(names)}>"

    def __reduce__(self) -> tuple[partial[Funnel], tuple[()]]:
        """Survive pickling as what the funnel was made of."""
        return partial(type(self), **self._arguments), ()

    def _repr_html_(self) -> str:
        """Show the steps and their queries in a notebook."""
        from html import escape

        rows = [
            f"<tr><td>{i}</td><td>{escape(name)}</td><td><pre>{escape(q.text)}</pre></td></tr>"
            for i, (name, q) in enumerate(self.queries.items(), 1)
        ]
        return f"<table>{''.join(rows)}</table>"


def _explain(queries: Mapping[str, Query], how: str) -> str:
    """Return the texts of queries, and how they are evaluated."""
    texts = [f"{name}\n" + indent(q.text, "  ") for name, q in queries.items()]
    return "\n".join([*texts, how])


@list_funnel_options
def funnel(steps: Steps, by: str | Sequence[str], **options: Unpack[FunnelKeywords]) -> Funnel:
    """Compile a funnel: how many users come how far along some steps, and how long it takes them.

    Args:
        steps: the steps in order: event types, patterns such as "Search S+" or "Coupon?", what `step` returns, or
            conditions by the names of steps: {"Till": "page = '/till'"}.
        by: the column, or columns, that tell users apart.
        within: how much later than the first step the last one may be, such as "30 minutes".
        session: the longest pause in a session, such as "30 minutes"; all steps are in one session of a user.
        every: a funnel for each window of this length, such as "1 day"; without it one for all events.
        window: how long windows are, if they are longer than `every`, and overlap.
        order: what may come between steps: "any" events; "next" takes the next event of each step; "strict" none.
        touch: "every" way along the steps is a trend; or only that of the "first" event of each step after the one
            before, or of the "last" before the one after.
        any_order: which steps may be done in any order: "none"; those "between" the first and the last; or "all".
            Their rows are how many of them were done.
        exclude: patterns that must not come between steps; or those on the way to some steps, by their names.
        where: conditions on all events, or with a type's name on those of a type.
        breakdown: columns to make a funnel for each value of: of all events, or of the first step, "View.platform".
        measures: what to find out beside the users: "trends" and "times".

    The other options are those of `sparkleene.query`.

    >>> import pyarrow as pa
    >>> data = pa.table({"time": range(6), "type": list("VVCVBC"), "user": [1, 1, 1, 2, 1, 2]})
    >>> made = funnel(["V", "C", "B"], by="user", measures=["users", "trends"])
    >>> made.run(data).select(["name", "users", "trends", "share_of_first"]).to_pylist()
    [{'name': 'V', 'users': 2, 'trends': 3.0, 'share_of_first': 1.0},
     {'name': 'C', 'users': 2, 'trends': 3.0, 'share_of_first': 1.0},
     {'name': 'B', 'users': 1, 'trends': 2.0, 'share_of_first': 0.5}]
    """
    return Funnel(steps, by, **options)
