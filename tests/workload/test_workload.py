"""Workloads: shared, not shared, each query alone and the reference all give the same."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from tests.chance import SOAK, cases
from tests.conformance import strategies
from tests.conformance.strategies import SEMANTICS, Case
from tests.conformance.test_random import same, table

import sparkleene as sk
from sparkleene.language import parse, to_text
from sparkleene.language.ast import Equivalence
from sparkleene.workload import Workload, workload

SHARED = Path(__file__).parents[3] / "shared" / "data"


@st.composite
def workloads(draw: st.DrawFn, semantics: str, most: int = 6) -> tuple[dict[str, str], Case]:
    """Draw queries that mostly have the same keys, groups and windows, and a stream for them."""
    window = parse(f"RETURN COUNT(*) PATTERN A {draw(strategies.windows())}").within
    keys = draw(st.sampled_from(["", "WHERE [k] GROUP-BY k", "WHERE [k]", "WHERE [k, y] GROUP-BY k"]))
    common = parse(f"RETURN COUNT(*) PATTERN A {keys}")
    rare = draw(st.booleans())  # queries of other kinds too
    windows = draw(st.booleans())  # and of other windows
    kinds: dict[str, Any] = {} if rare else {"conjunction": False, "adjacent": False}
    first: Case | None = None
    texts = {}
    for number in range(draw(st.integers(2, most))):
        case = draw(strategies.case(semantics=semantics, keys=False, **kinds))
        first = first or case
        tree = parse(case.text)
        own = tuple(one for one in tree.where if not isinstance(one, Equivalence))
        if not (rare and draw(st.integers(0, 4)) == 0):
            within = tree.within if windows and draw(st.booleans()) else window
            tree = replace(tree, where=common.where + own, group=common.group, within=within)
        items = [replace(item, alias=f"{item.alias}_{number}") for item in tree.returns]
        texts[f"q{number}"] = to_text(replace(tree, returns=tuple(items)))
    assert first is not None
    return texts, first


def options_of(case: Case, **more: Any) -> dict[str, Any]:
    return {"time": case.time, "type": "type", "tiebreak": case.tiebreak, "offset": case.offset} | more


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("semantics", SEMANTICS)
@given(data=st.data())
@settings(max_examples=cases(20))
def test_shared_and_alone_and_by_definition(semantics: str, numbers: str, data: st.DataObject) -> None:
    texts, case = data.draw(workloads(semantics))
    note(f"{texts}\n{case.rows}")
    given = options_of(case, numbers=numbers)
    rows = table(case)
    try:
        together = workload(texts, **given)
    except sk.QueryError as error:
        assume(error.diagnostics[0].code not in ("ambiguous-negation", "pattern-too-large"))
        raise
    found = together.run(rows)
    never = workload(texts, "never", **given).run(rows)
    assert found.equals(never)
    always = workload(texts, "always", **given).run(rows)
    assert always.schema.equals(never.schema) and always.num_rows == never.num_rows
    for row, other in zip(always.to_pylist(), never.to_pylist(), strict=True):
        assert all(same(row[key], value) for key, value in other.items()), (row, other)
    for name, text in texts.items():
        alone = sk.query(text, **given).run(rows).to_pylist()
        mine = [row for row in found.to_pylist() if row["query"] == name]
        assert [{key: row[key] for key in other} for row, other in zip(mine, alone, strict=True)] == alone
        expected = replace(case, text=text, type="type", numbers=numbers).expected()
        assert len(mine) == len(expected)
        for row, wanted in zip(mine, expected, strict=True):
            assert all(same(row[key], value) for key, value in wanted.items()), (row, wanted)


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(data=st.data())
@settings(max_examples=cases(10))
def test_many_queries(semantics: str, data: st.DataObject) -> None:
    texts, case = data.draw(workloads(semantics, 30 if SOAK else 10))
    note(f"{texts}\n{case.rows}")
    given = options_of(case)
    rows = table(case)
    try:
        found = workload(texts, **given).run(rows)
    except sk.QueryError as error:
        assume(error.diagnostics[0].code not in ("ambiguous-negation", "pattern-too-large"))
        raise
    assert found.equals(workload(texts, "never", **given).run(rows))


WINDOWS = ("WITHIN 4 SLIDE 2", "WITHIN 6 SLIDE 3", "WITHIN 5 SLIDE 5", "WITHIN 12 SLIDE 4", "WITHIN 3 SLIDE 6")


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(data=st.data())
@settings(max_examples=cases(40))
def test_windows_share_panes(semantics: str, data: st.DataObject) -> None:
    patterns = data.draw(st.lists(st.sampled_from(["SEQ(A+, B)", "SEQ(A, NOT C, B)", "(A OR B)+"]), min_size=2))
    texts = {
        f"q{i}": f"RETURN COUNT(*) AS n, SUM(A.v) AS s, MAX(A.v) AS m PATTERN {pattern} "
        f"SEMANTICS {semantics} {data.draw(st.sampled_from(WINDOWS))}"
        for i, pattern in enumerate(patterns[:6])
    }
    types = data.draw(st.lists(st.sampled_from("ABC"), min_size=1, max_size=40))
    steps = data.draw(st.lists(st.integers(0, 4), min_size=len(types), max_size=len(types)))
    times = [sum(steps[: i + 1]) for i in range(len(steps))]
    rows = pa.table({"time": times, "type": types, "v": [i % 7 for i in range(len(types))]})
    note(f"{texts}\n{rows.to_pydict()}")
    offset = data.draw(st.sampled_from([None, 1]))
    never = workload(texts, "never", offset=offset).run(rows)
    assert workload(texts, "always", offset=offset).run(rows).equals(never)
    assert workload(texts, offset=offset).run(rows).equals(never)


def states(made: Workload) -> list[tuple[tuple[str, ...], int]]:
    return [(part.names, len(part.plan.machine.states)) for part in made.prepared.parts(None)]


def test_common_prefixes_are_common_states() -> None:
    texts = {"x": "RETURN COUNT(*) PATTERN SEQ(A, B+, C)", "y": "RETURN COUNT(*), SUM(B.v) PATTERN SEQ(A, B+, D)"}
    assert states(workload(texts)) == [(("x", "y"), 5)]  # start, A, AB, ABC, ABD
    assert states(workload(texts, "never")) == [(("x",), 4), (("y",), 4)]


def test_what_does_not_fit_runs_beside() -> None:
    texts = {
        "plain": "RETURN COUNT(*) PATTERN SEQ(A, B)",
        "window": "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 5 SLIDE 5",
        "next": "RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS skip-till-next-match",
        "key": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [u]",
        "neighbours": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.v < B.v",
        "pairs": "RETURN COUNT(*) PATTERN A AND B",
        "other": "RETURN COUNT(*) PATTERN SEQ(A, C)",
    }
    made = workload(texts)
    assert states(made)[0][0] == ("plain", "other")
    assert len(states(made)) == 6
    rows = pa.table({"time": range(6), "type": list("ABACBC"), "u": [1, 1, 2, 2, 2, 1], "v": [1, 2, 3, 4, 5, 6]})
    assert made.run(rows).equals(workload(texts, "never").run(rows))


def test_groups_keep_the_names_of_their_queries() -> None:
    rows = pa.table({"time": [1, 2], "type": ["A", "B"], "u": [7, 7]})
    texts = {
        "a": "RETURN u, COUNT(*) PATTERN SEQ(A, B) GROUP-BY u",
        "b": "RETURN u AS user, COUNT(*) AS n PATTERN B GROUP-BY u",
    }
    assert workload(texts).run(rows).to_pylist() == [
        {"query": "a", "u": 7, "count": 1.0, "user": None, "n": None},
        {"query": "b", "u": None, "count": None, "user": 7, "n": 1.0},
    ]


def test_an_output_may_be_called_as_the_group_of_another_query() -> None:
    rows = pa.table({"time": [1, 2], "type": ["A", "B"], "u": [7, 7]})
    texts = {
        "a": "RETURN u, COUNT(*) AS n PATTERN SEQ(A, B) GROUP-BY u",
        "b": "RETURN u AS user, COUNT(*) AS n, MIN(B.u) AS u PATTERN B GROUP-BY u",
    }
    assert workload(texts).run(rows).equals(workload(texts, "never").run(rows))
    assert workload(texts).run(rows).to_pylist()[1] == {"query": "b", "u": 7, "n": 1.0, "user": 7}


def test_exact_sums_of_several_integers() -> None:
    rows = pa.table({"time": [1, 2, 3], "type": list("AAB"), "v": [1.0, 1e308, 5e-324]})
    texts = {
        "a": "RETURN SUM(A.v) AS x PATTERN SEQ(A+, B)",
        "b": "RETURN COUNT(*) AS n, SUM(A.v) AS x, AVG(B.v) AS y PATTERN SEQ(A, B)",
    }
    together = workload(texts, numbers="exact")
    assert len(together.prepared.parts(None)) == 1
    assert together.run(rows).equals(workload(texts, "never", numbers="exact").run(rows))


def test_constants_of_different_types_are_different() -> None:
    texts = {
        "a": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.f = true",
        "b": "RETURN COUNT(*) PATTERN SEQ(A, C) WHERE A.f = 1",
    }
    rows = pa.table({"time": [1, 2, 3], "type": list("ABC"), "f": [True, True, True]})
    for sharing in ("auto", "never"):
        with pytest.raises(sk.DataError, match=r"--> b:1:"):
            workload(texts, sharing).run(rows)  # type: ignore[arg-type]


def test_columns_of_different_types() -> None:
    texts = {"a": "RETURN COUNT(*) AS x PATTERN A", "b": "RETURN MIN(A.v) AS x PATTERN A"}
    with pytest.raises(sk.DataError, match=r"the column 'x' is .* in 'a' and .* in 'b'(?s:.*)with AS"):
        workload(texts).run(pa.table({"time": [1], "type": ["A"], "v": [2]}))


def test_errors_name_the_query() -> None:
    with pytest.raises(sk.QueryError, match=r"--> second:1:"):
        workload({"first": "RETURN COUNT(*) PATTERN A", "second": "RETURN COUNT(*) PATTERN SEQ(A+ B)"})
    with pytest.raises(sk.QueryError, match="no queries"):
        workload({})
    with pytest.raises(sk.QueryError, match="choose 'auto', 'always' or 'never'"):
        workload({"a": "RETURN COUNT(*) PATTERN A"}, "sometimes")  # type: ignore[arg-type]


def test_errors_in_the_data_are_told_by_the_query_at_fault() -> None:
    texts = {"first": "RETURN COUNT(*) PATTERN A", "second": "RETURN COUNT(*) PATTERN SEQ(A, A x) WHERE x.v > 'x'"}
    made = workload(texts)
    assert states(made)[0][0] == ("first", "second")
    with pytest.raises(sk.DataError, match=r"--> second:1:(?s:.*)x\.v > 'x'"):
        made.run(pa.table({"time": [1], "type": ["A"], "v": [2]}))


# ---- the workload that was published with HAMLET


def counted(pattern: list[tuple[str, bool]], types: list[str]) -> int:
    """Count the trends of a sequence of different types, some repeated, in plain integers."""
    counts = [0] * len(pattern)
    place = {name: i for i, (name, _) in enumerate(pattern)}
    for name in types:
        at = place.get(name)
        if at is not None:
            before = 1 if at == 0 else counts[at - 1]
            counts[at] += before + (counts[at] if pattern[at][1] else 0)
    return counts[-1]


@pytest.mark.skipif(not SHARED.exists(), reason="the published stream is not part of the project")
@pytest.mark.parametrize("events", [1000, 5000, 10_000, 100_000])
@pytest.mark.parametrize("size", [10, 50])
def test_published_workload(size: int, events: int) -> None:
    with gzip.open(SHARED / "published_stream_shared_10.csv.gz", "rt") as file:
        rows = [line.strip().split(",") for line, _ in zip(file, range(events), strict=False)]
    lines = (SHARED / f"published_workload_{size}.txt").read_text().split()
    queries = {
        f"q{i}": [(one.rstrip("+"), one.endswith("+")) for one in line.split(",")] for i, line in enumerate(lines)
    }
    texts = {
        name: f"RETURN COUNT(*) PATTERN SEQ({', '.join(f'T{of}' + '+' * more for of, more in pattern)})"
        for name, pattern in queries.items()
    }
    data = pa.table({"time": [int(row[0]) for row in rows], "type": [f"T{row[1]}" for row in rows]})
    found = {row["query"]: row["count"] for row in workload(texts, numbers="exact").run(data).to_pylist()}
    types = [row[1] for row in rows]
    expected = {name: counted(pattern, types) for name, pattern in queries.items()}
    assert {name: int(count) for name, count in found.items()} == {n: c for n, c in expected.items() if c}


# ---- concepts

CITIES = {"Dallas": "Texas", "Austin": "Texas", "Texas": "USA", "Reno": "Nevada", "Nevada": "USA"}


def test_a_concept_is_all_that_is_below_it(tmp_path: Path) -> None:
    rows = pa.table({"time": range(6), "type": ["Dallas", "Reno", "Austin", "Texas", "Bus", "Reno"]})
    texts = {
        "cities": "RETURN COUNT(*) PATTERN SEQ(Dallas, Reno)",
        "states": "RETURN COUNT(*) PATTERN SEQ(Texas T+, Nevada)",
        "none": "RETURN COUNT(*) PATTERN SEQ(Dallas, NOT Texas T, Reno)",
        "bus": "RETURN COUNT(*) PATTERN SEQ(USA, Bus)",
    }
    expected = {"cities": 2, "states": 8, "none": 1, "bus": 4}
    (tmp_path / "tree.txt").write_text("USA\n  Texas\n    Dallas\n    Austin\n  Nevada\n    Reno\n")
    (tmp_path / "tree.json").write_text(json.dumps(CITIES))
    for tree in (CITIES, tmp_path / "tree.txt", str(tmp_path / "tree.json")):
        for sharing in ("auto", "never"):
            found = workload(texts, sharing, tree).run(rows)  # type: ignore[arg-type]
            assert {row["query"]: row["count"] for row in found.to_pylist()} == expected
    assert states(workload(texts, hierarchy=CITIES))[0][0] == tuple(texts)


def test_hierarchies_that_are_none(tmp_path: Path) -> None:
    text = {"a": "RETURN COUNT(*) PATTERN A"}
    with pytest.raises(sk.QueryError, match="in a circle: B is a C is a B"):
        workload(text, hierarchy={"A": "B", "B": "C", "C": "B"})
    with pytest.raises(sk.QueryError, match="there is no file"):
        workload(text, hierarchy=tmp_path / "no.txt")
    (tmp_path / "twice.txt").write_text("A\n  B\nC\n  B\n")
    with pytest.raises(sk.QueryError, match="'B' is there twice"):
        workload(text, hierarchy=tmp_path / "twice.txt")
    with pytest.raises(sk.QueryError, match="types in a column"):
        workload(text, hierarchy={"A": "B"}, type=None)


def test_windows_of_several_queries_keep_all_digits() -> None:
    """Counts beyond the integers of doubles, in windows that hold the same rows and in others."""
    table = pa.table({"time": range(60), "type": ["A"] * 60})
    texts = {
        "short": "RETURN COUNT(*) PATTERN A+ WITHIN 60 SLIDE 60",
        "long": "RETURN COUNT(*) PATTERN A+ WITHIN 120 SLIDE 60",
    }
    for numbers in ("exact", "long"):
        made = workload(texts, "always", numbers=numbers)  # type: ignore[arg-type]
        assert made.prepared.joints(None)
        rows = made.run(table).to_pylist()
        assert [(row["query"], row["window_start"], int(row["count"])) for row in rows] == [
            ("short", 0, 2**60 - 1),
            ("long", -60, 2**60 - 1),
            ("long", 0, 2**60 - 1),
        ]


def test_explain_promises_bursts_where_windows_are_run_one_by_one() -> None:
    def explained(window: str, returns: str = "COUNT(*)") -> str:
        texts = {f"q{i}": f"RETURN {returns} PATTERN SEQ(P{i}, T+, NOT X, E) {window}" for i in range(9)}
        return workload(texts).explain()

    assert "T: 9 copies" in explained("") and "T: 9 copies" in explained("WITHIN 50 SLIDE 50")
    assert "X:" not in explained("")
    assert "copies" not in explained("WITHIN 500 SLIDE 50") and "10 windows hold a row" in explained(
        "WITHIN 500 SLIDE 50"
    )
    assert explained("", "COUNT(*), SUM(T.v)").partition("T: ")[2] != explained("").partition("T: ")[2]


def test_more_forbidden_types_than_one_query_may_have() -> None:
    """One state looks out for few of them, so that queries of all can have one automaton."""
    texts = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(A{i}, NOT N{i}, B)" for i in range(14)}
    made = workload(texts)
    (part,) = made.prepared.parts(None)
    assert len(part.names) == 14
    types = [kind for i in range(14) for kind in (f"A{i}", f"N{i - 1}" if i % 2 else "X", "B")]
    table = pa.table({"time": range(len(types)), "type": types})
    assert made.run(table).equals(workload(texts, "never").run(table))


def test_windows_of_events_and_of_time_have_other_columns() -> None:
    texts = {
        "events": "RETURN COUNT(*) PATTERN A+ WITHIN 3 EVENTS SLIDE 3 EVENTS",
        "seconds": "RETURN COUNT(*) PATTERN A+ WITHIN 3 seconds SLIDE 3 seconds",
    }
    times = pa.array([1, 2, 3], pa.timestamp("us"))
    with pytest.raises(sk.DataError, match=r"'window_start' is a number .* and a timestamp") as caught:
        sk.workload(texts).run(pa.table({"time": times, "type": list("AAA")}))
    assert "two workloads" in (caught.value.diagnostics[0].help or "")
