"""Trends chosen by a pass for each first event: what can be done with any kernel, and costs the most.

The labels of the machine are split by what they do: go on, begin a trend, end one, or both. A pass is a copy of
the rows from a first event on, in which that row alone may begin a trend, and those that count with it may end one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparkleene import interrupts
from sparkleene.columns.arrow import Array
from sparkleene.engine.arrays import Arrays, Runnable
from sparkleene.engine.substreams import read_only
from sparkleene.engine.whole_conditions import ChoiceArrays
from sparkleene.errors import DataError, Place
from sparkleene.kernels import whole_pairs
from sparkleene.kernels.program import NEXT, Events, Program

ROWS = 1 << 20  # of passes that are run together
MOST_SYMBOLS = 1 << 16
GOES, BEGINS, ENDS, BOTH = range(4)


class Split(NamedTuple):
    """A program whose labels are split by what they do, and the symbols that rows have in a pass, by their own."""

    program: Program
    symbols: Array  # int64[symbols, 4]: of a row that goes on, begins, ends, or is the whole trend
    begins: Array  # bool[symbols]: whether a trend can begin so
    fixed: bool  # whether ticks move neither the start nor finished trends


def split_labels(program: Program, tied: bool) -> Split:
    """Split the labels of a program."""
    labels, states = program.off.size - 1, program.states
    if 4 * labels > 64:
        message = "the pattern has too many labels for conditions on its first and last events"
        raise DataError([Place().mistake("pattern-too-large", message).diagnostics[0]])
    final, start = np.zeros(states, bool), np.zeros(states, bool)
    final[program.out_state], start[0] = True, True
    for _ in range(states):
        moved = program.keep[:, start]
        start[moved[moved >= 0]] = True
    label = np.repeat(np.arange(labels), np.diff(program.off))
    kind = start[program.src] * BEGINS + final[program.dst] * ENDS
    order = np.argsort(label + kind * labels, kind="stable")
    off = np.searchsorted((label + kind * labels)[order], np.arange(4 * labels + 1)).astype(np.int64)
    read = np.uint64((1 << labels) - 1)  # rows may have marks that this program does not read
    own = program.labels.astype(np.uint64) & read
    masks, keeps = _variants(own, labels, tied)
    sort = np.argsort(masks, kind="stable")
    shift = [np.uint64(k * labels) for k in range(4)]
    plain, begun = own, own | own << shift[BEGINS]
    wanted = np.stack([plain, begun, own | own << shift[ENDS], begun | own << shift[BOTH]], axis=1)
    changed = replace_program(program, off, order, program.keep[keeps[sort]], masks[sort])
    can_begin = np.zeros(own.size, bool)
    for one in np.unique(label[start[program.src]]).tolist():
        can_begin |= own >> np.uint64(one) & np.uint64(1) != 0
    stays = np.arange(states)
    fixed = bool((program.keep == stays)[:, start | final].all())
    return Split(changed, np.searchsorted(masks[sort], wanted), can_begin, fixed)


def replace_program(program: Program, off: Array, order: Array, keep: Array, masks: Array) -> Program:
    """Return a program with four times the labels."""
    return program._replace(
        off=off,
        src=program.src[order],
        dst=program.dst[order],
        pair=program.pair[order],
        keep=np.ascontiguousarray(keep),
        leave=np.tile(program.leave, (4, 1)),
        labels=masks,
        sum_row=np.tile(program.sum_row, (1, 4)),
        low_row=np.tile(program.low_row, (1, 4)),
    )


def _variants(own: Array, labels: int, tied: bool) -> tuple[Array, Array]:
    """Return all masks that rows and ticks of passes can have, and the symbol of each without what is split."""
    masks: dict[int, int] = {}
    for y, mask in enumerate(own.tolist()):
        for part in _parts(mask) if tied else (0, mask):
            masks[mask | part << ENDS * labels] = y
            masks[mask | part << BEGINS * labels] = y
            masks[mask | part << BEGINS * labels | part << BOTH * labels] = y
        if len(masks) > MOST_SYMBOLS:
            message = "simultaneous rows have too many sets of labels for conditions on first and last events"
            raise DataError([Place().mistake("pattern-too-large", message).diagnostics[0]])
    return np.array(list(masks), np.uint64), np.array(list(masks.values()), np.int64)


def _parts(mask: int) -> Iterator[int]:
    """Yield the subsets of a mask."""
    part = mask
    while part:
        yield part
        part = (part - 1) & mask
    yield 0


@dataclass(frozen=True)
class StartPasses:
    """The passes of a program over the windows of one table."""

    arrays: Arrays
    runnable: Runnable
    lo: Array
    hi: Array

    @property
    def choice(self) -> ChoiceArrays:
        """Which trends count."""
        assert self.arrays.choice is not None
        return self.arrays.choice

    @cached_property
    def split(self) -> Split:
        """The program with split labels."""
        return split_labels(self.runnable.program, self.arrays.tied)

    def pieces(self) -> Iterator[tuple[Array, Arrays, Array, Array]]:
        """Yield arrays for some passes at a time: the window of each pass, and from where to where its rows are."""
        events, chosen, split = self.arrays.events, self.choice.chosen, self.split
        begins = chosen.starts & split.begins[events.symbol]
        window, first, last = whole_pairs.find_passes(chosen, begins, self.choice.bounds, self.lo, self.hi)
        begin = first
        if not split.fixed:  # what comes before the first event, or after the last, matters too
            begin, last = self.lo[window], self.hi[window]
        total = np.append(0, np.cumsum(last - begin))
        at = 0
        while at < window.size:
            interrupts.check()
            end = max(at + 1, int(np.searchsorted(total, total[at] + ROWS, "right")) - 1)
            some = slice(at, end)
            size = (last - begin)[some]
            bounds = total[at : end + 1] - total[at]
            row = np.repeat(begin[some] - bounds[:-1], size) + np.arange(bounds[-1])
            yield window[some], self._copy(row, np.repeat(first[some], size)), bounds[:-1], bounds[1:]
            at = end

    def _copy(self, row: Array, first: Array) -> Arrays:
        """Return arrays over copies of rows, each in the pass of a first event."""
        events, chosen = self.arrays.events, self.choice.chosen
        counts = np.empty(row.size, np.bool_)
        whole_pairs.check_pairs(chosen, first, row, counts)
        counts &= chosen.stops[row]
        here = row == first
        later = events.tick[row] > events.tick[first]
        kind = np.where(here, np.where(counts, BOTH, BEGINS), np.where(counts & later, ENDS, GOES))
        kernel = self.runnable.kernel
        if kernel != "linear" and self.runnable.program.mode == NEXT:
            kernel = "scan"  # of one start few partial trends are open at a time
        small = kernel == "linear" and len(self.split.program.labels) <= 256
        symbol = self.split.symbols[events.symbol[row], kind].astype(np.uint8 if small else np.uint32)
        columns = {id(one): read_only(np.take(one, row, axis=1)) for one in events[2:-1]}  # f and g may be the same
        sums, lows, left, right = (columns[id(one)] for one in events[2:-1])
        copied = Events(read_only(events.tick[row]), read_only(symbol), sums, lows, left, right, events.stop)
        main = Runnable(self.split.program, kernel, False)
        return replace(self.arrays, main=main, events=copied, choice=None, bursts=None, momentary=None)
