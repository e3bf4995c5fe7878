"""What becomes of result rows: numbers of all kinds, durations, charts, cubes and the order of equals."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import sparkleene as sk

START = datetime(2024, 1, 1)


def stream(text: str, **columns: Any) -> pa.Table:
    words = text.split()
    return pa.table({"time": [int(w[1:]) for w in words], "type": [w[0].upper() for w in words], **columns})


def run(text: str, data: pa.Table, **options: Any) -> list[dict[str, Any]]:
    return sk.query(text, **options).run(data).to_pylist()  # type: ignore[no-any-return]


def test_keys_are_counted_by_the_names_that_they_are_given() -> None:
    data = pa.table({"time": [1, 2, 3, 4], "type": list("ABAB"), "u": [1, 1, 2, 2]})
    for text in (
        "RETURN COUNT(DISTINCT odd) AS n PATTERN SEQ(A, B) GROUP-BY u % 2 AS odd",
        "RETURN u % 2 AS odd, COUNT(DISTINCT odd) AS n PATTERN SEQ(A, B) GROUP-BY u % 2",
        "RETURN COUNT(DISTINCT who) AS n PATTERN SEQ(A, B) GROUP-BY u AS who",
        "RETURN COUNT(DISTINCT odd) AS n PATTERN SEQ(A, B) GROUP-BY B.u % 2 AS odd",
    ):
        assert [row["n"] for row in sk.query(text).run(data).to_pylist()] == [1, 1]


def test_exact_integers_stay_exact() -> None:
    many = stream(" ".join(f"a{i}" for i in range(200)))
    text = "RETURN COUNT(*) * 2 - 1 AS odd, COUNT(*) / COUNT(*) AS one, -COUNT(*) AS down PATTERN A+"
    [row] = run(f"{text} HAVING COUNT(*) = {2**200 - 1}", many, numbers="exact")
    assert row == {"odd": str(2**201 - 3), "one": 1.0, "down": str(1 - 2**200)}
    assert run(f"{text} HAVING COUNT(*) > {2**200 - 1}", many, numbers="exact") == []


def test_functions_of_exact_integers_stay_exact() -> None:
    many = pa.table({"time": range(60), "type": ["A"] * 60})
    functions = {"COUNT(*) % 2": 1, "FLOOR(COUNT(*))": 2**60 - 1, "ABS(1 - COUNT(*))": 2**60 - 2}
    functions |= {"GREATEST(COUNT(*), 7)": 2**60 - 1, "LEAST(COUNT(*), 2 * COUNT(*))": 2**60 - 1}
    functions |= {"COALESCE(COUNT(*), 1)": 2**60 - 1, "ROUND(COUNT(*), -1)": (2**60 - 1 + 5) // 10 * 10}
    functions |= {"COUNT(*) + COUNT(EACH A)": 2**60 + 59}
    returned = ", ".join(f"{text} AS f{i}" for i, text in enumerate(functions))
    [row] = run(f"RETURN {returned} PATTERN A+ HAVING COUNT(*) % 2 = 1", many, numbers="exact")
    assert row == {f"f{i}": str(value) for i, value in enumerate(functions.values())}


def test_exact_integers_are_ordered_as_numbers() -> None:
    data = stream("a1 a2 a3 a4 a5 a6", k=[1, 1, 1, 1, 2, 3])
    rows = run("RETURN COUNT(*) PATTERN A+ GROUP-BY k ORDER BY COUNT(*) DESC LIMIT 2", data, numbers="exact")
    assert [(row["k"], row["count"]) for row in rows] == [(1, "15"), (2, "1")]


def test_long_counts_stay_integers() -> None:
    assert run("RETURN COUNT(*) + 1 AS n, COUNT(*) / 2 AS h PATTERN A+", stream("a1 a2"), numbers="long") == [
        {"n": 4, "h": 1.5}
    ]


def test_durations_in_having() -> None:
    times = [START + timedelta(minutes=m) for m in (0, 7, 30, 31)]
    data = pa.table({"time": times, "type": ["A"] * 4, "k": [1, 1, 2, 2]})
    text = "RETURN k, MAX(DURATION) AS d PATTERN A+ GROUP-BY k HAVING d > 5 minutes"
    assert run(text, data) == [{"k": 1, "d": 420.0}]
    numbers = stream("a1 a8", k=[1, 1])
    assert run(text, numbers, time_unit="minutes") == [{"k": 1, "d": 7}]
    with pytest.raises(sk.SparkleeneError) as caught:
        run(text, numbers)
    assert caught.value.diagnostics[0].code == "unit-unknown"


def test_differences_of_times_inside_aggregates_are_seconds() -> None:
    data = pa.table({"time": [START + timedelta(seconds=90)], "type": ["A"], "made": [START]})
    assert run("RETURN AVG(A.time - A.made) AS wait PATTERN A", data) == [{"wait": 90.0}]


def test_a_group_expression_inside_an_aggregate_is_of_rows() -> None:
    data = stream("a1 a2 a3", x=[1, 4, 2])
    assert run("RETURN SUM(x % 3) AS s, (x % 3) * 10 AS t PATTERN A GROUP-BY x % 3", data) == [
        {"x_3": 1, "s": 2.0, "t": 10},
        {"x_3": 2, "s": 2.0, "t": 20},
    ]


def test_equal_rows_go_by_group_and_hidden_aggregates_are_hidden() -> None:
    data = stream("a1 a2 a3", k=["z", "b", "m"])
    result = sk.query(
        "RETURN k, COUNT(*) PATTERN A GROUP-BY k ORDER BY SUM(A.time) * 0, MAX(A.time) * 0 LIMIT 2"
    ).run(data)
    assert result.column_names == ["k", "count"]
    assert result.column("k").to_pylist() == ["b", "m"]


def test_counts_of_windows_that_having_left_out_are_no_zeros() -> None:
    text = "RETURN COUNT(*), COUNT(*) * 2 AS two PATTERN A WITHIN 1 SLIDE 1"
    assert sk.query(text).plan.bound.count_names == ("count",)
    assert sk.query(f"{text} HAVING COUNT(*) > 1").plan.bound.count_names == ()
    assert sk.query(text).plan.bound.value_names == ("count", "two")


def test_cubes_evaluate_what_is_made_of_results() -> None:
    tail = "RETURN COUNT(*) * 2 AS n, COUNT(*) AS c PATTERN"
    cube = sk.cube({"all": f"{tail} Fruit x", "apple": f"{tail} Apple x", "pear": f"{tail} Pear x"},
                   hierarchy={"Apple": "Fruit", "Pear": "Fruit"})  # fmt: skip
    data = pa.table({"time": [1, 2, 3], "type": ["Apple", "Pear", "Pear"]})
    assert "added up" not in cube.explain()
    found = {row["query"]: row["n"] for row in cube.run(data).to_pylist()}
    assert found == {"all": 6.0, "apple": 2.0, "pear": 4.0}
