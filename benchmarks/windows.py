"""What windows cost whose borders the data draws, beside tumbling windows of like length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import sparkleene as sk
from benchmarks.common import Line
from benchmarks.measures import in_pairs

EVENTS = 10_000_000
KEYS = 100_000
PATTERN = "RETURN key, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY key"


def visits(count: int = EVENTS, keys: int = KEYS, seed: int = 0) -> pa.Table:
    """Return events in order of time: each key has visits of ten events, a minute apart, and breaks of hours."""
    rng = np.random.default_rng(seed)
    key = np.repeat(np.arange(keys), -(-count // keys))[:count]
    place = np.arange(count) % -(-count // keys)
    steps = np.where(place % 10 == 0, rng.integers(7200, 36000, count), rng.integers(1, 120, count))
    total = np.cumsum(steps)
    begin = np.r_[0, total[:-1]][np.searchsorted(key, key)]
    time = total - begin
    order = np.argsort(time, kind="stable")
    kinds = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, count, np.int8)), pa.array(["A", "B", "C"]))
    times = pa.array(time[order] * 1_000_000).cast(pa.timestamp("us"))
    return pa.table({"time": times, "type": kinds, "key": key[order]})


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure sessions and windows with FROM, over 10 million events of 100,000 keys."""
    data = visits(int(EVENTS * scale), max(1, int(KEYS * scale)))
    tumbling = sk.query(f"{PATTERN} WITHIN 6 hours SLIDE 6 hours")  # about as many as there are visits
    for name, window in (
        ("sessions", "SESSION 30 minutes"),
        ("sessions with MAX", "SESSION 30 minutes MAX 2 hours"),
        ("FROM and TO", "FROM type = 'C' TO type = 'B' MAX 1 hour"),
    ):
        drawn = sk.query(f"{PATTERN} WITHIN {window}")
        plain, more = in_pairs(lambda: tumbling.run(data), lambda drawn=drawn: drawn.run(data))
        bound = "<= 1.5" if name == "sessions" else ""
        lengths = f"{tumbling.run(data).num_rows:,} and {drawn.run(data).num_rows:,} rows"
        yield Line(f"{name} / tumbling windows", more / plain, bound, f"{plain:.2f}, {more:.2f} s; {lengths}")
