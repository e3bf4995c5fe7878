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
from sparkleene.engine import execute, whole_trends
from sparkleene.engine.automaton import automaton
from sparkleene.plan.physical import COMPLEXITY
from sparkleene.plan.whole_trends import CHOOSING, Choosing

SEARCHES = {
    "trees": {"hash", "tree", "two trees", "hash of trees"},
    "queue": {"queue"},
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


def choices_of(query: sk.Query, rows: pa.Table) -> Counter[str]:
    """Run a query and count the ways in which trends were chosen as a whole; kernels of counts alone are of two."""
    ran: Counter[str] = Counter()

    def spy(name: str, kernel: Any) -> Any:
        def run(*given: Any) -> Any:
            ran[name] += 1
            return kernel(*given)

        return run

    kernels = {name: spy(name, kernel) for name, kernel in whole_trends.KERNELS.items()}
    passes = spy("each start", whole_trends._run_passes)
    with (
        patch.dict(whole_trends.KERNELS, kernels),
        patch.object(whole_trends, "_run_passes", passes),
        patch.object(whole_trends.duration_counts, "run", spy("queue", whole_trends.duration_counts.run)),
        patch.object(
            whole_trends.meeting_counts, "run", spy("divide and conquer", whole_trends.meeting_counts.run)
        ),
    ):
        query.run(rows)
    return ran


@given(data=st.data())
@settings(max_examples=cases(80))
def test_how_whole_trends_are_chosen_is_what_is_printed(data: st.DataObject) -> None:
    kinds = data.draw(st.sampled_from([("duration",), ("ends",), ("general",), ("length", "duration", "ends")]))
    adjacent = data.draw(st.sampled_from([False, False, True]))
    case = data.draw(strategies.case(adjacent=adjacent, whole=kinds, kinds=("none", "tumbling", "sliding")))
    query, rows = compiled(case), table(case)
    run = run_of(query, rows.column_names)
    arrays = run.prepare(rows)[1]
    untied, tied = automaton(run.plan.directed).physical.chooses
    ran = choices_of(query, rows)
    if run.plan.whole is None:
        assert not ran and (untied, tied) == ("", "")
        return
    assert arrays.choice is not None
    assert arrays.choice.how == (tied if arrays.tied else untied)
    assert set(ran) <= {arrays.choice.how}
    assert (arrays.choice.how in whole_trends.KERNELS) == (arrays.choice.how != "each start")
    printed = query.explain()
    assert CHOOSING[untied] in printed
    assert untied == tied or f"where rows tie: {CHOOSING[tied]}" in printed


@pytest.mark.parametrize(
    ("where", "how", "returns"),
    [
        ("DURATION <= 3", "queue", "COUNT(*)"),
        ("DURATION <= 3", "queue", "SUM(A.x)"),
        ("LAST(A.x) > FIRST(A.x)", "divide and conquer", "COUNT(*)"),
        ("LAST(A.x) > FIRST(A.x)", "divide and conquer", "SUM(A.x)"),
        ("LAST(A.x) * FIRST(A.x) > 2", "each start", "COUNT(*)"),
    ],
)
def test_every_way_of_choosing_runs(where: str, how: Choosing, returns: str) -> None:
    query = sk.query(f"RETURN {returns} PATTERN A+ WHERE {where}")
    rows = pa.table({"time": range(6), "type": ["A"] * 6, "x": [1, 2, 0, 1, 3, 0]})
    assert set(choices_of(query, rows)) == {how}
    assert CHOOSING[how] in query.explain()


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


@pytest.mark.parametrize(
    ("returns", "shared"),
    [("COUNT(*)", True), ("MIN(T.v)", True), ("MAX(SUM(T.v))", True), ("AVG(DURATION)", False)],
)
def test_bursts_that_are_not_shared_are_not_promised(returns: str, shared: bool) -> None:
    texts = {x: f"RETURN {returns} PATTERN SEQ({x}, T+, E)" for x in "ABC"}
    made = sk.workload(texts)
    assert ("shared from" in made.explain()) is shared
    rows = pa.table({"time": range(203), "type": [*"ABC", *"T" * 199, "E"], "v": range(203)})
    made.run(rows)
    assert any(bursts.shared for bursts in made.stats) is shared
