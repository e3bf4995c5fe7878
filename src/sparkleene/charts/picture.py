"""Charts as pictures, drawn with matplotlib's objects alone: no pyplot, no display, nothing left behind."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkleene.charts.chart import Chart
from sparkleene.charts.curve import band, break_at_gaps, lonely_points, thin_out
from sparkleene.charts.data import Series, largest_of, order_by_size
from sparkleene.charts.drawable import Drawable
from sparkleene.charts.layout import FAINT, INK, Grid, add_axes, arrange, shorten, write_caption, write_text
from sparkleene.charts.ticks import set_time_ticks, tick_labels, to_plot_units
from sparkleene.errors import Diagnostic, SparkleeneError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart with any kind of colour vision; grey and wine in place of black and yellow.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#882255")
EDGE, GRID, STEM, BAND = "#999999", "#e4e4e4", "#b9d3e4", "#f0f0f0"
WIDTH, HEIGHT, PANEL, ROW, DPI = 9.0, 4.0, 1.45, 0.34, 150  # inches
TOGETHER = 4  # lines that can be told apart in one panel
MOST = 40  # groups that a picture can hold
STYLE = {
    "svg.hashsalt": "sparkleene",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "font.size": 10.0,
    "text.usetex": False,
    "mathtext.fontset": "dejavusans",
    "mathtext.default": "regular",
    "path.sketch": None,
}
FONTS = ("Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "PingFang SC", "WenQuanYi Zen Hei", "Unifont")
_style = threading.Lock()  # matplotlib's settings are global while they hold


def render(chart: Drawable, kind: str) -> bytes:
    """Draw a chart as "png", "svg" or "pdf", with the same bytes for the same chart."""
    name = {"Title": chart.headline}
    more: dict[str, dict[str, str | None]] = {
        "png": {"Software": "sparkleene"},
        "svg": {"Creator": "sparkleene", "Date": None},
        "pdf": {"Creator": "sparkleene", "CreationDate": None},
    }
    out = BytesIO()
    with use_style(chart):
        chart.figure().savefig(out, format=kind, dpi=DPI, metadata=name | more[kind], facecolor="white")
    return out.getvalue()


@contextmanager
def use_style(chart: Drawable) -> Iterator[None]:
    """Draw with settings of our own, whatever those of the program are."""
    try:
        import matplotlib
    except ImportError as error:
        help = "pip install 'sparkleene[plot]', in a checkout '.[plot]', or show it as text"
        wrong = Diagnostic("missing-matplotlib", "pictures need matplotlib", notes=(str(error),), help=help)
        raise SparkleeneError(wrong) from error

    with _style, matplotlib.rc_context(STYLE | {"font.family": _fonts(chart.words)}), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph")  # a box stands for a character that no font has
        yield


def _fonts(words: str) -> list[str]:
    """Return matplotlib's own font, and for characters it lacks those of the machine that may have them."""
    if max(words, default="") < "\u1100":
        return ["DejaVu Sans"]
    from matplotlib.font_manager import fontManager

    found = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in FONTS if name in found)]


def figure(chart: Chart, make: Callable[..., Figure] | None = None) -> Figure:
    """Return a figure of matplotlib with the chart on it; `make` makes an empty one of a size, for a window say."""
    from matplotlib.figure import Figure

    height, draw = _layout(chart)
    made = (make or Figure)(figsize=(WIDTH, height + 0.4 * bool(chart.title)))
    arrange(made, draw(made, chart), chart.title)
    return made


