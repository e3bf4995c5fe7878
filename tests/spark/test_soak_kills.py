"""Drivers and workers that are killed at random, a thousand times over kinds of queries: the rows stay the same.

`make soak ARGS=tests/spark/test_soak_kills.py` runs it to its end; KILLS=60 is for a few. A driver does one job
after another until it is killed: one kill in twenty is of a driver, with all that it has started, the others are of
workers in the midst of a batch.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.chance import SEED, chance
from tests.spark.test_faults import QUERIES, WINDOW, Driver, Job, later, listed, plain, write_rows, written

import sparkleene as sk
from sparkleene.spark import check_checkpoint

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]

KINDS: dict[str, Any] = {
    "slide": QUERIES["linear"],
    "comparison": QUERIES["adjacent"],
    "session": "RETURN user, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user "
    "WITHIN SESSION 12 seconds",
    "from": "RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user "
    "WITHIN FROM x < 30 TO x > 80 MAX 50 seconds",
    "trigger": QUERIES["trigger"],
    "workload": {"sums": QUERIES["linear"], "parts": QUERIES["spread"], "ends": QUERIES["trigger"]},
    "panes": {
        "short": QUERIES["linear"],
        "long": QUERIES["linear"].replace(WINDOW, "WITHIN 1 minute SLIDE 20 seconds"),
    },
}
KILLS = int(os.environ.get("KILLS", "1000"))
DRIVERS = 0.1  # of the kills
FILES = 12
CORES = "local[2,8]"  # a task may fail seven times
MOST = 7  # workers that are killed in a batch
LATE_WORKER = "Python worker failed to connect back"  # Spark gives one ten seconds, on a busy machine too few


class Drivers:
    """A driver that does one job after another, and one that is to take its place when it was killed."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self._started: list[Driver] = []

    def get(self) -> Driver:
        """Return the driver whose turn it is."""
        while len(self._started) < 2:
            self._started.append(Driver(self.logs, CORES))
        return self._started[0]

    def kill(self) -> None:
        """Kill the driver whose turn it is, with all that it has started."""
        self._started.pop(0).kill()

    def kill_all(self) -> None:
        """Leave nothing."""
        while self._started:
            self.kill()


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    started = Drivers(tmp_path_factory.mktemp("drivers"))
    try:
        yield started
    finally:
        started.kill_all()


def batch(query: Any, table: pa.Table) -> list[str]:
    """Return what the in-process engine finds."""
    found = sk.workload(query).run(table) if isinstance(query, dict) else sk.query(query).run(table)
    return plain(found.to_pylist())


def attack(drivers: Drivers, job: Job, drawn: random.Random, most: int, driver: bool) -> tuple[list[str], bool]:
    """Run a job, kill its workers now and then, or its driver; tell what was killed, and whether the job ended."""
    found: list[str] = []
    started = drivers.get()
    last = job.files() + drawn.randint(1, 60) if driver else None
    struck: Counter[int] = Counter()
    next_at = time.monotonic() + drawn.uniform(0, 1)

    def strike() -> bool:
        nonlocal next_at
        if len(found) >= most:
            return False
        if last is not None and job.files() >= last:
            return True
        begun, ended = job.batches()
        if time.monotonic() > next_at and begun > ended and struck[begun] < MOST:
            next_at = time.monotonic() + drawn.expovariate(4)
            for pid in sorted(started.workers())[: min(drawn.randint(1, 2), MOST - struck[begun])]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    found.append("worker")
                    struck[begun] += 1
        return False

    started.ask(job)
    if started.wait(strike):
        error = started.answers()[-1]
        assert error is None or "error[" not in error, error
        return found, error is None
    time.sleep(drawn.uniform(0, 0.3))
    drivers.kill()
    begun, ended = job.batches()
    if begun < 0:  # Spark refuses a checkpoint without a batch, unless it is empty
        assert not listed(job.sink, Path("/"))
        shutil.rmtree(job.checkpoint, ignore_errors=True)
    else:
        check_checkpoint(job.checkpoint)
    return [*found, "driver in a batch" if begun > ended else "driver between batches"], False


def finish(drivers: Drivers, job: Job) -> None:
    """Run a job to its end, and once more, for windows that wait for a later row."""
    for _ in range(5):
        error = drivers.get().run(job)
        if error is None:
            later(job.rows)
            error = drivers.get().run(job)
        if error is None:
            return
        assert LATE_WORKER in error, error
    raise AssertionError(f"no worker of Spark connects: {error}")


@pytest.mark.parametrize("kind", KINDS)
def test_kills_at_random(tmp_path: Path, drivers: Drivers, kind: str) -> None:
    drawn = chance(f"test_kills_at_random {kind}")
    wanted = -(-KILLS // len(KINDS))
    began, found, jobs = time.monotonic(), Counter[str](), 0
    while found.total() < wanted:
        seed = drawn.randrange(1 << 32)
        print(f"SEED={SEED} {kind}: rows of seed {seed}, {found.total()} of {wanted} kills", flush=True)
        folder = tmp_path / f"job-{jobs}"
        folder.mkdir()
        table = write_rows(folder / "rows", FILES, seed)
        job = Job(folder, folder / "rows", KINDS[kind], at_once=drawn.randint(1, 3))
        ended, struck = False, Counter[str]()
        while not ended and (found + struck).total() < wanted:
            so_far = found + struck
            few = so_far.total() - so_far["worker"] <= DRIVERS * so_far.total()
            more, ended = attack(drivers, job, drawn, wanted - so_far.total(), few)
            struck.update(more)
        if not ended or set(struck) - {"worker"}:
            finish(drivers, job)
        found += struck
        assert written(job.sink) == batch(job.query, table), (kind, seed, found)
        shutil.rmtree(folder)
        jobs += 1
    seconds = time.monotonic() - began
    print(f"{kind}: {dict(found)} in {jobs} jobs, {seconds / found.total():.1f} s a kill", flush=True)
