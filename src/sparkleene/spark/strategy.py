"""How the rows of a query reach the kernels on Spark: the choice, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa

from sparkleene.engine.compose import combines
from sparkleene.engine.fields import Place
from sparkleene.engine.options import Options
from sparkleene.errors import suggest
from sparkleene.plan.plan import Plan

Strategy = Literal["shuffle", "combine"]

MEANING: dict[Strategy, str] = {
    "shuffle": "rows are shuffled by sub-stream and evaluated in the tasks that get them",
    "combine": "tasks turn the rows they have into matrices, which are shuffled and multiplied in order of time",
}


@dataclass(frozen=True)
class Choice:
    """A strategy and the reason for it, for people."""

    strategy: Strategy
    reason: str


def choose(plan: Plan, schema: pa.Schema, options: Options, asked: str | None, place: Place) -> Choice:
    """Choose a strategy, or check the one that is asked for."""
    if asked is not None and asked not in get_args(Strategy):
        help = suggest(asked, get_args(Strategy)) or f"choose one of {', '.join(get_args(Strategy))}"
        raise place.mistake("bad-option", f"strategy is '{asked}'", help=help)
    against = combines(plan, schema, options)
    if asked == "combine" and against is not None:
        message = f"this query cannot be combined before the shuffle: {against}"
        raise place.mistake("bad-option", message, help="leave strategy= out, or choose 'shuffle'")
    if asked is not None:
        return Choice(asked, "it was asked for")  # type: ignore[arg-type]
    if against is not None:
        return Choice("shuffle", against)
    if shuffle_keys(plan):
        return Choice("shuffle", "sub-streams have keys to spread them by")
    return Choice("combine", "there is no key to spread rows by, and stretches of time can be put together")


def shuffle_keys(plan: Plan) -> tuple[int, ...]:
    """Return the keys that rows are shuffled by: those that bind every row.

    Windows per trigger end where a trend of their group does, so there all of a group has to come together.
    """
    window = plan.bound.window
    if window is not None and window.slide is None:
        return tuple(k for k in plan.universal if k in plan.bound.group)
    return plan.universal
