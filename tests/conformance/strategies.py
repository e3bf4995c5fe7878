"""Random queries over random small streams, for comparing every engine with the reference.

`case()` gives valid queries of all kinds; its parameters narrow them. Streams are so short that enumeration
stays small: at most 12 rows, fewer where one event has several labels or where trends are paired.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from sparkleene.errors import SparkleeneError
from sparkleene.language.ast import And, Atom, Not, Or, Pattern, Repeat, Seq
from sparkleene.language.bind import bind
from sparkleene.language.bound import Bound
from sparkleene.language.parser import parse
from sparkleene.language.patterns import neighbours
from sparkleene.language.trees import atoms
from sparkleene.reference import evaluate

SEMANTICS = ("skip-till-any-match", "skip-till-next-match", "contiguous")
WINDOWS = ("none", "tumbling", "sliding", "hopping", "trigger", "events", "session", "from")
KINDS = {
    "time": "int64",
    "type": "string",
    "s": "int64",  # a tie-break
    "x": "int64",
    "y": "int64",
    "f": "float64",
    "k": "int64",  # a key
}
SPREADS = ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP")
COMPARISONS = ("<", "<=", ">", ">=", "!=", "<=", ">=", "=")

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A query, the rows to run it on, and the parameters beside it."""

    text: str
    rows: tuple[Row, ...]
    time: str
    type: str | None
    tiebreak: str | None
    offset: int
    numbers: str
    float_times: bool = False  # halves, exact in binary
    timezone: str = "UTC"
    clock: str | None = None  # a "number" or a "timestamp", where conditions speak of durations and functions

    @property
    def time_unit(self) -> str | None:
        """What times that are numbers count."""
        return "seconds" if self.clock == "number" else None

    def bound(self) -> Bound:
        """Return the query bound to the columns of the rows."""
        untyped = self.type is None
        return bind(parse(self.text), columns=tuple(KINDS), any_type=untyped, time_unit=self.time_unit)

    def returning(self, aggregates: str) -> Case:
        """Return the same query with other aggregates."""
        return replace(self, text=f"RETURN {aggregates} {self.text[self.text.index('PATTERN') :]}")

    def expected(self) -> list[dict[str, object]]:
        """Return what the reference says."""
        options = {"time": self.time, "type": self.type, "tiebreak": self.tiebreak, "offset": self.offset}
        return evaluate(self.bound(), self.rows, timezone=self.timezone, **options)  # type: ignore[arg-type]


# ---- patterns


def show(pattern: Pattern) -> str:
    """Return the pattern as text."""
    match pattern:
        case Atom():
            return pattern.type if pattern.alias is None else f"{pattern.type} {pattern.alias}"
        case Repeat(low=low, high=high):
            known = {(1, None): "+", (0, None): "*", (0, 1): "?"}
            most = "" if high is None else high
            suffix = known.get((low, high)) or (f"{{{low}}}" if low == high else f"{{{low},{most}}}")
            inner = show(pattern.pattern)
            return (inner if isinstance(pattern.pattern, Atom) else f"({inner})") + suffix
        case Seq():
            return f"SEQ({', '.join(map(show, pattern.parts))})"
        case Or():
            return f"({' OR '.join(map(show, pattern.options))})"
        case And():
            return " AND ".join(map(show, pattern.operands))
        case Not():
            return f"NOT {show(pattern.pattern)}"


A, B, C, D = (Atom(name) for name in "ABCD")
BOUNDS: tuple[tuple[int, int | None], ...] = (
    (1, None),
    (0, None),
    (0, 1),
    (2, 2),
    (2, None),
    (1, 2),
    (0, 2),
    (2, 3),
)


def plus(pattern: Pattern) -> Pattern:
    return Repeat(pattern, 1, None)


