"""On Spark Connect, where the client's process has no JVM."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.spark import test_replay

from sparkleene.kernels.store import prebuilt_folder

pytestmark = pytest.mark.spark


def test_a_table_is_the_same_after_it_was_a_frame(on_connect: dict[str, Any]) -> None:
    assert on_connect["round_trip"] is True


def test_the_session_is_found(on_connect: dict[str, Any]) -> None:
    assert on_connect["one_session"] == [True, "session-differs"]


def test_tasks_run_the_shipped_package(on_connect: dict[str, Any]) -> None:
    found = on_connect["in_task"]
    assert found["count"] == 43
    assert ".zip/sparkleene/__init__.py" in found["package"]
    assert found["kernels"].startswith("prebuilt") or prebuilt_folder() is None


def test_a_task_that_dies_is_run_again(on_connect: dict[str, Any]) -> None:
    assert on_connect["run_again"] == [["x", 43], ["y", 60]]


def test_queries_in_sql(on_connect: dict[str, Any]) -> None:
    assert on_connect["in_sql"] == [["x", 43], ["y", 60]]


def test_cases_of_the_papers(on_connect: dict[str, Any]) -> None:
    assert on_connect["cases"]["wrong"] == []
    assert on_connect["cases"]["run"] >= 8


def test_nobody_tells_what_is_shared(on_connect: dict[str, Any]) -> None:
    assert on_connect["shared"] == {"rows": 3, "error": "tasks of Spark Connect cannot report what they share"}


def test_a_stream(on_connect: dict[str, Any]) -> None:
    found = on_connect["streamed"]
    assert "error" not in found, found["error"]
    assert found["no watermark"] == [
        "no-watermark",
        'add one before the query: df.withWatermark("time", "10 minutes")',
    ]
    assert found["no store"][0] == "wrong-state-store"
    assert found["no store"][1].startswith('spark.conf.set("spark.sql.streaming.stateStore.providerClass", ')
    assert found["windows"] == [["00:00:00", 1], ["00:00:30", 9]]
    assert found["late"] == 1


REPLAY = """
import json, sys
import sparkleene as sk
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
sk.spark.register(spark)
def load(reader):
    return reader.format("sparkleene.replay").options(path=sys.argv[2], time="ts", disorder=9).load()
query = load(spark.readStream).writeStream.trigger(availableNow=True).format("memory").queryName("played").start()
query.awaitTermination(60)
print(json.dumps([[row.id for row in frame.collect()] for frame in (spark.table("played"), load(spark.read))]))
"""


@pytest.mark.repeat
def test_a_replay(connect: str, tmp_path: Path) -> None:
    folder = test_replay.write_events(tmp_path / "events")
    done = subprocess.run(
        [sys.executable, "-c", REPLAY, connect, str(folder)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    ids = test_replay.batch(folder, disorder=9)["id"].to_pylist()
    assert json.loads(done.stdout.splitlines()[-1]) == [ids, ids]
