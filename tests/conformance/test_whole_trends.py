"""Conditions on whole trends: every engine chooses the trends that the reference chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.strategies import SEMANTICS, Case
from tests.conformance.test_random import ENGINES, Rows, check

import sparkleene as sk
from sparkleene.engine import whole_trends

EXAMPLES = 25
KINDS = ("length", "duration", "ends", "general")


@pytest.mark.parametrize("run", ENGINES, ids=lambda run: run.__name__)
@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_conditions(run: Callable[[Case], Rows], semantics: str, kind: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(semantics=semantics, whole=(kind,))), run)


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("kind", ["duration", "ends"])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_counts_alone(semantics: str, kind: str, data: st.DataObject) -> None:
    drawn = strategies.case(semantics=semantics, whole=(kind,), adjacent=False, numbers="double")
    check(data.draw(drawn).returning("COUNT(*) AS n"), ENGINES[0])


def untie(case: Case) -> Case:
    """Return a case of which no two rows have the same time."""
    rows = {row["time"]: row for row in case.rows}
    return replace(case, rows=tuple(rows.values()))


@pytest.mark.parametrize("run", ENGINES, ids=lambda run: run.__name__)
@pytest.mark.parametrize("kind", [None, *KINDS])
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_maximal(run: Callable[[Case], Rows], kind: str | None, data: st.DataObject) -> None:
    whole = () if kind is None else (kind,)
    drawn = strategies.case(
        semantics="contiguous maximal", whole=whole, conjunction=False, measured=data.draw(st.booleans())
    )
    check(untie(data.draw(drawn)), run)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_measures(kind: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(whole=(kind,), measured=True)), ENGINES[0])


TEXTS = [
    "RETURN COUNT(*) AS n, SUM(A.x) AS s, MAX(LENGTH) AS m PATTERN SEQ(A+, B) WHERE DURATION <= 7",
    "RETURN COUNT(*) AS n, MIN(A.x) AS s, AVG(DURATION) AS m PATTERN (A OR B)+ WHERE LAST(x) > FIRST(x)",
    "RETURN COUNT(*) AS n, COUNT(B) AS s PATTERN SEQ(A, B+) WHERE LAST(x) > FIRST(x) AND DURATION < 40",
    "RETURN COUNT(*) AS n, SUM(B.x) AS s PATTERN SEQ(A+, B) WHERE LAST(x) = FIRST(x) AND DURATION > 2",
    "RETURN COUNT(*) AS n PATTERN (A OR B)+ SEMANTICS contiguous WHERE LAST(x) >= FIRST(x) + 1",
    "RETURN COUNT(*) AS n PATTERN SEQ(NOT C, A+, B, NOT SEQ(C, C)) WHERE LAST(x) >= FIRST(x) WITHIN 50 SLIDE 10",
]


LONG_TEXTS = [  # in doubles too these are divided: they have few trends
    "RETURN COUNT(*) AS n, SUM(A.x) AS s, MIN(B.x) AS m PATTERN SEQ(A, B, C) WHERE LAST(x) >= 1.05 * FIRST(x)",
    "RETURN COUNT(*) AS n, VAR_POP(B.x) AS s, MAX(DURATION) AS m PATTERN SEQ(A, B, C) WHERE LAST(x) = FIRST(x)",
    "RETURN COUNT(*) AS n, SUM(A.x) AS s PATTERN SEQ(A, B, C) WHERE LAST(x) > FIRST(x) AND DURATION <= 400",
    "RETURN COUNT(*) AS n, COUNT(A) AS s PATTERN SEQ(A, NOT SEQ(B D, B E), C) WHERE LAST(x) <= FIRST(x)",
    "RETURN COUNT(*) AS n, SUM(A.x) AS s PATTERN (A OR B OR C)+ SEMANTICS contiguous WHERE LAST(x) > FIRST(x)",
]


COUNT_TEXTS = [  # by kernels of their own
    "RETURN COUNT(*) AS n PATTERN SEQ(A, B, C) WHERE LAST(x) >= 1.05 * FIRST(x)",
    "RETURN COUNT(*) AS n PATTERN SEQ(A, B?, C) WHERE LAST(x) > FIRST(x)",
    "RETURN COUNT(*) AS n PATTERN SEQ(A, NOT SEQ(B D, B E), C) WHERE LAST(x) <= FIRST(x) - 2",
    "RETURN COUNT(*) AS n PATTERN (A OR B)+ SEMANTICS contiguous WHERE LAST(x) < FIRST(x)",
    "RETURN COUNT(*) AS n PATTERN (A OR B OR C)+ SEMANTICS contiguous WHERE LAST(x) - 0.5 >= -0.5 - FIRST(x)",
    "RETURN COUNT(*) AS n PATTERN SEQ(A, B+, C) SEMANTICS skip-till-next-match WHERE LAST(x) <= FIRST(x)",
    "RETURN COUNT(*) AS n PATTERN SEQ(A+, B) WHERE DURATION <= 17",
    "RETURN COUNT(*) AS n PATTERN SEQ(A, B, C) WHERE DURATION < 400 WITHIN 500 SLIDE 100",
    "RETURN COUNT(*) AS n PATTERN (A OR B)+ SEMANTICS contiguous WHERE DURATION <= 3",
]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("text", COUNT_TEXTS)
def test_long_windows_of_counts_agree_with_the_kernels_of_sums(text: str, ties: bool) -> None:
    count = 2500
    chance = np.random.default_rng(len(text))
    data = pa.table({
        "time": np.sort(chance.integers(0, count * 7 // 9, count)) if ties else np.arange(count),
        "type": chance.choice(list("ABC"), count, p=[0.3, 0.3, 0.4]),
        "x": chance.integers(-3, 6, count),
    })  # fmt: skip
    query = sk.query(text)
    kernels = (whole_trends.duration_counts, whole_trends.meeting_counts)
    watch = [patch.object(kernel, "run", wraps=kernel.run) for kernel in kernels]
    with watch[0] as queue, watch[1] as meeting:
        found = query.run(data).to_pylist()
    large = ties and "SEMANTICS" in text  # rows that tie may fork trends, and so take wide numbers
    assert found and (large or (queue if "DURATION" in text else meeting).called)
    with patch.object(whole_trends.whole_counts, "prepare", return_value=None):
        expected = query.run(data).to_pylist()
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert row == {**other, "n": pytest.approx(other["n"], rel=1e-12)}


@pytest.mark.parametrize(
    ("text", "count"), [*((text, 90) for text in TEXTS), *((text, 900) for text in LONG_TEXTS)]
)
@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_long_windows_agree_with_a_pass_for_each_start(text: str, count: int, numbers: str) -> None:
    chance = np.random.default_rng(len(text))
    data = pa.table({
        "time": np.sort(chance.integers(0, count * 7 // 9, count)),
        "type": chance.choice(list("ABC"), count, p=[0.3, 0.3, 0.4]),
        "x": chance.integers(0, 6, count),
    })  # fmt: skip
    query = sk.query(text, numbers=numbers)  # type: ignore[arg-type]
    found = query.run(data).to_pylist()
    assert found
    with patch.dict(whole_trends.KERNELS, clear=True):
        expected = query.run(data).to_pylist()
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        for name, value in row.items():
            assert (
                value == pytest.approx(other[name], rel=1e-12) if isinstance(value, float) else value == other[name]
            )


def test_rows_that_tie_have_no_maximal_trends() -> None:
    row = {"time": 1, "type": "A"}
    with pytest.raises(sk.DataError, match="tied-rows"):
        sk.query("RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous maximal").run([row, row])
