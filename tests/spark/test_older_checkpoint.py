"""Spark goes on from whole checkpoints that the version before wrote, and the rows are those of a batch.

`fixtures/checkpoint_before_*.zip` were written by that version after the first three batches below, with two
partitions, and without batch numbers in the heads of buckets. The folder they were in is called `/before` in them.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chance import rest
from tests.spark.test_rolled_back import Continued
from tests.spark.test_streaming import MIDNIGHT, at, plain, settings

import sparkleene as sk
from sparkleene.spark import check_checkpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIXTURES = Path(__file__).parent / "fixtures"
ASKED: dict[str, Any] = {
    "query": sk.query(
        "RETURN k, COUNT(*), SUM(A.x) AS total PATTERN SEQ(A+, B) GROUP-BY k WITHIN 10 seconds SLIDE 5 seconds"
    ),
    "workload": sk.workload(
        {
            "pairs": "RETURN k, COUNT(*) PATTERN SEQ(A, B) GROUP-BY k WITHIN 10 seconds SLIDE 5 seconds",
            "runs": "RETURN COUNT(*), MAX(A.x) AS most PATTERN A+ WHERE [k] AND A.x < NEXT(A).x "
            "WITHIN 20 seconds SLIDE 20 seconds",
        }
    ),
}
SCHEMA = pa.schema(
    [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64()), ("x", pa.int64())]
)
SENT = 20  # seconds: windows up to this end came before the stop


def rows_of(number: int) -> pa.Table:
    """Return the rows of a batch."""
    rows = [
        {
            "time": MIDNIGHT + timedelta(seconds=number * 8 + i / 2),
            "type": "B" if i % 5 == 4 else "A",
            "k": i % 3,
            "x": (7 * i + number) % 11,
        }
        for i in range(16)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.fixture(scope="module", autouse=True)
def two_partitions(spark: SparkSession) -> Iterator[None]:
    with settings(spark, **{"shuffle.partitions": "2"}):
        yield


def unpack(kind: str, folder: Path) -> None:
    """Bring a checkpoint to a folder."""
    with zipfile.ZipFile(FIXTURES / f"checkpoint_before_{kind}.zip") as kept:
        kept.extractall(folder / "checkpoint")
    for path in (folder / "checkpoint").rglob("*"):
        if path.is_file() and b"/before" in path.read_bytes():
            path.write_bytes(path.read_bytes().replace(b"/before", str(folder).encode()))


@pytest.mark.repeat
@pytest.mark.parametrize("kind", [[*ASKED][-1], *rest([*ASKED][:-1])])
def test_a_checkpoint_of_the_version_before(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    unpack(kind, tmp_path)
    check_checkpoint(tmp_path / "checkpoint")
    (tmp_path / "rows").mkdir()
    stream = Continued(tmp_path)
    read = spark.readStream.schema("time timestamp, type string, k long, x long").option("maxFilesPerTrigger", 1)
    later = [rows_of(3), rows_of(4), rows_of(5), rows_of(1000)]
    for number, rows in enumerate(later, 3):
        path = tmp_path / "rows" / f"{number}.parquet"
        pq.write_table(rows, path)
        os.utime(path, (10**9 + number,) * 2)
        if number in (3, 6):  # a stop after the first batch, from which heads have numbers
            frame = read.parquet(str(tmp_path / "rows")).withWatermark("time", "2 seconds")
            stream.go_on(ASKED[kind].run(frame))
    every = pa.concat_tables([*map(rows_of, range(3)), *later])
    expected = [row for row in ASKED[kind].run(every).to_pylist() if at(SENT) < row["window_end"] < at(7000)]
    found = [row for row in stream.rows if row["window_end"] < at(7000)]  # without those of the last file
    assert plain(found) == plain(expected) != []
    gaps = stream.gaps()
    assert gaps[0] is None, "heads of the version before have no batch"
    assert {*gaps[1:]} == {0}
