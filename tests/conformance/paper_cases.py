"""Every worked example, table and printed query with numbers in the five papers, as data.

Short names: A-Seq (2014), survey (2016), GRETA (2017), COGRA (2019), HAMLET (2021). Above each case stands
how its numbers come about. Where a paper disagrees with the definitions that this project follows (trends as
in GRETA's Definition 1 and COGRA's Definitions 2.4 to 2.8), the definition is asserted and the comment says
"paper differs". Where a figure is known only by the text around it, the stream is a reconstruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PaperCase:
    """A query over a small stream and the rows that it must return, in order."""

    cite: str
    query: str
    events: Sequence[Row]
    options: Mapping[str, Any] = field(default_factory=dict)
    expected: Sequence[Row] = ()


# ---- ways to write streams and results


def stream(text: str, **attributes: Mapping[str, Any]) -> tuple[Row, ...]:
    """Read `a1 b2` as an A at time 1 and a B at time 2; attributes are given by event, `x={"a1": 5}`."""
    return tuple(
        {
            "time": int(word[1:]),
            "type": word[0].upper(),
            **{name: values.get(word) for name, values in attributes.items()},
        }
        for word in text.split()
    )


MIDNIGHT = datetime(2024, 1, 1)  # a multiple of every slide used here, counted from the epoch


def at(seconds: float) -> datetime:
    """Return the timestamp so many seconds after midnight."""
    return MIDNIGHT + timedelta(seconds=seconds)


def timed(columns: str, *rows: tuple[Any, ...], unit: int = 1) -> tuple[Row, ...]:
    """Return rows of a table whose first column is a time in units of so many seconds after midnight."""
    names = columns.split()
    return tuple({names[0]: at(row[0] * unit), **dict(zip(names[1:], row[1:], strict=True))} for row in rows)


def count(number: int) -> tuple[Row, ...]:
    """Return the result of COUNT(*) without windows and groups: no row where there is no trend."""
    return ({"count": number},) if number else ()


def windows(size: int, slide: int, *parts: tuple[int, int, Row], unit: int = 1) -> tuple[Row, ...]:
    """Return the rows of sliding windows: each part is a first start, a last start and what they all hold.

    Group attributes come first in a part, so that rows sort by window and group.
    """
    found = [
        {"window_start": at(start * unit), "window_end": at((start + size) * unit), **values}
        for first, last, values in parts
        for start in range(first, last + 1, slide)
    ]
    return tuple(sorted(found, key=lambda row: tuple(row.values())))


def spans(*rows: tuple[int, int, Row]) -> tuple[Row, ...]:
    """Return rows of windows over a numeric time: start, end, values."""
    return tuple({"window_start": start, "window_end": end, **values} for start, end, values in rows)


def prefixes(
    cite: str, query: str, events: Sequence[Row], finals: Sequence[int | None], **options: Any
) -> Iterator[PaperCase]:
    """Yield a case per prefix of the stream: its COUNT(*) after each event, None where nothing is stated."""
    for length, final in enumerate(finals, start=1):
        if final is not None:
            last = events[length - 1]
            name = f"{cite}, after {last['type'].lower()}{last['time']}"
            yield PaperCase(name, query, events[:length], options, count(final))


# ---- COGRA: figure 2, tables 6, 7 and 8

AB = "(SEQ(A+, B))+"
AB_PARTIAL = "SEQ((SEQ(A+, B))*, A+)"  # the partial trends of AB that end in an a: its count is A.count
FIGURE_2 = stream("a1 b2 a3 a4 c5 b6 a7 b8")

# B.x < NEXT(A).x lets every a follow b2 (1 < 5) and keeps a7 from following b6 (9 < 5 is false).
FIGURE_2_THETA = stream(
    "a1 b2 a3 a4 c5 b6 a7 b8", x={"a1": 5, "b2": 1, "a3": 5, "a4": 5, "c5": 5, "b6": 9, "a7": 5, "b8": 9}
)


def cogra_tables() -> Iterator[PaperCase]:
    """Yield every cell of the tables: B.count (final count) and A.count, after every event of the stream."""
    # Table 6. b2 = a1 = 1; a3 = 1 + A + B = 1 + 1 + 1; a4 = 1 + 4 + 1; b6 = A = 10; a7 = 1 + 10 + 11; b8 =
    # 32.
    yield from prefixes(
        "COGRA table 6, example 4.1, B.count",
        f"RETURN COUNT(*) PATTERN {AB}",
        FIGURE_2,
        [0, 1, 1, 1, 1, 11, 11, 43],
    )
    yield from prefixes(
        "COGRA table 6, A.count",
        f"RETURN COUNT(*) PATTERN {AB_PARTIAL} SEMANTICS skip-till-any-match",
        FIGURE_2,
        [1, 1, 4, 10, 10, 10, 32, 32],
    )
    # Table 7. As table 6 until a7, which may follow b2 but not b6: a7 = 1 + A + b2 = 12, A = 22, b8 = 22.
    theta = "WHERE B.x < NEXT(A).x"
    yield from prefixes(
        "COGRA table 7, example 5.1, B.count",
        f"RETURN COUNT(*) PATTERN {AB} {theta}",
        FIGURE_2_THETA,
        [0, 1, 1, 1, 1, 11, 11, 33],
    )
    yield from prefixes(
        "COGRA table 7, example 5.1, A.count",
        f"RETURN COUNT(*) PATTERN {AB_PARTIAL} {theta}",
        FIGURE_2_THETA,
        [1, 1, 4, 10, 10, 10, 22, 22],
    )
    # Table 8. Every event extends all partial trends: a = 1, 2, 3, 4 (summed: 1, 3, 6, 10), b = 1, 3, 4.
    yield from prefixes(
        "COGRA table 8, example 6.2, final count",
        f"RETURN COUNT(*) PATTERN {AB} SEMANTICS skip-till-next-match",
        FIGURE_2,
        [0, 1, 1, 1, 1, 4, 4, 8],
    )
    yield from prefixes(
        "COGRA table 8, example 6.2, sum of a.count",
        f"RETURN COUNT(*) PATTERN {AB_PARTIAL} SEMANTICS skip-till-next-match",
        FIGURE_2,
        [1, 1, 3, 6, 6, 6, 10, 10],
    )
    # Contiguous: c5 ends what a4 holds, so b6 finishes nothing and a7 starts anew; (a1,b2) and (a7,b8)
    # remain.
    yield from prefixes(
        "COGRA example 6.2 and 2.7, contiguous, final count",
        f"RETURN COUNT(*) PATTERN {AB} SEMANTICS contiguous",
        FIGURE_2,
        [0, 1, 1, 1, 1, 1, 1, 2],
    )
    yield from prefixes(
        "COGRA example 6.2, contiguous, sum of a.count",
        f"RETURN COUNT(*) PATTERN {AB_PARTIAL} SEMANTICS contiguous",
        FIGURE_2,
        [1, 1, 3, 6, 6, 6, 7, 7],
    )


COGRA_EXAMPLES = (
    # The longest trend is (a1,b2,a3,a4,b6,a7,b8). Three b's: a1 b2, then {a3}, {a4} or {a3,a4} before b6,
    # then a7 b8: 1 * 3 * 1.
    PaperCase(
        "COGRA example 2.2, trends with as many b's as the longest",
        "RETURN COUNT(*) PATTERN (SEQ(A+, B)){3,}",
        FIGURE_2,
        expected=count(3),
    ),
    # Example 2.5: (a3,b6) skips a4 and is no trend; (a3,a4,b6) is one. With b6 the only b: (a3,a4,b6),
    # (a4,b6).
    PaperCase(
        "COGRA example 2.5, skip-till-next-match",
        f"RETURN COUNT(*), COUNT(A) PATTERN {AB} SEMANTICS skip-till-next-match",
        stream("a3 a4 c5 b6"),
        expected=({"count": 2, "count_A": 3},),
    ),
    # Paper differs: by theorem 6.1 an event has one predecessor in all trends and algorithm 3 keeps one last
    # event, so it counts 1. By definition 2.6 a2 cannot extend (a1), hence (a1,b3) skips nothing: 2 trends.
    PaperCase(
        "COGRA theorem 6.1, algorithm 3 against definition 2.6",
        "RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS skip-till-next-match",
        stream("a1 a2 b3"),
        expected=count(2),
    ),
    # Appendix C: A+ unrolled to length 3 over five a's: C(5,3) + C(5,4) + C(5,5) = 10 + 5 + 1.
    PaperCase(
        "COGRA appendix C and GRETA section 9, minimal trend length",
        "RETURN COUNT(*) PATTERN SEQ(A, A, A+)",
        stream("a1 a2 a3 a4 a5"),
        expected=count(16),
    ),
    PaperCase(
        "COGRA appendix C, minimal trend length as a repetition",
        "RETURN COUNT(*) PATTERN A{3,}",
        stream("a1 a2 a3 a4 a5"),
        expected=count(16),
    ),
    # SEQ(A+, B, A): before b3 3 subsets of {a1,a2}, after it a4 or a6: 6; before b5 7 subsets, after it a6:
    # 7. Occurrences of a's: 20 in the A+ part (4 * 2 + 12 * 1), 13 in the last place.
    PaperCase(
        "COGRA appendix C, multiple event type occurrences",
        "RETURN COUNT(*), COUNT(A) PATTERN SEQ(A+, B, A)",
        stream("a1 a2 b3 a4 b5 a6"),
        expected=({"count": 13, "count_A": 33},),
    ),
    PaperCase(
        "COGRA appendix C, multiple event type occurrences with identifiers",
        "RETURN COUNT(*), COUNT(A1), COUNT(A2) PATTERN SEQ(A A1+, B, A A2)",
        stream("a1 a2 b3 a4 b5 a6"),
        expected=({"count": 13, "count_A1": 20, "count_A2": 13},),
    ),
    # Appendix C: SEQ(A*, B) = SEQ(A+, B) or B: 3 + 1; SEQ(A?, B) = SEQ(A, B) or B: 2 + 1.
    *(
        PaperCase(
            f"COGRA appendix C and GRETA section 9, {pattern}",
            f"RETURN COUNT(*) PATTERN {pattern}",
            stream("a1 a2 b3"),
            expected=count(number),
        )
        for pattern, number in (("SEQ(A*, B)", 4), ("SEQ(A+, B) OR B", 4), ("SEQ(A?, B)", 3), ("SEQ(A, B) OR B", 3))
    ),
)


# ---- GRETA

FIGURE_3 = stream("a1 b2 a3 a4 b7", attr={"a1": 5, "a3": 6, "a4": 4})
FIGURE_6 = stream("a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9")
NESTED = "(SEQ(A+, NOT SEQ(C, NOT E, D), B))+"
PRICES = tuple(
    {"time": time, "type": "Stock", "price": price}
    for time, price in enumerate((10, 2, 9, 8, 7, 1, 6, 5, 4, 3), start=1)
)
DOWN = "WHERE S.price > NEXT(S).price"
CONJUNCTS = stream("a1 a2 b3 b4")


def greta_prefixes() -> Iterator[PaperCase]:
    """Yield the counts of figure 6 after every event; b2 and c2, a3 and e3 are of one time each."""
    # 6(a): the counts 1, 2, 4, 8 of a1, a3, a4, a8 add up.
    yield from prefixes(
        "GRETA figure 6(a)", "RETURN COUNT(*) PATTERN A+", FIGURE_6, [1, 1, 1, 3, 3, 7, 7, 7, 7, 15, 15]
    )
    # 6(b): b2 = 1; b7 = 1 + 2 + 4; b9 = 1 + 2 + 4 + 8.
    yield from prefixes(
        "GRETA figure 6(b)", "RETURN COUNT(*) PATTERN SEQ(A+, B)", FIGURE_6, [0, 1, 1, 1, 1, 1, 1, 1, 8, 8, 23]
    )
    # 6(c), stated: a4.count = 6, b7.count = 10, final count 43 = 1 + 10 + 32.
    yield from prefixes(
        "GRETA figure 6(c)", f"RETURN COUNT(*) PATTERN {AB}", FIGURE_6, [0, 1, 1, 1, 1, 1, 1, 1, 11, 11, 43]
    )
    # 6(c): a1 = 1, a3 = 3, a4 = 6, a8 = 1 + (1 + 3 + 6) + (1 + 10) = 22, added up.
    yield from prefixes(
        "GRETA figure 6(c), counts of a's",
        f"RETURN COUNT(*) PATTERN {AB_PARTIAL}",
        FIGURE_6,
        [1, 1, 1, 4, 4, 10, 10, 10, 10, 32, 32],
    )
    # 6(d), example 4: (c5,d6) keeps a1, a3, a4 from b7 and b9; b2 = 1, a8 = 1 + (1 + 3 + 6) + 1 = 12, b9 =
    # 12.
    yield from prefixes(
        "GRETA figure 6(d), examples 2, 4 and 5",
        f"RETURN COUNT(*) PATTERN {NESTED}",
        FIGURE_6,
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 13],
    )


GRETA_EXAMPLES = (
    # (a1,b2); {a1,a3,a4} before b7: 7; (a1,b2) then {a3,a4} before b7: 3. A's: 1 + 12 + (3 + 4) = 20, of
    # which a1 8 times, a3 6, a4 6: 8 * 5 + 6 * 6 + 6 * 4 = 100.
    PaperCase(
        "GRETA example 1 and 8, figures 3 and 12",
        f"RETURN COUNT(*), COUNT(A), MIN(A.attr), MAX(A.attr), SUM(A.attr), AVG(A.attr) PATTERN {AB}",
        FIGURE_3,
        expected=(
            {"count": 11, "count_A": 20, "min_A_attr": 4, "max_A_attr": 6, "sum_A_attr": 100, "avg_A_attr": 5.0},
        ),
    ),
    # Example 4: e3 parts c2 from d6, so (c5,d6) is the only match; without the inner NOT there are two.
    PaperCase(
        "GRETA example 4, the negative sub-pattern by itself",
        "RETURN COUNT(*) PATTERN SEQ(C, NOT E, D)",
        FIGURE_6,
        expected=count(1),
    ),
    PaperCase(
        "GRETA example 2, sub-pattern SEQ(C, D)", "RETURN COUNT(*) PATTERN SEQ(C, D)", FIGURE_6, expected=count(2)
    ),
    # Paper differs: example 5 deletes all a's before e3, also for trends that go on to later a's. By
    # definition e3 only forbids trends whose last event is before it: of 15 trends of A+ only (a1) goes.
    PaperCase(
        "GRETA figure 8(a), examples 3 to 5, trailing negation",
        "RETURN COUNT(*) PATTERN SEQ(A+, NOT E)",
        FIGURE_6,
        expected=count(14),
    ),
    # Paper differs: it invalidates all a's after e3. By definition e3 forbids trends whose first event is
    # after it: 8 trends begin with a1, 4 with a3 (not after e3), those that begin with a4 or a8 go.
    PaperCase(
        "GRETA figure 8(b), examples 3 to 5, leading negation",
        "RETURN COUNT(*) PATTERN SEQ(NOT E, A+)",
        FIGURE_6,
        expected=count(12),
    ),
    # Section 5.1, cases 2 and 3: a negation reaches to the border of the window. Windows of 4: in [0,4)
    # trailing leaves (a3), (a1,a3), leading leaves all three; e3 is not in [4,8) and [8,12), which hold a4
    # and a8.
    PaperCase(
        "GRETA section 5.1 case 2, trailing negation to the window's end",
        "RETURN COUNT(*) PATTERN SEQ(A+, NOT E) WITHIN 4 SLIDE 4",
        FIGURE_6,
        expected=spans((0, 4, {"count": 2}), (4, 8, {"count": 1}), (8, 12, {"count": 1})),
    ),
    PaperCase(
        "GRETA section 5.1 case 3, leading negation from the window's start",
        "RETURN COUNT(*) PATTERN SEQ(NOT E, A+) WITHIN 4 SLIDE 4",
        FIGURE_6,
        expected=spans((0, 4, {"count": 3}), (4, 8, {"count": 1}), (8, 12, {"count": 1})),
    ),
    # Section 5.1 case 1 with a type: e3 lies strictly between a1 and b7, b9, not between a3 and them (a3 is
    # of its time). (a1,b2); to b7 {..a3}, {..a4}: 2 + 4; to b9 2 + 4 + 8. Without NOT 23; less (a1,b7) and
    # (a1,b9).
    PaperCase(
        "GRETA section 5.1 case 1, negation between",
        "RETURN COUNT(*) PATTERN SEQ(A+, NOT E, B)",
        FIGURE_6,
        expected=count(21),
    ),
    # Example 6: windows of 10 that slide by 3; W1 holds a1 to b9 and W2 a4 to b9, so they start at 1 and 4:
    # offset 1. W1 = 43. W2: a4 = 1, b7 = 1, a8 = 1 + 1 + 1, b9 = 1 + 3, in all 5. Before: a1 b2 a3 a4 (1),
    # .. b7 (1 + 10).
    PaperCase(
        "GRETA example 6, figure 9",
        f"RETURN COUNT(*) PATTERN {AB} WITHIN 10 seconds SLIDE 3 seconds",
        FIGURE_6,
        {"time_unit": "seconds", "offset": 1},
        spans(
            (-5, 5, {"count": 1}),
            (-2, 8, {"count": 11}),
            (1, 11, {"count": 43}),
            (4, 14, {"count": 5}),
            (7, 17, {"count": 1}),
        ),
    ),
    # The same, aligned to 0: [3,13) also holds a3: a3 = 1, a4 = 2, b7 = 3, a8 = 1 + 3 + 3, b9 = 10, in all
    # 13.
    PaperCase(
        "GRETA example 6, figure 9, windows aligned to zero",
        f"RETURN COUNT(*) PATTERN {AB} WITHIN 10 SLIDE 3",
        FIGURE_6,
        expected=spans(
            (-6, 4, {"count": 1}),
            (-3, 7, {"count": 1}),
            (0, 10, {"count": 43}),
            (3, 13, {"count": 13}),
            (6, 16, {"count": 1}),
        ),
    ),
    # Example 7: two edges between a's satisfy the predicate, here a1 (5) to a3 (6) and a4 (4) to a8 (5). a1
    # = 1, b2 = 1, a3 = 1 + 1 + 1, a4 = 1 + b2 = 2, b7 = 1 + 3 + 2, a8 = 1 + a4 + b2 + b7 = 10, b9 = 1 + 3 +
    # 2 + 10.
    PaperCase(
        "GRETA example 7, figure 10",
        f"RETURN COUNT(*) PATTERN {AB} WHERE A.attr < NEXT(A).attr",
        stream("a1 b2 a3 a4 b7 a8 b9", attr={"a1": 5, "a3": 6, "a4": 4, "a8": 5}),
        expected=count(1 + 6 + 16),
    ),
    # Section 2: the one down-trend of eight prices is (10,9,8,7,6,5,4,3).
    PaperCase(
        "GRETA section 2, the longest down-trend",
        f"RETURN COUNT(*), MIN(S.price), MAX(S.price), SUM(S.price) PATTERN Stock S{{8,}} {DOWN}",
        PRICES,
        expected=({"count": 1, "min_S_price": 3, "max_S_price": 10, "sum_S_price": 52},),
    ),
    # Ending at 10: 1; 2: 2; 9: 2; 8: 4; 7: 8; 1: 18; 6: 1 + 1 + 2 + 4 + 8 = 16; 5: 32; 4: 64; 3: 128.
    PaperCase(
        "GRETA section 2, down-trends under skip-till-any-match",
        f"RETURN COUNT(*) PATTERN Stock S+ {DOWN}",
        PRICES,
        expected=count(1 + 2 + 2 + 4 + 8 + 18 + 16 + 32 + 64 + 128),
    ),
    # Paper differs: it names (10,2), (9,8,7,1), (6,5,4,3) as the trends of skip-till-next-match, the
    # longest runs. By definition 1 can extend (10,2). Beginning at each price: 3 + 2 + 4 + 3 + 2 + 1 + 4 +
    # 3 + 2 + 1.
    PaperCase(
        "GRETA section 2, down-trends under skip-till-next-match",
        f"RETURN COUNT(*) PATTERN Stock S+ SEMANTICS skip-till-next-match {DOWN}",
        PRICES,
        expected=count(25),
    ),
    # Runs of 2, 4 and 4 events have 3 + 10 + 10 parts.
    PaperCase(
        "GRETA section 2, down-trends under contiguous semantics",
        f"RETURN COUNT(*) PATTERN Stock S+ SEMANTICS contiguous {DOWN}",
        PRICES,
        expected=count(23),
    ),
    # Figure 13: a1 as A1, b2 as B2, a3 as A3, a4 as A4, b5 as B5 is the only binding; the pattern is
    # unambiguous, so that trends without identifiers are as many. Longer: 4 subsets of {a3,a4,a5} with two
    # or more, 3 of {b6,b7}.
    *(
        PaperCase(
            f"GRETA figure 13, {name}, {len(events)} events",
            f"RETURN COUNT(*) PATTERN {pattern}",
            events,
            expected=count(number),
        )
        for events, number in ((stream("a1 b2 a3 a4 b5"), 1), (stream("a1 b2 a3 a4 a5 b6 b7"), 12))
        for name, pattern in (
            ("with identifiers", "SEQ(A A1+, B B2, A A3, A A4+, B B5+)"),
            ("without identifiers", "SEQ(A+, B, A, A+, B+)"),
        )
    ),
    # Section 9: Pi = SEQ(A+, B) has 3 * 2 trends, Pj = SEQ(A, B+) 2 * 3, both SEQ(A, B) 4: Ci = Cj = 2, Cij
    # = 4. Paper differs: with its own Ci and Cj, Ci + Cj - Cij = 0; the trends of either are Ci + Cj + Cij
    # = 8.
    PaperCase(
        "GRETA section 9, disjunction",
        "RETURN COUNT(*) PATTERN SEQ(A+, B) OR SEQ(A, B+)",
        CONJUNCTS,
        expected=count(8),
    ),
    # Ci Cj + Ci Cij + Cj Cij + Cij (Cij - 1) / 2 = 4 + 8 + 8 + 6. A trend only of Pi is in 6 pairs, only of
    # Pj in 6, of both in 7: a's are 2 * 6 * 2 + 2 * 6 * 1 + 4 * 7 * 1, and so are b's.
    PaperCase(
        "GRETA section 9, conjunction",
        "RETURN COUNT(*), COUNT(A), COUNT(B) PATTERN SEQ(A+, B) AND SEQ(A, B+)",
        CONJUNCTS,
        expected=({"count": 26, "count_A": 64, "count_B": 64},),
    ),
    # Disjoint patterns: Cij = 0, so 3 * 3 pairs and 3 + 3 trends.
    PaperCase(
        "GRETA section 9, conjunction of disjoint patterns",
        "RETURN COUNT(*) PATTERN A+ AND B+",
        CONJUNCTS,
        expected=count(9),
    ),
    PaperCase(
        "GRETA section 9, disjunction of disjoint patterns",
        "RETURN COUNT(*) PATTERN A+ OR B+",
        CONJUNCTS,
        expected=count(6),
    ),
    # Of one pattern twice, Ci = Cj = 0: pairs of different trends, 3 * 2 / 2.
    PaperCase(
        "GRETA section 9, conjunction of a pattern with itself",
        "RETURN COUNT(*) PATTERN A+ AND A+",
        CONJUNCTS,
        expected=count(3),
    ),
)


# ---- A-Seq and the survey's prefix counters

SECONDS = {"time_unit": "seconds"}
FIGURE_7 = stream("a1 b2 c3 a4 b5 d6")
A_SEQ_FIGURE_6 = stream("a1 b2 c3 a4 c5 b6 d7 c8 a9 d10", id={"a1": 1, "a4": 2, "a9": 3})
FIGURE_10 = stream("a1 b2 c3 a4 b5 d6 c7 a8 d9 e10", id={"a1": 1, "a4": 2, "a8": 3, "d6": 1, "d9": 2})
SHOP = tuple(
    {"time": time, "type": type}
    for time, type in enumerate(
        (
            *("ViPad", "VKindleFire", "VKindle", "BKindle", "VKindle", "VCase", "BKindle", "BCase"),
            *("VKindleFire", "VeBook", "BeBook", "VLight", "BLight"),
        )
    )
)


def counters(cite: str, events: Sequence[Row], *table: tuple[str, Sequence[int | None]]) -> Iterator[PaperCase]:
    """Yield the prefix counters of a SEQ: per prefix pattern the counts after each event."""
    for pattern, finals in table:
        yield from prefixes(f"{cite}, {pattern}", f"RETURN COUNT(*) PATTERN {pattern}", events, finals)


def prefix_counters() -> Iterator[PaperCase]:
    """Yield the counters of A-Seq figures 2 and 4 and of the survey's figure 5."""
    # Figure 2 and lemma 1: count(A,B) = 3 when b2 has come, count(A,B,C) goes from 1 to 1 + 3.
    yield from counters(
        "A-Seq figure 2",
        stream("a1 b2 c3 a4 b5 c6"),
        ("SEQ(A, B)", [0, 1, 1, 1, 3, 3]),
        ("SEQ(A, B, C)", [0, 0, 1, 1, 1, 4]),
    )
    # Figure 4, example 2, on a stream with count(A) = 3 and count(A,B) = 2: b makes it 5 and leaves the
    # others; the later c brings count(A,B,C) from 0 to 5, d brings count(A,B,C,D) there.
    yield from counters(
        "A-Seq figure 4, example 2",
        stream("a1 b2 b3 a4 a5 b6 c7 d8"),
        ("A", [None, None, None, None, 3, 3, 3, 3]),
        ("SEQ(A, B)", [None, None, None, None, 2, 5, 5, 5]),
        ("SEQ(A, B, C, D)", [None, None, None, None, None, None, 0, 5]),
    )
    # Survey figure 5: a1 b1 c1 a2 a3 b2 c2, all columns of the table.
    yield from counters(
        "survey figure 5",
        stream("a1 b2 c3 a4 a5 b6 c7"),
        ("SEQ(A)", [None, None, 1, 2, 3, 3, 3]),
        ("SEQ(A, B)", [None, None, 1, 1, 1, 4, 4]),
        ("SEQ(A, B, C)", [None, None, 1, 1, 1, 1, 5]),
    )
    # Figure 7, example 4: c1 clears count(A,B), so b2 makes it 2 again; (a1,b1,d1) is not counted.
    yield from prefixes(
        "A-Seq figure 7, example 4", "PATTERN SEQ(A, B, !C, D) AGG COUNT", FIGURE_7, [0, 0, 0, 0, 0, 2]
    )


