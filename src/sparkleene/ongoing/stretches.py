"""Stretches of sub-streams as small matrices that mean the same in every table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.fields import (
    EXACT,
    bounds,
    decode,
    doubles,
    find_column,
    integers,
    simplify,
    value_type,
)
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.options import Options
from sparkleene.columns.values import low_values
from sparkleene.engine import execute
from sparkleene.engine.compile import Compiled, aggregates, compile
from sparkleene.engine.run import clocked
from sparkleene.engine.stream import Stream, frozen, stream
from sparkleene.engine.windows import Grid, whole
from sparkleene.errors import Place
from sparkleene.kernels import linear, words
from sparkleene.kernels.program import Field
from sparkleene.kernels.wide import WIDE, as_doubles, is_plain, to_wide
from sparkleene.language.bound import Path
from sparkleene.plan.plan import Plan
from sparkleene.threads import Pool, shares

Array = np.ndarray[Any, Any]

CELL = 16  # bytes that a row costs in a shuffle per column
HOLES = 3  # a table with more holes in time than this is sparse, not parted


def stretches(
    plan: Plan,
    table: pa.Table,
    options: Options,
    threads: int = 1,
    place: Place = Place(),
    settled: bool = False,
) -> tuple[pa.Table, pa.Table]:
    """Return the stretches of all sub-streams as matrices, and the rows that are left as they are.

    A stretch is a run of rows of one sub-stream and one pane without a long gap. Its columns are the sub-stream's
    keys `k0`, `k1` and so on, `pane`, the `first` and `last` of its instants, `matrix` and `low`. Rows at the
    table's first and last time stay rows, since another table may have more of that time; so do all rows
    where matrices would be larger than they, or where MIN or MAX needs keys beyond doubles. With `settled` no other
    table has rows between those of this one, or at their times.
    """
    found = [codes(table, key.path, place) for key in plan.bound.keys]
    if found and table.num_rows:  # before rows are put in order: a stretch per sub-stream may be too many
        _, subs = combine_codes([code for code, _ in found], [len(values) for _, values in found])
        if not _pays(plan, table, table.num_rows, len(subs)):
            nothing, _ = stretches(plan, table.slice(0, 0), options, threads, place)
            return nothing, table
    time, _, grid = clocked(plan, table, options, place)
    rows = stream(plan, table, time, options.type, options.tiebreak, threads, place, options.masks)
    segment, pane, lo, hi = _runs(rows, grid, settled)
    begin, end = (lo, hi) if settled else _inside(rows.time, lo, hi)
    filled = np.flatnonzero(begin < end)
    compiled = compile(plan, table, rows, False, threads, place)
    meant = absolute(table, compiled, rows, place)
    if meant is None or not _pays(plan, table, len(rows.tick), filled.size):
        none = np.zeros(0, np.int64)
        return _units(plan, table, rows, compiled, none, none, none, none, 1, place), table
    left = np.concatenate([_ranges(lo, begin), _ranges(end, hi)])
    if plan.bound.semantics != "contiguous":
        left = left[rows.mask[left] != 0]
    kept = np.sort(left if rows.rows is None else rows.rows[left])
    cut = (segment[filled], pane[filled], begin[filled], end[filled])
    return _units(plan, table, rows, meant, *cut, threads, place), table.take(pa.array(kept))


def _pays(plan: Plan, table: pa.Table, rows: int, count: int) -> bool:
    """Tell whether so many matrices are smaller than the rows."""
    made = aggregates(plan.bound)
    entries = len(plan.machine.states) ** 2 * (1 + len(made.totals) + len(made.lows))
    size = count * (8 * entries + CELL * (3 + len(plan.bound.keys)))
    return bool(size <= CELL * table.num_columns * rows)


def instants(time: Array) -> Array:
    """Return int64 numbers that order times, whatever the table; those of integers are themselves."""
    if time.dtype == np.int64:
        return time
    bits = (time + 0.0).view(np.int64)
    return frozen(bits ^ ((bits >> 63) & np.int64(2**63 - 1)))


def absolute(table: pa.Table, compiled: Compiled, rows: Stream, place: Place) -> Compiled | None:
    """Give MIN and MAX keys that mean the same in every table, or return None where some value has none.

    Keys are the values, as far as integers are exact as doubles. Infinity, which stands for nothing, takes the
    place of the greatest double, and that one the place of its neighbour, which has to be absent.
    """
    keys = compiled.events.lows
    back = list(compiled.lows)
    for output, made_of in compiled.outputs:
        if output.function not in ("min", "max"):
            continue
        column = simplify(find_column(table, output.path, place))
        maximum = output.function == "max"
        if pa.types.is_floating(column.type):
            values = -doubles(column) if maximum else doubles(column)
            high = values >= _NEXT
            if (values[high] == _NEXT).any():
                return None
            if high.any():
                moved = np.where(values == _MOST, _NEXT, np.minimum(values, _MOST))
                keys = np.array(keys)
                keys[made_of[0]] = rows.take(moved)
        elif not (pa.types.is_boolean(column.type) or pa.types.is_null(column.type)):
            ends = bounds(integers(column))
            if ends is not None and (ends[0] < -EXACT or ends[1] > EXACT):
                return None
        _, values_of = low_values(table.slice(0, 0), output.path, maximum, place)
        back[made_of[0]] = lambda keys, of=values_of: of(_restored(keys))  # type: ignore[misc]
    return replace(compiled, events=compiled.events._replace(lows=frozen(keys)), lows=tuple(back))


_MOST = float(np.finfo(np.float64).max)
_NEXT = float(np.nextafter(_MOST, 0.0))


def _restored(keys: Array) -> Array:
    """Undo what `absolute` did to the greatest doubles."""
    return np.where(keys == _MOST, np.inf, np.where(keys == _NEXT, _MOST, keys))


def matrices(compiled: Compiled, lo: Array, hi: Array, threads: int) -> tuple[Array, Array]:
    """Return the wide matrices and the minima of the stretches lo[k]:hi[k]."""
    program, events = compiled.program, compiled.events
    states, sums, minima = program.states, program.sum_labels.size, program.low_labels.size
    out = np.zeros((lo.size, states, states * (1 + sums)), WIDE)
    low = np.full((lo.size, states, states * minima), np.inf)
    table = None
    if lo.size and len(events.tick) >= execute.WORTH and words.supports(program):
        table = words.prepare(program)

    def task(part: slice) -> None:
        begin, end = lo[part], hi[part]
        if table is not None:
            words.matrices(program, table, table.columns, table.zero, events, begin, end, out[part])
            return
        safe = execute._bits(compiled, program, end - begin) < execute.SAFE_BITS
        for chosen, dtype in ((safe, np.float64), (~safe, WIDE)):
            index = np.flatnonzero(chosen)
            field = Field(np.ones(states, dtype), np.zeros(states, np.uint64))
            found = np.zeros((index.size, *out.shape[1:]), dtype)
            found_low = np.full((index.size, *low.shape[1:]), np.inf)
            if index.size:
                linear.matrices(program, events, field, begin[index], end[index], found, found_low)
            out[part][index], low[part][index] = to_wide(found), found_low

    Pool(threads).map(task, shares(hi - lo, threads))
    return out, low


def key_columns(
    plan: Plan, table: pa.Table, rows: Stream, segment: Array, lo: Array, place: Place
) -> dict[str, pa.Array]:
    """Return the keys of the sub-streams of rows, dictionary-encoded; those of one follow each other."""
    new = np.flatnonzero(np.diff(segment, prepend=-1))
    code = np.repeat(np.arange(new.size, dtype=np.int32), np.diff(np.append(new, segment.size)))
    at = pa.array(lo[new] if rows.rows is None else rows.rows[lo[new]])
    return {
        f"k{i}": pa.DictionaryArray.from_arrays(code, _values(table, key.path, at, place))
        for i, key in enumerate(plan.bound.keys)
    }


def _values(table: pa.Table, path: Path, at: pa.Array, place: Place) -> pa.Array:
    """Return the values of an attribute at some rows, in the type in which they are given back."""
    found = find_column(table, path, place)
    taken = decode(simplify(found.take(at))).cast(value_type(found.type))
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


# ---- cuts


def _runs(rows: Stream, grid: Grid | None, settled: bool) -> tuple[Array, Array, Array, Array]:
    """Cut sub-streams at panes and, if not settled, long gaps: return sub-stream, pane, rows from, rows to."""
    if grid is None:
        windows = whole(rows)
        segment, pane, lo, hi = windows.segment, windows.key, windows.lo, windows.hi
    else:
        clock = grid.clock(rows.time)
        grid.check(clock, rows.bounds)
        segment, pane, lo, hi = grid.panes(clock, rows.bounds)
    if settled or not lo.size:
        return segment, pane, lo, hi
    limit = _limit(rows.time, lo, hi)
    if grid is not None and grid.pane <= limit:
        return segment, pane, lo, hi
    cuts = np.union1d(lo, np.flatnonzero(_far(rows.time[1:], rows.time[:-1], limit)) + 1)
    of = np.searchsorted(lo, cuts, "right") - 1
    return segment[of], pane[of], cuts, np.append(cuts[1:], len(rows.time))


def _limit(time: Array, lo: Array, hi: Array) -> int | float:
    """Return an eighth of the time from the first row to the last."""
    first, last = time[lo].min(), time[hi - 1].max()
    return (int(last) - int(first)) // 8 if time.dtype == np.int64 else float(last / 8 - first / 8)


def _far(later: Array, earlier: Array, limit: int | float) -> Array:
    """Tell where times are farther apart than the limit."""
    if later.dtype == np.int64:  # as unsigned integers differences do not overflow
        apart = later.view(np.uint64) - earlier.view(np.uint64)
        return np.asarray((apart > np.uint64(limit)) & (later > earlier))
    return np.asarray(later / 8 - earlier / 8 > limit / 8)


def _inside(time: Array, lo: Array, hi: Array) -> tuple[Array, Array]:
    """Return the runs without the rows at the first and the last time of the table, or of parts far apart."""
    if not lo.size:
        return lo, hi
    first, last = time[lo], time[hi - 1]
    order = np.argsort(first, kind="stable")
    begins, reach = first[order], np.maximum.accumulate(last[order])
    holes = np.flatnonzero(_far(begins[1:], reach[:-1], _limit(time, lo, hi)))
    if holes.size > HOLES:
        holes = holes[:0]
    edges = np.concatenate([begins[:1], begins[holes + 1], reach[holes], reach[-1:]])
    begin, end = lo.copy(), hi.copy()
    some = np.flatnonzero(np.isin(first, edges))
    begin[some] = _search(time, lo[some], hi[some], first[some], True)
    some = np.flatnonzero(np.isin(last, edges))
    end[some] = _search(time, begin[some], hi[some], last[some], False)
    return begin, end


def _search(time: Array, lo: Array, hi: Array, value: Array, past: bool) -> Array:
    """Return the first rows of lo[k]:hi[k] at or past value[k], with `past` only those past it."""
    lo, hi = lo.copy(), hi.copy()
    while (open := np.flatnonzero(lo < hi)).size:
        middle = (lo[open] + hi[open]) >> 1
        at, wanted = time[middle], value[open]
        before = at <= wanted if past else at < wanted
        lo[open[before]] = middle[before] + 1
        hi[open[~before]] = middle[~before]
    return lo


def _ranges(begin: Array, end: Array) -> Array:
    """Return all numbers of the ranges begin[k]:end[k]."""
    count = end - begin
    return np.repeat(begin - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


# ---- tables of units


def _units(
    plan: Plan,
    table: pa.Table,
    rows: Stream,
    compiled: Compiled,
    segment: Array,
    pane: Array,
    lo: Array,
    hi: Array,
    threads: int,
    place: Place,
) -> pa.Table:
    """Return the stretches lo[k]:hi[k] as a table."""
    matrix, low = matrices(compiled, lo, hi, threads)
    columns: dict[str, Any] = dict(key_columns(plan, table, rows, segment, lo, place))
    columns["pane"] = pa.array(pane)
    columns["first"], columns["last"] = (
        pa.array(instants(rows.time[lo])),
        pa.array(instants(rows.time[hi - 1])),
    )
    columns["matrix"], columns["low"] = packed(matrix), packed(low)
    return pa.table(columns)


BLOCK = 1 << 30  # bytes; Arrow's offsets are of 32 bits


def packed(values: Array) -> pa.ChunkedArray:
    """Return rows of doubles or wide numbers as bytes; the latter as doubles where all of a row are."""
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    per = max(1, BLOCK // max(1, 16 * flat.shape[1]))
    blocks = [flat[start : start + per] for start in range(0, len(flat), per)]
    return pa.chunked_array([_packed(block) for block in blocks], pa.binary())


def _packed(flat: Array) -> pa.Array:
    count, width = flat.shape
    wide: Array = ~np.logical_and.reduce(is_plain(flat), axis=1)
    offsets = np.concatenate([[0], np.cumsum(np.where(wide, 2 * width, width))])
    if wide.any():
        data = np.empty(offsets[-1])
        data[_places(offsets, ~wide, width)] = as_doubles(flat[~wide])
        data[_places(offsets, wide, 2 * width)] = flat[wide].view(np.float64)
    else:
        data = as_doubles(flat)
    buffers = [None, pa.py_buffer((8 * offsets).astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def unpacked(column: pa.ChunkedArray, shape: tuple[int, int], dtype: Any) -> Array:
    """Return what was packed as matrices of a shape."""
    width = shape[0] * shape[1]
    parts = [_unpacked(chunk, width, dtype) for chunk in column.chunks]
    return np.concatenate([np.zeros((0, width), dtype), *parts]).reshape(len(column), *shape)


def _unpacked(chunk: pa.Array, width: int, dtype: Any) -> Array:
    _, where, buffer = chunk.buffers()
    kind = np.int64 if pa.types.is_large_binary(chunk.type) else np.int32
    offsets = np.frombuffer(where, kind)[chunk.offset : chunk.offset + len(chunk) + 1].astype(np.int64)
    if not width or not len(chunk):
        return np.zeros((len(chunk), width), dtype)
    data = np.frombuffer(buffer, np.uint8)[offsets[0] : offsets[-1]].view(np.float64)
    offsets = (offsets - offsets[0]) // 8
    wide = np.asarray(np.diff(offsets) != width)
    if not wide.any():
        return data.reshape(len(chunk), width).astype(dtype)
    out = np.zeros((len(chunk), width), dtype)
    out[~wide] = data[_places(offsets, ~wide, width)]
    out[wide] = data[_places(offsets, wide, 2 * width)].view(WIDE)
    return out


def _places(offsets: Array, chosen: Array, width: int) -> Array:
    """Return the places of the numbers of some rows."""
    return np.asarray(offsets[:-1][chosen][:, None] + np.arange(width))
