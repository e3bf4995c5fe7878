"""Funnels on Spark: what this process gives, over DataFrames, files and streams."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chance import rest
from tests.funnel.brute_force import BruteFunnel, BruteStep
from tests.funnel.cases import draw_events, draw_funnel, draw_sessions, make
from tests.spark.test_streaming import Ended, Source, at
from tests.spark.test_streaming import settings as spark_settings

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("user", pa.string()), ("platform", pa.string())]
)


@pytest.fixture(scope="module", autouse=True)
def two_partitions(spark: SparkSession) -> Iterator[None]:
    with spark_settings(spark, **{"shuffle.partitions": "2"}):
        yield


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(row.get(k)) for k in ("window_start", "platform", "step")])


def compare(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(in_order(found), in_order(wanted), strict=True):
        assert list(one) == list(other)
        times = {name: value for name, value in other.items() if isinstance(value, float)}
        assert {name: one[name] for name in times} == pytest.approx(times, abs=1e-6)
        assert {k: v for k, v in one.items() if k not in times} == {
            k: v for k, v in other.items() if k not in times
        }


@pytest.mark.parametrize("seed", [4, *rest([1])])
def test_frames_and_files(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    """All that this process gives, with each of its options."""
    rng = random.Random(seed)
    events = pa.Table.from_pylist(draw_events(rng))
    brute = draw_funnel(rng, windows=bool(seed % 2))
    made = make(replace(brute, breakdown=seed == 4))
    pq.write_table(events, tmp_path / "events.parquet")
    wanted = made.run(events).to_pylist()
    compare(made.run(spark.createDataFrame(events)).toArrow().to_pylist(), wanted)
    compare(made.run(str(tmp_path), engine="spark").toArrow().to_pylist(), wanted)
    free = make(BruteFunnel(tuple(map(BruteStep, "ABC")), any_order="all", breakdown=True))
    compare(free.run(spark.createDataFrame(events)).toArrow().to_pylist(), free.run(events).to_pylist())
    more = [event | {"user": event["user"] + str(i)} for i in range(20) for event in draw_sessions(rng)[0]]
    brute = BruteFunnel((BruteStep("A"), BruteStep("B")), session=6, breakdown=seed == 4)
    by_session = make(brute, numbers="exact" if seed == 4 else "double")
    wanted = by_session.run(pa.Table.from_pylist(more)).to_pylist()
    assert wanted[0]["sessions"] > wanted[0]["users"]
    assert wanted[1]["stddev_time"]
    compare(by_session.run(spark.createDataFrame(pa.Table.from_pylist(more))).toArrow().to_pylist(), wanted)


def test_nobody_takes_the_first_step(spark: SparkSession) -> None:
    made = sk.funnel(["A", "B"], by="user")
    table = pa.table({"time": [1, 2], "type": ["X", "Y"], "user": ["u", "u"]})
    with pytest.warns(sk.SparkleeneWarning, match="no event is of the type"):
        wanted = made.run(table).to_pylist()
    assert [row["users"] for row in wanted] == [0, 0]
    compare(made.run(spark.createDataFrame(table)).toArrow().to_pylist(), wanted)
    none = sk.funnel(["A", "B"], by="user", session=10).run(spark.createDataFrame(table)).toArrow()
    assert [none.column(name).to_pylist() for name in ("users", "sessions", "trends")] == [[0, 0]] * 3


def test_within_a_time(spark: SparkSession, tmp_path: Path) -> None:
    """With and without trends: in this process users alone are counted in a way of their own."""
    events = pa.Table.from_pylist([one for text in BATCHES for one in clicks(text)], SCHEMA)
    pq.write_table(events, tmp_path / "events.parquet")
    for measures in (["users"], ["users", "trends", "times"]):
        made = sk.funnel(["A", "B", "C"], by="user", within="5 seconds", measures=measures)
        wanted = made.run(events).to_pylist()
        assert [row["users"] for row in wanted] == [3, 3, 1]
        compare(made.run(spark.createDataFrame(events)).toArrow().to_pylist(), wanted)
        compare(made.run(str(tmp_path), engine="spark").toArrow().to_pylist(), wanted)


def clicks(text: str) -> list[dict[str, Any]]:
    """Read `a1u` as an A of user u after a second."""
    platform = {"u": "web", "v": "app", "w": "web"}
    return [
        {"time": at(float(word[1:-1])), "type": word[0].upper(), "user": word[-1], "platform": platform[word[-1]]}
        for word in text.split()
    ]


BATCHES = ["a1u b2u a3v", "b4v c5u a12u b8w a13w", "a9.5w c9v b14u c15u b16w", "a31v b32v", "a1u c45v a1000000v"]


@pytest.mark.repeat
@pytest.mark.parametrize(("within", "any_order"), [("3 seconds", "none"), *rest([(None, "none"), (None, "all")])])
def test_streams(within: str | None, any_order: str, spark: SparkSession, tmp_path: Path) -> None:
    """Each window and group comes once, with all steps, also after a restart; late rows are left out."""
    options: dict[str, Any] = {"by": "user", "every": "10 seconds", "breakdown": "platform", "within": within}
    options["any_order"] = any_order
    made = sk.funnel(["A", "B", "C"], **options)
    source = Source(spark, tmp_path / "files", SCHEMA)
    for begin, end in ((0, 3), (3, 5)):  # the second part goes on from the checkpoint of the first
        source.add(*(clicks(text) for text in BATCHES[begin:end]))
        rows = Ended(made.run(source.marked("5 seconds")), tmp_path / "stream", sink="parquet").rows
    on_time = [one for text in BATCHES for one in clicks(text)]
    late = on_time.index(clicks("a31v")[0]) + 2  # the watermark has long passed it
    assert on_time[late] == clicks("a1u")[0]
    del on_time[late]
    every = made.run(pa.Table.from_pylist(on_time, SCHEMA)).to_pylist()
    wanted = [row for row in every if row["window_end"] < at(999)]
    compare(rows, wanted)
    assert sum(row["users"] for row in rows if row["step"] == 3) == (3 if within is None else 1)
    keys = [(row["window_start"], row.get("platform"), row["step"]) for row in rows]
    assert len(set(keys)) == len(keys)


def test_a_stream_cannot_be_asked_for_all(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "files", SCHEMA)
    with pytest.raises(sk.QueryError, match="which never ends"):
        sk.funnel(["A", "B"], by="user").run(source.marked())
    with pytest.raises(sk.QueryError, match="a stream has no end"):
        sk.funnel(["A", "B"], by="user", session="10 seconds").run(source.marked())
    with pytest.raises(sk.QueryError, match="only those steps of a window would come"):
        sk.funnel(["A", "B"], by="user", every="10 seconds").run(source.marked(), output_mode="update")
