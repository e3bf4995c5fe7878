"""A chart: what is drawn, and the ways to see it."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

from sparkleene.charts.data import Series
from sparkleene.charts.scale import Scale
from sparkleene.charts.times import Axis
from sparkleene.errors import Diagnostic, QueryError

KINDS = ("png", "svg", "pdf")
"""Kinds of files that a chart is saved as."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chart:
    """A chart of one aggregate; make one with `sparkleene.charts.chart`.

    `series` are the groups that are drawn and `left_out` how many are not; without an `axis` of windows each has a
    bar, and `window` says which window it is of, if any.
    """

    value: str
    series: tuple[Series, ...]
    scale: Scale
    axis: Axis | None = None
    title: str = ""
    by: str = ""
    left_out: int = 0
    window: str = ""

    @property
    def empty(self) -> str:
        """Return why there is nothing to draw, or ''."""
        if not self.series:
            return "no rows"
        return "" if any(series.y.present().any() for series in self.series) else "no values"

    @property
    def beyond(self) -> bool:
        """Tell whether there are infinite values, of which only the sign is known."""
        return any(bool((series.y.log10 == float("inf")).any()) for series in self.series)

    def more(self, drawn: int) -> str:
        """Say how many groups there are beside those that are drawn, or ''."""
        count = self.left_out + len(self.series) - drawn
        return "" if not count else f"and {count:,} group{'s'[: count > 1]} more"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a picture to a file, PNG, SVG or PDF by the end of its name."""
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind not in KINDS:
            message = f"'{os.fspath(path)}' does not end in .png, .svg or .pdf"
            raise QueryError(Diagnostic("bad-option", message, help="a chart is saved as PNG, SVG or PDF"))
        from sparkleene.charts.picture import render

        Path(path).write_bytes(render(self, kind))

    def show(self) -> None:
        """Show the chart: in a notebook as its output, else in a window if matplotlib has one, else as text."""
        from sparkleene.charts.show import show

        show(self)

    def text(self, width: int = 80, height: int = 16, color: bool = False, ascii: bool = False) -> str:
        """Return the chart as lines for a terminal, a panel per group; of width 24 and height 4 at least.

        Where there are more windows than columns, a column shows the largest value of its windows. Characters are
        blocks, or with `ascii` plain ones.
        """
        from sparkleene.charts.text import text

        return text(self, width, height, color, ascii)

    def to_html(self) -> str:
        """Return the picture to put into a page, or the text where there is no matplotlib."""
        return self._repr_svg_() or f"<pre>{escape(self.text())}</pre>"

    def _repr_svg_(self) -> str | None:
        """Show the picture in a notebook; None, for its text, where there is no matplotlib."""
        if importlib.util.find_spec("matplotlib") is None:
            return None
        from sparkleene.charts.picture import render

        return render(self, "svg").decode()

    def _repr_html_(self) -> str | None:
        """Show the text in a notebook where the picture cannot be drawn."""
        return self.to_html() if importlib.util.find_spec("matplotlib") is None else None

    def __str__(self) -> str:
        """Return the chart as text."""
        return self.text()

    def __repr__(self) -> str:
        """Say what is drawn."""
        over = f" over {self.axis.windows:,} windows" if self.axis else ""
        return f"<chart of {self.value}{over}, {len(self.series) or 'no'} series>"
