"""A long stream whose sub-streams come and go: what it keeps, and what a batch costs, level off.

make bench ARGS=spark_soak                          20 million events, 40 batches, some minutes
.venv/bin/python benchmarks/spark_soak.py --scale 5     more batches

It prints a line for each batch: its seconds, the rows and bytes of Spark's state store, and the memory of Spark's
Python workers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
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

ROWS, FILES = 500_000, 40
SPAN, FIRST = 10_000_000, 1_700_000_000_000_000  # microseconds of a batch, and when the first begins
NEW, ACTIVE = 5_000, 20_000  # sub-streams that appear with every batch, and that are there at a time
DELAY = 5  # seconds
QUERIES = {
    "SEQ(A+, B), sliding": "RETURN user, COUNT(*), SUM(A.price) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user "
    "WITHIN 60 seconds SLIDE 20 seconds",
    "A.price < NEXT(A).price": "RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user] AND A.price < NEXT(A).price "
    "GROUP-BY user WITHIN 20 seconds SLIDE 20 seconds",
}


def write(folder: Path, files: int, rows: int) -> str:
    """Write the files of the stream; rows are up to DELAY seconds out of order."""
    folder.mkdir()
    for number in range(files):
        rng = np.random.default_rng(number)
        times = np.sort(rng.integers(0, SPAN, rows)) + number * SPAN + FIRST
        times -= rng.integers(0, DELAY * 1_000_000, rows)
        kinds = pa.array(rng.integers(0, 4, rows).astype(np.int8))
        table = pa.table(
            {
                "time": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "type": pa.DictionaryArray.from_arrays(kinds, pa.array(list("ABCD"))),
                "user": rng.integers(0, ACTIVE, rows) + number * NEW,
                "price": rng.random(rows),
            }
        )
        pq.write_table(table, folder / f"{number:04}.parquet")
        time.sleep(0.01)  # Spark takes files in order of their times
    return str(folder)


def workers() -> float:
    """Return the memory of all Python workers of Spark, in MiB."""
    listed = subprocess.run(["ps", "-A", "-o", "rss=,args="], capture_output=True, text=True, check=True).stdout
    found = [line.split(None, 1) for line in listed.splitlines()]
    return sum(int(rss) for rss, args in (f for f in found if len(f) == 2) if "pyspark.daemon" in args) / 1024


class Watch(threading.Thread):
    """Looks at the workers' memory every second."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        super().__init__(daemon=True)
        self.seen: list[tuple[float, float]] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Look until it is over."""
        while not self.over.wait(1):
            self.seen.append((time.time(), workers()))

    def most(self, begin: float, end: float) -> float:
        """Return the most that was seen between two times."""
        return max((memory for at, memory in self.seen if begin <= at <= end + 1), default=0.0)


def soak(spark: Any, folder: Path, name: str, text: str, path: str, files: int) -> Iterator[Line]:
    """Run a query over the stream, print its batches and return how the last compare with those before."""
    from benchmarks.spark_streaming import stamp

    schema = "time timestamp, type string, user long, price double"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    frame = reader.parquet(path).withWatermark("time", f"{DELAY} seconds")
    here = folder / str(abs(hash(name)))
    writer = sk.query(text).run(frame).writeStream.format("parquet").trigger(availableNow=True)
    watch = Watch()
    watch.start()
    query = writer.option("checkpointLocation", str(here / "checkpoint")).start(str(here / "rows"))
    shown: list[tuple[float, int, float, float]] = []
    print(f"{name}\n  batch      rows  seconds  state rows  state MiB  workers MiB", flush=True)
    while query.isActive or len(shown) < len([p for p in query.recentProgress if p.numInputRows]):
        for one in [p for p in query.recentProgress if p.numInputRows][len(shown) :]:
            seconds, state = one.durationMs["triggerExecution"] / 1000, one.stateOperators[0]
            begin = stamp(one.timestamp)
            memory = watch.most(begin, begin + seconds)
            shown.append((seconds, state.numRowsTotal, state.memoryUsedBytes / 2**20, memory))
            numbers = f"{one.batchId:>7} {one.numInputRows:>9,} {seconds:>8.2f} {state.numRowsTotal:>11,}"
            print(f"{numbers} {state.memoryUsedBytes / 2**20:>10.1f} {memory:>12.0f}", flush=True)
        time.sleep(0.2)
    query.awaitTermination()
    watch.over.set()
    check(text, path, here / "rows")
    quarter = files // 4
    for place, what in enumerate(("batch seconds", "state rows", "state MiB", "memory of the workers")):
        values = [row[place] for row in shown]
        second, last = median(values[quarter : 2 * quarter]), median(values[-quarter:])
        yield Line(f"{name}: {what}, last quarter / second", last / second, "", f"{last:,.1f} / {second:,.1f}")


def check(text: str, path: str, rows: Path) -> None:
    """Raise if the stream found something else than a batch; the last windows are still open."""
    table = ds.dataset(path).to_table()
    wanted = sk.query(text).run(table)
    last = int(pc.max(table.column("time")).cast("int64").as_py()) // 1000 * 1000 - DELAY * 1_000_000
    wanted = wanted.filter(pc.less_equal(wanted.column("window_end").cast("int64"), last))
    found = ds.dataset(str(rows), exclude_invalid_files=True).to_table()
    sums = [pc.sum(pc.log2(each.column("count"))).as_py() for each in (found, wanted)]
    if found.num_rows != wanted.num_rows or not np.isclose(*sums, rtol=1e-9):
        raise RuntimeError(
            f"the stream found {found.num_rows} rows, {sums[0]}; a batch {wanted.num_rows}, {sums[1]}"
        )
    users = pc.count_distinct(table.column("user")).as_py()
    print(f"  {table.num_rows:,} events of {users:,} sub-streams: {found.num_rows:,} rows, as a batch finds them")


def run(scale: float = 1.0) -> Iterator[Line]:
    """Run the queries; the number of batches grows with the scale."""
    from sparkleene.spark.session import session

    files = max(8, int(FILES * scale))
    rows = ROWS if scale >= 1 else max(1000, int(ROWS * scale))
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "events", files, rows)
        config = {"spark.sql.session.timeZone": "UTC", "spark.sql.streaming.numRecentProgressUpdates": "100000"}
        spark = session("sparkleene soak", master="local[2]", memory="6g", config=config)
        try:
            for name, text in QUERIES.items():
                yield from soak(spark, Path(folder), name, text, path, files)
        finally:
            spark.stop()


def main() -> None:
    """Run the soak."""
    parser = argparse.ArgumentParser(description="Run a long stream.")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of batches")
    for line in run(parser.parse_args().scale):
        print(line.show(), flush=True)


if __name__ == "__main__":
    main()
