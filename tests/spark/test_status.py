"""What a stream says of itself: what it waits for, what it keeps, and which source is behind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark.test_streaming import SIMPLE, TEXT, Source, at, events
from tests.spark.test_workload_stream import Workers, rows_of

import sparkleene as sk
from sparkleene.spark.source_lag import describe_sources
from sparkleene.spark.status import METRIC_NAMES, read_status
from sparkleene.workload import workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


# ---- what reports say together


def report(rows: int = 10, **metrics: int | None) -> dict[str, Any]:
    found = {
        "late_rows": 0,
        "kept_rows": 5,
        "open_windows": 1,
        "next_end_ms": 60_000,
        "keys": None,
        "delay_ms": 5000,
    }
    return {
        "durationMs": {"addBatch": 1},
        "numInputRows": rows,
        "inputRowsPerSecond": 100.0,
        "processedRowsPerSecond": 200.0,
        "observedMetrics": {"sparkleene": found | metrics},
        "stateOperators": [{"memoryUsedBytes": 1000}, {"memoryUsedBytes": 500}],
        "sources": [source(rows)],
        "eventTime": {"max": "1970-01-01T00:00:50.000Z", "watermark": "1970-01-01T00:00:45.000Z"},
    }


def source(rows: int, name: str = "files", end: Any = None, latest: Any = None) -> dict[str, Any]:
    return {"description": name, "numInputRows": rows, "endOffset": end, "latestOffset": latest}


def after(seconds: float) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)


def test_what_the_next_row_waits_for() -> None:
    found = read_status([report()])
    assert (found.watermark, found.newest, found.next_end, found.needed) == (
        after(45),
        after(50),
        after(60),
        after(65),
    )
    assert (found.open_windows, found.kept_rows, found.state_bytes, found.keys) == (1, 5, 1500, None)
    assert found.notes == ("the next row waits for an event at 1970-01-01 00:01:05 or later; "
                           "the newest is at 1970-01-01 00:00:50",)  # fmt: skip
    assert "needs an event at 1970-01-01 00:01:05 or later" in str(found)


def test_a_row_that_comes_with_the_next_batch() -> None:
    last = report()
    last["eventTime"]["max"] = "1970-01-01T00:01:05.000Z"
    assert read_status([report(), last]).notes[0].startswith("the event that ends the next window is there")


@pytest.mark.parametrize(
    ("one", "note"),
    [
        (report(0, kept_rows=0, next_end_ms=None, open_windows=0), "no event has come"),
        (report(9, kept_rows=0, next_end_ms=None, open_windows=0), "no event so far has a part in a pattern"),
        (report(9, kept_rows=0, next_end_ms=None, open_windows=0, late_rows=9), "all rows were late"),
        (report(9, next_end_ms=None, open_windows=None, late_rows=2), "2 of 9 rows were late"),
        (report() | {"inputRowsPerSecond": 300.0}, "events come faster than they are done"),
    ],
)
def test_other_reasons(one: dict[str, Any], note: str) -> None:
    assert read_status([one]).notes[-1].startswith(note)


def test_before_the_first_batch() -> None:
    found = read_status([{"durationMs": {}}], "Initializing sources")
    assert str(found) == "note: no batch has ended yet: Initializing sources"


def test_late_rows_of_all_batches_and_keys_of_the_last_windows() -> None:
    found = read_status([report(late_rows=3, keys=4), report(late_rows=1, keys=5), report()])
    assert (found.late_rows, found.keys, found.rows, found.batches) == (4, 5, 30, 3)


def test_queries_with_names_and_spark_connect() -> None:
    one = report()
    first = list(one["observedMetrics"]["sparkleene"].values())
    one["observedMetrics"] = {
        "sparkleene b": {"values": [2, 7, 3, 30_000, None, 5000]},
        "sparkleene a": {"values": first},
        "another": {"values": [1]},
    }
    found = read_status([one])
    assert (found.late_rows, found.kept_rows, found.open_windows, found.next_end) == (2, 12, 3, after(30))
    with pytest.raises(sk.SparkleeneError, match="no query of Sparkleene is in this stream"):
        read_status([one | {"observedMetrics": {"another": {"values": [1]}}}])


def test_a_silent_source_and_one_that_is_behind() -> None:
    reports = [[source(5, "a"), source(0, "b")], [source(5, "a"), source(0, "b")]]
    slowest, notes = describe_sources(reports)
    assert slowest == "b: no rows in 2 reports" and notes[0].startswith("b is silent")
    kafka = [
        [source(5, "k", '{"t": {"0": 5, "1": 2}}', '{"t": {"0": 90, "1": 2}}')],
        [source(5, "k", '{"t": {"0": 9, "1": 2}}', '{"t": {"0": 99, "1": 2}}')],
    ]
    slowest, notes = describe_sources(kafka)
    assert slowest == "k: 90 messages behind" and notes[0].startswith("no messages in t-1")
    assert describe_sources([[source(0, "a")], [source(0, "a")]]) == (None, [])


# ---- what buckets tell


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 60), st.sampled_from("AB"), st.integers(0, 2)), max_size=4), max_size=6
    ),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(1, 3),
)
def test_the_next_window_is_the_next_that_comes(batches: Any, size: int, slide: int, count: int) -> None:
    """Compare what buckets tell with the windows that rows are in."""
    slide = min(size, slide)
    made = workload({"q": f"RETURN COUNT(*) PATTERN A+ GROUP-BY k WITHIN {size} seconds SLIDE {slide} seconds"})
    workers = Workers(made, SIMPLE, count)
    kept: list[int] = []
    late = 0  # up to this watermark, in seconds: that of the batch before
    for drawn in [*batches, []]:
        rows = [{"time": at(second), "type": kind, "k": k} for second, kind, k in drawn]
        seconds = [int(row["time"].timestamp()) for row in rows]
        kept += [second for second, row in zip(seconds, rows, strict=True) if row["type"] == "A" and second > late]
        workers.batch(pa.Table.from_pylist(rows, SIMPLE))
        late = workers.watermark // 1000
        starts = {
            start
            for second in kept
            for start in range(-(-(second - size + 1) // slide) * slide, second + 1, slide)
            if start + size > late
        }
        end, open = workers.told["end"], workers.told["open"] or 0
        if starts:
            first = min(starts) + size
            assert end is not None and 1000 * late < end <= 1000 * first
            assert (
                late or end == 1000 * first
            )  # rows on both sides of the watermark may hide that windows are empty
            assert 1 <= open <= (max(starts) + size - end // 1000) // slide + 1
        else:
            assert workers.told["kept"] or end is None
        workers.watermark = max([workers.watermark, *(1000 * (second - 1) for second in seconds)])


def test_sessions_and_windows_that_trends_end() -> None:
    made = workload({"q": "RETURN COUNT(*) PATTERN A+ WITHIN SESSION 5 seconds"})
    workers = Workers(made, SIMPLE, 1)
    workers.batch(rows_of("a1 a2")[0])
    assert (workers.told["open"], workers.told["end"], workers.told["kept"]) == (None, None, 2)
    workers = Workers(workload({"q": "RETURN COUNT(*) PATTERN A+ WITHIN 5 seconds"}), SIMPLE, 1)
    workers.batch(rows_of("a1 a2")[0])
    assert (workers.told["open"], workers.told["end"]) == (None, at(1).timestamp() * 1000)


# ---- on Spark


def test_a_running_stream(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "files").add(events("a1 b2 a6"), events("b8 a13"), events("a3"))
    writer = (
        sk.query(f"named: {TEXT}").run(source.marked("2 seconds")).writeStream.format("memory").queryName("told")
    )
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.processAllAvailable()
    found = sk.spark.status(query)
    query.stop()
    spark.catalog.dropTempView("told")
    assert (found.watermark, found.newest) == (at(11), at(13))
    assert (found.next_end, found.needed, found.open_windows) == (at(15), at(17), 2)
    assert (found.late_rows, found.rows, found.keys) == (1, 6, 1)
    assert found.state_bytes > 0 and found.kept_rows == 3
    assert found.notes[0] == ("the next row waits for an event at 2024-01-01 00:00:17 or later; "
                              "the newest is at 2024-01-01 00:00:13")  # fmt: skip
    assert list(query.lastProgress["observedMetrics"]["sparkleene named"].asDict()) == list(METRIC_NAMES)
    with pytest.raises(sk.SparkleeneError, match="a status is of a running query, not of a DataFrame"):
        sk.spark.status(source.plain)  # type: ignore[arg-type]