A_SEQ_EXAMPLES = (
    # Example 1: c3 completes (a1,b2,c3), c4 (a1,b2,c4). When b6 comes, a1 is out; no trend ends there: no
    # row.
    PaperCase(
        "A-Seq example 1, figure 1",
        "PATTERN SEQ(A a, B b, C c) AGG COUNT WITHIN 5s",
        stream("a1 b2 c3 c4 b6"),
        SECONDS,
        spans((-2, 3, {"count": 1}), (-1, 4, {"count": 2})),
    ),
    # Had another c come with b6, at 7, it would find neither a1 nor an a after it.
    PaperCase(
        "A-Seq example 1, figure 1, a c after the expiration of a1",
        "PATTERN SEQ(A a, B b, C c) AGG COUNT WITHIN 5s",
        stream("a1 b2 c3 c4 b6 c7"),
        SECONDS,
        spans((-2, 3, {"count": 1}), (-1, 4, {"count": 2})),
    ),
    # Example 3, window of 7s: d1 at 7 completes (a1,b1,c1,d1), (a1,b1,c2,d1). At 10 a1 (expired at 8) is
    # gone, d2 completes (a2,b2,c3,d2).
    PaperCase(
        "A-Seq example 3, figure 6",
        "PATTERN SEQ(A, B, C, D) AGG COUNT WITHIN 7s",
        A_SEQ_FIGURE_6,
        SECONDS,
        spans((0, 7, {"count": 2}), (3, 10, {"count": 1})),
    ),
    # The same per START event: "2 = 2 (a1.PreCntr) + 0 (a2.PreCntr)", then 1 by a2.
    PaperCase(
        "A-Seq example 3, figure 6, a counter per START event",
        "PATTERN SEQ(A, B, C, D) GROUP BY A.id AGG COUNT WITHIN 7s",
        A_SEQ_FIGURE_6,
        SECONDS,
        spans((0, 7, {"id": 1, "count": 2}), (3, 10, {"id": 2, "count": 1})),
    ),
    # The expiration is exact: at t = 8 a1, of time 1, is out of (1, 8].
    PaperCase(
        "A-Seq example 3, expiration of a1 at 8s",
        "PATTERN SEQ(A, D) AGG COUNT WITHIN 7s",
        stream("a1 d7 d8"),
        SECONDS,
        spans((0, 7, {"count": 1})),
    ),
    # Figure 7 with a window of 4s: at 6 a1 (time 1) is out of (2, 6], (a2,b2,d1) remains.
    PaperCase(
        "A-Seq figure 7, example 4, within a window",
        "PATTERN SEQ(A, B, !C, D) AGG COUNT WITHIN 4s",
        FIGURE_7,
        SECONDS,
        spans((2, 6, {"count": 1})),
    ),
    PaperCase(
        "A-Seq figure 7, example 4, within a wide window",
        "PATTERN SEQ(A, B, !C, D) AGG COUNT WITHIN 6s",
        FIGURE_7,
        SECONDS,
        spans((0, 6, {"count": 2})),
    ),
    # Section 3.3: REC at 3 parts the first BK from VC; the BK after it counts.
    PaperCase(
        "A-Seq section 3.3, (VK, BK, !REC, VC, BC)",
        "PATTERN SEQ(VK, BK, !REC, VC, BC) AGG COUNT",
        tuple({"time": t, "type": k} for t, k in enumerate(("VK", "BK", "REC", "BK", "VC", "BC"))),
        expected=count(1),
    ),
    # Example 5: ids 1, 2, 3. Id 1: a1 b2 c3 a4 b5 c6 d7: a1 has bc 3, a4 1, so 4. Id 2: one. Id 3 has no d.
    *(
        PaperCase(
            f"A-Seq example 5, figure 8, {name}",
            f"PATTERN SEQ(A, B, C, D) WHERE A.id = B.id = C.id = D.id {clause} AGG COUNT",
            stream(
                "a1 b2 c3 a4 b5 c6 d7 a8 b9 c10 d11 a12 b13 c14",
                id=dict.fromkeys(("a1", "b2", "c3", "a4", "b5", "c6", "d7"), 1)
                | dict.fromkeys(("a8", "b9", "c10", "d11"), 2)
                | dict.fromkeys(("a12", "b13", "c14"), 3),
            ),
            expected=rows,
        )
        for name, clause, rows in (
            ("partitions added up", "", count(5)),
            ("partitions as groups", "GROUP BY id", ({"id": 1, "count": 4}, {"id": 2, "count": 1})),
        )
    ),
    # Example 6: (VKindle,BKindle) three times, once before VCase; VKindleFire at 8 follows all three, and
    # at 1 with ViPad precedes all three.
    *(
        PaperCase(f"A-Seq example 6, {name}", f"PATTERN SEQ({types}) AGG COUNT", SHOP, expected=count(number))
        for name, types, number in (
            ("Q1", "VKindle,BKindle,VCase,BCase", 1),
            ("Q2", "VKindle,BKindle,VKindleFire", 3),
            ("Q3", "VKindle,BKindle,VCase,BCase,VeBook,BeBook", 1),
            ("Q4", "VKindle,BKindle,VCase,BCase,VLight,BLight", 1),
            ("Q5", "ViPad,VKindleFire,VKindle,BKindle", 3),
        )
    ),
    # Example 8, window of 9s (a1 expires at 10): e1 at 10 completes (a2,b2,c2,d2,e1).
    PaperCase(
        "A-Seq example 8, figure 10",
        "PATTERN SEQ(A, B, C, D, E) AGG COUNT WITHIN 9s",
        FIGURE_10,
        SECONDS,
        spans((1, 10, {"count": 1})),
    ),
    # Count1 = 0 by d1, count2 = 1 by d2.
    PaperCase(
        "A-Seq example 8, figure 10, a count per CNET event",
        "PATTERN SEQ(A, B, C, D, E) GROUP BY D.id AGG COUNT WITHIN 9s",
        FIGURE_10,
        SECONDS,
        spans((1, 10, {"id": 2, "count": 1})),
    ),
    # The counters when d1 comes: AB 2 and ABC 1 by a1, AB 1 by a2. When d2 comes: ABC 3 by a1, 1 by a2.
    PaperCase(
        "A-Seq example 8, figure 10, AB per START event",
        "PATTERN SEQ(A, B) GROUP BY A.id AGG COUNT WITHIN 9s",
        FIGURE_10,
        SECONDS,
        spans((-7, 2, {"id": 1, "count": 1}), (-4, 5, {"id": 1, "count": 2}), (-4, 5, {"id": 2, "count": 1})),
    ),
    PaperCase(
        "A-Seq example 8, figure 10, ABC per START event",
        "PATTERN SEQ(A, B, C) GROUP BY A.id AGG COUNT WITHIN 9s",
        FIGURE_10,
        SECONDS,
        spans((-6, 3, {"id": 1, "count": 1}), (-2, 7, {"id": 1, "count": 3}), (-2, 7, {"id": 2, "count": 1})),
    ),
    PaperCase(
        "A-Seq example 8, figure 10, DE per START event",
        "PATTERN SEQ(D, E) GROUP BY D.id AGG COUNT WITHIN 9s",
        FIGURE_10,
        SECONDS,
        spans((1, 10, {"id": 1, "count": 1}), (1, 10, {"id": 2, "count": 1})),
    ),
    # Example 9 and survey figure 6: the printed snapshots cannot come from any stream (a count of 1 for a3
    # needs a b and a c after a3, which raise the 1 of a2 by at least 2, not to 2). Same computation with
    # counts that can: ABC by a2 is 1 when d1 comes and 3 when d2 comes, by a3 0 and 1; DE is 1 each; a1 is
    # expired when f comes at 12.
    *(
        PaperCase(
            f"A-Seq example 9, figure 11, survey figure 6, {name}",
            f"PATTERN SEQ(A, B, C, D, E{last}) GROUP BY A.id AGG COUNT WITHIN 11s",
            stream("a1 a2 b3 c4 d5 a6 b7 c8 d9 e10 f12 g13", id={"a1": 1, "a2": 2, "a6": 3}),
            SECONDS,
            rows,
        )
        for name, last, rows in (
            (
                "sub-pattern ABCDE",
                "",
                spans(*((-1, 10, {"id": n, "count": c}) for n, c in ((1, 4), (2, 4), (3, 1)))),
            ),
            ("ABCDE before f", ", F", spans((1, 12, {"id": 2, "count": 4}), (1, 12, {"id": 3, "count": 1}))),
            ("whole pattern", ", F, G", spans((2, 13, {"id": 3, "count": 1}))),
        )
    ),
    # Paper differs: section 5 scales the sum of (A,B,C) by count(A,B,C,D) / count(A,B,C): 30 * 3 / 2 = 45. By
    # definition (c3,d4), (c3,d6), (c5,d6) hold 10 + 10 + 20.
    PaperCase(
        "A-Seq section 5, SUM, AVG, MIN, MAX",
        "RETURN COUNT(*), SUM(C.weight), AVG(C.weight), MIN(C.weight), MAX(C.weight) PATTERN SEQ(A, B, C, D)",
        stream("a1 b2 c3 d4 c5 d6", weight={"c3": 10, "c5": 20}),
        expected=(
            {"count": 3, "sum_C_weight": 40, "avg_C_weight": 40 / 3, "min_C_weight": 10, "max_C_weight": 20},
        ),
    ),
    # Survey section 3, figure 3: the three patterns over one stream: ab pairs (a1,b2); then c3, d4, x5, c6.
    *(
        PaperCase(
            f"survey figure 3, {types}",
            f"PATTERN SEQ({types}) AGG COUNT",
            stream("a1 b2 c3 d4 x5 c6"),
            expected=count(number),
        )
        for types, number in (("A, B, C", 2), ("A, B, C, D", 1), ("A, B, X", 1))
    ),
    # Survey section 2 writes OR and AND before their operands; the numbers are those of GRETA section 9.
    *(
        PaperCase(
            f"survey section 2, {operator}(P, P')",
            f"PATTERN {operator}(SEQ(A+, B), SEQ(A, B+)) AGG COUNT",
            CONJUNCTS,
            expected=count(number),
        )
        for operator, number in (("OR", 8), ("AND", 26))
    ),
)


