"""What ways of evaluation cost: models that choose between ways to the same result.

Nanoseconds were measured on one core of 2.5 GHz; only their ratios matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.engine.arrays import Arrays
from sparkleene.engine.automaton import count_ways, longest_path
from sparkleene.engine.windows import find_distinct
from sparkleene.kernels import word_totals, words
from sparkleene.kernels.program import Program
from sparkleene.plan.plan import Plan

Span = tuple[Array, Array]  # windows: rows from, rows to

SAFE_BITS = 960  # results below 2**960 cannot overflow a double on the way
STRETCH = 1 << 16  # the shortest stretch worth a task of its own
WORTH_DOUBLES = 4  # lanes from which on doubles are tried first, being so much faster than wide numbers
WORTH_WORDS = 50_000  # rows from which on it pays to compile a kernel for words of symbols
PAIR, PAIR_CODE = 7.0, 20.0  # two events compared in a scan, and more for the code of what does not separate
CELL = 16  # bytes that a row costs per column, in a shuffle or in memory

ROW = 60.0  # a row through a vector
ROW_MATRIX = 40.0  # more for a row through a matrix, for each state
WORDS, WORDS_MATRIX = 3.0, 6.0  # the same by words of symbols
PRODUCT = 16.0  # a multiplication of two entries of matrices
UNIT = 1000.0  # a unit that windows are composed of, for the words that it begins and ends in
STEP = 2.5  # a number that a row changes, where many do
STACK_ROW = 150.0  # a row, or a window, of two stacks of rows
STACK_DOUBLE, STACK_WIDE = 0.6, 4.0  # an addition to an entry of their matrices
COUNT_ROW, COUNT_ADD = 10.0, 1.3  # a row of such stacks for counts in doubles, and an addition
SAMPLE = 1 << 12  # rows that are looked at for a model

Way = Literal["each", "units", "rows"]
"""How windows that overlap are run: each by itself, as products of units, or by two stacks of rows."""


def by_words(program: Program, rows: int) -> bool:
    """Tell whether many symbols at a time are looked up in a table: for counts of small machines over many rows."""
    return rows >= WORTH_WORDS and bool(words.supports(program))


def by_totals(program: Program, rows: int) -> bool:
    """Tell whether sums of small machines are taken by matrices of symbols."""
    return rows >= WORTH_WORDS and word_totals.supports(program)


def bits_needed(arrays: Arrays, program: Program, rows: Array) -> Array:
    """Bound the binary logarithm of everything that can arise in windows of these numbers of rows."""
    slack = 4.0 + 2.0 * np.log2(rows + 1.0) + math.log2(arrays.largest)
    if program.mode != 0 and not arrays.forks:
        return np.asarray(slack + 2.0 * np.log2(rows + 1.0))
    ways = count_ways(program)
    bits = rows * math.log2(1.0 + ways)
    longest = longest_path(program)
    if longest is not None:  # as many rows are chosen at most
        bits = np.minimum(bits, longest * np.log2(1.0 + ways * rows))
    return np.asarray(slack + bits)


def fits_doubles(arrays: Arrays, program: Program, rows: Array) -> Array:
    """Tell of which windows, by their numbers of rows, plain doubles can hold everything."""
    return np.asarray(bits_needed(arrays, program, rows) < SAFE_BITS)


def all_fit_doubles(arrays: Arrays, program: Program, lo: Array, hi: Array) -> bool:
    """Tell whether plain doubles can hold everything in all of these windows: then they can in the longest."""
    return bool(fits_doubles(arrays, program, np.atleast_1d((hi - lo).max(initial=0)))[0])


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


def sliding_way(arrays: Arrays, program: Program, by_table: bool, lo: Array, hi: Array) -> Way:
    """Return the cheapest way to run windows that may overlap."""
    if 2 * _extent(lo, hi) > int((hi - lo).sum()):
        return "each"
    each, units = _costs(program, program.states, by_table, [(lo, hi)])
    costs: dict[Way, float] = {"each": each, "units": units, "rows": _stack_cost(arrays, program, lo, hi)}
    return min(costs, key=lambda way: costs[way])


def _stack_cost(arrays: Arrays, program: Program, lo: Array, hi: Array) -> float:
    """Return the nanoseconds for windows by two stacks of rows."""
    symbol = arrays.events.symbol
    seen = np.bincount(symbol[:: max(1, symbol.size // SAMPLE)], minlength=program.labels.size)
    there = program.labels[:, None] >> np.arange(program.off.size - 1, dtype=np.uint64) & np.uint64(1)
    steps = float(seen @ (there @ np.diff(program.off).astype(np.uint64))) / max(1, seen.sum())
    moving = (program.keep != np.arange(program.states)).any()
    width = program.states * (1 + program.sum_of.size + program.low_adds.size)
    number = STACK_DOUBLE if all_fit_doubles(arrays, program, lo, hi) else STACK_WIDE
    results = np.unique(program.out_state).size
    if number == STACK_DOUBLE and only_counts(program):
        row = COUNT_ROW + COUNT_ADD * program.states * (steps + 1)
        return float(_extent(lo, hi) * row + lo.size * (COUNT_ROW + results * program.states))
    touched = 2 * steps + (2 * program.states if moving else 0)
    row, window = STACK_ROW + 2 * touched * width * number, 2 * results * width * number
    return float(_extent(lo, hi) * row + lo.size * (STACK_ROW + window * (1 + program.sum_of.size)))


@dataclass(frozen=True)
class Kind:
    """Windows of one kind: the rows of each, and the machine that they have by themselves."""

    span: Span
    plan: Plan
    labels: int  # that its queries have in the machine of all kinds


def only_counts(program: Program) -> bool:
    """Tell whether there are counts alone, and no tick moves partial trends."""
    stays = bool((program.keep == np.arange(program.states)).all())
    return stays and not program.sum_of.size and not program.low_adds.size


def joint_way(
    arrays: Arrays, kinds: Sequence[Kind], union: Span, plan: Plan, asked: bool, exact: bool
) -> Way | None:
    """Return how windows of several kinds cost least together, None where each kind by itself costs less.

    By itself a kind has a machine of its own, and goes through rows that have one of its labels. `union` are the
    windows of all that hold different rows. If it is `asked` for, some way is taken in any case. Where integers are
    to be `exact`, windows are run one by one.
    """
    program, symbol = arrays.program, arrays.events.symbol
    sample = program.labels[symbol[:: max(1, symbol.size // SAMPLE)]]

    def costs(of: Plan, some: Sequence[Span]) -> tuple[float, float]:
        states = len(of.machine.states)
        by_table = not exact and by_words(program._replace(states=states), len(symbol))
        each, units = _costs(program, states, by_table, some)
        return each if by_table else each * (1 + _steps(of) * STEP / ROW), math.inf if exact else units

    single = 0.0
    for kind in kinds:
        share = np.count_nonzero(sample & np.uint64(kind.labels)) / max(1, sample.size)
        single += share * min(costs(kind.plan, [kind.span]))
    each = costs(plan, [union])[0]
    units = costs(plan, [kind.span for kind in kinds])[1]
    if not asked and min(each, units) >= single:
        return None
    return "each" if each < units else "units"


def joint_may_pay(plan: Plan, alone: Sequence[tuple[Plan, int]]) -> bool:
    """Tell, before rows are looked at, whether one machine for all kinds of windows may cost less.

    By itself a kind goes through a row so many times. Small machines are always looked at.
    """
    if len(plan.machine.states) <= words.MAX_STATES:
        return True
    least = max(times for _, times in alone) * (ROW + STEP * _steps(plan))
    return least < sum(times * (ROW + STEP * _steps(each)) for each, times in alone)


def _steps(plan: Plan) -> float:
    """Return how many numbers a row changes on average, if all labels are as frequent."""
    return len(plan.machine.transitions) / len(plan.bound.labels) * plan.aggregates.width


def matrices_pay_for_vectors(program: Program, rows: int, unit_rows: int, units: int, window_rows: int) -> bool:
    """Tell whether vectors go through the matrices of units, or through the rows themselves.

    The units hold `unit_rows`; all windows together go through a number of `units`, or through `window_rows`.
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
    """Tell whether matrices take a fraction of the bytes of the rows that they stand for."""
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
    borders = find_distinct(np.concatenate([one for span in spans for one in span])).size
    composed = rows * matrix + borders * (UNIT * by_table + 2 * _products(program) * states**3)
    return sum(int((hi - lo).sum()) for lo, hi in spans) * vector, composed


def _products(program: Program) -> float:
    """Return the nanoseconds for one pair of entries with all aggregates."""
    return PRODUCT * (1 + 2 * program.sum_of.size + program.low_adds.size)


def _extent(lo: Array, hi: Array) -> int:
    """Return how many rows windows lie over; those of several sub-streams follow each other."""
    return int(hi[-1] - lo[0]) if lo.size else 0
