"""What was shared in a run: for each sub-pattern that queries have in common the bursts, and how they were done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass

from sparkleene.engine.bursts import Bursts
from sparkleene.engine.run import Evaluated
from sparkleene.plan.part import Part


@dataclass(frozen=True)
class BurstStats:
    """What became of the bursts of one set of types."""

    types: tuple[str, ...]
    queries: tuple[str, ...]  # that are evaluated together
    copies: int  # of parts of the machine that rows of these types act upon
    bursts: int
    shared: int  # bursts that at least some queries shared
    rows: int  # of all bursts
    shared_rows: int
    decisions: int  # that were made by cost, or as they were asked for
    matrices: int  # that were worked out, once for all their copies
    columns: int  # of these
    snapshots: int  # of copies that shared a burst

    def __str__(self) -> str:
        """Say it in a line."""
        kind = ", ".join(self.types)
        text = f"{kind}: {self.bursts:,} bursts of {self.rows:,} rows, {self.shared:,} shared"
        if not self.shared:
            return text
        return f"{text} with {self.shared_rows:,} rows, {self.snapshots:,} snapshots, {self.columns:,} columns"


class Stats(tuple[BurstStats, ...]):
    """The bursts of all sets of types, and which queries were evaluated together, or had one order of rows."""

    together: tuple[tuple[str, ...], ...]
    orders: tuple[tuple[str, ...], ...]

    def __new__(
        cls,
        bursts: Iterable[BurstStats] = (),
        together: Iterable[tuple[str, ...]] = (),
        orders: Iterable[tuple[str, ...]] = (),
    ) -> Stats:
        """Take what was counted, and the names of queries: of each automaton and each order that is of several."""
        made = super().__new__(cls, bursts)
        made.together, made.orders = tuple(together), tuple(orders)
        return made

    def __reduce__(self) -> tuple[type[Stats], tuple[tuple[BurstStats, ...], ...]]:
        """Survive pickling."""
        return type(self), (tuple(self), self.together, self.orders)  # type: ignore[return-value]

    def __str__(self) -> str:
        """Say it, a line for each automaton of several queries and for each set of types."""
        lines = [f"one order of rows: {', '.join(names)}" for names in self.orders if names not in self.together]
        lines += [f"one automaton: {', '.join(names)}" for names in self.together]
        return "\n".join([*lines, *map(str, self)]) or "no queries share an automaton"


class Tally:
    """What is counted in the evaluations of queries, one after the other, without holding on to their results."""

    def __init__(self) -> None:
        """Begin without any."""
        self._runs: dict[int, tuple[Part, Bursts | None]] = {}
        self._orders: dict[int, tuple[object, list[str]]] = {}  # what rows in one order have in common, and whose

    def add(self, name: str, evaluated: Evaluated) -> None:
        """Count the evaluation of a query; several may be of one part."""
        part, bursts, rows = evaluated.part, evaluated.bursts, evaluated.rows
        self._runs[id(bursts or part)] = part, bursts
        order = rows.order or (rows.tick if rows.rows is None else part)
        self._orders.setdefault(id(order), (order, []))[1].append(name)

    def stats(self) -> Stats:
        """Return what was counted."""
        found = count_bursts(self._runs.values())
        return Stats(found, found.together, [tuple(names) for _, names in self._orders.values() if len(names) > 1])


def count_bursts(runs: Iterable[tuple[Part, Bursts | None]]) -> Stats:
    """Gather what was counted in runs of parts."""
    runs = list(runs)
    together = dict.fromkeys(part.names for part, _ in runs if part.is_shared)
    return Stats([one for run in runs for one in _count_each(*run)], together)


def _count_each(part: Part, bursts: Bursts | None) -> Iterator[BurstStats]:
    if bursts is None:
        return
    for labels, copies, counter in zip(bursts.labels, bursts.copies, bursts.counter.tolist(), strict=True):
        bound = part.plan.bound
        types = tuple(dict.fromkeys(bound.labels[label].type for label in sorted(labels)))
        if any(counter):
            yield BurstStats(types, part.names, sum(map(len, copies.values())), *counter)


def add_stats(one: Stats, two: Stats) -> Stats:
    """Return what was counted in two runs of the same queries."""
    found: dict[tuple[object, ...], list[int]] = {}
    for stats in (*one, *two):
        types, queries, copies, *counter = astuple(stats)
        before = found.setdefault((types, queries, copies), [0] * len(counter))
        before[:] = [a + b for a, b in zip(before, counter, strict=True)]
    bursts = [BurstStats(*which, *counter) for which, counter in found.items()]  # type: ignore[arg-type]
    return Stats(bursts, dict.fromkeys(one.together + two.together), dict.fromkeys(one.orders + two.orders))
