"""Queries on Spark against what Spark itself needs for the same rows, all in one local session with two cores.

make bench ARGS=spark_batch                                  all cases, many minutes
.venv/bin/python benchmarks/spark_batch.py --repeat 1 growth     some of them: against, users, keys, growth, single
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkleene as sk
from benchmarks.common import Line
from sparkleene.evaluation import PreparedWorkload, Strategy

COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind"}
USERS = 3000
FILE = 5_000_000  # events; a row group has a fifth of them
FIRST = np.datetime64("2024-01-01", "us")
Name = Any
Job = Callable[[], Any]
CASES = ("against", "users", "keys", "growth", "single")

PLAIN = "RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user WITHIN 1 hour SLIDE 1 hour"
RISING = PLAIN.replace("[user]", "[user] AND A.price < NEXT(A).price")
SINGLE = "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 2 seconds SLIDE 2 seconds"  # 2,000 events in a window


# ---- data


def write(folder: Path, files: int, rows: int, users: np.ndarray | None = None) -> list[str]:
    """Write files of events, one a millisecond, in order of time; two columns are read by no query."""
    folder.mkdir()
    paths = []
    for number in range(files):
        rng = np.random.default_rng(number)
        begin = number * rows
        kinds = pa.array(rng.integers(0, 4, rows).astype(np.int8))
        times = FIRST + np.arange(begin, begin + rows).astype("timedelta64[ms]")
        table = pa.table(
            {
                "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "kind": pa.DictionaryArray.from_arrays(kinds, pa.array(list("ABCD"))),
                "user": rng.integers(0, USERS, rows) if users is None else users[begin : begin + rows],
                "price": rng.random(rows),
                "weight": rng.random(rows),
                "note": pa.DictionaryArray.from_arrays(kinds, pa.array(["low", "middle", "high", "none"])),
            }
        )
        paths.append(str(folder / f"{number:02}.parquet"))
        pq.write_table(table, paths[-1], row_group_size=max(1, rows // 5))
    return paths


# ---- measuring


@dataclass(frozen=True)
class Measured:
    """The shortest time of a job, and what it found: rows, the sum of their counts, that of the logarithms."""

    seconds: float
    rows: int
    total: float
    digits: float


def measure(jobs: Mapping[Name, Job], repeat: int, warm: Mapping[Name, Job] | None = None) -> dict[Name, Measured]:
    """Time DataFrames on their way from the files to one row, in turns, so that all see the same machine.

    Before, each runs once, or instead of it a smaller one, to warm up; this run takes a closer look.
    """
    from pyspark.sql import functions as F

    digits = F.sum(F.log2("count"))
    looks = {
        name: job().agg(F.count("*"), F.sum("count"), digits).collect()[0] for name, job in (warm or jobs).items()
    }
    found: dict[Name, Measured] = {}
    for _ in range(repeat):
        for name, job in jobs.items():
            begin = time.perf_counter()
            rows, total = job().agg(F.count("*"), F.sum("count")).collect()[0]
            seconds = time.perf_counter() - begin
            seconds = min(seconds, found[name].seconds) if name in found else seconds
            found[name] = Measured(seconds, rows, total, looks[name][2])
    return found


def same(what: str, *several: Measured) -> None:
    """Raise if jobs that should find the same do not."""
    one = several[0]
    for other in several[1:]:
        alike = one.rows == other.rows > 0 and all(
            math.isclose(a, b, rel_tol=1e-9) for a, b in ((one.total, other.total), (one.digits, other.digits))
        )
        if not alike:
            raise RuntimeError(f"{what}: {one} is not {other}")


def ratio(name: str, one: Measured, other: Measured, bound: str = "") -> Line:
    """Return the line of a ratio of two times."""
    return Line(name, one.seconds / other.seconds, bound, f"{one.seconds:.2f} s / {other.seconds:.2f} s")


class Count:
    """A task that does nothing but count the rows that it gets."""

    def __call__(self, batches: Any) -> Iterator[pa.RecordBatch]:
        """Count the rows of a partition."""
        yield pa.RecordBatch.from_pydict({"count": [sum(batch.num_rows for batch in batches)]})


@dataclass(frozen=True)
class Timed:
    """A task that keeps how long it works, and how long it waits for its rows."""

    task: Any
    folder: str

    def __call__(self, batches: Any) -> Iterator[pa.RecordBatch]:
        """Run the task over a partition, then append a line to a file."""
        spent = {"waiting": 0.0, "inside": 0.0}

        def awaited() -> Iterator[pa.RecordBatch]:
            given = iter(batches)
            while True:
                begin = time.perf_counter()
                batch = next(given, None)
                spent["waiting"] += time.perf_counter() - begin
                if batch is None:
                    return
                yield batch

        results = iter(self.task(awaited()))
        while True:
            begin = time.perf_counter()
            result = next(results, None)
            spent["inside"] += time.perf_counter() - begin
            if result is None:
                break
            yield result
        inner = getattr(self.task, "task", self.task)  # of a task around a task
        line = {"task": type(inner).__name__, **spent}
        with open(os.path.join(self.folder, f"{os.getpid()}.jsonl"), "a") as file:
            file.write(json.dumps(line) + "\n")


def workers(name: str, q: sk.Query, data: Any, strategy: Strategy | None) -> Line:
    """Run a query once with timed tasks and return how long Python worked and waited."""
    from pyspark.sql.classic.dataframe import DataFrame

    plain = DataFrame.mapInArrow

    def timed(frame: DataFrame, task: Any, *rest: Any) -> Any:
        return plain(frame, Timed(task, folder), *rest)

    with tempfile.TemporaryDirectory() as folder:
        with patch.object(DataFrame, "mapInArrow", timed):
            result = q.run(data, engine="spark", strategy=strategy)
        result.agg({"count": "sum"}).collect()
        lines = [json.loads(line) for file in Path(folder).iterdir() for line in file.open()]
    waiting = sum(line["waiting"] for line in lines)
    worked = {each["task"]: 0.0 for each in lines}
    for line in lines:
        worked[line["task"]] += line["inside"] - line["waiting"]
    parts = ", ".join(f"{task} {seconds:.2f}" for task, seconds in worked.items())
    working = sum(worked.values())
    detail = f"{working:.2f} s / {waiting:.2f} s: {parts}"
    return Line(f"Python workers, {name}: work / waiting for rows", working / waiting, "", detail)


# ---- the cases


class Bench:
    """The files and the session of the cases."""

    def __init__(self, folder: Path, scale: float, repeat: int) -> None:
        """Write the files."""
        self.folder, self.repeat = folder, repeat
        self.rows = max(1000, int(FILE * scale))
        self.paths = write(folder / "events", 10, self.rows)

    def start(self) -> None:
        """Start the session that all but the last case share."""
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
        self.spark = session("local[2]")

    def events(self, files: int) -> str:
        """Return how many events some files have."""
        return f"{files * self.rows:,}"

    def frame(self, paths: Sequence[str]) -> Any:
        """Return files as a DataFrame."""
        return self.spark.read.parquet(*paths)

    def job(self, text: str, paths: list[str], way: str) -> Job:
        """Return a query over files one way: a strategy, or by path."""
        q = sk.query(text, **COLUMNS)
        if way == "by path":
            return lambda: q.run(paths, engine="spark")
        return lambda: q.run(self.frame(paths), strategy=way)

    def counting(self, text: str, paths: list[str]) -> Job:
        """Return the job that brings the same rows and columns to Python as "shuffle" does, and counts them."""
        from sparkleene.spark import batch

        def make() -> Any:
            frame = self.frame(paths)
            query = sk.query(text, **COLUMNS).prepared
            _, requests = PreparedWorkload({"query": query}).ask_spark(frame, "shuffle")
            _, [job] = batch.plan_jobs(requests, frame)
            return job.rows.repartition(*job.plan.job.keys).mapInArrow(Count(), "count long")

        return make

    def against(self) -> Iterator[Line]:
        """Compare with Spark's own aggregate, and with a job that only gets the rows to Python."""
        from pyspark.sql import functions as F

        paths, events = self.paths[:4], self.events(4)
        hour = F.window("ts", "1 hour")
        jobs = {"Spark": lambda: self.frame(paths).groupBy("user", hour).count()}
        jobs |= {"counting": self.counting(PLAIN, paths), "counting prices": self.counting(RISING, paths)}
        jobs |= {way: self.job(PLAIN, paths, way) for way in ("shuffle", "combine", "by path")}
        jobs |= {"rising": self.job(RISING, paths, "shuffle")}
        found = measure(jobs, self.repeat)
        spark, counting, prices, shuffle, combine, by_path, rising = found.values()
        wanted = self.frame(paths).where("kind IN ('A', 'B')").count()
        if (spark.total, counting.total, prices.total) != (4 * self.rows, wanted, wanted):
            raise RuntimeError(f"of {events} events Spark counts {spark.total}, Python {counting.total}")
        same("SEQ(A+, B) by user", shuffle, combine, by_path)
        same("A.price < NEXT(A).price", rising, *measure({0: self.job(RISING, paths, "by path")}, 1).values())
        yield ratio(f"counting in Python / groupBy.count, {events} events", counting, spark)
        yield ratio("SEQ(A+, B) by user, shuffle / counting in Python", shuffle, counting, "<= 1.3")
        yield ratio("SEQ(A+, B) by user, combine / groupBy.count", combine, spark, "<= 3")
        yield ratio("SEQ(A+, B) by user, by path / groupBy.count", by_path, spark, "<= 1.2")
        yield ratio("A.price < NEXT(A).price, shuffle / counting in Python", rising, prices, "<= 1.5")
        q, frame = sk.query(PLAIN, **COLUMNS), self.frame(paths)
        yield workers("shuffle", q, frame, "shuffle")
        yield workers("combine", q, frame, "combine")
        yield workers("by path", q, paths, None)
        yield workers("NEXT", sk.query(RISING, **COLUMNS), frame, "shuffle")

    def keys(self) -> Iterator[Line]:
        """Compare many keys of 20 events each with few of many, and with Spark's own count of the same files."""
        from pyspark.sql import functions as F

        number = 4 * self.rows // 20
        users = np.random.default_rng(0).permutation(np.repeat(np.arange(number), 20))
        paths = write(self.folder / "keys", 4, 5 * number, users)
        jobs = {
            (way, of): self.job(PLAIN, some, way)
            for way in ("shuffle", "by path")
            for of, some in (("many", paths), ("few", self.paths[:4]))
        }
        hour = F.window("ts", "1 hour")
        jobs["Spark", "many"] = lambda: self.frame(paths).groupBy("user", hour).count()
        found = measure(jobs, self.repeat)
        for way, bound in (("shuffle", "<= 2"), ("by path", "<= 1")):
            many, few = found[way, "many"], found[way, "few"]
            same(f"{number:,} keys", many, found["shuffle", "many"])
            yield ratio(f"{number:,} keys / {USERS:,} keys, {way}", many, few, "<= 2")
            yield ratio(f"{number:,} keys, {way} / groupBy.count", many, found["Spark", "many"], bound)

    def users(self) -> Iterator[Line]:
        """Compare one file by path with Spark's own count, around where matrices give way to rows."""
        from pyspark.sql import functions as F

        rng = np.random.default_rng(1)
        hour = F.window("ts", "1 hour")
        for number in (10_000, 20_000, 50_000, 500_000):
            users = max(1, int(number * self.rows / FILE))
            paths = write(self.folder / f"users {number}", 1, self.rows, rng.integers(0, users, self.rows))
            spark = partial(lambda paths: self.frame(paths).groupBy("user", hour).count(), paths)
            found = measure({"Spark": spark, "by path": self.job(PLAIN, paths, "by path")}, self.repeat)
            name = f"one file of {self.events(1)} events, {users:,} users, by path / groupBy.count"
            yield ratio(name, found["by path"], found["Spark"])

    def growth(self) -> Iterator[Line]:
        """Let the events grow eightfold."""
        sizes, ways = (1, 2, 4, 8), ("shuffle", "by path")
        several = [(way, files) for way in ways for files in sizes]
        jobs = {(way, files): self.job(PLAIN, self.paths[:files], way) for way, files in several}
        warm = {(way, files): self.job(PLAIN, self.paths[:1], way) for way, files in several}
        found = measure(jobs, self.repeat, warm)
        for files in sizes:
            same(f"{self.events(files)} events", *(found[way, files] for way in ways))
        for way in ways:
            seconds = [found[way, files].seconds for files in sizes]
            slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
            name = f"{self.events(1)} to {self.events(8)} events, {way}"
            detail = f"slope {slope:.2f}: {', '.join(f'{one:.2f}' for one in seconds)} s"
            yield Line(name, seconds[-1] / seconds[0], "<= 9", detail)

    def single(self) -> Iterator[Line]:
        """Evaluate one sub-stream on one and on two cores, each in a process of its own."""
        one, two, held = (
            {way: Measured(**values) for way, values in self.apart(*arguments).items()}
            for arguments in (("local[1]",), ("local[2]",), ("local[1]", "--held"))
        )
        same("one sub-stream", *one.values(), *two.values(), *held.values())
        for way in one:
            name = f"{self.events(10)} events without key, {way}"
            yield ratio(f"{name}: local[1] / local[2]", one[way], two[way], ">= 1.6")
            yield ratio("the same, but local[1] is held to one core", held[way], two[way])

    def apart(self, master: str, *more: str) -> Any:
        """Measure one sub-stream in another process."""
        command = [sys.executable, __file__, "--master", master, "--repeat", str(self.repeat), *more]
        done = subprocess.run([*command, *self.paths], stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])


