"""Skip-till-next-match with one comparison along a Kleene plus, counts only: a stack of events not yet extended.

After an event has taken all that it can extend, what is left compares the other way with it, and it goes on top:
the waiting events are always in order, and the ones to take are on top.
All other states are one vector in registers (see words.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import kernel
from sparkleene.kernels.program import GE, GT, LE, LT, NEXT, PIECE, Array, Events, Predicates, Program
from sparkleene.kernels.tuples import tuple_setitem
from sparkleene.kernels.words import Vector, symbol_matrices

MAX_STATES = 8
NONE, SOME, ALL = 0, 1, 2


class WaitStack(NamedTuple):
    """The one state whose events wait, and what every symbol does."""

    waiting: int  # the state
    column: int  # of the comparison
    sign: float  # +1 for `>`, -1 for `<`
    strict: bool
    takes: Array  # int64[symbols]: none, those that compare, or all that wait
    matrix: Array  # float64[symbols, states, states]: column `waiting` applies to what was taken


def prepare(program: Program, predicates: Predicates, events: Events, tied: bool) -> WaitStack | None:
    """Return the tables for this kernel, or None if the program is not of its kind."""
    stored = {int(s) for s, p in zip(program.src, program.pair, strict=True) if p >= 0}
    used = {int(p) for p in program.pair if p >= 0}
    moves = (program.keep != np.arange(program.states)).any()
    carries = program.sum_of.size or program.low_adds.size or program.classes != 1
    if program.mode != NEXT or tied or len(stored) != 1 or len(used) != 1 or moves or carries:
        return None
    (waiting,), (pair,) = stored, used
    first = int(predicates.off[pair])
    single = predicates.off[pair + 1] == first + 1 and predicates.code_off[pair] == predicates.code_off[pair + 1]
    if not single or program.states > MAX_STATES or events.f is not events.g:
        return None
    op = int(predicates.op[first])
    loop = (program.src == waiting) & (program.dst == waiting) & (program.pair == pair)
    into = program.dst == waiting
    label = np.searchsorted(program.off, np.arange(program.src.size), "right") - 1
    if op not in (LT, LE, GT, GE) or not loop.any() or set(label[into]) != set(label[loop]):
        return None
    _, added = symbol_matrices(program)
    takes = np.zeros(program.labels.size, np.int64)
    matrix = added.copy()
    for y, mask in enumerate(program.labels.tolist()):
        out = {int(s) for s, by in zip(program.src, label, strict=True) if mask >> int(by) & 1}
        for s in range(program.states):
            if s not in out or s == 0:
                matrix[y, s, s] += s != waiting
        kinds = {int(p) for s, by, p in zip(program.src, label, program.pair, strict=True)
                 if s == waiting and mask >> int(by) & 1}  # fmt: skip
        if len(kinds) > 1 and (events.symbol == y).any():
            return None
        if kinds:
            takes[y] = SOME if pair in kinds else ALL
    sign = 1.0 if op in (GT, GE) else -1.0
    return WaitStack(waiting, first, sign, op in (GT, LT), takes, matrix)


@kernel
def run(
    program: Program, stack: WaitStack, start: Vector, events: Events, lo: Array, hi: Array, out: Array
) -> None:
    """Run stretches without ties from `start`; write out[k, class]."""
    n = len(start)
    longest = 1
    for k in range(lo.size):
        longest = max(longest, hi[k] - lo[k])
    # Place 0 holds a key that stays below all others. Unsigned places spare the check for negative ones.
    key = np.empty(longest + 1)
    key[0] = -np.inf
    below = np.zeros(longest + 2)  # how many partial trends wait below a place, without rounding: no forks
    unit, bottom = np.uint64(1), np.uint64(1)
    column = events.f[stack.column]
    symbol, takes, matrix = events.symbol, stack.takes, stack.matrix
    waiting, sign, strict = stack.waiting, stack.sign, stack.strict
    for k in range(lo.size):
        if events.stop[0]:
            break
        state = start
        top = bottom
        never = 0.0  # partial trends whose last event has no value: only a step without predicate takes them
        for begin in range(lo[k], hi[k], PIECE):
            if events.stop[0]:
                break
            for i in range(begin, min(begin + PIECE, hi[k])):
                y = np.uint64(symbol[i])
                x = sign * column[i]
                taken = 0.0
                if takes[y] == SOME:
                    stays = top
                    if strict:
                        while key[stays - unit] > x:
                            stays -= unit
                    else:
                        while key[stays - unit] >= x and stays > bottom:
                            stays -= unit
                    taken = below[top] - below[stays]
                    top = stays
                elif takes[y] == ALL:
                    taken = never + below[top]
                    never = 0.0
                    top = bottom
                state = tuple_setitem(state, waiting, taken)
                after = state
                for s in range(n):
                    total = 0.0
                    for j in range(n):
                        total += matrix[y, np.uint64(s), np.uint64(j)] * state[j]
                    after = tuple_setitem(after, s, total)
                state = after
                fresh = state[waiting]
                if fresh != 0.0:
                    if x == x:
                        key[top] = x
                        below[top + unit] = below[top] + fresh
                        top += unit
                    else:
                        never += fresh
        for o in range(program.out_state.size):
            out[k, program.out_class[o]] += state[program.out_state[o]]
