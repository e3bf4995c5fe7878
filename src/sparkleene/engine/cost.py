"""What ways of evaluation cost: models that choose between ways to the same result.

Nanoseconds were measured on one core of 2.5 GHz; only their ratios matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparkleene.engine.arrays import Arrays
from sparkleene.engine.automaton import count_ways
from sparkleene.kernels import words
from sparkleene.kernels.program import Program
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]
Span = tuple[Array, Array]  # windows: rows from, rows to

SAFE_BITS = 960  # results below 2**960 cannot overflow a double on the way
STRETCH = 1 << 16  # the shortest stretch worth a task of its own
WORTH_WORDS = 50_000  # rows from which on it pays to compile a kernel for words of symbols
PAIR, PAIR_CODE = 7.0, 20.0  # two events compared in a scan, and more for the code of what does not separate
CELL = 16  # bytes that a row costs per column, in a shuffle or in memory

ROW = 60.0  # a row through a vector
ROW_MATRIX = 40.0  # more for a row through a matrix, for each state
WORDS, WORDS_MATRIX = 3.0, 6.0  # the same by words of symbols
PRODUCT = 16.0  # a multiplication of two entries of matrices


def by_words(program: Program, rows: int) -> bool:
    """Tell whether many symbols at a time are looked up in a table: for counts of small machines over many rows."""
    return rows >= WORTH_WORDS and bool(words.supports(program))


def bits_needed(arrays: Arrays, program: Program, rows: Array) -> Array:
    """Bound the binary logarithm of everything that can arise in windows of these numbers of rows."""
    slack = 4.0 + 2.0 * np.log2(rows + 1.0) + math.log2(arrays.largest)
    if program.mode != 0 and not arrays.forks:
        return np.asarray(slack + 2.0 * np.log2(rows + 1.0))
    return np.asarray(slack + rows * math.log2(1.0 + count_ways(program)))


def fits_doubles(arrays: Arrays, program: Program, rows: Array) -> Array:
    """Tell of which windows, by their numbers of rows, plain doubles can hold everything."""
    return np.asarray(bits_needed(arrays, program, rows) < SAFE_BITS)


def scan_seconds(plan: Plan, arrays: Arrays, lo: Array, hi: Array, threads: int) -> float:
    """Bound the time that a scan takes: each event is compared with all stored ones before it in its window.

    `plan` is for rows in the order of `arrays`, and windows are shared out to threads as a whole.
    """
    program, events = arrays.program, arrays.events
    if arrays.backward:
        rows = len(events.tick)
        lo, hi = rows - hi, rows - lo
    label_of, seen = plan.machine.label, {}
    total = np.zeros(lo.size)
    for label in range(program.off.size - 1):
        here = program.labels[events.symbol] >> np.uint64(label) & np.uint64(1)
        count = np.append(0, np.cumsum(here.astype(np.int64)))
        seen[label] = (count[hi] - count[lo]).astype(np.float64)
    for source, by, _ in plan.machine.transitions:
        pair = plan.pair_of(source, by)
        if pair >= 0:
            each = PAIR + PAIR_CODE * bool(plan.pairs[pair].general)
            total += each / 2 * seen[label_of[source]] * seen[by]
    return float(max(total.max(initial=0.0), total.sum() / threads)) / 1e9


def sliding_pays(program: Program, by_table: bool, lo: Array, hi: Array) -> bool:
    """Tell whether composing units is cheaper than running every window by itself."""
    single, composed = _costs(program, program.states, by_table, [(lo, hi)])
    return 2 * _extent(lo, hi) <= int((hi - lo).sum()) and single > composed


def common_panes_pay(arrays: Arrays, spans: Sequence[Span], states: Sequence[int]) -> bool:
    """Tell whether windows of several kinds cost less by common units than each kind by itself.

    By itself a kind has a machine of its own, with that many `states`.
    """
    program, rows = arrays.program, len(arrays.events.tick)

    def costs(count: int, some: Sequence[Span]) -> tuple[float, float]:
        return _costs(program, count, by_words(program._replace(states=count), rows), some)

    single = sum(min(costs(count, [span])) for count, span in zip(states, spans, strict=True))
    return costs(program.states, spans)[1] < single


def matrices_pay_for_vectors(program: Program, rows: int, unit_rows: int, units: int, window_rows: int) -> bool:
    """Tell whether vectors go through the matrices of units, or through the rows themselves.

    The units hold `unit_rows`; all windows together go through so many `units`, or through `window_rows`.
    """
    matrix = WORDS_MATRIX if by_words(program, rows) else ROW + ROW_MATRIX * program.states
    cost = unit_rows * matrix + units * _products(program) * program.states**2
    return cost < ROW * window_rows


def vectors_pay(program: Program, lo: Array, hi: Array, matrices: int) -> bool:
    """Tell whether windows over matrices cost less one by one, as vectors, than by sliding.

    A vector is one column of a matrix; sliding multiplies every matrix twice.
    """
    return int((hi - lo).sum()) <= 2 * program.states * matrices


def matrices_are_smaller(plan: Plan, columns: int, rows: int, count: int, times: int = 1) -> bool:
    """Tell whether that many matrices are so many times smaller, in bytes, than the rows they stand for."""
    entries = len(plan.marked.states) ** 2 * plan.aggregates.width
    size = count * (8 * entries + CELL * (3 + len(plan.bound.keys)))
    return size * times <= CELL * columns * rows


def vectors_are_smaller(plan: Plan, windows: int, columns: int, rows: int) -> bool:
    """Tell whether the vectors of that many windows take fewer bytes than rows."""
    made = plan.aggregates
    width = len(plan.marked.states) * (16 * (1 + len(made.totals)) + 8 * len(made.lows))
    return windows * width <= CELL * columns * rows


def _costs(program: Program, states: int, by_table: bool, spans: Sequence[Span]) -> tuple[float, float]:
    """Return the nanoseconds for every window by itself, and for units that are composed."""
    vector, matrix = (WORDS, WORDS_MATRIX) if by_table else (ROW, ROW + ROW_MATRIX * states)
    rows = max(_extent(lo, hi) for lo, hi in spans)
    windows = sum(min(_extent(lo, hi), lo.size) for lo, hi in spans)
    composed = rows * matrix + windows * _products(program) * states**3
    return sum(int((hi - lo).sum()) for lo, hi in spans) * vector, composed


def _products(program: Program) -> float:
    """Return the nanoseconds for one pair of entries with all aggregates."""
    return PRODUCT * (1 + 2 * program.sum_of.size + program.low_adds.size)


def _extent(lo: Array, hi: Array) -> int:
    """Return how many rows windows lie over; those of several sub-streams follow each other."""
    return int(hi[-1] - lo[0]) if lo.size else 0
