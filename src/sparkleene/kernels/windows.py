"""Which windows hold which rows of a sub-stream, found by galloping over ordered times."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import Array
from sparkleene.kernels.room import grow_columns, grow_rows

NEAR = 4
"""Rows that are looked at one by one: most borders of windows are near the one before."""

_FAR = np.iinfo(np.int64).max


@helper
def gallop(time: Array, begin: int, end: int, bound: int) -> int:
    """Return the first row of begin:end whose time is at or past the bound."""
    step = 1
    low = begin
    while low + step < end and time[low + step] < bound:
        low += step
        step *= 2
    high = min(low + step + 1, end)
    while low < high:
        middle = (low + high) >> 1
        if time[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def sliding(
    time: Array, rowwise: bool, bounds: Array, offset: int, size: int, slide: int, stop: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the windows [offset + k*slide, ... + size) that hold rows: segment, k, first row, end row.

    Windows one after the other that hold the same rows are returned once, with the number of them.
    With `rowwise` a row's place in its segment stands for its time.
    """
    out = np.empty((5, 1024), np.int64)  # one array, for numba counts references to each at every window
    count = 0
    for g in range(bounds.size - 1):
        begin, end = bounds[g], bounds[g + 1]
        first, last = begin, begin
        if begin == end:
            continue
        leaves = (
            _at(time, rowwise, begin, begin) - offset
        ) // slide  # the last window that the first row can be in
        enters = (_at(time, rowwise, begin, begin) - offset - size) // slide  # the last before the next row's
        k = enters + 1
        while not stop[0]:
            start = offset + k * slide
            if enters < k:
                last = _reach(time, rowwise, begin, last, end, start + size)
                enters = _FAR if last == end else (_at(time, rowwise, begin, last) - offset - size) // slide
            if leaves < k:
                first = _reach(time, rowwise, begin, first, last, start)
                if first < end:
                    leaves = (_at(time, rowwise, begin, first) - offset) // slide
            if first == last:  # nothing here: on to the first window with the next row
                if last == end:
                    break
                k = enters + 1
                continue
            if count == out.shape[1]:
                out = grow_columns(out, count)
            until = min(leaves, enters)
            out[0, count], out[1, count], out[2, count], out[3, count] = g, k, first, last
            out[4, count] = until - k + 1
            count += 1
            k = until + 1
    return out[0, :count], out[1, :count], out[2, :count], out[3, :count], out[4, :count]


