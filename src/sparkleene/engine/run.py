"""One pass of a plan over a table: clock, order, windows, arrays, kernels, results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns.arrow import Array
from sparkleene.columns.derived_columns import add_derived
from sparkleene.columns.fields import find_column, is_clock
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.schema import result_schema
from sparkleene.columns.times import Time, check_durations, time_column
from sparkleene.engine import exact, whole_trends
from sparkleene.engine.arrays import Arrays, Recipe, build_arrays
from sparkleene.engine.bursts import Bursts
from sparkleene.engine.data_windows import Drawing
from sparkleene.engine.execute import Results
from sparkleene.engine.grid import Clock, read_clock
from sparkleene.engine.long_counts import find_long_counts
from sparkleene.engine.memo import Memo
from sparkleene.engine.notes import find_notes
from sparkleene.engine.participation import Participation
from sparkleene.engine.shared_order import SharedOrder
from sparkleene.engine.spreads import find_spreads
from sparkleene.engine.substreams import SubStreams, order_rows
from sparkleene.engine.weights import Weights
from sparkleene.engine.windows import KeyRange, Windows, grid_windows, trailing_windows
from sparkleene.errors import Place, SparkleeneError
from sparkleene.kernels.wide import is_one, is_positive
from sparkleene.kernels.windows import ticks
from sparkleene.language.bound import Drawn
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan


@dataclass(frozen=True)
class Evaluated:
    """The aggregates of a part in all windows of all sub-streams of a table."""

    part: Part
    recipe: Recipe
    rows: SubStreams
    windows: Windows
    results: Results
    bursts: Bursts | None = None  # what was counted of them
    each: Mapping[str, Array] = field(default_factory=dict)  # of outputs over events, the parts of each window
    spreads: Mapping[int, Array] = field(default_factory=dict)  # of outputs, by their places; see find_spreads
    longs: Mapping[int, Array] = field(default_factory=dict)  # of outputs, by their places; see find_long_counts
    members: tuple[int, ...] | None = None  # whose windows these are, by place; None for all queries of the part


@dataclass(frozen=True)
class Run:
    """A part over tables that are read in one way. Every evaluation goes through here, of one query or of many."""

    part: Part
    options: EngineOptions
    threads: int = 1
    memo: Memo | None = field(default=None, compare=False, repr=False)  # shared by runs over the same tables
    tell: Callable[[str], None] | None = field(default=None, compare=False, repr=False)  # takes notes for a person
    shared: SharedOrder | None = field(default=None, compare=False, repr=False)  # of rows, with other runs

    @property
    def _memo(self) -> Memo:
        return Memo() if self.memo is None else self.memo

    @property
    def plan(self) -> Plan:
        """The plan that is evaluated."""
        return self.part.plan

    @property
    def place(self) -> Place:
        """The query text that errors point into."""
        return self.part.place

    def clock(self, table: pa.Table) -> Clock:
        """Return the times of a table, and where the windows lie."""
        options, place = self.options, self.place
        given = (options.time, options.time_unit, place, options.numbered)
        time = self._memo.once(("time", *given[:2]), table, lambda: time_column(table, *given))
        for member in self.part.members:
            check_durations(member.plan.bound.finish, time, member.place)
        return read_clock(self.plan, time, options, place)

    def with_derived(self, table: pa.Table) -> pa.Table:
        """Return a table with the columns that the query computes from its rows."""
        derived = self.plan.bound.derived
        if not derived:
            return table
        return self._memo.once(("derived", derived), table, lambda: add_derived(table, derived, self.place))

    def order(self, table: pa.Table, time: Time, pruned: bool = False) -> SubStreams:
        """Divide a table into sub-streams and put their rows in order; see `order_rows`."""
        table = self.with_derived(table)
        if self.shared is not None:
            found = self.shared.find(self.plan, table, time, self.threads, self._memo, pruned)
            if found is not None:
                return found
        given = (self.options, self.threads, self.place, self._memo, pruned)
        return order_rows(self.plan, table, time, *given)

    def arrays(
        self, table: pa.Table, rows: SubStreams, exact: bool = False, share_bursts: bool = False
    ) -> tuple[Arrays, Recipe]:
        """Build what kernels are given for rows in order, and the recipe for results."""
        given = (self.options, self.threads, self.place, exact, share_bursts)
        return build_arrays(self.plan, self.with_derived(table), rows, *given)

    def evaluate(
        self, table: pa.Table, wanted: KeyRange = None, zeros: bool = False, pruned: bool = True
    ) -> Evaluated:
        """Evaluate all windows of all sub-streams, or some; with `zeros` those without trends count too.

        If they are `pruned`, sub-streams that can have no trend are left out where that changes no row.
        """
        with self.blame(table):
            rows, arrays, recipe, windows = self.prepare(table, wanted, pruned and not zeros)
            if self.tell is not None:
                for note in find_notes(self.plan, rows, arrays, windows, self.threads, self.options.tiebreak):
                    self.tell(note)
            return self.aggregate(table, rows, arrays, recipe, windows, zeros=zeros)

    def prepare(
        self, table: pa.Table, wanted: KeyRange = None, pruned: bool = False
    ) -> tuple[SubStreams, Arrays, Recipe, Windows]:
        """Put a table in order, build the arrays for the kernels and find the windows, or some of them.

        If they are `pruned`, sub-streams that can have no trend are left out.
        """
        clock = self.clock(table)
        time, size, grid = clock.time, clock.size, clock.grid
        rows = self.order(table, time, pruned)
        interrupts.check()
        windows = None
        if size is None or grid is not None:
            if isinstance(self.plan.bound.window, Drawn):
                windows = self.drawing(table, clock).windows(rows)
            else:
                windows = grid_windows(rows, grid, self.options.numbered).within(wanted)
                if self.plan.aggregates.each:  # looks at each window of a group
                    _, windows = windows.each()
            if self._ends_are_times(table):
                rows = replace(rows, apart=_separate_rows(windows))
        arrays, recipe = self.arrays(table, rows, share_bursts=True)
        interrupts.check()
        if windows is None:
            assert size is not None
            windows = _triggered_windows(arrays, rows, time, size, self.threads, wanted)
        return rows, arrays, recipe, windows

    def drawing(self, table: pa.Table, clock: Clock) -> Drawing:
        """Return the table as one whose rows draw windows."""
        return Drawing(self.plan, self.with_derived(table), clock, self.threads, self.place, self._memo)

    def _ends_are_times(self, table: pa.Table) -> bool:
        """Tell whether the first and last values that are times are those of the time column, and no other's."""
        paths = {piece.path for piece in self.plan.aggregates.pieces if piece.kind != "sum" and piece.path}
        whole = self.with_derived(table)
        clocks = {path for path in paths if is_clock(find_column(whole, path, self.place).type)}
        return clocks == {(self.options.time,)}

    def aggregate(
        self,
        table: pa.Table,
        rows: SubStreams,
        arrays: Arrays,
        recipe: Recipe,
        windows: Windows,
        results: Results | None = None,
        zeros: bool = False,
    ) -> Evaluated:
        """Evaluate windows that were found, if they have no results yet, and in exact mode as integers too."""
        if results is None:
            results = whole_trends.run_windows(arrays, windows, self.threads)
        if self.options.numbers != "exact":
            spreads = self._spreads(table, rows, arrays, recipe, windows, results)
            each = self._participants(table, rows, windows, results)
            longs: dict[int, Array] = {}
            if self.options.numbers == "long":
                precise_arrays = partial(self.arrays, table, rows, exact=True, share_bursts=True)
                given = (self.part, recipe, rows, windows, results, precise_arrays, self.threads)
                longs = find_long_counts(*given)
            return Evaluated(self.part, recipe, rows, windows, results, arrays.bursts, each, spreads, longs)
        there = np.flatnonzero(zeros | is_positive(results.values[:, :, 0]).any(axis=1))
        windows, results = windows.where(there), results.where(there)
        spreads = self._spreads(table, rows, arrays, recipe, windows, results)
        each = self._participants(table, rows, windows, results)
        precise, recipe = self.arrays(table, rows, exact=True, share_bursts=True)
        integers = exact.integers(precise, results, windows.lo, windows.hi, self.threads)
        results = replace(results, integers=integers)
        return Evaluated(self.part, recipe, rows, windows, results, precise.bursts, each, spreads)

    def _spreads(
        self, table: pa.Table, rows: SubStreams, arrays: Arrays, recipe: Recipe, windows: Windows, results: Results
    ) -> dict[int, Array]:
        """Return variances with all their digits."""
        derived = self.with_derived(table)
        weights = Weights(derived, rows, self.place, self.options.time, self.threads)

        def build(plan: Plan) -> tuple[Arrays, Recipe]:
            return build_arrays(plan, derived, rows, self.options, self.threads, self.place)

        return find_spreads(self.part, weights, arrays, recipe, windows, results, build)

    def _participants(
        self, table: pa.Table, rows: SubStreams, windows: Windows, results: Results
    ) -> dict[str, Array]:
        """Return what outputs over events, each once, are made of."""
        if not self.plan.aggregates.each:
            return {}
        found = Participation(self.plan, self.with_derived(table), rows, self.options, self.threads, self.place)
        return found.parts(windows, results)

    @contextmanager
    def blame(self, table: pa.Table) -> Iterator[None]:
        """Let an error in a table point into the query that is at fault, where several are evaluated together."""
        try:
            yield
        except SparkleeneError:
            if self.part.is_shared:
                for member in self.part.members:
                    result_schema(member.plan, table, self.options, member.place)
            raise


