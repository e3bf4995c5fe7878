"""Every engine returns the results of the cases that once were wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

import pyarrow as pa
import pytest
from tests.conformance.found_cases import FOUND
from tests.conformance.paper_cases import PaperCase
from tests.conformance.test_papers import ENGINES, Rows, test_paper

import sparkleene as sk


@pytest.mark.parametrize("run", ENGINES, ids=lambda run: run.__name__)
@pytest.mark.parametrize("case", FOUND, ids=lambda case: case.cite)
def test_found(case: PaperCase, run: Callable[[PaperCase], Rows]) -> None:
    test_paper(case, run)


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_windows_of_half_days_over_dates(kind: pa.DataType) -> None:
    rows = pa.table({"time": pa.array([date(2024, 5, 1), date(2024, 5, 2)], kind), "type": ["A", "A"]})
    found = sk.query("RETURN COUNT(*) AS n PATTERN A+ WITHIN 36 hours SLIDE 36 hours").run(rows).to_pylist()
    expected = [(datetime(2024, 4, 30, 12), 1), (datetime(2024, 5, 2), 1)]
    assert [(row["window_start"], row["n"]) for row in found] == expected


def test_least_measure_of_integers_is_an_integer() -> None:
    times = [1, 11, 0, 10, 0, 13, 12, 13, 9, 2, 6, 18, 3, 4]
    rows = pa.table(
        {"time": times, "type": list("VVVBCVBXXVBCBV"), "u": [2, 0, 1, 1, 1, 2, 0, 1, 2, 0, 2, 0, 1, 1]}
    )
    found = sk.funnel(["V", "C"], by="u", order="next").run(rows).to_pylist()
    assert found[1]["min_time"] == 7
