"""Replay: the order of play and the offsets in this process, then streams and batches on Spark."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.datasource import ReadAllAvailable
from tests.chance import rest

from sparkleene.errors import SparkleeneError
from sparkleene.spark.replay import timeline
from sparkleene.spark.replay.data_source import Replay
from sparkleene.spark.replay.options import parse_options

pytestmark = pytest.mark.spark

COUNT = 5000
SECOND = 1_000_000
START = 1_700_000_000 * SECOND


def events(count: int = COUNT, seed: int = 1) -> pa.Table:
    """About one event a second, some at the same time."""
    rng = np.random.default_rng(seed)
    times = START + np.sort(rng.integers(0, count, count)) * SECOND
    return pa.table(
        {
            "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "id": pa.array(np.arange(count)),
            "kind": pa.array(rng.choice(["A", "B"], count)).dictionary_encode(),
            "seen": pa.array([[i] if i % 3 else None for i in range(count)], pa.list_(pa.int32())),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of Parquet whose names are not in the order of their times, in small row groups."""
    return write_events(tmp_path_factory.mktemp("replay") / "events")


def write_events(folder: Path) -> Path:
    folder.mkdir()
    table = events()
    pq.write_table(table.slice(0, 2000), folder / "b.parquet", row_group_size=300)
    pq.write_table(table.slice(2000), folder / "a.parquet", row_group_size=700)
    return folder


def source(path: Path, **options: Any) -> Replay:
    return Replay({"path": str(path), "time": "ts"} | {key: str(value) for key, value in options.items()})


def played(reader: Any, partitions: list[Any]) -> pa.Table:
    """Run the tasks of a reader as Spark would, each in a process of its own."""
    sent = pickle.loads(pickle.dumps(reader))
    batches = [b for p in partitions for b in sent.read(pickle.loads(pickle.dumps(p)))]
    return pa.Table.from_batches(batches)


def batch(path: Path, **options: Any) -> pa.Table:
    made = source(path, **options)
    reader = made.reader(made.schema())
    return played(reader, reader.partitions())


def stream(path: Path, **options: Any) -> Any:
    made = source(path, **options)
    return made.streamReader(made.schema())


def micros(table: pa.Table) -> np.ndarray[Any, Any]:
    return np.asarray(table["ts"].cast(pa.int64()))


def lateness(table: pa.Table) -> np.ndarray[Any, Any]:
    """How far each row's time is behind the greatest before it."""
    times = micros(table)
    return np.maximum.accumulate(times) - times


def fault(code: str, path: Path | str, **options: Any) -> str:
    with pytest.raises(SparkleeneError) as caught:
        batch(Path(path), **options)
    assert [found.code for found in caught.value.diagnostics] == [code]
    return str(caught.value)


# ---- order


def test_plain_replay_is_the_data_in_order(folder: Path) -> None:
    found = batch(folder)
    assert found["id"].to_pylist() == list(range(COUNT))
    assert found["kind"].to_pylist() == events()["kind"].to_pylist()
    assert found["seen"].to_pylist() == events()["seen"].to_pylist()


ORDERS: list[dict[str, Any]] = [
    {},
    {"disorder": 40},
    {"disorder": "30 seconds", "seed": 5},
    {"disorder": "2 minutes", "late": 0.05},
    {"disorder": 25, "late": 0.1, "repeat": 3},
    {"disorder": "1.5 minutes", "repeat": 3, "seed": -1},
]


@pytest.mark.parametrize("options", ORDERS, ids=str)
def test_rows_depend_on_offsets_only(folder: Path, options: dict[str, Any]) -> None:
    whole = batch(folder, **options)
    assert whole.num_rows == COUNT * options.get("repeat", 1)
    assert whole.equals(batch(folder, numPartitions=7, **options))
    reader = stream(folder, numPartitions=2, **options)
    rng = np.random.default_rng(0)
    for start, end in np.sort(rng.integers(0, whole.num_rows, (12, 2)), axis=1).tolist():
        offsets = [{**reader.initialOffset(), "rows": rows} for rows in (start, end)]
        partitions = reader.partitions(*offsets)
        assert len(partitions) == min(2, end - start)
        if partitions:
            assert played(reader, partitions).combine_chunks().equals(whole.slice(start, end - start))


def test_disorder_in_time_stays_within_the_bound(folder: Path) -> None:
    late = lateness(batch(folder, disorder="30 seconds", repeat=2))
    assert 20 * SECOND < late.max() < 30 * SECOND
    assert late.mean() > 5 * SECOND


