"""Charts as pictures, drawn with matplotlib's objects alone: no pyplot, no display, nothing left behind."""

from __future__ import annotations

import threading
import warnings
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkleene.charts.chart import Chart
from sparkleene.charts.curve import broken, lonely, thinned
from sparkleene.charts.ticks import tick_labels, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart with any kind of colour vision; grey and wine in place of black and yellow.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#882255")
DASHES = ("-", "--", ":", "-.")  # for more groups than colours
INK, FAINT, EDGE, GRID, STEM = "#222222", "#6b6b6b", "#999999", "#e4e4e4", "#b9d3e4"
WIDTH, HEIGHT, ROW, DPI = 9.0, 4.2, 0.34, 150  # inches
PAD = 0.13
LONGEST = 26  # characters of a group's name
STYLE = {
    "svg.hashsalt": "sparkleene",
    "svg.fonttype": "path",
    "font.size": 10.0,
    "text.usetex": False,
    "mathtext.fontset": "dejavusans",
    "mathtext.default": "regular",
    "path.sketch": None,
}
FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Hiragino Sans",
    "PingFang SC",
    "WenQuanYi Zen Hei",
    "Unifont",
)
_style = threading.Lock()  # matplotlib's settings are global while they hold


def png(chart: Chart) -> bytes:
    """Draw a chart as PNG."""
    return _drawn(chart, "png", {"Software": "sparkleene", "Title": _plain(chart)})


def svg(chart: Chart) -> str:
    """Draw a chart as SVG, the same text for the same chart."""
    return _drawn(chart, "svg", {"Creator": "sparkleene", "Date": None, "Title": _plain(chart)}).decode()


def _plain(chart: Chart) -> str:
    """Return a title that any format can hold."""
    return "".join(c if c.isprintable() else " " for c in chart.title or chart.value)


def _drawn(chart: Chart, format: str, metadata: dict[str, str | None]) -> bytes:
    """Draw with settings of our own, whatever those of the program are."""
    import matplotlib

    out = BytesIO()
    with _style, matplotlib.rc_context(STYLE | {"font.family": _fonts(chart)}), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph")  # a box stands for a character that no font has
        figure(chart).savefig(out, format=format, dpi=DPI, metadata=metadata, facecolor="white")
    return out.getvalue()


def _fonts(chart: Chart) -> list[str]:
    """Return matplotlib's own font, and for characters it lacks those of the machine that may have them."""
    if max("".join([chart.title, chart.value, *(s.name for s in chart.series)]), default="") < "\u1100":
        return ["DejaVu Sans"]
    from matplotlib.font_manager import fontManager

    found = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in FONTS if name in found)]


def figure(chart: Chart) -> Figure:
    """Return a figure of matplotlib with the chart on it."""
    from matplotlib.figure import Figure

    bars = chart.axis is None and not chart.empty
    height = (
        0.7 + 0.4 * bool(chart.title) + 0.3 * chart.scale.log + ROW * len(chart.series) if bars else HEIGHT
    )
    made = Figure(figsize=(WIDTH, height), facecolor="white")
    axes = made.add_axes((0.1, 0.15, 0.85, 0.7))
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, colors=INK, labelsize=9)
    (_nothing if chart.empty else _bars if bars else _lines)(axes, chart)
    _arrange(made, axes, chart.title)
    return made


def _say(on: Any, x: float, y: float, text: str, **style: Any) -> Any:
    """Write text as it is, dollar signs and all."""
    return on.text(x, y, text, **({"color": INK, "parse_math": False} | style))


