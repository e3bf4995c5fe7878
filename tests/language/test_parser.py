"""Queries and the syntax trees they are read as."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from sparkleene.errors import QueryError
from sparkleene.language import ast, parse, parse_expression, to_text

FIXTURES = Path(__file__).parent / "fixtures"
PAPERS = sorted((FIXTURES / "papers").glob("*.q"))
BAD = sorted((FIXTURES / "bad_syntax").glob("*.q"))

A, B, C, D = (ast.Atom(name) for name in "ABCD")
STAR = ast.Item(ast.Aggregate("count"))


def pattern(text: str) -> ast.Pattern:
    """Parse a pattern alone."""
    return parse(f"RETURN COUNT(*) PATTERN {text}").pattern


def where(text: str) -> tuple[ast.Equivalence | ast.Expr, ...]:
    """Parse a WHERE clause alone."""
    return parse(f"RETURN COUNT(*) PATTERN A WHERE {text}").where


def codes(text: str) -> list[str]:
    """Return the codes of the errors of a query."""
    with pytest.raises(QueryError) as caught:
        parse(text)
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


def ref(dotted: str, following: bool = False) -> ast.Ref:
    """Make a reference."""
    return ast.Ref(tuple(dotted.split(".")), following)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("Stock S+", ast.Repeat(ast.Atom("Stock", "S"), 1, None)),
        ("Stock S +", ast.Repeat(ast.Atom("Stock", "S"), 1, None)),
        ("A∗", ast.Repeat(A, 0, None)),
        ("A?", ast.Repeat(A, 0, 1)),
        ("A{3}", ast.Repeat(A, 3, 3)),
        ("A{3 , }", ast.Repeat(A, 3, None)),
        ("A{3,5}", ast.Repeat(A, 3, 5)),
        ("A{1,}", ast.Repeat(A, 1, None)),
        ("(SEQ(A+, B))+", ast.Repeat(ast.Seq((ast.Repeat(A, 1, None), B)), 1, None)),
        ("seq(A, !B, C)", ast.Seq((A, ast.Not(B), C))),
        ("NOT A+", ast.Not(ast.Repeat(A, 1, None))),
        ("(NOT A)+", ast.Repeat(ast.Not(A), 1, None)),
        ("A OR B | C", ast.Or((A, B, C))),
        ("(A OR B) ∨ C", ast.Or((A, B, C))),
        ("A & B ∧ C", ast.And((A, B, C))),
        ("A AND B OR C AND D", ast.Or((ast.And((A, B)), ast.And((C, D))))),
        ("NOT A AND B", ast.And((ast.Not(A), B))),
        ("OR(A, B)", ast.Or((A, B))),
        ("AND(A, OR(B, C))+", ast.Repeat(ast.And((A, ast.Or((B, C)))), 1, None)),
        ("`my type` `a``b`", ast.Atom("my type", "a`b")),
        ("type count", ast.Atom("type", "count")),
        ("next min", ast.Atom("next", "min")),
        ("`seq`", ast.Atom("seq")),
        ("SEQ(VKindle,BKindle,VCase)", ast.Seq(tuple(map(ast.Atom, ("VKindle", "BKindle", "VCase"))))),
    ],
)
def test_pattern(text: str, tree: ast.Pattern) -> None:
    """Patterns read as they bind."""
    assert pattern(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("price", ref("price")),
        ("S.a.b = 1", ast.Compare((ref("S.a.b"), ast.Const(1)), ("=",))),
        ("S.a < NEXT(S ).a", ast.Compare((ref("S.a"), ref("S.a", True)), ("<",))),
        ("next (S).a == next", ast.Compare((ref("S.a", True), ref("next")), ("=",))),
        ("a ≤ b <> c ≥ d", ast.Compare((ref("a"), ref("b"), ref("c"), ref("d")), ("<=", "!=", ">="))),
        ("a = .5", ast.Compare((ref("a"), ast.Const(0.5)), ("=",))),
        ('a = "x ""y"""', ast.Compare((ref("a"), ast.Const('x "y"')), ("=",))),
        ("a = ‘x’", ast.Compare((ref("a"), ast.Const("x")), ("=",))),
        ("NOT a IN (1, b)", ast.Invert(ast.In(ref("a"), (ast.Const(1), ref("b"))))),
        ("a NOT IN ('x')", ast.In(ref("a"), (ast.Const("x"),), True)),
        ("a IS NOT NULL", ast.IsNull(ref("a"), True)),
        ("! a & b", ast.Bool("and", (ast.Invert(ref("a")), ref("b")))),
        ("a OR b AND c", ast.Bool("or", (ref("a"), ast.Bool("and", (ref("b"), ref("c")))))),
        ("a AND (b AND c)", ast.Bool("and", (ref("a"), ref("b"), ref("c")))),
        ("a || b ∨ c", ast.Bool("or", (ref("a"), ref("b"), ref("c")))),
        ("a BETWEEN 1 AND 2 AND b", ast.Bool("and", (ast.Between(ref("a"), ast.Const(1), ast.Const(2)), ref("b")))),
        (
            "a - b - c * d = -1",
            ast.Compare(
                (
                    ast.Binary("-", ast.Binary("-", ref("a"), ref("b")), ast.Binary("*", ref("c"), ref("d"))),
                    ast.Negate(ast.Const(1)),
                ),
                ("=",),
            ),
        ),
        ("S.in = S.pattern", ast.Compare((ref("S.in"), ref("S.pattern")), ("=",))),
        ("S.group AND by", ast.Bool("and", (ref("S.group"), ref("by")))),
    ],
)
def test_expression(text: str, tree: ast.Expr) -> None:
    """Conditions read as they bind."""
    assert repr(parse_expression(text)) == repr(tree)


