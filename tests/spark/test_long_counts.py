"""Counts as whole numbers on Spark: sums of what several tasks count, to 2^63 - 1, and errors beyond."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from tests.chance import rest
from tests.spark.test_streaming import Ended, Source, at, plain
from tests.spark.test_streaming import settings as spark_settings

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64())])
WITHIN = "WITHIN 100 seconds SLIDE 100 seconds"
TEXTS = {
    "all": f"RETURN COUNT(*) AS n, COUNT(A) AS a PATTERN A+ WHERE [k] {WITHIN}",
    "each": f"RETURN k, COUNT(*) AS n, COUNT(A) AS a PATTERN A+ GROUP-BY k {WITHIN}",
}


@pytest.fixture(scope="module", autouse=True)
def two_partitions(spark: SparkSession) -> Iterator[None]:
    with spark_settings(spark, **{"shuffle.partitions": "2"}):
        yield


def stars(start: float = 0, **many: int) -> pa.Table:
    """Return so many events of some keys: n of them have 2^n - 1 trends."""
    return pa.Table.from_pylist(
        [
            {"time": at(start + i), "type": "A", "k": int(name[1:])}
            for name, n in many.items()
            for i in range(n)
        ],
        SCHEMA,
    )  # fmt: skip


MANY = {"k0": 53, "k1": 54, "k2": 3, "k3": 55, "k4": 57, "k5": 1}
TRENDS = sum(2**n - 1 for n in MANY.values())
EVENTS = sum(n * 2 ** (n - 1) for n in MANY.values())


def test_sums_of_several_tasks(spark: SparkSession, tmp_path: Path) -> None:
    work, table = sk.workload(TEXTS, numbers="long"), stars(**MANY)
    wanted = work.run(table).to_pylist()
    [whole] = [row for row in wanted if row["query"] == "all"]
    assert (whole["n"], whole["a"]) == (TRENDS, EVENTS)
    assert TRENDS % 2**10 and EVENTS > 2**53  # no double is equal to it
    frame = spark.createDataFrame(table).repartition(3)
    assert plain(work.run(frame).toArrow().to_pylist()) == plain(wanted)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    assert plain(work.run(str(tmp_path), engine="spark").toArrow().to_pylist()) == plain(wanted)
    alone = sk.query(TEXTS["all"], numbers="long")
    for strategy in ("shuffle", "sort"):
        [row] = alone.run(frame, strategy=strategy).collect()  # type: ignore[arg-type]
        assert (row["n"], row["a"]) == (TRENDS, EVENTS), strategy


@pytest.mark.parametrize("many", [{"k0": 63, "k1": 63}, *rest([{"k0": 64}])], ids=["their sum", "one task"])
def test_more_than_a_long_is_an_error(many: dict[str, int], spark: SparkSession) -> None:
    query = sk.query(f"RETURN COUNT(*) AS n PATTERN A+ WHERE [k] {WITHIN}", numbers="long")
    table = stars(**many)
    with pytest.raises(sk.DataError, match="'n' is more than 2\\^63"):
        query.run(table)
    with pytest.raises(Exception, match="'n' is more than 2\\^63"):
        query.run(spark.createDataFrame(table)).collect()


@pytest.mark.repeat
def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """The state has no rows of the past that could be seen again: more than 2^53 is an error."""
    work, few = sk.workload(TEXTS, numbers="long"), stars(k0=45, k1=44, k2=46)
    source = Source(spark, tmp_path / "files", SCHEMA)
    source.add(few.to_pylist(), stars(200, k0=54).to_pylist())
    found = Ended(work.run(source.marked()), tmp_path / "stream", sink="parquet").rows
    assert plain(found) == plain(work.run(few).to_pylist())
    source.add(stars(500, k0=1).to_pylist())
    with pytest.raises(StreamingQueryException, match="'n' is more than 2\\^53 at window_start"):
        Ended(work.run(source.marked()), tmp_path / "stream", sink="parquet")
