"""What the language can say and no engine can do yet. Delete a line here when an engine can."""

from __future__ import annotations

from collections.abc import Callable

from sparkleene.errors import Place, Span
from sparkleene.language.bound import Bound

Find = Callable[[Bound], Span | None]


def _first(spans: list[Span]) -> Span | None:
    return spans[0] if spans else None


NOT_YET: dict[str, Find] = {
    "aggregates over each event once": lambda bound: _first([o.span for o in bound.outputs if o.each]),
    "distinct values of keys": lambda bound: _first([o.span for o in bound.outputs if o.distinct]),
}


def refuse_what_cannot_run(bound: Bound, place: Place) -> None:
    """Raise where a query asks for something that no engine can do yet."""
    for what, find in NOT_YET.items():
        if (span := find(bound)) is not None:
            raise place.mistake("not-yet", f"{what} cannot be evaluated yet", span)
