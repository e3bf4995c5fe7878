"""Bursts: rows of one set of labels, one after the other, done once for all copies of a part of the machine.

Which parts are copies of each other is found beforehand (plan/copies.py). A burst either runs row by row over every
state, or its effect on a template is worked out as a matrix and multiplied with each copy's states and inputs, the
snapshots. The choice is made for each burst, and in it for each class of copies that see the same rows: where
conditions on a repeated type differ among queries, those that differ on a row of the burst are in other classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.burst_arrays import (
    BURST,
    BURSTS,
    CLOSED,
    COLUMNS,
    DECISIONS,
    MATRICES,
    PRODUCT,
    ROWS,
    SHARED,
    SHARED_ROWS,
    SNAPSHOTS,
    STEP,
    BurstArrays,
    Scratch,
)
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.linear import Steps, advance, list_steps
from sparkleene.kernels.numbers import add, mul, nonzero, null, times
from sparkleene.kernels.program import ZERO, Array, Events, NumberSystem, Program
from sparkleene.kernels.vectors import (
    Table,
    add_row,
    blank_rows,
    clear_row,
    collect,
    copy_row,
    low_of,
    start,
    summand,
)


@helper
def find_classes(
    g: BurstArrays, kind: int, sum_row: Array, low_row: Array, seen: Array, leader: Array, steps: Array
) -> None:
    """Find for each group of a set the first with its template that sees and takes in the same, and its steps."""
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
            for slot in range(g.label.shape[1]):
                one, two = g.label[h, slot], g.label[other, slot]
                for a in range(sum_row.shape[0]):
                    same &= sum_row[a, one] == sum_row[a, two]
                for m in range(low_row.shape[0]):
                    same &= low_row[m, one] == low_row[m, two]
            if same:
                leader[h] = other
                break


@helper
def pays(g: BurstArrays, h: int, rows: int, steps: int, copies: int, counts: bool) -> bool:
    """Tell whether a matrix for all copies of group h's class costs less than the rows of each."""
    t, cost = g.template[h], g.cost[h]
    inner, width = g.inner[t], g.inner[t] + g.outer[t]
    matrix = cost[CLOSED] if counts and g.closed[t] else rows + steps * width * cost[STEP]
    together = cost[BURST] + matrix + copies * inner * width * cost[PRODUCT]
    return copies * steps * cost[STEP] > together  # type: ignore[no-any-return]


@helper
def run_rows(
    program: Program,
    g: BurstArrays,
    events: Events,
    h: int,
    begin: int,
    end: int,
    mod: Array,
    rows: Table,
    fresh: Table,
) -> None:
    """Run events over states and inputs, of one copy or of a matrix; `fresh` is scratch, left clear."""
    t, columns = g.template[h], mod.size
    value, low, acc, least = rows.value, rows.low, fresh.value, fresh.low
    inner, sums, lows = g.inner[t], program.sum_of.size, program.low_adds.size
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
                    s, d, label = g.step[k, 1], g.step[k, 2], g.label[h, g.step[k, 0]]
                    for w in range(width):
                        acc[d, w] = add(acc[d, w], value[s, w], mod[w % columns])
                    for a in range(sums):
                        r = program.sum_row[a, label]
                        if r != -1:
                            x = summand(events.sums, r, i)
                            if not null(x):
                                for c in range(columns):
                                    w = (1 + a) * columns + c
                                    acc[d, w] = add(acc[d, w], times(value[s, c], x, mod[c]), mod[c])
                    for m in range(lows):
                        x = low_of(program, events, m, label, i)
                        for c in range(columns):
                            if nonzero(value[s, c]):
                                w = m * columns + c
                                before = low[s, w] + x if program.low_adds[m] else min(low[s, w], x)
                                least[d, w] = min(least[d, w], before)
            i += 1
        if touched:
            for d in range(inner):
                for w in range(width):
                    value[d, w] = add(value[d, w], acc[d, w], mod[w % columns])
                    acc[d, w] = 0
                for w in range(columns * lows):
                    low[d, w] = min(low[d, w], least[d, w])
                    least[d, w] = np.inf


