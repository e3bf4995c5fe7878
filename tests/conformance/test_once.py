"""Aggregates that count once: events that are in some trend, and values of keys that have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases, chance
from tests.conformance.strategies import SEMANTICS, WINDOWS, Case, case
from tests.conformance.test_random import Rows, check, in_process, in_tasks

import sparkleene as sk
from sparkleene.engine import notes, participation

EXAMPLES = 40


def in_blocks(case: Case) -> Rows:
    """Run the in-process engine with few rows at a time."""
    with patch.object(participation, "BLOCK", 5):
        return in_process(case)


ENGINES = pytest.mark.parametrize("run", [in_process, in_tasks, in_blocks], ids=lambda run: run.__name__)


@ENGINES
@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("negation", [False, True], ids=["positive", "negation"])
@pytest.mark.parametrize("adjacent", [False, True], ids=["linear", "adjacent"])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_semantics(
    run: Callable[[Case], Rows], semantics: str, negation: bool, adjacent: bool, data: st.DataObject
) -> None:
    check(data.draw(case(once=True, semantics=semantics, negation=negation, adjacent=adjacent)), run)


@ENGINES
@pytest.mark.parametrize("window", WINDOWS)
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_windows(run: Callable[[Case], Rows], window: str, data: st.DataObject) -> None:
    check(data.draw(case(once=True, kinds=(window,))), run)


@ENGINES
@pytest.mark.parametrize("feature", ["conjunction", "keys", "tiebreak"])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_features(run: Callable[[Case], Rows], feature: str, data: st.DataObject) -> None:
    check(data.draw(case(once=True, **{feature: True})), run)


def many(rows: int, name: str) -> pa.Table:
    """Return rows of three types, with ties, two keys and a value."""
    drawn = np.random.default_rng(chance(name).randrange(2**32))
    return pa.table(
        {
            "time": np.sort(drawn.integers(0, rows, rows)),
            "type": drawn.choice([*"ABC"], rows),
            "k": drawn.integers(0, 20, rows),
            "y": drawn.integers(0, 3, rows),
            "x": drawn.integers(0, 100, rows),
        }
    )


def test_types() -> None:
    """Counts are 64-bit integers, also in exact mode; sums and means are what they are over occurrences."""
    asked = "COUNT(EACH A), COUNT(DISTINCT k), SUM(EACH A.x), AVG(EACH A.x), LOG2(COUNT(EACH A))"
    text = f"RETURN {asked} PATTERN A+ WHERE [k]"
    whole, double = pa.int64(), pa.float64()
    assert sk.query(text).run(many(20, "types")).schema.types == [whole, whole, double, double, double]
    assert sk.query(text, numbers="long").run(many(20, "types")).schema.types == [
        whole,
        whole,
        double,
        double,
        double,
    ]
    exact = sk.query(text, numbers="exact").run(many(20, "types")).schema.types
    assert exact == [whole, whole, pa.string(), double, double]


@pytest.mark.parametrize("where", ["", "WHERE a24.x < NEXT(b24).x"], ids=["linear", "stored"])
@pytest.mark.parametrize("semantics", SEMANTICS)
def test_more_states_than_a_word_has_bits(semantics: str, where: str) -> None:
    """A set of states is of several words; all trends are listed to compare."""
    types = [*"ABCABBCABACBBC"]
    table = pa.table({"time": range(len(types)), "type": types, "x": [i % 5 for i in range(len(types))]})
    ways = " OR ".join(f"SEQ(A a{i}, B b{i}, (B b{i})?, C)" for i in range(25))
    asked = "COUNT(EACH A), COUNT(EACH b24), SUM(EACH C.x)"
    query = sk.query(f"RETURN {asked} PATTERN ({ways}) SEMANTICS {semantics} {where}")
    assert len(query.plan.machine.states) > 64
    trends = query.trends(table, limit=None).column("events").to_pylist()
    events = [event for trend in trends for event in trend]
    [found] = query.run(table).to_pylist()
    assert found == {
        "count_each_A": len({event["row"] for event in events if event["type"] == "A"}),
        "count_each_b24": len({event["row"] for event in events if event["label"] == "b24"}),
        "sum_each_C_x": sum(
            dict((event["row"], event["row"] % 5) for event in events if event["type"] == "C").values()
        ),
    }
    assert 0 < found["count_each_b24"] <= 6


def test_exact_sums_of_large_integers() -> None:
    table = pa.table({"time": range(4), "type": [*"AAAB"], "x": [2**62, 2**62, 2**62 + 1, 0]})
    [row] = sk.query("RETURN SUM(EACH A.x) AS s PATTERN SEQ(A+, B)", numbers="exact").run(table).to_pylist()
    assert row == {"s": str(3 * 2**62 + 1)}


@pytest.mark.parametrize("sharing", ["always", "never"])
def test_workload(sharing: Any) -> None:
    """Queries with the same keys in another order share a machine, and each counts its own keys."""
    texts = {
        "one": "RETURN COUNT(DISTINCT k) AS a, COUNT(*) AS n PATTERN SEQ(A, B+) WHERE [k, y] WITHIN 50 SLIDE 25",
        "two": "RETURN COUNT(DISTINCT y) AS b, SUM(A.x) AS s PATTERN SEQ(A, B+, C) WHERE [y, k] WITHIN 50 SLIDE 25",
        "both": "RETURN COUNT(DISTINCT y, k) AS c PATTERN SEQ(A, C) WHERE [y, k] WITHIN 50 SLIDE 25",
        "wide": "RETURN COUNT(DISTINCT k) AS w PATTERN SEQ(A, B+) WHERE [k, y] WITHIN 100 SLIDE 50",
        "each": "RETURN COUNT(EACH A) AS e PATTERN SEQ(A, B+) WHERE [k, y] WITHIN 50 SLIDE 25",
    }
    table = many(400, "workload")
    work = sk.workload(texts, sharing=sharing)
    found = work.run(table).to_pylist()
    for name, text in texts.items():
        own = sk.query(text).run(table).to_pylist()
        assert own and [{key: row[key] for key in own[0]} for row in found if row["query"] == name] == own
    assert ("EACH asks which events are in its own trends" in work.explain()) or sharing == "never"


def test_long_looks_back_are_told_of() -> None:
    table = many(300, "notes")
    with patch.object(notes, "LONG", 0.0), pytest.warns(sk.SparkleeneWarning) as caught:
        sk.query("RETURN COUNT(EACH A) PATTERN SEQ(A+, B) WHERE A.x < NEXT(A).x").run(table)
    told = [str(one.message) for one in caught]
    assert any(one.startswith("EACH may take up to") for one in told), told


def test_threads_give_the_same() -> None:
    table = many(3000, "threads")
    query = sk.query(
        "RETURN COUNT(EACH A), SUM(EACH B.x) PATTERN SEQ(A, B+, NOT C, A) WHERE [k] WITHIN 90 SLIDE 30"
    )
    assert query.run(table, threads=3).equals(query.run(table, threads=1))
