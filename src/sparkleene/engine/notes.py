"""What a person should know before a run: it will take long, or simultaneous rows multiply its results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparkleene.engine import cost
from sparkleene.engine.arrays import Arrays
from sparkleene.engine.substreams import SubStreams
from sparkleene.engine.windows import Windows
from sparkleene.kernels import whole_pairs
from sparkleene.plan.plan import Plan
from sparkleene.plan.reasons import why_scanned

LONG = 10.0
"""Seconds that a scan takes before it is worth a word."""


def find_notes(
    plan: Plan, rows: SubStreams, arrays: Arrays, windows: Windows, threads: int, tiebreak: str | None
) -> Iterator[str]:
    """Yield what is to be told of a run over these rows and windows."""
    yield from _note_scan(plan, arrays, windows, threads)
    yield from _note_each(plan, arrays, windows)
    yield from _note_passes(arrays, windows, threads)
    if plan.bound.semantics == "contiguous" and rows.tied:
        yield from _note_ties(rows, tiebreak)


def _note_scan(plan: Plan, arrays: Arrays, windows: Windows, threads: int) -> Iterator[str]:
    """Say that each event will be compared with all before it, if that takes long."""
    reason = why_scanned(plan.directed, arrays.tied)
    # Under skip-till-next-match an event is stored until it is extended: nobody knows how many there will be.
    if not reason or not windows.lo.size or plan.machine.semantics != "skip-till-any-match":
        return
    seconds = cost.scan_seconds(plan.directed, arrays, windows.lo, windows.hi, threads)
    if seconds >= LONG:
        longest = int((windows.hi - windows.lo).max())
        yield (
            f"this takes about {_duration(seconds)}, for each event is compared with all before it, and up to"
            f" {longest:,} rows meet in one window of a sub-stream: {reason};"
            " rewrite the condition, shorten the window or add a key"
        )


def _note_each(plan: Plan, arrays: Arrays, windows: Windows) -> Iterator[str]:
    """Say that EACH may compare many events, if that would take long."""
    stored = arrays.main.kernel != "linear" and plan.machine.semantics == "skip-till-any-match"
    if not plan.aggregates.each or not stored or not windows.lo.size:
        return
    seconds = cost.scan_seconds(plan.directed, arrays, windows.lo, windows.hi, 1)
    if seconds >= LONG:
        yield (
            f"EACH may take up to {_duration(seconds)}: with conditions on neighbours it compares each event that"
            " is in a trend with the events before it that are in none yet; shorten the window or add a key"
        )


def _note_passes(arrays: Arrays, windows: Windows, threads: int) -> Iterator[str]:
    """Say that there is a pass for each first event of a trend, if that takes long."""
    choice = arrays.choice
    if choice is None or choice.how != "each start" or not windows.lo.size:
        return
    rows = (windows.hi - windows.lo).astype(np.float64)
    longest = rows
    if choice.bounds:
        longest = whole_pairs.find_longest(choice.chosen, choice.bounds, windows.lo, windows.hi).astype(np.float64)
    seconds = float((rows * longest).sum()) / 2 * cost.ROW / 1e9 / threads
    if seconds >= LONG:
        yield (
            f"this takes about {_duration(seconds)}, for there is a pass over up to {int(longest.max()):,} rows for"
            " each first event of a trend; bound DURATION, shorten the window or add a key"
        )


def _duration(seconds: float) -> str:
    """Print a length of time roughly.

    >>> _duration(14), _duration(500), _duration(9000)
    ('14 seconds', '8 minutes', '2.5 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.1f} hours"


def _note_ties(rows: SubStreams, tiebreak: str | None) -> Iterator[str]:
    """Say how many rows repeat the time of another one of their sub-stream."""
    count = count_ties(rows)
    if not count:
        return
    many = "1 row has" if count == 1 else f"{count:,} rows have"
    order = "or pass tiebreak= with a column that orders them"
    if tiebreak is not None:
        order = f"for '{tiebreak}' does not order them"
    yield (
        f"{many} the time of another row of the same sub-stream, and rows of one time are simultaneous: under"
        " contiguous semantics each of them continues every trend that ends just before them, so that trends"
        f" multiply; drop rows that are repeated, {order}"
    )


def count_ties(rows: SubStreams) -> int:
    """Return how many rows with a label are in the tick of one before them."""
    labelled = np.flatnonzero(rows.mask)
    tick = rows.tick[labelled]
    stream = np.searchsorted(rows.bounds, labelled, "right")
    return int(((tick[1:] == tick[:-1]) & (stream[1:] == stream[:-1])).sum())
