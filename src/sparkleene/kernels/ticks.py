"""Ticks and what they do: the transitions of a symbol, the symbol of several events, the order of moves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import NEXT, Array, Program

_BIT = np.uint64(1)
_NONE = np.uint64(0)


class Transitions(NamedTuple):
    """Transitions by symbol: those of symbol y are off[y]:off[y+1], together by (label, destination).

    `last` marks the last of such a group: the group's sum takes in the event and goes to the destination.
    """

    off: Array
    label: Array
    src: Array
    dst: Array
    pair: Array
    last: Array
    stored: Array  # bool[states]: entries are kept one by one


@helper
def has(mask: Any, label: Any) -> bool:
    """Tell whether a label is in a mask."""
    return (mask >> np.uint64(label)) & _BIT != _NONE  # type: ignore[no-any-return]


def transitions_of(program: Program, moved: bool) -> Transitions:
    """Return the transitions of every symbol; with `moved`, states that move into stored ones are stored too."""
    symbols, labels = len(program.labels), len(program.off) - 1
    label = np.repeat(np.arange(labels), np.diff(program.off))
    ordered = np.lexsort((program.dst, label))  # those of a label by where they lead
    there = program.labels[:, None] >> label[ordered].astype(np.uint64) & _BIT != 0
    symbol, place = np.nonzero(there)
    t = ordered[place]
    off = np.searchsorted(symbol, np.arange(symbols + 1)).astype(np.int64)
    key = np.stack([symbol, label[t], program.dst[t]])
    last = np.ones(t.size, np.bool_)
    last[:-1] = (np.diff(key) != 0).any(axis=0)
    stored = _stored_states(program, moved)
    return Transitions(off, label[t], program.src[t], program.dst[t], program.pair[t], last, stored)


def _stored_states(program: Program, moved: bool) -> Array:
    """Mark states with a predicated transition out of them and, if `moved`, those that move into such."""
    stored = np.zeros(program.states, np.bool_)
    stored[program.src[program.pair >= 0]] = True
    targets = np.concatenate([program.keep, program.leave]) if program.mode == NEXT else program.keep
    before = None
    while moved and (before is None or (before != stored).any()):
        before = stored.copy()
        into: Array = ((targets >= 0) & stored[targets]).any(axis=0)
        stored[1:] |= into[1:]
    return stored


def move_order(program: Program) -> Array:
    """List per symbol the states that move, each after the state it moves to; -1 ends a list."""
    order = np.full((len(program.labels), program.states), -1, np.int64)
    for y in np.flatnonzero((program.keep != np.arange(program.states)).any(axis=1)).tolist():
        keep = program.keep[y].tolist()
        waiting = [s for s, t in enumerate(keep) if t != s]
        k = 0
        while waiting:
            ready = [s for s in waiting if keep[s] not in waiting]
            order[y, k : k + len(ready)] = ready
            k += len(ready)
            waiting = [s for s in waiting if s not in ready]
    return order


@helper
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


@helper
def tick_symbol(labels: Array, symbol: Array, i: int, j: int) -> int:
    """Find the symbol of the union of a tick's masks."""
    mask = _NONE
    same = True
    for e in range(i, j):
        mask |= labels[symbol[e]]
        same &= symbol[e] == symbol[i]
    return np.int64(symbol[i]) if same else symbol_of(labels, mask)  # type: ignore[return-value]


@kernel(allocates=False)
def longest(tick: Array, lo: Array, hi: Array) -> Any:
    """Return the length of the longest stretch and of the longest tick."""
    stretch = together = 1
    for k in range(len(lo)):
        stretch = max(stretch, hi[k] - lo[k])
        run = 0
        for i in range(lo[k], hi[k]):
            run = run + 1 if i > lo[k] and tick[i] == tick[i - 1] else 1
            together = max(together, run)
    return stretch, together
