"""What each aggregate costs beside COUNT(*) of the same query, in process and over files by path."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkleene as sk
from benchmarks.common import Line, prices

EVENTS = 10_000_000
KEYS = 100_000
PATTERN = "PATTERN SEQ(A+, B) WHERE [key] GROUP-BY key WITHIN 1 hour SLIDE 1 hour"
AGGREGATES = [
    ("AVG(DURATION)", "COUNT(*), AVG(DURATION) AS m", 1.5),
    ("SUM(A.price * A.amount)", "COUNT(*), SUM(A.price * A.amount) AS m", 1.5),
    ("MAX(LENGTH)", "COUNT(*), MAX(LENGTH) AS m", 2.5),
    ("MIN(DURATION)", "COUNT(*), MIN(DURATION) AS m", 2.5),
    ("MAX(SUM(A.price))", "COUNT(*), MAX(SUM(A.price)) AS m", 2.5),
    ("AVG(LAST(A.price) - FIRST(A.price))", "COUNT(*), AVG(LAST(A.price) - FIRST(A.price)) AS m", 2.5),
    ("STDDEV(A.price)", "COUNT(*), STDDEV(A.price) AS m", 2.5),
    ("STDDEV(DURATION)", "COUNT(*), STDDEV(DURATION) AS m", 2.5),
    ("COUNT(EACH A)", "COUNT(*), COUNT(EACH A) AS m", 2.5),
    ("COUNT(DISTINCT key)", "COUNT(*), COUNT(DISTINCT key) AS m", 1.5),
]
GAP = PATTERN.replace("[key]", "[key] AND GAP <= 10 minutes")


def events(count: int = EVENTS, keys: int = KEYS, seed: int = 0) -> pa.Table:
    """Return events of three types and many keys, a thousand a second."""
    rng = np.random.default_rng(seed)
    kinds = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, count, np.int8)), pa.array(["A", "B", "C"]))
    times = pa.array(np.arange(count, dtype=np.int64) * 1000).cast(pa.timestamp("us"))
    columns = {"time": times, "type": kinds, "key": rng.integers(0, keys, count), "price": rng.random(count)}
    return pa.table({**columns, "amount": rng.integers(1, 9, count)})


def in_pairs(one: Any, other: Any, repeat: int = 5) -> tuple[float, float]:
    """Return the shortest times of two tasks that take turns, after one run of each."""
    found: list[list[float]] = [[], []]
    one(), other()
    for _ in range(repeat):
        for task, times in zip((one, other), found, strict=True):
            begin = time.perf_counter()
            task()
            times.append(time.perf_counter() - begin)
    return min(found[0]), min(found[1])


def in_process(data: pa.Table) -> list[Line]:
    """Measure every aggregate over a table in memory."""
    lines = []
    base = sk.query(f"RETURN COUNT(*) {PATTERN}")
    for name, returns, bound in AGGREGATES:
        query = sk.query(f"RETURN {returns} {PATTERN}")
        plain, more = in_pairs(lambda: base.run(data), lambda query=query: query.run(data))
        times = f"{plain:.2f}, {more:.2f} s"
        lines.append(Line(f"COUNT(*) and {name} / COUNT(*)", more / plain, f"<= {bound}", times))
    query = sk.query(f"RETURN COUNT(*) {GAP}")
    plain, more = in_pairs(lambda: base.run(data), lambda: query.run(data))
    lines.append(Line("with GAP <= 10 minutes / without", more / plain, "<= 1.5", f"{plain:.2f}, {more:.2f} s"))
    return lines


def one_window() -> list[Line]:
    """Measure GAP against a comparison of prices, where all events lie in one window."""
    data = prices(100_000)
    gap = sk.query("RETURN LOG2(COUNT(*)) PATTERN S+ WHERE GAP <= 1000 seconds", type=None)
    price = sk.query("RETURN LOG2(COUNT(*)) PATTERN S+ WHERE S.price < NEXT(S).price", type=None)
    slow, fast = in_pairs(lambda: price.run(data), lambda: gap.run(data))
    return [Line("100,000 events: GAP / a comparison of prices", fast / slow, "<= 1", f"{fast:.3f}, {slow:.3f} s")]


def by_path(data: pa.Table) -> list[Line]:
    """Measure some of the aggregates over Parquet files that Spark's tasks read by themselves."""
    sk.spark.session()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        parts = 8
        for i in range(parts):
            rows = data.num_rows // parts
            pq.write_table(data.slice(i * rows, rows), str(Path(folder) / f"{i}.parquet"))
        base = sk.query(f"RETURN COUNT(*) {PATTERN}")

        def run(query: sk.Query) -> Any:
            return query.run(folder, engine="spark").write.format("noop").mode("overwrite").save()

        for name, returns, bound in AGGREGATES:
            query = sk.query(f"RETURN {returns} {PATTERN}")
            plain, more = in_pairs(lambda: run(base), lambda query=query: run(query), 3)
            name = f"by path: COUNT(*) and {name} / COUNT(*)"
            lines.append(Line(name, more / plain, f"<= {bound}", f"{plain:.2f}, {more:.2f} s"))
    return lines


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure all of it, over 10 million events of 100,000 keys."""
    yield from one_window()
    data = events(int(EVENTS * scale), max(1, int(KEYS * scale)))
    yield from in_process(data)
    yield from by_path(data)
