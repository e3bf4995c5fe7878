"""The picture of a cube: queries in rows, coarser above finer ones, an arrow from each to what it refines.

An arrow that passes a row has a place of its own in it, so that it goes around the queries there. Rows are put in
order by where the neighbours of their queries are, down and up again, which leaves few crossings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sparkleene.draw.graphviz import digraph, quote
from sparkleene.draw.svg import LINE, NAME, Canvas, block, cut, number, wide
from sparkleene.olap.refinements import Refinement

RADIUS = 25.0  # half the height of a query
ROW = 118.0  # from one row to the next
GAP = 34.0  # between two queries
PASSING = 12.0  # the room of an arrow that passes a row
MARGIN = 20.0
WIDEST = 44  # letters of a pattern
SWEEPS = 4

Spot = str | tuple[int, int]  # a query, or an arrow's number and the row that it passes
Points = dict[Spot, tuple[float, float]]  # the middle of each


def to_dot(patterns: Mapping[str, str], edges: Sequence[Refinement], derived: Collection[str]) -> str:
    r"""Return a cube as text for Graphviz.

    >>> print(to_dot({"q1": "A", "q2": "SEQ(A, B)"}, [Refinement("q2", "q1", "pattern")], ["q1"]))
    digraph cube {
      rankdir=BT
      node [shape=box style=rounded fontname="Helvetica"]
      edge [fontname="Courier" fontsize=10]
      "q1" [label="q1\nA" style="rounded,dashed"]
      "q2" [label="q2\nSEQ(A, B)"]
      "q2" -> "q1" [label="pattern"]
    }
    """
    lines = []
    for name, pattern in patterns.items():
        dashed = ' style="rounded,dashed"' if name in derived else ""
        lines.append(f"{quote(name)} [label={quote(f'{name}{chr(10)}{pattern}')}{dashed}]")
    lines += [f"{quote(e.finer)} -> {quote(e.coarser)} [label={quote(e.kind)}]" for e in edges]
    return digraph("cube", "BT", "shape=box style=rounded", lines)


def to_svg(patterns: Mapping[str, str], edges: Sequence[Refinement], derived: Collection[str]) -> str:
    """Return a cube as an SVG that needs nothing else.

    >>> svg = to_svg({"q1": "A", "q2": "SEQ(A, B)"}, [Refinement("q2", "q1", "pattern")], ["q1"])
    >>> svg.startswith("<svg "), "SEQ(A, B)" in svg
    (True, True)
    """
    layout, canvas = arrange(patterns, edges), Canvas()
    for edge, way in zip(edges, layout.ways, strict=True):
        _draw_arrow(canvas, layout, way)
        (x, y), (to, end) = layout.at[way[0]], layout.at[way[1]]
        canvas.label((x + to) / 2, (y + end) / 2 + LINE / 2, ((edge.kind, "said"),), edge.kind)
    for name, pattern in patterns.items():
        (x, y), half = layout.at[name], layout.half[name]
        shape = Canvas()
        shape.state(x, half, RADIUS, False, name in derived, pattern)
        shape.text(x, -3, cut(name, WIDEST), "name")
        shape.text(x, 14, cut(pattern, WIDEST), "said")
        canvas.shapes += [f'<g transform="translate(0 {number(y)})">', *shape.shapes, "</g>"]
        canvas.reach(x - half, y - RADIUS, x + half, y + RADIUS)
    if derived:
        canvas.note("dashed: not evaluated, the results follow from those of other queries", 22)
    return canvas.to_svg(MARGIN, f"cube of {', '.join(patterns)}")


def _draw_arrow(canvas: Canvas, layout: LatticeLayout, way: Sequence[Spot]) -> None:
    """Draw an arrow from the top of a query upwards, past other rows, to the bottom of a coarser one."""
    x, y = layout.at[way[0]]
    path: list[str | float] = ["M", x, y - RADIUS]
    y -= RADIUS
    for place in way[1:]:
        to, middle = layout.at[place]
        end = middle + RADIUS + (7 if place == way[-1] else 0)
        path += ["C", x, (y + end) / 2, to, (y + end) / 2, to, end]
        if place != way[-1]:
            path += ["V", middle - RADIUS]
        x, y = to, middle - RADIUS
    canvas.path("line", *path)
    canvas.head(x, layout.at[way[-1]][1] + RADIUS, 0, -1, "line")


# ---- layout


@dataclass(frozen=True)
class LatticeLayout:
    """Where the middle of everything is, half the widths of queries, and the ways of the arrows."""

    at: Points
    half: dict[Spot, float]
    ways: list[list[Spot]]


def arrange(patterns: Mapping[str, str], edges: Sequence[Refinement]) -> LatticeLayout:
    """Find a place for each query and for each arrow that passes a row."""
    row = _rank(patterns, edges)
    ways: list[list[Spot]] = [
        [e.finer, *((k, r) for r in range(row[e.finer] - 1, row[e.coarser], -1)), e.coarser]
        for k, e in enumerate(edges)
    ]
    rows: list[list[Spot]] = [[] for _ in range(max(row.values()) + 1)]
    for name in patterns:
        rows[row[name]].append(name)
    for way in ways:
        for place in way[1:-1]:
            rows[place[1]].append(place)  # type: ignore[index]
    half: dict[Spot, float] = {place: PASSING / 2 for each in rows for place in each}
    half |= {name: _half_width(name, pattern) for name, pattern in patterns.items()}
    at = _place_rows(rows, half)
    near: dict[Spot, list[Spot]] = {place: [] for place in half}
    for way in ways:
        for a, b in pairwise(way):
            near[a].append(b)
            near[b].append(a)
    for sweep in range(SWEEPS):
        up = sweep % 2
        for each in reversed(rows) if up else rows:
            each.sort(key=lambda place: _average_neighbour(place, near[place], at, bool(up)))
            at = _place_rows(rows, half)
    return LatticeLayout(at, half, ways)


def _rank(patterns: Mapping[str, str], edges: Sequence[Refinement]) -> dict[str, int]:
    """Return the row of each query: below all that it refines."""
    row = dict.fromkeys(patterns, 0)
    for _ in patterns:
        for edge in edges:
            row[edge.finer] = max(row[edge.finer], row[edge.coarser] + 1)
    return row


def _half_width(name: str, pattern: str) -> float:
    """Return half the width of a query."""
    return max(wide(cut(name, WIDEST), 1.05 * NAME), block(((cut(pattern, WIDEST), "said"),))) / 2 + 16


def _place_rows(rows: Sequence[Sequence[Spot]], half: Mapping[Spot, float]) -> Points:
    """Put the rows below each other, each in the middle."""
    at: Points = {}
    for i, each in enumerate(rows):
        x = -(sum(2 * half[place] for place in each) + GAP * (len(each) - 1)) / 2
        for place in each:
            at[place] = (x + half[place], i * ROW)
            x += 2 * half[place] + GAP
    return at


def _average_neighbour(place: Spot, near: Sequence[Spot], at: Points, up: bool) -> float:
    """Return where the neighbours of a place in the row above are on average, or in the row below."""
    own, y = at[place]
    beside = [x for x, other in (at[one] for one in near) if (other > y) is up]
    return sum(beside) / len(beside) if beside else own
