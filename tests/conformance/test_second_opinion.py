"""The reference and an evaluator written apart from it agree."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import second_opinion
from tests.conformance.strategies import WINDOWS, Case, case

from sparkleene.errors import QueryError
from sparkleene.plan.plan import plan


def same(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    if isinstance(one, float) or isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-12, abs_tol=1e-12)
    return bool(one == two)


def check(drawn: Case) -> None:
    note(f"{drawn}")
    bound = drawn.bound()
    try:
        plan(bound)
    except QueryError as error:
        assume(error.diagnostics[0].code != "ambiguous-negation")
        raise
    options = {"time": drawn.time, "type": drawn.type, "tiebreak": drawn.tiebreak, "offset": drawn.offset}
    found = second_opinion.evaluate(bound, drawn.rows, **options)  # type: ignore[arg-type]
    expected = drawn.expected()
    agree = len(found) == len(expected) and all(
        list(one) == list(two) and all(same(one[name], two[name]) for name in one)
        for one, two in zip(found, expected, strict=True)
    )
    assert agree, f"{found}\n{expected}"


ON_A_GRID = tuple(kind for kind in WINDOWS if kind not in ("session", "from"))  # the others it does not know

KINDS: dict[str, dict[str, Any]] = {
    "anything": {},
    "next with negation": {"semantics": "skip-till-next-match", "negation": True},
    "next with negation and predicates": {"semantics": "skip-till-next-match", "negation": True, "adjacent": True},
    "contiguous with negation": {"semantics": "contiguous", "negation": True},
    "negation in sliding windows": {"negation": True, "kinds": ("sliding", "hopping")},
    "negation in windows per trigger": {"negation": True, "kinds": ("trigger",)},
    "keys in windows": {"keys": True, "kinds": ("sliding", "tumbling", "events")},
    "keys in windows per trigger": {"keys": True, "kinds": ("trigger",)},
    "keys with next": {"keys": True, "semantics": "skip-till-next-match"},
    "keys with contiguous": {"keys": True, "semantics": "contiguous"},
    "windows of events": {"kinds": ("events",)},
    "windows of events with negation": {"kinds": ("events",), "negation": True},
    "and": {"conjunction": True},
    "and with next": {"conjunction": True, "semantics": "skip-till-next-match"},
    "and with negation": {"conjunction": True, "negation": True},
    "and in windows per trigger": {"conjunction": True, "kinds": ("trigger",)},
    "tie-break": {"tiebreak": True},
    "tie-break in windows per trigger": {"tiebreak": True, "kinds": ("trigger",)},
    "predicates": {"adjacent": True},
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=cases(25))
def test_agree(kind: str, data: st.DataObject) -> None:
    check(data.draw(case(**{"kinds": ON_A_GRID, **KINDS[kind]})))
