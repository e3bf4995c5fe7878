"""A chart of a funnel: for each step how many came to it, and how many were lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkleene.charts.cells import ASCII, BLOCKS, Ink, draw_bar, fit, width_of
from sparkleene.charts.data import one_line
from sparkleene.charts.drawable import Drawable
from sparkleene.charts.make import describe_window
from sparkleene.charts.text import paint

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Group:
    """The steps of one group: users, and what share of the first step and of the step before they are."""

    name: str
    users: tuple[int, ...]
    share: tuple[float, ...]
    previous: tuple[float | None, ...]
    seconds: tuple[float | None, ...] = ()  # from the step before, on average

    def loss(self, step: int) -> float | None:
        """Return the share of the step before that did not come, None for the first step and of nobody."""
        previous = self.previous[step]
        return None if step == 0 or previous is None else 1 - previous


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunnelChart(Drawable):
    """A chart of a funnel; `Funnel.plot` makes one."""

    steps: tuple[str, ...]
    groups: tuple[Group, ...]
    by: str = ""
    title: str = ""
    window: str = ""
    left_out: int = 0
    dated: bool = False  # times are in seconds

    @property
    def headline(self) -> str:
        """Return the title, or what is drawn."""
        return self.title or f"funnel of {' → '.join(self.steps)}"

    @property
    def words(self) -> str:
        """Return the title and the names on the chart."""
        return "".join([self.title, self.by, *self.steps, *(group.name for group in self.groups)])

    @property
    def caption(self) -> str:
        """Say what the bars are."""
        more = f"and {self.left_out:,} group{'s'[: self.left_out > 1]} more" if self.left_out else ""
        notes = [self.window, more]
        note = ", ".join(one for one in notes if one)
        what = f"users by step and {self.by}" if self.by else "users by step"
        return f"{what} ({note})" if note else what

    def time(self, group: Group, step: int) -> str:
        """Write the average time from the step before, '' if it is not known."""
        seconds = group.seconds[step] if group.seconds else None
        if seconds is None or step == 0:
            return ""
        return f"⌀ {describe_seconds(seconds) if self.dated else f'{seconds:,.4g}'}"

    def figure(self, make: Callable[..., Figure] | None = None) -> Figure:
        """Return a figure of matplotlib with the chart on it."""
        from sparkleene.charts.funnel_picture import draw_funnel

        return draw_funnel(self, make)

    def text(self, width: int = 80, height: int = 16, color: bool = False, ascii: bool = False) -> str:
        """Return the chart as lines for a terminal: a bar for each step and group, as long as its share.

        A line says how many users there are, what share of the first step that is, and what share of the step
        before was lost. The chart is as high as it needs to be.
        """
        width, ink = max(40, width), ASCII if ascii else BLOCKS
        head = [fit(line, width, ink).rstrip() for line in (self.title, self.caption) if line]
        if not self.groups:
            return "\n".join([*head, "  no rows"])
        return "\n".join([*head, *self._lines(width, color, ink)])

    def _lines(self, width: int, color: bool, ink: Ink) -> list[str]:
        """Draw the bars."""
        minus = "-" if ink is ASCII else "−"
        several = len(self.groups) > 1 or bool(self.by)
        rows = [(step, g) for step in range(len(self.steps)) for g in range(len(self.groups))]
        names = [self.steps[step] if g == 0 else "" for step, g in rows]
        groups = [self.groups[g].name if several else "" for _, g in rows]
        ends = []
        for step, g in rows:
            group = self.groups[g]
            lost = group.loss(step)
            mark = self.time(group, step)
            mark = mark.replace("⌀", "avg") if ink is ASCII else mark
            ends.append(
                (
                    f"{group.users[step]:,}",
                    f"{group.share[step]:.1%}",
                    "" if lost is None else f"{minus if lost > 0 else ''}{abs(lost):.1%}",
                    mark,
                )
            )
        sides = [max(map(width_of, column)) for column in zip(*ends, strict=True)]
        left = min(max(map(width_of, names)), width // 4)
        middle = min(max(map(width_of, groups)), width // 5)
        room = width - left - middle - bool(middle) - 1 - sum(sides) - 2 * sum(map(bool, sides))
        if room < 8:  # there is no place for times
            ends, sides = [(*end[:3], "") for end in ends], [*sides[:3], 0]
            room = width - left - middle - bool(middle) - 1 - sum(sides) - 2 * sum(map(bool, sides))
        lines = []
        for (step, g), name, group_name, end in zip(rows, names, groups, ends, strict=True):
            bar = draw_bar(self.groups[g].share[step], max(4, room), 0.0, ink)
            words = [fit(word, side, ink, right=True) for word, side in zip(end, sides, strict=True) if side]
            label = f"{fit(name, left, ink)} " + (f"{fit(group_name, middle, ink)} " if middle else "")
            line = f"{bar}  {'  '.join(words)}".rstrip()
            lines.append(f"{label}{paint(line, g) if color else line}".rstrip())
            if several and len(self.groups) > 1 and g + 1 == len(self.groups) and step + 1 < len(self.steps):
                lines.append("")
        return lines

    def __repr__(self) -> str:
        """Say what is drawn."""
        return f"<chart of a funnel of {len(self.steps)} steps, {len(self.groups) or 'no'} groups>"


def funnel_chart(
    table: pa.Table, *, groups: Sequence[str] = (), title: str = "", most: int = 6, dated: bool = False
) -> FunnelChart:
    """Prepare a chart of the rows of a funnel in one window; of more than `most` groups those with the most users.

    >>> shares = {"share_of_first": [1.0, 0.4], "share_of_previous": [1.0, 0.4]}
    >>> rows = pa.table({"step": [1, 2], "name": ["View", "Buy"], "users": [50, 20], **shares})
    >>> print(funnel_chart(rows).text(width=48))
    users by step
    View ███████████████████████  50  100.0%
    Buy  █████████▎               20   40.0%  −60.0%
    """
    by = one_line(", ".join(groups))
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in table.sort_by("step").to_pylist():
        rows.setdefault(one_line(", ".join(str(row[name]) for name in groups)), []).append(row)
    found = [_group(name, some) for name, some in rows.items()]
    largest = sorted(found, key=lambda group: -group.users[0])[:most]
    steps = tuple(one_line(row["name"]) for row in next(iter(rows.values()), []))
    window = describe_window(table) if "window_start" in table.column_names and table.num_rows else ""
    shown = tuple(sorted(largest, key=lambda group: group.name))
    return FunnelChart(steps, shown, by, one_line(title), window, len(found) - len(largest), dated)


def _group(name: str, rows: Sequence[dict[str, Any]]) -> Group:
    """Return the steps of one group."""
    return Group(
        name,
        tuple(row["users"] for row in rows),
        tuple(row["share_of_first"] or 0.0 for row in rows),
        tuple(row["share_of_previous"] for row in rows),
        tuple(row.get("avg_time") for row in rows),
    )


def describe_seconds(seconds: float) -> str:
    """Write a length of time in one unit.

    >>> describe_seconds(0.25), describe_seconds(95), describe_seconds(5400), describe_seconds(200_000)
    ('0.25 s', '1.6 min', '1.5 h', '2.3 days')
    """
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds / size >= 10 else f"{seconds / size:.2g} {unit}"
    return f"{seconds:.3g} s"
