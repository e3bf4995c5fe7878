"""Runs checks on a Spark cluster or a Connect server and prints what each of them found, as JSON.

`python remote_script.py spark://host:port` or `sc://host:port`. A process has one JVM, and a Connect client none,
so that these run apart from the tests, which look at what is printed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession
from tests.chance import SOAK
from tests.conformance.paper_cases import CASES, PaperCase
from tests.conformance.test_papers import table
from tests.conftest import QUICK

import sparkleene as sk
from sparkleene.spark.session import PROVIDER, ROCKSDB, session
from sparkleene.spark.shipping import ship
from sparkleene.spark.table_function import register

EVENTS = pa.table({"time": [1, 2, 3, 4, 5, 6, 7, 8], "type": list("ABAACBAB")})
QUERY = "RETURN COUNT(*) PATTERN (SEQ(A+, B))+"
TWO_USERS = pa.table(
    {"time": [*range(8), *range(8)], "type": list("ABAACBABAAAABBBB"), "user": ["x"] * 8 + ["y"] * 8}
)
BY_USER = "RETURN user, COUNT(*) PATTERN (SEQ(A+, B))+ WHERE [user] GROUP-BY user"


def evaluate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the query inside a task and say which package ran it."""
    import sparkleene
    from sparkleene.kernels import store

    table = pa.Table.from_batches(batches, EVENTS.schema)
    [row] = sparkleene.query(QUERY).run(table).to_pylist()
    files = {"package": sparkleene.__file__, "kernels": store.describe()}
    yield pa.RecordBatch.from_pylist([{"count": row["count"], **files}])


def die_at_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Kill the process of a task's first attempt in the middle of its work."""
    context = TaskContext.get()
    for batch in batches:
        assert context is not None
        if context.attemptNumber() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch


def round_trip(spark: SparkSession) -> Any:
    """Return whether a table is the same after it was a DataFrame."""
    return spark.createDataFrame(EVENTS).toArrow().sort_by("time").to_pydict() == EVENTS.to_pydict()


def one_session(spark: SparkSession) -> Any:
    """Return whether `session` gives this very session, and what it says to another master."""
    try:
        session(master="local[9]")
    except sk.SparkleeneError as error:
        return [session() is spark, error.diagnostics[0].code]
    return [session() is spark, None]


def in_task(spark: SparkSession) -> Any:
    """Return what a task finds that runs the engine itself."""
    events = spark.createDataFrame(EVENTS).coalesce(1)
    return events.mapInArrow(evaluate, "count double, package string, kernels string").collect()[0].asDict()


def in_sql(spark: SparkSession) -> Any:
    """Return the result of the table function."""
    register(spark, sk.query)
    spark.createDataFrame(TWO_USERS).createOrReplaceTempView("events")
    found = spark.sql(f"SELECT * FROM trends(TABLE(events), '{BY_USER}')").collect()
    return sorted([row["user"], row["count"]] for row in found)


def run_again(spark: SparkSession) -> Any:
    """Return the result of a query over tasks that die at their first attempt."""
    events = spark.createDataFrame(TWO_USERS).repartition(2)
    dying = events.mapInArrow(die_at_first, events.schema)
    return sorted([row["user"], row["count"]] for row in sk.query(BY_USER).run(dying).collect())


def shared(spark: SparkSession) -> Any:
    """Return the rows of a workload, and how many bursts executors have reported, or why they cannot."""
    texts = {name: BY_USER.replace("(SEQ(A+, B))+", f"SEQ({name}, B+)") for name in ("A", "C")}
    made = sk.workload(texts, sharing="always")
    made.run(TWO_USERS)
    here = sum(one.bursts for one in made.stats)
    rows = len(made.run(spark.createDataFrame(TWO_USERS)).collect())
    try:
        return {"rows": rows, "here": here, "there": sum(one.bursts for one in made.stats)}
    except sk.SparkleeneError as error:
        return {"rows": rows, "error": error.diagnostics[0].message}


