"""Charts of several queries, by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkleene.charts.chart import Chart


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Charts(Mapping[str, Chart]):
    """A chart for each query of a workload, by the query's name; a notebook shows them one below the other."""

    charts: dict[str, Chart]

    def text(self, width: int = 80, height: int = 16, color: bool = False, ascii: bool = False) -> str:
        """Return all charts as lines for a terminal; see `Chart.text`."""
        return "\n\n".join(chart.text(width, height, color, ascii) for chart in self.charts.values())

    def show(self) -> None:
        """Show all charts; see `Chart.show`."""
        for chart in self.charts.values():
            chart.show()

    def _repr_html_(self) -> str:
        """Show all charts in a notebook."""
        return "".join(f"<div>{chart.to_html()}</div>" for chart in self.charts.values())

    def __getitem__(self, name: str) -> Chart:
        return self.charts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.charts)

    def __len__(self) -> int:
        return len(self.charts)

    def __str__(self) -> str:
        """Return the charts as text."""
        return self.text()

    def __repr__(self) -> str:
        """Name the queries."""
        return f"<charts of {', '.join(self.charts)}>"
