"""The trends behind the numbers: which windows to look at, in which order, and how many there are.

The first trends are those of the first windows and groups. In the other orders every window and group has rows of
its own: a number of trends, the last, longest or shortest ones, or drawn at random.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, make_array
from sparkleene.engine.arrays import Arrays
from sparkleene.engine.cells import count_trends, rank_groups
from sparkleene.engine.ends import find_ends
from sparkleene.engine.results import write_results
from sparkleene.engine.run import Evaluated, Run
from sparkleene.engine.trend_passes import find_matches
from sparkleene.engine.trend_rows import TrendRows, free_name
from sparkleene.engine.trend_sample import Drawn, Sampler
from sparkleene.engine.trend_search import Key, Match, Rank, Search
from sparkleene.engine.trend_weights import Weights
from sparkleene.engine.whole_trends import run_windows
from sparkleene.engine.windows import KeyRange, Windows
from sparkleene.kernels.wide import is_positive
from sparkleene.language.bound import Measure, Output, Piece
from sparkleene.plan.plan import Plan
from sparkleene.plan.trend_selection import DRAW, SCORE, Order, Selection

Found = tuple[int, Match]  # the number of a window, and a match in it

BLOCK = 1 << 16  # rows of windows that are looked through together
SCANNED = 1 << 14  # rows of a window that are compared with each other for a number that nobody asked for


def find_trends(
    run: Run, table: pa.Table, selection: Selection, scores: bool = False, wanted: KeyRange = None
) -> pa.Table:
    """Return trends of a planned query over a table, a row each, of all windows or of those that are wanted.

    With `scores`, samples have their number and their score: where parts of a group are apart, the greatest counts.
    """
    run = replace(run, part=run.part.map(partial(count_only, order=selection.order)))
    rows, arrays, recipe, windows = run.prepare(table, wanted)
    _, windows = windows.each()
    search = Search(Weights(find_ends(run.plan, arrays), arrays), rows)
    writer = TrendRows(run.plan, table, run.options, run.clock(table).time, rows)
    name = run.plan.bound.outputs[0].name

    def aggregate(some: Array) -> Evaluated:
        chosen = windows.where(some)
        results = search.weights.count(chosen, run.threads) if selection.order == "sample" else None
        return run.aggregate(table, rows, arrays, recipe, chosen, results)

    drawn: list[Drawn] = []
    if selection.order == "first":
        found = list(_find_first(run, search, arrays, windows, selection.most))
        which = np.array([w for w, _ in found], np.int64)
        cell = _cells(search, windows)
        some = np.flatnonzero(np.isin(cell, cell[which]))
        if _is_slow(arrays, windows.where(some)):
            counts = pa.nulls(len(found), write_results(aggregate(some[:0])).column(name).type)
            return writer.write(windows, found, counts)
        evaluated = aggregate(some)
    else:
        evaluated = aggregate(np.arange(windows.lo.size))
        windows = evaluated.windows
        totals = count_trends(run.part, evaluated.results)
        there = is_positive(totals)
        cells = list(_ordered_cells(search, windows, there))
        if selection.order == "sample":
            sampler = Sampler(search, windows, evaluated.results, totals, selection.seed, run.threads)
            drawn = [one for some in cells for one in sampler.draw(some, selection.most)]
            found = [(one.window, one.match) for one in drawn]
        else:
            found = [one for some in cells for one in _find_best(search, windows, some, selection)]
    counts = write_results(evaluated).column(name)
    # Windows and groups of trends are in the same order as those of results; each of these has a row at least.
    which = np.array([w for w, _ in found], np.int64)
    cell = _cells(search, windows)[which]
    number = np.cumsum(np.diff(cell, prepend=-1) != 0) - 1
    counts = counts.take(make_array(number)) if counts else counts
    result = writer.write(windows, found, counts)
    if scores and selection.order == "sample":  # also without rows, for the types
        result = result.append_column(DRAW, make_array([one.number for one in drawn], pa.int64()))
        result = result.append_column(SCORE, make_array([one.score for one in drawn], pa.float64()))
    return result


def count_only(plan: Plan, order: Order = "first") -> Plan:
    """Return the plan that counts trends, and that knows the longest or shortest if these are asked for."""
    count, lengths = (free_name(name, plan.bound.group_names) for name in ("trends", "lengths"))
    outputs = [Output(count, "count", frozenset(), (), None)]
    if order in ("longest", "shortest") and not plan.bound.chooses:
        every = frozenset(i for i, label in enumerate(plan.bound.labels) if not label.negated)
        length = Measure((Piece("sum", every, ()),))
        function: Any = "max" if order == "longest" else "min"
        outputs.append(Output(lengths, function, frozenset(), (), None, measure=length))
    return replace(plan, bound=replace(plan.bound, outputs=tuple(outputs), finish=None))


def _is_slow(arrays: Arrays, windows: Windows) -> bool:
    """Tell whether counting would take a comparison of each row with each, of too many rows."""
    return arrays.main.kernel == "scan" and int((windows.hi - windows.lo).max(initial=0)) > SCANNED


# ---- windows and groups


def _cells(search: Search, windows: Windows) -> Array:
    """Return a number for the window and group of each window of a sub-stream, in the order of results."""
    rank = rank_groups(search.rows.groups)[search.rows.group[windows.segment]]
    order = np.lexsort((rank, windows.key))
    new = (np.diff(windows.key[order]) != 0) | (np.diff(rank[order]) != 0)
    cell = np.zeros(order.size, np.int64)
    cell[order] = np.append(0, np.cumsum(new)) if order.size else 0
    return cell


def _ordered_cells(search: Search, windows: Windows, there: Array) -> Iterator[Array]:
    """Yield for each window and group the windows of its sub-streams that have trends."""
    cell = _cells(search, windows)
    order = np.lexsort((windows.segment, cell))
    order = order[there[order]]
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    yield from np.split(order, starts[1:]) if order.size else ()


# ---- the first of all


def _find_first(run: Run, search: Search, arrays: Arrays, windows: Windows, limit: int) -> Iterator[Found]:
    """Yield the first matches of all windows and groups, up to the limit."""
    there = np.ones(windows.lo.size, bool)
    if windows.composes and arrays.main.kernel == "linear":
        # Windows overlap: let the kernels that share work between them tell which have trends.
        there = is_positive(count_trends(run.part, run_windows(arrays, windows, run.threads)))
    done = 0
    block: list[Array] = []
    size = 0
    for cell in _ordered_cells(search, windows, there):
        block.append(cell)
        size += int((windows.hi - windows.lo)[cell].sum())
        if size >= BLOCK:
            for one in _look_through(search, windows, block, limit - done):
                yield one
                done += 1
            block, size = [], 0
        if done >= limit:
            return
    yield from _look_through(search, windows, block, limit - done)


def _look_through(search: Search, windows: Windows, block: list[Array], limit: int) -> Iterator[Found]:
    """Yield the first matches of some windows and groups, up to the limit."""
    if not block or limit <= 0:
        return
    together = np.concatenate(block)
    firsts = windows.lo[together]
    if firsts.size > 1:
        firsts, _, _ = search.ends.reach(windows.lo[together], windows.hi[together], 1)
    first = dict(zip(together.tolist(), firsts.tolist(), strict=True))
    done = 0
    for cell in block:
        # Sub-streams of one group, by the next match of each; at first by where that ends.
        heap: list[tuple[Key, int, Match, Iterator[tuple[Key, Match]] | None]] = [
            ((search.key(first[w]),), w, (), None) for w in cell.tolist() if first[w] >= 0
        ]
        heapq.heapify(heap)
        while heap and done < limit:
            _, w, match, source = heapq.heappop(heap)
            if source is None:
                source = find_matches(search, int(windows.lo[w]), int(windows.hi[w]), limit - done)
            else:
                yield w, match
                done += 1
            for key, after in islice(source, 1):
                heapq.heappush(heap, (key, w, after, source))
        if done >= limit:
            return


# ---- the last, longest or shortest of each window and group


def _find_best(search: Search, windows: Windows, cell: Array, selection: Selection) -> list[Found]:
    """Return the first matches of a window and group in an order; sub-streams are looked through one by one."""
    most = selection.most
    best: list[tuple[Rank, int, Match]] = []
    for w in cell.tolist() if most else ():
        for key, match in find_matches(search, int(windows.lo[w]), int(windows.hi[w]), most, selection.order):
            rank = Rank(selection.order, sum(map(len, match)), key)
            if len(best) >= most and not rank < best[-1][0]:
                break
            insort(best, (rank, w, match), key=lambda one: one[0])
            del best[most:]
    return [(w, match) for _, w, match in best]
