"""What tasks have to do: queries over a table, to results or to parts of them.

A job is one plan, of a query or of several that were merged; jobs are several over the same table. The plans are
lowered, see `engine.lower`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.fields import as_numpy
from sparkleene.columns.options import Options
from sparkleene.errors import Place, SparkleeneError
from sparkleene.plan.plan import Plan

if TYPE_CHECKING:
    from sparkleene.workload.merge import Part


@dataclass(frozen=True)
class Job:
    """A lowered query, or several with one plan, and the columns that results have on the way."""

    plan: Plan
    options: Options
    schema: pa.Schema
    partial: bool
    place: Place
    part: Part | None = None  # the queries of a workload that the plan is of; results then tell them apart
    places: tuple[Place, ...] = ()  # their texts

    @property
    def each(self) -> tuple[Job, ...]:
        """The jobs that are done together: this one."""
        return (self,)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of the queries one by one."""
        return (self.plan,) if self.part is None else self.part.alone

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns by which rows can be spread."""
        return tuple(self.plan.bound.keys[k].path[0] for k in self.plan.together)

    def own(self, table: pa.Table) -> pa.Table:
        """Leave out rows that have no part in the query."""
        if self.plan.every_row or not self.options.masks:
            return table
        mask: Any = as_numpy(table.column(self.options.masks[-1]))
        return table if mask.all() else table.filter(pa.array(mask != 0))

    def results(self, table: pa.Table) -> pa.Table:
        """Evaluate the query over a table."""
        from sparkleene.engine.run import evaluate

        with self.blamed(table):
            found = evaluate(self.plan, table, self.options, cores(), self.place)
        return self.written(found)

    def blamed(self, table: pa.Table) -> AbstractContextManager[None]:
        """Let an error in a table be told by the query that is at fault."""
        queries = zip(self.plans, self.places, strict=False)
        return blamed(list(queries), table, self.options)

    def written(self, evaluated: Any, zeros: bool = False) -> pa.Table:
        """Write evaluated windows as results, or as parts of them.

        With `zeros` also windows without trends, of queries that can lose trends they had.
        """
        from sparkleene.engine.finish import finish
        from sparkleene.engine.partial import partial
        from sparkleene.workload.run import written

        def write(plan: Plan, *given: Any) -> pa.Table:
            if self.partial:
                return partial(plan, *given)
            compiled, stream, windows, results, integers = given
            lost = zeros and not plan.machine.monotone
            return finish(plan, compiled, stream, windows, results, integers, lost)

        if self.part is None:
            return write(self.plan, *evaluated)
        tables = [
            fitted(named(table, name), self.schema) for name, table in written(self.part, evaluated, write)
        ]
        return pa.concat_tables(tables)

    def total(self, table: pa.Table) -> pa.Table:
        """Add up parts of results."""
        from sparkleene.engine.partial import total
        from sparkleene.workload.run import QUERY

        if self.part is None:
            return total(self.plan, table, self.options.numbers)
        found = []
        for name, plan in zip(self.part.names, self.part.alone, strict=True):
            mine = table.filter(pc.equal(table.column(QUERY), name)).select(kept(plan))
            found.append(named(total(plan, mine, self.options.numbers), name))
        return pa.concat_tables(found, promote_options="default")


@dataclass(frozen=True)
class Jobs:
    """Several jobs over one table, with results in the same columns."""

    each: tuple[Job, ...]
    keys: tuple[str, ...] = ()  # the columns by which rows can be spread

    @property
    def schema(self) -> pa.Schema:
        """The columns of results on the way."""
        return self.each[0].schema

    @property
    def partial(self) -> bool:
        """Whether results come in parts."""
        return self.each[0].partial

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of the queries one by one."""
        return tuple(plan for job in self.each for plan in job.plans)

    def own(self, table: pa.Table) -> pa.Table:
        """Leave out rows that have no part in any query."""
        masks = [job.options.masks[-1:] for job in self.each if not job.plan.every_row]
        if not all(masks) or len(masks) < len(self.each):
            return table
        some: Any = np.logical_or.reduce([as_numpy(table.column(name)) != 0 for (name,) in masks])
        return table if some.all() else table.filter(pa.array(some))

    def results(self, table: pa.Table) -> pa.Table:
        """Evaluate all queries over a table; those that differ in their windows alone by panes, where that pays."""
        found: list[pa.Table] = []
        for jobs in alike(self.each, table):
            found += by_panes(jobs, table) or [job.results(job.own(table)) for job in jobs]
        return pa.concat_tables(found)

    def total(self, table: pa.Table) -> pa.Table:
        """Add up parts of results."""
        return pa.concat_tables([job.total(table) for job in self.each], promote_options="default")


