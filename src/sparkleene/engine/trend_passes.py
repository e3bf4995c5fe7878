"""Trends that conditions on whole trends choose, by a pass for each first event.

Of all trends of a window those may be few that count, so that looking at one after the other may take for ever. In
a pass one event alone may begin a trend, and those that count with it may end one; then every trend that is found
counts. So it takes as many passes as there are first events, however many trends are left out.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from sparkleene import interrupts
from sparkleene.columns.arrow import Array
from sparkleene.engine.arrays import widen_symbols
from sparkleene.engine.trend_search import SIGN, Key, Match, Rank, Search, Trend
from sparkleene.kernels import maximal, walks, whole_pairs
from sparkleene.kernels import trends as kernel
from sparkleene.kernels.wide import WIDE, is_positive, log2
from sparkleene.plan.trend_selection import ALL, Order


class StartPass(NamedTuple):
    """The ends of the partial trends that begin with one event, how many each has, and the length of one."""

    first: int
    window: walks.Pass
    number: Array
    length: Array  # of the longest, or less that of the shortest


MISSES = 1000  # trends that are looked at in vain before those that count are searched by themselves


def find_matches(
    search: Search, lo: int, hi: int, need: int, order: Order = "first"
) -> Iterator[tuple[Key, Match]]:
    """Yield matches of a window with their keys, in an order, at least as many as are needed."""
    if search.weights.arrays.choice is None:
        yield from search.all_matches(lo, hi, need, order)
        return
    counts = search.counting(lo, hi)
    done = missed = 0
    for key, match in search.all_matches(lo, hi, ALL, order):
        if all(map(counts, match)):
            yield key, match
            done += 1
        elif (missed := missed + 1) >= MISSES:
            break
        interrupts.check()
    else:
        return
    yield from islice(ChosenTrends(search, lo, hi).matches(need, order), done, None)


@dataclass(frozen=True)
class ChosenTrends:
    """The trends of one window that count as a whole."""

    search: Search
    lo: int
    hi: int

    def matches(self, need: int, order: Order) -> Iterator[tuple[Key, Match]]:
        """Yield the first of them in an order, as many as are needed."""
        best: list[tuple[Rank, Match]] = []
        for one in self._passes(SIGN.get(order, 1)):
            for trend in self._trends(one, need, order):
                rank = Rank(order, len(trend), (self.search.key_of(trend),))
                if len(best) >= need and not rank < best[-1][0]:
                    break
                insort(best, (rank, (trend,)), key=lambda found: found[0])
                del best[need:]
        yield from ((rank.key, match) for rank, match in best)

    def draw(self, random: np.random.Generator) -> Trend:
        """Draw one of them, each with the same chance; there is one."""
        firsts, weights = self._weights
        first = int(firsts[np.argmax(weights + random.gumbel(size=weights.size))])
        one = self._pass(first, 1)
        assert one is not None
        ends = self.search.ends
        while True:
            seed = random.integers(1, 1 << 63, 1, np.uint64)
            found, _ = walks.draw(*ends.given, ends.index.real, one.window, one.number, 0, seed)
            interrupts.check()
            event = one.window.lo + one.window.ends[found, kernel.EVENT].astype(np.int64)
            if event[-1] == first:  # what rounding leaves over may go to another
                return tuple(zip(event.tolist(), one.window.ends[found, kernel.LABEL].tolist(), strict=True))

    @cached_property
    def _weights(self) -> tuple[Array, Array]:
        """The events that begin trends which count, and the logarithms of how many each begins."""
        found = [(one.first, log_total(one.window, one.number)) for one in self._passes(1)]
        return np.array([first for first, _ in found], np.int64), np.array([weight for _, weight in found])

    @cached_property
    def _lasts(self) -> Callable[[int], Array]:
        """What tells the rows at which trends from a first event on may end, in order."""
        choice = self.search.weights.arrays.choice
        assert choice is not None
        arrays, chosen = self.search.weights.arrays, choice.chosen
        if choice.how == "maximal":
            ends: dict[int, list[int]] = {}
            found = maximal.find(arrays.program, widen_symbols(arrays.events), self.lo, self.hi)
            for first, last in zip(*found, strict=True):
                if choice.counts(int(first), int(last)):
                    ends.setdefault(int(first), []).append(int(last))
            return lambda first: np.array(sorted(ends.get(first, ())), np.int64)
        _, firsts, stops = whole_pairs.find_passes(
            chosen, chosen.starts.copy(), choice.bounds, np.array([self.lo]), np.array([self.hi])
        )
        until = dict(zip(firsts.tolist(), stops.tolist(), strict=True))

        def find(first: int) -> Array:
            rows = np.arange(first, until.get(first, first))
            counts = np.empty(rows.size, np.bool_)
            whole_pairs.check_pairs(chosen, np.full(rows.size, first), rows, counts)
            return rows[counts & chosen.stops[rows]]

        return find

    @cached_property
    def _is_fixed(self) -> bool:
        """Whether rows before a trend and after it do not matter."""
        program = self.search.ends.program
        final, start = np.zeros(program.states, bool), np.zeros(program.states, bool)
        final[program.out_state], start[0] = True, True
        return bool((program.keep == np.arange(program.states))[:, start | final].all())

    def _passes(self, sign: int) -> Iterator[StartPass]:
        """Yield the passes that find a trend, in order of their first events."""
        for first in range(self.lo, self.hi):
            interrupts.check()
            found = self._pass(first, sign)
            if found is not None:
                yield found

    def _pass(self, first: int, sign: int) -> StartPass | None:
        """Return the pass of a first event, None if no trend that begins with it counts."""
        lasts = self._lasts(first)
        if not lasts.size:
            return None
        search, lo, hi = self.search, self.lo, self.hi
        tick = search.ends.events.tick[lo:hi]
        if self._is_fixed:
            begin, end = tick[first - lo], tick[lasts[-1] - lo]
            hi = lo + int(np.searchsorted(tick, end, "right"))
            lo += int(np.searchsorted(tick, begin))
        window = search.weights.look(lo, hi, ALL)
        ends = window.ends.copy()
        event = lo + ends[:, kernel.EVENT]
        ends[event != first, kernel.BEGINS] = 0
        if not ends[:, kernel.BEGINS].any():
            return None
        ends[~np.isin(event, lasts), kernel.KIND] = -1
        window = window._replace(ends=ends)
        count, length = np.zeros(len(ends), WIDE), np.full(len(ends), walks.NONE)
        walks.weigh(*search.ends.given, search.ends.index, window, sign, count, length)
        ends[~is_positive(count), kernel.KIND] = -1
        return StartPass(first, window, count, length) if (ends[:, kernel.KIND] == 0).any() else None

    def _trends(self, one: StartPass, need: int, order: Order) -> Iterator[Trend]:
        """Yield the trends of a pass in an order."""
        if order in SIGN:
            found = self.search.levels(one.window, (0,), need, one.length, SIGN[order])
        else:
            alive = np.where(is_positive(one.number), 1, walks.NONE)
            found = self.search.trends(one.window, (0,), need, order == "last", alive=alive)
        yield from (trend for _, trend in found)


def log_total(window: walks.Pass, number: Array) -> float:
    """Return the logarithm of how many trends a pass has, given the wide number of partial trends of each end."""
    logs = np.log(2.0) * log2(number[window.ends[:, kernel.KIND] == 0])
    return float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))
