"""Queries over streams against Spark's own windowed count over the same stream, in one session with two cores.

make bench ARGS=spark_streaming                               all cases, some minutes
.venv/bin/python benchmarks/spark_streaming.py cost buckets     some of them: cost, buckets, live

What is measured is a micro-batch from its start to its commit, as Spark's progress tells it, in steady state.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import sparkleene as sk
from benchmarks.common import Line

ROWS, FILES = 500_000, 14  # of a batch, and batches
WARM = 5  # batches that are not measured
SPAN = 10_000_000  # microseconds of event time in a batch
FIRST = 1_700_000_000_000_000
LIVE = 60  # seconds
CASES = ("cost", "buckets", "live")
BOUNDS = {1_000: 2.5, 100_000: 4.0}

PLAIN = "RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user WITHIN 10 seconds SLIDE 10 seconds"
RISING = PLAIN.replace("[user]", "[user] AND A.price < NEXT(A).price")
SLIDING = PLAIN.replace("WITHIN 10 seconds SLIDE 10", "WITHIN 60 seconds SLIDE 10")
Make = Callable[[Any], Any]


def write(folder: Path, users: int, rows: int) -> str:
    """Write the files of a stream, one for each batch; a tenth of the rows is up to a second late."""
    folder.mkdir()
    for number in range(FILES):
        rng = np.random.default_rng(number)
        times = np.sort(rng.integers(0, SPAN, rows)) + number * SPAN + FIRST
        times -= np.where(rng.random(rows) < 0.1, rng.integers(0, 1_000_000, rows), 0)
        kinds = pa.array(rng.integers(0, 4, rows).astype(np.int8))
        table = pa.table(
            {
                "time": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "type": pa.DictionaryArray.from_arrays(kinds, pa.array(list("ABCD"))),
                "user": rng.integers(0, users, rows),
                "price": rng.random(rows),
            }
        )
        pq.write_table(table, folder / f"{number:03}.parquet")
        time.sleep(0.01)  # Spark takes files in order of their times
    return str(folder)


@dataclass(frozen=True)
class Ran:
    """What was measured of a stream: seconds per batch, from a passed watermark to written rows, and bytes."""

    batch: float
    latency: float
    rate: float
    state: float
    total: float
    batches: list[float]


def native(frame: Any) -> Any:
    """Return Spark's own count by user and window."""
    from pyspark.sql import functions as F

    return frame.groupBy("user", F.window("time", "10 seconds")).agg(F.count("*").cast("double").alias("count"))


def ours(text: str) -> Make:
    """Return a query as a function of a stream."""
    return sk.query(text).run


