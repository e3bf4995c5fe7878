"""What explain says of windows: how long they are, what they are made of, where their borders are."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sparkleene.language.bound import Bound, Drawn, Window
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import length, number, term_to_text

Rows = Iterator[tuple[str, ...]]


def count_overlap(window: Window | Drawn | None) -> int:
    """Return how many windows hold an event, at most; 0 where that depends on the data."""
    if window is None or isinstance(window, Drawn):
        return 1
    return 0 if window.slide is None else math.ceil(window.size / window.slide)


def explain_window(plan: Plan, zone: str, clocks_change: bool) -> Rows:
    """Say what kind of windows a plan has; `clocks_change` tells whether days of the zone are not all alike."""
    window = plan.bound.window
    if window is None:
        yield "kind", "none: the whole input"
        return
    if isinstance(window, Drawn):
        yield from _explain_drawn(window, plan.bound)
        return
    unit = " in the unit of the time column" if window.unit == "time" else ""
    size = length(window.size, window.unit)
    if window.slide is None:
        yield "kind", f"per trigger: (t - {size}, t] for every tick t at which a trend ends{unit}"
        return
    over = ", over the rows of each sub-stream" if window.unit == "events" else ""
    kind = "sliding" if window.size > window.slide else "hopping"
    every = f"{kind}: {size} long, every {length(window.slide, window.unit)}"
    if window.size == window.slide:
        every = f"tumbling: {size} long, one after the other"
    yield "kind", f"{every}{over}{unit}"
    if window.size > window.slide and plan.pane is not None:
        pane, panes = length(plan.pane, window.unit), number(window.size / plan.pane)
        yield "panes", f"{pane} each, {panes} to a window; {count_overlap(window)} windows hold an event"
    elif window.size < window.slide:
        yield "gaps", f"of {length(window.slide - window.size, window.unit)}: rows in them are in no window"
    if window.calendar in ("days", "months") or window.origin:
        yield from _explain_borders(window, zone, clocks_change)


def _explain_borders(window: Window, zone: str, clocks_change: bool) -> Rows:
    """Say where windows of a calendar begin and end."""
    months, begin = int(window.slide or 0), ""
    if window.unit == "months":
        year = " of 1970" if 12 % months else ""
        begin = ", on the first of a month" + (f", every {months} from January{year} on" if months > 1 else "")
    elif window.origin:
        begin = ", on Mondays"
    if zone == "UTC":
        yield "borders", f"midnight of UTC{begin}; of the times' own clock where they have no time zone"
    else:
        yield "borders", f"midnight of {zone}{begin}"
    if clocks_change and window.calendar != "mixed":
        yield "", "a day on which clocks are set has 23 or 25 hours, or as many as they make of it"


def _explain_drawn(window: Drawn, bound: Bound) -> Rows:
    """Say which rows draw the borders of windows."""
    unit = " in the unit of the time column" if window.unit == "time" else ""
    whose = f"each group ({', '.join(bound.group_names)})" if bound.group_names else "the input"
    if window.gap is not None:
        gap = length(window.gap, window.unit)
        yield "kind", f"session: rows of {whose}, each at most {gap} after the one before{unit}"
    elif window.opens is not None:
        yield "kind", f"drawn by rows of {whose}"
        yield "from", f"a row for which {term_to_text(window.opens)}, if no window is open"
        end = "before the next such row"
        if window.closes is not None:
            end = f"the first later row for which {term_to_text(window.closes)}, which is inside"
        yield "to", end
    if window.most is not None:
        yield "longest", f"{length(window.most, window.unit)} from the first row to the last{unit}"
    last = "the last one's" if window.gap is None else "the last one's plus the gap"
    yield "borders", f"window_start is the first row's time, window_end {last}"
    yield "rows", "all of a group draw its windows, whatever their types"
