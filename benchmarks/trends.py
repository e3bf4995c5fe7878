"""Twenty trends drawn out of 100,000 events with falling prices in one window, beside their count.

The only argument is another number of events.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import sparkleene as sk


def best(work: Callable[[], Any], times: int = 5) -> float:
    """Return the shortest of some times that work takes, after a first one."""
    work()
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main() -> None:
    """Print seconds and the ratio."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    prices = np.random.default_rng(1).permutation(size).astype(float)
    table = pa.table({"time": np.arange(size), "price": prices})
    query = sk.query("RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price", type=None)
    count = best(lambda: query.run(table))
    sample = best(lambda: query.trends(table, limit=20, order="sample"))
    taken = f"count {count:.3f} s, 20 trends drawn {sample:.3f} s"
    print(f"{size:,} events: {taken}, {sample / count:.1f} times (at most 3)")


if __name__ == "__main__":
    main()