class Bench:
    """The session and the files of the cases."""

    def __init__(self, folder: Path, scale: float, repeat: int) -> None:
        """Write the files and start the session."""
        from sparkleene.spark.session import session

        self.folder, self.repeat, self.runs = folder, repeat, 0
        self.rows = max(1000, int(ROWS * scale))
        config = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "8"}
        self.spark = session("sparkleene benchmark", master="local[2]", memory="6g", config=config)
        self.paths = {users: write(folder / f"users-{users}", users, self.rows) for users in BOUNDS}

    def files(self, users: int) -> Any:
        """Return the files as a stream, one a batch."""
        schema = "time timestamp, type string, user long, price double"
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(self.paths[users]).withWatermark("time", "2 seconds")

    def run(self, frame: Any, make: Make, seconds: float | None = None) -> Ran:
        """Run a stream to its end, or for some seconds, into Parquet files."""
        self.runs += 1
        here = self.folder / f"run-{self.runs}"
        writer = make(frame).writeStream.format("parquet").option("checkpointLocation", str(here / "checkpoint"))
        if seconds is None:
            writer = writer.trigger(availableNow=True)
        query = writer.start(str(here / "rows"))
        query.awaitTermination(seconds)
        query.stop()
        progress = [one for one in query.recentProgress if one.numInputRows]
        warm = min(WARM, len(progress) // 2)
        steady = progress[warm:]
        ends = [stamp(one.timestamp) + one.durationMs["triggerExecution"] / 1000 for one in progress]
        whole = [one.durationMs["triggerExecution"] / 1000 for one in steady]
        states = [one.stateOperators[0].memoryUsedBytes for one in steady]
        table = ds.dataset(str(here / "rows"), exclude_invalid_files=True).to_table()
        total = pc.sum(pc.log2(table.column("count"))).as_py() or 0.0
        latency = median(b - a for a, b in zip(ends[warm - 1 :], ends[warm:], strict=False))
        rate = sum(one.numInputRows for one in steady) / sum(whole)
        return Ran(median(whole), latency, rate, median(states) / 2**20, total, whole)

    def several(self, users: int, makes: dict[str, Make]) -> dict[str, Ran]:
        """Run several over the same files, in turns, and keep the quickest of each."""
        found: dict[str, Ran] = {}
        for _ in range(self.repeat):
            for name, make in makes.items():
                ran = self.run(self.files(users), make)
                if name not in found or ran.batch < found[name].batch:
                    found[name] = ran
        return found

    # ---- the cases

    def cost(self) -> Iterator[Line]:
        """Compare the cost of a batch."""
        for users, bound in BOUNDS.items():
            makes = {"Spark": native, "ours": ours(PLAIN), "rising": ours(RISING), "sliding": ours(SLIDING)}
            found = self.several(users, makes)
            self.check(users, found["ours"])
            spark = found.pop("Spark")
            names = {"ours": "SEQ(A+, B)", "rising": "A.price < NEXT(A).price", "sliding": "windows of 60 s"}
            for name, ran in found.items():
                title = f"{users:,} keys, {names[name]} / groupBy(key, window).count()"
                held = f"<= {bound}" if name == "ours" else ""
                detail = f"{ran.batch:.2f} s / {spark.batch:.2f} s a batch of {self.rows:,}"
                detail += f"; {ran.rate:,.0f} and {spark.rate:,.0f} events/s; {ran.state:.0f} MiB"
                yield Line(title, ran.batch / spark.batch, held, detail)
            detail = f"{found['ours'].latency:.2f} s / {spark.latency:.2f} s"
            yield Line(
                f"{users:,} keys, from watermark to written row", found["ours"].latency / spark.latency, "", detail
            )

    def check(self, users: int, ran: Ran) -> None:
        """Raise if a stream found something else than a batch; the last windows are still open."""
        table = ds.dataset(self.paths[users]).to_table()
        found = sk.query(PLAIN).run(table)
        last = pc.max(table.column("time")).as_py().timestamp() - 2
        closed = found.filter(pc.less_equal(found.column("window_end").cast("int64"), int(last * 1e6)))
        wanted = pc.sum(pc.log2(closed.column("count"))).as_py()
        if not np.isclose(ran.total, wanted, rtol=1e-9):
            raise RuntimeError(f"{users} keys: the stream found {ran.total}, a batch {wanted}")

    def buckets(self) -> Iterator[Line]:
        """Compare numbers of buckets, which are those of shuffle partitions."""
        setting = "spark.sql.shuffle.partitions"
        for users in BOUNDS:
            for count in (2, 4, 16, 32):
                self.spark.conf.set(setting, str(count))
                found = self.several(users, {"Spark": native, "ours": ours(PLAIN)})
                one, other = found["ours"], found["Spark"]
                detail = f"{one.batch:.2f} s / {other.batch:.2f} s a batch"
                yield Line(f"{users:,} keys, {count} buckets", one.batch / other.batch, "", detail)
        self.spark.conf.set(setting, "8")

    def live(self) -> Iterator[Line]:
        """Compare streams that come at a rate: the backlog stays bounded if batches do not grow."""
        for rate in (50_000, 200_000):
            frame = (
                self.spark.readStream.format("rate").option("rowsPerSecond", rate).option("numPartitions", 2).load()
                .selectExpr("timestamp AS time", "pmod(hash(value), 1000L) AS user",
                            "substring('ABCD', 1 + pmod(hash(value, 7), 4), 1) AS type")
                .withWatermark("time", "1 second")
            )  # fmt: skip
            found = {name: self.run(frame, make, LIVE) for name, make in (("Spark", native), ("ours", ours(PLAIN)))}
            one, other = found["ours"], found["Spark"]
            third = max(1, len(one.batches) // 3)
            growth = median(one.batches[-third:]) / median(one.batches[:third])
            yield Line(f"{rate:,} events/s: the last batches / the first", growth, "", f"{one.batch:.2f} s a batch")
            detail = f"{one.latency:.2f} s / {other.latency:.2f} s"
            yield Line(f"{rate:,} events/s: from watermark to written row", one.latency / other.latency, "", detail)


def stamp(text: str) -> float:
    """Return the seconds of a time in the progress."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def run(scale: float = 1.0, cases: tuple[str, ...] = CASES, repeat: int = 2) -> Iterator[Line]:
    """Run the cases."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), scale, repeat)
        try:
            for case in cases:
                yield from getattr(bench, case)()
        finally:
            bench.spark.stop()


def main() -> None:
    """Run the cases that are named."""
    parser = argparse.ArgumentParser(description="Run queries over streams.")
    parser.add_argument("cases", nargs="*", help=f"which: {', '.join(CASES)} (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the rows of a batch")
    parser.add_argument("--repeat", type=int, default=2, help="runs of each stream")
    arguments = parser.parse_args()
    if set(arguments.cases) - set(CASES):
        parser.error(f"the cases are {', '.join(CASES)}")
    for line in run(arguments.scale, tuple(arguments.cases) or CASES, arguments.repeat):
        print(line.show(), flush=True)


if __name__ == "__main__":
    main()
