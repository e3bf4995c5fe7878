"""Stretches of a table's parts, put together, give what the whole table gives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.strategies import SEMANTICS
from tests.conformance.test_random import compiled as query_of
from tests.conformance.test_random import table as table_of
from tests.runs import run_of

import sparkleene as sk
from sparkleene.columns.reading import EngineOptions
from sparkleene.engine import cost
from sparkleene.engine.results import write_results
from sparkleene.engine.run import Run
from sparkleene.ongoing.compose import compose, why_not_combined
from sparkleene.ongoing.stretches import stretches

TIMED = ("none", "tumbling", "sliding", "hopping")
ALWAYS, NEVER = 1 << 40, 0  # bytes of a cell, so that matrices pay or do not
EXAMPLES = 40
MOST = 1.7976931348623157e308


def planned(q: sk.Query, table: pa.Table, threads: int = 1) -> Run:
    return run_of(q, table.column_names, threads)


def together(
    q: sk.Query, parts: Sequence[pa.Table], *, cells: Sequence[int] = (ALWAYS,), threads: int = 1
) -> tuple[pa.Table | None, int]:
    """Run the stretches of all parts through `compose`; return the result and the number of units."""
    run = planned(q, parts[0], threads)
    assert why_not_combined(run.plan, parts[0].schema, run.options) is None
    units, rows = [], []
    for i, part in enumerate(parts):
        with patch.object(cost, "CELL", cells[i % len(cells)]):
            of_part, left = stretches(run, part)
        assert left.schema == part.schema
        units.append(as_shuffled(of_part) if i % 2 else of_part)
        rows.append(left)
    if len({one.schema for one in units}) > 1:
        units = list(map(as_shuffled, units))
    every = pa.concat_tables(units)
    found = compose(run, every, pa.concat_tables(rows))
    return None if found is None else write_results(found), every.num_rows


def as_shuffled(units: pa.Table) -> pa.Table:
    """Return units in another order, with plain keys, as a shuffle would leave them."""
    for i, name in enumerate(units.column_names):
        column = units.column(name)
        if pa.types.is_dictionary(column.type):
            units = units.set_column(i, name, column.cast(column.type.value_type))
    return units.take(pa.array(np.arange(units.num_rows)[::-1].copy()))


def longer(case: strategies.Case) -> pa.Table:
    """Return the rows of a case three times, one after the other."""
    table = table_of(case)
    later = [table.set_column(0, "time", pc.add(table["time"], 11 * i)) for i in range(3)]
    return pa.concat_tables(later)


def agree(found: pa.Table, expected: pa.Table) -> None:
    """Compare results: integers that doubles hold are the same, others are close."""
    assert found.schema == expected.schema
    assert found.num_rows == expected.num_rows, f"{found.to_pylist()}\n{expected.to_pylist()}"
    for one, other in zip(found.to_pylist(), expected.to_pylist(), strict=True):
        for name, value in other.items():
            exact = not isinstance(value, float) or (value.is_integer() and abs(value) <= 2**53)
            close = exact or math.isclose(one[name], value, rel_tol=1e-12) or value != value != one[name]
            same = one[name] == value if exact else close
            assert same, f"{name}: {one[name]!r} is not {value!r}\n{found.to_pylist()}"


@st.composite
def in_time(draw: st.DrawFn, table: pa.Table) -> list[pa.Table]:
    """Draw parts that follow each other in time, in any order; a time may be parted."""
    order = np.argsort(table["time"].to_numpy(), kind="stable")
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    parts = [table.take(pa.array(some)) for some in np.split(order, cuts)]
    return list(draw(st.permutations(parts)))


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("negation", [False, True], ids=["positive", "negation"])
def test_parts_in_time(semantics: str, negation: bool) -> None:
    seen: Counter[str] = Counter()

    @given(data=st.data())
    @settings(max_examples=cases(EXAMPLES))
    def check(data: st.DataObject) -> None:
        case = data.draw(
            strategies.case(semantics=semantics, negation=negation, adjacent=False, kinds=TIMED, numbers="double")
        )
        q, table = query_of(case), longer(case)
        run = planned(q, table)
        if why_not_combined(run.plan, table.schema, run.options) is not None:
            return
        parts = data.draw(in_time(table))
        cells = data.draw(st.sampled_from([[ALWAYS], [ALWAYS], [NEVER], [ALWAYS, NEVER, NEVER]]))
        found, units = together(q, parts, cells=cells, threads=data.draw(st.integers(1, 2)))
        assert found is not None
        agree(found, q.run(table))
        seen["units" if units else "rows"] += 1

    check()
    assert seen["units"] and seen["rows"]


@pytest.mark.parametrize("kind", ["conjunction", "keys", "tiebreak"])
def test_features(kind: str) -> None:
    seen: Counter[str] = Counter()

    @given(data=st.data())
    @settings(max_examples=cases(EXAMPLES))
    def check(data: st.DataObject) -> None:
        case = data.draw(
            strategies.case(adjacent=False, kinds=TIMED, numbers="double", **{kind: True})  # type: ignore[arg-type]
        )
        q, table = query_of(case), longer(case)
        run = planned(q, table)
        if why_not_combined(run.plan, table.schema, run.options) is not None:
            return
        if data.draw(st.booleans()):  # times that are doubles
            table = table.set_column(0, "time", table["time"].cast(pa.float64()))
        found, units = together(q, data.draw(in_time(table)))
        assert found is not None
        agree(found, q.run(table))
        seen["units"] += units > 0

    check()
    assert seen["units"]


def test_parts_of_two_stretches_or_of_any_rows() -> None:
    """Where stretches overlap there is no result, never a wrong one."""
    seen: Counter[str] = Counter()

    @given(data=st.data())
    @settings(max_examples=cases(150))
    def check(data: st.DataObject) -> None:
        case = data.draw(strategies.case(adjacent=False, kinds=TIMED, numbers="double", keys=False))
        q, table = query_of(case), longer(case)
        how = data.draw(st.sampled_from(["merged", "any"]))
        if how == "merged":
            parts = data.draw(in_time(table))
            parts = [pa.concat_tables(parts[:2]), *parts[2:]]
        else:
            of = np.array([data.draw(st.integers(0, 2)) for _ in range(table.num_rows)], np.int64)
            parts = [table.take(pa.array(np.flatnonzero(of == part))) for part in range(3)]
        found, units = together(q, parts)
        seen[f"{how} {found is not None} {units > 0}"] += 1
        if found is not None:
            agree(found, q.run(table))

    check()
    assert seen["merged True True"] and seen["any False True"], seen


# ---- larger tables


def large(rows: int = 4000, keys: int = 3, last: int = 2000) -> pa.Table:
    rng = np.random.default_rng(7)
    values = rng.choice([0.5, -1.5, 3.0, math.inf, -math.inf, math.nan, MOST], rows)
    return pa.table(
        {
            "time": np.sort(rng.integers(0, last, rows)),
            "type": rng.choice(["A", "A", "B", "C"], rows),
            "k": pa.array(rng.integers(0, keys, rows)).cast(pa.string()),
            "j": rng.integers(0, 2, rows),
            "x": rng.integers(0, 50, rows),
            "f": pa.array(values),
            "h": pa.array(np.where(values == MOST, 2.0**127, values)).cast(pa.float32()),
            "b": rng.random(rows) < 0.5,
            "d": pa.array(rng.integers(-9, 9, rows).astype(np.int32)).cast(pa.date32()),
            "t": pa.array(rng.integers(-9, 10**15, rows)).cast(pa.timestamp("us")),
        }
    )


def cut(table: pa.Table, count: int = 4) -> list[pa.Table]:
    edges = np.linspace(0, table.num_rows, count + 1).astype(int)
    return [table.slice(a, b - a) for a, b in pairwise(edges.tolist())][::-1]


WINDOWS = ["", "WITHIN 400 SLIDE 400", "WITHIN 300 SLIDE 100", "WITHIN 100 SLIDE 250"]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("clock", ["int64", "float64", "timestamp", "date32"])
def test_clocks(window: str, clock: str) -> None:
    table = large()
    kind = {"timestamp": pa.timestamp("s"), "date32": pa.date32()}.get(clock) or clock
    middle = pa.int32() if clock == "date32" else pa.int64()
    table = table.set_column(0, "time", table["time"].cast(middle).cast(kind))
    unit = {"timestamp": " seconds", "date32": " hours"}.get(clock, "")
    words = [f"{word}{unit}" if word.isdigit() else word for word in window.split()]
    text = "RETURN k, COUNT(*), SUM(A.x), MIN(B.x) PATTERN SEQ(A+, NOT C, B) WHERE [j] GROUP-BY k"
    q = sk.query(f"{text} {' '.join(words)}", offset=0 if clock == "float64" else None)
    found, units = together(q, cut(table), threads=2)
    assert found is not None and units and found.num_rows
    agree(found, q.run(table))


@pytest.mark.parametrize("window", WINDOWS)
def test_huge_counts_are_wide(window: str) -> None:
    table = large(6000, 1)
    q = sk.query(f"RETURN LOG2(COUNT(*)) AS l, COUNT(*), AVG(A.x) PATTERN (SEQ(A+, B))+ {window}")
    found, units = together(q, cut(table))
    assert found is not None and units
    assert window or found["l"][0].as_py() > 2000
    expected = q.run(table)
    for name in expected.column_names:
        np.testing.assert_allclose(found[name].to_numpy(), expected[name].to_numpy(), rtol=1e-9)


@pytest.mark.parametrize("worth", [0, 1 << 40], ids=["words", "linear"])
@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("window", WINDOWS)
def test_counts(window: str, semantics: str, worth: int) -> None:
    table = large()
    q = sk.query(f"RETURN k, COUNT(*) PATTERN SEQ(A, B+) SEMANTICS {semantics} GROUP-BY k {window}")
    with patch.object(cost, "WORTH_WORDS", worth):
        found, units = together(q, cut(table))
    assert found is not None and units
    agree(found, q.run(table))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ["f", "h", "b", "d", "t", "x"])
def test_minima(window: str, name: str) -> None:
    table = large(400, 20, 3000)
    q = sk.query(f"RETURN k, MIN({name}), MAX({name}), COUNT(*) PATTERN SEQ(A, B) GROUP-BY k {window}")
    found, units = together(q, cut(table))
    assert found is not None and units and found.num_rows
    agree(found, q.run(table))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, MOST, 0.0])
def test_only_such_values(value: float) -> None:
    table = pa.table({"time": range(20), "type": ["A"] * 20, "f": [value] * 20})
    q = sk.query("RETURN MIN(A.f) AS low, MAX(A.f) AS high PATTERN A")
    found, units = together(q, cut(table))
    assert found is not None and units
    assert found.to_pylist() == q.run(table).to_pylist()


def test_values_without_keys_leave_rows() -> None:
    """Where a value has no key that all tables share there are rows, and no result beside units."""
    q = sk.query("RETURN MIN(A.x) AS low, MAX(A.x) AS high PATTERN A")
    for few, odd in (([1, 2], 2**60 + 1), ([1.0, 2.0], float(np.nextafter(MOST, 0)))):
        tables = [pa.table({"time": range(9), "type": ["A"] * 9, "x": few * 4 + [odd]})]
        found, units = together(q, tables)
        assert units == 0 and found is not None
        assert found.to_pylist() == [{"low": few[0], "high": odd}]
        tables.append(pa.table({"time": range(20, 28), "type": ["A"] * 8, "x": few * 4}))
        found, units = together(q, tables)
        assert units and found is None


def test_ready_masks() -> None:
    table = large()
    q = sk.query("RETURN k, COUNT(*), SUM(B.x) PATTERN SEQ(A+, B) GROUP-BY k WITHIN 300 SLIDE 100")
    run = planned(q, table)
    bits = {"A": 1, "B": 2, "C": 0}
    mask = pa.array([bits[one] for one in table["type"].to_pylist()], pa.int32())
    ready = table.select(["time", "k", "x"]).append_column("mask", mask)
    run = replace(run, options=EngineOptions(time="time", type=None, masks=("mask",)))
    units, rows = zip(*(stretches(run, part) for part in cut(ready)), strict=True)
    found = compose(run, pa.concat_tables(units), pa.concat_tables(rows))
    assert found is not None
    agree(write_results(found), q.run(table))


def test_partitions_of_sub_streams() -> None:
    """Each partition of a shuffle holds some sub-streams: often units without a row."""
    table = large(2000, 20)
    q = sk.query("RETURN k, COUNT(*), MAX(B.x) PATTERN SEQ(A, B) GROUP-BY k WITHIN 300 SLIDE 100")
    run = planned(q, table)
    with patch.object(cost, "CELL", ALWAYS):
        made = [stretches(run, part) for part in cut(table)]
    units, rows = (pa.concat_tables(some) for some in zip(*made, strict=True))
    units, bare = as_shuffled(units), 0
    for k in range(20):
        mine = pc.equal(table["k"], str(k))
        some, few = (one.filter(pc.equal(one[n], str(k))) for one, n in ((units, "k0"), (rows, "k")))
        bare += few.num_rows == 0
        result = compose(run, some, few)
        assert result is not None
        agree(write_results(result), q.run(table.filter(mine)))
    assert bare


def test_units_are_few() -> None:
    """A unit per sub-stream and pane, however many rows; rows only at the ends of the table."""
    for rows in (4000, 16000):
        table = large(rows)
        q = sk.query("RETURN k, COUNT(*) PATTERN A+ WHERE [j] GROUP-BY k WITHIN 100 SLIDE 100")
        run = planned(q, table)
        units, left = stretches(run, table)
        assert units.num_rows == 6 * 20
        assert left.num_rows < rows / 200
        assert {len(one.as_py()) for one in units["matrix"]} <= {32, 64}


def test_a_hole_parts_a_table() -> None:
    """A table of two files far apart has units on both sides, and rows at all four ends."""
    times = [*range(100), *range(500, 600)]
    table = pa.table({"time": times, "type": ["A"] * 200})
    q = sk.query("RETURN COUNT(*) PATTERN SEQ(A, A b)")
    run = planned(q, table)
    with patch.object(cost, "CELL", ALWAYS):
        units, left = stretches(run, table)
    assert left["time"].to_pylist() == [0, 99, 500, 599]
    assert sorted(zip(units["first"].to_pylist(), units["last"].to_pylist(), strict=True)) == [(1, 98), (501, 598)]
    between = pa.table({"time": range(99, 501), "type": ["A"] * 402})
    found, _ = together(q, [table, between])
    assert found is not None
    agree(found, q.run(pa.concat_tables([table, between])))


@pytest.mark.parametrize(
    ("text", "numbers", "word"),
    [
        ("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x", "double", "adjacent"),
        ("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [A.k]", "double", "labels"),
        ("RETURN COUNT(*) PATTERN A+ WITHIN 10", "double", "slide"),
        ("RETURN COUNT(*) PATTERN A+ WITHIN 10 EVENTS SLIDE 5 EVENTS", "double", "events"),
        ("RETURN COUNT(*) PATTERN A+", "exact", "exact"),
        ("RETURN MIN(A.k) PATTERN A+", "double", "'k' (string)"),
        ("RETURN MIN(A.x), MAX(A.f), MIN(A.t) PATTERN A+ WITHIN 10 SLIDE 5", "double", None),
    ],
)
def test_reasons(text: str, numbers: Any, word: str | None) -> None:
    table = large(10)
    run = planned(sk.query(text, numbers=numbers), table)
    reason = why_not_combined(run.plan, table.schema, run.options)
    assert reason is None if word is None else reason is not None and word in reason
