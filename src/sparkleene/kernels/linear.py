"""Machines without adjacent predicates: a tick is a linear map, whatever the semantics, negation or aggregates.

Values are laid out as `state[s, a*C + c]`: aggregate a (0 the count, then sums) of the partial trends in state s,
column c. Columns are independent runs side by side: moduli of exact arithmetic, or the basis vectors whose images
make up the matrix of a stretch. `low[s, m*C + c]` are minima.
"""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.common import symbol_of
from sparkleene.kernels.jit import jit
from sparkleene.kernels.numbers import add, mul, nonzero, null, times
from sparkleene.kernels.program import Array, Events, Field, Program


@jit
def copy(source: Array, target: Array) -> None:
    """Copy a matrix (numba's own assignment of slices costs seconds to compile)."""
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = source[i, j]


@jit
def moves(program: Program) -> bool:
    """Tell whether some tick moves partial trends out of their state."""
    for y in range(program.keep.shape[0]):
        for s in range(program.states):
            if program.keep[y, s] != s:
                return True
    return False


@jit
def extend(
    program: Program,
    events: Events,
    field: Field,
    e: int,
    state: Array,
    low: Array,
    acc: Array,
    acc_low: Array,
) -> None:
    """Add to `acc` what event e makes of the partial trends in `state`."""
    columns = field.one.size
    sums = program.sum_labels.size
    mask = program.labels[events.symbol[e]]
    for label in range(program.off.size - 1):
        if not (mask >> np.uint64(label)) & np.uint64(1):
            continue
        for t in range(program.off[label], program.off[label + 1]):
            s, d = program.src[t], program.dst[t]
            for w in range(state.shape[1]):
                acc[d, w] = add(acc[d, w], state[s, w], field.mod[w % columns])
            for i in range(sums):
                if (program.sum_labels[i] >> np.uint64(label)) & np.uint64(1):
                    x = events.sums[i, e]
                    if not null(x):
                        for c in range(columns):
                            w = (1 + i) * columns + c
                            acc[d, w] = add(acc[d, w], times(state[s, c], x, field.mod[c]), field.mod[c])
            for m in range(program.low_labels.size):
                x = np.inf
                if (program.low_labels[m] >> np.uint64(label)) & np.uint64(1):
                    value = events.lows[m, e]
                    if not null(value):
                        x = value
                for c in range(columns):
                    if nonzero(state[s, c]):
                        w = m * columns + c
                        acc_low[d, w] = min(acc_low[d, w], min(x, low[s, w]))


@jit
def settle(
    program: Program, field: Field, mask: int, state: Array, low: Array, acc: Array, acc_low: Array
) -> None:
    """Add to the states what a tick has made, and clear it: only states that the tick's labels lead to."""
    columns = field.one.size
    for label in range(program.off.size - 1):
        if not (mask >> np.uint64(label)) & np.uint64(1):
            continue
        for t in range(program.off[label], program.off[label + 1]):
            d = program.dst[t]  # one that was there before has nothing left to add
            for w in range(state.shape[1]):
                state[d, w] = add(state[d, w], acc[d, w], field.mod[w % columns])
                acc[d, w] = 0
            for w in range(low.shape[1]):
                low[d, w] = min(low[d, w], acc_low[d, w])
                acc_low[d, w] = np.inf


