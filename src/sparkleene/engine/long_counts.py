"""Counts as integers of 64 bits: where doubles do not tell them from their neighbours they are found exactly."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.columns.fields import EXACT
from sparkleene.engine import exact
from sparkleene.engine.arrays import Arrays, Recipe
from sparkleene.engine.execute import Results
from sparkleene.engine.substreams import SubStreams
from sparkleene.engine.windows import Windows
from sparkleene.kernels.wide import log2, to_double
from sparkleene.language.ast import And
from sparkleene.plan.aggregates import Made
from sparkleene.plan.part import Part

LARGEST = 2**63 - 1
FAR_BEYOND = 70  # bits of counts that need not be exact to be too large


def is_long(made: Made) -> bool:
    """Tell whether an output counts trends or occurrences."""
    return made.output.function == "count" and made.output.log is None and not made.is_apart


def find_long_counts(
    part: Part,
    recipe: Recipe,
    rows: SubStreams,
    windows: Windows,
    results: Results,
    precise: Callable[[], tuple[Arrays, Recipe]],
    threads: int,
) -> dict[int, Array]:
    """Return counts as integers [windows, classes], by the places of outputs; none where doubles are exact.

    `precise` makes the arrays for exact numbers. A count far beyond 64 bits stays an estimate.
    """
    counts = [(place, made) for place, made in enumerate(recipe.outputs) if is_long(made)]
    if not counts or not windows.lo.size or (isinstance(part.plan.bound.pattern, And) and not part.is_shared):
        return {}  # pairs of trends are counted by products of counts
    several = int(np.bincount(rows.group).max(initial=1))  # sub-streams of a group, which are added up
    columns = [results.values[:, :, 1 + made.of[0] if made.of else 0] for _, made in counts]
    with np.errstate(divide="ignore"):
        bits = np.stack([log2(np.where(column != 0, column, 1.0)) for column in columns]).max(axis=(0, 2))
    rounded = bits >= np.log2(EXACT / several) - 1e-9
    if not rounded.any():
        return {}
    large = np.flatnonzero(rounded & (bits < FAR_BEYOND))
    arrays, other = precise()
    some = windows.where(large)
    integers = exact.integers(arrays, results.where(large), some.lo, some.hi, threads)
    found = {}
    for (place, made), column in zip(counts, columns, strict=True):
        doubles = np.minimum(to_double(column), 2.0**80)
        whole = np.array([[int(one) for one in row] for row in doubles.tolist()], object)
        at = 1 + other.totals[made.of[0]][0][0] if made.of else 0
        for window, classes in zip(large.tolist(), integers, strict=True):
            whole[window] = [row[at] for row in classes]
        found[place] = whole
    return found


def add_counts(counts: Array, starts: Array) -> list[int]:
    """Add up runs of counts."""
    edges = [*starts.tolist(), len(counts)]
    return [sum(counts[a:b].tolist()) for a, b in pairwise(edges)]