def repeated(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    """Repeat some pattern, most often with + or *."""
    bounds = st.sampled_from(BOUNDS[:2]) | st.sampled_from(BOUNDS)
    return st.builds(lambda pattern, bound: Repeat(pattern, *bound), inner, bounds)


def sequences(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    return st.lists(inner, min_size=2, max_size=3).map(lambda parts: Seq(tuple(parts)))


def options(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    return st.lists(inner, min_size=2, max_size=2).map(lambda parts: Or(tuple(parts)))


@cache
def positive_patterns(leaves: tuple[Pattern, ...], max_leaves: int = 4) -> st.SearchStrategy[Pattern]:
    """Draw patterns without NOT and AND, nested and often ambiguous."""
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: repeated(inner) | sequences(inner) | options(inner),
        max_leaves=max_leaves,
    )


LEAVES = (A, B, C, plus(A), plus(B), Atom("A", "p"), Atom("A", "q"), Atom("B", "r"))


@cache
def negated_patterns() -> st.SearchStrategy[Pattern]:
    """Draw what stands after NOT: types and sequences over C and D, or a type of the trend by an alias."""
    return st.sampled_from(
        [
            C,
            C,
            D,
            Atom("A", "n"),
            Seq((C, D)),
            Seq((D, C)),
            Seq((C, C)),
            Seq((plus(C), D)),
            Seq((C, Repeat(D, 0, 1), C)),
            Seq((C, Or((D, Atom("B", "n"))))),
            Seq((C, Not(D), C)),
            Seq((C, Not(Atom("B", "m")), D)),
            Seq((C, Not(Seq((D, D))), Atom("C", "c"))),
        ]
    )


def plain_patterns(one: Atom, two: Atom) -> st.SearchStrategy[Pattern]:
    """Draw patterns over two labels that have one parse per word."""
    either = Or((one, two))
    repeats: list[Pattern] = [Repeat(one, *bounds) for bounds in BOUNDS]
    others = [one, plus(one), Seq((one, two)), Seq((plus(one), two)), either, plus(either)]
    return st.sampled_from(
        [one, plus(one), *others, *repeats, plus(Seq((one, plus(two)))), plus(Seq((plus(one), two)))]
    )


FIRST = plain_patterns(A, Atom("A", "p"))
SECOND = plain_patterns(B, Atom("B", "r"))


@st.composite
def negative_patterns(draw: st.DrawFn) -> Pattern:
    """Draw a SEQ with NOT before, between or after its parts, alone or inside a repetition or an OR.

    Its parts have labels of their own, so that these are unambiguous.
    """
    parts: list[Pattern] = [draw(FIRST), draw(SECOND)]
    if draw(st.integers(0, 3)) == 0:
        parts.append(draw(st.sampled_from([Atom("A", "q"), Atom("B", "t"), Repeat(Atom("A", "q"), 0, 1)])))
    places = draw(st.lists(st.integers(0, len(parts)), min_size=1, max_size=2))
    for place in sorted(places, reverse=True):
        parts.insert(place, Not(draw(negated_patterns())))
    pattern: Pattern = Seq(tuple(parts))
    kind = draw(st.sampled_from(["plain", "plain", "plus", "outer", "or", "nested"]))
    inside = not isinstance(parts[0], Not) and not isinstance(parts[-1], Not)
    if kind == "plus" and inside:
        return plus(pattern)
    if kind == "outer" and inside:
        return Seq((pattern, draw(st.sampled_from([Atom("A", "z"), Atom("B", "z"), plus(Atom("A", "z"))]))))
    if kind == "nested" and inside:
        return plus(Seq((plus(pattern), draw(st.sampled_from([Atom("A", "z"), Atom("B", "z")])))))
    if kind == "or":
        return Or(
            (pattern, draw(st.sampled_from([Atom("A", "z"), Seq((A, Atom("B", "z"))), plus(Atom("B", "z"))])))
        )
    return pattern


@cache
def patterns(*, negation: bool | None = None, conjunction: bool | None = None) -> st.SearchStrategy[Pattern]:
    """Draw patterns; None leaves it to chance whether there is a NOT, or an AND at the top."""
    without, with_not = positive_patterns(LEAVES), negative_patterns()
    single = {None: without | without | with_not, False: without, True: with_not}[negation]
    other = positive_patterns((A, B, C, plus(A), plus(B), Atom("A", "p")), 2)
    paired = st.builds(lambda one, two: And((one, two)), other if negation is not True else with_not, other)
    if conjunction is None:
        return single | single | single | single | paired
    return paired if conjunction else single


# ---- predicates, keys, windows, aggregates


@st.composite
def local_predicates(draw: st.DrawFn, words: tuple[str, ...]) -> str:
    """Draw a condition on one event."""
    label, op, value = (draw(st.sampled_from(words)), draw(st.sampled_from(COMPARISONS)), draw(st.integers(-1, 3)))
    return draw(
        st.sampled_from(
            [
                f"{label}.x {op} {value}",
                f"{label}.x {op} {value}",
                f"{value} {op} {label}.y",
                f"{label}.f {op} 0.5",
                f"{label}.x % 2 = 0",
                f"{label}.x % {value} != 1",
                f"{label}.x / {value} {op} 1",
                f"{label}.x + {label}.y {op} {value}",
                f"-{label}.x {op} {label}.y * 2",
                f"{label}.x IN (0, 2, {value})",
                f"{label}.x NOT IN (1, {value})",
                f"{label}.x BETWEEN 0 AND {value}",
                f"{label}.x IS NOT NULL",
                f"({label}.x IS NULL OR {label}.f {op} 1.0)",
                f"NOT {label}.x {op} {value}",
                f"NOT ({label}.x {op} {value} AND {label}.y > 0)",
                f"x {op} {value}",
                f"(y {op} {value} OR y IS NULL)",
            ]
        )
    )


@st.composite
def adjacent_predicates(draw: st.DrawFn, pairs: tuple[tuple[str, str], ...]) -> str:
    """Draw a condition on two neighbours: separable by one or two comparisons, or not separable."""
    one, two = draw(st.sampled_from(pairs))
    op, other, value = (
        draw(st.sampled_from(COMPARISONS)),
        draw(st.sampled_from(COMPARISONS)),
        draw(st.integers(-1, 3)),
    )
    forms = [
        f"{one}.x {op} NEXT({two}).x",
        f"{one}.x {op} NEXT({two}).x",
        f"NEXT({two}).y {op} {one}.x",
        f"{one}.f {op} NEXT({two}).f",
        f"{one}.x * 2 {op} NEXT({two}).x + NEXT({two}).y",
        f"{one}.x {op} NEXT({two}).x + {value}",
        f"{one}.x < NEXT({two}).x AND {one}.y >= NEXT({two}).y",
        f"{one}.x {op} NEXT({two}).x AND {one}.y {other} NEXT({two}).y",
        f"{one}.k = NEXT({two}).k AND {one}.x {op} NEXT({two}).x",
        f"{one}.x != NEXT({two}).x AND {one}.y = NEXT({two}).y",
        f"{one}.x + NEXT({two}).x > {value}",
        f"{one}.x - NEXT({two}).x {op} 0",
        f"NEXT({two}).x - {one}.x {op} {value}",
        f"NEXT({two}).f - {one}.f {op} 0.4",
        f"({one}.f - NEXT({two}).x) / 3 {op} {one}.y",
        f"{value} - 2 * NEXT({two}).y {op} -({one}.x + NEXT({two}).f)",
        f"NEXT({two}).x - {one}.x {op} {one}.y AND {one}.k = NEXT({two}).k",
        f"{one}.x * NEXT({two}).y {op} {value}",
        f"({one}.x {op} NEXT({two}).x OR {one}.y {other} NEXT({two}).y)",
        f"NOT {one}.x {op} NEXT({two}).x",
        f"({one}.x {op} NEXT({two}).x OR {one}.y IS NULL)",
    ]
    if one != two:
        forms += [
            f"{one}.x {op} {two}.x",
            f"{one}.x - {two}.x > 0",
            f"{one}.f - {two}.x {op} 1",
            f"{one}.x = {two}.x AND {one}.y {op} {two}.y",
        ]
    return draw(st.sampled_from(forms))


@st.composite
def timely_predicates(draw: st.DrawFn, pairs: tuple[tuple[str, str], ...], labels: tuple[str, ...]) -> str:
    """Draw a condition with durations, GAP, PREV or functions, on one event or on two neighbours."""
    label, op, value = draw(st.sampled_from(labels)), draw(st.sampled_from(COMPARISONS)), draw(st.integers(-1, 3))
    local = [
        f"ABS({label}.x) {op} {value}",
        f"ROUND({label}.f) {op} {value}",
        f"ROUND({label}.f * 1.3, 1) {op} 0.5",
        f"ROUND({label}.x * 7, -1) {op} {value}",
        f"FLOOR({label}.f) {op} {value}",
        f"CEIL({label}.f / {label}.x) {op} {value}",
        f"LEAST({label}.x, {label}.y, 1) {op} {label}.f",
        f"GREATEST({label}.x, {label}.f) {op} {value}",
        f"COALESCE({label}.x, {label}.f, {value}) {op} 1",
        f"LOWER({label}.type) LIKE 'a%'",
        f"UPPER({label}.type) NOT LIKE '_'",
        f"{label}.time - {label}.time {op} {value} * 1 second",
        f"{label}.time + {label}.x * 1 second {op} {label}.time + 1.5 seconds * {label}.f",
        f"({label}.time - {label}.time + 3 s) / 2 seconds {op} {value}",
    ]
    one, two = draw(st.sampled_from(pairs)) if pairs else ("", "")
    adjacent = [
        f"GAP {op} {value} * 1 second",
        "GAP <= 3 seconds",
        f"GAP() {op} 2 s",
        f"GAP({one}, {two}) {op} 2000 ms",
        f"GAP({one}, {two}) * 2 {op} 3 seconds * {one}.y",
        f"NEXT({two}).time - {one}.time {op} {one}.x * 1 second",
        f"{one}.time + 1.5 * 2 seconds {op} NEXT({two}).time",
        f"{two}.x {op} PREV({one}).x",
        f"PREV({one}).time + {value} * 1 s {op} {two}.time",
        f"({one}.x {op} NEXT({two}).x OR GAP {op} 2 seconds)",
        f"GAP({one}, {two}) * {one}.y {op} NEXT({two}).x * 2 seconds",
        f"ABS(NEXT({two}).x - {one}.x) {op} {value}",
        f"ABS(NEXT({two}).f - {one}.f) <= {one}.y",
        f"ABS({one}.f) {op} ABS(NEXT({two}).x)",
        f"ROUND({one}.f + NEXT({two}).f) {op} {value}",
        f"FLOOR({one}.f * NEXT({two}).x) {op} {value}",
        f"CEIL({one}.f * NEXT({two}).x) {op} {value}",
        f"LEAST({one}.x, NEXT({two}).f) {op} {value}",
        f"GREATEST({one}.x, NEXT({two}).f, {one}.y) {op} {value}",
        f"COALESCE({one}.x, NEXT({two}).x, {one}.y) {op} {value}",
        f"LOWER({one}.type) {op} LOWER(NEXT({two}).type)",
    ]
    return draw(st.sampled_from(local + adjacent * 2 if pairs else local))


@st.composite
def whole_conditions(draw: st.DrawFn, kinds: Collection[str]) -> str:
    """Draw a condition on whole trends: "length", "duration", "ends" that separate, or "general" ones."""
    op, other = draw(st.sampled_from(COMPARISONS)), draw(st.sampled_from(COMPARISONS))
    value = draw(st.integers(0, 5))
    forms = {
        "length": [
            f"LENGTH {op} {value}",
            f"LENGTH >= {value}",
            f"LENGTH() <= {value}",
            "LENGTH IN (2, 4)",
            f"NOT LENGTH BETWEEN 2 AND {value}",
        ],
        "duration": [f"DURATION <= {value}", f"DURATION() < {value}", f"{value} >= DURATION", "FIRST(x) > 0"],
        "ends": [
            f"LAST(x) {op} FIRST(x)",
            f"LAST(x) {op} FIRST(x) AND DURATION <= {value}",
            f"LAST(f) {op} 2 * FIRST(x)",
            f"LAST(x + y) {op} FIRST(y) + {value}",
            f"DURATION {op} {value}",
            f"DURATION BETWEEN 1 AND {value}",
            "LAST(x) = FIRST(x) AND LAST(y) <= FIRST(y)",
            "LAST(x) < FIRST(x) AND LAST(y) <= FIRST(f)",
            f"LAST(x) {op} 1 AND FIRST(y) {other} 1",
            f"LAST(type) {op} FIRST(type)",
        ],
        "general": [
            f"LAST(x) * FIRST(x) {op} {value}",
            f"(LAST(x) {op} FIRST(x) OR DURATION <= {value})",
            f"LAST(x) {op} FIRST(x) AND LAST(y) {other} FIRST(y) AND DURATION <= {value}",
        ],
    }
    return draw(st.sampled_from([form for kind in kinds for form in forms[kind]]))


@cache
def equivalences(words: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Draw equivalence attributes of every row, or of the events of a label or type."""
    typed = [f"[{word}.{name}]" for word in words for name in ("k", "k", "y")]
    both = [f"[k, {words[0]}.x]", f"[k, {words[0]}.k]", f"[{words[0]}.k, {words[-1]}.k]"]
    return st.sampled_from(["[k]"] * 5 + ["[k, y]"] + typed + both)


@cache
def groups(words: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Draw attributes for GROUP-BY."""
    typed = [f"{word}.{name}" for word in words for name in ("k", "k", "y")]
    both = [f"k, {words[0]}.y", f"{words[0]}.k, k", f"{words[0]}.k, {words[-1]}.y"]
    return st.sampled_from(["k"] * 5 + ["k, y"] + typed + both)


@st.composite
def windows(draw: st.DrawFn, kinds: Collection[str] = WINDOWS) -> str:
    """Draw a WITHIN clause of one of these kinds, empty for "none"."""
    kind = draw(st.sampled_from([kind for kind in (*WINDOWS, "from max") if kind in kinds]))
    size = draw(st.sampled_from([5, 6, 8, 10, 4, 3, 2, 1]))
    slide = draw(st.sampled_from([2, 3, 1, 4, 5]))
    if kind == "none":
        return ""
    if kind == "trigger":
        return f"WITHIN {size}"
    if kind == "events":
        return f"WITHIN {size} EVENTS SLIDE {slide} EVENTS"
    if kind in ("session", "from", "from max"):
        return draw(drawn_windows(kind))
    slides = {"tumbling": size, "sliding": min(slide, size), "hopping": size + slide}
    return f"WITHIN {size} SLIDE {slides[kind]}"


@st.composite
def drawn_windows(draw: st.DrawFn, kind: str) -> str:
    """Draw a WITHIN clause of a session, or one with FROM, some of them with MAX."""
    limited = kind == "from max" or draw(st.booleans())
    most = f" MAX {draw(st.sampled_from([4, 1, 2, 3, 6]))}" if limited else ""
    if kind == "session":
        return f"WITHIN SESSION {draw(st.sampled_from([1, 2, 3, 4]))}{most}"
    borders = st.sampled_from(
        ["x = 0", "x > 1", "x IS NULL", "y = 1 OR f > 0.7", "type = 'A'", "type != 'Z'", "k = 1 AND NOT x = 1"]
    )
    end = f" TO {draw(borders)}" if draw(st.booleans()) else ""
    return f"WITHIN FROM {draw(borders)}{end}{most}"


@cache
def aggregates(words: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Draw the RETURN clause: COUNT(*) and up to four more."""
    functions = st.sampled_from(["SUM", "AVG", "MIN", "MAX"])
    attributes = st.sampled_from([f"{word}.{name}" for word in words for name in "xyf"] + ["x", "f"])
    item = st.one_of(
        st.builds("{}({})".format, functions, attributes),
        st.builds("{}({})".format, functions, attributes),
        st.sampled_from(words).map("COUNT({})".format),
        st.sampled_from(["LOG2(COUNT(*))", "LOG10(COUNT(*))"]),
    )
    more = st.lists(item, max_size=4)
    return more.map(lambda items: ", ".join(["COUNT(*) AS n", *(f"{e} AS o{i}" for i, e in enumerate(items))]))


@cache
def measures(words: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Draw more of the RETURN clause: aggregates over measures of trends, and spreads."""
    attributes = st.sampled_from([f"{word}.{name}" for word in words for name in "xyf"] + ["x", "f", "time"])
    piece = st.one_of(
        st.sampled_from(["LENGTH", "DURATION", "DURATION()"]),
        st.sampled_from(words).map("COUNT({})".format),
        st.builds("{}({})".format, st.sampled_from(["FIRST", "LAST", "FIRST", "LAST", "SUM"]), attributes),
        st.builds(
            "{0}({1}.{3}, {2}.{3})".format,
            st.sampled_from(["FIRST", "LAST"]),
            *2 * [st.sampled_from(words)],
            st.sampled_from(["x", "time"]),
        ),
    )
    forms = st.sampled_from(["{}", "{}", "{} - {}", "{} + {}", "2 * {} - {}", "{} + 1", "-{}"])
    measure = st.builds(lambda form, *pieces: form.format(*pieces), forms, piece, piece)
    functions = st.sampled_from(["SUM", "AVG", "MIN", "MAX", *SPREADS])
    item = st.one_of(
        st.builds("{}({})".format, functions, measure),
        st.builds("{}({})".format, functions, measure),
        st.builds("{}({})".format, st.sampled_from(SPREADS), attributes),
    )
    some = st.lists(item, min_size=1, max_size=3)
    return some.map(lambda items: "".join(f", {e} AS m{i}" for i, e in enumerate(items)))


# ---- rows


@cache
def rows(types: tuple[str, ...], last: int) -> st.SearchStrategy[Row]:
    """Draw a row, most often of one of these types, with a time up to `last`."""
    return st.fixed_dictionaries(
        {
            "time": st.integers(-2, last),
            "type": st.sampled_from([*types * 2, "A", "B", "C", "D", "Z"]),
            "s": st.integers(0, 2),
            "x": st.sampled_from([0, 1, 2, 3, -1, 0, 1, 2, 3, None]),
            "y": st.sampled_from([0, 1, 2, 0, 1, 2, None]),
            "f": st.sampled_from([0.5, 1.0, -1.5, 0.1, 2.0, 0.5, math.nan, None]),
            "k": st.sampled_from([1, 1, 1, 1, 2, 2, 2, None]),
        }
    )


@st.composite
def streams(draw: st.DrawFn, types: tuple[str, ...], max_rows: int = 12) -> tuple[Row, ...]:
    """Draw rows in any order, with ties and duplicates, NULLs and NaNs."""
    row = rows(types, draw(st.sampled_from([9, 9, 6, 9, 3])))
    least = min(draw(st.sampled_from([0, 4, 7, 8, 9, 10, 11, 12, 12, 12])), max_rows)  # left alone, lists are short
    return tuple(draw(st.lists(row, min_size=least, max_size=max_rows)))


def most_rows(pattern: Pattern, max_rows: int = 12) -> int:
    """Return how many rows keep the number of trends small."""
    labels = {atom.label: atom.type for atom, negated in atoms(pattern) if not negated}
    several = max(Counter(labels.values()).values())
    limit = 7 if isinstance(pattern, And) else {1: 12, 2: 9}.get(several, 7)
    return min(limit, max_rows)


def _time(seconds: int, halves: bool, clock: str | None) -> int | float | datetime:
    """Return a time as it is in the rows of a case."""
    if clock == "timestamp":
        return datetime(2024, 5, 1) + timedelta(seconds=seconds)
    return seconds / 2 if halves else seconds


# ---- cases


@st.composite
def count_once(draw: st.DrawFn, case: Case) -> Case:
    """Return a case with other aggregates: over events or keys, each once, and some that are not."""
    bound = case.bound()
    labels = st.sampled_from([label.name for label in bound.labels if not label.negated])
    attributes = st.sampled_from("xyf")
    items = [
        labels.map("COUNT(EACH {})".format),
        labels.map("COUNT(DISTINCT {})".format),
        labels.map("LOG2(COUNT(EACH {}))".format),
        st.builds("{}(EACH {}.{})".format, st.sampled_from(["SUM", "AVG"]), labels, attributes),
        st.builds("{0}(EACH {1}.{2} * 2 + {1}.x)".format, st.sampled_from(["SUM", "AVG"]), labels, attributes),
        st.builds("{}({}.{})".format, st.sampled_from(["SUM", "MIN"]), labels, attributes),
    ]
    if not isinstance(bound.pattern, And):
        items.append(labels.map("AVG(LAST({}.x))".format))
    if bound.keys:
        keys = [".".join(key.path) for key in bound.keys]
        chosen = st.lists(st.sampled_from(keys), min_size=1, unique=True)
        items += [chosen.map(lambda names: f"COUNT(DISTINCT {', '.join(names)})")] * 3
    drawn = draw(st.lists(st.one_of(*items), min_size=1, max_size=4))
    returned = ", ".join(["COUNT(*) AS n", *(f"{item} AS o{i}" for i, item in enumerate(drawn))])
    return replace(case, text=re.sub("RETURN .*? PATTERN", f"RETURN {returned} PATTERN", case.text))


@st.composite
def case(
    draw: st.DrawFn,
    *,
    semantics: str | None = None,
    negation: bool | None = None,
    conjunction: bool | None = None,
    adjacent: bool | None = None,
    keys: bool | None = None,
    kinds: Collection[str] = WINDOWS,
    tiebreak: bool | None = None,
    numbers: str | None = None,
    float_times: bool = False,
    clock: str | None = None,
    max_rows: int = 12,
    pattern: Pattern | None = None,
    measured: bool = False,
    once: bool = False,
    whole: Collection[str] = (),
) -> Case:
    """Draw a valid query and its rows; None leaves a choice to chance, True and False make it.

    With `once` most aggregates are over events or keys, each once. `whole` are kinds of conditions on whole trends.
    """

    def chance(asked: bool | None, one_in: int) -> bool:
        return draw(st.integers(1, one_in)) == one_in if asked is None else asked

    if pattern is None:
        pattern = draw(patterns(negation=negation, conjunction=False if measured or whole else conjunction))
    positive = tuple(dict.fromkeys(atom.label for atom, negated in atoms(pattern) if not negated))
    types = tuple(dict.fromkeys(atom.type for atom, _ in atoms(pattern)))
    usual = tuple(atom.type for atom, negated in atoms(pattern) for _ in range(1 if negated else 2))
    own = [atom.type for atom, negated in atoms(pattern) if not negated and atom.type not in positive]
    words = positive + tuple(dict.fromkeys(own))  # a type's name that is no label means all its labels
    every = tuple(dict.fromkeys(atom.label for atom, _ in atoms(pattern)))
    pairs = tuple(sorted(neighbours(pattern)))

    where = draw(st.lists(local_predicates(every), min_size=1, max_size=2)) if chance(None, 3) else []
    if pairs and chance(adjacent, 2):
        where += [draw(adjacent_predicates(pairs)) for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
    elif adjacent:
        reject()
    if clock is not None:
        where += draw(st.lists(timely_predicates(pairs, positive), min_size=1, max_size=2))
    if whole:
        where += [draw(whole_conditions(whole)) for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
    grouped = ""
    if chance(keys, 3):
        chosen = draw(st.sampled_from(["where", "group", "both"]))
        where += [draw(equivalences(words))] if chosen != "group" else []
        grouped = f"GROUP-BY {draw(groups(words))}" if chosen != "where" else ""

    within = draw(windows(kinds))
    clauses = [
        f"RETURN {draw(aggregates(words))}{draw(measures(words)) if measured else ''}",
        f"PATTERN {show(pattern)}",
        f"SEMANTICS {semantics or draw(st.sampled_from(SEMANTICS))}",
        f"WHERE {' AND '.join(where)}" if where else "",
        grouped,
        within,
    ]
    untyped = len(types) == 1 and chance(None, 8)
    drawn_rows = draw(streams(usual, most_rows(pattern, 9 if untyped and max_rows > 9 else max_rows)))
    drawn = Case(
        text=" ".join(clause for clause in clauses if clause),
        rows=tuple({**row, "time": _time(row["time"], float_times, clock)} for row in drawn_rows),
        time="time",
        type=None if untyped else "type",
        tiebreak="s" if chance(tiebreak, 4) else None,
        offset=draw(st.sampled_from([0, 0, 1, -2])) if "SLIDE" in within and "EVENTS" not in within else 0,
        numbers=numbers or draw(st.sampled_from(["double", "exact"])),
        float_times=float_times,
        clock=clock,
    )
    try:
        drawn.bound()
    except SparkleeneError:
        reject()
    return draw(count_once(drawn)) if once else drawn
