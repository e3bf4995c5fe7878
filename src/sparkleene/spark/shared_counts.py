"""What tasks report of the bursts that they share: an accumulator of Spark, which the driver reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark.accumulators import Accumulator, AccumulatorParam

from sparkleene.plan.part import Part
from sparkleene.spark.session import is_connect
from sparkleene.workload.stats import Stats, add_stats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Counts = Accumulator[Stats]


class _Adding(AccumulatorParam[Stats]):
    """How what several tasks have counted becomes one."""

    def zero(self, value: Stats) -> Stats:
        """Return what no task has counted."""
        return Stats()

    def addInPlace(self, value1: Stats, value2: Stats) -> Stats:
        """Return what two have counted."""
        return add_stats(value1, value2)


def open_counts(spark: SparkSession) -> Counts | None:
    """Return what tasks of a session can add to, or None on Spark Connect, which has nothing like it."""
    return None if is_connect(spark) else spark.sparkContext.accumulator(Stats(), _Adding())


def reader_of(counts: Counts | None, parts: Sequence[Part]) -> Callable[[], Stats] | None:
    """Return what tells what tasks have added so far; which queries have one automaton is known before."""
    planned = Stats((), (part.names for part in parts if part.is_shared))
    return None if counts is None else lambda: add_stats(planned, counts.value)
