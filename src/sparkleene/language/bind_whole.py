"""Conditions of WHERE on a whole trend: its LENGTH, its DURATION, and its first against its last event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from sparkleene.language import ast
from sparkleene.language.bind_measures import extent_of, is_measure
from sparkleene.language.bound import LENGTH, Call, Field, Literal_, Term
from sparkleene.language.names import Name, Scope
from sparkleene.language.operators import COMPARISONS
from sparkleene.language.patterns import shape_of
from sparkleene.language.printer import expr_to_text
from sparkleene.language.terms import assign_sides, check_condition, make_term, names_in
from sparkleene.language.trees import conjuncts, fields

WORDS: dict[int, Literal["FIRST", "LAST"]] = {0: "FIRST", 1: "LAST"}


@dataclass(frozen=True, slots=True)
class WholeConditions:
    """Conditions on the length of a trend, on how long it lasts at most, and others on its first and last event."""

    lengths: tuple[Term, ...] = ()
    durations: tuple[Term, ...] = ()
    ends: tuple[Term, ...] = ()


def bind_whole(exprs: Iterable[ast.Expr], scope: Scope, pattern: ast.Pattern) -> WholeConditions:
    """Return the conditions on whole trends, or report what is wrong with them."""
    lengths: dict[Term, None] = {}
    durations: dict[Term, None] = {}
    ends: dict[Term, None] = {}
    shape = shape_of(pattern)
    given = (scope.labels, scope.columns, scope.errors, scope.source, scope.time, scope.time_unit)
    for expr in exprs:
        before = len(scope.errors.found)
        if isinstance(pattern, ast.And):
            message = "this condition is on one trend, and a match of P AND Q is a pair of trends"
            scope.errors.report(
                "bad-trend-condition", message, expr.span, help="write a query for each of the two patterns"
            )
            continue
        whole = TrendScope(*given, outer=(shape.first, shape.last))
        term = make_term(expr, whole)
        check_condition(term, scope)
        _report_names(term, scope)
        if len(scope.errors.found) > before:
            continue
        for part in conjuncts(term):
            counts = any(one.path == LENGTH for one in fields(part))
            if counts and not _compares_length(part):
                message = "LENGTH is compared with numbers, and with nothing else"
                help = "write LENGTH >= 3; join it with other conditions by AND"
                scope.errors.report("bad-trend-condition", message, part.span, help=help)
            limit = _duration_limit(part, scope.time)
            if counts:
                lengths[part] = None
            elif limit is not None:
                durations[limit] = None
            else:
                ends[part] = None
    return WholeConditions(tuple(lengths), tuple(durations), tuple(ends))


def _duration_limit(term: Term, time: str) -> Term | None:
    """Return `DURATION <= x` or `DURATION < x` for a condition that is one, None for all others."""
    if not isinstance(term, Call) or term.op not in ("<", "<=", ">", ">="):
        return None
    left, right = term.args if term.op in ("<", "<=") else term.args[::-1]
    if left != Call("-", (Field((time,), 1), Field((time,), 0))) or any(fields(right)):
        return None
    return Call("<" if term.op in ("<", ">") else "<=", (left, right), term.span)


def _report_names(term: Term, scope: Scope) -> None:
    """Report attributes of events, and GAP, in a condition on a whole trend."""
    for name in names_in(term):
        if name.gap and name.next:
            continue  # said of the other event
        if name.gap:
            scope.report_misplaced_next("a condition on a whole trend", name)
            continue
        word = ".".join([*(scope.labels[i].name for i in name.labels[:1]), *name.path])
        message = f"'{word}' is an attribute of events, and the rest is about whole trends"
        scope.errors.report("bad-trend-condition", message, name.span, help=f"write FIRST({word}) or LAST({word})")


def _compares_length(term: Term) -> bool:
    """Tell whether a condition is made of comparisons of LENGTH with numbers."""
    if not isinstance(term, Call):
        return False
    if term.op in ("and", "or", "not"):
        return all(map(_compares_length, term.args))
    if term.op not in COMPARISONS:
        return False
    return sorted(map(_kind, term.args)) == ["length", "number"]


def _kind(term: Term) -> str:
    """Return what one side of a comparison with LENGTH is."""
    if isinstance(term, Call) and term.op == "neg":
        return "number" if _kind(term.args[0]) == "number" else "other"
    if isinstance(term, Literal_):
        number = isinstance(term.value, int | float) and not isinstance(term.value, bool)
        return "number" if number else "other"
    return "length" if isinstance(term, Field) and term.path == LENGTH else "other"


@dataclass(frozen=True, slots=True)
class TrendScope(Scope):
    """What words mean in a condition on a whole trend; `outer` are the labels of first and of last events."""

    outer: tuple[frozenset[str], frozenset[str]] = field(default=(frozenset(), frozenset()))

    @property
    def place_without_neighbours(self) -> str | None:
        """Where names are not of two neighbours."""
        return "a condition on a whole trend"

    def operand(self, ref: ast.Ref, text: bool) -> Term:
        """Return LENGTH or DURATION without parentheses, or what a name means elsewhere."""
        extent = extent_of(ref, self)
        if extent is None:
            return Scope.operand(self, ref, text)
        self.is_also_a_column(ref, extent.upper(), f"the {extent.upper()} of a trend")
        return self._extent(extent, ref)

    def aggregate(self, given: ast.Aggregate | ast.Extent) -> Term:
        """Return what is asked of the first or last event, or of both."""
        if isinstance(given, ast.Extent):
            return self._extent(given.word, given)
        side = 0 if given.function == "first" else 1
        word = WORDS[side]
        if given.modifier or len(given.args) != 1 or is_measure(given.args[0], self):
            self.errors.report("bad-trend-condition", f"{word} of a trend takes an attribute", given.span)
            return Literal_(None, given.span)
        outside = Scope(self.labels, self.columns, self.errors, self.source, self.time, self.time_unit)
        before = len(self.errors.found)
        term = make_term(given.args[0], outside)
        if len(self.errors.found) > before:
            return Literal_(None, given.span)
        names = names_in(term)
        for name in names:
            if name.next or name.prev or name.gap:
                self.report_misplaced_next(f"{word}(...)", name)
                return Literal_(None, given.span)
        if not names:
            message = f"{word} of a trend takes an attribute of its events"
            self.errors.report("bad-trend-condition", message, given.span, help=f"such as {word}(E.x)")
            return Literal_(None, given.span)
        self._check_labels(side, names, given)
        return assign_sides(term, lambda _: side)

    def _extent(self, extent: str, given: ast.Node) -> Term:
        """Return LENGTH, or DURATION: the time of the last event less that of the first."""
        if extent == "length":
            return Field(LENGTH, span=given.span)
        path = (self.time,)
        return Call("-", (Field(path, 1, given.span), Field(path, 0, given.span)), given.span)

    def _check_labels(self, side: int, names: list[Name], given: ast.Aggregate) -> None:
        """Report a label whose first or last event is not always that of the trend."""
        possible = {i for i, label in enumerate(self.labels) if label.name in self.outer[side]}
        for name in names:
            missing = sorted(possible - {*name.labels}) if name.labels else []
            if missing:
                word, where = WORDS[side], "begins" if side == 0 else "ends"
                asked, other = self.labels[name.labels[0]].name, self.labels[missing[0]].name
                message = f"{expr_to_text(given)} is not of the trend's {word.lower()} event in every trend"
                notes = (f"a trend of this pattern also {where} with '{other}'",)
                help = (
                    f"write {word}(...) without the label {asked}: it is then of the trend's {word.lower()} event"
                )
                self.errors.report("not-at-the-end", message, given.span, notes=notes, help=help)
                return
