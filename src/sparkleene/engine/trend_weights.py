"""The ends of the partial trends of a window: how many trends each has, and how long the longest or shortest is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sparkleene import interrupts
from sparkleene.columns.arrow import Array
from sparkleene.engine.arrays import Arrays
from sparkleene.engine.ends import Ends
from sparkleene.engine.execute import Results
from sparkleene.engine.whole_trends import run_windows
from sparkleene.engine.windows import Windows
from sparkleene.kernels import fenwick, walks
from sparkleene.kernels import trends as kernel
from sparkleene.kernels.fenwick_trees import Trace
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE
from sparkleene.threads import Pool

TRACED = 256  # rows from which a tree is faster than comparing each row with each
KEPT = 1 << 22  # rows of windows whose weights are kept from the count of trends, about 200 MB


class Weighed(NamedTuple):
    """The ends of a window, the wide number of partial trends of each, and the length of one."""

    window: walks.Pass
    number: Array
    length: Array  # of the longest, or less that of the shortest


@dataclass(frozen=True)
class Weights:
    """What tells the ends of windows and their weights."""

    ends: Ends
    arrays: Arrays
    kept: dict[tuple[int, int], Trace] = field(default_factory=dict)  # by rows from and to

    def count(self, windows: Windows, threads: int) -> Results:
        """Evaluate windows; what each event of long ones brings is kept, for those who ask for weights next."""
        size = windows.hi - windows.lo
        traced = (size >= TRACED) & (self._has_trees and not self.arrays.backward)
        # Windows that overlap are counted side by side, where every row is ranked once for many of them.
        if not traced.any() or size[traced].sum() > min(KEPT, 2 * len(self.arrays.events.tick)):
            return run_windows(self.arrays, windows, threads)
        results = Results.empty(self.arrays.program, size.size)
        some, others = np.flatnonzero(traced), np.flatnonzero(~traced)

        def trace(part: slice) -> None:
            for w in some[part].tolist():
                rows = int(windows.lo[w]), int(windows.hi[w])
                self.kept[rows], (results.values[w], results.lows[w]) = self._trace(*rows)

        Pool(threads).map(trace, [slice(i, i + 1) for i in range(some.size)])
        found = run_windows(self.arrays, windows.where(others), threads)
        results.values[others], results.lows[others] = found.values, found.lows
        return results

    @property
    def _has_trees(self) -> bool:
        return self.arrays.main.kernel == "trees" and self.arrays.choice is None

    def look(self, lo: int, hi: int, need: int) -> walks.Pass:
        """Return the ends of the partial trends of a window, until `need` of them complete one."""
        _, ends, log = self.ends.reach(np.array([lo]), np.array([hi]), need)
        return walks.Pass(ends, log, lo, hi)

    def of(self, lo: int, hi: int, sign: int) -> Weighed:
        """Return the ends of a window with their weights; sign -1 asks for the shortest, which a plan must know."""
        moves = self.ends.index.moves
        if self._has_trees and hi - lo >= TRACED:
            place, (value, low) = self.kept.pop((lo, hi), None) or self._trace(lo, hi)[0]
            interrupts.check()
            length = -low[:, 0].astype(np.int64) if low.shape[1] else np.zeros(0, np.int64)
            if not moves:
                return Weighed(self._as_ends(place, lo, hi), np.ascontiguousarray(value[:, 0]), length)
            window = self.look(lo, hi, 1 << 62)
            states = self.ends.program.states
            brought = place[:, 0] * states + place[:, 1]
            wanted = window.ends[:, kernel.EVENT].astype(np.int64) * states + window.ends[:, kernel.STATE]
            order = np.argsort(brought, kind="stable")
            at = order[np.searchsorted(brought[order], wanted)]
            return Weighed(window, np.ascontiguousarray(value[at, 0]), length[at] if length.size else length)
        window = self.look(lo, hi, 1 << 62)
        count, length = np.zeros(len(window.ends), WIDE), np.full(len(window.ends), walks.NONE)
        walks.weigh(*self.ends.given, self.ends.index, window, sign, count, length)
        interrupts.check()
        return Weighed(window, count, length)

    def _trace(self, lo: int, hi: int) -> tuple[Trace, Table]:
        """Return what each event of a window brings to each state, and the results of the window."""
        return fenwick.trace_stretch(self.arrays.program, self.arrays.predicates, self.arrays.events, lo, hi)

    def _as_ends(self, place: Array, lo: int, hi: int) -> walks.Pass:
        """Return the events and states of a trace as ends; nothing moves them, and so there is no log."""
        program = self.ends.program
        like = np.zeros((program.states, 10), np.int32)  # an end in each state
        like[:, kernel.STATE] = np.arange(program.states)
        like[:, kernel.LABEL] = like[:, kernel.KIND] = like[:, kernel.LOGGED] = -1
        for one in range(len(program.off) - 1):
            like[program.dst[program.off[one] : program.off[one + 1]], kernel.LABEL] = one
        like[program.out_state, kernel.KIND] = program.out_class
        like[program.dst[program.src == 0], kernel.BEGINS] = 1
        event, state = place.T
        tick = self.ends.events.tick[lo + event]
        ends = like.take(state, axis=0)
        ends[:, kernel.EVENT] = event
        rising = bool((tick[1:] > tick[:-1]).all())  # then all before an end are earlier
        ends[:, kernel.EARLIER] = np.arange(len(place)) if rising else np.searchsorted(tick, tick)
        return walks.Pass(ends, np.zeros((0, 3), np.int32), lo, hi)
