"""Where the parts of a workload stand in a stream: which buckets are theirs, and which windows they serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparkleene.ongoing.tenure import Tenure
from sparkleene.plan.plan import Plan


class Standing(NamedTuple):
    """The place of a part among all that a checkpoint has, or has had."""

    rank: int = 0  # no two parts have the same
    turn: int = 0  # of parts without a key, each of which has its bucket in the next partition
    narrow: bool = False  # whether the ids of buckets are as for one partition
    tenure: Tenure | None = None  # where the workload may change
    names: tuple[str, ...] = ()  # of its queries, as the user calls them


def number_parts(keyed: Sequence[bool]) -> list[Standing]:
    """Return the standings of the first parts of a checkpoint, given which of them have a key to spread rows by.

    Those of later parts are not narrow. Their ranks are greater than all before, so their ids are as well: an id is
    never less than its rank, and of narrow parts it is the rank.
    """
    narrow = not any(keyed)
    turns = [i - sum(keyed[:i]) for i in range(len(keyed))]
    return [Standing(rank, turn, narrow) for rank, turn in enumerate(turns)]


def spread_keys(plan: Plan, update: bool) -> tuple[int, ...]:
    """Return the numbers of the keys by which rows are spread."""
    # In update mode a window's value is sent by one bucket, so all of its group is there.
    return tuple(k for k in plan.shuffle_keys if not update or k in plan.bound.group)
