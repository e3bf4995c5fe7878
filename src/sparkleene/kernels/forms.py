"""Every form of every kernel: what is to be compiled so that no query waits for a compiler.

numba compiles a kernel for each combination of its arguments' types. The engine takes care that there are few:
arrays have one layout, those that kernels only read are read-only, and numbers have few widths. A form is named
after its kernel and what tells it from the kernel's other forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from sparkleene.kernels import (
    burst_arrays,
    bursts,
    columns,
    contiguous_labels,
    divide,
    duration_counts,
    fenwick,
    first_last,
    heap,
    inner_states,
    latest_starts,
    linear,
    matrices,
    maximal,
    meeting_counts,
    participation,
    queue,
    results,
    row_stack_counts,
    row_stacks,
    scan,
    sort,
    start_queue,
    ticks,
    trends,
    wait_stack,
    walks,
    whole_counts,
    whole_pairs,
    windows,
    word_totals,
    words,
)
from sparkleene.kernels.program import ANY, LT, Array, Events, NumberSystem, Predicates, Program, never
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.whole_steps import Chosen
from sparkleene.kernels.wide import WIDE

SYSTEMS = {"double": np.float64, "wide": WIDE, "exact": np.uint64}
SYMBOLS = {"byte": np.uint8, "int": np.uint32}


class Form(NamedTuple):
    """One form of a kernel, and how to have it compiled."""

    name: str
    compile: Callable[[], object]


def forms() -> Iterator[Form]:
    """Yield all forms, those that take longest first."""
    yield from _stores()
    yield from _whole()
    yield from _linear()
    yield from _words()
    yield from _totals()
    yield from _matrices()
    yield from _trends()
    yield from _rows()


def _call(name: str, run: Callable[..., object], *arguments: Any) -> Form:
    """Return the form of a kernel that is given what a function makes of such arguments."""
    return Form(name, partial(run, *arguments))


def _form(name: str, kernel: Any, *arguments: Any) -> Form:
    """Return the form of a kernel for such arguments."""
    return Form(name, partial(kernel.compile, tuple(nb.typeof(one) for one in arguments)))


def _program(states: int = 2, pair: int = -1) -> Program:
    """Return a machine that an event brings from the start to its last state."""
    one = np.zeros(1, np.int64)
    keep, leave = np.zeros((2, states), np.int64), np.full((1, states), -1, np.int64)
    labels, none = np.arange(2, dtype=np.uint64), (np.zeros((0, 1), np.int64), np.zeros(0, np.int64))
    steps = (np.array([0, 1]), one, one + states - 1, one + pair)
    return Program(
        ANY, states, *steps, keep, leave, labels, one + states - 1, one, 1, *none, none[0], np.zeros(0, np.bool_)
    )


def _predicates() -> Predicates:
    """Return one pair with one comparison."""
    off, none = np.array([0, 1]), np.zeros(2, np.int64)
    return Predicates(off, np.array([LT]), none, np.zeros((0, 2), np.int64), np.zeros(0))


def _read(shape: int | tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Return an array that kernels only read."""
    made = np.zeros(shape, dtype)
    made.flags.writeable = False
    return made


def _events(symbol: Any, sums: Any = np.float64) -> Events:
    """Return one event."""
    read = (_read(1, np.int64), _read(1, symbol), _read((0, 1), sums), _read((0, 1)))
    return Events(*read, _read((1, 1)), _read((1, 1)), _read(1, np.uint8))


def _system(dtype: Any) -> tuple[NumberSystem, Any]:
    """Return a number system, and the type of what is added up in it."""
    return NumberSystem(np.ones(1, dtype), np.ones(1, np.uint64)), np.int64 if dtype is np.uint64 else np.float64


def _table(dtype: Any, dimensions: int) -> Table:
    return Table(np.zeros((0,) * dimensions, dtype), np.zeros((0,) * dimensions))


_SPAN = (np.zeros(0, np.int64), np.zeros(0, np.int64))  # no stretches


