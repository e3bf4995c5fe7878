"""What the kernel of bursts is given: which copies of parts of a machine there are, and rooms to work in."""

from __future__ import annotations

from typing import NamedTuple

from sparkleene.kernels.program import Array
from sparkleene.kernels.vectors import Table

BURSTS, SHARED, ROWS, SHARED_ROWS, DECISIONS, MATRICES, COLUMNS, SNAPSHOTS = range(8)
"""What is counted for each set of labels."""
COUNTERS = 8

STEP, PRODUCT, BURST, CLOSED = range(4)
"""Costs: of a step of a row in one column, of a product, of a shared burst, and of a matrix in closed form."""


class BurstArrays(NamedTuple):
    """Sets of labels, for each the groups of copies that have the same template and labels."""

    set_of: Array  # int64[symbols]: the set of a symbol's labels, -1 if it has none; of what moves trends one more
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
    cost: Array  # float64[groups, 4]


class Scratch(NamedTuple):
    """What bursts are worked out in."""

    seen: Array  # int64[symbols]: rows of the burst
    leader: Array  # int64[groups]: the first group of a class
    steps: Array  # int64[groups]: that the rows of the burst take
    shared: Array  # bool[groups]
    lanes: int  # columns of a matrix for each state: one, or one for each modulus
    mods: Array  # uint64[columns of the largest matrix]
    matrix: Table  # states and inputs: what becomes of them, in columns
    tick: Table  # of the same shape, clear
    copy: Table  # states and inputs: those of one copy
