"""Aggregates over events that are in some trend, each once: which events these are, window by window.

An event may be in several sub-streams of a group, where a key binds some labels only. It then counts in the first
of them that has a trend with it, so that the numbers of sub-streams add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns import values
from sparkleene.columns.arrow import Array
from sparkleene.columns.reading import EngineOptions
from sparkleene.engine.arrays import build_arrays
from sparkleene.engine.ends import Ends, find_ends
from sparkleene.engine.execute import Results
from sparkleene.engine.substreams import SubStreams
from sparkleene.engine.windows import Windows
from sparkleene.errors import Place
from sparkleene.kernels import participation as kernel
from sparkleene.kernels.wide import is_one, is_positive
from sparkleene.language.ast import And
from sparkleene.language.bound import Output
from sparkleene.plan.plan import Plan
from sparkleene.threads import Pool, shares

BLOCK = 1 << 22  # rows of windows that are looked through together
ALL = 1 << 62  # no limit


class Marks(NamedTuple):
    """By which labels, as bits, rows of windows are in trends; the rows of window k are from at[k] on."""

    labels: Array
    lo: Array  # the place of each window's first row
    at: Array

    def find(self, chosen: Array) -> tuple[Array, Array]:
        """Return the window and the place of each row that is chosen."""
        place = np.flatnonzero(chosen)
        size = np.diff(self.at, append=self.labels.size)
        window = np.repeat(np.arange(self.at.size), size)[place]
        return window, (self.lo - self.at)[window] + place


@dataclass(frozen=True)
class Participation:
    """The events of a table that are in trends of a plan."""

    plan: Plan
    table: pa.Table
    rows: SubStreams
    options: EngineOptions
    threads: int
    place: Place

    def parts(self, windows: Windows, results: Results) -> dict[str, Array]:
        """Return for each output over events what it is made of in each window: a count, or a sum and a count.

        In exact mode these are fractions, else doubles.
        """
        outputs = self.plan.aggregates.each
        dtype = object if self._exact else np.float64
        found = {
            output.name: np.zeros((windows.lo.size, 1 if output.function == "count" else 2), dtype)
            for output in outputs
        }
        kinds = _kinds(results, isinstance(self.plan.bound.pattern, And))
        group = self.rows.group[windows.segment]
        order = np.lexsort((group, windows.key)) if self._spread else np.arange(windows.lo.size)
        order = order[kinds[order] > 0]
        cell = np.arange(order.size)
        if self._spread and order.size:
            new = (np.diff(windows.key[order]) != 0) | (np.diff(group[order]) != 0)
            cell = np.append(0, np.cumsum(new))
        for begin, end in _blocks(cell, (windows.hi - windows.lo)[order]):
            some = order[begin:end]
            marks = self._mark(windows.lo[some], windows.hi[some], kinds[some])
            for output in outputs:
                here = marks.labels & np.uint64(sum(1 << label for label in output.labels)) != 0
                if not self._spread and not output.path:
                    found[output.name][some, 0] = np.add.reduceat(here, marks.at, dtype=np.int64)
                    continue
                once = self._once(cell[begin:end], *marks.find(here))
                for i, column in enumerate(self._add(output, *once, some.size)):
                    found[output.name][some, i] = column
        return found

    @property
    def _exact(self) -> bool:
        return self.options.numbers == "exact"

    @property
    def _spread(self) -> bool:
        """Whether an event may be in several sub-streams."""
        return len(self.plan.universal) < len(self.plan.bound.keys)

    @cached_property
    def _ends(self) -> tuple[Ends, bool]:
        """The program without aggregates, and whether it stores no events."""
        bare = replace(self.plan, bound=replace(self.plan.bound, outputs=()))
        plan = self.plan.memo.setdefault("without outputs", bare)
        arrays, _ = build_arrays(plan, self.table, self.rows, self.options, self.threads, self.place)
        return find_ends(plan, arrays), arrays.main.kernel == "linear"

    def _mark(self, lo: Array, hi: Array, kinds: Array) -> Marks:
        """Return by which labels the rows of some windows are in trends. Each window has a row."""
        ends, linear = self._ends
        at = np.append(0, np.cumsum(hi - lo))
        took = np.zeros(at[-1], np.uint64)
        if linear:

            def task(part: slice) -> None:
                spans = (kinds[part], lo[part], hi[part], at[:-1][part])
                kernel.mark_by_states(ends.program, ends.events, ends.index.real, *spans, took)

            Pool(self.threads).map(task, shares(hi - lo, self.threads))
        else:
            for k in range(lo.size):
                _, found, log = ends.reach(lo[k : k + 1], hi[k : k + 1], ALL)
                given = (*ends.given, ends.index.real, found, log, int(lo[k]), int(kinds[k]))
                kernel.mark_by_ends(*given, took[at[k] : at[k + 1]])
        interrupts.check()
        return Marks(took, lo, at[:-1])

    def _once(self, cell: Array, window: Array, event: Array) -> tuple[Array, Array]:
        """Keep one of the places that a row has in the sub-streams of a group and window."""
        if not self._spread or not event.size:
            return window, event
        assert self.rows.rows is not None
        row = self.rows.rows[event].astype(np.int64)
        _, first = np.unique((cell[window] - cell[0]) * self.table.num_rows + row, return_index=True)
        return window[first], event[first]

    def _add(self, output: Output, window: Array, event: Array, windows: int) -> Iterator[Array]:
        """Yield what an output is made of: for each window the sum, unless it is a count, and the count."""
        if not output.path:
            yield np.bincount(window, minlength=windows)
            return
        given = (self.table, output.path, self.place, output.span)
        if not self._exact:
            column = self.rows.take(values.sum_values(*given))[event]
            known = ~np.isnan(column)
            yield np.bincount(window[known], column[known], windows)
        else:
            parts = [(self.rows.take(column)[event], scale) for column, scale in values.exact_values(*given)]
            known = parts[0][0] != values.NULL
            added = np.full(windows, Fraction(0), object)
            for part, scale in parts:
                added = added + _add_integers(window[known], part[known], windows) * scale
            yield added
        yield np.bincount(window[known], minlength=windows)


def _kinds(results: Results, paired: bool) -> Array:
    """Return for each window the classes of trends that count, as bits; of P AND Q those that are in a pair."""
    counts = results.values[:, :, 0]
    if not paired:
        return is_positive(counts[:, 0]).astype(np.int64)
    first, second, both = is_positive(counts).T
    several = both & ~is_one(counts[:, 2])
    pairs = first & (second | both), second & (first | both), both & (first | second | several)
    return sum((one.astype(np.int64) << i for i, one in enumerate(pairs)), np.zeros(len(counts), np.int64))


def _blocks(cell: Array, rows: Array) -> Iterator[tuple[int, int]]:
    """Yield from where to where windows are looked through together: whole cells, and not too many rows."""
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    edges = np.append(starts, cell.size)
    total = np.append(0, np.cumsum(rows))[edges]
    at = 0
    while at < starts.size:
        last = max(at + 1, int(np.searchsorted(total, total[at] + BLOCK, "right")) - 1)
        yield int(edges[at]), int(edges[last])
        at = last


def _add_integers(window: Array, column: Array, windows: int) -> Array:
    """Add up integers by window, in halves that cannot overflow."""
    high, low = np.zeros(windows, np.int64), np.zeros(windows, np.int64)
    np.add.at(high, window, column >> 32)
    np.add.at(low, window, column & 0xFFFFFFFF)
    return np.asarray(high.astype(object) * (1 << 32) + low.astype(object))