# ---- HAMLET: example 3.5, tables 3, 4 and 5

# Graphlets A1 = {a1, a2}, C2 = {c3}, B3 = {b4 .. b7} (the paper's b3 .. b6), A4 with two a's, C5 with three
# c's, and one b13 of B6. The values of b forbid only the edge from the paper's b4 to b5.
GRAPHLETS = stream("a1 a2 c3 b4 b5 b6 b7 a8 a9 c10 c11 c12 b13", v={"b4": 1, "b5": 3, "b6": 2, "b7": 4, "b13": 5})
UNCHECKED = [None] * 3


def hamlet_tables() -> Iterator[PaperCase]:
    """Yield the counts of both queries along the shared graphlets."""
    # Table 3: b = x, 2x, 4x, 8x with x = 2 for q1, so 2, 6, 14, 30; table 4: y = 2 + 15 * 2 + 2 = 34 is
    # what b13 adds.
    yield from prefixes(
        "HAMLET example 3.5, tables 3 and 4, q1",
        "RETURN COUNT(*) PATTERN SEQ(A, B+)",
        GRAPHLETS,
        [0, 0, 0, 2, 6, 14, 30, 30, 30, 30, 30, 30, 30 + 34],
    )
    # x = 1 for q2: 1, 3, 7, 15; y = 1 + 15 * 1 + 3 = 19.
    yield from prefixes(
        "HAMLET example 3.5, tables 3 and 4, q2",
        "RETURN COUNT(*) PATTERN SEQ(C, B+)",
        GRAPHLETS,
        [0, 0, 0, 1, 3, 7, 15, 15, 15, 15, 15, 15, 15 + 19],
    )
    # Table 5: for q2 z = x + b3 = 2, b6 = 4x + z = 6: 1, 3, 5, 11; y = 1 + 11 + 3 = 15. For q1 z = 8 and y
    # = 34 as above.
    yield from prefixes(
        "HAMLET example 3.12, table 5, q2",
        "RETURN COUNT(*) PATTERN SEQ(C, B+) WHERE B.v < NEXT(B).v",
        GRAPHLETS,
        [*UNCHECKED, 1, 3, 5, 11, 11, 11, 11, 11, 11, 11 + 15],
    )


