"""Lines to draw: broken where windows are missing, thinned out where there are more of them than pixels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparkleene.charts.data import Series
from sparkleene.charts.numbers import Array
from sparkleene.charts.times import Axis, distances

PIXELS = 1200  # columns of a picture that a line can tell apart
COARSE = 150  # columns of what only stands behind


def break_at_gaps(x: Array, y: Array, axis: Axis | None) -> tuple[Array, Array]:
    """Put NaN where windows are missing between two.

    >>> break_at_gaps(np.array([0, 10, 40]), np.array([1.0, 2, 3]), Axis(0, 40, 10.0, 4))
    (array([ 0, 10, 10, 40]), array([ 1.,  2., nan,  3.]))
    """
    if axis is None or not axis.step or x.size < 2:
        return x, y
    after = np.flatnonzero(np.diff(distances(x, axis.low)) > 1.5 * axis.step) + 1
    return np.insert(x, after, x[after - 1]), np.insert(y, after, np.nan)


def thin_out(x: Array, y: Array) -> tuple[Array, Array]:
    """Keep the first, last, lowest and highest point of each column of pixels, which draw the same line.

    >>> x, y = thin_out(np.arange(100_000), np.sin(np.arange(100_000)))
    >>> x.size <= 4 * 1200, bool(y.max() > 0.9999)
    (True, True)
    """
    if x.size <= 4 * PIXELS:
        return x, y
    far = distances(x, x[0])
    column = np.minimum((far / far[-1] * PIXELS).astype(np.int64), PIXELS - 1)
    starts = np.flatnonzero(np.r_[True, np.diff(column) != 0])
    by_height = np.lexsort((y, column))  # NaN comes last, and is kept as a gap
    ends = np.r_[starts[1:], x.size] - 1
    gaps = np.flatnonzero(np.isnan(y))
    high = by_height[ends]
    keep = np.unique(np.concatenate([starts, ends, by_height[starts], high, gaps]))
    return x[keep], y[keep]


def lonely_points(y: Array) -> Array:
    """Return a mask of points without a neighbour, of which a line shows nothing.

    >>> lonely_points(np.array([1.0, np.nan, 2.0, 3.0])).tolist()
    [True, False, False, False]
    """
    gap = np.r_[True, np.isnan(y), True]
    return np.asarray(gap[:-2] & ~gap[1:-1] & gap[2:])


def band(series: Sequence[Series], places: Sequence[Array], axis: Axis) -> tuple[Array, Array, Array]:
    """Return between which places all groups are, at windows from the first to the last."""
    x, y = np.concatenate([one.x for one in series]), np.concatenate(places)
    if axis.windows > COARSE:
        far = distances(x, axis.low)
        column = np.minimum((far / axis.span * COARSE).astype(np.int64), COARSE - 1)
    else:
        column = np.unique(x, return_inverse=True)[1]
    there, first, column = np.unique(column, return_index=True, return_inverse=True)
    low, high = np.full(there.size, np.nan), np.full(there.size, np.nan)
    np.fmin.at(low, column, y)
    np.fmax.at(high, column, y)
    return x[first], low, high
