"""Trends whose first event is compared with their last: both meet by divide and conquer over time.

A short stretch takes one pass, with a column for each first event. At a border between two stretches a first
event before it has a vector, what its trends have come to by then, and the rows after it are a matrix. In order of
what is compared, sums of the vectors are what each last event counts with. So every level of the division takes one
pass back and one pass forward, and sorted lists of both kinds of events, which are merged from level to level. A
second comparison takes a Fenwick tree of vectors. Where no trend goes on, as after many rows of contiguous ones,
the window is cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.event_lists import (
    Lists,
    count_below,
    list_events,
    make_lists,
    merge,
    sort_block,
    sort_numbers,
)
from sparkleene.kernels.inner_states import Core, Size, clear, find_core, pass_tick, step
from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.linear import Steps, step_row
from sparkleene.kernels.numbers import add, mul, nonzero
from sparkleene.kernels.program import CONTIGUOUS, Array, Events, NumberSystem, Program
from sparkleene.kernels.vectors import Table, add_row, clear_row, collect, copy_row, make_rows, set_identity
from sparkleene.kernels.whole_steps import (
    Borders,
    Chosen,
    Parts,
    find_borders,
    make_borders,
    part_machine,
    unit_row,
)

BLOCK, WIDE_BLOCK = 256, 32  # ticks that take one pass, in doubles and in other numbers


class Meeting(NamedTuple):
    """What first and last events are compared by: equal codes, and two times f <= g, or < where strict."""

    first: Array  # int64[n]: codes of equal values
    last: Array
    f: Array  # float64[2, n]
    g: Array
    strict: Array  # bool[2]
    twice: bool  # whether the second comparison asks anything
    coded: bool  # whether the codes ask anything


class Columns(NamedTuple):
    """The first events of a short stretch, side by side: what has followed, and what is compared."""

    state: Table
    fresh: Table
    code: Array
    f: Array  # float64[2, columns]
    counts: Array  # bool[columns]: whether trends to the last event at hand count


class Room(NamedTuple):
    """Vectors of starts and sums for stops, a row for each; a tree of sums; matrices; and what has ended."""

    vectors: Table
    sums: Table
    tree: Table
    rank: Array  # float64[2, starts]: values of the second comparison, sorted, and room to sort them
    total: Table
    back: Table
    fresh: Table
    since: Table
    ending: Table
    unit: Table
    narrow: Table
    done: Table


class Machinery(NamedTuple):
    """What all steps are given: the program and its inner states, the events, and where trends begin and end."""

    program: Program
    core: Core
    events: Events
    field: NumberSystem
    square: Array  # a one for each inner state
    chosen: Chosen
    meeting: Meeting
    begin: int  # the window's first row
    start: Array  # the start state before each row of the window, or of all
    image: Array


@helper
def _meets(meeting: Meeting, i: int, j: int) -> bool:
    """Tell whether a trend from row i to row j counts."""
    if meeting.first[i] != meeting.last[j]:
        return False
    for c in range(2):
        x, y = meeting.f[c, i], meeting.g[c, j]
        if x > y or (x == y and meeting.strict[c]):
            return False
    return True


@helper
def _sum_up(lists: Lists, meeting: Meeting, room: Room, a: int, m: int, b: int, alive: int, mod: Array) -> None:
    """Write for every stop of the later stretch the sum of the vectors of the starts that it counts with.

    Starts before the one of number `alive` come to nothing.
    """
    first, end, base = lists.starts_to[a], lists.starts_to[m], lists.stops_to[m]
    code, p = np.int64(-1), first
    strict = meeting.strict[0]
    clear_row(room.total, 0)
    for q in range(base, lists.stops_to[b]):
        stop = lists.stops_by[q]
        row = lists.stops[stop]
        if meeting.last[row] != code:
            code = meeting.last[row]
            clear_row(room.total, 0)
            while p < end and meeting.first[lists.starts[lists.starts_by[p]]] < code:
                p += 1
        y = meeting.g[0, row]
        while p < end:
            start = lists.starts_by[p]
            other = lists.starts[start]
            x = meeting.f[0, other]
            if meeting.first[other] != code or x > y or (x == y and strict):
                break
            p += 1
            if start >= alive:
                add_row(room.total, 0, room.vectors, start - first, mod)
        copy_row(room.sums, stop - base, room.total, 0)


@helper
def _sum_by_tree(
    lists: Lists, meeting: Meeting, room: Room, a: int, m: int, b: int, alive: int, mod: Array
) -> None:
    """Do the same for two comparisons: starts enter a tree in order of the first, by rank of the second."""
    first, end, base = lists.starts_to[a], lists.starts_to[m], lists.stops_to[m]
    count = end - first
    rank = room.rank
    for k in range(count):
        rank[0, k] = meeting.f[1, lists.starts[first + k]]
    sort_numbers(rank, count)
    for k in range(count + 1):
        clear_row(room.tree, k)
    code, p, entered = np.int64(-1), first, first
    for q in range(base, lists.stops_to[b]):
        stop = lists.stops_by[q]
        row = lists.stops[stop]
        if meeting.last[row] != code:
            code = meeting.last[row]
            while entered < p:  # leave the tree
                k = count_below(rank, count, meeting.f[1, lists.starts[lists.starts_by[entered]]], False) + 1
                while k <= count:
                    clear_row(room.tree, k)
                    k += k & -k
                entered += 1
            while p < end and meeting.first[lists.starts[lists.starts_by[p]]] < code:
                p += 1
            entered = p
        while p < end:
            start = lists.starts_by[p]
            other = lists.starts[start]
            x, y = meeting.f[0, other], meeting.g[0, row]
            if meeting.first[other] != code or x > y or (x == y and meeting.strict[0]):
                break
            p += 1
            if start < alive:
                continue
            k = count_below(rank, count, meeting.f[1, other], False) + 1
            while k <= count:
                add_row(room.tree, k, room.vectors, start - first, mod)
                k += k & -k
        clear_row(room.sums, stop - base)
        k = count_below(rank, count, meeting.g[1, row], not meeting.strict[1])
        while k > 0:
            add_row(room.sums, stop - base, room.tree, k, mod)
            k -= k & -k


@helper
def _start_of(given: Machinery, row: int) -> int:
    """Return the start state before a row, -1 if no trend can begin there."""
    return given.start[row - given.begin if len(given.start) > 1 else 0]  # type: ignore[no-any-return]


@helper
def _end(given: Machinery, steps: Steps, e: int, images: Array, k: int, before: Table, s: int, room: Room) -> None:
    """Add to what has ended the partial trends of row s that event e ends by step k."""
    to = images[steps.dst[k]]
    step_row(given.program, given.events, given.field, steps.label[k], e, before, s, room.narrow, 0)
    add_row(room.done, to, room.narrow, 0, given.field.mod)
    clear_row(room.narrow, 0)


@helper
def _end_alone(given: Machinery, begin: int, end: int, room: Room) -> None:
    """Count the trends of one event."""
    steps, events, program = given.core.alone, given.events, given.program
    if len(steps.src) == 0:
        return
    first = begin  # of the tick
    for e in range(begin, end):
        if events.tick[e] != events.tick[first]:
            first = e
        y = np.int64(events.symbol[e])
        if steps.off[y] == steps.off[y + 1] or not (given.chosen.starts[e] and given.chosen.stops[e]):
            continue
        s = _start_of(given, e)
        if s < 0 or not _meets(given.meeting, e, e):
            continue
        images = given.image[first - begin if len(given.image) > 1 else 0]
        for k in range(steps.off[y], steps.off[y + 1]):
            if steps.src[k] == s and images[steps.dst[k]] >= 0:
                unit_row(room.unit, np.int64(0), given.field.one, program.low_adds)
                _end(given, steps, e, images, k, room.unit, np.int64(0), room)


@helper
def _choose_columns(meeting: Meeting, columns: Columns, e: int, used: int) -> None:
    """Tell of which columns trends to event e count."""
    code, twice = meeting.last[e], meeting.twice
    y, strict, f = meeting.g[0, e], meeting.strict[0], columns.f[0]
    for c in range(used):
        columns.counts[c] = (columns.code[c] == code) & ((f[c] < y) | ((f[c] == y) & (not strict)))
    if twice:
        y, strict, f = meeting.g[1, e], meeting.strict[1], columns.f[1]
        for c in range(used):
            columns.counts[c] &= (f[c] < y) | ((f[c] == y) & (not strict))


@helper(fastmath={"reassoc"})
def _add_columns(columns: Columns, s: int, used: int, mod: int, to: Table) -> None:
    """Write the sum of what the chosen columns have in a state."""
    counts, size = columns.counts, len(columns.counts)
    value, low = columns.state.value[s], columns.state.low[s]
    clear_row(to, 0)
    for a in range(to.value.shape[1]):
        nothing = to.value[0, a]
        total = nothing
        for c in range(used):
            one = value[a * size + c]
            total = add(total, one if counts[c] else nothing, mod)
        to.value[0, a] = total
    for m in range(to.low.shape[1]):
        least = np.inf
        for c in range(used):
            if counts[c]:
                least = min(least, low[m * size + c])
        to.low[0, m] = least


@helper
def _pass_block(given: Machinery, lists: Lists, columns: Columns, room: Room, a: int, b: int) -> None:
    """Count the trends within a short stretch by one pass, with a column for each first event."""
    program, core, events, meeting = given.program, given.core, given.events, given.meeting
    mod, enter, leave = given.field.mod[0], core.enter, core.leave
    used, capacity = np.int64(0), len(columns.counts)
    last = b
    while last > a and lists.stops_to[last - 1] == lists.stops_to[b]:
        last -= 1  # nothing ends in these
    for t in range(a, last):
        i, j = lists.tick[t], lists.tick[t + 1]
        if used:
            images = given.image[i - given.begin if len(given.image) > 1 else 0]
            for q in range(lists.stops_to[t], lists.stops_to[t + 1]):
                e = lists.stops[q]
                y = np.int64(events.symbol[e])
                _choose_columns(meeting, columns, e, used)
                for k in range(leave.off[y], leave.off[y + 1]):
                    if images[leave.dst[k]] >= 0:
                        _add_columns(columns, leave.src[k], used, mod, room.ending)
                        _end(given, leave, e, images, k, room.ending, np.int64(0), room)
            size = Size(capacity, used)
            pass_tick(program, core, events, mod, i, j, columns.state, columns.fresh, size, False)
        for n in range(lists.starts_to[t], lists.starts_to[t + 1]):
            e = lists.starts[n]
            s = _start_of(given, e)
            if s < 0:
                continue
            for d in range(core.states):
                for w in range(used, columns.state.value.shape[1], capacity):
                    columns.state.value[d, w] = 0
                for w in range(used, columns.state.low.shape[1], capacity):
                    columns.state.low[d, w] = np.inf
            columns.code[used] = meeting.first[e]
            columns.f[0, used], columns.f[1, used] = meeting.f[0, e], meeting.f[1, e]
            y = np.int64(events.symbol[e])
            for k in range(enter.off[y], enter.off[y + 1]):
                if enter.src[k] == s:
                    unit_row(room.unit, np.int64(0), given.field.one, program.low_adds)
                    clear_row(room.narrow, 0)
                    step_row(program, events, given.field, enter.label[k], e, room.unit, 0, room.narrow, 0)
                    d = enter.dst[k]
                    for x in range(room.narrow.value.shape[1]):
                        w = x * capacity + used
                        columns.state.value[d, w] = add(columns.state.value[d, w], room.narrow.value[0, x], mod)
                    for x in range(room.narrow.low.shape[1]):
                        w = x * capacity + used
                        columns.state.low[d, w] = min(columns.state.low[d, w], room.narrow.low[0, x])
                    clear_row(room.narrow, 0)
            used += 1


@helper
def _is_over(given: Machinery, matrix: Table) -> bool:
    """Tell whether no trend goes on: only contiguous ones come to an end so; of residues nobody can tell."""
    if given.program.mode != CONTIGUOUS or given.field.mod[0] != 0:
        return False
    for s in range(given.core.states):
        for c in range(given.core.states):
            if nonzero(matrix.value[s, c]):
                return False
    return True


@helper
def _apply(given: Machinery, matrix: Table, s: int, vectors: Table, at: int, to: Table) -> None:
    """Write what a matrix makes of a vector in state s."""
    states, mod, program = given.core.states, given.field.mod[0], given.program
    after, before = matrix.value[s], vectors.value[at]
    clear_row(to, 0)
    for a in range(to.value.shape[1]):
        of = program.sum_of[a - 1] if a > 0 else np.int64(0)
        total = to.value[0, a]
        for k in range(states):
            total = add(total, mul(after[k], before[a * states + k], mod), mod)
            if a > 0:
                total = add(total, mul(after[a * states + k], before[k], mod), mod)
            if of > 0:
                total = add(total, mul(after[of * states + k], before[of * states + k], mod), mod)
        to.value[0, a] = total
    for m in range(to.low.shape[1]):
        for k in range(states):
            if nonzero(after[k]) and nonzero(before[k]):
                one, two = matrix.low[s, m * states + k], vectors.low[at, m * states + k]
                to.low[0, m] = min(to.low[0, m], one + two if program.low_adds[m] else min(one, two))


@helper
def _meet(given: Machinery, lists: Lists, room: Room, a: int, m: int, b: int) -> None:
    """Count the trends that begin in the ticks a:m and end in the ticks m:b."""
    program, core, events, meeting = given.program, given.core, given.events, given.meeting
    enter, leave, mod, adds = core.enter, core.leave, given.field.mod[0], program.low_adds
    size = Size(core.states, core.states)
    first, alive = lists.starts_to[a], lists.starts_to[m]
    set_identity(room.back, given.square, adds)
    for t in range(m - 1, a - 1, -1):
        if t < m - 1 and _is_over(given, room.back):
            break  # no earlier trend reaches the border
        alive = lists.starts_to[t]
        for n in range(alive, lists.starts_to[t + 1]):
            e = lists.starts[n]
            s = _start_of(given, e)
            clear(room.vectors, n - first, size)
            y = np.int64(events.symbol[e])
            for k in range(enter.off[y], enter.off[y + 1]):
                if enter.src[k] == s:
                    step(program, events, mod, enter.label[k], e, room.back, enter.dst[k], room.vectors, n - first,
                         size)  # fmt: skip
        i, j = lists.tick[t], lists.tick[t + 1]
        pass_tick(program, core, events, mod, i, j, room.back, room.fresh, size, True)
    if alive == lists.starts_to[m]:
        return
    if meeting.twice:
        _sum_by_tree(lists, meeting, room, a, m, b, alive, given.field.mod)
    else:
        _sum_up(lists, meeting, room, a, m, b, alive, given.field.mod)
    set_identity(room.since, given.square, adds)
    for t in range(m, b):
        if t > m and _is_over(given, room.since):
            break
        i, j = lists.tick[t], lists.tick[t + 1]
        images = given.image[i - given.begin if len(given.image) > 1 else 0]
        for q in range(lists.stops_to[t], lists.stops_to[t + 1]):
            e = lists.stops[q]
            y = np.int64(events.symbol[e])
            for k in range(leave.off[y], leave.off[y + 1]):
                if images[leave.dst[k]] >= 0:
                    _apply(given, room.since, leave.src[k], room.sums, q - lists.stops_to[m], room.ending)
                    _end(given, leave, e, images, k, room.ending, np.int64(0), room)
        pass_tick(program, core, events, mod, i, j, room.since, room.fresh, size, False)


@helper
def _divide(given: Machinery, lists: Lists, columns: Columns, room: Room, begin: int, end: int, block: int) -> None:
    """Count the trends of a stretch of ticks, in blocks and then by levels."""
    starts_to, stops_to, meeting = lists.starts_to, lists.stops_to, given.meeting
    for a in range(begin, end, block):
        if given.events.stop[0]:
            return
        b = min(a + block, end)
        _pass_block(given, lists, columns, room, a, b)
        if end - begin > block:
            sort_block(lists.starts, lists.starts_by, meeting.first, meeting.f[0], starts_to[a], starts_to[b],
                        lists.swap)  # fmt: skip
            sort_block(lists.stops, lists.stops_by, meeting.last, meeting.g[0], stops_to[a], stops_to[b],
                        lists.swap)  # fmt: skip
    size = block
    while size < end - begin:
        for a in range(begin, end, 2 * size):
            if given.events.stop[0]:
                return
            m, b = min(a + size, end), min(a + 2 * size, end)
            if starts_to[a] < starts_to[m] and stops_to[m] < stops_to[b]:
                _meet(given, lists, room, a, m, b)
            if size * 2 < end - begin:
                merge(lists.starts, lists.starts_by, meeting.first, meeting.f[0], starts_to[a], starts_to[m],
                       starts_to[b], lists.swap)  # fmt: skip
                merge(lists.stops, lists.stops_by, meeting.last, meeting.g[0], stops_to[a], stops_to[m],
                       stops_to[b], lists.swap)  # fmt: skip
        size *= 2


@helper(allocates=True)
def _make_columns(program: Program, core: Core, one: Array, count: int) -> Columns:
    """Return room for a number of first events side by side."""
    width, lows = count * (1 + program.sum_of.size), count * program.low_adds.size
    return Columns(
        make_rows(core.states, width, lows, one), make_rows(core.states, width, lows, one),
        np.zeros(count, np.int64), np.zeros((2, count)), np.zeros(count, np.bool_),
    )  # fmt: skip


@helper(allocates=True)
def _make_room(program: Program, core: Core, one: Array, starts: int, stops: int, twice: bool) -> Room:
    """Return room for a number of starts and of stops on either side of a border."""
    states, width, lows = core.states, 1 + program.sum_of.size, program.low_adds.size
    tree = starts + 1 if twice else 0
    return Room(
        make_rows(starts, width * states, lows * states, one),
        make_rows(stops, width * states, lows * states, one),
        make_rows(tree, width * states, lows * states, one),
        np.empty((2, tree)),
        make_rows(1, width * states, lows * states, one),
        make_rows(states, width * states, lows * states, one),
        make_rows(states, width * states, lows * states, one),
        make_rows(states, width * states, lows * states, one),
        make_rows(1, width, lows, one),
        make_rows(1, width, lows, one),
        make_rows(1, width, lows, one),
        make_rows(program.states, width, lows, one),
    )


class _Work(NamedTuple):
    """A machine in parts and its inner states, and room for the borders and lists of any window."""

    parts: Parts
    core: Core
    borders: Borders
    lists: Lists


def run(
    program: Program, events: Events, field: NumberSystem, square: NumberSystem, chosen: Chosen, meeting: Meeting,
    lo: Array, hi: Array, out: Table,
) -> None:  # fmt: skip
    """Write the results of windows; `square` is the number system with a column for each state."""
    rows = int((hi - lo).max(initial=1))
    parts = part_machine(program)
    borders = make_borders(parts, program.states, rows)
    work = _Work(parts, find_core(program, parts), borders, make_lists(rows))
    _run(program, work, events, field, square, chosen, meeting, lo, hi, out)


@kernel
def _run(
    program: Program, work: _Work, events: Events, field: NumberSystem, square: NumberSystem, chosen: Chosen,
    meeting: Meeting, lo: Array, hi: Array, out: Table,
) -> None:  # fmt: skip
    """Do what `run` tells."""
    parts, core, borders, lists = work
    block = BLOCK if field.one.itemsize == 8 and field.mod[0] == 0 else WIDE_BLOCK
    columns = _make_columns(program, core, field.one, BLOCK)
    room = _make_room(program, core, field.one, 16, 16, meeting.twice)
    for n in range(lo.size):
        if events.stop[0]:
            return
        begin, end = lo[n], hi[n]
        find_borders(program, parts, events, begin, end, borders)
        ticks = list_events(program, core, events, chosen, begin, end, lists)
        most = np.int64(0)
        starts, stops, a = np.int64(0), np.int64(0), np.int64(0)
        for b in range(1, ticks + 1):
            most = max(most, lists.starts_to[b] - lists.starts_to[max(a, b - block)])
            if lists.cut[b]:
                if b - a > block:
                    starts = max(starts, lists.starts_to[b] - lists.starts_to[a])
                    stops = max(stops, lists.stops_to[b] - lists.stops_to[a])
                a = b
        if len(columns.counts) < most:
            columns = _make_columns(program, core, field.one, 2 * most)
        if len(room.vectors.value) < starts or len(room.sums.value) < stops:
            room = _make_room(program, core, field.one, 2 * starts, 2 * stops, meeting.twice)
        given = Machinery(
            program, core, events, field, square.one[: core.states], chosen, meeting, begin, borders.start,
            borders.image,
        )  # fmt: skip
        unit_row(room.done, np.int64(-1), field.one, program.low_adds)
        _end_alone(given, begin, end, room)
        a = np.int64(0)
        for b in range(1, ticks + 1):
            if events.stop[0]:
                return
            if lists.cut[b]:
                if lists.starts_to[a] < lists.starts_to[b] and lists.stops_to[a] < lists.stops_to[b]:
                    _divide(given, lists, columns, room, a, b, block)
                a = b
        collect(program, room.done, field.mod, out, n)
