"""From expressions to terms: IN, BETWEEN and chains become plain comparisons; names belong to one event each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sparkleene.language import ast
from sparkleene.language.bound import Call, Field, Literal_, Term
from sparkleene.language.names import Name, Scope
from sparkleene.language.operators import ARITHMETIC
from sparkleene.language.trees import fields, map_fields


def make_term(expr: ast.Expr, scope: Scope, text: bool = False) -> Term:
    """Spell out chains, IN, BETWEEN and IS NOT NULL; report names that mean nothing."""
    span = expr.span
    match expr:
        case ast.Ref():
            return scope.operand(expr, text)
        case ast.Const():
            return Literal_(expr.value, span)
        case ast.Aggregate() | ast.Extent():
            return scope.aggregate(expr)
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


def _negate_if(negated: bool, term: Call) -> Call:
    """Return the term or its negation."""
    return Call("not", (term,), term.span) if negated else term


def names_in(term: Term) -> list[Name]:
    """Return the names of a term from left to right."""
    return [part for part in fields(term) if isinstance(part, Name)]


def map_names(term: Term, change: Callable[[Name], Field]) -> Term:
    """Return the term with every name changed."""
    return map_fields(term, lambda part: change(part) if isinstance(part, Name) else part)


def assign_sides(term: Term, side: Callable[[Name], int] = lambda _: 0) -> Term:
    """Return the finished term, with each name on the side given for it."""
    return map_names(term, lambda name: Field(name.path, 1 if side(name) else 0, name.span))


def check_condition(term: Term, scope: Scope) -> None:
    """Report a number or text where a condition is needed."""
    if isinstance(term, Call) and term.op in ("and", "or", "not"):
        for item in term.args:
            check_condition(item, scope)
        return
    number = isinstance(term, Call) and term.op in ("neg", *ARITHMETIC)
    if number or (isinstance(term, Literal_) and not isinstance(term.value, bool | None)):
        scope.errors.report(
            "not-a-condition", "here a condition is needed", term.span, help="compare it: =, !=, <, <=, >, >="
        )