@helper
def _run_closed(g: BurstArrays, h: int, rows: int, field: NumberSystem, state: Array, zeros: Array) -> None:
    """Take the copies of a group with one state x and one label over so many rows of it, with p before them.

    That is 2^k x + (2^k - 1) p if the label is repeated, and x + k p if not.
    """
    loop = g.step[g.step_off[g.template[h]], 1] == 0
    input_off, inputs = g.input_off, g.input
    for w in range(field.mod.size):
        p, one, zero = field.mod[w], field.one[w], zeros[w]
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
        for c in range(g.copy_off[h], g.copy_off[h + 1]):
            before = zero
            for k in range(input_off[c, 0], input_off[c, input_off.shape[1] - 1]):
                before = add(before, state[inputs[k], w], p)
            to = g.state[c, 0]
            before = mul(less, before, p)
            state[to, w] = add(mul(whole, state[to, w], p) if loop else state[to, w], before, p)


@helper
def _write_matrix(
    program: Program,
    g: BurstArrays,
    events: Events,
    field: NumberSystem,
    h: int,
    begin: int,
    end: int,
    scratch: Scratch,
) -> None:
    """Write the matrix of a burst: in column s * lanes + lane what becomes of one trend in s."""
    t, lanes, matrix = g.template[h], scratch.lanes, scratch.matrix
    size = g.inner[t] + g.outer[t]
    columns = size * lanes
    for s in range(size):
        clear_row(matrix, s)
        for lane in range(lanes):
            matrix.value[s, s * lanes + lane] = field.one[lane]
            for m in range(program.low_adds.size):
                if program.low_adds[m]:
                    matrix.low[s, m * columns + s * lanes + lane] = 0.0
    run_rows(program, g, events, h, begin, end, scratch.mods[:columns], matrix, scratch.tick)


@helper
def _read_copy(
    states: Array, input_off: Array, inputs: Array, c: int, inner: int, outer: int, vector: Table, mod: Array,
    copy: Table,
) -> None:  # fmt: skip
    """Write the states of copy c, and the sums that are its inputs. To be given BurstArrays would cost more."""
    for s in range(inner):
        copy_row(copy, s, vector, states[c, s])
    for x in range(outer):
        first = input_off[c, x]
        copy_row(copy, inner + x, vector, inputs[first])
        for k in range(first + 1, input_off[c, x + 1]):
            add_row(copy, inner + x, vector, inputs[k], mod)


@helper
def _multiply_counts(
    g: BurstArrays, h: int, state: Array, mod: Array, matrix: Array, lanes: int, old: Array
) -> None:
    """Do what `_multiply_copies` does where there are counts alone; `old` is scratch."""
    t, states, input_off, inputs = g.template[h], g.state, g.input_off, g.input
    inner, outer = g.inner[t], g.outer[t]
    size = inner + outer
    for c in range(g.copy_off[h], g.copy_off[h + 1]):
        for column in range(mod.size):
            p = mod[column]
            lane = column if lanes > 1 else 0
            for s in range(inner):
                old[s, column] = state[states[c, s], column]
            for x in range(outer):
                total = state[inputs[input_off[c, x]], column]
                for k in range(input_off[c, x] + 1, input_off[c, x + 1]):
                    total = add(total, state[inputs[k], column], p)
                old[inner + x, column] = total
            for d in range(inner):
                total = mul(matrix[d, lane], old[0, column], p)
                for s in range(1, size):
                    total = add(total, mul(matrix[d, s * lanes + lane], old[s, column], p), p)
                state[states[c, d], column] = total


