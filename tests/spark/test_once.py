"""Events and keys that count once, on Spark: in tasks that see parts of a group, in workloads and in a stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.chance import rest
from tests.conformance.engines import in_order
from tests.conformance.test_once import many
from tests.spark.test_streaming import Ended, Source, at, near, settings

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

WINDOW = "WITHIN 100 SLIDE 50"
QUERIES = {
    "by the key that is counted": "RETURN COUNT(DISTINCT k), COUNT(*) PATTERN SEQ(A, B+) WHERE [k]",
    "one of two keys": "RETURN COUNT(DISTINCT y), SUM(EACH A.x) PATTERN SEQ(A, B) WHERE [k, y]",
    "groups": "RETURN COUNT(DISTINCT k), COUNT(EACH B) PATTERN SEQ(A, B+) WHERE [k] GROUP-BY y",
    "a key of some labels": "RETURN COUNT(DISTINCT B.y), AVG(EACH A.x) PATTERN SEQ(A, B) WHERE [k] AND [B.y]",
    "counts alone": "RETURN COUNT(EACH A), COUNT(EACH B) PATTERN SEQ(A, NOT C, B) WHERE [k]",
    "stored events": "RETURN COUNT(EACH A), COUNT(DISTINCT k) PATTERN SEQ(A+, B) WHERE [k] AND A.x < NEXT(A).x",
}


ALL = [(name, strategy) for strategy in (None, "sort") for name in QUERIES]


@pytest.mark.parametrize(("name", "strategy"), [*ALL[1::3], *rest(ALL[::3] + ALL[2::3])])
def test_batch(spark: SparkSession, name: str, strategy: Any) -> None:
    """Results are those of this process, in the same types."""
    table = many(300, "on spark")
    query = sk.query(f"{QUERIES[name]} {WINDOW}")
    here = query.run(table)
    there = query.run(spark.createDataFrame(table).repartition(3), strategy=strategy).toArrow()
    assert there.schema.types == here.schema.types
    assert in_order(query.plan.bound.group_names, there.to_pylist()) == here.to_pylist()


def test_combined_before_the_shuffle(spark: SparkSession) -> None:
    """Matrices know the keys of their sub-streams; which events are in a trend they do not."""
    table = many(300, "combined")
    query = sk.query(f"RETURN COUNT(DISTINCT k), COUNT(*) PATTERN SEQ(A, B+) WHERE [k] {WINDOW}")
    frame = spark.createDataFrame(table)
    assert in_order((), query.run(frame, strategy="combine").toArrow().to_pylist()) == query.run(table).to_pylist()
    with pytest.raises(sk.SparkleeneError, match="EACH needs the rows themselves"):
        sk.query(f"RETURN COUNT(EACH A) PATTERN SEQ(A, B+) WHERE [k] {WINDOW}").run(frame, strategy="combine")


def test_workload(spark: SparkSession) -> None:
    """Queries that are evaluated over one table, each spread by other keys if it were alone."""
    table = many(300, "workload on spark")
    texts = {
        "users": f"RETURN COUNT(DISTINCT k) AS users PATTERN SEQ(A, B+) WHERE [y, k] {WINDOW}",
        "kinds": f"RETURN COUNT(DISTINCT y) AS kinds, SUM(A.x) AS s PATTERN SEQ(A, B+) WHERE [k, y] {WINDOW}",
        "events": f"RETURN COUNT(EACH A) AS events PATTERN SEQ(A, C) WHERE [k, y] {WINDOW}",
    }
    work = sk.workload(texts)
    here = work.run(table).to_pylist()
    there = work.run(spark.createDataFrame(table).repartition(3)).toArrow().to_pylist()
    order = lambda row: (row["query"], row["window_start"])  # noqa: E731
    assert sorted(there, key=order) == sorted(here, key=order)


@pytest.mark.repeat
def test_stream(spark: SparkSession, tmp_path: Path) -> None:
    """A stream gives what a batch of all its rows gives."""
    schema = pa.schema(
        [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64()), ("x", pa.int64())]
    )
    rows = [{"time": at(i), "type": "AABBC"[i * 7 % 5], "k": i % 3, "x": i} for i in range(60)]
    end = [{"time": at(10**6), "type": "A", "k": 1, "x": 0}]
    source = Source(spark, tmp_path / "files", schema).add(rows[:25], rows[25:], end)
    asked = "COUNT(DISTINCT k), COUNT(EACH A), SUM(EACH B.x), COUNT(*)"
    query = sk.query(f"RETURN {asked} PATTERN SEQ(A+, B) WHERE [k] WITHIN 20 seconds SLIDE 10 seconds")
    with settings(spark, **{"shuffle.partitions": "2"}):
        found = Ended(query.run(source.marked()), tmp_path).rows
    expected = source.expected(query)

    def plain(some: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(
            ({name: near(value) for name, value in row.items()} for row in some), key=lambda r: r["window_start"]
        )

    assert plain(found) == plain(expected) and len(expected) > 5
