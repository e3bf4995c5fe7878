"""Contiguous trends join neighbouring rows only, so their predicates can be looked at before anything is counted.

What a pair of labels asks of two neighbouring rows is true or not; that truth becomes one more label of the later
row. The machine without predicates does the rest, with all that comes with it: words, panes, any aggregate.
"""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.conditions import code_holds
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import EQ, GE, GT, LE, LT, Array, Predicates

BLOCK = 1 << 13  # rows whose labels stay in the first-level cache from step to step


@helper
def _compare(op: int, f: Array, g: Array, begin: int, end: int, ok: Array) -> None:
    """Keep `ok` where a comparison holds between a row and the one before; loops without branches."""
    if op == LT:
        for i in range(begin, end):
            ok[i] &= f[i - 1] < g[i]
    elif op == LE:
        for i in range(begin, end):
            ok[i] &= f[i - 1] <= g[i]
    elif op == GT:
        for i in range(begin, end):
            ok[i] &= f[i - 1] > g[i]
    elif op == GE:
        for i in range(begin, end):
            ok[i] &= f[i - 1] >= g[i]
    elif op == EQ:
        for i in range(begin, end):
            ok[i] &= f[i - 1] == g[i]
    else:  # NaN, which is NULL, differs from nothing
        for i in range(begin, end):
            ok[i] &= (f[i - 1] < g[i]) | (f[i - 1] > g[i])


@kernel
def observe(
    predicates: Predicates,
    f: Array,
    g: Array,
    mask: Array,
    joined: Array,
    first: int,
    begin: int,
    end: int,
    ok: Array,
    out: Array,
) -> None:
    """Add to the labels of rows begin:end the pairs that hold between them and the rows before.

    Pair p joins label joined[p, 0] to label joined[p, 1] by condition joined[p, 2]; its own label is first + p.
    `ok` is scratch.
    """
    for block in range(begin, end, BLOCK):
        _observe(predicates, f, g, mask, joined, first, block, min(block + BLOCK, end), ok, out)


@helper(allocates=True)
def _observe(
    predicates: Predicates, f: Array, g: Array, mask: Array, joined: Array, first: int, begin: int, end: int,
    ok: Array, out: Array,
) -> None:  # fmt: skip
    stack = np.empty(predicates.code.shape[0] + 1)
    for i in range(begin, end):
        out[i] = mask[i]
    begin = max(begin, 1)  # the first row has none before it
    for p in range(joined.shape[0]):
        before, after, condition = np.uint64(joined[p, 0]), np.uint64(joined[p, 1]), joined[p, 2]
        for i in range(begin, end):
            ok[i] = (np.uint64(mask[i - 1]) >> before) & (np.uint64(mask[i]) >> after) & np.uint64(1) != 0
        for c in range(predicates.off[condition], predicates.off[condition + 1]):
            _compare(predicates.op[c], f[c], g[c], begin, end, ok)
        code_begin, code_end = predicates.code_off[condition], predicates.code_off[condition + 1]
        if code_begin < code_end:
            for i in range(begin, end):
                ok[i] = ok[i] and code_holds(
                    predicates.code, code_begin, code_end, predicates.consts, f, g, i - 1, i, stack
                )
        for i in range(begin, end):
            out[i] = np.uint64(out[i]) | np.uint64(ok[i]) << np.uint64(first + p)
