"""What tasks do: from a table to the results of queries, or to parts of them. Plans are lowered, see lower.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy
from sparkleene.engine.bursts import Bursts
from sparkleene.engine.results import SUMS, add_partial, write_partial, write_results
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.windows import WINDOW
from sparkleene.errors import Place
from sparkleene.plan.part import Member, Part
from sparkleene.plan.plan import Plan
from sparkleene.workload.run import QUERY, JointRun, divide_members, evaluate_queries
from sparkleene.workload.stats import count_bursts


@dataclass(frozen=True)
class Job:
    """What a task evaluates over one table: its runs, and the columns in which it sends results."""

    runs: tuple[Run, ...]
    schema: pa.Schema
    partial: bool  # whether results come in parts, which are added up
    named: bool  # whether rows tell which query they are of
    keys: tuple[str, ...]  # the columns by which rows can be spread
    joints: tuple[JointRun, ...] = ()  # runs that may share panes
    shares: bool = False  # whether runs share an order of rows
    counts: Any = None  # an accumulator of what was shared, or None

    @property
    def run(self) -> Run:
        """The run of a job that has one alone."""
        (run,) = self.runs
        return with_cores(run)

    @property
    def members(self) -> tuple[Member, ...]:
        """The queries one by one."""
        return tuple(member for run in self.runs for member in run.part.members)

    @property
    def places(self) -> tuple[Place, ...]:
        """The texts of the queries."""
        return tuple(member.place for member in self.members)

    def select(self, table: pa.Table) -> pa.Table:
        """Leave out rows that have no part in any query."""
        masks = [run.options.masks[-1:] for run in self.runs if not run.plan.every_row]
        if not all(masks) or len(masks) < len(self.runs):
            return table
        some: Any = np.logical_or.reduce([as_numpy(table.column(name)) != 0 for (name,) in masks])
        return table if some.all() else table.filter(pa.array(some))

    def evaluate(self, table: pa.Table) -> pa.Table:
        """Return the results of all queries over a table."""
        runs = [with_cores(run) for run in self.runs]
        joints = [replace(joint, run=with_cores(joint.run)) for joint in self.joints]

        def select(run: Run, rows: pa.Table) -> pa.Table:
            return replace(self, runs=(run,)).select(rows)

        tables = []
        done: dict[int, tuple[Part, Bursts | None]] = {}
        for member, evaluated in evaluate_queries(runs, table, joints, select, self.shares):
            tables.append(self.write(member, evaluated))
            done[id(evaluated.bursts or evaluated.part)] = evaluated.part, evaluated.bursts
        self._count(done.values())
        return pa.concat_tables(tables)

    def _count(self, done: Iterable[tuple[Part, Bursts | None]]) -> None:
        """Report what runs have shared."""
        if self.counts is not None:
            self.counts.add(count_bursts(done))

    def write(self, member: Member, evaluated: Evaluated, zeros: bool = False) -> pa.Table:
        """Write what is a query's own of evaluated windows as results, or as parts of them.

        With `zeros` also windows without trends, if the query can lose trends that it had.
        """
        if self.partial:
            table = write_partial(evaluated)
        else:
            table = write_results(evaluated, zeros and not member.plan.machine.monotone)
        return fit_columns(add_name(table, member.name), self.schema) if self.named else table

    def write_all(self, evaluated: Evaluated, zeros: bool = False) -> pa.Table:
        """Write evaluated windows for all queries of their part."""
        tables = [self.write(*each, zeros) for each in divide_members(evaluated)]
        self._count([(evaluated.part, evaluated.bursts)])
        return pa.concat_tables(tables)

    def add_up(self, table: pa.Table) -> pa.Table:
        """Add up parts of results."""
        return pa.concat_tables(list(self._add_up(table)), promote_options="default")

    def _add_up(self, table: pa.Table) -> Iterator[pa.Table]:
        for run in self.runs:
            for member in run.part.members:
                numbers = run.options.numbers
                if not self.named:
                    yield add_partial(member.plan, table, numbers)
                    continue
                own = table.filter(pc.equal(table.column(QUERY), member.name))
                found = add_partial(member.plan, own.select(partial_columns(member.plan)), numbers)
                yield add_name(found, member.name)


def partial_columns(plan: Plan) -> list[str]:
    """Return the columns of the parts of a query's results."""
    bound = plan.bound
    window = [] if bound.window is None else WINDOW
    lows = [output.name for output in bound.outputs if output.function in ("min", "max")]
    return [*window, *bound.group_names, *lows, SUMS]


def add_name(table: pa.Table, query: str) -> pa.Table:
    """Add the column of the query's name."""
    return table.append_column(QUERY, pa.array([query] * table.num_rows, pa.string()))


def fit_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table in the columns of a schema; those that it lacks are NULL."""
    known = set(table.column_names)
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in known
        else pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def with_cores(run: Run) -> Run:
    """Return a run that uses all cores of the task."""
    return replace(run, threads=task_cores())


def task_cores() -> int:
    """Return how many cores a task may use."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.cpus() if context is not None else 1