def test_disorder_in_rows_stays_within_the_bound(folder: Path) -> None:
    ids = np.asarray(batch(folder, disorder=50)["id"])
    moved = np.abs(ids - np.arange(COUNT))
    assert sorted(ids) == list(range(COUNT))
    assert 20 < moved.max() < 50


def test_seeds_give_other_orders_of_the_same_rows(folder: Path) -> None:
    one, same, other = (batch(folder, disorder="30 seconds", seed=seed)["id"] for seed in (1, 1, 2))
    assert one.equals(same) and not one.equals(other)
    assert sorted(one.to_pylist()) == sorted(other.to_pylist())


def test_so_many_rows_are_late(folder: Path) -> None:
    late = lateness(batch(folder, disorder="20 seconds", late=0.1))
    assert 0.07 < (late > 20 * SECOND).mean() < 0.13
    assert late.max() < 80 * SECOND


def test_time_goes_on_in_repetitions(folder: Path) -> None:
    times = micros(batch(folder, repeat=3))
    assert (np.diff(times) >= 0).all()
    assert times[COUNT] > times[COUNT - 1]
    assert (np.diff(times.reshape(3, COUNT), axis=0) == times[COUNT] - times[0]).all()
    assert batch(folder, repeat="forever").num_rows == COUNT


# ---- files


def test_csv_is_sorted(folder: Path, tmp_path: Path) -> None:
    table = events().drop_columns(["seen", "kind"]).take(np.random.default_rng(3).permutation(COUNT))
    table = table.set_column(0, "ts", pc.assume_timezone(pc.local_timestamp(table["ts"]), "UTC"))
    pc_csv.write_csv(table, tmp_path / "events.csv")
    found = batch(tmp_path / "events.csv", numPartitions=3)
    assert found["ts"].to_pylist() == events()["ts"].to_pylist()
    assert sorted(found["id"].to_pylist()) == list(range(COUNT))


def test_parquet_out_of_order_is_sorted_if_it_is_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(events().take(np.arange(COUNT)[::-1]), path, row_group_size=400)
    found = batch(path, disorder="1 minute", numPartitions=3)
    assert found["id"].to_pylist() != list(range(COUNT))
    assert batch(path)["ts"].to_pylist() == events()["ts"].to_pylist()
    monkeypatch.setattr(timeline, "HELD", 1000)
    assert 'orderBy("ts")' in fault("not-in-order", path)


def test_integer_times_have_the_unit_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"ts": pa.array(np.arange(500), pa.int32())}), path)
    found = np.asarray(batch(path, timeUnit="seconds", disorder="1 minute", repeat=2)["ts"])
    assert sorted(found) == list(range(1000))
    assert 30 < (np.maximum.accumulate(found) - found).max() < 60
    assert "timeUnit" in fault("unit-unknown", path, disorder="1 minute")
    assert "timeUnit" in fault("unit-unknown", path, speed=2)


def test_a_task_reads_no_more_than_it_needs(folder: Path) -> None:
    reader = stream(folder, disorder="10 seconds")
    [task] = reader.partitions(*({**reader.initialOffset(), "rows": rows} for rows in (1000, 1100)))
    assert sum(part.rows for part in task.value.slices) < 150
    assert len(task.value.slices) <= 2


def test_a_schema_chooses_columns_and_types(folder: Path) -> None:
    schema = T.StructType([T.StructField("id", T.StringType()), T.StructField("kind", T.StringType())])
    reader = source(folder, disorder="10 seconds").reader(schema)
    found = played(reader, reader.partitions())
    assert found.schema == pa.schema({"id": pa.string(), "kind": pa.string()})
    assert found["id"].to_pylist() == [str(id) for id in batch(folder, disorder="10 seconds")["id"].to_pylist()]
    with pytest.raises(SparkleeneError, match="missing-column"):
        source(folder).reader(T.StructType([T.StructField("it", T.LongType())])).partitions()


def test_no_rows(tmp_path: Path) -> None:
    pq.write_table(events(0), tmp_path / "none.parquet")
    made = source(tmp_path / "none.parquet", repeat="forever", rate=5, disorder="1 second")
    assert made.reader(made.schema()).partitions() == []
    reader = made.streamReader(made.schema())
    assert reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())["rows"] == 0


