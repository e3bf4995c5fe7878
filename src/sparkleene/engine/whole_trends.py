"""Windows whose trends are chosen as a whole: the kernel that does it, in every number system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.engine import cost, execute
from sparkleene.engine.arrays import Arrays, Runnable, widen_symbols
from sparkleene.engine.execute import Results
from sparkleene.engine.start_passes import StartPasses
from sparkleene.engine.substreams import read_only
from sparkleene.engine.windows import Windows
from sparkleene.kernels import (
    duration_counts,
    first_last,
    maximal,
    meeting_counts,
    start_queue,
    whole_counts,
    whole_pairs,
)
from sparkleene.kernels.inner_states import find_stretches
from sparkleene.kernels.program import Events, NumberSystem, Program
from sparkleene.kernels.results import add_to_cells
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE, is_positive, to_wide
from sparkleene.threads import Pool, shares

KERNELS: dict[str, Callable[..., None]] = {
    "queue": start_queue.run,
    "maximal": maximal.run,
    "divide and conquer": first_last.run,
}


def run_windows(arrays: Arrays, windows: Windows, threads: int, runnable: Runnable | None = None) -> Results:
    """Evaluate windows in doubles, by the program that counts or by another over the same rows."""
    if arrays.choice is None:
        return execute.run_windows(arrays, windows, threads, runnable)
    given = (arrays, runnable or arrays.main, windows.lo, windows.hi, threads)
    return _run_passes(*given) if arrays.choice.how not in KERNELS else _run_by_size(*given)


def find_ends(arrays: Arrays, windows: Windows, threads: int) -> Array:
    """Tell in which windows a trend ends with the last tick, by class; for windows per trigger."""
    assert arrays.momentary is not None
    if arrays.choice is None and not arrays.backward and execute.only_grows(arrays.momentary):
        return execute.find_ends(arrays, windows, threads)
    return np.asarray(is_positive(run_windows(arrays, windows, threads, arrays.momentary).values[:, :, 0]))


def run_exact(arrays: Arrays, lo: Array, hi: Array, primes: Sequence[int], threads: int) -> Array:
    """Evaluate windows modulo primes: uint64[windows, classes, 1 + totals, primes]."""
    if arrays.choice is None:
        return execute.run_exact(arrays, lo, hi, primes, threads)
    program = arrays.program
    out = np.zeros((lo.size, program.classes, 1 + program.sum_of.size, len(primes)), np.uint64)
    if arrays.choice.how not in KERNELS:
        mod = np.array(primes, np.uint64)
        for window, some, begin, end in StartPasses(arrays, arrays.main, lo, hi).pieces():
            found = execute.run_exact(some, begin, end, primes, threads)
            starts = np.flatnonzero(np.diff(window, prepend=-1))
            out[window[starts]] = (out[window[starts]] + np.add.reduceat(found, starts) % mod) % mod
        return out
    program = program._replace(low_row=np.zeros((0, 0), np.int64), low_adds=np.zeros(0, np.bool_))
    events = arrays.events._replace(lows=read_only(np.zeros((0, len(arrays.events.tick)))))
    for p, prime in enumerate(primes):
        made = np.zeros(out.shape[:3], np.uint64)
        low = np.zeros((lo.size, program.classes, 0))
        _run_kernel(arrays, program, events, (np.uint64, prime), lo, hi, Table(made, low), threads)
        out[:, :, :, p] = made
    return out


def _run_passes(arrays: Arrays, runnable: Runnable, lo: Array, hi: Array, threads: int) -> Results:
    """Evaluate windows by a pass for each first event."""
    results = Results.empty(runnable.program, lo.size)
    mod = np.zeros(1, np.uint64)
    for window, some, begin, end in StartPasses(arrays, runnable, lo, hi).pieces():
        none = np.zeros(0, np.int64)
        found = execute.run_windows(some, Windows(none, none, begin, end, False, lambda key: []), threads)
        starts = np.flatnonzero(np.diff(window, prepend=-1))
        cell, one = np.cumsum(np.diff(window, prepend=window[:1]) != 0), np.ones(window.size, np.int64)
        flat = Table(*(read_only(part.reshape(len(part), -1)) for part in (found.values, found.lows)))
        values, lows = results.values[window[starts]], results.lows[window[starts]]
        whole = Table(values.reshape(len(values), -1), lows.reshape(len(lows), -1))
        add_to_cells(flat, np.arange(window.size), cell, one, 0, mod, whole)
        results.values[window[starts]], results.lows[window[starts]] = values, lows
    return results


def _run_by_size(arrays: Arrays, runnable: Runnable, lo: Array, hi: Array, threads: int) -> Results:
    """Evaluate short windows in plain doubles and long ones in wide numbers."""
    program = runnable.program
    results = Results.empty(program, lo.size)
    assert arrays.choice is not None
    rows = hi - lo
    if arrays.choice.how == "queue":  # no trend is longer, and each row ends as many
        rows = whole_pairs.find_longest(arrays.choice.chosen, arrays.choice.bounds, lo, hi)
    elif arrays.choice.how == "divide and conquer":  # windows are cut where no trend goes on
        rows = find_stretches(program, arrays.events, lo, hi)
    plain = cost.bits_needed(arrays, program, rows) + 2.0 * np.log2(hi - lo + 1.0) < cost.SAFE_BITS
    for chosen, dtype in ((plain, np.float64), (~plain, WIDE)):
        index = np.flatnonzero(chosen)
        if not index.size:
            continue
        counts = whole_counts.prepare(program) if dtype is np.float64 and _is_simple(arrays) else None
        if counts is not None:
            results.values[index, :, 0] = to_wide(
                _run_counts(arrays, program, counts, lo[index], hi[index], rows[index], threads)
            )
            continue
        out = np.zeros((index.size, *results.values.shape[1:]), dtype)
        low = np.full((index.size, *results.lows.shape[1:]), np.inf)
        _run_kernel(arrays, program, arrays.events, (dtype, 0), lo[index], hi[index], Table(out, low), threads)
        results.values[index], results.lows[index] = to_wide(out), low
    return results


def _is_simple(arrays: Arrays) -> bool:
    """Tell whether first and last events are compared in a way that the kernels of counts alone know."""
    choice = arrays.choice
    assert choice is not None
    if arrays.events.symbol.dtype != np.uint8:
        return False
    return choice.how == "queue" or (
        choice.meeting is not None and not (choice.meeting.twice or choice.meeting.coded)
    )


def _run_counts(
    arrays: Arrays, program: Program, counts: whole_counts.Counts, lo: Array, hi: Array, rows: Array, threads: int
) -> Array:
    """Return the counts of windows [windows, 1] whose numbers fit doubles."""
    choice = arrays.choice
    assert choice is not None
    out = np.zeros((lo.size, 1))
    given = (program, counts, counts.identity, counts.zero, arrays.events, choice.chosen)

    def task(part: slice) -> None:
        if choice.meeting is None:
            duration_counts.run(*given, lo[part], hi[part], out[part])
        else:
            spans = meeting_counts.Spans(lo[part], hi[part], int(rows[part].max()))
            meeting_counts.run(*given, choice.meeting, spans, out[part])

    Pool(threads).map(task, shares(hi - lo, threads))
    return out


def _run_kernel(
    arrays: Arrays,
    program: Program,
    events: Events,
    system: tuple[Any, int],
    lo: Array,
    hi: Array,
    out: Table,
    threads: int,
) -> None:
    """Run the kernel of the plan in one number system: a type of numbers, and a modulus."""
    assert arrays.choice is not None
    choice = arrays.choice
    kernel = KERNELS[choice.how]
    events = widen_symbols(events)
    given = (choice.chosen,) if choice.meeting is None else (choice.chosen, choice.meeting)
    field, square = (
        NumberSystem(np.ones(columns, system[0]), np.full(columns, system[1], np.uint64))
        for columns in (1, program.states)
    )

    def task(part: slice) -> None:
        some = (lo[part], hi[part], Table(out.value[part], out.low[part]))
        kernel(program, events, field, square, *given, *some)

    Pool(threads).map(task, shares(hi - lo, threads))
