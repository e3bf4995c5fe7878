"""The stack of waiting events equals the general kernel, on streams long enough to fill it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.engine import execute
from sparkleene.kernels import wait_stack

PATTERNS = {"A+": "A+", "between": "SEQ(B, A+, C)", "begins": "SEQ(B, A+)", "mixed": "SEQ(A+, (B OR C))"}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("seed", range(3))
def test_stack_equals_scan(pattern: str, op: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 50, 3000).astype(float)
    x[rng.random(3000) < 0.02] = np.nan
    x[:3] = [-np.inf, np.inf, -np.inf]
    kinds = rng.choice(["A", "A", "A", "B", "C", "Z"], 3000)
    table = pa.table({"time": np.arange(3000), "type": kinds, "x": x})
    query = sk.query(
        f"RETURN COUNT(*) PATTERN {pattern} SEMANTICS skip-till-next-match"
        f" WHERE A.x {op} NEXT(A).x WITHIN 700 SLIDE 500"
    )
    used = []
    prepare = wait_stack.prepare

    def spy(*arguments: object) -> wait_stack.WaitStack | None:
        used.append(prepare(*arguments))  # type: ignore[arg-type]
        return used[-1]

    monkeypatch.setattr(execute.wait_stack, "prepare", spy)
    fast = query.run(table)
    assert used and used[0] is not None, "this is a case for the stack"
    monkeypatch.setattr(execute.wait_stack, "prepare", lambda *arguments: None)
    assert fast.equals(query.run(table))
    assert fast.num_rows
