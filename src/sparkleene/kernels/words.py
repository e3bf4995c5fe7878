"""Counts alone, at the speed of the data: many events per step by a table of all short words.

Without sums and minima an event's linear map depends on its symbol only. The maps of all words of a few symbols are
multiplied out beforehand; a stretch is then a product of table entries, one small product per word and none of the
branches that random symbols make a processor miss. Ticks of several events take a step of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.numbers import add, mul
from sparkleene.kernels.program import PIECE, Array, Events, Program
from sparkleene.kernels.ticks import symbol_of
from sparkleene.kernels.tuples import tuple_setitem
from sparkleene.kernels.wide import WIDE, widen

Vector = tuple[float, ...]

TABLE = 1 << 12  # entries; 4096 of 3 x 3 doubles stay in the second-level cache
MAX_STATES = 8
SQUARE = 4  # matrices of up to four states fit in registers; larger ones go column by column
BITS = (2, 4, 6)  # of a symbol; few, since there is a kernel for each
MAX_SYMBOLS = 1 << BITS[-1]


class Words(NamedTuple):
    """The matrices of a program by symbol and by word.

    `states`, `bits` and `length` are tuples of as many zeros: the lengths are part of their types, so that numba
    compiles a kernel for each and unrolls its loops (three times faster than with loops of unknown length).
    """

    states: tuple[int, ...]
    bits: tuple[int, ...]  # of a symbol
    length: tuple[int, ...]  # symbols in a word
    kept: Array  # float64[symbols, states, states]: what a tick keeps
    added: Array  # what one event adds
    table: Array  # float64[words, states, states]
    chunk: int  # this many events cannot overflow a double

    @property
    def start(self) -> Vector:
        """The vector of the empty trend."""
        return (1.0,) + (0.0,) * (len(self.states) - 1)

    @property
    def columns(self) -> tuple[int, ...]:
        """As many zeros as columns of a matrix are computed at once."""
        return (0,) * (len(self.states) if len(self.states) <= SQUARE else 1)

    @property
    def zero(self) -> Vector:
        """A block of all zeros, as wide as the columns that are taken at a time."""
        return (0.0,) * (len(self.states) * len(self.columns))


def supports(program: Program) -> bool:
    """Tell whether the table pays: counts only, few states, few symbols."""
    plain = not program.sum_of.size and not program.low_adds.size and (program.pair < 0).all()
    return bool(plain) and program.states <= MAX_STATES and program.labels.size <= MAX_SYMBOLS


def prepare(program: Program) -> Words:
    """Multiply out the matrices of all words."""
    bits = next(bits for bits in BITS if program.labels.size <= 1 << bits)
    kept, added = symbol_matrices(program)
    growth = float(np.log2(1.0 + added.sum(1).max(initial=1.0)))
    zeros = sizes(program.states, bits)
    table = _multiply_out(kept, added, bits, len(zeros[2]))
    return Words(*zeros, kept, added, table, max(1, int(900 / growth)))


def sizes(states: int, bits: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return as many zeros as states, as bits of a symbol, and as symbols of a word."""
    return (0,) * states, (0,) * bits, (0,) * ((TABLE.bit_length() - 1) // bits)


def symbol_matrices(program: Program) -> tuple[Array, Array]:
    """Return per symbol what a tick keeps, and what one event adds, as matrices."""
    symbols, n = program.labels.size, program.states
    kept = np.zeros((symbols, n, n))
    added = np.zeros((symbols, n, n))
    for y, mask in enumerate(program.labels.tolist()):
        for s, k in enumerate(program.keep[y].tolist()):
            if k >= 0:
                kept[y, k, s] += 1.0
        for label in range(program.off.size - 1):
            if mask >> label & 1:
                of_label = slice(program.off[label], program.off[label + 1])
                np.add.at(added[y], (program.dst[of_label], program.src[of_label]), 1.0)
    return kept, added


def _multiply_out(kept: Array, added: Array, bits: int, length: int) -> Array:
    """Multiply out the matrices of all words; the first event has the lowest bits."""
    n = kept.shape[1]
    step = np.zeros((1 << bits, 1, n, n))
    step[: kept.shape[0], 0] = kept + added
    table = np.eye(n)[None]
    for _ in range(length):
        table = (step @ table).reshape(-1, n, n)
    return table


@helper(allocates=True, fastmath={"contract"})
def _walk(
    program: Program, words: Words, columns: tuple[int, ...], events: Events, begin: int, end: int, state: Vector
) -> Vector:
    """Multiply `state` (states x columns, row by row) by the map of the rows begin:end.

    It is a tuple, so that all of it stays in registers: twice as fast as arrays.
    """
    n, bits, length, width = len(words.states), len(words.bits), len(words.length), len(columns)
    tick, symbol, table = events.tick, events.symbol, words.table
    step = np.empty((n, n))
    i = begin
    while i < end:
        ties = 1
        word = 0
        if i + length < end:
            ties = 0
            for j in range(length):
                ties |= np.int64(tick[i + j] == tick[i + j + 1])
                word |= np.int64(symbol[i + j]) << (j * bits)
        after = state
        if ties == 0:
            for s in range(n):
                for c in range(width):
                    total = 0.0
                    for k in range(n):
                        total += table[word, s, k] * state[k * width + c]
                    after = tuple_setitem(after, s * width + c, total)
            i += length
        else:
            union = program.labels[symbol[i]]
            _copy(words.added[symbol[i]], step)
            j = i + 1
            while j < end and tick[j] == tick[i]:
                union |= program.labels[symbol[j]]
                _add(words.added[symbol[j]], step)
                j += 1
            _add(words.kept[symbol_of(program.labels, union)], step)
            for s in range(n):
                for c in range(width):
                    total = 0.0
                    for k in range(n):
                        total += step[s, k] * state[k * width + c]
                    after = tuple_setitem(after, s * width + c, total)
            i = j
        state = after
    return state


@helper
def _copy(source: Array, target: Array) -> None:
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = source[i, j]


@helper(fastmath={"contract"})
def _add(source: Array, target: Array) -> None:
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] += source[i, j]


