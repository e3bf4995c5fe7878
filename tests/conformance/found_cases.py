"""Small cases that engines once had wrong, or that the definition had to be asked about, with their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.conformance.paper_cases import PaperCase, Row


def events(text: str, **columns: Any) -> list[dict[str, Any]]:
    """Return events written as `a1 b2`, with further columns beside."""
    rows = [{"time": int(word[1:]), "type": word[0].upper()} for word in text.split()]
    return [row | {name: values[i] for name, values in columns.items()} for i, row in enumerate(rows)]


def halves(count: int) -> list[dict[str, Any]]:
    """Return events of type A every half second."""
    return [{"time": i / 2, "type": "A"} for i in range(count)]


def found(name: str, query: str, events: Sequence[Row], expected: Sequence[Row], **options: Any) -> PaperCase:
    """Return a case as those of the papers are."""
    return PaperCase(name, query, events, options, expected)


TWO_LABELS = "RETURN COUNT(*) AS n PATTERN SEQ(A x?, B y)"
FOUND = [
    found(
        "a variance of the last value less a sum of the same column",
        "RETURN VAR_POP(LAST(x) - SUM(B.x)) AS v, AVG(LAST(x) - SUM(B.x)) AS a PATTERN A OR B",
        events("b1 a2", x=[2, 3]),
        [{"v": 2.25, "a": 1.5}],
    ),
    found(
        "the least last value beside one that is much larger",
        "RETURN MIN(LAST(x)) AS least, MAX(FIRST(x)) AS greatest PATTERN A",
        events("a1 a2 a3", x=[0.1, 1e17, 1e6]),
        [{"least": 0.1, "greatest": 1e17}],
    ),
    found(
        "a condition on the first and last event with a function of one",
        "RETURN COUNT(*) AS n PATTERN A+ WHERE LAST(x) - FIRST(ROUND(f)) < 2",
        events("a1 a2 a3", x=[1, 2, 3], f=[1.5, 2.5, 0.5]),
        [{"n": 6}],
    ),
    found(
        "a variance of sums that are all the same",
        "RETURN VAR_POP(SUM(A.x)) AS v PATTERN A{2}",
        events("a1 a2 a3", x=[1e8 + 0.1, 1e8 + 0.1, 1e8 + 0.1]),
        [{"v": 0}],
    ),
    found(
        "a typed and a universal key on one attribute",
        "RETURN B.k AS b, k, COUNT(*) AS n PATTERN (B OR C)+ WHERE [k] GROUP-BY B.k, k",
        events("c1 c2 b3", k=[1, 2, 1]),
        [{"b": 1, "k": 1, "n": 3}],
    ),
    found(
        "a typed and a universal key, and an event of no trend that has the value",
        "RETURN k, COUNT(*) AS n PATTERN SEQ(B?, C) WHERE [k, B.k] AND B.x > 0 GROUP-BY k",
        events("c1 c2 c3 b4 b5", k=[1, 2, 3, 1, 2], x=[0, 0, 0, 0, 1]),
        [{"k": 1, "n": 1}, {"k": 2, "n": 1}],
    ),
    found(
        "a typed key that the universal one implies",
        "RETURN B.k AS b, k, COUNT(*) AS n PATTERN SEQ(C?, B) WHERE [k] GROUP-BY B.k, k",
        events("c1 c2 b3", k=[1, 2, 1]),
        [{"b": 1, "k": 1, "n": 2}],
    ),
    found(
        "pairs of trends under a typed and a universal key",
        "RETURN k, COUNT(*) AS n PATTERN C+ AND (B OR C)+ WHERE [k, B.k] GROUP-BY k",
        events("c1 c2 b3 c4", k=[1, 2, 1, 2]),
        [{"k": 1, "n": 2}],
    ),
    found(  # b2 is no y, though it has no x before it
        "BETWEEN of one event and a neighbour",
        f"{TWO_LABELS} WHERE y.v BETWEEN y.u AND x.v",
        events("b1 b2 a3 b4 b5", v=[5, 5, 4, 4, 5], u=[5, 6, 0, 4, 0]),
        [{"n": 4}],
    ),
    found(
        "a chain of one event and a neighbour",
        f"{TWO_LABELS} WHERE y.u <= y.v <= x.v",
        events("b1 b2 a3 b4 b5", v=[5, 5, 4, 4, 5], u=[5, 6, 0, 4, 0]),
        [{"n": 4}],
    ),
    found(  # one condition on neighbours: it leaves b2 alone
        "NOT BETWEEN of one event and a neighbour",
        f"{TWO_LABELS} WHERE y.v NOT BETWEEN y.u AND x.v",
        events("b1 b2 a3 b4 b5", v=[5, 5, 4, 4, 5], u=[5, 6, 0, 4, 0]),
        [{"n": 5}],
    ),
    found(
        "windows of events over times that are no integers",
        "RETURN COUNT(*) AS n PATTERN A+ WITHIN 2 EVENTS SLIDE 2 EVENTS",
        halves(3),
        [{"window_start": 0, "window_end": 2, "n": 3}, {"window_start": 2, "window_end": 4, "n": 1}],
    ),
    found(
        "pairs of trends of which one continues the other, next match",
        "RETURN COUNT(*) AS n PATTERN A+ AND SEQ(A+, B) SEMANTICS next WHERE A.x < NEXT(A).x",
        events("a1 a2 a3 b4", x=[3, 2, 1, 0]),
        [{"n": 9}],
    ),
    found(  # b1 takes a0, also where a0 was read as not the last A
        "measures of last events, next match and neighbours",
        "RETURN COUNT(*) AS n, MAX(DURATION) AS d, MAX(LAST(A.y) - FIRST(A.y)) AS y "
        "PATTERN SEQ(A+, B) SEMANTICS next WHERE GAP(A, B) < 8",
        events("a0 b1 a2 b3", y=[1, 0, 1, 3]),
        [{"n": 2, "d": 1, "y": 0}],
    ),
    found(  # b1 takes a0, though the trend of the two does not count
        "a measure and a condition on the last event, next match and neighbours",
        "RETURN COUNT(*) AS n, AVG(DURATION) AS d "
        "PATTERN SEQ(A+, B) SEMANTICS next WHERE GAP(A, B) < 3 AND LAST(y) > FIRST(y)",
        events("a0 b1 b2 a3 b4", y=[2, 0, 4, 1, 3]),
        [{"n": 1, "d": 1}],
    ),
    found(  # no trend that counts ends at 3
        "windows per trigger, a measure and a condition on the last event",
        "RETURN COUNT(*) AS n, MIN(DURATION) AS d "
        "PATTERN (A OR B)+ SEMANTICS next WHERE GAP < 6 AND LAST(x) >= FIRST(y) - 1 WITHIN 4",
        events("b0 b3", x=[0, -5], y=[1, 1]),
        [{"window_start": -4, "window_end": 0, "n": 1, "d": 0}],
    ),
]