def _stores() -> Iterator[Form]:
    """Yield the kernels that store events."""
    stores = {"heap": heap, "divide": divide, "fenwick": fenwick, "scan": scan, "queue_counts": queue}
    for system, dtype in SYSTEMS.items():
        field, sums = _system(dtype)
        for name, module in stores.items():
            given = (_program(pair=0), _predicates(), _events(np.uint32, sums), field, *_SPAN, _table(dtype, 3))
            yield _call(f"{name}, {system}", module.run, *given)
        adds = given[0]._replace(sum_row=np.full((1, 1), -1), sum_of=np.zeros(1, np.int64))
        yield _call(f"queue, {system}", queue.run, adds, *given[1:])
    for states in range(2, wait_stack.MAX_STATES + 1):
        stack = wait_stack.WaitStack(0, 0, 1.0, True, _SPAN[0], np.zeros((0, 0, 0)))
        start = (1.0,) + (0.0,) * (states - 1)
        given = (_program(states), stack, start, _events(np.uint32), *_SPAN, np.zeros((0, 0)))
        yield _form(f"wait_stack, {states} states", wait_stack.run, *given)


def _meeting() -> first_last.Meeting:
    codes, sides = (_read(0, np.int64), _read(0, np.int64)), (_read((2, 0)), _read((2, 0)))
    return first_last.Meeting(*codes, *sides, np.zeros(2, np.bool_), False, False)


def _whole() -> Iterator[Form]:
    """Yield the kernels that choose trends as a whole."""
    chosen = Chosen(_read(0, np.bool_), _read(0, np.bool_), _read((1, 1)), _read((1, 1)), _predicates(),
                    np.ones(1, np.bool_))  # fmt: skip
    for system, dtype in SYSTEMS.items():
        field, sums = _system(dtype)
        given = (_program(), _events(np.uint32, sums), field, field, chosen, *_SPAN, _table(dtype, 3))
        yield _call(f"first_last, {system}", first_last.run, *given[:5], _meeting(), *given[5:])
        for name, module in (("start_queue", start_queue), ("maximal", maximal)):
            yield _call(f"{name}, {system}", module.run, *given)
    for states in range(1, whole_counts.MAX_STATES + 1):
        square, flat, flags = np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros(0, np.bool_)
        made = (square, square, square, flat, flat, np.zeros(0), flags, np.zeros((0, 0), np.bool_))
        counts = whole_counts.Counts((0,) * states, *made)
        first = (_program(), counts, counts.identity, counts.zero, _events(np.uint8), chosen)
        yield _form(f"duration_counts, {states} states", duration_counts.run, *first, *_SPAN, flat)
        spans = meeting_counts.Spans(*_SPAN, 0)
        yield _call(f"meeting_counts, {states} states", meeting_counts.run, *first, _meeting(), spans, flat)
    yield _call("maximal.find", maximal.find, _program(), _events(np.uint32), 0, 0)
    for width, symbol in SYMBOLS.items():
        stretches = (_program(), _events(symbol), *_SPAN)
        yield _call(f"inner_states.find_stretches, {width}", inner_states.find_stretches, *stretches)
    flags = np.zeros(0, np.bool_)
    yield _form("whole_pairs.find_passes", whole_pairs.find_passes, chosen, flags, 0, *_SPAN)
    yield _form("whole_pairs.find_longest", whole_pairs.find_longest, chosen, 0, *_SPAN)
    yield _form("whole_pairs.check_pairs", whole_pairs.check_pairs, chosen, *_SPAN, flags)


def _linear() -> Iterator[Form]:
    """Yield the kernels of machines without stored events."""
    for system, dtype in SYSTEMS.items():
        field, sums = _system(dtype)
        out = _table(dtype, 3)
        given = (
            _program(),
            _burst_arrays(),
            _events(np.uint32, sums),
            field,
            *_SPAN,
            out,
            np.zeros((0, 0), np.int64),
        )
        yield _call(f"bursts, {system}", bursts.run, *given)
        if system != "exact":
            yield _call(f"row_stacks, {system}", row_stacks.run, _program(), *given[2:7])
        for width, symbol in SYMBOLS.items():
            rest = (_program(), _events(symbol, sums), field, *_SPAN, out)
            yield _call(f"linear.run, {system}, {width}", linear.run, *rest)
            if system != "exact":
                yield _call(f"linear.write_matrices, {system}, {width}", linear.write_matrices, *rest)
            if system == "wide":
                yield _call(f"linear.resume, {width}", linear.resume, *rest)

    ends = (_program(), _events(np.uint32), *_SPAN, np.zeros((0, 0), np.bool_))
    yield _call("row_stack_counts", row_stack_counts.run, *ends[:-1], np.zeros((0, 0)))
    yield _call("latest_starts", latest_starts.find_ends, *ends)