@jit
def advance(
    program: Program,
    events: Events,
    field: Field,
    begin: int,
    end: int,
    state: Array,
    low: Array,
    acc: Array,
    acc_low: Array,
    moving: bool,
) -> None:
    """Run the rows begin:end over `state` and `low` in place; `acc` and `acc_low` are scratch, left clear."""
    states = program.states
    columns = field.one.size
    i = begin
    while i < end:
        j = i + 1
        tick = events.tick[i]
        symbol = np.int64(events.symbol[i])
        union = program.labels[symbol]
        extend(program, events, field, i, state, low, acc, acc_low)
        if j < end and events.tick[j] == tick:
            while j < end and events.tick[j] == tick:
                extend(program, events, field, j, state, low, acc, acc_low)
                union |= program.labels[events.symbol[j]]
                j += 1
            symbol = symbol_of(program.labels, union)
        if moving:
            # Additions into acc first, so that state can be cleared as it is read.
            for s in range(states):
                k = program.keep[symbol, s]
                if k >= 0:
                    for w in range(state.shape[1]):
                        acc[k, w] = add(acc[k, w], state[s, w], field.mod[w % columns])
                    for w in range(low.shape[1]):
                        acc_low[k, w] = min(acc_low[k, w], low[s, w])
            copy(acc, state)
            copy(acc_low, low)
            acc[:] = 0
            acc_low[:] = np.inf
        else:
            settle(program, field, union, state, low, acc, acc_low)
        i = j


@jit
def vectors(
    program: Program, events: Events, field: Field, lo: Array, hi: Array, out: Array, out_low: Array
) -> None:
    """Run every stretch lo[k]:hi[k] from the start and write its results to out[k, class], out_low[k, class]."""
    columns = field.one.size
    width = columns * (1 + program.sum_labels.size)
    lows = columns * program.low_labels.size
    state = np.zeros((program.states, width), field.one.dtype)
    acc = np.zeros((program.states, width), field.one.dtype)
    low = np.full((program.states, lows), np.inf)
    acc_low = np.full((program.states, lows), np.inf)
    moving = moves(program)
    for k in range(lo.size):
        state[:] = 0
        low[:] = np.inf
        for c in range(columns):
            state[0, c] = field.one[c]
        advance(program, events, field, lo[k], hi[k], state, low, acc, acc_low, moving)
        collect(program, field, state, low, out[k], out_low[k])


@jit
def collect(program: Program, field: Field, state: Array, low: Array, out: Array, out_low: Array) -> None:
    """Add up the states that hold results."""
    columns = state.shape[1] // (1 + program.sum_labels.size)
    for o in range(program.out_state.size):
        s, kind = program.out_state[o], program.out_class[o]
        for w in range(state.shape[1]):
            out[kind, w] = add(out[kind, w], state[s, w], field.mod[w % columns])
        for w in range(low.shape[1]):
            out_low[kind, w] = min(out_low[kind, w], low[s, w])


@jit
def matrices(
    program: Program, events: Events, field: Field, lo: Array, hi: Array, out: Array, out_low: Array
) -> None:
    """Write the matrix of every stretch lo[k]:hi[k]: column c is the image of one partial trend in state c."""
    columns = field.one.size  # = states
    acc = np.zeros(out.shape[1:], out.dtype)
    acc_low = np.full(out_low.shape[1:], np.inf)
    moving = moves(program)
    for k in range(lo.size):
        out[k] = 0
        out_low[k] = np.inf
        for c in range(columns):
            out[k, c, c] = field.one[c]
        advance(program, events, field, lo[k], hi[k], out[k], out_low[k], acc, acc_low, moving)


# ---- matrices of stretches compose


@jit
def multiply(
    later: Array,
    later_low: Array,
    earlier: Array,
    earlier_low: Array,
    mod: Array,
    columns: int,
    out: Array,
    out_low: Array,
) -> None:
    """Compose two stretches; `earlier` has `columns` columns (the states for a matrix, or moduli of a vector).

    The product of aggregates is that of dual numbers: counts multiply, sums follow Leibniz's rule, minima
    take the smaller wherever both stretches have a trend.
    """
    states = later.shape[0]
    aggregates = earlier.shape[1] // columns
    lows = earlier_low.shape[1] // columns
    out[:] = 0
    out_low[:] = np.inf
    for s in range(states):
        for k in range(states):
            path = later[s, k]
            for a in range(aggregates):
                sum_path = later[s, a * states + k]
                for c in range(columns):
                    w = a * columns + c
                    value = mul(path, earlier[k, w], mod[c])
                    if a > 0:
                        value = add(value, mul(sum_path, earlier[k, c], mod[c]), mod[c])
                    out[s, w] = add(out[s, w], value, mod[c])
            if lows and nonzero(path):
                for c in range(columns):
                    if nonzero(earlier[k, c]):
                        for m in range(lows):
                            w = m * columns + c
                            both = min(later_low[s, m * states + k], earlier_low[k, w])
                            out_low[s, w] = min(out_low[s, w], both)


