"""Adjacent predicates: what separates, and the algorithm that finds the earlier events of a new one."""

from __future__ import annotations

from typing import get_args

import pytest

from sparkleene.language.bind import bind
from sparkleene.language.bound import Bound, Call, Field, Literal_
from sparkleene.language.parser import parse
from sparkleene.plan.physical import COMPLEXITY, Search, search
from sparkleene.plan.plan import plan
from sparkleene.plan.predicates import Pair, Threshold, pairs, separate, sides
from sparkleene.plan.text import comparison_to_text, term_to_text

ANY, NEXT, CONTIGUOUS = SEMANTICS = ("skip-till-any-match", "skip-till-next-match", "contiguous")


def bound_of(where: str, pattern: str = "S+", semantics: str = ANY) -> Bound:
    return bind(parse(f"RETURN COUNT(*) PATTERN {pattern} SEMANTICS {semantics} WHERE {where}"))


def pair_of(where: str) -> Pair:
    """Return the conditions between an S and the next."""
    (found,) = pairs(bound_of(where).adjacent)
    return found


def texts(pair: Pair) -> list[str]:
    """Return the separable conditions, earlier event first."""
    return [comparison_to_text(c, "S", "S") for c in pair.comparisons]


# ---- what separates


@pytest.mark.parametrize(
    ("where", "separated"),
    [
        ("S.x < NEXT(S).x", "S.x < NEXT(S).x"),
        ("NEXT(S).x < S.x", "S.x > NEXT(S).x"),
        ("NEXT(S).x <= S.x", "S.x >= NEXT(S).x"),
        ("NEXT(S).x = S.y", "S.y = NEXT(S).x"),
        ("NEXT(S).x != S.y", "S.y != NEXT(S).x"),
        ("NOT S.x < NEXT(S).x", "S.x >= NEXT(S).x"),
        ("NOT NEXT(S).x < S.x", "S.x <= NEXT(S).x"),
        ("NOT NOT S.x = NEXT(S).x", "S.x = NEXT(S).x"),
        ("NOT S.x != NEXT(S).x", "S.x = NEXT(S).x"),
        ("2 * S.x + S.y > -NEXT(S).x % 3", "2 * S.x + S.y > -NEXT(S).x % 3"),
        ("S.x IN (NEXT(S).x)", "S.x = NEXT(S).x"),
    ],
)
def test_separable(where: str, separated: str) -> None:
    """The earlier event stands on the left, whichever way the condition was written."""
    pair = pair_of(where)
    assert texts(pair) == [separated]
    assert not pair.general


@pytest.mark.parametrize(
    "where",
    [
        "S.x * NEXT(S).x > 3",
        "S.x - NEXT(S).x > S.y - NEXT(S).y",
        "NEXT(S).x / S.x > 2",
        "(S.x - NEXT(S).x) % 2 > 0",
        "S.x - NEXT(S).x != 0",
        "(S.x - NEXT(S).x) * 0 >= 0",
        "(S.x - NEXT(S).x) * NULL >= 0",
        "S.x + NEXT(S).x > 3 OR S.y > 0",
        "S.x < NEXT(S).x OR S.y < NEXT(S).y",
        "S.x = NEXT(S).x OR S.y IS NULL",
        "NOT (S.x < NEXT(S).x AND S.y < NEXT(S).y)",
        "S.x IN (NEXT(S).x, 1)",
        "S.x * NEXT(S).x IS NULL",
    ],
)
def test_general(where: str) -> None:
    pair = pair_of(where)
    assert not pair.comparisons
    assert [term_to_text(term, "S", "S") for term in pair.general] == [where]


