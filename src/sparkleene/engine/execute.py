"""Windows run through kernels: the choice of kernel and of number system, and the threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparkleene.engine.compile import Compiled
from sparkleene.engine.stream import frozen
from sparkleene.kernels import graphlets, linear, ordered, stack, words
from sparkleene.kernels.choose import choose
from sparkleene.kernels.program import Events, Field, Program
from sparkleene.kernels.wide import WIDE, to_wide
from sparkleene.threads import Pool, shares

Array = np.ndarray[Any, Any]
Units = Callable[[], tuple[Array, Array]]
Span = tuple[Array, Array]  # windows: rows from, rows to

SAFE_BITS = 960  # results below 2**960 cannot overflow a double on the way
STRETCH = 1 << 16  # the shortest stretch worth a task of its own
BLOCK = 1 << 14  # units of sliding windows handled together
MOST = 64  # windows side by side in one stretch
WORTH = 50_000  # rows from which on a kernel of its own for so many states pays


@dataclass(frozen=True)
class Results:
    """Per window: wide aggregates [windows, classes, 1 + totals] and minima [windows, classes, lows]."""

    values: Array
    lows: Array


def run(
    compiled: Compiled, program: Program, lo: Array, hi: Array, units: Units | None, threads: int
) -> Results:
    """Evaluate the windows lo[k]:hi[k], ordered by sub-stream, in doubles.

    `units` gives the panes or ticks that the windows are made of; they are composed where that is cheaper.
    """
    if compiled.backward:
        rows = len(compiled.events.tick)
        found = _run(compiled, program, (rows - hi)[::-1], (rows - lo)[::-1], units, threads)
        return Results(found.values[::-1], found.lows[::-1])
    return _run(compiled, program, lo, hi, units, threads)


def _run(
    compiled: Compiled, program: Program, lo: Array, hi: Array, units: Units | None, threads: int
) -> Results:
    shape = (lo.size, program.classes)
    values = np.zeros((*shape, 1 + program.sum_labels.size), WIDE)
    lows = np.full((*shape, program.low_labels.size), np.inf)
    if not lo.size:
        return Results(values, lows)
    pool = Pool(threads)
    if (program.pair >= 0).any():
        waits = stack.prepare(program, compiled.predicates, compiled.events, compiled.tied)
        if waits is not None and not compiled.forks:
            _stack(compiled, program, waits, lo, hi, values, pool)
            return Results(values, lows)
        name, kernel = choose(program, compiled.predicates)
        if name == "ordered" and units is not None and not program.low_labels.size:
            _side_by_side(compiled, program, lo, hi, values, pool)
            return Results(values, lows)

        def predicated(field: Field, lo: Array, hi: Array, out: Array, out_low: Array) -> None:
            kernel(program, compiled.predicates, compiled.events, field, lo, hi, out, out_low)

        _by_size(compiled, program, lo, hi, values, lows, predicated, pool)
        return Results(values, lows)
    forced = compiled.sharing is not None and compiled.sharing.choice.size > 0
    worth = len(compiled.events.tick) >= WORTH and words.supports(program)
    table = words.prepare(program) if worth and not forced else None
    if not forced and units is not None and lo.size > 1 and _slides(program, table, lo, hi):
        _slide(compiled, program, table, [(lo, hi, values, lows)], units, pool)
    elif table is not None:
        _words(compiled, program, table, lo, hi, values, pool)
    else:

        def vectors(field: Field, lo: Array, hi: Array, out: Array, out_low: Array) -> None:
            _vectors(compiled, program, compiled.events, field, lo, hi, out, out_low)

        _by_size(compiled, program, lo, hi, values, lows, vectors, pool)
    return Results(values, lows)


def run_exact(compiled: Compiled, lo: Array, hi: Array, primes: Sequence[int], threads: int) -> Array:
    """Evaluate windows modulo primes: uint64[windows, classes, 1 + totals, primes]."""
    program = compiled.program
    if compiled.backward:  # each window by itself, so their order does not matter
        rows = len(compiled.events.tick)
        lo, hi = rows - hi, rows - lo
    width = 1 + program.sum_labels.size
    out = np.zeros((lo.size, program.classes, width * len(primes)), np.uint64)
    field = Field(np.ones(len(primes), np.uint64), np.array(primes, np.uint64))
    low = np.zeros((lo.size, program.classes, 0))
    program = program._replace(low_labels=np.zeros(0, np.uint64))
    events = compiled.events._replace(lows=frozen(np.zeros((0, len(compiled.events.tick)))))

    def task(part: slice) -> None:
        if (program.pair >= 0).any():
            kernel = choose(program, compiled.predicates)[1]
            kernel(program, compiled.predicates, events, field, lo[part], hi[part], out[part], low[part])
        else:
            _vectors(compiled, program, events, field, lo[part], hi[part], out[part], low[part])

    Pool(threads).map(task, shares(hi - lo, threads))
    return out.reshape(lo.size, program.classes, width, len(primes))


def _vectors(
    compiled: Compiled,
    program: Program,
    events: Events,
    field: Field,
    lo: Array,
    hi: Array,
    out: Array,
    out_low: Array,
) -> None:
    """Run stretches of a linear program; bursts of rows at once, where several queries share it."""
    sharing = compiled.sharing
    if sharing is None or program is compiled.momentary:
        linear.vectors(program, events, field, lo, hi, out, out_low)
        return
    counter = np.zeros_like(sharing.counter)
    priced = sharing.priced(field.one.dtype, field.one.size, program.sum_labels.size)
    graphlets.vectors(program, priced, events, field, lo, hi, out, counter)
    sharing.count(counter)


def _bits(compiled: Compiled, program: Program, rows: Array) -> Array:
    """Bound the binary logarithm of everything that can arise in windows of so many rows."""
    slack = 4.0 + 2.0 * np.log2(rows + 1.0) + math.log2(compiled.largest)
    if program.mode != 0 and not compiled.forks:
        return np.asarray(slack + 2.0 * np.log2(rows + 1.0))
    return np.asarray(slack + rows * math.log2(1.0 + _ways(program)))


def _ways(program: Program) -> int:
    """Return in how many ways at most a row extends one partial trend."""
    labels = program.off.size - 1
    out = np.zeros((labels, program.states))
    np.add.at(out, (np.repeat(np.arange(labels), np.diff(program.off)), program.src), 1)
    there = program.labels[:, None] >> np.arange(labels, dtype=np.uint64) & np.uint64(1)
    return max(1, int((there.astype(np.float64) @ out).max(initial=1)))


def _by_size(
    compiled: Compiled,
    program: Program,
    lo: Array,
    hi: Array,
    values: Array,
    lows: Array,
    kernel: Callable[[Field, Array, Array, Array, Array], None],
    pool: Pool,
) -> None:
    """Run short windows in plain doubles and long ones in wide numbers."""
    plain = _bits(compiled, program, hi - lo) < SAFE_BITS
    for chosen, dtype in ((plain, np.float64), (~plain, WIDE)):
        index = np.flatnonzero(chosen)
        if not index.size:
            continue
        field = Field(np.ones(1, dtype), np.zeros(1, np.uint64))
        some_lo, some_hi = lo[index], hi[index]
        out = np.zeros((index.size, *values.shape[1:]), dtype)
        out_low = np.full((index.size, *lows.shape[1:]), np.inf)

        def task(part: slice) -> None:
            kernel(field, some_lo[part], some_hi[part], out[part], out_low[part])  # noqa: B023

        pool.map(task, shares(some_hi - some_lo, pool.threads))
        values[index] = to_wide(out)
        lows[index] = out_low


def _side_by_side(
    compiled: Compiled, program: Program, lo: Array, hi: Array, values: Array, pool: Pool
) -> None:
    """Run overlapping windows in the columns of one stretch: events are ranked and looked up once for all.

    A stretch holds as many windows as overlap, but no more than keep it short enough for plain doubles.
    """
    safe = _bits(compiled, program, np.arange(2 * SAFE_BITS)) < SAFE_BITS
    first = _groups(lo, hi, int(safe.sum()))
    count = np.diff(np.append(first, lo.size))
    stretch_hi = hi[np.append(first[1:], lo.size) - 1]
    plain = _bits(compiled, program, stretch_hi - lo[first]) < SAFE_BITS
    for short in (True, False):
        dtype = np.float64 if short else WIDE
        for columns in np.unique(count[plain == short]).tolist():
            index = np.flatnonzero((plain == short) & (count == columns))
            windows = (first[index][:, None] + np.arange(columns)).ravel()
            field = Field(np.ones(columns, dtype), np.zeros(columns, np.uint64))
            out = np.zeros((windows.size, *values.shape[1:]), dtype)
            some_lo, some_hi = lo[first[index]], stretch_hi[index]
            begin, end = lo[windows], hi[windows]

            def task(part: slice) -> None:
                off = np.arange(part.stop - part.start + 1) * columns  # noqa: B023
                inner = slice(part.start * columns, part.stop * columns)  # noqa: B023
                spans = ordered.Spans(off, begin[inner], end[inner], 1)  # noqa: B023
                none = np.zeros((inner.stop - inner.start, program.classes, 0))
                ordered.run(program, compiled.predicates, compiled.events, field,  # noqa: B023
                            some_lo[part], some_hi[part], out[inner], none, spans)  # noqa: B023  # fmt: skip

            pool.map(task, shares(some_hi - some_lo, pool.threads))
            values[windows] = to_wide(out)


def _groups(lo: Array, hi: Array, rows: int) -> Array:
    """Return the first windows of groups whose windows overlap their first one, each a power of two of them.

    A group of windows shorter than `rows` is no longer than that in all.
    """
    ends = np.searchsorted(lo, hi, "left").tolist()
    starts, stops = lo.tolist(), hi.tolist()
    first, at = [], 0
    while at < len(starts):
        first.append(at)
        most = min(max(ends[at], at + 1), at + MOST)
        size = 1 << ((most - at).bit_length() - 1)
        while size > 1 and stops[at] - starts[at] < rows <= stops[at + size - 1] - starts[at]:
            size //= 2
        at += size
    return np.array(first, np.int64)


def _stack(
    compiled: Compiled, program: Program, waits: stack.Stack, lo: Array, hi: Array, values: Array, pool: Pool
) -> None:
    """Run skip-till-next-match with one comparison; without forks nothing outgrows a double."""
    start = (1.0,) + (0.0,) * (program.states - 1)
    out = np.zeros((lo.size, program.classes))

    def task(part: slice) -> None:
        stack.run(program, waits, start, compiled.events, lo[part], hi[part], out[part])

    pool.map(task, shares(hi - lo, pool.threads))
    values[:, :, 0] = to_wide(out)


# ---- counts by words


def _words(
    compiled: Compiled, program: Program, table: words.Words, lo: Array, hi: Array, values: Array, pool: Pool
) -> None:
    rows = hi - lo
    plain = (rows <= table.chunk) | (_bits(compiled, program, rows) < SAFE_BITS)
    # A vector is half the work of a matrix, but only a matrix lets several threads share one window.
    plain &= (rows < STRETCH) | (lo.size >= 2 * pool.threads) | (pool.threads == 1)
    index = np.flatnonzero(plain)
    if index.size:
        some_lo, some_hi = lo[index], hi[index]
        out = np.zeros((index.size, program.classes))

        def short(part: slice) -> None:
            words.vectors(
                program, table, table.start, compiled.events, some_lo[part], some_hi[part], out[part]
            )

        pool.map(short, shares(some_hi - some_lo, pool.threads))
        values[index, :, 0] = to_wide(out)
    index = np.flatnonzero(~plain)
    if index.size:
        cut_lo, cut_hi, bounds = _cut(compiled.events.tick, lo[index], hi[index], pool.threads)
        matrices = np.zeros((cut_lo.size, program.states, program.states), WIDE)

        def long(part: slice) -> None:
            _word_matrices(compiled, program, table, cut_lo[part], cut_hi[part], matrices[part])

        pool.map(long, shares(cut_hi - cut_lo, pool.threads))
        field = Field(np.ones(1, WIDE), np.zeros(1, np.uint64))
        counts = np.zeros((index.size, program.classes, 1), WIDE)
        linear.chain(program, field, matrices, bounds, counts)
        values[index] = counts


def _word_matrices(
    compiled: Compiled, program: Program, table: words.Words, lo: Array, hi: Array, out: Array
) -> None:
    words.matrices(program, table, table.columns, table.zero, compiled.events, lo, hi, out)


def _cut(tick: Array, lo: Array, hi: Array, threads: int) -> tuple[Array, Array, Array]:
    """Cut long windows into stretches between ticks, so that all threads have work on a single one."""
    length = max(STRETCH, int((hi - lo).sum()) // (4 * threads) + 1)
    cuts: list[Array] = []
    for begin, end in zip(lo.tolist(), hi.tolist(), strict=True):
        inner = np.arange(begin + length, end, length)
        aligned = [int(np.searchsorted(tick[begin:end], tick[cut])) + begin for cut in inner.tolist()]
        cuts.append(np.unique([begin, *(cut for cut in aligned if cut > begin)]))
    bounds = np.concatenate([[0], np.cumsum([cut.size for cut in cuts])]).astype(np.int64)
    ends = [np.append(cut[1:], end) for cut, end in zip(cuts, hi.tolist(), strict=True)]
    return np.concatenate(cuts).astype(np.int64), np.concatenate(ends).astype(np.int64), bounds


# ---- sliding windows by composition


def _slides(program: Program, table: words.Words | None, lo: Array, hi: Array) -> bool:
    """Tell whether composing units is cheaper than running every window by itself."""
    apart, composed = _costs(program, program.states, table is not None, [(lo, hi)])
    return 2 * _extent(lo, hi) <= int((hi - lo).sum()) and apart > composed


def _extent(lo: Array, hi: Array) -> int:
    """Return how many rows windows lie over; those of several sub-streams follow each other."""
    return int(hi[-1] - lo[0]) if lo.size else 0


def _costs(program: Program, states: int, table: bool, spans: Sequence[Span]) -> tuple[float, float]:
    """Return the nanoseconds for every window by itself, and for units that are composed."""
    vector, matrix = (3.0, 6.0) if table else (60.0, 60.0 + 40.0 * states)
    product = 16.0 * states**3 * (1 + 2 * program.sum_labels.size + program.low_labels.size)
    rows = max(_extent(lo, hi) for lo, hi in spans)
    windows = sum(min(_extent(lo, hi), lo.size) for lo, hi in spans)
    return sum(int((hi - lo).sum()) for lo, hi in spans) * vector, rows * matrix + windows * product


def composing_pays(compiled: Compiled, spans: Sequence[Span], states: Sequence[int]) -> bool:
    """Tell whether windows of several kinds cost less by common units than each kind by itself.

    By itself a kind would have a machine of so many `states`.
    """
    program = compiled.program
    large = len(compiled.events.tick) >= WORTH

    def costs(count: int, some: Sequence[Span]) -> tuple[float, float]:
        return _costs(program, count, large and words.supports(program._replace(states=count)), some)

    apart = sum(min(costs(count, [span])) for count, span in zip(states, spans, strict=True))
    return costs(program.states, spans)[1] < apart


def run_panes(compiled: Compiled, spans: Sequence[Span], units: Units, threads: int) -> list[Results]:
    """Evaluate windows of several kinds by units that all of them are made of."""
    program = compiled.program
    large = len(compiled.events.tick) >= WORTH and words.supports(program)
    table = words.prepare(program) if large else None
    found = []
    for lo, _ in spans:
        shape = (lo.size, program.classes)
        values = np.zeros((*shape, 1 + program.sum_labels.size), WIDE)
        found.append(Results(values, np.full((*shape, program.low_labels.size), np.inf)))
    given = [(*span, results.values, results.lows) for span, results in zip(spans, found, strict=True)]
    _slide(compiled, program, table, [some for some in given if some[0].size], units, Pool(threads))
    return found


def _slide(
    compiled: Compiled,
    program: Program,
    table: words.Words | None,
    spans: Sequence[tuple[Array, Array, Array, Array]],
    units: Units,
    pool: Pool,
) -> None:
    """Compose units to windows, of one kind or several: rows from, rows to, and where their results go."""
    if not spans:
        return
    unit_lo, unit_hi = units()
    kinds = [
        (np.searchsorted(unit_lo, lo, "left"), np.searchsorted(unit_lo, hi, "left"), values, lows)
        for lo, hi, values, lows in spans
    ]
    states = program.states
    widest = max(int((last - first).max()) for first, last, _, _ in kinds)
    field = Field(np.ones(states, WIDE), np.zeros(states, np.uint64))
    sums, minima = program.sum_labels.size, program.low_labels.size
    block = max(BLOCK, 8 * widest)

    def task(part: slice) -> None:
        begin: int = part.start
        here = [
            (*(column[a:b] for column in kind),)
            for kind in kinds
            for a, b in [np.searchsorted(kind[0], [begin, part.stop], "left").tolist()]
            if b > a
        ]
        if not here:
            return
        end = max(int(last.max()) for _, last, _, _ in here)
        some = slice(begin, end)
        matrices = np.zeros((end - begin, states, states * (1 + sums)), WIDE)
        low = np.full((end - begin, states, states * minima), np.inf)
        if table is not None:
            _word_matrices(compiled, program, table, unit_lo[some], unit_hi[some], matrices)
        else:
            linear.matrices(program, compiled.events, field, unit_lo[some], unit_hi[some], matrices, low)
        for first, last, values, lows in here:
            linear.slide(program, field, matrices, low, first - begin, last - begin, values, lows)

    every = min(int(first[0]) for first, *_ in kinds), max(int(first[-1]) for first, *_ in kinds)
    pool.map(task, [slice(begin, begin + block) for begin in range(every[0], every[1] + 1, block)])
