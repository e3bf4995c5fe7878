"""Characters that draw: columns of blocks that grow upwards, bars that grow sideways, and text cut to size."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np

from sparkleene.charts.numbers import Array


@dataclass(frozen=True, slots=True)
class Ink:
    """A set of characters: eighths of a cell from below and from the left, halves, and lines."""

    up: str = " ▁▂▃▄▅▆▇█"
    right: str = " ▏▎▍▌▋▊▉█"
    halves: str = " ▄▀█"  # none, the lower, the upper, both
    sides: str = " ▌▐█"  # none, the left, the right, both
    edge: str = "│"
    mark: str = "┤"
    cut: str = "…"


BLOCKS = Ink()
ASCII = Ink(" .:-=+*%#", "    =====", " .'#", " ===", "|", "+", "~")


def width_of(text: str) -> int:
    r"""Return how many columns of a terminal text takes.

    >>> width_of("abc"), width_of("東京"), width_of("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def fit(text: str, width: int, ink: Ink = BLOCKS, right: bool = False) -> str:
    """Cut or pad text to a number of columns.

    >>> fit("finance", 5), fit("tech", 6), fit("12", 4, right=True)
    ('fina…', 'tech  ', '  12')
    """
    if ink is ASCII and not text.isascii():
        text = "".join(c if c.isascii() else "?" for c in text)
    if width_of(text) > width:
        while text and width_of(text) > width - 1:
            text = text[:-1]
        text += ink.cut[:width]
    pad = " " * (width - width_of(text))
    return pad + text if right else text + pad


def draw_area(places: Array, rows: int, origin: float, ink: Ink) -> list[str]:
    r"""Draw columns of heights from 0 to 1, from the top row down; NaN leaves a column empty.

    With an origin above 0 columns grow from there, up and down.

    >>> print("\n".join(draw_area(np.array([0, 0.3, np.nan, 1]), 2, 0.0, BLOCKS)))
       █
    ▁▅ █
    >>> draw_area(np.array([0.9, 0.1]), 1, 0.5, BLOCKS)
    ['▀▄']
    >>> draw_area(np.array([0.9, 0.1]), 2, 1.0, BLOCKS)
    ['▀█', ' █']
    """
    there = ~np.isnan(places)
    heights = np.where(there, places, 0.0)
    if origin <= 0:
        level = np.where(there, np.maximum(1, np.rint(heights * rows * 8)), 0).astype(int)
        cells = [np.clip(level - 8 * row, 0, 8) for row in reversed(range(rows))]
        return ["".join(ink.up[c] for c in line.tolist()) for line in cells]
    low, high = _stretch(heights, rows, origin, there)
    lines = []
    for row in reversed(range(rows)):
        lower = (low <= 2 * row) & (high > 2 * row)
        upper = (low <= 2 * row + 1) & (high > 2 * row + 1)
        lines.append("".join(ink.halves[c] for c in (lower + 2 * upper).tolist()))
    return lines


def draw_bar(place: float, width: int, origin: float, ink: Ink) -> str:
    """Draw a bar of a length from 0 to 1; NaN draws nothing.

    >>> draw_bar(0.5, 7, 0.0, BLOCKS), draw_bar(0.0, 4, 0.5, BLOCKS), draw_bar(0.9, 4, 0.5, BLOCKS)
    ('███▌   ', '██  ', '  █▌')
    """
    if np.isnan(place) or place == origin:
        return " " * width
    if origin == 0:
        level = max(1, round(place * width * 8))
        return "".join(ink.right[min(8, max(0, level - 8 * i))] for i in range(width))
    low, high = _stretch(np.array([place]), width, origin, np.array([True]))
    begin, end = int(low[0]), int(high[0])
    halves = [(begin <= 2 * i < end) + 2 * (begin <= 2 * i + 1 < end) for i in range(width)]
    return "".join(ink.sides[c] for c in halves)


def _stretch(places: Array, cells: int, origin: float, there: Array) -> tuple[Array, Array]:
    """Return the first half of a cell that is filled between the origin and each place, and the one after."""
    zero = min(2 * cells - 1, max(1, round(origin * 2 * cells))) if 0 < origin < 1 else round(origin * 2 * cells)
    end = np.rint(places * 2 * cells).astype(int)
    up = (places >= origin) & (origin < 1)
    low = np.where(up, zero, np.minimum(end, zero - 1))
    high = np.where(up, np.maximum(end, zero + 1), zero)
    return np.where(there, low, 0), np.where(there, high, 0)