# ---- the printed queries, each over a small stream

DOWN_TRENDS = timed(
    "time type company sector price",
    (5, "Stock", "A", "tech", 10),
    (15, "Stock", "A", "tech", 8),
    (20, "Stock", "B", "tech", 5),
    (25, "Stock", "A", "tech", 9),
    (30, "Stock", "B", "tech", 6),
    (35, "Stock", "A", "tech", 7),
    (40, "Stock", "C", "oil", 4),
    (50, "Stock", "C", "oil", 3),
)
# Company A, prices 10 8 9 7: 4 + 5 + 2 = 11 trends; B, 5 6: 2; C, 4 3: 3. At the left border windows fill
# up: {10}: 1; {10,8}: 3; {10,8,9} and {5}: 5 + 1; at the right they empty: {8,9,7}: 5 + 2; {9,7}: 3 + 2;
# {7}, {6}: 1 + 1.
DOWN_TREND_ROWS = windows(
    600,
    10,
    (-590, -590, {"sector": "tech", "count": 1}),
    (-580, -580, {"sector": "tech", "count": 3}),
    (-570, -570, {"sector": "tech", "count": 6}),
    (-560, 0, {"sector": "tech", "count": 13}),
    (10, 10, {"sector": "tech", "count": 7}),
    (20, 20, {"sector": "tech", "count": 5}),
    (30, 30, {"sector": "tech", "count": 2}),
    (-550, -550, {"sector": "oil", "count": 1}),
    (-540, 40, {"sector": "oil", "count": 3}),
    (50, 50, {"sector": "oil", "count": 1}),
)

