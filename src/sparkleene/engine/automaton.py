"""The machine of a plan as arrays, apart from all data: made once for a plan, then asked for programs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sparkleene.kernels.program import Program
from sparkleene.plan.machine import Machine, machine
from sparkleene.plan.physical import Physical, physical
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]
MODES = {"skip-till-any-match": 0, "skip-till-next-match": 1, "contiguous": 2}


def automaton(plan: Plan) -> Automaton:
    """Return the automaton of a plan, always the same one."""
    found: Automaton = plan.memo.setdefault("automaton", Automaton(plan, plan.machine))
    return found


def momentary_automaton(plan: Plan) -> Automaton:
    """Return the automaton that tells which trends end at the last tick, for windows per trigger."""
    if "momentary" not in plan.memo:
        plan.memo["momentary"] = Automaton(plan, machine(plan.bound, momentary=True))
    found: Automaton = plan.memo["momentary"]
    return found


class Automaton:
    """A machine over the labels of a plan.

    Where pairs of neighbours were *observed*, the truth of pair p is the label `labels + p` of the later row, and
    transitions with that pair go by it.
    """

    def __init__(self, plan: Plan, machine: Machine) -> None:
        """Take a plan and one of its machines."""
        self.plan, self.machine = plan, machine
        self._kept: dict[tuple[int, bool], list[int]] = {}

    @cached_property
    def physical(self) -> Physical:
        """Which algorithm runs the machine."""
        return physical(self.plan, self.machine)

    def observed(self, tied: bool) -> bool:
        """Tell whether pairs of neighbours are observed, for rows that tie or do not."""
        return self.physical.observes and not tied

    def program(self, symbols: Array, sum_labels: Array, low_labels: Array, tied: bool) -> Program:
        """Return the program for rows and ticks of these symbols, which are ascending sets of labels as bits."""
        built, count, observed = self.machine, len(self.plan.bound.labels), self.observed(tied)
        steps = self._steps(observed)
        every = count + observed * len(self.plan.pairs)
        off = np.searchsorted([label for _, label, _, _ in steps], np.arange(every + 1)).astype(np.int64)
        source, _, target, pair = np.array(steps, np.int64).reshape(-1, 4).T.copy()
        real = (1 << count) - 1
        extended = self.physical.kernel(tied) == "linear"
        keep = np.array([self._keep(int(mask) & real, extended) for mask in symbols.tolist()], np.int64)
        return Program(
            MODES[self.plan.bound.semantics],
            len(built.states),
            off,
            source,
            target,
            pair,
            keep.reshape(symbols.size, len(built.states)),
            self._leave,
            symbols,
            np.array([state for state, _ in built.outs], np.int64),
            np.array([kind for _, kind in built.outs], np.int64),
            built.classes,
            sum_labels,
            low_labels,
        )

    def label_bits(self, labels: frozenset[int], observed: bool) -> int:
        """Return labels as a mask; an observed pair stands for its later label."""
        bits = sum(1 << label for label in labels)
        if observed:
            first = len(self.plan.bound.labels)
            bits |= sum(1 << first + p for p, pair in enumerate(self.plan.pairs) if pair.after in labels)
        return bits

    def _steps(self, observed: bool) -> list[tuple[int, int, int, int]]:
        """Return the transitions as source, label, target and pair, ordered by label."""
        count = len(self.plan.bound.labels)
        steps = []
        for source, label, target in self.machine.transitions:
            pair = self.plan.pair_between(self.machine, source, label)
            if observed and pair >= 0:
                steps.append((source, count + pair, target, -1))
            else:
                steps.append((source, label, target, pair))
        return sorted(steps, key=lambda step: step[1])

    @cached_property
    def _leave(self) -> Array:
        count = len(self.plan.bound.labels)
        found = [self.machine.leave(label) for label in range(count)]
        return np.array(found, np.int64).reshape(count, len(self.machine.states))

    def _keep(self, mask: int, extended: bool) -> list[int]:
        if (mask, extended) not in self._kept:
            self._kept[mask, extended] = self.machine.keep(mask, extended=extended)
        return self._kept[mask, extended]


def forks(program: Program) -> bool:
    """Tell whether a row can extend one partial trend in two ways."""
    final = set(program.out_state.tolist())
    for mask in program.labels.tolist():
        ways: dict[int, int] = {}
        for label in range(program.off.size - 1):
            if mask >> label & 1:
                for t in range(program.off[label], program.off[label + 1]):
                    if int(program.dst[t]) not in final:
                        ways[int(program.src[t])] = ways.get(int(program.src[t]), 0) + 1
        if any(count > 1 for count in ways.values()):
            return True
    return False


def count_ways(program: Program) -> int:
    """Return in how many ways at most a row extends one partial trend."""
    labels = program.off.size - 1
    out = np.zeros((labels, program.states))
    np.add.at(out, (np.repeat(np.arange(labels), np.diff(program.off)), program.src), 1)
    there = program.labels[:, None] >> np.arange(labels, dtype=np.uint64) & np.uint64(1)
    return max(1, int((there.astype(np.float64) @ out).max(initial=1)))
