"""Rows put in order: by sub-stream, then by tick. Rows mostly come in time order, so nothing is sorted twice."""

from __future__ import annotations

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import Array
from sparkleene.kernels.room import grow


@kernel(allocates=False)
def survey(tick: Array) -> tuple[bool, bool]:
    """Tell whether some row comes before its predecessor, and whether some row comes with it."""
    falls = 0
    ties = 0
    for i in range(1, tick.size):
        falls |= np.int64(tick[i] < tick[i - 1])
        ties |= np.int64(tick[i] == tick[i - 1])
    return falls != 0, ties != 0


@kernel(allocates=False)
def ties(tick: Array, segments: Array) -> bool:
    """Tell whether two neighbouring rows of a segment have one tick."""
    for k in range(segments.size - 1):
        for i in range(segments[k] + 1, segments[k + 1]):
            if tick[i] == tick[i - 1]:
                return True
    return False


@kernel
def by_code_into(code: Array, groups: int, none: Array) -> tuple[Array, Array]:
    """Order rows by code, as `by_code` does; rows are of the type of `none`."""
    bounds = np.zeros(groups + 1, np.int64)
    for i in range(code.size):
        if code[i] >= 0:
            bounds[code[i] + 1] += 1
    for g in range(groups):
        bounds[g + 1] += bounds[g]
    rows = np.empty(bounds[groups], none.dtype)
    place = bounds[:-1].copy()
    for i in range(code.size):
        if code[i] >= 0:
            rows[place[code[i]]] = i
            place[code[i]] += 1
    return rows, bounds


def by_code(code: Array, groups: int) -> tuple[Array, Array]:
    """Order rows by code, stably; rows with a negative code are left out. Return rows and segment bounds."""
    return by_code_into(code, groups, np.zeros(0, np.int32 if code.size < 2**31 else np.int64))  # type: ignore[no-any-return]


@kernel
def sort_segments(tick: Array, rows: Array, bounds: Array, stop: Array) -> None:
    """Sort each segment by tick, stably, where it is not in order already; `rows` move along with their ticks.

    Once `stop` is set they stay in whatever order they have.
    """
    for g in range(bounds.size - 1):
        begin, end = bounds[g], bounds[g + 1]
        for i in range(begin + 1, end):
            if tick[i] < tick[i - 1]:
                _merge_sort(tick, rows, begin, end, stop)
                break


@helper(allocates=True)
def _merge_sort(tick: Array, rows: Array, begin: int, end: int, stop: Array) -> None:
    """Sort the ticks begin:end and their rows, stably: runs in order are merged two by two until one is left."""
    n = end - begin
    new_tick, new_rows = np.empty(n, tick.dtype), np.empty(n, rows.dtype)
    ends = np.empty(n + 1, np.int64)  # where runs end, after where the first begins
    ends[0] = begin
    runs = 0
    for i in range(begin + 1, end + 1):
        if i == end or tick[i] < tick[i - 1]:
            runs += 1
            ends[runs] = i
    while runs > 1:
        left = 0
        for r in range(0, runs, 2):
            if stop[0]:
                return
            first, middle = ends[r], ends[r + 1]
            last = ends[r + 2] if r + 2 <= runs else middle
            a, b = first, middle
            for i in range(first - begin, last - begin):
                if b == last or (a < middle and tick[a] <= tick[b]):
                    new_tick[i], new_rows[i] = tick[a], rows[a]
                    a += 1
                else:
                    new_tick[i], new_rows[i] = tick[b], rows[b]
                    b += 1
            left += 1
            ends[left] = last
        runs = left
        for i in range(n):
            tick[begin + i], rows[begin + i] = new_tick[i], new_rows[i]


@kernel(allocates=False)
def choose(mask: Array, bounds: Array, needed: Array, out: Array, out_bounds: Array) -> None:
    """Write the rows that have a label, in segments that have all labels of one of the `needed` sets.

    Without such sets all segments will do. `out_bounds` is where the segments begin and end among the rows.
    """
    count = 0
    for g in range(bounds.size - 1):
        first = count
        union = np.uint64(0)
        for i in range(bounds[g], bounds[g + 1]):
            union |= np.uint64(mask[i])
            out[count] = i
            count += np.int64(mask[i] != 0)
        useful = needed.size == 0
        for k in range(needed.size):
            useful |= union & needed[k] == needed[k]
        if not useful:
            count = first
        out_bounds[g + 1] = count


@kernel(allocates=False)
def take(column: Array, rows: Array, out: Array) -> None:
    """Write the column's values at some rows."""
    for i in range(rows.size):
        out[i] = column[rows[i]]


@kernel
def unions(tick: Array, mask: Array, bounds: Array, cut: bool) -> Array:
    """Return the label sets of ticks with several rows; with `cut` also those of parts of ticks.

    Windows that hold a number of rows may begin or end in the midst of a tick. The sets of the parts that end in
    a row grow as the parts begin earlier, so there are no more of them than labels.
    """
    found = np.empty(1024, mask.dtype)
    count = 0
    ends = np.empty(65, mask.dtype)  # the sets of the parts that end here, ascending
    for g in range(bounds.size - 1):
        sets = 0
        for i in range(bounds[g], bounds[g + 1]):
            if i == bounds[g] or tick[i] != tick[i - 1]:
                sets = 0
            kept = 1
            last = mask[i]
            for k in range(sets):
                union = ends[k] | mask[i]
                if union != last:
                    ends[kept - 1], last = last, union
                    kept += 1
            ends[kept - 1] = last
            sets = kept
            whole = i + 1 == bounds[g + 1] or tick[i + 1] != tick[i]
            if not cut and not whole:
                continue
            for k in range(0 if cut else sets - 1, sets):
                known = False
                for j in range(max(0, count - 64), count):
                    known |= found[j] == ends[k]
                if known:
                    continue
                if count == found.size:
                    found = grow(found, count)
                found[count] = ends[k]
                count += 1
    return found[:count]
