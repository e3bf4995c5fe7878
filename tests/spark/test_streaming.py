"""Queries over streaming DataFrames: what users do with them, and what they are told when it cannot be."""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import functions as F
from tests.chance import rest

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

Rows = list[dict[str, Any]]
MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)
SIMPLE = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64())])
TEXT = "RETURN k, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY k WITHIN 10 seconds SLIDE 5 seconds"


def at(seconds: float) -> datetime:
    return MIDNIGHT + timedelta(seconds=seconds)


def events(text: str, k: int | None = 1) -> Rows:
    """Read `a1 b2.5` as an A after a second and a B after two and a half."""
    return [{"time": at(float(word[1:])), "type": word[0].upper(), "k": k} for word in text.split()]


END = events("a1000000")  # moves the watermark past all windows of other rows


class Source:
    """A folder whose files are the batches of a stream."""

    def __init__(self, spark: SparkSession, folder: Path, schema: pa.Schema = SIMPLE) -> None:
        self.spark, self.folder, self.schema = spark, folder, schema
        self.count = 0
        folder.mkdir(parents=True)

    def add(self, *batches: Rows) -> Source:
        """Write a file for each batch."""
        for rows in batches:
            path = self.folder / f"{self.count:05}.parquet"
            self.count += 1
            hidden = path.with_name("_" + path.name)
            pq.write_table(pa.Table.from_pylist(rows, self.schema), hidden)
            os.utime(hidden, (10**9 + self.count, 10**9 + self.count))
            hidden.rename(path)
        return self

    @property
    def plain(self) -> DataFrame:
        """The stream, a file at a time."""
        like = self.spark.createDataFrame(self.schema.empty_table()).schema
        return self.spark.readStream.schema(like).option("maxFilesPerTrigger", 1).parquet(str(self.folder))

    def marked(self, delay: str = "0 seconds") -> DataFrame:
        """The stream with a watermark."""
        return self.plain.withWatermark("time", delay)

    def expected(self, query: sk.Query, before: float = 10**5) -> Rows:
        """Return what a batch of all rows gives, for windows that are over."""
        found: Rows = query.run(pq.read_table(self.folder)).to_pylist()
        return [row for row in found if row["window_end"] <= at(before)]


@pytest.fixture(scope="module", autouse=True)
def two_partitions(spark: SparkSession) -> Iterator[None]:
    """Let streams have two partitions, for each takes time in every batch."""
    with settings(spark, **{"shuffle.partitions": "2"}):
        yield


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Source:
    return Source(spark, tmp_path / "files")


