"""Spark for the workbench: a session that starts when somebody first asks for it, and how far its jobs are."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkleene.columns.files import Files
from sparkleene.serve.worker import Context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK = 0.5  # seconds between two looks at how far a job is


def start_spark(context: Context) -> SparkSession:
    """Return the session of this process."""
    from sparkleene.spark import session
    from sparkleene.spark.session import QUIET, local_cores

    if "spark" not in context.memory:
        context.tell(phase="starting Spark")
        logging.disable()  # what fails is told to whoever asked
        few = {"spark.sql.shuffle.partitions": str(local_cores("local[*]") or 2)}
        context.memory["spark"] = session(config=QUIET | few)
    found: SparkSession = context.memory["spark"]
    return found


def to_frame(spark: SparkSession, data: pa.Table | Files) -> Any:
    """Return data as Spark takes it: the paths of Parquet files, else a DataFrame."""
    if isinstance(data, Files):
        if data.kind == "parquet":
            return [str(source.path) for source in data.sources]
        data = data.read(data.names)
    return spark.createDataFrame(data)


def run_on_spark(context: Context, asked: Any, data: pa.Table | Files) -> pa.Table:
    """Run a query, a workload or a funnel over data on Spark."""
    spark = start_spark(context)
    context.tell(phase="handing over to Spark")
    given = to_frame(spark, data)
    engine = "spark" if isinstance(given, list) else None
    with tell_progress(context, spark):
        table: pa.Table = asked.run(given, engine=engine).toArrow()
    names = [name for name in ("window_start", "window_end") if name in table.column_names]
    return table.sort_by([(name, "ascending") for name in names]) if names else table


@contextmanager
def tell_progress(context: Context, spark: SparkSession) -> Iterator[None]:
    """Tell how far Spark's jobs are while they run."""
    done = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def look() -> None:
        told = ""
        while not done.wait(LOOK):
            stages = [tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds())]
            for one in [stage for stage in stages if stage is not None][-1:]:
                text = f"Spark: stage {one.stageId}, {one.numCompletedTasks} of {one.numTasks} tasks"
                if text != told:
                    context.tell(phase=text, done=one.numCompletedTasks, of=one.numTasks)
                told = text

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
