"""State of one partition that is older than that of the others is noticed, see test_faults.py; nothing else is
taken for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests.spark.test_streaming import END, TEXT, Source, at, events, plain, settings

import sparkleene as sk
from sparkleene.spark import streaming

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def two_partitions(spark: SparkSession) -> Iterator[None]:
    with settings(spark, **{"shuffle.partitions": "2"}):
        yield


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Source:
    return Source(spark, tmp_path / "files")


class Continued:
    """A stream that is started again and again from one checkpoint, and takes what is there each time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[dict[str, Any]] = []
        self.progress: list[Any] = []

    def go_on(self, frame: DataFrame) -> None:
        """Run to the end of what is there."""
        writer = frame.writeStream.foreachBatch(lambda rows, number: self.rows.extend(rows.toArrow().to_pylist()))
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        self.progress += query.recentProgress

    def gaps(self, name: str = "sparkleene") -> list[int | None]:
        """Return how far apart the states of buckets were, by batch."""
        return [one["observedMetrics"][name]["batches_apart"] for one in self.progress]


@pytest.mark.repeat
def test_batches_without_a_task_are_no_gap(spark: SparkSession, tmp_path: Path) -> None:
    """A batch may have offsets and no partition of rows: no bucket has a turn in it, and its number is used up."""
    query = sk.query(TEXT)
    whole, other = (Source(spark, tmp_path / "days" / f"day={day}") for day in (1, 2))
    read = spark.readStream.schema("time timestamp, type string, k long, day int").option("maxFilesPerTrigger", 1)
    frame = read.parquet(str(tmp_path / "days")).where("day = 1").drop("day").withWatermark("time", "2 seconds")
    stream = Continued(tmp_path)
    for step, rows in enumerate((events("a1 b2 a3"), [], events("b4 a9"), [], END)):
        (whole if rows else other).add(rows or events(f"a{step}"))
        stream.go_on(query.run(frame))
    assert plain(stream.rows) == plain(whole.expected(query))
    assert stream.gaps().count(None) == 2, "batches in which no bucket had a turn"
    assert {*stream.gaps()} == {0, None}


@pytest.mark.repeat
def test_operators_one_after_the_other_are_no_gap(source: Source, tmp_path: Path) -> None:
    query = sk.query("RETURN COUNT(*), SUM(A.n) AS n PATTERN A+ WHERE A.n > 0 WITHIN 20 seconds SLIDE 20 seconds")
    stream = Continued(tmp_path)
    rows = events("b13 b14 a16 a17 a18 b21") + END
    for batches in ([events("a1 a2 a6 b7 a11"), rows], [events("a1000100")]):
        source.add(*batches)
        each = source.marked("1 second").groupBy(F.window("time", "5 seconds"), "type").count()
        stream.go_on(
            query.run(each.select(F.window_time("window").alias("time"), "type", F.col("count").alias("n")))
        )
    assert [row["count"] for row in stream.rows if row["window_end"] < at(10**5)] == [2**4 - 1]
    assert {*stream.gaps()} == {0}


def test_many_partitions_on_one_machine(source: Source) -> None:
    query = sk.query(TEXT)
    streaming.WARNED.clear()
    with settings(source.spark, **{"shuffle.partitions": "200"}):
        with pytest.warns(sk.SparkleeneWarning, match="200 partitions.*shuffle.partitions"):
            query.run(source.marked())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            query.run(source.marked())  # once is enough
