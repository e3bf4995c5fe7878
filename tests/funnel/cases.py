"""Random funnels and events, for all engines."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from tests.funnel.brute_force import BruteFunnel, BruteStep, Event

import sparkleene as sk

NAMES = ("first", "second", "third", "fourth")


def draw_events(rng: random.Random, most: int = 24) -> list[Event]:
    """Return events of a few users, some of them at the same time."""
    times = sorted(rng.choices(range(40), k=rng.randint(4, most)))
    platform = {user: rng.choice("xy") for user in "uv"}
    found = []
    for time in times:
        user = rng.choice("uv")
        kind = rng.choice("AAABBBCCD")
        found.append(
            {"time": time, "type": kind, "user": user, "platform": platform[user], "price": rng.randint(0, 9)}
        )
    return found


def draw_funnel(rng: random.Random, windows: bool | None = None) -> BruteFunnel:
    """Return the options of a funnel."""
    touch = rng.choice(["every", "every", "first", "last"])
    count = rng.randint(1, 4)
    steps = []
    for i in range(count):
        times = rng.choice(["", "", "", "+", "?"]) if touch == "every" else ""
        above = rng.choice([None, None, 2, 5])
        steps.append(BruteStep(rng.choice("ABC"), above, "" if i == 0 and times == "?" else times))
    exclude: tuple[str | None, ...] = ()
    if rng.random() < 0.4:
        exclude = (None, *(rng.choice([None, "D", "A"]) for _ in range(count - 1)))
    any_order = rng.choice(["none", "none", "none", "between", "all"])
    if any_order != "none":
        steps = [replace(step, times=step.times.replace("?", "")) for step in steps]
    every = rng.choice([None, 10, 20]) if windows is None else 10 if windows else None
    return BruteFunnel(
        tuple(steps),
        rng.choice(["any", "any", "next", "strict"]),
        touch,
        any_order,
        exclude,
        rng.choice([None, None, 4, 12]),
        every=every,
        window=20 if every == 10 and rng.random() < 0.3 else None,
        breakdown=rng.random() < 0.4,
    )


def draw_sessions(rng: random.Random) -> tuple[list[Event], BruteFunnel]:
    """Return events of users who change their platforms, and the options of a funnel of sessions."""
    events = [event | {"platform": rng.choice("xxxy")} for event in draw_events(rng, most=30)]
    return events, replace(draw_funnel(rng, windows=False), session=rng.choice([1, 3, 6, 12]))


def make(brute: BruteFunnel, **options: Any) -> sk.Funnel:
    """Return the library's funnel of the same meaning."""
    steps = [
        sk.step(
            f"{one.type} s{i}{one.times}", name=NAMES[i], where=() if one.above is None else f"price > {one.above}"
        )
        for i, one in enumerate(brute.steps)
    ]
    exclude = {NAMES[i]: kind for i, kind in enumerate(brute.exclude) if kind is not None}
    return sk.funnel(
        steps,
        by="user",
        session=brute.session,
        every=brute.every,
        window=brute.window,
        order=brute.order,  # type: ignore[arg-type]
        touch=brute.touch,  # type: ignore[arg-type]
        any_order=brute.any_order,  # type: ignore[arg-type]
        exclude=exclude,
        breakdown="platform" if brute.breakdown else (),
        **({"within": brute.within} | options),
    )
