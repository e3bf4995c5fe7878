"""Which windows a part of a workload serves, where the workload has changed while a stream ran.

Each change begins a generation of parts. Windows that start before its border are served by the parts before, later
ones by the new. The border is after all rows that earlier generations have seen, so a new part has every row of the
windows that it serves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparkleene.errors import DataError, Diagnostic

if TYPE_CHECKING:
    from sparkleene.engine.grid import Grid, Trailing

OPTION = "workload.run(df, checkpoint=path)"


@dataclass(frozen=True)
class Tenure:
    """From when to when a part serves windows, by event time in milliseconds."""

    generation: int  # of the workload now
    birth: int  # the generation that the part came with
    arrivals: tuple[int | None, ...]  # by generation the watermark in its first batch; None for any
    begin: int | None = None  # windows that start before are not its own
    end: int | None = None  # nor are those that start then, or later

    @property
    def is_bounded(self) -> bool:
        """Whether the part came after others, or goes before others."""
        return (self.begin, self.end) != (None, None)


class Reach(NamedTuple):
    """What a tenure means for the windows of a query, in the unit that they are of; None for no bound."""

    after: int | None = None  # the key of the window before the first
    last: int | None = None  # the key of the last window
    begin: int | None = None  # rows before are in no window
    stop: int | None = None  # nor are rows from then on

    def find_inside(self, times: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Tell which times can be in a window."""
        found = np.ones(times.size, bool)
        if self.begin is not None:
            found &= times >= self.begin
        if self.stop is not None:
            found &= times < self.stop
        return found


def find_reach(windows: Grid | Trailing, begin: int | None, end: int | None, mixed: bool = False) -> Reach:
    """Return which windows start from one time on and before another.

    If they are `mixed`, shorter ones may end before the first of these does.
    """

    def before(time: int) -> int:
        return windows.last_started(windows.clock_at(time - 1))

    after, last = (None if time is None else before(time) for time in (begin, end))
    first = None if after is None else windows.time_at(windows.start(after + 1))
    if mixed and begin is not None:
        after = windows.last_closed(windows.clock_at(begin))
    return Reach(after, last, first, None if last is None else windows.time_at(windows.end(last)))


def check_generation(head: dict[str, Any], tenure: Tenure | None) -> None:
    """Raise if a state was written by a later generation than the one that would go on with it."""
    kept = head.get("generation")
    if kept is not None and (tenure is None or kept > tenure.generation):
        raise tell_option()


def tell_option() -> DataError:
    """Return the error for a stream that goes on without knowing which queries its checkpoint has."""
    message = "the checkpoint is of a workload that may change, and has gone on with it"
    notes = ("what runs does not know which queries the checkpoint has by now",)
    help = f"tell it where the checkpoint is, and start what this returns: {OPTION}"
    return DataError(Diagnostic("query-changed", message, notes=notes, help=help))


def check_arrival(tenure: Tenure, known: int, watermark: int) -> None:
    """Raise if rows went by after a change was planned and before it came; `known` is the last generation here."""
    arrival = tenure.arrivals[known + 1]
    if arrival in (None, watermark):
        return
    number = known + 1
    message = "the stream has gone on after the workload's change was planned, so new queries would lack rows"
    notes = (f"the watermark was {arrival} ms then, and is {watermark} ms now",)
    help = (
        f"stop the query, remove sparkleene/{number}.json and later ones from the checkpoint, call {OPTION} again"
    )
    raise DataError(Diagnostic("query-changed", message, notes=notes, help=help))
