"""Queries over one table, in a user's process or in a worker of Spark: one or many, always by this way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, as_numpy, make_scalar
from sparkleene.columns.fields import describe_type
from sparkleene.columns.labels import mask_type
from sparkleene.engine.memo import Memo
from sparkleene.engine.results import select_member
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.shared_order import share_orders
from sparkleene.engine.windows import WINDOW
from sparkleene.errors import DataError, Diagnostic
from sparkleene.plan.part import Member, Part
from sparkleene.workload.panes import evaluate_by_panes

QUERY = "query"
"""The column that says which query a row is of."""


@dataclass(frozen=True)
class Relabelling:
    """A column of label masks, and where each of its labels is known from: the bit of another such column."""

    name: str
    bits: tuple[tuple[str, int], ...]

    def add(self, table: pa.Table) -> pa.Table:
        """Add the column to a table that has the others."""
        masks = np.zeros(table.num_rows, mask_type(len(self.bits)))
        for label, (name, bit) in enumerate(self.bits):
            values: Array = as_numpy(table.column(name))
            masks |= (values >> bit & 1).astype(masks.dtype) << masks.dtype.type(label)
        return table.append_column(self.name, pa.array(masks))


@dataclass(frozen=True)
class JointRun:
    """Runs that differ in their windows alone, and one over all of their queries."""

    run: Run
    members: tuple[Part, ...]
    labels: tuple[Relabelling, ...] = ()  # where its labels are not columns of the table

    def add_labels(self, table: pa.Table) -> pa.Table:
        """Return a table with all columns that the run reads."""
        for one in self.labels:
            table = one.add(table)
        return table


def _whole_table(run: Run, table: pa.Table) -> pa.Table:
    return table


def evaluate_queries(
    runs: Sequence[Run],
    table: pa.Table,
    joints: Sequence[JointRun] = (),
    select: Callable[[Run, pa.Table], pa.Table] = _whole_table,
    shares: bool = False,
) -> Iterator[tuple[Member, Evaluated]]:
    """Evaluate runs over a table; give each query and what is its own of the results.

    Runs of a joint share panes where that costs less than each by itself. `select` may leave out rows that have no
    part in a run. With `shares` runs that have keys in common share one order of rows.
    """
    memo = Memo()
    done: set[str] = set()
    for joint in (replace(joint, run=replace(joint.run, memo=memo)) for joint in joints):
        for member, evaluated in _evaluate_joint(joint, select(joint.run, joint.add_labels(table))):
            done.add(member.name)
            yield member, evaluated
    left = [replace(run, memo=memo) for run in runs if run.part.names[0] not in done]
    orders = share_orders([(run.plan, run.options) for run in left]) if shares else [None] * len(left)
    for n, run in enumerate(left):
        rows = select(run, table) if orders[n] is None else table
        yield from divide_members(replace(run, shared=orders[n]).evaluate(rows))
        orders[n] = None  # the last one lets go of the rows


def divide_members(evaluated: Evaluated) -> Iterator[tuple[Member, Evaluated]]:
    """Give each query of a part and what is its own of the results."""
    for k, member in enumerate(evaluated.part.members):
        if evaluated.members is None or k in evaluated.members:
            yield member, select_member(evaluated, k)


def _evaluate_joint(joint: JointRun, table: pa.Table) -> Iterator[tuple[Member, Evaluated]]:
    """Evaluate runs by common panes; give nothing where that costs more."""
    whole = joint.run.part
    with joint.run.blame(table):
        found = evaluate_by_panes(joint.run, joint.members, table)
    for part, evaluated in zip(joint.members, found or (), strict=False):
        for name in part.names:
            k = whole.names.index(name)
            yield whole.members[k], select_member(evaluated, k)


def unite_results(results: Mapping[str, pa.Table]) -> pa.Table:
    """Return all rows in one table, each with the name of its query; columns that a query lacks are NULL."""
    unite_schemas({name: table.schema for name, table in results.items()})
    tables = [
        table.add_column(0, pa.field(QUERY, pa.string()), pa.repeat(make_scalar(name), table.num_rows))
        for name, table in results.items()
    ]
    return pa.concat_tables(tables, promote_options="default")


def unite_schemas(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """Return the columns of all queries, after that of their names, or raise where two do not fit."""
    kinds: dict[str, tuple[str, pa.Field]] = {}
    for query, schema in schemas.items():
        for field in schema:
            if field.name == QUERY:
                message = f"a column of '{query}' is called '{QUERY}', as the one that tells queries apart"
                raise DataError(Diagnostic("unsupported-data", message, help="give it another name, with AS"))
            other, known = kinds.setdefault(field.name, (query, field))
            if known.type != field.type:
                ways = f"{describe_type(known.type)} in '{other}' and {describe_type(field.type)} in '{query}'"
                message, help = f"the column '{field.name}' is {ways}", "give one another name, with AS"
                if field.name in WINDOW:
                    help = "ask them in two workloads: windows of events have numbers, the others times"
                raise DataError(Diagnostic("wrong-type", message, help=help))
    return pa.schema([pa.field(QUERY, pa.string()), *(field for _, field in kinds.values())])
