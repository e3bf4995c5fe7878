"""Matrices of stretches compose: vectors go through them, and sliding windows are products of them.

A matrix is laid out as linear.py writes it: `value[s, a*states + k]` is aggregate a of the trends that lead from
state k to state s.
"""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add, mul, nonzero
from sparkleene.kernels.program import Array, NumberSystem, Program
from sparkleene.kernels.vectors import Table, clear_row, collect, copy_row


@helper
def multiply(later: Table, earlier: Table, mod: Array, columns: int, out: Table) -> None:
    """Compose two stretches; `earlier` has `columns` columns (the states for a matrix, or moduli of a vector).

    The product of aggregates is that of dual numbers: counts multiply, sums follow Leibniz's rule, minima
    take the smaller wherever both stretches have a trend.
    """
    (after, after_low), (before, before_low), (to, to_low) = later, earlier, out
    states = after.shape[0]
    aggregates = before.shape[1] // columns
    lows = before_low.shape[1] // columns
    to[:] = 0
    to_low[:] = np.inf
    for s in range(states):
        for k in range(states):
            path = after[s, k]
            for a in range(aggregates):
                sum_path = after[s, a * states + k]
                for c in range(columns):
                    w = a * columns + c
                    value = mul(path, before[k, w], mod[c])
                    if a > 0:
                        value = add(value, mul(sum_path, before[k, c], mod[c]), mod[c])
                    to[s, w] = add(to[s, w], value, mod[c])
            if lows and nonzero(path):
                for c in range(columns):
                    if nonzero(before[k, c]):
                        for m in range(lows):
                            w = m * columns + c
                            both = min(after_low[s, m * states + k], before_low[k, w])
                            to_low[s, w] = min(to_low[s, w], both)


@kernel
def transform(field: NumberSystem, units: Table, first: Array, last: Array, state: Table) -> None:
    """Bring the vectors state.value[k], state.low[k] through the matrices first[k]:last[k] in place."""
    next = Table(np.zeros(state.value.shape[1:], state.value.dtype), np.full(state.low.shape[1:], np.inf))
    for k in range(first.size):
        one = Table(state.value[k], state.low[k])
        for u in range(first[k], last[k]):
            multiply(Table(units.value[u], units.low[u]), one, field.mod, 1, next)
            for s in range(len(next.value)):
                copy_row(one, s, next, s)


@kernel
def collect_all(program: Program, field: NumberSystem, state: Table, out: Table) -> None:
    """Write the results of windows whose vectors are state.value[k], state.low[k]."""
    for k in range(len(state.value)):
        collect(program, Table(state.value[k], state.low[k]), field.mod, out, k)


def chain(program: Program, field: NumberSystem, units: Table, first: Array, last: Array, out: Table) -> None:
    """Write the results of windows over the matrices first[k]:last[k], each by itself; none is empty."""
    image = np.s_[first, :, :: program.states]  # of the empty trend by the first matrix
    state = Table(np.ascontiguousarray(units.value[image]), np.ascontiguousarray(units.low[image]))
    transform(field, units, first + 1, last, state)
    collect_all(program, field, state, out)


@helper
def _set_identity(matrix: Table, one: Array) -> None:
    """Write the matrix of nothing."""
    for s in range(len(matrix.value)):
        clear_row(matrix, s)
        matrix.value[s, s] = one[s]


@kernel
def slide(program: Program, field: NumberSystem, units: Table, lo: Array, hi: Array, out: Table) -> None:
    """Write the results of windows lo[k]:hi[k] over the units' matrices, both ends never falling.

    Two stacks: units that are there to leave are kept as vectors of what follows from them up to the border,
    units beyond the border as one matrix. Every unit is multiplied twice, however many windows hold it.
    """
    states, mod, dtype = program.states, field.mod, units.value.dtype
    width, width_low = units.value.shape[2], units.low.shape[2]
    aggregates, lows = width // states, width_low // states
    back = Table(np.zeros((states, width), dtype), np.full((states, width_low), np.inf))
    swap = Table(np.zeros((states, width), dtype), np.full((states, width_low), np.inf))
    result = Table(np.zeros((states, aggregates), dtype), np.full((states, lows), np.inf))
    front = Table(np.zeros((0, states, aggregates), dtype), np.full((0, states, lows), np.inf))
    base = border = top = lo[0] if lo.size else 0
    _set_identity(back, field.one)
    for k in range(lo.size):
        if lo[k] >= top:  # nothing of the former window is left
            border = top = lo[k]
            _set_identity(back, field.one)
        while top < hi[k]:
            multiply(Table(units.value[top], units.low[top]), back, mod, states, swap)
            back, swap = swap, back
            top += 1
        if lo[k] >= border and lo[k] < top:
            # Turn the matrix of the back into vectors, from the newest unit to the oldest that is still needed.
            base = lo[k]
            if front.value.shape[0] < top - base:
                value = np.zeros((top - base, states, aggregates), dtype)
                front = Table(value, np.full((top - base, states, lows), np.inf))
            _set_identity(back, field.one)
            for u in range(top - 1, base - 1, -1):
                multiply(back, Table(units.value[u], units.low[u]), mod, states, swap)
                back, swap = swap, back
                for s in range(states):
                    for a in range(aggregates):
                        front.value[u - base, s, a] = back.value[s, a * states]
                    for m in range(lows):
                        front.low[u - base, s, m] = back.low[s, m * states]
            border = top
            _set_identity(back, field.one)
        if lo[k] < border:
            at = lo[k] - base
            multiply(back, Table(front.value[at], front.low[at]), mod, 1, result)
            collect(program, result, mod, out, k)
