"""Days, weeks, months, quarters and years of a time zone on Spark: frames, files by path, streams, date_trunc."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.chance import rest
from tests.spark.test_streaming import SIMPLE, Ended, Source, settings

import sparkleene as sk

pytestmark = pytest.mark.spark

ZONES = ("Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Beirut")
UNITS = ("day", "week", "month", "quarter", "year")


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Instants of some years, many of them near midnights when clocks were set."""
    rng = np.random.default_rng(4)
    odd = [
        "2018-11-04T03:00",
        "2018-02-18T02:00",
        "2022-03-26T22:00",
        "2024-03-31T01:00",
        "2024-10-27T01:00",
        "2024-04-06T15:00",
    ]
    near = np.concatenate(
        [np.datetime64(t, "s") + rng.integers(-40, 40, 60) * np.timedelta64(1800, "s") for t in odd]
    )
    spread = np.datetime64("2017-12-20", "s") + rng.integers(0, 7 * 365 * 86_400, 300) * np.timedelta64(1, "s")
    times = np.concatenate([near, spread])
    return pa.table(
        {
            "time": pa.array(times.astype("M8[us]")).cast(pa.timestamp("us", "UTC")),
            "type": rng.choice(["A", "B"], times.size),
            "k": rng.integers(0, 5, times.size),
        }
    )


@pytest.fixture
def session_zone(spark: SparkSession) -> Iterator[Any]:
    """Sets the session's time zone for a test."""
    yield lambda zone: spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows that can be compared, with times of UTC."""
    plain = [
        column.cast(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(column.type) else column
        for column in table.columns
    ]
    return sorted(zip(*(column.to_pylist() for column in plain), strict=True))


@pytest.mark.parametrize("zone", [ZONES[0], pytest.param(ZONES[1], marks=pytest.mark.slow)])
def test_borders_are_those_of_date_trunc(
    spark: SparkSession, session_zone: Any, events: pa.Table, zone: str
) -> None:
    frame = spark.createDataFrame(events)
    session_zone(zone)
    ours = sk.workload(
        {unit: f"RETURN COUNT(*) PATTERN A WITHIN 1 {unit} SLIDE 1 {unit}" for unit in UNITS}, timezone="session"
    )
    found = ours.run(frame).select("query", F.unix_micros("window_start"), "count").toArrow()
    kinds = F.explode(F.array(*map(F.lit, UNITS)))
    truncated = frame.where("type = 'A'").select(kinds.alias("query"), "time").withColumn(
        "start", F.expr("unix_micros(CASE query " + " ".join(
            f"WHEN '{unit}' THEN date_trunc('{unit}', time)" for unit in UNITS) + " END)")
    )  # fmt: skip
    expected = truncated.groupBy("query", "start").agg(F.count("*").cast("double").alias("count")).toArrow()
    assert rows_of(found) == rows_of(expected)


QUERIES: list[tuple[str, dict[str, Any]]] = [
    ("RETURN k, COUNT(*), SUM(A.k) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN 1 day SLIDE 1 day", {}),
    ("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] WITHIN 2 weeks SLIDE 1 week", {"offset": timedelta(hours=6)}),
    ("RETURN k, COUNT(*) PATTERN SEQ(A, B) GROUP-BY k WITHIN 1 quarter SLIDE 1 month", {"numbers": "exact"}),
]


WAYS = [(*QUERIES[0], "combine"), (*QUERIES[1], "sort"), (*QUERIES[2], "shuffle")]
MORE = [(*one, strategy) for one in QUERIES for strategy in ("shuffle", "sort", "combine")]
MORE = [way for way in MORE if way not in WAYS and (way[1].get("numbers"), way[2]) != ("exact", "combine")]


@pytest.mark.parametrize(("text", "more", "strategy"), [*WAYS, *rest(MORE)])
def test_frames_and_paths(
    spark: SparkSession, events: pa.Table, tmp_path: Path, text: str, more: Any, strategy: Any
) -> None:
    query = sk.query(text, timezone="Europe/Berlin", **more)
    expected = rows_of(query.run(events))
    frame = spark.createDataFrame(events).repartition(3)
    assert rows_of(query.run(frame, strategy=strategy).toArrow()) == expected
    for number in range(3):
        pq.write_table(events.slice(number * 250, 250), tmp_path / f"{number}.parquet")
    assert rows_of(query.run(str(tmp_path), engine="spark").toArrow()) == expected


def test_what_has_no_zone(spark: SparkSession, session_zone: Any, events: pa.Table) -> None:
    """A TIMESTAMP_NTZ has midnights of its own, whatever the session's zone; a zone is refused."""
    plain = events.set_column(0, "time", events["time"].cast(pa.timestamp("us")))
    frame = spark.createDataFrame(plain, "time timestamp_ntz, type string, k bigint")
    session_zone("Europe/Berlin")
    text = "RETURN COUNT(*) PATTERN A WITHIN 1 month SLIDE 1 month"
    assert rows_of(sk.query(text).run(frame).toArrow()) == rows_of(sk.query(text).run(plain))
    with pytest.raises(sk.QueryError, match="has no time zone"):
        sk.query(text, timezone="session").run(frame)
    # The session's zone is never taken unasked.
    assert rows_of(sk.query(text).run(spark.createDataFrame(events)).toArrow()) == rows_of(
        sk.query(text).run(events)
    )


@pytest.mark.repeat
def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """A day is sent once its local midnight has passed; started again with another zone the stream is refused."""
    source, berlin = Source(spark, tmp_path / "files", SIMPLE), "Europe/Berlin"

    def play(zone: str, *times: str) -> list[tuple[Any, ...]]:
        moments = [datetime.fromisoformat(time).replace(tzinfo=UTC) for time in times]
        source.add([{"time": moment, "type": "A", "k": 1} for moment in moments])
        query = sk.query("RETURN COUNT(*) PATTERN A+ WITHIN 1 day SLIDE 1 day", timezone=zone)
        rows = Ended(query.run(source.marked()), tmp_path / "stream", sink="parquet").rows
        ends = [(row["window_start"].timestamp(), row["window_end"].timestamp(), row["count"]) for row in rows]
        return [(start // 3600 % 24, (end - start) / 3600, count) for start, end, count in sorted(ends)]

    with settings(spark, **{"shuffle.partitions": "1"}):
        first = play(berlin, "2024-03-30T12:00", "2024-03-30T23:30", "2024-03-31T21:30", "2024-03-31T21:59")
        assert first == [(23, 24, 1.0)]
        second = play(berlin, "2024-03-31T22:00", "2024-04-01T01:00")
        assert second == [*first, (23, 23, 7.0)]  # clocks were set forward that day
        with pytest.raises(StreamingQueryException, match="another option timezone"):
            play("Asia/Tokyo", "2024-04-09T22:00")
