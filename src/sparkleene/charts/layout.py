"""Where the parts of a picture stand, and text on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#222222", "#6b6b6b"
PAD, GAPS = 0.13, (0.22, 0.36)  # inches around the picture, and between panels
LONGEST = 26  # characters of a group's name

Grid = list[list["Axes"]]
"""Axes in rows."""


def add_axes(made: Figure) -> Axes:
    """Add axes with no more than can be read."""
    axes = made.add_axes((0.1, 0.1, 0.8, 0.8), label=str(len(made.axes)))
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=INK, labelsize=9)
    return axes


def write_text(on: Any, x: float, y: float, text: str, **style: Any) -> Any:
    """Write text as it is, dollar signs and all."""
    return on.text(x, y, text, **({"color": INK, "parse_math": False} | style))


def write_caption(axes: Axes, text: str, above: float) -> None:
    """Write what a picture shows so many points above its axes."""
    at: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(text, (0, 1), (0, above), size=10, color=FAINT, parse_math=False, **at)


def shorten(text: str) -> str:
    """Cut the name of a group that is too long to stand beside a picture."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def arrange(made: Figure, grid: Grid, title: str) -> None:
    """Write the title, and give the axes the room that is left by what stands around them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    canvas = made.canvas
    renderer = FigureCanvasAgg(made).get_renderer()  # type: ignore[no-untyped-call]
    made.set_canvas(canvas)  # that of a window, if the figure is for one
    width, height = made.get_size_inches() * made.dpi
    pad = PAD * made.dpi
    top = pad
    if title:
        written = write_text(made, pad / width, 1 - pad / height, title, size=13, weight="bold", va="top")
        top += written.get_window_extent(renderer).height + pad
    every = [axes for row in grid for axes in row]
    across, down = GAPS[0] * made.dpi, GAPS[1] * made.dpi
    for _ in range(3):  # what stands at the right is placed by shares of the axes, and ticks depend on their width
        inner = Bbox.union([axes.get_window_extent(renderer) for axes in every])
        around = Bbox.union([box for axes in every if (box := axes.get_tightbbox(renderer)) is not None])
        left, right = inner.x0 - around.x0 + pad, around.x1 - inner.x1 + pad
        below, above = inner.y0 - around.y0 + pad, around.y1 - inner.y1 + top
        columns, rows = len(grid[0]), len(grid)
        wide = max(0.2 * width, width - left - right + across) / columns
        high = max(0.2 * height, height - below - above + down) / rows
        for row, line in enumerate(grid):
            for column, axes in enumerate(line):
                x, y = left + column * wide, below + (rows - 1 - row) * high
                axes.set_position((x / width, y / height, (wide - across) / width, (high - down) / height))
