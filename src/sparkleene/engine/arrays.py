"""From a plan and rows in order to what kernels are given: a program, its predicates, and events as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns import values
from sparkleene.columns.reading import Options
from sparkleene.engine.automaton import Automaton, automaton, forks, momentary_automaton
from sparkleene.engine.bursts import Bursts, find_bursts
from sparkleene.engine.comparisons import Comparisons, observe_pairs
from sparkleene.engine.substreams import SubStreams, read_only
from sparkleene.errors import Place
from sparkleene.kernels import sort
from sparkleene.kernels.program import Events, Predicates, Program
from sparkleene.language.bound import Output
from sparkleene.plan.aggregates import Aggregates, Total, aggregates
from sparkleene.plan.physical import Kernel
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]
Scaled = tuple[tuple[int, Fraction], ...]  # columns of sums and their scales: a total is the sum of the products


@dataclass(frozen=True)
class Recipe:
    """How the outputs of a query are made of what kernels return."""

    totals: tuple[Scaled, ...]
    lows: tuple[Callable[[Array], pa.Array], ...]  # from keys of minima back to values
    outputs: tuple[tuple[Output, tuple[int, ...]], ...]  # with the totals, or the low, that each is made of


class Runnable(NamedTuple):
    """A program, and the kernel that runs it."""

    program: Program
    kernel: Kernel
    side_by_side: bool  # whether windows that overlap share one pass


@dataclass(frozen=True)
class Arrays:
    """What kernels are given for the rows of one table, and what is known of these."""

    main: Runnable
    momentary: Runnable | None  # tells which trends end at the last tick, for windows per trigger
    predicates: Predicates
    events: Events
    largest: float  # of the absolute attribute values
    tied: bool  # whether some tick has several events (not looked for where it cannot matter)
    forks: bool  # whether one event or tick can make several partial trends of one (beyond skipping it)
    backward: bool  # whether the events are in the opposite order, and the program reads them so
    bursts: Bursts | None  # how runs of rows are done once for several queries

    @property
    def program(self) -> Program:
        """The program that counts."""
        return self.main.program


def build_arrays(
    plan: Plan,
    table: pa.Table,
    rows: SubStreams,
    options: Options,
    threads: int,
    place: Place,
    exact: bool = False,
    share_bursts: bool = False,
) -> tuple[Arrays, Recipe]:
    """Build the arrays of a run, and the recipe for its results.

    In `exact` mode what is added up are integers. Bursts are for windows that are run by themselves.
    """
    backward = plan.backward is not None
    plan = plan.directed
    made = aggregates(plan.bound)
    sums = _sums(made, table, rows, exact, place)
    lows, back = _lows(made, table, rows, place)
    built = automaton(plan)
    # A tick of several events matters to machines that move partial trends, and to the bound on their number.
    tied = (plan.machine.forgetful or bool(plan.pairs)) and rows.tied
    predicates, f, g = Comparisons(plan, table, rows, place).build()
    kernel = built.physical.kernel(tied)
    mask, observed = rows.mask, built.observed(tied)
    if observed:
        mask = observe_pairs(plan, predicates, f, g, mask, threads)
        f = g = np.zeros((0, len(rows.tick)))
    bursts = share_bursts and built.physical.bursts
    symbols, symbol = _symbols(plan, rows, mask, tied, observed)
    if kernel != "linear" or bursts:
        symbol = symbol.astype(np.uint32, copy=False)  # one form of the large kernels is enough
    sum_labels = np.array([built.label_bits(total.labels, observed) for total in sums.of], np.uint64)
    low_labels = np.array([built.label_bits(low.labels, observed) for low in made.lows], np.uint64)
    program = built.program(symbols, sum_labels, low_labels, tied)
    left = read_only(f)
    right = left if f is g else read_only(g)
    columns = (read_only(symbol), read_only(sums.columns), read_only(lows), left, right)
    events = Events(rows.tick, *columns, interrupts.stop_flag())
    arrays = Arrays(
        Runnable(program, kernel, built.physical.side_by_side),
        _momentary(plan, symbols, tied),
        predicates,
        _reverse(events) if backward else events,
        sums.largest,
        tied,
        tied or forks(program),
        backward,
        find_bursts(plan.copy_finder, program, symbol, options.choice) if bursts else None,
    )
    return arrays, Recipe(sums.totals, back, made.outputs)


def _momentary(plan: Plan, symbols: Array, tied: bool) -> Runnable | None:
    """Return the program for the trends that end at the last tick, None where windows have a slide."""
    window = plan.bound.window
    if window is None or window.slide is not None:
        return None
    built: Automaton = momentary_automaton(plan)
    none = np.zeros(0, np.uint64)
    program, chosen = built.program(symbols, none, none, tied), built.physical
    return Runnable(program, chosen.kernel(tied), chosen.side_by_side)


def _reverse(events: Events) -> Events:
    """Return the events from the last to the first; ticks ascend, for `~` turns the order of integers around."""
    columns = {id(column): read_only(np.ascontiguousarray(column[..., ::-1])) for column in events[1:-1]}
    columns[id(events.stop)] = events.stop
    return Events(read_only(~events.tick[::-1]), *(columns[id(column)] for column in events[1:]))


class _Sums(NamedTuple):
    """The columns that kernels add up."""

    columns: Array
    of: list[Total]  # the total that each column is of
    totals: tuple[Scaled, ...]
    largest: float


def _sums(made: Aggregates, table: pa.Table, rows: SubStreams, exact: bool, place: Place) -> _Sums:
    """Return the columns that kernels add up; in exact mode a total may have several, each with a scale."""
    dtype = np.int64 if exact else np.float64
    null: Any = values.NULL if exact else np.nan
    found: list[Array] = []
    of: list[Total] = []
    totals: list[Scaled] = []
    largest = 1.0
    for total in made.totals:
        if not total.path:
            some = [(np.ones(table.num_rows, dtype), Fraction(1))]
        elif exact:
            some = list(values.exact_values(table, total.path, place, total.span))
        else:
            some = [(values.sum_values(table, total.path, place, total.span), Fraction(1))]
        if total.present and total.path:
            absent = some[0][0] == null if exact else np.isnan(some[0][0])
            some = [(np.where(absent, null, dtype(1)), Fraction(1))]
        totals.append(tuple((len(found) + k, scale) for k, (_, scale) in enumerate(some)))
        for column, _ in some:
            there = column != null if exact else ~np.isnan(column)
            largest = max(largest, float(np.abs(column[there].astype(np.float64)).max(initial=1.0)))
            found.append(rows.take(column))
            of.append(total)
    columns = np.stack(found) if found else np.zeros((0, len(rows.tick)), dtype)
    return _Sums(columns, of, tuple(totals), largest)


def _lows(
    made: Aggregates, table: pa.Table, rows: SubStreams, place: Place
) -> tuple[Array, tuple[Callable[[Array], pa.Array], ...]]:
    """Return the keys of minima and maxima, and the ways back to values."""
    lows = np.empty((len(made.lows), len(rows.tick)))
    back: list[Callable[[Array], pa.Array]] = []
    for i, low in enumerate(made.lows):
        keys, to_values = values.low_values(table, low.path, low.maximum, place, low.span)
        lows[i] = rows.take(keys)
        back.append(to_values)
    return lows, tuple(back)


def replace_lows(arrays: Arrays, keys: Array) -> Arrays:
    """Return the arrays with other keys for minima and maxima."""
    return replace(arrays, events=arrays.events._replace(lows=read_only(keys)))


def _symbols(plan: Plan, rows: SubStreams, mask: Array, tied: bool, observed: bool) -> tuple[Array, Array]:
    """Return the label sets of rows and ticks, ascending, and each row's number among them."""
    count = len(plan.bound.labels) + observed * len(plan.pairs)
    if count <= 2 and mask.dtype == np.uint8:
        return np.arange(1 << count, dtype=np.uint64), mask
    if mask.dtype == np.uint8:
        code, masks = mask, np.arange(256, dtype=np.uint64)
        found = masks[np.bincount(mask, minlength=256) > 0]
    else:
        encoded = pa.array(mask).dictionary_encode()
        code, found = encoded.indices.to_numpy(), encoded.dictionary.to_numpy().astype(np.uint64)
        masks = found
    if tied:
        cut = plan.bound.window is not None and plan.bound.window.unit == "events"
        found = np.union1d(found, sort.unions(rows.tick, mask, rows.bounds, cut))
    labels = np.union1d(found.astype(np.uint64), np.zeros(1, np.uint64))
    kind = np.uint8 if labels.size <= 256 else np.uint32
    return labels, np.searchsorted(labels, masks).astype(kind)[code]
