"""Name resolution: what each clause comes to, and what is said about queries that mean nothing."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkleene.errors import DataError, Place, QueryError, SparkleeneError
from sparkleene.language import ast, parse, parse_expression, to_text
from sparkleene.language.ast import And, Atom, Item, Not, Or, Pattern, Query, Repeat, Seq
from sparkleene.language.bind import bind
from sparkleene.language.bound import Bound, Call, Drawn, Field, Key, Literal_, Measure, Output, Piece, Term
from sparkleene.language.patterns import neighbours

FIXTURES = Path(__file__).parent / "fixtures" / "bad_binding"


def bound(pattern: str, rest: str = "", returns: str = "COUNT(*)", **options) -> Bound:
    text = f"RETURN {returns} PATTERN {pattern} {rest}"
    return bind(parse(text), place=Place(text), **options)


def codes(pattern: str, rest: str = "", returns: str = "COUNT(*)", **options) -> list[str]:
    with pytest.raises(SparkleeneError) as caught:
        bound(pattern, rest, returns, **options)
    return [found.code for found in caught.value.diagnostics]


def show(term: Term) -> str:
    """Write a term, with a prime at the fields of the later event."""
    match term:
        case Field():
            return ".".join(term.path) + "'" * term.side
        case Literal_():
            return repr(term.value)
        case Call(op, (one,)):
            return f"{op}({show(one)})"
        case Call():
            return "(" + f" {term.op} ".join(map(show, term.args)) + ")"


def local(query: Bound) -> dict[str, list[str]]:
    return {
        label.name: [show(term) for term in terms]
        for label, terms in zip(query.labels, query.local, strict=True)
        if terms
    }


def adjacent(query: Bound) -> list[str]:
    names = [label.name for label in query.labels]
    return [f"{names[each.before]}>{names[each.after]} {show(each.condition)}" for each in query.adjacent]


# ---- labels and shape


def test_labels_come_in_order_of_appearance() -> None:
    query = bound("SEQ(A x, NOT SEQ(C, D d), B, A x)")
    assert [(label.name, label.type, label.negated) for label in query.labels] == [
        ("x", "A", False),
        ("C", "C", True),
        ("d", "D", True),
        ("B", "B", False),
    ]


def test_sixty_four_labels_are_the_most() -> None:
    assert len(bound(f"SEQ({', '.join(f'T{i}' for i in range(64))})").labels) == 64
    assert codes(f"SEQ({', '.join(f'T{i}' for i in range(65))})") == ["too-many-labels"]


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(NOT N, A)",
        "SEQ(A, NOT N)",
        "SEQ(NOT N, A, NOT M)",
        "SEQ(A?, NOT N, B?)",
        "SEQ(SEQ(NOT N, A), B)",
        "SEQ(A, SEQ(B, NOT N))",
        "SEQ(NOT N, A) OR SEQ(B, NOT M)",
        "SEQ(NOT N, A) AND SEQ(B, NOT M)",
        "SEQ(NOT M, SEQ(NOT N, A))",
        "SEQ(A, NOT SEQ(B, NOT N, C), D)",
        "(SEQ(A, NOT N, B))+",
        "SEQ(A, NOT SEQ(B+, C OR D), E)",
    ],
)
def test_negation_where_it_means_something(pattern: str) -> None:
    assert bound(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A, SEQ(NOT N, B))",
        "SEQ(SEQ(A, NOT N), B)",
        "SEQ(SEQ(A, NOT N), B?)",
        "SEQ(NOT N, A)+",
        "SEQ(A, NOT N)?",
        "SEQ(A, SEQ(B, NOT N)+)",
        "SEQ(SEQ(A, NOT N) OR B, C)",
        "SEQ(A, SEQ(B*, NOT N, C))",
        "SEQ(A, NOT SEQ(NOT N, B), C)",
        "SEQ(NOT SEQ(B, NOT N), C)",
    ],
)
def test_negation_at_an_edge_with_more_beyond(pattern: str) -> None:
    assert codes(pattern) == ["negation-at-edge"]


# ---- neighbours


@pytest.mark.parametrize(
    ("pattern", "pairs"),
    [
        ("A", ""),
        ("A+", "AA"),
        ("A{1}", ""),
        ("A{2}", "AA"),
        ("A?", ""),
        ("SEQ(A, B?, C)", "AB AC BC"),
        ("SEQ(A, B)+", "AB BA"),
        ("SEQ(A, NOT N, B)", "AB"),
        ("A+ OR B+", "AA BB"),
        ("SEQ(A, B) AND SEQ(C, A)", "AB CA"),
        ("SEQ(A?, B*)+", "AA AB BA BB"),
    ],
)
def test_neighbours(pattern: str, pairs: str) -> None:
    found = neighbours(parse(f"RETURN COUNT(*) PATTERN {pattern}").pattern)
    assert found == {(pair[0], pair[1]) for pair in pairs.split()}


def repeats(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    bounds = st.sampled_from([(0, 1), (0, None), (1, None), (1, 1), (2, 2), (1, 3)])
    return st.builds(lambda part, ends: Repeat(part, *ends), inner, bounds)


patterns = st.recursive(
    st.sampled_from([Atom("A"), Atom("B"), Atom("C")]),
    lambda inner: st.one_of(
        repeats(inner),
        st.builds(lambda parts: Seq(tuple(parts)), st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: Or(tuple(parts)), st.lists(inner, min_size=2, max_size=2)),
    ),
    max_leaves=4,
)


def words(pattern: Pattern) -> set[str]:
    """Enumerate the words of a pattern, each loop taken up to three times."""
    match pattern:
        case Atom():
            return {pattern.label}
        case Repeat():
            inner = words(pattern.pattern)
            found: set[str] = set()
            power = {""}
            for times in range((3 if pattern.high is None else pattern.high) + 1):
                found |= power if times >= pattern.low else set()
                power = {a + b for a in power for b in inner if len(a + b) <= 6}
            return found
        case Seq():
            power = {""}
            for part in pattern.parts:
                power = {a + b for a in power for b in words(part) if len(a + b) <= 6}
            return power
        case Or():
            return set().union(*map(words, pattern.options))
        case And() | Not():
            raise AssertionError


def longest(pattern: Pattern) -> int:
    """Return the length of the longest word, each loop taken up to three times."""
    match pattern:
        case Atom():
            return 1
        case Repeat():
            return (3 if pattern.high is None else pattern.high) * longest(pattern.pattern)
        case Seq():
            return sum(map(longest, pattern.parts))
        case Or():
            return max(map(longest, pattern.options))
        case And() | Not():
            raise AssertionError


@given(patterns)
def test_neighbours_are_those_of_the_words(pattern: Pattern) -> None:
    seen = {(word[i], word[i + 1]) for word in words(pattern) for i in range(len(word) - 1)}
    found = neighbours(pattern)
    assert seen <= found
    if longest(pattern) < 4:  # nothing was cut off
        assert seen == found


# ---- conditions


def test_local_conditions() -> None:
    query = bound("SEQ(S, A)", "WHERE S.rate < 60 AND A.kind = 'passive' AND S.a + 1 != -A.b")
    assert local(query) == {"S": ["(rate < 60)"], "A": ["(kind = 'passive')"]}
    assert adjacent(query) == ["S>A ((a + 1) != neg(b'))"]


def test_sugar_is_spelled_out() -> None:
    text = """WHERE A.x BETWEEN 1 AND 2 AND A.x NOT BETWEEN 3 AND 4 AND A.k IN (u, 'v') AND A.k NOT IN (w)
              AND A.y IS NOT NULL AND 1 < A.z <= 5 AND NOT (A.p OR A.q)"""
    assert local(bound("A+", text))["A"] == [
        "(x >= 1)",
        "(x <= 2)",
        "not(((x >= 3) and (x <= 4)))",
        "((k = 'u') or (k = 'v'))",
        "not((k = 'w'))",
        "not(isnull(y))",
        "(1 < z)",
        "(z <= 5)",
        "not((p or q))",
    ]


def test_next_is_the_later_event() -> None:
    query = bound("SEQ(A+, B)", "WHERE A.x < NEXT(A).x AND NEXT(B).y > A.y AND x < NEXT(A).z")
    assert adjacent(query) == ["A>A (x < x')", "A>B (y' > y)", "A>A (x < z')"]


def test_two_labels_are_neighbours_in_either_order() -> None:
    assert adjacent(bound("SEQ(A, B)+", "WHERE A.x < B.y")) == ["A>B (x < y')", "B>A (x' < y)"]
    assert adjacent(bound("SEQ(B, A)", "WHERE A.x < B.y")) == ["B>A (x' < y)"]


def test_a_type_stands_for_all_its_labels() -> None:
    query = bound("SEQ(A x+, A y)", "WHERE A.v > 1 AND A.v < NEXT(A).v AND x.v > 2")
    assert local(query) == {"x": ["(v > 1)", "(v > 2)"], "y": ["(v > 1)"]}
    assert adjacent(query) == ["x>x (v < v')", "x>y (v < v')"]
    query = bound("SEQ(A x, A y)", "WHERE A.v < x.w")
    assert (local(query), adjacent(query)) == ({"x": ["(v < w)"]}, ["x>y (v' < w)"])


def test_a_type_leaves_out_its_negated_labels_between_events() -> None:
    query = bound("SEQ(A x+, NOT A n, B)", "WHERE A.v < NEXT(A).v AND A.v > 0", returns="COUNT(A), SUM(A.v)")
    assert adjacent(query) == ["x>x (v < v')"]
    assert set(local(query)) == {"x", "n"}
    assert [output.labels for output in query.outputs] == [frozenset({0}), frozenset({0})]


def test_attributes_without_label() -> None:
    assert local(bound("SEQ(A, NOT N, B)", "WHERE price > 3")) == {each: ["(price > 3)"] for each in "ANB"}
    assert local(bound("SEQ(A, B)", "WHERE A.low < price < 10")) == {"A": ["(low < price)", "(price < 10)"]}
    assert local(bound("A", "WHERE payload.price > 3")) == {"A": ["(payload.price > 3)"]}


def test_bare_words() -> None:
    unknown = bound("A", "WHERE A.type = passive AND kind != active AND A.b = A")
    assert local(unknown)["A"] == ["(type = 'passive')", "(kind != 'active')", "(b = 'A')"]
    known = bound("A", "WHERE A.type = passive AND kind != active", columns=["type", "kind", "active"])
    assert local(known)["A"] == ["(type = 'passive')", "(kind != active)"]
    assert codes("A", "WHERE A.type < passive", columns=["type"]) == ["unknown-attribute"]
    assert codes("A", "WHERE passive = A.type", columns=["type"]) == ["unknown-attribute"]
    assert codes("A", "WHERE A.type = passive + 1", columns=["type"]) == ["unknown-attribute"]


def test_columns_and_struct_fields() -> None:
    columns = ["payload", "A", "odd.name"]
    query = bound("A", "WHERE payload.x > 1 AND A.payload.y > 2 AND A > 3 AND `odd.name` > 4", columns=columns)
    assert local(query)["A"] == ["(payload.x > 1)", "(payload.y > 2)", "(A > 3)", "(odd.name > 4)"]
    assert codes("A", "WHERE load.x > 1", columns=columns) == ["unknown-label"]


def test_unknown_attributes_are_about_the_data() -> None:
    with pytest.raises(DataError):
        bound("A", "WHERE A.x > 1 AND A.y > 2", columns=["z"])
    with pytest.raises(QueryError):
        bound("A", "WHERE A.x > 1 AND NEXT(A).z > 2", columns=["z"])


def test_negated_labels_take_local_conditions_only() -> None:
    assert local(bound("SEQ(A, NOT N, B)", "WHERE N.x > 3")) == {"N": ["(x > 3)"]}
    assert codes("SEQ(A, NOT N, B)", "WHERE N.x > A.x") == ["negated-adjacent"]


# ---- equivalence


def test_equality_over_all_labels_is_an_equivalence() -> None:
    chain = bound("SEQ(A, B, C)", "WHERE A.k = B.k = C.k")
    joined = bound("SEQ(A, B, C)", "WHERE A.k = C.k AND B.k = C.k")
    assert chain.keys == joined.keys == (Key(("k",), None),)
    assert chain.adjacent == joined.adjacent == ()
    assert bound("SEQ(A x, A y, B)", "WHERE A.k = B.k").keys == (Key(("k",), None),)


def test_other_equalities_are_between_neighbours() -> None:
    assert adjacent(bound("SEQ(A, B, C)", "WHERE A.k = B.k")) == ["A>B (k = k')"]
    assert adjacent(bound("SEQ(A, B)", "WHERE A.k = B.j")) == ["A>B (k = j')"]
    assert adjacent(bound("SEQ(A, B, C, D)", "WHERE A.k = B.k AND C.k = D.k")) == ["A>B (k = k')", "C>D (k = k')"]
    assert codes("SEQ(A, B, C)", "WHERE A.k = C.k") == ["never-neighbours"]


def test_keys_are_not_repeated() -> None:
    query = bound("SEQ(A, B)", "WHERE [k, A.j] AND [k] GROUP-BY A.j, A.k, B.i")
    assert query.keys == (Key(("k",), None), Key(("j",), frozenset({0})), Key(("i",), frozenset({1})))
    assert query.group == (1, 0, 2)
    assert query.group_names == ("j", "k", "i")


def test_a_later_key_of_every_row_takes_over() -> None:
    query = bound("SEQ(A, B)", "WHERE [A.k, B.k] GROUP-BY k")
    assert (query.keys, query.group) == ((Key(("k",), None),), (0,))
    assert bound("SEQ(A, B)", "WHERE [A.k, B.k]").keys == (Key(("k",), frozenset({0})), Key(("k",), frozenset({1})))


# ---- results


def test_group_columns() -> None:
    assert bound("SEQ(A, B)", "GROUP-BY A.k, B.k").group_names == ("A_k", "B_k")
    assert bound("SEQ(A, B)", "GROUP-BY A.k, B.k", "A.k AS first, COUNT(*)").group_names == ("first", "k")
    assert bound("A", "GROUP-BY p.x, q.x, A.s.z").group_names == ("p_x", "q_x", "z")
    assert bound("A", "GROUP-BY A.k", "k AS key, COUNT(*)").group_names == ("key",)
    assert bound("A", "GROUP-BY k", "A.k AS key, COUNT(*)").group_names == ("key",)
    assert codes("A", "GROUP-BY k, k") == ["duplicate-name"]
    assert codes("A", "GROUP-BY k", "k AS a, k AS b, COUNT(*)") == ["duplicate-name"]


def test_outputs() -> None:
    returns = "COUNT(*), COUNT(E), SUM(E.v), AVG(E.p.v), MIN(v), LOG2(COUNT(*)), LOG10(COUNT(E)), MAX(y.v) AS top"
    assert bound("SEQ(E x, NOT N, E y)", returns=returns).outputs == (
        Output("count", "count", frozenset(), (), None),
        Output("count_E", "count", frozenset({0, 2}), (), None),
        Output("sum_E_v", "sum", frozenset({0, 2}), ("v",), None),
        Output("avg_E_p_v", "avg", frozenset({0, 2}), ("p", "v"), None),
        Output("min_v", "min", frozenset({0, 2}), ("v",), None),
        Output("log2_count", "count", frozenset(), (), 2),
        Output("log10_count_E", "count", frozenset({0, 2}), (), 10),
        Output("top", "max", frozenset({2}), ("v",), None),
    )
    assert codes("A", returns="COUNT(*), COUNT(*)") == ["duplicate-name"]
    assert codes("A", "GROUP-BY count") == ["duplicate-name"]


# ---- windows and types


def test_windows() -> None:
    window = bound("A", "WITHIN 10 minutes SLIDE 1.5 seconds").window
    assert window is not None
    assert (window.size, window.slide, window.unit) == (600_000, 1500, "milliseconds")
    window = bound("A", "WITHIN 2.5").window
    assert window is not None
    assert (window.size, window.slide, window.unit) == (Fraction(5, 2), None, "time")
    window = bound("A", "WITHIN 100 EVENTS SLIDE 10 EVENTS").window
    assert window is not None
    assert (window.size, window.slide, window.unit) == (100, 10, "events")
    assert codes("A", "WITHIN 10 EVENTS SLIDE 1 minute") == ["mixed-units"]
    assert bound("A").window is None


def test_types_defined_by_conditions() -> None:
    types = {"A": parse_expression("kind = a"), "B": parse_expression("v > 3"), "C": parse_expression("v < 0")}
    query = bound("SEQ(A, B)", types=types, columns=["kind", "v"])
    assert query.types is not None
    assert [(name, show(term)) for name, term in query.types] == [("A", "(kind = 'a')"), ("B", "(v > 3)")]
    with pytest.raises(DataError, match="definition of event type 'B'"):
        bound("SEQ(A, B)", types=types, columns=["kind"])
    assert codes("SEQ(A, D)", types=types) == ["unknown-type"]
    assert codes("A", types={"A": parse_expression("NEXT(A).x > 3")}) == ["misplaced-next"]


def test_every_row_of_the_only_type() -> None:
    assert bound("SEQ(A x+, A y)", any_type=True).types == (("A", Literal_(True)),)
    assert codes("SEQ(A, B)", any_type=True) == ["several-types"]


# ---- trees that the parser does not make

COUNT = Item(ast.Aggregate("count"))
NEXT = ast.Ref(("A", "x"), next=True)
A = Atom("A")


@pytest.mark.parametrize(
    ("code", "query"),
    [
        ("empty-pattern", Query(Seq(()), (COUNT,))),
        ("bad-repetition", Query(Repeat(A, 3, 2), (COUNT,))),
        ("bad-repetition", Query(Repeat(A, 0, 0), (COUNT,))),
        ("bad-aggregate", Query(A, (Item(ast.Aggregate("count", (ast.Ref(("A", "x")),))),))),
        ("bad-duration", Query(A, (COUNT,), within=ast.Within(ast.Duration(Fraction(0), None), None))),
        ("bad-duration", Query(A, (COUNT,), within=ast.Within(ast.Duration(Fraction(1, 2), "events"), None))),
        ("misplaced-next", Query(A, (Item(ast.Aggregate("sum", (NEXT,))),))),
        ("misplaced-next", Query(A, (COUNT,), group=(NEXT,))),
        ("misplaced-next", Query(A, (COUNT,), where=(ast.Equivalence((NEXT,)),))),
        ("label-without-attribute", Query(A, (COUNT,), where=(ast.IsNull(ast.Ref(("A",), next=True)),))),
        ("not-a-condition", Query(A, (COUNT,), where=(ast.Negate(ast.Const(1)),))),
        ("misplaced-and", Query(And((A, And((A, A)))), (COUNT,))),
    ],
)
def test_trees_made_by_hand(code: str, query: Query) -> None:
    with pytest.raises(QueryError) as caught:
        bind(query)
    assert [(found.code, found.start) for found in caught.value.diagnostics] == [(code, None)]


# ---- what is said about queries that mean nothing


def options(text: str) -> dict[str, object]:
    """Read the arguments of bind from the comments of a fixture."""
    found = {key: re.findall(r"\w+", names) for key, names in re.findall(r"^-- (\w+): (.*)$", text, re.MULTILINE)}
    types = {name: parse_expression("kind = 1") for name in found["types"]} if "types" in found else None
    return {"columns": found.get("columns"), "types": types, "any_type": "-- any type" in text}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.q")), ids=lambda path: path.stem)
def test_messages(path: Path) -> None:
    text = path.read_text()
    query = parse(text, path.name)
    with pytest.raises(SparkleeneError) as caught:
        bind(query, place=Place(text, path.name), **options(text))
    golden = path.with_suffix(".txt")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(caught.value.render() + "\n")
    assert caught.value.render() + "\n" == golden.read_text()


# ---- expressions inside and around aggregates


ROW = ("time", "type", "x", "y", "k", "at")


def bind_return(returns: str, pattern: str = "SEQ(A+, B)", rest: str = "", **options: object) -> Bound:
    text = f"RETURN {returns} PATTERN {pattern} {rest}"
    return bind(parse(text), place=Place(text), columns=ROW, **options)  # type: ignore[arg-type]


def test_expressions_inside_aggregates_are_derived_columns() -> None:
    found = bind_return("SUM(A.x * A.y), AVG(x * y), SUM(B.x), MAX(A.y * A.x + 1) AS m")
    assert [one.name for one in found.derived] == ["x * y", "y * x + 1"]
    assert found.derived[0].term == Call("*", (Field(("x",)), Field(("y",))))
    both = frozenset({0, 1})
    expected = [("sum_A_x_A_y", {0}, ("x * y",)), ("avg_x_y", both, ("x * y",)), ("sum_B_x", {1}, ("x",))]
    assert [(o.name, set(o.labels), o.path) for o in found.outputs][:3] == expected
    assert found.finish is None


def test_names_of_derived_columns_are_nobody_elses() -> None:
    text = "RETURN SUM(A.x * 2) PATTERN A+"
    found = bind(parse(text), columns=("x", "x * 2", "x * 2 2"))
    assert found.derived[0].name == "x * 2 3" == found.outputs[0].path[0]


def test_groups_by_expressions() -> None:
    found = bind_return("bucket, COUNT(*)", rest="GROUP-BY x % 10 AS bucket, A.y / 2, k AS who")
    assert found.group_names == ("bucket", "A_y_2", "who")
    assert [(key.path, key.labels) for key in found.keys] == [
        (("x % 10",), None),
        (("y / 2",), frozenset({0})),
        (("k",), None),
    ]
    assert bind_return("x % 10 AS m, COUNT(*)", rest="GROUP-BY x % 10").group_names == ("m",)


@pytest.mark.parametrize(
    ("written", "pieces", "constant"),
    [
        ("LENGTH", [("sum", "AB", (), 1)], 0),
        ("length()", [("sum", "AB", (), 1)], 0),
        ("DURATION", [("last", "AB", ("at",), 1), ("first", "AB", ("at",), -1)], 0),
        ("SUM(A.x)", [("sum", "A", ("x",), 1)], 0),
        ("SUM(A.x * 2)", [("sum", "A", ("x * 2",), 1)], 0),
        ("LAST(x) - FIRST(B.x)", [("last", "AB", ("x",), 1), ("first", "B", ("x",), -1)], 0),
        ("2 * (COUNT(A) - LENGTH / 4) + 0.1", [("sum", "A", (), 2), ("sum", "AB", (), -1 / 2)], Fraction(1, 10)),
        ("LENGTH - LENGTH + COUNT(B)", [("sum", "B", (), 1)], 0),
        ("-(LENGTH + LENGTH)", [("sum", "AB", (), -2)], 0),
    ],
)  # fmt: skip
def test_measures(
    written: str, pieces: list[tuple[str, str, tuple[str, ...], Fraction]], constant: Fraction
) -> None:
    [output] = bind_return(f"MAX({written})", "SEQ(A+, NOT C, B)", time="at").outputs
    labels = {"A": 0, "B": 2}
    expected = [
        Piece(kind, frozenset(labels[word] for word in words), path, Fraction(factor), path != ("at",))  # type: ignore[arg-type]
        for kind, words, path, factor in pieces
    ]
    assert output.measure == Measure(tuple(expected), Fraction(constant))
    assert (output.function, output.labels, output.path) == ("max", frozenset(), ())


def test_a_sum_of_counts_over_trends_is_a_count() -> None:
    found = bind_return("SUM(LENGTH), SUM(COUNT(A)), SUM(SUM(A.x)), AVG(COUNT(A)), SUM(2 * LENGTH)").outputs
    assert [o.measure is None for o in found] == [True, True, False, False, False]
    assert [(o.function, set(o.labels)) for o in found[:2]] == [("count", {0, 1}), ("count", {0})]


def test_each_and_distinct() -> None:
    found = bind_return(
        "COUNT(EACH A), COUNT(DISTINCT A), SUM(EACH A.x * 2), COUNT(DISTINCT k, y), LOG2(COUNT(DISTINCT A.y))",
        rest="WHERE [k, A.y]",
    ).outputs
    assert [o.name for o in found] == [
        "count_each_A", "count_distinct_A", "sum_EACH_A_x_2", "count_distinct_k_y", "log2_count_distinct_A_y"
    ]  # fmt: skip
    assert [o.each for o in found] == [True, True, True, False, False]
    assert [o.distinct for o in found] == [(), (), (), (0, 1), (1,)]


@pytest.mark.parametrize("value", ["-A.x", "(-A.x)", "2 - A.x", "-2 * A.x"])
def test_each_of_a_value_with_a_sign(value: str) -> None:
    (found,) = bind_return(f"SUM(EACH {value}) AS s").outputs
    assert found.each
    text = to_text(parse(f"RETURN SUM(EACH {value}) AS s PATTERN A+"))
    assert to_text(parse(text)) == text and "EACH" in text
    with pytest.raises(DataError, match="no attribute 'EACH'"):
        bind_return("SUM(EACH - A.x) AS s")  # a column of that name


def test_spreads_have_one_name_each() -> None:
    written = "VARIANCE(A.x) AS a, VAR_SAMP(A.x) AS b, VAR_POP(A.x) AS c, STDDEV(A.x) AS d, STDDEV_POP(A.x) AS e"
    found = bind_return(written).outputs
    assert [o.function for o in found] == ["var_samp", "var_samp", "var_pop", "stddev_samp", "stddev_pop"]


def test_expressions_over_results() -> None:
    found = bind_return(
        "SUM(A.x) / COUNT(*) AS mean, COUNT(*) AS n, k AS who",
        rest="GROUP-BY k HAVING mean > 2 AND k != bob AND MAX(A.x) < 9 ORDER BY n DESC, MAX(A.x) LIMIT 3",
    )
    assert [o.name for o in found.outputs] == ["n", "_SUM(A_x)", "_MAX(A_x)"]
    mean = Call("/", (Field(("_SUM(A_x)",)), Field(("n",))))
    who, most = Field(("who",)), Field(("_MAX(A_x)",))
    finish = found.finish
    assert finish is not None
    assert [(c.name, c.term) for c in finish.columns] == [("who", who), ("mean", mean), ("n", Field(("n",)))]
    conditions = (
        Call(">", (mean, Literal_(2))), Call("!=", (who, Literal_("bob"))), Call("<", (most, Literal_(9)))
    )  # fmt: skip
    assert finish.having == Call("and", conditions)
    assert (finish.order, finish.limit) == (((Field(("n",)), True), (most, False)), 3)


def test_group_expressions_inside_expressions_over_results() -> None:
    finish = bind_return("(x % 10) * 2 + COUNT(*) AS v", rest="GROUP-BY x % 10 AS b").finish
    assert finish is not None
    doubled = Call("*", (Field(("b",)), Literal_(2)))
    assert finish.columns[1].term == Call("+", (doubled, Field(("_COUNT(×)",))))


def test_columns_called_as_measures_stay_usable_with_a_label() -> None:
    text = "RETURN SUM(A.duration), MAX(DURATION()) PATTERN A+ GROUP-BY length"
    plain, over_trends = bind(parse(text), columns=("duration", "length", "time")).outputs
    assert (plain.path, plain.measure) == (("duration",), None)
    assert over_trends.measure is not None


# ---- windows whose borders rows draw


def test_sessions_and_windows_from_a_row() -> None:
    session = bound("A+", "GROUP-BY k WITHIN SESSION 90 seconds MAX 1 hour").window
    assert session == Drawn(Fraction(90_000), None, None, Fraction(3_600_000), "milliseconds")
    window = bound("A+", "WITHIN FROM x > 3 TO type = Logout MAX 5", columns=["time", "type", "x"]).window
    assert isinstance(window, Drawn)
    assert [show(term) for term in window.conditions] == ["(x > 3)", "(type = 'Logout')"]
    assert (window.gap, window.most, window.unit) == (None, 5, "time")
    assert bound("A B", "WHERE [k] GROUP-BY B.k WITHIN SESSION 5").group == (0,)  # every row has its k


@pytest.mark.parametrize(
    ("clauses", "code"),
    [
        ("GROUP-BY B.k WITHIN SESSION 5", "group-of-some-rows"),
        ("GROUP-BY B.k + 1 WITHIN FROM x = 1", "group-of-some-rows"),
        ("GROUP-BY k WITHIN SESSION 5 ORDER BY COUNT(*) LIMIT 3", "one-row-per-window"),
        ("GROUP-BY k WITHIN SESSION 5 LIMIT 3", "one-row-per-window"),
        ("WITHIN SESSION 5 SLIDE 2", "slide-not-possible"),
        ("WITHIN FROM x = 1 SLIDE 2", "slide-not-possible"),
        ("WITHIN SESSION", "unexpected-end"),
        ("WITHIN SESSION 5 MAX", "unexpected-end"),
        ("WITHIN FROM", "unexpected-end"),
        ("WITHIN FROM x TO", "unexpected-end"),
        ("WITHIN SESSION 5 MAX 2 hours", "mixed-units"),
        ("WITHIN SESSION 5 events", "bad-duration"),
        ("WITHIN SESSION 1 month", "bad-duration"),
        ("WITHIN SESSION 0", "bad-duration"),
        ("WITHIN FROM NEXT(A).x > 3", "misplaced-next"),
        ("WITHIN FROM GAP(A, B) > 3", "misplaced-next"),
        ("WITHIN FROM 1 = 1", "constant-predicate"),
        ("WITHIN FROM x + 1", "not-a-condition"),
    ],
)
def test_what_sessions_and_windows_from_a_row_cannot_have(clauses: str, code: str) -> None:
    assert codes("SEQ(A+, B)", clauses) == [code]
