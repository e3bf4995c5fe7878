"""The search for trends in a window: backwards from the ends that complete one, in a given order.

`first` is the order of trends read backwards: by the last event's time, then the time of the event before it, and
so on; a trend comes before those that end in it. Simultaneous events are in the order of the input, the labels of
one event in that of the pattern. Pairs of P AND Q are ordered by the trend of P, then by that of Q. `last` is the
opposite. `longest` and `shortest` are by the number of events (of a pair: of both trends), then as in `first`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, product, takewhile

import numpy as np

from sparkleene import interrupts
from sparkleene.columns.arrow import Array
from sparkleene.engine.arrays import widen_symbols
from sparkleene.engine.ends import Ends
from sparkleene.engine.substreams import SubStreams
from sparkleene.engine.trend_weights import Weights
from sparkleene.kernels import maximal, walks
from sparkleene.kernels import trends as kernel
from sparkleene.plan.trend_selection import ALL, Order

Trend = tuple[tuple[int, int], ...]  # (event, label) pairs from the last to the first
Match = tuple[Trend, ...]  # a trend, or two of P AND Q
Key = tuple[tuple[int, ...], ...]  # orders matches: per trend tick, row, label, from the last event on

NO_MERIT = np.zeros(0, np.int64)
SIGN = {"longest": 1, "shortest": -1}


@dataclass(frozen=True)
class Rank:
    """What orders the matches of a window and group."""

    order: Order
    length: int
    key: Key

    def __lt__(self, other: Rank) -> bool:
        """Tell whether a match comes before another."""
        if self.order == "last":
            return other.key < self.key
        if self.order in SIGN and self.length != other.length:
            return (self.length > other.length) == (self.order == "longest")
        return self.key < other.key


@dataclass(frozen=True)
class Levels:
    """The trends of one length. `level` is sign * length; `missed` gets the next lower level that occurs."""

    merit: Array  # of each end, the length of its longest partial trend, or with sign -1 less that of its shortest
    sign: int
    level: int
    missed: Array = field(default_factory=lambda: np.array([walks.NONE]))

    def note(self, value: int) -> None:
        """Take note of a length that is not the present one."""
        if self.missed[0] < value < self.level:
            self.missed[0] = value


@dataclass(frozen=True)
class Search:
    """The search in the windows of a query."""

    weights: Weights
    rows: SubStreams

    @property
    def ends(self) -> Ends:
        """What tells the ends of partial trends."""
        return self.weights.ends

    @property
    def paired(self) -> bool:
        """Whether matches are pairs of trends."""
        return self.ends.program.classes > 1

    def key(self, event: int) -> tuple[int, int]:
        """Return the tick and the row of an event."""
        rows = self.rows.rows
        return int(self.ends.events.tick[event]), event if rows is None else int(rows[event])

    def key_of(self, trend: Trend) -> tuple[int, ...]:
        """Return what orders trends of all sub-streams."""
        event, label = np.array(trend, np.int64).T
        rows = self.rows.rows
        parts = np.stack([self.ends.events.tick[event], event if rows is None else rows[event], label], axis=1)
        return tuple(parts.ravel().tolist())

    def counting(self, lo: int, hi: int) -> Callable[[Trend], bool]:
        """Return what tells whether trends of a window count as a whole."""
        arrays = self.weights.arrays
        choice = arrays.choice
        if choice is None:
            return lambda trend: True
        if choice.how != "maximal":
            return lambda trend: choice.counts(trend[-1][0], trend[0][0])
        found = maximal.find(arrays.program, widen_symbols(arrays.events), lo, hi)
        spans = set(zip(*(rows.tolist() for rows in found), strict=True))

        def counts(trend: Trend) -> bool:
            span = trend[-1][0], trend[0][0]
            return span in spans and choice.counts(*span)

        return counts

    def all_matches(self, lo: int, hi: int, need: int, order: Order) -> Iterator[tuple[Key, Match]]:
        """Yield matches of a window, those too that do not count as a whole."""
        paired = self.paired
        if order in SIGN:
            window, _, merit = self.weights.of(lo, hi, SIGN[order])
            yield from self._by_length(window, merit, need, SIGN[order])
            return
        window = self.weights.look(lo, hi, need + paired if order == "first" else ALL)
        backwards = order == "last"
        firsts = self.trends(window, (0, 2), need + paired, backwards)
        if not paired:
            yield from (((self.key_of(trend),), (trend,)) for _, trend in firsts)
            return
        if backwards:
            yield from self._last_pairs(window, firsts, need + paired)
            return
        seconds = self.trends(window, (1, 2), need + paired)
        known: list[tuple[int, Trend]] = []
        for one in firsts:
            yield from self._pairs((one, other) for other in _again(known, seconds))

    def _last_pairs(
        self, window: walks.Pass, firsts: Iterable[tuple[int, Trend]], need: int
    ) -> Iterator[tuple[Key, Match]]:
        """Yield the last pairs first; of two trends of both classes the later one is the second."""
        known: tuple[list[tuple[int, Trend]], ...] = ([], [])
        more = [self.trends(window, (kind,), need, backwards=True) for kind in (1, 2)]
        for kind, first in firsts:
            single, both = (_again(seen, rest) for seen, rest in zip(known, more, strict=True))
            later = both if kind != 2 else takewhile(lambda other: other[1] > first, both)  # noqa: B023
            seconds = heapq.merge(single, later, key=lambda other: other[1], reverse=True)
            yield from self._pairs(((kind, first), other) for other in seconds)

    def _pairs(self, found: Iterable[tuple[tuple[int, Trend], ...]]) -> Iterator[tuple[Key, Match]]:
        """Yield those pairs of trends, given with their classes, that count, once each."""
        for (kind, first), (other, second) in found:
            mirrored = kind == other == 2 and second < first  # then the pair comes the other way round
            if first != second and not mirrored:
                yield (self.key_of(first), self.key_of(second)), (first, second)

    def _by_length(self, window: walks.Pass, merit: Array, need: int, sign: int) -> Iterator[tuple[Key, Match]]:
        """Yield the longest or shortest matches first, given the length of each end."""
        if not self.paired:
            yield from (((self.key_of(t),), (t,)) for _, t in self.levels(window, (0, 2), need, merit, sign))
            return
        # Of either operand twice as many are enough: each gives a pair with the other's best, but for one with
        # itself and those that come the other way round.
        enough = 2 * need + 2
        both = [
            [one for one, _ in zip(self.levels(window, kinds, enough, merit, sign), range(enough), strict=False)]
            for kinds in ((0, 2), (1, 2))
        ]
        found = sorted(self._pairs(product(*both)))
        found.sort(key=lambda match: -sign * sum(map(len, match[1])))
        yield from found

    def levels(
        self, window: walks.Pass, kinds: tuple[int, ...], need: int, merit: Array, sign: int
    ) -> Iterator[tuple[int, Trend]]:
        """Yield the trends of these classes, length by length."""
        whole = np.flatnonzero(np.isin(window.ends[:, kernel.KIND], kinds))
        level = int(merit[whole].max(initial=walks.NONE))
        while level > walks.NONE:
            levels = Levels(merit, sign, level)
            yield from self.trends(window, kinds, need, False, levels)
            level = int(levels.missed[0])

    def step_back(
        self, window: walks.Pass, k: int, wish: kernel.Wish, levels: Levels | None, depth: int
    ) -> tuple[Array, Array]:
        """Return the ends that an end extends, and on which a trend of the present length is not ruled out.

        Where that is one alone, it is passed, and the next are looked for; those passed are returned, too.
        """
        done = levels.sign * depth if levels is not None else 0
        if levels is not None:
            wish = wish._replace(least=levels.level - done, missed=np.array([levels.missed[0] - done]))
        found: tuple[Array, Array] = kernel.step_back(
            *self.ends.given, self.ends.index.real, window.ends, window.log, window.lo, k, wish
        )
        if levels is not None:
            levels.note(int(wish.missed[0]) + done)
        interrupts.check()
        return found

    def trends(
        self,
        window: walks.Pass,
        kinds: tuple[int, ...],
        need: int,
        backwards: bool = False,
        levels: Levels | None = None,
        alive: Array = NO_MERIT,
    ) -> Iterator[tuple[int, Trend]]:
        """Yield trends of these classes, each with its class, in order of their events from the last one.

        `alive` has a 1 for the ends on which there is a trend; without it there is one on each.
        """
        merit = alive if levels is None else levels.merit
        tops = np.maximum.accumulate(merit)
        fall = 0 if levels is None else levels.sign
        wish = kernel.Wish(need, backwards, merit, tops, 1, np.array([walks.NONE]), fall, True)
        ends, lo = window.ends, window.lo
        event, label, kind_of = ends[:, kernel.EVENT], ends[:, kernel.LABEL], ends[:, kernel.KIND]

        def first(found: Array) -> list[int]:
            """Return the ends in order, as many as are needed: each is on the way to a trend."""
            found = np.sort(found)[::-1] if backwards else np.sort(found)
            if found.size > need:
                last = np.flatnonzero((np.diff(event[found]) != 0) | (np.diff(label[found]) != 0))
                found = found if last.size < need else found[: last[need - 1] + 1]
            return found.tolist()  # type: ignore[no-any-return]

        def group_ends(found: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
            """Put together the ends of one event and label, each with the class of the trend, in order."""
            ordered = sorted(found, reverse=backwards)
            for _, group in groupby(ordered, lambda end: (event[end[0]], label[end[0]])):
                yield list(group)

        def whole(group: list[tuple[int, int]]) -> Iterator[tuple[int, Trend]]:
            """Yield the path as a trend, if it is one."""
            for k, kind in group:
                if ends[k, kernel.BEGINS]:
                    if levels is None or levels.sign * len(path) == levels.level:
                        yield kind, tuple(path)
                    else:
                        levels.note(levels.sign * len(path))

        roots = np.flatnonzero(np.isin(kind_of, kinds))
        if levels is not None:
            low = levels.merit[roots] < levels.level
            levels.note(int(levels.merit[roots[low]].max(initial=walks.NONE)))
            roots = roots[~low]
        path: list[tuple[int, int]] = []
        done: list[tuple[list[tuple[int, int]], int]] = []  # the groups on the path, and how long it is with them
        ways = [group_ends((k, int(kind_of[k])) for k in first(roots))]
        while ways:
            group = next(ways[-1], None)
            if group is None:
                ways.pop()
                if done:
                    group, depth = done.pop()
                    del path[depth:]
                    if backwards:
                        yield from whole(group)
                    path.pop()
                continue
            path.append((lo + int(event[group[0][0]]), int(label[group[0][0]])))
            done.append((group, len(path)))
            if not backwards:
                yield from whole(group)
            following: set[tuple[int, int]] = set()
            way = wish if len(group) == 1 else wish._replace(onward=False)
            for k, kind in group:
                found, passed = self.step_back(window, k, way, levels, done[-1][1])
                following.update((j, kind) for j in first(found))
            path += zip((lo + event[passed]).tolist(), label[passed].tolist(), strict=True)
            ways.append(group_ends(following))


def _again(known: list[tuple[int, Trend]], more: Iterator[tuple[int, Trend]]) -> Iterator[tuple[int, Trend]]:
    """Yield what is known, then more, which becomes known."""
    yield from known
    for item in more:
        known.append(item)
        yield item
