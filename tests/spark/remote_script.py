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
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import sparkleene as sk
from sparkleene.spark.session import session
from sparkleene.spark.shipping import ship

EVENTS = pa.table({"time": [1, 2, 3, 4, 5, 6, 7, 8], "type": list("ABAACBAB")})
QUERY = "RETURN COUNT(*) PATTERN (SEQ(A+, B))+"
TWO_USERS = pa.table(
    {"time": [*range(8), *range(8)], "type": list("ABAACBABAAAABBBB"), "user": ["x"] * 8 + ["y"] * 8}
)
BY_USER = "RETURN user, COUNT(*) PATTERN (SEQ(A+, B))+ WHERE [user] GROUP-BY user"


def evaluate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the query inside a task and say which package ran it."""
    import sparkleene
    from sparkleene.kernels import numbers

    table = pa.Table.from_batches(batches, EVENTS.schema)
    [row] = sparkleene.query(QUERY).run(table).to_pylist()
    context = TaskContext.get()
    attempt = -1 if context is None else context.attemptNumber()
    files = {"package": sparkleene.__file__, "kernels": numbers.__file__}
    yield pa.RecordBatch.from_pylist([{"count": row["count"], "attempt": attempt, **files}])


FOUND = "count double, attempt bigint, package string, kernels string"


def die_at_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Kill the process of a task's first attempt in the middle of its work."""
    context = TaskContext.get()
    for batch in batches:
        if context is not None and context.attemptNumber() == 0:
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
    return events.mapInArrow(evaluate, FOUND).first().asDict()


def shipped_twice(spark: SparkSession) -> Any:
    """Return whether shipping again is allowed, and the package still runs."""
    ship(spark)
    return in_task(spark)["count"]


def retried(spark: SparkSession) -> Any:
    """Return the result, and the number of its attempt, of a task that dies at its first."""
    events = spark.createDataFrame(EVENTS).coalesce(1).mapInArrow(die_at_first, "time bigint, type string")
    return list(events.mapInArrow(evaluate, FOUND).first()[:2])


CHECKS: list[Callable[[SparkSession], Any]] = [round_trip, one_session, in_task, shipped_twice, retried]


def main(address: str) -> None:
    """Run the checks; one that fails gives its traceback."""
    spark = session("sparkleene remote tests", master=address, config=settings(address))
    ship(spark)
    found: dict[str, Any] = {}
    for check in CHECKS:
        try:
            found[check.__name__] = check(spark)
        except Exception:
            found[check.__name__] = {"error": traceback.format_exc()}
    print(json.dumps(found, default=str))
    spark.stop()


def settings(address: str) -> dict[str, str]:
    """Return small settings, for a cluster those of a driver on the same machine."""
    if address.startswith("sc://"):
        return {"spark.sql.shuffle.partitions": "4"}
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(Path.cwd() / "warehouse"),
    }


if __name__ == "__main__":
    main(sys.argv[1])
