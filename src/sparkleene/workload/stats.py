"""What was shared in a run: for each sub-pattern that queries have in common the bursts, and how they were done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sparkleene.engine.run import Evaluated


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
    """The bursts of all sets of types."""

    __slots__ = ()

    def __str__(self) -> str:
        """Say it, a line for each set of types."""
        return "\n".join(map(str, self)) or "no bursts: no queries share a machine that does them at once"


def gather_stats(evaluations: Iterable[Evaluated]) -> Stats:
    """Gather what was counted in evaluations, of which several may be of one part."""
    found = []
    runs = {id(each.bursts): (each.part, each.bursts) for each in evaluations}
    for part, bursts in runs.values():
        if bursts is None:
            continue
        for labels, copies, counter in zip(bursts.labels, bursts.copies, bursts.counter.tolist(), strict=True):
            bound = part.plan.bound
            types = tuple(dict.fromkeys(bound.labels[label].type for label in sorted(labels)))
            count = sum(map(len, copies.values()))
            if any(counter):
                found.append(BurstStats(types, part.names, count, *counter))
    return Stats(found)
