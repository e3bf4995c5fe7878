"""Functions of values of two events, spelled out with the instructions that there are.

AND gives 0 where a side is 0, whatever the other is. So `AND(c, x) + AND(NOT c, y)` is x where c is 1, else y.
"""

from __future__ import annotations

from functools import reduce

from sparkleene.kernels.conditions import (
    ADD,
    AND,
    CODE_EQ,
    CODE_GE,
    CODE_GT,
    CODE_LE,
    CODE_LT,
    DIV,
    ISNULL,
    MOD,
    MUL,
    NOT,
    OR,
    PUSH_CONST,
    SUB,
)

Code = list[tuple[int, int]]
FUNCTIONS = ("abs", "round", "floor", "ceil", "least", "greatest", "coalesce")


def function_code(op: str, args: list[Code], consts: list[float]) -> Code:
    """Return the code of a function of numbers, given that of its operands; constants are added to `consts`."""
    if op in ("least", "greatest", "coalesce"):
        return reduce(lambda one, two: _choose(op, one, two), args)

    def constant(value: float) -> Code:
        consts.append(value)
        return [(PUSH_CONST, len(consts) - 1)]

    def call(op: int, *operands: Code) -> Code:
        return [step for operand in operands for step in operand] + [(op, 0)]

    x = args[0]
    size = call(MUL, x, call(SUB, call(MUL, call(CODE_GE, x, constant(0)), constant(2)), constant(1)))
    if op == "abs":
        return size
    rest = call(MOD, x, constant(1))
    whole = call(SUB, x, rest)
    if op == "round":
        up = call(CODE_GE, rest, constant(0.5))
        down = call(CODE_LE, rest, constant(-0.5))
        rounded = call(SUB, call(ADD, whole, up), down)
        infinite = call(CODE_EQ, size, constant(float("inf")))
        return _select(infinite, x, rounded)
    if op == "floor":
        found = call(SUB, whole, call(CODE_LT, rest, constant(0)))
    else:
        found = call(ADD, whole, call(CODE_GT, rest, constant(0)))
    return call(DIV, found, call(CODE_LT, size, constant(2.0**63)))  # NULL where it is no 64-bit integer


def _choose(op: str, one: Code, two: Code) -> Code:
    """Return the least, the greatest or the first of two, where one may be NULL."""
    known = [*one, (ISNULL, 0), (NOT, 0)]
    if op == "coalesce":
        return _select(known, one, two)
    better = [*one, *two, (CODE_LE if op == "least" else CODE_GE, 0)]
    first = [*known, *two, (ISNULL, 0), *better, (OR, 0), (AND, 0)]
    return _select(first, one, two)


def _select(condition: Code, one: Code, two: Code) -> Code:
    """Return the code of `one` where a condition is 1, of `two` where it is 0."""
    return [*condition, *one, (AND, 0), *condition, (NOT, 0), *two, (AND, 0), (ADD, 0)]