@kernel(fastmath={"contract"})
def run(program: Program, words: Words, start: Vector, events: Events, lo: Array, hi: Array, out: Array) -> None:
    """Run stretches that cannot overflow a double from `start`; write out[k, class]."""
    for k in range(lo.size):
        if events.stop[0]:
            break
        state, begin = start, lo[k]
        while begin < hi[k] and not events.stop[0]:
            end = min(begin + PIECE, hi[k])
            while end < hi[k] and events.tick[end] == events.tick[end - 1]:
                end += 1
            state = _walk(program, words, (0,), events, begin, end, state)
            begin = end
        for o in range(program.out_state.size):
            out[k, program.out_class[o]] += state[program.out_state[o]]


@kernel(fastmath={"contract"})
def write_matrices(
    program: Program, words: Words, columns: tuple[int, ...], zero: Vector, events: Events, lo: Array, hi: Array,
    out: Array,
) -> None:  # fmt: skip
    """Write the matrices of stretches of any length as wide numbers, as many columns at a time as `columns` has."""
    n, width = len(words.states), len(columns)
    state = np.zeros((n, n))
    product = np.zeros((n, n), WIDE)
    nothing, once = widen(0.0), widen(1.0)
    for k in range(lo.size):
        for s in range(n):
            for c in range(n):
                out[k, s, c] = once if s == c else nothing
        begin = lo[k]
        while begin < hi[k] and not events.stop[0]:
            end = min(begin + words.chunk, hi[k])
            while end < hi[k] and events.tick[end] == events.tick[end - 1]:
                end += 1
            for first in range(0, n, width):
                some = zero
                for c in range(width):
                    some = tuple_setitem(some, (first + c) * width + c, 1.0)
                some = _walk(program, words, columns, events, begin, end, some)
                for s in range(n):
                    for c in range(width):
                        state[s, first + c] = some[s * width + c]
            for s in range(n):
                for c in range(n):
                    total = nothing
                    for j in range(n):
                        total = add(total, mul(widen(state[s, j]), out[k, j, c], np.uint64(0)), np.uint64(0))
                    product[s, c] = total
            _copy(product, out[k])
            begin = end
