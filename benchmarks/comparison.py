"""Adjacent predicates: below the quadratic bound that the papers call optimal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba as nb
import numpy as np

import sparkleene as sk
from benchmarks.common import KLEENE, Line, best, letters, loop, prices

DOWN = "RETURN LOG2(COUNT(*)) PATTERN Stock S+ WHERE S.price > NEXT(S).price"
DOWN_UP = f"{DOWN} AND S.volume < NEXT(S).volume"


@nb.njit(nogil=True)
def _quadratic(price: Any) -> float:
    """Count down-trends as the papers do: every new event looks at every stored one."""
    count = np.zeros(price.size)
    total = 0.0
    for i in range(price.size):
        c = 1.0
        for j in range(i):
            if price[j] > price[i]:
                c += count[j]
        count[i] = c
        total += c
    return total


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure S+ with one and with two inequalities in one window, and restrictive semantics with one."""
    small, large = int(100_000 * scale), int(1_600_000 * scale)
    table = prices(small)
    array = table["price"].to_numpy()
    slow = best(lambda: _quadratic(array), 1)
    down = sk.query(DOWN, type=None)
    fast = best(lambda: down.run(table))
    yield Line(
        f"quadratic loop / S+ price falls, {small:,} events", slow / fast, ">= 300", f"{slow:.2f} s / {fast:.4f} s"
    )
    more = prices(large)
    grown = best(lambda: down.run(more))
    yield Line(f"one inequality, {small:,} to {large:,} events", grown / fast, "<= 22", f"{grown:.3f} s")
    both = sk.query(DOWN_UP, type=None)
    few, many = best(lambda: both.run(table)), best(lambda: both.run(more), 1)
    yield Line(
        f"two inequalities, {small:,} to {large:,} events", many / few, "<= 40", f"{few:.3f} s, {many:.3f} s"
    )

    events = int(10_000_000 * scale)
    plain = letters(events, gap=6)
    tumbling = sk.query(f"RETURN COUNT(*) PATTERN {KLEENE} WITHIN 10 minutes SLIDE 10 minutes")
    base = best(lambda: tumbling.run(plain))
    stream = prices(events, gap=6)
    for semantics in ("skip-till-next-match", "contiguous"):
        text = "RETURN COUNT(*) PATTERN Stock S+ SEMANTICS {} WHERE S.price > NEXT(S).price"
        q = sk.query(text.format(semantics) + " WITHIN 10 minutes SLIDE 10 minutes", type=None)
        seconds = best(lambda: q.run(stream))  # noqa: B023
        each = f"{seconds / events * 1e9:.1f} ns an event, {seconds / best(loop(plain)):.1f} times the loop"
        yield Line(f"{semantics}, S+ price falls / {KLEENE}", seconds / base, "<= 3", each)
