"""Which columns of the data a query reads."""

from __future__ import annotations

from sparkleene.language.bound import Bound
from sparkleene.language.trees import fields


def needed_columns(bound: Bound) -> set[str]:
    """Return the top-level columns that predicates, keys and aggregates read."""
    terms = [term for terms in bound.local for term in terms]
    terms += [item.condition for item in bound.adjacent]
    terms += [term for _, term in bound.types or ()]
    found = {field.path[0] for term in terms for field in fields(term)}
    found |= {key.path[0] for key in bound.keys}
    return found | {output.path[0] for output in bound.outputs if output.path}
