"""Folders called `column=value` mean the same in process, by path on Spark, and to spark.read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chance import rest

import sparkleene as sk
from sparkleene.columns.fields import value_type
from sparkleene.columns.tables import read_data
from sparkleene.spark.parquet.footers import discover
from sparkleene.spark.parquet.pieces import read, select_pieces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NULL = "__HIVE_DEFAULT_PARTITION__"
COLUMNS = {
    "word": (["a b", "é", "x=y"], "string"),
    "number": (["1", "02", "-3"], "int32"),
    "big": (["1", "2147483648", "3"], "int64"),
    "huge": (["99999999999999999999", "1", "2"], "decimal"),
    "double": (["1.5", "2", "-0.5"], "double"),
    "day": (["2024-01-01", "2024-02-29", "2024-01-01"], "date32[day]"),
    "no_day": (["2024-01-01", "2024-02-30", "2024-01-01"], "string"),
    "moment": (["2024-01-01 10%3A00%3A00", "2024-07-01", NULL], "timestamp[us, tz=UTC]"),
    "clock": (["10%3A00%3A00", "11%3A30%3A00", "12%3A00%3A00"], "string"),
    "mixed": (["1", "x", "2024-01-01"], "string"),
    "some": (["7", NULL, "8"], "int32"),
    "texts": (["p", NULL, "q"], "string"),
    "flag": (["true", "false", "true"], "string"),
    "big_and_double": (["2147483648", "1.5", "2"], "string"),
}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give this machine the zone of the session, whose default is the machine's."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files, each below a folder for every column; files that are empty or hidden do not count."""
    root = tmp_path_factory.mktemp("hive")
    for i in range(3):
        inside = root.joinpath(*(f"{name}={texts[i]}" for name, (texts, _) in COLUMNS.items()))
        inside.mkdir(parents=True)
        pq.write_table(pa.table({"time": [i, i + 10], "type": ["A", "A"], "number": [0, 0]}), inside / "f.parquet")
        (inside / "empty.parquet").touch()
    (root / "_SUCCESS").touch()
    return root


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row["time"])


def types(table: pa.Table) -> dict[str, str]:
    """Return the types by name; Spark counts the digits of decimals."""
    found = {field.name: value_type(field.type) for field in table.schema}
    return {name: "decimal" if pa.types.is_decimal(type) else str(type) for name, type in found.items()}


def test_columns_of_folders_are_the_same_everywhere(spark: SparkSession, folder: Path) -> None:
    frame = spark.read.parquet(str(folder))
    # times of day have a type of their own from Spark 4.1 on, which queries cannot use yet
    wanted = frame.withColumn("clock", frame["clock"].cast("string")).toArrow()
    source = select_pieces(discover(folder, "UTC"), wanted.column_names, "time")
    by_path = pa.concat_tables([read(piece, source.schema) for piece in source.pieces])
    local, _ = read_data(folder)
    for found in (by_path, local):
        assert rows(found.select(wanted.column_names)) == rows(wanted)
        assert types(found) == types(wanted)
    for name, (_, type) in COLUMNS.items():
        assert types(wanted)[name] == type


@pytest.mark.parametrize("name", ["moment", "mixed", *rest(["number", "double", "day", "some"])])
def test_results_by_columns_of_folders(spark: SparkSession, folder: Path, name: str) -> None:
    query = sk.query(f"RETURN {name}, COUNT(*) AS n, MAX(A.{name}) AS high PATTERN A+ GROUP-BY {name}")
    local = query.run(folder)
    frame = query.run(spark.read.parquet(str(folder))).toArrow()
    by_path = query.run(folder, engine="spark").toArrow()
    assert local.num_rows
    for found in (frame, by_path):
        assert sorted(found.to_pylist(), key=str) == sorted(local.to_pylist(), key=str)
        assert types(found) == types(local)


def test_a_column_of_folders_compares_in_its_type(folder: Path) -> None:
    for where, n in (("A.day < '2024-02-01'", 4), ("A.double > 1", 4), ("A.big > 3", 2)):
        [row] = sk.query(f"RETURN COUNT(A) AS n PATTERN A WHERE {where}").run(folder).to_pylist()
        assert row["n"] == n


def test_a_column_in_some_folders_only(tmp_path: Path) -> None:
    for inside in (tmp_path / "k=1", tmp_path):
        inside.mkdir(exist_ok=True)
        pq.write_table(pa.table({"time": [1], "type": ["A"]}), inside / "f.parquet")
    query = sk.query("RETURN COUNT(*) AS n PATTERN A+ WHERE A.k = 1")
    for engine in ("local", "spark"):
        with pytest.raises(sk.DataError, match="conflicting-partitions"):
            query.run(tmp_path, engine=engine)
    assert sk.query("RETURN COUNT(*) AS n PATTERN A+").run(tmp_path).to_pylist() == [{"n": 2}]


def test_tables_with_a_log_are_refused_in_process_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"time": [1], "type": ["A"]}), tmp_path / "f.parquet")
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(sk.DataError, match="table-format"):
        sk.query("RETURN COUNT(*) PATTERN A+").run(tmp_path)
