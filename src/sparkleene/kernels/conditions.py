"""Conditions on two neighbours of a trend: comparisons, and code for whatever is more than those.

Stack code
----------
A pair may carry code that must come out true. An instruction is a row (opcode, argument); the stack holds
doubles, and truth is three-valued: 1.0 true, 0.0 false, NaN unknown (NULL). Only 1.0 counts as true.

    opcode      argument    effect
    PUSH_F      column      push f[column] of the previous event
    PUSH_G      column      push g[column] of the new event
    PUSH_CONST  index       push consts[index]
    NEG         -           x -> -x
    ADD SUB MUL DIV MOD     x y -> x op y; MOD has the dividend's sign; x / 0 and x % 0 are unknown
    CODE_LT CODE_LE CODE_GT CODE_GE CODE_EQ CODE_NE
                -           x y -> 1.0 or 0.0; unknown if a side is
    AND OR      -           x y -> three-valued and, or
    NOT         -           x -> three-valued not
    ISNULL      -           x -> 1.0 if unknown, else 0.0

The argument of an instruction that needs none is ignored. Operands are pushed left to right; the result is
what is on top at the end. CODE_LT + op is the instruction of comparison `op` of program.py.
"""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import helper
from sparkleene.kernels.program import EQ, GE, GT, LE, LT, Array, Predicates

PUSH_F, PUSH_G, PUSH_CONST, NEG, ADD, SUB, MUL, DIV, MOD = range(9)
CODE_LT, CODE_LE, CODE_GT, CODE_GE, CODE_EQ, CODE_NE = range(9, 15)
AND, OR, NOT, ISNULL = range(15, 19)


@helper
def compare(op: int, x: float, y: float) -> bool:
    """Compare two doubles; NaN on a side is never true."""
    if op == LT:
        return x < y
    if op == LE:
        return x <= y
    if op == GT:
        return x > y
    if op == GE:
        return x >= y
    if op == EQ:
        return x == y
    return x < y or x > y


@helper
def _binary(o: int, x: float, y: float) -> float:
    if o == AND:
        if x == 0.0 or y == 0.0:
            return 0.0
        return x * y  # unknown if a side is
    if o == OR:
        if x == 1.0 or y == 1.0:
            return 1.0
        return x + y
    if x != x or y != y:
        return np.nan
    if o >= CODE_LT:
        return 1.0 if compare(o - CODE_LT, x, y) else 0.0
    if o == ADD:
        return x + y
    if o == SUB:
        return x - y
    if o == MUL:
        return x * y
    if y == 0.0 or (o == MOD and abs(x) == np.inf):
        return np.nan
    return x / y if o == DIV else np.fmod(x, y)


@helper
def code_holds(
    code: Array, first: int, last: int, consts: Array, f: Array, g: Array, old: int, new: int, stack: Array
) -> bool:
    """Run instructions first:last."""
    top = 0
    for k in range(first, last):
        o, a = code[k, 0], code[k, 1]
        if o <= PUSH_CONST:
            stack[top] = f[a, old] if o == PUSH_F else (g[a, new] if o == PUSH_G else consts[a])
            top += 1
        elif o == NEG:
            stack[top - 1] = -stack[top - 1]
        elif o == NOT:
            stack[top - 1] = 1.0 - stack[top - 1]
        elif o == ISNULL:
            stack[top - 1] = 1.0 if stack[top - 1] != stack[top - 1] else 0.0
        else:
            top -= 1
            stack[top - 1] = _binary(o, stack[top - 1], stack[top])
    return stack[top - 1] == 1.0  # type: ignore[no-any-return]


@helper
def holds(predicates: Predicates, f: Array, g: Array, p: int, old: int, new: int, stack: Array) -> bool:
    """Tell whether events `old` and `new` satisfy pair p."""
    for c in range(predicates.off[p], predicates.off[p + 1]):
        if not compare(predicates.op[c], f[c, old], g[c, new]):
            return False
    first, last = predicates.code_off[p], predicates.code_off[p + 1]
    return first == last or code_holds(predicates.code, first, last, predicates.consts, f, g, old, new, stack)