def test_where_is_flat() -> None:
    """WHERE holds its conjuncts, equivalences among them."""
    equivalence = ast.Equivalence((ref("age-group"), ref("L.b")))
    assert where("([age-group, L.b] AND x) AND (y AND z)") == (equivalence, ref("x"), ref("y"), ref("z"))
    assert where("[age-group,L.b] ∧ age-group > 1")[1] == ast.Compare(
        (ast.Binary("-", ref("age"), ref("group")), ast.Const(1)), (">",)
    )


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("RETURN count( ∗ )", (STAR,)),
        ("AGG COUNT", (STAR,)),
        ("AGG Count, sum(E.x.y)", (STAR, ast.Item(ast.Aggregate("sum", (ref("E.x.y"),))))),
        ("RETURN count, Avg(x) AS y", (ast.Item(ref("count")), ast.Item(ast.Aggregate("avg", (ref("x"),)), "y"))),
        ("RETURN age-group, COUNT(E)", (ast.Item(ref("age-group")), ast.Item(ast.Aggregate("count", (ref("E"),))))),
        ("RETURN Log10(COUNT(*)) AS n", (ast.Item(ast.Aggregate("count", (), 10), "n"),)),
        ("RETURN LOG2(COUNT(E))", (ast.Item(ast.Aggregate("count", (ref("E"),), 2)),)),
    ],
)
def test_return(text: str, items: tuple[ast.Item, ...]) -> None:
    """RETURN and AGG name the results."""
    assert parse(f"{text} PATTERN A").returns == items


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("10 minutes", 10, "minutes"),
        ("10s", 10, "seconds"),
        ("1hour", 1, "hours"),
        ("48 h", 48, "hours"),
        ("30 min", 30, "minutes"),
        ("1.5 HOURS", Fraction(3, 2), "hours"),
        ("500 ms", 500, "milliseconds"),
        ("2 d", 2, "days"),
        ("100", 100, None),
        ("100 EVENTS", 100, "events"),
    ],
)
def test_duration(text: str, value: Fraction, unit: str | None) -> None:
    """Durations keep their number exactly and their unit."""
    within = parse(f"RETURN COUNT(*) PATTERN A WITHIN {text} SLIDE {text}").within
    assert within is not None and within.slide == within.size
    assert (within.size.value, within.size.unit) == (value, unit)


@pytest.mark.parametrize(
    ("text", "semantics"),
    [
        ("ANY", "skip-till-any-match"),
        ("Skip-Till-Any-Match", "skip-till-any-match"),
        ("skip till next match", "skip-till-next-match"),
        ("next", "skip-till-next-match"),
        ("CONT", "contiguous"),
        ("contiguous", "contiguous"),
    ],
)
def test_semantics(text: str, semantics: str) -> None:
    """Semantics have long and short names."""
    assert parse(f"RETURN COUNT(*) PATTERN A SEMANTICS {text} WHERE x").semantics == semantics


def test_clauses_in_any_order() -> None:
    """The order of clauses, the case of keywords and comments do not matter."""
    one = parse("slide 5s within 10s Group By x where y semantics any pattern A # rest\nreturn count(*);")
    two = parse("RETURN COUNT(*) -- all\nPATTERN /* one */ A WHERE y GROUPBY x WITHIN 10 sec SLIDE 5 sec")
    assert one == two


def test_spans_point_into_the_text() -> None:
    """Every node knows its place."""
    text = "RETURN COUNT(*) PATTERN SEQ(Stock S+, B) WHERE S.price > NEXT(S).price AND [a]"
    query = parse(text)
    assert isinstance(query.pattern, ast.Seq)
    compare, equivalence = query.where
    assert isinstance(compare, ast.Compare)
    nodes = (query.pattern, query.pattern.parts[0], compare, compare.operands[1], equivalence)
    shown = [text[node.span.start : node.span.end] for node in nodes]
    assert shown == ["SEQ(Stock S+, B)", "Stock S+", "S.price > NEXT(S).price", "NEXT(S).price", "[a]"]


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_papers(path: Path) -> None:
    """Every query printed in the papers is read as printed."""
    query = parse(path.read_text(encoding="utf-8"), path.name)
    assert query.within is not None
    assert parse(to_text(query)) == query


