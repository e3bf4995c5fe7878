"""Make docs/concepts/measured.md and figures.md, with its plots, from the files of results and benchmarks/pages.

A table there whose header is `| line of NAME | what it means |` says what the lines of a benchmark mean: its first
column is a part of their names, with `*` for anything. Here it becomes a table of what was measured. `<<name ...>>`
calls a function of `figure_page`.

.venv/bin/python benchmarks/report.py            write the pages
.venv/bin/python benchmarks/report.py --check    fail if they are not what the files make them
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import figure_page, plots, record
from benchmarks.experiments import EXPERIMENTS

TEMPLATES = Path(__file__).parent / "pages"
PAGES = record.ROOT / "docs" / "concepts"
TABLE = re.compile(r"^\| line of (\w+) \|[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)*)", re.MULTILINE)
CALL = re.compile(r"^<<(\w+) ?([\w-]*)>>$", re.MULTILINE)
NOTE = "<!-- Made by benchmarks/report.py from benchmarks/pages/{} and benchmarks/results: change those. -->\n\n"


def page(template: str, folder: Path = record.RESULTS) -> str:
    """Return a template with its tables and calls filled from the files of results."""

    def fill(found: re.Match[str]) -> str:
        return "\n".join(table(found[1], found[2], record.read(found[1], folder))) + "\n"

    def call(found: re.Match[str]) -> str:
        made = getattr(figure_page, found[1])(*([found[2]] if found[2] else []), folder)
        return made if isinstance(made, str) else "\n".join(made).rstrip("\n")

    return CALL.sub(call, TABLE.sub(fill, template))


def table(name: str, meanings: str, content: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the table of a benchmark, and where and when it was measured."""
    rows = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in meanings.splitlines()]
    lines = record.lines_of(content)
    yield "| line | what it means | bound | measured | times of the last run |"
    yield "|---|---|---|---:|---|"
    used = set()
    for part, meaning in rows:
        matching = [line for line in lines if line.name not in used and _is_meant(part, line.name)]
        used |= {line.name for line in matching}
        for place, line in enumerate(matching):
            yield _row(f"`{line.name}`", "" if place else meaning, line)
        if not matching:
            yield f"| {part} | {meaning} | | not measured | |"
    for line in lines:
        if line.name not in used:
            yield _row(f"`{line.name}`", "", line)
    if lines:
        yield f"\n`{name}`: {origin(content)}."


def origin(content: dict[str, Any]) -> str:
    """Say when and where results were measured, and how often."""
    if "note" in content:
        return str(content["note"])
    machine, runs = content["machine"], content["runs"]
    where = f"{machine['cores']} cores of an {machine['processor']}, {machine['memory_gb']} GB"
    how = "one run" if runs == 1 else f"{runs} runs, the median and in brackets the span"
    load = f", while {machine['load']} processes wanted a core" if machine["load"] > machine["cores"] else ""
    return (
        f"{content['date'][:10]}, {content['commit']}, Python {content['versions']['python']}, {where}, {how}{load}"
    )


def _is_meant(part: str, name: str) -> bool:
    pattern = part.strip("`").replace("[", "[[]")
    return fnmatchcase(name, f"*{pattern}*")


def _row(name: str, meaning: str, line: record.Ratios) -> str:
    low, high = (f"{one:.2g}" if one < 10 else f"{one:.0f}" for one in (min(line.ratios), max(line.ratios)))
    middle = f"{line.median:.2f}" if line.median < 10 else f"{line.median:.0f}"
    span = f" ({low} to {high})" if low != high else ""
    missed = ", **not met**" if line.met is False else ""
    return f"| {name} | {meaning} | {line.bound} | {middle}{span}{missed} | {line.detail.replace('|', '/')} |"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the pages that are made, with their texts."""
    for template in sorted(TEMPLATES.glob("*.md")):
        yield PAGES / template.name, NOTE.format(template.name) + page(template.read_text())
    for experiment in EXPERIMENTS.values():
        content = figure_page.results(experiment)
        if content is not None and experiment.figure:
            yield PAGES / "figures" / f"{experiment.name}.svg", plots.plot(content)


def main() -> None:
    """Write the pages, or check them."""
    for path, text in pages():
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                sys.exit(f"{path} is not what benchmarks/report.py makes: run it")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            print(path.relative_to(record.ROOT))


if __name__ == "__main__":
    main()