def _burst_arrays() -> burst_arrays.BurstArrays:
    flat, flags, square = np.zeros(0, np.int64), np.zeros(0, np.bool_), np.zeros((0, 0), np.int64)
    groups = (*[flat] * 7, flags, flat, *[square] * 4, flat, square, square, flat)
    return burst_arrays.BurstArrays(*groups, flags, flat, square, flat, flat, np.zeros((0, 0)))


def _words() -> Iterator[Form]:
    """Yield the kernels by words of symbols, whose loops are unrolled."""
    for states in range(2, words.MAX_STATES + 1):
        for bits in words.BITS:
            table = words.Words(*words.sizes(states, bits), *[np.zeros((0, 0, 0))] * 3, 1)
            name, program, events = f"{states} states, {bits} bits", _program(states), _events(np.uint8)
            given = (program, table, table.start, events, *_SPAN, np.zeros((0, 0)))
            yield _form(f"words.run, {name}", words.run, *given)
            given = (program, table, table.columns, table.zero, events, *_SPAN, np.zeros((0, 0, 0), WIDE))
            yield _form(f"words.write_matrices, {name}", words.write_matrices, *given)


def _totals() -> Iterator[Form]:
    """Yield the kernels of counts with a few sums, whose loops are unrolled."""
    for states in range(2, word_totals.MAX_STATES + 1):
        for sums, bits in product(range(1, word_totals.MAX_SUMS + 1), word_totals.LENGTHS):
            shapes = (3, 3, 4, 3, 5)
            matrices = [np.zeros((0,) * dimensions) for dimensions in shapes]
            made = word_totals.Totals(*word_totals.sizes(states, sums, bits), *matrices, _SPAN[0])  # type: ignore[misc]
            given = (_program(states), made, made.zero, _events(np.uint8), *_SPAN, np.zeros((0, 0, 0)))
            yield _form(f"word_totals.run, {states} states, {sums} sums, {bits} bits", word_totals.run, *given)


def _matrices() -> Iterator[Form]:
    """Yield the products of matrices, and the sums of results."""
    field, _ = _system(WIDE)
    flat, deep, read = _table(WIDE, 2), _table(WIDE, 3), Table(_read((0, 0), WIDE), _read((0, 0)))
    yield _form("matrices.slide", matrices.slide, _program(), field, deep, *_SPAN, deep, never())
    yield _form("matrices.transform", matrices.transform, _program(), field, deep, *_SPAN, deep, never())
    yield _form("matrices.collect_all", matrices.collect_all, _program(), field, deep, deep)
    yield _form("results.pair_up", results.pair_up, deep, flat)
    yield _form("results.add_to_cells", results.add_to_cells, read, *_SPAN, _SPAN[0], 1, field.mod, flat)


def _trends() -> Iterator[Form]:
    """Yield the search for trends."""
    program, predicates, events = _program(), _predicates(), _events(np.int64)
    seen = trends.Events(events.tick, events.symbol, events.f, events.g, events.stop)
    index, ends, log = _index(), np.zeros((0, 10), np.int32), np.zeros((0, 3), np.int32)
    yield _call("trends.reach", trends.reach, program, predicates, seen, index, *_SPAN, 1)
    wish = trends.Wish(1, True, _SPAN[0], _SPAN[0], 0, _SPAN[0], 0, True)
    yield _form("trends.step_back", trends.step_back, program, predicates, seen, _SPAN[0], ends, log, 0, 0, wish)
    window, count = walks.Pass(ends, log, 0, 0), np.zeros(0, WIDE)
    yield _call("walks.weigh", walks.weigh, program, predicates, seen, index, window, 1, count, _SPAN[0])
    seeds = np.zeros(0, np.uint64)
    yield _call("walks.draw", walks.draw, program, predicates, seen, _SPAN[0], window, count, 0, seeds)
    took, kinds = np.zeros(0, np.uint64), _SPAN[0]
    given = (program, seen, _SPAN[0], kinds, *_SPAN, _SPAN[0], took)
    yield _form("participation.mark_by_states", participation.mark_by_states, *given)
    ends, log = np.ascontiguousarray(ends), np.ascontiguousarray(log)
    marked = (program, predicates, seen, _SPAN[0], ends, log, 0, 1, took)
    yield _form("participation.mark_by_ends", participation.mark_by_ends, *marked)