@kernel
def windows(time: Array, bounds: Array, offset: int, size: int, slide: int) -> float:
    """Count the windows that `sliding` would return."""
    total = 0.0
    for g in range(bounds.size - 1):
        known = np.iinfo(np.int64).min
        for i in range(bounds[g], bounds[g + 1]):
            last = (time[i] - offset) // slide
            first = max((time[i] - offset - size) // slide, known)
            if last > first:
                total += np.float64(last - first)
                known = last
    return total


@helper
def _reach(time: Array, rowwise: bool, begin: int, row: int, end: int, bound: int) -> int:
    """Return the first row from `row` on, `end` at most, that is at or past the bound."""
    if rowwise:
        return max(row, min(end, begin + bound))
    near = min(row + NEAR, end)
    while row < near:
        if time[row] >= bound:
            return row
        row += 1
    return gallop(time, row, end, bound) if row < end else row  # type: ignore[no-any-return]


@helper
def _at(time: Array, rowwise: bool, begin: int, row: int) -> int:
    return row - begin if rowwise else time[row]


@kernel
def sessions(time: Array, reach: Array, furthest: Array, bounds: Array) -> Array:
    """Return the sessions of each segment: segment, first row, end row, and whether a later row is in another.

    `reach` is the last time that the row after a row may have to be in its session, `furthest` the last time of a
    session that a row begins; it is empty where that is not limited.
    """
    out = np.empty((1024, 4), np.int64)
    count = 0
    for g in range(bounds.size - 1):
        first = bounds[g]
        for i in range(bounds[g] + 1, bounds[g + 1] + 1):
            last = i == bounds[g + 1]
            if not last and time[i] <= reach[i - 1] and (furthest.size == 0 or time[i] <= furthest[first]):
                continue
            if count == len(out):
                out = grow_rows(out, count)
            _write(out, count, g, first, i, not last)
            count += 1
            first = i
    return out[:count]


@kernel
def from_to(time: Array, furthest: Array, opens: Array, closes: Array, has_end: bool, bounds: Array) -> Array:
    """Return the windows of each segment that a row opens: segment, first row, end row, and whether a row ends it.

    With `has_end` the last tick of a window is the first later one in which a row `closes`, else the last before a
    tick in which a row `opens`. `furthest` is the last time of a window that a row begins, empty for no limit.
    """
    most = 0
    for opened in opens:  # whole arrays are compared by functions whose names differ from build to build
        most += opened
    out = np.empty((most, 4), np.int64)
    count = 0
    for g in range(bounds.size - 1):
        end = bounds[g + 1]
        first = np.int64(-1)  # of the window that is open
        i = bounds[g]
        while i < end:
            begins, ends, after = opens[i], closes[i], i + 1
            while after < end and time[after] == time[i]:
                begins |= opens[after]
                ends |= closes[after]
                after += 1
            if first >= 0:
                late = furthest.size > 0 and time[i] > furthest[first]
                if late or (begins and not has_end):
                    _write(out, count, g, first, i, True)
                    count += 1
                    first = np.int64(-1)
                elif has_end and ends:
                    _write(out, count, g, first, after, True)
                    count += 1
                    first = np.int64(-1)
                    begins = False  # the tick is in the window that it closes
            if first < 0 and begins:
                first = i
            i = after
        if first >= 0:
            _write(out, count, g, first, end, False)
            count += 1
    return out[:count]


@helper
def _write(out: Array, row: int, segment: int, first: int, last: int, closed: bool) -> None:
    out[row, 0], out[row, 1], out[row, 2], out[row, 3] = segment, first, last, closed


@kernel
def trailing(
    time: Array, bounds: Array, group: Array, starts: Array, ends: Array, ends_bounds: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the windows (starts[e], ends[e]] that hold rows, for each e of the segment's group, ascending.

    Return segment, index into `ends`, first row, end row.
    """
    total = 0
    for g in range(bounds.size - 1):
        total += ends_bounds[group[g] + 1] - ends_bounds[group[g]]
    segment = np.empty(total, np.int64)
    which = np.empty(total, np.int64)
    lo = np.empty(total, np.int64)
    hi = np.empty(total, np.int64)
    count = 0
    for g in range(bounds.size - 1):
        first = last = bounds[g]
        end = bounds[g + 1]
        for e in range(ends_bounds[group[g]], ends_bounds[group[g] + 1]):
            while first < end and time[first] <= starts[e]:
                first += 1
            last = max(last, first)
            while last < end and time[last] <= ends[e]:
                last += 1
            if first < last:
                segment[count], which[count], lo[count], hi[count] = g, e, first, last
                count += 1
    return segment[:count], which[:count], lo[:count], hi[:count]


@kernel
def ticks(tick: Array, bounds: Array) -> Array:
    """Return the first rows of all ticks, with the end appended."""
    total = 0
    for g in range(bounds.size - 1):
        for i in range(bounds[g], bounds[g + 1]):
            if i == bounds[g] or tick[i] != tick[i - 1]:
                total += 1
    starts = np.empty(total + 1, np.int64)
    count = 0
    for g in range(bounds.size - 1):
        for i in range(bounds[g], bounds[g + 1]):
            if i == bounds[g] or tick[i] != tick[i - 1]:
                starts[count] = i
                count += 1
    starts[count] = bounds[bounds.size - 1]
    return starts
