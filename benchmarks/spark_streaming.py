"""Queries over streams against Spark's own windowed count over the same stream, in one session with two cores.

make bench ARGS=spark_streaming                               all cases, some minutes
.venv/bin/python benchmarks/spark_streaming.py cost kinds       some of them: cost, kinds, buckets, live, latency
.venv/bin/python benchmarks/spark_streaming.py cost --scale 0.1 --repeat 1 --batches 5

What is measured is a micro-batch from its start to its commit, as Spark's progress tells it, in steady state, and
the time of processors that Spark and its Python workers took for it. The *floor* is a `transformWithStateInPandas`
with the same state over a few rows of the same stream, which does nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

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
CASES = ("cost", "kinds", "buckets", "live", "latency")
USERS = (1_000, 100_000)
PARTITIONS = "spark.sql.shuffle.partitions"

PLAIN = "RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user WITHIN 10 seconds SLIDE 10 seconds"
SECONDS = PLAIN.replace("10 seconds", "1 second")
RISING = PLAIN.replace("[user]", "[user] AND A.price < NEXT(A).price")
SLIDING = PLAIN.replace("WITHIN 10 seconds SLIDE 10", "WITHIN 60 seconds SLIDE 10")
Make = Callable[[Any], Any]


class Shape(NamedTuple):
    """A stream whose cost is measured."""

    users: int
    partitions: int
    rows: int  # of a batch
    bound: float  # of ours / Spark's
    part: float = 1.0  # of the batches, where one takes long

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.users:,} keys, {self.partitions} partitions, {self.rows:,} events"


SHAPES = (
    Shape(1_000, 8, ROWS, 1.5),
    Shape(1_000, 200, 200_000, 1.5, 0.6),
    Shape(100_000, 8, ROWS, 1.0),
    Shape(1_000, 8, 10_000, 1.5),
)


def write(folder: Path, users: int, rows: int, files: int) -> str:
    """Write the files of a stream, one for each batch; a tenth of the rows is up to a second late."""
    folder.mkdir()
    for number in range(files):
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
    """What was measured of a stream: seconds per batch, from a passed watermark to written rows, and MiB."""

    batch: float
    latency: float
    rate: float
    state: float
    total: float
    batches: list[float]
    processors: float  # seconds of a batch
    progress: list[Any]


def native(frame: Any, window: str = "10 seconds") -> Any:
    """Return Spark's own count by user and window."""
    from pyspark.sql import functions as F

    return frame.groupBy("user", F.window("time", window)).agg(F.count("*").cast("double").alias("count"))


def ours(text: str) -> Make:
    """Return a query as a function of a stream."""
    return sk.query(text).run


