"""The strategy "sort": a sub-stream larger than the memory of a task is evaluated as its rows come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from tests.chance import rest

import sparkleene as sk
from sparkleene.spark import batch, sorting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

RETURN = "RETURN COUNT(*) AS n, SUM(A.x) AS s, MIN(B.x) AS low, MAX(B.x) AS high"
ROWS = 10_000  # that are evaluated together


def frame(spark: SparkSession, rows: int, keys: int) -> DataFrame:
    """Return rows in no order of time."""
    mixed = F.pmod(F.col("id") * 7919, F.lit(rows))
    return spark.range(rows).select(
        mixed.alias("time"),
        F.when(F.pmod(F.hash("id"), F.lit(50)) == 0, "A").otherwise("B").alias("type"),
        F.pmod(F.hash("id"), F.lit(keys)).cast("string").alias("k"),
        F.pmod(F.hash("id"), F.lit(1000)).cast("double").alias("x"),
    )


def measured(path: str) -> Callable[[Any], Any]:
    """Return what wraps a task and writes how many bytes more than at its start its process had."""

    def wrap(task: Any) -> Any:
        def bytes_of(name: str) -> int:
            lines = Path("/proc/self/status").read_text().splitlines()
            return int(next(line for line in lines if line.startswith(name)).split()[1]) << 10

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            first = next(batches)
            for _ in deepcopy(task)(iter([first.slice(0, 1000)])):
                """What is loaded or compiled once is not counted for the rows."""
            pa.default_memory_pool().release_unused()
            Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
            before = bytes_of("VmRSS")
            yield from task(chain([first], batches))
            with Path(path).open("a") as file:
                file.write(f"{bytes_of('VmHWM') - before}\n")

        return run

    return wrap


def run(
    spark: SparkSession, query: sk.Query, data: DataFrame, strategy: str, folder: Path
) -> tuple[list[Any], int]:
    """Return the result, and the memory of the task that took most."""
    path = folder / strategy
    wrap, map_batches = measured(str(path)), batch.map_batches
    with (
        patch.object(sorting, "EvaluateSorted", partial(sorting.EvaluateSorted, rows=ROWS)),
        patch.object(batch, "map_batches", lambda rows, task, schema: map_batches(rows, wrap(task), schema)),
    ):
        found = query.run(data, strategy=strategy).toArrow().to_pylist()  # type: ignore[arg-type]
    used = max(int(line) for line in path.read_text().split())
    path.unlink()
    return sorted(found, key=lambda row: row.get("window_start", 0)), used


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from Linux")
@pytest.mark.parametrize("window", ["WITHIN 10000 SLIDE 5000", *rest([""])])
def test_a_long_sub_stream(spark: SparkSession, window: str, tmp_path: Path) -> None:
    query = sk.query(f"{RETURN} PATTERN SEQ(A, B) WHERE [k] {window}")
    data = frame(spark, 300_000, 1)
    found, used = run(spark, query, data, "sort", tmp_path)
    expected, whole = run(spark, query, data, "shuffle", tmp_path)
    print(f"{window or 'no window'}: sort {used >> 20} MiB, shuffle {whole >> 20} MiB")
    assert used < whole / 2
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-9)


WINDOWS = ("WITHIN 5000 SLIDE 2500", "WITHIN 300", "WITHIN 50 EVENTS SLIDE 20 EVENTS", "")
WAYS = [(window, group) for window in WINDOWS for group in ("", "GROUP-BY k")]


@pytest.mark.parametrize(("window", "group"), [*WAYS[1::3], *rest(WAYS[::3] + WAYS[2::3])])
def test_keys(spark: SparkSession, window: str, group: str, tmp_path: Path) -> None:
    query = sk.query(
        f"{RETURN} PATTERN SEQ(A, B) WHERE [k] {group} {window}".replace("RETURN", f"RETURN {'k,' * bool(group)}")
    )
    data = frame(spark, 20_000, 30)

    def rows(strategy: Any) -> list[Any]:
        with patch.object(sorting, "EvaluateSorted", wraps=partial(sorting.EvaluateSorted, rows=100)) as made:
            table = query.run(data, strategy=strategy).toArrow()
        assert made.call_count == (strategy == "sort")
        return sorted(map(str, table.to_pylist()))

    assert rows("sort") == rows("shuffle")
