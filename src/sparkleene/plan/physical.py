"""Which algorithm runs. This is the only place that chooses it: the engine runs it, and explain prints it.

It is chosen from the plan, once for data in which rows of a sub-stream have equal times and once for data without.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from sparkleene.language.ast import Semantics
from sparkleene.language.bound import Bound
from sparkleene.plan.machine import Machine
from sparkleene.plan.predicates import Pair
from sparkleene.plan.whole_trends import Choosing, choosing

if TYPE_CHECKING:
    from sparkleene.plan.plan import Plan

Kernel = Literal["linear", "queue", "trees", "divide", "heap", "scan"]
"""A compiled loop: without stored events, or over one of five stores of them."""

Search = Literal[
    "queue", "hash", "tree", "two trees", "hash of trees", "divide and conquer", "heap", "label", "scan"
]
"""How a new event finds the earlier events that it can extend."""

COMPLEXITY: dict[Search, str] = {
    "hash": "O(n log n) to group, then O(1) an event",
    "tree": "O(n log n)",
    "two trees": "O(n log n)",
    "hash of trees": "O(n log n)",
    "divide and conquer": "O(n log^2 n)",
    "heap": "O(n log n), each event leaves once",
    "queue": "O(n), events come in order of time",
    "label": "O(n)",
    "scan": "O(n^2), a compiled scan of the stored events",
}

MOST_LABELS = 62  # of a row, with one more for each pair of neighbours that is compared


@dataclass(frozen=True)
class Physical:
    """How a machine is run."""

    untied: Kernel  # where no two rows of a sub-stream are of one time
    tied: Kernel  # where some are
    searches: tuple[Search, ...]  # for each pair of the plan
    reason: str  # why some pair's own search cannot be used, empty if all are
    side_by_side: bool  # whether windows that overlap share one pass over the stored events
    bursts: bool  # whether runs of rows are done once for all copies of a part of the machine
    chooses: tuple[Choosing, Choosing] = ("", "")  # how trends are chosen as a whole, without ties and with them
    observes: bool = False  # whether what holds between neighbouring rows becomes labels, where none tie

    def kernel(self, tied: bool) -> Kernel:
        """Return the kernel for rows that tie or do not."""
        return self.tied if tied else self.untied


def physical(plan: Plan, machine: Machine) -> Physical:
    """Choose how a machine of a plan is run: the plan's own, or another over the same labels."""
    made = _physical(plan, machine)
    if plan.whole is None:
        return made
    untied, tied = (choosing(plan.whole, kernel == "linear") for kernel in (made.untied, made.tied))
    return replace(made, chooses=(untied, tied), side_by_side=False, bursts=False)


def _physical(plan: Plan, machine: Machine) -> Physical:
    """Choose the kernel of a machine."""
    used = {pair for s, by, _ in machine.transitions if (pair := plan.pair_between(machine, s, by)) >= 0}
    pairs = [plan.pairs[p] for p in sorted(used)]
    # A momentary machine only tells whether there are trends.
    lows = not machine.momentary and any(out.function in ("min", "max") for out in plan.bound.outputs)
    marked = bool(plan.aggregates.trackers) or any(total.chained for total in plan.aggregates.totals)
    grows = machine.semantics == "skip-till-any-match" and not machine.momentary  # but where NOT moves trends
    bursts = machine.per_query and not pairs and grows and not marked
    bursts = bursts and not plan.bound.per_trigger  # whose windows end within bursts
    own = tuple(search(pair, machine.semantics) for pair in plan.pairs)
    if not pairs:
        return Physical("linear", "linear", own, "", False, bursts)
    if machine.semantics == "contiguous":
        labels = len(plan.bound.labels) + len(plan.pairs)
        if labels > MOST_LABELS:
            reason = "there are too many labels to give each pair of neighbours one"
            return Physical("scan", "scan", tuple("scan" for _ in own), reason, False, False)
        return Physical("linear", "scan", own, "", False, False, observes=True)
    store = _Store(plan, machine)
    untied, reason = _choose(pairs, store, _masks(plan.bound, machine.negated, tied=False))
    tied, _ = _choose(pairs, store, _masks(plan.bound, machine.negated, tied=True))
    searches: dict[Kernel, Search] = {"queue": "queue", "divide": "divide and conquer", "scan": "scan"}
    chosen = own if untied not in searches else tuple(searches[untied] for _ in own)
    return Physical(untied, tied, chosen, reason, untied == "trees" and not lows, False)


def search(pair: Pair, semantics: Semantics) -> Search:
    """Return the best way to find the earlier events for one pair by itself, whatever is compared."""
    if semantics == "contiguous":
        return "label"
    equal, unequal, ordered = _counts(pair)
    if pair.general or ordered + unequal > 2:
        return "scan"
    if semantics == "skip-till-next-match":
        return "heap" if (equal, unequal, ordered) == (0, 0, 1) else "scan"
    if ordered + unequal == 2:
        return "divide and conquer"
    if unequal:
        return "two trees"
    if ordered == 1:
        return "hash of trees" if equal else "tree"
    return "hash"


