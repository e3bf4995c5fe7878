"""Windows that have begun as vectors: what their rows so far came to, in place of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.fields import decode, find_column, simplify, value_type
from sparkleene.columns.values import low_values
from sparkleene.engine import execute
from sparkleene.engine.compile import Compiled
from sparkleene.engine.run import Evaluated
from sparkleene.engine.stream import Stream, frozen
from sparkleene.engine.windows import Windows
from sparkleene.errors import Place
from sparkleene.kernels import resume, words
from sparkleene.kernels.program import Field
from sparkleene.kernels.wide import WIDE
from sparkleene.language.bound import Path
from sparkleene.ongoing.stretches import matrices
from sparkleene.threads import Pool, shares

Array = np.ndarray[Any, Any]
Minima = Sequence[tuple[Path, bool]]  # attributes, and whether a maximum is meant


@dataclass(frozen=True)
class Open:
    """The vectors of the windows of one sub-stream that may get more rows; minima are values, not keys."""

    keys: Array  # of the windows, ascending
    state: Array  # wide[windows, states, 1 + sums]
    lows: tuple[pa.Array, ...]  # per minimum those of all windows and states


NONE = Open(np.zeros(0, np.int64), np.zeros((0, 0, 0)), ())


def advance(
    old: Open,
    table: pa.Table,
    rows: Stream,
    compiled: Compiled,
    windows: Windows,
    over: int,
    minima: Minima,
    threads: int,
    place: Place,
) -> tuple[Evaluated, Open]:
    """Bring the vectors of all windows through more rows; return the windows up to `over`, and the others."""
    compiled, old_low = _rekeyed(old, table, rows, compiled, minima, place)
    program = compiled.program
    keys = np.union1d(old.keys, windows.key)
    lo, hi = np.zeros((2, keys.size), np.int64)
    now, then = np.searchsorted(keys, windows.key), np.searchsorted(keys, old.keys)
    lo[now], hi[now] = windows.lo, windows.hi
    state = np.zeros((keys.size, program.states, 1 + program.sum_labels.size), WIDE)
    state[:, 0, 0] = 1
    low = np.full((keys.size, program.states, len(minima)), np.inf)
    if then.size:
        state[then], low[then] = old.state, old_low
    field = Field(np.ones(1, WIDE), np.zeros(1, np.uint64))
    _run(compiled, field, windows.units, lo, hi, state, low, threads)

    ended = keys <= over
    count = int(ended.sum())
    values = np.zeros((count, program.classes, state.shape[2]), WIDE)
    lows = np.full((count, program.classes, len(minima)), np.inf)
    resume.collected(program, field, state[ended], low[ended], values, lows)
    segment = np.zeros(count, np.int64)
    some = Windows(segment, keys[ended], lo[ended], hi[ended], None, windows.columns)
    left = low[~ended].reshape((keys.size - count) * program.states, len(minima))
    left = np.where(np.isposinf(left), np.nan, left)
    new = Open(keys[~ended], state[~ended], tuple(back(left[:, m]) for m, back in enumerate(compiled.lows)))
    return (compiled, rows, some, execute.Results(values, lows), None), new


def _rekeyed(
    old: Open, table: pa.Table, rows: Stream, compiled: Compiled, minima: Minima, place: Place
) -> tuple[Compiled, Array]:
    """Give the minima of vectors and rows keys that can be compared; return those of the vectors."""
    count = old.keys.size * compiled.program.states
    found = np.full((count, len(minima)), np.inf)
    if count and minima:
        keys = np.empty((len(minima), len(rows.tick)))
        lows = []
        for m, (path, maximum) in enumerate(minima):
            column = find_column(table, path, place)
            values = decode(simplify(column)).cast(value_type(column.type))
            both = pa.table({"x": pa.chunked_array([old.lows[m], *values.chunks])})
            key, back = low_values(both, ("x",), maximum)
            found[:, m] = np.where(np.isnan(key[:count]), np.inf, key[:count])
            keys[m] = rows.take(key[count:])
            lows.append(back)
        events = compiled.events._replace(lows=frozen(keys))
        compiled = replace(compiled, events=events, lows=tuple(lows))
    return compiled, found.reshape(old.keys.size, compiled.program.states, len(minima))


def _run(
    compiled: Compiled,
    field: Field,
    units: execute.Units | None,
    lo: Array,
    hi: Array,
    state: Array,
    low: Array,
    threads: int,
) -> None:
    """Run rows over vectors, by themselves or as matrices of panes, whichever costs less (in nanoseconds)."""
    program, events = compiled.program, compiled.events
    begin, end = (lo, hi) if units is None else units()
    first, last = np.arange(lo.size), np.arange(1, lo.size + 1)
    if units is not None:
        first, last = np.searchsorted(begin, lo), np.searchsorted(begin, hi)
    fast = len(events.tick) >= execute.WORTH and words.supports(program)
    product = 16.0 * program.states**2 * (1 + 2 * program.sum_labels.size + program.low_labels.size)
    matrix = 6.0 if fast else 60.0 + 40.0 * program.states
    cost = float((end - begin).sum()) * matrix + float((last - first).sum()) * product
    made = None
    if cost < 60.0 * float((hi - lo).sum()):
        made = matrices(compiled, begin, end, threads)

    def task(part: slice) -> None:
        if made is None:
            resume.by_rows(program, events, field, lo[part], hi[part], state[part], low[part])
        else:
            resume.by_units(field, *made, first[part], last[part], state[part], low[part])

    Pool(threads).map(task, shares(hi - lo, threads))
