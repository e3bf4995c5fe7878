"""Which queries are finer than which: the edges of the cube (the 2016 survey, section 4).

- *Concept*: the same pattern with each type, positive or negated, at or below the other's, and one of them below.
  For negated types too the level is that of the type, as in the survey's q4 (NOT Dallas), which is coarser than its
  q7 (NOT DBusStation), although the finer NOT forbids less and lets more trends pass.
- *Pattern*: further parts are put into a SEQ; a pattern without SEQ is one of a single part. A NOT is a part too.
- *Concept and pattern*: both at once.

Only patterns are compared, by their types: labels, conditions, windows and results may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sparkleene.language.ast import And, Atom, Not, Or, Pattern, Repeat, Seq
from sparkleene.olap.hierarchy import Hierarchy

Kind = Literal["concept", "pattern", "concept, pattern"]


@dataclass(frozen=True)
class Refinement:
    """A query that is finer than another, with none in between."""

    finer: str
    coarser: str
    kind: Kind


def find_refinements(patterns: Mapping[str, Pattern], hierarchy: Hierarchy) -> tuple[Refinement, ...]:
    """Return which patterns refine which, directly.

    >>> from sparkleene.language.build import part
    >>> texts = {"q1": "SEQ(Texas, Bus)", "q2": "SEQ(Dallas, Bus)", "q3": "SEQ(Dallas, Train, Bus)"}
    >>> found = find_refinements({q: part(text) for q, text in texts.items()}, Hierarchy({"Dallas": "Texas"}))
    >>> [(each.finer, each.coarser, each.kind) for each in found]
    [('q2', 'q1', 'concept'), ('q3', 'q2', 'pattern')]
    """
    found = {
        (a, b): how
        for a, fine in patterns.items()
        for b, coarse in patterns.items()
        if a != b and (how := find_kind(fine, coarse, hierarchy)) is not None
    }
    return tuple(
        Refinement(a, b, how)
        for (a, b), how in found.items()
        if not any((a, c) in found and (c, b) in found for c in patterns)
    )


def find_kind(fine: Pattern, coarse: Pattern, hierarchy: Hierarchy) -> Kind | None:
    """Return how a pattern is finer than another, None if it is not."""

    def same(a: str, b: str) -> bool:
        return a == b

    def below(a: str, b: str) -> bool:
        return a in hierarchy.below(b)

    if fits(fine, coarse, same, False):
        return None
    if fits(fine, coarse, below, False):
        return "concept"
    if fits(fine, coarse, same, True):
        return "pattern"
    return "concept, pattern" if fits(fine, coarse, below, True) else None


def fits(fine: Pattern, coarse: Pattern, matches: Callable[[str, str], bool], more: bool) -> bool:
    """Tell whether patterns are the same but for their types, which match, and with `more` for further parts."""
    match fine, coarse:
        case Atom(), Atom():
            return matches(fine.type, coarse.type)
        case Repeat(), Repeat():
            same = (fine.low, fine.high) == (coarse.low, coarse.high)
            return same and fits(fine.pattern, coarse.pattern, matches, more)
        case Not(), Not():
            return fits(fine.pattern, coarse.pattern, matches, more)
        case (Or(options), Or(others)) | (And(options), And(others)):
            paired = len(options) == len(others)
            return paired and all(fits(a, b, matches, more) for a, b in zip(options, others, strict=True))
        case (Seq(), _) | (_, Seq()):
            left = list(list_parts(fine))
            for part in list_parts(coarse):
                while left and not fits(left[0], part, matches, more):
                    if not more:
                        return False
                    left.pop(0)
                if not left:
                    return False
                left.pop(0)
            return more or not left
    return False


def list_parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the parts of a SEQ, those of a SEQ inside of it one by one; any other pattern is one part.

    >>> from sparkleene.language.build import part
    >>> len(list_parts(part("SEQ(A, SEQ(B, C+))"))), len(list_parts(part("A OR B")))
    (3, 1)
    """
    if not isinstance(pattern, Seq):
        return (pattern,)
    return tuple(part for each in pattern.parts for part in list_parts(each))
