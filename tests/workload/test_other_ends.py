"""Queries that differ in both ends and compare neighbours in between: all ways to share give the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.workload.test_mixed import close

import sparkleene as sk
from sparkleene.engine import cost, execute
from sparkleene.engine.run import Run
from sparkleene.kernels import fenwick
from sparkleene.kernels.wide import WIDE
from sparkleene.language.bind import bind
from sparkleene.language.parser import parse
from sparkleene.reference import evaluate
from sparkleene.workload import Workload, workload

COLUMNS = ("time", "type", "k", "x", "y")
TYPES = ("P0", "P1", "P2", "E0", "E1", "E2", "T", "T", "T", "T", "T", "U", "N")
MIDDLES = ("T+", "T+", "T+", "T{2,}", "(SEQ(T, U?))+", "NOT N, T+", "T+, NOT N", "T+, NOT N, U?")
COMPARISONS = (
    "T.x < NEXT(T).x", "T.x <= NEXT(T).x", "T.x > NEXT(T).y", "T.x != NEXT(T).x", "T.y = NEXT(T).y",
    "T.y = NEXT(T).y AND T.x < NEXT(T).x",
)  # fmt: skip
LOCAL = ("", "", "P{i}.x > 1", "E{i}.x < 3", "P{i}.x > 1 AND E{i}.y > 0")
KEYS = (("", ""), ("", ""), ("[k] AND ", ""), ("[k] AND ", " GROUP-BY k"))
WINDOWS = ("", "", "WITHIN 6 SLIDE 6", "WITHIN 6 SLIDE 2", "WITHIN 8 SLIDE 1", "WITHIN 5")
AGGREGATES = (
    "COUNT(*)",
    "COUNT(*)",
    "COUNT(T)",
    "SUM(T.x)",
    "AVG(T.y)",
    "SUM(P{i}.x)",
    "SUM(E{i}.x)",
    "COUNT(*), MAX(T.x)",
)


@st.composite
def texts(draw: st.DrawFn) -> dict[str, str]:
    """Draw queries with the same middle, most of them with ends of their own."""
    middle, comparison = draw(st.sampled_from(MIDDLES)), draw(st.sampled_from(COMPARISONS))
    (keys, group), window = draw(st.sampled_from(KEYS)), draw(st.sampled_from(WINDOWS))
    usual = draw(st.sampled_from(AGGREGATES))
    found = {}
    for n in range(draw(st.integers(2, 5))):
        i = n if n < 3 else draw(st.integers(0, 2))
        first, last = draw(st.sampled_from([(f"P{i}, ", f", E{i}")] * 4 + [(f"P{i}, ", ""), ("", f", E{i}")]))
        local = draw(st.sampled_from(LOCAL)).format(i=i)
        returns = (usual if draw(st.booleans()) else draw(st.sampled_from(AGGREGATES))).format(i=i)
        ends = first + last
        local = " AND ".join(one for one in local.split(" AND ") if one and one.partition(".")[0] in ends)
        returns = returns if "{" in returns or all(
            name not in returns or name in ends for name in (f"P{i}", f"E{i}")
        ) else "COUNT(*)"  # fmt: skip
        where = f"{keys}{comparison}{f' AND {local}' if local else ''}"
        found[f"q{n}"] = (
            f"RETURN {returns} PATTERN SEQ({first}{middle}{last}) WHERE {where}{group} {window}".strip()
        )
    return found


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw rows with ties and NULLs, most of them of the middle."""
    number = st.sampled_from([0, 1, 2, 3, 4, None])
    row = st.fixed_dictionaries(
        {"type": st.sampled_from(TYPES), "k": st.sampled_from([0, 0, 1]), "x": number, "y": number}
    )
    rows = draw(st.lists(row, min_size=1, max_size=14))
    steps = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    return [{"time": sum(steps[: i + 1]), **row} for i, row in enumerate(rows)]


