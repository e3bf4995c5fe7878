"""One pass of a plan over a table: clock, order, windows, arrays, kernels, results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns.derived_columns import add_derived
from sparkleene.columns.fields import find_column, is_clock
from sparkleene.columns.reading import Options
from sparkleene.columns.schema import result_schema
from sparkleene.columns.times import Time, check_durations, time_column
from sparkleene.engine import exact, execute
from sparkleene.engine.arrays import Arrays, Recipe, build_arrays
from sparkleene.engine.bursts import Bursts
from sparkleene.engine.execute import Results
from sparkleene.engine.grid import Clock, read_clock
from sparkleene.engine.memo import Memo
from sparkleene.engine.notes import find_notes
from sparkleene.engine.participation import Participation
from sparkleene.engine.substreams import SubStreams, order_rows
from sparkleene.engine.windows import KeyRange, Windows, grid_windows, trailing_windows
from sparkleene.errors import Place, SparkleeneError
from sparkleene.kernels.wide import is_one, is_positive
from sparkleene.kernels.windows import ticks
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]


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


@dataclass(frozen=True)
class Run:
    """A part over tables that are read in one way. Every evaluation goes through here, of one query or of many."""

    part: Part
    options: Options
    threads: int = 1
    memo: Memo | None = field(default=None, compare=False, repr=False)  # shared by runs over the same tables
    tell: Callable[[str], None] | None = field(default=None, compare=False, repr=False)  # takes notes for a person

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

    def order(self, table: pa.Table, time: Time) -> SubStreams:
        """Divide a table into sub-streams and put their rows in order."""
        table = self.with_derived(table)
        return order_rows(self.plan, table, time, self.options, self.threads, self.place, self._memo)

    def arrays(
        self, table: pa.Table, rows: SubStreams, exact: bool = False, share_bursts: bool = False
    ) -> tuple[Arrays, Recipe]:
        """Build what kernels are given for rows in order, and the recipe for results."""
        given = (self.options, self.threads, self.place, exact, share_bursts)
        return build_arrays(self.plan, self.with_derived(table), rows, *given)

    def evaluate(self, table: pa.Table, wanted: KeyRange = None, zeros: bool = False) -> Evaluated:
        """Evaluate all windows of all sub-streams, or some; with `zeros` those without trends count too."""
        with self.blame(table):
            rows, arrays, recipe, windows = self.prepare(table, wanted)
            if self.tell is not None:
                for note in find_notes(self.plan, rows, arrays, windows, self.threads, self.options.tiebreak):
                    self.tell(note)
            return self.aggregate(table, rows, arrays, recipe, windows, zeros)

    def prepare(self, table: pa.Table, wanted: KeyRange = None) -> tuple[SubStreams, Arrays, Recipe, Windows]:
        """Put a table in order, build the arrays for the kernels and find the windows, or some of them."""
        time, size, grid = self.clock(table)
        rows = self.order(table, time)
        interrupts.check()
        windows = None
        if size is None or grid is not None:
            windows = grid_windows(rows, grid, self.options.numbered).within(wanted)
            if self._ends_are_times(table):
                rows = replace(rows, origin=_origins(rows, windows))
        arrays, recipe = self.arrays(table, rows, share_bursts=True)
        interrupts.check()
        if windows is None:
            assert size is not None
            windows = _triggered_windows(arrays, rows, time, size, self.threads, wanted)
        return rows, arrays, recipe, windows

    def _ends_are_times(self, table: pa.Table) -> bool:
        """Tell whether the first and last values that are times are those of the time column, and no other's."""
        paths = {piece.path for piece in self.plan.aggregates.trackers if piece.path}
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
        zeros: bool = False,
    ) -> Evaluated:
        """Evaluate windows that were found, in exact mode as integers too."""
        results = execute.run_windows(arrays, windows, self.threads)
        if self.options.numbers != "exact":
            each = self._participants(table, rows, windows, results)
            return Evaluated(self.part, recipe, rows, windows, results, arrays.bursts, each)
        there = np.flatnonzero(zeros | is_positive(results.values[:, :, 0]).any(axis=1))
        windows, results = windows.where(there), results.where(there)
        each = self._participants(table, rows, windows, results)
        precise, recipe = self.arrays(table, rows, exact=True, share_bursts=True)
        integers = exact.integers(precise, results, windows.lo, windows.hi, self.threads)
        results = replace(results, integers=integers)
        return Evaluated(self.part, recipe, rows, windows, results, precise.bursts, each)

    def _participants(
        self, table: pa.Table, rows: SubStreams, windows: Windows, results: Results
    ) -> dict[str, Array]:
        """Return what outputs over events, each once, are made of."""
        if not self.plan.aggregates.each:
            return {}
        found = Participation(self.plan, table, rows, self.options, self.threads, self.place)
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


def _origins(rows: SubStreams, windows: Windows) -> Array | None:
    """Return for each row the first time of its window, None where some row is in two windows."""
    if not windows.lo.size or (windows.lo[1:] < windows.hi[:-1]).any():
        return None
    first = np.zeros(len(rows.time), rows.time.dtype)
    size = windows.hi - windows.lo
    inside = np.repeat(windows.lo - np.append(0, np.cumsum(size)[:-1]), size) + np.arange(int(size.sum()))
    first[inside] = np.repeat(rows.time[windows.lo], size)
    return first


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
    number = np.unique(np.searchsorted(starts, chosen, "right") - 1)
    if wanted is not None:
        ends = rows.time[starts[number]]
        number = number[(ends > wanted[0]) & (ends <= wanted[1])]
    segment = np.searchsorted(rows.bounds, starts[number], "right") - 1
    subs = len(rows.bounds) - 1
    bounds = np.searchsorted(segment, np.arange(subs + 1)).astype(np.int64)
    at = rows.time[starts[number]]
    windows = trailing_windows(rows, time, size, np.arange(subs), at, bounds, starts[number + 1])
    fired = windows.where(np.flatnonzero(_fires(arrays, windows, threads)))
    group = rows.group[fired.segment]
    ends, bounds = _distinct(group, fired.key, int(rows.group.max(initial=-1)) + 1)
    return trailing_windows(rows, time, size, rows.group, ends, bounds)


def _fires(arrays: Arrays, windows: Windows, threads: int) -> Array:
    """Tell in which windows a trend, or for AND the later trend of a pair, ends at the last tick."""
    last = is_positive(execute.run_windows(arrays, windows, threads, arrays.momentary).values[:, :, 0])
    if last.shape[1] == 1:
        return np.asarray(last[:, 0])
    counts = execute.run_windows(arrays, windows, threads).values[:, :, 0]
    first, second, both = is_positive(counts).T
    several = both & ~is_one(counts[:, 2])
    return np.asarray(
        (last[:, 0] & (second | both)) | (last[:, 1] & (first | both)) | (last[:, 2] & (first | second | several))
    )


def _distinct(owner: Array, time: Array, owners: int) -> tuple[Array, Array]:
    """Return the distinct times of each owner, ascending, and where each owner's begin."""
    order = np.lexsort((time, owner))
    owner, time = owner[order], time[order]
    new = np.flatnonzero(np.r_[True, (np.diff(owner) != 0) | (np.diff(time) != 0)]) if owner.size else order
    owner, time = owner[new], time[new]
    return time, np.searchsorted(owner, np.arange(owners + 1)).astype(np.int64)
