"""Many queries in a user's hands: texts in, one table of results out."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from sparkleene.errors import Diagnostic, Place, QueryError
from sparkleene.language import to_text
from sparkleene.language.query_files import Source, read_query_file
from sparkleene.query import OutputMode, Query, Strategy, _is_spark

if TYPE_CHECKING:
    from sparkleene.spark.request import Request
    from sparkleene.workload.merge import Joint, Part
    from sparkleene.workload.stats import Stats

Sharing = Literal["auto", "always", "never"]


class Workload:
    """Queries over the same events; make one with `sparkleene.workload`."""

    def __init__(
        self,
        queries: Mapping[str, str | Source] | str | os.PathLike[str],
        sharing: Sharing = "auto",
        hierarchy: Mapping[str, str] | str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        """Compile the queries; see `sparkleene.workload`."""
        if sharing not in get_args(Sharing):
            raise _wrong(f"sharing is '{sharing}'", "choose 'auto', 'always' or 'never'")
        sources = _sources(queries)
        if not sources:
            raise _wrong("the workload has no queries", "give some: {'name': 'RETURN ...'}")
        self.sharing = sharing
        self._choice = bytes([1]) if sharing == "always" else None  # what to decide on bursts
        if hierarchy is not None:
            from sparkleene.olap.hierarchy import hierarchy as known

            options["hierarchy"] = known(hierarchy)  # a file is read once
        self.queries = {
            name: Query(text, filename=filename, **options) for name, (text, filename) in sources.items()
        }
        self._parts_for = lru_cache(maxsize=8)(self._make_parts)
        self._joints_for = lru_cache(maxsize=8)(self._make_joints)
        self._stats: Stats | None = None

    def _make_parts(self, columns: tuple[str, ...] | None) -> list[Part]:
        from sparkleene.workload.merge import alone, parts

        plans = {name: q._plan_for(columns) for name, q in self.queries.items()}
        if self.sharing == "never":
            return [alone(name, plan) for name, plan in plans.items()]
        return parts(plans, self.sharing == "always")

    def _make_joints(self, columns: tuple[str, ...] | None) -> list[Joint]:
        from sparkleene.workload.merge import joints

        return [] if self.sharing == "never" else joints(self._parts_for(columns))

    def run(
        self,
        data: Any,
        *,
        engine: Literal["local", "spark"] | None = None,
        threads: int | None = None,
        strategy: Strategy | None = None,
        output_mode: OutputMode | None = None,
    ) -> Any:
        """Evaluate all queries over a table and return one of the same kind, with a column `query`.

        Columns are those of all queries; where a query has no such column, its rows are NULL there. `data` and the
        options are those of `Query.run`. On Spark, queries that have keys in common share a scan and a shuffle.
        """
        some = next(iter(self.queries.values()))
        if output_mode is not None and not (_is_spark(data) and data.isStreaming):
            raise _wrong("an output mode is for streams", "leave it out, or pass a streaming DataFrame")
        if some._on_spark(data, engine):
            from sparkleene.spark.facade import opened as on_spark

            columns, ask = on_spark(data)
            return ask["workload"](self._requests(columns, strategy, output_mode))
        if strategy is not None:
            raise _wrong("a strategy is for Spark", "leave it out, or pass a DataFrame of Spark")
        from sparkleene.columns.tables import opened, read, schema_names
        from sparkleene.interrupts import held
        from sparkleene.threads import threads_of
        from sparkleene.workload.run import results, union
        from sparkleene.workload.stats import stats

        data = opened(data)
        names = schema_names(data)
        some._check_type(names)
        made = self._parts_for(tuple(names))
        needed = sorted({column for part in made for column in some._needed(part.plan, names)})
        table, back = read(data, needed, [] if some.type is None else [some.type])
        places = {name: Place(q.text, q._filename) for name, q in self.queries.items()}
        with held():
            given = [(part, replace(some._options(), choice=self._choice)) for part in made]
            runs: list[Any] = []
            panes = self._joints_for(tuple(names))
            found = dict(results(given, table, threads_of(threads), places, joints=panes, runs=runs))
        self._stats = stats(runs)
        return back(union({name: found[name] for name in self.queries}))

    def _requests(
        self, names: Collection[str], strategy: str | None = None, output_mode: str | None = None
    ) -> list[Request]:
        """Return what Spark is asked of data with these columns, a request for each part."""
        from sparkleene.spark.request import Request

        queries: dict[str, Request] = {}
        for number, (name, q) in enumerate(self.queries.items()):
            q._check_type(names)
            made = q._plan_for(tuple(names))
            options = replace(q._options(), numbered=False, choice=self._choice)
            needed = tuple(q._needed(made, names))
            how = (strategy, output_mode, to_text(q._tree), q._tree.name)
            queries[name] = Request(made, options, needed, Place(q.text, name), *how, number=number)
        requests = []
        for part in self._parts_for(tuple(names)):
            alone = tuple(queries[name] for name in part.names)
            needed = tuple(sorted({column for one in alone for column in one.needed}))
            first = replace(alone[0], plan=part.plan, needed=needed, shares=self.sharing != "never")
            requests.append(replace(first, part=part, alone=alone))
        return requests

    def explain(self, data: Any = None, *, engine: Literal["local", "spark"] | None = None) -> str:
        """Say which queries are evaluated together, what they share, and what that is expected to save.

        With a DataFrame of Spark, or a path and engine="spark", also how Spark evaluates them over that data.

        >>> texts = {x: f"RETURN COUNT(*) PATTERN SEQ({x}, T+, E)" for x in ("A", "B", "C")}
        >>> print(workload(texts).explain())
        Workload of 3 queries, sharing auto
        Order: one scan and order of all rows
        Together: A, B, C
          states      10 instead of 12
          aggregates  1 of 3 are different
          snapshots   T: 3 copies of 1 state; a burst of 8 rows costs ... of them, and is shared from ... rows on
          snapshots   E: 3 copies of 1 state; a burst of 8 rows costs ... of them, and is shared from ... rows on
        """
        from sparkleene.workload.explain import explain

        some = next(iter(self.queries.values()))
        if data is None or not some._on_spark(data, engine):
            return explain(self._parts_for(None), self.sharing)
        from sparkleene.spark.facade import opened as on_spark

        columns, ask = on_spark(data)
        told = ask["explain workload"](self._requests(columns))
        lines = [explain(self._parts_for(tuple(columns)), self.sharing), "Spark"]
        return "\n".join([*lines, *(f"  {name:<11} {text}" for name, text in told)])

    @property
    def stats(self) -> Stats:
        """What was shared in the last run in this process: the bursts of each sub-pattern, and how they were done.

        A burst is a run of rows of one set of types. Tasks of Spark do not report theirs.

        >>> import pyarrow as pa
        >>> table = pa.table({"time": range(40), "type": [*"AB", *"T" * 37, "E"]})
        >>> both = workload({x: f"RETURN COUNT(*) PATTERN SEQ({x}, T+, E)" for x in "AB"}, sharing="always")
        >>> result = both.run(table)
        >>> print(both.stats)
        A: 1 bursts of 1 rows, 1 shared with 1 rows, 1 snapshots, 0 columns
        T: 1 bursts of 37 rows, 1 shared with 37 rows, 2 snapshots, 0 columns
        E: 1 bursts of 1 rows, 1 shared with 1 rows, 2 snapshots, 0 columns
        B: 1 bursts of 1 rows, 1 shared with 1 rows, 1 snapshots, 0 columns
        """
        if self._stats is None:
            raise _wrong("the workload has not been run in this process", "call run with a table or a file")
        return self._stats

    def __repr__(self) -> str:
        """Name the queries."""
        return f"<sparkleene workload of {', '.join(self.queries)}>"


def _sources(queries: Mapping[str, str | Source] | str | os.PathLike[str]) -> dict[str, Source]:
    """Return the queries of a mapping or a file; errors show a name of the one, and the path of the other."""
    if not isinstance(queries, Mapping):
        return read_query_file(queries)
    return {name: one if isinstance(one, Source) else Source(one, name) for name, one in queries.items()}


def _wrong(message: str, help: str) -> QueryError:
    return QueryError(Diagnostic("bad-option", message, help=help))


def workload(
    queries: Mapping[str, str] | str | os.PathLike[str],
    sharing: Sharing = "auto",
    hierarchy: Mapping[str, str] | str | os.PathLike[str] | None = None,
    **options: Any,
) -> Workload:
    """Compile many queries that run over the same events, together where that pays.

    `queries` maps names to texts, or is a file of queries, each after its name and a colon. With sharing="never"
    each runs by itself; with "always" all share that can, also where it costs more. `hierarchy` maps types to
    concepts above them, or is a file that does: a pattern may name a concept, and means all types below it.
    `options` are those of `sparkleene.query`, and hold for all.

    >>> import pyarrow as pa
    >>> table = pa.table({"time": [1, 2, 3, 4], "type": list("ABAC")})
    >>> both = workload({"b": "RETURN COUNT(*) PATTERN SEQ(A, B)", "c": "RETURN COUNT(*) PATTERN SEQ(A+, C)"})
    >>> both.run(table).to_pylist()
    [{'query': 'b', 'count': 1.0}, {'query': 'c', 'count': 3.0}]
    """
    return Workload(queries, sharing, hierarchy, **options)
