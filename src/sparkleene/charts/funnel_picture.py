"""Funnels as pictures: bars that shrink from step to step, with what was lost as a pale bar behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sparkleene.charts.funnel import FunnelChart
from sparkleene.charts.layout import FAINT, INK, add_axes, arrange, shorten, write_caption, write_text
from sparkleene.charts.picture import COLORS, EDGE, GRID

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, MOST_WIDTH = 9.0, 4.4, 16.0  # inches
BAR = 0.86  # of the place of a group
PALE = 0.16
LOST = "#b03030"
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}  # behind text, where lines would cross it


def draw_funnel(chart: FunnelChart, make: Callable[..., Figure] | None = None) -> Figure:
    """Return a figure of matplotlib with the bars of all steps and groups."""
    from matplotlib.figure import Figure

    bars = len(chart.steps) * max(1, len(chart.groups))
    wide = min(MOST_WIDTH, max(WIDTH, 0.62 * bars + 1.5))
    made = (make or Figure)(figsize=(wide, (HEIGHT if chart.groups else 1.6) + 0.4 * bool(chart.title)))
    axes = add_axes(made)
    write_caption(axes, chart.caption, 46)
    if chart.groups:
        _draw_bars(axes, chart, wide)
    else:
        axes.set(xticks=[], yticks=[])
        write_text(axes, 0.5, 0.5, "no rows", transform=axes.transAxes, ha="center", va="center", color=FAINT)
    arrange(made, [[axes]], chart.title)
    return made


def _draw_bars(axes: Axes, chart: FunnelChart, wide: float) -> None:
    """Draw the bars of a step beside each other, group by group."""
    count = len(chart.groups)
    steps = range(len(chart.steps))
    whole = 0.8 if count > 1 else 0.62
    slot = whole / count
    narrow = wide / (len(chart.steps) * count) < 0.75  # inches that a bar has to itself
    small = 8.5 if count == 1 else 7.5 if not narrow else 6.5
    for g, group in enumerate(chart.groups):
        color = COLORS[g % len(COLORS)]
        for step in steps:
            x = step - whole / 2 + slot * (g + 0.5)
            share, previous = group.share[step], group.previous[step]
            before = share / previous if step and previous else share
            style: dict[str, Any] = {"width": slot * (BAR if count > 1 else 1), "linewidth": 0}
            if before > share:
                axes.bar(x, before - share, bottom=share, color=_pale(color), **style)
            axes.bar(x, share, color=color, **style)
            lost = group.loss(step)
            lines = [(f"{group.users[step]:,}", INK, small + 1), (_percent(share), FAINT, small)]
            if lost is not None and lost > 0:
                lines.append((f"−{_percent(lost)}", LOST, small))
            for row, (word, ink, size) in enumerate(reversed(lines)):
                axes.annotate(
                    word, (x, max(before, share)), xytext=(0, 4 + 1.35 * small * row), textcoords="offset points",
                    ha="center", va="bottom", size=size, color=ink, parse_math=False, bbox=PAPER,
                )  # fmt: skip
    axes.set_ylim(0, 1.0)
    axes.set_xlim(-0.55, len(chart.steps) - 0.45)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(axis="y", labelcolor=FAINT, labelsize=8.5)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.spines["bottom"].set(visible=True, color=EDGE)
    axes.set_xticks(list(steps), [_label(chart, step) for step in steps])
    axes.tick_params(axis="x", labelsize=9.5, pad=6)
    if chart.by:
        _write_names(axes, chart)


def _label(chart: FunnelChart, step: int) -> str:
    """Return what stands below a step: its name, and the time from the step before where there is one group."""
    name = shorten(chart.steps[step]).replace("$", r"\$")
    time = chart.time(chart.groups[0], step) if len(chart.groups) == 1 else ""
    return f"{name}\n{time}" if time else name


def _write_names(axes: Axes, chart: FunnelChart) -> None:
    """Write the names of groups at the right, in their colours."""
    for g, group in enumerate(chart.groups):
        y = 1.0 - 0.085 * g
        color = COLORS[g % len(COLORS)]
        axes.plot([1.02, 1.045], [y, y], linewidth=7, color=color, transform=axes.transAxes, clip_on=False,
                  solid_capstyle="butt")  # fmt: skip
        write_text(axes, 1.058, y, shorten(group.name), transform=axes.transAxes, va="center", size=9)


def _pale(color: str) -> str:
    """Return a colour as it is through paper, so that no line shows through it."""
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - PALE * (255 - part)):02x}" for part in parts)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
