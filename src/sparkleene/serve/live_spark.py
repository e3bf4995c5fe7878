"""A query over a stream of Spark, watched: a replay, a folder that files come into, or a topic of Kafka."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkleene.columns.files import Files
from sparkleene.errors import Diagnostic, QueryError
from sparkleene.query import Query
from sparkleene.serve.datasets import HOUR, find_path
from sparkleene.serve.live import send_windows
from sparkleene.serve.on_spark import start_spark
from sparkleene.serve.queries import compile_query
from sparkleene.serve.worker import Context
from sparkleene.spark.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEP = 0.3  # seconds between two looks at the stream


def run_live_on_spark(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Watch a query over a stream of Spark until it ends."""
    q = compile_query(body)
    spark = start_spark(context)
    context.tell(phase="starting the stream")
    events = read_events(context, spark, q, body)
    windows = q.run(events.withWatermark(q.time, f"{float(body.get('delay', 10)) * 1000:.0f} milliseconds"))
    report = Report()
    with tempfile.TemporaryDirectory(dir=context.folder) as checkpoint:
        while True:
            ended = watch(context, windows, checkpoint, report)
            if ended:
                return {"ended": True, "windows": report.windows, "late": report.late, "events": report.rows}
            while context.pipe.recv() != "go on":
                pass


@dataclass
class Report(Tally):
    """What a stream has done so far, as the page shows it."""

    windows: int = 0

    def update(self, progress: Sequence[Any]) -> dict[str, Any] | None:
        """Take in what batches report; return the latest of it, None where nothing is new."""
        new = self.count(progress)
        if not new:
            return None
        last = new[-1]
        mark = (last.eventTime or {}).get("watermark", "")
        return {
            "rows": self.rows,
            "of": None,
            "rate": last.processedRowsPerSecond,
            "arriving": last.inputRowsPerSecond,
            "watermark": mark[:19] if mark[:4] > "1970" else None,
            "state": sum(store.memoryUsedBytes for store in last.stateOperators),
            "late": self.late,
            "windows": self.windows,
        }


def watch(context: Context, windows: DataFrame, checkpoint: str, report: Report) -> bool:
    """Let the stream go on from its checkpoint; tell whether it has ended, or was paused."""

    def send(batch: DataFrame, number: int) -> None:
        table = batch.toArrow()
        names = [name for name in ("window_start", "window_end") if name in table.column_names]
        report.windows += table.num_rows
        send_windows(context, table.sort_by([(name, "ascending") for name in names]) if names else table)

    writer = windows.writeStream.option("checkpointLocation", checkpoint).outputMode("append")
    running = writer.foreachBatch(send).start()
    try:
        while not running.awaitTermination(STEP):  # type: ignore[arg-type]  # fractions of a second are fine
            stats = report.update(running.recentProgress)
            if stats is not None:
                context.tell(stats=_finite(stats))
            if context.pipe.poll() and context.pipe.recv() == "pause":
                return False
        return True
    finally:
        running.stop()


def _finite(stats: dict[str, Any]) -> dict[str, Any]:
    """Return numbers as JSON has them."""
    return {name: 0.0 if isinstance(one, float) and one - one != 0 else one for name, one in stats.items()}


def read_events(context: Context, spark: SparkSession, q: Query, body: Mapping[str, Any]) -> DataFrame:
    """Return the stream of a request."""
    from sparkleene.spark import register

    kind, _, name = str(body["data"]["name"]).partition(":")
    if kind == "kafka":
        return read_topic(context, spark, name)
    register(spark)
    options: dict[str, str] = {"speed": str(body.get("speed", 60)), "time": q.time}
    if body.get("shuffle"):
        options["disorder"] = f"{float(body['shuffle']) * 1000:.0f} milliseconds"
    if kind == "generate":
        events = int(body["data"].get("events", 20_000))
        options |= {"generate": name, "events": str(events), "generate.rate": str(events / HOUR)}
        options["generate.seed"] = str(int(body["data"].get("seed", 0)))
    else:
        path = find_path(name, context.settings)
        if path.is_dir():
            return read_folder(spark, context.table(body["data"]), str(path))
        options["path"] = str(path)
    return spark.readStream.format("sparkleene.replay").options(**options).load()


def read_folder(spark: SparkSession, files: pa.Table | Files, path: str) -> DataFrame:
    """Return the files that come into a folder; those that are there tell the columns."""
    assert isinstance(files, Files)
    schema = spark.createDataFrame(files.empty()).schema
    reader = spark.readStream.schema(schema)
    if files.kind == "csv":
        reader = reader.option("header", True).option("sep", files.sources[0].delimiter)
    return reader.format(files.kind).load(path)


def read_topic(context: Context, spark: SparkSession, name: str) -> DataFrame:
    """Return the messages of a topic that was given at the start, which are JSON."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F

    topic = next((one for one in context.settings.topics if one.name == name), None)
    if topic is None:
        raise QueryError(Diagnostic("missing-file", f"there is no topic '{name}' here"))
    what = {"kafka.bootstrap.servers": topic.servers, "subscribe": topic.topic}
    try:
        messages = spark.readStream.format("kafka").options(**what).load()
    except AnalysisException:
        help = "start Spark with its package: spark.jars.packages in spark-defaults.conf"
        raise QueryError(
            Diagnostic("unsupported-data", "Spark's Kafka connector is not there", help=help)
        ) from None
    schema = spark.createDataFrame([], topic.schema).schema
    text = F.col("value").cast("string")
    return messages.select(F.from_json(text, schema, {"mode": "FAILFAST"}).alias("event")).select("event.*")
