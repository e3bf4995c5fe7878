"""A workload over a DataFrame or over files: parts with keys in common are one job, the others stand beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from sparkleene.spark import batch, by_path
from sparkleene.spark.request import Request
from sparkleene.spark.results import schema_of
from sparkleene.spark.strategy import MEANING, families

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkleene.spark.parquet.footers import Files


def run(requests: Sequence[Request], frame: DataFrame) -> DataFrame:
    """Return the results of a workload's parts over a DataFrame, as one that is not evaluated yet."""
    schema = schema_of(requests, lambda one: batch.fits(one, frame))
    groups = families(requests, [batch.chosen(request, frame).strategy for request in requests])
    results = [batch.evaluated(family, frame, schema, strategy) for strategy, family in groups]
    return reduce(lambda one, other: one.union(other), results)


def run_files(requests: Sequence[Request], files: Files, spark: SparkSession) -> DataFrame:
    """Return the results of a workload's parts over files, as a DataFrame that is not evaluated yet."""
    schema = schema_of(requests, lambda one: by_path.fits(one, files))
    if requests[0].shares:
        return by_path.evaluated(requests, files, spark, schema)
    results = [by_path.evaluated([one], files, spark, schema) for one in requests]
    return reduce(lambda one, other: one.union(other), results)


def explained(requests: Sequence[Request], frame: DataFrame) -> Iterator[tuple[str, str]]:
    """Tell how a workload is evaluated over a DataFrame."""
    groups = families(requests, [batch.chosen(request, frame).strategy for request in requests])
    for strategy, family in groups:
        yield "job", f"{strategy}: {MEANING[strategy]}"
        yield from _described(family)


def files_explained(requests: Sequence[Request]) -> Iterator[tuple[str, str]]:
    """Tell how a workload is evaluated over files."""
    for family in [requests] if requests[0].shares else [[one] for one in requests]:
        yield "job", "tasks read the files themselves"
        yield from _described(family)


def _described(family: Sequence[Request]) -> Iterator[tuple[str, str]]:
    common = set.intersection(*(set(request.keys) for request in family))
    names = [name for request in family for name in request.part.names]
    yield "queries", ", ".join(names)
    yield (
        "spread",
        f"once, by {', '.join(sorted(map('.'.join, common)))}" if common else "not at all: there is no key",
    )
