"""What docs/concepts/figures.md says of each figure: its plot, one sentence, and where we are not ahead."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import record
from benchmarks.experiments import ASEQ, COGRA, GRETA, HAMLET, OURS, SCALING, Experiment

AHEAD = 1.1  # times ours that the best other may take less, for what is not the machine's noise
LEAST = 0.01  # seconds; below them the fixed cost of a query counts
PAPERS = {"COGRA": COGRA, "GRETA": GRETA, "A-Seq": ASEQ, "HAMLET": HAMLET}


def results(experiment: Experiment, folder: Path = record.RESULTS) -> dict[str, Any] | None:
    """Return what was measured of an experiment, None if nothing was."""
    content = record.read(f"figures/{experiment.name}", folder)
    return content if "points" in content else None


def figures(paper: str, folder: Path = record.RESULTS) -> Iterator[str]:
    """Yield the lines of a paper's figures."""
    for experiment in PAPERS[paper]:
        content = results(experiment, folder)
        if content is None:
            continue
        yield f"**{experiment.figure}.** {experiment.says} {compare(content)}\n"
        yield f"![{experiment.figure}](figures/{experiment.name}.svg)\n"


def compare(content: dict[str, Any]) -> str:
    """Say how the best other system did where it did most, and where it was faster than we."""
    seconds = {(point["system"], point["x"]): point["seconds"] for point in content["points"]}
    values = list(dict.fromkeys(point["x"] for point in content["points"]))
    systems = [name for name in dict.fromkeys(point["system"] for point in content["points"]) if name != OURS]
    said, behind = [], []
    for name in systems:
        both = [x for x in values if seconds.get((name, x)) and seconds.get((OURS, x))]
        if both:
            ratio = seconds[name, both[-1]] / seconds[OURS, both[-1]]
            last = f"{name} {_times(ratio)} at {both[-1]:,}"
            said.append(last + (" and no further" if both[-1] != values[-1] else ""))
        for x in values:
            one, other = seconds.get((OURS, x)), seconds.get((name, x))
            if other and (one is None or (one > LEAST and one > AHEAD * other)):
                behind.append(
                    f"{name} at {x:,}" + (f" ({one / other:.1f} times)" if one else " (we exceed the limit)")
                )
    text = f"Their time by ours: {'; '.join(said)}." if said else ""
    return text + (f" **Faster than we:** {', '.join(behind)}." if behind else "")


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times" if ratio < 100 else f"{ratio:,.0f} times"


def exponents(folder: Path = record.RESULTS) -> Iterator[str]:
    """Yield the table of how our time grows: the exponent of x that fits the times of the larger half best."""
    yield "| what grows | query | times | exponent |"
    yield "|---|---|---|---:|"
    for experiment in SCALING:
        content = results(experiment, folder)
        if content is None:
            continue
        points = [(p["x"], p["seconds"]) for p in content["points"] if p["system"] == OURS and p["seconds"]]
        times = ", ".join(f"{x:,}: {_seconds(seconds)}" for x, seconds in points)
        slope = f"{fit(points[-max(2, len(points) // 2 + 1) :]):.2f}" if len(points) > 1 else ""
        yield f"| {experiment.axis} | {experiment.says} | {times} | {slope} |"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def fit(points: list[tuple[float, float]]) -> float:
    """Return the exponent k of the power x^k that fits points best, by least squares of logarithms."""
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    middle, level = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True)) / sum((x - middle) ** 2 for x in xs)


def circumstances(folder: Path = record.RESULTS) -> str:
    """Say when and where the figures were measured."""
    found = [content for paper in PAPERS.values() for one in paper if (content := results(one, folder))]
    if not found:
        return "Nothing has been measured yet."
    machine = found[-1]["machine"]
    where = f"{machine['cores']} cores of an {machine['processor']}, {machine['memory_gb']} GB"
    days = sorted({content["date"][:10] for content in found})
    sizes = ", ".join(sorted({f"{content['size']}, {content['limit']:g} s for a point" for content in found}))
    load = max(content["machine"]["load"] for content in found)
    busy = f"; up to {load:g} processes wanted a core meanwhile" if load > machine["cores"] else ""
    return f"Measured {' and '.join(days)} on {where}, one thread ({sizes}){busy}."