@jit
def chain(program: Program, field: Field, matrices: Array, bounds: Array, out: Array) -> None:
    """Write the counts of windows that were cut into stretches: window k is matrices bounds[k]:bounds[k+1]."""
    states = program.states
    state = np.zeros((states, 1), matrices.dtype)
    swap = np.zeros((states, 1), matrices.dtype)
    none = np.full((states, 0), np.inf)
    for k in range(bounds.size - 1):
        state[:] = 0
        state[0, 0] = field.one[0]
        for m in range(bounds[k], bounds[k + 1]):
            multiply(matrices[m], none, state, none, field.mod, 1, swap, none)
            state, swap = swap, state
        collect(program, field, state, none, out[k], none)


@jit
def slide(
    program: Program,
    field: Field,
    units: Array,
    units_low: Array,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
) -> None:
    """Write the results of windows lo[k]:hi[k] over the units' matrices, both ends never falling.

    Two stacks: units that are there to leave are kept as vectors of what follows from them up to the border,
    units beyond the border as one matrix. Every unit is multiplied twice, however many windows hold it.
    """
    states = program.states
    width, width_low = units.shape[2], units_low.shape[2]
    aggregates = width // states
    lows = width_low // states
    mod = field.mod
    one = field.one[0]
    back = np.zeros((states, width), units.dtype)
    back_low = np.full((states, width_low), np.inf)
    swap = np.zeros((states, width), units.dtype)
    swap_low = np.full((states, width_low), np.inf)
    result = np.zeros((states, aggregates), units.dtype)
    result_low = np.full((states, lows), np.inf)
    front = np.zeros((0, states, aggregates), units.dtype)
    front_low = np.full((0, states, lows), np.inf)
    base = border = top = lo[0] if lo.size else 0
    for s in range(states):
        back[s, s] = one
    for k in range(lo.size):
        if lo[k] >= top:  # nothing of the former window is left
            border = top = lo[k]
            back[:] = 0
            back_low[:] = np.inf
            for s in range(states):
                back[s, s] = one
        while top < hi[k]:
            multiply(units[top], units_low[top], back, back_low, mod, states, swap, swap_low)
            back, swap = swap, back
            back_low, swap_low = swap_low, back_low
            top += 1
        if lo[k] >= border and lo[k] < top:
            # Turn the matrix of the back into vectors, from the newest unit to the oldest that is still needed.
            base = lo[k]
            if front.shape[0] < top - base:
                front = np.zeros((top - base, states, aggregates), units.dtype)
                front_low = np.full((top - base, states, lows), np.inf)
            back[:] = 0
            back_low[:] = np.inf
            for s in range(states):
                back[s, s] = one
            for u in range(top - 1, base - 1, -1):
                multiply(back, back_low, units[u], units_low[u], mod, states, swap, swap_low)
                back, swap = swap, back
                back_low, swap_low = swap_low, back_low
                for s in range(states):
                    for a in range(aggregates):
                        front[u - base, s, a] = back[s, a * states]
                    for m in range(lows):
                        front_low[u - base, s, m] = back_low[s, m * states]
            border = top
            back[:] = 0
            back_low[:] = np.inf
            for s in range(states):
                back[s, s] = one
        if lo[k] < border:
            at = lo[k] - base
            multiply(back, back_low, front[at], front_low[at], mod, 1, result, result_low)
            collect(program, field, result, result_low, out[k], out_low[k])
