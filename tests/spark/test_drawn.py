"""Sessions and windows with FROM on Spark: the borders of session_window, all strategies, files, and a stream."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from tests.chance import rest

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOON = datetime(2024, 5, 1, 12)
SESSIONS = """RETURN user, COUNT(*) AS n, SUM(B.x) AS s PATTERN SEQ(A+, B)
    WHERE [user, page] GROUP-BY user WITHIN SESSION 30 s"""
WINDOWS = SESSIONS.replace("SESSION 30 s", "FROM type = 'C' TO x > 7 MAX 90 seconds")


def clicks(rows: int = 600, seed: int = 3) -> pa.Table:
    """Return rows of six users, in no order."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([0, 2, 4, 8, 40, 100], rows, p=[0.1, 0.3, 0.3, 0.15, 0.1, 0.05])
    user = rng.integers(0, 6, rows)
    time = np.empty(rows, np.int64)
    for one in range(6):
        time[user == one] = np.cumsum(steps[user == one])
    table = pa.table(
        {
            "time": pa.array([NOON + timedelta(seconds=int(second)) for second in time], pa.timestamp("us", "UTC")),
            "type": rng.choice(["A", "B", "C", "other"], rows),
            "user": pa.array(user, mask=rng.random(rows) < 0.02),
            "page": pa.array(rng.integers(0, 2, rows), mask=rng.random(rows) < 0.1),
            "x": rng.integers(0, 10, rows),
        }
    )
    return table.take(pa.array(rng.permutation(rows)))


def in_order(found: Any) -> list[dict[str, Any]]:
    table = found.toArrow() if hasattr(found, "toArrow") else found
    return sorted(table.to_pylist(), key=lambda row: (row.get("query", ""), row["window_start"], row["user"]))


def test_borders_are_those_of_session_window(spark: SparkSession) -> None:
    rows = clicks()  # with gaps of exactly 8 seconds, and users that are NULL
    found = sk.query("RETURN user, COUNT(*) AS n PATTERN A GROUP-BY user WITHIN SESSION 8 s", type=None).run(rows)
    data = spark.createDataFrame(rows.select(["time", "user"]).to_pandas().dropna().astype({"user": "int64"}))
    spans = data.groupBy("user", F.session_window("time", "8 seconds").alias("w")).count()
    wanted = [(row["w"]["start"], row["w"]["end"], row["user"]) for row in spans.toArrow().to_pylist()]
    assert len(wanted) > 60
    assert [(row["window_start"], row["window_end"], row["user"]) for row in in_order(found)] == sorted(
        wanted, key=lambda one: (one[0], one[2])
    )


@pytest.mark.parametrize("text", [SESSIONS, WINDOWS], ids=["session", "from"])
def test_strategies_and_files(spark: SparkSession, tmp_path: Path, text: str) -> None:
    rows, q = clicks(), sk.query(text)
    wanted = in_order(q.run(rows))
    assert len(wanted) > 5
    for number in range(5):
        pq.write_table(rows.slice(number * 120, 120), tmp_path / f"{number}.parquet", row_group_size=50)
    frame = spark.read.parquet(str(tmp_path))
    for strategy in ("shuffle", "sort"):
        assert in_order(q.run(frame, strategy=strategy)) == wanted, strategy
    assert in_order(q.run(str(tmp_path), engine="spark")) == wanted
    with pytest.raises(sk.QueryError, match="rows of their group"):
        q.run(frame, strategy="combine")
    other = text.replace("SEQ(A+, B)", "SEQ(A, B)").replace("SUM", "AVG")
    both = sk.workload({"one": text, "two": other, "three": text.replace("SESSION 30", "SESSION 60")})
    assert in_order(both.run(frame)) == in_order(both.run(rows))


def written(folder: Path, rows: pa.Table, first: int, last: int) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(first, last):
        path = folder / f"{number}.parquet"
        pq.write_table(rows.slice(number * 100, 100), path)
        os.utime(path, (NOON.timestamp() + number,) * 2)  # Spark reads files in order of their times


@pytest.mark.repeat
@pytest.mark.parametrize("text", [SESSIONS, *rest([WINDOWS])], ids=["session", "from"])
def test_stream_with_a_restart(spark: SparkSession, tmp_path: Path, text: str) -> None:
    q, rows = sk.query(text), clicks().sort_by("time")
    far = pa.table(
        {"time": [NOON + timedelta(days=1)], "type": ["other"], "user": [99], "page": [0], "x": [0]}
    ).cast(rows.schema)
    whole = pa.concat_tables([rows, far])
    source, sink = tmp_path / "in", tmp_path / "out"
    for first, last in ((0, 3), (3, 7)):
        written(source, whole, first, last)
        schema = spark.read.parquet(str(source)).schema
        files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
        stream = q.run(files.withWatermark("time", "1 second"))
        to = stream.writeStream.option("checkpointLocation", str(tmp_path / "check"))
        to.trigger(availableNow=True).start(str(sink), format="parquet").awaitTermination()
    found = spark.read.parquet(str(sink))
    assert in_order(found) == in_order(q.run(rows))


def test_what_a_stream_refuses(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, clicks(), 0, 1)
    files = spark.readStream.schema(spark.read.parquet(str(tmp_path)).schema).parquet(str(tmp_path))
    stream = files.withWatermark("time", "1 second")
    with pytest.raises(sk.QueryError, match="for ever"):
        sk.query(WINDOWS.replace(" MAX 90 seconds", "")).run(stream)
    with pytest.raises(sk.QueryError, match="move the end"):
        sk.query(SESSIONS).run(stream, output_mode="update")
