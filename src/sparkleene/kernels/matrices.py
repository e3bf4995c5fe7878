"""Matrices of stretches compose: vectors go through them, and sliding windows are products of them.

A matrix is laid out as linear.py writes it: `value[s, a*states + k]` is aggregate a of the trends that lead from
state k to state s.
"""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add, mul, nonzero
from sparkleene.kernels.program import Array, NumberSystem, Program
from sparkleene.kernels.vectors import Table, clear_row, collect, copy_row, make_rows, make_vectors, set_identity


@helper
def multiply(program: Program, later: Table, earlier: Table, mod: Array, columns: int, out: Table) -> None:
    """Compose two stretches; `earlier` has `columns` columns (the states for a matrix, or moduli of a vector).

    The product of aggregates is that of dual numbers: counts multiply, sums follow Leibniz's rule. Minima take the
    smaller wherever both stretches have a trend, or add up if they are minima of sums.
    """
    (after, after_low), (before, before_low), (to, to_low) = later, earlier, out
    states = after.shape[0]
    aggregates = before.shape[1] // columns
    lows = before_low.shape[1] // columns
    for s in range(states):
        clear_row(out, s)
        for k in range(states):
            path = after[s, k]
            for a in range(aggregates):
                sum_path = after[s, a * states + k]
                for c in range(columns):
                    w = a * columns + c
                    value = mul(path, before[k, w], mod[c])
                    if a > 0:
                        value = add(value, mul(sum_path, before[k, c], mod[c]), mod[c])
                        of = program.sum_of[a - 1]
                        if of > 0:
                            both = mul(after[s, of * states + k], before[k, of * columns + c], mod[c])
                            value = add(value, both, mod[c])
                    to[s, w] = add(to[s, w], value, mod[c])
            if lows and nonzero(path):
                for c in range(columns):
                    if nonzero(before[k, c]):
                        for m in range(lows):
                            w = m * columns + c
                            one, two = after_low[s, m * states + k], before_low[k, w]
                            to_low[s, w] = min(to_low[s, w], one + two if program.low_adds[m] else min(one, two))


@kernel
def transform(
    program: Program, field: NumberSystem, units: Table, first: Array, last: Array, state: Table, stop: Array
) -> None:
    """Bring the vectors state.value[k], state.low[k] through the matrices first[k]:last[k] in place."""
    next = make_rows(program.states, state.value.shape[2], state.low.shape[2], field.one)
    for k in range(first.size):
        one = Table(state.value[k], state.low[k])
        for u in range(first[k], last[k]):
            if stop[0]:
                return
            multiply(program, Table(units.value[u], units.low[u]), one, field.mod, 1, next)
            for s in range(len(next.value)):
                copy_row(one, s, next, s)


@kernel
def collect_all(program: Program, field: NumberSystem, state: Table, out: Table) -> None:
    """Write the results of windows whose vectors are state.value[k], state.low[k]."""
    for k in range(len(state.value)):
        collect(program, Table(state.value[k], state.low[k]), field.mod, out, k)


def chain(
    program: Program, field: NumberSystem, units: Table, first: Array, last: Array, out: Table, stop: Array
) -> None:
    """Write the results of windows over the matrices first[k]:last[k], each by itself; none is empty."""
    image = np.s_[first, :, :: program.states]  # of the empty trend by the first matrix
    state = Table(np.ascontiguousarray(units.value[image]), np.ascontiguousarray(units.low[image]))
    transform(program, field, units, first + 1, last, state, stop)
    collect_all(program, field, state, out)


@kernel
def slide(
    program: Program, field: NumberSystem, units: Table, lo: Array, hi: Array, out: Table, stop: Array
) -> None:
    """Write the results of windows lo[k]:hi[k] over the units' matrices, both ends never falling.

    Two stacks: units that are there to leave are kept as vectors of what follows from them up to the border,
    units beyond the border as one matrix. Every unit is multiplied twice, however many windows hold it.
    """
    states, mod, one = program.states, field.mod, field.one
    width, width_low = units.value.shape[2], units.low.shape[2]
    aggregates, lows = width // states, width_low // states
    back, swap = make_rows(states, width, width_low, one), make_rows(states, width, width_low, one)
    result, front = make_rows(states, aggregates, lows, one), make_vectors(0, states, aggregates, lows, one)
    base = border = top = lo[0] if lo.size else 0
    set_identity(back, field.one, program.low_adds)
    for k in range(lo.size):
        if stop[0]:
            return
        if lo[k] >= top:  # nothing of the former window is left
            border = top = lo[k]
            set_identity(back, field.one, program.low_adds)
        while top < hi[k] and not stop[0]:
            multiply(program, Table(units.value[top], units.low[top]), back, mod, states, swap)
            back, swap = swap, back
            top += 1
        if lo[k] >= border and lo[k] < top:
            # Turn the matrix of the back into vectors, from the newest unit to the oldest that is still needed.
            base = lo[k]
            if front.value.shape[0] < top - base:
                front = make_vectors(top - base, states, aggregates, lows, one)
            set_identity(back, field.one, program.low_adds)
            for u in range(top - 1, base - 1, -1):
                if stop[0]:
                    return
                multiply(program, back, Table(units.value[u], units.low[u]), mod, states, swap)
                back, swap = swap, back
                for s in range(states):
                    for a in range(aggregates):
                        front.value[u - base, s, a] = back.value[s, a * states]
                    for m in range(lows):
                        front.low[u - base, s, m] = back.low[s, m * states]
            border = top
            set_identity(back, field.one, program.low_adds)
        if lo[k] < border:
            at = lo[k] - base
            multiply(program, back, Table(front.value[at], front.low[at]), mod, 1, result)
            collect(program, result, mod, out, k)
