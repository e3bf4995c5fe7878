"""Prepared queries over data: the one way from data to results, for a query and for many.

It opens the data, checks its columns, reads those that are needed, and hands them to the engine in this process; or
it hands over to Spark. A query by itself is a workload of one, whose result has no column of names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from sparkleene.collector import without_garbage
from sparkleene.errors import Place, report_faults, warn
from sparkleene.prepared import Columns, PreparedQuery, Recent

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkleene.engine.run import Evaluated, Run
    from sparkleene.plan.part import Part
    from sparkleene.spark.request import Request
    from sparkleene.spark.source import Source
    from sparkleene.workload.joints import Joint
    from sparkleene.workload.stats import Stats

Engine = Literal["local", "spark"]
Strategy = Literal["shuffle", "combine", "sort"]
OutputMode = Literal["append", "update"]
Sharing = Literal["auto", "always", "never"]


@dataclass(frozen=True)
class LocalData:
    """The rows that queries read, in this process."""

    columns: tuple[str, ...]  # all that the data has
    table: pa.Table  # with those that are needed
    back: Callable[[pa.Table], Any]  # turns a result into the kind of data that was given


class PreparedWorkload:
    """Prepared queries that have the same options, by name, and what they share."""

    def __init__(self, queries: Mapping[str, PreparedQuery], sharing: Sharing | None = None) -> None:
        """Take the queries; `sharing` is None for a query by itself."""
        self.queries = queries
        self.sharing = sharing
        self.forced_bursts = bytes([1]) if sharing == "always" else None  # what to decide on bursts
        self.options = next(iter(queries.values())).options
        self._parts: Recent[list[Part]] = Recent()
        self._joints: Recent[list[Joint]] = Recent()

    @property
    def place(self) -> Place:
        """Where errors that are no single query's point to."""
        return next(iter(self.queries.values())).place if self.sharing is None else Place()

    def mistake(self, message: str, help: str) -> Exception:
        """Return the error for an argument."""
        return self.place.mistake("bad-option", message, help=help)

    # ---- what is evaluated together

    def parts(self, columns: Columns) -> list[Part]:
        """Return the queries in parts that are evaluated together, for data with these columns."""
        return self._parts.get(columns, lambda: self._make_parts(columns))

    def _make_parts(self, columns: Columns) -> list[Part]:
        from sparkleene.plan.part import Part
        from sparkleene.workload.merge import divide

        singles = [Part.single(name, query.plan_for(columns), query.place) for name, query in self.queries.items()]
        if self.sharing in (None, "never"):
            return singles
        return divide([part.members[0] for part in singles], self.sharing == "always")

    def joints(self, columns: Columns) -> list[Joint]:
        """Return the parts whose windows can be made of common panes."""
        from sparkleene.workload.joints import find_joints

        if self.sharing in (None, "never"):
            return []
        return self._joints.get(columns, lambda: find_joints(self.parts(columns), self.sharing == "always"))

    # ---- in this process

    def read(self, data: Any) -> LocalData:
        """Read the columns that the queries need."""
        from sparkleene.columns.tables import column_names, open_data, read_data

        data = open_data(data)
        names = tuple(column_names(data))
        needed: set[str] = set()
        for query in self.queries.values():
            query.check_types(names)
            needed.update(query.columns(query.plan_for(names)))
        type = None if self.options.hierarchy is not None else self.options.type
        return LocalData(names, *read_data(data, sorted(needed), [] if type is None else [type]))

    def start(self, data: Any, zone: str | None = None) -> tuple[Run, LocalData]:
        """Return the run of a query by itself, and the rows that it reads; `zone` is that of a session of Spark."""
        from sparkleene.engine.run import Run
        from sparkleene.threads import threads_of

        read = self.read(data)
        [part] = self.parts(read.columns)
        return Run(part, self.options.for_engine(zone), threads_of(None)), read

    def evaluate(self, data: LocalData, threads: int | None = None) -> tuple[dict[str, pa.Table], Stats]:
        """Return the result of each query over a table, and what was shared."""
        with without_garbage():
            from sparkleene.engine.run import Run
            from sparkleene.interrupts import hold_back
            from sparkleene.threads import threads_of
            from sparkleene.workload.run import JointRun, evaluate_queries
            from sparkleene.workload.stats import Tally

        told: set[str] = set()  # a note that holds for several queries is told once

        def tell(note: str) -> None:
            if note not in told:
                told.add(note)
                warn(note)

        how = (replace(self.options.for_engine(), forced_bursts=self.forced_bursts), threads_of(threads))
        runs = [Run(part, *how, tell=tell) for part in self.parts(data.columns)]
        joints = [JointRun(Run(joint.part, *how), joint.members) for joint in self.joints(data.columns)]
        with hold_back(), report_faults(*(query.place for query in self.queries.values())):
            shares = self.sharing not in (None, "never")
            tally, written = Tally(), {}
            for member, evaluated in evaluate_queries(runs, data.table, joints, shares=shares):
                tally.add(member.name, evaluated)
                written[member.name] = self._write(member.name, evaluated, data.columns)
        results = {name: written[name] for name in self.queries}
        self.warn_unknown_types(data, [name for name, table in results.items() if not table.num_rows])
        return results, tally.stats()

    def _write(self, name: str, evaluated: Evaluated, columns: Columns) -> pa.Table:
        """Return the result of one query."""
        from sparkleene.engine.having import finish_rows
        from sparkleene.engine.results import write_results

        query = self.queries[name]
        bound = query.plan_for(columns).bound
        return finish_rows(bound, write_results(evaluated), self.options.numbers, query.place)

    def warn_unknown_types(self, data: LocalData, empty: list[str]) -> None:
        """Warn which types of queries without a result no event has: they may be misspelt."""
        from sparkleene.columns.labels import unknown_types

        column = self.options.type_column
        bounds = [self.queries[name].plan_for(data.columns).bound for name in empty]
        types = [label.type for bound in bounds if bound.types is None for label in bound.labels]
        if column is not None and types:
            for note in unknown_types(types, data.table.column(column)):
                warn(note)

    # ---- on Spark

    def goes_to_spark(self, data: Any, engine: str | None) -> bool:
        """Tell whether Spark evaluates the queries over some data."""
        if engine not in (None, "local", "spark"):
            raise self.mistake(f"engine is '{engine}'", "choose 'local' or 'spark'")
        if is_spark(data):
            if engine == "local":
                help = "pass df.toArrow(), or leave engine= out"
                raise self.mistake("a DataFrame of Spark is not local", help)
            return True
        with without_garbage():
            from sparkleene.columns.tables import is_paths

        if engine == "spark" and not is_paths(data):
            help = "make a DataFrame of it: spark.createDataFrame(data)"
            raise self.mistake("Spark reads paths and DataFrames of its own", help)
        return engine == "spark"

    def check_output_mode(self, data: Any, output_mode: str | None) -> None:
        """Raise if an output mode is given for data on Spark that is no stream."""
        if output_mode is not None and not is_stream(data):
            raise self.mistake("an output mode is for streams", "leave it out, or pass a streaming DataFrame")

    def check_local(self, strategy: str | None, output_mode: str | None) -> None:
        """Raise if something is asked for in this process that only Spark has."""
        if output_mode is not None:
            raise self.mistake("an output mode is for streams", "leave it out, or pass a streaming DataFrame")
        if strategy is not None:
            raise self.mistake("a strategy is for Spark", "leave it out, or pass a DataFrame of Spark")

    def ask_spark(
        self, data: Any, strategy: str | None = None, output_mode: str | None = None
    ) -> tuple[Source, list[Request]]:
        """Return data on Spark, and the requests to ask it."""
        with without_garbage():
            from sparkleene.spark.source import open_source

        source = open_source(to_spark(data))
        return source, self.requests(source.columns, strategy, output_mode, source.zone)

    def requests(
        self,
        names: Collection[str],
        strategy: str | None = None,
        output_mode: str | None = None,
        zone: str | None = None,
    ) -> list[Request]:
        """Return what Spark is asked of data with these columns, a request for each part.

        `zone` is the time zone of the session.
        """
        from sparkleene.spark.request import join_requests

        queries = self.single_requests(names, strategy, output_mode, zone)
        if self.sharing is None:
            return [*queries.values()]
        shares = self.sharing != "never"
        parts = self.parts(tuple(names))
        return [join_requests(part, [queries[name] for name in part.names], shares) for part in parts]

    def single_requests(
        self, names: Collection[str], strategy: str | None, output_mode: str | None, zone: str | None
    ) -> dict[str, Request]:
        """Return what Spark would be asked of each query by itself."""
        from sparkleene.spark.request import ask_alone

        options = replace(self.options.for_engine(zone), numbered=False, forced_bursts=self.forced_bursts)
        named, columns = self.sharing is not None, tuple(names)
        return {
            name: ask_alone(name, query, columns, options, output_mode, strategy=strategy, number=i, named=named)
            for i, (name, query) in enumerate(self.queries.items())
        }

    def run_from(
        self, checkpoint: str | os.PathLike[str], data: Any, output_mode: OutputMode | None
    ) -> tuple[Any, Callable[[], Stats] | None]:
        """Evaluate the queries over a stream that goes on from a checkpoint, whatever queries that has had.

        What is returned is what `run` returns.
        """
        if not is_stream(data):
            raise self.mistake("a checkpoint is for streams", "leave it out, or pass a streaming DataFrame")
        from sparkleene.spark.generations import run_from
        from sparkleene.spark.shared_counts import open_counts, reader_of
        from sparkleene.spark.source import open_source

        source = open_source(data)
        counts = open_counts(source.spark)
        alone = self.single_requests(source.columns, None, output_mode, source.zone)
        counted = {name: replace(request, counts=counts) for name, request in alone.items()}
        given = (self.queries, counted, self.sharing or "never")
        result, notes = run_from(os.fspath(checkpoint), data, *given)
        for note in notes:
            warn(note)
        return result, reader_of(counts, self.parts(tuple(source.columns)))

    # ---- either

    def run(
        self,
        data: Any,
        engine: Engine | None,
        threads: int | None,
        strategy: Strategy | None,
        output_mode: OutputMode | None,
    ) -> tuple[Any, Callable[[], Stats] | None]:
        """Evaluate the queries over data of any kind; return the result, and what tells what was shared.

        On Spark it tells what tasks have reported so far; on Spark Connect, where they cannot, it is None.
        """
        if self.goes_to_spark(data, engine):
            self.check_output_mode(data, output_mode)
            source, requests = self.ask_spark(data, strategy, output_mode)
            if self.sharing is None:
                return like_data(source.run(requests), data), None
            requests = [*source.group(requests)]
            from sparkleene.spark.shared_counts import open_counts, reader_of

            counts = open_counts(source.spark)
            result = source.run([replace(request, counts=counts) for request in requests])
            return like_data(result, data), reader_of(counts, [request.part for request in requests])
        self.check_local(strategy, output_mode)
        from sparkleene.workload.run import unite_results

        local = self.read(data)
        results, stats = self.evaluate(local, threads)
        [*tables] = results.values()
        return local.back(tables[0] if self.sharing is None else unite_results(results)), lambda: stats


def is_spark(data: Any) -> bool:
    """Tell whether data is a DataFrame of Spark, classic, Connect or pandas on Spark, without importing Spark."""
    return any(kind.__module__.startswith("pyspark.sql.") for kind in type(data).__mro__) or _is_pandas(data)


def is_stream(data: Any) -> bool:
    """Tell whether data is a streaming DataFrame."""
    return is_spark(data) and bool(to_spark(data).isStreaming)


def to_spark(data: Any) -> Any:
    """Return data on Spark as a DataFrame, paths as they are."""
    return data.to_spark() if _is_pandas(data) else data


def like_data(result: Any, data: Any) -> Any:
    """Return a result of Spark as the kind of data that was given."""
    return result.pandas_api() if _is_pandas(data) else result


def _is_pandas(data: Any) -> bool:
    """Tell whether data is a frame of pandas on Spark."""
    return type(data).__name__ == "DataFrame" and type(data).__module__.startswith("pyspark.pandas.")
