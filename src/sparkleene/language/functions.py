"""The functions of expressions, and what to write for those that there are not."""

from __future__ import annotations

from sparkleene.errors import suggest

FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "ABS": (1, 1),
    "ROUND": (1, 2),
    "FLOOR": (1, 1),
    "CEIL": (1, 1),
    "LEAST": (2, None),
    "GREATEST": (2, None),
    "COALESCE": (1, None),
    "LOWER": (1, 1),
    "UPPER": (1, 1),
}
"""How many operands each function takes: at least, and at most."""

HAVING_INSTEAD = (
    "HAVING has conditions on aggregates over all trends of a group;"
    " of a single trend there are conditions on LENGTH, DURATION, FIRST and LAST, and on no sum"
)
"""What to write for an aggregate in WHERE."""

MOST_DIGITS = 30
"""Digits that ROUND takes, before or after the point."""

_OTHER_NAMES = {
    **dict.fromkeys(("PREVIOUS", "LAG"), "PREV"),
    **dict.fromkeys(("LEAD", "FOLLOWING"), "NEXT"),
    **dict.fromkeys(("IFNULL", "NVL", "ISNULL"), "COALESCE"),
    **dict.fromkeys(("LCASE", "TOLOWER"), "LOWER"),
    **dict.fromkeys(("UCASE", "TOUPPER"), "UPPER"),
    **dict.fromkeys(("CEILING",), "CEIL"),
    **dict.fromkeys(("TRUNC", "INT"), "FLOOR"),
}
_AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "VARIANCE", "STDDEV")


def advise_function(word: str) -> str:
    """Return what to write for a function that there is not.

    >>> advise_function("NVL")
    'write COALESCE'
    """
    if word in _OTHER_NAMES:
        return f"write {_OTHER_NAMES[word]}"
    if word in _AGGREGATES:
        other = {"MIN": "; the least of several values is LEAST", "MAX": "; the greatest of several is GREATEST"}
        return f"aggregates stand in RETURN{other.get(word, '')}"
    known = ("NEXT", "PREV", "GAP", *FUNCTIONS)
    return suggest(word, known) or f"the functions are {', '.join(known)}"


def advise_aggregate(word: str, known: tuple[str, ...]) -> str:
    """Return what to write for an aggregate that there is not.

    >>> advise_aggregate("MEDIAN", ("COUNT", "MIN"))
    'there is no median, and no other quantile: the aggregates are COUNT, MIN'
    """
    listed = f"the aggregates are {', '.join(known)}"
    if word in ("MEDIAN", "PERCENTILE", "QUANTILE", "PERCENTILE_APPROX", "APPROX_PERCENTILE"):
        return f"there is no median, and no other quantile: {listed}"
    return suggest(word, known) or listed
