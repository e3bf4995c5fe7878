"""Windows of several lengths over one state: which of each kind end or change, when those of the whole part do.

The whole part has windows as long as the longest, with a border wherever some kind has one. So what it keeps is
enough for all kinds, and each time one of its windows ends all those end that have their border there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from sparkleene.engine.execute import run_panes
from sparkleene.engine.grid import Grid
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.windows import grid_windows
from sparkleene.ongoing.compose import compose, order_units
from sparkleene.plan.part import Part

Range = tuple[int, int]
"""Windows with keys greater than the first number and at most the second."""


@dataclass(frozen=True)
class Kind:
    """Windows of one length, and whose they are: the places of the queries in their part."""

    grid: Grid
    members: tuple[int, ...]


@dataclass(frozen=True)
class Kinds:
    """All kinds of windows of a part, which serves those that start from one time on and before another."""

    whole: Grid
    each: tuple[Kind, ...]
    begin: int | None = None
    end: int | None = None

    def list_ended(self, after: int, last: int) -> list[Range]:
        """Return the windows of each kind that end after one window of the whole, but not after another."""
        ends = self.whole.end(after), self.whole.end(last)
        return [self._clip(kind.grid, *map(kind.grid.last_closed, ends)) for kind in self.each]

    def list_started(self, after: int, last: int) -> list[Range]:
        """Return the windows of each kind that end after one of the whole, and do not start after another."""
        end, start = self.whole.end(after), self.whole.start(last)
        return [self._clip(one.grid, one.grid.last_closed(end), one.grid.last_started(start)) for one in self.each]

    def _clip(self, grid: Grid, after: int, last: int) -> Range:
        """Return the windows of a range that the part serves."""
        if self.begin is not None:
            after = max(after, grid.last_started(self.begin - 1))
        if self.end is not None:
            last = min(last, grid.last_started(self.end - 1))
        return after, max(after, last)


def find_kinds(run: Run, empty: pa.Table, begin: int | None, end: int | None) -> Kinds:
    """Return the kinds of windows of a part; begin and end are in the unit that windows are of."""
    part, found = run.part, []
    for window in part.windows:
        members = part.find_members(window)
        one = part.members[members[0]]
        grid = replace(run, part=Part(one.plan, (one,))).clock(empty).grid
        assert grid is not None
        found.append(Kind(grid, members))
    whole = run.clock(empty).grid
    assert whole is not None
    return Kinds(whole, tuple(found), begin, end)


def evaluate_rows(
    run: Run, kinds: Kinds | None, wanted: list[Range], table: pa.Table, zeros: bool
) -> Iterator[Evaluated]:
    """Yield some windows of each kind, or of the only one, from the rows that they hold."""
    if kinds is None:
        yield run.evaluate(table, wanted[0], zeros, pruned=False)  # the status counts sub-streams
        return
    with run.blame(table):
        rows = run.order(table, run.clock(table).time)
        arrays, recipe = run.arrays(table, rows)
        windows = [
            grid_windows(rows, kind.grid, run.options.numbered).within(some)
            for kind, some in zip(kinds.each, wanted, strict=True)
        ]
        found = run_panes(arrays, windows, run.threads)
    for kind, some, results in zip(kinds.each, windows, found, strict=True):
        yield Evaluated(run.part, recipe, rows, some, results, members=kind.members)


def compose_kinds(
    run: Run, kinds: Kinds | None, wanted: list[Range], units: pa.Table, table: pa.Table
) -> list[Evaluated] | None:
    """Return the same from units and the rows after them; None where these do not fit."""
    if kinds is None:
        one = compose(run, units, table, wanted[0])
        return None if one is None else [one]
    ordered = order_units(run, units, table)
    if ordered is None:
        return None
    return [
        replace(ordered.evaluate(run, kind.grid.by_panes(kinds.whole), some), members=kind.members)
        for kind, some in zip(kinds.each, wanted, strict=True)
    ]
