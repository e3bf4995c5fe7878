"""Results as files: what was measured, how often, and on which machine, in `benchmarks/results/NAME.json`."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common import Line

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("sparkleene", "numpy", "numba", "pyarrow", "pyspark")
SLACK = 1.35  # how much worse than the worst stored run a ratio is before it counts as a loss


@dataclass(frozen=True)
class Ratios:
    """One line over several runs of its benchmark."""

    name: str
    ratios: tuple[float, ...]
    bound: str
    detail: str

    @property
    def median(self) -> float:
        """The middle of the runs."""
        return median(self.ratios)

    @property
    def limit(self) -> tuple[str, float] | None:
        """The bound as a comparison and a number, None if there is none."""
        sign, _, number = self.bound.partition(" ")
        return (sign, float(number)) if number else None

    @property
    def met(self) -> bool | None:
        """Whether the median keeps the bound, None if there is none."""
        if self.limit is None:
            return None
        sign, number = self.limit
        found = self.median
        return {"<=": found <= number, "<": found < number, ">=": found >= number, ">": found > number}[sign]

    def is_lost(self, stored: Ratios) -> bool:
        """Tell whether every run is clearly worse than every stored one."""
        if self.limit is None:
            return False
        if self.limit[0] in (">", ">="):
            return max(self.ratios) * SLACK < min(stored.ratios)
        return min(self.ratios) > SLACK * max(stored.ratios)

    def as_json(self) -> dict[str, Any]:
        """Return what the file has of it."""
        return {
            "name": self.name,
            "ratios": [float(f"{one:.4g}") for one in self.ratios],
            "median": float(f"{self.median:.4g}"),
            "low": float(f"{min(self.ratios):.4g}"),
            "high": float(f"{max(self.ratios):.4g}"),
            "bound": self.bound,
            "met": self.met,
            "detail": self.detail,
        }


def gather(runs: Iterable[Iterable[Line]]) -> list[Ratios]:
    """Return the lines of several runs of a benchmark, each once, with the detail of its last run."""
    found: dict[str, Ratios] = {}
    for run in runs:
        for line in run:
            before = found[line.name].ratios if line.name in found else ()
            found[line.name] = Ratios(line.name, (*before, float(line.ratio)), line.bound, line.detail)
    return list(found.values())


def circumstances() -> dict[str, Any]:
    """Return when, where and with what something is measured."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": _commit(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "system": f"{platform.system()} {platform.machine()}",
            "load": round(os.getloadavg()[0], 1),
        },
        "versions": {"python": platform.python_version()} | _versions(),
    }


def write(name: str, content: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write a file of results."""
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def read(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Return the content of a file of results, with nothing in it if there is none."""
    path = folder / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"lines": []}
    return found


def lines_of(content: Mapping[str, Any]) -> list[Ratios]:
    """Return the lines of a file."""
    return [
        Ratios(line["name"], tuple(line["ratios"]), line["bound"], line["detail"])
        for line in content["lines"]
        if line["ratios"]
    ]


def losses(found: Iterable[Ratios], stored: Iterable[Ratios]) -> list[str]:
    """Return a sentence for each line that is clearly worse than the stored one."""
    before = {line.name: line for line in stored}
    return [
        f"{line.name}: {line.median:.2f}, it was {before[line.name].median:.2f} (bound {line.bound})"
        for line in found
        if line.name in before and line.is_lost(before[line.name])
    ]


def _commit() -> str:
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
    ]
    return names[0] if names else platform.processor()


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
