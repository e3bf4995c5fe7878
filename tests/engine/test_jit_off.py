"""With the JIT off the kernels are plain Python: slow, easy to debug, and right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import sparkleene as sk

NEXT, CONTIGUOUS = "SEMANTICS skip-till-next-match", "SEMANTICS contiguous"
ALL = "COUNT(*) AS n, COUNT(A) AS a, SUM(A.x) AS s, AVG(A.x) AS v, MIN(A.x) AS low, MAX(x) AS high"
QUERIES = [
    "RETURN COUNT(*) AS n PATTERN (SEQ(A+, B))+",
    f"RETURN {ALL} PATTERN SEQ(A+, B)",
    f"RETURN {ALL} PATTERN SEQ(A+, B) GROUP-BY k WITHIN 8 SLIDE 2",
    "RETURN COUNT(*) AS n PATTERN SEQ(A, B) WITHIN 8 SLIDE 1",
    f"RETURN {ALL} PATTERN SEQ(A, NOT C, B) {NEXT}",
    f"RETURN {ALL} PATTERN (SEQ(A+, B))+ {CONTIGUOUS} WHERE [k]",
    f"RETURN {ALL} PATTERN A+ WHERE A.x < NEXT(A).x",
    f"RETURN {ALL} PATTERN A+ WHERE A.x < NEXT(A).x AND A.k = NEXT(A).k WITHIN 10 SLIDE 5",
    f"RETURN {ALL} PATTERN A+ WHERE A.x <= NEXT(A).x AND A.y >= NEXT(A).y",
    f"RETURN {ALL} PATTERN SEQ(A+, B) WHERE A.x != NEXT(A).x AND A.x + B.x > 2",
    f"RETURN {ALL} PATTERN A+ {NEXT} WHERE A.x < NEXT(A).x",
    f"RETURN COUNT(*) AS n PATTERN A+ {NEXT} WHERE A.x > NEXT(A).x",
    f"RETURN {ALL} PATTERN A+ {CONTIGUOUS} WHERE A.x <= NEXT(A).x",
    f"RETURN {ALL} PATTERN SEQ(A, B) AND A+",
    f"RETURN {ALL} PATTERN SEQ(A+, B) WHERE [A.k] WITHIN 6",
    f"RETURN {ALL} PATTERN SEQ(A+, B) WITHIN 6 EVENTS SLIDE 2 EVENTS",
]


def rows() -> list[dict[str, Any]]:
    types = "AABACBAABCABABAACB"
    return [
        {
            "time": i - i % 5 // 4,  # some tie
            "type": name,
            "x": None if i == 7 else i * 7 % 5,
            "y": i * 3 % 4,
            "k": i % 2,
        }
        for i, name in enumerate(types)
    ]


def results() -> list[Any]:
    """Run all queries in both modes, and one that needs wide numbers."""
    table = pa.Table.from_pylist(rows())
    found: list[Any] = [
        sk.query(text, numbers=numbers).run(table, threads=1).to_pylist()  # type: ignore[arg-type]
        for numbers in ("double", "exact")
        for text in QUERIES
    ]
    long = pa.table({"time": range(1200), "type": ["A"] * 1200, "x": [1, 2] * 600})
    text = "RETURN LOG2(COUNT(*)) AS bits, AVG(A.x) AS v PATTERN A+"
    return [*found, sk.query(text).run(long, threads=1).to_pylist()]


def test_same_rows_without_the_jit() -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "src")])
    found = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    plain = json.loads(found.stdout)
    compiled = json.loads(json.dumps(results()))
    for text, one, two in zip([*QUERIES * 2, "long"], plain, compiled, strict=True):
        assert one == two, text
        assert one, text


if __name__ == "__main__":
    json.dump(results(), sys.stdout)
