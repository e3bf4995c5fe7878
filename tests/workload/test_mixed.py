"""Workloads of queries that differ in windows, keys, aggregates and conditions: all ways to share give the same."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance.strategies import SEMANTICS
from tests.conformance.test_random import almost, same

import sparkleene as sk
from sparkleene.language.bind import bind
from sparkleene.language.parser import parse
from sparkleene.reference import evaluate
from sparkleene.workload import workload

COLUMNS = ("time", "type", "k", "d", "x")
PATTERNS = (
    "SEQ(A, B+)", "SEQ(A, B+, C)", "SEQ(A, B+, NOT C)", "SEQ(A, NOT C, B)", "SEQ(NOT C, A, B+)", "SEQ(A?, B)", "B+",
    "(SEQ(A+, B))+", "SEQ(B, C?)", "SEQ(A OR C, B)",
)  # fmt: skip
WINDOWS = (
    "",
    "WITHIN 4 SLIDE 2",
    "WITHIN 6 SLIDE 3",
    "WITHIN 6 SLIDE 1",
    "WITHIN 5 SLIDE 5",
    "WITHIN 3",
    "WITHIN 5",
    "WITHIN SESSION 2",
)
KEYS = (
    "",
    "WHERE [k]",
    "WHERE [B.d]",
    "WHERE [k] {} GROUP-BY B.d",
    "WHERE [k, B.d] {} GROUP-BY k",
    "GROUP-BY B.d, k",
)
AGGREGATES = (
    "COUNT(*)", "SUM(B.x)", "AVG(B.x)", "MIN(B.x)", "MAX(B.x)", "COUNT(B)", "MAX(LENGTH())", "SUM(LENGTH())",
    "MIN(SUM(B.x))", "AVG(DURATION())", "STDDEV(B.x)", "COUNT(EACH B)",
)  # fmt: skip
CONDITIONS = ("", "", "B.x < 3", "A.x > 1", "A.x <= NEXT(B).x")


@st.composite
def texts(draw: st.DrawFn, semantics: str) -> dict[str, str]:
    """Draw queries that mostly have keys in common, and now and then windows and conditions."""
    usual = draw(st.sampled_from(KEYS)), draw(st.sampled_from(WINDOWS))
    found = {}
    for n in range(draw(st.integers(2, 5))):
        keys = usual[0] if draw(st.integers(0, 4)) else draw(st.sampled_from(KEYS))
        window = usual[1] if draw(st.booleans()) else draw(st.sampled_from(WINDOWS))
        window = "" if "SESSION" in window and "B.d" in keys else window  # which rows draw is told by keys of all
        pattern = draw(st.sampled_from(PATTERNS))
        condition = draw(st.sampled_from([c for c in CONDITIONS if not c or c[0] in pattern.replace("NOT A", "")]))
        chosen = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
        returns = ", ".join(f"{one} AS m{n}_{i}" for i, one in enumerate(chosen))
        where, _, group = keys.partition("GROUP-BY")
        where = where.replace("{}", "").strip()
        both = " AND ".join(one for one in (where.removeprefix("WHERE "), condition) if one)
        group = f"GROUP-BY {group}" if group else ""
        found[f"q{n}"] = " ".join(
            f"RETURN {returns} PATTERN {pattern} SEMANTICS {semantics} "
            f"{f'WHERE {both}' if both else ''} {group} {window}".split()
        )
    return found


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw rows of a few keys, with ties and NULLs, half of the time in no order."""
    row = st.fixed_dictionaries(
        {
            "type": st.sampled_from("ABBC"),
            "k": st.sampled_from([0, 0, 1]),
            "d": st.sampled_from([0, 0, 1, None]),
            "x": st.sampled_from([0, 1, 2, 3, 4, None]),
        }
    )
    rows = draw(st.lists(row, min_size=1, max_size=10))
    steps = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    made = [{"time": sum(steps[: i + 1]), **row} for i, row in enumerate(rows)]
    return draw(st.permutations(made)) if draw(st.booleans()) else made


def to_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as a table."""
    kinds = {"time": pa.int64(), "type": pa.string(), "k": pa.int64(), "d": pa.int64(), "x": pa.int64()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def close(row: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(same(row[name], value) or almost(row[name], value) for name, value in wanted.items())


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("semantics", SEMANTICS)
@given(data=st.data())
@settings(max_examples=cases(25))
def test_all_ways_are_what_is_defined(semantics: str, numbers: str, data: st.DataObject) -> None:
    queries, rows = data.draw(texts(semantics)), data.draw(streams())
    note(f"{queries}\n{rows}")
    table = to_table(rows)
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
