"""How many random cases a test draws, and from what.

`make test` draws the same cases every time. `make soak` draws many more, from a seed that it prints: what it finds
becomes a case of its own (`@example`), and `make soak SEED=...` draws the same again.
"""

from __future__ import annotations

import os
import random

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
SEED = int(os.environ.get("SEED", "0"))


def cases(count: int) -> int:
    """Return how many cases to draw where `make test` draws a number of them."""
    return 20 * count if SOAK else count


def chance(name: str) -> random.Random:
    """Return random numbers for a test, the same for the same name unless `make soak` draws others."""
    print(f"seed {SEED} for {name}")
    return random.Random(f"{SEED} {name}")
