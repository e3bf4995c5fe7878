"""Rows of a batch larger than memory, sorted by key and time, evaluated a chunk at a time: the strategy *sort*.

What no open window needs of the rows so far is let go. Streams have nothing to do with it; see live.py for these.

Rows come by block, one for each combination of the keys that they were shuffled by, and within a block in order of
time. Blocks that are complete are evaluated together, a chunk of rows at a time. Of a single block larger than a
chunk there is kept:

- with sliding windows of time or events: the rows from the start of the first window that is still open;
- with windows that rows draw: the rows of the window that is still open;
- where no adjacent predicate compares events, in doubles, and open windows hold more than half a chunk of rows, or
  there is no window: a vector per open window, and the rows of the latest time, which may still get more;
- else all of it. So it is without a window in exact mode, with EACH or an adjacent predicate, with windows per
  trigger, and where a key binds only labels that a trend may lack, or rows are counted and it binds only some.

A row that is held costs W bytes, as wide as its columns in Arrow are: 8 for a number, 4 and the text for text.
While rows are evaluated, each costs up to 35 + 8 * (keys + 3 * sums + minima + 2 * sides of adjacent predicates)
bytes more, where SUM and AVG are two sums. So a task needs rows * (W + that), where rows are a chunk and a half, or
twice those of open windows, or the largest block that is kept whole and half a chunk, whichever is most. A vector
is of states * (16 * (1 + sums) + 8 * minima) bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import make_array
from sparkleene.columns.fields import find_column, simplify
from sparkleene.columns.keys import codes
from sparkleene.columns.times import Time
from sparkleene.engine import cost
from sparkleene.engine.grid import Grid
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.substreams import SubStreams
from sparkleene.engine.windows import grid_windows
from sparkleene.language.bound import Drawn
from sparkleene.ongoing.sorted_windows import NONE, OpenWindows, advance_windows

NEVER, EVER = -(1 << 63), (1 << 63) - 1  # before and after all windows


class SortedRows:
    """Evaluates the rows of a lowered plan, in order, and holds few of them.

    They come by the keys of `Plan.shuffle_keys`, then by time. `chunk` is the number of rows that are evaluated
    together; `rows` is the number of those that are held.
    """

    def __init__(self, run: Run, chunk: int = 1 << 22) -> None:
        """Take a run over tables of rows in order of time."""
        self.run = run = replace(run, part=run.part.map(lambda plan: replace(plan, backward=None)))
        self.chunk = chunk
        plan = run.plan
        self.paths = [plan.bound.keys[k].path for k in plan.shuffle_keys]
        window = plan.bound.window
        typed = [key.labels for key in plan.bound.keys if key.labels is not None]
        drawn = isinstance(window, Drawn)
        slides = not drawn and not plan.bound.per_trigger
        single = len(plan.shuffle_keys) == len(plan.bound.keys)  # a block is one sub-stream
        made, whole = plan.aggregates, plan.whole is not None
        folds = not (plan.pairs or whole or made.each or made.spreads or run.options.numbers == "exact")
        self.linear = slides and single and folds
        self.drawn = False
        if window is None or not slides:
            self.sheds = False
            self.drawn = drawn and all(labels & plan.mandatory for labels in typed)
        elif window.unit == "events":
            self.sheds = single
        else:  # a window's own rows have the keys of all its trends
            self.sheds = all(labels & plan.mandatory for labels in typed)
        self.held: list[pa.Table] = []
        self.rows = 0
        self._limit = chunk
        self._begin_block()

    def feed(self, table: pa.Table) -> Iterator[Evaluated]:
        """Take the next rows and yield what is complete with them; a window of a block comes once."""
        for path in self.paths:  # rows without a key are in no block
            column = find_column(table, path, self.run.place)
            if not pa.types.is_integer(column.type) or column.null_count:
                column = simplify(column)
                table = table.filter(pc.is_valid(column)) if column.null_count else table
        self.held.append(table)
        self.rows += table.num_rows
        if self.rows >= self._limit:
            yield from self._settle()

    def end(self) -> Iterator[Evaluated]:
        """Yield all that is left."""
        if self.rows:
            table = pa.concat_tables(self.held)
            self._hold([], self.chunk)
            yield from self._close(table)

    # ---- blocks

    def _hold(self, tables: list[pa.Table], limit: int) -> None:
        self.held, self._limit = tables, limit
        self.rows = sum(table.num_rows for table in tables)

    def _begin_block(self) -> None:
        """Begin a block."""
        self._done = NEVER  # windows up to this one have been evaluated
        self._open: OpenWindows | None = None
        self._at = 0  # rows of the block that are gone
        self._left = 0  # rows that the block was last reduced to

    def _settle(self) -> Iterator[Evaluated]:
        """Evaluate all blocks but the last, and of that what can be."""
        table = pa.concat_tables(self.held)
        start = self._border(table, table.num_rows - 1, True)
        if start:
            yield from self._close(table.slice(0, start))
            table = table.slice(start)
        if table.num_rows >= max(self.chunk, 2 * self._left):
            table = yield from self._reduce(table)
            self._left = table.num_rows
        self._hold([table], max(self.chunk, table.num_rows + (self.chunk + 1) // 2))

    def _close(self, table: pa.Table) -> Iterator[Evaluated]:
        """Evaluate blocks that are complete, the first of which may be under way."""
        if self._open is not None or self._done > NEVER:
            end = self._border(table, 0, False)
            yield from self._evaluate_until(table.slice(0, end), EVER)
            table = table.slice(end)
            self._begin_block()
        if table.num_rows:
            yield self.run.evaluate(table)

    def _border(self, table: pa.Table, row: int, same: bool) -> int:
        """Return the first row whose block is the one of a row, or is not."""
        if not self.paths:
            return 0 if same else table.num_rows
        keys = table.select(list(dict.fromkeys(path[0] for path in self.paths)))

        def found(other: int) -> bool:
            two = pa.concat_tables([keys.slice(row, 1), keys.slice(other, 1)])
            coded = (codes(two, path, self.run.place)[0] for path in self.paths)
            return all(code[0] == code[1] for code in coded) == same

        if same and found(0):
            return 0
        return bisect_left(range(table.num_rows), True, key=found)

    # ---- a block under way

    def _reduce(self, table: pa.Table) -> Generator[Evaluated, None, pa.Table]:
        """Evaluate what can be of a block, and return the rows that are still needed."""
        if self.drawn:
            return (yield from self._divide(table))
        if not self.linear and not self.sheds:
            return table
        time, grid = self._clock(table)
        cut = int(np.searchsorted(time.values, time.values[-1]))  # rows of the last time may still come
        if not cut:
            return table
        over = NEVER
        if grid is not None:
            over = max(NEVER, grid.last_closed(self._time_at(grid, time, cut)))
        if grid is not None and self._open is None:
            self._done = max(self._done, grid.last_before(self._time_at(grid, time, 0)))
            if over > self._done:
                rows = yield from self._evaluate_until(table.slice(0, cut), over)
                clock = np.arange(cut) if grid.events else grid.clock(time.values[:cut])
                gone = int(np.searchsorted(clock, min(grid.start(over + 1), EVER)))
                if grid.events and rows.rows is not None:  # a tick may be parted
                    kept = table.slice(0, cut).take(make_array(rows.rows[gone:]))
                    table = pa.concat_tables([kept, table.slice(cut)])
                else:
                    table = table.slice(gone)
                self._at += gone
                cut -= gone
            smaller = cost.vectors_are_smaller(self.run.plan, grid.overlap, table.num_columns, cut)
            if not self.linear or cut <= self.chunk // 2 or not smaller:
                return table
        if cut:
            self._open = self._open or NONE
            yield from self._evaluate_until(table.slice(0, cut), over)
            self._at += cut
        return table.slice(cut)

    def _divide(self, table: pa.Table) -> Generator[Evaluated, None, pa.Table]:
        """Evaluate the windows that rows of a block have drawn, and return the rows that others may be in."""
        clock = self.run.clock(table)
        times = clock.time.values
        over, kept = self.run.drawing(table, clock).divide(times[-1].item())  # rows of the last time may still come
        if over.any():
            yield self.run.evaluate(table.filter(make_array(over)))
        return table.filter(make_array(kept | (times == times[-1])))

    def _clock(self, table: pa.Table) -> tuple[Time, Grid | None]:
        """Return the times of rows of the block, and where its windows lie."""
        time, _, grid, *_ = self.run.clock(table)
        if grid is not None and grid.events:
            grid = replace(grid, base=grid.base - self._at)
        return time, grid

    @staticmethod
    def _time_at(grid: Grid, time: Time, row: int) -> int:
        """Return the time of a row by the clock of the windows."""
        return row if grid.events else int(grid.clock(time.values[row : row + 1])[0])

    def _evaluate_until(self, table: pa.Table, last: int) -> Generator[Evaluated, None, SubStreams]:
        """Evaluate the windows up to a number that have not been; return the rows in order."""
        time, grid = self._clock(table)
        rows = self.run.order(table, time)
        _, windows = grid_windows(rows, grid, self.run.options.numbered).each()
        windows = windows.where(np.flatnonzero(windows.key > self._done))
        if self._open is None:
            windows = windows.where(np.flatnonzero(windows.key <= last))
            arrays, recipe = self.run.arrays(table, rows)
            yield self.run.aggregate(table, rows, arrays, recipe, windows)
        else:
            evaluated, self._open = advance_windows(self.run, self._open, table, rows, windows, last)
            if evaluated.windows.key.size:
                yield evaluated
        self._done = last
        return rows
