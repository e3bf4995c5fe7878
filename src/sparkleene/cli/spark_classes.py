"""Spark's classes for later sessions: Spark starts once, runs what most sessions run, and Java writes them.

`python -m sparkleene.cli.spark_classes FOLDER` is that session; its JVM has been told where to write.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sparkleene.query import query
from sparkleene.spark.class_archive import OPTIONS, archive_file
from sparkleene.spark.session import session

_SECONDS = 600
_STALE_SECONDS = 30 * 24 * 3600
QUERY = "RETURN k, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k WITHIN 10 seconds SLIDE 10 seconds"


def keep_classes(java: str) -> str:
    """Make the archive unless it is there; return what became of it, in a few words."""
    file = archive_file(java)
    try:
        if not file.exists():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_stale(file.parent)
            _make(file)
    except (OSError, subprocess.SubprocessError) as error:
        return f"not kept: {getattr(error, 'stderr', None) or error}".strip()
    if not file.exists():
        return f"not kept: {java} writes no class data archive"
    return f"kept in {file}, {file.stat().st_size >> 20} MB"


def _make(file: Path) -> None:
    """Let a session write an archive; it takes its place when it is whole."""
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".new-") as folder:
        made = Path(folder, "classes.jsa")
        told = f'{os.environ.get(OPTIONS, "")} "-XX:ArchiveClassesAtExit={made}" -Xlog:disable'
        subprocess.run(
            [sys.executable, "-m", __name__, folder],
            env=os.environ | {OPTIONS: told}, capture_output=True, text=True, timeout=_SECONDS, check=True,
        )  # fmt: skip
        if made.exists():
            made.chmod(0o600)
            os.replace(made, file)


def _remove_stale(folder: Path) -> None:
    """Delete archives that are older than a month: of Javas and Sparks that are perhaps gone."""
    for one in folder.glob("*.jsa"):
        with suppress(OSError):
            if one.stat().st_mtime < time.time() - _STALE_SECONDS:
                one.unlink()


def _train(folder: Path) -> None:
    """Run what most sessions run, a frame, files and a stream, and wait until the JVM has ended."""
    from pyspark import SparkContext
    from pyspark.sql import functions as F

    asked = query(QUERY)
    with session("sparkleene warm", master="local[2]", config={"spark.sql.shuffle.partitions": "2"}) as spark:
        rows: Any = spark.range(200).select(
            F.timestamp_seconds("id").alias("time"),
            F.when(F.expr("id % 3 = 0"), "B").otherwise("A").alias("type"),
            F.expr("id % 2").alias("k"),
            F.expr("CAST(id AS DOUBLE)").alias("x"),
        )
        rows.coalesce(2).write.parquet(str(folder / "rows"))
        asked.run(spark.read.parquet(str(folder / "rows"))).collect()
        asked.run(str(folder / "rows"), engine="spark").toArrow()
        stream = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "rows"))
        written = asked.run(stream.withWatermark("time", "1 second")).writeStream.format("parquet")
        written = written.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
        written.start(str(folder / "sink")).awaitTermination()
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()  # at which the JVM ends
    gateway.proc.wait()


if __name__ == "__main__":
    _train(Path(sys.argv[1]))
