"""Conditions on the time between neighbours, over times of every kind, against the reference over plain numbers."""

from __future__ import annotations

import random
import re
from typing import Any

import pyarrow as pa
import pytest
from tests.chance import cases, rest
from tests.conformance.engines import through_tasks
from tests.conformance.test_random import almost, same

import sparkleene as sk
from sparkleene.language import parse
from sparkleene.language.bind import bind
from sparkleene.reference import evaluate

SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
TIMES = [pa.int64(), pa.float64(), *(pa.timestamp(unit, zone) for unit in SECONDS for zone in (None, "UTC"))]
PATTERNS = [
    "A+", "SEQ(A+, B)", "SEQ(A, B+)", "(SEQ(A+, B))+", "SEQ(A, NOT C, B)", "SEQ(A+, NOT C, B)", "A+ AND SEQ(A+, B)",
    "SEQ(A X, A Y, B)", "SEQ(NOT C, A+)",
]  # fmt: skip
GAPS = [
    "GAP <= 3 seconds", "GAP < 2 s", "GAP >= 2 seconds", "GAP > 1500 ms", "1 s < GAP <= 3 s", "GAP = 2 seconds",
    "GAP <= 2500 ms AND GAP >= 1 s", "GAP BETWEEN 2 s AND 4 s", "GAP * 2 <= 5 s", "GAP >= -1 s", "GAP < 0 s",
]  # fmt: skip
OUTPUTS = [
    "SUM(A.x) AS m1", "MIN(A.x) AS m2", "AVG(LENGTH) AS m3", "MAX(LENGTH) AS m4", "AVG(DURATION) AS m5",
    "MIN(DURATION) AS m6", "STDDEV_POP(DURATION) AS m7", "AVG(LAST(A.time) - FIRST(A.sent)) AS m8",
    "MAX(LAST(A.sent) - FIRST(A.time)) AS m9",
]  # fmt: skip
SEMANTICS = ["skip-till-any-match", "skip-till-next-match", "contiguous"]


def rows_of(rng: random.Random) -> list[dict[str, Any]]:
    """Draw a few rows; some are of one time."""
    times = sorted(rng.randint(0, rng.choice([8, 20])) for _ in range(rng.randint(0, 10)))
    return [
        {"time": t, "type": rng.choice("AAABBC"), "x": rng.randint(-3, 3), "k": rng.randint(0, 1),
         "sent": t - rng.randint(0, 3)}
        for t in times
    ]  # fmt: skip


def text_of(rng: random.Random, semantics: str) -> str:
    """Draw a query with a gap."""
    outputs = rng.sample(OUTPUTS, rng.randint(0, 2)) if rng.random() < 0.6 else []
    pattern = rng.choice(PATTERNS)
    if "AND" in pattern or "A X" in pattern:
        outputs = []
    key = rng.choice(["", "[k] AND "])
    window = rng.choice(["", " WITHIN 8 SLIDE 8", " WITHIN 9 SLIDE 3"])
    returns = ", ".join(["COUNT(*)", *outputs])
    return f"RETURN {returns} PATTERN {pattern} SEMANTICS {semantics} WHERE {key}{rng.choice(GAPS)}{window}"


def times_of(rows: list[dict[str, Any]], name: str, kind: pa.DataType) -> pa.Array:
    """Return a column of times of a kind."""
    per_second = SECONDS[kind.unit] if pa.types.is_timestamp(kind) else 1
    return pa.array([row[name] * per_second for row in rows], pa.int64()).cast(kind)


def table_of(rows: list[dict[str, Any]], kind: pa.DataType, rng: random.Random) -> pa.Table:
    """Return the rows with times of a kind, and others of any unit."""
    other = pa.timestamp(rng.choice([*SECONDS]), kind.tz) if pa.types.is_timestamp(kind) else kind
    columns = {"type": pa.string(), "x": pa.int64(), "k": pa.int64()}
    plain = {name: pa.array([row[name] for row in rows], type) for name, type in columns.items()}
    return pa.table({"time": times_of(rows, "time", kind), "sent": times_of(rows, "sent", other), **plain})


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("seeds", [range(40), *rest([range(40, cases(600))])], ids=str)
def test_gaps(semantics: str, numbers: str, seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        rows, text, kind = rows_of(rng), text_of(rng, semantics), rng.choice(TIMES)
        unit = None if pa.types.is_timestamp(kind) else "seconds"
        data = table_of(rows, kind, rng)
        wanted = evaluate(bind(parse(text), columns=tuple(data.column_names), time_unit="seconds"), rows)
        if unit is None:
            text = re.sub(r"(WITHIN|SLIDE) (\d)", r"\1 \2 seconds", text)
        query = sk.query(text, time_unit=unit, numbers=numbers)  # type: ignore[arg-type]
        for found in (query.run(data).to_pylist(), through_tasks(query, data)):
            told = f"seed {seed}: {text} over {kind}\n{rows}\n{found}\n{wanted}"
            assert len(found) == len(wanted), told
            for one, other in zip(found, wanted, strict=True):
                for name, value in other.items():
                    got = one[name]
                    if name.startswith("window") and unit is None:
                        got = int(pa.scalar(got, kind).cast(pa.int64()).as_py() // SECONDS[kind.unit])
                    assert same(got, value) or (name.startswith("m") and almost(got, value)), told


def test_upper_and_lower_bounds_are_queues() -> None:
    for gap in GAPS:
        explained = sk.query(f"RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE {gap}", time_unit="seconds").explain()
        assert "by queue: O(n)" in explained, gap
    for other in ("GAP <= 3 AND A.x < NEXT(A).x", "A.x <= NEXT(A).x", "A.time + 1 <= 9 - NEXT(A).time"):
        assert "queue" not in sk.query(f"RETURN COUNT(*) PATTERN A+ WHERE {other}").explain()
    for written in ("A.time >= NEXT(A).time - 300", "NEXT(A).time - 2 > A.time", "NEXT(A).time < A.time + 300"):
        assert "by queue" in sk.query(f"RETURN COUNT(*) PATTERN A+ WHERE {written}").explain()


def test_events_that_not_moves_are_in_trees() -> None:
    explained = sk.query("RETURN COUNT(*) PATTERN SEQ(A+, NOT C, B) WHERE GAP <= 3").explain()
    assert "by tree: O(n log n)" in explained and "queue" not in explained
    assert "by queue" in sk.query("RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) WHERE GAP <= 3").explain()
