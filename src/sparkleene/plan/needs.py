"""Which columns of the data a query reads."""

from __future__ import annotations

from collections.abc import Iterator

from sparkleene.language.bound import Bound, Call, Field, Path, Term


def paths(term: Term) -> Iterator[Path]:
    """Yield the attributes that a term mentions."""
    if isinstance(term, Field):
        yield term.path
    elif isinstance(term, Call):
        for arg in term.args:
            yield from paths(arg)


def needs(bound: Bound) -> set[str]:
    """Return the top-level columns that predicates, keys and aggregates read."""
    terms = [term for terms in bound.local for term in terms]
    terms += [item.condition for item in bound.adjacent]
    terms += [term for _, term in bound.types or ()]
    found = {path[0] for term in terms for path in paths(term)}
    found |= {key.path[0] for key in bound.keys}
    return found | {output.path[0] for output in bound.outputs if output.path}
