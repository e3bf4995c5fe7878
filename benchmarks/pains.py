"""Cases that users of other systems reported as too slow, each beside a compiled loop that does it their way.

make bench ARGS=pains

The loops are the idea of those systems and nothing else: no rows are copied, no locks taken, no state written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa

import sparkleene as sk
from benchmarks.common import Line, best


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure the named cases, and ours over many times their rows."""
    yield from trino(int(5000 * scale))
    yield from flink(int(6573 * scale))
    yield from clickhouse(int(2000 * scale))


def one_type(rows: int, last: str | None = None) -> pa.Table:
    """Return rows of type A, the last one perhaps of another."""
    types = np.zeros(rows, np.int8)
    types[-1] = last is not None
    names = pa.array(["A", last or "B"])
    kinds = pa.DictionaryArray.from_arrays(pa.array(types), names)
    return pa.table({"time": np.arange(rows), "type": kinds, "key": np.zeros(rows, np.int64)})


def line(name: str, text: str, table: pa.Table, wanted: float, loop: Any) -> Iterator[Line]:
    """Compare a loop with ours, which must have counted right; then ours over a hundred times the rows."""
    query = sk.query(text)
    found = query.run(table)["count"].to_pylist()
    if (found or [0.0]) != [wanted]:
        raise RuntimeError(f"{name}: {found} and not {wanted}")
    theirs, own = best(loop, 1), best(lambda: query.run(table), 7)
    many = pa.concat_tables([table] * 100).drop_columns("time")
    many = many.append_column("time", pa.array(np.arange(len(many)))).combine_chunks()
    longer = best(lambda: query.run(many))
    detail = f"{theirs:.3g} s / {own:.2g} s, {len(table):,} rows; {len(many):,} rows: {longer:.2g} s"
    yield Line(f"{name}: their way / ours", theirs / own, "> 1", detail)


# ---- Trino 18036: PATTERN (A+ B+) over equal rows, of which none is a B


@nb.njit
def _backtrack(types: Any) -> int:
    """Count the matches of (A+ B+) as a search that tries every start, and every end of A+ from the longest."""
    found = 0
    for start in range(types.size):
        end = start
        while end < types.size and types[end] == 0:
            end += 1
        for cut in range(end, start, -1):
            if cut < types.size and types[cut] == 1:
                found += 1
                break
    return found


def trino(rows: int) -> Iterator[Line]:
    """Measure 5,000 rows that are the beginning of a match and never more, as reported with 45 s of processors."""
    table = one_type(rows)
    types = table["type"].chunk(0).indices.to_numpy()
    text = "RETURN COUNT(*) PATTERN SEQ(A+, B+) SEMANTICS contiguous WHERE [key]"
    yield from line("Trino 18036, A+ B+ without B", text, table, 0.0, lambda: _backtrack(types))


# ---- Flink: 21.6 million partial matches of one key


@nb.njit
def _hold(types: Any) -> int:
    """Count the matches of A, A, B by keeping each partial match."""
    size = np.count_nonzero(types == 0)
    held = np.empty((size * (size - 1) // 2, 2), np.int32)
    singles = np.empty(size, np.int32)
    pairs = ones = found = 0
    for i in range(types.size):
        if types[i] == 1:
            for k in range(pairs):
                found += held[k, 1] < i
            continue
        for k in range(ones):
            held[pairs, 0], held[pairs, 1] = singles[k], i
            pairs += 1
        singles[ones] = i
        ones += 1
    return found


def flink(rows: int) -> Iterator[Line]:
    """Measure one key that has 21.6 million partial matches when the B comes."""
    table = one_type(rows + 1, "B")
    types = table["type"].chunk(0).indices.to_numpy()
    text = "RETURN COUNT(*) PATTERN SEQ(A x, A y, B) WHERE [key]"
    wanted = float(rows * (rows - 1) // 2)
    yield from line("Flink, partial matches of one key", text, table, wanted, lambda: _hold(types))


# ---- ClickHouse 26095 and 27729: a time condition between two conditions of which one never follows


@nb.njit
def _pairs(types: Any, time: Any) -> int:
    """Count the pairs of a B that comes more than one after an A, by a search from every A."""
    found = 0
    for i in range(types.size):
        if types[i] == 0:
            for k in range(i + 1, types.size):
                found += types[k] == 1 and time[k] - time[i] > 1
    return found


def clickhouse(rows: int) -> Iterator[Line]:
    """Measure rows on whose like `sequenceMatch('(?1)(?t>1)(?2)')` gives up: the B is the first of all."""
    table = one_type(rows, "B")
    table = table.set_column(1, "type", table["type"].take(pa.array(np.arange(rows)[::-1])))
    types, time = table["type"].chunk(0).indices.to_numpy(), table["time"].to_numpy()
    text = "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [key] AND GAP > 1"
    yield from line("ClickHouse 26095, A, B more than 1 later", text, table, 0.0, lambda: _pairs(types, time))
