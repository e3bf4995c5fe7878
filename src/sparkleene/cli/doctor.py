"""What is there and what is wrong: Python, packages, kernels, Java, Spark, and a query whose result is known."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sparkleene import __version__
from sparkleene.cli.engines import show_bytes
from sparkleene.cli.failures import spark_message
from sparkleene.cli.progress import show_progress
from sparkleene.errors import SparkleeneError, first_line
from sparkleene.spark.class_archive import describe as describe_classes
from sparkleene.spark.session import JAVA, find_java, java_version, local_cores, memory_of_machine

NEEDED = ("numba", "numpy", "pyarrow", "typer")
OPTIONAL = ("pyspark", "pandas", "polars", "matplotlib", "rich")
QUERY = "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B)"
ROWS = {"time": [1, 2, 3], "type": ["A", "A", "B"], "x": [1, 2, 4]}
WANTED = {"count": 3.0, "sum_A_x": 6.0}
MASTER = "local[1]"
NO_SPARK = "pip install 'sparkleene[spark]', or go without: --engine local, doctor --no-spark"
REINSTALL = "reinstall sparkleene, numba and numpy"


@dataclass(frozen=True)
class Finding:
    """A line of the page, and what to do if it says that something is wrong."""

    name: str
    text: str
    help: str | None = None
    """None where all is well."""


def run_doctor(spark: bool) -> bool:
    """Print the page and tell whether all is well."""
    problems = 0
    with show_progress("looking around") as line:
        for found in examine(spark):
            with line.aside():
                print(f"{'ok   ' if found.help is None else 'WRONG'}  {found.name:<11}  {found.text}")
                if found.help is not None:
                    problems += 1
                    print(f"{'':7}help: {found.help}")
                sys.stdout.flush()
    print(f"{problems} problem{'s'[: problems != 1]} found" if problems else "all is well")
    return not problems


def examine(spark: bool = True) -> Iterator[Finding]:
    """Yield what there is, and what is wrong with it, one after the other."""
    where = f"at {sys.executable}, sparkleene {__version__} at {Path(__file__).parents[1]}"
    old = sys.version_info < (3, 11)
    yield Finding("Python", f"{platform.python_version()} {where}", "install Python 3.11 or newer" if old else None)
    yield from _packages()
    memory, cores = memory_of_machine(), local_cores("local[*]")
    few = None if memory >= 1 << 30 else "give the machine or the container at least 1 GB"
    yield Finding("machine", f"{cores} cores, {show_bytes(memory)} of memory, {platform.platform()}", few)
    yield _kernels()
    yield _test_here()
    if spark:
        yield from _examine_spark()


def _packages() -> Iterator[Finding]:
    for name in NEEDED:
        found = version_of(name)
        yield Finding(name, found or "not installed", None if found else f"pip install {name}")
    some = [f"{name} {found}" for name in OPTIONAL if (found := version_of(name))]
    missing = [name for name in OPTIONAL if not version_of(name)]
    lacking = f"; not installed: {', '.join(missing)}" if missing else ""
    yield Finding("optional", (", ".join(some) or "none") + lacking)


def version_of(name: str) -> str | None:
    """Return the version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _kernels() -> Finding:
    """Tell whether kernels are compiled already, and where those that are compiled here are kept."""
    from sparkleene.kernels.store import describe, own_folder, prebuilt_folder

    if prebuilt_folder() is None and own_folder() is None:
        return Finding("kernels", describe(), "let NUMBA_CACHE_DIR name a folder that can be written")
    return Finding("kernels", describe())


def _test_here() -> Finding:
    import pyarrow as pa

    from sparkleene.query import query

    start = time.monotonic()
    try:
        rows = query(QUERY).run(pa.table(ROWS)).to_pylist()
    except Exception as error:  # whatever it is, it is what a person wants to know here
        return Finding("query here", f"fails: {first_line(error)}", REINSTALL)
    return _judge("query here", rows, time.monotonic() - start)


def _judge(name: str, rows: list[dict[str, Any]], seconds: float) -> Finding:
    """Return whether the rows of the test are right."""
    if rows == [WANTED]:
        return Finding(name, f"right, {seconds:.1f} s")
    return Finding(name, f"wrong: {rows} for {WANTED}", f"{REINSTALL}, and report it")


def _examine_spark() -> Iterator[Finding]:
    """Yield what there is of Spark; nothing of it is started where it cannot run."""
    if version_of("pyspark") is None:
        yield Finding("Spark", "PySpark is not installed", NO_SPARK)
        return
    try:
        java, origin = find_java()
    except SparkleeneError as error:
        yield Finding("Java", error.diagnostics[0].message, error.diagnostics[0].help)
        return
    number, (oldest, newest) = java_version(java), JAVA
    good = number is not None and oldest <= number <= newest
    help = f"install Java {oldest} to {newest} and let JAVA_HOME name its folder"
    yield Finding("Java", f"{number or 'does not run'}, {java}, by {origin}", None if good else help)
    if good:
        yield Finding("classes", describe_classes(java))
        yield from _test_spark()


def _test_spark() -> Iterator[Finding]:
    """Yield which Python the workers of a session run, and whether a query gives the right numbers there."""
    from sparkleene.cli.spark_session import start_spark
    from sparkleene.query import query
    from sparkleene.spark.workers import ask_workers, check_workers

    name, start = "Spark", time.monotonic()
    try:
        with start_spark(MASTER, None) as spark:
            yield Finding(name, f"{spark.version}, started in {time.monotonic() - start:.1f} s")
            name = "workers"
            python, _ = ask_workers(spark)
            check_workers(spark)
            origin = "PYSPARK_PYTHON" if "PYSPARK_PYTHON" in os.environ else "this process"
            yield Finding(name, f"run {python}, by {origin}")
            name, start = "query there", time.monotonic()
            rows = list(zip(*ROWS.values(), strict=True))
            frame = spark.createDataFrame(rows, "time bigint, type string, x bigint")
            yield _judge(name, query(QUERY).run(frame).toArrow().to_pylist(), time.monotonic() - start)
    except SparkleeneError as error:
        one = error.diagnostics[0]
        yield Finding(name, one.message, one.help or "look at the message")
    except Exception as error:  # of Spark: whatever it is, it is what a person wants to know here
        help = "look at JAVA_HOME, SPARK_HOME, PYSPARK_PYTHON and spark-defaults.conf"
        yield Finding(name, spark_message(error).splitlines()[0], help)
