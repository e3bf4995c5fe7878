"""Which sets of labels make bursts whose rows are done once for many copies, and the arrays that the kernel reads.

Labels that rows can have together are in one set. Sets are joined where the stream shows that their rows alternate
and the templates of both together are expected to save more than apart: a minimum cover of the patterns by common
sub-patterns, chosen greedily by the cost model that the kernel decides with for each burst.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.kernels.burst_arrays import BURST, CLOSED, COUNTERS, PRODUCT, STEP, BurstArrays
from sparkleene.kernels.program import Program
from sparkleene.plan.copies import Copies, Copy, CopyFinder, Template
from sparkleene.plan.plan import Plan

Labels = frozenset[int]

# Nanoseconds of a step of a row, a product, a shared burst, and a matrix in closed form, by number system; measured
# with benchmarks/workloads.py's bursts on one core of 2.5 GHz. Only their ratios matter.
COSTS = {
    "float64": (2.6, 6.0, 400.0, 30.0),
    "complex128": (4.7, 8.5, 400.0, 60.0),
    "uint64": (3.5, 10.0, 400.0, 100.0),
}
EXPECTED = 8.0  # rows of a burst, where no stream was seen
MOST_TRIALS = 16
NEVER = 1 << 62


@dataclass
class Bursts:
    """The sets of labels of a program, and what was counted while bursts of them ran."""

    labels: tuple[Labels, ...]
    graphlets: BurstArrays
    copies: tuple[Copies, ...]
    counter: Array
    forced: Array
    lock: Lock = field(default_factory=Lock)

    def with_costs(self, dtype: Any, columns: int, carried: int) -> BurstArrays:
        """Return the arrays with the costs of a number system, where a count carries this many sums and minima."""
        cost = _costs_of(np.dtype(dtype).name, columns, carried)
        worth = np.array([_worth(copies, cost, not carried) for copies in self.copies], np.int64)
        each = np.tile(cost, (self.graphlets.template.size, 1))
        if self.forced.size:  # groups of copies in turn, instead of by cost
            share = np.resize(self.forced, len(each)) != 0
            each[:, BURST] = np.where(share, -np.inf, np.inf)
            worth[:] = 0 if share.any() else NEVER
        return self.graphlets._replace(cost=each, worth=worth)

    def count(self, counter: Array) -> None:
        """Add what a kernel counted."""
        with self.lock:
            self.counter += counter


def find_bursts(plan: Plan, program: Program, symbol: Array, forced: bytes | None) -> Bursts | None:
    """Find the sets of labels of a program for a stream of symbols; None where there are none.

    Rows with a negated label are in no burst, for they move partial trends.
    """
    finder, negated = plan.copy_finder, plan.machine.negated
    moving = program.labels & np.uint64(negated) != 0
    there = ~moving
    if negated:  # ticks of several rows have symbols too
        there &= np.bincount(symbol, minlength=program.labels.size) > 0
    atoms = _atoms(program.labels[there])
    if not atoms:
        return None
    sets = tuple(_joined(finder, program, symbol, atoms))
    graphlets = _arrays(finder, sets, program, moving)
    given = np.frombuffer(forced or b"", np.uint8).copy()
    copies = tuple(finder.copies(labels) for labels in sets)
    return Bursts(sets, graphlets, copies, np.zeros((len(sets), COUNTERS), np.int64), given)


def _atoms(masks: Array) -> list[Labels]:
    """Return the labels of rows, those together that some row has together."""
    found: list[int] = []
    for mask in masks.tolist():
        if mask:
            apart = [other for other in found if not other & mask]
            for other in found:
                mask |= other if other & mask else 0
            found = [*apart, mask]
    return [frozenset(i for i in range(64) if mask >> i & 1) for mask in found]


def _joined(finder: CopyFinder, program: Program, symbol: Array, atoms: list[Labels]) -> list[Labels]:
    """Join sets of labels as long as that saves more, by what a sample of the stream shows."""
    sample = _sample(symbol)
    of = np.full(program.labels.size, -1, np.int64)
    for a, labels in enumerate(atoms):
        of[program.labels & _mask(labels) != 0] = a
    sequence = of[sample]
    sequence = sequence[sequence >= 0]
    count = len(atoms)
    rows = np.bincount(sequence, minlength=count)
    follows = np.bincount(sequence[:-1] * count + sequence[1:], minlength=count * count).reshape(count, count)
    often = follows + follows.T > 0.25 * np.minimum(rows[:, None], rows)
    near = [
        (int(follows[a, b] + follows[b, a]), a, b)
        for a, b in zip(*np.nonzero(np.triu(often, 1)), strict=True)
        if _adjacent(finder, atoms[a], atoms[b])
    ]
    if not near:
        return atoms
    seen = np.bincount(sample, minlength=program.labels.size)
    has = program.labels >> np.arange(program.off.size - 1, dtype=np.uint64)[:, None] & np.uint64(1)
    by_label = has.astype(np.float64) @ seen
    sets = {a: frozenset({a}) for a in range(count)}

    def labels_of(chosen: frozenset[int]) -> Labels:
        return frozenset().union(*(atoms[a] for a in chosen))

    def saved(chosen: frozenset[int]) -> float:
        inside = np.isin(sequence, list(chosen))
        edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
        return _saved(finder.copies(labels_of(chosen)), by_label, np.diff(edges)[::2])

    for _, a, b in sorted(near, reverse=True)[:MOST_TRIALS]:
        both = sets[a] | sets[b]
        if sets[a] != sets[b] and saved(both) > 1.1 * (saved(sets[a]) + saved(sets[b])):
            sets |= dict.fromkeys(both, both)
    return [labels_of(chosen) for chosen in dict.fromkeys(sets.values())]


def _sample(symbol: Array) -> Array:
    """Return the stream, or blocks from all over a long one."""
    blocks, size = 16, 4096
    if len(symbol) <= blocks * size:
        return symbol
    starts = np.linspace(0, len(symbol) - size, blocks).astype(np.int64)
    return np.concatenate([symbol[start : start + size] for start in starts.tolist()])


def _mask(labels: Labels) -> np.uint64:
    return np.uint64(sum(1 << label for label in labels))


def _adjacent(finder: CopyFinder, one: Labels, other: Labels) -> bool:
    """Tell whether some trend has an event of one set right before one of the other."""
    after = {d for _, label, d in finder.transitions if label in one}
    return any(s in after for s, label, _ in finder.transitions if label in other)


def _saved(copies: Copies, rows: Array, bursts: Array) -> float:
    """Return the nanoseconds that sharing is expected to save in bursts of these lengths."""
    total = 0.0
    for template, some in copies.items():
        for of in _groups(some):
            steps = sum(float(rows[of[0].labels[slot]]) for slot, _, _ in template.steps) / bursts.sum()
            apart, together = expected(template, len(of), steps * bursts)
            total += float(np.maximum(0.0, apart - together).sum())
    return total


def expected(template: Template, copies: int, steps: Any, sums: int = 0) -> tuple[Any, Any]:
    """Return what bursts of so many steps are expected to cost row by row, and shared, in nanoseconds."""
    step, product, burst, closed = _costs_of("complex128", 1, sums).tolist()
    width = template.inner + template.outer
    once = closed if _closed(template) and not sums else steps * width * step
    return copies * steps * step, burst + once + copies * template.inner * width * product


def pays_from(copies: Copies, sums: int = 0) -> int | None:
    """Return from how many rows on a burst is expected to be shared, with sums and minima; None for never."""
    found = _worth(copies, _costs_of("complex128", 1, sums), not sums)
    return None if found >= NEVER else found


def _costs_of(system: str, columns: int, sums: int) -> Array:
    """Return the costs of a number system for so many columns of a count and sums."""
    cost = np.array(COSTS[system])
    cost[[STEP, PRODUCT, CLOSED]] *= columns * (1 + sums)
    return cost


def _worth(copies: Copies, cost: Array, counts: bool) -> int:
    """Return the fewest rows of a burst for which sharing can pay."""
    step, product, burst, closed = cost.tolist()
    least = math.inf
    for template, some in copies.items():
        width = template.inner + template.outer
        steps = len(template.steps)  # of a row that fills all slots
        rest = burst + len(some) * template.inner * width * product
        if counts and _closed(template):
            gain, rest = len(some) * steps * step, rest + closed
        else:
            gain = (len(some) - width) * steps * step - 1.0
        if gain > 0:
            least = min(least, rest / gain)
    return NEVER if math.isinf(least) else math.ceil(least)


def _closed(template: Template) -> bool:
    return template.inner == 1 and template.slots == 1


def _groups(copies: Sequence[Copy]) -> list[list[Copy]]:
    """Part copies by their labels."""
    found: dict[tuple[int, ...], list[Copy]] = {}
    for copy in copies:
        found.setdefault(copy.labels, []).append(copy)
    return list(found.values())


def _arrays(finder: CopyFinder, sets: Sequence[Labels], program: Program, moving: Array) -> BurstArrays:
    """Write the templates and copies of all sets as arrays; those symbols that are `moving` are in none."""
    masks = program.labels
    set_of = np.where(moving, len(sets), -1).astype(np.int64)
    symbols: list[Array] = []
    templates: list[Template] = []
    groups: list[tuple[int, list[Copy]]] = []
    group_off = [0]
    for k, labels in enumerate(sets):
        here = np.flatnonzero((masks & _mask(labels) != 0) & ~moving)
        set_of[here] = k
        symbols.append(here)
        for template, copies in finder.copies(labels).items():
            groups += [(len(templates), some) for some in _groups(copies)]
            templates.append(template)
        group_off.append(len(groups))
    slots = max((template.slots for template in templates), default=1)
    label = np.zeros((len(groups), slots), np.int64)
    pattern = np.zeros((len(groups), masks.size), np.int64)
    weight = np.zeros((len(groups), masks.size), np.int64)
    for h, (t, some) in enumerate(groups):
        by_slot = np.bincount([slot for slot, _, _ in templates[t].steps], minlength=slots)
        for slot, one in enumerate(some[0].labels):
            label[h, slot] = one
            has = (masks >> np.uint64(one) & np.uint64(1)).astype(np.int64)
            pattern[h] |= has << slot
            weight[h] += has * by_slot[slot]
    every = [copy for _, some in groups for copy in some]
    inner, outer = (np.array([getattr(t, name) for t in templates], np.int64) for name in ("inner", "outer"))
    state = np.zeros((len(every), max(inner, default=1)), np.int64)
    input_off = np.zeros((len(every), max(outer, default=0) + 1), np.int64)
    inputs: list[int] = []
    for c, copy in enumerate(every):
        state[c, : len(copy.states)] = copy.states
        for x, of in enumerate(copy.inputs):
            input_off[c, x] = len(inputs)
            inputs += of
        input_off[c, len(copy.inputs) :] = len(inputs)
    return BurstArrays(
        set_of,
        _offsets([len(some) for some in symbols]),
        np.concatenate(symbols).astype(np.int64),
        np.array(group_off, np.int64),
        np.array([t for t, _ in groups], np.int64),
        inner,
        outer,
        np.array([_closed(template) for template in templates], np.bool_),
        _offsets([len(template.steps) for template in templates]),
        np.array([step for template in templates for step in template.steps], np.int64).reshape(-1, 3),
        label,
        pattern,
        weight,
        _offsets([len(some) for _, some in groups]),
        state,
        input_off,
        np.array(inputs, np.int64),
        *_actions(program),
        np.zeros(len(sets), np.int64),
        np.zeros((len(groups), 4)),
    )


def _actions(program: Program) -> tuple[Array, Array, Array, Array]:
    """Return per symbol whether states can be changed one after the other, the order, and what each takes."""
    direct = np.zeros(program.labels.size, np.bool_)
    off, act = [0], []
    source: list[int] = []
    for y, mask in enumerate(program.labels.tolist()):
        before: dict[int, list[int]] = {}
        for label in range(program.off.size - 1):
            if mask >> label & 1:
                some = slice(program.off[label], program.off[label + 1])
                for s, d in zip(program.src[some].tolist(), program.dst[some].tolist(), strict=True):
                    before.setdefault(d, []).append(s)
        order = _downstream(before)
        direct[y] = order is not None
        for d in order or ():
            act.append((d, len(source), len(source) + len(before[d])))
            source += before[d]
        off.append(len(act))
    return direct, np.array(off, np.int64), np.array(act, np.int64).reshape(-1, 3), np.array(source, np.int64)


def _downstream(before: dict[int, list[int]]) -> list[int] | None:
    """Order states so that each comes after those that it leads to, None if they go in a circle."""
    waiting = {d: {s for s in some if s in before and s != d} for d, some in before.items()}
    after: dict[int, set[int]] = {d: set() for d in before}
    for d, some in waiting.items():
        for s in some:
            after[s].add(d)
    ready = [d for d, some in after.items() if not some]
    out = []
    while ready:
        d = ready.pop()
        out.append(d)
        for s in waiting[d]:
            after[s].discard(d)
            if not after[s]:
                ready.append(s)
    return out if len(out) == len(before) else None


def _offsets(sizes: Sequence[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
