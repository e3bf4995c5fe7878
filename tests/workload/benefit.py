"""HAMLET's benefit model: what a burst costs shared and not, and which queries share it (2021, sections 3 and 4).

This is the model as published, in accesses to events. The engine decides by the same comparison with costs that
were measured (`COSTS` in engine/bursts.py, `pays` in kernels/bursts.py), for each class of copies that see
the same rows; `choose` takes those costs as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeVar

Q = TypeVar("Q")
Cost = Callable[[frozenset[Q]], float]
"""What a plan costs: the queries given share the burst, each of the others does it by itself."""


@dataclass(frozen=True)
class Snapshots:
    """Variables with a value per query."""

    propagated: int = 0  # s_p: through the events of the burst
    created: int = 0  # s_c: from the burst

    def __add__(self, other: Snapshots) -> Snapshots:
        return Snapshots(self.propagated + other.propagated, self.created + other.created)


@dataclass(frozen=True)
class Burst:
    """Consecutive events of a type that queries repeat, with the letters of table 2.

    >>> first = Burst(b=4, n=7, g=4, t=2)
    >>> first.apart(k=2), first.shared(2, Snapshots(1, 1)), first.benefit(2, Snapshots(1, 1))
    (56, 44, 12)
    """

    b: int  # events of the burst
    n: int  # events of the window
    g: int  # events of a graphlet
    t: int  # types of a query

    def apart(self, k: int) -> int:
        """NonShared of equation 7; of equation 4 if the burst is the whole window."""
        return k * self.b * self.n

    def shared(self, k: int, snapshots: Snapshots) -> int:
        """Shared of equation 7; of equation 6 if the burst is the whole window."""
        return self.b * self.n * snapshots.propagated + snapshots.created * k * self.g * self.t

    def benefit(self, k: int, snapshots: Snapshots) -> int:
        """Benefit of equation 7: sharing pays if it is positive."""
        return self.apart(k) - self.shared(k, snapshots)


def plan_cost(burst: Burst, common: Snapshots, own: Mapping[Q, Snapshots]) -> Cost[Q]:
    """Return the cost of plans by equation 7: queries that share have some snapshots in common, and add their own.

    >>> cost = plan_cost(Burst(b=4, n=7, g=1, t=2), Snapshots(1, 1), {1: Snapshots(), 2: Snapshots(1, 1)})
    >>> cost(frozenset()), cost(frozenset({1, 2}))
    (56, 64)
    """

    def cost(sharing: frozenset[Q]) -> float:
        apart = burst.apart(len(own) - len(sharing))
        if not sharing:
            return apart
        return burst.shared(len(sharing), sum((own[q] for q in sharing), common)) + apart

    return cost


def choose(queries: Collection[Q], introduces: AbstractSet[Q], cost: Cost[Q]) -> frozenset[Q]:
    """Return the queries that share a burst, none if sharing does not pay, by m + 3 plans of all 2^k.

    Queries that introduce no snapshots share (theorem 4.3). Each of the m that do shares if the plan of all queries
    costs no more than the one without it (theorem 4.5). That costs least where these theorems hold, that is, where
    it depends on the query alone whether it is better shared; so it is if costs add up, as those of the engine do,
    and by equation 7 if all values of snapshots together cost no more than a query by itself, s_c k g t <= b n.

    >>> price = {1: 0, 2: 4, 3: 0, 4: 9}  # of sharing; a query by itself costs 5
    >>> def cost(sharing):
    ...     return 5 * (4 - len(sharing)) + 5 * bool(sharing) + sum(price[q] for q in sharing)
    >>> sorted(choose(price, {2, 4}, cost))
    [1, 2, 3]
    """
    every = frozenset(queries)
    whole = cost(every)
    kept = frozenset(q for q in every if q not in introduces or whole <= cost(every - {q}))
    return kept if cost(kept) < cost(frozenset()) else frozenset()