COGRA_QUERIES = (
    # Job 1 on mapper 1: (Start,10,20,End), 30. Job 2 on mapper 1, between them: (Start,4,End). Mapper 2:
    # 30, 25 do not increase. Mapper 3: a Heartbeat lies between. The End of job 2 at 50 is not in [-30,30).
    PaperCase(
        "COGRA q1",
        """RETURN mapper, SUM(L.cpu) PATTERN SEQ(Start S, Load L+, End E) SEMANTICS contiguous
        WHERE [job,mapper] AND L.cpu < NEXT(L).cpu GROUP-BY job,mapper WITHIN 1 minute SLIDE 30 seconds""",
        timed(
            "time type job mapper cpu",
            (10, "Start", 1, 1, None),
            (12, "Start", 2, 1, None),
            (15, "Load", 1, 1, 10),
            (20, "Load", 1, 1, 20),
            (22, "Load", 2, 1, 4),
            (25, "End", 1, 1, None),
            (35, "Start", 1, 2, None),
            (40, "Load", 1, 2, 30),
            (41, "Start", 1, 3, None),
            (42, "Load", 1, 3, 7),
            (44, "Heartbeat", 1, 3, None),
            (45, "Load", 1, 2, 25),
            (46, "End", 1, 3, None),
            (50, "End", 1, 2, None),
            (50, "End", 2, 1, None),
        ),
        expected=windows(
            60,
            30,
            (-30, 0, {"job": 1, "mapper": 1, "sum_L_cpu": 30}),
            (0, 0, {"job": 2, "mapper": 1, "sum_L_cpu": 4}),
        ),
    ),
    # North: both Pickups (0:30, 1:30) go through all Trips (20, 40) past the Cancel to the Dropoff at 5:30;
    # windows that begin at -24 .. 0 hold both, 1 the second. (Algorithm 3 would keep one of them.) South:
    # one trip, 10:00 to 12:00.
    PaperCase(
        "COGRA q2",
        """RETURN district, COUNT(*), AVG(T.speed) PATTERN SEQ(Pickup P, Trip T+, Dropoff D)
        SEMANTICS skip-till-next-match WHERE [driver, rider, district] GROUP-BY district
        WITHIN 30 minutes SLIDE 1 minute""",
        timed(
            "time type driver rider district speed",
            (0.5, "Pickup", 1, 1, "north", None),
            (1.5, "Pickup", 1, 1, "north", None),
            (2, "Trip", 1, 1, "north", 20),
            (3, "Cancel", 1, 1, "north", None),
            (4, "Trip", 1, 1, "north", 40),
            (5.5, "Dropoff", 1, 1, "north", None),
            (10, "Pickup", 2, 2, "south", None),
            (11, "Trip", 2, 2, "south", 10),
            (11.5, "Trip", 2, 3, "south", 90),
            (12, "Dropoff", 2, 2, "south", None),
            unit=60,
        ),
        expected=windows(
            30,
            1,
            (-24, 0, {"district": "north", "count": 2, "avg_T_speed": 30.0}),
            (1, 1, {"district": "north", "count": 1, "avg_T_speed": 30.0}),
            (-17, 10, {"district": "south", "count": 1, "avg_T_speed": 10.0}),
            unit=60,
        ),
    ),
    PaperCase(
        "COGRA q3",
        """RETURN sector, COUNT(*) PATTERN Stock S+ SEMANTICS skip-till-any-match
        WHERE [company, sector] AND S.price > NEXT(S).price GROUP-BY sector
        WITHIN 10 minutes SLIDE 10 seconds""",
        DOWN_TRENDS,
        expected=DOWN_TREND_ROWS,
    ),
    # Patient 1: 10 20 30 40; then 50 60 70, 50 60 70 80 and 60 70 80 (105 at 70 is A or F). Patient 2: 25
    # is active. Patient 3: 22 32 42. Windows that begin at -540 end before 70; 30 holds what begins at 50
    # and 60; 60 the last one.
    PaperCase(
        "COGRA q4",
        """RETURN patient, COUNT(*)
        PATTERN SEQ(Activity S, Activity A+, Activity F)
        SEMANTICS contiguous
        WHERE [patient] AND S.rate < 60 AND F.rate > 100 AND
        A.type = passive GROUP-BY patient
        WITHIN 10 minutes SLIDE 30 seconds""",
        timed(
            "time event patient type rate",
            (10, "Activity", 1, "active", 55),
            (15, "Activity", 2, "active", 50),
            (20, "Activity", 1, "passive", 70),
            (22, "Activity", 3, "passive", 40),
            (25, "Activity", 2, "active", 75),
            (30, "Activity", 1, "passive", 80),
            (32, "Activity", 3, "passive", 65),
            (35, "Activity", 2, "active", 130),
            (40, "Activity", 1, "active", 110),
            (42, "Activity", 3, "passive", 101),
            (50, "Activity", 1, "passive", 58),
            (60, "Activity", 1, "passive", 59),
            (70, "Activity", 1, "passive", 105),
            (80, "Activity", 1, "active", 120),
        ),
        {"type": "event"},
        windows(
            600,
            30,
            (-540, -540, {"patient": 1, "count": 1}),
            (-510, 0, {"patient": 1, "count": 4}),
            (30, 30, {"patient": 1, "count": 3}),
            (60, 60, {"patient": 1, "count": 1}),
            (-540, 0, {"patient": 3, "count": 1}),
        ),
    ),
)