def session(master: str) -> Any:
    """Start a session; what depends on the number of cores is fixed, so that tasks are the same on one and two."""
    from sparkleene.spark.session import session

    config = {"spark.sql.shuffle.partitions": "8", "spark.sql.session.timeZone": "UTC"}
    return session("sparkleene benchmark", master=master, memory="6g", config=config)


def apart(master: str, paths: list[str], repeat: int, held: bool) -> None:
    """Measure one sub-stream and print what was found; `held` lets all of Spark and Python share one core."""
    if held:
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    spark = session(master)
    q = sk.query(SINGLE, **COLUMNS)
    runs: dict[str, Callable[[list[str]], Any]] = {
        "frame": lambda paths: q.run(spark.read.parquet(*paths)),
        "path": lambda paths: q.run(paths, engine="spark"),
    }
    jobs, warm = ({way: partial(run, some) for way, run in runs.items()} for some in (paths, paths[:1]))
    found = measure(jobs, 1 if held else repeat, warm)
    print(json.dumps({way: vars(one) for way, one in found.items()}))
    spark.stop()


def run(scale: float = 1.0, repeat: int = 3, cases: Sequence[str] = CASES) -> Iterator[Line]:
    """Measure the cases: 20 million events of 3,000 keys and of a million, 5 to 40 million, 50 million without."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), scale, repeat)
        shared = [case for case in CASES if case in cases and case != "single"]
        if shared:
            bench.start()
            for case in shared:
                yield from getattr(bench, case)()
            bench.spark.stop()
        if "single" in cases:
            yield from bench.single()


def main() -> None:
    """Run some cases, or what one of them runs in another process."""
    parser = argparse.ArgumentParser(description="Measure queries on Spark.")
    parser.add_argument("names", nargs="*", metavar="case", help=f"which: {', '.join(CASES)} (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the sizes of the inputs")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the shortest counts")
    parser.add_argument("--master", help=argparse.SUPPRESS)
    parser.add_argument("--held", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.master is not None:
        apart(given.master, given.names, given.repeat, given.held)
        return
    unknown = set(given.names) - set(CASES)
    if unknown:
        parser.error(f"no case named {', '.join(sorted(unknown))}")
    for line in run(given.scale, given.repeat, given.names or CASES):
        print(line.show(), flush=True)


if __name__ == "__main__":
    main()
