"""Lanes: states next to each other that events treat alike, so that one step brings partial trends to all of them.

Queries that differ in how their trends begin and end have states of their own for what they have in common: T+ in
`SEQ(A, T+, C)` and `SEQ(B, T+, D)`. An event of T looks at the same cells in the trees of all of them. As these lie
side by side, one walk adds up rows of numbers: with vectors, where they are doubles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.program import Array
from sparkleene.kernels.ticks import Transitions
from sparkleene.kernels.vectors import Table


class Steps(NamedTuple):
    """Steps into lanes by symbol: those of symbol y are off[y]:off[y+1].

    A step leads to the states dst, dst + 1, ... from one or several sources: each is the states src, src + 1, ...,
    one for each lane, and all of them have the same pair.
    """

    off: Array  # int64[symbols + 1]
    label: Array  # int64[steps]
    dst: Array  # int64[steps]: the first of its states
    count: Array  # int64[steps]: how many states
    source_off: Array  # int64[steps + 1]
    src: Array  # int64[sources]: the first of its states
    pair: Array  # int64[sources], -1 for none


class Lanes(NamedTuple):
    """The steps into lanes, those of a tick, and what they bring: a row for each state, step after step."""

    steps: Steps
    rows: Table
    row: Array  # the numbers in rows, one after the other
    total: Array  # those of all states
    cell: Array  # those of all trees
    step: Array  # int64[steps of a tick]
    event: Array  # int64[steps of a tick]


def find_lanes(by: Transitions, slot: Array, fixed: Array) -> tuple[Steps, Transitions]:
    """Return the steps into lanes of `fixed` states, whose entries stay, and the transitions that are left."""
    end = np.flatnonzero(by.last) + 1  # of those whose sum goes to one state
    if end.size == np.count_nonzero(np.diff(by.off)):  # one for each symbol
        none = np.zeros(0, np.int64)
        return Steps(np.zeros_like(by.off), none, none, none, np.zeros(1, np.int64), none, none), by
    start = np.append(0, end[:-1])
    size = end - start
    symbol = np.repeat(np.arange(by.off.size - 1), np.diff(by.off))
    there = np.minimum(np.arange(by.src.size) + np.repeat(size, size), by.src.size - 1)
    alike = (by.src[there] == by.src + 1) & (by.dst[there] == by.dst + 1) & (by.pair[there] == by.pair)
    alike &= (symbol[there] == symbol) & (by.label[there] == by.label)
    alike &= ((slot[by.dst[there]] >= 0) == (slot[by.dst] >= 0)).all(axis=1)
    for states in (by.src, by.dst):
        alike &= fixed[states] & fixed[states[there]]
    joins = np.zeros(size.size, np.bool_)  # the one before
    joins[1:] = np.logical_and.reduceat(alike, start)[:-1] & (size[1:] == size[:-1])
    first = np.flatnonzero(~joins)
    count = np.diff(np.append(first, size.size))
    single = np.repeat(np.repeat(count == 1, count), size)
    first, count = first[count > 1], count[count > 1]
    leads = start[first]
    chosen = np.zeros(size.size, np.bool_)
    chosen[first] = True
    chosen = np.repeat(chosen, size)
    off = np.searchsorted(symbol[leads], np.arange(by.off.size)).astype(np.int64)
    source_off = np.append(0, np.cumsum(size[first]))
    steps = Steps(off, by.label[leads], by.dst[leads], count, source_off, by.src[chosen], by.pair[chosen])
    off = np.append(0, np.cumsum(single))[by.off]
    return steps, Transitions(off, *(column[single] for column in by[1:-1]), by.stored)
