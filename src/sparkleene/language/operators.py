"""The operators of conditions: how tight each binds, each comparison with its sides swapped, and its opposite."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from sparkleene.language.ast import Comparison

OR, AND, NOT, COMPARE, ADD, MULTIPLY, UNARY, OPERAND = range(1, 9)
"""How tight operators bind, from the loosest to what needs no parentheses at all."""


class Operator(NamedTuple):
    """An operator between operands: `a op b` is `b flipped a`, and its opposite is `a negated b`."""

    level: int
    flipped: Comparison | None = None
    negated: Comparison | None = None


OPERATORS: dict[str, Operator] = {
    "or": Operator(OR),
    "and": Operator(AND),
    "=": Operator(COMPARE, "=", "!="),
    "!=": Operator(COMPARE, "!=", "="),
    "<": Operator(COMPARE, ">", ">="),
    "<=": Operator(COMPARE, ">=", ">"),
    ">": Operator(COMPARE, "<", "<="),
    ">=": Operator(COMPARE, "<=", "<"),
    "+": Operator(ADD),
    "-": Operator(ADD),
    "*": Operator(MULTIPLY),
    "/": Operator(MULTIPLY),
    "%": Operator(MULTIPLY),
}
FLIPPED: dict[str, Comparison] = {op: row.flipped for op, row in OPERATORS.items() if row.flipped}
NEGATED: dict[str, Comparison] = {op: row.negated for op, row in OPERATORS.items() if row.negated}
COMPARISONS = tuple(FLIPPED)
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
"""Comparisons as functions of Python."""
ARITHMETIC = tuple(op for op, row in OPERATORS.items() if row.level > COMPARE)