Work = Job | Jobs


def alike(jobs: Sequence[Job], table: pa.Table) -> list[list[Job]]:
    """Put jobs together that do the same over a table, but in other windows."""
    from sparkleene.engine.compile import aggregates

    def same(one: Job, other: Job) -> bool:
        a, b = one.plan.bound, other.plan.bound
        made, wanted = aggregates(a), aggregates(b)
        masks = zip(one.options.masks, other.options.masks, strict=False)
        return (
            (a.keys, a.group, made.totals, made.lows) == (b.keys, b.group, wanted.totals, wanted.lows)
            and one.plan.machine == other.plan.machine
            and len(one.options.masks) == len(other.options.masks) > 0
            and all(table.column(x).equals(table.column(y)) for x, y in masks)
        )

    found: list[list[Job]] = []
    for job in jobs:
        window = job.plan.bound.window
        slides = window is not None and window.slide is not None and window.unit != "events"
        group = next((some for some in found if slides and same(some[0], job)), None)
        if group is None or not slides or job.plan.pairs:
            found.append([job])
        else:
            group.append(job)
    return found


def by_panes(jobs: Sequence[Job], table: pa.Table) -> list[pa.Table]:
    """Evaluate jobs that differ in their windows alone by common panes; return nothing where that costs more."""
    from sparkleene.engine.compile import aggregates
    from sparkleene.engine.panes import together

    first, windows = jobs[0], [job.plan.bound.window for job in jobs]
    if len(jobs) == 1 or None in windows:
        return []
    states = [len(job.plan.machine.states) for job in jobs]
    rows, given = first.own(table), [window for window in windows if window]
    try:
        found = together(first.plan, given, states, rows, first.options, cores(), first.place)
    except SparkleeneError:
        return []  # the query at fault tells it
    out = []
    for job, (compiled, stream, *rest) in zip(jobs, found or (), strict=False):
        bound = job.plan.bound
        named = replace(stream, groups=stream.groups.rename_columns(list(bound.group_names)))
        out.append(job.written((replace(compiled, outputs=aggregates(bound).outputs), named, *rest)))
    return out


@contextmanager
def blamed(queries: Sequence[tuple[Plan, Place]], table: pa.Table, options: Options) -> Iterator[None]:
    """Let an error in a table be told by the first of several queries that has it too, if one does."""
    from sparkleene.columns.schema import result_schema

    try:
        yield
    except SparkleeneError:
        for plan, place in queries:
            result_schema(plan, table, options, place)
        raise


def kept(plan: Plan) -> list[str]:
    """Return the columns of the parts of a query's results."""
    from sparkleene.engine.partial import SUMS

    bound = plan.bound
    window = [] if bound.window is None else ["window_start", "window_end"]
    lows = [output.name for output in bound.outputs if output.function in ("min", "max")]
    return [*window, *bound.group_names, *lows, SUMS]


def named(table: pa.Table, query: str) -> pa.Table:
    """Add the column of the query's name."""
    from sparkleene.workload.run import QUERY

    return table.append_column(QUERY, pa.array([query] * table.num_rows, pa.string()))


def fitted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table in the columns of a schema; those that it lacks are NULL."""
    known = set(table.column_names)
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in known
        else pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def cores() -> int:
    """Return how many cores a task may use."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.cpus() if context is not None else 1
