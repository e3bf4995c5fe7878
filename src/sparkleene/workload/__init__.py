"""Many queries in a user's hands: texts in, one table of results out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, get_args

from sparkleene.errors import Place, mistake
from sparkleene.evaluation import (
    Engine,
    OutputMode,
    PreparedWorkload,
    Sharing,
    Strategy,
    is_spark,
    is_stream,
    to_spark,
)
from sparkleene.language.query_files import read_query_file
from sparkleene.options import HierarchyLike, QueryOptions, ReadingKeywords, list_options
from sparkleene.query import Query

if TYPE_CHECKING:
    from sparkleene.charts import Charts
    from sparkleene.workload.stats import Stats


class Workload:
    """Queries over the same events; make one with `sparkleene.workload`.

    `prepared` is what other parts of the library work with, and may change from version to version.
    """

    def __init__(
        self,
        queries: Mapping[str, str | Place] | str | os.PathLike[str],
        sharing: Sharing = "auto",
        hierarchy: HierarchyLike | None = None,
        **options: Unpack[ReadingKeywords],
    ) -> None:
        """Compile the queries; see `sparkleene.workload`."""
        if sharing not in get_args(Sharing):
            raise mistake(f"sharing is '{sharing}'", "choose 'auto', 'always' or 'never'")
        places = _places(queries)
        if not places:
            raise mistake("the workload has no queries", "give some: {'name': 'RETURN ...'}")
        checked = QueryOptions().change(**options, hierarchy=hierarchy).keywords
        self.sharing = sharing
        self.queries = {name: Query(one.source, filename=one.filename, **checked) for name, one in places.items()}
        self.prepared = PreparedWorkload({name: q.prepared for name, q in self.queries.items()}, sharing)
        self._stats: Callable[[], Stats] | None = None
        self._stats_of_thread = threading.local()

    def run(
        self,
        data: Any,
        *,
        engine: Engine | None = None,
        threads: int | None = None,
        strategy: Strategy | None = None,
        output_mode: OutputMode | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Evaluate all queries over a table and return one of the same kind, with a column `query`.

        Columns are those of all queries; where a query has no such column, its rows are NULL there. `data` and the
        options are those of `Query.run`. On Spark, queries that have keys in common share a scan and a shuffle.
        With `checkpoint`, the folder that a stream will be started with, the workload may be another than the one
        that wrote the checkpoint: queries that are in both go on, and a warning says when each new one begins.
        """
        if checkpoint is not None:
            if strategy is not None or engine == "local":
                raise mistake("a checkpoint is for streams", "leave out engine= and strategy=")
            result, stats = self.prepared.run_from(checkpoint, data, output_mode)
        else:
            result, stats = self.prepared.run(data, engine, threads, strategy, output_mode)
        self._stats = self._stats_of_thread.last = stats or _cannot_tell
        return result

    def explain(self, data: Any = None, *, engine: Engine | None = None) -> str:
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

        if data is None or not self.prepared.goes_to_spark(data, engine):
            return explain(self.prepared.parts(None), self.sharing)
        source, requests = self.prepared.ask_spark(data)
        requests = [*source.group(requests)]
        parts = [request.part for request in requests]
        lines = [f"  {name:<11} {text}" for name, text in source.explain(requests)]
        return "\n".join([explain(parts, self.sharing, is_stream(data)), "Spark", *lines])

    def plot(self, result: Any, value: str | None = None, *, most: int = 8) -> Charts:
        """Return a chart for each query, of its rows of a result; a notebook shows them one below the other.

        `result` is what `run` returned. `value` is the column to draw, of those queries that have it; by default it
        is the first aggregate of each query. `most` is how many groups are drawn at most.

        >>> import pyarrow as pa
        >>> table = pa.table({"time": [1, 2, 3, 4], "type": list("ABAC")})
        >>> both = workload({"b": "RETURN COUNT(*) PATTERN SEQ(A, B)", "c": "RETURN COUNT(*) PATTERN SEQ(A+, C)"})
        >>> print(both.plot(both.run(table)).text(width=30))
        b
        count
        ███████████████████████████  1
        <BLANKLINE>
        c
        count
        ███████████████████████████  3
        """
        import pyarrow.compute as pc

        from sparkleene.charts import Charts
        from sparkleene.columns.tables import read_data

        table = to_spark(result).toArrow() if is_spark(result) else read_data(result)[0]
        outputs = {name: list(q.plan.bound.value_names) for name, q in self.queries.items()}
        named = dict.fromkeys(output for names in outputs.values() for output in names)
        if value is not None and value not in named:
            raise mistake(f"no query has an aggregate '{value}'", f"choose from {', '.join(named)}")
        charts = {}
        for name, q in self.queries.items():
            if value is None or value in outputs[name]:
                window = [] if q.plan.bound.window is None else ["window_start", "window_end"]
                rows = table.filter(pc.equal(table.column("query"), name))
                own = rows.select([*window, *q.plan.bound.group_names, *outputs[name]])
                charts[name] = q.plot(own, value, title=name, most=most)
        return Charts(charts)

    @property
    def stats(self) -> Stats:
        """What was shared in the last run: automata, and the bursts of each sub-pattern.

        A burst is a run of rows of one set of types. On Spark it is what the tasks have reported so far: nothing
        before the result is asked for, and of a stream all its batches; a task that runs again reports again. A
        thread that has run the workload sees its own last run, whatever others do at the same time.

        >>> import pyarrow as pa
        >>> table = pa.table({"time": range(40), "type": [*"AB", *"T" * 37, "E"]})
        >>> both = workload({x: f"RETURN COUNT(*) PATTERN SEQ({x}, T+, E)" for x in "AB"}, sharing="always")
        >>> result = both.run(table)
        >>> print(both.stats)
        one automaton: A, B
        A: 1 bursts of 1 rows, 1 shared with 1 rows, 1 snapshots, 0 columns
        T: 1 bursts of 37 rows, 1 shared with 37 rows, 2 snapshots, 0 columns
        E: 1 bursts of 1 rows, 1 shared with 1 rows, 2 snapshots, 0 columns
        B: 1 bursts of 1 rows, 1 shared with 1 rows, 1 snapshots, 0 columns
        """
        found: Callable[[], Stats] | None = getattr(self._stats_of_thread, "last", self._stats)
        if found is None:
            raise mistake("the workload has not been run in this process", "call run with a table or a file")
        return found()

    def __reduce__(self) -> tuple[partial[Workload], tuple[()]]:
        """Survive pickling as what the workload was made of."""
        places = {name: q.prepared.place for name, q in self.queries.items()}
        return partial(type(self), places, self.sharing, **self.prepared.options.keywords), ()

    def __repr__(self) -> str:
        """Name the queries."""
        return f"<sparkleene workload of {', '.join(self.queries)}>"

    def _repr_html_(self) -> str:
        """Show the queries with their automata in a notebook, and what they share."""
        from html import escape

        shown = [f"<h4>{escape(name)}</h4>{q.to_html()}" for name, q in self.queries.items()]
        shared = f"<details><summary>what they share</summary><pre>{escape(self.explain())}</pre></details>"
        return "".join([*shown, shared])


def _places(queries: Mapping[str, str | Place] | str | os.PathLike[str]) -> dict[str, Place]:
    """Return the queries of a mapping or a file; errors show a name of the one, and the path of the other."""
    if not isinstance(queries, Mapping):
        return read_query_file(queries)
    return {name: one if isinstance(one, Place) else Place(one, name) for name, one in queries.items()}


@list_options
def workload(
    queries: Mapping[str, str] | str | os.PathLike[str],
    sharing: Sharing = "auto",
    hierarchy: HierarchyLike | None = None,
    **options: Unpack[ReadingKeywords],
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


def _cannot_tell() -> Stats:
    message = "tasks of Spark Connect cannot report what they share"
    raise mistake(message, "run the workload in a session that is not remote, or in this process")
