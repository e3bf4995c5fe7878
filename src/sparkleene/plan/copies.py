"""Parts of a machine that do the same: what rows of some labels do to one, they do to all of its copies.

Take the transitions of a set of labels alone. The machine then falls apart: states that some transition leads to,
connected with each other, are a *core*; the states before them, which such rows do not change, are its inputs.
Cores of the same shape are copies of one template. Where patterns of several queries have a sub-pattern in common,
at any place, the machine has as many copies of it as there are contexts, and the effect of a run of rows on all of
them is one small matrix: the snapshots of A-Seq's chop-connect and the graphlets of HAMLET.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Step = tuple[int, int, int]  # slot or label, from where, where to


@dataclass(frozen=True)
class Template:
    """A core with its states numbered, inputs after them; labels are slots that each copy fills with its own."""

    inner: int
    outer: int
    slots: int
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Copy:
    """Where a template is in a machine."""

    labels: tuple[int, ...]  # of its slots
    states: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]  # states that are added up


Copies = Mapping[Template, Sequence[Copy]]


@dataclass
class CopyFinder:
    """The transitions of a machine, and the copies found so far."""

    transitions: Sequence[tuple[int, int, int]]  # from where, label, where to
    types: Sequence[int]  # a number for the type of each label
    found: dict[frozenset[int], Copies] = field(default_factory=dict)

    def copies(self, labels: frozenset[int]) -> Copies:
        """Return the templates of a set of labels, with their copies.

        >>> machine = [(0, 0, 1), (1, 2, 2), (2, 2, 2), (0, 1, 3), (3, 2, 4), (4, 2, 4)]  # SEQ(a, t+), SEQ(b, t+)
        >>> for template, copies in CopyFinder(machine, [0, 1, 2]).copies(frozenset({2})).items():
        ...     print(template.steps, [(copy.inputs, copy.states) for copy in copies])
        ((0, 0, 0), (0, 1, 0)) [(((1,),), (2,)), (((3,),), (4,))]
        """
        if labels not in self.found:
            self.found[labels] = self._copies(labels)
        return self.found[labels]

    def _copies(self, labels: frozenset[int]) -> Copies:
        steps = [(label, s, d) for s, label, d in self.transitions if label in labels]
        targets = {d for _, _, d in steps}
        root = {d: d for d in targets}

        def find(s: int) -> int:
            while root[s] != s:
                root[s] = root[root[s]]
                s = root[s]
            return s

        for _, s, d in steps:
            if s in targets:
                root[find(s)] = find(d)
        cores: dict[int, list[Step]] = {}
        for step in steps:
            cores.setdefault(find(step[2]), []).append(step)
        out: dict[Template, list[Copy]] = {}
        for core in cores.values():
            template, copy = self._shape(core, targets)
            out.setdefault(template, []).append(copy)
        return {template: sorted(copies, key=lambda copy: copy.labels) for template, copies in out.items()}

    def _shape(self, core: Sequence[Step], targets: set[int]) -> tuple[Template, Copy]:
        """Bring a core into a form that its copies share; where that fails they only do not share."""
        feeds: dict[int, list[tuple[int, int]]] = {}
        for label, s, d in core:
            if s not in targets:
                feeds.setdefault(s, []).append((label, d))
        alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for s, fed in feeds.items():
            alike.setdefault(tuple(sorted(fed)), []).append(s)
        inside = [step for step in core if step[1] in targets]
        colour = dict.fromkeys((d for _, _, d in core), 0)
        shade = {label: self.types[label] for label, _, _ in core}
        for _ in range(3):
            around: dict[int, list[tuple[int, int, int]]] = {d: [] for d in colour}
            used: dict[int, list[tuple[int, int]]] = {label: [] for label in shade}
            for label, s, d in inside:
                around[s].append((0, shade[label], colour[d]))
                around[d].append((1, shade[label], colour[s]))
                used[label].append((colour[s], colour[d]))
            for to in alike:
                for label, d in to:
                    around[d].append((2, shade[label], len(to)))
                    used[label].append((-1, colour[d]))
            colour = {d: hash((colour[d], *sorted(around[d]))) for d in colour}
            shade = {label: hash((shade[label], *sorted(used[label]))) for label in shade}
        states = sorted(colour, key=lambda d: (colour[d], d))
        slots = sorted(shade, key=lambda label: (shade[label], label))
        place = {d: i for i, d in enumerate(states)}
        slot = {label: i for i, label in enumerate(slots)}
        inputs = sorted(alike, key=lambda to: sorted((slot[label], place[d]) for label, d in to))
        steps = [(slot[label], place[s], place[d]) for label, s, d in inside]
        steps += [(slot[label], len(states) + i, place[d]) for i, to in enumerate(inputs) for label, d in to]
        template = Template(len(states), len(inputs), len(slots), tuple(sorted(steps)))
        return template, Copy(tuple(slots), tuple(states), tuple(tuple(alike[to]) for to in inputs))
