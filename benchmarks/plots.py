"""Plots of the figures as small SVG files: log axes, a line for each system, seconds beside peak memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLORS = {
    "Sparkleene": "#d62728",
    "two-step": "#7f7f7f",
    "sequences built": "#7f7f7f",
    "event graph": "#1f77b4",
    "flattened": "#9467bd",
    "per window": "#2ca02c",
    "prefix counts": "#2ca02c",
    "one by one": "#ff7f0e",
    "always shared": "#8c564b",
}
WIDTH, HEIGHT, LEFT, TOP = 250, 170, 52, 34
LEAST_MEGABYTES = 0.1
Series = Mapping[str, Sequence[tuple[float, float]]]


def plot(content: Mapping[str, Any]) -> str:
    """Return the plot of an experiment's results."""
    points = [point for point in content["points"] if point["seconds"] is not None]
    systems = list(dict.fromkeys(point["system"] for point in content["points"]))
    panels = (
        ("seconds", lambda point: point["seconds"]),
        ("peak MB beyond the input", lambda point: max(LEAST_MEGABYTES, point["peak_bytes"] / 1e6)),
    )
    parts = []
    for place, (title, value) in enumerate(panels):
        series = {
            name: sorted((float(point["x"]), float(value(point))) for point in points if point["system"] == name)
            for name in systems
        }
        parts += _panel(series, title, content["axis"], place * (WIDTH + LEFT + 24))
    width, height = 2 * (WIDTH + LEFT + 24), TOP + HEIGHT + 48
    for place, name in enumerate(systems):
        x = LEFT + place * 118
        parts.append(f'<rect x="{x}" y="6" width="14" height="4" fill="{COLORS[name]}"/>')
        parts.append(f'<text x="{x + 18}" y="12">{name}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _panel(series: Series, title: str, axis: str, x: int) -> Iterator[str]:
    across = [point[0] for line in series.values() for point in line]
    up = [point[1] for line in series.values() for point in line]
    left, right = math.log10(min(across)), math.log10(max(across))
    low, high = math.floor(math.log10(min(up))), math.ceil(math.log10(max(up)))
    right, high = max(right, left + 0.01), max(high, low + 1)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        over = LEFT + x + 8 + (math.log10(point[0]) - left) / (right - left) * (WIDTH - 16)
        return over, TOP + HEIGHT - (math.log10(point[1]) - low) / (high - low) * HEIGHT

    begin, end = LEFT + x, LEFT + x + WIDTH
    yield f'<rect x="{begin}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>'
    for power in range(low, high + 1):
        y = at((min(across), 10.0**power))[1]
        yield f'<path d="M{begin} {y:.0f}H{end}" stroke="#e5e5e5"/>'
        yield f'<text x="{begin - 4}" y="{y + 4:.0f}" text-anchor="end">{_short(10.0**power)}</text>'
    for value in sorted(set(across)):
        over = at((value, min(up)))[0]
        yield f'<text x="{over:.0f}" y="{TOP + HEIGHT + 14}" text-anchor="middle">{_short(value)}</text>'
    yield f'<text x="{begin + WIDTH / 2:.0f}" y="{TOP + HEIGHT + 32}" text-anchor="middle">{axis}</text>'
    yield f'<text x="{begin}" y="{TOP - 6}" fill="#555">{title}</text>'
    for name, line in series.items():
        places = [at(point) for point in line]
        if len(places) > 1:
            path = "L".join(f"{over:.1f} {y:.1f}" for over, y in places)
            thick = 2.5 if name == "Sparkleene" else 1.2
            yield f'<path d="M{path}" fill="none" stroke="{COLORS[name]}" stroke-width="{thick}"/>'
        for over, y in places:
            yield f'<circle cx="{over:.1f}" cy="{y:.1f}" r="2.5" fill="{COLORS[name]}"/>'


def _short(value: float) -> str:
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"