@helper
def _multiply_copies(
    g: BurstArrays, h: int, vector: Table, mod: Array, sums: int, low_adds: Array, scratch: Scratch
) -> None:
    """Multiply a matrix with the states and inputs of all copies of a group.

    Counts as they are, sums by Leibniz's rule, minima by (min, +) or (min, min). Where sums can be infinite numbers
    are wide, and nothing times infinity is nothing.
    """
    t, columns, state = g.template[h], mod.size, vector.value
    lanes, (value, low), (old, old_low) = scratch.lanes, scratch.matrix, scratch.copy
    inner, outer, states = g.inner[t], g.outer[t], g.state
    size = inner + outer
    across = size * lanes
    for c in range(g.copy_off[h], g.copy_off[h + 1]):
        _read_copy(states, g.input_off, g.input, c, inner, outer, vector, mod, scratch.copy)
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
                for m in range(low_adds.size):
                    least = np.inf
                    for s in range(size):
                        at = s * lanes + lane
                        if nonzero(value[d, at]) and nonzero(old[s, column]):
                            x, before = low[d, m * across + at], old_low[s, m * columns + column]
                            least = min(least, before + x if low_adds[m] else min(before, x))
                    vector.low[to, m * columns + column] = least


@helper
def _run_copies(
    program: Program, g: BurstArrays, events: Events, h: int, begin: int, end: int, mod: Array, vector: Table,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Run the rows of a burst over each copy of a group by itself."""
    t, states, copy = g.template[h], g.state, scratch.copy
    inner, outer = g.inner[t], g.outer[t]
    for c in range(g.copy_off[h], g.copy_off[h + 1]):
        _read_copy(states, g.input_off, g.input, c, inner, outer, vector, mod, copy)
        run_rows(program, g, events, h, begin, end, mod, copy, scratch.tick)
        for s in range(inner):
            copy_row(vector, states[c, s], copy, s)


@helper
def _decide(g: BurstArrays, kind: int, rows: int, counts: bool, scratch: Scratch, counter: Array) -> bool:
    """Decide for each class of a set's groups whether it pays to share a burst; tell whether some is shared."""
    leader, steps, shared = scratch.leader, scratch.steps, scratch.shared
    some = False
    for h in range(g.group_off[kind], g.group_off[kind + 1]):
        shared[h] = False
        if leader[h] != h or not steps[h]:
            continue
        copies = ZERO
        for other in range(h, g.group_off[kind + 1]):
            if leader[other] == h:
                copies += g.copy_off[other + 1] - g.copy_off[other]
        shared[h] = pays(g, h, rows, steps[h], copies, counts)
        counter[DECISIONS] += 1
        some |= shared[h]
    return some


@helper
def _share(
    program: Program, g: BurstArrays, events: Events, field: NumberSystem, kind: int, begin: int, end: int,
    vector: Table, scratch: Scratch, counter: Array,
) -> bool:  # fmt: skip
    """Do a burst if it pays to share it among the copies of some class; tell whether it was done."""
    leader, steps, shared = scratch.leader, scratch.steps, scratch.shared
    sums, rows, tied = program.sum_of.size, end - begin, False
    for e in range(begin + 1, end):
        tied |= events.tick[e] == events.tick[e - 1]
    counts = sums == 0 and program.low_adds.size == 0 and not tied
    find_classes(g, kind, program.sum_row, program.low_row, scratch.seen, leader, steps)
    if not _decide(g, kind, rows, counts, scratch, counter):
        return False
    counter[SHARED] += 1
    counter[SHARED_ROWS] += rows
    for h in range(g.group_off[kind], g.group_off[kind + 1]):
        if leader[h] != h or not steps[h]:
            continue
        t = g.template[h]
        closed = counts and g.closed[t]
        if shared[h] and not closed:
            _write_matrix(program, g, events, field, h, begin, end, scratch)
            counter[MATRICES] += 1
            counter[COLUMNS] += g.inner[t] + g.outer[t]
        for other in range(h, g.group_off[kind + 1]):
            if leader[other] != h:
                continue
            if not shared[h]:
                _run_copies(program, g, events, other, begin, end, field.mod, vector, scratch)
                continue
            counter[SNAPSHOTS] += g.copy_off[other + 1] - g.copy_off[other]
            if closed:
                each = g.step_off[t + 1] - g.step_off[t]  # steps of a row
                _run_closed(g, other, steps[h] // each, field, vector.value, scratch.tick.value[0])
            elif sums == 0 and program.low_adds.size == 0:
                given = (scratch.matrix.value, scratch.lanes, scratch.copy.value)
                _multiply_counts(g, other, vector.value, field.mod, *given)
            else:
                _multiply_copies(g, other, vector, field.mod, sums, program.low_adds, scratch)
    return True


def _scratch_for(program: Program, g: BurstArrays, field: NumberSystem) -> Scratch:
    """Return what the bursts of a program are worked out in."""
    columns, kinds, lows = field.one.size, 1 + program.sum_of.size, program.low_adds.size
    lanes = columns if (field.mod != field.mod[0]).any() else 1
    size = int((g.inner + g.outer).max(initial=1))
    wide, groups = max(columns, size * lanes), g.template.size
    return Scratch(
        np.zeros(program.labels.size, np.int64),
        np.zeros(groups, np.int64),
        np.zeros(groups, np.int64),
        np.zeros(groups, np.bool_),
        lanes,
        np.tile(field.mod[:lanes], size),
        blank_rows(size, wide * kinds, wide * lows, field.one),
        blank_rows(size, wide * kinds, wide * lows, field.one),
        blank_rows(size, columns * kinds, columns * lows, field.one),
    )


class _Work(NamedTuple):
    """What rows are run with: transitions, the states and what a tick brings them, and what bursts need."""

    steps: Steps
    vector: Table
    tick: Table
    scratch: Scratch


def run(
    program: Program,
    g: BurstArrays,
    events: Events,
    field: NumberSystem,
    lo: Array,
    hi: Array,
    out: Table,
    counter: Array,
) -> None:
    """Run every stretch lo[k]:hi[k] from the start and write its results to out.value[k, class]."""
    width = field.one.size * (1 + program.sum_of.size)
    lows = field.one.size * program.low_adds.size
    vector, tick = (blank_rows(program.states, width, lows, field.one) for _ in range(2))
    work = _Work(list_steps(program), vector, tick, _scratch_for(program, g, field))
    _run(program, g, work, events, field, lo, hi, out, counter)


@kernel(allocates=False)
def _run(
    program: Program,
    g: BurstArrays,
    work: _Work,
    events: Events,
    field: NumberSystem,
    lo: Array,
    hi: Array,
    out: Table,
    counter: Array,
) -> None:
    """Do what `run` tells."""
    columns, counts = field.one.size, program.sum_of.size + program.low_adds.size == 0
    steps, vector, tick_of, scratch = work
    # What is used for every row, out of the tuples: to hand these on costs more than a row.
    state, seen = vector.value, scratch.seen
    tick, symbol, mod, set_of, worth = events.tick, events.symbol, field.mod, g.set_of, g.worth
    direct, act_off, act, source = g.direct, g.act_off, g.act, g.source
    movers = worth.size  # the set of rows whose ticks can move partial trends
    moving = False
    for y in range(set_of.size):
        moving |= set_of[y] == movers
    for k in range(lo.size):
        start(vector, field.one, program.low_adds)
        i = lo[k]
        while i < hi[k] and not events.stop[0]:
            # A burst: rows from i to j, whole ticks, with labels of one set only.
            kind, j = -1, i
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
                j = b
            done, moved = False, False
            if j == i:
                moved = moving
                while j < hi[k] and tick[j] == tick[i]:
                    j += 1
            elif kind == movers:
                moved = True
                for e in range(i, j):
                    seen[symbol[e]] = 0
            elif kind >= 0:
                counter[kind, BURSTS] += 1
                counter[kind, ROWS] += j - i
                if j - i >= worth[kind]:
                    done = _share(program, g, events, field, kind, i, j, vector, scratch, counter[kind])
                for y in range(g.symbol_off[kind], g.symbol_off[kind + 1]):
                    seen[g.symbol[y]] = 0
            while i < j and not done:
                y = symbol[i]
                if moved or not counts or not direct[y] or (i + 1 < j and tick[i + 1] == tick[i]):
                    b = i + 1
                    while b < j and (moved or not counts or tick[b] == tick[i]):
                        b += 1
                    advance(program, steps, events, field, i, b, vector, tick_of, moved)
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
        collect(program, vector, mod, out, k)
