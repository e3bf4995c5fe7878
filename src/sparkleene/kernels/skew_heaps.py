"""Skew heaps of partial trends that wait, one per state, over one pool of nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper
from sparkleene.kernels.numbers import add
from sparkleene.kernels.program import Array
from sparkleene.kernels.vectors import Table, add_row


class Heaps(NamedTuple):
    """Skew heaps over one pool of nodes."""

    root: Array  # int32[states], -1 if empty
    child: Array  # int32[nodes, 2]
    key: Array  # float64[nodes]
    entry: Table
    free: Array  # int64[2]: first node of the list of free ones (by child 0), and nodes used so far


@helper
def clear(heaps: Heaps) -> None:
    """Empty all heaps."""
    for s in range(len(heaps.root)):
        heaps.root[s] = -1
    heaps.free[0], heaps.free[1] = -1, 0


@helper
def meld(child: Array, key: Array, a: int, b: int) -> int:
    """Join two heaps."""
    if a < 0:
        return b
    if b < 0:
        return a
    if key[b] < key[a]:
        a, b = b, a
    top = a
    while True:
        r = np.int64(child[a, 1])
        child[a, 1] = child[a, 0]
        if r < 0:
            child[a, 0] = b
            return top
        if key[b] < key[r]:
            r, b = b, r
        child[a, 0] = r
        a = r


@helper
def pop(heaps: Heaps, s: int, bound: float, strict: bool, into: Table, row: int, mod: Array) -> None:
    """Move all entries of state s below a bound into a row of sums."""
    child, key, entry = heaps.child, heaps.key, heaps.entry
    node = np.int64(heaps.root[s])
    single = entry.value.shape[1] + entry.low.shape[1] == 1
    while node >= 0 and (key[node] < bound if strict else key[node] <= bound):
        if single:
            into.value[row, 0] = add(into.value[row, 0], entry.value[node, 0], mod[0])
        else:
            add_row(into, row, entry, node, mod)
        rest = meld(child, key, np.int64(child[node, 0]), np.int64(child[node, 1]))
        child[node, 0] = heaps.free[0]
        heaps.free[0] = node
        node = rest
    heaps.root[s] = node
