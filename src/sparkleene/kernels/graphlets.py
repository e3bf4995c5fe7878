"""Bursts: rows of one set of labels, one after the other, done once for all copies of a part of the machine.

Which parts are copies of each other is found beforehand (plan/kin.py). A burst either runs row by row over every
state, or its effect on a template is worked out as a matrix and multiplied with each copy's states and inputs, the
snapshots. The choice is made for each burst, and in it for each class of copies that see the same rows: where
conditions on a repeated type differ among queries, those that differ on a row of the burst are in other classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import jit
from sparkleene.kernels.linear import advance, collect
from sparkleene.kernels.numbers import add, mul, null, times
from sparkleene.kernels.program import Array, Events, Field, Program

BURSTS, SHARED, ROWS, SHARED_ROWS, DECISIONS, MATRICES, COLUMNS, SNAPSHOTS = range(8)
"""What is counted for each set of labels."""
COUNTERS = 8

STEP, PRODUCT, BURST, CLOSED = range(4)
"""Costs: of a step of a row in one column, of a product, of a shared burst, and of a matrix in closed form."""


class Graphlets(NamedTuple):
    """Sets of labels, for each the groups of copies that have the same template and labels."""

    set_of: Array  # int64[symbols]: the set of a symbol's labels, -1 if it has none
    symbol_off: Array  # int64[sets + 1]
    symbol: Array  # int64[...]: the symbols of each set
    group_off: Array  # int64[sets + 1]; groups of one template follow each other
    template: Array  # int64[groups]
    inner: Array  # int64[templates]: states of a copy
    outer: Array  # int64[templates]: inputs of a copy
    closed: Array  # bool[templates]: one state by one label, so that matrices of counts need no rows
    step_off: Array  # int64[templates + 1]
    step: Array  # int64[steps, 3]: slot, from (states, then inputs), to
    label: Array  # int64[groups, slots]
    pattern: Array  # int64[groups, symbols]: the slots that a row of the symbol fills, as bits
    weight: Array  # int64[groups, symbols]: the steps that a row of the symbol takes
    copy_off: Array  # int64[groups + 1]
    state: Array  # int64[copies, states]
    input_off: Array  # int64[copies, inputs + 1]
    input: Array  # int64[...]: states that make up an input
    direct: Array  # bool[symbols]: the states that a row of it leads to can be changed in the order of `act`
    act_off: Array  # int64[symbols + 1]
    act: Array  # int64[..., 3]: state, and where the states before it are in `source`
    source: Array  # int64[...]
    worth: Array  # int64[sets]: the fewest rows of a burst that sharing can pay for
    cost: Array  # float64[4]
    choice: Array  # uint8[...]: decisions to make one after the other; empty to decide by cost


@jit
def classes(g: Graphlets, kind: int, sum_labels: Array, seen: Array, leader: Array, steps: Array) -> None:
    """Find for each group of a set the first one with its template that sees and adds the same, and its steps."""
    first, last = g.symbol_off[kind], g.symbol_off[kind + 1]
    for h in range(g.group_off[kind], g.group_off[kind + 1]):
        steps[h] = 0
        for k in range(first, last):
            steps[h] += seen[g.symbol[k]] * g.weight[h, g.symbol[k]]
        leader[h] = h
        for other in range(g.group_off[kind], h):
            if g.template[other] != g.template[h] or leader[other] != other:
                continue
            same = True
            for k in range(first, last):
                y = g.symbol[k]
                if seen[y] and g.pattern[other, y] != g.pattern[h, y]:
                    same = False
                    break
            for a in range(sum_labels.size):
                for slot in range(g.label.shape[1]):
                    one, two = np.uint64(g.label[h, slot]), np.uint64(g.label[other, slot])
                    if ((sum_labels[a] >> one) ^ (sum_labels[a] >> two)) & np.uint64(1):
                        same = False
            if same:
                leader[h] = other
                break


@jit
def pays(g: Graphlets, t: int, rows: int, steps: int, copies: int, counts: bool) -> bool:
    """Tell whether a matrix for all copies costs less than the rows of each."""
    inner, width = g.inner[t], g.inner[t] + g.outer[t]
    matrix = g.cost[CLOSED] if counts and g.closed[t] else rows + steps * width * g.cost[STEP]
    together = g.cost[BURST] + matrix + copies * inner * width * g.cost[PRODUCT]
    return copies * steps * g.cost[STEP] > together


@jit
def play(
    program: Program,
    g: Graphlets,
    events: Events,
    h: int,
    begin: int,
    end: int,
    mod: Array,
    columns: int,
    value: Array,
    acc: Array,
) -> None:
    """Run rows over the states and inputs in `value`, of one copy or of a matrix; `acc` is scratch, left clear."""
    t = g.template[h]
    inner, sums = g.inner[t], program.sum_labels.size
    width = columns * (1 + sums)
    i = begin
    while i < end:
        tick, touched = events.tick[i], False
        while i < end and events.tick[i] == tick:
            pattern = g.pattern[h, events.symbol[i]]
            if pattern:
                touched = True
                for k in range(g.step_off[t], g.step_off[t + 1]):
                    if not (pattern >> g.step[k, 0]) & 1:
                        continue
                    s, d = g.step[k, 1], g.step[k, 2]
                    for w in range(width):
                        acc[d, w] = add(acc[d, w], value[s, w], mod[w % columns])
                    for a in range(sums):
                        label = np.uint64(g.label[h, g.step[k, 0]])
                        if (program.sum_labels[a] >> label) & np.uint64(1):
                            x = events.sums[a, i]
                            if not null(x):
                                for c in range(columns):
                                    w = (1 + a) * columns + c
                                    acc[d, w] = add(acc[d, w], times(value[s, c], x, mod[c]), mod[c])
            i += 1
        if touched:
            for d in range(inner):
                for w in range(width):
                    value[d, w] = add(value[d, w], acc[d, w], mod[w % columns])
                    acc[d, w] = 0


@jit
def leap(
    begin: int,
    end: int,
    rows: int,
    loop: bool,
    states: Array,
    input_off: Array,
    inputs: Array,
    one_of: Array,
    mod: Array,
    state: Array,
    zeros: Array,
) -> None:
    """Take copies begin:end with one state x and one label over so many rows of it, with p before them.

    That is 2^k x + (2^k - 1) p if the label is repeated, and x + k p if not.
    """
    for w in range(mod.size):
        p, one, zero = mod[w], one_of[w], zeros[w]
        # By doubling: as sums and products alone the numbers lose nothing.
        whole, less, many = one, zero, zero
        base, base_less, base_many = add(one, one, p), one, one
        k = rows
        while k:
            if k & 1:
                less = add(mul(base, less, p), base_less, p)
                whole = mul(base, whole, p)
                many = add(many, base_many, p)
            base_less = add(mul(base, base_less, p), base_less, p)
            base = mul(base, base, p)
            base_many = add(base_many, base_many, p)
            k >>= 1
        if not loop:
            whole, less = one, many
        for c in range(begin, end):
            before = zero
            for k in range(input_off[c, 0], input_off[c, input_off.shape[1] - 1]):
                before = add(before, state[inputs[k], w], p)
            to = states[c, 0]
            before = mul(less, before, p)
            state[to, w] = add(mul(whole, state[to, w], p) if loop else state[to, w], before, p)


@jit
def matrix(
    program: Program,
    g: Graphlets,
    events: Events,
    field: Field,
    h: int,
    begin: int,
    end: int,
    lanes: int,
    mods: Array,
    value: Array,
    acc: Array,
) -> None:
    """Write to `value` the matrix of a burst: in column s * lanes + lane what becomes of one trend in s."""
    t = g.template[h]
    size = g.inner[t] + g.outer[t]
    columns = size * lanes
    for s in range(size):
        for w in range(columns * (1 + program.sum_labels.size)):
            value[s, w] = 0
        for lane in range(lanes):
            value[s, s * lanes + lane] = field.one[lane]
    play(program, g, events, h, begin, end, mods, columns, value, acc)


@jit
def plug(
    g: Graphlets, h: int, state: Array, mod: Array, lanes: int, sums: int, value: Array, old: Array
) -> None:
    """Multiply a matrix with the states and inputs of all copies of a group: counts, sums by Leibniz's rule.

    Where sums can be infinite numbers are wide, and nothing times infinity is nothing.
    """
    t, columns = g.template[h], mod.size
    inner, outer = g.inner[t], g.outer[t]
    size = inner + outer
    across = size * lanes
    states, input_off, inputs = g.state, g.input_off, g.input
    for c in range(g.copy_off[h], g.copy_off[h + 1]):
        for s in range(inner):
            for w in range(old.shape[1]):
                old[s, w] = state[states[c, s], w]
        for x in range(outer):
            first = input_off[c, x]
            for w in range(old.shape[1]):
                total = state[inputs[first], w]
                for k in range(first + 1, input_off[c, x + 1]):
                    total = add(total, state[inputs[k], w], mod[w % columns])
                old[inner + x, w] = total
        for d in range(inner):
            to = states[c, d]
            for column in range(columns):
                p = mod[column]
                lane = column if lanes > 1 else 0
                total = mul(value[d, lane], old[0, column], p)
                for s in range(1, size):
                    total = add(total, mul(value[d, s * lanes + lane], old[s, column], p), p)
                state[to, column] = total
                for a in range(1, 1 + sums):
                    w = a * columns + column
                    total = mul(value[d, a * across + lane], old[0, column], p)
                    total = add(total, mul(value[d, lane], old[0, w], p), p)
                    for s in range(1, size):
                        at = s * lanes + lane
                        total = add(total, mul(value[d, a * across + at], old[s, column], p), p)
                        total = add(total, mul(value[d, at], old[s, w], p), p)
                    state[to, w] = total


@jit
def replay(
    program: Program, g: Graphlets, events: Events, h: int, begin: int, end: int, mod: Array, state: Array,
    old: Array, acc: Array,
) -> None:  # fmt: skip
    """Run the rows of a burst over each copy of a group by itself."""
    t, columns = g.template[h], mod.size
    inner = g.inner[t]
    for c in range(g.copy_off[h], g.copy_off[h + 1]):
        for s in range(inner):
            for w in range(old.shape[1]):
                old[s, w] = state[g.state[c, s], w]
        for x in range(g.outer[t]):
            for w in range(old.shape[1]):
                old[inner + x, w] = 0
                for k in range(g.input_off[c, x], g.input_off[c, x + 1]):
                    old[inner + x, w] = add(old[inner + x, w], state[g.input[k], w], mod[w % columns])
        play(program, g, events, h, begin, end, mod, columns, old, acc)
        for s in range(inner):
            for w in range(old.shape[1]):
                state[g.state[c, s], w] = old[s, w]


@jit
def share(
    program: Program,
    g: Graphlets,
    events: Events,
    field: Field,
    kind: int,
    begin: int,
    end: int,
    tied: bool,
    seen: Array,
    mods: Array,
    lanes: int,
    state: Array,
    value: Array,
    acc: Array,
    old: Array,
    leader: Array,
    steps: Array,
    shared: Array,
    counter: Array,
) -> bool:
    """Do a burst if it pays to share it among the copies of some class; tell whether it was done."""
    rows = end - begin
    classes(g, kind, program.sum_labels, seen, leader, steps)
    counts = state.shape[1] == field.mod.size and not tied
    some = False
    for h in range(g.group_off[kind], g.group_off[kind + 1]):
        shared[h] = False
        if leader[h] != h or not steps[h]:
            continue
        copies = 0
        for other in range(h, g.group_off[kind + 1]):
            if leader[other] == h:
                copies += g.copy_off[other + 1] - g.copy_off[other]
        if g.choice.size:
            shared[h] = g.choice[counter[DECISIONS] % g.choice.size] != 0
        else:
            shared[h] = pays(g, g.template[h], rows, steps[h], copies, counts)
        counter[DECISIONS] += 1
        some |= shared[h]
    if not some:
        return False
    counter[SHARED] += 1
    counter[SHARED_ROWS] += rows
    for h in range(g.group_off[kind], g.group_off[kind + 1]):
        if leader[h] != h or not steps[h]:
            continue
        t = g.template[h]
        at_once = counts and g.closed[t]
        if shared[h] and not at_once:
            matrix(program, g, events, field, h, begin, end, lanes, mods, value, acc)
            counter[MATRICES] += 1
            counter[COLUMNS] += g.inner[t] + g.outer[t]
        for other in range(h, g.group_off[kind + 1]):
            if leader[other] != h:
                continue
            if shared[h] and at_once:
                number = g.step_off[t + 1] - g.step_off[t]  # of steps that a row takes
                leap(g.copy_off[other], g.copy_off[other + 1], steps[h] // number,
                     g.step[g.step_off[t], 1] == 0, g.state, g.input_off, g.input, field.one, field.mod, state,
                     acc[0])  # fmt: skip
                counter[SNAPSHOTS] += g.copy_off[other + 1] - g.copy_off[other]
            elif shared[h]:
                plug(g, other, state, field.mod, lanes, program.sum_labels.size, value, old)
                counter[SNAPSHOTS] += g.copy_off[other + 1] - g.copy_off[other]
            else:
                replay(program, g, events, other, begin, end, field.mod, state, old, acc)
    return True


@jit
def vectors(
    program: Program,
    g: Graphlets,
    events: Events,
    field: Field,
    lo: Array,
    hi: Array,
    out: Array,
    counter: Array,
) -> None:
    """Run every stretch lo[k]:hi[k] from the start and write its results to out[k, class]."""
    columns, kinds = field.one.size, 1 + program.sum_labels.size
    lanes = 1
    for c in range(columns):
        if field.mod[c] != field.mod[0]:
            lanes = columns
    size, wide = 1, columns
    for t in range(g.inner.size):
        size = max(size, g.inner[t] + g.outer[t])
    wide = max(wide, size * lanes)
    state = np.zeros((program.states, columns * kinds), field.one.dtype)
    every = np.zeros((program.states, columns * kinds), field.one.dtype)
    value = np.zeros((size, wide * kinds), field.one.dtype)
    acc = np.zeros((size, wide * kinds), field.one.dtype)
    old = np.zeros((size, columns * kinds), field.one.dtype)
    low, out_low = np.zeros((program.states, 0)), np.zeros((program.classes, 0))
    seen = np.zeros(program.labels.size, np.int64)
    groups = g.template.size
    leader, steps, shared = np.zeros(groups, np.int64), np.zeros(groups, np.int64), np.zeros(groups, np.bool_)
    mods = np.zeros(size * lanes, np.uint64)
    for w in range(mods.size):
        mods[w] = field.mod[w % lanes]
    # What is used for every row, out of the tuples: to hand these on costs more than a row.
    tick, symbol, mod, set_of, worth = events.tick, events.symbol, field.mod, g.set_of, g.worth
    direct, act_off, act, source = g.direct, g.act_off, g.act, g.source
    symbol_off, symbols, forced = g.symbol_off, g.symbol, g.choice.size > 0
    for k in range(lo.size):
        state[:] = 0
        for c in range(columns):
            state[0, c] = field.one[c]
        i = lo[k]
        while i < hi[k]:
            # A burst: rows from i to j, whole ticks, with labels of one set only.
            kind, j, tied = -1, i, False
            while j < hi[k]:
                b, of = j, kind
                while b < hi[k] and tick[b] == tick[j]:
                    s = set_of[symbol[b]]
                    if s >= 0 and of != s:
                        if of >= 0:
                            break
                        of = s
                    b += 1
                if b < hi[k] and tick[b] == tick[j]:  # labels of two sets at one time
                    break
                kind = of
                for e in range(j, b):
                    seen[symbol[e]] += 1
                tied |= b > j + 1
                j = b
            done = False
            if j == i:
                while j < hi[k] and tick[j] == tick[i]:
                    j += 1
            elif kind >= 0:
                counter[kind, BURSTS] += 1
                counter[kind, ROWS] += j - i
                if forced or j - i >= worth[kind]:
                    done = share(program, g, events, field, kind, i, j, tied, seen, mods, lanes, state, value, acc,
                                 old, leader, steps, shared, counter[kind])  # fmt: skip
                for y in range(symbol_off[kind], symbol_off[kind + 1]):
                    seen[symbols[y]] = 0
            while i < j and not done:
                y = symbol[i]
                if kinds > 1 or not direct[y] or (i + 1 < j and tick[i + 1] == tick[i]):
                    b = i + 1
                    while b < j and (kinds > 1 or tick[b] == tick[i]):
                        b += 1
                    advance(program, events, field, i, b, state, low, every, low, False)
                    i = b
                    continue
                for x in range(act_off[y], act_off[y + 1]):
                    d = act[x, 0]
                    for w in range(columns):
                        total = state[d, w]
                        for z in range(act[x, 1], act[x, 2]):
                            total = add(total, state[source[z], w], mod[w])
                        state[d, w] = total
                i += 1
            i = j
        collect(program, field, state, low, out[k], out_low)
