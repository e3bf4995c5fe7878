"""The machine of a plan as arrays, apart from all data: made once for a plan, then asked for programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.engine.substreams import translate_masks
from sparkleene.kernels.program import Program
from sparkleene.language.bound import Path, Piece
from sparkleene.plan.machine import Machine, build, machine
from sparkleene.plan.marks import Marked, Step, Variant, mark, no_marks
from sparkleene.plan.physical import Physical, physical
from sparkleene.plan.plan import Plan

MODES = {"skip-till-any-match": 0, "skip-till-next-match": 1, "contiguous": 2}


def automaton(plan: Plan) -> Automaton:
    """Return the automaton of a plan, always the same one."""
    found: Automaton = plan.memo.setdefault("automaton", Automaton(plan, plan.machine))
    return found


def momentary_automaton(plan: Plan) -> Automaton:
    """Return the automaton that tells which trends end at the last tick, for windows per trigger."""
    if "momentary" not in plan.memo:
        made = plan.machine
        if made.per_query:
            made = build(made.operands, made.semantics, made.negated, momentary=True, per_query=True)
        else:
            made = machine(plan.bound, momentary=True)
        plan.memo["momentary"] = Automaton(plan, made)
    found: Automaton = plan.memo["momentary"]
    return found


class Automaton:
    """A machine over the labels of a plan, with marks for the first and last events that its outputs ask for.

    Kernels know labels by bits. First come the labels of the plan. Where pairs of neighbours were *observed*, the
    truth of pair p is a label of the later row, and transitions with that pair go by it. Then come marked labels.
    """

    def __init__(self, plan: Plan, machine: Machine) -> None:
        """Take a plan and one of its machines."""
        self.plan, self.machine = plan, machine
        self._kept: dict[tuple[int, bool], list[int]] = {}

    @cached_property
    def physical(self) -> Physical:
        """Which algorithm runs the machine."""
        return physical(self.plan, self.machine)

    @cached_property
    def marked(self) -> Marked:
        """The machine with marks; a momentary one needs none."""
        return mark(self.machine, (), ()) if self.machine.momentary else self.plan.marked

    def observed(self, tied: bool) -> bool:
        """Tell whether pairs of neighbours are observed, for rows that tie or do not."""
        return self.physical.observes and not tied

    def labels(self, observed: bool) -> list[Variant]:
        """Return what the bits of kernels stand for: labels of the plan, those of observed pairs, and marked ones.

        The label of a pair is that of its later row.
        """
        return [variant for _, variant in self._bits(observed)]

    def _bits(self, observed: bool) -> list[tuple[int, Variant]]:
        """Return for every bit the plain bit that must be there too, and the label with its marks."""
        plan, none = self.plan, no_marks(self.marked.trackers)
        found = [(i, Variant(i, none)) for i in range(len(plan.bound.labels))]
        if observed:
            first = len(found)
            found += [(first + p, Variant(pair.after, none)) for p, pair in enumerate(plan.pairs)]
        more = {self._bit(step, observed) for step in self.marked.steps if not step.variant.plain}
        return found + sorted(more, key=lambda one: (one[0], one[1].marks))

    def _bit(self, step: Step, observed: bool) -> tuple[int, Variant]:
        """Return the plain bit of a transition, and its label."""
        pair = self.plan.pair_between(self.machine, step.base[0], step.base[1]) if observed else -1
        return (len(self.plan.bound.labels) + pair if pair >= 0 else step.base[1]), step.variant

    def program(self, symbols: Array, carried: Carried, tied: bool) -> Program:
        """Return the program for rows and ticks of these symbols, which are ascending sets of labels as bits."""
        built, observed = self.marked, self.observed(tied)
        bits = self._bits(observed)
        steps = self._steps(observed, bits)
        off = np.searchsorted([label for _, label, _, _ in steps], np.arange(len(bits) + 1)).astype(np.int64)
        source, _, target, pair = np.array(steps, np.int64).reshape(-1, 4).T.copy()
        real = (1 << len(self.plan.bound.labels)) - 1
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
            self._leave(bits),
            symbols,
            np.array([state for state, _ in built.outs], np.int64),
            np.array([kind for _, kind in built.outs], np.int64),
            self.machine.classes * (1 + carried.demands),
            *carried.rows,
        )

    def _steps(self, observed: bool, bits: list[tuple[int, Variant]]) -> list[tuple[int, int, int, int]]:
        """Return the transitions as source, label, target and pair, ordered by label."""
        number = {bit: i for i, bit in enumerate(bits)}
        steps = []
        for step in self.marked.steps:
            pair = self.plan.pair_between(self.machine, step.base[0], step.base[1])
            plain, variant = self._bit(step, observed)
            label = plain if variant.plain else number[plain, variant]
            condition = -1 if observed or pair < 0 else self.plan.condition_of[pair]
            steps.append((step.source, label, step.target, condition))
        return sorted(steps, key=lambda step: step[1])

    def _leave(self, bits: list[tuple[int, Variant]]) -> Array:
        found = [self.marked.lift(self.machine.leave(variant.label)) for _, variant in bits]
        return np.array(found, np.int64).reshape(len(bits), len(self.marked.states))

    def _keep(self, mask: int, extended: bool) -> list[int]:
        if (mask, extended) not in self._kept:
            self._kept[mask, extended] = self.marked.lift(self.machine.keep(mask, extended=extended))
        return self._kept[mask, extended]

    def mark_rows(self, mask: Array, observed: bool, absent: Callable[[Path], Array], threads: int = 1) -> Array:
        """Add the bits of marked labels to the masks of rows; `absent` tells where an attribute is NULL."""
        bits = self._bits(observed)
        plain = len(self.plan.bound.labels) + observed * len(self.plan.pairs)
        if len(bits) == plain:
            return mask
        if mask.dtype == np.uint8 and not any(tracker.nullable for tracker in self.marked.trackers):
            every = np.arange(256, dtype=np.uint8)  # then the mask alone tells
            return translate_masks(_add_marks(every, bits, plain, self.marked.trackers, absent), mask, threads)
        return _add_marks(mask, bits, plain, self.marked.trackers, absent)


def _add_marks(
    mask: Array,
    bits: list[tuple[int, Variant]],
    plain: int,
    trackers: tuple[Piece, ...],
    absent: Callable[[Path], Array],
) -> Array:
    """Return masks with the bits of marked labels."""
    out: Array = mask.astype(np.uint8 if len(bits) <= 8 else np.uint64)
    for i, (base, variant) in enumerate(bits[plain:], plain):
        here = (mask >> mask.dtype.type(base)) & mask.dtype.type(1) != 0
        for tracker, found in zip(trackers, variant.marks, strict=True):
            if found and tracker.nullable:
                here = here & (absent(tracker.path) == (found == "null"))
        out = out | here.astype(out.dtype) << out.dtype.type(i)
    return out


class Carried(NamedTuple):
    """What trends carry along: the rows of a program for sums and minima, and how many demands there are."""

    rows: tuple[Array, Array, Array, Array]
    demands: int = 0

    @classmethod
    def nothing(cls, labels: int) -> Carried:
        """Carry counts alone."""
        none = np.zeros((0, labels), np.int64)
        return cls((none, np.zeros(0, np.int64), none, np.zeros(0, np.bool_)))


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


def longest_path(program: Program) -> int | None:
    """Return how many rows the longest trend has, None if there is no longest."""
    after: list[set[int]] = [set() for _ in range(program.states)]
    for s, d in zip(program.src.tolist(), program.dst.tolist(), strict=True):
        after[s].add(d)
    moved = np.concatenate([program.keep, program.leave])
    moving, source = np.nonzero((moved >= 0) & (moved != np.arange(program.states)))
    for s, d in zip(source.tolist(), moved[moving, source].tolist(), strict=True):
        after[s].add(d)
    waits = [0] * program.states
    for targets in after:
        for d in targets:
            waits[d] += 1
    length, ready, seen = [0] * program.states, [s for s, count in enumerate(waits) if not count], 0
    while ready:  # states that all ways to them have been followed to
        s, seen = ready.pop(), seen + 1
        for d in after[s]:
            length[d] = max(length[d], length[s] + 1)
            waits[d] -= 1
            if not waits[d]:
                ready.append(d)
    return max(length) if seen == program.states else None
