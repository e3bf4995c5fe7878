"""What a person waits for: the import, and the first answer of a fresh process, by kind of query.

make bench ARGS="startup"            with prebuilt kernels, and with an empty cache for two kinds
STARTUP=every make bench ARGS="startup"    with an empty cache for every kind, some minutes
STARTUP=install make bench ARGS="startup"  also `make setup`, `make demo`, `make wheel` of a fresh copy, ten minutes
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import Line

ROOT = Path(__file__).parents[1]

FIRST = """
import sys, time
begin = time.perf_counter()
import sparkleene as sk
name, text, data = sys.argv[1:]
if name.startswith("workload"):
    texts = text.splitlines()
    ask = lambda: sk.workload({str(i): one for i, one in enumerate(texts)}, sharing="always").run(data)
elif name.startswith("trends"):
    order = name.partition(", ")[2] or "first"
    ask = lambda: sk.query(text).trends(data, order=order)
elif name == "why":
    ask = lambda: sk.query(text).why(data)
elif name.startswith("funnel"):
    ask = lambda: sk.funnel(text.split(), by="k").run(data)
else:
    ask = lambda: sk.query(text, numbers="exact" if name.endswith("exact") else "double").run(data)
ask()
first = time.perf_counter() - begin
begin = time.perf_counter()
ask()
print(first, time.perf_counter() - begin)
"""

SPARK = """
import sys, time
import sparkleene as sk
data, what = sys.argv[1:]
with sk.spark.session(master="local[2]") as spark:
    frame = spark.read.parquet(data).cache()
    frame.count()
    frame.mapInArrow(lambda batches: batches, frame.schema).count()  # so that Python workers run
    def bare():  # the same shuffle to Python workers, which do nothing
        moved = frame.select("time", "x").repartition(1)
        return moved.mapInArrow(lambda batches: batches, moved.schema)
    def query():
        return sk.query("RETURN SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x").run(frame)
    for _ in range(2):
        begin = time.perf_counter()
        (query if what == "query" else bare)().collect()
        print(time.perf_counter() - begin)
