"""What kernels are given: the compiled machine, the events, and the stretches to run over."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

ANY, NEXT, CONTIGUOUS = 0, 1, 2
LT, LE, GT, GE, EQ, NE = range(6)

# Given to helpers as they stand, 0 and False would be types of their own, for which numba compiles once more.
ZERO = np.int64(0)
NO = np.bool_(False)


class Program(NamedTuple):
    """The machine of one query as arrays.

    A state is a number; partial trends in a state are one row of a vector. State 0 is the start: it holds the
    empty trend, whose count is 1. Transitions are grouped by label: those of label l are
    `src[off[l]:off[l+1]]`, and so on. `pair` is the predicate pair that a transition must satisfy, or -1.
    A *symbol* stands for a set of labels: `labels[symbol]` is its bit mask, ascending, so that the symbol of a
    tick of several events is found by binary search of the union. Symbol 0 is the empty set.
    After a tick of symbol y the partial trends that were in state s are in `keep[y, s]`, or gone (-1). Under
    skip-till-next-match with predicates, `keep` does not drop the extended ones: the kernel moves a partial
    trend of state s that an event extends by label l to `leave[l, s]` (mostly -1, gone), then applies `keep`.
    """

    mode: int  # ANY, NEXT or CONTIGUOUS
    states: int
    off: Array  # int64[labels + 1]
    src: Array  # int64[transitions]
    dst: Array
    pair: Array
    keep: Array  # int64[symbols, states]
    leave: Array  # int64[labels, states]
    labels: Array  # uint64[symbols]
    out_state: Array  # int64[outs]: states whose trends are results when the window closes
    out_class: Array  # int64[outs]: 0, or for AND 0 (first operand only), 1 (second only), 2 (both)
    classes: int
    sum_row: Array  # int64[sums, labels]: the row of Events.sums that counts for sum i, -1 for none; see summand
    sum_of: Array  # int64[sums]: what it is multiplied by: 0 is the count, 1 + j is sum j, which comes after sum i
    low_row: (
        Array  # int64[lows, labels]: the row of Events.lows that counts for minimum i (maxima are negated), or -1
    )
    low_adds: Array  # bool[lows]: values are added up along a trend, and the least sum of a trend is taken


class Predicates(NamedTuple):
    """Predicate pairs: pair i holds if all its comparisons hold and its general code, if any, is true.

    Comparison c of pair i, for c in off[i]:off[i+1], is f[c][previous event] op[c] g[c][new event]; NaN on a side
    makes it not true. `code[code_off[i]:code_off[i+1]]` is stack code over the same columns (see conditions.py).
    """

    off: Array  # int64[pairs + 1]
    op: Array  # int64[comparisons]
    code_off: Array  # int64[pairs + 1]
    code: Array  # int64[instructions, 2]
    consts: Array  # float64[constants]


PIECE = 1 << 16  # rows that fast kernels take between two looks at the flag that tells them to stop


def never() -> Array:
    """Return what tells kernels that they are never to stop; all such arrays are read-only, for numba's sake."""
    flag = np.zeros(1, np.uint8)
    flag.flags.writeable = False
    return flag


class Events(NamedTuple):
    """The rows in order: by sub-stream, then by tick; rows with equal `tick` in one stretch are simultaneous.

    Kernels look at `stop` every tick, or every PIECE of rows where these are fast. Once another thread has
    set it they return at once, and what they have written means nothing.
    """

    tick: Array  # int64[n]
    symbol: Array  # uint8[n] for linear machines of few symbols, else uint32[n]
    sums: Array  # float64[rows, n], NaN is no value; int64 for residues, the least int64 is no value
    lows: Array  # float64[rows, n], NaN is no value
    f: Array  # float64[columns, n]: left sides of comparisons, and columns of the previous event for code
    g: Array  # float64[columns, n]: right sides, and columns of the new event
    stop: Array = never()  # uint8[1]: not 0 if nobody waits for the results any more


class NumberSystem(NamedTuple):
    """The number system: `one` is the start count per column (its dtype decides), `mod` the moduli per column."""

    one: Array  # float64, complex128 or uint64[columns]
    mod: Array  # uint64[columns]