class Ended:
    """A stream that ran to its end: the rows that came, and the progress of each batch."""

    def __init__(self, frame: DataFrame, folder: Path, *, sink: str = "memory") -> None:
        spark = frame.sparkSession
        name, out = f"t{uuid.uuid4().hex}", str(folder / "out")
        writer = frame.writeStream.format(sink).queryName(name).option("path", out)
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        self.progress = query.recentProgress
        found = spark.read.parquet(out) if sink == "parquet" else spark.table(name)
        self.rows: Rows = found.toArrow().to_pylist()
        spark.catalog.dropTempView(name)

    def late(self) -> list[int]:
        """Return how many rows each batch dropped."""
        return [int(p["observedMetrics"]["sparkleene"]["late_rows"]) for p in self.progress]


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    """Change settings of SQL for a while."""
    before = {name: spark.conf.get(f"spark.sql.{name}") for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(f"spark.sql.{name}", value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(f"spark.sql.{name}", str(old))


def near(value: Any) -> Any:
    """Return a value so that equal ones have one text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return f"{value:.12g}" if isinstance(value, float) else value


def plain(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return rows as sorted texts."""
    return sorted(repr([(name, near(value)) for name, value in row.items()]) for row in rows)


def counts(rows: Sequence[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return the start of each window in seconds, with its count, in order."""
    return sorted(((near(r["window_start"]) - near(MIDNIGHT)).total_seconds(), r["count"]) for r in rows)


# ---- what is refused

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
WITHIN = "WITHIN 10 seconds SLIDE 5 seconds"


@pytest.fixture(scope="module")
def bare(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """A stream without a watermark that never has rows."""
    source = Source(spark, tmp_path_factory.mktemp("bare") / "files")
    return source.plain.withColumn("other", F.col("time"))


def refused(error: type[sk.SparkleeneError], ask: Callable[[], Any]) -> tuple[str, str, str]:
    """Return the code, the message and the help of an error."""
    with pytest.raises(error) as caught:
        ask()
    [found] = caught.value.diagnostics
    assert found.help is not None
    assert f"error[{found.code}]" in str(caught.value)
    return found.code, found.message, found.help


def test_no_watermark(bare: DataFrame) -> None:
    code, message, help = refused(sk.DataError, lambda: sk.query(TEXT).run(bare))
    assert code == "no-watermark"
    assert message == "the stream has no watermark on 'time', so no window would ever end"
    assert help == 'add one before the query: df.withWatermark("time", "10 minutes")'


def test_a_watermark_on_another_column(bare: DataFrame) -> None:
    with pytest.raises(sk.DataError, match="no-watermark") as caught:
        bare.withWatermark("other", "1 minute").transform(sk.query(TEXT))
    assert caught.value.diagnostics[0].notes == ("there is one on 'other', and the query's time is 'time'",)
    fine = sk.query(TEXT, time="other").run(bare.withWatermark("other", "1 minute"))
    assert fine.isStreaming
    assert fine.columns == ["window_start", "window_end", "k", "count"]
    lost = bare.withWatermark("time", "1 minute").withColumn("time", F.date_trunc("second", "time"))
    with pytest.raises(sk.DataError, match="no-watermark"):
        sk.query(TEXT).run(lost)


def test_the_line_to_add_for_an_odd_name(bare: DataFrame) -> None:
    frame = bare.withColumn("the `time", F.col("time"))
    _, _, help = refused(sk.DataError, lambda: sk.query(TEXT, time="the `time").run(frame))
    [line] = [line.partition(": ")[2] for line in help.splitlines()]
    marked = eval(line, {"df": frame})
    assert sk.query(TEXT, time="the `time").run(marked).isStreaming


def test_another_state_store(spark: SparkSession, bare: DataFrame) -> None:
    other = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    marked = bare.withWatermark("time", "1 minute")
    with settings(spark, **{PROVIDER.removeprefix("spark.sql."): other}):
        code, message, help = refused(sk.QueryError, lambda: sk.query(TEXT).run(marked))
    assert code == "wrong-state-store"
    assert message.endswith("needs Spark's RocksDB state store, and the session has HDFSBackedStateStoreProvider")
    assert help == f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")'


@pytest.mark.parametrize(
    ("text", "how", "code", "message", "help"),
    [
        ("RETURN COUNT(*) PATTERN A+", {}, "unsupported-stream",
         "a query without WITHIN has one window, the whole stream, which never ends", "write WITHIN and SLIDE"),
        ("RETURN COUNT(*) PATTERN A+ WITHIN 9 EVENTS SLIDE 3 EVENTS", {}, "unsupported-stream",
         "a window of events ends with the rows of its sub-stream", "write a window of time"),
        (f"RETURN COUNT(*) PATTERN SEQ(A, B?) WHERE [B.k] {WITHIN}", {}, "unsupported-stream",
         "'k' is a key of events that a trend may lack", "let the key bind an event that every trend has"),
        ("RETURN COUNT(*) PATTERN A+ WITHIN 10 seconds", {"output_mode": "update"}, "unsupported-stream",
         "a window without SLIDE ends where a trend does", "leave output_mode out, or write a SLIDE"),
        (TEXT, {"output_mode": "complete"}, "bad-option", "output_mode is 'complete'",
         "choose 'append' or 'update'"),
        (TEXT, {"strategy": "sort"}, "bad-option", "a strategy is for batches", "leave it out for a stream"),
        (TEXT, {"engine": "local"}, "bad-option", "a DataFrame of Spark is not local", "leave engine= out"),
    ],
)  # fmt: skip
def test_refused(bare: DataFrame, text: str, how: dict[str, Any], code: str, message: str, help: str) -> None:
    found = refused(sk.QueryError, lambda: sk.query(text).run(bare.withWatermark("time", "1 minute"), **how))
    assert found[0] == code
    assert message in found[1]
    assert help in found[2]


def test_refused_beside_run(spark: SparkSession, bare: DataFrame) -> None:
    query = sk.query(TEXT)
    found = refused(sk.QueryError, lambda: query.trends(bare.withWatermark("time", "1 minute")))
    assert found[:2] == ("unsupported-stream", "the trends of a stream are not listed")
    rows = pa.Table.from_pylist(events("a1 b2"), SIMPLE)
    for run in (partial(query.run, rows), partial(query.run, spark.createDataFrame(rows))):
        found = refused(sk.QueryError, partial(run, output_mode="update"))
        assert found[:2] == ("bad-option", "an output mode is for streams")


def test_a_zone_less_time_has_no_watermark(bare: DataFrame) -> None:
    local = bare.withColumn("time", F.col("time").cast("timestamp_ntz"))
    with pytest.raises(PySparkException, match="EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE"):
        local.withWatermark("time", "1 minute").schema.json()
    with pytest.raises(sk.DataError, match="no-watermark"):
        sk.query(TEXT).run(local)


def test_explain(bare: DataFrame) -> None:
    text = sk.query(TEXT).explain(bare.withWatermark("time", "1 minute"))
    assert "each window once, when the watermark has passed its end" in text
    assert "2 buckets, by k" in text
    assert "each is whole in one bucket" in text
    one = f"RETURN COUNT(*) PATTERN A+ WHERE A.k < NEXT(A).k {WITHIN}"
    text = sk.query(one).explain(bare.withWatermark("time", "1 minute"))
    assert "one bucket: there is no key to spread rows by" in text
    assert "the rows of open windows" in text
    spread = sk.query(f"RETURN COUNT(*) PATTERN A+ WHERE [k] {WITHIN}")
    assert "the parts of each are added up by tasks" in spread.explain(bare.withWatermark("time", "1 minute"))
    with pytest.raises(sk.DataError, match="no-watermark"):
        sk.query(TEXT).explain(bare)


# ---- columns

ODD = pa.schema(
    [
        ("the time", pa.timestamp("us", "UTC")),
        ("Type", pa.string()),
        ("a b", pa.string()),
        ("a.b", pa.decimal128(9, 2)),
        ("a`b", pa.date32()),
        ("日本", pa.bool_()),
        ("bucket", pa.int32()),
        ("kept", pa.binary()),
        ("rows", pa.float64()),
        ("ride", pa.struct([("fare", pa.int64()), ("place", pa.struct([("city", pa.string())]))])),
    ]
)


def odd(n: int) -> dict[str, Any]:
    return {
        "the time": at(n % 23),
        "Type": "AABC"[n * 7 % 4],
        "a b": ["", "é`", None][n // 9 % 3],
        "a.b": Decimal("-1.50") if n % 2 else Decimal("0.00"),
        "a`b": date(1969, 12, 31),
        "日本": n % 5 > 0,
        "bucket": n // 30,
        "kept": [b"", b"\x00\xff"][n % 2],
        "rows": [math.nan, 0.0, -0.0][n // 20 % 3],
        "ride": {"fare": n % 7, "place": {"city": ["x", None][n % 40 == 0]}} if n % 11 else None,
    }


def test_keys_and_names_of_all_kinds(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "files", ODD)
    rows = [odd(n) for n in range(240)]
    last = {**odd(4), "the time": at(10**6)}
    source.add(rows[0::2], [*rows[1::2], last])
    text = (
        "RETURN `a b`, kept, COUNT(*) AS `rows.n`, SUM(A.ride.fare) AS s, MAX(A.`a.b`) AS m, MIN(`a``b`) AS d "
        "PATTERN SEQ(A+, B) WHERE [ride.place.city, bucket] AND A.ride.fare < 6 AND A.`日本` = NEXT(A).`日本` "
        "GROUP-BY `a b`, `a.b`, `a``b`, `日本`, kept, rows, ride.place.city WITHIN 12 seconds SLIDE 6 seconds"
    )
    query = sk.query(text, time="the time", type="Type", offset=timedelta(seconds=1))
    with settings(spark, **{"shuffle.partitions": "3"}):
        frame = source.plain.withWatermark("`the time`", "1 minute").transform(query)
        found = Ended(frame, tmp_path)
    expected = source.expected(query)
    assert len(expected) > 8
    assert plain(found.rows) == plain(expected)
    assert found.late() == [0] * len(found.progress)


def test_a_null_time_is_an_error(source: Source, tmp_path: Path) -> None:
    source.add(events("a1 b2"), [{"time": None, "type": "C", "k": 1}, {"time": None, "type": "A", "k": 1}])
    with pytest.raises(StreamingQueryException, match=r"error\[null-time\]: .*'time'"):
        Ended(sk.query(TEXT).run(source.marked()), tmp_path)


# ---- late rows


def test_late_rows_are_counted(source: Source, tmp_path: Path) -> None:
    source.add(
        events("a70 b71 a100"),  # the watermark will be 80
        events("a72 b73"),  # still that of nothing
        events("a79 a80 b80.000001 a85 b86 b86 z1 z2"),  # the first two are late; rows of no label are nobody's
        events("b80 b82", None) + events("b12") + END,  # without a key they are nowhere
    )
    query = sk.query(TEXT)
    found = Ended(query.run(source.marked("20 seconds")), tmp_path)
    rows = [row for row in pq.read_table(source.folder).to_pylist()
            if row["time"] not in (at(79), at(80), at(12))]  # fmt: skip
    expected = query.run(pa.Table.from_pylist(rows, SIMPLE)).to_pylist()
    assert plain(found.rows) == plain([row for row in expected if row["window_end"] < at(10**5)])
    assert found.late()[:4] == [0, 0, 2, 1]
    assert sum(found.late()) == 3


@pytest.mark.parametrize("last", ["z10", *rest(["b10", "z100"])])
def test_a_window_that_ends_at_the_watermark_is_over(source: Source, tmp_path: Path, last: str) -> None:
    """Rows that a query leaves out move the watermark too."""
    source.add(events("a1 b2 a9.999"), events(last))
    found = Ended(sk.query(TEXT).run(source.marked()), tmp_path)
    assert counts(found.rows) == [(-5, 1), (0, 1)]


@pytest.mark.slow
def test_the_first_rows_may_be_late(source: Source, tmp_path: Path) -> None:
    source.add(events("z100"), events("z101"), events("a1 b2"), events("a201 b202"), END)
    found = Ended(sk.query(TEXT).run(source.marked()), tmp_path)
    assert counts(found.rows) == [(195, 1), (200, 1)]
    assert sum(found.late()) == 2


def test_a_stream_that_begins_with_nothing(source: Source, tmp_path: Path) -> None:
    source.add([], events("z3 z4") + events("a1 b2", None), events("a5 b6"), END)
    query = sk.query(TEXT)
    found = Ended(query.run(source.marked("5 seconds")), tmp_path)
    assert plain(found.rows) == plain(source.expected(query))
    assert counts(found.rows) == [(0, 1), (5, 1)]


# ---- batches


def test_updates_take_back_what_is_not_so_any_more(source: Source, tmp_path: Path) -> None:
    source.add(events("a1 b4") + events("a1 b2", 2), events("c3"), events("a6", 2))
    text = "RETURN k, COUNT(*) PATTERN SEQ(A, NOT C, B) GROUP-BY k WITHIN 10 seconds SLIDE 10 seconds"
    found: dict[int, list[tuple[int, float]]] = {}

    def take(rows: DataFrame, number: int) -> None:
        found[number] = sorted((row["k"], row["count"]) for row in rows.collect())

    updates = sk.query(text).run(source.marked("1 minute"), output_mode="update")
    writer = updates.writeStream.outputMode("update").foreachBatch(take)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert [found[number] for number in sorted(found)][:3] == [[(1, 1), (2, 1)], [(1, 0)], [(2, 1)]]


@pytest.mark.slow
def test_one_batch_of_thousands_of_windows(source: Source, tmp_path: Path) -> None:
    rows = [{"time": at(n * 7 % 20_011), "type": "AAB"[n % 3], "k": n % 13} for n in range(20_011)]
    source.add(rows, END)
    query = sk.query("RETURN COUNT(*), AVG(A.k) PATTERN SEQ(A+, B) WHERE [k] WITHIN 60 seconds SLIDE 10 seconds")
    with settings(source.spark, **{"shuffle.partitions": "7"}):
        found = Ended(query.run(source.marked("1 hour")), tmp_path)
    expected = source.expected(query)
    assert len(expected) > 2000
    assert plain(found.rows) == plain(expected)
    assert found.progress[-1]["stateOperators"][0]["numRowsTotal"] < 7 * 5


@pytest.mark.repeat
def test_a_restart_in_another_zone(source: Source, tmp_path: Path) -> None:
    batches = [events(f"a{t} a{t + 1} b{t + 2.5} a{t - 3}", t // 4 % 2) for t in range(5, 29, 4)]
    query = sk.query(TEXT.replace("COUNT(*)", "COUNT(*), MAX(A.time) AS last"))
    before, after = [batches[0] + batches[1], batches[2]], [batches[3] + batches[4], batches[5] + END]
    parts = [("America/New_York", before), ("Asia/Kathmandu", after)]
    for zone, some in parts:
        source.add(*some)
        with settings(source.spark, **{"session.timeZone": zone}):
            ended = Ended(query.run(source.marked("6 seconds")), tmp_path, sink="parquet")
    assert plain(ended.rows) == plain(source.expected(query))
    assert len(ended.rows) > 8


# ---- among other operators


def test_after_other_state_and_a_union(spark: SparkSession, tmp_path: Path) -> None:
    one, two = (Source(spark, tmp_path / name) for name in ("one", "two"))
    one.add(events("a1 a1 b3 b3 a12"), events("b14 b14 a3") + END)
    two.add(events("b4 b4 a2 a21", 2), events("b22 b14", 2) + END)
    both = one.marked("1 minute").unionByName(two.marked("1 minute"))
    query = sk.query(TEXT)
    found = Ended(query.run(both.dropDuplicatesWithinWatermark(["time", "type", "k"])), tmp_path)
    rows = {repr(row): row for s in (one, two) for row in pq.read_table(s.folder).to_pylist()}
    expected = query.run(pa.Table.from_pylist([*rows.values()], SIMPLE)).to_pylist()
    assert plain(found.rows) == plain([row for row in expected if row["window_end"] < at(10**5)])
    assert len(found.rows) > 6


@pytest.mark.slow
def test_after_a_windowed_aggregation(source: Source, tmp_path: Path) -> None:
    source.add(events("a1 a2 a6 b7 a11"), events("b13 b14 a16 a17 a18 b21") + END, events("a1000100"))
    each = source.marked("1 second").groupBy(F.window("time", "5 seconds"), "type").count()
    ticks = each.select(F.window_time("window").alias("time"), "type", F.col("count").alias("n"))
    query = sk.query("RETURN COUNT(*), SUM(A.n) AS n PATTERN A+ WHERE A.n > 0 WITHIN 20 seconds SLIDE 20 seconds")
    found = Ended(query.run(ticks), tmp_path)
    [row] = [row for row in found.rows if row["window_end"] < at(10**5)]
    assert row["count"] == 2**4 - 1
    assert row["n"] == 2**3 * (2 + 1 + 1 + 3)


@pytest.mark.slow
def test_two_queries_in_one(source: Source, tmp_path: Path) -> None:
    source.add(events("a1 b2 a6 b7"), events("a8 b9"), events("a2 a3") + END)
    one, two = sk.query(f"one: {TEXT}"), sk.query(f"two: {TEXT.replace('A+', 'A')}")
    rows = source.marked()
    found = Ended(one.run(rows).unionByName(two.run(rows)), tmp_path)
    metrics = [p["observedMetrics"] for p in found.progress[:3]]
    late = [each[f"sparkleene {name}"]["late_rows"] for each in metrics for name in ("one", "two")]
    assert late == [0, 0, 0, 0, 2, 2]
    kept = [row for row in pq.read_table(source.folder).to_pylist() if row["time"] not in (at(2), at(3))]
    kept += events("b2")
    expected = [row for q in (one, two) for row in q.run(pa.Table.from_pylist(kept, SIMPLE)).to_pylist()]
    assert plain(found.rows) == plain([row for row in expected if row["window_end"] < at(10**5)])


def test_two_queries_in_one_need_names(source: Source) -> None:
    one, two = sk.query(TEXT), sk.query(TEXT.replace("A+", "A"))
    with pytest.raises(PySparkException, match="DUPLICATED_METRICS_NAME"):
        one.run(source.marked()).unionByName(two.run(source.marked())).schema.json()


@pytest.mark.repeat
def test_replay(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource", reason="what it is derived from came with PySpark 4.2")
    from sparkleene.spark.replay.data_source import Replay

    spark.dataSource.register(Replay)
    rows = [{"time": at(n), "type": "AAB"[n % 3], "k": n % 4} for n in range(120)]
    table = pa.Table.from_pylist(rows + END, SIMPLE)
    pq.write_table(table, tmp_path / "events.parquet")
    player = spark.readStream.format("sparkleene.replay").option("path", str(tmp_path / "events.parquet"))
    player = player.option("time", "time").option("disorder", "9 seconds").option("rowsPerBatch", 100)
    query = sk.query(TEXT)
    found = Ended(query.run(player.load().withWatermark("time", "10 seconds")), tmp_path)
    expected = [row for row in query.run(table).to_pylist() if row["window_end"] < at(10**5)]
    assert plain(found.rows) == plain(expected)
    assert sum(found.late()) == 0


# ---- sinks and triggers


def test_files_and_processing_time(source: Source, tmp_path: Path) -> None:
    source.add(events("a1 b2 a6 b7"), events("a11 b12", 2), END)
    query = sk.query(TEXT)
    expected = source.expected(query)
    writer = query.run(source.marked()).writeStream.format("parquet").option("path", str(tmp_path / "out"))
    running = writer.option("checkpointLocation", str(tmp_path / "files checkpoint")).trigger(
        processingTime="0 seconds"
    ).start()  # fmt: skip
    try:
        running.processAllAvailable()
        found = source.spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()
    finally:
        running.stop()
    assert plain(found) == plain(expected)


@pytest.mark.slow
def test_other_sinks(source: Source, tmp_path: Path) -> None:
    source.add(events("a1 b2 a6 b7"), END)
    query = sk.query(TEXT)
    nowhere = query.run(source.marked()).writeStream.format("noop")
    ended = nowhere.option("checkpointLocation", str(tmp_path / "noop")).trigger(availableNow=True).start()
    ended.awaitTermination()
    assert ended.exception() is None
    assert sum(p["sink"]["numOutputRows"] for p in ended.recentProgress) in (3, -len(ended.recentProgress))


BUCKETS = "spark.sparkleene.buckets"


@pytest.mark.repeat
def test_fewer_buckets_than_partitions(source: Source, tmp_path: Path) -> None:
    """Two of five partitions have rows, four tasks do all five, and another number of buckets is refused."""
    spark, query = source.spark, sk.query(TEXT)
    batches = [events(f"a{t} b{t + 1} a{t - 3}", t) + events(f"a{t + 4} b{t + 5}", t + 4) for t in range(0, 24, 8)]
    with settings(spark, **{"shuffle.partitions": "5"}):
        try:
            spark.conf.set(BUCKETS, "2")
            assert "2 buckets in 5 partitions, by k" in query.explain(source.marked())
            for some in (batches[:1], [batches[1], batches[2] + END]):
                source.add(*some)
                ended = Ended(query.run(source.marked("6 seconds")), tmp_path, sink="parquet")
            assert plain(ended.rows) == plain(source.expected(query))
            state = ended.progress[-1]["stateOperators"][0]
            assert state["numShufflePartitions"] == 5 and state["numRowsTotal"] < 2 * 5
            spark.conf.set(BUCKETS, "3")
            source.add(events("a200000"))
            message = f"another number of buckets(?s:.)*set {BUCKETS} to 2"
            with pytest.raises(StreamingQueryException, match=message):
                Ended(query.run(source.marked("6 seconds")), tmp_path, sink="parquet")
            spark.conf.set(BUCKETS, "none")
            found = refused(sk.QueryError, lambda: query.run(source.marked()))
            assert found[:2] == ("bad-option", f"{BUCKETS} is 'none'")
        finally:
            spark.conf.unset(BUCKETS)


@pytest.mark.slow
@pytest.mark.parametrize("parts", ["1", "2", "7"])
def test_partitions(source: Source, tmp_path: Path, parts: str) -> None:
    source.add(*(events(f"a{t} b{t + 1}", t) for t in range(6)), END)
    query = sk.query(TEXT)
    with settings(source.spark, **{"shuffle.partitions": parts}):
        found = Ended(query.run(source.marked("2 seconds")), tmp_path)
    assert plain(found.rows) == plain(source.expected(query))


@pytest.mark.slow
def test_many_small_batches(source: Source, tmp_path: Path) -> None:
    source.add(*(events(f"a{t} b{t + 1} a{t + 1}", t % 3) for t in range(120)), END)
    query = sk.query("RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [k] WITHIN 40 seconds SLIDE 10 seconds")
    with settings(source.spark, **{"shuffle.partitions": "2"}):
        found = Ended(query.run(source.marked("3 seconds")), tmp_path)
    assert plain(found.rows) == plain(source.expected(query))
    sizes = [p["stateOperators"][0]["numRowsTotal"] for p in found.progress]
    assert max(sizes[60:]) <= max(sizes[:60]) + 2 < 80


# ---- one query after another

WINDOWS = "RETURN k, COUNT(*) AS n PATTERN SEQ(A+, B) GROUP-BY k"
AFTER = "RETURN k, COUNT(*) AS m, SUM(W.n) AS s PATTERN W+ GROUP-BY k WITHIN 20 seconds SLIDE 20 seconds"


@pytest.mark.repeat
@pytest.mark.parametrize(
    "within",
    ["WITHIN 10 seconds SLIDE 5 seconds", *rest(["WITHIN 10 seconds", "WITHIN SESSION 3 seconds MAX 8 seconds"])],
)
def test_a_query_follows_another(source: Source, tmp_path: Path, within: str) -> None:
    first, second = sk.query(f"{WINDOWS} {within}"), sk.query(AFTER, time="window_end", type=None)
    rows = [
        row for k in (1, 2) for row in events("a1 a2 b3 b5 a9 b10 a10 b12 a15 b20 a22 b25 b30 a38 b40 a50 b60", k)
    ]
    rows.sort(key=lambda row: row["time"])
    # watermarks lie on the ends of windows, and between them
    source.add(*[[row for row in rows if lo < row["time"] <= at(hi)] for lo, hi in _spans(10, 11, 40, 60)], END)
    ended = Ended(second.run(first.run(source.marked())), tmp_path)
    between = first.run(pq.read_table(source.folder))
    wanted = [row for row in second.run(between).to_pylist() if row["window_end"] <= at(10**5)]
    assert wanted and plain(ended.rows) == plain(wanted)
    names = ("sparkleene", "sparkleene after 1")
    assert all(p["observedMetrics"][name]["late_rows"] == 0 for p in ended.progress for name in names)


def _spans(*ends: int) -> Iterator[tuple[datetime, int]]:
    for lo, hi in zip((-1, *ends), ends, strict=False):
        yield at(lo), hi


def test_an_aggregation_of_spark_follows_a_query(source: Source, tmp_path: Path) -> None:
    query = sk.query(f"{WINDOWS} WITHIN 10 seconds SLIDE 5 seconds")
    source.add(events("a1 a2 b3 b5 a9"), events("b10 a12 b15"), events("b20 a22 b30 a38 b40"), END)
    counted = query.run(source.marked()).groupBy(F.window("window_end", "20 seconds")).agg(F.sum("n").alias("n"))
    ended = Ended(counted.select("window.start", "n"), tmp_path)
    wanted: dict[datetime, float] = {}
    for row in source.expected(query):
        start = at((row["window_end"] - MIDNIGHT).total_seconds() // 20 * 20)
        wanted[start] = wanted.get(start, 0.0) + row["n"]
    assert plain(ended.rows) == plain([{"start": start, "n": n} for start, n in wanted.items()])


def test_a_second_watermark_would_wait_for_ever(source: Source) -> None:
    first, second = (
        sk.query(f"{WINDOWS} WITHIN 10 seconds SLIDE 5 seconds"),
        sk.query(AFTER, time="window_end", type=None),
    )
    with pytest.raises(sk.DataError, match="leave withWatermark"):
        second.run(first.run(source.marked()).withWatermark("window_end", "5 seconds"))
    late = sk.query(f"{WINDOWS} WITHIN FROM type = 'A' TO type = 'B' MAX 10 seconds").run(source.marked())
    with pytest.raises(sk.DataError, match="no-watermark"):
        second.run(late)
    with pytest.raises(sk.DataError, match="windows with FROM may come late"):
        second.run(late.withWatermark("window_end", "0 seconds"))
