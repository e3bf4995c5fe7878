"""The options as the engine reads them; `QueryOptions.for_engine` makes them of what a user gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class EngineOptions:
    """How the table's columns are meant and how numbers are kept."""

    time: str = "time"
    type: str | None = "type"
    tiebreak: str | None = None
    time_unit: str | None = None
    numbers: str = "double"
    offset: Fraction = Fraction(0)  # in milliseconds, or in the unit of the time column
    offset_in_ms: bool = False
    timezone: str = "UTC"  # whose days and months windows go by
    masks: tuple[str, ...] = ()  # columns of ready label masks, which then need no types; see engine/substreams.py
    numbered: bool = True  # whether rows have an order of their own, and so numbers that errors can name
    forced_bursts: bytes | None = field(default=None, repr=False)  # which copies share bursts, instead of by cost
