"""From expressions to terms: IN, BETWEEN and chains become plain comparisons; names belong to one event each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import cast

from sparkleene.errors import Span
from sparkleene.language import ast
from sparkleene.language.bound import Call, Field, Literal_, Op, Term
from sparkleene.language.names import Name, Scope
from sparkleene.language.operators import ARITHMETIC
from sparkleene.language.trees import fields, map_leaves
from sparkleene.language.units import make_interval


def make_term(expr: ast.Expr, scope: Scope, text: bool = False) -> Term:
    """Spell out chains, IN, BETWEEN and IS NOT NULL; report names that mean nothing."""
    span = expr.span
    match expr:
        case ast.Ref():
            return make_gap((), scope, span) if scope.is_gap(expr) else scope.operand(expr, text)
        case ast.Const():
            return Literal_(expr.value, span)
        case ast.Aggregate() | ast.Extent():
            return scope.aggregate(expr)
        case ast.Duration():
            return _make_duration(expr, scope)
        case ast.Gap():
            return _make_gap_of_labels(expr, scope)
        case ast.Function():
            args = tuple(make_term(arg, scope) for arg in expr.args)
            return Call(cast(Op, expr.name.lower()), args, span)
        case ast.Like():
            like = Call("like", (make_term(expr.operand, scope), Literal_(expr.pattern, span)), span)
            return _negate_if(expr.negated, like)
        case ast.Negate():
            return Call("neg", (make_term(expr.operand, scope),), span)
        case ast.Binary():
            return Call(expr.op, (make_term(expr.left, scope), make_term(expr.right, scope)), span)
        case ast.Compare():
            return _make_chain(expr, scope)
        case ast.Bool():
            return Call(expr.op, tuple(make_term(item, scope) for item in expr.items), span)
        case ast.Invert():
            return Call("not", (make_term(expr.operand, scope),), span)
        case ast.In():
            operand = make_term(expr.operand, scope)
            items = tuple(make_term(item, scope, text=True) for item in expr.items)
            equal = tuple(Call("=", (operand, item), span) for item in items)
            return _negate_if(expr.negated, equal[0] if len(equal) == 1 else Call("or", equal, span))
        case ast.Between():
            operand = make_term(expr.operand, scope)
            low = Call(">=", (operand, make_term(expr.low, scope)), span)
            high = Call("<=", (operand, make_term(expr.high, scope)), span)
            return _negate_if(expr.negated, Call("and", (low, high), span))
        case ast.IsNull():
            return _negate_if(expr.negated, Call("isnull", (make_term(expr.operand, scope),), span))


def _make_chain(expr: ast.Compare, scope: Scope) -> Term:
    """Return `a < b < c` as `a < b and b < c`."""
    after = (None, *expr.ops)
    operands = [make_term(each, scope, op in ("=", "!=")) for each, op in zip(expr.operands, after, strict=True)]
    links = tuple(
        Call(op, pair, pair[0].span.to(pair[1].span)) for op, pair in zip(expr.ops, pairwise(operands), strict=True)
    )
    return links[0] if len(links) == 1 else Call("and", links, expr.span)


def _make_duration(expr: ast.Duration, scope: Scope) -> Literal_:
    """Return a written duration."""
    found = make_interval(expr, scope.time_unit)
    if (found.milliseconds * 10**6).denominator != 1:
        scope.errors.report("bad-duration", "a duration is a whole number of nanoseconds", expr.span)
    return Literal_(found, expr.span)


def _make_gap_of_labels(expr: ast.Gap, scope: Scope) -> Term:
    """Return the time between neighbours, of any labels or of two."""
    if scope.place_without_neighbours is not None:
        scope.report_misplaced_next(scope.place_without_neighbours, expr)
        return Literal_(None, expr.span)
    found = [scope.labels_of(word) for word in expr.labels]
    for word, labels in zip(expr.labels, found, strict=True):
        if not labels:
            scope.report_unknown_label(word, expr.span)
    return make_gap(tuple(found), scope, expr.span)


def make_gap(labels: tuple[tuple[int, ...], ...], scope: Scope, span: Span) -> Call:
    """Return the later less the earlier time of two neighbours, which have these labels if some are given."""
    before, after = labels or ((), ())
    path = (scope.time,)
    earlier = Name(path, span=span, labels=before, gap=True)
    later = Name(path, span=span, labels=after, next=True, gap=True)
    return Call("-", (later, earlier), span)


def _negate_if(negated: bool, term: Call) -> Call:
    """Return the term or its negation."""
    return Call("not", (term,), term.span) if negated else term


def names_in(term: Term) -> list[Name]:
    """Return the names of a term from left to right."""
    return [part for part in fields(term) if isinstance(part, Name)]


def assign_sides(term: Term, side: Callable[[Name], int] = lambda _: 0) -> Term:
    """Return the finished term, with each name on the side given for it."""
    return map_leaves(term, Name, lambda name: Field(name.path, 1 if side(name) else 0, name.span))


def check_condition(term: Term, scope: Scope) -> None:
    """Report a number or text where a condition is needed."""
    if isinstance(term, Call) and term.op in ("and", "or", "not"):
        for item in term.args:
            check_condition(item, scope)
        return
    values = ("neg", *ARITHMETIC, "abs", "round", "floor", "ceil", "lower", "upper")
    number = isinstance(term, Call) and term.op in values
    if number or (isinstance(term, Literal_) and not isinstance(term.value, bool | None)):
        scope.errors.report(
            "not-a-condition", "here a condition is needed", term.span, help="compare it: =, !=, <, <=, >, >="
        )