GRETA_QUERIES = (
    PaperCase(
        "GRETA Q1",
        """RETURN sector, COUNT(*) PATTERN Stock S+
        WHERE [company,sector] AND S.price > NEXT(S).price
        GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds""",
        DOWN_TRENDS,
        expected=DOWN_TREND_ROWS,
    ),
    # Job 1 on mapper 1, loads 1 3 2: (1), (3), (2), (1,3), (1,2): 3 * 100 + 2 * 200 + 2 * 400 = 1500; only
    # [0,60) holds 5 to 35. Job 2 on mapper 1: 7, in [0,60) and [30,90). Mapper 2: 3, in [-30,30) and
    # [0,60).
    PaperCase(
        "GRETA Q2",
        """RETURN mapper, SUM(M.cpu)
        PATTERN SEQ(Start S, Measurement M+, End E)
        WHERE [job,mapper] AND M.load < NEXT(M).load
        GROUP-BY mapper WITHIN 1 minute SLIDE 30 seconds""",
        timed(
            "time type job mapper load cpu",
            (5, "Start", 1, 1, None, None),
            (10, "Measurement", 1, 1, 1, 100),
            (12, "Start", 1, 2, None, None),
            (14, "Measurement", 1, 2, 9, 3),
            (15, "Measurement", 1, 1, 3, 200),
            (16, "End", 1, 2, None, None),
            (20, "Measurement", 1, 1, 2, 400),
            (31, "Start", 2, 1, None, None),
            (35, "End", 1, 1, None, None),
            (40, "Measurement", 2, 1, 5, 7),
            (50, "End", 2, 1, None, None),
        ),
        expected=windows(
            60,
            30,
            (-30, 0, {"mapper": 2, "sum_M_cpu": 3}),
            (0, 0, {"mapper": 1, "sum_M_cpu": 1507}),
            (30, 30, {"mapper": 1, "sum_M_cpu": 7}),
        ),
    ),
    # Segment 1: speeds 60, 50, 40 at 0:30, 1:30, 2:30 by vehicle 1 and 30 at 3:30 by vehicle 2; the
    # accident at 2:00 forbids only trends that begin after it in its window. With all of vehicle 1: (60),
    # (50), (60,50), (60,40), (60,50,40), (50,40): (4 * 60 + 4 * 50 + 3 * 40) / 11. [1,6): (50), (50,40).
    # [2,7): none. [3,8): (30). Segment 2 has no accident: 80, 70 at 1:00 and 2:10. (Paper differs: its
    # algorithm also drops 40 after 60 and 50.)
    PaperCase(
        "GRETA Q3",
        """RETURN segment, COUNT(*), AVG(P.speed)
        PATTERN SEQ(NOT Accident A, Position P+)
        WHERE [P.vehicle,segment] AND P.speed > NEXT(P).speed
        GROUP-BY segment WITHIN 5 minutes SLIDE 1 minute""",
        timed(
            "time type vehicle segment speed",
            (30, "Position", 1, 1, 60),
            (60, "Position", 3, 2, 80),
            (90, "Position", 1, 1, 50),
            (120, "Accident", None, 1, None),
            (130, "Position", 3, 2, 70),
            (150, "Position", 1, 1, 40),
            (210, "Position", 2, 1, 30),
        ),
        expected=windows(
            300,
            60,
            (-240, -240, {"segment": 1, "count": 1, "avg_P_speed": 60.0}),
            (-180, -180, {"segment": 1, "count": 3, "avg_P_speed": 55.0}),
            (-120, 0, {"segment": 1, "count": 6, "avg_P_speed": 560 / 11}),
            (60, 60, {"segment": 1, "count": 2, "avg_P_speed": 140 / 3}),
            (180, 180, {"segment": 1, "count": 1, "avg_P_speed": 30.0}),
            (-180, -180, {"segment": 2, "count": 1, "avg_P_speed": 80.0}),
            (-120, 60, {"segment": 2, "count": 3, "avg_P_speed": 75.0}),
            (120, 120, {"segment": 2, "count": 1, "avg_P_speed": 70.0}),
        ),
    ),
)