# ---- offsets


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def offsets(reader: Any, clock: Clock, steps: list[float], start: int = 0) -> list[int]:
    """Return the latest offsets, as rows, after each so many seconds."""
    reader.clock = clock
    at = {**reader.initialOffset(), "rows": start}
    found = []
    for seconds in steps:
        clock.now += seconds
        at = reader.latestOffset(at, reader.getDefaultReadLimit())
        found.append(at["rows"])
    return found


def test_rate_counts_rows_by_the_clock(folder: Path) -> None:
    found = offsets(stream(folder, rate=8), Clock(), [0, 0.0625, 0.0625, 2, 0, 10_000])
    assert found == [0, 0, 1, 17, 17, COUNT]
    assert offsets(stream(folder, rate=10, rowsPerBatch=15), Clock(), [0, 2, 0]) == [0, 15, 20]
    assert offsets(stream(folder, rate=10), Clock(), [0, 1], start=700) == [700, 710]
    assert offsets(stream(folder, rate=10, repeat="forever"), Clock(), [0, 10_000]) == [0, 100_000]


def test_speed_follows_the_times_of_events(folder: Path) -> None:
    times = micros(events()) - micros(events())[0]
    found = offsets(stream(folder, speed=60), Clock(), [0, 1, 10, 1000])
    assert found == [int((times <= seconds * SECOND).sum()) for seconds in (0, 60, 660)] + [COUNT]
    [_, there] = offsets(stream(folder, speed=60, repeat=2), Clock(), [0, 1], start=COUNT + 100)
    assert there == COUNT + int((times <= times[100] + 60 * SECOND).sum())


def test_without_a_clock_batches_have_a_size(folder: Path) -> None:
    assert offsets(stream(folder), Clock(), [0, 0]) == [COUNT, COUNT]
    assert offsets(stream(folder, rowsPerBatch=2000), Clock(), [0, 0, 0, 0]) == [2000, 4000, COUNT, COUNT]
    assert offsets(stream(folder, repeat="forever"), Clock(), [0, 0]) == [100_000, 200_000]


def test_available_now_ends_with_the_data(folder: Path) -> None:
    for repeat, end in ((1, 5000), (2, 10_000), ("forever", 5000)):
        reader = stream(folder, rate=1, rowsPerBatch=4000, repeat=repeat)
        reader.prepareForTriggerAvailableNow()
        assert offsets(reader, Clock(), [0] * 4)[-2:] == [end, end]
    reader = stream(folder, rate=1, rowsPerBatch=10)
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable())["rows"] == COUNT


def test_offsets_of_another_replay_are_refused(folder: Path) -> None:
    known = stream(folder, disorder=10).initialOffset()
    assert stream(folder, disorder=10, rate=5).partitions(known, known) == []
    with pytest.raises(SparkleeneError, match="other-replay"):
        stream(folder, disorder=11).partitions(known, known)


# ---- options


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("rate", "0"), ("rate", "fast"), ("speed", "-1"), ("speed", "nan"), ("rowsPerBatch", "0.5"),
        ("disorder", "-1"), ("disorder", "5 moons"), ("disorder", "1.5"), ("late", "1"), ("seed", "x"),
        ("repeat", "0"), ("repeat", "always"), ("numPartitions", "0"), ("timeUnit", "years"),
    ],
)  # fmt: skip
def test_a_bad_option_is_named(option: str, text: str) -> None:
    with pytest.raises(SparkleeneError) as caught:
        parse_options({"path": "x", "time": "ts", option.lower(): text})
    [found, *_] = caught.value.diagnostics
    assert found.code == "bad-option" and found.message == f"{option} is '{text}'" and found.help


def test_all_that_is_wrong_comes_at_once() -> None:
    with pytest.raises(SparkleeneError) as caught:
        parse_options({"pth": "x", "rate": "1", "speed": "2", "late": "0.1"})
    messages = [found.message for found in caught.value.diagnostics]
    assert messages == [
        "there is no option 'pth'", "neither path nor generate is given", "the option time is missing",
        "both rate and speed are given", "late is given without disorder",
    ]  # fmt: skip
    assert caught.value.diagnostics[0].help == "did you mean 'path'?"


