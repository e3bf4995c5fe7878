"""Windows without rows: zero for counts, gaps for what has no value over nothing."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.charts import Chart, Slide, chart
from sparkleene.charts.picture import figure
from sparkleene.charts.zeros import FINE

COUNTS = {"counts": ["count"], "slide": Slide(10.0)}


def drawn(made: Chart) -> dict[str, list[tuple[Any, str]]]:
    return {one.name: list(zip(one.x.tolist(), one.y.words(), strict=True)) for one in made.series}


def test_counts_are_zero_between_the_first_window_and_the_last() -> None:
    table = pa.table({"window_start": [20, 60], "count": [3.0, 1.0], "sum_x": [5.0, 7.0]})
    made = chart(table, **COUNTS)
    assert drawn(made) == {"": [(20, "3"), (30, "0"), (40, "0"), (50, "0"), (60, "1")]}
    assert made.series[0].peak().words() == ["3"]
    assert drawn(chart(table, value="sum_x", **COUNTS)) == {"": [(20, "5"), (60, "7")]}


def test_a_group_is_zero_in_windows_that_others_have() -> None:
    table = pa.table({"window_start": [0, 10, 20, 10], "g": list("aaab"), "count": ["1", "2", "3", "9" * 400]})
    found = drawn(chart(table, groups=["g"], **COUNTS))
    assert found["b"] == [(0, "0"), (10, "1.0e+400"), (20, "0")]
    assert [word for _, word in found["a"]] == ["1", "2", "3"]


def test_windows_that_count_rows_are_those_of_their_group_alone() -> None:
    table = pa.table({"window_start": [0, 10, 40, 10, 30], "g": list("aaabb"), "count": [1.0] * 5})
    found = drawn(chart(table, groups=["g"], counts=["count"], slide=Slide(10.0, shared=False)))
    assert [start for start, _ in found["a"]] == [0, 10, 20, 30, 40]
    assert [start for start, _ in found["b"]] == [10, 20, 30]


DAYS, TICKS = pa.array([5, 30], pa.date32()), pa.array([0, 25], pa.timestamp("ns"))


@pytest.mark.parametrize(("starts", "step"), [([0.5, 3.0], 0.5), (DAYS, 5.0), (TICKS, 5.0), ([-25, 0], 5.0)])
def test_starts_of_any_type(starts: Any, step: float) -> None:
    table = pa.table({"window_start": starts, "count": [1.0, 1.0]})
    [series] = chart(table, counts=["count"], slide=Slide(step)).series
    assert series.y.words() == ["1", "0", "0", "0", "0", "1"]
    assert len(set(np.diff(series.x).tolist())) == 1


def test_no_zeros_where_clocks_are_set_forward_or_back() -> None:
    for day in ("2024-03-31T00:00:00", "2024-10-27T00:00:00"):
        hours = np.datetime64(day) + np.arange(6) * np.timedelta64(3600, "s")
        starts = pa.array(hours).cast(pa.timestamp("s", "Europe/Berlin"))
        made = chart(pa.table({"window_start": starts, "count": [1.0] * 6}), counts=["count"], slide=Slide(3600.0))
        assert made.series[0].y.words() == ["1"] * 6
        made.text()


def test_many_missing_windows_are_drawn_by_some() -> None:
    made = chart(pa.table({"window_start": [0, 10**12, 10**12 + 40], "count": [1.0, 2.0, 3.0]}), **COUNTS)
    [series] = made.series
    assert FINE <= series.x.size < FINE + 10
    assert series.x[1] == 10 and 10**12 - 10 in series.x and 10**12 + 30 in series.x
    assert (np.diff(series.x) > 0).all() and (series.x % 10 == 0).all()
    [line] = [line for line in figure(made).axes[0].get_lines() if len(line.get_xdata()) > 10]
    assert not np.isnan(line.get_ydata()).any()  # type: ignore[arg-type]
    assert " " not in made.text(width=60).splitlines()[-2].partition("┤")[2]


def test_an_infinite_count_stays_and_the_scale_has_a_place_for_zero() -> None:
    made = chart(pa.table({"window_start": [0, 20], "count": [float("inf"), 1e9]}), **COUNTS)
    assert made.scale.log and made.scale.zero
    assert drawn(made) == {"": [(0, "inf"), (10, "0"), (20, "1.0e+09")]}


# ---- from queries


def test_a_query_knows_its_counts_and_its_windows() -> None:
    text = (
        "RETURN g, AVG(A.x), COUNT(*), COUNT(A), LOG2(COUNT(*)) AS log PATTERN A+ GROUP-BY g WITHIN {0} SLIDE {0}"
    )
    seconds = [0, 1, 95, 11]
    rows = {"type": ["A"] * 4, "g": list("aaab"), "x": [1.0, 2, 3, 4]}
    stamps, numbers = pa.array(seconds, pa.timestamp("s", "UTC")), pa.array(seconds, pa.int64())
    for times, window, options in (
        (stamps, "10 seconds", {}),
        (numbers, "10", {}),
        (numbers, "10 seconds", {"time_unit": "seconds"}),
    ):
        q = sk.query(text.format(window), **options)  # type: ignore[arg-type]
        result = q.run(pa.table({"time": times} | rows))
        for value, lengths in (("count", [10, 10]), ("count_A", [10, 10]), ("avg_A_x", [2, 1]), ("log", [2, 1])):
            assert [one.x.size for one in q.plot(result, value).series] == lengths, value
        assert [one.x.size for one in q.plot(result.to_pandas(), "count").series] == [10, 10]


def test_windows_at_trends_have_no_others_between() -> None:
    q = sk.query("RETURN COUNT(*) PATTERN A+ WITHIN 10")
    result = q.run(pa.table({"time": [0, 1, 2, 30], "type": ["A"] * 4}))
    assert q.plot(result).series[0].x.size == result.num_rows


def test_windows_of_events() -> None:
    q = sk.query("RETURN g, COUNT(*) PATTERN SEQ(A, B) WHERE [g] GROUP-BY g WITHIN 2 EVENTS SLIDE 1 EVENTS")
    table = pa.table({"time": range(9), "type": list("ABAAABABB"), "g": list("aaaaaabbb")})
    assert [one.y.words() for one in q.plot(q.run(table)).series] == [["1", "0", "0", "0", "1"], ["1"]]
