"""Run the benchmarks and print every claim as a ratio of two times measured in the same run.

make bench                       all of them
make bench ARGS="dense keys"     some of them
make bench ARGS="--scale 0.1"    smaller inputs, for a quick look
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import (
    comparison,
    dense,
    keys,
    measures,
    spark_batch,
    spark_soak,
    spark_streaming,
    startup,
    workloads,
)

BENCHMARKS = {
    "dense": dense.run,
    "comparison": comparison.run,
    "keys": keys.run,
    "measures": measures.run,
    "startup": startup.run,
    "workloads": workloads.run,
    "spark_batch": spark_batch.run,
    "spark_streaming": spark_streaming.run,
    "spark_soak": spark_soak.run,
}


def main() -> None:
    """Parse the arguments and run what they name."""
    parser = argparse.ArgumentParser(description="Run the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"which: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the sizes of the inputs")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{'what':<58} {'ratio':>9}   {'bound':<10} detail")
    for name in arguments.names or BENCHMARKS:
        for line in BENCHMARKS[name](arguments.scale):
            print(line.show(), flush=True)


if __name__ == "__main__":
    main()