def _layout(chart: Chart) -> tuple[float, Callable[[Figure, Chart], Grid]]:
    """Return how high the picture is without its title, and what draws it."""
    shown = len(chart.series[:MOST])
    if chart.empty:
        return 1.6, _draw_nothing
    if chart.axis is None:
        return 0.7 + 0.3 * chart.scale.log + ROW * shown, _draw_bars
    if len(chart.series) <= TOGETHER:
        return HEIGHT, _draw_lines
    return 0.9 + PANEL * -(-shown // panels_per_row(shown)), _draw_panels


def _write_caption(axes: Axes, chart: Chart, above: float = 9) -> None:
    """Say above what the values are, in place of a label to be read sideways."""
    what = "inf is" if chart.axis is None else "triangles are"
    beyond = f"{what} beyond 1.8e+308" if chart.beyond else ""
    notes = [chart.window, "log scale" if chart.scale.log else "", beyond]
    note = ", ".join(note for note in notes if note)
    what = f"{chart.value} by {chart.by}" if chart.by else chart.value
    write_caption(axes, f"{what} ({note})" if note else what, above)


# ---- over windows


def _draw_line(axes: Axes, chart: Chart, series: Series, style: dict[str, Any], few: bool) -> None:
    """Draw a group over the windows: a line, dots where it would not show, triangles for what is infinite."""
    assert chart.axis is not None
    y = chart.scale.places(series.y)
    x, y = (series.x, y) if series.whole else break_at_gaps(series.x, y, chart.axis)
    x = to_plot_units(x)
    axes.plot(*thin_out(x, y), linewidth=1.5, solid_joinstyle="round", clip_on=False, **style)
    infinite = np.isin(x, to_plot_units(series.x[np.isposinf(series.y.log10)]))
    dots = (few | lonely_points(y)) & ~infinite
    for marker, which in (("o", dots), ("^", infinite & (y > 0.5)), ("v", infinite & (y <= 0.5))):
        shown = which & ~np.isnan(y)
        if shown.any():  # a line of nothing would count as one at the corner of the picture
            axes.plot(x[shown], y[shown], marker, color=style["color"], markersize=3.6, clip_on=False)


def _draw_frame(axes: Axes, chart: Chart, beside: int, below: int) -> str:
    """Draw the axes with at most `beside` and `below` ticks, and return what to write below them."""
    assert chart.axis is not None
    axes.set_ylim(-0.03, 1.03)
    ticks = chart.scale.ticks(beside)
    axes.set_yticks([tick.place for tick in ticks], tick_labels(chart.scale, ticks))
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.spines["bottom"].set(visible=True, color=EDGE)
    axes.tick_params(axis="x", length=3, color=EDGE)
    low, high = to_plot_units(np.array([chart.axis.low, chart.axis.high]))
    room = 0.01 * (high - low) or 1.0
    axes.set_xlim(low - room, high + room)
    return set_time_ticks(axes, chart.axis, below)


def _write_below(axes: Axes, text: str) -> None:
    axes.set_xlabel(text, fontsize=9, color=FAINT, labelpad=7, loc="left")


def _draw_lines(made: Figure, chart: Chart) -> Grid:
    """Draw a few groups together, their names at the right, the one that rises highest first."""
    axes = add_axes(made)
    few = sum(series.x.size for series in chart.series) <= 60
    for series, color in zip(chart.series, COLORS, strict=False):
        _draw_line(axes, chart, series, {"color": color}, few)
    _write_caption(axes, chart)
    _write_below(axes, _draw_frame(axes, chart, 6, 10))
    if not chart.by:
        return [[axes]]
    at = {"transform": axes.transAxes, "va": "center", "size": 9}
    order = order_by_size(chart.series)
    for row, i in enumerate(order):
        y = 1.0 - 0.085 * row
        style: dict[str, Any] = {"transform": axes.transAxes, "color": COLORS[i], "clip_on": False}
        axes.plot([1.02, 1.05], [y, y], linewidth=2.2, **style)
        write_text(axes, 1.06, y, shorten(chart.series[i].name), **at)
    if more := chart.more(len(order)):
        write_text(axes, 1.02, 1.0 - 0.085 * len(order), more, color=FAINT, **at)
    return [[axes]]


def panels_per_row(panels: int) -> int:
    """Return how many panels stand beside each other."""
    return 3 if panels in (5, 6, 9) else 4


def _draw_panels(made: Figure, chart: Chart) -> Grid:
    """Draw each of many groups in a panel of its own; grey is where all of them are."""
    assert chart.axis is not None
    shown = largest_of(chart.series, MOST)
    x, low, high = band(shown, [chart.scale.places(series.y) for series in shown], chart.axis)
    every = [add_axes(made) for _ in shown]
    columns = panels_per_row(len(shown))
    few = sum(series.x.size for series in shown) <= 60 * len(shown)
    for i, (axes, series) in enumerate(zip(every, shown, strict=True)):
        axes.fill_between(to_plot_units(x), low, high, color=BAND, linewidth=0)
        _draw_line(axes, chart, series, {"color": COLORS[0]}, few and chart.axis.windows <= 20)
        below = _draw_frame(axes, chart, 4, 4)
        at = {"transform": axes.transAxes, "va": "bottom"}
        write_text(axes, 0, 1.04, shorten(series.name), size=9.5, **at)
        largest = "max " + (series.peak().words()[0].replace("-", "−") or "none")
        write_text(axes, 1, 1.04, largest, size=8, color=FAINT, ha="right", **at)
        axes.tick_params(labelsize=8.5, labelleft=i % columns == 0, labelbottom=i + columns >= len(shown))
    grid = [every[i : i + columns] for i in range(0, len(every), columns)]
    more = chart.more(len(shown))
    _write_below(grid[-1][0], f"{below}; grey: where all of these are{f'; {more}' if more else ''}")
    _write_caption(every[0], chart, 24)
    return grid


# ---- without windows


def _draw_bars(made: Figure, chart: Chart) -> Grid:
    """Draw a bar per group, or on a log scale, which has no zero to start from, a dot; beside it the value."""
    axes = add_axes(made)
    series = chart.series[:MOST]
    rows = range(len(series))[::-1]
    origin = chart.scale.origin()
    for row, one in zip(rows, series, strict=True):
        place = float(chart.scale.places(one.peak())[0])
        word = one.peak().words()[0].replace("-", "−") or "no value"
        if chart.scale.log and one.peak().sign[0] > 0:  # there is no place for zero
            axes.plot([0, place], [row, row], color=STEM, linewidth=1.5)
            axes.plot([place], [row], "o", color=COLORS[0], markersize=7, clip_on=False, zorder=3)
        elif not chart.scale.log and not np.isnan(place):
            axes.barh(row, place - origin, left=origin, height=0.64, color=COLORS[0])
        side = -1 if place < origin else 1
        axes.annotate(
            word,
            (origin if np.isnan(place) else place, row),
            xytext=(side * (8 if chart.scale.log else 5), 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            color=FAINT if np.isnan(place) else INK,
            size=9,
        )
    axes.set_yticks(list(rows), [shorten(one.name) for one in series], parse_math=False)
    axes.tick_params(axis="y", pad=8 if chart.scale.log else 4)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(-0.1 if origin > 0 else 0.0, 1.0)  # values of bars to the left stand between them and the names
    axes.axvline(origin, color=EDGE, linewidth=0.8)
    ticks = chart.scale.ticks() if chart.scale.log else []  # bars from zero need no more than their values
    axes.set_xticks([tick.place for tick in ticks], tick_labels(chart.scale, ticks))
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.grid(visible=False, axis="y")
    _write_caption(axes, chart)
    if more := chart.more(len(rows)):
        _write_below(axes, more)
    return [[axes]]


def _draw_nothing(made: Figure, chart: Chart) -> Grid:
    """Say that there is nothing to draw."""
    axes = add_axes(made)
    axes.set_axis_off()
    _write_caption(axes, chart)
    at = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    write_text(axes, 0.5, 0.5, chart.empty, size=14, color=FAINT, **at)
    return [[axes]]
