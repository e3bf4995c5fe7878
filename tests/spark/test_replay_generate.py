"""Replay of generated streams: the rows of `sparkleene.generate`, by offsets, on Spark with one registration."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.errors import SparkleeneError
from sparkleene.generators import NAMES
from sparkleene.spark.replay import options
from sparkleene.spark.replay.data_source import Replay
from sparkleene.spark.replay.options import parse_options

pytestmark = pytest.mark.spark


def source(name: str, **options: Any) -> Replay:
    named = {key.replace("__", "."): str(value) for key, value in options.items()}
    return Replay({"generate": name} | named)


def played(reader: Any, partitions: list[Any]) -> pa.Table:
    """Run the tasks of a reader as Spark would, each in a process of its own."""
    sent = pickle.loads(pickle.dumps(reader))
    batches = [b for p in partitions for b in sent.read(pickle.loads(pickle.dumps(p)))]
    return pa.Table.from_batches(batches).combine_chunks()


def batch(name: str, **options: Any) -> pa.Table:
    made = source(name, **options)
    reader = made.reader(made.schema())
    return played(reader, reader.partitions())


def problems(**options: str) -> list[str]:
    with pytest.raises(SparkleeneError) as caught:
        parse_options({key.replace("__", "."): value for key, value in options.items()})
    assert {found.code for found in caught.value.diagnostics} == {"bad-option"}
    assert all(found.help for found in caught.value.diagnostics)
    return [found.message for found in caught.value.diagnostics]


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_of_the_stream(name: str) -> None:
    found = batch(name, events=2000, groups=6, generate__seed=3, generate__rate=50, numPartitions=3)
    wanted = sk.generate(name, 2000, groups=6, seed=3, rate=50)
    assert found.schema.names == wanted.schema.names
    assert found.to_pylist() == wanted.to_pylist()


def test_own_options_of_a_stream() -> None:
    found = batch("stock", events=500, Generate__Sectors=2, GROUPS=4)
    assert len(set(found["sector"].to_pylist())) == 2 and len(set(found["company"].to_pylist())) == 4


def test_rows_depend_on_offsets_only() -> None:
    options = {"events": 3000, "disorder": "5 seconds", "seed": 4, "repeat": 2, "generate__seed": 9}
    whole = batch("stock", **options)
    assert whole.num_rows == 6000
    made = source("stock", numPartitions=2, **options)
    reader = made.streamReader(made.schema())
    for start, end in np.sort(np.random.default_rng(0).integers(0, 6000, (8, 2)), axis=1).tolist():
        ends = [{**reader.initialOffset(), "rows": rows} for rows in (start, end)]
        assert played(reader, reader.partitions(*ends)).equals(whole.slice(start, end - start))


@pytest.mark.parametrize(
    "other", [{"generate__seed": 1}, {"generate__sectors": 3}, {"groups": 5}, {"events": 101}], ids=str
)
def test_offsets_of_another_stream_are_refused(other: dict[str, Any]) -> None:
    def stream(**options: Any) -> Any:
        made = source("stock", **({"events": 100} | options))
        return made.streamReader(made.schema())

    known = stream().initialOffset()
    assert stream(rate=7).partitions(known, known) == []
    with pytest.raises(SparkleeneError, match="other-replay"):
        stream(**other).partitions(known, known)


def test_the_schema_needs_one_event_only(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    table = options.Generated.table
    monkeypatch.setattr(options.Generated, "table", lambda self: made.append(1) or table(self))
    schema = source("rides", events=10**9).schema()
    assert made == [1] and schema.fieldNames() == sk.generate("rides", 1).schema.names


def test_files_or_a_stream() -> None:
    assert problems(path="x", generate="stock") == ["both path and generate are given"]
    assert problems() == ["neither path nor generate is given", "the option time is missing"]
    assert problems(path="x", time="t", events="5", generate__seed="1") == [
        "events is given without generate", "generate.seed is given without generate",
    ]  # fmt: skip


def test_wrong_options_of_a_stream() -> None:
    assert problems(generate="stok") == ["there is no stream 'stok'"]
    assert problems(generate="stock", events="many", generate__sector="4", rate="0") == [
        "rate is '0'", "the stream 'stock' has no option 'sector'", "events of the stream 'stock' is 'many'",
    ]  # fmt: skip
    with pytest.raises(SparkleeneError, match="did you mean 'events'"):
        parse_options({"generate": "stock", "event": "5"})


# ---- on Spark


def test_register_brings_the_source(spark: Any) -> None:
    sk.spark.register(spark)
    options = {"generate": "cluster", "events": 4000, "generate.tick": 1, "rowsPerBatch": 2500}
    frame = spark.readStream.format("sparkleene.replay").options(**options).load()
    writer = frame.select("cpu", "load").writeStream.trigger(availableNow=True)
    query = writer.format("memory").queryName("generated").start()
    query.awaitTermination()
    assert [p["numInputRows"] for p in query.recentProgress if p["numInputRows"]] == [2500, 1500]
    wanted = sk.generate("cluster", 4000, tick=1).select(["cpu", "load"])
    assert spark.table("generated").toArrow().to_pylist() == wanted.to_pylist()


def test_a_query_over_a_batch(spark: Any) -> None:
    sk.spark.register(spark)
    text = (Path(__file__).parents[2] / "examples" / "queries" / "cogra_q2.q").read_text()
    options = {"generate": "rides", "events": 3000, "groups": 50}
    frame = spark.read.format("sparkleene.replay").options(**options).load()
    found = sk.query(text).run(frame).toArrow().select(["district", "count"])
    wanted = sk.query(text).run(sk.generate("rides", 3000, groups=50)).select(["district", "count"])
    keys = [("district", "ascending"), ("count", "ascending")]
    assert found.sort_by(keys).to_pylist() == wanted.sort_by(keys).to_pylist() != []


def test_a_table_becomes_a_data_frame(spark: Any) -> None:
    table = sk.generate("clicks", 200)
    frame = spark.createDataFrame(table)
    kinds = dict(frame.dtypes)
    assert kinds["type"] == kinds["IP"] == "string" and kinds["time"] == "timestamp"
    assert frame.toArrow().select(table.schema.names).to_pylist() == table.to_pylist()


def test_errors_show_through_spark(spark: Any) -> None:
    sk.spark.register(spark)
    with pytest.raises(Exception, match=r"error\[bad-option\]: there is no stream 'stok'"):
        spark.read.format("sparkleene.replay").option("generate", "stok").load()
