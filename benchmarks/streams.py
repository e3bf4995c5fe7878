"""The streams of the figures: those of `sparkleene.generate`, with few columns, distinct times and chosen keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

import sparkleene as sk

PIECE = 2_000_000  # longer streams repeat this many events, later


@lru_cache(maxsize=2)
def generated(name: str, events: int, columns: Sequence[str]) -> pa.Table:
    """Return a stream of a paper: these columns, texts as dictionaries, and no two events at one time."""
    piece = sk.generate(name, min(events, PIECE)).select(["time", *columns])
    for place, column in enumerate(piece.schema):
        if pa.types.is_string(column.type):
            piece = piece.set_column(place, column.name, piece[column.name].combine_chunks().dictionary_encode())
    times = piece["time"].cast(pa.int64()).to_numpy()
    order = np.arange(times.size)
    times = np.maximum.accumulate(times - order) + order
    span = int(times[-1] - times[0]) + 1
    copies = [
        piece.set_column(0, "time", pa.array(times + copy * span).cast(pa.timestamp("us")))
        for copy in range(-(-events // PIECE))
    ]
    return pa.concat_tables(copies).slice(0, events).combine_chunks()


def with_groups(table: pa.Table, column: str, groups: int) -> pa.Table:
    """Return a stream with a key that has a number of values at random."""
    values = np.random.default_rng(groups).integers(0, groups, len(table))
    if column in table.column_names:
        return table.set_column(table.column_names.index(column), column, pa.array(values))
    return table.append_column(column, pa.array(values))


def with_selectivity(table: pa.Table, percent: int) -> pa.Table:
    """Return a stream with columns a and b, so that a of one event is less than b of another so often."""
    rng, share = np.random.default_rng(percent), percent / 100
    low, high = max(0.0, 2 * share - 1), min(1.0, 2 * share)
    table = table.append_column("a", pa.array(rng.random(len(table))))
    return table.append_column("b", pa.array(rng.uniform(low, high, len(table))))


def letters(events: int, types: int, seed: int = 0, gap: int = 1_000_000) -> pa.Table:
    """Return events of so many types, T0 on, at random, `gap` microseconds apart."""
    kinds = np.random.default_rng(seed).integers(0, types, events).astype(np.int16)
    names = pa.array([f"T{number}" for number in range(types)])
    times = pa.array(np.arange(events, dtype=np.int64) * gap).cast(pa.timestamp("us"))
    return pa.table({"time": times, "type": pa.DictionaryArray.from_arrays(pa.array(kinds), names)})
