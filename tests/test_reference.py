"""Results worked out by hand from the definition, one line of reasoning each."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import HealthCheck, given, settings
from tests.chance import cases
from tests.conformance.strategies import LEAVES, Case, case, positive_patterns, show

from sparkleene.language.ast import Atom, Or, Pattern, Repeat, Seq
from sparkleene.language.bind import bind
from sparkleene.language.bound import Bound, Call, Field, Literal_
from sparkleene.language.parser import parse
from sparkleene.reference import evaluate, trends

COLUMNS = ("time", "type", "x", "y", "k", "s")
ANY, NEXT, CONTIGUOUS = "skip-till-any-match", "skip-till-next-match", "contiguous"


def stream(text: str) -> list[dict[str, object]]:
    """Read `A1 B2x3k_`: type, time, then attributes; `_` is NULL, `~` is NaN."""
    rows = []
    for token in text.split():
        kind, time, rest = re.fullmatch(r"([A-Z])(\d+)(.*)", token).groups()  # type: ignore[union-attr]
        row: dict[str, object] = dict.fromkeys(COLUMNS) | {"time": int(time), "type": kind}
        for name, value in re.findall(r"([a-z])(-?[\d.]+|_|~)", rest):
            known = {"_": None, "~": math.nan}
            row[name] = known[value] if value in known else float(value) if "." in value else int(value)
        rows.append(row)
    return rows


def bound(pattern: str, rest: str = "", semantics: str = ANY, returns: str = "COUNT(*) AS n") -> Bound:
    return bind(parse(f"RETURN {returns} PATTERN {pattern} SEMANTICS {semantics} {rest}"), columns=COLUMNS)


def run(pattern: str, events: str, rest: str = "", semantics: str = ANY, **options: object) -> list[tuple]:
    """Return the rows of a COUNT(*) query as tuples."""
    result = evaluate(bound(pattern, rest, semantics), stream(events), **options)  # type: ignore[arg-type]
    return [tuple(row.values()) for row in result]


def count(pattern: str, events: str, rest: str = "", semantics: str = ANY, **options: object) -> int:
    """Return COUNT(*) of a query without window and group, 0 where there is no row."""
    rows = run(pattern, events, rest, semantics, **options)
    return rows[0][0] if rows else 0


def one(returns: str, pattern: str, events: str, rest: str = "") -> dict[str, object]:
    """Return the only result row."""
    (row,) = evaluate(bound(pattern, rest, returns=returns), stream(events))
    return row


FIGURE_2 = "A1 B2 A3 A4 C5 B6 A7 B8"  # of the 2019 paper


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        ("(SEQ(A+, B))+", FIGURE_2, 43),  # the paper's own number
        ("A+", "A1 A2 A3", 7),  # all non-empty subsets
        ("A*", "A1 A2", 3),  # as A+: the empty word is never a trend
        ("SEQ(A?, B)", "A1 B2", 2),  # b2, a1 b2
        ("A{2}", "A1 A2 A3", 3),  # pairs of three
        ("A{2,3}", "A1 A2 A3 A4", 10),  # 6 pairs and 4 triples
        ("A{3,}", "A1 A2 A3 A4", 5),  # 4 triples and all four
        ("(A?){2}", "A1 A2", 3),  # a1, a2, a1 a2, each once
        ("(A*)+", "A1 A2", 3),  # again A+
        ("A OR A", "A1 A2", 2),  # a trend is counted once, however it is parsed
        ("SEQ(A, A, A+)", "A1 A2 A3 A4", 5),  # A+ with at least three
        ("SEQ(A+, A+)", "A1 A2 A3", 4),  # A+ with at least two: 3 pairs and the triple
        ("SEQ(A p+, A q+)", "A1 A2 A3", 5),  # 3 pairs of one binding each, the triple has two
        ("A OR B", "A1 B2 Z3", 2),  # z3 has no label
        ("(A OR B)+", "A1 B2", 3),  # a1, b2, a1 b2
        ("SEQ(A, B)", "B1 A2", 0),  # wrong order
        ("A+", "", 0),  # no event, no row
        ("A+", "A1 A1", 2),  # two events of one time are never in one trend
        ("A+", "A1 A1 A2", 5),  # 3 alone and 2 pairs
        ("A+", "A2 A1 A3", 7),  # input order means nothing
    ],
)
def test_any(pattern: str, events: str, expected: int) -> None:
    assert count(pattern, events) == expected


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        ("(SEQ(A+, B))+", FIGURE_2, 8),  # the paper's own number
        ("SEQ(A, B)", "A1 A2 B3", 2),  # a2 cannot extend a1, so a1 b3 skips nothing
        ("SEQ(A, B)", "A1 B2 B3", 1),  # a1 b3 would skip b2
        ("SEQ(A, B)", "A1 B2 B2 B3", 2),  # both b2 of the tick extend a1: it forks
        ("SEQ(A+, B)", "A1 A2 B3", 2),  # a1 a2 b3, a2 b3; a1 b3 would skip a2
        ("SEQ(A, B?, D)", "A1 B2 Z3 D4", 1),  # a1 b2 d4; a1 d4 would skip b2
        ("A+", "A1 Z2 A3", 3),  # a1, a3, a1 a3
    ],
)
def test_next(pattern: str, events: str, expected: int) -> None:
    assert count(pattern, events, semantics=NEXT) == expected


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        ("(SEQ(A+, B))+", FIGURE_2, 2),  # the paper's own number
        ("SEQ(A, B)", "A1 A2 B3", 1),  # a1 b3 skips a2
        ("A+", "A1 Z2 A3", 2),  # z2 is in between though the pattern does not know it
        ("SEQ(A, B)", "A1 Z1 Z2 B2", 1),  # only times strictly between count
        ("SEQ(A, B)", "A1 A1 B2 B2", 4),  # forks and joins at ticks
    ],
)
def test_contiguous(pattern: str, events: str, expected: int) -> None:
    assert count(pattern, events, semantics=CONTIGUOUS) == expected


def test_tiebreak_is_a_finer_order() -> None:
    # with an order among them the two events of time 1 make a third trend
    assert count("A+", "A1s0 A1s1", tiebreak="s") == 3
    # equal pairs are one tick again
    assert count("A+", "A1s0 A1s0", tiebreak="s") == 2
    # z lies between a and b within time 1
    assert count("SEQ(A, B)", "A1s0 Z1s1 B1s2", semantics=CONTIGUOUS, tiebreak="s") == 0


@pytest.mark.parametrize(
    ("pattern", "events", "where", "semantics", "expected"),
    [
        ("A", "A1x1 A2x_ A3x9", "A.x < 5", ANY, 1),  # NULL < 5 is not true
        ("A", "A1x1 A2x_ A3x9", "NOT A.x < 5", ANY, 1),  # nor is its negation
        ("A", "A1x1 A2x_ A3x~", "A.x IS NULL", ANY, 2),  # NaN counts as NULL
        ("A", "A1x~ A2x1", "A.x != 3", ANY, 1),  # NaN compares to nothing
        ("A", "A1x_y1 A2x_y0", "A.x > 0 OR A.y > 0", ANY, 1),  # unknown or true is true
        ("A", "A1x0", "A.x / 0 = 0 OR A.x % 0 = 0", ANY, 0),  # both NULL
        ("A", "A1x-4 A2x2", "A.x % 3 = -1", ANY, 1),  # the sign of the dividend
        ("A", "A1x1", "A.x / 2 = 0.5", ANY, 1),  # true division
        ("A", "A1x1 A2x2 A3x3", "A.x IN (1, 3) AND A.x BETWEEN 1 AND 2", ANY, 1),  # a1 only
        ("SEQ(A, B)", "A1x1 A2x0 B3x1 B4x0", "x > 0", ANY, 1),  # without a label it is meant for all
        ("A+", "A1x1 A2x0 A3x1", "A.x > 0", NEXT, 3),  # a2 has no part, a1 a3 skips nothing
        ("A+", "A1x1 A2x0 A3x1", "A.x > 0", CONTIGUOUS, 2),  # a2 breaks contiguity all the same
        ("A+", "A1x1 A2x3 A3x2", "A.x < NEXT(A).x", ANY, 5),  # 3 alone, a1 a2, a1 a3
        ("A+", "A1x1 A2x3 A3x2", "A.x < NEXT(A).x", NEXT, 4),  # a1 a3 would skip a2
        ("A+", "A1x3 A2x1 A3x4", "A.x < NEXT(A).x", NEXT, 5),  # a2 cannot extend a1: a1 a3, a2 a3
        ("A+", "A1x1 A2x_ A3x2", "A.x < NEXT(A).x", ANY, 4),  # a2 only alone; a1 a3
        ("(A OR B)+", "A1x1 B2x2 A3x3", "A.x < B.x", ANY, 5),  # b2 a3 fails in either order; a1 a3 is free
        ("(A OR B)+", "A1x1 B2x2 A3x3", "A.x < NEXT(B).x", ANY, 7),  # b2 a3 is free now
        ("SEQ(A p, A q)", "A1x1 A2x2 A3x1", "p.x = q.x", ANY, 1),  # a1 a3
        ("SEQ(A p, A q)", "A1x1 A2x2 A3x1", "A.x < 2", ANY, 1),  # the type stands for both labels
    ],
)
def test_where(pattern: str, events: str, where: str, semantics: str, expected: int) -> None:
    assert count(pattern, events, f"WHERE {where}", semantics) == expected


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        ("SEQ(A, NOT C, B)", "A1 C2 A3 B4", 1),  # c2 lies between a1 and b4
        ("SEQ(A, NOT C, B)", "A1 C1 C2 B2", 1),  # both strict
        ("SEQ(NOT C, A)", "A1 A2 C2 A3", 2),  # c2 ends before a3 only
        ("SEQ(NOT C, A+)", "A1 C2 A3", 2),  # a1, and a1 a3: only the first event matters
        ("SEQ(A, NOT C)", "A1 A2 C2 A3", 2),  # c2 starts after a1 only
        ("SEQ(A+, NOT C)", "A1 C2 A3", 2),  # a3, a1 a3
        ("SEQ(A, NOT SEQ(C, D), B)", "A1 D2 C3 B4", 1),  # no c before a d
        ("SEQ(A, NOT SEQ(C, D), B)", "A1 C2 D3 B4", 0),  # a match of C, D in between
        ("SEQ(A, NOT SEQ(C, D), B)", "C1 A2 D3 B4", 1),  # it starts before a2
        ("SEQ(A, NOT SEQ(C, D), B)", "A1 C2 D3 B3", 1),  # it ends with b3, not before
        ("SEQ(A, NOT SEQ(C, NOT Z, D), B)", "A1 C2 Z3 D4 B5", 1),  # z3 undoes the match of C, D
        ("SEQ(A, NOT SEQ(C, NOT Z, D), B)", "A1 C2 Z3 C4 D5 B6", 0),  # c4 d5 is one
        ("(SEQ(A, NOT C, B))+", "A1 B2 C3 A4 B5", 3),  # a1 b5 alone is forbidden
        ("SEQ(A, B?, NOT C, D)", "A1 C2 B3 D4", 1),  # a1 b3 d4: last of the part is b3; a1 d4 has c2 between
        ("SEQ(A?, NOT C, B)", "C1 A2 B3", 1),  # a2 b3; b3 alone has c1 before it
        ("SEQ(A, NOT C, B?)", "A1 B2 C3", 1),  # a1 b2; a1 alone has c3 after it
        ("SEQ(A, NOT C, NOT D, B)", "A1 B2 D3 B4", 1),  # a1 b4 has d3 between
    ],
)
def test_negation(pattern: str, events: str, expected: int) -> None:
    assert count(pattern, events) == expected


def test_negation_has_its_own_local_predicates() -> None:
    # c2 is no match of C, c4 is one
    assert count("SEQ(A, NOT C, B)", "A1 C2x0 B3 C4x1 B5", "WHERE C.x > 0") == 1


def test_negation_under_next() -> None:
    # a1 b4 has c2 between; a1 a3 b4 and a3 b4 remain
    assert count("SEQ(A+, NOT C, B)", "A1 C2 A3 B4", semantics=NEXT) == 2
    # b3 cannot extend a1, so it does not stand between a1 and d4
    assert count("SEQ(A, NOT C, B) OR SEQ(A, D)", "A1 C2 B3 D4", semantics=NEXT) == 1
    # without c2 it does
    assert count("SEQ(A, NOT C, B) OR SEQ(A, D)", "A1 B3 D4", semantics=NEXT) == 1


def test_negation_sees_its_window_only() -> None:
    # c1 is in [0, 2), a2 in [2, 4)
    assert run("SEQ(NOT C, A)", "C1 A2", "WITHIN 2 SLIDE 2") == [(2, 4, 1)]
    # a1 is alone in [0, 2), c2 in [2, 4)
    assert run("SEQ(A, NOT C)", "A1 C2", "WITHIN 2 SLIDE 2") == [(0, 2, 1)]


@pytest.mark.parametrize(
    ("pattern", "events", "within", "expected"),
    [
        ("A+", "A0 A1 A2", "2 SLIDE 2", [(0, 2, 3), (2, 4, 1)]),  # a0 a1 together, a2 alone
        ("A+", "A1 A3", "4 SLIDE 2", [(-2, 2, 1), (0, 4, 3), (2, 6, 1)]),  # all windows with an event
        ("A", "A0 A1 A3", "1 SLIDE 3", [(0, 1, 1), (3, 4, 1)]),  # a1 falls into the gap
        ("SEQ(A, B)", "A1 B2 A3", "2 SLIDE 2", []),  # a1 and b2 are in different windows
        ("A", "A1 B2 A3", "2 EVENTS SLIDE 1 EVENTS", [(-1, 1, 1), (0, 2, 1), (1, 3, 1), (2, 4, 1)]),
        ("A+", "A1 A1", "2 EVENTS SLIDE 2 EVENTS", [(0, 2, 2)]),  # one time still is one tick
        ("A+", "A5 A7 A9", "2 EVENTS SLIDE 2 EVENTS", [(0, 2, 3), (2, 4, 1)]),  # rows 0 and 1, row 2
        ("A+", "A1 A2", "5", [(-4, 1, 1), (-3, 2, 3)]),  # a row per tick where a trend ends
        ("SEQ(A, B)", "A1 B2 A3 B4", "3", [(-1, 2, 1), (1, 4, 1)]),  # a1 is not later than 4 - 3
        ("SEQ(A, B)", "A1 B2 Z3 B5", "4", [(-2, 2, 1)]),  # nothing ends at 3, and at 5 a1 is too old
        ("SEQ(A, NOT C)", "A1 C2 A3", "9", [(-8, 1, 1), (-6, 3, 1)]),  # c2 is not there yet at 1
        ("SEQ(NOT C, A)", "C1 A2 A4", "3", [(1, 4, 2)]),  # at 4 c1 has left: a2 and a4; at 2 it forbids a2
    ],
)
def test_windows(pattern: str, events: str, within: str, expected: list[tuple]) -> None:
    assert run(pattern, events, f"WITHIN {within}") == expected


def test_window_offset() -> None:
    # [-1, 1) holds a0, [1, 3) holds a1 a2
    assert run("A+", "A0 A1 A2", "WITHIN 2 SLIDE 2", offset=1) == [(-1, 1, 1), (1, 3, 3)]


@pytest.mark.parametrize(
    ("pattern", "events", "rest", "semantics", "expected"),
    [
        ("A+", "A1k1 A2k2 A3k1", "WHERE [k]", ANY, [(4,)]),  # a1, a3, a1 a3 and a2, added up
        ("A+", "A1k1 A2k_ A3k1", "WHERE [k]", ANY, [(3,)]),  # NULL is in no sub-stream
        ("A+", "A1k1 A2k2 A3k1", "WHERE [k]", CONTIGUOUS, [(4,)]),  # a2 is not in the sub-stream of a1
        ("A+", "A1k1 A2k2 A3k1", "GROUP-BY k", ANY, [(1, 3), (2, 1)]),  # the same, a row per group
        ("A+", "A1k1x1 A2k1x2", "WHERE [x] GROUP-BY k", ANY, [(1, 2)]),  # two sub-streams of one group
        ("SEQ(A, B)", "A1k1 A2k2 B3", "GROUP-BY A.k", ANY, [(1, 1), (2, 1)]),  # b3 is in both
        ("SEQ(A, B)", "A1k1 A2k2 B3", "GROUP-BY A.k", CONTIGUOUS, [(1, 1), (2, 1)]),  # a2 is not in group 1
        ("SEQ(A, B)", "A1k1 Z2k2 B3", "GROUP-BY A.k", CONTIGUOUS, []),  # z2 is in every sub-stream
        ("SEQ(A, B)", "A1k1 A2k_ B3", "GROUP-BY A.k", CONTIGUOUS, [(1, 1)]),  # a2 is in none
        ("SEQ(A?, B)", "A1k1 A2k2 B3", "GROUP-BY A.k", ANY, [(1, 2), (2, 2)]),  # b3 alone in either
        ("SEQ(A?, B)", "A1k1 A2k2 B3", "WHERE [A.k]", ANY, [(4,)]),  # per sub-stream, added up
        ("SEQ(A?, B)", "B3", "WHERE [A.k]", ANY, []),  # no value, no sub-stream
        ("SEQ(A, B)", "A1k1 B2k3 B3k4", "GROUP-BY A.k, B.k", ANY, [(1, 3, 1), (1, 4, 1)]),  # all combinations
        ("SEQ(A, B)", "A1k1 B2k1 A3k2 B4k1", "WHERE A.k = B.k", ANY, [(2,)]),  # a1 b2, a1 b4
        ("SEQ(A p, A q)", "A1k1 A2k2", "GROUP-BY p.k", ANY, [(1, 1)]),  # a2 may be q where k is 1
        ("SEQ(A, NOT C, B)", "A1k1 C2k2 B3k1", "WHERE [k]", ANY, [(1,)]),  # c2 is in another sub-stream
        ("A+", "A1k1 A2k2", "WHERE [k] WITHIN 9", ANY, [(-8, 1, 1), (-7, 2, 2)]),  # at 2 both count
        ("A+", "A1k1 A2k2", "GROUP-BY k WITHIN 9", ANY, [(-8, 1, 1, 1), (-7, 2, 2, 1)]),  # one group each
    ],
)
def test_substreams(pattern: str, events: str, rest: str, semantics: str, expected: list[tuple]) -> None:
    assert run(pattern, events, rest, semantics) == expected


def test_aggregates() -> None:
    # 7 trends, each event in 4 of them, a2 without a value
    row = one("COUNT(*), COUNT(A), SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x)", "A+", "A1x1 A2x_ A3x2")
    assert list(row.values()) == [7, 12, 12, Fraction(12, 8), 1, 2]


def test_aggregates_without_a_value() -> None:
    # NaN is NULL, and no value gives NULL
    row = one("COUNT(B), SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x)", "A OR B", "A1x~ A2x_")
    assert list(row.values()) == [0, None, None, None, None]


def test_sums_of_floats_are_exact() -> None:
    # the doubles nearest to 0.1 and 0.2, added without rounding
    row = one("SUM(A.x) AS s", "A", "A1x0.1 A2x0.2")
    assert row == {"s": Fraction(0.1) + Fraction(0.2)}


def test_aggregates_of_labels_and_types() -> None:
    # p=a1 q=a2, a1 a3, a2 a3; a type stands for all its labels
    row = one("SUM(p.x), SUM(q.x), SUM(A.x), COUNT(A)", "SEQ(A p, A q)", "A1x1 A2x2 A3x4")
    assert list(row.values()) == [1 + 1 + 2, 2 + 4 + 4, 14, 6]


def test_logarithms() -> None:
    # three events, seven trends
    row = one("LOG2(COUNT(*)), LOG10(COUNT(*))", "A+", "A1 A2 A3")
    assert list(row.values()) == [math.log2(7), math.log10(7)]


def test_and_counts_pairs() -> None:
    # a1 b2, a1 b3: a1 occurs in both pairs
    row = one("COUNT(*), COUNT(A), COUNT(B), SUM(B.x)", "A AND B", "A1 B2x1 B3x2")
    assert list(row.values()) == [2, 2, 2, 3]


def test_and_of_overlapping_operands() -> None:
    # {a1, a2}, {a1 a2, a1}, {a1 a2, a2}: never with itself, never twice
    assert count("A+ AND A", "A1 A2") == 3
    # one trend of both, nothing to pair it with
    assert run("A AND A", "A1") == []
    # no trend of B
    assert run("A AND B", "A1 A2") == []


def test_and_orders_nothing_between_operands() -> None:
    # the pair may overlap in time or come in any order: {a1 b4, c2 d3}
    assert count("SEQ(A, B) AND SEQ(C, D)", "A1 C2 D3 B4") == 1
    # under contiguous c2 is between a1 and b4
    assert count("SEQ(A, B) AND SEQ(C, D)", "A1 C2 D3 B4", semantics=CONTIGUOUS) == 0


def test_trends_are_shown_with_window_and_key() -> None:
    found = list(trends(bound("SEQ(A p, B)", "WHERE [k] WITHIN 4 SLIDE 4"), stream("A0k1 A1k2 B2k1 B5k2")))
    # a1 and b5 are in different windows
    assert [(start, end, key) for start, end, key, _ in found] == [(0, 4, (1,))]
    assert [(event.time, label) for event, label in found[0][3]] == [(0, "p"), (2, "B")]


def test_trends_of_and_are_pairs() -> None:
    ((_, _, _, (left, right)),) = trends(bound("A AND B"), stream("A1 B2"))
    assert [step[1] for step in (*left, *right)] == ["A", "B"]


def test_types_by_predicates() -> None:
    # A where x > 0, B where x < 2: x = 1 is both, and takes either label
    types = (("A", Call(">", (Field(("x",)), Literal_(0)))), ("B", Call("<", (Field(("x",)), Literal_(2)))))
    query = replace(bound("SEQ(A, B)"), types=types)
    # 1 -> 1, 2 -> 1 as A -> B; times 1, 2, 3 hold x = 1, 2, 1: pairs (1, 3), (2, 3)
    assert evaluate(query, stream("Z1x1 Z2x2 Z3x1")) == [{"n": 2}]


def test_without_types_every_row_fits() -> None:
    # all pairs of three rows
    assert count("SEQ(A, B)", "Z1 Z2 Z3", type=None) == 3


def regular(pattern: Pattern) -> str:
    """Return the pattern as a regular expression over labels, each one letter."""
    match pattern:
        case Atom():
            return pattern.label
        case Seq():
            return "".join(map(regular, pattern.parts))
        case Or():
            return f"(?:{'|'.join(map(regular, pattern.options))})"
        case Repeat(low=low, high=high):
            return f"(?:{regular(pattern.pattern)}){{{low},{'' if high is None else high}}}"
    raise AssertionError(pattern)


@settings(max_examples=cases(60), deadline=None)
@given(positive_patterns(LEAVES))
def test_words_are_those_of_a_regular_expression(pattern: Pattern) -> None:
    # all subsequences in all labellings, each word asked of another matcher
    query, events = bound(show(pattern)), stream("A1 B2 A3 C3 A4 B5")
    accepts = re.compile(regular(pattern)).fullmatch
    expected = set()
    for size in range(1, len(events) + 1):
        for chosen in combinations(range(len(events)), size):
            if len({events[i]["time"] for i in chosen}) == size:
                carried = [[e.name for e in query.labels if e.type == events[i]["type"]] for i in chosen]
                words = (word for word in product(*carried) if accepts("".join(word)))
                expected |= {tuple(zip(chosen, word, strict=True)) for word in words}
    found = [tuple((event.position, label) for event, label in trend) for *_, trend in trends(query, events)]
    assert len(found) == len(expected)
    assert set(found) == expected


@settings(max_examples=cases(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case())
def test_every_match_is_counted_in_one_row(drawn: Case) -> None:
    options = {"type": drawn.type, "tiebreak": drawn.tiebreak, "offset": drawn.offset}
    found = list(trends(drawn.bound(), drawn.rows, **options))  # type: ignore[arg-type]
    assert sum(row["n"] for row in drawn.expected()) == len(found)  # type: ignore[misc]


# ---- values inside and around aggregates, measures


def test_expressions_inside_aggregates() -> None:
    row = one("SUM(A.x * A.y) AS s, MAX(A.x - A.y) AS m, SUM(A.x / A.y) AS d", "A+", "A1x2y3 A2x4y0 A3x5y_")
    # seven trends, each event in four; NULL and x / 0 add nothing
    assert row == {"s": 4 * 6, "m": 4, "d": 4 * Fraction(2 / 3)}


def test_groups_by_expressions() -> None:
    rows = evaluate(bound("A+", "GROUP-BY x % 2 AS odd", returns="odd, COUNT(*) AS n"), stream("A1x1 A2x2 A3x3"))
    assert rows == [{"odd": 0, "n": 1}, {"odd": 1, "n": 3}]


def test_spread_over_occurrences() -> None:
    row = one(
        "VAR_POP(A.x) AS v, VAR_SAMP(A.x) AS w, STDDEV_POP(A.x) AS s, STDDEV(A.y) AS t", "A", "A1x1 A2x4 A3x4y1"
    )
    assert row == {"v": 2, "w": 3, "s": math.sqrt(2), "t": None}


def test_measures_of_trends() -> None:
    events = "A1x2 A4x3 B6x10"  # a1 b6, a4 b6, a1 a4 b6
    measures = {
        "MAX(LENGTH)": 3, "AVG(LENGTH)": Fraction(7, 3), "MIN(DURATION)": 2, "SUM(DURATION)": 12,
        "MAX(SUM(x))": 15, "MAX(SUM(A.x))": 5, "AVG(LAST(A.x) - FIRST(A.x))": Fraction(1, 3),
        "MAX(LAST(x))": 10, "VAR_POP(COUNT(A))": Fraction(2, 9), "MAX(2 * LENGTH - COUNT(B) + 1)": 6,
    }  # fmt: skip
    for written, value in measures.items():
        assert one(f"{written} AS m", "SEQ(A+, B)", events) == {"m": value}, written


def test_trends_without_an_end_are_left_out() -> None:
    events = "A1x_ A2x4 B3"  # b3 has no A; a1 b3 has NULL
    row = one("SUM(FIRST(A.x)) AS f, MAX(LAST(A.x)) AS l, MIN(SUM(A.x)) AS s, SUM(A.x) AS o", "SEQ(A*, B)", events)
    assert row == {"f": 4, "l": 4, "s": 0, "o": 8}


def test_durations_of_timestamps_are_seconds() -> None:
    start = datetime(2024, 1, 1)
    rows = [dict(time=start + timedelta(minutes=m), type="A", at=start) for m in (0, 1, 3)]
    text = "RETURN MAX(DURATION) AS d, MAX(LAST(A.time) - FIRST(A.at)) AS e PATTERN A+"
    assert evaluate(bind(parse(text), columns=("time", "type", "at")), rows) == [{"d": 180, "e": 180}]


def test_each_event_once_and_distinct_keys() -> None:
    rows = evaluate(
        bound("SEQ(A+, B)", "WHERE [k]", returns="COUNT(EACH A) AS e, SUM(EACH A.x) AS s, COUNT(DISTINCT k) AS d"),
        stream("A1k1x5 A2k1x7 B3k1 A4k1x9 A5k2x1 B6k2 A7k3x1"),
    )  # fmt: skip
    assert rows == [{"e": 3, "s": 13, "d": 2}]


def test_expressions_over_results() -> None:
    row = one(
        "SUM(A.x) / COUNT(*) AS mean, COUNT(A) - COUNT(*) AS d, COUNT(*) / MIN(A.y) AS z", "A+", "A1x1y0 A2x2y0"
    )
    assert row == {"mean": 2, "d": 1, "z": None}


def test_rows_are_kept_and_ordered_by_window() -> None:
    events = "A1k1 A2k2 A3k2 A4k3 A5k3 A6k4 A7k4 A8k4 A11k5 A12k6 A13k6"
    rest = "GROUP-BY k WITHIN 10 SLIDE 10 HAVING n > 1 ORDER BY COUNT(A) DESC LIMIT 2"
    rows = evaluate(bound("A+", rest, returns="COUNT(*) AS n"), stream(events))
    assert [tuple(row.values()) for row in rows] == [(0, 10, 4, 7), (0, 10, 2, 3), (10, 20, 6, 3)]


def test_null_is_less_than_all_values() -> None:
    rest = "GROUP-BY k ORDER BY MAX(A.x)"
    events = "A1k1x3 A2k2x_ A3k3x1"
    assert [tuple(r.values()) for r in evaluate(bound("A", rest), stream(events))] == [(2, 1), (3, 1), (1, 1)]
    down = evaluate(bound("A", rest + " DESC"), stream(events))
    assert [row["k"] for row in down] == [1, 3, 2]


# ---- conditions on whole trends


def test_duration_chooses_among_trends() -> None:
    # a1 b4, a2 b4, a1 a2 b4 and a5 b6, a2 b6 and so on: only a2 b4 and a5 b6 last 2 or less
    assert count("SEQ(A+, B)", "A1 A2 B4 A5 B6", "WHERE DURATION <= 2") == 2
    assert count("SEQ(A+, B)", "A1 A2 B4 A5 B6", "WHERE DURATION < 2") == 1
    assert count("A+", "A1 A2 A3", "WHERE DURATION > 0") == 4


def test_length_counts_events() -> None:
    assert count("A+", "A1 A2 A3", "WHERE LENGTH >= 2") == 4
    assert count("A+", "A1 A2 A3", "WHERE LENGTH = 2") == 3
    assert count("A+", "A1 A2 A3", "WHERE LENGTH IN (1, 3)") == 4
    assert count("A+", "A1 A2 A3", "WHERE NOT LENGTH BETWEEN 1 AND 2.5") == 1


def test_the_last_event_against_the_first() -> None:
    # 1 to 3, 2 to 3, 1 over 2 to 3, and 1 to 2
    assert count("A+", "A1x1 A2x2 A3x3", "WHERE LAST(A.x) > FIRST(A.x)") == 4
    assert count("A+", "A1x1 A2x2 A3x_", "WHERE LAST(x) > FIRST(x)") == 1
    assert count("A+", "A1x1 A2x2 A3x3", "WHERE FIRST(x) = 2") == 2


def test_whole_trends_take_no_part_in_what_could_extend() -> None:
    # a1 is extended by a2 all the same, so b9 does not follow a1 directly
    assert count("SEQ(A+, B)", "A1 A2 B9", "WHERE DURATION <= 7", NEXT) == 1
    assert count("SEQ(A+, B)", "A1 A2 B9", "WHERE LENGTH = 2", NEXT) == 1


def test_maximal_trends_are_no_part_of_others() -> None:
    assert count("A+", "A1 A2 B3 A4", "", "contiguous maximal") == 2
    assert count("A+", "A1 A2 B3 A4", "WHERE LENGTH > 1", "contiguous maximal") == 1
    assert count("A{2}", "A1 A2 A3", "", "contiguous maximal") == 2
    # a1 a2 and a1 a2' fork; neither holds the other
    assert count("A+", "A1 A2 A2", "", "contiguous maximal") == 2
    # two readings of the same rows
    assert count("SEQ(A x*, A y*)", "A1 A2", "", "contiguous maximal") == 3


def test_a_row_per_trigger_comes_where_a_chosen_trend_ends() -> None:
    assert run("A+", "A1 A2 A9", "WHERE LENGTH = 2 WITHIN 5") == [(-3, 2, 1)]
