"""A chart: what is drawn, and the ways to see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkleene.charts.data import Series
from sparkleene.charts.drawable import Drawable
from sparkleene.charts.scale import Scale
from sparkleene.charts.times import Axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chart(Drawable):
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

    @property
    def headline(self) -> str:
        """Return the title, or what is drawn."""
        return self.title or self.value

    @property
    def words(self) -> str:
        """Return the title and the names on the chart."""
        return "".join([self.title, self.value, *(series.name for series in self.series)])

    def figure(self, make: Callable[..., Figure] | None = None) -> Figure:
        """Return a figure of matplotlib with the chart on it."""
        from sparkleene.charts.picture import figure

        return figure(self, make)

    def text(self, width: int = 80, height: int = 16, color: bool = False, ascii: bool = False) -> str:
        """Return the chart as lines for a terminal, a panel per group; of width 24 and height 4 at least.

        Where there are more windows than columns, a column shows the largest value of its windows. Characters are
        blocks, or with `ascii` plain ones.
        """
        from sparkleene.charts.text import text

        return text(self, width, height, color, ascii)

    def __repr__(self) -> str:
        """Say what is drawn."""
        over = f" over {self.axis.windows:,} windows" if self.axis else ""
        return f"<chart of {self.value}{over}, {len(self.series) or 'no'} series>"