HAMLET_QUERIES = (
    # Driver 1: Travels of 5 and 7 at 2:30 and 4:30, in windows that end before the Pickup at 10:30 (start
    # -20 at the latest): 1, then 3 trends with 2 * 5 + 2 * 7. Driver 2: a Travel of 3 in south, of 4 in
    # north, no trend of both; no Pickup, so until its Request at 1:30 leaves.
    PaperCase(
        "HAMLET q1",
        """RETURN T.district, COUNT(*), SUM(T.duration)
        PATTERN SEQ(Request R, Travel T+, NOT Pickup P)
        WHERE [driver, rider] GROUP-BY T.district
        WITHIN 30 min SLIDE 1 min""",
        timed(
            "time type driver rider district duration",
            (0.5, "Request", 1, 1, None, None),
            (1.5, "Request", 2, 2, None, None),
            (2.5, "Travel", 1, 1, "north", 5),
            (3.5, "Travel", 2, 2, "south", 3),
            (4.5, "Travel", 1, 1, "north", 7),
            (5.5, "Travel", 2, 2, "north", 4),
            (10.5, "Pickup", 1, 1, None, None),
            unit=60,
        ),
        expected=windows(
            30,
            1,
            (-27, -26, {"district": "north", "count": 1, "sum_T_duration": 5}),
            (-25, -25, {"district": "north", "count": 3, "sum_T_duration": 24}),
            (-24, -20, {"district": "north", "count": 4, "sum_T_duration": 28}),
            (-19, 1, {"district": "north", "count": 1, "sum_T_duration": 4}),
            (-26, 1, {"district": "south", "count": 1, "sum_T_duration": 3}),
            unit=60,
        ),
    ),
    # Driver 1, Pool: (20), (40), (20,40), average (2 * 20 + 2 * 40) / 4, 1:00 to 8:00. Driver 2 is no Pool.
    # Driver 3, Pool: 16:00 to 21:00. Here `type` is the kind of request, the event type is in another
    # column.
    PaperCase(
        "HAMLET q2",
        """RETURN T.district, COUNT(*), AVG(T.speed)
        PATTERN SEQ(Request R, Travel T+, Dropoff D)
        WHERE [driver, rider] AND R.type=Pool GROUP-BY T.district
        WITHIN 30 min SLIDE 5 min""",
        timed(
            "time event driver rider type district speed",
            (1, "Request", 1, 1, "Pool", None, None),
            (2, "Request", 2, 2, "Solo", None, None),
            (3, "Travel", 1, 1, None, "north", 20),
            (4, "Travel", 2, 2, None, "north", 50),
            (6, "Travel", 1, 1, None, "north", 40),
            (7, "Dropoff", 2, 2, None, None, None),
            (8, "Dropoff", 1, 1, None, None, None),
            (16, "Request", 3, 3, "Pool", None, None),
            (17, "Travel", 3, 3, None, "south", 30),
            (21, "Dropoff", 3, 3, None, None, None),
            unit=60,
        ),
        {"type": "event"},
        windows(
            30,
            5,
            (-20, 0, {"district": "north", "count": 3, "avg_T_speed": 30.0}),
            (-5, 15, {"district": "south", "count": 1, "avg_T_speed": 30.0}),
            unit=60,
        ),
    ),
    # The Travel with speed 12 does not count: (6), (4), (6,4) to each Cancel, durations 2 * 6 + 2 * 4.
    # Windows that begin at -15 and -14 hold the Cancel at 4:30, from -13 also that at 6:30.
    PaperCase(
        "HAMLET q3",
        """RETURN T.district, COUNT(*), SUM(T.duration)
        PATTERN SEQ(Request R, Travel T+, Cancel C)
        WHERE [driver, rider] AND T.speed<10 GROUP-BY T.district
        WITHIN 20 min SLIDE 1 min""",
        timed(
            "time type driver rider district speed duration",
            (0.5, "Request", 1, 1, None, None, None),
            (1.5, "Travel", 1, 1, "north", 5, 6),
            (2.5, "Travel", 1, 1, "north", 12, 9),
            (3.5, "Travel", 1, 1, "north", 8, 4),
            (4.5, "Cancel", 1, 1, None, None, None),
            (5.5, "Cancel", 2, 2, None, None, None),
            (6.5, "Cancel", 1, 1, None, None, None),
            unit=60,
        ),
        expected=windows(
            20,
            1,
            (-15, -14, {"district": "north", "count": 3, "sum_T_duration": 20}),
            (-13, 0, {"district": "north", "count": 6, "sum_T_duration": 40}),
            unit=60,
        ),
    ),
)


