"""Cubes: related queries, the plan to compute them, and results that are those of each query alone."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.strategies import KINDS, Case
from tests.conformance.test_random import same, table

import sparkleene as sk
from sparkleene.language import parse, parse_expression, to_text
from sparkleene.language.ast import Aggregate
from sparkleene.language.bind import bind
from sparkleene.language.build import part
from sparkleene.olap.arborescence import find_arborescence
from sparkleene.olap.derive import CubeQuery, find_obstacle
from sparkleene.olap.hierarchy import Hierarchy
from sparkleene.olap.refinements import find_kind
from sparkleene.olap.totals import add_results
from sparkleene.reference import evaluate

TREE = Hierarchy({"A": "E", "B": "E", "C": "F", "E": "F", "D": "G"})

# ---- every query as if it were alone


@st.composite
def cubes(draw: st.DrawFn, **kinds: Any) -> tuple[dict[str, sk.Query], Case]:
    """Draw queries that differ in the types of a label or two, and a stream for them."""
    case = draw(strategies.case(max_rows=7, pattern=draw(patterns()), **kinds))
    if draw(st.integers(0, 3)):  # most often what can be added up
        tree = parse(case.text)
        items = [item for item in tree.returns if additive(item.value)]
        case = replace(case, text=to_text(replace(tree, returns=tuple(items))))
    concepts = draw(st.integers(0, 3)) == 0  # events of concepts themselves
    types = st.sampled_from([*"ABCABCD", "E", "F"] if concepts else [*"ABCABCD"])
    case = replace(case, rows=tuple(dict(row, type=draw(types)) for row in case.rows))
    given = options(case)
    try:
        base = sk.query(case.text, **given)
    except sk.QueryError as error:
        assume(error.diagnostics[0].code not in ("ambiguous-negation", "pattern-too-large"))
        raise
    labels, form = base.plan.bound.labels, CubeQuery.of("", base.plan).form
    single = [label for i, label in enumerate(labels) if find_obstacle(form, i, "") is None]
    usual = single if single and draw(st.integers(0, 3)) else labels
    names = draw(st.lists(st.sampled_from(usual), min_size=1, max_size=2, unique=True))
    queries = {}
    for chosen in product(*(draw(kinds_of(label.type)) for label in names)):
        try:
            made = base
            for label, to in zip(names, chosen, strict=True):
                made = moved(made, label.name, label.type, to)
            queries[f"q{len(queries)} {'-'.join(chosen)}"] = made
        except sk.QueryError:
            continue
    for name in draw(st.lists(st.sampled_from(sorted(queries) or ["none"]), max_size=1)):
        if name in queries:  # the same once more, with other names
            tree = parse(queries[name].text)
            items = [replace(item, alias=f"{item.alias}_2") for item in tree.returns[:2]]
            queries[f"{name} again"] = sk.query(to_text(replace(tree, returns=tuple(items))), **given)
    assume(queries)
    return {name: queries[name] for name in draw(st.permutations(sorted(queries)))}, case


def patterns() -> st.SearchStrategy[Any]:
    """Draw patterns of all kinds, and sequences whose labels stand once."""
    atoms = st.sampled_from(["A", "B", "C", "A p", "B r+", "C+", "D?", "(B OR C)"])
    plain = st.lists(atoms, min_size=1, max_size=3, unique=True)
    negated = st.sampled_from([None, None, "NOT D n", "NOT A n", "NOT SEQ(C m, D n)"])

    def made(parts: list[str], no: str | None, at: int) -> Any:
        parts = parts if no is None else [*parts[:at], no, *parts[at:]]
        return part(f"SEQ({', '.join(parts)})")

    simple = st.builds(made, plain, negated, st.integers(0, 3))
    return simple | simple | strategies.patterns()


def kinds_of(kind: str) -> st.SearchStrategy[list[str]]:
    """Draw types related to one, often all of them."""
    every = ["D", "G"] if kind == "D" else ["A", "B", "C", "E", "F"]
    return st.sampled_from([every, every[:2] + every[3:4], every]) | st.lists(
        st.sampled_from(every), min_size=1, max_size=4, unique=True
    )


def moved(query: sk.Query, label: str, kind: str, to: str) -> sk.Query:
    """Give a label another type, up and down the tree."""
    if kind == to:
        return query
    top = query.roll_up(label, "G" if kind == "D" else "F")
    return top if to in ("F", "G") else top.drill_down(label, to)


def additive(value: Any) -> bool:
    return not isinstance(value, Aggregate) or (value.function != "avg" and value.log is None)


def options(case: Case) -> dict[str, Any]:
    found = {"time": case.time, "tiebreak": case.tiebreak, "offset": case.offset, "numbers": case.numbers}
    return found | {"hierarchy": TREE.parents}


def by_definition(text: str, case: Case) -> list[dict[str, object]]:
    tree = parse(text)
    names = [label.type for label in bind(tree).labels]
    types = {name: parse_expression(of) for name, of in TREE.type_conditions(names, "type").items()}
    bound = bind(tree, columns=KINDS, types=types)
    return evaluate(bound, case.rows, time=case.time, tiebreak=case.tiebreak, offset=case.offset)


def check(queries: dict[str, sk.Query], case: Case) -> None:
    for name, query in queries.items():
        note(f"{name}: {query.text}")
    note(f"{case}")
    made = sk.cube(queries)
    rows = table(case)
    note(made.explain(rows))
    steps = made._plan_for(tuple(rows.column_names), made._types(rows)).steps
    event(f"derived from {max(len(step.sources) for step in steps)}")
    found = made.run(rows).to_pylist()
    for name, query in queries.items():
        mine = [row for row in found if row["query"] == name]
        alone = query.run(rows).to_pylist()
        expected = by_definition(query.text, case)
        assert len(mine) == len(alone) == len(expected)
        for row, other, wanted in zip(mine, alone, expected, strict=True):
            for key, value in wanted.items():
                assert same(row[key], value), (name, key, row, wanted)
                assert row[key] == other[key] or math.isclose(row[key], other[key], rel_tol=1e-12)


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("semantics", strategies.SEMANTICS)
@given(data=st.data())
@settings(max_examples=cases(10))
def test_a_cube_gives_what_each_query_gives(semantics: str, numbers: str, data: st.DataObject) -> None:
    check(*data.draw(cubes(semantics=semantics, numbers=numbers)))


@pytest.mark.parametrize("kind", ["keys", "trigger", "events", "sliding"])
@given(data=st.data())
@settings(max_examples=cases(12))
def test_keys_and_windows(kind: str, data: st.DataObject) -> None:
    kinds = {"keys": True} if kind == "keys" else {"kinds": (kind,)}
    check(*data.draw(cubes(**kinds)))


@st.composite
def sums(draw: st.DrawFn, semantics: str) -> tuple[dict[str, sk.Query], Case]:
    """Draw queries for most types of one label or two that stand once, which often add up."""
    pattern = draw(
        st.sampled_from(
            [
                "SEQ({} t, D b)",
                "SEQ(D b, {} t)",
                "SEQ(D b+, {} t, D c?)",
                "SEQ({} t, NOT A n, D b)",
                "SEQ({} t, {} u, D b)",
                "SEQ(D b, SEQ({} t, NOT SEQ(C m, C n), {} u))",
            ]
        )
    )
    conditions = ["", "", "WHERE [k]", "WHERE t.x < b.x", "WHERE t.y > 0 AND [t.k]", "WHERE x > 0"]
    groups = ["", "", "GROUP-BY k", "GROUP-BY t.k", "GROUP-BY b.k, t.y"]
    additive = ["COUNT(*) AS n, SUM(t.x) AS s, MIN(b.y) AS lo, MAX(t.x) AS hi", "COUNT(b) AS c, SUM(f), MIN(f)"]
    returned = draw(st.sampled_from(additive))
    window = draw(strategies.windows(["none", "tumbling", "sliding", "events"]))
    rest = f"SEMANTICS {semantics} {draw(st.sampled_from(conditions))} {draw(st.sampled_from(groups))} {window}"
    rows = draw(st.lists(strategies.rows((*"ABCD",), 9), min_size=5, max_size=9))
    numbers = draw(st.sampled_from(["double", "exact"]))
    case = Case("", tuple(row for row in rows if row["type"] != "Z"), "time", "type", None, 0, numbers)
    texts = {
        "".join(kinds): f"RETURN {returned} PATTERN {pattern.format(*kinds)} {rest}"
        for kinds in product("ABCEF", repeat=pattern.count("{}"))
    }
    gone = draw(st.lists(st.sampled_from(sorted(texts)), max_size=2))
    try:
        made = {name: sk.query(text, **options(case)) for name, text in texts.items() if name not in gone}
    except sk.QueryError:  # labels that are never neighbours
        assume(False)
    return made, case


@pytest.mark.parametrize("semantics", strategies.SEMANTICS)
@given(data=st.data())
@settings(max_examples=cases(40))
def test_sums(semantics: str, data: st.DataObject) -> None:
    check(*data.draw(sums(semantics)))


# ---- when results add up

CITIES = {"Dallas": "Texas", "Austin": "Texas", "Texas": "USA", "Tulsa": "USA"}


def made(patterns: dict[str, str], rest: str = "", returns: str = "COUNT(*)", **options: Any) -> sk.Cube:
    texts = {name: f"RETURN {returns} PATTERN {pattern} {rest}" for name, pattern in patterns.items()}
    return sk.cube(texts, CITIES, **options)


def three(pattern: str, rest: str = "", returns: str = "COUNT(*)", **options: Any) -> sk.Cube:
    """Return a cube of Texas, Dallas and Austin in the same place."""
    texts = {"T": pattern, "D": pattern.replace("Texas", "Dallas"), "A": pattern.replace("Texas", "Austin")}
    return made(texts, rest, returns, **options)


def sources(cube: sk.Cube) -> dict[str, tuple[str, ...]]:
    return {step.query: step.sources for step in cube.plan if step.sources}


ALL = "COUNT(*), COUNT(t), SUM(t.x), MIN(b.x), MAX(t.x)"


@pytest.mark.parametrize(
    ("pattern", "rest"),
    [
        ("SEQ(Texas t, Bus b)", ""),
        ("SEQ(Bus b+, SEQ(Texas t, NOT Train n, Taxi?))", ""),
        ("SEQ(NOT Train n, Texas t, Bus b+)", "SEMANTICS skip-till-next-match"),
        ("SEQ(Bus b, Texas t, Train)", "SEMANTICS contiguous WHERE [k]"),
        ("SEQ(Texas t, Bus b)", "WHERE t.x < b.x AND t.y > 1 GROUP-BY t.k WITHIN 10 SLIDE 2"),
        ("SEQ(Texas t, Bus b)", "WHERE [k] WITHIN 10 EVENTS SLIDE 2 EVENTS"),
        ("SEQ(Texas t, Dallas u, Bus b)", ""),
    ],
)
def test_what_adds_up(pattern: str, rest: str) -> None:
    for numbers in ("double", "exact"):
        assert sources(three(pattern, rest, ALL, numbers=numbers)) == {"T": ("D", "A")}


@pytest.mark.parametrize(
    ("pattern", "rest", "returns", "why"),
    [
        ("SEQ(Texas t+, Bus)", "", "COUNT(*)", "exactly one event 't'"),
        ("SEQ(Texas t?, Bus)", "", "COUNT(*)", "exactly one event 't'"),
        ("(Texas t OR Bus)", "", "COUNT(*)", "exactly one event 't'"),
        ("SEQ(Texas t, Bus, Texas t)", "", "COUNT(*)", "exactly one event 't'"),
        ("SEQ(Bus, NOT Texas t, Train)", "", "COUNT(*)", "not negated"),
        ("SEQ(Texas t, Bus) AND Train", "", "COUNT(*)", "exactly one event 't'"),
        ("SEQ(Bus, Texas t)", "SEMANTICS skip-till-next-match", "COUNT(*)", "which events are skipped"),
        ("SEQ(Bus?, Texas t)", "SEMANTICS skip-till-next-match", "COUNT(*)", "which events are skipped"),
        ("SEQ(Texas t, Bus)", "WITHIN 10", "COUNT(*)", "a window per trigger"),
        ("SEQ(Texas t, Bus)", "SEMANTICS contiguous GROUP-BY t.k", "COUNT(*)", "must be neighbours"),
        ("SEQ(Texas t, Bus)", "GROUP-BY t.k WITHIN 5 EVENTS SLIDE 5 EVENTS", "COUNT(*)", "rows are numbered"),
        ("SEQ(Texas t, Bus)", "", "COUNT(*), AVG(t.x)", "AVG\\(t.x\\) does not follow"),
        ("SEQ(Texas t, Bus)", "", "LOG2(COUNT(*))", "LOG2\\(COUNT\\(\\*\\)\\) does not follow"),
    ],
)
def test_what_does_not_add_up(pattern: str, rest: str, returns: str, why: str) -> None:
    cube = three(pattern, rest, returns)
    assert sources(cube) == {}
    assert re.search(f"not from D, A: .*{why}", cube.explain()), cube.explain()


def test_other_clauses_must_be_the_same() -> None:
    base = {"T": "RETURN COUNT(*) PATTERN SEQ(Texas t, Bus b)", "A": "RETURN COUNT(*) PATTERN SEQ(Austin, Bus)"}
    for text, why in {
        "RETURN COUNT(*) PATTERN SEQ(Dallas, Bus) WHERE x > 1": "its WHERE is different",
        "RETURN COUNT(*) PATTERN SEQ(Dallas, Bus) WHERE [k]": "its keys is different",
        "RETURN COUNT(*) PATTERN SEQ(Dallas, Bus) WITHIN 3 SLIDE 1": "its WITHIN is different",
        "RETURN SUM(x) PATTERN SEQ(Dallas, Bus)": "it does not return COUNT(*)",
    }.items():
        assert why.replace("keys is", "keys are") in sk.cube(base | {"D": text}, CITIES).explain()
    assert sources(sk.cube(base | {"D": "RETURN SUM(x), COUNT(*) PATTERN SEQ(Dallas d, Bus)"}, CITIES))
    assert "no query is for Dallas" in sk.cube(base, CITIES).explain()


def test_numbers_that_are_equal_are_not_the_same() -> None:
    texts = {n: f"RETURN COUNT(*) PATTERN A WHERE x / {n} = 1" for n in ("2", "2.0")}
    assert sources(sk.cube(texts)) == {}


def test_several_places_are_taken_apart() -> None:
    tree = {"A": "E", "B": "E", "C": "F", "D": "F"}
    texts = {a + b: f"RETURN COUNT(*) PATTERN SEQ({a} a, {b} b)" for a in "ABE" for b in "CDF" if a + b != "EC"}
    found = sources(sk.cube({name: texts[name] for name in ("EF", "AC", "AD", "BC", "BD")}, tree))
    assert found == {"EF": ("AC", "AD", "BC", "BD")}
    found = sources(sk.cube(texts, tree))
    assert found == {"AF": ("AC", "AD"), "BF": ("BC", "BD"), "ED": ("AD", "BD"), "EF": ("AF", "BF")}


def test_many_results_are_not_worth_adding() -> None:
    tree = {f"t{i}": "T" for i in range(40)}
    cube = sk.cube({name: f"RETURN COUNT(*) PATTERN SEQ({name} t, B)" for name in ("T", *tree)}, tree)
    assert sources(cube) == {} and "to add up 40 results costs 4" in cube.explain()


def test_the_types_of_the_data_decide() -> None:
    cube = three("SEQ(Texas t, Bus)")
    rows = {"time": [1, 2, 3], "type": ["Dallas", "Texas", "Bus"]}
    assert "T  cost 3  evaluated" in cube.explain(pa.table(rows))
    assert [row["count"] for row in cube.run(pa.table(rows)).to_pylist()] == [2.0, 1.0]
    rows["type"][1] = "Dallas"
    assert "T  cost 0.1  the same as D, for the types that there are" in cube.explain(pa.table(rows))
    assert [row["count"] for row in cube.run(pa.table(rows)).to_pylist()] == [2.0, 2.0]


def test_equal_queries_are_evaluated_once() -> None:
    texts = {
        "one": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.x > 1 AND B.x > 2",
        "two": "RETURN AVG(b.x) AS mean, COUNT(*) AS n PATTERN SEQ(A a, B b) WHERE b.x > 2 AND a.x > 1",
        "three": "RETURN AVG(B.x) AS middle PATTERN SEQ(A a, B) WHERE a.x > 1 AND B.x > 2",
    }
    cube = sk.cube(texts)
    assert sources(cube) == {"one": ("two",), "three": ("two",)}
    rows = pa.table({"time": [1, 2, 3], "type": list("ABB"), "x": [2, 3, 5]})
    assert cube.run(rows).to_pylist() == [
        {"query": "one", "count": 2.0, "mean": None, "n": None, "middle": None},
        {"query": "two", "count": None, "mean": 4.0, "n": 2.0, "middle": None},
        {"query": "three", "count": None, "mean": None, "n": None, "middle": 4.0},
    ]


def test_sums_beyond_doubles_are_not_added_up() -> None:
    rows = pa.table({
        "time": range(5), "type": ["Dallas", "Austin", "Dallas", "Austin", "Bus"],
        "x": [1.5e308, -1.0e308, 1.0e308, -1.2e308, 0.0],
    })  # fmt: skip
    cube = three("SEQ(Texas t, Bus)", returns="SUM(t.x) AS s")
    (found,) = [row["s"] for row in cube.run(rows).to_pylist() if row["query"] == "T"]
    assert found == cube.queries["T"].run(rows)["s"][0].as_py()


def test_exact_results_of_any_length_add_up() -> None:
    long = "9" * 10_000
    one = pa.table({"k": ["a", "b"], "n": [long, "1"], "s": ["-1.75", None]})
    two = pa.table({"k": ["b", "a"], "n": ["2", "1"], "s": [None, "0.75"]})
    found = add_results([one, two], ["count", "sum"])
    assert found is not None
    assert found.to_pydict() == {"k": ["a", "b"], "n": ["1" + "0" * 10_000, "3"], "s": ["-1", None]}


def test_keys_and_extremes_of_all_kinds() -> None:
    texts = pa.array(["x", "y", "x"]).dictionary_encode()
    one = pa.table({"k": texts, "f": [1.0, math.nan, 2.0], "low": ["b", "c", None]})
    two = pa.table({"k": pa.array(["y"]).dictionary_encode(), "f": [math.nan], "low": ["a"]})
    found = add_results([one, two], ["min"])
    assert found is not None and found["k"].to_pylist() == ["x", "x", "y"]
    assert found["low"].to_pylist() == ["b", None, "a"]
    assert add_results([one.slice(0, 0)] * 2, ["min"]).num_rows == 0  # type: ignore[union-attr]


# ---- the graph


@pytest.mark.parametrize(
    ("fine", "coarse", "how"),
    [
        ("SEQ(Dallas, Bus)", "SEQ(Texas, Bus)", "concept"),
        ("SEQ(Texas x, Bus)", "SEQ(Texas, Bus y)", None),
        ("SEQ(Dallas, USA)", "SEQ(Texas, Tulsa)", None),
        ("SEQ(Bus, NOT Dallas, Train)", "SEQ(Bus, NOT Texas, Train)", "concept"),
        ("SEQ(Bus, NOT Dallas, Train)", "SEQ(Bus, Train)", "pattern"),
        ("SEQ(Bus, Train)", "Bus", "pattern"),
        ("SEQ(Bus, Train)", "Train", "pattern"),
        ("SEQ(Bus, SEQ(Train, Taxi))", "SEQ(Bus, Taxi)", "pattern"),
        ("SEQ(Bus, Train)", "SEQ(Train, Bus)", None),
        ("SEQ(Dallas, Train, Bus+)", "SEQ(Texas, Bus+)", "concept, pattern"),
        ("SEQ(Dallas, Train, Bus)", "SEQ(Texas, Bus+)", None),
        ("SEQ(Dallas, Train)+", "Texas+", "concept, pattern"),
        ("Dallas OR Bus", "Texas OR Bus", "concept"),
        ("Dallas AND Bus", "Texas AND Bus", "concept"),
        ("Bus", "Texas OR Bus", None),
        ("SEQ(Dallas, Dallas, Bus)", "SEQ(Texas, Bus)", "concept, pattern"),
    ],
)
def test_refinements(fine: str, coarse: str, how: str | None) -> None:
    tree = Hierarchy(CITIES)
    assert find_kind(part(fine), part(coarse), tree) == how
    assert find_kind(part(coarse), part(fine), tree) is None


def test_only_direct_refinements_are_edges() -> None:
    cube = made({"u": "SEQ(USA, Bus)", "d": "SEQ(Dallas, Bus)", "t": "SEQ(Texas, Bus)", "b": "Bus"})
    found = {(edge.finer, edge.coarser, edge.kind) for edge in cube.edges}
    assert found == {("t", "u", "concept"), ("d", "t", "concept"), ("u", "b", "pattern")}


def test_pictures() -> None:
    cube = made({"<u>": "USA", "t": "Texas", "d": "SEQ(Dallas, Bus)", 'b"': "SEQ(Dallas, Bus, Bus x, Tulsa)"})
    drawn = ET.fromstring(cube.to_svg())
    texts = ["".join(each.itertext()) for each in drawn.iter() if each.tag.endswith("text")]
    assert {"<u>", "t", "d", 'b"', "Texas", "concept", "pattern"} <= {*texts}
    assert cube._repr_html_() == cube.to_svg()
    assert '"b\\"" -> "d" [label="pattern"]' in cube.to_dot()
    assert ET.fromstring(made({"a": "Bus"}).to_svg()) is not None
    assert "dashed" in three("SEQ(Texas t, Bus)").to_svg() and "dashed" in three("SEQ(Texas t, Bus)").to_dot()


def test_arguments() -> None:
    q = sk.query("RETURN COUNT(*) PATTERN SEQ(Dallas, Bus)", hierarchy=CITIES, time="ts")
    cube = sk.cube({"d": q, "t": q.roll_up("Dallas"), "b": "RETURN COUNT(*) PATTERN Bus"})
    assert cube.queries["b"].time == "ts" and repr(cube) == "<sparkleene cube of d, t, b>"
    assert [edge.kind for edge in cube.edges] == ["concept", "pattern"]
    with pytest.raises(sk.QueryError, match="'d' has another time= than the cube"):
        sk.cube({"d": q}, time="when")
    with pytest.raises(sk.QueryError, match="'d' has another hierarchy="):
        sk.cube({"d": q}, {"Dallas": "USA"})
    with pytest.raises(sk.QueryError, match="no queries"):
        sk.cube({})
    with pytest.raises(sk.QueryError, match="--> b:1:"):
        sk.cube({"a": "RETURN COUNT(*) PATTERN A", "b": "RETURN COUNT(*) PATTERN SEQ("})
    with pytest.raises(sk.DataError, match="'ts'"):
        cube.run(pa.table({"time": [1], "type": ["Bus"]}))


def test_kinds_of_data(tmp_path: Any) -> None:
    import pyarrow.parquet as pq

    rows = pa.table({"time": [1, 2, 3], "type": ["Dallas", "Austin", "Bus"]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    cube = three("SEQ(Texas t, Bus)")
    expected = {"query": ["T", "D", "A"], "count": [2.0, 1.0, 1.0]}
    assert cube.run(rows).to_pydict() == expected
    assert cube.run(str(tmp_path / "rows.parquet"), threads=1).to_pydict() == expected
    assert cube.run(rows.to_pandas()).to_dict("list") == expected
    assert cube.run(rows.slice(0, 0)).num_rows == 0


# ---- the cheapest arborescence


@st.composite
def graphs(draw: st.DrawFn) -> dict[tuple[int, int], int]:
    """Draw a graph of up to five nodes with an edge from 0 to each."""
    size = draw(st.integers(1, 5))
    pairs = [(a, b) for a in range(size + 1) for b in range(1, size + 1) if a != b]
    return {pair: draw(st.integers(0, 9)) for pair in pairs if pair[0] == 0 or draw(st.integers(0, 3))}


@given(graphs())
@settings(max_examples=cases(300))
def test_no_arborescence_is_cheaper(edges: dict[tuple[int, int], int]) -> None:
    found = find_arborescence(edges, 0)
    nodes = sorted({b for _, b in edges})
    assert sorted(found) == nodes and rooted(found)
    ways = product(*([a for a, b in edges if b == node] for node in nodes))
    trees = (dict(zip(nodes, way, strict=True)) for way in ways)
    costs = [sum(edges[a, b] for b, a in tree.items()) for tree in trees if rooted(tree)]
    assert sum(edges[a, b] for b, a in found.items()) == min(costs)


def rooted(parents: dict[int, int]) -> bool:
    """Tell whether all nodes are reached from 0."""
    for node in parents:
        for _ in parents:
            node = parents.get(node, 0)
        if node:
            return False
    return True
