"""The conformance tests on Spark: random queries and all cases of the papers, as the other engines run them.

Several queries over one stream are one job, and there are few jobs here; `make soak` runs many more.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.chance import chance, rest
from tests.conformance import strategies, test_papers, test_random
from tests.conformance.engines import on_spark, together_on_spark
from tests.conformance.found_cases import FOUND
from tests.conformance.paper_cases import CASES, PaperCase
from tests.conformance.strategies import SEMANTICS, WINDOWS, Case

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOGETHER = 4  # queries of a job
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
KINDS += [{"measured": True, "kinds": ("none", "sliding")}, {"measured": True, "keys": True, "numbers": "exact"}]
KINDS += [
    {"whole": kinds, "kinds": ("none", "tumbling")} for kinds in (("length", "duration"), ("ends", "general"))
]
KINDS += [{"once": True, "keys": True}, {"once": True, "keys": True, "adjacent": True}]


def drawn_cases(number: int, **kind: Any) -> list[Case]:
    """Return the cases with results that a seed draws."""
    found: list[Case] = []

    @seed(number)
    @given(case=strategies.case(**kind))
    @settings(max_examples=60, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    def collect(case: Case) -> None:
        test_random.compiled(case)
        if is_ordered(case) and case.expected():
            found.append(case)

    collect()
    return found


def is_ordered(case: Case) -> bool:
    """Tell whether windows of events are the same on Spark, where rows of one time have no order."""
    orders = {(row["time"], row[case.tiebreak] if case.tiebreak else 0) for row in case.rows}
    return "EVENTS" not in case.text or len(orders) == len(case.rows)


def chosen(name: str, **kind: Any) -> list[Case]:
    """Return random queries over one stream, with the same options, all with results."""
    drawn = chance(name)
    while True:
        more = drawn_cases(drawn.randrange(2**32), **kind)
        for first in drawn.sample(more, min(len(more), 3)):
            others = [replace(first, text=case.text) for case in more if case.type == first.type]
            found = [case for case in others if is_ordered(case) and case.expected()]
            if len(found) >= TOGETHER:
                return drawn.sample(found, TOGETHER)


QUICK = [KINDS[n] for n in (0, 3, 6, 9)]  # all semantics, with and without negation and adjacent predicates
QUICK += [{"kinds": (window,)} for window in ("hopping", "session", "from")]
QUICK += [kind for kind in KINDS if "float_times" in kind]  # and other windows
QUICK += [kind for kind in KINDS[-11:] if kind not in ({"numbers": "double"}, {"once": True, "keys": True})]
QUICK += [{"semantics": "contiguous", "clock": "timestamp", "kinds": ("none", "events")}]


@pytest.mark.parametrize("kind", [*QUICK, *rest(kind for kind in KINDS if kind not in QUICK)], ids=str)
def test_random_queries(spark: SparkSession, kind: dict[str, Any]) -> None:
    check(spark, chosen(f"test_random_queries {kind} 0", **kind))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_many_random_queries(spark: SparkSession, kind: dict[str, Any]) -> None:
    for number in range(1, 20):
        check(spark, chosen(f"test_random_queries {kind} {number}", **kind))


def check(spark: SparkSession, several: list[Case]) -> None:
    """Compare Spark with the reference on queries over one stream, as one job."""
    several = [replace(case, text=rename(case.text, number)) for number, case in enumerate(several)]
    texts = {str(number): case.text for number, case in enumerate(several)}
    first, queries = several[0], [test_random.compiled(case) for case in several]
    options = {"time": first.time, "type": first.type, "tiebreak": first.tiebreak, "offset": first.offset}
    options |= {"numbers": first.numbers, "time_unit": first.time_unit}
    found = together_on_spark(spark, texts, test_random.table(first), **options)
    for case, query, rows in zip(several, queries, found.values(), strict=True):
        columns = columns_of(query, case)
        print(case)
        test_random.compare([{name: row[name] for name in columns} for row in rows], case.expected())


def rename(text: str, number: int) -> str:
    """Return a query whose results have names of their own, for they may be of other types than those of others."""
    return re.sub(r" AS ([a-z])(\d*)", rf" AS \1\2_{number}", text)


def columns_of(query: sk.Query, case: Case) -> list[str]:
    """Return the columns of a query's result."""
    return query.run(test_random.table(case)).column_names


def longest() -> set[str]:
    """Return of the cases of each query the one with the most events; the papers show one event after the other."""
    found: dict[str, PaperCase] = {}
    for case in CASES:
        key = f"{case.query} {case.options}"
        if key not in found or len(case.events) > len(found[key].events):
            found[key] = case
    return {case.cite for case in found.values()}


def together() -> list[Any]:
    """Return the cases as parameters, those of one stream, with the same options and columns, as one."""
    chosen = longest() | {case.cite for case in FOUND}
    groups: dict[str, list[PaperCase]] = {}
    for case in [*CASES, *FOUND]:
        columns = [*case.expected[0]] if case.expected else []
        quick = case.cite in chosen
        groups.setdefault(f"{quick} {case.events} {case.options} {columns}", []).append(case)
    found, often = [], 0
    for cases in groups.values():
        marks = [] if cases[0].cite in chosen else [pytest.mark.slow]
        often += not marks
        marks += [pytest.mark.repeat] if not marks and often % 5 else []
        found.append(pytest.param(cases, id=cases[0].cite, marks=marks))
    return found


@pytest.mark.parametrize("cases", together())
def test_papers_on_spark(spark: SparkSession, cases: list[PaperCase]) -> None:
    if len(cases) == 1:
        [case] = cases
        alone = on_spark(spark, sk.query(case.query, **case.options), test_papers.table(case))
        test_papers.test_paper(case, lambda _: alone)
        return
    texts = {case.cite: case.query for case in cases}
    found = together_on_spark(spark, texts, test_papers.table(cases[0]), **cases[0].options)
    for case in cases:
        columns = [*case.expected[0]] if case.expected else []
        rows = [{name: row[name] for name in columns} for row in found[case.cite]]
        test_papers.test_paper(case, lambda _, rows=rows: rows)
