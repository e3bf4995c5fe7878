"""Trends drawn at random, each with the same chance, and repeatable.

Sub-streams of a group draw by themselves. Which of them a draw is from is settled by a score: the logarithm of its
number of trends plus a random number of Gumbel's distribution. The greatest score is that of a sub-stream with a
chance in proportion to its number of trends, whoever compares the scores and in whatever order. Random numbers
depend on the seed, the window and the keys alone, and so not on other rows, or on how they are spread.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array
from sparkleene.engine.execute import Results
from sparkleene.engine.trend_passes import ChosenTrends, log_total
from sparkleene.engine.trend_search import Match, Search, Trend
from sparkleene.engine.windows import Windows
from sparkleene.kernels import trends as kernel
from sparkleene.kernels import walks
from sparkleene.kernels.wide import log2, to_double
from sparkleene.threads import Pool


class Drawn(NamedTuple):
    """A match that was drawn, its window, the number of the draw, and its score among other sub-streams."""

    window: int
    match: Match
    number: int
    score: float


LONG = 1 << 14  # ends of partial trends in a window whose trends several threads draw
TRIES, TURNS = 100, 10  # trends that are drawn together, and how often at most, until one counts as a whole
RARE = -math.log(TRIES * TURNS)  # the logarithm of a share of trends of which so many draws would find none
PAIRS = ((0, 1), (0, 2), (2, 1), (2, 2))
"""Of what classes the trends of a pair of P AND Q are: of P only, of Q only, of both."""


@dataclass(frozen=True)
class Sampler:
    """Draws matches of windows."""

    search: Search
    windows: Windows
    results: Results  # of these windows
    counts: Array  # the wide number of matches of each
    seed: int
    threads: int = 1

    def draw(self, cell: Array, number: int) -> Iterator[Drawn]:
        """Yield as many matches of a window and group, given the windows of its sub-streams that have some."""
        weight = np.log(2.0) * log2(self.counts[cell])
        scores, seeds = np.empty((cell.size, number)), np.empty((cell.size, number), np.uint64)
        for i, w in enumerate(cell.tolist()):
            random = np.random.Generator(np.random.Philox(key=self._key(w)))
            scores[i] = weight[i] + random.gumbel(size=number)
            seeds[i] = random.integers(1, 1 << 63, number, np.uint64)
        chosen = np.argmax(scores, axis=0) if number else np.zeros(0, np.int64)
        found: dict[int, Drawn] = {}
        for i in np.unique(chosen).tolist():
            w, draws = int(cell[i]), np.flatnonzero(chosen == i)
            for d, match in zip(draws.tolist(), self._matches(w, seeds[i, draws]), strict=True):
                found[d] = Drawn(w, match, d, float(scores[i, d]))
        yield from (found[d] for d in range(number))

    def _key(self, w: int) -> int:
        """Return what the random numbers of a window are made from."""
        windows, rows = self.windows, self.search.rows
        start = [_plain(one) for one in windows.borders(np.array([w]))[:1]]
        segment = int(windows.segment[w])
        keys = [values[int(code[segment])].as_py() for values, code in zip(rows.values, rows.codes, strict=True)]
        text = repr((self.seed, start, [str(key) for key in keys]))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")

    def _matches(self, w: int, seeds: Array) -> Iterator[Match]:
        """Yield a match of a window for each seed."""
        search = self.search
        window, count, _ = search.weights.of(int(self.windows.lo[w]), int(self.windows.hi[w]), 1)

        def draw_some(kind: int, some: Array) -> list[Trend]:
            ends, offsets = walks.draw(*search.ends.given, search.ends.index.real, window, count, kind, some)
            event = window.lo + window.ends[ends, kernel.EVENT].astype(np.int64)
            pairs = list(zip(event.tolist(), window.ends[ends, kernel.LABEL].tolist(), strict=True))
            return [tuple(pairs[a:b]) for a, b in pairwise(offsets.tolist())]

        def draw(kind: int, some: Array) -> list[Trend]:
            parts = min(self.threads, some.size) if len(window.ends) >= LONG else 1
            edges = [some.size * i // parts for i in range(parts + 1)] if parts else [0]
            found = Pool(parts).map(
                lambda part: draw_some(kind, some[part]), [slice(*both) for both in pairwise(edges)]
            )
            return [trend for part in found for trend in part]

        if search.weights.arrays.choice is not None:
            chosen = ChosenTrends(search, int(self.windows.lo[w]), int(self.windows.hi[w]))
            counts = search.counting(chosen.lo, chosen.hi)
            share = math.log(2.0) * float(log2(self.counts[[w]])[0]) - log_total(window, count)
            turns = TURNS if share > RARE else 0
            yield from ((_draw_chosen(chosen, counts, partial(draw, 0), turns, seed),) for seed in seeds.tolist())
            return
        if not search.paired:
            yield from ((trend,) for trend in draw(0, seeds))
            return
        chances = _chances(self.results.values[w, :, 0])
        for seed in seeds.tolist():
            random = np.random.Generator(np.random.Philox(key=seed))
            kinds = PAIRS[random.choice(len(PAIRS), p=chances)]
            one = two = draw(kinds[0], random.integers(1, 1 << 63, 1, np.uint64))[0]
            while one == two:  # only where both are of one class, which then has two trends at least
                one, two = (draw(kind, random.integers(1, 1 << 63, 1, np.uint64))[0] for kind in kinds)
            yield (min(one, two), max(one, two)) if kinds[0] == kinds[1] else (one, two)


def _draw_chosen(
    chosen: ChosenTrends,
    counts: Callable[[Trend], bool],
    draw: Callable[[Array], list[Trend]],
    turns: int,
    seed: int,
) -> Trend:
    """Draw trends until one counts as a whole; after some turns in vain draw among those that do."""
    random = np.random.Generator(np.random.Philox(key=seed))
    for _ in range(turns):
        for trend in draw(random.integers(1, 1 << 63, TRIES, np.uint64)):
            if counts(trend):
                return trend
    return chosen.draw(random)


def _chances(classes: Array) -> Array:
    """Return the chances of each kind of pair, given how many trends are of P only, of Q only and of both."""
    first, second, both = log2(classes).tolist()
    others = float(to_double(classes[2])) - 1
    other = math.log2(others) if 0 < others < math.inf else (both if others > 0 else -math.inf)
    size = np.array([first + second, first + both, both + second, both + other - 1])
    chances = np.exp2(size - size.max())
    return chances / chances.sum()  # type: ignore[no-any-return]


def _plain(column: pa.Array) -> Any:
    """Return the only value of a column, of times the microseconds."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())[0].as_py()
    return column[0].as_py()