@pytest.mark.parametrize(
    ("where", "op", "side"),
    [
        ("NEXT(S).x - S.x <= 300", ">=", 0),
        ("S.x - NEXT(S).x >= -300", ">=", 0),
        ("300 >= NEXT(S).x - S.x", ">=", 0),
        ("NOT NEXT(S).x - S.x > 300", ">=", 0),
        ("NOT NOT NEXT(S).x - S.x <= 300", ">=", 0),
        ("S.x + NEXT(S).x > 3", ">", 0),
        ("-S.x * 2 + NEXT(S).x > 3", ">", 0),
        ("(S.x - NEXT(S).x) / -2 < 3 * NEXT(S).y", ">", 0),
        ("-2 * (S.x - NEXT(S).x) < 3 * NEXT(S).y", ">", 0),
        ("S.x - NEXT(S).x > S.y", ">", 1),
        ("NEXT(S).x - S.x > S.y", "<", 1),
        ("S.y < NEXT(S).x - S.x", "<", 1),
    ],
)
def test_arithmetic_over_both_events_separates(where: str, op: str, side: int) -> None:
    """Where one of them stands in one place, below sums and multiples."""
    (found,) = pair_of(where).comparisons
    assert isinstance(found, Threshold)
    assert (found.op, found.side) == (op, side)


def test_equal_sums_are_two_borders() -> None:
    assert texts(pair_of("NEXT(S).x - S.x = 1")) == ["NEXT(S).x - S.x >= 1", "NEXT(S).x - S.x <= 1"]


def test_borders_of_events_in_the_opposite_order() -> None:
    pair = pair_of("NEXT(S).x - S.x <= S.y AND S.z < NEXT(S).z")
    assert pair.reverse().reverse() == pair
    (border, _) = pair.reverse().comparisons
    assert isinstance(border, Threshold)
    assert (border.op, border.side) == ("<=", 0)


def test_conditions_on_the_same_neighbours_are_one_pair() -> None:
    """Conjunctions come apart, and repetitions are dropped."""
    pair = pair_of("S.x < NEXT(S).x AND S.y * NEXT(S).y > 0 AND S.z = NEXT(S).z AND S.x < NEXT(S).x")
    assert texts(pair) == ["S.x < NEXT(S).x", "S.z = NEXT(S).z"]
    assert len(pair.general) == 1


def test_between_is_two_comparisons() -> None:
    assert texts(pair_of("NEXT(S).x BETWEEN S.x AND S.y")) == ["S.x <= NEXT(S).x", "S.y >= NEXT(S).x"]


def test_neighbours_in_either_order_are_two_pairs() -> None:
    """`A.x < B.y` holds whichever comes first."""
    found = pairs(bound_of("A.x < B.y", "(SEQ(A, B))+").adjacent)
    assert [(pair.before, pair.after, pair.comparisons[0].op) for pair in found] == [(0, 1, "<"), (1, 0, ">")]


def test_sides() -> None:
    before, after = Field(("x",), 0), Field(("x",), 1)
    assert sides(Literal_(1)) == set()
    assert sides(Call("+", (before, Literal_(1)))) == {0}
    assert sides(Call("<", (before, Call("neg", (after,))))) == {0, 1}


def test_only_comparisons_separate() -> None:
    before, after = Field(("x",), 0), Field(("x",), 1)
    assert separate(before) is None
    assert separate(Call("+", (before, after))) is None
    assert separate(Call("not", (Call("or", (before, after)),))) is None


# ---- algorithms

