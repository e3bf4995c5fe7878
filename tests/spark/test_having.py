"""HAVING, ORDER BY, LIMIT and expressions on Spark: DataFrames, files by path, workloads and streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.chance import cases, rest
from tests.conformance import test_random
from tests.conformance.test_results import finished_cases
from tests.spark.test_streaming import END, SIMPLE, Ended, Source, at, events

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

GROUPS = "PATTERN A+ WHERE [u] GROUP-BY k % 4 AS m, k WITHIN 10 SLIDE 10"
TEXTS = {
    "all": f"RETURN SUM(A.x * 2 + A.k) AS s, COUNT(*) * 2 - 1 AS c {GROUPS} HAVING COUNT(*) > 1"
    " ORDER BY COUNT(A) DESC, s LIMIT 2",
    "ratio": "RETURN COUNT(*) / COUNT(A) AS r, MAX(A.k * 2) AS two PATTERN A+ WITHIN 10 SLIDE 10 HAVING r < 0.6",
    "first": "RETURN COUNT(*) + 0 AS c PATTERN A+ GROUP-BY k ORDER BY c DESC, k DESC LIMIT 4",
    "limit": "RETURN COUNT(*) PATTERN A+ GROUP-BY k WITHIN 5 SLIDE 5 LIMIT 1",
    "plain": "RETURN COUNT(*), AVG(A.x / A.k) AS mean PATTERN A+ GROUP-BY k",
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rows = [dict(time=i, type="A", k=i * 7 % 5, u=i % 2, x=None if i % 9 == 4 else i / 4) for i in range(40)]
    kinds = {"time": "int64", "type": "string", "k": "int64", "u": "int64", "x": "float64"}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


BOTH = [(name, numbers) for name in TEXTS for numbers in ("double", "exact")]
QUICK = [("all", "exact"), ("ratio", "double"), ("first", "double"), ("limit", "exact")]


@pytest.mark.parametrize(("name", "numbers"), [*QUICK, *rest(one for one in BOTH if one not in QUICK)])
def test_frames_and_paths(spark: SparkSession, tmp_path: Path, table: pa.Table, name: str, numbers: Any) -> None:
    query = sk.query(TEXTS[name], numbers=numbers)
    expected = query.run(table)
    pq.write_table(table, tmp_path / "events.parquet")
    frame = query.run(spark.createDataFrame(table).repartition(3))
    by_path = query.run(str(tmp_path), engine="spark")
    for found in (frame.toArrow(), by_path.toArrow()):
        assert found.schema.names == expected.schema.names
        rows = found.to_pylist()
        if "ORDER BY" not in query.text:
            rows.sort(key=lambda row: [row[name] for name in ("window_start", "k") if name in row])
        assert rows == expected.to_pylist()


def test_double_results_are_finished_by_sql(spark: SparkSession, table: pa.Table) -> None:
    def tasks(text: str, **options: Any) -> int:
        frame = sk.query(text, **options).run(spark.createDataFrame(table))
        return str(frame._jdf.queryExecution().optimizedPlan().toString()).count("MapInArrow")

    plain = tasks("RETURN COUNT(*) PATTERN A+ GROUP-BY k")
    assert tasks(TEXTS["first"]) == plain
    assert tasks(TEXTS["first"], numbers="exact") == plain + 1


@pytest.mark.parametrize("numbers", ["exact", *rest(["double"])])
def test_workloads(spark: SparkSession, table: pa.Table, numbers: Any) -> None:
    work = sk.workload(TEXTS, numbers=numbers)

    def rows(result: pa.Table) -> list[str]:
        return sorted(str(sorted(row.items(), key=str)) for row in result.to_pylist())

    expected = work.run(table)
    found = work.run(spark.createDataFrame(table).repartition(3)).toArrow()
    assert rows(found) == rows(expected)
    sorted_names = [name for name, text in TEXTS.items() if "ORDER BY" in text]
    in_order = [[row for row in one.to_pylist() if row["query"] in sorted_names] for one in (found, expected)]
    assert in_order[0] == in_order[1]  # query by query, and each as it is by itself
    for name, text in TEXTS.items():  # sharing leaves each query what it is by itself
        alone = sk.query(text, numbers=numbers).run(table)
        own = [row for row in expected.to_pylist() if row["query"] == name]
        assert [{column: row[column] for column in alone.column_names} for row in own] == alone.to_pylist()


@pytest.mark.parametrize("numbers", ["double", "exact"])
@given(data=st.data())
@settings(max_examples=cases(6), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_random_queries(spark: SparkSession, numbers: str, data: st.DataObject) -> None:
    case = data.draw(finished_cases(("none", "tumbling", "sliding"), numbers))

    def run(case: test_random.Case) -> test_random.Rows:
        query = test_random.compiled(case)
        result = query.run(spark.createDataFrame(test_random.table(case)).repartition(2)).toArrow()
        bound = query.prepared.plan_for(tuple(test_random.KINDS)).bound
        if bound.finish is not None and not bound.finish.order:
            names = [
                (name, "ascending") for name in ("window_start", *bound.group_names) if name in result.schema.names
            ]
            result = result.sort_by(names) if names and result.num_rows else result
        return result.to_pylist()

    test_random.check(case, run)


STREAM = (
    "RETURN k, COUNT(*) * 10 AS c, COUNT(A) / COUNT(*) AS r PATTERN SEQ(A+, B) GROUP-BY k"
    " WITHIN 10 seconds SLIDE 10 seconds"
)


TAILS = ["", "HAVING COUNT(*) > 1", "ORDER BY c DESC LIMIT 2", "HAVING c > 10 LIMIT 1"]
STREAMS = [(tail, numbers) for numbers in ("double", "exact") for tail in TAILS]
FEW = [("HAVING c > 10 ORDER BY c DESC LIMIT 2", "exact")]


@pytest.mark.repeat
@pytest.mark.parametrize(("tail", "numbers"), [*FEW, *rest(one for one in STREAMS if one not in FEW)])
def test_streams(spark: SparkSession, tmp_path: Path, tail: str, numbers: Any) -> None:
    source = Source(spark, tmp_path / "files", SIMPLE)
    rows = [row for k, text in enumerate(("a1 a2 b3", "a1 b4", "a2 a3 a4 b5", "a11 b12", "a13 a14 b15"), 1)
            for row in events(text, k)]  # fmt: skip
    source.add(rows[:5], rows[5:] + END)
    query = sk.query(f"{STREAM} {tail}", numbers=numbers)
    with two_partitions(spark):
        ended = Ended(query.run(source.marked()), tmp_path)
    expected = source.expected(query)
    assert expected
    assert sorted(map(str, ended.rows)) == sorted(map(str, expected))
    assert all(row["window_end"] <= at(100) for row in ended.rows)


def two_partitions(spark: SparkSession) -> Any:
    from tests.spark.test_streaming import settings as changed

    return changed(spark, **{"shuffle.partitions": "2"})


@pytest.mark.parametrize("tail", ["HAVING COUNT(*) > 1", "ORDER BY c", "LIMIT 1"])
def test_update_mode_keeps_all_rows(spark: SparkSession, tmp_path: Path, tail: str) -> None:
    source = Source(spark, tmp_path / "files", SIMPLE).add(END)
    with pytest.raises(sk.QueryError) as caught:
        sk.query(f"{STREAM} {tail}").run(source.marked(), output_mode="update")
    assert [found.code for found in caught.value.diagnostics] == ["unsupported-stream"]
    assert tail.split(" COUNT")[0].split(" c")[0].split(" 1")[0] in caught.value.diagnostics[0].message
    assert sk.query(STREAM).run(source.marked(), output_mode="update").columns[-2:] == ["c", "r"]
