"""Drivers and workers that are killed at random, a thousand times over kinds of queries: the rows stay the same.

`make soak ARGS=tests/spark/test_soak_kills.py` runs it to its end, in some hours; KILLS=50 is for a few.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.chance import SEED, chance
from tests.spark.test_faults import QUERIES, Job, driver, later, listed, plain, write_rows, written

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
}
KILLS = int(os.environ.get("KILLS", "1000"))
FILES = 12
CORES = "local[2,4]"  # a task may fail three times
LATE_WORKER = "Python worker failed to connect back"  # Spark gives one ten seconds, on a busy machine too few


def batch(query: Any, table: pa.Table) -> list[str]:
    """Return what the in-process engine finds."""
    found = sk.workload(query).run(table) if isinstance(query, dict) else sk.query(query).run(table)
    return plain(found.to_pylist())


def attack(job: Job, drawn: random.Random, most: int) -> tuple[list[str], bool]:
    """Run a job and kill its workers now and then, or its driver; tell what was killed, and whether it ended."""
    found: list[str] = []
    with driver(job.folder / "logs", CORES) as started:
        last = job.files() + drawn.randint(1, 60) if drawn.random() < 0.7 else None
        struck: Counter[int] = Counter()
        next_at = time.monotonic() + drawn.uniform(0, 4)

        def strike() -> bool:
            nonlocal next_at
            if len(found) >= most:
                return False
            if last is not None and job.files() >= last:
                return True
            begun, ended = job.batches()
            if time.monotonic() > next_at and begun > ended and struck[begun] < 3:
                next_at = time.monotonic() + drawn.expovariate(2)
                for pid in sorted(started.workers())[: drawn.randint(1, 2)]:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        found.append("worker")
                        struck[begun] += 1
            return False

        started.ask(job)
        if started.wait(strike):
            [error] = started.answers()
            assert error is None or "error[" not in error, error
            return found, error is None
        time.sleep(drawn.uniform(0, 0.3))
        started.kill()
    begun, ended = job.batches()
    if begun < 0:  # Spark refuses a checkpoint without a batch, unless it is empty
        assert not listed(job.sink, Path("/"))
        shutil.rmtree(job.checkpoint, ignore_errors=True)
    else:
        check_checkpoint(job.checkpoint)
    return [*found, "driver in a batch" if begun > ended else "driver between batches"], False


def finish(job: Job) -> None:
    """Run a job to its end, and once more, for windows that wait for a later row."""
    for _ in range(5):
        with driver(job.folder / "logs", CORES) as started:
            error = started.run(job)
            if error is None:
                later(job.rows)
                error = started.run(job)
        if error is None:
            return
        assert LATE_WORKER in error, error
    raise AssertionError(f"no worker of Spark connects: {error}")


@pytest.mark.parametrize("kind", KINDS)
def test_kills_at_random(tmp_path: Path, kind: str) -> None:
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
        while not ended and found.total() + struck.total() < wanted:
            more, ended = attack(job, drawn, wanted - found.total() - struck.total())
            struck.update(more)
        if not ended or set(struck) - {"worker"}:
            finish(job)
        found += struck
        assert written(job.sink) == batch(job.query, table), (kind, seed, found)
        shutil.rmtree(folder)
        jobs += 1
    seconds = time.monotonic() - began
    print(f"{kind}: {dict(found)} in {jobs} jobs, {seconds / found.total():.1f} s a kill", flush=True)
