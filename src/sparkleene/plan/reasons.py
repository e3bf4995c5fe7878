"""Why a query is scanned: the condition or the rows that no better search can do."""

from __future__ import annotations

from sparkleene.plan.physical import search
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import term_to_text


def why_scanned(plan: Plan, tied: bool = False) -> str:
    """Say why each new event is compared with each stored one; empty if it is not, or if none is stored.

    >>> from sparkleene.language.bind import bind
    >>> from sparkleene.language.parser import parse
    >>> from sparkleene.plan.plan import plan
    >>> why_scanned(plan(bind(parse("RETURN COUNT(*) PATTERN S+ WHERE NEXT(S).x / S.x > 2"))))
    'NEXT(S).x / S.x > 2 does not separate the two events'
    """
    semantics, labels = plan.machine.semantics, plan.bound.labels
    if semantics == "contiguous" or plan.physical.kernel(tied) != "scan":
        return ""
    for pair in plan.pairs:
        before, after = labels[pair.before].name, labels[pair.after].name
        if pair.general:
            return f"{term_to_text(pair.general[0], before, after)} does not separate the two events"
        if search(pair, semantics) == "scan" and semantics == "skip-till-next-match":
            return f"between {before} and {after} there is more than one inequality, under {semantics}"
        if search(pair, semantics) == "scan":
            return f"between {before} and {after} there are more than two inequalities"
    return plan.physical.reason or "rows tie, and NOT moves trends where they do"
