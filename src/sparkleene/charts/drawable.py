"""What all charts can do: be saved, shown, and stand in a page, whatever is on them."""

from __future__ import annotations

import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from sparkleene.errors import Diagnostic, QueryError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("png", "svg", "pdf")
"""Kinds of files that a chart is saved as."""


class Drawable(ABC):
    """A chart, as text and as a picture."""

    __slots__ = ()

    @property
    @abstractmethod
    def headline(self) -> str:
        """What the chart is of, in a few words."""

    @property
    @abstractmethod
    def words(self) -> str:
        """All text on it that is the user's, for which fonts are looked for."""

    @abstractmethod
    def figure(self, make: Callable[..., Figure] | None = None) -> Figure:
        """Return a figure of matplotlib with the chart on it; `make` makes an empty one of a size."""

    @abstractmethod
    def text(self, width: int = 80, height: int = 16, color: bool = False, ascii: bool = False) -> str:
        """Return the chart as lines for a terminal."""

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
