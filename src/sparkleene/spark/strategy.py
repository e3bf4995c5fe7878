"""How the rows of a query reach the kernels on Spark: the choice, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import pyarrow as pa

from sparkleene.columns.reading import EngineOptions
from sparkleene.errors import Place, suggest
from sparkleene.language.bound import Path
from sparkleene.ongoing.compose import why_not_combined
from sparkleene.plan.plan import Plan

if TYPE_CHECKING:
    from sparkleene.spark.request import Request

Strategy = Literal["shuffle", "combine", "sort"]

MEANING: dict[Strategy, str] = {
    "shuffle": "rows are brought together by sub-stream and evaluated there",
    "combine": "tasks turn the rows they read into matrices, which are multiplied in order of time",
    "sort": "as shuffle, but Spark sorts the rows, on disk if need be, and they are evaluated as they come",
}


LARGE = 24  # states from which on a vector over the rows costs less than matrices


@dataclass(frozen=True)
class Choice:
    """A strategy and the reason for it, for people."""

    strategy: Strategy
    reason: str


def choose_strategy(
    plan: Plan,
    schema: pa.Schema,
    options: EngineOptions,
    asked: str | None,
    place: Place,
    ordered: bool | None = None,
) -> Choice:
    """Choose a strategy, or check the one that is asked for.

    `ordered` tells whether the parts of the input lie apart in time, None where nobody knows.
    """
    known = get_args(Strategy)
    if asked is not None and asked not in known:
        help = suggest(asked, known) or f"choose one of {', '.join(known)}"
        raise place.mistake("bad-option", f"strategy is '{asked}'", help=help)
    against = why_not_combined(plan, schema, options)
    if against is None and ordered is False:
        against = "the files' row groups overlap in time, or do not say what times they hold"
    if asked == "combine" and against is not None:
        message = f"this query cannot be combined before the shuffle: {against}"
        raise place.mistake("bad-option", message, help="leave strategy= out, or choose 'shuffle'")
    if asked is not None:
        return Choice(asked, "it was asked for")  # type: ignore[arg-type]
    if against is not None:
        return Choice("shuffle", against)
    states = len(plan.machine.states)
    if states > LARGE:
        return Choice("shuffle", f"matrices of {states} states are larger than the rows they stand for")
    if ordered:
        return Choice("combine", "the files' row groups follow each other in time")
    if plan.shuffle_keys:
        return Choice("shuffle", "keys spread the rows, and nobody knows whether the input is in order of time")
    return Choice("combine", "there is no key to spread rows by, and stretches of time can be put together")


class Family(NamedTuple):
    """Requests that are evaluated over one table, and how."""

    choice: Choice
    requests: list[Request]


def find_families(requests: Sequence[Request], choices: Sequence[Choice]) -> list[Family]:
    """Put parts of a workload together that can be evaluated over one table.

    Rows are spread by the keys that all of a family have in common. Matrices are of one plan, so a part that is
    combined before the shuffle stays by itself; rows are sorted by the keys of all, which then have to be the same.
    """
    found: list[Family] = []
    common: list[frozenset[Path]] = []
    for request, choice in zip(requests, choices, strict=True):
        keys, strategy = frozenset(request.keys), choice.strategy
        for at, family in enumerate(found):
            fits = keys == common[at] or (strategy == "shuffle" and keys & common[at])
            if fits and family.choice.strategy == strategy != "combine" and request.shares:
                family.requests.append(request)
                common[at] &= keys
                break
        else:
            found.append(Family(choice, [request]))
            common.append(keys)
    return found


def in_order(spans: Sequence[tuple[Any, Any] | None]) -> bool:
    """Tell whether stretches of time, each from its least to its greatest, at most touch.

    >>> in_order([(5, 9), (1, 5)]), in_order([(1, 5), (4, 9)]), in_order([(1, 5), None])
    (True, False, False)
    """
    known = [span for span in spans if span is not None]
    known.sort()
    apart = all(one[1] <= other[0] for one, other in pairwise(known))
    return apart and len(known) == len(spans)