def _separate_rows(windows: Windows) -> tuple[Array, Array] | None:
    """Return the rows that windows hold, None where some row is in two windows."""
    several = windows.repeat is not None and bool((windows.repeat > 1).any())
    return None if several or (windows.lo[1:] < windows.hi[:-1]).any() else (windows.lo, windows.hi)


def _triggered_windows(
    arrays: Arrays, rows: SubStreams, time: Time, size: Fraction, threads: int, wanted: KeyRange
) -> Windows:
    """Return the windows that end at a tick at which a trend of their group ends."""
    assert arrays.momentary is not None
    program = arrays.momentary.program
    # Candidates: ticks with a row whose label can finish a trend.
    enders = 0
    final = set(program.out_state.tolist())
    for label in range(program.off.size - 1):
        if final & set(program.dst[program.off[label] : program.off[label + 1]].tolist()):
            enders |= 1 << label
    starts = ticks(rows.tick, rows.bounds)
    ends_one = program.labels & np.uint64(enders) != 0  # by symbol: labels of predicates are not in the mask
    chosen = np.flatnonzero(ends_one[arrays.events.symbol])
    number = np.searchsorted(starts, chosen, "right") - 1
    number = number[np.diff(number, prepend=-1) > 0]
    if wanted is not None:
        ends = rows.time[starts[number]]
        number = number[(ends > wanted[0]) & (ends <= wanted[1])]
    segment = np.searchsorted(rows.bounds, starts[number], "right") - 1
    subs = len(rows.bounds) - 1
    bounds = np.searchsorted(segment, np.arange(subs + 1)).astype(np.int64)
    at = rows.time[starts[number]]
    windows = trailing_windows(rows, time, size, np.arange(subs), at, bounds, starts[number + 1])
    fires = _fires(arrays, windows, threads)
    there = np.flatnonzero(fires.any(axis=1))
    fired = windows.where(there)
    group = rows.group[fired.segment]
    ends, bounds, place = _distinct(group, fired.key, int(rows.group.max(initial=-1)) + 1)
    whose = None
    if fires.shape[1] > 1:
        order = np.argsort(place, kind="stable")
        first = np.flatnonzero(np.diff(place[order], prepend=-1))
        whose = fires[there[order]]
        if first.size < order.size:  # sub-streams of one group end windows at the same time
            whose = np.logical_or.reduceat(whose, first)
    return trailing_windows(rows, time, size, rows.group, ends, bounds, whose=whose)


