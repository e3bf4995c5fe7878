"""Run the benchmarks, print every claim as a ratio of two times of the same run, and keep the results as files.

make bench                          a set that takes about ten minutes on two quiet cores, figures included
make bench-full                     everything, each benchmark three times: hours
make bench ARGS="dense keys"        some of them
make bench ARGS="dense --scale 0.1"   smaller inputs, for a quick look; no file is written
make bench-check                    fast ratios against stored ones; fails where one is clearly worse
make bench-check ARGS=--store       store them anew
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import (
    comparison,
    dense,
    funnel,
    keys,
    live_peers,
    measures,
    pains,
    people,
    record,
    spark_batch,
    spark_soak,
    spark_streaming,
    startup,
    trends,
    whole_trends,
    windows,
    workloads,
)
from benchmarks.common import Line

BENCHMARKS: dict[str, Callable[[float], Iterator[Line]]] = {
    "dense": dense.run,
    "comparison": comparison.run,
    "keys": keys.run,
    "measures": measures.run,
    "funnel": funnel.run,
    "startup": startup.run,
    "trends": trends.run,
    "whole_trends": whole_trends.run,
    "windows": windows.run,
    "workloads": workloads.run,
    "spark_batch": spark_batch.run,
    "spark_streaming": spark_streaming.run,
    "spark_soak": spark_soak.run,
    "people": people.run,
    "pains": pains.run,
    "peers": live_peers.run,
}
QUICK = ("dense", "comparison", "keys", "trends", "whole_trends", "windows", "workloads")
CHECKED = {"dense": 0.1, "comparison": 0.2, "keys": 0.1, "whole_trends": 0.02, "windows": 0.1}  # with their scales


def main() -> None:
    """Parse the arguments and run what they name."""
    parser = argparse.ArgumentParser(description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"which: {', '.join(BENCHMARKS)} (default: a set)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the sizes of the inputs")
    parser.add_argument("--repeat", type=int, default=1, help="how often each benchmark runs")
    parser.add_argument("--full", action="store_true", help="all benchmarks, three times each")
    parser.add_argument("--check", action="store_true", help="compare fast ratios with those stored")
    parser.add_argument("--store", action="store_true", help="with --check: store the ratios instead")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{'what':<58} {'ratio':>9}   {'bound':<10} detail")
    if arguments.check:
        check(arguments.store)
    else:
        names = arguments.names or (BENCHMARKS if arguments.full else QUICK)
        for name in names:
            keep(name, arguments.scale, max(arguments.repeat, 3 if arguments.full else 1))


def keep(name: str, scale: float, repeat: int) -> None:
    """Run a benchmark some times; write its file if the inputs have their full size."""
    about, begin = record.circumstances(), time.perf_counter()
    found = record.gather(shown(BENCHMARKS[name](scale)) for _ in range(repeat))
    content = about | {
        "benchmark": name,
        "runs": repeat,
        "seconds": round(time.perf_counter() - begin),
        "lines": [line.as_json() for line in found],
    }
    if scale == 1.0:
        print(f"  {record.write(name, content).relative_to(record.ROOT)}, {content['seconds']} s", flush=True)


def check(store: bool) -> None:
    """Run fast benchmarks at small sizes; store their ratios, or fail where one is clearly worse than stored."""
    about = record.circumstances()
    found = record.gather(shown(BENCHMARKS[name](scale)) for _ in range(3) for name, scale in CHECKED.items())
    if store:
        lines = [line.as_json() for line in found if line.limit]
        print(record.write("check", about | {"benchmark": "check", "runs": 3, "lines": lines}))
        return
    lost = record.losses(found, record.lines_of(record.read("check")))
    print("\n".join(lost) or "nothing is clearly worse than stored")
    sys.exit(bool(lost))


def shown(lines: Iterator[Line]) -> Iterator[Line]:
    """Print lines as they come."""
    for line in lines:
        print(line.show(), flush=True)
        yield line


if __name__ == "__main__":
    main()
