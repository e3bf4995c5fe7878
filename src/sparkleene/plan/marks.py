"""Machines that know the first or last event of some labels: states of a machine times how far this has come.

`FIRST(E.x)` is of the first E of a trend: a state says whether a trend has had an E. `LAST(E.x)` is of the last:
for each E the machine reads both that more E will come and that none will, and a trend counts where it was right.
So every trend is still read in one way, and first and last values are sums over the events that carry a *mark*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from sparkleene.language.bound import Piece
from sparkleene.plan.machine import Machine

Mark = Literal["", "value", "null"]  # what an event is for a tracker: nothing, the one with a value, or with NULL
NONE, PENDING, HAS, NULL, MISREAD = range(5)
"""Modes: none yet; the last is to come; it came; it came and is NULL; one came after the supposed last."""
Modes = tuple[int, ...]


@dataclass(frozen=True)
class Variant:
    """A label whose events carry marks, one for each tracker."""

    label: int
    marks: tuple[Mark, ...]

    @property
    def plain(self) -> bool:
        """Whether there is no mark."""
        return not any(self.marks)


@dataclass(frozen=True)
class Step:
    """A transition of a marked machine; `base` is the one that it is made of."""

    source: int
    variant: Variant
    target: int
    base: tuple[int, int, int]


@dataclass(frozen=True)
class Marked:
    """A machine with trackers: its states are numbered pairs of a state and the modes of all trackers."""

    machine: Machine
    trackers: tuple[Piece, ...]
    states: tuple[tuple[int, Modes], ...]
    steps: tuple[Step, ...]
    outs: tuple[tuple[int, int], ...]  # with the class, block by block

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The labels that carry marks, in a fixed order."""
        found = {step.variant for step in self.steps if not step.variant.plain}
        return tuple(sorted(found, key=lambda one: (one.label, one.marks)))

    def lift(self, moved: Sequence[int]) -> list[int]:
        """Return where the states go if those of the machine go there, -1 for gone."""
        number = {state: i for i, state in enumerate(self.states)}
        return [number.get((moved[s], modes), -1) for s, modes in self.states]


def mark(machine: Machine, trackers: tuple[Piece, ...], demands: Sequence[frozenset[Piece]]) -> Marked:
    """Return a machine with trackers, and its results: for all trends, then for those that meet each demand."""
    if not trackers:
        steps_alone = (Step(source, Variant(label, ()), target, (source, label, target))
                       for source, label, target in machine.transitions)  # fmt: skip
        alone = tuple((s, ()) for s in range(len(machine.states)))
        return Marked(machine, (), alone, tuple(steps_alone), machine.outs)
    start = (0, (NONE,) * len(trackers))
    number = {start: 0}
    steps: list[tuple[tuple[int, Modes], Variant, tuple[int, Modes], tuple[int, int, int]]] = []
    todo = [start]
    leaving: dict[int, list[tuple[int, int, int]]] = {}
    for base in machine.transitions:
        leaving.setdefault(base[0], []).append(base)
    moving: dict[int, list[int]] = {}
    for a, b in machine.moves:
        moving.setdefault(a, []).append(b)
    while todo:
        at, modes = state = todo.pop()
        reached = [(b, modes) for b in sorted(moving.get(at, ()))]
        for base in leaving.get(at, ()):
            _, label, target = base
            for way in product(*(_ways(t, mode, label) for t, mode in zip(trackers, modes, strict=True))):
                after = (target, tuple(mode for mode, _ in way))
                steps.append((state, Variant(label, tuple(found for _, found in way)), after, base))
                reached.append(after)
        for after in reached:
            if after not in number:
                number[after] = len(number)
                todo.append(after)
    outs = _outs(machine, trackers, number, demands)
    return _trim(machine, trackers, list(number), steps, outs)


def no_marks(trackers: Sequence[Piece]) -> tuple[Mark, ...]:
    """Return the marks of an event that is nothing to any tracker."""
    return tuple("" for _ in trackers)


def _ways(tracker: Piece, mode: int, label: int) -> list[tuple[int, Mark]]:
    """Return the modes to which an event of a label can lead, with its mark; none if it cannot come any more."""
    found: list[tuple[int, Mark]] = [(HAS, "value"), (NULL, "null")] if tracker.nullable else [(HAS, "value")]
    if label not in tracker.labels:
        return [(mode, "")]
    if tracker.kind == "first":
        return found if mode == NONE else [(mode, "")]
    return [(PENDING, ""), *found] if mode in (NONE, PENDING) else []


def _outs(
    machine: Machine,
    trackers: tuple[Piece, ...],
    number: dict[tuple[int, Modes], int],
    demands: Sequence[frozenset[Piece]],
) -> list[tuple[tuple[int, Modes], int]]:
    """Return the states that hold results, with their class in each block."""
    found = []
    for s, kind in machine.outs:
        for state in number:
            if state[0] != s or any(mode not in (NONE, HAS, NULL) for mode in state[1]):
                continue
            found.append((state, kind))
            modes = dict(zip(trackers, state[1], strict=True))
            for block, demand in enumerate(demands, 1):
                if all(modes[piece] == HAS for piece in demand):
                    found.append((state, block * machine.classes + kind))
    return found


def _trim(
    machine: Machine,
    trackers: tuple[Piece, ...],
    states: list[tuple[int, Modes]],
    steps: list[tuple[tuple[int, Modes], Variant, tuple[int, Modes], tuple[int, int, int]]],
    outs: list[tuple[tuple[int, Modes], int]],
) -> Marked:
    """Leave out states from which no result is reached, but for those where trends end that were misread."""
    before: dict[tuple[int, Modes], list[tuple[int, Modes]]] = {}
    for source, _, target, _ in steps:
        before.setdefault(target, []).append(source)
    for a, b in machine.moves:
        for state in states:
            if state[0] == a:
                before.setdefault((b, state[1]), []).append(state)
    useful = {states[0], *(state for state, _ in outs)}
    todo = list(useful)
    while todo:
        fresh = set(before.get(todo.pop(), ())) - useful
        useful |= fresh
        todo += fresh
    steps = [step for step in steps if step[0] in useful and step[2] in useful]
    if machine.semantics == "skip-till-next-match":
        steps += _misread(machine, trackers, useful, steps)
    reached = useful | {target for _, _, target, _ in steps}
    kept = sorted(reached - {states[0]})
    number = {state: i for i, state in enumerate([states[0], *kept])}
    made = tuple(Step(number[source], variant, number[target], base) for source, variant, target, base in steps)
    return Marked(machine, trackers, tuple(number), made, tuple((number[state], kind) for state, kind in outs))


def _misread(
    machine: Machine,
    trackers: tuple[Piece, ...],
    useful: set[tuple[int, Modes]],
    steps: Sequence[tuple[tuple[int, Modes], Variant, tuple[int, Modes], tuple[int, int, int]]],
) -> list[tuple[tuple[int, Modes], Variant, tuple[int, Modes], tuple[int, int, int]]]:
    """Return the steps of trends that go on other than was read: they must not wait for another event."""
    read = {(source, base) for source, _, _, base in steps}
    gone = (MISREAD,) * len(trackers)
    return [
        (state, Variant(base[1], no_marks(trackers)), (base[2], gone), base)
        for base in machine.transitions
        for state in sorted(useful)
        if state[0] == base[0] != 0 and (state, base) not in read
    ]
