"""Bursts: rows of one type, one after the other, done in one step for each state (the graphlets of HAMLET).

Where an event of a label only adds to states whose other sources the burst does not change, k of them take a state
x with sources p to 2^k x + (2^k - 1) p if it repeats itself, and to x + k p if not.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from sparkleene.kernels.numbers import add, mul
from sparkleene.kernels.program import Array, Events, Field, Program

jit = nb.njit(nogil=True, cache=True, error_model="numpy")

SHORTEST = 3
"""Rows from which on a burst is worth it."""


@jit
def simple(program: Program) -> Array:
    """Tell of each symbol by which of its labels bursts are done in one step, -1 if they are not."""
    count = program.off.size - 1
    fits = np.ones(count, np.bool_)
    for label in range(count):
        target = np.zeros(program.states, np.bool_)
        for t in range(program.off[label], program.off[label + 1]):
            target[program.dst[t]] = True
        for t in range(program.off[label], program.off[label + 1]):
            if target[program.src[t]] and program.src[t] != program.dst[t]:
                fits[label] = False
    out = np.full(program.labels.size, -1, np.int64)
    for y in range(program.labels.size):
        found = 0
        for label in range(count):
            if (program.labels[y] >> np.uint64(label)) & np.uint64(1):
                found += 1
                if fits[label]:
                    out[y] = label
        if found != 1:
            out[y] = -1
    return out


@jit
def length(events: Events, begin: int, end: int) -> int:
    """Return how many rows from `begin` on have the same symbol, each at a tick of its own."""
    j = begin
    while (
        j < end
        and events.symbol[j] == events.symbol[begin]
        and (j + 1 >= end or events.tick[j + 1] != events.tick[j])
    ):
        j += 1
    return j - begin


@jit
def apply(program: Program, field: Field, label: int, k: int, state: Array, acc: Array) -> None:
    """Run k rows of a label over the counts in `state`; `acc` is scratch, left clear."""
    first, last = program.off[label], program.off[label + 1]
    loops = np.zeros(last - first, np.bool_)
    for t in range(first, last):
        s, d = program.src[t], program.dst[t]
        if s == d:
            loops[t - first] = True
        else:
            for w in range(state.shape[1]):
                acc[d, w] = add(acc[d, w], state[s, w], field.mod[w])
    for w in range(state.shape[1]):
        mod = field.mod[w]
        one = field.one[w]
        zero = acc[0, w]  # no label leads to the start
        # 2^k, 2^k - 1 and k, by doubling: as sums and products alone they lose nothing
        power, less, many = one, zero, zero
        base, base_less, base_many = add(one, one, mod), one, one
        bits = k
        while bits:
            if bits & 1:
                less = add(mul(base, less, mod), base_less, mod)
                power = mul(base, power, mod)
                many = add(many, base_many, mod)
            base_less = add(mul(base, base_less, mod), base_less, mod)
            base = mul(base, base, mod)
            base_many = add(base_many, base_many, mod)
            bits >>= 1
        for t in range(first, last):
            if loops[t - first]:
                d = program.dst[t]
                state[d, w] = add(mul(power, state[d, w], mod), mul(less, acc[d, w], mod), mod)
                acc[d, w] = zero
        for t in range(first, last):
            d = program.dst[t]
            state[d, w] = add(state[d, w], mul(many, acc[d, w], mod), mod)
            acc[d, w] = zero
