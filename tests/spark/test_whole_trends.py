"""Conditions on whole trends, maximal trends and sessions on Spark: what this process gives, by every way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chance import rest
from tests.spark.test_streaming import Ended, Source, at, plain
from tests.spark.test_streaming import settings as spark_settings

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64()), ("x", pa.int64())]
)
WITHIN = "WITHIN 40 seconds SLIDE 20 seconds"
END = f"GROUP-BY k {WITHIN}"
ALL = "RETURN COUNT(*), AVG(LENGTH) AS mean"
RETURNS = "RETURN k, COUNT(*), MAX(LENGTH) AS longest, SUM(A.x) AS s"
RISES = "A.x <= NEXT(A).x"
WHOLE = {
    "duration": f"{RETURNS} PATTERN SEQ(A+, B) WHERE DURATION <= 9 seconds {END}",
    "length": f"{RETURNS} PATTERN A+ WHERE {RISES} AND LENGTH >= 3 {END}",
    "ends": f"{RETURNS} PATTERN SEQ(A+, B) WHERE LAST(x) >= FIRST(x) {END}",
    "pass": f"{RETURNS} PATTERN A+ WHERE {RISES} AND LAST(x) >= FIRST(x) + 2 AND DURATION <= 15 seconds {END}",
    "contiguous": f"{RETURNS} PATTERN A+ SEMANTICS contiguous WHERE LAST(x) > FIRST(x) {END}",
    "maximal": f"{RETURNS} PATTERN A+ SEMANTICS contiguous maximal WHERE {RISES} {END}",
    "maximal of some length": f"{RETURNS} PATTERN A+ SEMANTICS contiguous maximal WHERE LENGTH >= 2 {END}",
    # The sub-streams of one row are in several tasks.
    "duration of all": f"{ALL} PATTERN SEQ(A+, B) WHERE [k] AND DURATION <= 9 seconds {WITHIN}",
    "maximal of all": f"{ALL} PATTERN A+ SEMANTICS contiguous maximal WHERE [k] AND {RISES} {WITHIN}",
    "gap": f"{ALL} PATTERN A+ WHERE [k] AND GAP <= 4 seconds {WITHIN}",
}
DRAWN = {
    "session": "RETURN k, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY k WITHIN SESSION 3 seconds MAX 30 seconds",
    "short in a session": "RETURN k, COUNT(*), MAX(LENGTH) AS m PATTERN A+ WHERE LENGTH <= 3 GROUP-BY k"
    " WITHIN SESSION 3 seconds MAX 30 seconds",
    "session of all": "RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN SESSION 900 milliseconds MAX 9 seconds",
    "from": "RETURN k, COUNT(*) PATTERN A+ GROUP-BY k WITHIN FROM type = 'C' TO type = 'B' MAX 30 seconds",
}


@pytest.fixture(scope="module", autouse=True)
def two_partitions(spark: SparkSession) -> Iterator[None]:
    with spark_settings(spark, **{"shuffle.partitions": "2"}):
        yield


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Events of two minutes, no two at one time."""
    chance = np.random.default_rng(5)
    count = 150
    return pa.table(
        {
            "time": [at(1 + 0.8 * i) for i in range(count)],
            "type": chance.choice(list("ABC"), count, p=[0.7, 0.2, 0.1]),
            "k": chance.integers(0, 3, count),
            "x": chance.integers(0, 6, count),
        },
        SCHEMA,
    )


@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_batches(
    numbers: Literal["double", "exact"], spark: SparkSession, tmp_path: Path, events: pa.Table
) -> None:
    """A DataFrame by each strategy, and files by path."""
    work = sk.workload(WHOLE | DRAWN, numbers=numbers)
    wanted = work.run(events).to_pylist()
    assert {row["query"] for row in wanted} == set(WHOLE | DRAWN)
    frame = spark.createDataFrame(events).repartition(3)
    assert plain(work.run(frame).toArrow().to_pylist()) == plain(wanted)
    pq.write_table(events.slice(0, 70), tmp_path / "a.parquet", row_group_size=30)
    pq.write_table(events.slice(70), tmp_path / "b.parquet")
    assert plain(work.run(str(tmp_path), engine="spark").toArrow().to_pylist()) == plain(wanted)
    some = sk.workload({name: WHOLE[name] for name in ("pass", "maximal")}, numbers=numbers)
    for strategy in ("shuffle", "sort"):
        found = some.run(frame, strategy=strategy).toArrow()  # type: ignore[arg-type]
        assert plain(found.to_pylist()) == plain(some.run(events).to_pylist()), strategy


def parts(events: pa.Table, number: int) -> list[list[dict[str, Any]]]:
    """Return rows divided into batches, of which each has some rows that are a bit late."""
    rows = events.to_pylist()
    size = len(rows) // number
    for i in range(size, len(rows), size):
        rows[i - 1], rows[i] = rows[i], rows[i - 1]
    return [rows[i : i + size] for i in range(0, len(rows), size)]


@pytest.mark.parametrize("numbers", rest(["double", "exact"]))
def test_streams(
    numbers: Literal["double", "exact"], spark: SparkSession, tmp_path: Path, events: pa.Table
) -> None:
    """Windows come once, also if the stream was stopped and started again in the middle."""
    work = sk.workload(WHOLE | DRAWN, numbers=numbers)
    last = [{"time": at(1_000_000), "type": "D", "k": 0, "x": 0}]
    batches = [*parts(events, 3), last]
    source = Source(spark, tmp_path / "files", SCHEMA)
    for begin, end in ((0, 2), (2, 4)):
        source.add(*batches[begin:end])
        rows = Ended(work.run(source.marked("2 seconds")), tmp_path / "stream", sink="parquet").rows
    wanted = [row for row in work.run(events).to_pylist() if row["window_end"] < at(999_999)]
    assert plain(rows) == plain(wanted)
