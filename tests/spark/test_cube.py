"""A cube on Spark: DataFrames, files by path and streams give what each query gives in this process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PLACES = {"Bus": "Dallas", "Hospital": "Dallas", "Dallas": "Texas", "Austin": "Texas", "Tulsa": "Oklahoma"}
TYPES = ("Bus", "Hospital", "Austin", "Tulsa", "Other")


def rows(types: tuple[str, ...] = TYPES, count: int = 400) -> pa.Table:
    """Return events of these types, in turns that do not repeat soon."""
    kinds = [types[(i * i + i // 7) % len(types)] for i in range(count)]
    return pa.table(
        {
            "time": pa.array([(1000 + i) * 1_000_000 for i in range(count)], pa.timestamp("us", "UTC")),
            "type": kinds,
            "person": [f"p{i % 5}" for i in range(count)],
            "fare": [float(i % 11) for i in range(count)],
        }
    )


def texts(returns: str = "COUNT(*), SUM(P.fare), MAX(P.fare)") -> dict[str, str]:
    """Return queries of which the first is the sum of two others; one of these names its columns differently."""
    end = "WHERE [person] GROUP-BY person WITHIN 50 seconds SLIDE 25 seconds"
    made = {name: f"RETURN person, {returns} PATTERN SEQ({name} P, Oklahoma) {end}" for name in ("Texas", "Dallas")}
    other = returns.replace("COUNT(*)", "COUNT(*) AS n")
    named = end.replace("BY person", "BY person AS who")
    made["Austin"] = f"RETURN who, {other} PATTERN SEQ(Austin P, Oklahoma) {named}"
    made["many"] = f"RETURN person, COUNT(*) PATTERN SEQ(Texas P, Oklahoma) {end} HAVING COUNT(*) > 2"
    return made


def listed(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.fixture
def cube() -> sk.Cube:
    return sk.cube(texts(), PLACES)


def found(result: DataFrame, like: pa.Table) -> list[str]:
    return listed(result.toArrow().select(like.column_names).cast(like.schema))


def test_frames_and_paths_are_as_in_process(spark: SparkSession, tmp_path: Path, cube: sk.Cube) -> None:
    table = rows()
    assert [step.query for step in cube._plan_for(None, frozenset(TYPES)).steps if step.sources] == ["Texas"]
    expected = cube.run(table)
    alone = {name: q.run(table) for name, q in cube.queries.items()}
    assert expected.num_rows == sum(result.num_rows for result in alone.values()) > 0
    frame = spark.createDataFrame(table)
    assert found(cube.run(frame), expected) == listed(expected)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    assert found(cube.run(str(tmp_path), engine="spark"), expected) == listed(expected)
    assert cube.explain(frame) == cube.explain(table)
    assert cube.explain(str(tmp_path), engine="spark") == cube.explain(table)


def test_types_of_the_data_decide(spark: SparkSession, cube: sk.Cube) -> None:
    table = rows((*TYPES, "Texas"))  # is in no finer query
    frame = spark.createDataFrame(table)
    assert re.search("Texas +cost 3 +evaluated", cube.explain(frame))
    expected = cube.run(table)
    assert found(cube.run(frame), expected) == listed(expected)


def test_exact_numbers(spark: SparkSession) -> None:
    cube = sk.cube(texts("COUNT(*), SUM(P.fare)"), PLACES, numbers="exact")
    table = rows()
    expected = cube.run(table)
    assert found(cube.run(spark.createDataFrame(table)), expected) == listed(expected)


@pytest.mark.repeat
def test_a_stream_evaluates_what_it_cannot_know(spark: SparkSession, tmp_path: Path, cube: sk.Cube) -> None:
    table = rows()
    pq.write_table(table, tmp_path / "a.parquet")
    stream = spark.readStream.schema(spark.read.parquet(str(tmp_path)).schema).parquet(str(tmp_path))
    stream = stream.withWatermark("time", "1 second")
    assert re.search("Texas +cost 3 +evaluated", cube.explain(stream))
    query = cube.run(stream).writeStream.format("memory").queryName("cube").trigger(availableNow=True).start()
    query.awaitTermination(120)
    last = (1000 + 399 - 1) * 1_000_000  # the watermark
    got = spark.table("cube").toArrow()
    expected = cube.run(table)
    ended = expected.filter(
        pa.compute.less_equal(expected["window_end"], pa.scalar(last, pa.timestamp("us", "UTC")))
    )
    assert listed(got.select(ended.column_names).cast(ended.schema)) == listed(ended)
    assert ended.num_rows > 0


def test_sums_beyond_doubles_are_an_error(spark: SparkSession) -> None:
    table = rows()
    table = table.set_column(3, "fare", pa.array([1e308 if i % 2 else -1e308 for i in range(table.num_rows)]))
    cube = sk.cube(texts("COUNT(*), SUM(P.fare)"), PLACES)
    assert cube.run(table).num_rows > 0
    with pytest.raises(Exception, match="beyond doubles, so those of 'Texas' do not follow"):
        cube.run(spark.createDataFrame(table)).collect()


@pytest.mark.parametrize("option", [{"strategy": "shuffle"}, {"output_mode": "update"}])
def test_options_of_spark_need_spark(cube: sk.Cube, option: Any) -> None:
    with pytest.raises(sk.QueryError, match="bad-option"):
        cube.run(rows(), **option)
