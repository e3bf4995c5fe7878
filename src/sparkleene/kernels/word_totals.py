"""Counts and one or two sums of small machines, in doubles: a few events per step, without branches.

An event of symbol y takes the counts c to M c, and the sums s of values x to M s + x (W c): M says where partial
trends go, W which of them take the value in, with its sign. Words of a few events do the same, with a W for each of
their values, and all words are multiplied out beforehand. The values do not wait for the vectors, which stay in
registers. It is for windows whose numbers fit doubles; all else is `linear.py`'s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparkleene.kernels.jit import helper, kernel
from sparkleene.kernels.program import PIECE, Array, Events, Program
from sparkleene.kernels.ticks import symbol_of
from sparkleene.kernels.tuples import tuple_setitem
from sparkleene.kernels.words import Vector, symbol_matrices

MAX_STATES = 4
MAX_SUMS = 2
LENGTHS = {2: 3, 4: 2}  # by the bits of a symbol the events of a word


class Totals(NamedTuple):
    """The matrices of a program by symbol and by word.

    `states`, `sums`, `bits` and `length` are tuples of as many zeros, as in `Words`. Nothing comes to the start, so
    it has no row.
    """

    states: tuple[int, ...]
    sums: tuple[int, ...]
    bits: tuple[int, ...]
    length: tuple[int, ...]
    kept: Array  # float64[symbols, states - 1, states]: what a tick keeps
    added: Array  # what one event adds
    taken: Array  # float64[symbols, sums, states - 1, states]: 1 or -1 where an event's value is taken in
    words: Array  # float64[words, states - 1, states]
    words_taken: Array  # float64[words, sums, states - 1, states, length]
    row: Array  # int64[sums]: the row of values of each sum

    @property
    def zero(self) -> Vector:
        """The vectors without trends: the counts of all states but the start, and then each of the sums."""
        return (0.0,) * ((len(self.states) - 1) * (1 + len(self.sums)))


def supports(program: Program) -> bool:
    """Tell whether a program has few states and sums, and nothing else to carry or to compare."""
    few = program.states <= MAX_STATES and 1 <= program.sum_of.size <= MAX_SUMS
    plain = not (program.low_adds.size or program.sum_of.any() or (program.pair >= 0).any())
    stays = bool((program.keep[:, 0] == 0).all()) and not (program.keep[:, 1:] == 0).any() and program.dst.all()
    rows = all(len(_rows(one)) < 2 for one in program.sum_row)
    return bool(few and plain and stays and rows and program.labels.size <= 1 << max(LENGTHS))


def _rows(of_sum: Array) -> set[int]:
    """Return the rows that a sum takes values from."""
    return {r if r >= 0 else -2 - r for r in of_sum.tolist() if r != -1}


def prepare(program: Program) -> Totals:
    """Multiply out the matrices of all words of a program that is supported."""
    bits = next(bits for bits in LENGTHS if program.labels.size <= 1 << bits)
    kept, added = symbol_matrices(program)
    symbols, n, sums = program.labels.size, program.states, program.sum_of.size
    taken = np.zeros((symbols, sums, n, n))
    for y, mask in enumerate(program.labels.tolist()):
        for label in range(program.off.size - 1):
            of_label = slice(program.off[label], program.off[label + 1])
            for i, r in enumerate(program.sum_row[:, label].tolist()):
                if mask >> label & 1 and r != -1:
                    sign = 1.0 if r >= 0 else -1.0
                    np.add.at(taken[y, i], (program.dst[of_label], program.src[of_label]), sign)
    row = np.array([max(_rows(one), default=0) for one in program.sum_row], np.int64)
    zeros = sizes(n, sums, bits)
    tables = _multiply_out(kept + added, taken, bits, len(zeros[3]))
    cut = (kept[:, 1:], added[:, 1:], taken[:, :, 1:], tables[0][:, 1:], tables[1][:, :, 1:])
    return Totals(*zeros, *(np.ascontiguousarray(one) for one in cut), row)


def sizes(states: int, sums: int, bits: int) -> tuple[tuple[int, ...], ...]:
    """Return as many zeros as states, as sums, as bits of a symbol, and as symbols of a word."""
    return (0,) * states, (0,) * sums, (0,) * bits, (0,) * LENGTHS[bits]


def _multiply_out(step: Array, taken: Array, bits: int, length: int) -> tuple[Array, Array]:
    """Multiply out the matrices of all words; the first event has the lowest bits."""
    n, sums = step.shape[-1], taken.shape[1]
    every, takes = np.zeros((1 << bits, n, n)), np.zeros((1 << bits, sums, n, n))
    every[: len(step)], takes[: len(step)] = step, taken
    moved, values = np.eye(n)[None], np.zeros((1, sums, 0, n, n))
    for _ in range(length):
        before = every[:, None, None, None] @ values[None]
        new = takes[:, None] @ moved[None, :, None]
        both = np.concatenate([before, new[:, :, :, None]], axis=3)
        values = both.reshape(-1, *both.shape[2:])
        moved = (every[:, None] @ moved[None]).reshape(-1, n, n)
    return moved, np.ascontiguousarray(np.moveaxis(values, 2, 4))


@helper(fastmath={"contract"})
def _apply(totals: Totals, matrix: Array, y: int, vectors: Vector, into: Vector) -> Vector:
    """Add to counts and sums what matrix y makes of others; the start has one trend, whose sums are 0."""
    n, sums = len(totals.states), len(totals.sums)
    m = n - 1
    for d in range(m):
        total = into[d] + matrix[y, d, 0]
        for s in range(m):
            total += matrix[y, d, s + 1] * vectors[s]
        into = tuple_setitem(into, d, total)
    for a in range(1, 1 + sums):
        for d in range(m):
            total = into[a * m + d]
            for s in range(m):
                total += matrix[y, d, s + 1] * vectors[a * m + s]
            into = tuple_setitem(into, a * m + d, total)
    return into


@helper
def _value(totals: Totals, events: Events, i: int, e: int) -> float:
    """Return what event e adds to sum i, 0 for no value."""
    x = events.sums[totals.row[i], e]
    return x if x == x else 0.0  # type: ignore[no-any-return]


@helper(fastmath={"contract"})
def _take_in(totals: Totals, events: Events, e: int, y: int, vectors: Vector, into: Vector) -> Vector:
    """Add to sums what event e brings to the partial trends that take it in."""
    n, sums = len(totals.states), len(totals.sums)
    m = n - 1
    for i in range(sums):
        x = _value(totals, events, i, e)
        for d in range(m):
            total = totals.taken[y, i, d, 0]
            for s in range(m):
                total += totals.taken[y, i, d, s + 1] * vectors[s]
            into = tuple_setitem(into, (1 + i) * m + d, into[(1 + i) * m + d] + x * total)
    return into


@helper(fastmath={"contract"})
def _take_in_word(totals: Totals, events: Events, e: int, word: int, vectors: Vector, into: Vector) -> Vector:
    """Add to sums what the events of a word that begins with e bring."""
    n, sums, length = len(totals.states), len(totals.sums), len(totals.length)
    m = n - 1
    for i in range(sums):
        for d in range(m):
            total = into[(1 + i) * m + d]
            for s in range(n):
                weight = 0.0
                for j in range(length):
                    weight += totals.words_taken[word, i, d, s, j] * _value(totals, events, i, e + j)
                total += weight * (vectors[s - 1] if s > 0 else 1.0)
            into = tuple_setitem(into, (1 + i) * m + d, total)
    return into


@helper(fastmath={"contract"})
def _take_tick(
    program: Program, totals: Totals, events: Events, i: int, end: int, zero: Vector, state: Vector
) -> tuple[int, Vector]:
    """Take the tick that begins with row i, of any number of events; return the row after it as well."""
    tick, symbol = events.tick, events.symbol
    union, time, after = program.labels[symbol[i]], tick[i], zero
    while i < end and tick[i] == time:
        y = np.int64(symbol[i])
        union |= program.labels[y]
        after = _apply(totals, totals.added, y, state, after)
        after = _take_in(totals, events, i, y, state, after)
        i += 1
    return i, _apply(totals, totals.kept, symbol_of(program.labels, union), state, after)


@kernel(fastmath={"contract"})
def run(program: Program, totals: Totals, zero: Vector, events: Events, lo: Array, hi: Array, out: Array) -> None:
    """Run stretches that cannot overflow a double; write out[k, class, count and sums]."""
    m, sums, bits, length = len(totals.states) - 1, len(totals.sums), len(totals.bits), len(totals.length)
    tick, symbol = events.tick, events.symbol
    for k in range(lo.size):
        if events.stop[0]:
            break
        i, end, state = lo[k], hi[k], zero
        while i < end and not events.stop[0]:
            until = min(i + PIECE, end)
            while i < until:
                ties = 1
                word = 0
                if i + length <= end:
                    ties = np.int64(i + length < end and tick[i + length] == tick[i + length - 1])
                    for j in range(length - 1):
                        ties |= np.int64(tick[i + j] == tick[i + j + 1])
                    for j in range(length):
                        word |= np.int64(symbol[i + j]) << (j * bits)
                if ties == 0:
                    after = _apply(totals, totals.words, word, state, zero)
                    state = _take_in_word(totals, events, i, word, state, after)
                    i += length
                else:
                    i, state = _take_tick(program, totals, events, i, end, zero, state)
        for o in range(program.out_state.size):
            for a in range(1 + sums):
                out[k, program.out_class[o], a] += state[a * m + program.out_state[o] - 1]
