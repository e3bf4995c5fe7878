"""Run the papers' figures: time, events per second and peak memory of every system for every value of x.

.venv/bin/python benchmarks/figures.py --quick             all figures, small: some minutes
.venv/bin/python benchmarks/figures.py --full              up to 100 million events, a minute for a point: hours
.venv/bin/python benchmarks/figures.py --quick cogra-10    some of them
.venv/bin/python benchmarks/report.py                      then make plots and pages of the results

Each point runs in a process of its own, with a time limit; a system that exceeds it is not asked for more work. All
systems run on one thread. What they find is compared with what Sparkleene finds.
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa

import sparkleene as sk
from benchmarks import baselines, record
from benchmarks.experiments import EXPERIMENTS, OURS, Experiment, Texts
from sparkleene.workload import workload

LIMITS = {"quick": 3.0, "full": 60.0}  # seconds of a point
ENOUGH = 0.3  # seconds of repeated runs of a point


@dataclass(frozen=True)
class Point:
    """What a system took for a value of x, and what it found: how many counts, their sum, how many are infinite."""

    seconds: float
    peak: int  # bytes beyond the input
    found: tuple[int, float, int]


def solver(system: str, texts: Texts, threads: int) -> Callable[[pa.Table], list[float]]:
    """Return what a system does with a stream; the queries are read and planned before."""
    if len(texts) > 1 and system in (OURS, "one by one", "always shared"):
        sharing: Any = {OURS: "auto", "one by one": "never", "always shared": "always"}[system]
        several = workload(texts, sharing)
        return lambda table: _counts(several.run(table, threads=threads))
    queries = [sk.query(text) for text in texts.values()]
    if system in (OURS, "one by one"):
        return lambda table: [count for q in queries for count in _counts(q.run(table, threads=threads))]
    return lambda table: [count for q in queries for count in baselines.run(system, q, table)]


def _counts(result: pa.Table) -> list[float]:
    return [count for count in result["count"].to_pylist() if count]


def summary(counts: list[float]) -> tuple[int, float, int]:
    """Return what of the counts is compared."""
    finite = [count for count in counts if count < math.inf]
    return len(counts), math.fsum(finite) if sum(finite) < math.inf else math.inf, len(counts) - len(finite)


def measure(task: Callable[[], list[float]], warm: Callable[[], list[float]]) -> Point:
    """Run a task some times after another; return the shortest time, and the memory of the first."""
    warm()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    before = _status("VmRSS")
    begin = time.perf_counter()
    counts = task()
    times = [time.perf_counter() - begin]
    peak = max(0, _status("VmHWM") - before)
    while sum(times) < ENOUGH and len(times) < 5:
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return Point(min(times), peak, summary(counts))


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field}")


def apart(task: Callable[[], list[float]], warm: Callable[[], list[float]], limit: float) -> Point | None:
    """Measure a task in a process of its own; return None if it takes longer than the limit."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with os.fdopen(writing, "wb") as out:
                pickle.dump(measure(task, warm), out)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as given:
        ready, _, _ = select.select([given], [], [], limit)
        content = given.read() if ready else b""
        if not ready:
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if ready and status:
        raise RuntimeError("a point failed; see above")
    return pickle.loads(content) if ready else None


def run(experiment: Experiment, size: str, values: Sequence[int] = ()) -> dict[str, Any]:
    """Run an experiment, with other values of x if given; return its points, and where results are not the same."""
    waiting, points, differences = list(experiment.systems), [], []
    for x in values or experiment.values(size == "full"):
        texts, table = experiment.ask(x)
        threads = experiment.threads or x
        found: dict[str, Point] = {}
        for system in list(waiting):
            solve = solver(system, texts, threads)
            few = table.slice(0, 12 if system in baselines.SYSTEMS else 2000)
            solve(few)  # compiled, and kernels loaded, in this process
            point = apart(partial(solve, table), partial(solve, few), LIMITS[size] + 1)
            if point is None or point.seconds > LIMITS[size]:
                waiting.remove(system)
                point = None
            else:
                found[system] = point
            points.append({"x": x, "system": system, "events": len(table)} | _measured(point, len(table)))
            shown = "beyond the limit" if point is None else f"{point.seconds:10.4f} s {point.peak / 1e6:10.1f} MB"
            print(f"{experiment.name:<17} {x:>12,} {system:<16} {shown}", flush=True)
        for system, point in found.items():
            if OURS in found and not _alike(point.found, found[OURS].found):
                differences.append(f"{experiment.name}, {x}: {system} {point.found}, {OURS} {found[OURS].found}")
    return {"axis": experiment.axis, "figure": experiment.figure, "points": points, "differences": differences}


def _measured(point: Point | None, events: int) -> dict[str, Any]:
    if point is None:
        return {"seconds": None}
    seconds = float(f"{point.seconds:.4g}")
    return {"seconds": seconds, "events_per_second": round(events / point.seconds), "peak_bytes": point.peak}


def _alike(one: tuple[int, float, int], other: tuple[int, float, int]) -> bool:
    return one[0] == other[0] and one[2] == other[2] and math.isclose(one[1], other[1], rel_tol=1e-9)


def main() -> None:
    """Run the experiments that are named, or all, and write a file for each."""
    parser = argparse.ArgumentParser(description="Run the papers' figures.")
    parser.add_argument("names", nargs="*", metavar="name", help="which; default: all")
    parser.add_argument("--full", action="store_true", help="large inputs, a minute for a point")
    parser.add_argument("--quick", action="store_true", help="small inputs, 3 seconds for a point (default)")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(EXPERIMENTS)
    if unknown:
        parser.error(f"no experiment named {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}")
    size = "full" if arguments.full else "quick"
    warnings.simplefilter("ignore", sk.SparkleeneWarning)  # the first events need not have all types
    begin, differences = time.perf_counter(), []
    for name in arguments.names or EXPERIMENTS:
        content = record.circumstances() | {"size": size, "limit": LIMITS[size]} | run(EXPERIMENTS[name], size)
        differences += content["differences"]
        record.write(f"figures/{name}", content)
    print(f"{time.perf_counter() - begin:.0f} s; now run: .venv/bin/python benchmarks/report.py")
    if differences:
        sys.exit("\n".join(["not the same results:", *differences]))


if __name__ == "__main__":
    main()
