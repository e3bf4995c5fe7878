"""From a plan and rows in order to what kernels are given: a program, its predicates, and events as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.columns.measures import measure_type
from sparkleene.columns.reading import EngineOptions
from sparkleene.engine.automaton import Automaton, Carried, automaton, forks, momentary_automaton
from sparkleene.engine.bursts import Bursts, find_bursts
from sparkleene.engine.comparisons import Comparisons, observe_pairs
from sparkleene.engine.substreams import SubStreams, read_only, translate_masks
from sparkleene.engine.weights import Scaled, Unit, Weights
from sparkleene.engine.whole_conditions import ChoiceArrays, build_choice
from sparkleene.errors import Place
from sparkleene.kernels import sort
from sparkleene.kernels.columns import mark_seen
from sparkleene.kernels.program import Events, Predicates, Program
from sparkleene.plan.aggregates import Made
from sparkleene.plan.physical import Kernel
from sparkleene.plan.plan import Plan


@dataclass(frozen=True)
class Recipe:
    """How the outputs of a query are made of what kernels return."""

    totals: tuple[Scaled, ...]
    lows: tuple[Callable[[Array], pa.Array], ...]  # from keys of minima back to values
    outputs: tuple[Made, ...]  # with the totals, or the low, that each is made of
    blocks: int = 1
    units: tuple[Unit, ...] = ()  # what the numbers of totals in doubles mean
    long: bool = False  # whether counts are integers of 64 bits


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
    choice: ChoiceArrays | None = None  # which trends count as a whole
    paired: bool = False  # whether results are of pairs of trends

    @property
    def program(self) -> Program:
        """The program that counts."""
        return self.main.program


def build_arrays(
    plan: Plan,
    table: pa.Table,
    rows: SubStreams,
    options: EngineOptions,
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
    made = plan.aggregates
    for output in plan.bound.outputs:
        if output.measure is not None:
            measure_type(output, output.measure, table, exact, place)
    weights = Weights(table, rows, place, options.time, threads, whole=share_bursts)
    built = automaton(plan)
    # A tick of several events matters to machines that move partial trends, and to the bound on their number.
    tied = (plan.machine.forgetful or bool(plan.pairs)) and rows.tied
    predicates, f, g = Comparisons(plan.bound.time, plan.conditions, table, rows, place, threads).build()
    kernel, chooses = built.physical.kernel(tied), built.physical.chooses[tied]
    mask, observed = rows.mask, built.observed(tied)
    if observed:
        mask = observe_pairs(plan, predicates, f, g, mask, threads)
        f = g = np.zeros((0, len(rows.tick)))
    mask = read_only(built.mark_rows(mask, observed, weights.absent, threads))
    bursts = share_bursts and built.physical.bursts
    labels = built.labels(observed)
    symbols, symbol = _symbols(plan, rows, mask, tied, len(labels), threads)
    if kernel != "linear" or bursts:
        symbol = symbol.astype(np.uint32, copy=False)  # one form of the large kernels is enough
    sums = weights.sums(made, labels, built.marked.trackers, exact)
    lows = weights.lows(made, labels, built.marked.trackers)
    program = built.program(symbols, Carried((*sums.program, *lows.program), len(made.demands)), tied)
    left = read_only(f)
    right = left if f is g else read_only(g)
    columns = (read_only(symbol), read_only(sums.columns), read_only(lows.columns), left, right)
    events = Events(rows.tick, *columns, interrupts.stop_flag())
    arrays = Arrays(
        Runnable(program, kernel, built.physical.side_by_side and kernel == "trees"),
        _momentary(plan, symbols, tied, len(labels)),
        predicates,
        _reverse(events) if backward else events,
        sums.largest,
        tied,
        tied or forks(program),
        backward,
        find_bursts(plan, program, symbol, options.forced_bursts) if bursts else None,
        build_choice(plan, chooses, table, rows, place, threads) if plan.whole is not None else None,
        plan.machine.classes > 1 and not plan.machine.per_query,
    )
    return arrays, Recipe(sums.totals, lows.back, made.outputs, made.blocks, sums.units, options.numbers == "long")


def _momentary(plan: Plan, symbols: Array, tied: bool, labels: int) -> Runnable | None:
    """Return the program for the trends that end at the last tick, None where windows have a slide."""
    if not plan.bound.per_trigger:
        return None
    built: Automaton = momentary_automaton(plan)
    program, chosen = built.program(symbols, Carried.nothing(labels), tied), built.physical
    return Runnable(program, chosen.kernel(tied), chosen.side_by_side)


def _reverse(events: Events) -> Events:
    """Return the events from the last to the first; ticks ascend, for `~` turns the order of integers around."""
    columns = {id(column): read_only(np.ascontiguousarray(column[..., ::-1])) for column in events[1:-1]}
    columns[id(events.stop)] = events.stop
    return Events(read_only(~events.tick[::-1]), *(columns[id(column)] for column in events[1:]))


def widen_symbols(events: Events) -> Events:
    """Return events with symbols of the one width that large kernels know."""
    return events._replace(symbol=read_only(events.symbol.astype(np.uint32, copy=False)))


def replace_lows(arrays: Arrays, keys: Array) -> Arrays:
    """Return the arrays with other keys for minima and maxima."""
    return replace(arrays, events=arrays.events._replace(lows=read_only(keys)))


def _symbols(
    plan: Plan, rows: SubStreams, mask: Array, tied: bool, count: int, threads: int
) -> tuple[Array, Array]:
    """Return the label sets of rows and ticks, ascending, and each row's number among them."""
    if count <= 2 and mask.dtype == np.uint8:
        return np.arange(1 << count, dtype=np.uint64), mask
    if mask.dtype == np.uint8:
        masks, seen = np.arange(256, dtype=np.uint64), np.zeros(256, np.bool_)
        mark_seen(mask, seen)
        found = masks[seen]
    else:
        encoded = make_array(mask).dictionary_encode()
        code, found = as_numpy(encoded.indices), as_numpy(encoded.dictionary).astype(np.uint64)
        masks = found
    if tied:
        cut = plan.bound.window is not None and plan.bound.window.unit == "events"
        found = np.union1d(found, sort.unions(rows.tick, mask, rows.bounds, cut))
    labels = np.union1d(found.astype(np.uint64), np.zeros(1, np.uint64))
    number = np.searchsorted(labels, masks).astype(np.uint8 if labels.size <= 256 else np.uint32)
    return labels, translate_masks(number, mask, threads) if mask.dtype == np.uint8 else number[code]
