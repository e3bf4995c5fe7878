"""Many sub-streams in random order, from a Parquet file; and the memory that a run takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkleene as sk
from benchmarks.common import KLEENE, Line, best

TEXT = f"RETURN user, COUNT(*) PATTERN {KLEENE} GROUP-BY user WITHIN 1 hour SLIDE 1 hour"
_MEMORY = """
import resource, sys
import pyarrow as pa, pyarrow.parquet as pq
import sparkleene as sk
q = sk.query(sys.argv[2])
q.run(pq.read_table(sys.argv[1]).slice(0, 1000))  # kernels loaded
table = pq.read_table(sys.argv[1], read_dictionary=["type"])
def peak():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
def now():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
open("/proc/self/clear_refs", "w").write("5")  # the high-water mark starts anew
before = now()
q.run(table)
print((peak() - before) / table.nbytes, table.nbytes)
"""


def events(path: str, rows: int, users: int) -> None:
    """Write a file of events of many users in random order of keys, in time order."""
    rng = np.random.default_rng(1)
    kinds = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, 3, rows).astype(np.int8)), pa.array(["A", "B", "C"])
    )
    table = pa.table(
        {
            "time": pa.array(np.arange(rows, dtype=np.int64)).cast(pa.timestamp("ms")),
            "type": kinds,
            "user": pa.array(rng.integers(0, users, rows)),
            "payload": pa.array(rng.random(rows)),
        }
    )
    pq.write_table(table, path)


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure 10 million events of 100,000 users."""
    rows, users = int(10_000_000 * scale), int(100_000 * scale)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "events.parquet")
        events(path, rows, users)

        def read() -> None:
            table = pq.read_table(path, columns=["time", "type", "user"], read_dictionary=["type"])
            table["user"].dictionary_encode()

        base = best(read)
        q = sk.query(TEXT)
        seconds = best(lambda: q.run(path))
        yield Line(
            f"{rows:,} events, {users:,} sub-streams / read and encode", seconds / base, "<= 3", f"{seconds:.2f} s"
        )
        for name, text in (("by user", TEXT), ("one sub-stream", f"RETURN COUNT(*) PATTERN {KLEENE}")):
            done = subprocess.run(
                [sys.executable, "-c", _MEMORY, path, text], capture_output=True, text=True, check=True
            )
            ratio, size = done.stdout.split()
            yield Line(
                f"peak memory beyond the input / needed columns, {name}",
                float(ratio),
                "<= 3",
                f"input {int(size) / 1e6:.0f} MB",
            )
