"""Twenty trends drawn out of all trends of one window, beside their count."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import sparkleene as sk
from benchmarks.common import Line
from benchmarks.measures import in_pairs

EVENTS = 100_000


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure a sample of trends with falling prices out of 100,000 events."""
    size = int(EVENTS * scale)
    prices = np.random.default_rng(1).permutation(size).astype(float)
    table = pa.table({"time": np.arange(size), "price": prices})
    query = sk.query("RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price", type=None)
    for order in ("sample", "longest"):
        count, found = in_pairs(
            lambda: query.run(table), lambda order=order: query.trends(table, limit=20, order=order)
        )
        bound = "<= 3" if order == "sample" else ""
        name = f"20 trends, {order}, of {size:,} events / their count"
        yield Line(name, found / count, bound, f"{found:.3f}, {count:.3f} s")