def streamed(spark: SparkSession) -> Any:
    """Return what a streaming query says without a state store and a watermark, and with them its windows."""
    folder = Path.cwd() / "stream"
    folder.mkdir()
    times = [[1, 2, 31, 33], [32, 34], [3, 33, 900]]  # the row of 3 is late
    for number, seconds in enumerate(times):
        moments = [datetime(2024, 1, 1, 0, second // 60, second % 60, tzinfo=UTC) for second in seconds]
        rows = {"time": pa.array(moments, pa.timestamp("us", "UTC")), "type": [*"ABAB"][: len(seconds)]}
        pq.write_table(pa.table(rows), folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (10**9 + number, 10**9 + number))
    reader = spark.readStream.schema("time timestamp, type string").option("maxFilesPerTrigger", 1)
    frame = reader.parquet(str(folder))
    marked = frame.withWatermark("time", "5 seconds")
    query = sk.query("RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 10 seconds SLIDE 10 seconds")
    found = {"no watermark": refusal(query, frame), "no store": refusal(query, marked)}
    spark.conf.set(PROVIDER, ROCKSDB)
    writer = query.run(marked).writeStream.format("memory").queryName("windows")
    writer = writer.option("checkpointLocation", str(Path.cwd() / "checkpoint"))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    windows = spark.table("windows").toArrow().to_pylist()
    # Connect gives the values of metrics and their schema, and not a value by name.
    late = sum(p["observedMetrics"]["sparkleene"]["values"][0] for p in running.recentProgress)
    counts = sorted([str(row["window_start"])[11:19], row["count"]] for row in windows)
    return {**found, "windows": counts, "late": late}


def refusal(query: sk.Query, rows: Any) -> Any:
    """Return the code and the help of the error that a query gives."""
    try:
        query.run(rows)
    except sk.SparkleeneError as error:
        return [error.diagnostics[0].code, error.diagnostics[0].help]
    return None


def cases(spark: SparkSession) -> Any:
    """Return the cases of the papers whose rows are not those of the in-process engine, and how many were run."""
    chosen = CASES[:: len(CASES) // (25 if SOAK else 8)]
    with ThreadPoolExecutor(4) as pool:
        wrong = list(pool.map(lambda case: difference(spark, case), chosen))
    return {"run": len(chosen), "wrong": [text for text in wrong if text]}


def difference(spark: SparkSession, case: PaperCase) -> str | None:
    """Return how the rows of a case differ on Spark."""
    query, events = sk.query(case.query, **case.options), table(case)
    try:
        found = plain(query.run(spark.createDataFrame(events)).toArrow())
    except Exception:
        return f"{case.cite}: {traceback.format_exc()}"
    expected = plain(query.run(events))
    return None if found == expected else f"{case.cite}: {found} instead of {expected}"


def plain(rows: pa.Table) -> list[str]:
    """Return rows in an order of their own, to be compared."""
    return sorted(repr({k: v.replace(tzinfo=None) if isinstance(v, datetime) else v for k, v in row.items()})
                  for row in rows.to_pylist())  # fmt: skip


CHECKS: list[Callable[[SparkSession], Any]] = [
    round_trip, one_session, in_task, in_sql, run_again, cases, shared,
]  # fmt: skip


def main(address: str) -> None:
    """Run the checks; one that fails gives its traceback."""
    spark = session("sparkleene remote tests", master=address, config=settings(address))
    ship(spark)
    ship(spark)  # again is allowed
    found: dict[str, Any] = {}
    for check in [*CHECKS, *([streamed] if address.startswith("sc://") else [])]:
        try:
            found[check.__name__] = check(spark)
        except Exception:
            found[check.__name__] = {"error": traceback.format_exc()}
    print(json.dumps(found, default=str))
    spark.stop()


def settings(address: str) -> dict[str, str]:
    """Return small settings, for a cluster those of a driver on the same machine."""
    if address.startswith("sc://"):
        return {"spark.sql.shuffle.partitions": "2"}
    quick = QUICK
    return {
        "spark.driver.extraJavaOptions": quick,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.extraJavaOptions": quick,
        "spark.executor.memory": "512m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(Path.cwd() / "warehouse"),
    }


if __name__ == "__main__":
    main(sys.argv[1])
