"""A query as it is asked of Spark, and small things that all of its ways to an answer need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkleene.columns.expressions import drop_sides
from sparkleene.columns.fields import missing_column
from sparkleene.columns.reading import EngineOptions
from sparkleene.errors import Place, Span
from sparkleene.language.bound import Drawn, Path, Term
from sparkleene.language.printer import quote
from sparkleene.language.trees import walk_term
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import term_to_text
from sparkleene.prepared import PreparedQuery
from sparkleene.spark.garbage import Spared
from sparkleene.spark.lower import Lowered, Lowering, lower
from sparkleene.spark.sql.types import result_type, schema_to_spark
from sparkleene.spark.state.standing import Standing

OWN = "sparkleene "
"""What the names of columns begin with that are no user's."""


@dataclass(frozen=True)
class Request:
    """A part of what is asked of Spark, the columns that it needs, and how it was asked."""

    part: Part
    options: EngineOptions
    needed: tuple[str, ...]
    strategy: str | None = None
    output_mode: str | None = None  # of a stream
    canonical: str = ""  # the text, however it was written
    name: str | None = None
    alone: tuple[Request, ...] = ()  # the queries of a part of a workload, one by one
    number: int = 0  # the place of a query in its workload
    shares: bool = True  # whether parts of the workload may be evaluated in one job
    named: bool = False  # whether rows tell which query they are of: those of a workload do
    counts: Any = None  # an accumulator to which tasks report what was shared, or None
    standing: Standing | None = None  # of a part of a workload that may change while a stream runs

    @property
    def plan(self) -> Plan:
        """The plan that is evaluated."""
        return self.part.plan

    @property
    def place(self) -> Place:
        """The query text that errors point into."""
        return self.part.place

    @property
    def queries(self) -> tuple[Request, ...]:
        """The queries that are asked for, one by one."""
        return self.alone or (self,)

    @property
    def keys(self) -> tuple[Path, ...]:
        """The attributes by which rows can be spread."""
        return tuple(self.plan.bound.keys[k].path for k in self.plan.shuffle_keys)

    @property
    def checksum(self) -> str:
        """What tells a query from others."""
        return sha256(self.text.encode()).hexdigest()[:16]

    @property
    def text(self) -> str:
        """A query's text, however it was written, with the types that are defined beside it."""
        types = [f"{name} AS {term_to_text(term)}" for name, term in self.plan.bound.types or ()]
        return "\n".join([self.canonical, *types])

    def check_needed(self, known: Sequence[str]) -> None:
        """Raise if the data lacks a column."""
        for name in self.needed:
            if name not in known:
                raise missing_column(name, known, self.place)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise if columns have names that are used on the way."""
        for name in names:
            if name.lower().startswith(OWN):
                message = f"names that begin with '{OWN}' are used inside, and a column is called '{name}'"
                raise self.place.error("unsupported-data", message, help="rename the column")

    def to_spark(self, found: pa.Schema) -> pa.Schema:
        """Return the result's schema in the types that Spark holds it in, or raise where it cannot."""
        self.check_names([*self.needed, *found.names])
        return pa.schema([(field.name, result_type(field.name, field.type, self.place)) for field in found])


def ask_alone(
    name: str,
    query: PreparedQuery,
    columns: tuple[str, ...],
    options: EngineOptions,
    output_mode: str | None = None,
    *,
    strategy: str | None = None,
    number: int = 0,
    named: bool = True,
) -> Request:
    """Return the request of a query by itself, over data with some columns."""
    query.check_types(columns)
    plan = query.plan_for(columns)
    part = Part.single(name, plan, Place(query.text, name))
    how = (strategy, output_mode, query.canonical, query.tree.name)
    return Request(part, options, tuple(query.columns(plan)), *how, number=number, named=named)


def join_requests(part: Part, alone: Sequence[Request], shares: bool) -> Request:
    """Return the request of a part, of queries that are asked alone."""
    needed = tuple(sorted({column for one in alone for column in one.needed}))
    return replace(alone[0], part=part, needed=needed, shares=shares, alone=tuple(alone))


Places = dict[tuple[Term, Span], Place]
"""The texts that terms are in, by where they are there."""


def places(requests: Sequence[Request]) -> Places:
    """Return the texts that predicates are in, and parts of them on one event."""
    found: Places = {}
    for query in (query for request in requests for query in request.queries):
        bound = query.plan.bound
        terms = [term for terms in bound.local for term in terms]
        terms += [one.condition for one in bound.adjacent]
        terms += [*bound.durations, *bound.ends, *(one.term for one in bound.derived)]
        terms += bound.window.conditions if isinstance(bound.window, Drawn) else ()
        for term in terms:
            for part in walk_term(term):
                found.setdefault((drop_sides(part), part.span), query.place)
    return found


def find_paths(plan: Plan, keys: Iterable[int]) -> list[Path]:
    """Return the attributes of the data among some keys, without those that the query computes."""
    derived = {(one.name,) for one in plan.bound.derived}
    paths = [plan.bound.keys[k].path for k in keys]
    return [path for path in paths if path not in derived]


def lower_together(
    requests: Sequence[Request], ready: Callable[[Term], bool], masks: Sequence[bool]
) -> list[Lowered]:
    """Lower parts onto one table; `masks` tells of each whether its labels can be found beforehand."""
    found: dict[str, Term] = {}
    ranks = [i if one.standing is None else one.standing.rank for i, one in enumerate(requests)]
    lows = [
        lower(request.part, request.options, Lowering(ready, labelled, found, rank))
        for request, labelled, rank in zip(requests, masks, ranks, strict=True)
    ]
    return [replace(low, columns=tuple(found.items())) for low in lows]


def map_batches(rows: DataFrame, task: Any, schema: pa.Schema) -> DataFrame:
    """Run a task over the partitions of a DataFrame.

    PySpark does not quote the names that it hands to Python: columns with odd ones go as fields of a struct.
    """
    if any(sign in name for name in rows.columns for sign in ".`*"):
        rows = rows.select(F.struct(*map(col, rows.columns)).alias("row"))
        task = UnpackStruct(task)
    return rows.mapInArrow(Spared(task), schema_to_spark(schema))


@dataclass(frozen=True)
class UnpackStruct:
    """A task that is given the fields of a struct as its columns."""

    task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the task."""
        return self.task(pa.RecordBatch.from_struct_array(batch.column(0)) for batch in batches)


def col(name: str) -> Column:
    """Return the column of exactly this name."""
    return F.col(quote(name))


def zone(spark: SparkSession) -> str:
    """Return the session's time zone."""
    return str(spark.conf.get("spark.sql.session.timeZone"))


def partitions(spark: SparkSession) -> int:
    """Return how many partitions the session's shuffles have."""
    return int(str(spark.conf.get("spark.sql.shuffle.partitions")))