def triggers(size: int, *rows: tuple[int, Row], unit: int = 1) -> tuple[Row, ...]:
    """Return the rows of windows per trigger: when each trigger comes, and what its window holds."""
    return tuple(
        {"window_start": at((time - size) * unit), "window_end": at(time * unit), **values} for time, values in rows
    )


A_SEQ_QUERIES = (
    # IP 1: (0,2,3) at 3, also (0,2,5) at 5; the password at 4 is right. At 12 the user name of 0 is out.
    # IP 2: (4,6,7). The text of the paper has a stray `<` before some names: once without and once with them.
    *(
        PaperCase(
            f"A-Seq application I, {name}",
            query,
            timed(
                "time type IP Password value",
                (0, "TypeUsername", "10.0.0.1", "x", None),
                (2, "TypePassword", "10.0.0.1", None, "y"),
                (3, "ClickSubmit", "10.0.0.1", None, None),
                (4, "TypePassword", "10.0.0.1", None, "x"),
                (4, "TypeUsername", "10.0.0.2", "q", None),
                (5, "ClickSubmit", "10.0.0.1", None, None),
                (6, "TypePassword", "10.0.0.2", None, "z"),
                (7, "ClickSubmit", "10.0.0.2", None, None),
                (12, "ClickSubmit", "10.0.0.1", None, None),
            ),
            expected=triggers(
                10,
                (3, {"IP": "10.0.0.1", "count": 1}),
                (5, {"IP": "10.0.0.1", "count": 2}),
                (7, {"IP": "10.0.0.2", "count": 1}),
            ),
        )
        for name, query in (
            (
                "brackets in pairs",
                """PATTERN <SEQ(TypeUsername,TypePassword,ClickSubmit)>
                WHERE <TypePassword.value!=TypeUsername.Password>
                GROUP BY <IP>
                [AGG COUNT] [WITHIN 10s]""",
            ),
            (
                "as printed",
                """PATTERN <SEQ(<TypeUsername,<TypePassword,ClickSubmit)>
                WHERE <TypePassword.value!=<TypeUsername.Password>
                GROUP BY <IP>
                [AGG COUNT] [WITHIN 10s]""",
            ),
        )
    ),
    # Users 3, 1, 1, 2 finish at 14, 20, 40, 62. At 62 the Kindle of user 1 (0) is out of (2, 62], that of
    # user 3 (12) is in.
    PaperCase(
        "A-Seq application II",
        """PATTERN <SEQ(Kindle, KindleCase, Stylus)>
        WHERE <Kindle.userId=KindleCase.userId=Stylus.userId>
        [AGG COUNT] [WITHIN 1hour]""",
        timed(
            "time type userId",
            (0, "Kindle", 1),
            (5, "Kindle", 2),
            (10, "KindleCase", 1),
            (12, "Kindle", 3),
            (13, "KindleCase", 3),
            (14, "Stylus", 3),
            (15, "KindleCase", 2),
            (20, "Stylus", 1),
            (40, "Stylus", 1),
            (62, "Stylus", 2),
            unit=60,
        ),
        expected=triggers(
            60, (14, {"count": 1}), (20, {"count": 2}), (40, {"count": 3}), (62, {"count": 2}), unit=60
        ),
    ),
)

SURVEY_QUERIES = (
    # Adults: person 1 leaves at 0 and is seen at 10 and 40; at 50 it is out of (2, 50] and person 4 (30,
    # 50) is in. Person 2 takes 55 hours. Children: person 3.
    PaperCase(
        "survey q1, figure 1 and section 2",
        "AGG COUNT PATTERN SEQ(TX, OK) WHERE TX.person_id = OK.person_id GROUPBY age-group WITHIN 48 h",
        timed(
            "time type person_id age-group",
            (0, "TX", 1, "adult"),
            (5, "TX", 2, "adult"),
            (10, "OK", 1, "adult"),
            (20, "TX", 3, "child"),
            (30, "OK", 3, "child"),
            (30, "TX", 4, "adult"),
            (40, "OK", 1, "adult"),
            (50, "OK", 4, "adult"),
            (60, "OK", 2, "adult"),
            unit=3600,
        ),
        expected=triggers(
            48,
            (10, {"age-group": "adult", "count": 1}),
            (30, {"age-group": "child", "count": 1}),
            (40, {"age-group": "adult", "count": 2}),
            (50, {"age-group": "adult", "count": 1}),
            unit=3600,
        ),
    ),
)

CASES: tuple[PaperCase, ...] = (
    *cogra_tables(),
    *COGRA_EXAMPLES,
    *greta_prefixes(),
    *GRETA_EXAMPLES,
    *prefix_counters(),
    *A_SEQ_EXAMPLES,
    *hamlet_tables(),
    *COGRA_QUERIES,
    *GRETA_QUERIES,
    *HAMLET_QUERIES,
    *A_SEQ_QUERIES,
    *SURVEY_QUERIES,
)
