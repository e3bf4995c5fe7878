"""Rows of one type after each other: in one step or one by one, the counts are the same."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import sparkleene as sk

PATTERNS = (
    "A+",
    "SEQ(A+, B)",
    "SEQ(A, B+, C)",
    "(SEQ(A+, B))+",
    "SEQ(A+, B+)",
    "SEQ(A, A a, B)",
    "SEQ(A{2,3}, B)",
    "(A OR B)+",
    "SEQ((A OR B)+, C?)",
    "SEQ(A*, B)",
)


@st.composite
def streams(draw: st.DrawFn) -> pa.Table:
    """Draw at least 70 rows in bursts, some of them at the same time."""
    types: list[str] = []
    while len(types) < 70:
        types += draw(st.sampled_from("ABCX")) * draw(st.integers(1, 40))
    steps = draw(st.sampled_from([(1,), (1, 1, 1, 0), (1, 0)]))
    time, times = 0, []
    for i in range(len(types)):
        time += steps[i % len(steps)]
        times.append(time)
    return pa.table({"time": times, "type": types, "v": [1] * len(types)})


@pytest.mark.parametrize("pattern", PATTERNS)
@given(table=streams())
@settings(max_examples=25)
def test_in_one_step_or_one_by_one(pattern: str, table: pa.Table) -> None:
    note(str(table.to_pydict()))

    def found(returns: str, numbers: str) -> list[object]:
        q = sk.query(f"RETURN {returns} PATTERN {pattern}", numbers=numbers)  # type: ignore[arg-type]
        return [row["n"] for row in q.run(table).to_pylist()]

    # a sum makes the rows of a burst differ, so that they are taken one by one
    assert found("COUNT(*) AS n", "exact") == found("COUNT(*) AS n, SUM(v)", "exact")
    logs = found("LOG2(COUNT(*)) AS n, SUM(v)", "double")
    assert found("LOG2(COUNT(*)) AS n", "double") == pytest.approx(logs, rel=1e-12)
