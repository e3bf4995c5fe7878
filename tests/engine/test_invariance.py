"""What must not change a result does not: the order and layout of rows, threads, the path through the engine."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from tests.chance import cases, rest
from tests.conformance.strategies import KINDS, WINDOWS, Case, case

import sparkleene as sk
from sparkleene.engine import cost, execute
from sparkleene.kernels import words

Rows = list[dict[str, Any]]

EXAMPLES = 40
BY_TIME = tuple(kind for kind in WINDOWS if kind != "events")
BY_CLOCK = tuple(kind for kind in BY_TIME if kind not in ("session", "from"))  # whatever rows there are


# ---- cases and how they are run


def table(rows: Any) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in KINDS.items()})


def query(drawn: Case) -> sk.Query:
    try:
        return sk.query(
            drawn.text,
            type=drawn.type,
            tiebreak=drawn.tiebreak,
            offset=drawn.offset,
            numbers=drawn.numbers,  # type: ignore[arg-type]
        )
    except sk.QueryError as error:
        assume(error.diagnostics[0].code != "ambiguous-negation")
        raise


def run(drawn: Case, data: pa.Table | None = None, threads: int | None = None) -> Rows:
    found = query(drawn).run(table(drawn.rows) if data is None else data, threads=threads)
    return found.to_pylist()  # type: ignore[no-any-return]


def same(one: Rows, two: Rows, tolerance: float = 1e-12) -> bool:
    """Compare results; whole numbers up to 2^53 are exact, others are rounded in the order of their sums."""

    def close(a: Any, b: Any) -> bool:
        if isinstance(a, float) and isinstance(b, float) and a != b:
            return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
        return bool(a == b)

    return len(one) == len(two) and all(
        list(a) == list(b) and all(close(a[name], b[name]) for name in a) for a, b in zip(one, two, strict=True)
    )


def check(drawn: Case, changed: Rows, tolerance: float = 1e-12) -> None:
    note(f"{drawn}")
    expected = run(drawn)
    assert same(changed, expected, tolerance), f"{changed}\n{expected}"


# ---- rows


@given(drawn=case(kinds=BY_TIME), order=st.randoms(use_true_random=False))
@settings(max_examples=cases(EXAMPLES))
def test_order_of_rows(drawn: Case, order: random.Random) -> None:
    shuffled = list(drawn.rows)
    order.shuffle(shuffled)
    check(drawn, run(drawn, table(shuffled)))


@given(drawn=case(kinds=("events",), max_rows=9), order=st.randoms(use_true_random=False))
@settings(max_examples=cases(EXAMPLES))
def test_order_of_rows_that_are_counted(drawn: Case, order: random.Random) -> None:
    apart = tuple({**row, "time": 10 * i + row["time"]} for i, row in enumerate(drawn.rows))
    drawn = replace(drawn, rows=apart)
    assume(len({row["time"] for row in apart}) == len(apart))
    shuffled = list(apart)
    order.shuffle(shuffled)
    check(drawn, run(drawn, table(shuffled)))


@given(drawn=case(), cuts=st.lists(st.integers(0, 12)), dictionary=st.booleans())
@settings(max_examples=cases(EXAMPLES))
def test_layout_of_columns(drawn: Case, cuts: list[int], dictionary: bool) -> None:
    whole = table(drawn.rows)
    edges = sorted({0, len(drawn.rows), *(cut for cut in cuts if cut <= len(drawn.rows))})
    columns = {}
    for name in whole.column_names:
        # each chunk is a slice of a longer array, so that offsets are not zero
        column = whole[name].combine_chunks()
        padded = pa.concat_arrays([column, column, column])
        parts = [padded.slice(len(column) + a, b - a) for a, b in pairwise(edges)]
        if dictionary and name in ("type", "k"):
            parts = [part.dictionary_encode() for part in parts]
        kind = parts[0].type if parts else column.type
        columns[name] = pa.chunked_array(parts, kind)
    check(drawn, run(drawn, pa.table(columns)))


@pytest.mark.parametrize("threads", [1, 2, 5])
@given(drawn=case())
@settings(max_examples=cases(EXAMPLES // 2))
def test_threads(threads: int, drawn: Case) -> None:
    check(drawn, run(drawn, threads=threads))


@given(data=st.data())
@settings(max_examples=cases(EXAMPLES))
def test_a_row_of_another_type(data: st.DataObject) -> None:
    semantics = data.draw(st.sampled_from(["skip-till-any-match", "skip-till-next-match"]))
    drawn = data.draw(case(semantics=semantics, kinds=BY_CLOCK))
    assume(drawn.type is not None)
    other = {
        "time": data.draw(st.integers(-5, 15)),
        "type": "Y",
        "s": data.draw(st.integers(0, 2)),
        "x": data.draw(st.sampled_from([0, 9, None])),
        "y": data.draw(st.sampled_from([1, 9, None])),
        "f": data.draw(st.sampled_from([0.5, math.nan, None])),
        "k": data.draw(st.sampled_from([1, 7, None])),
    }
    check(drawn, run(drawn, table([other, *drawn.rows])))


# ---- time


def moved(drawn: Case, by: int) -> Case:
    return replace(drawn, rows=tuple({**row, "time": row["time"] + by} for row in drawn.rows))


def back(rows: Rows, by: int) -> Rows:
    return [
        {name: value - by if name.startswith("window_") else value for name, value in row.items()} for row in rows
    ]


@given(drawn=case(kinds=BY_TIME), by=st.integers(-(10**6), 10**6) | st.sampled_from([-(2**62), 2**62]))
@settings(max_examples=cases(EXAMPLES))
def test_offset_moves_with_the_times(drawn: Case, by: int) -> None:
    later = replace(moved(drawn, by), offset=drawn.offset + by)
    check(drawn, back(run(later), by))


@given(drawn=case(kinds=("tumbling", "sliding", "hopping")), slides=st.integers(-1000, 1000))
@settings(max_examples=cases(EXAMPLES))
def test_times_move_by_slides(drawn: Case, slides: int) -> None:
    by = slides * int(drawn.text.split()[-1])
    check(drawn, back(run(moved(drawn, by)), by))


@given(drawn=case(kinds=BY_TIME))
@settings(max_examples=cases(EXAMPLES))
def test_integers_and_doubles_as_times(drawn: Case) -> None:
    data = table(drawn.rows)
    data = data.set_column(0, "time", data["time"].cast(pa.float64()))
    check(drawn, run(drawn, data))


# ---- paths through the engine


@contextmanager
def wide() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "SAFE_BITS", 0)
        patch.setattr(cost, "WORTH_WORDS", 0)
        yield


@contextmanager
def without_words() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "WORTH_WORDS", 1 << 60)
        yield


@contextmanager
def composed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "sliding_way", lambda *_: "units")
        patch.setattr(execute, "BLOCK", 1)
        patch.setattr(cost, "WORTH_WORDS", 0)
        yield


@contextmanager
def apart() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "sliding_way", lambda *_: "each")
        yield


@contextmanager
def by_rows() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "sliding_way", lambda *_: "rows")
        yield


@contextmanager
def wide_by_rows() -> Iterator[None]:
    with wide(), by_rows():
        yield


@contextmanager
def cut() -> Iterator[None]:
    """Cut every window into stretches of a few rows, counted in chunks of two."""
    prepare = words.prepare
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "STRETCH", 3)
        patch.setattr(cost, "WORTH_WORDS", 0)
        patch.setattr(words, "prepare", lambda program: prepare(program)._replace(chunk=2))
        patch.setattr(cost, "sliding_way", lambda *_: "each")
        yield


@contextmanager
def composed_without_words() -> Iterator[None]:
    with composed(), without_words():
        yield


@contextmanager
def wide_without_words() -> Iterator[None]:
    with wide(), without_words(), apart():
        yield


PATHS: list[Callable[[], Any]] = [
    wide, without_words, composed, apart, cut, composed_without_words, wide_without_words, by_rows, wide_by_rows,
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
@given(data=st.data())
@settings(max_examples=cases(EXAMPLES // 2))
def test_paths(path: Callable[[], Any], data: st.DataObject) -> None:
    """Without adjacent predicates there are several ways to the same numbers."""
    drawn = data.draw(case(adjacent=False, numbers="double"))
    with path():
        changed = run(drawn, threads=2)
    check(drawn, changed)


@given(drawn=case(adjacent=False, kinds=("events",)))
@settings(max_examples=cases(EXAMPLES))
def test_windows_of_events_part_ticks(drawn: Case) -> None:
    """Such windows begin and end in the midst of ticks, and so would the panes that they are made of."""
    with composed():
        changed = run(drawn)
    check(drawn, changed)


@given(drawn=case(adjacent=True, numbers="double"))
@settings(max_examples=cases(EXAMPLES))
def test_wide_numbers_with_predicates(drawn: Case) -> None:
    with wide():
        changed = run(drawn)
    check(drawn, changed)


def exact_as_doubles(rows: Rows, query: sk.Query) -> Rows:
    """Return exact results as double mode writes them."""
    texts = {output.name for output in query.plan.bound.outputs if output.function in ("count", "sum")}

    def double(name: str, value: Any) -> Any:
        return float(Fraction(value)) if name in texts and isinstance(value, str) else value

    return [{name: double(name, value) for name, value in row.items()} for row in rows]


@given(drawn=case(numbers="double"))
@settings(max_examples=cases(EXAMPLES))
def test_exact_and_double(drawn: Case) -> None:
    exact = replace(drawn, numbers="exact")
    check(drawn, exact_as_doubles(run(exact), query(exact)))


# ---- longer streams, where nothing can be enumerated

NEXT, CONTIGUOUS = "SEMANTICS skip-till-next-match", "SEMANTICS contiguous"
LONG = {
    "kleene": "A+",
    "kleene in windows": "A+ WITHIN 60 SLIDE 10",
    "sequence": "SEQ(A+, B) GROUP-BY k WITHIN 100 SLIDE 100",
    "sequences in windows": "(SEQ(A+, B))+ WITHIN 80 SLIDE 7",
    "next": f"(SEQ(A+, B))+ {NEXT} WITHIN 50 SLIDE 5",
    "contiguous": f"SEQ(A, B?) {CONTIGUOUS} WHERE [k]",
    "negation": "SEQ(A, NOT C, B) WITHIN 40 SLIDE 10",
    "edges": "SEQ(NOT D, A+, B, NOT SEQ(C, D)) WHERE [k] WITHIN 30 SLIDE 10",
    "trigger": "SEQ(A+, B) WHERE [k, y] GROUP-BY k WITHIN 25",
    "trigger without keys": "SEQ(A, B, C) WITHIN 30",
    "and": "SEQ(A, B) AND SEQ(A, C) WITHIN 50 SLIDE 25",
    "typed keys": "SEQ(A, B, C) WHERE [B.k] AND [k] GROUP-BY A.y WITHIN 100 SLIDE 50",
    "any of many": "(A OR B OR C){2,4} WITHIN 20 SLIDE 5",
    "rising": "A+ WHERE A.x < NEXT(A).x AND [k] WITHIN 200 SLIDE 100",
    "rising next": f"A+ {NEXT} WHERE A.x < NEXT(A).x GROUP-BY k",
    "two comparisons": "SEQ(A+, B) WHERE A.x <= NEXT(A).x AND A.y != NEXT(A).y AND A.x > B.x WITHIN 100 SLIDE 50",
    "falling contiguous": f"A+ {CONTIGUOUS} WHERE A.x > NEXT(A).x",
    "not separable": "A+ WHERE A.x * NEXT(A).x > A.y WITHIN 50 SLIDE 50",
    "events": "SEQ(A+, B) WHERE [k] WITHIN 20 EVENTS SLIDE 5 EVENTS",
    "events next": f"SEQ(A, NOT C, B) {NEXT} WITHIN 20 EVENTS SLIDE 3 EVENTS",
}
RETURNS = {
    "counts": "RETURN COUNT(*) AS n PATTERN",
    "aggregates": "RETURN COUNT(*) AS n, COUNT(A) AS a, SUM(A.x) AS s, AVG(x) AS v, MIN(A.x) AS m PATTERN",
}


def long_rows(seed: int, n: int, ties: bool) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    time = 0
    rows = []
    for _ in range(n):
        time += rng.choice([0, 0, 1, 1, 2]) if ties else rng.choice([1, 1, 2])
        rows.append(
            {
                "time": time,
                "type": rng.choice("AAABBCDZ"),
                "s": rng.randrange(3),
                "x": rng.choice([None, *range(-20, 20)]),
                "y": rng.randrange(3),
                "f": rng.random(),
                "k": rng.choice([None, 1, 1, 2, 3]),
            }
        )
    return rows


ASKED = [
    (name, returns) for i, name in enumerate(LONG) for returns in (list(RETURNS) if i % 2 else reversed(RETURNS))
]
LENGTHS = [(1, 200, True), (2, 900, False), (3, 1500, True)]


@pytest.mark.parametrize(("name", "returns"), [*ASKED[::2], *rest(ASKED[1::2])])
def test_long_streams(name: str, returns: str) -> None:
    text = f"{RETURNS[returns]} {LONG[name]}"
    for seed, n, ties in LENGTHS:
        rows = long_rows(seed, n, ties)
        compiled = sk.query(text)
        data = table(rows)
        expected = compiled.run(data, threads=1).to_pylist()
        assert expected

        for threads in (2, 5):
            assert same(compiled.run(data, threads=threads).to_pylist(), expected), threads
        if "EVENTS" not in text or not ties:
            shuffled = rows[:]
            random.Random(seed).shuffle(shuffled)
            assert same(compiled.run(table(shuffled)).to_pylist(), expected, 1e-9)
        chunks = pa.concat_tables([data.slice(i, 37) for i in range(0, n, 37)])
        assert same(compiled.run(chunks).to_pylist(), expected)
        for path in PATHS:
            with path():
                assert same(compiled.run(data, threads=2).to_pylist(), expected, 1e-9), path.__name__
        later = table([{**row, "time": row["time"] + 7 * 10**9} for row in rows])
        shifted = sk.query(text, offset=7 * 10**9).run(later).to_pylist()
        assert same(shifted if "EVENTS" in text else back(shifted, 7 * 10**9), expected)


@pytest.mark.parametrize("name", LONG)
def test_long_streams_are_exact(name: str) -> None:
    data = table(long_rows(4, 400, True))
    text = f"{RETURNS['aggregates']} {LONG[name]}"
    double, exact = sk.query(text), sk.query(text, numbers="exact")
    assert same(exact_as_doubles(exact.run(data).to_pylist(), exact), double.run(data).to_pylist(), 1e-9)
    text = text.replace("COUNT(*) AS n", "COUNT(*) AS n, LOG2(COUNT(*)) AS bits")
    for row in sk.query(text, numbers="exact").run(data).to_pylist():
        assert row["bits"] == pytest.approx(math.log2(int(row["n"])), rel=1e-12)


def test_a_window_over_everything_is_no_window() -> None:
    data = table(long_rows(5, 600, True))
    for clause in ("SEQ(A+, B)", "(SEQ(A+, B))+ SEMANTICS skip-till-next-match", "A+ WHERE A.x < NEXT(A).x"):
        (plain,) = sk.query(f"RETURN COUNT(*) AS n, SUM(A.x) AS s PATTERN {clause}").run(data).to_pylist()
        (window,) = (
            sk.query(f"RETURN COUNT(*) AS n, SUM(A.x) AS s PATTERN {clause} WITHIN 100000 SLIDE 100000")
            .run(data)
            .to_pylist()
        )
        assert same([{"n": window["n"], "s": window["s"]}], [plain])


def test_sub_streams_add_up() -> None:
    data = table(long_rows(6, 800, True))
    text = "RETURN COUNT(*) AS n, SUM(A.x) AS s, MIN(A.x) AS m PATTERN SEQ(A+, B)"
    groups = sk.query(f"{text} GROUP-BY k").run(data).to_pylist()
    (whole,) = sk.query(f"{text} WHERE [k]").run(data).to_pylist()
    assert whole["n"] == pytest.approx(sum(row["n"] for row in groups), rel=1e-12)
    assert whole["s"] == pytest.approx(sum(row["s"] for row in groups), rel=1e-12)
    assert whole["m"] == min(row["m"] for row in groups)
    for row in groups:
        alone = data.filter(pa.compute.equal(data["k"], row["k"]))
        (found,) = sk.query(text).run(alone).to_pylist()
        assert same([{"k": row["k"], **found}], [row])
