"""From expressions to terms: sugar spelled out first, then names given their sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from sparkleene.language import ast
from sparkleene.language.ast import NOWHERE, Span
from sparkleene.language.bound import Call, Field, Literal_, Op, Term
from sparkleene.language.names import Name, Scope


@dataclass(frozen=True, slots=True)
class Operation:
    """A Call whose names have no side yet."""

    op: Op
    args: tuple[Open, ...]
    span: Span = field(default=NOWHERE, compare=False)


Open = Name | Literal_ | Operation
"""A term whose names have no side yet: which event of a pair each one belongs to."""


def lower(expr: ast.Expr, scope: Scope, text: bool = False) -> Open:
    """Spell out chains, IN, BETWEEN and IS NOT NULL; report names that mean nothing."""
    span = expr.span
    match expr:
        case ast.Ref():
            return scope.operand(expr, text)
        case ast.Const():
            return Literal_(expr.value, span)
        case ast.Negate():
            return Operation("neg", (lower(expr.operand, scope),), span)
        case ast.Binary():
            return Operation(expr.op, (lower(expr.left, scope), lower(expr.right, scope)), span)
        case ast.Compare():
            return _chain(expr, scope)
        case ast.Bool():
            return Operation(expr.op, tuple(lower(item, scope) for item in expr.items), span)
        case ast.Invert():
            return Operation("not", (lower(expr.operand, scope),), span)
        case ast.In():
            operand = lower(expr.operand, scope)
            items = tuple(lower(item, scope, text=True) for item in expr.items)
            equal = tuple(Operation("=", (operand, item), span) for item in items)
            return _perhaps_not(expr.negated, equal[0] if len(equal) == 1 else Operation("or", equal, span))
        case ast.Between():
            operand = lower(expr.operand, scope)
            low = Operation(">=", (operand, lower(expr.low, scope)), span)
            high = Operation("<=", (operand, lower(expr.high, scope)), span)
            return _perhaps_not(expr.negated, Operation("and", (low, high), span))
        case ast.IsNull():
            return _perhaps_not(expr.negated, Operation("isnull", (lower(expr.operand, scope),), span))


def _chain(expr: ast.Compare, scope: Scope) -> Open:
    """Return `a < b < c` as `a < b and b < c`."""
    after = (None, *expr.ops)
    operands = [lower(each, scope, op in ("=", "!=")) for each, op in zip(expr.operands, after, strict=True)]
    links = tuple(
        Operation(op, pair, pair[0].span.to(pair[1].span))
        for op, pair in zip(expr.ops, pairwise(operands), strict=True)
    )
    return links[0] if len(links) == 1 else Operation("and", links, expr.span)


def _perhaps_not(negated: bool, term: Operation) -> Operation:
    """Return the term or its negation."""
    return Operation("not", (term,), term.span) if negated else term


def conjuncts(term: Open) -> Iterator[Open]:
    """Yield the conditions that a term is the conjunction of."""
    if isinstance(term, Operation) and term.op == "and":
        for item in term.args:
            yield from conjuncts(item)
    else:
        yield term


def names_in(term: Open) -> Iterator[Name]:
    """Yield the names of a term from left to right."""
    if isinstance(term, Name):
        yield term
    elif isinstance(term, Operation):
        for item in term.args:
            yield from names_in(item)


def rename(term: Open, change: Callable[[Name], Name]) -> Open:
    """Return the term with every name changed."""
    if isinstance(term, Name):
        return change(term)
    if isinstance(term, Operation):
        return Operation(term.op, tuple(rename(item, change) for item in term.args), term.span)
    return term


def close(term: Open, side: Callable[[Name], int] = lambda _: 0) -> Term:
    """Return the finished term, with each name on the side given for it."""
    if isinstance(term, Name):
        return Field(term.path, 1 if side(term) else 0, term.span)
    if isinstance(term, Operation):
        return Call(term.op, tuple(close(item, side) for item in term.args), term.span)
    return term


def check_condition(term: Open, scope: Scope) -> None:
    """Report a number or text where a condition is needed."""
    if isinstance(term, Operation) and term.op in ("and", "or", "not"):
        for item in term.args:
            check_condition(item, scope)
        return
    number = isinstance(term, Operation) and term.op in ("neg", "+", "-", "*", "/", "%")
    if number or (isinstance(term, Literal_) and not isinstance(term.value, bool | None)):
        scope.errors.report(
            "not-a-condition", "here a condition is needed", term.span, help="compare it: =, !=, <, <=, >, >="
        )
