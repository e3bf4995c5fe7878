"""Which trends to show of those that a query has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Order = Literal["first", "last", "longest", "shortest", "sample"]
ORDERS: tuple[Order, ...] = ("first", "last", "longest", "shortest", "sample")
ALL = 1 << 62  # no limit
DRAW, SCORE = "sparkleene draw", "sparkleene score"  # columns of samples of which the best are still to be found


@dataclass(frozen=True)
class Selection:
    """How many trends (None for all), in which order, and what to draw them by."""

    limit: int | None = 20
    order: Order = "first"
    seed: int = 0

    @property
    def most(self) -> int:
        """How many trends: of all windows and groups if they are the first, else of each."""
        return ALL if self.limit is None else self.limit
