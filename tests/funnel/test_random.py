"""Funnels with all options against a brute force, over random small streams."""

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from tests.funnel.brute_force import BruteFunnel, Event
from tests.funnel.cases import draw_events, draw_funnel, draw_sessions, make


@pytest.mark.parametrize("seed", range(150))
def test_funnels_equal_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    compare(draw_events(rng), draw_funnel(rng))


@pytest.mark.parametrize("seed", range(100))
def test_sessions_equal_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    events, brute = draw_sessions(rng)
    rng.shuffle(events)
    compare(events, brute, numbers=rng.choice(["double", "long", "exact"]))


def compare(events: list[Event], brute: BruteFunnel, **options: Any) -> None:
    found = make(brute, **options).run(pa.Table.from_pylist(events)).to_pylist()
    wanted = brute.run(events)
    for row in found:
        del row["name"]
        row["trends"] = int(row["trends"])
    assert [list(row) for row in found] == [list(row) for row in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_users_by_their_shortest_trends(seed: int) -> None:
    """With nothing but users and a limit in units over timestamps, durations are not what is counted."""
    rng = random.Random(seed)
    events, brute = draw_events(rng), replace(draw_funnel(rng, windows=False), within=rng.choice([3, 8, 20]))
    table = pa.Table.from_pylist(events)
    times = table.column("time").cast(pa.timestamp("s"))
    made = make(replace(brute, within=None), measures=["users"], within=f"{brute.within} seconds")
    found = made.run(table.set_column(0, "time", times))
    assert found.column("users").to_pylist() == [row["users"] for row in brute.run(events)]
    assert "shortest trend" in made.explain()
