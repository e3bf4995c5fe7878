"""Machines accept the words of their patterns, once each, and forget what NOT and SEMANTICS say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given, reject
from tests.conformance.strategies import patterns, show

from sparkleene.errors import SparkleeneError
from sparkleene.language.ast import And, Atom, Or, Pattern, Repeat, Seq
from sparkleene.language.bind import bind
from sparkleene.language.bound import Bound
from sparkleene.language.parser import parse
from sparkleene.plan.machine import Machine, MachineTooLarge, build, machine
from sparkleene.plan.plan import Plan, plan
from sparkleene.plan.positions import Positions, positions

LONGEST = 5
SEMANTICS = ("skip-till-any-match", "skip-till-next-match", "contiguous")

Word = tuple[int, ...]


def bound_of(pattern: str, semantics: str = "skip-till-any-match") -> Bound:
    return bind(parse(f"RETURN COUNT(*) PATTERN {pattern} SEMANTICS {semantics}"))


def plan_of(pattern: str, semantics: str = "skip-till-any-match") -> Plan:
    return plan(bound_of(pattern, semantics))


def drawn(pattern: Pattern, semantics: str = "skip-till-any-match") -> Plan:
    """Plan a random pattern, if it is a valid one."""
    try:
        return plan_of(show(pattern), semantics)
    except SparkleeneError:
        reject()


def label_index(bound: Bound, name: str) -> int:
    return [label.name for label in bound.labels].index(name)


def regex(pattern: Pattern, bound: Bound) -> re.Pattern[str]:
    """Return a pattern without NOT as a regular expression, its labels as letters."""

    def text(part: Pattern) -> str:
        match part:
            case Atom():
                return letters((label_index(bound, part.label),))
            case Seq(parts):
                return "".join(map(text, parts))
            case Or(options):
                return f"(?:{'|'.join(map(text, options))})"
            case Repeat(inner, low, high):
                return f"(?:{text(inner)}){{{low},{'' if high is None else high}}}"
        raise AssertionError(part)

    return re.compile(text(pattern))


def letters(word: Word) -> str:
    return "".join(chr(ord("a") + label) for label in word)


def words(labels: int) -> Iterator[Word]:
    """Yield all words that are not empty and not too long."""
    for length in range(1, LONGEST + 1):
        yield from product(range(labels), repeat=length)


def steps_of(built: Machine) -> dict[tuple[int, int], int]:
    """Return the transitions between states of unfinished trends, checked to be deterministic."""
    steps: dict[tuple[int, int], int] = {}
    for source, label, target in built.transitions:
        if not built.states[target].final:
            assert (source, label) not in steps
            assert built.label[target] == label
            steps[source, label] = target
    return steps


def end_of(steps: dict[tuple[int, int], int], word: Word) -> int:
    """Return the state after a word, -1 if it leads nowhere."""
    state = 0
    for label in word:
        state = steps.get((state, label), -1)
    return state


# ---- words


@given(patterns(negation=False, conjunction=False))
def test_the_words_of_a_machine_are_those_of_the_pattern(pattern: Pattern) -> None:
    """Under all semantics; finished trends are entered exactly where words are accepted."""
    made = drawn(pattern)
    expected = regex(pattern, made.bound)
    language = {word for word in words(len(made.bound.labels)) if expected.fullmatch(letters(word))}
    for semantics in SEMANTICS:
        built = machine(bound_of(show(pattern), semantics))
        steps = steps_of(built)
        assert language == {
            word for word in words(len(made.bound.labels)) if end_of(steps, word) in built.accepting
        }
        into_final = {(s, by) for s, by, t in built.transitions if built.states[t].final}
        if semantics != "skip-till-any-match":
            assert into_final == {(s, by) for (s, by), t in steps.items() if t in built.accepting}
            assert all(built.states[s].final for s, _ in built.outs)
        else:
            assert not into_final
            assert {s for s, _ in built.outs} == built.accepting


@given(patterns(negation=False, conjunction=False))
def test_every_state_is_on_the_way_to_acceptance(pattern: Pattern) -> None:
    built = drawn(pattern).machine
    edges = {(s, t) for s, _, t in built.transitions}
    assert reach({0}, edges) == set(range(len(built.states)))
    assert reach(set(built.accepting), {(t, s) for s, t in edges}) == set(range(len(built.states)))


def reach(seeds: set[int], edges: set[tuple[int, int]]) -> set[int]:
    seen = set(seeds)
    while fresh := {t for s, t in edges if s in seen} - seen:
        seen |= fresh
    return seen


@given(patterns(negation=False, conjunction=True))
def test_classes_of_and_tell_the_operands_apart(pattern: Pattern) -> None:
    made = drawn(pattern)
    assert isinstance(pattern, And)
    first, second = (regex(operand, made.bound) for operand in pattern.operands)
    steps, classes = steps_of(made.machine), dict(made.machine.outs)
    for word in words(len(made.bound.labels)):
        of = (bool(first.fullmatch(letters(word))), bool(second.fullmatch(letters(word))))
        expected = {(True, False): 0, (False, True): 1, (True, True): 2}.get(of)
        assert classes.get(end_of(steps, word)) == expected


# ---- labels that every trend has


@given(patterns(negation=False, conjunction=False))
def test_mandatory_labels(pattern: Pattern) -> None:
    """A label is mandatory if no state accepts without it."""
    made = drawn(pattern)
    built = made.machine
    for word in words(len(made.bound.labels)):
        if end_of(steps_of(built), word) in built.accepting:
            assert made.mandatory <= set(word)
    for label in range(len(made.bound.labels)):
        without = reach({0}, {(s, t) for s, by, t in built.transitions if by != label})
        assert (label in made.mandatory) == (not without & built.accepting)


@pytest.mark.parametrize(
    ("pattern", "mandatory"),
    [
        ("SEQ(A+, B)", "A B"),
        ("SEQ(A*, B)", "B"),
        ("A OR B", ""),
        ("SEQ(A, B) OR SEQ(B, A)", "A B"),
        ("SEQ(A, NOT C, B)", "A B"),
        ("SEQ(A{2}, B{0,3})", "A"),
        ("SEQ(A x, A y?)", "x"),
        ("A+ AND SEQ(A, B)", "A"),
        ("A+ AND B", ""),
    ],
)
def test_mandatory_labels_of(pattern: str, mandatory: str) -> None:
    made = plan_of(pattern)
    assert {made.bound.labels[label].name for label in made.mandatory} == set(mandatory.split())


# ---- ambiguity


def positions_of(pattern: str) -> Positions:
    tree = parse(f"RETURN COUNT(*) PATTERN {pattern}").pattern
    return positions(tree, {name: i for i, name in enumerate("ABCxy")})


@pytest.mark.parametrize(
    "pattern",
    ["A", "SEQ(A*, A)", "SEQ(A?, A)", "SEQ(A, A, A+)", "SEQ(A x+, A y+)", "SEQ(A, B) OR SEQ(A, C)",
     "A OR SEQ(A, B)", "A{1,2}", "(SEQ(A+, B))+", "SEQ(A, NOT C, B)", "(SEQ(A, NOT C, B))+", "(A+)+",
     "SEQ(A*, B) OR SEQ(A*, C)"],
)  # fmt: skip
def test_unambiguous(pattern: str) -> None:
    assert not positions_of(pattern).ambiguous()


@pytest.mark.parametrize(
    "pattern",
    ["A OR A", "SEQ(A+, A+)", "SEQ(A*, A*)", "(A?){2}", "SEQ(A, B) OR SEQ(A, B)", "SEQ(A*, B?, A*)",
     "SEQ(A+, B) OR SEQ(A, B)", "(A OR SEQ(A, A))+", "(SEQ(A+, NOT C))+"],
)  # fmt: skip
def test_ambiguous(pattern: str) -> None:
    assert positions_of(pattern).ambiguous()


@given(patterns(negation=False, conjunction=False))
def test_two_runs_of_a_word_are_an_ambiguity(pattern: Pattern) -> None:
    made = drawn(pattern)
    (p,) = made.machine.operands
    if p.ambiguous():
        return
    for word in words(len(made.bound.labels)):
        runs = {q: 1 for q in p.first if p.labels[q] == word[0]}
        for label in word[1:]:
            after: dict[int, int] = {}
            for q, count in runs.items():
                for r in p.follow[q]:
                    if p.labels[r] == label:
                        after[r] = after.get(r, 0) + count
            runs = after
        assert sum(count for q, count in runs.items() if q in p.last) <= 1


# ---- what a machine does, tick by tick


def count(built: Machine, bound: Bound, ticks: str) -> int:
    """Count trends over ticks such as `A BC -`: letters are events of these labels, `-` one of none."""
    counts = [0] * len(built.states)
    counts[0] = 1
    for tick in ticks.split():
        events = [label_index(bound, name) for name in tick if name != "-"]
        keep = built.keep(sum(1 << label for label in set(events)), extended=True)
        after = [0] * len(counts)
        for state, kept in enumerate(keep):
            if kept >= 0:
                after[kept] += counts[state]
        for label in events:
            for source, by, target in built.transitions:
                if by == label:
                    after[target] += counts[source]
        counts = after
    return sum(counts[state] for state, _ in built.outs)


ANY, NEXT, CONTIGUOUS = SEMANTICS


@pytest.mark.parametrize(
    ("pattern", "semantics", "ticks", "expected"),
    [
        ("SEQ(A, NOT C, B)", ANY, "A B", 1),
        ("SEQ(A, NOT C, B)", ANY, "A C B", 0),
        ("SEQ(A, NOT C, B)", ANY, "A C A B", 1),
        ("SEQ(A, NOT C, B)", ANY, "C A B C B", 1),
        ("SEQ(A, NOT C, B)", ANY, "A CB", 1),  # C is not before B
        ("SEQ(A, NOT C, B)", ANY, "AC B", 1),  # C is not after A
        ("SEQ(A+, NOT C, B)", ANY, "A C A B", 2),  # only the last A is bound to be after C
        ("SEQ(A, NOT SEQ(C, D), B)", ANY, "A C D B", 0),
        ("SEQ(A, NOT SEQ(C, D), B)", ANY, "A D C B", 1),
        ("SEQ(A, NOT SEQ(C, D), B)", ANY, "C A D B", 1),
        ("SEQ(A, NOT SEQ(C, D), B)", ANY, "A CD B", 1),
        ("SEQ(A, NOT SEQ(C, D), B)", ANY, "A C A D B", 1),
        ("SEQ(A, NOT SEQ(C, NOT D, E), B)", ANY, "A C E B", 0),
        ("SEQ(A, NOT SEQ(C, NOT D, E), B)", ANY, "A C D E B", 1),
        ("SEQ(A, NOT SEQ(C, NOT D, E), B)", ANY, "A C D C E B", 0),
        ("SEQ(NOT C, A+)", ANY, "A A C A", 6),  # the last A starts none, and continues three
        ("SEQ(NOT C, A+)", ANY, "C A", 0),
        ("SEQ(NOT C, A+)", ANY, "AC A", 2),
        ("SEQ(A, NOT C)", ANY, "A C A", 1),
        ("SEQ(A, NOT C)", ANY, "AC", 1),
        ("SEQ(A+, NOT C)", ANY, "A C A", 2),
        ("SEQ(A, B)", ANY, "A A B B", 4),
        ("SEQ(A, B)", NEXT, "A A B B", 2),
        ("SEQ(A, B)", NEXT, "A A BB", 4),  # each forks
        ("SEQ(A, B)", CONTIGUOUS, "A A B B", 1),
        ("SEQ(A, B)", CONTIGUOUS, "A - B", 0),
        ("A+", ANY, "A A A", 7),
        ("A+", NEXT, "A A A", 6),
        ("A+", CONTIGUOUS, "A A - A", 4),
        ("SEQ(A, NOT C, B)", NEXT, "A C B A B", 1),
        ("SEQ(A, NOT C, B)", CONTIGUOUS, "A B A C B", 1),
        ("SEQ(A, NOT C)", CONTIGUOUS, "A - A C", 0),
        ("SEQ(A*, A)", ANY, "A A", 3),  # one run for each trend
        ("A OR A", ANY, "A", 1),
    ],
)
def test_counts(pattern: str, semantics: str, ticks: str, expected: int) -> None:
    made = plan_of(pattern, semantics)
    assert count(made.machine, made.bound, ticks) == expected


def test_momentary_machines_count_the_trends_of_the_last_tick() -> None:
    bound = bound_of("SEQ(A, B+)")
    built = machine(bound, momentary=True)
    assert [count(built, bound, ticks) for ticks in ("A", "A B", "A B B", "A B B A")] == [0, 1, 2, 0]


def test_states_only_grow_without_not_under_any_match() -> None:
    """Then a tick keeps every state as it is."""
    grows = plan_of("SEQ(A+, B)").machine
    assert not grows.forgetful
    assert all(grows.keep(union, extended=True) == list(range(len(grows.states))) for union in range(4))
    assert plan_of("SEQ(A+, B)", NEXT).machine.forgetful
    assert plan_of("SEQ(A+, NOT C, B)").machine.forgetful


# ---- what cannot be planned


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("PATTERN A{5000}", "pattern-too-large"),
        ("PATTERN SEQ((A | B)*, A, (A | B){13})", "pattern-too-large"),
        (f"PATTERN SEQ(A, NOT SEQ({', '.join(f'C{i}' for i in range(11))}), B)", "pattern-too-large"),
        ("PATTERN SEQ(A+, NOT C, A+)", "ambiguous-negation"),
        ("PATTERN SEQ(A, NOT SEQ(C+, NOT D, C+), B)", "ambiguous-negation"),
        ("PATTERN SEQ(A, NOT SEQ(C, NOT SEQ(D+, NOT E, D+), C), B)", "ambiguous-negation"),
        ("PATTERN A WITHIN 10 EVENTS", "slide-needed"),
    ],
)
def test_errors(query: str, code: str) -> None:
    with pytest.raises(SparkleeneError) as caught:
        plan(bind(parse(f"RETURN COUNT(*) {query}")))
    assert [found.code for found in caught.value.diagnostics] == [code]


def test_a_machine_of_too_many_states_is_given_up() -> None:
    bound = bound_of("SEQ(A, B, C)")
    operands = (positions(bound.pattern, {label.name: i for i, label in enumerate(bound.labels)}),)
    whole = build(operands, bound.semantics, 0)
    assert build(operands, bound.semantics, 0, most=len(whole.states)) == whole
    with pytest.raises(MachineTooLarge):
        build(operands, bound.semantics, 0, most=len(whole.states) - 1)
