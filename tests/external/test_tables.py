"""Delta and Iceberg tables as source and sink, in batches and as streams, and the how-to page, run as it is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import test_docs
from tests.external.jars import TABLES, fetch_jars

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.external

START = datetime(2024, 3, 4, tzinfo=UTC)
TEXT = "RETURN user, COUNT(*) PATTERN SEQ(View V+, Buy B) GROUP-BY user WITHIN 1 minute SLIDE 1 minute"
HOURS = [(0, "View"), (5, "View"), (9, "Buy"), (3700, "View"), (3701, "Buy"), (20_000, "View")]


def needs(kind: str) -> None:
    """Skip the test where a format cannot be had."""
    for one in [one for one in TABLES if kind in one] or [""]:
        fetch_jars(one.split(":")[1] if one else kind, (one,) if one else ())


def frame(spark: SparkSession, rows: list[tuple[int, str]]) -> DataFrame:
    made = [(START + timedelta(seconds=second), kind, 7) for second, kind in rows]
    return spark.createDataFrame(made, "time timestamp, type string, user long")


def counts(frame: DataFrame) -> list[Any]:
    return [(str(row["window_start"])[11:], row["count"]) for row in frame.orderBy("window_start").collect()]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_source_and_sink(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Rows are deleted and others appended; a stream goes on from its checkpoint, and no row comes twice."""
    needs(kind)
    source, sink, live = (
        (f"lake.t.{name}" if kind == "iceberg" else f"delta.`{tmp_path / name}`")
        for name in ("source", "sink", "live")
    )
    first = [(1, "View"), (2, "View"), (9, "Buy")]
    frame(spark, first).coalesce(1).writeTo(source).using(kind).create()
    frame(spark, [(4, "View")]).writeTo(source).append()
    spark.sql(f"DELETE FROM {source} WHERE time = timestamp'2024-03-04 00:00:04+00:00'")
    q = sk.query(TEXT)
    q.run(spark.table(source)).writeTo(sink).using(kind).create()
    assert counts(spark.table(sink)) == [("00:00:00", 3.0)]
    folder = spark.sql(f"DESCRIBE EXTENDED {source}").where("col_name = 'Location'").first()
    with pytest.raises(sk.DataError, match="table-format"):
        q.run(folder["data_type"].removeprefix("file:") if folder else str(tmp_path / "source"), engine="spark")

    spark.sql(f"DROP TABLE {source}")
    shutil.rmtree(tmp_path / "source", ignore_errors=True)
    frame(spark, first).coalesce(1).writeTo(source).using(kind).create()

    def run() -> None:
        place = {"delta": str(tmp_path / "source"), "iceberg": source}[kind]
        stream = spark.readStream.format(kind).load(place).withWatermark("time", "5 seconds")
        writer = q.run(stream).writeStream.format(kind).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer = writer.trigger(availableNow=True)
        query = writer.start(str(tmp_path / "live")) if kind == "delta" else writer.toTable(live)
        assert query.awaitTermination(240)

    q.run(spark.table(source)).limit(0).writeTo(live).using(kind).create()
    run()
    for more in ([(61, "View"), (70, "View"), (75, "Buy")], [(500, "View")], [(501, "View")]):
        frame(spark, more).coalesce(1).writeTo(source).append()
        run()
    assert counts(spark.table(live)) == [("00:00:00", 3.0), ("00:01:00", 3.0)]


@pytest.fixture
def _streams_end(spark: SparkSession) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


@pytest.mark.usefixtures("_streams_end")
def test_the_page(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("delta")
    needs("iceberg")
    pytest.importorskip("delta", reason="the Python package delta-spark is not installed")
    monkeypatch.chdir(tmp_path)
    events = frame(spark, HOURS)
    events.write.format("delta").save(str(tmp_path / "tables" / "clicks"))
    events.writeTo("lake.shop.clicks").using("iceberg").create()
    q = sk.query("RETURN COUNT(*) PATTERN SEQ(View V+, Buy B) WHERE [user] WITHIN 1 hour SLIDE 1 hour")
    q.run(events).limit(0).writeTo("lake.shop.funnels_live").using("iceberg").create()

    def here(text: str) -> str:
        text = re.sub(
            r"from delta import configure.*?```", "```", text, count=1, flags=re.DOTALL
        )  # it runs already
        text = text.replace('```python title="Not run here: needs the package delta-spark"\nq =',
                            "```python\nspark = sk.spark.session()\nq =")  # fmt: skip
        return text.replace("s3://bucket", str(tmp_path / "tables"))

    test_docs.run(test_docs.ROOT / "docs" / "howto" / "delta.md", here)
    for query in spark.streams.active:
        query.processAllAvailable()
    wanted = [("00:00:00", 3.0), ("01:00:00", 1.0)]
    delta = {name: spark.read.format("delta").load(str(tmp_path / "tables" / name)) for name in
             ("funnels", "funnels_live", "funnels_now")}  # fmt: skip
    assert {name: counts(found) for name, found in delta.items()} == dict.fromkeys(delta, wanted)
    assert counts(spark.table("lake.shop.funnels")) == counts(spark.table("lake.shop.funnels_live")) == wanted
