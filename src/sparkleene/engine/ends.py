"""The ends of the partial trends of windows: what a forward pass is given, and the pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparkleene import interrupts
from sparkleene.columns.arrow import Array
from sparkleene.engine.arrays import Arrays
from sparkleene.engine.substreams import read_only
from sparkleene.kernels import trends as kernel
from sparkleene.kernels.program import EQ, Predicates, Program
from sparkleene.plan.plan import Plan


@dataclass(frozen=True)
class Ends:
    """What tells the ends of partial trends in windows."""

    program: Program
    predicates: Predicates
    events: kernel.Events
    index: kernel.Index

    @property
    def given(self) -> tuple[Program, Predicates, kernel.Events]:
        """What all passes are given."""
        return self.program, self.predicates, self.events

    def reach(self, lo: Array, hi: Array, need: int) -> tuple[Array, Array, Array]:
        """Do the forward pass over windows; see the kernel."""
        found: tuple[Array, Array, Array] = kernel.reach(*self.given, self.index, lo, hi, need)
        interrupts.check()
        return found


def find_ends(plan: Plan, arrays: Arrays) -> Ends:
    """Prepare the search: find the pairs of predicates that need no comparison one by one."""
    program, predicates, machine = arrays.program, arrays.predicates, plan.machine
    tick, symbol, _, _, f, g, stop = arrays.events
    real = np.arange(len(program.off) - 1)
    count = len(plan.bound.labels)
    observed = real.size > count  # predicates have become labels
    if observed:
        real[count:] = [pair.after for pair in plan.pairs]
    pairs, n = 0 if observed else len(plan.conditions), len(tick)
    column = np.full(pairs, -2, np.int64)
    left, right = np.zeros((pairs, n), np.int64), np.zeros((pairs, n), np.int64)
    cells = 1
    for p in range(pairs):
        comparisons = range(predicates.off[p], predicates.off[p + 1])
        other = [c for c in comparisons if predicates.op[c] != EQ]
        if len(other) > 1 or predicates.code_off[p] != predicates.code_off[p + 1]:
            continue
        column[p] = other[0] if other else -1
        both, missing = np.zeros(2 * n, np.int64), np.zeros(2 * n, bool)
        for c in (c for c in comparisons if predicates.op[c] == EQ):
            sides = np.concatenate([f[c], g[c]])
            missing |= np.isnan(sides)
            values, place = np.unique(sides, return_inverse=True)
            _, both = np.unique(both * len(values) + place, return_inverse=True)
        cells = max(cells, int(both.max(initial=0)) + 1)
        left[p], right[p] = np.where(missing, -1, both).reshape(2, n)
    slot = np.full((program.states, pairs), -1, np.int64)
    wanted = {(int(s), int(p)) for s, p in zip(program.src, program.pair, strict=True) if p >= 0 and column[p] > -2}
    for number, (state, p) in enumerate(sorted(wanted)):
        slot[state, p] = number
    still = program.keep == np.arange(program.states)
    index = kernel.Index(
        real,
        np.argsort(real, kind="stable"),
        np.array([state.final for state in machine.states]),
        not still.all(),
        bool(still[:, program.out_state].all()),
        column,
        left,
        right,
        slot,
        np.zeros((len(wanted), cells, 2)),
        np.zeros((len(wanted), cells), np.int64),
        np.zeros(1, np.int64),
    )
    events = kernel.Events(tick, read_only(symbol.astype(np.int64)), f, g, stop)
    return Ends(program, predicates, events, index)
