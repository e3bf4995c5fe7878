"""The words of the language, for completion."""

from __future__ import annotations

from sparkleene.language.functions import FUNCTIONS
from sparkleene.language.parse_returns import FUNCTIONS as AGGREGATES
from sparkleene.language.tokens import CLAUSES

WORDS = {
    "clauses": [*CLAUSES],
    "words": ["SEQ", "NOT", "OR", "AND", "AS", "IN", "IS", "BETWEEN", "NULL", "TRUE", "FALSE", "LIKE", "DESC"],
    "aggregates": [*AGGREGATES],
    "functions": [*FUNCTIONS, "NEXT", "PREV", "GAP", "LENGTH", "DURATION", "FIRST", "LAST", "EACH", "DISTINCT"],
    "semantics": ["skip-till-any-match", "skip-till-next-match", "contiguous", "contiguous maximal"],
    "units": ["ms", "seconds", "minutes", "hours", "days", "weeks", "months", "events"],
}