"""

FALLS = "A.x < NEXT(A).x"
KINDS = {
    "counts": "RETURN COUNT(*) PATTERN SEQ(A+, B)",
    "sums by key": "RETURN k, SUM(A.x), MIN(B.x) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k WITHIN 10 SLIDE 5",
    "comparison": f"RETURN SUM(A.x) PATTERN A+ WHERE {FALLS}",
    "two comparisons": f"RETURN COUNT(*) PATTERN A+ WHERE {FALLS} AND A.y > NEXT(A).y",
    "next match": f"RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) SEMANTICS skip-till-next-match WHERE {FALLS}",
    "contiguous": f"RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE {FALLS}",
    "scan": "RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).y < 3",
    "negation": "RETURN COUNT(*) PATTERN SEQ(A+, NOT B, A)",
    "comparison, exact": f"RETURN SUM(A.k) PATTERN A+ WHERE {FALLS}",
    "trends": "RETURN COUNT(*) PATTERN SEQ(A+, B)",
    "trends, longest": "RETURN COUNT(*) PATTERN SEQ(A+, B)",
    "trends, sample": "RETURN COUNT(*) PATTERN SEQ(A+, B)",
    "why": "RETURN COUNT(*) PATTERN SEQ(A+, B)",
    "measures": "RETURN AVG(DURATION), MAX(LENGTH) PATTERN SEQ(A+, B)",
    "each": "RETURN COUNT(EACH A) PATTERN SEQ(A+, B)",
    "gaps": "RETURN COUNT(*) PATTERN A+ WHERE GAP <= 2",
    "sessions": "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN SESSION 2",
    "short trends": "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE DURATION <= 3",
    "first against last": "RETURN COUNT(*) PATTERN A+ WHERE LAST(A.x) > FIRST(A.x)",
    "maximal": "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous maximal",
    "funnel": "A B C",
    "workload": "RETURN COUNT(*) PATTERN SEQ(A, B+)\nRETURN COUNT(*) PATTERN SEQ(C, B+)",
}
COLD = ("counts", "comparison")  # the kinds that are also asked with an empty cache
LARGE = 20_000  # rows: for some kinds too many for kernels that run as plain Python


def _output(code: str, *arguments: str, **environment: str) -> list[float]:
    command = [sys.executable, "-c", code, *arguments]
    kept = {"PYTHONDONTWRITEBYTECODE": ""}  # an installed package has its modules compiled to bytecode
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | kept | environment)
    return [float(one) for one in done.stdout.split()]


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure fresh processes."""
    timed = "import time; b = time.perf_counter(); import {}; print(time.perf_counter() - b)"
    base = min(_output(timed.format("pyarrow, numpy"))[0] for _ in range(3))
    import_ = min(_output(timed.format("sparkleene"))[0] for _ in range(3))
    yield Line(
        "import sparkleene / import pyarrow and numpy", import_ / base, "", f"{import_:.3f} s (bound: 0.3 s)"
    )
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "events.parquet"))
        rows = {
            "time": range(6),
            "type": "AABACB",
            "x": [1.0, 2, 3, 4, 2, 1],
            "y": [3.0, 2, 1, 5, 2, 1],
            "k": [0] * 6,
        }
        pq.write_table(pa.table({name: list(column) for name, column in rows.items()}), data)
        large = str(Path(folder, "many.parquet"))
        many = {name: list(column) * (LARGE // 6) for name, column in rows.items()} | {
            "time": range(LARGE // 6 * 6)
        }
        pq.write_table(pa.table({name: list(column) for name, column in many.items()}), large)
        for name, text in KINDS.items():
            found = [_output(FIRST, name, text, data, SPARKLEENE_COMPILE="never") for _ in range(3)]
            first, again = min(one[0] for one in found), min(one[1] for one in found)
            yield Line(
                f"first answer / second, {name}", first / again, "", f"{first:.2f} s (bound: 1.0 s), {again:.4f} s"
            )
            if name in COLD or os.environ.get("STARTUP") == "every":
                for size, path in (("", data), (f", {LARGE:,} rows", large)):
                    with tempfile.TemporaryDirectory() as cache:
                        empty = {"NUMBA_CACHE_DIR": cache, "SPARKLEENE_PREBUILT": "ignore"}
                        cold, _ = _output(FIRST, name, text, path, **empty)
                    first, _ = _output(FIRST, name, text, path, SPARKLEENE_COMPILE="never")
                    detail = f"{cold:.1f} s (bound: 6 s), {first:.2f} s"
                    yield Line(f"nothing compiled / prebuilt, {name}{size}", cold / first, "", detail)
        one, two = _fresh_sessions(data, "query")
        bare, again = _fresh_sessions(data, "bare")
        detail = (
            f"{one:.2f} s, {two:.2f} s (bound: 1.5 s more); a job that does nothing {bare:.2f} s, {again:.2f} s"
        )
        yield Line("first job / second on Spark", one / two, "", detail)

    if os.environ.get("STARTUP") == "install":
        yield from _install()


def _install() -> Iterator[Line]:
    """Measure a checkout that nothing was done in: how long it takes to be ready, and what it gives to others."""
    names = (".venv", ".git", "build", "dist", "prebuilt", ".*_cache", ".hypothesis", "__pycache__")
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(ROOT, Path(folder, "sparkleene"), ignore=shutil.ignore_patterns(*names))
        seconds = {}
        for target in ("setup", "demo", "wheel"):
            begin = time.perf_counter()
            without = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MAKEFLAGS")}
            subprocess.run(["make", "-s", "-C", copy, target], env=without, capture_output=True, check=True)
            seconds[target] = time.perf_counter() - begin
        [wheel] = Path(copy, "dist").glob("*.whl")
        detail = f"{seconds['setup']:.0f} s, {seconds['demo']:.0f} s"
        yield Line("make setup / make demo, of a fresh copy", seconds["setup"] / seconds["demo"], "", detail)
        size = wheel.stat().st_size / 1e6
        yield Line("the wheel / 30 MB", size / 30, "<= 1", f"{size:.1f} MB, built in {seconds['wheel']:.0f} s")


def _fresh_sessions(data: str, what: str) -> tuple[float, float]:
    """Return the times of the first and the second job of a session, the least of three sessions."""
    found = [_output(SPARK, data, what, SPARKLEENE_COMPILE="never") for _ in range(3)]
    return min(one for one, _ in found), min(two for _, two in found)
