"""Overlapping windows give the same whether they run side by side, composed of panes, or each by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.engine import cost, execute

WINDOWS = ["WITHIN 100 SLIDE 7", "WITHIN 300 SLIDE 100", "WITHIN 90 EVENTS SLIDE 4 EVENTS", "WITHIN 60"]
QUERIES = [
    "RETURN g, COUNT(*), SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x GROUP-BY g",
    "RETURN g, COUNT(*), AVG(B.x) PATTERN SEQ(NOT C, A+, NOT C, B) WHERE A.x <= NEXT(A).x GROUP-BY g",
    "RETURN g, COUNT(*), COUNT(A) PATTERN (SEQ(A+, B))+ GROUP-BY g",
    "RETURN g, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B, NOT C) SEMANTICS skip-till-next-match GROUP-BY g",
]


def stream(ties: bool) -> pa.Table:
    rng = np.random.default_rng(5)
    rows = 900
    times = np.sort(rng.integers(0, 500, rows)) if ties else np.arange(rows)
    return pa.table(
        {
            "time": times,
            "type": rng.choice(["A", "A", "B", "C"], rows),
            "g": rng.integers(0, 2, rows),
            "x": rng.integers(0, 40, rows),
        }
    )


@pytest.mark.parametrize("ties", [False, True], ids=["apart", "ties"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("query", QUERIES)
def test_all_ways_agree(query: str, window: str, ties: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    table = stream(ties)
    q = sk.query(f"{query} {window}")
    results = []
    for most, way in ((64, "units"), (8, "each"), (1, "each"), (1, "rows")):
        monkeypatch.setattr(execute, "MOST", most)
        monkeypatch.setattr(cost, "sliding_way", lambda *arguments, way=way: way)
        results.append(q.run(table))
    assert results[0].num_rows
    for other in results[1:]:
        assert (
            results[0]
            .select(["window_start", "window_end", "g"])
            .equals(other.select(["window_start", "window_end", "g"]))
        )
        for name in results[0].column_names[3:]:
            np.testing.assert_allclose(results[0][name].to_numpy(), other[name].to_numpy(), rtol=1e-12)
