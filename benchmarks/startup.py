"""What a person waits for: the import, the first result with and without compiled kernels in the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import Line

FIRST = """
import time
begin = time.perf_counter()
import sparkleene as sk
import pyarrow as pa
table = pa.table({"time": [1, 2, 3], "type": ["A", "A", "B"], "x": [1.0, 2.0, 3.0]})
sk.query("RETURN COUNT(*) PATTERN SEQ(A+, B)").run(table)
sk.query("RETURN SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x").run(table)
print(time.perf_counter() - begin)
"""


def _seconds(code: str, cache: str) -> float:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure fresh processes; the baseline is an import of pyarrow and numpy alone."""
    timed = "import time; b = time.perf_counter(); import {}; print(time.perf_counter() - b)"
    with tempfile.TemporaryDirectory() as cache:
        base = min(_seconds(timed.format("pyarrow, numpy"), cache) for _ in range(3))
        import_ = min(_seconds(timed.format("sparkleene"), cache) for _ in range(3))
        yield Line(
            "import sparkleene / import pyarrow and numpy", import_ / base, "", f"{import_:.3f} s (bound: 0.3 s)"
        )
        cold = _seconds(FIRST, cache)
        warm = min(_seconds(FIRST, cache) for _ in range(2))
        yield Line("first results, kernels not compiled / cached", cold / warm, "", f"{cold:.1f} s, {warm:.2f} s")
        shutil.rmtree(Path(cache), ignore_errors=True)
