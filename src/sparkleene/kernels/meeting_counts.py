"""Counts of trends whose first event is compared with their last: divide and conquer over time, in registers.

A short block takes one pass, with a column for each first event. In longer stretches first and last events are
sorted once, together, by what is compared: at a border between two halves the sums of vectors that last events
count with are then one walk along this order. Then it is parted, in order, for the two halves. Every level takes a
pass back before the border, the walk, and a pass on after it, without branches that random values would miss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.first_last import Meeting
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import Array, Events, Program
from sparkleene.kernels.tuples import tuple_setitem
from sparkleene.kernels.whole_counts import Counts, find_cuts, go_back, go_on, tick_end, write_tick
from sparkleene.kernels.whole_steps import Chosen
from sparkleene.kernels.words import Vector

BLOCK = 256  # rows that take one pass
DIGIT = 11  # bits that are sorted at a time


class Given(NamedTuple):
    """What all steps of the kernel read, and none changes."""

    program: Program
    counts: Counts
    events: Events
    chosen: Chosen
    f: Array  # float64[n]
    g: Array
    strict: bool


class Spans(NamedTuple):
    """Windows: rows from and to, and how many rows at most a trend lies over in any of them."""

    lo: Array
    hi: Array
    longest: int


class Order(NamedTuple):
    """First and last events of a stretch, twice the row and one more for the last ones, by what is compared."""

    item: Array  # int64[]
    swap: Array
    key: Array  # uint64[]
    swap_key: Array
    before: Array  # int64[rows + 1]: how many come before a row in time
    bins: Array  # int64[2**DIGIT]


class Room(NamedTuple):
    """Vectors of first events and sums for last ones, by row of the stretch; and columns of a block."""

    vectors: Array  # float64[rows + 1, states]: the last is for rows that are none
    sums: Array
    columns: Array  # float64[states, columns]
    fresh: Array
    f: Array  # float64[columns]
    tick: Array  # float64[1, states, states]: the matrix of a tick of several events


@helper
def _is_start(given: Given, e: int) -> bool:
    """Tell whether a trend of several events may begin with an event."""
    m, y, found = len(given.counts.states), given.events.symbol[e], False
    for s in range(m):
        found |= given.counts.enter[y, s] != 0.0
    return found and given.chosen.starts[e]  # type: ignore[no-any-return]


@helper
def _is_stop(given: Given, e: int) -> bool:
    """Tell whether a trend of several events may end with an event."""
    m, y, found = len(given.counts.states), given.events.symbol[e], False
    for s in range(m):
        found |= given.counts.leave[y, s] != 0.0
    return found and given.chosen.stops[e]  # type: ignore[no-any-return]


@helper(fastmath={"contract", "reassoc"})
def _sum_columns(column: Array, f: Array, used: int, y: float, strict: bool) -> float:
    """Return the sum of the first columns whose first event is small enough."""
    total = 0.0
    if strict:
        for c in range(used):
            total += column[c] if f[c] < y else 0.0
    else:
        for c in range(used):
            total += column[c] if f[c] <= y else 0.0
    return total


@helper(fastmath={"contract"})
def _step_columns(given: Given, step: Array, y: int, used: int, room: Room) -> None:
    """Bring all columns through a tick."""
    m = len(given.counts.states)
    for d in range(m):
        fresh = room.fresh[d]
        for c in range(used):
            fresh[c] = 0.0
        for s in range(m):
            weight, column = step[y, d, s], room.columns[s]
            if weight != 0.0:
                for c in range(used):
                    fresh[c] += weight * column[c]
    for d in range(m):
        fresh, column = room.fresh[d], room.columns[d]
        for c in range(used):
            column[c] = fresh[c]


@helper(fastmath={"contract"})
def _pass_block(given: Given, room: Room, begin: int, end: int) -> float:
    """Count the trends within a short stretch by one pass, with a column for each first event."""
    counts, events = given.counts, given.events
    m, used, total = len(counts.states), 0, 0.0
    i = begin
    while i < end:
        j = tick_end(events, i, end)
        if used:
            for e in range(i, j):
                if _is_stop(given, e):
                    y = np.int64(events.symbol[e])
                    for s in range(m):
                        weight = counts.leave[y, s]
                        if weight != 0.0:
                            total += weight * _sum_columns(room.columns[s], room.f, used, given.g[e], given.strict)
            y = np.int64(events.symbol[i])
            if j > i + 1:
                write_tick(given.program, counts, events, i, j, room.tick)
                _step_columns(given, room.tick, np.int64(0), used, room)
            elif not counts.still[y]:
                _step_columns(given, counts.step, y, used, room)
        for e in range(i, j):
            if _is_start(given, e):
                y = np.int64(events.symbol[e])
                for s in range(m):
                    room.columns[s, used] = counts.enter[y, s]
                room.f[used] = given.f[e]
                used += 1
        i = j
    return total


@helper
def _count_alone(given: Given, i: int, j: int) -> float:
    """Count the trends of one event."""
    total = 0.0
    for e in range(i, j):
        alone = given.counts.alone[given.events.symbol[e]]
        if alone != 0.0 and given.chosen.starts[e] and given.chosen.stops[e]:
            x, y = given.f[e], given.g[e]
            if x < y or (x == y and not given.strict):
                total += alone
    return total


@helper
def _bits(x: float) -> int:
    """Return the bits of a double as an integer of the same order."""
    bits = np.float64(x + 0.0).view(np.uint64)
    return bits ^ (~np.uint64(0) if bits >> np.uint64(63) else np.uint64(1) << np.uint64(63))  # type: ignore[return-value]


@helper
def _list_events(given: Given, order: Order, begin: int, end: int) -> int:
    """List the first and last events of a stretch, so that a stable sort brings those that count first."""
    size = end - begin
    count = 0
    for e in range(begin, end):
        order.before[e - begin] = count
        count += np.int64(_is_start(given, e)) + np.int64(_is_stop(given, e))
    order.before[size] = count
    at = 0
    for kind in range(2):
        for e in range(begin, end):
            last = (kind == 0) == given.strict  # of equal values that do not count the last events come first
            if _is_stop(given, e) if last else _is_start(given, e):
                order.item[at] = 2 * (e - begin) + np.int64(last)
                order.key[at] = _bits(given.g[e] if last else given.f[e])
                at += 1
    return count


@helper
def _sort(order: Order, count: int, stop: Array) -> None:
    """Sort the list by its keys, digit by digit, unless it is told to stop."""
    bins, mask = order.bins, np.uint64((1 << DIGIT) - 1)
    item, key, to, to_key = order.item, order.key, order.swap, order.swap_key
    turned = False
    for shift in range(0, 64, DIGIT):
        if stop[0]:
            break
        for b in range(len(bins)):
            bins[b] = 0
        for k in range(count):
            bins[np.int64((key[k] >> np.uint64(shift)) & mask)] += 1
        if bins[np.int64((key[0] >> np.uint64(shift)) & mask)] == count:
            continue  # all have the same digit
        at = 0
        for b in range(len(bins)):
            at, bins[b] = at + bins[b], at
        for k in range(count):
            b = np.int64((key[k] >> np.uint64(shift)) & mask)
            to[bins[b]], to_key[bins[b]] = item[k], key[k]
            bins[b] += 1
        item, key, to, to_key = to, to_key, item, key
        turned = not turned
    if turned:
        for k in range(count):
            order.item[k] = item[k]


@helper
def _part(order: Order, first: int, last: int, row: int) -> None:
    """Part a range of the list into the events before a row and the others, in order."""
    item, swap = order.item, order.swap
    a, b = first, 0
    for k in range(first, last):
        one = item[k]
        before = one < 2 * row
        item[a] = one
        swap[b] = one
        a += np.int64(before)
        b += np.int64(not before)
    for k in range(b):
        item[a + k] = swap[k]


@helper(fastmath={"contract"})
def _meet(
    given: Given, order: Order, room: Room, begin: int, a: int, middle: int, b: int, identity: Vector, zero: Vector
) -> float:
    """Count the trends that begin in the rows a:middle and end in the rows middle:b of the stretch."""
    counts, events, program = given.counts, given.events, given.program
    m, none = len(counts.states), len(room.vectors) - 1
    back = identity
    j = begin + middle
    while j > begin + a:
        i = j - 1
        while i > begin + a and events.tick[i - 1] == events.tick[i]:
            i -= 1
        for e in range(i, j):
            y = np.int64(events.symbol[e])
            for s in range(m):
                some = 0.0
                for k in range(m):
                    some += back[s * m + k] * counts.enter[y, k]
                room.vectors[e - begin, s] = some
        if j == i + 1:
            back = go_back(counts, counts.step, np.int64(events.symbol[i]), back)
        else:
            write_tick(program, counts, events, i, j, room.tick)
            back = go_back(counts, room.tick, np.int64(0), back)
        j = i
    total = zero
    for k in range(order.before[a], order.before[b]):
        row, last = order.item[k] >> 1, order.item[k] & 1
        start, stop = none if last or row >= middle else row, row if last else none
        for s in range(m):
            total = tuple_setitem(total, s, total[s] + room.vectors[start, s])
            room.sums[stop, s] = total[s]
    since, ended = identity, 0.0
    i, end = begin + middle, begin + b
    while i < end:
        j = tick_end(events, i, end)
        for e in range(i, j):
            y = np.int64(events.symbol[e])
            for k in range(m):
                weight = 0.0
                for s in range(m):
                    weight += counts.leave[y, s] * since[s * m + k]
                ended += weight * room.sums[e - begin, k]
        if j == i + 1:
            since = go_on(counts, counts.step, np.int64(events.symbol[i]), since)
        else:
            write_tick(program, counts, events, i, j, room.tick)
            since = go_on(counts, room.tick, np.int64(0), since)
        i = j
    return ended


@helper
def _border(events: Events, begin: int, end: int, row: int) -> int:
    """Return the first row from one on that begins a tick, counted from the beginning of the stretch."""
    at = min(begin + row, end)
    while begin < at < end and events.tick[at] == events.tick[at - 1]:
        at += 1
    return at - begin


@helper
def _divide(given: Given, order: Order, room: Room, begin: int, end: int, identity: Vector, zero: Vector) -> float:
    """Count the trends of a stretch: by levels from the longest on, and then in blocks."""
    events, total = given.events, 0.0
    rows, size = end - begin, BLOCK
    if rows > BLOCK:
        for s in range(len(given.counts.states)):
            room.vectors[len(room.vectors) - 1, s] = 0.0
            for row in range(rows):
                room.sums[row, s] = 0.0
        _sort(order, _list_events(given, order, begin, end), events.stop)
        while size < rows:
            size *= 2
    while size > BLOCK:
        for first in range(0, rows, size):
            if events.stop[0]:
                return total
            a, b = _border(events, begin, end, first), _border(events, begin, end, first + size)
            middle = _border(events, begin, end, first + size // 2)
            if a < middle < b:
                total += _meet(given, order, room, begin, a, middle, b, identity, zero)
                _part(order, order.before[a], order.before[b], middle)
        size //= 2
    for first in range(0, rows, BLOCK):
        if events.stop[0]:
            return total
        a, b = _border(events, begin, end, first), _border(events, begin, end, first + BLOCK)
        total += _pass_block(given, room, begin + a, begin + b)
    return total


def _make_order(rows: int) -> Order:
    """Return room for the events of a number of rows."""
    flat, keys = (np.zeros(2 * rows, np.int64), np.zeros(2 * rows, np.int64)), np.zeros(2 * rows, np.uint64)
    return Order(
        *flat, keys, np.zeros(2 * rows, np.uint64), np.zeros(rows + 1, np.int64), np.zeros(1 << DIGIT, np.int64)
    )


def _make_room(m: int, rows: int) -> Room:
    """Return room for a number of rows."""
    vectors, sums = np.zeros((rows + 1, m)), np.zeros((rows + 1, m))
    return Room(vectors, sums, np.zeros((m, rows)), np.zeros((m, rows)), np.zeros(rows), np.zeros((1, m, m)))


@helper
def _run_window(
    given: Given, order: Order, room: Room, identity: Vector, zero: Vector, begin: int, end: int
) -> float:
    """Count the trends of a window, from one place where none goes on to the next."""
    events = given.events
    i, total, cut = begin, 0.0, False
    while True:
        j, after = i, True
        if i < end:
            j = tick_end(events, i, end)
            total += _count_alone(given, i, j)
            before, after = find_cuts(given.program, given.counts, events, i, j)
            cut |= before
        if cut or i == end:
            if i > begin + 1:
                total += _divide(given, order, room, begin, i, identity, zero)
            begin = i
        if i == end or events.stop[0]:
            return total
        i, cut = j, after


def run(
    program: Program, counts: Counts, identity: Vector, zero: Vector, events: Events, chosen: Chosen,
    meeting: Meeting, spans: Spans, out: Array,
) -> None:  # fmt: skip
    """Write the counts of windows whose numbers fit doubles, by one comparison."""
    given = Given(program, counts, events, chosen, meeting.f[0], meeting.g[0], bool(meeting.strict[0]))
    order, room = _make_order(spans.longest), _make_room(len(counts.states), spans.longest)
    _run(given, order, room, identity, zero, spans, out)


@kernel(allocates=False, fastmath={"contract"})
def _run(given: Given, order: Order, room: Room, identity: Vector, zero: Vector, spans: Spans, out: Array) -> None:
    """Do what `run` tells."""
    for n in range(spans.lo.size):
        if given.events.stop[0]:
            break
        out[n, 0] = _run_window(given, order, room, identity, zero, spans.lo[n], spans.hi[n])
