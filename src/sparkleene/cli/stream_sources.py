"""Where the events of a stream come from: a folder, Kafka, files that are replayed, or a stream made up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkleene.cli.failures import usage_error
from sparkleene.cli.inputs import JSON, Reader, csv_options, parse_frame, read_raw_frame
from sparkleene.cli.options import Asked, queries_of
from sparkleene.cli.show import Format
from sparkleene.columns.fields import missing_column
from sparkleene.columns.files import PLAIN, TextOptions, open_files
from sparkleene.errors import Place
from sparkleene.language.printer import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
SOURCES = "give a folder, kafka://HOST:PORT/TOPIC, replay:FILES or generate:NAME"


UNITS = "microsecond|millisecond|second|minute|hour|day|week"


@dataclass(frozen=True)
class StreamRequest:
    """What the command `stream` is asked for."""

    query: Asked
    source: str
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    watermark: str = "1 minute"
    update: bool = False
    trigger: str | None = None
    once: bool = False
    output: str | None = None
    format: Format = "csv"
    checkpoint: str | None = None
    reader: Reader = field(default_factory=Reader)

    @property
    def time(self) -> str:
        """The column of event times."""
        return queries_of(self.query)[0].time

    @property
    def kind(self) -> str:
        """The kind of source: kafka, replay, generate or folder."""
        kind = self.source.partition(":")[0]
        return kind if kind in ("kafka", "replay", "generate") else "folder"

    @property
    def rest(self) -> str:
        """What follows the kind."""
        return self.source if self.kind == "folder" else self.source.partition(":")[2]


def check_request(wanted: StreamRequest) -> None:
    """Raise for a source or a delay that cannot be, before Spark is started."""
    if not re.fullmatch(rf"\s*(\d+\s*({UNITS})s?\s*)+", wanted.watermark.lower()):
        raise usage_error(f"--watermark is '{wanted.watermark}'", "give an interval, such as '10 seconds'")
    reader = wanted.reader
    if reader != Reader() and wanted.kind != "folder":
        given = "--columns" if reader.columns else "--delimiter" if reader.delimiter else "--time-format"
        raise usage_error(f"{given} is for a folder of files", "leave it out")
    reader.text_options(wanted.time)
    if reader.columns is not None and wanted.schema is not None and not _is_path(wanted.schema):
        help = "leave --columns out; --option header=false says that the files have no header"
        raise usage_error("--schema names the columns already", help)
    if wanted.kind == "generate":
        from sparkleene.generators import find

        find(wanted.rest)
    elif wanted.kind == "replay":
        open_files(wanted.rest)
    elif wanted.kind == "kafka":
        if not re.fullmatch(r"//[^/]+/[^/]+", wanted.rest):
            raise usage_error(f"'{wanted.source}' names no topic", "write kafka://HOST:PORT/TOPIC")
        if wanted.schema is None:
            help = "add --schema 'time timestamp, type string, ...', or a file with these columns"
            raise usage_error("nothing says what the topic's JSON has", help)
    elif not Path(wanted.source).is_dir():
        raise usage_error(f"there is no folder '{wanted.source}'", SOURCES, code="missing-file")
    else:
        _check_folder(wanted)


def _check_folder(wanted: StreamRequest) -> None:
    """Raise if nothing tells the columns or the format of the files that will come into a folder."""
    if any(path.is_file() for path in Path(wanted.source).rglob("[!._]*")):
        wanted.reader.open(wanted.source, wanted.time)
        return
    known = wanted.schema is not None and _is_path(wanted.schema)
    if wanted.schema is None or not (known or "format" in wanted.options):
        help = "say what will come: --schema 'time timestamp, type string, ...' --option format=csv"
        raise usage_error(f"the folder '{wanted.source}' has no files yet", help, code="missing-file")


def read_windows(spark: SparkSession, wanted: StreamRequest) -> DataFrame:
    """Return the windows of the query, or of several, over the stream."""
    frame = _read_events(spark, wanted)
    time = wanted.time
    if time not in frame.columns:
        raise missing_column(time, frame.columns, Place())
    from pyspark.sql import functions as F
    from pyspark.sql.types import TimestampNTZType

    quoted = quote(time)
    if isinstance(frame.schema[time].dataType, TimestampNTZType):  # which Spark has no watermarks for
        frame = frame.withColumn(time, F.col(quoted).cast("timestamp_ltz"))
    timed = frame.withWatermark(quoted if not time.isidentifier() else time, wanted.watermark)
    result: DataFrame = wanted.query.run(timed, output_mode="update" if wanted.update else "append")
    return result


def _read_events(spark: SparkSession, wanted: StreamRequest) -> DataFrame:
    if wanted.kind == "kafka":
        return _read_topic(spark, wanted)
    if wanted.kind == "folder":
        return _read_folder(spark, wanted)
    from sparkleene.spark import register

    register(spark)
    what = {"generate": wanted.rest}
    if wanted.kind == "replay":
        what = {"path": str(Path(wanted.rest).absolute()), "time": wanted.time}
    return spark.readStream.format("sparkleene.replay").options(**(what | dict(wanted.options))).load()


def _read_folder(spark: SparkSession, wanted: StreamRequest) -> DataFrame:
    """Return the files that come into a folder; those that are there tell the columns, or the option does."""
    text = wanted.reader.text_options(wanted.time)
    schema = _read_schema(spark, wanted.schema or wanted.source, text)
    options = dict(wanted.options)
    kind = options.pop("format", None)
    like = wanted.source if wanted.schema is None or not _is_path(wanted.schema) else wanted.schema
    known = None if kind is not None and not any(Path(like).rglob("[!._]*")) else open_files(like, text)
    kind = kind or (known.kind if known is not None else "")
    more: dict[str, Any] = {}
    if kind == "csv":
        sign = text.delimiter or (known.sources[0].delimiter if known is not None else ",")
        more = csv_options(sign, header=text.columns is None) | {"inferSchema": False}
    elif kind == "json":
        more = JSON
    from sparkleene.spark.text_times import load_whole_times

    reader, path = spark.readStream.format(kind).options(**(more | options)), str(Path(wanted.source).absolute())
    if kind == "parquet" or known is None:
        return parse_frame(reader.schema(schema).load(path), text)
    return parse_frame(load_whole_times(schema, lambda one: reader.schema(one).load(path)), text)


def _read_topic(spark: SparkSession, wanted: StreamRequest) -> DataFrame:
    """Return the messages of a topic, which are JSON."""
    from pyspark.errors import AnalysisException

    servers, topic = wanted.rest.removeprefix("//").split("/")
    what = {"kafka.bootstrap.servers": servers, "subscribe": topic} | dict(wanted.options)
    try:
        messages = spark.readStream.format("kafka").options(**what).load()
    except AnalysisException as error:
        if "kafka" not in str(error).lower() or "data source" not in str(error).lower():
            raise
        help = f"add --conf spark.jars.packages={CONNECTOR}:{spark.version}, or spark.jars with its jars"
        raise usage_error("Spark's Kafka connector is not there", help, code="unsupported-data") from None
    return decode_messages(messages, _read_schema(spark, str(wanted.schema)))


def decode_messages(messages: DataFrame, schema: StructType) -> DataFrame:
    """Return the columns in the JSON of messages; a message that is something else is an error."""
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")
    return messages.select(F.from_json(text, schema, {"mode": "FAILFAST"}).alias("event")).select("event.*")


def _read_schema(spark: SparkSession, given: str, text: TextOptions = PLAIN) -> StructType:
    """Return columns: those of files, or as SQL writes them; times that have a format are text."""
    if _is_path(given):
        return read_raw_frame(spark, open_files(given, text)).schema
    schema = spark.createDataFrame([], given).schema
    if text.format is None:
        return schema
    from pyspark.sql import types as T

    kinds = [(field.name, T.StringType() if field.name == text.time else field.dataType) for field in schema]
    return T.StructType([T.StructField(*each) for each in kinds])


def _is_path(given: str) -> bool:
    return len(given.split()) == 1 or Path(given).exists()