def _name(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _caption(axes: Axes, chart: Chart, *more: str) -> None:
    """Say above what the values are, in place of a label to be read sideways."""
    notes = [chart.window, "log scale" if chart.scale.log else "", *more]
    if chart.beyond:
        notes.append("▲ beyond 1.8e+308")
    note = ", ".join(note for note in notes if note)
    text = f"{chart.value} ({note})" if note else chart.value
    axes.set_title(text, loc="left", fontsize=10, color=FAINT, pad=9, parse_math=False)


# ---- over windows


def _lines(axes: Axes, chart: Chart) -> None:
    """Draw a line per group over the windows."""
    assert chart.axis is not None
    few = len(chart.series) * chart.axis.windows <= 60
    styles: list[dict[str, Any]] = []
    for i, series in enumerate(chart.series):
        color, dash = COLORS[i % len(COLORS)], DASHES[i // len(COLORS) % len(DASHES)]
        styles.append({"color": color, "linestyle": dash, "clip_on": False})
        x, y = broken(series.x, chart.scale.places(series.y), chart.axis)
        beyond = np.isinf(series.y.log10) & (series.y.sign != 0)
        axes.plot(*thinned(x, y), linewidth=1.5, solid_joinstyle="round", **styles[-1])
        for marker, which in (("o", few | lonely(y)), ("^", np.isin(x, series.x[beyond]))):
            shown = which & ~np.isnan(y)
            if shown.any():  # a line of nothing would count as one at the corner of the picture
                axes.plot(x[shown], y[shown], marker, color=color, markersize=3.6, clip_on=False)
    axes.set_ylim(-0.03, 1.03)
    ticks = chart.scale.ticks()
    axes.set_yticks([tick.place for tick in ticks], tick_labels(chart.scale, ticks))
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.spines["bottom"].set(visible=True, color=EDGE)
    axes.tick_params(axis="x", length=3, color=EDGE)
    axes.margins(x=0.01)
    _caption(axes, chart)
    label = time_axis(axes, chart.axis)
    axes.set_xlabel(label, fontsize=9, color=FAINT, labelpad=7)
    if chart.by:
        _legend(axes, chart, styles)


def _legend(axes: Axes, chart: Chart, styles: list[dict[str, Any]]) -> None:
    """Name the lines at the right, the one that rises highest first."""
    minor, major = (np.array([s.most().keys()[i][0] for s in chart.series]) for i in (0, 1))
    order = np.lexsort((-np.arange(minor.size), minor, major))[::-1].tolist()
    gap = min(0.085, 0.9 / (len(order) + 1))
    at = {"transform": axes.transAxes, "va": "center", "size": 9}
    _say(axes, 1.02, 1.0, _name(chart.by), color=FAINT, **at)
    for row, i in enumerate(order, 1):
        y = 1.0 - row * gap
        axes.plot([1.02, 1.05], [y, y], transform=axes.transAxes, linewidth=2.2, **styles[i])
        _say(axes, 1.06, y, _name(chart.series[i].name), **at)
    if more := chart.more(len(order)):
        _say(axes, 1.02, 1.0 - (len(order) + 1) * gap, more, color=FAINT, **at)


# ---- without windows


def _bars(axes: Axes, chart: Chart) -> None:
    """Draw a bar per group, or on a log scale, which has no zero to start from, a dot; beside it the value."""
    rows = range(len(chart.series))[::-1]
    origin = chart.scale.origin()
    for row, series in zip(rows, chart.series, strict=True):
        place = float(chart.scale.places(series.most())[0])
        word = series.most().words()[0].replace("-", "−") or "no value"
        if chart.scale.log and not np.isnan(place):
            axes.plot([0, place], [row, row], color=STEM, linewidth=1.5)
            axes.plot([place], [row], "o", color=COLORS[0], markersize=7, clip_on=False, zorder=3)
        elif not np.isnan(place):
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
    axes.set_yticks(list(rows), [_name(series.name) for series in chart.series], parse_math=False)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(0.0, 1.0)
    axes.axvline(origin, color=EDGE, linewidth=0.8)
    ticks = chart.scale.ticks() if chart.scale.log else []  # bars from zero need no more than their values
    axes.set_xticks([tick.place for tick in ticks], tick_labels(chart.scale, ticks))
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    _caption(axes, chart, f"by {chart.by}" if chart.by else "", chart.more(len(rows)))


def _nothing(axes: Axes, chart: Chart) -> None:
    """Say that there is nothing to draw."""
    axes.set_axis_off()
    _caption(axes, chart)
    at = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    _say(axes, 0.5, 0.5, chart.empty, size=14, color=FAINT, **at)


def _arrange(made: Figure, axes: Axes, title: str) -> None:
    """Write the title, and give the axes the room that is left by what stands around them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(made).get_renderer()  # type: ignore[no-untyped-call]
    width, height = made.get_size_inches() * made.dpi
    pad = PAD * made.dpi
    top = pad
    if title:
        written = _say(made, pad / width, 1 - pad / height, title, size=13, weight="bold", va="top")
        top += written.get_window_extent(renderer).height + pad
    for _ in range(
        3
    ):  # what stands at the right is placed by shares of the axes, and ticks depend on their width
        inner, around = axes.get_window_extent(renderer), axes.get_tightbbox(renderer)
        assert around is not None
        left, right = inner.x0 - around.x0 + pad, around.x1 - inner.x1 + pad
        below, above = inner.y0 - around.y0 + pad, around.y1 - inner.y1 + top
        across, up = max(0.2 * width, width - left - right), max(0.2 * height, height - below - above)
        axes.set_position((left / width, below / height, across / width, up / height))
