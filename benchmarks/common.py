"""What the benchmarks share: streams, the baseline loop, timing, and the table of ratios."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa

KLEENE = "(SEQ(A+, B))+"


@dataclass(frozen=True)
class Line:
    """One measured claim: a ratio between two times of the same run, and the bound that we hold it to."""

    name: str
    ratio: float
    bound: str
    detail: str

    def show(self) -> str:
        """Return the line as printed."""
        return f"{self.name:<58} {self.ratio:>9.2f}   {self.bound:<10} {self.detail}"


def best(task: Callable[[], Any], repeat: int = 3) -> float:
    """Return the shortest of a few runs, after one that warms up."""
    task()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return min(times)


def letters(events: int, seed: int = 0, gap: int = 1000) -> pa.Table:
    """Return a stream of A, B and others at random, one event every `gap` milliseconds."""
    rng = np.random.default_rng(seed)
    kinds = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, 3, events).astype(np.int8)), pa.array(["A", "B", "C"])
    )
    times = pa.array(np.arange(events, dtype=np.int64) * gap).cast(pa.timestamp("ms"))
    return pa.table({"time": times, "type": kinds})


def prices(events: int, seed: int = 0, gap: int = 1000) -> pa.Table:
    """Return prices and volumes at random, one a second."""
    rng = np.random.default_rng(seed)
    times = pa.array(np.arange(events, dtype=np.int64) * gap).cast(pa.timestamp("ms"))
    return pa.table({"time": times, "price": rng.random(events), "volume": rng.random(events)})


@nb.njit(nogil=True)
def _loop(times: Any, kinds: Any) -> float:
    total = 0.0
    for i in range(times.size):
        total += times[i] + kinds[i]  # each addition waits for the one before
    return total


def loop(table: pa.Table) -> Callable[[], float]:
    """Return the baseline: a compiled loop over the same columns with one dependent addition per event."""
    times = table["time"].chunk(0).cast(pa.int64()).to_numpy()
    kinds = table["type"].chunk(0).indices.to_numpy()
    return lambda: _loop(times, kinds)  # type: ignore[no-any-return]