def to_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Return rows as a table."""
    kinds = {name: pa.string() if name == "type" else pa.int64() for name in COLUMNS}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


@pytest.mark.parametrize("tries", [False, True])
@pytest.mark.parametrize("numbers", ["double", "exact"])
@given(data=st.data())
@settings(max_examples=cases(40))
def test_all_ways_are_what_is_defined(numbers: str, tries: bool, data: st.DataObject) -> None:
    queries, rows = data.draw(texts()), data.draw(streams())
    note(f"{queries}\n{rows}")
    table = to_table(rows)
    with patch.object(cost, "SAFE_BITS", 0 if tries else cost.SAFE_BITS):  # as if all windows were long
        results = {
            sharing: workload(queries, sharing, numbers=numbers).run(table)  # type: ignore[arg-type]
            for sharing in ("never", "auto", "always")
        }
    for name, text in queries.items():
        expected = evaluate(bind(parse(text), columns=COLUMNS), rows, time="time", type="type")
        alone = sk.query(text, numbers=numbers).run(table).to_pylist()  # type: ignore[arg-type]
        for sharing, result in results.items():
            mine = [row for row in result.to_pylist() if row["query"] == name]
            assert len(mine) == len(expected) == len(alone), (name, sharing, mine, expected)
            for row, wanted, other in zip(mine, expected, alone, strict=True):
                assert close(row, wanted), (name, sharing, row, wanted)
                assert close(row, other)


# ---- long windows, which are tried in doubles first


def long_table(rises: Sequence[bool]) -> pa.Table:
    """Return stretches of 1,300 events between those of other types: in some all values rise, in others few do."""
    rng = np.random.default_rng(0)
    types, values = [], []
    for rising in rises:
        types += [*(f"P{i}" for i in range(6)), *["T"] * 600, "P3", *["T"] * 688, *(f"E{i}" for i in range(6))]
        values.append(np.arange(1301.0) if rising else rng.permutation(1301) // 40 * -1.0)
    return pa.table({"time": range(len(types)), "type": types, "x": np.concatenate(values)})


def long_queries(returns: str, window: str = "") -> dict[str, str]:
    """Return queries that differ in both ends."""
    return {
        f"q{i}": f"RETURN {returns} PATTERN SEQ(P{i}, T+, E{i}) WHERE T.x < NEXT(T).x {window}" for i in range(6)
    }


def run_in(made: Workload, table: pa.Table) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
    """Return the rows of a workload, and in which numbers how many windows were run by trees."""
    ran: list[tuple[str, int]] = []
    kernel = fenwick.run_side_by_side

    def spy(*given: Any) -> Any:
        ran.append(("wide" if given[3].one.dtype == WIDE else "double", given[4].begin.size))
        return kernel(*given)

    with patch.object(fenwick, "run_side_by_side", spy):
        return made.run(table).to_pylist(), ran


def same_rows(rows: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> bool:
    """Compare rows up to the precision of doubles."""
    return len(rows) == len(others) and all(
        row.keys() == other.keys() and all(_same(row[name], other[name]) for name in row)
        for row, other in zip(rows, others, strict=True)
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) or one is None or other is None:
        return bool(one == other)
    return math.isclose(one, float(other), rel_tol=1e-10)


@pytest.mark.parametrize(
    ("rises", "numbers"), [([True], ["double", "wide"]), ([False], ["double"]), ([False, True], ["double", "wide"])]
)
def test_only_what_overflows_is_done_in_wide_numbers(rises: list[bool], numbers: list[str]) -> None:
    table, queries = long_table(rises), long_queries("LOG2(COUNT(*)), AVG(T.x)")
    rows, ran = run_in(workload(queries), table)
    assert list(dict.fromkeys(kind for kind, _ in ran)) == numbers
    exact = workload(queries, numbers="exact").run(table).to_pylist()
    assert same_rows(rows, exact)
    alone, ran = run_in(workload(queries, "never"), table)
    assert same_rows(alone, exact)
    assert {kind for kind, _ in ran} == {"wide"}  # of one query it would be a little faster, or in vain
    if rises == [True]:
        by_name = {row["query"]: row["log2_count"] for row in rows}
        assert by_name["q0"] == pytest.approx(1288, abs=1e-9)  # all sets of events but the empty one
        assert by_name["q3"] == pytest.approx(1288, abs=1e-9)


@pytest.mark.parametrize(("window", "again"), [("WITHIN 1301 SLIDE 1301", 1), ("WITHIN 1600 SLIDE 400", 4)])
@pytest.mark.parametrize("returns", ["LOG2(COUNT(*))", "LOG2(COUNT(*)), AVG(T.x)"])
def test_windows_that_overflow_are_done_again(window: str, again: int, returns: str) -> None:
    table, queries = long_table([False, True, False]), long_queries(returns, window)
    rows, ran = run_in(workload(queries), table)
    assert sum(count for kind, count in ran if kind == "wide") >= again
    assert sum(count for kind, count in ran if kind == "double") > again
    assert same_rows(rows, workload(queries, numbers="exact").run(table).to_pylist())
    assert same_rows(rows, workload(queries, "never").run(table).to_pylist())


def test_infinite_values_are_what_they_are_alone() -> None:
    table = long_table([False])
    x = table["x"].to_numpy().copy()
    x[[20, 700]] = [-np.inf, np.inf]
    table = table.set_column(2, "x", pa.array(x))
    queries = {name: text.replace("T.x <", "T.x <=") for name, text in long_queries("COUNT(*), SUM(T.x)").items()}
    rows = workload(queries).run(table).to_pylist()
    alone = workload(queries, "never").run(table).to_pylist()
    assert repr(rows) == repr(alone)


def test_thirty_queries_have_thirty_lanes() -> None:
    ends = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(P{i}, T+, E{i}) WHERE T.x < NEXT(T).x" for i in range(30)}
    types = [*(f"P{i}" for i in range(30)), "T", "T", *(f"E{i}" for i in range(30))]
    table = pa.table({"time": range(62), "type": types, "x": range(62)})
    made = workload(ends)
    (part,) = made.prepared.parts(tuple(table.column_names))
    _, arrays, *_ = Run(part, made.prepared.options.for_engine()).prepare(table)
    assert fenwick.count_lanes(arrays.program, arrays.predicates) == 30
    assert execute._Execution(arrays, arrays.main, 1)._tries_doubles
    assert [row["count"] for row in made.run(table).to_pylist()] == [3.0] * 30
