"""What conditions on whole trends cost beside the same query without, and how their cost grows."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import sparkleene as sk
from benchmarks.common import Line

EVENTS, KEYS = 10_000_000, 1_000
CONDITIONS = ("DURATION <= 100", "LAST(x) >= 1.05 * FIRST(x)")
QUERIES = (
    "RETURN COUNT(*) PATTERN SEQ(A, B, C) WHERE [key]",
    "RETURN COUNT(*) PATTERN (A OR B)+ SEMANTICS contiguous WHERE [key]",
)


def events(count: int = EVENTS, keys: int = KEYS, seed: int = 0) -> pa.Table:
    """Return events of three types, one of each key at every time."""
    rng = np.random.default_rng(seed)
    kinds = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, count, np.int8)), pa.array(["A", "B", "C"]))
    order = np.arange(count)
    return pa.table({"time": order // keys, "type": kinds, "key": order % keys, "x": rng.random(count)})


def seconds(text: str, data: pa.Table) -> float:
    """Return the shorter of two runs, after one that does not count."""
    query, found = sk.query(text), []
    query.run(data)
    for _ in range(2):
        begin = time.perf_counter()
        query.run(data)
        found.append(time.perf_counter() - begin)
    return min(found)


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure every condition on every query, and how it grows in one sub-stream."""
    count = int(EVENTS * scale)
    data = events(count)
    for text in QUERIES:
        plain = seconds(text, data)
        for condition in CONDITIONS:
            more = seconds(f"{text} AND {condition}", data)
            pattern = text.removeprefix("RETURN COUNT(*) PATTERN ").removesuffix(" WHERE [key]")
            yield Line(f"{pattern}: {condition}", more / plain, "<= 8", f"{plain:.2f}, {more:.2f} s")
    for condition in CONDITIONS:
        found = [seconds(f"{QUERIES[0]} AND {condition}", events(size, 1)) for size in (count // 80, count // 10)]
        times = f"{found[0]:.3f}, {found[1]:.3f} s"
        yield Line(f"{condition}: 8 times the rows of a sub-stream", found[1] / found[0], "<= 12", times)