def floor(frame: Any) -> Any:
    """Return what a processor in Python costs that is given a few rows and does nothing."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
    from pyspark.sql.types import BinaryType, LongType, StructType

    # As types, as ours are: of texts Spark would ask the JVM what they mean, in every partition.
    kept, number = StructType().add("kept", BinaryType()), StructType().add("number", LongType())

    class Idle(StatefulProcessor):
        """A processor with the state of ours."""

        def init(self, handle: Any) -> None:
            self.head = handle.getValueState("head", kept)
            self.segments = handle.getMapState("segments", number, kept)

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
            for _ in rows:
                pass
            return iter([])

        def close(self) -> None:
            pass

    few = frame.where("price < 0.0001").selectExpr("pmod(hash(user), 32) AS bucket", "price")
    return few.groupBy("bucket").transformWithStateInPandas(Idle(), "count double", "append", "EventTime")


def processor_time() -> float:
    """Return the seconds that all processes below this one have taken; 0 where there is no /proc."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(") ")[2].split()
        except OSError:  # it has just ended
            continue
        found[int(file.parent.name)] = (
            int(fields[1]),
            (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
        )
    below = {os.getpid()}
    while more := {id for id, (parent, _) in found.items() if parent in below} - below:
        below |= more
    return sum(found[id][1] for id in below - {os.getpid()})


class Bench:
    """The session and the files of the cases."""

    def __init__(self, folder: Path, scale: float, repeat: int, batches: int, seconds: float) -> None:
        """Start the session."""
        from sparkleene.spark.session import session

        self.seconds = seconds
        self.folder, self.repeat, self.batches, self.runs = folder, repeat, batches, 0
        self.scale = scale
        self.rows = self.scaled(ROWS)
        config = {"spark.sql.session.timeZone": "UTC", PARTITIONS: "8"}
        self.spark = session("sparkleene benchmark", master="local[2]", memory="6g", config=config)
        self.paths: dict[tuple[int, int], str] = {}

    def scaled(self, rows: int) -> int:
        """Return how many rows there are instead of so many."""
        return max(1000, int(rows * self.scale))

    def path(self, users: int, rows: int, part: float = 1.0) -> str:
        """Return the folder of the files of a stream, which are written at the first time."""
        if (users, rows) not in self.paths:
            folder = self.folder / f"users-{users}-{rows}"
            self.paths[users, rows] = write(folder, users, rows, max(2, round(part * self.batches)))
        return self.paths[users, rows]

    def files(self, users: int, rows: int) -> Any:
        """Return the files as a stream, one a batch."""
        schema = "time timestamp, type string, user long, price double"
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(self.path(users, rows)).withWatermark("time", "2 seconds")

    def run(self, frame: Any, make: Make, seconds: float | None = None) -> Ran:
        """Run a stream to its end, or for some seconds, into Parquet files."""
        self.runs += 1
        here = self.folder / f"run-{self.runs}"
        writer = make(frame).writeStream.format("parquet").option("checkpointLocation", str(here / "checkpoint"))
        if seconds is None:
            writer = writer.trigger(availableNow=True)
        before = processor_time()
        query = writer.start(str(here / "rows"))
        marks = self.watch(query, seconds)
        query.stop()
        progress = [one for one in query.recentProgress if one.numInputRows]
        warm = min(WARM, len(progress) // 2)
        steady = progress[warm:]
        ends = [stamp(one.timestamp) + one.durationMs["triggerExecution"] / 1000 for one in progress]
        whole = [one.durationMs["triggerExecution"] / 1000 for one in steady]
        states = [one.stateOperators[0].memoryUsedBytes for one in steady]
        table = ds.dataset(str(here / "rows"), exclude_invalid_files=True).to_table()
        total = 0.0
        if table.num_rows:
            total = pc.sum(pc.log2(table.column("count"))).as_py() or 0.0
        taken = [b - a for a, b in pairwise([before, *marks])][warm:]
        latency = median(b - a for a, b in zip(ends[warm - 1 :], ends[warm:], strict=False))
        rate = sum(one.numInputRows for one in steady) / sum(whole)
        return Ran(
            median(whole), latency, rate, median(states) / 2**20, total, whole, median(taken or [0.0]), progress
        )

    def watch(self, query: Any, seconds: float | None) -> list[float]:
        """Wait for the end of a stream, or some seconds; return the time of processors at the end of each batch."""
        until = None  # counted from the end of the first batch, in which workers start
        marks: list[float] = []
        last = None
        while query.isActive and (until is None or time.monotonic() < until):
            query.awaitTermination(0.05)
            progress = query.lastProgress
            if progress is not None and seconds is not None and until is None:
                until = time.monotonic() + seconds
            if progress is not None and progress.batchId != last:
                last = progress.batchId
                marks.append(processor_time())
        failure = query.exception()
        if failure is not None:
            raise failure
        return marks

    def several(
        self, users: int, makes: dict[str, Make], rows: int | None = None, repeat: int | None = None
    ) -> dict[str, Ran]:
        """Run several over the same files, in turns, and keep the quickest of each."""
        found: dict[str, Ran] = {}
        for _ in range(repeat or self.repeat):
            for name, make in makes.items():
                ran = self.run(self.files(users, rows or self.rows), make)
                if name not in found or ran.batch < found[name].batch:
                    found[name] = ran
        return found

    # ---- the cases

    def cost(self) -> Iterator[Line]:
        """Compare the cost of a batch: Spark's count, the floor of Python processors, and ours."""
        for shape in (each._replace(rows=self.scaled(each.rows)) for each in SHAPES):
            rows = shape.rows
            self.spark.conf.set(PARTITIONS, str(shape.partitions))
            self.path(shape.users, rows, shape.part)
            found = self.several(shape.users, {"Spark": native, "floor": floor, "ours": ours(PLAIN)}, rows)
            self.check(shape.users, rows, found["ours"])
            spark, least, ran = found["Spark"], found["floor"], found["ours"]
            detail = f"{least.batch:.2f} s / {spark.batch:.2f} s a batch"
            detail += f"; processors {least.processors:.2f} s / {spark.processors:.2f} s"
            yield Line(f"{shape.title}: floor / Spark's count", least.batch / spark.batch, "", detail)
            yield Line(
                f"{shape.title}: ours / Spark's count",
                ran.batch / spark.batch,
                f"<= {shape.bound}",
                f"a batch: ours {ran.batch:.2f} s, floor {least.batch:.2f} s, Spark's {spark.batch:.2f} s; "
                f"floor / Spark's {least.batch / spark.batch:.2f}, ours / floor {ran.batch / least.batch:.2f}; "
                f"processors: ours {ran.processors:.2f} s, floor {least.processors:.2f} s, "
                f"Spark's {spark.processors:.2f} s",
            )
            yield Line(
                f"{shape.title}: from watermark to written row",
                found["ours"].latency / spark.latency,
                "",
                f"{found['ours'].latency:.2f} s / {spark.latency:.2f} s",
            )
        self.spark.conf.set(PARTITIONS, "8")

    def kinds(self) -> Iterator[Line]:
        """Compare the cost of a batch for other kinds of queries."""
        for users in USERS:
            makes = {"Spark": native, "floor": floor, "rising": ours(RISING), "sliding": ours(SLIDING)}
            found = self.several(users, makes)
            spark, least = found.pop("Spark"), found.pop("floor")
            names = {"rising": "A.price < NEXT(A).price", "sliding": "windows of 60 s"}
            for name, ran in found.items():
                detail = f"{ran.batch:.2f} s, floor {least.batch:.2f} s, Spark's {spark.batch:.2f} s"
                detail += f" a batch of {self.rows:,}"
                detail += f"; {ran.rate:,.0f} and {spark.rate:,.0f} events/s; {ran.state:.0f} MiB"
                yield Line(f"{users:,} keys, {names[name]} / Spark's count", ran.batch / spark.batch, "", detail)

    def check(self, users: int, rows: int, ran: Ran) -> None:
        """Raise if a stream found something else than a batch; the last windows are still open."""
        table = ds.dataset(self.path(users, rows)).to_table()
        found = sk.query(PLAIN).run(table)
        last = pc.max(table.column("time")).as_py().timestamp() - 2
        closed = found.filter(pc.less_equal(found.column("window_end").cast("int64"), int(last * 1e6)))
        wanted = pc.sum(pc.log2(closed.column("count"))).as_py()
        if not np.isclose(ran.total, wanted, rtol=1e-9):
            raise RuntimeError(f"{users} keys: the stream found {ran.total}, a batch {wanted}")

    def buckets(self) -> Iterator[Line]:
        """Compare numbers of buckets, which are those of shuffle partitions up to 32."""
        for users in USERS:
            for count in (2, 4, 16, 32):
                self.spark.conf.set(PARTITIONS, str(count))
                found = self.several(users, {"Spark": native, "floor": floor, "ours": ours(PLAIN)}, repeat=1)
                one, least, other = found["ours"], found["floor"], found["Spark"]
                detail = f"{one.batch:.2f} s, floor {least.batch:.2f} s, Spark's {other.batch:.2f} s a batch"
                yield Line(f"{users:,} keys, {count} buckets", one.batch / other.batch, "", detail)
        self.spark.conf.set(PARTITIONS, "8")

    def live(self) -> Iterator[Line]:
        """Compare streams that come at a rate: the backlog stays bounded if batches do not grow."""
        for rate in (50_000, 200_000):
            frame = self.rate(rate)
            found = {
                name: self.run(frame, make, self.seconds)
                for name, make in (("Spark", native), ("ours", ours(PLAIN)))
            }
            one, other = found["ours"], found["Spark"]
            third = max(1, len(one.batches) // 3)
            growth = median(one.batches[-third:]) / median(one.batches[:third])
            yield Line(f"{rate:,} events/s: the last batches / the first", growth, "", f"{one.batch:.2f} s a batch")
            detail = f"{one.latency:.2f} s / {other.latency:.2f} s"
            yield Line(f"{rate:,} events/s: from watermark to written row", one.latency / other.latency, "", detail)

    def rate(self, rate: int) -> Any:
        """Return a stream that comes at a rate; the time of an event is the time at which it comes."""
        return (
            self.spark.readStream.format("rate").option("rowsPerSecond", rate).option("numPartitions", 2).load()
            .selectExpr("timestamp AS time", "pmod(hash(value), 1000L) AS user",
                        "substring('ABCD', 1 + pmod(hash(value, 7), 4), 1) AS type")
            .withWatermark("time", "1 second")
        )  # fmt: skip

    def latency(self) -> Iterator[Line]:
        """Compare how long after its end a window's rows are written, and how much of that the watermark takes."""
        frame = self.rate(20_000)
        makes = {"Spark": lambda rows: native(rows, "1 second"), "ours": ours(SECONDS)}
        found = {name: delays(self.run(frame, make, self.seconds).progress) for name, make in makes.items()}
        for part in (50, 99):
            one, other = (np.percentile(found[name], part, axis=1) for name in ("ours", "Spark"))
            detail = f"{one[0]:.2f} s / {other[0]:.2f} s, of which until the watermark passes the end"
            detail += f" {one[1]:.2f} s / {other[1]:.2f} s"
            yield Line(
                f"20,000 events/s: from the end of a window to its rows, p{part}", one[0] / other[0], "", detail
            )


def delays(progress: list[Any], warm: int = WARM) -> np.ndarray[Any, Any]:
    """Return for windows of a second how long after their ends rows were written, and the watermark passed them.

    A batch writes the windows that its watermark has passed; its watermark was known when it began.
    """
    found = []
    for before, one in pairwise(progress[min(warm, len(progress) // 2) :]):
        begin = stamp(one.timestamp)
        end = begin + one.durationMs["triggerExecution"] / 1000
        marks = [int(stamp(each.eventTime["watermark"])) for each in (before, one)]
        found += [(end - second, begin - second) for second in range(marks[0] + 1, marks[1] + 1)]
    if not found:
        raise RuntimeError(f"no window has ended in {len(progress)} batches: let the stream run for longer")
    return np.array(found).T


def stamp(text: str) -> float:
    """Return the seconds of a time in the progress."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def run(
    scale: float = 1.0, cases: tuple[str, ...] = CASES, repeat: int = 2, batches: int = FILES, seconds: float = LIVE
) -> Iterator[Line]:
    """Run the cases."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), scale, repeat, batches, seconds)
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
    parser.add_argument("--batches", type=int, default=FILES, help="batches of a stream")
    parser.add_argument("--seconds", type=float, default=LIVE, help="of streams that come at a rate")
    arguments = parser.parse_args()
    if set(arguments.cases) - set(CASES):
        parser.error(f"the cases are {', '.join(CASES)}")
    asked = (arguments.repeat, arguments.batches, arguments.seconds)
    for line in run(arguments.scale, tuple(arguments.cases) or CASES, *asked):
        print(line.show(), flush=True)


if __name__ == "__main__":
    main()
