"""The first trends behind the numbers: the same as the reference enumerates, in order, and found at once."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.conformance import strategies
from tests.conformance.strategies import KINDS, SEMANTICS, WINDOWS, Case
from tests.conformance.test_random import compiled, table

import sparkleene as sk
from sparkleene import reference
from sparkleene.kernels import trends

Shown = tuple[Any, ...]
OF_TREND = ("trends", "length", "duration", "events")


def shown(events: list[dict[str, Any]]) -> Shown:
    """Return the rows and labels of a list of events."""
    return tuple((event["row"], event["label"]) for event in events)


def cell(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the window and group of a row."""
    return tuple(value for name, value in row.items() if not name.startswith(OF_TREND))


def expected(case: Case) -> Counter[tuple[Any, ...]]:
    """Return how often the reference finds each match in each window and group; pairs are unordered."""
    bound = case.bound()
    found: Counter[tuple[Any, ...]] = Counter()
    options: dict[str, Any] = {"time": case.time, "type": case.type, "tiebreak": case.tiebreak}
    for start, end, key, match in reference.trends(bound, case.rows, offset=case.offset, **options):
        window = () if bound.window is None else (start, end)
        group = tuple(key[index] for index in bound.group)
        trends: Any = match if len(case_operands(case)) == 2 else (match,)
        named = [tuple((event.position, label) for event, label in trend) for trend in trends]
        found[(window + group, frozenset(named))] += 1
    return found


def case_operands(case: Case) -> tuple[Any, ...]:
    """Return the operands of AND, or the pattern alone."""
    pattern = case.bound().pattern
    return getattr(pattern, "operands", (pattern,))