def _fires(arrays: Arrays, windows: Windows, threads: int) -> Array:
    """Tell in which windows a trend, or for AND the later trend of a pair, ends with the last tick, by query."""
    assert arrays.momentary is not None
    last = whole_trends.find_ends(arrays, windows, threads)
    if not arrays.paired:
        return last
    counts = whole_trends.run_windows(arrays, windows, threads).values[:, :, 0]
    first, second, both = is_positive(counts).T
    several = both & ~is_one(counts[:, 2])
    fires = (
        (last[:, 0] & (second | both)) | (last[:, 1] & (first | both)) | (last[:, 2] & (first | second | several))
    )
    return np.asarray(fires)[:, None]


def _distinct(owner: Array, time: Array, owners: int) -> tuple[Array, Array, Array]:
    """Return the distinct times of each owner, ascending, where each owner's begin, and the place of each time."""
    order = np.lexsort((time, owner))
    owner, time = owner[order], time[order]
    new = np.r_[True, (np.diff(owner) != 0) | (np.diff(time) != 0)] if owner.size else np.zeros(0, bool)
    place = np.empty(order.size, np.int64)
    place[order] = np.cumsum(new) - 1
    return time[new], np.searchsorted(owner[new], np.arange(owners + 1)).astype(np.int64), place
