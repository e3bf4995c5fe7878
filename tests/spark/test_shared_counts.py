"""Tasks report what they share: together it is what one process counts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chance import rest

import sparkleene as sk
from sparkleene.workload import Workload
from sparkleene.workload.stats import BurstStats, Stats, add_stats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

chance = random.Random(0)
TYPES = [one for _ in range(40) for one in [chance.choice("AB"), *"T" * chance.randint(1, 30), "E"]]
TABLE = pa.table({"time": range(len(TYPES)), "type": TYPES, "user": [str(chance.randrange(6)) for _ in TYPES]})


def made(window: str = "") -> Workload:
    keys = f"WHERE [user] GROUP-BY user {window}"
    texts = {x: f"RETURN user, COUNT(*) PATTERN SEQ({x}, T+, E) {keys}" for x in "AB"}
    return sk.workload(texts, sharing="always")


def counted(stats: Stats) -> tuple[Any, ...]:
    return sorted(map(str, stats)), stats.together


@pytest.fixture(scope="module")
def known() -> tuple[Any, ...]:
    here = made()
    here.run(TABLE)
    assert sum(one.shared for one in here.stats) > 10
    return counted(here.stats)


def test_a_frame(spark: SparkSession, known: tuple[Any, ...]) -> None:
    there = made()
    result = there.run(spark.createDataFrame(TABLE))
    assert there.stats == () and there.stats.together == (("A", "B"),)  # nobody has asked for a row
    result.collect()
    assert counted(there.stats) == known
    result.collect()
    assert sum(one.bursts for one in there.stats) == 2 * _bursts(known)


def test_files(spark: SparkSession, tmp_path: Path) -> None:
    """Tasks that read files make matrices before the shuffle, of one automaton and without bursts."""
    pq.write_table(TABLE, tmp_path / "events.parquet")
    there = made()
    there.run(tmp_path / "events.parquet", engine="spark").collect()
    assert there.stats.together == (("A", "B"),)


@pytest.mark.parametrize("changes", [True, *rest([False])])
def test_a_stream(spark: SparkSession, tmp_path: Path, changes: bool) -> None:
    times = pa.array([i * 1_000_000 for i in range(len(TYPES))], pa.timestamp("us", "UTC"))
    table = TABLE.set_column(0, "time", times)
    pq.write_table(table, tmp_path / "events.parquet")
    frame = spark.readStream.schema(spark.read.parquet(str(tmp_path)).schema).parquet(str(tmp_path))
    there = made("WITHIN 1 minute SLIDE 1 minute")
    checkpoint = tmp_path / "checkpoint"
    result = there.run(frame.withWatermark("time", "0 seconds"), checkpoint=checkpoint if changes else None)
    writer = result.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert there.stats.together == (("A", "B"),)
    assert sum(one.bursts for one in there.stats) > 10


def test_counts_are_added_up() -> None:
    one = BurstStats(("T",), ("A", "B"), 2, *range(8))
    two = BurstStats(("T",), ("A", "B"), 2, *[10] * 8)
    other = BurstStats(("U",), ("A", "B"), 2, *[1] * 8)
    total = add_stats(Stats([one], [("A", "B")]), Stats([two, other], [("A", "B"), ("C", "D")]))
    assert total == (BurstStats(("T",), ("A", "B"), 2, *range(10, 18)), other)
    assert total.together == (("A", "B"), ("C", "D"))


def _bursts(known: tuple[Any, ...]) -> int:
    return sum(int(text.partition(": ")[2].partition(" ")[0].replace(",", "")) for text in known[0])
