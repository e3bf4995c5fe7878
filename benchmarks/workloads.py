"""Many queries over one stream: together, one by one, and how the time grows with their number."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkleene as sk
from benchmarks import spark_batch
from benchmarks.common import Line, best
from sparkleene.workload import Workload, workload

TYPES = [f"T{number}" for number in range(1, 15)]


def stream(events: int, seed: int = 0) -> pa.Table:
    """Return a stream like the one published with HAMLET: types in bursts of five or so, one event a second."""
    chance = random.Random(seed)
    types: list[str] = []
    while len(types) < events:
        types += [chance.choice(TYPES)] * chance.randint(1, 10)
    return pa.table({"time": range(events), "type": pa.array(types[:events]).dictionary_encode()})


def queries(count: int, seed: int = 0) -> dict[str, str]:
    """Return sequences of different types that all have T2 repeated, as in the published workload."""
    chance = random.Random(seed)
    found = {}
    for number in range(count):
        others = chance.sample([name for name in TYPES if name != "T2"], chance.randint(2, 9))
        place = chance.randint(1, 3)
        parts = [*others[:place], "T2+", *others[place:]]
        found[f"q{number}"] = f"RETURN COUNT(*) PATTERN SEQ({', '.join(parts)})"
    return found


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure workloads of sequences with one repeated type."""
    events = int(100_000 * scale)
    data = stream(events)
    texts = queries(50)
    together = best(lambda: workload_of(50).run(data))
    slowest = max(best(lambda q=q: q.run(data), 2) for q in map(sk.query, texts.values()))
    apart = best(lambda: workload_of(50, "never").run(data), 1)
    detail = f"{together:.4f} s / {slowest:.4f} s"
    yield Line(f"50 queries / the slowest alone, {events:,} events", together / slowest, "<= 4", detail)
    detail = f"{apart:.3f} s / {together:.4f} s"
    yield Line("50 queries one by one / together", apart / together, "", detail)
    exact = data.slice(0, events // 10)
    several = best(lambda: workload_of(50, numbers="exact").run(exact), 1)
    one = max(
        best(lambda text=text: sk.query(text, numbers="exact").run(exact), 1)
        for text in list(texts.values())[:10]
    )
    detail = f"{several:.2f} s / {one:.2f} s"
    yield Line(f"the same in exact numbers, {events // 10:,} events", several / one, "", detail)
    times = {count: best(lambda count=count: workload_of(count).run(data)) for count in (10, 50, 100, 200)}
    detail = ", ".join(f"{count}: {seconds * 1e3:.1f} ms" for count, seconds in times.items())
    growth = (times[200] - times[100]) / 100 / (times[50] - times[10]) * 40
    yield Line("time of a query more, 100 to 200 / 10 to 50", growth, "", detail)
    yield from on_spark(scale)


# ---- on Spark

BY_USER = "WHERE [user] GROUP-BY user WITHIN 1 hour SLIDE 1 hour"


def write(folder: Path, files: int, rows: int) -> list[str]:
    """Write files of events, one a millisecond, in order of time, of 3,000 users."""
    paths = []
    for number in range(files):
        rng = np.random.default_rng(number)
        begin = number * rows
        times = spark_batch.FIRST + np.arange(begin, begin + rows).astype("timedelta64[ms]")
        kinds = pa.array(rng.integers(0, len(TYPES), rows).astype(np.int8))
        table = pa.table(
            {
                "time": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "type": pa.DictionaryArray.from_arrays(kinds, pa.array(TYPES)),
                "user": rng.integers(0, spark_batch.USERS, rows),
            }
        )
        paths.append(str(folder / f"{number:02}.parquet"))
        pq.write_table(table, paths[-1], row_group_size=max(1, rows // 5))
    return paths


def on_spark(scale: float = 1.0, repeat: int = 2) -> Iterator[Line]:
    """Measure 20 queries by user against the job of the longest of them, from a DataFrame and by path."""
    texts = {name: f"{text} {BY_USER}" for name, text in queries(20).items()}
    several, one = workload(texts), sk.query(max(texts.values(), key=len))
    rows = max(1000, int(5_000_000 * scale))
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), 2, rows)
        spark = spark_batch.session("local[2]")
        jobs = {
            ("DataFrame", "20"): lambda: several.run(spark.read.parquet(*paths)),
            ("DataFrame", "1"): lambda: one.run(spark.read.parquet(*paths)),
            ("by path", "20"): lambda: several.run(paths, engine="spark"),
            ("by path", "1"): lambda: one.run(paths, engine="spark"),
        }
        found = spark_batch.measure(jobs, repeat)
        spark_batch.same("20 queries", found["DataFrame", "20"], found["by path", "20"])
        spark.stop()
    for way in ("DataFrame", "by path"):
        name = f"20 queries / one on Spark, {2 * rows:,} events, {way}"
        yield spark_batch.ratio(name, found[way, "20"], found[way, "1"], "<= 3")


_MADE: dict[tuple[int, str, str], Workload] = {}


def workload_of(count: int, sharing: str = "auto", numbers: str = "double") -> Workload:
    """Return a workload, made once: compiling queries is not what is measured."""
    key = (count, sharing, numbers)
    if key not in _MADE:
        _MADE[key] = workload(queries(count), sharing, numbers=numbers)  # type: ignore[arg-type]
    return _MADE[key]
