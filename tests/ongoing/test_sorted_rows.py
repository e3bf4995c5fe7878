"""A stream that comes piece by piece gives what its whole table gives, and few of its rows are held."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
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
from tests.conformance.test_random import compiled, table
from tests.runs import run_of

import sparkleene as sk
from sparkleene.engine import cost
from sparkleene.engine.results import add_partial, write_partial
from sparkleene.engine.run import Evaluated
from sparkleene.ongoing import sorted_rows as module
from sparkleene.ongoing import sorted_windows
from sparkleene.ongoing.sorted_rows import SortedRows

TIMED = ("tumbling", "sliding", "hopping")
EXAMPLES = 40


def carried(q: sk.Query, schema: pa.Schema, chunk: int, threads: int = 1) -> SortedRows:
    return SortedRows(run_of(q, schema.names, threads), chunk)


def as_sorted(carry: SortedRows, rows: pa.Table, by: str) -> pa.Table:
    """Return rows as Spark sorts them: by the keys, then by time; rows without a key come too."""
    names = [*dict.fromkeys(path[0] for path in carry.paths), by]
    return rows.take(pc.sort_indices(rows, [(name, "descending") for name in names[:-1]] + [(by, "ascending")]))


def parts(carry: SortedRows, pieces: Sequence[pa.Table], held: list[int] | None = None) -> Iterator[Evaluated]:
    for piece in pieces:
        yield from carry.feed(piece)
        if held is not None:
            held.append(carry.rows)
    yield from carry.end()


def told(q: sk.Query, carry: SortedRows, found: Sequence[pa.Table]) -> pa.Table:
    """Add up partial results, in the order of results."""
    numbers = q.prepared.options.for_engine().numbers
    whole = add_partial(carry.run.plan, pa.concat_tables(found, promote_options="permissive"), numbers)
    names = ["window_start", "window_end", *carry.run.plan.bound.group_names]
    names = [name for name in names if name in whole.column_names]
    return whole.sort_by([(name, "ascending") for name in names]) if names else whole


def once(carry: SortedRows, found: Sequence[pa.Table]) -> None:
    """Where all keys of the shuffle are in GROUP-BY, each group and window comes once."""
    if set(carry.run.plan.shuffle_keys) <= set(carry.run.plan.bound.group):
        names = ["window_start", *carry.run.plan.bound.group_names]
        rows = [tuple(row.get(name) for name in names) for part in found for row in part.to_pylist()]
        assert len(rows) == len(set(rows)), rows


def agree(found: pa.Table, expected: pa.Table) -> None:
    assert found.num_rows == expected.num_rows, f"{found.to_pylist()}\n{expected.to_pylist()}"
    for one, other in zip(found.to_pylist(), expected.to_pylist(), strict=True):
        for name, value in other.items():
            if isinstance(value, float) and not (value.is_integer() and abs(value) <= 2**53):
                same = one[name] == value or math.isclose(one[name], value, rel_tol=1e-9, abs_tol=1e-12)
            else:
                same = one[name] == value
            assert same, f"{name}: {one[name]!r} is not {value!r}\n{found.to_pylist()}\n{expected.to_pylist()}"


@st.composite
def cut(draw: st.DrawFn, rows: pa.Table) -> list[pa.Table]:
    """Draw pieces, some of them empty."""
    edges = sorted(draw(st.lists(st.integers(0, rows.num_rows), max_size=6)))
    edges = draw(st.sampled_from([edges, list(range(rows.num_rows))]))
    return [rows.slice(a, b - a) for a, b in zip([0, *edges], [*edges, rows.num_rows], strict=True)]


def longer(case: strategies.Case) -> pa.Table:
    """Return the rows of a case twice, one after the other."""
    rows = table(case)
    return pa.concat_tables([rows, rows.set_column(0, "time", pc.add(rows["time"], 11))])


@pytest.mark.parametrize(
    "narrow",
    [
        {},
        {"kinds": (*TIMED, "events"), "adjacent": False, "numbers": "double"},
        {"kinds": TIMED, "keys": True},
        {"kinds": ("sliding",), "keys": False},
        {"kinds": ("events",)},
        {"kinds": ("none",), "adjacent": False, "numbers": "double"},
        {"kinds": ("trigger",), "keys": True},
        {"kinds": ("session", "from")},
        {"kinds": ("session", "from"), "keys": True},
        {"once": True},
        {"once": True, "kinds": (*TIMED, "events", "none"), "keys": True, "adjacent": False},
    ],
    ids=[
        "any",
        "linear",
        "timed",
        "sliding",
        "events",
        "whole",
        "trigger",
        "drawn",
        "drawn by key",
        "once",
        "once by key",
    ],
)
def test_random_queries(narrow: dict[str, Any]) -> None:
    seen: Counter[str] = Counter()

    @given(data=st.data())
    @settings(max_examples=cases(EXAMPLES))
    def check(data: st.DataObject) -> None:
        case = data.draw(strategies.case(**narrow))
        q, rows = compiled(case), longer(case)
        chunk = data.draw(st.sampled_from([3, 2, 1, 7, 1000]))
        carry = carried(q, rows.schema, chunk, data.draw(st.integers(1, 2)))
        pieces = data.draw(cut(as_sorted(carry, rows, "time")))
        cell, worth = data.draw(st.sampled_from([(1 << 40, 1 << 40), (1 << 40, 0), (0, 1 << 40)]))
        with (
            patch.object(cost, "CELL", cell),
            patch.object(cost, "WORTH_WORDS", worth),
            patch.object(module, "advance_windows", wraps=sorted_windows.advance_windows) as advanced,
        ):
            found = [write_partial(part) for part in parts(carry, pieces)]
        seen["vectors"] += advanced.call_count
        seen["parts"] += len(found) > 1
        once(carry, found)
        expected = q.run(rows)
        if found:
            agree(told(q, carry, found), expected)
        else:
            assert not expected.num_rows

    check()
    assert seen["parts"] or seen["vectors"], seen


# ---- long streams


def long(rows: int, keys: int = 1) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "k": np.sort(rng.integers(0, keys, rows)).astype(str) if keys > 1 else pa.array(["k"] * rows),
            "time": np.tile(np.arange(rows // keys + 1) // 2, keys)[:rows],
            "type": rng.choice(["A", "B", "C"], rows, p=[0.1, 0.2, 0.7]),
            "x": rng.integers(-9, 9, rows),
            "name": rng.choice(["ann", "bob", "cy"], rows),
        }
    )


SUMS = "RETURN k, COUNT(*), SUM(A.x), MIN(B.x), MAX(name) PATTERN SEQ(A, B) GROUP-BY k"
COUNTS = "RETURN k, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY k"
PAIRS = "RETURN k, COUNT(*), SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x GROUP-BY k"


@pytest.mark.parametrize(
    ("text", "numbers", "most"),
    [
        (f"{SUMS} WITHIN 100 SLIDE 100", "double", 1600),
        (f"{SUMS} WITHIN 100 SLIDE 20", "double", 1600),
        (f"{PAIRS} WITHIN 100 SLIDE 50", "double", 1600),
        (f"{PAIRS} WITHIN 100 SLIDE 50", "exact", 1600),
        (f"{COUNTS} WITHIN 100 SLIDE 50", "double", 1600),
        (f"{SUMS} WITHIN 150 EVENTS SLIDE 50 EVENTS", "double", 1600),
        (f"{PAIRS} WITHIN 150 EVENTS SLIDE 150 EVENTS", "double", 1600),
        (SUMS, "double", 1600),
        (COUNTS, "double", 1600),
        (f"{SUMS} WITHIN 10000 SLIDE 10000", "double", 3000),
        (f"{SUMS} WITHIN 10000 SLIDE 2500", "double", 3000),
        (f"{COUNTS} WITHIN 10000 SLIDE 2500", "double", 3000),
        (f"{SUMS} WITHIN 10000 EVENTS SLIDE 3000 EVENTS", "double", 3000),
        (f"{PAIRS} WITHIN 10000 SLIDE 10000", "double", 43000),
    ],
)
def test_held_rows_are_few(text: str, numbers: Any, most: int) -> None:
    rows = long(100_000 if numbers == "double" else 20_000)
    q = sk.query(text, numbers=numbers)
    carry, held = carried(q, rows.schema, 1000), []
    pieces = [rows.slice(start, 100) for start in range(0, rows.num_rows, 100)]
    found = [write_partial(part) for part in parts(carry, pieces, held)]
    assert max(held) <= most
    once(carry, found)
    agree(told(q, carry, found), q.run(rows))


def test_all_of_it_is_held() -> None:
    """Where trends of the whole stream are compared one by one, or windows end where trends end."""
    rows = long(5000)
    for text in (PAIRS, "RETURN k, COUNT(*) PATTERN SEQ(A, B) GROUP-BY k WITHIN 10"):
        q = sk.query(text)
        carry, held = carried(q, rows.schema, 1000), []
        pieces = [rows.slice(start, 100) for start in range(0, rows.num_rows, 100)]
        found = [write_partial(part) for part in parts(carry, pieces, held)]
        assert held[-1] == rows.num_rows and len(found) == 1
        agree(told(q, carry, found), q.run(rows))


def test_blocks_are_evaluated_together() -> None:
    rows = long(20_000, 400)
    q = sk.query(SUMS)
    carry, held = carried(q, rows.schema, 1000), []
    rows = as_sorted(carry, rows, "time")
    pieces = [rows.slice(start, 100) for start in range(0, rows.num_rows, 100)]
    found = [write_partial(part) for part in parts(carry, pieces, held)]
    assert max(held) <= 1600 and len(found) <= 40
    once(carry, found)
    agree(told(q, carry, found), q.run(rows))


@pytest.mark.parametrize(
    ("type", "unit"), [(pa.float64(), ""), (pa.timestamp("ms"), "milliseconds"), (pa.date32(), "days")], ids=str
)
def test_clocks(type: pa.DataType, unit: str) -> None:
    rows = long(3000)
    time = rows["time"].cast(pa.int32() if pa.types.is_date(type) else pa.int64())
    rows = rows.set_column(1, "time", time.cast(type))
    for size, slide in ((50, 20), (1500, 500)):
        q = sk.query(f"{SUMS} WITHIN {size} {unit} SLIDE {slide} {unit}")
        carry = carried(q, rows.schema, 100)
        pieces = [rows.slice(start, 30) for start in range(0, rows.num_rows, 30)]
        found = [write_partial(part) for part in parts(carry, pieces)]
        once(carry, found)
        agree(told(q, carry, found), q.run(rows))


def test_minima_of_any_type() -> None:
    """Vectors keep minima as values, so that later ones can be told from them whatever their type."""
    size = 60
    columns = {
        "text": pa.array([f"{i * 7 % size:03}" for i in range(size)]),
        "long": pa.array([2**60 + i * 7 % size for i in range(size)]),
        "unsigned": pa.array([2**63 + i * 7 % size for i in range(size)], pa.uint64()),
        "double": pa.array([math.inf, -math.inf, 1.7976931348623157e308, math.nan, None, 0.5] * 10),
        "decimal": pa.array([i * 7 % size for i in range(size)]).cast(pa.decimal128(21, 2)),
        "coded": pa.array([f"{i * 7 % size:03}" for i in range(size)]).dictionary_encode(),
        "flag": pa.array([False, True, None] * 20),
        "day": pa.array([i * 7 % size for i in range(size)], pa.int32()).cast(pa.date32()),
    }
    rows = pa.table({"time": range(size), "type": ["A", "B"] * (size // 2), **columns})
    outputs = ", ".join(f"MIN({name}), MAX(A.{name})" for name in columns)
    q = sk.query(f"RETURN {outputs} PATTERN SEQ(A, B)")
    for chunk in (2, 7):
        carry = carried(q, rows.schema, chunk)
        assert carry.linear
        pieces = [rows.slice(start, 5) for start in range(0, size, 5)]
        found = [write_partial(part) for part in parts(carry, pieces)]
        assert told(q, carry, found).to_pylist() == q.run(rows).to_pylist()


def test_mistakes_in_the_data_are_told() -> None:
    rows = pa.table({"time": [1, 2, None], "type": ["A", "B", "A"]})
    carry = carried(sk.query("RETURN COUNT(*) PATTERN SEQ(A, B)"), rows.schema, 2)
    with pytest.raises(sk.DataError) as caught:
        list(parts(carry, [rows]))
    assert caught.value.diagnostics[0].code == "null-time"
