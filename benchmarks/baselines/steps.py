"""What the compiled baselines share."""

from __future__ import annotations

from typing import Any

import numba as nb

from sparkleene.kernels.program import EQ, GE, GT, LE, LT

UNKNOWN, GONE = -2, -1


@nb.njit(nogil=True, inline="always")
def fits(machine: Any, rows: Any, pair: int, earlier: int, later: int) -> bool:
    """Tell whether the comparisons of a pair hold between two events."""
    if pair < 0 or earlier < 0:
        return True
    for c in range(machine.first[pair], machine.first[pair + 1]):
        x, y, op = rows.f[c, earlier], rows.g[c, later], machine.op[c]
        if op == LT:
            holds = x < y
        elif op == LE:
            holds = x <= y
        elif op == GT:
            holds = x > y
        elif op == GE:
            holds = x >= y
        elif op == EQ:
            holds = x == y
        else:
            holds = x < y or x > y
        if not holds:
            return False
    return True


@nb.njit(nogil=True, inline="always")
def has(mask: int, label: int) -> bool:
    """Tell whether a row can have a label."""
    return (mask >> nb.uint64(label)) & nb.uint64(1) != 0