def backwards(case: Case, row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what rows of one window and group are ordered by."""
    labels = [label.name for label in case.bound().labels]
    keys = []
    for name in ("events", "events_2"):
        events = reversed(row.get(name, []))
        tie = case.tiebreak
        keys.append([(e["time"], e[tie] if tie else 0, e["row"], labels.index(e["label"])) for e in events])
    return tuple(keys)


def check(case: Case, limit: int) -> None:
    note(f"{case}")
    query, data = compiled(case), table(case)
    rows = query.trends(data, limit=None).to_pylist()
    names = ("events", "events_2")[: len(case_operands(case))]
    found = Counter((cell(row), frozenset(shown(row[name]) for name in names)) for row in rows)
    assert found == expected(case)
    assert str(query.trends(data, limit=limit).to_pylist()) == str(rows[:limit])  # NaN is not NaN
    results = query.run(data).to_pylist()
    counts = {tuple(row[name] for name in row if name not in outputs(case)): float(row["n"]) for row in results}
    assert Counter(cell(row) for row in rows) == counts
    places = {window: place for place, window in enumerate(counts)}  # as the results are ordered
    order = [(places[cell(row)], backwards(case, row)) for row in rows]
    assert order == sorted(order)
    check_orders(query, data, case, rows, limit)
    columns = data.to_pylist()
    for row in rows:
        for event in (event for name in names for event in row[name]):
            for name in event.keys() - {"label", "row"}:
                assert same(event[name], columns[event["row"]][name])


def check_orders(query: sk.Query, data: pa.Table, case: Case, rows: list[dict[str, Any]], limit: int) -> None:
    """Compare the other orders with all rows in the order of `first`, sorted by definition."""
    cells: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault(cell(row), []).append(row)
        assert float(row["trends"]) == sum(cell(other) == cell(row) for other in rows)
        for end in ("", "_2") if "events_2" in row else ("",):
            events = row[f"events{end}"]
            assert row[f"length{end}"] == len(events)
            if case.time == "time" and isinstance(events[0]["time"], (int, float)):
                assert math.isclose(row[f"duration{end}"], events[-1]["time"] - events[0]["time"], abs_tol=1e-9)
    for order in ("last", "longest", "shortest"):
        wanted = []
        for found in cells.values():
            ordered = list(reversed(found)) if order == "last" else found
            if order != "last":
                sign = -1 if order == "longest" else 1
                ordered = sorted(found, key=lambda row: sign * (row["length"] + row.get("length_2", 0)))
            wanted += ordered[:limit]
        assert str(query.trends(data, limit=limit, order=order).to_pylist()) == str(wanted), order
    drawn = query.trends(data, limit=limit, order="sample", seed=limit).to_pylist()
    assert [cell(row) for row in drawn] == [key for key in cells for _ in range(limit)]
    known = {str(row) for row in rows}
    assert all(str(row) in known for row in drawn)


def same(one: Any, other: Any) -> bool:
    return one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


def outputs(case: Case) -> set[str]:
    return {output.name for output in case.bound().outputs}


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("negation", [False, True], ids=["positive", "negation"])
@pytest.mark.parametrize("adjacent", [False, True], ids=["linear", "adjacent"])
@given(data=st.data())
def test_semantics(semantics: str, negation: bool, adjacent: bool, data: st.DataObject) -> None:
    case = data.draw(strategies.case(semantics=semantics, negation=negation, adjacent=adjacent))
    check(case, data.draw(st.sampled_from([0, 1, 2, 5, 20])))


@pytest.mark.parametrize("window", WINDOWS)
@given(data=st.data())
def test_windows(window: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(kinds=(window,))), data.draw(st.integers(0, 30)))


@pytest.mark.parametrize("feature", ["conjunction", "keys", "tiebreak"])
@given(data=st.data())
def test_features(feature: str, data: st.DataObject) -> None:
    check(data.draw(strategies.case(**{feature: True})), data.draw(st.integers(0, 30)))


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(data=st.data())
def test_pairs_of_trends(semantics: str, data: st.DataObject) -> None:
    case = data.draw(strategies.case(semantics=semantics, conjunction=True, adjacent=data.draw(st.booleans())))
    check(case, data.draw(st.integers(0, 8)))


# ---- order and shape


def times(result: pa.Table, name: str = "events") -> list[list[Any]]:
    return [[event["time"] for event in row[name]] for row in result.to_pylist()]


def test_order_is_by_the_last_event_then_backwards() -> None:
    data = pa.table({"time": [1, 2, 3], "type": ["S"] * 3})
    found = times(sk.query("RETURN COUNT(*) PATTERN S+").trends(data))
    assert found == [[1], [2], [1, 2], [3], [1, 3], [2, 3], [1, 2, 3]]


def test_sub_streams_of_a_group_are_merged_in_time() -> None:
    data = pa.table({"time": [1, 2, 3, 4, 5, 6], "type": ["S"] * 6, "k": [2, 1, 2, 1, 2, 1]})
    result = sk.query("RETURN COUNT(*) PATTERN SEQ(S a, S b) WHERE [k]").trends(data)
    assert times(result) == [[1, 3], [2, 4], [1, 5], [3, 5], [2, 6], [4, 6]]


def test_pairs_are_ordered_by_the_first_trend() -> None:
    data = pa.table({"time": [1, 2, 3], "type": list("ABA")})
    result = sk.query("RETURN COUNT(*) PATTERN A AND (A OR B)").trends(data)
    assert list(zip(times(result), times(result, "events_2"), strict=True)) == [([1], [2]), ([1], [3]), ([3], [2])]


def test_columns_and_types() -> None:
    moments = [datetime(2024, 1, 1, 0, minute, tzinfo=UTC) for minute in range(3)]
    data = pa.table(
        {
            "at": pa.array(moments, pa.timestamp("ms", "UTC")),
            "kind": pa.array(["A", "A", "B"]).dictionary_encode(),
            "row": pa.array([7, None, 9], pa.int16()),
            "unused": [1, 2, 3],
            "k": ["x", "x", "x"],
        }
    )
    query = sk.query(
        "RETURN COUNT(*), SUM(A.row) PATTERN SEQ(A+, B) GROUP-BY k WITHIN 10 minutes SLIDE 10 minutes",
        time="at",
        type="kind",
    )
    result = query.trends(data)
    assert result.column_names == [
        "window_start", "window_end", "k", "trends", "length", "duration", "events"
    ]  # fmt: skip
    assert result.schema.types[3:6] == [pa.float64(), pa.int64(), pa.float64()]
    assert result.column("duration").to_pylist() == [120.0, 60.0, 120.0]
    event = result.schema.field("events").type.value_type
    assert [(field.name, field.type) for field in event] == [
        ("label", pa.string()),
        ("at", pa.timestamp("ms", "UTC")),
        ("kind", pa.string()),
        ("row", pa.int64()),
        ("row_", pa.int16()),
        ("k", pa.string()),
    ]
    rows = result.to_pylist()
    assert [shown(row["events"]) for row in rows] == [
        ((0, "A"), (2, "B")),
        ((1, "A"), (2, "B")),
        ((0, "A"), (1, "A"), (2, "B")),
    ]
    assert rows[1]["events"][0]["row_"] is None
    assert rows[0]["window_start"] == moments[0] and rows[0]["k"] == "x"
    assert query.trends(data.slice(0, 0)).schema == result.schema
    assert query.trends(data, limit=0).schema == result.schema


def test_empty_input_of_every_kind_of_window() -> None:
    data = pa.table({name: pa.array([], kind) for name, kind in KINDS.items()})
    for within in ("", "WITHIN 5", "WITHIN 5 SLIDE 2", "WITHIN 5 EVENTS SLIDE 2 EVENTS"):
        query = sk.query(f"RETURN COUNT(*) PATTERN A+ AND B WHERE [y] GROUP-BY k {within}")
        result = query.trends(data)
        window = ["window_start", "window_end"] if within else []
        assert result.num_rows == 0 and result.column_names == [*window, "k", *(
            "trends", "length", "duration", "length_2", "duration_2", "events", "events_2"
        )]  # fmt: skip


def test_the_result_is_of_the_kind_of_the_data(tmp_path: Path) -> None:
    data = pa.table({"time": [1, 2], "type": ["A", "B"]})
    query = sk.query("RETURN COUNT(*) PATTERN SEQ(A, B)")
    plain = query.trends(data).to_pylist()
    assert isinstance(query.trends(data.to_batches()[0]), pa.RecordBatch)
    frame = query.trends(data.to_pandas())
    assert isinstance(frame, pd.DataFrame) and list(frame["events"][0]) == plain[0]["events"]
    assert query.trends(pl.from_arrow(data)).to_dicts() == plain
    pq.write_table(data, tmp_path / "data.parquet")
    assert query.trends(tmp_path / "data.parquet").to_pylist() == plain


def test_types_by_conditions_need_no_type_column() -> None:
    data = pa.table({"time": [1, 2, 3], "x": [1.0, 5.0, 2.0]})
    query = sk.query("RETURN COUNT(*) PATTERN SEQ(Low, High)", types={"Low": "x < 3", "High": "x > 3"})
    low, high = ({"label": "Low", "time": 1, "row": 0, "x": 1.0}, {"label": "High", "time": 2, "row": 1, "x": 5.0})
    assert query.trends(data).to_pylist() == [{"trends": 1.0, "length": 2, "duration": 1.0, "events": [low, high]}]


def test_a_negative_limit_is_an_error() -> None:
    with pytest.raises(sk.QueryError, match="limit is -1"):
        sk.query("RETURN COUNT(*) PATTERN A").trends(pa.table({"time": [1], "type": ["A"]}), limit=-1)


# ---- a million rows: these would never finish by search

LAST = 999_999
NEXT = "SEMANTICS skip-till-next-match"
HUGE: dict[str, tuple[str, list[list[int]]]] = {
    "dead ends": ("SEQ(A+, B)", [[0, 10], [1, 10], [0, 1, 10]]),
    "dead ends, next": (f"SEQ(A+, B) {NEXT}", [[9, 10], [8, 9, 10], [7, 8, 9, 10]]),
    "late": ("SEQ(A+, C)", [[0, LAST], [1, LAST], [0, 1, LAST]]),
    "late pair": ("SEQ(A, C) WHERE A.v > C.v", [[0, LAST], [1, LAST], [2, LAST]]),
    "late equal": ("SEQ(A, C) WHERE A.w = C.w AND A.v <= C.v + 1", [[0, LAST]]),
    "rare": ("A+ WHERE A.v > NEXT(A).v", [[0], [1], [2]]),
    "rare code": (f"A+ WHERE A.v * NEXT(A).v < 0 {NEXT}", [[0], [1], [2]]),
    "rare, next": (f"SEQ(A, C) WHERE A.v > C.v {NEXT}", [[0, LAST], [1, LAST], [2, LAST]]),
    "never": ("SEQ(A+, D)", []),
    "trailing": ("SEQ(A+, NOT C)", []),
    "leading": ("SEQ(NOT B, A+, C)", [[0, LAST], [1, LAST], [0, 1, LAST]]),
    "conjunction": ("A+ AND C", [[0], [1], [0, 1]]),
    "windows": (
        "SEQ(A+, C) WITHIN 100000 SLIDE 1000",
        [[900_000, LAST], [900_001, LAST], [900_000, 900_001, LAST]],
    ),
}


@pytest.fixture(scope="module")
def million() -> pa.Table:
    """Return A's with a B at 10 and a C at the very end; v rises until then, w is distinct."""
    types = np.zeros(LAST + 1, np.int8)
    types[10], types[-1] = 1, 2
    v, w = np.arange(LAST + 1), np.arange(LAST + 1)
    v[-1], w[-1] = -1, 0
    names = pa.DictionaryArray.from_arrays(types, ["A", "B", "C"])
    return pa.table({"time": np.arange(LAST + 1), "type": names, "v": v, "w": w})


@pytest.mark.parametrize("name", HUGE)
def test_a_million_rows(name: str, million: pa.Table) -> None:
    text, first = HUGE[name]
    result = sk.query(f"RETURN COUNT(*) PATTERN {text}").trends(million)
    assert times(result)[:3] == first


@pytest.mark.parametrize("order", ["first", "last", "longest", "sample"])
@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A+, B)",
        "(SEQ(A+, B))+ SEMANTICS skip-till-next-match WHERE A.x < NEXT(A).x",
        "SEQ(A+, NOT C, B) WITHIN 8 SLIDE 4",
    ],
)
def test_a_search_that_runs_out_of_room_goes_on(text: str, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = range(24)
    x = [float(i * 7 % 5) for i in rows]
    data = pa.table({"time": [i // 2 for i in rows], "type": ["AABC"[i * 7 % 5 % 4] for i in rows], "x": x})
    query = sk.query(f"RETURN COUNT(*) PATTERN {text}")
    whole = query.trends(data, order=order, limit=50)
    calls = 0

    def reach(*given: Any, run: Any = trends._reach) -> bool:
        nonlocal calls
        calls += 1
        return bool(run(*given))

    monkeypatch.setattr(trends, "_ROOM", 1)
    monkeypatch.setattr(trends, "_reach", reach)
    assert query.trends(data, order=order, limit=50) == whole
    assert whole.num_rows and calls > 4
