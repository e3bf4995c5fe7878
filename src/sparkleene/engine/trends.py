"""The first trends behind the numbers: which windows to look at, the way back through them, and the rows.

The order of the result is that of the windows, then of the groups, then of the trends read backwards: by the last
event's time, then the time of the event before it, and so on; a trend comes before those that end in it.
Simultaneous events are in the order of the input, the labels of one event in that of the pattern. Pairs of P AND Q
are ordered by the trend of P, then by that of Q.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns.reading import Options
from sparkleene.engine.ends import Ends, find_ends
from sparkleene.engine.execute import run_windows
from sparkleene.engine.results import count_trends, rank_groups
from sparkleene.engine.run import Run
from sparkleene.engine.substreams import SubStreams
from sparkleene.engine.windows import Windows
from sparkleene.kernels import trends as kernel
from sparkleene.kernels.wide import is_positive
from sparkleene.plan.plan import Plan

Array = np.ndarray[Any, Any]
Trend = tuple[tuple[int, int], ...]  # (event, label) pairs from the last to the first
Match = tuple[Trend, ...]  # a trend, or two of P AND Q
Key = tuple[tuple[int, ...], ...]  # orders matches: per trend tick, row, label, from the last event on

BLOCK = 1 << 16  # rows of windows that are looked through together
ALL = 1 << 62  # no limit


def find_trends(run: Run, table: pa.Table, limit: int | None) -> pa.Table:
    """Return the first trends of a planned query over a table, a row each."""
    run = replace(run, part=run.part.map(lambda plan: replace(plan, bound=replace(plan.bound, outputs=()))))
    plan = run.plan
    rows, arrays, _, windows = run.prepare(table)
    if windows.units is not None and arrays.main.kernel == "linear":
        # Windows overlap: let the kernels that share work between them tell which have trends.
        results = run_windows(arrays, windows, run.threads)
        windows = windows.where(np.flatnonzero(is_positive(count_trends(run.part, results))))
    order = np.lexsort((windows.segment, rank_groups(rows.groups)[rows.group[windows.segment]], windows.key))
    windows = windows.where(order)
    search = _Search(find_ends(plan, arrays), rows)
    found = list(_found(search, windows, ALL if limit is None else limit))
    return _table(plan, table, run.options, rows, windows, found)


def _found(search: _Search, windows: Windows, limit: int) -> Iterator[tuple[int, Match]]:
    """Yield the matches of ordered windows, each with the number of its window, up to the limit."""
    group = search.rows.group[windows.segment]
    new = (np.diff(windows.key) != 0) | (np.diff(group) != 0)
    starts = np.flatnonzero(np.r_[True, new]) if group.size else np.zeros(0, np.int64)
    edges = np.append(starts, group.size)
    total = np.append(0, np.cumsum(windows.hi - windows.lo))[edges]
    done = cell = 0
    while cell < starts.size and done < limit:
        last = max(cell + 1, int(np.searchsorted(total, total[cell] + BLOCK, "right")) - 1)
        block = slice(edges[cell], edges[last])
        firsts = windows.lo[block]
        if firsts.size > 1:
            firsts, _, _ = search.ends.reach(windows.lo[block], windows.hi[block], 1)
        for begin, end in zip(edges[cell:last].tolist(), edges[cell + 1 : last + 1].tolist(), strict=True):
            # Sub-streams of one group, by the next match of each; at first by where that ends.
            heap: list[tuple[Key, int, Match, Iterator[tuple[Key, Match]] | None]] = [
                ((search.key(first),), w, (), None)
                for w, first in enumerate(firsts[begin - edges[cell] : end - edges[cell]].tolist(), begin)
                if first >= 0
            ]
            heapq.heapify(heap)
            while heap and done < limit:
                _, w, match, source = heapq.heappop(heap)
                if source is None:
                    source = search.matches(int(windows.lo[w]), int(windows.hi[w]), limit - done)
                else:
                    yield w, match
                    done += 1
                for key, after in islice(source, 1):
                    heapq.heappush(heap, (key, w, after, source))
        cell = last


@dataclass(frozen=True)
class _Search:
    """The search in the windows of a query."""

    ends: Ends
    rows: SubStreams

    def key(self, event: int) -> tuple[int, int]:
        """Return the tick and the row of an event."""
        rows = self.rows.rows
        return int(self.ends.events.tick[event]), event if rows is None else int(rows[event])

    def before(self, ends: Array, log: Array, lo: int, k: int, need: int) -> Array:
        """Return the ends that an end extends; see the kernel."""
        found: Array = kernel.before(*self.ends.given, self.ends.index.real, ends, log, lo, k, need)
        interrupts.check()
        return found

    def matches(self, lo: int, hi: int, need: int) -> Iterator[tuple[Key, Match]]:
        """Yield the trends of a window with their keys, ascending; for AND pairs, by the first trend of each."""
        both = self.ends.program.classes > 1
        need += both
        _, ends, log = self.ends.reach(np.array([lo]), np.array([hi]), need)
        firsts = self.trends(ends, log, lo, (0, 2), need)
        if not both:
            yield from (((self.key_of(trend),), (trend,)) for _, trend in firsts)
            return
        seconds = self.trends(ends, log, lo, (1, 2), need)
        known: list[tuple[int, Trend]] = []
        for kind, first in firsts:
            for other, second in _again(known, seconds):
                mirrored = kind == other == 2 and second < first  # then the pair came the other way round
                if first == second or mirrored:
                    continue
                yield (self.key_of(first), self.key_of(second)), (first, second)

    def key_of(self, trend: Trend) -> tuple[int, ...]:
        """Return what orders trends of all sub-streams."""
        return tuple(part for event, label in trend for part in (*self.key(event), label))

    def trends(
        self, ends: Array, log: Array, lo: int, kinds: tuple[int, ...], need: int
    ) -> Iterator[tuple[int, Trend]]:
        """Yield the trends of these classes, each with its class, in order of their events from the last one."""
        event, label, kind_of = ends[:, kernel.EVENT], ends[:, kernel.LABEL], ends[:, kernel.KIND]

        def first(found: Array) -> list[int]:
            """Return the ends in order, as many as are needed: each is on the way to a trend."""
            found = np.sort(found)
            if found.size > need:
                last = np.flatnonzero((np.diff(event[found]) != 0) | (np.diff(label[found]) != 0))
                found = found if last.size < need else found[: last[need - 1] + 1]
            return found.tolist()  # type: ignore[no-any-return]

        def grouped(found: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
            """Put together the ends of one event and label, each with the class of the trend, in order."""
            for _, group in groupby(sorted(found), lambda end: (event[end[0]], label[end[0]])):
                yield list(group)

        path: list[tuple[int, int]] = []
        ways = [grouped((k, int(kind_of[k])) for k in first(np.flatnonzero(np.isin(kind_of, kinds))))]
        while ways:
            group = next(ways[-1], None)
            if group is None:
                ways.pop()
                del path[len(ways) - 1 :]
                continue
            path.append((lo + int(event[group[0][0]]), int(label[group[0][0]])))
            yield from ((kind, tuple(path)) for k, kind in group if ends[k, kernel.BEGINS])
            ways.append(
                grouped({(j, kind) for k, kind in group for j in first(self.before(ends, log, lo, k, need))})
            )


def _again(known: list[tuple[int, Trend]], more: Iterator[tuple[int, Trend]]) -> Iterator[tuple[int, Trend]]:
    """Yield what is known, then more, which becomes known."""
    yield from known
    for item in more:
        known.append(item)
        yield item


# ---- rows


def _table(
    plan: Plan,
    table: pa.Table,
    options: Options,
    rows: SubStreams,
    windows: Windows,
    found: list[tuple[int, Match]],
) -> pa.Table:
    """Write the result table: the window, the group and the events of each match."""
    which = np.array([w for w, _ in found], np.int64)
    columns: dict[str, Any] = {}
    columns.update(zip(("window_start", "window_end"), windows.columns(windows.key[which]), strict=False))
    group = pa.array(rows.group[windows.segment[which]])
    for name in rows.groups.column_names:
        columns[_free(name, ("events", "events_2"))] = rows.groups.column(name).take(group)
    for part, name in enumerate(("events", "events_2")[: len(plan.machine.operands)]):
        columns[name] = _events(plan, table, options, rows, [match[part] for _, match in found])
    return pa.table(columns)


def _events(plan: Plan, table: pa.Table, options: Options, rows: SubStreams, found: list[Trend]) -> pa.Array:
    """Return lists of events, each with its label, its row in the input, and the columns that the query reads."""
    flat = np.array([pair for trend in found for pair in reversed(trend)], np.int64).reshape(-1, 2)
    offsets = np.append(0, np.cumsum([len(trend) for trend in found], dtype=np.int64))
    place = flat[:, 0] if rows.rows is None else rows.rows[flat[:, 0]].astype(np.int64)
    names = pa.array([label.name for label in plan.bound.labels], pa.string())
    fields: dict[str, pa.Array] = {"label": names.take(pa.array(flat[:, 1]))}
    heads = [name for name in (options.time, options.type) if name is not None and name in table.column_names]
    chosen = table.unify_dictionaries().take(pa.array(place))
    for name in heads:
        fields[_free(name, ("label", "row"))] = _plain(chosen.column(name))
    fields["row"] = pa.array(place)
    for name in chosen.column_names:
        if name not in heads:
            fields[_free(name, ("label", "row", *heads))] = _plain(chosen.column(name))
    events = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), events)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, without a dictionary."""
    type = column.type
    return (column.cast(type.value_type) if pa.types.is_dictionary(type) else column).combine_chunks()


def _free(name: str, taken: Iterable[str]) -> str:
    """Return the name, with underscores if it is taken."""
    while name in taken:
        name += "_"
    return name