def _counts(pair: Pair) -> tuple[int, int, int]:
    """Return how many comparisons of a pair are `=`, `!=`, and inequalities."""
    operators = [comparison.op for comparison in pair.comparisons]
    equal, unequal = operators.count("="), operators.count("!=")
    return equal, unequal, len(operators) - equal - unequal


def _choose(pairs: Sequence[Pair], store: _Store, masks: Sequence[int]) -> tuple[Kernel, str]:
    """Return the kernel that runs, and the reason if it is not the one for these pairs."""
    semantics = store.machine.semantics
    rows = [store.machine.keep(mask, extended=False) for mask in masks]
    gaps = semantics == "skip-till-any-match" and all(pair.is_gap for pair in pairs)
    if gaps and not _moves_queues(store, rows):
        return "queue", ""
    return _possible(_kernel(pairs, semantics), store, masks)


def _kernel(pairs: Sequence[Pair], semantics: Semantics) -> Kernel:
    """Return the kernel that can do all searches of comparisons of any kind, if the machine lets it."""
    searches = {search(pair, semantics) for pair in pairs}
    if "scan" in searches:
        return "scan"
    if "heap" in searches:
        return "heap"
    return "divide" if "divide and conquer" in searches else "trees"


def _masks(bound: Bound, negated: int, tied: bool) -> list[int]:
    """Return the sets of forbidden labels that one tick can have."""
    kinds: dict[str, list[int]] = {}
    for i, label in enumerate(bound.labels):
        if negated >> i & 1:
            together = "" if tied or bound.types is not None else label.type
            kinds.setdefault(together, []).append(i)
    found = {0}
    for labels in kinds.values():
        for size in range(1, len(labels) + 1):
            found |= {sum(1 << i for i in chosen) for chosen in combinations(labels, size)}
    return sorted(found)


class _Store:
    """The states of a machine whose events are stored, and the pairs on the steps out of them."""

    def __init__(self, plan: Plan, machine: Machine) -> None:
        self.machine = machine
        self.pairs: dict[int, set[int]] = {}  # by the places of their conditions
        self.labels: dict[int, set[int]] = {s: set() for s in range(len(machine.states))}
        for s, by, _ in machine.transitions:
            self.labels[s].add(by)
            if (pair := plan.pair_between(machine, s, by)) >= 0:
                self.pairs.setdefault(s, set()).add(plan.condition_of[pair])


def _possible(wanted: Kernel, store: _Store, masks: Iterable[int]) -> tuple[Kernel, str]:
    """Return the kernel that is wanted, or the scan and the reason why it has to be that."""
    if wanted == "scan":
        return "scan", ""
    rows = [store.machine.keep(mask, extended=False) for mask in masks]
    reason = _disorder(store, rows)
    if not reason and wanted == "divide" and any(row[s] != s for row in rows for s in store.pairs):
        reason = "NOT moves stored events, which divide and conquer cannot"
    if not reason and wanted == "heap":
        reason = _no_heap(store, rows)
    return ("scan", reason) if reason else (wanted, "")


def _disorder(store: _Store, rows: Sequence[Sequence[int]]) -> str:
    """Say why the moves of a tick cannot be done state by state, empty if they can."""
    for row in rows:
        for s, target in enumerate(row):
            if target != s and target in store.pairs and s not in store.pairs:
                return "NOT moves trends into a state whose events are stored"
            steps, at = 0, s
            while at >= 0 and row[at] != at and steps <= len(row):
                steps, at = steps + 1, row[at]
            if steps > len(row):
                return "NOT moves trends in a circle of states"
    return ""


def _moves_queues(store: _Store, rows: Sequence[Sequence[int]]) -> bool:
    """Tell whether stored events move, which queues cannot do but to drop them."""
    moved = {(s, target) for row in rows for s, target in enumerate(row) if s != target}
    return bool(_disorder(store, rows)) or any(s in store.pairs and target in store.pairs for s, target in moved)


def _no_heap(store: _Store, rows: Sequence[Sequence[int]]) -> str:
    """Say why a heap for each state cannot hold the stored events, empty if it can."""
    pairs, machine = store.pairs, store.machine
    if any(len(found) > 1 for found in pairs.values()):
        return "two predicates leave one state, which a heap cannot order"
    for row in rows:
        for s, target in enumerate(row):
            if s in pairs and target in pairs and pairs[s] != pairs[target]:
                return "NOT moves events between heaps of different orders"
    leave = {label: machine.leave(label) for labels in store.labels.values() for label in labels}
    for s, labels in store.labels.items():
        reached = {s}
        for _ in labels:
            reached |= {leave[label][t] for t in reached if t >= 0 for label in labels}
        reached.discard(-1 if s in pairs else s)
        first = {leave[label][s] for label in labels} if s in pairs else set()
        # What is extended may go to one state without predicates, whatever the labels.
        if len(first) > 1 or (s in pairs and reached - {s} - first) or s in first:
            return "what is left of a trend after it was extended goes to several states"
        if (reached - {s}) & pairs.keys():
            return "what is left of a trend after it was extended is stored again"
    return ""
