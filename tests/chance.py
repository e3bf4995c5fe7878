"""How many random cases a test draws, and from what.

`make test` draws the same cases every time, and few of them, for it has to end within minutes. `make soak` draws 80
times as many, from a seed that it prints: what it finds becomes a case of its own (`@example`), and
`make soak SEED=...` draws the same again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import Any

import pytest

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
SEED = int(os.environ.get("SEED", "0"))


def cases(count: int) -> int:
    """Return how many cases to draw where a test asks for some: a quarter in `make test`, and at least one."""
    return 20 * count if SOAK else max(1, count // 4)


def rest(values: Iterable[Any]) -> list[Any]:
    """Return parameters that repeat what the other ones of a test check: `make test` leaves them out."""
    return [pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.repeat) for one in values]


def chance(name: str) -> random.Random:
    """Return random numbers for a test, the same for the same name unless `make soak` draws others."""
    print(f"seed {SEED} for {name}")
    return random.Random(f"{SEED} {name}")
