"""What is built in Python is what the parser makes of its text, and mistakes are told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.language.test_fuzz import patterns, queries

from sparkleene.errors import QueryError
from sparkleene.language import ast, expr_to_text, parse, pattern_to_text, to_text
from sparkleene.language.build import Builder, both, either, no, optional, part, pattern, plus, seq, star, times


def rebuilt(node: ast.Pattern, data: st.DataObject) -> ast.Pattern | str:
    """Build a pattern anew from its parts, each by a function or as text."""
    if isinstance(node, ast.Atom) or data.draw(st.integers(0, 3)) == 0:
        return pattern_to_text(node)
    match node:
        case ast.Seq(parts):
            return seq(*(rebuilt(inner, data) for inner in parts))
        case ast.Or(options):
            return either(*(rebuilt(inner, data) for inner in options))
        case ast.And((left, right)):
            return both(rebuilt(left, data), rebuilt(right, data))
        case ast.And((*others, last)):
            return both(rebuilt(ast.And(tuple(others)), data), rebuilt(last, data))
        case ast.Not(inner):
            return no(rebuilt(inner, data))
        case ast.Repeat(inner, low, high):
            make: Callable[[Any], ast.Pattern] = lambda p: times(p, low, ... if high is None else high)  # noqa: E731
            short = {(1, None): plus, (0, None): star, (0, 1): optional}.get((low, high), make)
            return data.draw(st.sampled_from([short, make]))(rebuilt(inner, data))
    raise AssertionError(node)


def words(**only: Any) -> str:
    """Print a query that has nothing but one clause beyond a plain one, and return that clause."""
    plain = ast.Query(ast.Atom("A"), (ast.Item(ast.Aggregate("count")),))
    lines = to_text(replace(plain, **only)).split("\n")
    [line] = [line for line in lines if line not in ("RETURN COUNT(*)", "PATTERN A")] or [lines[0]]
    return line.split(" ", 1)[1]


@settings(max_examples=cases(200), deadline=None)
@given(patterns, st.data())
def test_patterns_are_what_the_parser_makes(tree: ast.Pattern, data: st.DataObject) -> None:
    built = part(rebuilt(tree, data))
    assert repr(built) == repr(tree)
    assert repr(pattern(built).tree.pattern) == repr(tree)


@settings(max_examples=cases(200), deadline=None)
@given(queries(), st.data())
def test_queries_are_what_the_parser_makes(query: ast.Query, data: st.DataObject) -> None:
    built = pattern(rebuilt(query.pattern, data))
    steps: list[Callable[[Builder], Builder]] = [
        lambda b: b.returns(*(words(returns=(item,)) for item in query.returns)),
        lambda b: b.semantics(query.semantics),
        lambda b: b.group_by(*(words(group=(ref,)) for ref in query.group)),
    ]
    if query.having is not None:
        having = words(having=query.having)
        steps.append(lambda b: b.having(having))
    if query.order or query.limit is not None:
        order = [words(order=(one,)).removeprefix("BY ") for one in query.order]
        steps.append(lambda b: b.order_by(*order, limit=query.limit))
    if query.name is not None:
        steps.append(lambda b: b.named(str(query.name)))
    if query.within is not None:
        size, *slide = words(within=query.within).split(" SLIDE ")
        steps.append(lambda b: b.within(size, *slide))
    for step in data.draw(st.permutations(steps)):
        built = step(built)
    for condition in query.where:
        built = built.where(words(where=(condition,)))
    assert repr(built.built) == repr(built.tree) == repr(parse(to_text(query)))
    assert built.text == repr(built) == to_text(query)


def test_a_whole_query() -> None:
    built = (
        pattern("Pickup P", plus("Trip T"), optional(seq("Stop", "Start")), "Dropoff D")
        .returns("district", "COUNT(*), MAX(T.speed)", "AVG(T.speed) AS speed")
        .semantics("skip till next match")
        .where("[driver, rider]", "T.speed < NEXT(T).speed OR T.late")
        .where("T.speed > 0 AND P.ok")
        .group_by("district", "age-group")
        .within("30 minutes", slide=timedelta(minutes=10))
        .named("q2")
    )
    assert built.text.split("\n") == [
        "q2: RETURN district, COUNT(*), MAX(T.speed), AVG(T.speed) AS speed",
        "PATTERN SEQ(Pickup P, Trip T+, SEQ(Stop, Start)?, Dropoff D)",
        "SEMANTICS skip-till-next-match",
        "WHERE [driver, rider] AND (T.speed < NEXT(T).speed OR T.late) AND T.speed > 0 AND P.ok",
        "GROUP-BY district, age-group",
        "WITHIN 30 minutes SLIDE 10 minutes",
    ]
    assert expr_to_text(built.tree.where[-1]) == "P.ok"  # type: ignore[arg-type]


def test_where_adds_and_the_rest_replaces() -> None:
    first = pattern("A+").returns("COUNT(A)").group_by("a").within(3, 2).where("[x]").named("one")
    then = first.returns("COUNT(*)").group_by("b").within("100 EVENTS", "10 EVENTS").where("[y]").named("two")
    assert then.text.split("\n") == [
        "two: RETURN COUNT(*)",
        "PATTERN A+",
        "WHERE [x] AND [y]",
        "GROUP-BY b",
        "WITHIN 100 EVENTS SLIDE 10 EVENTS",
    ]
    assert first.text.startswith("one: RETURN COUNT(A)")  # nothing happens to the one before
    assert then.group_by().where() == replace(then, built=replace(then.built, group=()))


def test_places_are_in_the_text() -> None:
    built = pattern("A", "Bee b")
    span = built.tree.pattern.span
    assert built.text[span.start : span.end] == "SEQ(A, Bee b)"


def test_subclasses_stay() -> None:
    @dataclass(frozen=True, repr=False)
    class Mine(Builder):
        pass

    made = Mine.of("A", "B").returns("COUNT(A)").semantics("any").where("[k]").group_by("k").within(1).named("q")
    assert type(made) is Mine
    assert hash(made) == hash(replace(made))


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(days=2), "2 days"),
        (timedelta(hours=36), "36 hours"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(seconds=90), "90 seconds"),
        (timedelta(milliseconds=1500), "1500 milliseconds"),
        (timedelta(microseconds=1), "0.001 milliseconds"),
        (7, "7"),
        ("0.5", "0.5"),
        ("10min", "10 minutes"),
        ("1 event", "1 EVENT"),
    ],
)
def test_lengths(length: Any, text: str) -> None:
    built = pattern("A+").within(length)
    assert built.text.endswith(f"WITHIN {text}")
    assert built.tree == built.built


def deep(levels: int) -> ast.Pattern:
    inner = part("A")
    for _ in range(levels):
        inner = seq(inner)
    return inner


@pytest.mark.parametrize(
    ("code", "message", "make"),
    [
        ("unexpected-token", "expected the end of PATTERN, found ','", lambda: seq("A, B")),
        ("unexpected-token", "expected the end of PATTERN, found 'WHERE'", lambda: pattern("A WHERE x > 1")),
        ("unexpected-end", "expected a pattern", lambda: plus("")),
        ("unexpected-end", "PATTERN:1:6", lambda: plus("SEQ(A")),
        ("unknown-operator", "'SEQ'", lambda: plus("Sek(A)")),
        ("bad-repetition", "below the lower bound", lambda: part("A{3,2}")),
        ("empty-pattern", "seq() has no parts", seq),
        ("empty-pattern", "either() has no parts", either),
        ("bad-option", "a part of the pattern is 3", lambda: no(3)),  # type: ignore[arg-type]
        ("bad-option", "is ['A', 'B']", lambda: seq(["A", "B"])),  # type: ignore[arg-type]
        ("bad-option", "a part of the pattern is None", lambda: both("A", None)),  # type: ignore[arg-type]
        ("bad-option", "a part of the pattern is RETURN", lambda: plus(pattern("A"))),  # type: ignore[arg-type]
        ("bad-repetition", "repetitions is -1", lambda: times("A", -1)),
        ("bad-repetition", "repetitions is True", lambda: times("A", True)),
        ("bad-repetition", "repetitions is 2.0", lambda: times("A", 1, 2.0)),  # type: ignore[arg-type]
        ("bad-repetition", "below the lower bound", lambda: times("A", 3, 2)),
        ("bad-repetition", "no event at all", lambda: times("A", 0)),
        ("repetition-too-large", "10,000", lambda: times("A", 2, 10_001)),
        ("nesting-too-deep", "100 levels", lambda: pattern(deep(5000))),
        ("no-aggregate", "returns()", lambda: pattern("A").returns()),
        ("unknown-function", "'CUONT'", lambda: pattern("A").returns("CUONT(*)")),
        ("unexpected-token", "expected the end of RETURN", lambda: pattern("A").returns("COUNT(*) COUNT(A)")),
        ("bad-option", "RETURN is given 1", lambda: pattern("A").returns(1)),  # type: ignore[arg-type]
        ("unknown-semantics", "'nxt'", lambda: pattern("A").semantics("nxt")),
        ("unexpected-token", "expected the end of SEMANTICS", lambda: pattern("A").semantics("any match")),
        ("unexpected-end", "WHERE:1:6", lambda: pattern("A").where("[k]", "x > ( ")),
        ("unexpected-token", "expected the end of WHERE", lambda: pattern("A").where("x > 1, y > 1")),
        ("bad-option", "WHERE is given ['x > 1']", lambda: pattern("A").where(["x > 1"])),  # type: ignore[arg-type]
        ("unexpected-token", "expected an attribute", lambda: pattern("A").group_by("*")),
        ("unknown-unit", "'fortnights'", lambda: pattern("A").within("2 fortnights")),
        ("unexpected-token", "the end of WITHIN", lambda: pattern("A").within("2 days SLIDE 1 day")),
        ("bad-duration", "more than 0", lambda: pattern("A").within(0)),
        ("bad-duration", "WITHIN is 0:00:00", lambda: pattern("A").within(timedelta())),
        ("bad-duration", "SLIDE is -1 day", lambda: pattern("A").within(1, timedelta(-1))),
        ("bad-option", "SLIDE is given 1.5", lambda: pattern("A").within(1, 1.5)),  # type: ignore[arg-type]
        ("bad-option", "WITHIN is given True", lambda: pattern("A").within(True)),
        ("mixed-units", "both count events", lambda: pattern("A").within("9 EVENTS", "1 s")),
        ("empty-name", "the name is empty", lambda: pattern("A").named("")),
        ("bad-option", "'a\\nb'", lambda: pattern("A").named("a\nb")),
    ],
)
def test_mistakes(code: str, message: str, make: Callable[[], object]) -> None:
    with pytest.raises(QueryError) as caught:
        make()
    assert caught.value.diagnostics[0].code == code
    assert message in str(caught.value)


def test_an_error_in_text_shows_its_place() -> None:
    with pytest.raises(QueryError) as caught:
        pattern("Pickup P", "Trip T ++ Dropoff")
    assert str(caught.value).split("\n")[1:5] == [
        " --> PATTERN:1:11",
        "  |",
        "1 | Trip T ++ Dropoff",
        "  |           ^^^^^^^",
    ]