X, Y, Z = (f"S.{name} {{}} NEXT(S).{name}" for name in "xyz")
TABLE = [
    # conditions, then any, next, contiguous
    ([X.format("=")], "hash", "scan", "label"),
    ([X.format("="), Y.format("=")], "hash", "scan", "label"),
    ([X.format("<")], "tree", "heap", "label"),
    ([X.format(">=")], "tree", "heap", "label"),
    ([X.format("!=")], "two trees", "scan", "label"),
    ([X.format("="), Y.format("!=")], "two trees", "scan", "label"),
    ([X.format("="), Y.format("<=")], "hash of trees", "scan", "label"),
    ([X.format("<"), Y.format(">")], "divide and conquer", "scan", "label"),
    ([X.format("<"), Y.format(">"), Z.format("=")], "divide and conquer", "scan", "label"),
    ([X.format("<"), Y.format(">"), Z.format("<")], "scan", "scan", "label"),
    ([X.format("<"), Y.format("!=")], "divide and conquer", "scan", "label"),
    ([X.format("!="), Y.format("!=")], "divide and conquer", "scan", "label"),
    ([X.format("!="), Y.format("!="), Z.format(">")], "scan", "scan", "label"),
    (["S.x * NEXT(S).x > 0"], "scan", "scan", "label"),
    ([X.format("="), "S.x * NEXT(S).x > 0"], "scan", "scan", "label"),
    (["S.x + NEXT(S).x > 0"], "tree", "heap", "label"),
    (["NEXT(S).x - S.x BETWEEN 0 AND 300"], "divide and conquer", "scan", "label"),
    (["NEXT(S).x - S.x = 1"], "divide and conquer", "scan", "label"),
    ([X.format("="), "S.y + NEXT(S).y > 0"], "hash of trees", "scan", "label"),
]


@pytest.mark.parametrize(("conditions", "any_", "next_", "contiguous"), TABLE, ids=lambda row: str(row))
def test_algorithms(conditions: list[str], any_: str, next_: str, contiguous: str) -> None:
    pair = pair_of(" AND ".join(conditions))
    assert [search(pair, semantics) for semantics in SEMANTICS] == [any_, next_, contiguous]  # type: ignore[arg-type]


def test_every_algorithm_has_a_complexity() -> None:
    assert set(COMPLEXITY) == set(get_args(Search))
    assert {name for _, *names in TABLE for name in names} == set(COMPLEXITY) - {"queue"}  # of all pairs together


# ---- what they ask of a plan


@pytest.mark.parametrize(
    ("pattern", "where", "semantics", "stored", "overall"),
    [
        ("SEQ(A+, B)", "A.x > 0", ANY, "", "type"),
        ("SEQ(A+, B)", "[k]", ANY, "", "type"),
        ("SEQ(A+, B)", "A.x < NEXT(A).x", ANY, "A", "mixed"),
        ("SEQ(A+, B)", "A.x < NEXT(B).x", ANY, "A", "mixed"),
        ("(SEQ(A+, B))+", "B.x < NEXT(A).x", ANY, "B", "mixed"),
        ("(SEQ(A+, B))+", "A.x != B.x", ANY, "A B", "mixed"),
        ("SEQ(A+, B)", "A.x < NEXT(A).x", NEXT, "A", "pattern"),
        ("SEQ(A+, B)", "A.x < NEXT(A).x", CONTIGUOUS, "", "pattern"),
        ("SEQ(A+, B)", "A.x > 0", NEXT, "", "pattern"),
        ("SEQ(A+, NOT C, B)", "A.x < NEXT(A).x AND C.x > 0", ANY, "A", "mixed"),
    ],
)
def test_stored_events_and_granularity(pattern: str, where: str, semantics: str, stored: str, overall: str) -> None:
    """Table 5 of COGRA; only the events that some predicate asks for are stored."""
    made = plan(bound_of(where, pattern, semantics))
    labels = {made.bound.labels[made.machine.label[state]].name for state in made.stored}
    assert labels == set(stored.split())
    assert made.overall == overall
    assert made.composes == (not stored)
    if semantics == ANY:
        assert {s for s, kind in enumerate(made.granularity) if kind == "event"} == made.stored


def test_events_are_stored_for_the_states_that_a_predicate_leaves() -> None:
    """The last A of A{2} is compared with B, the first with nothing."""
    made = plan(bound_of("A.x < NEXT(B).x", "SEQ(A{2}, B)"))
    assert made.stored == {2}
    assert [made.pair_of(0, 0), made.pair_of(1, 0), made.pair_of(2, 1)] == [-1, -1, 0]
