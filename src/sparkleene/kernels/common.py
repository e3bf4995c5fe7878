"""What the kernels for adjacent predicates share: flattened transitions and small steps on vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparkleene.kernels.jit import jit
from sparkleene.kernels.numbers import add, nonzero, null, times
from sparkleene.kernels.program import EQ, GE, GT, LE, LT, NEXT, Array, Program

_BIT = np.uint64(1)
_NONE = np.uint64(0)


class Actions(NamedTuple):
    """Transitions by symbol: those of symbol y are off[y]:off[y+1], together by (label, destination).

    `last` marks the last of such a group: the group's sum picks up the event and goes to the destination.
    """

    off: Array
    label: Array
    src: Array
    dst: Array
    pair: Array
    last: Array
    stored: Array  # bool[states]: entries are kept one by one


@jit
def has(mask: Any, label: Any) -> bool:
    """Tell whether a label is in a mask."""
    return (mask >> np.uint64(label)) & _BIT != _NONE  # type: ignore[no-any-return]


def stored_states(program: Program, moved: bool) -> Array:
    """Mark states with a predicated transition out of them and, if `moved`, those that move into such."""
    stored = np.zeros(program.states, np.bool_)
    for t in range(len(program.src)):
        if program.pair[t] >= 0:
            stored[program.src[t]] = True
    changed = moved
    while changed:
        changed = False
        for s in range(1, program.states):
            if stored[s]:
                continue
            for y in range(program.keep.shape[0]):
                t = program.keep[y, s]
                if t >= 0 and stored[t]:
                    stored[s] = changed = True
            if program.mode == NEXT:
                for label in range(program.leave.shape[0]):
                    t = program.leave[label, s]
                    if t >= 0 and stored[t]:
                        stored[s] = changed = True
    return stored


def actions(program: Program, moved: bool) -> Actions:
    """Flatten the transitions of every symbol; `moved` as for stored_states."""
    symbols, labels = len(program.labels), len(program.off) - 1
    label = np.repeat(np.arange(labels), np.diff(program.off))
    ordered = np.lexsort((program.dst, label))  # those of a label by where they lead
    there = program.labels[:, None] >> label[ordered].astype(np.uint64) & np.uint64(1) != 0
    symbol, place = np.nonzero(there)
    t = ordered[place]
    off = np.searchsorted(symbol, np.arange(symbols + 1)).astype(np.int64)
    key = np.stack([symbol, label[t], program.dst[t]])
    last = np.ones(t.size, np.bool_)
    last[:-1] = (np.diff(key) != 0).any(axis=0)
    stored = stored_states(program, moved)
    return Actions(off, label[t], program.src[t], program.dst[t], program.pair[t], last, stored)


@jit
def symbol_of(labels: Array, mask: Any) -> int:
    """Find the symbol of a mask; where it is not there, ticks move nothing and any will do."""
    a, b = 0, len(labels) - 1
    while a < b:
        m = (a + b) >> 1
        if labels[m] < mask:
            a = m + 1
        else:
            b = m
    return a


@jit
def tick_symbol(labels: Array, symbol: Array, i: int, j: int) -> int:
    """Find the symbol of the union of a tick's masks."""
    mask = _NONE
    same = True
    for e in range(i, j):
        mask |= labels[symbol[e]]
        same &= symbol[e] == symbol[i]
    return np.int64(symbol[i]) if same else symbol_of(labels, mask)  # type: ignore[return-value]


@jit
def compare(op: int, x: float, y: float) -> bool:
    """Compare two doubles; NaN on a side is never true."""
    if op == LT:
        return x < y
    if op == LE:
        return x <= y
    if op == GT:
        return x > y
    if op == GE:
        return x >= y
    if op == EQ:
        return x == y
    return x < y or x > y


@jit
def blank(value: Array) -> bool:
    """Tell whether a vector holds nothing."""
    for w in range(len(value)):
        if nonzero(value[w]):
            return False
    return True


@jit
def pick_up(
    value: Array,
    low: Array,
    label: int,
    e: int,
    sum_labels: Array,
    sums: Array,
    low_labels: Array,
    lows: Array,
    mod: Array,
) -> None:
    """Let the partial trends of a vector take in an event."""
    columns = len(mod)
    for i in range(len(sum_labels)):
        if has(sum_labels[i], label):
            x = sums[i, e]
            if not null(x):
                base = (1 + i) * columns
                for c in range(columns):
                    value[base + c] = add(value[base + c], times(value[c], x, mod[c]), mod[c])
    for i in range(len(low_labels)):
        if has(low_labels[i], label):
            x = lows[i, e]
            if x < low[i]:
                low[i] = x


@jit
def put(into: Array, into_low: Array, i: int, value: Array, low: Array, j: int, mod: Array) -> None:
    """Add row j of one table of vectors to row i of another."""
    columns = len(mod)
    for w in range(value.shape[1]):
        into[i, w] = add(into[i, w], value[j, w], mod[w % columns])
    for m in range(low.shape[1]):
        into_low[i, m] = min(into_low[i, m], low[j, m])


@jit
def clear(value: Array, low: Array, i: int) -> None:
    """Empty row i of a table of vectors."""
    for w in range(value.shape[1]):
        value[i, w] = 0
    for m in range(low.shape[1]):
        low[i, m] = np.inf


@jit
def start(value: Array, low: Array, one: Array) -> None:
    """Empty all states, then put the empty trend into the start."""
    for s in range(value.shape[0]):
        clear(value, low, s)
    for c in range(len(one)):
        value[0, c] = one[c]


@jit
def give(
    program: Program, tot: Array, tot_low: Array, out: Array, out_low: Array, k: int, mod: Array
) -> None:
    """Add the totals of the states that are results to row k of the output."""
    columns = len(mod)
    for o in range(len(program.out_state)):
        s, c = program.out_state[o], program.out_class[o]
        for w in range(tot.shape[1]):
            out[k, c, w] = add(out[k, c, w], tot[s, w], mod[w % columns])
        for m in range(tot_low.shape[1]):
            out_low[k, c, m] = min(out_low[k, c, m], tot_low[s, m])


def table(rows: int, width: int, lows: int, one: Array) -> tuple[Array, Array]:
    """Allocate empty vectors and their minima."""
    return np.zeros((rows, width), one.dtype), np.full((rows, lows), np.inf)
