"""Conditions on the length of trends: which numbers of events satisfy them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparkleene.language.bound import Call, Literal_, Term
from sparkleene.language.operators import RELATIONS
from sparkleene.language.trees import walk_term


def longest_length(terms: Iterable[Term]) -> int:
    """Return a length from which on conditions no longer change."""
    numbers = [abs(part.value) for term in terms for part in walk_term(term) if isinstance(part, Literal_)]  # type: ignore[arg-type]
    return int(max(numbers)) + 1 if numbers else 0


def allowed_lengths(terms: tuple[Term, ...]) -> tuple[bool, ...]:
    """Return for 0, 1, 2 and so on whether trends of that length count; the last is for all longer ones.

    >>> from sparkleene.language.bound import LENGTH, Field
    >>> allowed_lengths((Call("=", (Field(LENGTH), Literal_(2))),))
    (False, False, True, False)
    """
    allowed = [all(_value(term, n) for term in terms) for n in range(longest_length(terms) + 1)]
    allowed[0] = allowed[min(1, len(allowed) - 1)]  # there is no empty trend
    while len(allowed) > 1 and allowed[-1] == allowed[-2]:
        allowed.pop()
    return tuple(allowed)


def _value(term: Term, length: int) -> Any:
    """Evaluate a condition, or a side of a comparison, for a length."""
    if isinstance(term, Literal_):
        return term.value
    if not isinstance(term, Call):
        return length
    values = [_value(arg, length) for arg in term.args]
    if term.op in RELATIONS:
        return RELATIONS[term.op](*values)
    if term.op == "neg":
        return -values[0]
    if term.op == "not":
        return not values[0]
    return all(values) if term.op == "and" else any(values)
