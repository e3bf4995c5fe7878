"""The conformance tests on Spark: random queries and all cases of the papers, as the other engines run them.

Every case is a job or two, so there are fewer random ones here; `make soak` runs 20 times as many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies, test_papers, test_random
from tests.conformance.engines import on_spark
from tests.conformance.paper_cases import CASES, PaperCase
from tests.conformance.strategies import SEMANTICS, WINDOWS, Case

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FEW = settings(
    max_examples=cases(3), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
KINDS: list[dict[str, Any]] = [
    {"semantics": semantics, "negation": negation, "adjacent": adjacent}
    for semantics in SEMANTICS
    for negation in (False, True)
    for adjacent in (False, True)
]
KINDS += [{"kinds": (window,)} for window in WINDOWS]
KINDS += [{"kinds": (window,), "float_times": True} for window in ("events", "sliding", "trigger")]
KINDS += [
    {"semantics": semantics, "clock": clock, "kinds": ("none", "events")}
    for semantics in SEMANTICS
    for clock in ("number", "timestamp")
]
KINDS += [{feature: True} for feature in ("conjunction", "keys", "tiebreak")]
KINDS += [{"numbers": numbers} for numbers in ("double", "exact")]
KINDS += [{"once": True, "keys": True}, {"once": True, "keys": True, "adjacent": True}]


def check(spark: SparkSession, case: Case) -> None:
    """Compare Spark with the reference on one case."""

    def run(case: Case) -> test_random.Rows:
        return on_spark(spark, test_random.compiled(case), test_random.table(case))

    test_random.check(case, run)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(data=st.data())
@FEW
def test_random_queries(spark: SparkSession, kind: dict[str, Any], data: st.DataObject) -> None:
    check(spark, data.draw(strategies.case(**kind)))


def longest() -> set[str]:
    """Return of the cases of each query the one with the most events; the papers show one event after the other."""
    found: dict[str, PaperCase] = {}
    for case in CASES:
        key = f"{case.query} {case.options}"
        if key not in found or len(case.events) > len(found[key].events):
            found[key] = case
    return {case.cite for case in found.values()}


LONGEST = longest()
PAPERS = [
    pytest.param(case, id=case.cite, marks=() if case.cite in LONGEST else pytest.mark.slow) for case in CASES
]


@pytest.mark.parametrize("case", PAPERS)
def test_papers_on_spark(spark: SparkSession, case: PaperCase) -> None:
    def run(case: PaperCase) -> test_random.Rows:
        return on_spark(spark, sk.query(case.query, **case.options), test_papers.table(case))

    test_papers.test_paper(case, run)
