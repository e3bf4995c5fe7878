"""Every engine returns the results of the cases that once were wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from statistics import pstdev
from zoneinfo import ZoneInfo

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


@pytest.mark.parametrize("sharing", ["auto", "always", "never"])
def test_windows_per_trigger_of_several_queries_with_comparisons(sharing: str) -> None:
    queries = {
        "one": "RETURN COUNT(*) AS n PATTERN B+ WHERE B.s != NEXT(B).s WITHIN 2",
        "two": "RETURN COUNT(*) AS n PATTERN SEQ(A+, (A OR B)+) WHERE A.s != NEXT(B).s WITHIN 2",
    }
    rows = pa.table({"time": [1, 2], "type": ["A", "B"], "s": ["a", "b"]})
    found = sk.workload(queries, sharing=sharing).run(rows).to_pylist()
    expected = [{"query": name} | row for name in queries for row in sk.query(queries[name]).run(rows).to_pylist()]
    assert found == expected and len(found) == 2


@pytest.mark.parametrize("least", [10**8, 10**12, 1e8 + 0.5])
@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_a_variance_of_sums_is_right_or_an_error(least: float, numbers: str) -> None:
    rows = pa.table({"time": [1, 2], "type": ["A", "A"], "x": [least, least + 2]})
    with pytest.raises(sk.DataError, match="has lost its digits"):
        sk.query("RETURN VAR_POP(SUM(A.x)) PATTERN A", numbers=numbers).run(rows)
    [row] = (
        sk.query("RETURN VAR_POP(A.x) AS a, VAR_POP(LAST(x)) AS b PATTERN A", numbers=numbers).run(rows).to_pylist()
    )
    assert row == {"a": 1.0, "b": 1.0}


def test_a_variance_of_durations_is_right_or_an_error() -> None:
    query = sk.query("RETURN VAR_POP(DURATION) AS v PATTERN SEQ(A, B) SEMANTICS contiguous")

    def rows(days: int, unequal: bool = True) -> pa.Table:
        starts = [day * 86_400_000 // 2 for day in range(2 * days)]
        times = [time for i, start in enumerate(starts) for time in (start, start + 1000 * (1 + i % 2 * unequal))]
        return pa.table({"time": times, "type": ["A", "B"] * len(starts)})

    assert query.run(rows(1)).to_pylist() == [{"v": 250_000.0}]
    assert query.run(rows(1000, unequal=False)).to_pylist() == [{"v": 0.0}]
    with pytest.raises(sk.DataError, match="has lost its digits"):
        query.run(rows(1000))


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("within", ["", "WITHIN 2 SLIDE 1"])
def test_squares_beyond_doubles_are_an_error(numbers: str, within: str) -> None:
    rows = pa.table({"time": [1, 2], "type": ["A", "A"], "x": [1e200, 1.0]})
    with pytest.raises(sk.DataError, match="overflow"):
        sk.query(f"RETURN VAR_POP(A.x) PATTERN A {within}", numbers=numbers).run(rows)


def test_why_of_sub_streams_that_would_tie() -> None:
    rows = pa.table({"time": [1, 1], "type": ["A", "A"], "u": [1, 2]})
    query = sk.query("RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous maximal WHERE [u]")
    assert query.why(rows).trends == 2


def test_the_first_rows_of_windows_that_start_together() -> None:
    zone = ZoneInfo("Pacific/Apia")  # where the 30th of December 2011 is missing
    time = datetime(2012, 1, 1, 12, tzinfo=zone)
    rows = pa.table({"time": pa.array([time, time], pa.timestamp("s", "UTC")), "type": ["A", "A"], "g": [1, 2]})
    text = "RETURN COUNT(*) PATTERN A GROUP-BY g WITHIN 3 days SLIDE 1 day"
    every = sk.query(text, timezone=str(zone)).run(rows)
    first = sk.query(f"{text} ORDER BY COUNT(*) LIMIT 1", timezone=str(zone)).run(rows)
    assert first.num_rows == every.num_rows / 2 == 3


def test_digits_are_those_of_the_whole_group() -> None:
    rows, durations = [], []
    for user in range(50):
        start, duration = 1_700_000 * user, 100_000 + 9_000 * (user * 7 % 50)
        rows += [(start, "A", user), (start + duration, "B", user), (start + duration + 10, "B", user)]
        durations += [duration, duration + 10]
    times, types, users = zip(*rows, strict=True)
    table = pa.table({"time": times, "type": types, "u": users})
    [row] = sk.query("RETURN STDDEV_POP(DURATION) AS s PATTERN SEQ(A, B) WHERE [u]").run(table).to_pylist()
    assert row["s"] == pytest.approx(pstdev(durations), rel=1e-6)
