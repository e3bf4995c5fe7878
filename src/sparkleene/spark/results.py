"""From what tasks send back to the result: errors raised, the parts of groups combined."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkleene.engine.results import SUMS, adds_up
from sparkleene.engine.run import Run
from sparkleene.errors import DataError, Diagnostic
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import shown_name, term_to_text
from sparkleene.spark import tasks
from sparkleene.spark.jobs import Job
from sparkleene.spark.lower import Lowered, Lowering, lower
from sparkleene.spark.request import Request, col, map_batches
from sparkleene.spark.sql.values import BOOLEAN
from sparkleene.workload.joints import find_joints
from sparkleene.workload.run import JointRun, Relabelling, unite_schemas

_DIGITS, _LONG = T.DecimalType(38, 0), T.LongType()  # types as text would make Spark parse it


def schema_of(requests: Sequence[Request], check: Callable[[Request], pa.Schema]) -> pa.Schema:
    """Return the columns of a result in the types that Spark holds; `check` gives those of one query."""
    if not requests[0].named:
        return requests[0].to_spark(check(requests[0]))
    queries = sorted((one for request in requests for one in request.queries), key=lambda one: one.number)
    found = {one.part.names[0]: check(one) for one in queries}
    types = {field.name: field for one in queries for field in one.to_spark(found[one.part.names[0]])}
    return pa.schema([types.get(field.name, field) for field in unite_schemas(found)])


class JobPlan(NamedTuple):
    """Lowered parts over one table, and what tasks need to know of them."""

    lows: Sequence[Lowered]
    job: Job
    whole: bool  # whether each group comes to one task


def make_jobs(families: Sequence[tuple[Sequence[Request], Sequence[Lowered]]], schema: pa.Schema) -> list[JobPlan]:
    """Return the jobs of families, each given with its lowered parts.

    Where some group does not come whole to one task, parts of all results are added up, so that nothing is
    evaluated twice.
    """
    every = [low for _, lows in families for low in lows]
    whole = all(_is_whole(low, _common(lows)) for _, lows in families for low in lows)
    partial = not whole and not _spark_adds_up(every)
    columns = task_columns(every, schema, partial)
    return [
        JobPlan(lows, replace(make_job(requests, lows, columns, partial), joints=_joints(requests, lows)), whole)
        for requests, lows in families
    ]


def make_job(requests: Sequence[Request], lows: Sequence[Lowered], columns: pa.Schema, partial: bool) -> Job:
    """Return what tasks need to know of parts over one table."""
    runs = tuple(Run(low.part, low.options) for low in lows)
    counts = next((one.counts for one in requests if one.counts is not None), None)
    return Job(runs, columns, partial, requests[0].named, _common(lows), (), requests[0].shares, counts)


def _joints(requests: Sequence[Request], lows: Sequence[Lowered]) -> tuple[JointRun, ...]:
    """Return the parts that may share panes: those of which all columns are there, and the masks of labels."""
    if not requests[0].shares:
        return ()
    found: list[JointRun] = []
    places = {request.part.names: i for i, request in enumerate(requests)}
    always = requests[0].options.forced_bursts is not None
    for joint in find_joints([request.part for request in requests], always):
        members = [places[part.names] for part in joint.members]
        if not all(lows[i].options.masks for i in members):
            continue
        known = {term_to_text(term) for _, term in lows[0].columns}
        rank = len(requests) + len(found)  # no part has it
        how = Lowering(lambda term: term_to_text(term) in known, True, dict(lows[0].columns), rank)  # noqa: B023
        low = lower(joint.part, requests[members[0]].options, how)
        if low.columns == lows[0].columns:
            labels = tuple(_find_labels(joint.part, low, [(requests[i].part, lows[i]) for i in members]))
            run = Run(low.part, replace(lows[members[0]].options, masks=low.options.masks))
            found.append(JointRun(run, tuple(lows[i].part for i in members), labels))
    return tuple(found)


def _find_labels(whole: Part, low: Lowered, parts: Sequence[tuple[Part, Lowered]]) -> Iterator[Relabelling]:
    """Yield how the masks of a part are made of those of others that have all of its labels."""
    for name, kinds in zip(low.options.masks, (_labels, _types), strict=False):
        bits = {
            kind: (other.options.masks[0 if kinds is _labels else -1], bit)
            for part, other in parts
            for bit, kind in enumerate(kinds(part))
        }
        yield Relabelling(name, tuple(bits[kind] for kind in kinds(whole)))


def _labels(part: Part) -> list[Hashable]:
    """Return for each label what decides which rows have it."""
    bound = part.plan.bound
    return [(label.type, terms) for label, terms in zip(bound.labels, bound.local, strict=True)]


def _types(part: Part) -> list[Hashable]:
    """Return the types of the labels."""
    return [label.type for label in part.plan.bound.labels]


def task_columns(lows: Sequence[Lowered], schema: pa.Schema, parts: bool) -> pa.Schema:
    """Return the columns in which tasks send results, or parts of them."""
    fields = list(schema)
    if parts:
        uses = _uses(lows)
        lost = {name for name, use in uses.items() if not use & {"", "min", "max"}}
        fields = [field for field in schema if field.name not in lost] + [pa.field(SUMS, pa.binary())]
    return pa.schema([*fields, pa.field(tasks.ERROR, pa.string())])


def _common(lows: Sequence[Lowered]) -> tuple[str, ...]:
    """Return the columns by which the rows of all plans can be spread."""
    keys = [[low.plan.bound.keys[k].path[0] for k in low.plan.shuffle_keys] for low in lows]
    return tuple(key for key in keys[0] if all(key in other for other in keys))


def _is_whole(low: Lowered, keys: Sequence[str]) -> bool:
    """Tell whether all sub-streams of a group come to one task, where rows are spread by these keys."""
    bound = low.plan.bound
    return {*keys} <= {bound.keys[k].path[0] for k in bound.group}


def _spark_adds_up(lows: Sequence[Lowered]) -> bool:
    """Tell whether Spark can add up finished results: where a column has one meaning in all queries."""
    alike = all(len(use) == 1 for use in _uses(lows).values())
    return alike and all(adds_up(plan, low.options.numbers) for low in lows for plan in _plans(low))


def _plans(low: Lowered) -> tuple[Plan, ...]:
    return tuple(member.plan for member in low.part.members)


def _uses(lows: Sequence[Lowered]) -> dict[str, set[str]]:
    """Return what the columns are in the queries: the functions of aggregates, nothing for groups and windows."""
    found: dict[str, set[str]] = {}
    for bound in (plan.bound for low in lows for plan in _plans(low)):
        window = () if bound.window is None else ("window_start", "window_end")
        for name in (*window, *bound.group_names):
            found.setdefault(name, set()).add("")
        for output in bound.outputs:
            found.setdefault(output.name, set()).add(output.function)
    return found


def raise_errors(results: DataFrame) -> DataFrame:
    """Return results that raise the error that a task has sent."""
    error = col(tasks.ERROR)
    return results.where(F.when(error.isNull(), F.lit(True)).otherwise(F.raise_error(error).cast(BOOLEAN)))


def _add_integers(name: str) -> Column:
    """Return the sum of counts of 64 bits, or an error where it has more: sums of SQL would begin anew."""
    total = F.sum(col(name).cast(_DIGITS))
    message = f"'{shown_name(name)}' is more than 2^63"
    error = DataError([Diagnostic("overflow", message, help="use numbers='exact' for counts of any size")])
    beyond = total > F.lit(str(2**63 - 1)).cast(_DIGITS)
    return F.when(beyond, F.raise_error(F.lit(str(error))).cast(_LONG)).otherwise(total.cast(_LONG))


def combine_parts(
    job: Job, results: DataFrame, schema: pa.Schema, whole: bool, number: int | None = None
) -> DataFrame:
    """Combine the parts of each group and window, unless they come whole.

    Counts, minima and maxima are combined by Spark itself. Sums beyond the range of doubles and integers of any
    length are types that Spark does not have, so tasks add up those: as many as the `number` says, else as Spark
    chooses.
    """
    columns = [col(name) for name in schema.names]
    if whole:
        return results.select(columns)
    outputs = {output.name: output for member in job.members for output in member.plan.bound.outputs}
    names = [col(name) for name in schema.names if name not in outputs]
    if job.partial:
        spread = names if number is None else [number, *names]
        moved = results.repartition(*spread) if names else results.repartition(1)
        return map_batches(moved, tasks.Total(job, schema), schema)
    how = {"count": F.sum, "min": F.min, "max": F.max}
    added = [
        (_add_integers(name) if schema.field(name).type == pa.int64() and output.function == "count" else
         how[output.function](col(name))).alias(name)
        for name, output in outputs.items()
    ]  # fmt: skip
    rows = F.count(F.lit(1)).alias(tasks.ERROR)  # SQL's aggregate of nothing is a row; here it is none
    total = results.groupBy(*names).agg(*added, rows).where(col(tasks.ERROR) > 0)
    return total.select(columns)
