"""Streams from a real broker of Kafka and back to it, and the how-to page, run as it is."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests import test_docs
from tests.external.broker import Broker
from tests.external.jars import KAFKA, fetch_jars

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.external

TEXT = "RETURN user, COUNT(*) PATTERN SEQ(View V+, Buy B) WHERE [user] GROUP-BY user WITHIN 1 minute SLIDE 1 minute"
QUERY: dict[str, Any] = {"time": "at", "type": "event"}
COLUMNS = "at timestamp, event string, user long"
AVRO = """{"type": "record", "name": "Click", "fields": [
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "event", "type": "string"}, {"name": "user", "type": "long"}]}"""


@pytest.fixture(scope="module", autouse=True)
def _connector() -> None:
    fetch_jars("kafka", KAFKA)


def clicks(*words: str, user: int = 7) -> list[tuple[int, str, int]]:
    """Read `v1 b9` as a View after a second and a Buy after nine."""
    return [(int(word[1:]), "View" if word[0] == "v" else "Buy", user) for word in words]


def frame(spark: SparkSession, rows: Sequence[tuple[int, str, int]]) -> DataFrame:
    made = spark.createDataFrame(list(rows), "second long, event string, user long")
    return made.select((F.lit(1709510400) + F.col("second")).cast("timestamp").alias("at"), "event", "user")


def send(
    spark: SparkSession, broker: Broker, topic: str, rows: Sequence[tuple[int, str, int]], partition: int = 0
) -> None:
    """Write events as JSON to a partition of a topic."""
    found = frame(spark, rows).select(
        F.to_json(F.struct("*")).alias("value"), F.col("user").cast("string").alias("key"),
        F.lit(partition).alias("partition"), F.lit(topic).alias("topic"),
    )  # fmt: skip
    found.coalesce(1).write.format("kafka").option("kafka.bootstrap.servers", broker.address).save()


def read(spark: SparkSession, broker: Broker, topics: str, **options: str) -> DataFrame:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.address)
    return reader.option("subscribe", topics).options(**{"startingOffsets": "earliest"} | options).load()


def events(messages: DataFrame) -> DataFrame:
    return messages.select(F.from_json(F.col("value").cast("string"), COLUMNS).alias("e")).select("e.*")


def counts(rows: Sequence[Any]) -> list[tuple[int, float]]:
    return sorted((row["user"], row["count"]) for row in rows)


class Kept:
    """The rows of a stream, by batch."""

    def __init__(self) -> None:
        self.batches: dict[int, list[Any]] = {}

    def take(self, rows: DataFrame, number: int) -> None:
        self.batches[number] = rows.collect()

    @property
    def rows(self) -> list[Any]:
        return [row for rows in self.batches.values() for row in rows]


def start(frame: DataFrame, take: Any, folder: Path) -> StreamingQuery:
    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "checkpoint"))
    return writer.start()


def wait(until: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline, "not within the time"
        time.sleep(0.5)


def ended(frame: DataFrame, folder: Path) -> list[Any]:
    """Return what a stream gives of what is there."""
    kept = Kept()
    writer = frame.writeStream.foreachBatch(kept.take).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(240)
    return kept.rows


def test_several_topics_and_starting_offsets(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    send(spark, broker, "one", [*clicks("v1", "v2"), *clicks("v1", user=8)])
    send(spark, broker, "two", [*clicks("b9"), *clicks("b9", user=8), *clicks("v900")], partition=1)
    q = sk.query(TEXT, **QUERY)
    found = ended(q.run(events(read(spark, broker, "one,two")).withWatermark("at", "5 seconds")), tmp_path / "a")
    assert counts(found) == [(7, 3.0), (8, 1.0)]
    begin = json.dumps({"one": {"0": 1, "1": -2}, "two": {"0": -2, "1": -2}})  # without the first message
    stream = events(read(spark, broker, "one,two", startingOffsets=begin)).withWatermark("at", "5 seconds")
    assert counts(ended(q.run(stream), tmp_path / "b")) == [(7, 1.0), (8, 1.0)]


def test_avro_keys_and_headers(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    from pyspark.sql.avro.functions import from_avro, to_avro

    rows = [*clicks("v1", "v2", "b9"), *clicks("v3", "b5", user=8), *clicks("v900")]
    header = F.array(F.struct(F.lit("device").alias("key"), F.lit("phone").cast("binary").alias("value")))
    found = frame(spark, rows).select(
        to_avro(F.struct("at", "event", "user"), AVRO).alias("value"), header.alias("headers"),
        F.concat(F.lit("k"), F.col("user")).alias("key"), F.lit(0).alias("partition"),
    )  # fmt: skip
    writer = found.coalesce(1).write.format("kafka").option("kafka.bootstrap.servers", broker.address)
    writer.option("topic", "avro").option("includeHeaders", "true").save()
    device = F.col("headers")[0]["value"].cast("string").alias("device")
    topic = read(spark, broker, "avro", includeHeaders="true")
    stream = topic.select(from_avro("value", AVRO).alias("e"), F.col("key").cast("string").alias("key"), device)
    window = "WITHIN 1 minute SLIDE 1 minute"
    q = sk.query(f"RETURN key, device, COUNT(*) PATTERN SEQ(View V+, Buy B) GROUP-BY key, device {window}", **QUERY)
    got = ended(q.run(stream.select("e.*", "key", "device").withWatermark("at", "5 seconds")), tmp_path)
    assert sorted((row["key"], row["device"], row["count"]) for row in got) == [
        ("k7", "phone", 3.0),
        ("k8", "phone", 1.0),
    ]
    said = command(broker, "avro", tmp_path, "--schema", avro_file(tmp_path))
    assert ",7,3\n" in said and ",8,1\n" in said
    by_device = TEXT.replace("user", "device")
    said = command(broker, "avro", tmp_path, "--schema", avro_file(tmp_path), "--headers", "device", text=by_device)
    assert ",phone," in said, said


def avro_file(folder: Path) -> str:
    path = folder / "click.avsc"
    path.write_text(AVRO)
    return str(path)


def command(broker: Broker, topic: str, folder: Path, *words: str, text: str = TEXT) -> str:
    """Return what `sparkleene stream` prints of what is in a topic."""
    conf = ["--conf", f"spark.jars={','.join(fetch_jars('kafka', KAFKA))}", "--conf", "spark.driver.memory=1g"]
    options = [
        "--time",
        "at",
        "--type",
        "event",
        "--option",
        "startingOffsets=earliest",
        "--once",
        "--format",
        "csv",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sparkleene", "stream", text, f"kafka://{broker.address}/{topic}",
         "--watermark", "5 seconds", *options, *words, *conf],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    send(spark, broker, "told", [*clicks("v1", "v2", "b9"), *clicks("v900")])
    said = command(broker, "told", tmp_path, "--schema", COLUMNS)
    assert re.search(r"2024-03-04.*,7,3\n", said), said
    by_key = (
        TEXT.replace("user", "key")
        .replace("GROUP-BY key", "GROUP-BY key, topic")
        .replace("key, COUNT", "key, topic, COUNT")
    )
    said = command(broker, "told", tmp_path, "--schema", COLUMNS, text=by_key)
    assert re.search(r"2024-03-04.*,7,told,3\n", said), said


def test_a_broker_that_goes_away_and_a_silent_partition(spark: SparkSession, tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker").start()
    try:
        send(spark, broker, "away", clicks("v1"), 0)
        send(spark, broker, "away", clicks("v2"), 1)
        kept = Kept()
        stream = events(read(spark, broker, "away")).withWatermark("at", "5 seconds")
        query = start(sk.query(TEXT, **QUERY).run(stream), kept.take, tmp_path)
        wait(lambda: query.lastProgress and sum(one["numInputRows"] for one in query.recentProgress) == 2)
        broker.stop()
        time.sleep(5)
        assert query.isActive
        broker.start()
        for words in (("b9",), ("v70",), ("v80",)):
            send(spark, broker, "away", clicks(*words), 0)
            query.processAllAvailable()
        wait(lambda: kept.rows)
        told = sk.spark.status(query)
        query.stop()
        assert counts(kept.rows) == [(7, 3.0)]
        assert any(note.startswith("no messages in away-1") for note in told.notes), told.notes
        assert any("waits for an event at 2024-03-04 00:02:05 or later" in note for note in told.notes), told.notes
    finally:
        broker.stop()


def test_exactly_once_and_back_into_kafka(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """The sink fails after it has written, before Spark knows: the batch comes again and is not written twice."""
    send(spark, broker, "paid", [*clicks("v1", "v2", "b9"), *clicks("v61", "b62"), *clicks("v900")])
    failures = [True]

    def write(rows: DataFrame, number: int) -> None:
        database = sqlite3.connect(tmp_path / "rows.db")
        database.execute("CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY)")
        database.execute("CREATE TABLE IF NOT EXISTS rows (start TEXT, user INTEGER, count REAL)")
        found = rows.selectExpr("string(window_start)", "user", "count").collect()
        with database:
            if not database.execute("SELECT 1 FROM batches WHERE number = ?", [number]).fetchone():
                database.execute("INSERT INTO batches VALUES (?)", [number])
                database.executemany("INSERT INTO rows VALUES (?, ?, ?)", [tuple(row) for row in found])
        if found and failures:
            failures.clear()
            raise RuntimeError("the machine is gone")

    def run() -> None:
        stream = events(read(spark, broker, "paid")).withWatermark("at", "5 seconds")
        writer = sk.query(TEXT, **QUERY).run(stream).writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        assert writer.trigger(availableNow=True).start().awaitTermination(240)

    with pytest.raises(Exception, match="the machine is gone"):
        run()
    run()
    rows = (
        sqlite3.connect(tmp_path / "rows.db").execute("SELECT start, user, count FROM rows ORDER BY 1").fetchall()
    )
    assert rows == [("2024-03-04 00:00:00", 7, 3.0), ("2024-03-04 00:01:00", 7, 1.0)]
    stream = events(read(spark, broker, "paid")).withWatermark("at", "5 seconds")
    back = sk.query(TEXT, **QUERY).run(stream).select(F.to_json(F.struct("*")).alias("value")).writeStream
    back = back.format("kafka").option("kafka.bootstrap.servers", broker.address).option("topic", "results")
    query = back.option("checkpointLocation", str(tmp_path / "back")).trigger(availableNow=True).start()
    assert query.awaitTermination(240)
    assert [json.loads(value)["count"] for value in values(spark, broker, "results")] == [3.0, 1.0]


def values(spark: SparkSession, broker: Broker, topic: str) -> list[str]:
    """Return the messages of a topic by now."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.address).option("subscribe", topic)
    return [row[0] for row in reader.load().orderBy("timestamp", "offset").selectExpr("string(value)").collect()]