def test_errors_in_the_data(folder: Path, tmp_path: Path) -> None:
    assert "did you mean 'ts'" in fault("missing-column", folder, time="t")
    fault("missing-file", folder / "none")
    fault("wrong-type", folder, time="kind")
    path = tmp_path / "events.parquet"
    pq.write_table(
        pa.table({"ts": pa.array([1, None]), "x": [0.5, 1.5], "day": pa.array([1, 2], pa.date32())}), path
    )
    fault("null-time", path)
    fault("wrong-type", path, time="x")
    fault("bad-option", path, time="day", disorder="1 hour")


# ---- on Spark


def load(spark: Any, path: Path, reader: str = "readStream", **options: Any) -> Any:
    spark.dataSource.register(Replay)
    return getattr(spark, reader).format("sparkleene.replay").options(path=path, time="ts", **options).load()


def collect(frame: Any, checkpoint: Path, target: Path) -> Any:
    """Play what is available into Parquet files, and return the query when it has ended."""
    writer = frame.writeStream.trigger(availableNow=True).option("checkpointLocation", str(checkpoint))
    query = writer.start(str(target), format="parquet")
    query.awaitTermination()
    return query


def test_stream_and_batch_have_the_rows_of_the_data(spark: Any, folder: Path, tmp_path: Path) -> None:
    options = {"disorder": "1 minute", "rowsPerBatch": 2500, "numPartitions": 2, "repeat": 2, "rate": 1}
    wanted = batch(folder, **options)
    frame = load(spark, folder, **options)
    assert frame.schema["ts"].dataType == T.TimestampType()
    query = collect(frame, tmp_path / "checkpoint", tmp_path / "out")
    assert [p["numInputRows"] for p in query.recentProgress if p["numInputRows"]] == [2500] * 4
    got = spark.read.parquet(str(tmp_path / "out")).select("ts", "id", "kind", "seen").toArrow()
    keys = [("ts", "ascending"), ("id", "ascending")]
    assert got.sort_by(keys).to_pylist() == wanted.sort_by(keys).to_pylist()
    once = load(spark, folder, "read", **options).toArrow()
    assert once["id"].to_pylist() == wanted["id"].to_pylist()


@pytest.mark.repeat
def test_restart_from_a_checkpoint(spark: Any, folder: Path, tmp_path: Path) -> None:
    frame = load(spark, folder, disorder="1 minute", rowsPerBatch=1000)
    order: list[Any] = []

    def fail(rows: Any, number: int) -> None:
        order.append((number, [row.id for row in rows.select("id").collect()]))
        if len(order) == 3:
            raise RuntimeError("killed")

    for end in ("killed", None):
        writer = frame.writeStream.trigger(availableNow=True).option("checkpointLocation", str(tmp_path))
        query = writer.foreachBatch(fail).start()
        if end:
            with pytest.raises(Exception, match=end):
                query.awaitTermination()
        else:
            query.awaitTermination()
    numbers = [number for number, _ in order]
    assert numbers == [0, 1, 2, 2, 3, 4]
    assert order[2] == order[3]
    ids = [id for number, rows in dict(order).items() for id in rows]
    assert ids == batch(folder, disorder="1 minute")["id"].to_pylist()
    other = load(spark, folder, disorder="2 minutes").writeStream.trigger(availableNow=True)
    query = other.option("checkpointLocation", str(tmp_path)).foreachBatch(fail).start()
    with pytest.raises(Exception, match="other-replay"):
        query.awaitTermination()


@pytest.mark.repeat
@pytest.mark.parametrize("late", [0.05, *rest([0])])
def test_a_watermark_of_the_bound_loses_only_late_rows(
    spark: Any, folder: Path, tmp_path: Path, late: float
) -> None:
    frame = load(spark, folder, disorder="20 minutes", late=late, rowsPerBatch=1250)
    counts = frame.withWatermark("ts", "20 minutes").groupBy(F.window("ts", "10 seconds")).count()
    query = collect(counts, tmp_path / "checkpoint", tmp_path / "out")
    dropped = sum(s["numRowsDroppedByWatermark"] for p in query.recentProgress for s in p["stateOperators"])
    out = spark.read.parquet(str(tmp_path / "out"))
    [(counted, last)] = out.agg(F.sum("count"), F.max("window.end")).collect()
    expected = load(spark, folder, "read").where(F.col("ts") < last).count()
    assert (dropped > 0) is (late > 0)
    assert counted == expected if not late else counted < expected


def test_errors_show_through_spark(spark: Any, folder: Path) -> None:
    with pytest.raises(Exception, match=r"error\[bad-option\]: rate is '0'"):
        load(spark, folder, rate=0)
