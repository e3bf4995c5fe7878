"""What the plan says will run is what runs, and what explain prints."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.test_random import compiled, table
from tests.kernels.supports import KERNELS
from tests.runs import run_of

import sparkleene as sk
from sparkleene.engine import execute
from sparkleene.engine.automaton import automaton
from sparkleene.plan.physical import COMPLEXITY

SEARCHES = {
    "trees": {"hash", "tree", "two trees", "hash of trees"},
    "divide": {"divide and conquer"},
    "heap": {"heap"},
    "scan": {"scan"},
    "linear": {"label"},
}


def kernels_of(query: sk.Query, rows: pa.Table) -> Counter[str]:
    """Run a query and count the kernels that ran; a monotone stack is a heap of a simple kind."""
    ran: Counter[str] = Counter()

    def spy(name: str, kernel: Any) -> Any:
        def run(*given: Any) -> Any:
            ran[name] += 1
            return kernel(*given)

        return run

    stores = {name: spy(name, kernel) for name, kernel in execute.STORES.items()}
    others = {"_run_side_by_side": "trees", "_run_wait_stack": "heap"}
    ways = {way: spy(name, getattr(execute._Execution, way)) for way, name in others.items()}
    with patch.dict(execute.STORES, stores), patch.multiple(execute._Execution, **ways):
        query.run(rows)
    return ran


@given(data=st.data())
@settings(max_examples=cases(80))
def test_what_runs_is_what_is_printed(data: st.DataObject) -> None:
    case = data.draw(strategies.case(adjacent=True, kinds=("none", "tumbling", "sliding")))
    query, rows = compiled(case), table(case)
    run = run_of(query, rows.column_names)
    plan, arrays = run.plan, run.prepare(rows)[1]
    if arrays.main.kernel != "linear":
        supports, _ = KERNELS[arrays.main.kernel]
        assert supports(arrays.program, arrays.predicates)
    ran = kernels_of(query, rows)
    if not plan.pairs or not rows.num_rows:
        assert not ran
        return
    physical = automaton(plan.directed).physical
    assert set(ran) <= {physical.untied, physical.tied}
    printed = query.explain()
    for search in physical.searches:
        assert f"by {search}: {COMPLEXITY[search]}" in printed
        assert search in SEARCHES[physical.untied]


def test_pairs_of_trends_that_no_heap_can_hold_are_scanned() -> None:
    query = sk.query(
        "RETURN COUNT(*) PATTERN A+ AND SEQ(A+, B) SEMANTICS skip-till-next-match WHERE A.x < NEXT(A).x"
    )
    rows = pa.table({"time": range(6), "type": [*"AABAAB"], "x": [1, 2, 0, 1, 3, 0]})
    assert set(kernels_of(query, rows)) == {"scan"}
    printed = query.explain()
    assert "by scan: O(n^2)" in printed
    assert "heap" not in printed
    assert "so stored events are scanned" in printed


@pytest.mark.parametrize(("returns", "shared"), [("COUNT(*)", True), ("MIN(T.v)", False), ("MAX(T.v)", False)])
def test_bursts_that_are_not_shared_are_not_promised(returns: str, shared: bool) -> None:
    texts = {x: f"RETURN {returns} PATTERN SEQ({x}, T+, E)" for x in "ABC"}
    made = sk.workload(texts)
    assert ("shared from" in made.explain()) is shared
    rows = pa.table({"time": range(203), "type": [*"ABC", *"T" * 199, "E"], "v": range(203)})
    made.run(rows)
    assert any(bursts.shared for bursts in made.stats) is shared
