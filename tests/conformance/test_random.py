"""Random queries over random streams: every engine returns what the reference enumerates.

An engine is a function from a Case to result rows; add it to ENGINES and it runs all of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.engines import through_tasks
from tests.conformance.strategies import KINDS, SEMANTICS, WINDOWS, Case

import sparkleene as sk
from sparkleene.engine import cost

Rows = list[dict[str, Any]]
EXAMPLES = 50


def table(case: Case) -> pa.Table:
    """Return the rows of a case as a table with the columns' declared types."""
    kinds: dict[str, Any] = {**KINDS, "time": "float64"} if case.float_times else {**KINDS}
    if case.clock == "timestamp":
        kinds["time"] = pa.timestamp("us")
    return pa.table({name: pa.array([row.get(name) for row in case.rows], kind) for name, kind in kinds.items()})


def compiled(case: Case) -> sk.Query:
    """Return the case's query; what planning refuses is not a case."""
    try:
        return sk.query(
            case.text,
            time=case.time,
            type=case.type,
            tiebreak=case.tiebreak,
            offset=case.offset,
            numbers=case.numbers,  # type: ignore[arg-type]
            time_unit=case.time_unit,  # type: ignore[arg-type]
        )
    except sk.QueryError as error:
        assume(error.diagnostics[0].code != "ambiguous-negation")
        raise


def in_process(case: Case) -> Rows:
    """Run the in-process engine."""
    return compiled(case).run(table(case)).to_pylist()  # type: ignore[no-any-return]


def by_words(case: Case) -> Rows:
    """Run the in-process engine with the kernels for large inputs."""
    with patch.object(cost, "WORTH_WORDS", 0):
        return in_process(case)


def by_rows(case: Case) -> Rows:
    """Run the in-process engine with two stacks of rows for windows that overlap."""
    with patch.object(cost, "sliding_way", lambda *_: "rows"):
        return in_process(case)


def in_tasks(case: Case) -> Rows:
    """Run what the tasks of Spark run."""
    return through_tasks(compiled(case), table(case))


ENGINES: list[Callable[[Case], Rows]] = [in_process, in_tasks]


def same(value: Any, expected: Any) -> bool:
    """Compare a result with the exact number of the reference."""
    if expected is None or value is None:
        return value is None and expected is None
    if isinstance(value, str) and isinstance(expected, int | Fraction):
        return Fraction(value) == Fraction(expected)
    if isinstance(value, float) and not isinstance(expected, str):
        if isinstance(expected, int) and abs(expected) <= 2**53:
            return value == expected
        return math.isclose(value, float(expected), rel_tol=1e-12, abs_tol=1e-12)
    return bool(value == expected)


def almost(value: Any, expected: Any) -> bool:
    """Compare a measure or a spread, which takes more steps to compute."""
    if not isinstance(value, float) or expected is None:
        return False
    return math.isclose(value, float(expected), rel_tol=1e-9, abs_tol=1e-9)


def check(case: Case, *runs: Callable[[Case], Rows]) -> None:
    """Compare engines with the reference on one case."""
    note(f"{case}")
    expected = case.expected()
    for run in runs:
        note(run.__name__)
        compare(run(case), expected)


def compare(rows: Rows, expected: Rows) -> None:
    """Compare rows with those of the reference."""
    assert [list(row) for row in rows] == [list(row) for row in expected] or not expected == rows == []
    assert len(rows) == len(expected), f"{rows}\n{expected}"
    for row, wanted in zip(rows, expected, strict=True):
        assert list(row) == list(wanted)
        for name, value in wanted.items():
            close = same(row[name], value) or (name.startswith("m") and almost(row[name], value))
            assert close, f"{name}: {row[name]!r} is not {value!r}\n{rows}\n{expected}"


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("negation", [False, True], ids=["positive", "negation"])
@pytest.mark.parametrize("adjacent", [False, True], ids=["linear", "adjacent"])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_semantics(semantics: str, negation: bool, adjacent: bool, data: st.DataObject) -> None:
    check(data.draw(strategies.case(semantics=semantics, negation=negation, adjacent=adjacent)), *ENGINES)


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_words(semantics: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(semantics=semantics, adjacent=False)), by_words)


FEW_SUMS = ("SUM(DURATION) AS m", "AVG(x) AS a", "SUM(LENGTH) AS m", "AVG(LAST(x) - FIRST(x)) AS m")


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("value", FEW_SUMS)
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES // 2))
def test_few_sums(semantics: str, value: str, data: st.DataObject) -> None:
    drawn = strategies.case(semantics=semantics, adjacent=False, conjunction=False, numbers="double")
    check(data.draw(drawn).returning(f"COUNT(*) AS n, {value}"), by_words)


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("measured", [False, True], ids=["events", "measures"])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_stacks_of_rows(semantics: str, measured: bool, data: st.DataObject) -> None:
    kinds = ("sliding", "trigger", "events")
    drawn = strategies.case(semantics=semantics, adjacent=False, kinds=kinds, measured=measured, numbers="double")
    check(data.draw(drawn), by_rows)


@pytest.mark.parametrize("window", WINDOWS)
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_windows(window: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(kinds=(window,))), *ENGINES)


@pytest.mark.parametrize("window", WINDOWS)
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_float_times(window: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(kinds=(window,), float_times=True)), *ENGINES)


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("clock", ["number", "timestamp"])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_durations(semantics: str, clock: str, data: st.DataObject) -> None:
    kinds = ("none", "events") if clock == "timestamp" else WINDOWS  # the reference has windows over numbers
    check(data.draw(strategies.case(semantics=semantics, kinds=kinds, clock=clock)), *ENGINES)


@pytest.mark.parametrize("feature", ["conjunction", "keys", "tiebreak"])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_features(feature: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(**{feature: True})), *ENGINES)


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("adjacent", [False, True], ids=["linear", "adjacent"])
@given(data=st.data())
@settings(max_examples=cases(2 * EXAMPLES))
def test_measures(semantics: str, adjacent: bool, data: st.DataObject) -> None:
    check(data.draw(strategies.case(semantics=semantics, adjacent=adjacent, measured=True)), *ENGINES)


@pytest.mark.parametrize("numbers", ["double", "exact"])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_numbers(numbers: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(numbers=numbers)), *ENGINES)
