"""Queries as the engine sees them, for tests below the public surface."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

import sparkleene as sk
from sparkleene.engine.run import Run
from sparkleene.errors import Place
from sparkleene.plan.part import Part
from sparkleene.spark.lower import Lowered, Lowering, lower, lower_table


def run_of(query: sk.Query, columns: Iterable[str], threads: int = 1, **options: Any) -> Run:
    """Return a query over tables of these columns, with some options changed."""
    prepared = query.prepared
    part = Part.single("", prepared.plan_for(tuple(columns)), Place(query.text))
    return Run(part, replace(prepared.options.for_engine(), **options), threads)


def lower_run(run: Run, ready: bool = True, masks: bool = True) -> Lowered:
    """Return what tasks of Spark are given of a query."""
    return lower(run.part, run.options, Lowering(lambda term: ready, masks, {}))


def flatten(run: Run, low: Lowered, table: pa.Table) -> pa.Table:
    """Return the rows of a table as tasks of Spark are given them."""
    return lower_table(run.part, low, table, run.options, 1)
