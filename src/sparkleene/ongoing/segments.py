"""What a bucket keeps as pieces of bytes, and which of these are to be put together or taken apart.

A window of many panes reads one matrix for each sub-stream of a segment that it holds as a whole, and the units or
rows only of the segment that it begins in. So segments of what is settled are put together as they come, like the
digits of a number that is counted up: few of each size. And the one that windows begin in is taken apart, the
smaller the earlier. What windows that end read grows with the logarithm of their panes, and so does how often a
unit is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple, Protocol

import numpy as np

from sparkleene.columns.arrow import Array

PENDING, ROWS, UNITS = "pending", "rows", "units"
WHOLE = "whole"  # matrices of all rows or units of the segment with the number before
FAN = 8  # segments of about one size that become one, and pieces of one that is taken apart


class Store(Protocol):
    """Where a bucket's bytes are kept."""

    def head(self) -> bytes | None:
        """Return the head, None for a new bucket."""

    def set_head(self, kept: bytes) -> None:
        """Keep the head."""

    def blob(self, number: int) -> bytes | None:
        """Return the blob of a segment."""

    def set_blob(self, number: int, kept: bytes) -> None:
        """Keep the blob of a segment."""

    def remove(self, number: int) -> None:
        """Let the blob of a segment go."""


class Segment(NamedTuple):
    """What the head knows of a segment."""

    number: int
    kind: str
    rows: int
    first: int  # the least and greatest time, in the unit that windows are of
    last: int
    sum: int  # the checksum of its blob, so that no other is taken for it


def sums_up(segment: Segment, other: Segment) -> bool:
    """Tell whether a segment has the matrices of all of another."""
    return segment.kind == WHOLE and segment.number == other.number + 1


def find_joint(segments: Sequence[Segment], longest: int) -> list[Segment]:
    """Return settled segments, one after the other, that are to become one no longer than that.

    >>> days = [Segment(day, UNITS, rows, day, day, 0) for day, rows in enumerate([70, 9, 8, 2, 3, 2, 1])]
    >>> [segment.rows for segment in find_joint(days, 99)]
    [2, 3, 2, 1]
    >>> find_joint(days[:-1], 99)
    []
    """
    settled = sorted((s for s in segments if s.kind in (ROWS, UNITS)), key=lambda s: s.last, reverse=True)
    since = settled[0].last - 2 * longest if settled else 0  # what is older may have been taken apart
    latest = list(takewhile(lambda s: s.last >= since and 2 * (s.last - s.first) <= longest, settled))
    size = 1
    while latest and size <= max(s.rows for s in latest):
        size *= FAN
        group = list(takewhile(lambda s: s.rows < size, latest))[::-1]  # noqa: B023
        while len(group) > 1:
            fit = [s for s in group if s.last - group[0].first <= longest]
            cut = len(fit) < len(group)
            if len(fit) > 1 and (cut or sum(s.rows for s in fit) >= size):
                return fit
            group = group[len(fit) :] if cut else []
    return []


def split(panes: Array, start: int, small: int) -> Iterator[Array]:
    """Yield the rows from a pane on as pieces, given the panes of all; the first has at most `small`, if it can.

    >>> [piece.tolist() for piece in split(np.arange(18) // 2, 1, 4)]
    [[2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15], [16, 17]]
    """
    ordered = np.sort(panes[panes >= start])
    borders, count = [ordered[:1]], ordered.size
    while count > small:
        borders.append(ordered[np.arange(1, FAN) * count // FAN])
        count = int(np.searchsorted(ordered, borders[-1][0]))
    of = np.searchsorted(np.unique(np.concatenate(borders)), panes, "right")
    for piece in range(1, int(of.max()) + 1):
        yield np.flatnonzero(of == piece)
