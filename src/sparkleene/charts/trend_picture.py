"""Trends as a picture: events on a line of time, coloured by label, and trends as arcs above it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparkleene.charts.layout import FAINT, INK, shorten
from sparkleene.errors import Diagnostic, QueryError, SparkleeneError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart with any kind of colour vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#666666")
KINDS = ("png", "svg", "pdf")
OTHER = "#c8c8c8"
WIDTH, DPI = 9.0, 150
DOTS = 3000  # events that are drawn; of more, some
NAMED = 40  # labels beside events while there are no more of these


@dataclass(frozen=True, eq=False, repr=False)
class TrendPicture:
    """Some trends of a window and group over its events; `save` it, or let a notebook show it."""

    times: Sequence[Any]  # of the events of the group and window, in order
    labels: Sequence[str]  # '' for events that have none
    trends: Sequence[Sequence[int]]  # places of their events among these
    title: str
    caption: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a picture to a file, PNG, SVG or PDF by the end of its name."""
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind not in KINDS:
            message = f"'{os.fspath(path)}' does not end in .png, .svg or .pdf"
            raise QueryError(Diagnostic("bad-option", message, help="a picture is saved as PNG, SVG or PDF"))
        Path(path).write_bytes(self.render(kind))

    def render(self, kind: str) -> bytes:
        """Draw it as "png", "svg" or "pdf"."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            help = "pip install 'sparkleene[plot]', in a checkout '.[plot]'"
            wrong = Diagnostic("missing-matplotlib", "pictures need matplotlib", notes=(str(error),), help=help)
            raise SparkleeneError(wrong) from error
        figure = Figure(figsize=(WIDTH, 4.0))
        figure.subplots_adjust(left=0.03, right=0.97, top=0.84, bottom=0.2)
        self._draw(figure.add_subplot())
        out = BytesIO()
        figure.savefig(out, format=kind, dpi=DPI, facecolor="white")
        return out.getvalue()

    def _repr_svg_(self) -> str:
        """Show the picture in a notebook."""
        return self.render("svg").decode()

    def __repr__(self) -> str:
        """Say what is drawn."""
        return f"<picture of {len(self.trends):,} trends over {len(self.times):,} events>"

    # ---- drawing

    def _draw(self, axes: Axes) -> None:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

        clock = bool(len(self.times)) and isinstance(self.times[0], datetime)
        x = np.asarray(date2num(list(self.times)) if clock else self.times, float)  # type: ignore[no-untyped-call]
        names = list(dict.fromkeys(label for label in self.labels if label))
        color = dict(zip(names, COLORS * (1 + len(names) // len(COLORS)), strict=False))
        used = np.zeros(len(x), bool)
        for trend in self.trends:
            used[list(trend)] = True
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
        span = (high - low) or 1.0
        alpha = float(np.clip(3.0 / max(1, len(self.trends)), 0.18, 0.75))
        for number, trend in enumerate(self.trends):
            self._arcs(axes, x[list(trend)], span, COLORS[number % len(COLORS)], alpha)
        shown = used | _spread(len(x), DOTS)
        size = float(np.clip(900 / max(1, int(shown.sum())), 6, 46))
        for label in ["", *names]:
            which = np.array([one == label for one in self.labels], bool) & shown
            dots: dict[str, Any] = {
                "s": size if label else size * 0.5,
                "linewidths": 0,
                "clip_on": False,
                "zorder": 3,
            }
            faint = which & ~used
            axes.scatter(x[faint], np.zeros(faint.sum()), color=color.get(label, OTHER), alpha=0.35, **dots)
            strong = which & used
            edge: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.6}
            axes.scatter(
                x[strong], np.zeros(strong.sum()), color=color.get(label, OTHER), **(dots | edge | {"zorder": 4})
            )
        if len(x) <= NAMED:
            last = -np.inf
            for place, label in zip(x, self.labels, strict=True):
                if label and place - last >= 0.022 * span:
                    axes.annotate(shorten(label), (place, 0), (0, -15), textcoords="offset points", ha="center",
                                  size=8, color=color[label], parse_math=False)  # fmt: skip
                    last = place
        for name in names[: len(COLORS)]:
            axes.scatter([], [], color=color[name], s=36, label=shorten(name))
        if names:
            axes.legend(loc="upper right", bbox_to_anchor=(1.0, 1.22), ncols=len(names[:8]), frameon=False,
                        fontsize=9, handletextpad=0.1, columnspacing=1.0)  # fmt: skip
        axes.set_xlim(low - 0.02 * span, high + 0.02 * span)
        axes.set_ylim(-0.12, 1.02)
        axes.set_yticks([])
        for side in ("left", "right", "top"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color("#999999")
        axes.axhline(0, color="#dddddd", linewidth=1, zorder=0)
        axes.tick_params(axis="x", length=3, color="#999999", labelsize=9)
        if clock:
            locator = AutoDateLocator()  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_locator(locator)
            axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        at: dict[str, Any] = {"transform": axes.transAxes, "ha": "left", "parse_math": False}
        axes.text(0, 1.14, self.title, size=11, color=INK, **at)
        axes.text(0, 1.05, self.caption, size=9, color=FAINT, **at)

    def _arcs(self, axes: Axes, x: Any, span: float, color: str, alpha: float) -> None:
        """Draw a trend: an arc from each event to the next, the higher the further; a lonely event gets a ring."""
        if len(x) == 1:
            axes.scatter(
                x, [0.0], s=110, facecolors="none", edgecolors=color, alpha=alpha, linewidths=1.2, zorder=2
            )
            return
        bend = np.sin(np.linspace(0.0, np.pi, 33))
        along = (1 - np.cos(np.linspace(0.0, np.pi, 33))) / 2
        gap = np.diff(x)
        height = 0.08 + 0.9 * np.sqrt(gap / span)
        places = x[:-1, None] + gap[:, None] * along, height[:, None] * bend
        lines = [np.hstack([one, np.full((len(gap), 1), np.nan)]).ravel() for one in places]
        axes.plot(
            lines[0],
            lines[1],
            color=color,
            alpha=alpha,
            linewidth=1.3,
            solid_capstyle="round",
            zorder=1,
            clip_on=False,
        )


def _spread(count: int, most: int) -> Any:
    """Return which events are drawn: all, or some that are evenly apart."""
    chosen = np.zeros(count, bool)
    chosen[np.linspace(0, count - 1, min(count, most)).astype(np.int64)] = count > 0
    return chosen
