"""Windows of rows that overlap by two stacks, as in `row_stacks`, for counts in doubles of machines that only grow.

A matrix is one list of numbers, and a row of the table adds some of them to others: those of the states that its
transitions join, as far as the one is reached from the other at all. There are no calls on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import kernel
from sparkleene.kernels.program import Array, Events, Program
from sparkleene.kernels.row_stacks import Moves, list_moves


class Additions(NamedTuple):
    """Which numbers of a matrix a row adds to which: those of symbol y are off[y]:off[y+1], in this order."""

    off: Array
    source: Array
    target: Array


def _find_reached(program: Program) -> Array:
    """Tell which states are reached from which."""
    leads = np.eye(program.states, dtype=np.bool_)
    leads[program.src, program.dst] = True
    for through in range(program.states):
        leads |= leads[:, through, None] & leads[through]
    return leads


def _list_additions(moves: Moves, leads: Array, before: bool) -> Additions:
    """List the additions of a row after a matrix, or `before` a transposed one."""
    steps, states = moves.steps, len(leads)
    symbols = np.arange(len(steps.off))
    symbol = np.repeat(symbols[:-1], np.diff(steps.off))
    order = np.arange(symbol.size)
    if before:
        order = np.lexsort((-order, symbol))
    s, d = (steps.dst[order], steps.src[order]) if before else (steps.src, steps.dst)
    k, c = np.nonzero(leads[s] if before else leads.T[s])
    off = np.searchsorted(symbol[k], symbols)
    return Additions(off, s[k] * states + c, d[k] * states + c)


def run(program: Program, events: Events, lo: Array, hi: Array, out: Array) -> bool:
    """Write the counts of windows lo[k]:hi[k], neither end ever falling, by class; return False where rows tie.

    So it does where a row's transitions have no order in which none leads to where a later one begins.
    """
    moves, leads = list_moves(program), _find_reached(program)
    if not moves.plain.all():
        return False
    after, before = _list_additions(moves, leads, False), _list_additions(moves, leads, True)
    through = leads[0] & leads.T[program.out_state]
    out_of, reach = np.nonzero(through)
    reach_off = np.searchsorted(out_of, np.arange(len(through) + 1))
    since, later = np.empty(program.states**2), np.empty(program.states**2)
    rooms = since, later, np.empty((int((hi - lo).max(initial=0)), program.states))
    return _run(program, after, before, (reach_off, reach), events, rooms, lo, hi, out)  # type: ignore[no-any-return]


@kernel(allocates=False)
def _run(
    program: Program, after: Additions, before: Additions, reached: tuple[Array, Array], events: Events,
    rooms: tuple[Array, Array, Array], lo: Array, hi: Array, out: Array,
) -> bool:  # fmt: skip
    """Do what `run` tells; `reached` lists for each result the states on the way to it.

    `rooms` are for the matrix of the rows since the border, for that of later and later rows before it, and for
    what a window begins with that has its first row there.
    """
    states = program.states
    reach_off, reach = reached
    since, later, front = rooms
    base = border = top = np.int64(-1)
    for k in range(lo.size):
        if events.stop[0]:
            return True
        if lo[k] >= border:
            base, border, top = lo[k], hi[k], hi[k]
            for w in range(states * states):
                since[w] = later[w] = 0.0
            for s in range(states):
                since[s * states + s] = later[s * states + s] = 1.0
            for back in range(border - base):
                e = border - 1 - back
                if e > base and events.tick[e] == events.tick[e - 1]:
                    return False
                y = np.int64(events.symbol[e])
                for n in range(before.off[y], before.off[y + 1]):
                    later[before.target[n]] += later[before.source[n]]
                for c in range(states):
                    front[e - base, c] = later[c]
        while top < hi[k]:
            if top > base and events.tick[top] == events.tick[top - 1]:
                return False
            y = np.int64(events.symbol[top])
            for n in range(after.off[y], after.off[y + 1]):
                since[after.target[n]] += since[after.source[n]]
            top += 1
        for o in range(len(program.out_state)):
            s, total = program.out_state[o] * states, 0.0
            for n in range(reach_off[o], reach_off[o + 1]):
                total += since[s + reach[n]] * front[lo[k] - base, reach[n]]
            out[k, program.out_class[o]] += total
    return True
