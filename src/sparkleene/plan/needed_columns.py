"""Which columns of the data a query reads."""

from __future__ import annotations

from sparkleene.language.bound import Bound, Drawn
from sparkleene.language.trees import fields


def needed_columns(bound: Bound) -> set[str]:
    """Return the top-level columns that predicates, keys and aggregates read."""
    terms = [term for terms in bound.local for term in terms]
    terms += [item.condition for item in bound.adjacent]
    terms += [*bound.durations, *bound.ends, *(term for _, term in bound.types or ())]
    terms += [one.term for one in bound.derived]
    terms += bound.window.conditions if isinstance(bound.window, Drawn) else ()
    paths = [field.path for term in terms for field in fields(term)]
    paths += [key.path for key in bound.keys]
    paths += [output.path for output in bound.outputs]
    paths += [piece.path for output in bound.outputs if output.measure for piece in output.measure.pieces]
    return {path[0] for path in paths if path} - {one.name for one in bound.derived}
