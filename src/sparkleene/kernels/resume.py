"""Windows that go on from where they were: vectors of partial trends, kept from one table to the next."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import jit
from sparkleene.kernels.linear import advance, collect, copy, moves, multiply
from sparkleene.kernels.program import Array, Events, Field, Program


@jit
def by_rows(
    program: Program, events: Events, field: Field, lo: Array, hi: Array, state: Array, low: Array
) -> None:
    """Run the rows lo[k]:hi[k] over state[k] and low[k] in place."""
    acc = np.zeros(state.shape[1:], state.dtype)
    acc_low = np.full(low.shape[1:], np.inf)
    moving = moves(program)
    for k in range(lo.size):
        advance(program, events, field, lo[k], hi[k], state[k], low[k], acc, acc_low, moving)


@jit
def by_units(
    field: Field, units: Array, units_low: Array, first: Array, last: Array, state: Array, low: Array
) -> None:
    """Bring state[k] and low[k] through the matrices first[k]:last[k] in place."""
    swap = np.zeros(state.shape[1:], state.dtype)
    swap_low = np.full(low.shape[1:], np.inf)
    for k in range(first.size):
        for u in range(first[k], last[k]):
            multiply(units[u], units_low[u], state[k], low[k], field.mod, 1, swap, swap_low)
            copy(swap, state[k])
            copy(swap_low, low[k])


@jit
def collected(program: Program, field: Field, state: Array, low: Array, out: Array, out_low: Array) -> None:
    """Write the results of windows that have ended to out[k, class], out_low[k, class]."""
    for k in range(state.shape[0]):
        collect(program, field, state[k], low[k], out[k], out_low[k])
