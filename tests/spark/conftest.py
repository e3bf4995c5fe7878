from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import QUICK

from sparkleene.spark.class_archive import OPTIONS


@pytest.fixture(scope="session")
def empty_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder without compiled kernels: executors have those of the shipped package only."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def cluster(empty_cache: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a standalone cluster of two workers with a core each; sessions on it run in processes
    of their own, since a process has one JVM.
    """
    logs = tmp_path_factory.mktemp("cluster")
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", empty_cache)
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


@pytest.fixture(scope="session")
def connect(empty_cache: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Spark Connect server with two cores of this machine."""
    folder = tmp_path_factory.mktemp("connect")
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    settings = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", empty_cache)
        log = start(
            stack, folder / "server", "SparkSubmit", "--master", "local[2,4]", "--driver-java-options", QUICK,
            *settings, "--class", server, "spark-internal",
        )  # fmt: skip
        yield "sc://" + wait_for(log, r"Spark Connect server started at: (\S+:\d+)")


@pytest.fixture(scope="session")
def on_cluster(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the checks of remote_script.py find on the cluster."""
    return remote(cluster, tmp_path_factory.mktemp("on_cluster"))


@pytest.fixture(scope="session")
def on_connect(connect: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the checks of remote_script.py find at the Connect server."""
    return remote(connect, tmp_path_factory.mktemp("on_connect"))


def remote(address: str, folder: Path, python: str = sys.executable) -> dict[str, Any]:
    """Return what the checks of remote_script.py find at a cluster or a Connect server."""
    script = Path(__file__).with_name("remote_script.py")
    environment = {
        key: value for key, value in os.environ.items() if key == OPTIONS or not key.startswith("SPARK_")
    }
    root = script.parents[2]
    own = [] if python == sys.executable else [root / "src"]  # where the package is not installed
    environment["PYTHONPATH"] = os.pathsep.join([str(root), *map(str, own), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [python, str(script), address],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def start(stack: ExitStack, log: Path, part: str, *arguments: str) -> Path:
    """Start a part of Spark, which ends with the stack, and return the file of its output."""
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {
        "SPARK_DAEMON_JAVA_OPTS": os.environ.get(OPTIONS, QUICK),
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
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
