"""Windows without a row: where trends are counted, they have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparkleene.charts.data import Series
from sparkleene.charts.numbers import Array, Numbers
from sparkleene.charts.times import distances

FINE = 4000  # windows from the first to the last of which all are added; of more, as many as can be seen


def add_zeros(series: Series, low: Any, high: Any, step: float) -> Series:
    """Return counts with a zero at each window without a row, from that which starts at `low` to that at `high`.

    Of windows beyond thousands only some zeros are added, among them the first and the last of each gap: they draw
    the same line.

    >>> counts = Series("", np.array([10, 40]), Numbers(np.ones(2), np.zeros(2)), 0)
    >>> filled = add_zeros(counts, 0, 50, 10.0)
    >>> filled.x.tolist(), filled.y.words()
    ([0, 10, 20, 30, 40, 50], ['0', '1', '0', '0', '1', '0'])
    """
    cells = int(np.rint(distances(np.array([high]), low)[0] / step)) + 1
    there = np.rint(distances(series.x, low) / step).astype(np.int64)
    edges = np.r_[-1, there, cells]
    missing = np.maximum(np.diff(edges) - 1, 0)
    added = np.minimum(missing, np.maximum(2, missing * min(1.0, FINE / cells)).astype(np.int64))
    number = np.arange(added.sum()) - np.repeat(np.cumsum(added) - added, added)  # from 0 in each gap
    between = np.repeat((missing - 1) / np.maximum(added - 1, 1), added)
    window = np.repeat(edges[:-1] + 1, added) + np.rint(number * between).astype(np.int64)
    return fill_starts(series, _starts(series.x, low, window, step))


def fill_starts(series: Series, starts: Array) -> Series:
    """Return counts with a zero at each start of a window that has no row.

    >>> counts = Series("", np.array([31, 90]), Numbers(np.ones(2), np.zeros(2)), 0)
    >>> fill_starts(counts, np.array([31, 59, 90])).y.words()
    ['1', '0', '1']
    """
    added = np.setdiff1d(starts, series.x)
    x = np.r_[series.x, added]
    sign = np.r_[series.y.sign, np.zeros(added.size)]
    log10 = np.r_[series.y.log10, np.full(added.size, -np.inf)]
    order = np.argsort(x, kind="stable")
    largest = int(np.flatnonzero(order == series.largest)[0])
    return replace(series, x=x[order], y=Numbers(sign[order], log10[order]), largest=largest, whole=True)


def _starts(like: Array, low: Any, window: Array, step: float) -> Array:
    """Return the starts of windows by their numbers from `low` on, as the type of others."""
    if like.dtype.kind == "f":
        return np.asarray(low + window * step)
    far = window * round(step)
    return np.asarray(np.asarray(low, like.dtype).astype(np.int64) + far).astype(like.dtype)
