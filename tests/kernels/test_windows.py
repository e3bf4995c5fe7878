"""Windows and rows found by kernels are those that a loop over the definition finds."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkleene.interrupts import stop_flag
from sparkleene.kernels import windows as kernel

Window = tuple[int, int, int, int, int]


def by_definition(segments: list[list[int]], offset: int, size: int, slide: int) -> list[Window]:
    """Return segment, number, first row, end row and how many windows hold the same, of windows that hold rows."""
    found: list[tuple[int, int, int, int]] = []
    begin = 0
    for g, times in enumerate(segments):
        reach = range(min(times) - size, max(times) + slide + 1) if times else range(0)
        for k in sorted({(start - offset) // slide for start in reach}):
            start = offset + k * slide
            rows = [i for i, time in enumerate(times) if start <= time < start + size]
            if rows:
                found.append((g, begin + rows[0], begin + rows[-1] + 1, k))
        begin += len(times)
    runs = [(rows, [k for *_, k in some]) for rows, some in groupby(found, key=lambda window: window[:3])]
    return [(g, ks[0], lo, hi, len(ks)) for (g, lo, hi), ks in runs]


@pytest.mark.parametrize("rowwise", [False, True])
@given(
    segments=st.lists(st.lists(st.integers(-30, 30), max_size=12).map(sorted), max_size=4),
    offset=st.integers(-3, 3),
    size=st.integers(1, 15),
    slide=st.integers(1, 15),
)
def test_windows_that_slide(rowwise: bool, segments: list[list[int]], offset: int, size: int, slide: int) -> None:
    if rowwise:
        segments, offset = [list(range(len(times))) for times in segments], 0
    bounds = np.cumsum([0, *map(len, segments)]).astype(np.int64)
    time = np.array([] if rowwise else [one for times in segments for one in times], np.int64)
    time.flags.writeable = False
    found = kernel.sliding(time, rowwise, bounds, offset, size, slide, stop_flag())
    expected = by_definition(segments, offset, size, slide)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected
