"""Matches that others have published: those that OpenCEP's own tests expect of five minutes of one stock.

Prices and expected matches are facts, written down here; nothing else of that project is. A match is the minutes of
its events. Two of its tests of Kleene patterns are left out, for its meaning is another. In `KleeneClosureSeq`
events of one minute follow each other by the order of arrival for some steps, and by time for others. `KC_AND` has
an AND inside of `+`.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

import sparkleene as sk

STOCK = pa.table(
    {
        "time": [0, 1, 2, 3, 4],  # minutes after nine, 1 February 2008
        "type": ["GOOG"] * 5,
        "opening": [532.04, 530.53, 530.33, 530.08, 530.05],
        "peak": [532.04, 531.15, 530.33, 530.25, 530.83],
    }
)

EXPECTED = {
    "GOOG a{1,2}": "0 01 1 02 12 2 03 13 23 3 04 14 24 34 4",
    "GOOG a+": (
        "0 01 1 012 02 12 2 0123 013 023 03 123 13 23 3 "
        "01234 0124 0134 014 0234 024 034 04 1234 124 134 14 234 24 34 4"
    ),
    "GOOG a{4,5}": "0123 01234 0124 0134 0234 1234",
    "GOOG a+ WHERE a.peak > 530.5": "0 01 1 014 04 14 4",
    "SEQ(GOOG a{2}, GOOG b, GOOG c*) WHERE b.peak > 530.5": "014 024 034 124 134 234",
    "GOOG a+ WHERE a.peak > 530.5 AND NEXT(a).opening + 0.5 < a.opening": "0 01 1 04 4",
}


@pytest.mark.parametrize("pattern", EXPECTED)
def test_matches_of_opencep(pattern: str) -> None:
    matches = EXPECTED[pattern].split()
    both = "AND" if "WHERE" in pattern else "WHERE"
    query = sk.query(f"RETURN COUNT(*) PATTERN {pattern} {both} DURATION <= 5")
    assert query.run(STOCK).to_pylist() == [{"count": len(matches)}]
    found = query.trends(STOCK, limit=100).to_pylist()
    minutes = ["".join(str(event["time"]) for event in row["events"]) for row in found]
    assert sorted(minutes) == sorted(matches)
