"""What `explain` says of conditions on whole trends."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkleene.language.bound import Call, Term
from sparkleene.plan.lengths import allowed_lengths
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import term_to_text
from sparkleene.plan.whole_trends import CHOOSING, choosing_bound

_NAME = r"((?:`[^`]*`|[\w.])+)"


def explain_whole(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield the conditions on whole trends, and how trends are chosen."""
    bound = plan.bound
    if bound.maximal:
        yield "whole trend", "", "maximal: its rows are not a proper part of another trend's"
    for term in bound.lengths:
        yield "whole trend", "", term_to_text(term)
    if bound.lengths and not bound.maximal:
        yield "", "", f"the machine counts up to {len(allowed_lengths(bound.lengths)) - 1} events of a trend"
    for term in (*bound.durations, *bound.ends):
        yield "whole trend", "", end_to_text(term, term in bound.durations)
    untied, tied = plan.physical.chooses
    if untied:
        yield "", "", CHOOSING[untied]
    if untied != tied and not bound.maximal:
        yield "", "", f"where rows tie: {CHOOSING[tied]}"
    if untied == "maximal":
        yield "", "", "rows that tie are an error"


def worst_choice(plan: Plan) -> str:
    """Return the bound on the time that choosing trends takes, for n events of a window."""
    return "O(n)" if plan.whole is None else choosing_bound(plan.whole, plan.physical.chooses[0])


def end_to_text(term: Term, is_duration: bool = False) -> str:
    """Print a condition on the first and the last event of a trend."""
    if is_duration and isinstance(term, Call):
        return f"DURATION {term.op} {term_to_text(term.args[1])}"
    text = term_to_text(term, "FIRST", "LAST")
    text = re.sub(rf"NEXT\(LAST\)\.{_NAME}", r"LAST(\1)", text)
    return re.sub(rf"\bFIRST\.{_NAME}", r"FIRST(\1)", text)
