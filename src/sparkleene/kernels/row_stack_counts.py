"""Windows of rows that overlap by two stacks, as in `row_stacks`, for counts in doubles of machines that only grow.

A matrix is one list of numbers, and a row of the table adds some of them to others: those of the states that its
transitions join, as far as the one is reached from the other at all. There are no calls on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import Array, Events, Program
from sparkleene.kernels.row_stacks import list_moves


class Additions(NamedTuple):
    """Which numbers of a matrix a row adds to which: those of symbol y are off[y]:off[y+1], in this order."""

    off: Array
    source: Array
    target: Array


@helper(allocates=True)
def _find_reached(program: Program) -> Array:
    """Tell which states are reached from which."""
    states = program.states
    leads = np.zeros((states, states), np.bool_)
    for s in range(states):
        leads[s, s] = True
    for t in range(len(program.src)):
        leads[program.src[t], program.dst[t]] = True
    for through in range(states):
        for s in range(states):
            if leads[s, through]:
                for d in range(states):
                    leads[s, d] |= leads[through, d]
    return leads


@helper(allocates=True)
def _list_additions(program: Program, leads: Array, before: bool) -> Additions:
    """List the additions of a row after a matrix, or `before` a transposed one."""
    steps, symbols, states = list_moves(program).steps, len(program.labels), program.states
    off = np.zeros(symbols + 1, np.int64)
    room = len(steps.src) * states
    source, target = np.empty(room, np.int64), np.empty(room, np.int64)
    n = 0
    for y in range(symbols):
        begin, end = steps.off[y], steps.off[y + 1]
        for m in range(end - begin):
            k = end - 1 - m if before else begin + m
            s, d = (steps.dst[k], steps.src[k]) if before else (steps.src[k], steps.dst[k])
            for c in range(states):
                if leads[s, c] if before else leads[c, s]:
                    source[n], target[n] = s * states + c, d * states + c
                    n += 1
        off[y + 1] = n
    return Additions(off, source[:n].copy(), target[:n].copy())


@kernel
def run(program: Program, events: Events, lo: Array, hi: Array, out: Array) -> bool:
    """Write the counts of windows lo[k]:hi[k], neither end ever falling, by class; return False where rows tie.

    So it does where a row's transitions have no order in which none leads to where a later one begins.
    """
    states = program.states
    for plain in list_moves(program).plain:
        if not plain:
            return False
    leads = _find_reached(program)
    after, before = _list_additions(program, leads, False), _list_additions(program, leads, True)
    reach_off, reach = np.zeros(len(program.out_state) + 1, np.int64), np.empty(leads.size, np.int64)
    n = 0
    for o in range(len(program.out_state)):
        for c in range(states):
            if leads[0, c] and leads[c, program.out_state[o]]:
                reach[n] = c
                n += 1
        reach_off[o + 1] = n
    since, later = np.zeros(states * states), np.zeros(states * states)
    front = np.zeros((16, states))
    base = border = top = np.int64(-1)
    for k in range(lo.size):
        if events.stop[0]:
            return True
        if lo[k] >= border:
            base, border, top = lo[k], hi[k], hi[k]
            if len(front) < border - base:
                front = np.zeros((2 * (border - base), states))
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
