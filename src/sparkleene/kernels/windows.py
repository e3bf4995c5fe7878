"""Which windows hold which rows of a sub-stream, found by galloping over ordered times."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import Array


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
    time: Array, rowwise: bool, bounds: Array, offset: int, size: int, slide: int
) -> tuple[Array, Array, Array, Array]:
    """Return the windows [offset + k*slide, ... + size) that hold rows: segment, k, first row, end row.

    With `rowwise` a row's place in its segment stands for its time.
    """
    capacity = 1024
    segment = np.empty(capacity, np.int64)
    number = np.empty(capacity, np.int64)
    lo = np.empty(capacity, np.int64)
    hi = np.empty(capacity, np.int64)
    count = 0
    for g in range(bounds.size - 1):
        begin, end = bounds[g], bounds[g + 1]
        first, last = begin, begin
        if begin == end:
            continue
        k = (_at(time, rowwise, begin, begin) - offset - size) // slide + 1
        final = (_at(time, rowwise, begin, end - 1) - offset) // slide
        while first < end and k <= final:
            start = offset + k * slide
            if rowwise:
                first = max(first, min(end, begin + start))
                last = min(end, max(begin + start + size, begin))
            else:
                first = gallop(time, first, end, start)
                last = gallop(time, max(first, last), end, start + size)
            if first == end:
                break
            if first == last:  # nothing here: on to the first window with the next row
                k = (_at(time, rowwise, begin, first) - offset - size) // slide + 1
                continue
            if count == capacity:
                capacity *= 2
                segment = _grown(segment, capacity)
                number = _grown(number, capacity)
                lo = _grown(lo, capacity)
                hi = _grown(hi, capacity)
            segment[count], number[count], lo[count], hi[count] = g, k, first, last
            count += 1
            k += 1
    return segment[:count], number[:count], lo[:count], hi[:count]


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
def _at(time: Array, rowwise: bool, begin: int, row: int) -> int:
    return row - begin if rowwise else time[row]


@helper(allocates=True)
def _grown(old: Array, capacity: int) -> Array:
    new = np.empty(capacity, old.dtype)
    new[: old.size] = old
    return new


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