def paper(name: str) -> ast.Query:
    """Parse a query of a paper."""
    return parse((FIXTURES / "papers" / f"{name}.q").read_text(encoding="utf-8"))


def test_paper_trees() -> None:
    """Queries of the papers mean what their text says."""
    down = ast.Compare((ref("S.price"), ref("S.price", True)), (">",))
    equal = ast.Equivalence((ref("company"), ref("sector")))
    window = ast.Within(ast.Duration(Fraction(10), "minutes"), ast.Duration(Fraction(10), "seconds"))
    stock = ast.Repeat(ast.Atom("Stock", "S"), 1, None)
    returns = (ast.Item(ref("sector")), STAR)
    expected = ast.Query(stock, returns, where=(equal, down), group=(ref("sector"),), within=window, name="Q1")
    assert paper("greta-2017-q1") == expected
    assert paper("cogra-2019-q3").where == expected.where
    assert paper("cogra-2019-q3").name == "q₃"

    network = paper("aseq-2014-network")
    assert network.pattern == ast.Seq(tuple(map(ast.Atom, ("TypeUsername", "TypePassword", "ClickSubmit"))))
    assert network.where == (ast.Compare((ref("TypePassword.value"), ref("TypeUsername.Password")), ("!=",)),)
    assert (network.group, network.returns) == ((ref("IP"),), (STAR,))
    commerce = paper("aseq-2014-commerce").where[0]
    assert isinstance(commerce, ast.Compare) and commerce.ops == ("=", "=")

    assert paper("sharing-2016-q1").group == (ref("age-group"),)
    assert paper("greta-2017-q3").pattern == ast.Seq(
        (ast.Not(ast.Atom("Accident", "A")), ast.Repeat(ast.Atom("Position", "P"), 1, None))
    )
    assert paper("cogra-2019-q4").where[-1] == ast.Compare((ref("A.type"), ref("passive")), ("=",))
    assert paper("hamlet-2021-q1").returns[0] == ast.Item(ref("T.district"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_syntax(path: Path) -> None:
    """Every wrong query gives the message beside it."""
    with pytest.raises(QueryError) as caught:
        parse(path.read_text(encoding="utf-8"), path.name)
    assert caught.value.render() + "\n" == path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("RETURN COUNT(*) PATTERN A" + " " * 1_000_000, "query-too-large"),
        ("RETURN COUNT(*) PATTERN " + "SEQ(" * 5000 + "A" + ")" * 5000, "nesting-too-deep"),
        ("RETURN COUNT(*) PATTERN " + "NOT " * 5000 + "A", "nesting-too-deep"),
        ("RETURN COUNT(*) PATTERN A" + "+" * 5000, "nesting-too-deep"),
        ("RETURN COUNT(*) PATTERN A WHERE " + "(" * 5000 + "a", "nesting-too-deep"),
        ("RETURN COUNT(*) PATTERN A WHERE a < " + "- " * 5000 + "a", "nesting-too-deep"),
        ("RETURN COUNT(*) PATTERN A WHERE a" + " + a" * 5000 + " > 1", "nesting-too-deep"),
        ("RETURN COUNT(*) PATTERN A WHERE a < " + "9" * 5000, "bad-number"),
        ("RETURN COUNT(*) PATTERN A{10001}", "repetition-too-large"),
    ],
    ids=lambda value: value if len(value) < 30 else "",
)
def test_limits(text: str, code: str) -> None:
    """A query beyond the limits is refused, not crashed on."""
    assert code in codes(text)


def test_wide_queries_are_fine() -> None:
    """Width is no depth: a thousand conditions or options are read."""
    assert len(where(" AND ".join(["a = 1"] * 1000))) == 1000
    assert len(getattr(pattern(" OR ".join(["A"] * 1000)), "options", ())) == 1000


def test_errors_are_capped() -> None:
    """A text that is no query at all gives the first errors only."""
    assert len(codes("$ " * 1000)) == 20


def test_expression_errors() -> None:
    """A lone condition must be one condition, without equivalences."""
    for text, code in [("a + 1", "not-a-condition"), ("[a]", "misplaced-equivalence"), ("", "unexpected-end")]:
        with pytest.raises(QueryError) as caught:
            parse_expression(text, "types")
        assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]
    with pytest.raises(QueryError, match="expected the end of the condition, found 'b'"):
        parse_expression("a = 1 b")


def test_distinct_can_be_a_label() -> None:
    """DISTINCT is not a keyword."""
    count = ast.Item(ast.Aggregate("count", (ref("Distinct"),)))
    assert parse("RETURN COUNT(Distinct) PATTERN Distinct").returns == (count,)