def _index() -> trends.Index:
    flat, square = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
    states = (flat, flat, np.zeros(0, np.bool_), True, True)
    return trends.Index(*states, flat, *[square] * 3, np.zeros((0, 0, 0)), square, flat)


def _rows() -> Iterator[Form]:
    """Yield what puts rows in order and finds their windows."""
    tick, bounds = _read(0, np.int64), _SPAN[0]
    yield _form("sort.survey", sort.survey, tick)
    yield _form("sort.ties", sort.ties, tick, bounds)
    for mask in (np.uint8, np.uint64):
        yield _form(f"sort.unions, {mask.__name__}", sort.unions, tick, _read(0, mask), bounds, True)
        chosen = (_read(0, mask), bounds, np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        yield _form(f"sort.choose, {mask.__name__}", sort.choose, *chosen)
        for out in (np.uint8, np.uint64):
            sides = (_predicates(), _read((0, 0)), _read((0, 0)), _read(0, mask), np.zeros((0, 2), np.int64))
            given = (*sides, 0, 0, 0, np.zeros(0, np.bool_), np.zeros(0, out))
            if np.dtype(mask).itemsize <= np.dtype(out).itemsize:
                name = f"observe, {mask.__name__} to {out.__name__}"
                yield _form(name, contiguous_labels.observe, *given)
    for rows in (np.int32, np.int64):
        for code in (np.int32, np.int64):
            name = f"sort.by_code, {code.__name__} to {rows.__name__}"
            yield _form(name, sort.by_code_into, _read(0, code), 0, np.zeros(0, rows))
        segments = (bounds, np.zeros(0, rows), bounds, never())
        yield _form(f"sort.sort_segments, {rows.__name__}", sort.sort_segments, *segments)
        for item in (np.uint8, np.uint64):
            name = f"sort.take, {item.__name__} by {rows.__name__}"
            yield _form(name, sort.take, _read(0, item), np.zeros(0, rows), np.zeros(0, item))
    yield _form("columns.write_since", columns.write_since, tick, *_SPAN, np.zeros(0))
    for number in (np.int64, np.float64):
        yield _form(f"columns.find_largest, {number.__name__}", columns.find_largest, _read(0, number))
    byte = _read(0, np.uint8)
    yield _form("columns.mark_seen", columns.mark_seen, byte, np.zeros(0, np.bool_))
    for item in (np.uint8, np.uint64):
        yield _form(
            f"columns.translate, {item.__name__}", columns.translate, np.zeros(0, item), byte, np.zeros(0, item)
        )
    yield _form("ticks.longest", ticks.longest, tick, *_SPAN)
    yield _form("windows.ticks", windows.ticks, tick, bounds)
    yield _form("windows.sliding", windows.sliding, tick, True, bounds, 0, 1, 1, never())
    flags = _read(0, np.bool_)
    yield _form("windows.sessions", windows.sessions, tick, tick, tick, bounds)
    yield _form("windows.from_to", windows.from_to, tick, tick, flags, flags, True, bounds)
    yield _form("windows.windows", windows.windows, tick, bounds, 0, 1, 1)
    for time in (np.int64, np.float64):
        edges = (np.zeros(0, time), np.zeros(0, time))
        given = (_read(0, time), bounds, bounds, *edges, bounds)
        yield _form(f"windows.trailing, {time.__name__}", windows.trailing, *given)
