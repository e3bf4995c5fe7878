"""Lists of the first and last events of trends: in order of time, and sorted by what they are compared by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.inner_states import Core, find_cuts
from sparkleene.kernels.jit import helper
from sparkleene.kernels.program import ZERO, Array, Events, Program
from sparkleene.kernels.whole_steps import Chosen

RUN = 16  # first or last events that are sorted one by one


class Lists(NamedTuple):
    """First and last events of a window, in order of time and, stretch by stretch, of what is compared."""

    tick: Array  # int64[ticks + 1]: the first row of each tick
    cut: Array  # bool[ticks + 1]: whether no trend goes on from the ticks before
    starts: Array  # int64[]: rows
    stops: Array
    starts_to: Array  # int64[ticks + 1]: how many come before each tick
    stops_to: Array
    starts_by: Array  # int64[]: numbers of starts in order
    stops_by: Array
    swap: Array


def make_lists(rows: int) -> Lists:
    """Return room for the lists of windows of up to so many rows."""
    return Lists(
        np.empty(rows + 1, np.int64), np.zeros(rows + 1, np.bool_), np.empty(rows, np.int64),
        np.empty(rows, np.int64), np.zeros(rows + 1, np.int64), np.zeros(rows + 1, np.int64),
        np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64),
    )  # fmt: skip


@helper
def list_events(
    program: Program, core: Core, events: Events, chosen: Chosen, begin: int, end: int, lists: Lists
) -> int:
    """List the ticks of a window, and the rows that begin and end trends of several rows; return how many ticks."""
    ticks, first, last = np.int64(0), np.int64(0), np.int64(0)
    enter, leave = core.enter.off, core.leave.off
    i = begin
    cut = True
    while i < end:
        j = i + 1
        while j < end and events.tick[j] == events.tick[i]:
            j += 1
        before, after = find_cuts(program, core, events, i, j)
        lists.tick[ticks], lists.starts_to[ticks], lists.stops_to[ticks] = i, first, last
        lists.cut[ticks] = cut or before
        cut = after
        for e in range(i, j):
            y = np.int64(events.symbol[e])
            if chosen.starts[e] and enter[y] < enter[y + 1]:
                lists.starts[first] = e
                lists.starts_by[first] = first
                first += 1
            if chosen.stops[e] and leave[y] < leave[y + 1]:
                lists.stops[last] = e
                lists.stops_by[last] = last
                last += 1
        ticks += 1
        i = j
    lists.tick[ticks], lists.starts_to[ticks], lists.stops_to[ticks], lists.cut[ticks] = end, first, last, True
    return ticks  # type: ignore[return-value]


@helper
def _before(code: Array, key: Array, i: int, j: int) -> bool:
    """Tell whether row i comes before row j by code and key."""
    return code[i] < code[j] or (code[i] == code[j] and key[i] < key[j])


@helper
def _sort(rows: Array, by: Array, code: Array, key: Array, begin: int, end: int) -> None:
    """Sort a short run."""
    for k in range(begin + 1, end):
        one, at = by[k], k
        while at > begin and _before(code, key, rows[one], rows[by[at - 1]]):
            by[at] = by[at - 1]
            at -= 1
        by[at] = one


@helper
def merge(rows: Array, by: Array, code: Array, key: Array, begin: int, middle: int, end: int, swap: Array) -> None:
    """Merge two sorted runs that follow each other."""
    a, b = begin, middle
    for k in range(begin, end):
        if a < middle and (b == end or not _before(code, key, rows[by[b]], rows[by[a]])):
            swap[k] = by[a]
            a += 1
        else:
            swap[k] = by[b]
            b += 1
    for k in range(begin, end):
        by[k] = swap[k]


@helper
def sort_block(rows: Array, by: Array, code: Array, key: Array, begin: int, end: int, swap: Array) -> None:
    """Sort what a short stretch holds."""
    for k in range(begin, end, RUN):
        _sort(rows, by, code, key, k, min(k + RUN, end))
    size = RUN
    while size < end - begin:
        for k in range(begin, end - size, 2 * size):
            merge(rows, by, code, key, k, k + size, min(k + 2 * size, end), swap)
        size *= 2


@helper
def sort_numbers(values: Array, count: int) -> None:
    """Sort the first numbers of values[0]; values[1] is room to do it."""
    size = 1
    while size < count:
        for begin in range(0, count, 2 * size):
            a, middle = begin, min(begin + size, count)
            b, end = middle, min(begin + 2 * size, count)
            for k in range(begin, end):
                if a < middle and (b == end or values[0, a] <= values[0, b]):
                    values[1, k] = values[0, a]
                    a += 1
                else:
                    values[1, k] = values[0, b]
                    b += 1
        for k in range(count):
            values[0, k] = values[1, k]
        size *= 2


@helper
def count_below(values: Array, count: int, y: float, equal: bool) -> int:
    """Return how many of the sorted numbers values[0] are less than y, or at most y if `equal` says so."""
    low, high = ZERO, np.int64(count)
    while low < high:
        middle = (low + high) // 2
        if values[0, middle] < y or (equal and values[0, middle] == y):
            low = middle + 1
        else:
            high = middle
    return low  # type: ignore[return-value]
