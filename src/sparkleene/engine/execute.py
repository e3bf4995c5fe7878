"""Windows run through kernels: the number system, and the threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.engine import cost
from sparkleene.engine.arrays import Arrays, Runnable, widen_symbols
from sparkleene.engine.substreams import read_only
from sparkleene.engine.windows import Windows, find_distinct
from sparkleene.kernels import bursts as burst_kernel
from sparkleene.kernels import (
    divide,
    fenwick,
    heap,
    latest_starts,
    linear,
    queue,
    row_stack_counts,
    row_stacks,
    scan,
    wait_stack,
    word_totals,
    words,
)
from sparkleene.kernels.matrices import chain, slide
from sparkleene.kernels.program import Events, NumberSystem, Program
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE, to_wide
from sparkleene.threads import Pool, shares

BLOCK = 1 << 14  # units of sliding windows handled together
PRODUCTS = 1 << 25  # of entries of matrices, in the units of a block: so that Ctrl-C need not wait for long
MOST = 64  # windows side by side in one stretch
STORES = {"queue": queue.run, "trees": fenwick.run, "divide": divide.run, "heap": heap.run, "scan": scan.run}
"""The kernels that store events, by the names that the plan gives them."""


@dataclass(frozen=True)
class Results:
    """Per window: wide aggregates [windows, classes, 1 + totals] and minima [windows, classes, lows]."""

    values: Array
    lows: Array
    integers: list[list[list[int]]] | None = None  # in exact mode the aggregates of windows and classes

    @classmethod
    def empty(cls, program: Program, windows: int) -> Results:
        """Return results without trends, to be filled."""
        shape = (windows, program.classes)
        values = np.zeros((*shape, 1 + program.sum_of.size), WIDE)
        return cls(values, np.full((*shape, program.low_adds.size), np.inf))

    def where(self, chosen: Array) -> Results:
        """Keep the results of some windows."""
        integers = None if self.integers is None else [self.integers[k] for k in chosen.tolist()]
        return Results(self.values[chosen], self.lows[chosen], integers)


def run_windows(arrays: Arrays, windows: Windows, threads: int, runnable: Runnable | None = None) -> Results:
    """Evaluate windows in doubles, by the program that counts or by another over the same rows."""
    lo, hi = windows.lo, windows.hi
    runnable = runnable or arrays.main
    if not arrays.backward:
        return _Execution(arrays, runnable, threads).run(lo, hi, windows.composes)
    rows = len(arrays.events.tick)
    lo, hi = np.ascontiguousarray((rows - hi)[::-1]), np.ascontiguousarray((rows - lo)[::-1])
    found = _Execution(arrays, runnable, threads).run(lo, hi, windows.composes)
    return Results(found.values[::-1], found.lows[::-1])


def run_exact(arrays: Arrays, lo: Array, hi: Array, primes: Sequence[int], threads: int) -> Array:
    """Evaluate windows modulo primes: uint64[windows, classes, 1 + totals, primes]."""
    program = arrays.program
    if arrays.backward:  # each window by itself, so their order does not matter
        rows = len(arrays.events.tick)
        lo, hi = rows - hi, rows - lo
    width = 1 + program.sum_of.size
    out = np.zeros((lo.size, program.classes, width * len(primes)), np.uint64)
    field = NumberSystem(np.ones(len(primes), np.uint64), np.array(primes, np.uint64))
    low = np.zeros((lo.size, program.classes, 0))
    program = program._replace(low_row=np.zeros((0, 0), np.int64), low_adds=np.zeros(0, np.bool_))
    events = arrays.events._replace(lows=read_only(np.zeros((0, len(arrays.events.tick)))))
    execution = _Execution(arrays, Runnable(program, arrays.main.kernel, False), threads)

    def task(part: slice) -> None:
        execution.run_each(events, field, lo[part], hi[part], Table(out[part], low[part]))

    Pool(threads).map(task, shares(hi - lo, threads))
    return out.reshape(lo.size, program.classes, width, len(primes))


def run_panes(arrays: Arrays, kinds: Sequence[Windows], threads: int) -> list[Results]:
    """Evaluate windows of several kinds by units that all of them are made of: the rows between their borders."""
    program = arrays.program
    execution = _Execution(arrays, arrays.main, threads)
    found = [Results.empty(program, windows.lo.size) for windows in kinds]
    given = [(w.lo, w.hi, r.values, r.lows) for w, r in zip(kinds, found, strict=True) if w.lo.size]
    table = words.prepare(program) if cost.by_words(program, len(arrays.events.tick)) else None
    execution.slide(table, given)
    return found


def find_ends(arrays: Arrays, windows: Windows, threads: int) -> Array:
    """Tell in which windows a trend ends with the last tick, by class, where the momentary machine only grows."""
    assert arrays.momentary is not None
    program, events = arrays.momentary.program, widen_symbols(arrays.events)
    lo, hi = windows.lo, windows.hi
    out = np.zeros((lo.size, program.classes), np.bool_)

    def task(part: slice) -> None:
        latest_starts.find_ends(program, events, lo[part], hi[part], out[part])

    Pool(threads).map(task, shares(np.ones(lo.size, np.int64), threads))
    return out


def only_grows(runnable: Runnable) -> bool:
    """Tell whether no tick moves or drops partial trends, apart from those that have ended."""
    program = runnable.program
    stays: Array = program.keep == np.arange(program.states)
    stays[:, program.out_state] = True
    return runnable.kernel == "linear" and bool(stays.all())


@dataclass(frozen=True)
class _Execution:
    """A program over the rows of one table."""

    arrays: Arrays
    runnable: Runnable
    threads: int

    @property
    def program(self) -> Program:
        return self.runnable.program

    @property
    def pool(self) -> Pool:
        return Pool(self.threads)

    @cached_property
    def _totals(self) -> word_totals.Totals | None:
        """The matrices of symbols by which counts and sums are taken together, None where they do not pay."""
        events, shared = self.arrays.events, self.arrays.bursts is not None
        if shared or events.symbol.dtype != np.uint8 or not cost.by_totals(self.program, len(events.tick)):
            return None
        return word_totals.prepare(self.program)

    @cached_property
    def _tries_doubles(self) -> bool:
        """Whether long windows are run in doubles first, and again in wide numbers if something is infinite.

        Whatever overflows on the way to a result makes it infinite, or not a number.
        """
        trees = self.runnable.kernel == "trees"
        return trees and fenwick.count_lanes(self.program, self.arrays.predicates) >= cost.WORTH_DOUBLES

    def run(self, lo: Array, hi: Array, composes: bool) -> Results:
        """Evaluate the windows lo[k]:hi[k], ordered by sub-stream.

        Windows that `composes` are products of matrices, where that is cheaper.
        """
        results = Results.empty(self.program, lo.size)
        if not lo.size:
            return results
        if self.runnable.kernel == "linear":
            self._run_linear(lo, hi, composes, results)
            return results
        if self.runnable.kernel == "heap" and not self.arrays.forks:
            waits = wait_stack.prepare(self.program, self.arrays.predicates, self.arrays.events, self.arrays.tied)
            if waits is not None:
                self._run_wait_stack(waits, lo, hi, results)
                return results
        if self.runnable.side_by_side and composes:
            self._run_side_by_side(lo, hi, results)
        else:
            self._run_by_size(lo, hi, results)
        return results

    def _run_linear(self, lo: Array, hi: Array, composes: bool, results: Results) -> None:
        bursts = self.arrays.bursts
        forced = bursts is not None and bursts.forced.size > 0
        table = None
        if not forced and cost.by_words(self.program, len(self.arrays.events.tick)):
            table = words.prepare(self.program)
        way: cost.Way = "each"
        if not forced and composes and lo.size > 1:
            way = cost.sliding_way(self.arrays, self.program, table is not None, lo, hi)
        if way == "rows":
            self._run_row_stacks(lo, hi, results)
        elif way == "units":
            self.slide(table, [(lo, hi, results.values, results.lows)])
        elif table is not None:
            self._run_words(table, lo, hi, results)
        else:
            self._run_by_size(lo, hi, results)

    def run_each(self, events: Events, field: NumberSystem, lo: Array, hi: Array, out: Table) -> None:
        """Run every window by itself, in one number system."""
        program, bursts = self.program, self.arrays.bursts
        if self.runnable.kernel != "linear":
            kernel = STORES[self.runnable.kernel]
            kernel(program, self.arrays.predicates, events, field, lo, hi, out)
        elif self._totals is not None and field.one.dtype == np.float64:
            word_totals.run(program, self._totals, self._totals.zero, events, lo, hi, out.value)
        elif bursts is None or self.runnable is self.arrays.momentary:
            linear.run(program, events, field, lo, hi, out)
        else:
            counter = np.zeros_like(bursts.counter)
            carried = program.sum_of.size + program.low_adds.size
            priced = bursts.with_costs(field.one.dtype, field.one.size, carried)
            burst_kernel.run(program, priced, events, field, lo, hi, out, counter)
            bursts.count(counter)

    def _run_by_size(self, lo: Array, hi: Array, results: Results) -> None:
        """Run short windows in plain doubles and long ones in wide numbers, where these are needed."""
        plain = cost.fits_doubles(self.arrays, self.program, hi - lo)
        tries = not plain.all() and self._tries_doubles
        self._run_some(plain | tries, np.float64, lo, hi, results)
        if tries:
            plain |= np.isfinite(results.values.real).all(axis=(1, 2))
        self._run_some(~plain, WIDE, lo, hi, results)

    def _run_some(self, chosen: Array, dtype: type, lo: Array, hi: Array, results: Results) -> None:
        """Run some windows in one number system."""
        count = int(chosen.sum())
        if not count:
            return
        index = slice(None) if count == lo.size else np.flatnonzero(chosen)
        field = NumberSystem(np.ones(1, dtype), np.zeros(1, np.uint64))
        some_lo, some_hi = lo[index], hi[index]
        out = np.zeros((count, *results.values.shape[1:]), dtype)
        out_low = np.full((count, *results.lows.shape[1:]), np.inf)

        def task(part: slice) -> None:
            given = (some_lo[part], some_hi[part], Table(out[part], out_low[part]))
            self.run_each(self.arrays.events, field, *given)

        self.pool.map(task, shares(some_hi - some_lo, self.threads))
        results.values[index] = to_wide(out)
        results.lows[index] = out_low

    def _run_row_stacks(self, lo: Array, hi: Array, results: Results) -> None:
        """Run windows that overlap over the rows themselves, each of which comes and goes once."""
        program, events = self.program, self.arrays.events
        events = widen_symbols(events)
        plain = cost.all_fit_doubles(self.arrays, program, lo, hi)
        if plain and cost.only_counts(program) and self._run_stack_counts(events, lo, hi, results):
            return
        field = NumberSystem(
            np.ones(program.states, np.float64 if plain else WIDE), np.zeros(program.states, np.uint64)
        )
        out = np.zeros(results.values.shape, field.one.dtype)

        def task(part: slice) -> None:
            row_stacks.run(program, events, field, lo[part], hi[part], Table(out[part], results.lows[part]))

        self.pool.map(task, shares(np.ones(lo.size, np.int64), self.threads))
        results.values[:] = to_wide(out)

    def _run_stack_counts(self, events: Events, lo: Array, hi: Array, results: Results) -> bool:
        """Count by two stacks in doubles; return False where rows tie."""
        out = np.zeros((lo.size, self.program.classes))
        done: list[bool] = []

        def task(part: slice) -> None:
            done.append(row_stack_counts.run(self.program, events, lo[part], hi[part], out[part]))

        self.pool.map(task, shares(np.ones(lo.size, np.int64), self.threads))
        results.values[:, :, 0] = to_wide(out)
        return all(done)

    def _run_side_by_side(self, lo: Array, hi: Array, results: Results) -> None:
        """Run overlapping windows in the columns of one stretch: events are ranked and looked up once for all.

        A stretch holds as many windows as overlap, but no more than keep it short enough for plain doubles.
        """
        program, values = self.program, results.values
        safe = cost.fits_doubles(self.arrays, program, np.arange(2 * cost.SAFE_BITS))
        first = _group_windows(lo, hi, int(safe.sum()))
        count = np.diff(np.append(first, lo.size))
        stretch_hi = hi[np.append(first[1:], lo.size) - 1]
        plain = cost.fits_doubles(self.arrays, program, stretch_hi - lo[first])

        def run(chosen: Array, dtype: type) -> None:
            for columns in np.unique(count[chosen]).tolist():
                index = np.flatnonzero(chosen & (count == columns))
                windows = (first[index][:, None] + np.arange(columns)).ravel()
                field = NumberSystem(np.ones(columns, dtype), np.zeros(columns, np.uint64))
                out = np.zeros((windows.size, *values.shape[1:]), dtype)
                some_lo, some_hi = lo[first[index]], stretch_hi[index]
                begin, end = lo[windows], hi[windows]

                def task(part: slice) -> None:
                    off = np.arange(part.stop - part.start + 1) * columns  # noqa: B023
                    inner = slice(part.start * columns, part.stop * columns)  # noqa: B023
                    windows_of = (off, begin[inner], end[inner], 1)  # noqa: B023
                    spans = fenwick.Spans(some_lo[part], some_hi[part], *windows_of)  # noqa: B023
                    none = np.zeros((inner.stop - inner.start, program.classes, 0))
                    given = (program, self.arrays.predicates, self.arrays.events, field)  # noqa: B023
                    fenwick.run_side_by_side(*given, spans, Table(out[inner], none))  # noqa: B023

                self.pool.map(task, shares(some_hi - some_lo, self.threads))
                values[windows] = to_wide(out)

        tries = not plain.all() and self._tries_doubles
        run(plain | tries, np.float64)
        if tries:
            plain |= np.logical_and.reduceat(np.isfinite(values.real).all(axis=(1, 2)), first)
        run(~plain, WIDE)

    def _run_wait_stack(self, waits: wait_stack.WaitStack, lo: Array, hi: Array, results: Results) -> None:
        """Run skip-till-next-match with one comparison; without forks nothing outgrows a double."""
        start = (1.0,) + (0.0,) * (self.program.states - 1)
        out = np.zeros((lo.size, self.program.classes))

        def task(part: slice) -> None:
            wait_stack.run(self.program, waits, start, self.arrays.events, lo[part], hi[part], out[part])

        self.pool.map(task, shares(hi - lo, self.threads))
        results.values[:, :, 0] = to_wide(out)

    # ---- counts by words

    def _run_words(self, table: words.Words, lo: Array, hi: Array, results: Results) -> None:
        program, rows = self.program, hi - lo
        plain = (rows <= table.chunk) | cost.fits_doubles(self.arrays, program, rows)
        # A vector is half the work of a matrix, but only a matrix lets several threads share one window.
        plain &= (rows < cost.STRETCH) | (lo.size >= 2 * self.threads) | (self.threads == 1)
        index = np.flatnonzero(plain)
        if index.size:
            some_lo, some_hi = lo[index], hi[index]
            out = np.zeros((index.size, program.classes))

            def run_short(part: slice) -> None:
                given = (self.arrays.events, some_lo[part], some_hi[part], out[part])
                words.run(program, table, table.start, *given)

            self.pool.map(run_short, shares(some_hi - some_lo, self.threads))
            results.values[index, :, 0] = to_wide(out)
        index = np.flatnonzero(~plain)
        if index.size:
            cut_lo, cut_hi, bounds = _cut(self.arrays.events.tick, lo[index], hi[index], self.threads)
            matrices = np.zeros((cut_lo.size, program.states, program.states), WIDE)

            def run_long(part: slice) -> None:
                self._word_matrices(table, cut_lo[part], cut_hi[part], matrices[part])

            self.pool.map(run_long, shares(cut_hi - cut_lo, self.threads))
            field = NumberSystem(np.ones(1, WIDE), np.zeros(1, np.uint64))
            counts = np.zeros((index.size, program.classes, 1), WIDE)
            made = Table(matrices, np.zeros((*matrices.shape[:2], 0)))
            out_low = np.zeros((index.size, program.classes, 0))
            chain(program, field, made, bounds[:-1], bounds[1:], Table(counts, out_low), self.arrays.events.stop)
            results.values[index] = counts

    def _word_matrices(self, table: words.Words, lo: Array, hi: Array, out: Array) -> None:
        words.write_matrices(self.program, table, table.columns, table.zero, self.arrays.events, lo, hi, out)

    # ---- matrices of stretches

    def matrices(self, table: words.Words | None, lo: Array, hi: Array, out: Array, low: Array) -> None:
        """Write the wide matrices and the minima of the stretches lo[k]:hi[k]."""
        if table is not None:
            self._word_matrices(table, lo, hi, out)
            return
        states = self.program.states
        field = NumberSystem(np.ones(states, WIDE), np.zeros(states, np.uint64))
        linear.write_matrices(self.program, self.arrays.events, field, lo, hi, Table(out, low))

    def slide(self, table: words.Words | None, spans: Sequence[tuple[Array, Array, Array, Array]]) -> None:
        """Compose units to windows, of one kind or several: rows from, rows to, and where their results go.

        A unit is the rows between two borders of windows that are next to each other.
        """
        if not spans:
            return
        program = self.program
        unit_lo, unit_hi = find_units([(lo, hi) for lo, hi, _, _ in spans])
        kinds = [
            (np.searchsorted(unit_lo, lo, "left"), np.searchsorted(unit_lo, hi, "left"), values, lows)
            for lo, hi, values, lows in spans
        ]
        states = program.states
        widest = max(int((last - first).max()) for first, last, _, _ in kinds)
        field = NumberSystem(np.ones(states, WIDE), np.zeros(states, np.uint64))
        sums, minima = program.sum_of.size, program.low_adds.size
        block = max(min(BLOCK, PRODUCTS // states**3), 8 * widest)

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
            self.matrices(table, unit_lo[some], unit_hi[some], matrices, low)
            for first, last, values, lows in here:
                made = Table(matrices, low)
                to = Table(values, lows)
                slide(program, field, made, first - begin, last - begin, to, self.arrays.events.stop)

        every = min(int(first[0]) for first, *_ in kinds), max(int(first[-1]) for first, *_ in kinds)
        self.pool.map(task, [slice(begin, begin + block) for begin in range(every[0], every[1] + 1, block)])


def find_units(spans: Sequence[cost.Span]) -> cost.Span:
    """Return the rows between the borders of windows, in order; rows that no window holds are left out.

    >>> lo, hi = np.array([0, 4, 12]), np.array([6, 10, 15])
    >>> [unit.tolist() for unit in find_units([(lo, hi)])]
    [[0, 4, 6, 12], [4, 6, 10, 15]]
    """
    starts, ends = (np.sort(np.concatenate(each), kind="stable") for each in zip(*spans, strict=True))
    borders = find_distinct(np.concatenate([starts, ends]))
    depth = np.searchsorted(starts, borders, "right") - np.searchsorted(ends, borders, "right")
    inside = np.flatnonzero(depth[:-1])
    return borders[inside], borders[inside + 1]


def stretch_matrices(arrays: Arrays, lo: Array, hi: Array, threads: int) -> tuple[Array, Array]:
    """Return the wide matrices and the minima of the stretches lo[k]:hi[k]."""
    program, events = arrays.program, arrays.events
    states, sums, minima = program.states, program.sum_of.size, program.low_adds.size
    out = np.zeros((lo.size, states, states * (1 + sums)), WIDE)
    low = np.full((lo.size, states, states * minima), np.inf)
    by_words = lo.size and cost.by_words(program, len(events.tick))
    table = words.prepare(program) if by_words else None
    execution = _Execution(arrays, arrays.main, threads)

    def task(part: slice) -> None:
        begin, end = lo[part], hi[part]
        if table is not None:
            execution.matrices(table, begin, end, out[part], low[part])
            return
        safe = cost.fits_doubles(arrays, program, end - begin)
        for chosen, dtype in ((safe, np.float64), (~safe, WIDE)):
            index = np.flatnonzero(chosen)
            field = NumberSystem(np.ones(states, dtype), np.zeros(states, np.uint64))
            found = np.zeros((index.size, *out.shape[1:]), dtype)
            found_low = np.full((index.size, *low.shape[1:]), np.inf)
            if index.size:
                made = Table(found, found_low)
                linear.write_matrices(program, events, field, begin[index], end[index], made)
            out[part][index], low[part][index] = to_wide(found), found_low

    Pool(threads).map(task, shares(hi - lo, threads))
    return out, low


def _group_windows(lo: Array, hi: Array, rows: int) -> Array:
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


def _cut(tick: Array, lo: Array, hi: Array, threads: int) -> tuple[Array, Array, Array]:
    """Cut long windows into stretches between ticks, so that all threads have work on a single one."""
    length = max(cost.STRETCH, int((hi - lo).sum()) // (4 * threads) + 1)
    cuts: list[Array] = []
    for begin, end in zip(lo.tolist(), hi.tolist(), strict=True):
        inner = np.arange(begin + length, end, length)
        aligned = [int(np.searchsorted(tick[begin:end], tick[cut])) + begin for cut in inner.tolist()]
        cuts.append(np.unique([begin, *(cut for cut in aligned if cut > begin)]))
    bounds = np.concatenate([[0], np.cumsum([cut.size for cut in cuts])]).astype(np.int64)
    ends = [np.append(cut[1:], end) for cut, end in zip(cuts, hi.tolist(), strict=True)]
    return np.concatenate(cuts).astype(np.int64), np.concatenate(ends).astype(np.int64), bounds
