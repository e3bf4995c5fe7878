"""Which trends count as a whole: by their first and last events, or because no other trend holds their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from sparkleene.language.bound import Adjacent, Bound, Term
from sparkleene.plan.lengths import allowed_lengths
from sparkleene.plan.predicates import Comparison, Pair, Threshold, pairs, sides

Choosing = Literal["", "queue", "divide and conquer", "maximal", "each start"]
"""How trends are chosen; empty where all that match count, or those of some lengths."""

CHOOSING: dict[Choosing, str] = {
    "queue": "starts leave a queue as time goes on: O(n)",
    "divide and conquer": "first and last events meet by divide and conquer over time",
    "maximal": "the furthest end of every start tells which rows no other trend holds: O(n)",
    "each start": "a pass for each first event: O(n^2)",
}


@dataclass(frozen=True)
class Choice:
    """What the first and the last event of a trend must satisfy, alone and together.

    The first comparisons of `both` are those that bound the duration: `durations` of them.
    """

    first: tuple[Term, ...]
    last: tuple[Term, ...]
    both: Pair
    durations: int
    maximal: bool
    lengths: tuple[bool, ...] = (True,)  # of maximal trends, those that count; see `allowed_lengths`

    def change(
        self,
        one: Callable[[Term], Term],
        comparison: Callable[[Comparison | Threshold], Comparison | Threshold],
        two: Callable[[Term], Term],
    ) -> Choice:
        """Return the same with other terms of one event, other comparisons and other terms of two events."""
        both = replace(
            self.both,
            comparisons=tuple(map(comparison, self.both.comparisons)),
            general=tuple(map(two, self.both.general)),
        )
        return replace(self, first=tuple(map(one, self.first)), last=tuple(map(one, self.last)), both=both)


def choose_trends(bound: Bound) -> Choice | None:
    """Return what the first and last events of trends must satisfy, None if that is nothing."""
    if not (bound.durations or bound.ends or bound.maximal):
        return None
    alone = {side: tuple(t for t in bound.ends if sides(t) <= {side}) for side in (0, 1)}
    together = [*bound.durations, *(t for t in bound.ends if len(sides(t)) > 1)]
    found = pairs([Adjacent(0, 0, term) for term in together])
    both = found[0] if found else Pair(0, 0, (), ())
    last = tuple(term for term in alone[1] if term not in alone[0])
    lengths = allowed_lengths(bound.lengths) if bound.maximal else (True,)
    return Choice(alone[0], last, both, len(dict.fromkeys(bound.durations)), bound.maximal, lengths)


def choosing_bound(choice: Choice, how: Choosing) -> str:
    """Return the bound on the time that a way of choosing takes for n events of a window."""
    if how == "divide and conquer":
        ordered = sum(one.op != "=" for one in choice.both.comparisons)
        return "O(n log n)" if ordered < 2 else "O(n log^2 n)"
    return "O(n^2)" if how == "each start" else "O(n)"


def choosing(choice: Choice, linear: bool) -> Choosing:
    """Return how trends are chosen, for a machine that stores no events or one that does."""
    if choice.maximal:
        return "maximal"
    if not linear or choice.both.general:
        return "each start"
    operators = [one.op for one in choice.both.comparisons[choice.durations :]]
    if not operators:
        return "queue"
    unequal = sum(op != "=" for op in operators) + choice.durations
    return "each start" if "!=" in operators or unequal > 2 else "divide and conquer"
