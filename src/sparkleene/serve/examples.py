"""Examples that a person can click."""

from __future__ import annotations

from typing import Any

_STOCK = {"name": "generate:stock", "events": 20_000, "seed": 0}
_CLICKS = {"name": "generate:clicks", "events": 20_000, "seed": 0}
_RIDES = {"name": "generate:rides", "events": 20_000, "seed": 0}

EXAMPLES: list[dict[str, Any]] = [
    {
        "title": "Falling prices",
        "about": "In how many ways do prices of a sector fall, if any price may be skipped?",
        "mode": "query",
        "data": _STOCK,
        "text": """RETURN sector, COUNT(*), AVG(S.price)
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 5 minutes""",
    },
    {
        "title": "Three falls in a row",
        "about": "Streaks of three falls of one company's price, with nothing between.",
        "mode": "query",
        "data": _STOCK,
        "text": """RETURN company, COUNT(*)
PATTERN Stock S{4}
SEMANTICS contiguous
WHERE [company] AND S.price > NEXT(S).price
GROUP-BY company
WITHIN 10 minutes SLIDE 10 minutes
ORDER BY COUNT(*) DESC LIMIT 6""",
    },
    {
        "title": "Search, then buy",
        "about": "Users who search again and again, and then buy a Kindle.",
        "mode": "query",
        "data": _CLICKS,
        "text": """RETURN COUNT(*), COUNT(DISTINCT userId) AS users, AVG(DURATION)
PATTERN SEQ(Search S+, Kindle K)
WHERE [userId] AND DURATION <= 10 minutes
WITHIN 10 minutes SLIDE 5 minutes""",
    },
    {
        "title": "Slow trips",
        "about": "Trips from pickup to dropoff, and their speed, by district.",
        "mode": "query",
        "data": _RIDES,
        "text": """RETURN district, COUNT(*), AVG(T.speed) AS speed
PATTERN SEQ(Pickup P, Trip T+, Dropoff D)
SEMANTICS skip-till-next-match
WHERE [driver, rider, district]
GROUP-BY district
WITHIN 30 minutes SLIDE 10 minutes""",
    },
    {
        "title": "A funnel",
        "about": "How many users come from a search to a Kindle and to its case?",
        "mode": "funnel",
        "data": _CLICKS,
        "steps": ["Search", "Kindle", "KindleCase"],
        "by": ["userId"],
        "within": "30 minutes",
    },
    {
        "title": "Queries that share",
        "about": "Three ways through a shop that end alike, in one pass.",
        "mode": "workload",
        "data": _CLICKS,
        "text": """after_search: RETURN COUNT(*) PATTERN SEQ(Search, View V+, Kindle)
  WHERE [userId] WITHIN 10 minutes SLIDE 5 minutes
after_login: RETURN COUNT(*) PATTERN SEQ(ClickSubmit, View V+, Kindle)
  WHERE [userId] WITHIN 10 minutes SLIDE 5 minutes
after_stylus: RETURN COUNT(*) PATTERN SEQ(Stylus, View V+, Kindle)
  WHERE [userId] WITHIN 10 minutes SLIDE 5 minutes""",
    },
    {
        "title": "A stream, live",
        "about": "Falling prices as their windows close.",
        "mode": "live",
        "data": _STOCK,
        "text": """RETURN sector, COUNT(*)
PATTERN Stock S{2,4}
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 5 minutes SLIDE 5 minutes""",
    },
]
