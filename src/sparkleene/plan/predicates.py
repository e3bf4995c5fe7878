"""Adjacent predicates: what separates into f(previous) op g(new), and what does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparkleene.language.ast import Comparison as Operator
from sparkleene.language.bound import Adjacent, Call, Term
from sparkleene.language.operators import FLIPPED, NEGATED
from sparkleene.language.trees import conjuncts, fields, map_fields


@dataclass(frozen=True)
class Comparison:
    """A separable comparison: `left` is of the earlier event alone, `right` of the later."""

    op: Operator
    left: Term
    right: Term


@dataclass(frozen=True)
class Pair:
    """All that must hold where an event labelled `before` is directly followed by one labelled `after`."""

    before: int
    after: int
    comparisons: tuple[Comparison, ...]
    general: tuple[Term, ...]  # conditions that do not separate

    def reverse(self) -> Pair:
        """Return the same for events that come in the opposite order."""
        comparisons = tuple(
            Comparison(FLIPPED[c.op], swap_events(c.right), swap_events(c.left)) for c in self.comparisons
        )
        return Pair(self.after, self.before, comparisons, tuple(map(swap_events, self.general)))


def swap_events(term: Term) -> Term:
    """Return a term with the two events exchanged."""
    return map_fields(term, lambda field: replace(field, side=0 if field.side else 1))


def sides(term: Term) -> frozenset[int]:
    """Return which of the two events a term speaks of."""
    return frozenset(field.side for field in fields(term))


def separate(term: Term) -> Comparison | None:
    """Return a term as a comparison between a term of the earlier event and one of the later, if it is that."""
    if not isinstance(term, Call):
        return None
    if term.op == "not" and (inner := separate(term.args[0])) is not None:
        return Comparison(NEGATED[inner.op], inner.left, inner.right)
    if term.op not in FLIPPED:
        return None
    left, right = term.args
    if 1 not in sides(left) and 0 not in sides(right):
        return Comparison(term.op, left, right)  # type: ignore[arg-type]
    if 0 not in sides(left) and 1 not in sides(right):
        return Comparison(FLIPPED[term.op], right, left)
    return None


def pairs(adjacent: Sequence[Adjacent]) -> tuple[Pair, ...]:
    """Gather the adjacent predicates by the two labels that they join."""
    found: dict[tuple[int, int], list[Term]] = {}
    for item in adjacent:
        found.setdefault((item.before, item.after), []).extend(conjuncts(item.condition))
    out = []
    for (before, after), conditions in found.items():
        separated = [(term, separate(term)) for term in dict.fromkeys(conditions)]
        comparisons = tuple(c for _, c in separated if c is not None)
        general = tuple(term for term, c in separated if c is None)
        out.append(Pair(before, after, comparisons, general))
    return tuple(out)
