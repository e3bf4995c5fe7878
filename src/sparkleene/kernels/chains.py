"""Windows that hardly overlap, over the matrices of their stretches: a vector goes through them."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import jit
from sparkleene.kernels.linear import collect, multiply
from sparkleene.kernels.program import Array, Field, Program


@jit
def chains(
    program: Program,
    field: Field,
    units: Array,
    units_low: Array,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
) -> None:
    """Write the results of the windows lo[k]:hi[k] over the units' matrices, each by itself; none is empty."""
    states = program.states
    aggregates = units.shape[2] // states
    lows = units_low.shape[2] // states
    state = np.zeros((states, aggregates), units.dtype)
    swap = np.zeros((states, aggregates), units.dtype)
    low = np.full((states, lows), np.inf)
    swap_low = np.full((states, lows), np.inf)
    for k in range(lo.size):
        for s in range(states):  # the first matrix's image of the empty trend
            for a in range(aggregates):
                state[s, a] = units[lo[k], s, a * states]
            for m in range(lows):
                low[s, m] = units_low[lo[k], s, m * states]
        for u in range(lo[k] + 1, hi[k]):
            multiply(units[u], units_low[u], state, low, field.mod, 1, swap, swap_low)
            state, swap = swap, state
            low, swap_low = swap_low, low
        collect(program, field, state, low, out[k], out_low[k])
