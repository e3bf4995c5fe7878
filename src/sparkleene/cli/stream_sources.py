"""Where the events of a stream come from: a folder, Kafka, files that are replayed, or a stream made up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkleene.cli.failures import usage_error
from sparkleene.cli.inputs import JSON, Reader, csv_options, parse_frame, read_raw_frame
from sparkleene.cli.options import Asked, queries_of
from sparkleene.cli.show import Format
from sparkleene.cli.watch import Watch
from sparkleene.columns.fields import missing_column
from sparkleene.columns.files import PLAIN, TextOptions, open_files
from sparkleene.errors import Place
from sparkleene.evaluation import OutputMode
from sparkleene.language.bound import Window
from sparkleene.language.printer import quote
from sparkleene.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
ABOUT = ("key", "topic", "partition", "offset", "timestamp", "headers")
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
    headers: tuple[str, ...] = ()  # of messages, that become columns
    watch: Watch | None = None
    stats: bool = False  # whether to tell what queries shared

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
    if wanted.headers and wanted.kind != "kafka":
        raise usage_error("--headers is for messages of Kafka", "leave it out")
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
        if Path(wanted.schema).suffix == ".avsc" and not Path(wanted.schema).is_file():
            raise usage_error(f"there is no file '{wanted.schema}'", "give a schema of Avro", code="missing-file")
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


def read_windows(spark: SparkSession, wanted: StreamRequest, checkpoint: str) -> DataFrame:
    """Return the windows of the query, or of several, over the stream; several may be others than before."""
    frame = _read_events(spark, wanted)
    time = wanted.time
    if time not in frame.columns:
        raise missing_column(time, frame.columns, Place())
    from pyspark.sql import functions as F
    from pyspark.sql.types import TimestampNTZType

    quoted = quote(time)
    if isinstance(frame.schema[time].dataType, TimestampNTZType):  # which Spark has no watermarks for
        queries = queries_of(wanted.query)
        zone, windows = queries[0].prepared.options.timezone, [query.plan.bound.window for query in queries]
        if zone != "UTC" and any(isinstance(one, Window) and one.calendar is not None for one in windows):
            help = "leave out --timezone if they are those of clocks there, else write their zone behind them"
            raise usage_error(f"--timezone is '{zone}', and times in '{time}' have no time zone", help)
        frame = frame.withColumn(time, F.col(quoted).cast("timestamp_ltz"))
    timed = frame.withWatermark(quoted if not time.isidentifier() else time, wanted.watermark)
    mode: OutputMode = "update" if wanted.update else "append"
    result: DataFrame
    if isinstance(wanted.query, Workload) and (wanted.watch is not None or "://" not in checkpoint):
        result = wanted.query.run(timed, output_mode=mode, checkpoint=checkpoint)
    else:
        result = wanted.query.run(timed, output_mode=mode)
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
    """Return the messages of topics, which are JSON, or Avro where the schema is one of Avro."""
    from pyspark.errors import AnalysisException

    servers, topic = wanted.rest.removeprefix("//").split("/")
    what = {"kafka.bootstrap.servers": servers, "subscribe": topic} | dict(wanted.options)
    if wanted.headers:
        what["includeHeaders"] = "true"
    try:
        messages = spark.readStream.format("kafka").options(**what).load()
    except AnalysisException as error:
        if "kafka" not in str(error).lower() or "data source" not in str(error).lower():
            raise
        help = f"add --conf spark.jars.packages={CONNECTOR}:{spark.version}, or spark.jars with its jars"
        raise usage_error("Spark's Kafka connector is not there", help, code="unsupported-data") from None
    given = str(wanted.schema)
    if Path(given).suffix != ".avsc":
        return decode_messages(messages, _with_zones(_read_schema(spark, given)), wanted.headers)
    from pyspark.sql.avro.functions import from_avro

    try:
        event = from_avro("value", Path(given).read_text(), {"mode": "FAILFAST"})
        return with_message(messages, event, wanted.headers)
    except AnalysisException as error:
        if "avro" not in str(error).lower():
            raise
        help = f"add org.apache.spark:spark-avro_2.13:{spark.version} to --conf spark.jars.packages"
        raise usage_error("Spark's Avro package is not there", help, code="unsupported-data") from None


def _with_zones(schema: StructType) -> StructType:
    """Return columns whose times may have a zone in their text; those without one are UTC, as everywhere here."""
    from pyspark.sql import types as T

    def kind(type: T.DataType) -> T.DataType:
        return T.TimestampType() if isinstance(type, T.TimestampNTZType) else type

    return T.StructType([T.StructField(field.name, kind(field.dataType)) for field in schema])


def decode_messages(messages: DataFrame, schema: StructType, headers: Sequence[str] = ()) -> DataFrame:
    """Return the columns in the JSON of messages; a message that is something else is an error."""
    from pyspark.sql import functions as F

    text = F.col("value").cast("string")
    return with_message(messages, F.from_json(text, schema, {"mode": "FAILFAST"}), headers)


def with_message(messages: DataFrame, event: Column, headers: Sequence[str] = ()) -> DataFrame:
    """Return the columns of an event beside those of its message, where these have names of their own.

    A header becomes a column of text, NULL where a message has none; of several with one name the last counts.
    """
    from pyspark.sql import functions as F

    found = messages.withColumn("key", F.col("key").cast("string")).withColumn("event", event)
    named = set(found.select("event.*").columns)
    about = [name for name in ABOUT if name in messages.columns and name not in named]
    for name in headers:
        if name in named or name in about:
            raise usage_error(f"'{name}' is a header, and a column already", "leave it out of --headers")
    return found.select("event.*", *about, *(_read_header(name).alias(name) for name in headers))


def _read_header(name: str) -> Column:
    """Return the text of a header."""
    from pyspark.sql import functions as F

    same = F.filter("headers", lambda one: one["key"] == F.lit(name))
    return F.try_element_at(same, F.lit(-1))["value"].cast("string")


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