@pytest.fixture
def _streams_end(spark: SparkSession) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


@pytest.mark.usefixtures("_streams_end")
def test_the_page(spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send(spark, broker, "clicks", [*clicks("v1", "v5", "b9"), *clicks("v900")])
    monkeypatch.chdir(tmp_path)

    def here(text: str) -> str:
        text = text.replace("broker1:9092,broker2:9092", broker.address)
        text = re.sub(r"config=\{[^}]*\}", "", text)  # the session has the jars already
        return text.replace("s3://bucket", str(tmp_path))

    test_docs.run(test_docs.ROOT / "docs" / "howto" / "kafka.md", here)
    wait(lambda: topic_exists(spark, broker, "purchases"))
    assert [json.loads(value)["count"] for value in values(spark, broker, "purchases")] == [3.0]

    def rows() -> list[Any]:
        return sqlite3.connect("purchases.db").execute("SELECT * FROM purchases").fetchall()

    wait(lambda: Path("purchases.db").exists() and rows())
    assert rows() == [("2024-03-04 00:00:00", 7, 3.0)]


def topic_exists(spark: SparkSession, broker: Broker, topic: str) -> bool:
    try:
        return bool(values(spark, broker, topic))
    except Exception as error:
        assert "UnknownTopicOrPartition" in str(error), error
        return False
