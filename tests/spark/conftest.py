from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkleene.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with two cores, shared by all tests of this process."""
    config = {
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.session.timeZone": "UTC",
    }
    started = session("sparkleene tests", master="local[2]", memory="1g", config=config)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a standalone cluster of two workers with a core each; sessions on it run in processes
    of their own, since a process has one JVM.
    """
    logs = tmp_path_factory.mktemp("cluster")
    with ExitStack() as stack:
        log = start(stack, logs / "master", "master.Master", "--host", "127.0.0.1", "--port", "0",
                    "--webui-port", "0")  # fmt: skip
        address = wait_for(log, r"Starting Spark master at (spark://\S+)")
        workers = [
            start(stack, logs / f"worker-{number}", "worker.Worker", "--host", "127.0.0.1", "--webui-port", "0",
                  "--cores", "1", "--memory", "1g", "--work-dir", str(logs / f"work-{number}"), address)
            for number in range(2)
        ]  # fmt: skip
        for worker in workers:
            wait_for(worker, r"Successfully registered with master")
        yield address


def start(stack: ExitStack, log: Path, part: str, *arguments: str) -> Path:
    """Start a part of a cluster, which ends with the stack, and return the file of its output."""
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{part}", *arguments],
            env=os.environ | settings, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    stack.callback(end, process)
    return log


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(10)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def wait_for(log: Path, text: str, seconds: float = 60) -> str:
    """Return the first group of a pattern, or all of it, once it is in a log."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = re.search(text, log.read_text())
        if found:
            return found[found.re.groups]
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {text}\n{log.read_text()}")
