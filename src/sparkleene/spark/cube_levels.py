"""A cube on Spark: finer queries are evaluated, and tasks add up their results to those of coarser ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sparkleene.errors import Place
from sparkleene.olap.cube_plan import CubePlan, Step
from sparkleene.spark.request import col, map_batches
from sparkleene.spark.results import raise_errors
from sparkleene.spark.tasks import ERROR, Batches, gather, send_results
from sparkleene.workload.run import QUERY, unite_results


def add_levels(plan: CubePlan, results: DataFrame, schema: pa.Schema) -> DataFrame:
    """Add the results that follow from others to those of the queries that were evaluated.

    All rows of a window and group come to one task. That needs no state, so it is right for a stream too: its
    results of one window come in one batch.
    """
    if not any(step.sources for step in plan.steps):
        return results
    moved = results.repartition(_place_of_row(plan))
    sent = schema.append(pa.field(ERROR, pa.string()))
    return raise_errors(map_batches(moved, AddLevels(plan, sent), sent)).drop(ERROR)


def _place_of_row(plan: CubePlan) -> Column:
    """Return a number that is the same for all rows of a window and group, whatever the query calls its columns."""
    place = F.lit(0)
    queries: dict[tuple[str, ...], list[str]] = {}
    for name in {source for step in plan.steps for source in step.sources}:
        queries.setdefault(plan.queries[name].keys, []).append(name)
    for keys, names in queries.items():
        if keys:
            place = F.when(col(QUERY).isin(*names), F.hash(*map(col, keys))).otherwise(place)
    return place


@dataclass(frozen=True)
class AddLevels:
    """From the results of evaluated queries, all those of some windows and groups, to those of all queries."""

    plan: CubePlan
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Add up a partition."""
        if (table := gather(batches)) is not None:
            yield from send_results(self.schema, lambda: iter([self.add_up(table)]))

    def add_up(self, table: pa.Table) -> pa.Table:
        """Return the results of all queries."""
        found = {}
        for step in self.plan.steps:
            if not step.sources:
                own = table.filter(pc.equal(table.column(QUERY), step.query))
                found[step.query] = own.select(self.plan.queries[step.query].columns)
                continue
            total = self.plan.add_up(step, found)
            if total is None:
                raise _overflow(step)
            found[step.query] = total
        return unite_results(found)


def _overflow(step: Step) -> Exception:
    message = f"sums of {', '.join(step.sources)} are beyond doubles, so those of '{step.query}' do not follow"
    help = f"run '{step.query}' as a query by itself, or the cube with numbers=\"exact\""
    return Place().error("overflow", message, help=help)
