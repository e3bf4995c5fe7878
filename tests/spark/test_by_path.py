"""Queries over Parquet files by path on Spark return what the in-process engine does over their rows."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from tests.spark.test_batch import first, plain, told

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

MANY = "RETURN user, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user, site] GROUP-BY user WITHIN 60 SLIDE 30"
ONE = "RETURN COUNT(*), AVG(A.x) PATTERN SEQ(A+, B)"
ROWS = 120
TABLE = pa.table(
    {
        "time": [2 * n - 50 for n in range(ROWS)],
        "type": ["AABC"[n * 7 % 4] for n in range(ROWS)],
        "user": [["", "é", "日本", "x", None][n // 2 % 5] for n in range(ROWS)],
        "site": pa.array([n // 7 % 2 for n in range(ROWS)], pa.int8()),
        "x": [n * 5 % 11 - 2.5 if n % 9 else None for n in range(ROWS)],
        "ride": [{"fare": n % 5, "city": "pq"[n % 2]} for n in range(ROWS)],
    }
)


def write(folder: Path, table: pa.Table, pieces: int, group: int | None = None) -> None:
    """Write a table into several files, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-table.num_rows // pieces)
    for number in range(pieces):
        pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet", row_group_size=group)


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files that follow each other in time, with row groups of 15 rows."""
    folder = tmp_path_factory.mktemp("ordered")
    write(folder, TABLE, 3, 15)
    return folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose times overlap."""
    folder = tmp_path_factory.mktemp("mixed")
    write(folder, TABLE.take(pa.array([n * 37 % ROWS for n in range(ROWS)])), 3, 15)
    return folder


def same(path: Any, text: str, table: pa.Table = TABLE, *, strategy: Any = None, **options: Any) -> None:
    """Compare the rows of Spark, read by path, with those of the in-process engine."""
    query = sk.query(text, **options)
    expected = query.run(table)
    found = query.run(path, engine="spark", strategy=strategy)
    assert found.columns == expected.column_names
    assert plain(found.toArrow().to_pylist()) == plain(expected.to_pylist())
    assert expected.num_rows


def strategy_of(path: Any, text: str, **options: Any) -> str:
    """Return the strategy that explain tells."""
    told = sk.query(text, **options).explain(path, engine="spark").partition("\nSpark\n")[2]
    [line] = [line for line in told.splitlines() if line.split()[:1] == ["strategy"]]
    return line.split()[1].rstrip(":")


def test_files_folders_lists_and_patterns(ordered: Path, mixed: Path) -> None:
    first_file = ordered / "0.parquet"
    same(first_file, ONE, TABLE.slice(0, 40))
    same(str(ordered), MANY)
    same([first_file, str(ordered / "2.parquet")], MANY, pa.concat_tables([TABLE.slice(0, 40), TABLE.slice(80)]))
    same(ordered / "[12].parquet", ONE, TABLE.slice(40))
    same(f"file://{mixed}", MANY)
    same(mixed, "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x AND A.ride.fare > 1 WITHIN 20")


def test_statistics_of_times_choose_the_strategy(ordered: Path, mixed: Path) -> None:
    for text in (ONE, MANY):
        assert strategy_of(ordered, text) == "combine"
        assert strategy_of(mixed, text) == "shuffle"
        same(mixed, text)
        same(ordered, text, strategy="shuffle")
    assert strategy_of(ordered, "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x") == "shuffle"
    told = sk.query(ONE).explain(ordered, engine="spark")
    assert "9 of 9 row groups of 3 files, 120 rows" in told
    assert "follow each other in time" in told
    with pytest.raises(sk.QueryError, match="row groups overlap in time"):
        sk.query(ONE).run(mixed, engine="spark", strategy="combine")
    with pytest.raises(sk.QueryError, match="not sorted by Spark"):
        sk.query(ONE).run(mixed, engine="spark", strategy="sort")


def test_more_queries(ordered: Path) -> None:
    same(ordered, "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user] WITHIN 40 SLIDE 20", numbers="exact")
    same(ordered, "RETURN ride.city, MAX(user), COUNT(*) PATTERN A+ WHERE [ride.city, site] GROUP-BY ride.city")
    same(ordered, "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [A.user, site] WITHIN 30")
    same(
        ordered,
        "RETURN COUNT(*) PATTERN SEQ(B, A) SEMANTICS contiguous WHERE [site] WITHIN 8 EVENTS SLIDE 4 EVENTS",
    )
    types = {"Low": "x < 0", "High": "x >= 3 AND ride.fare > 0"}
    same(ordered, "RETURN COUNT(*) PATTERN SEQ(Low, High) WHERE [user] WITHIN 40 SLIDE 20", types=types)


def test_folders_that_are_columns(tmp_path: Path) -> None:
    for kind in "ABC":
        for site in (0, 1):
            here = [n for n in range(ROWS) if TABLE["type"][n].as_py() == kind and TABLE["site"][n].as_py() == site]
            part = TABLE.take(pa.array(here)).drop_columns(["type", "site"])
            write(tmp_path / f"type={kind}" / f"site={site}", part, 1)
    table = TABLE.set_column(3, "site", TABLE["site"].cast(pa.int32()))
    for text in (
        "RETURN site, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) GROUP-BY site",
        "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [user] AND site = 1",
        "RETURN COUNT(*), MAX(B.site) PATTERN SEQ(A, B) WHERE A.site < B.site",
    ):
        same(tmp_path, text, table)
    assert "2 of 6 row groups" in sk.query("RETURN COUNT(*) PATTERN A+").explain(tmp_path, engine="spark")
    query = sk.query("RETURN site, COUNT(*) PATTERN SEQ(A, B) WHERE [user] GROUP-BY site")
    assert first(query.trends(tmp_path, engine="spark", limit=4).toArrow()) == first(query.trends(table, limit=4))


def test_trends(ordered: Path) -> None:
    query = sk.query("RETURN user, COUNT(*) PATTERN SEQ(A, B) GROUP-BY user WITHIN 20 SLIDE 10")
    for path in (ordered, [ordered / "0.parquet", ordered / "1.parquet"], ordered / "*.parquet"):
        table = TABLE.slice(0, 80) if isinstance(path, list) else TABLE
        found = query.trends(path, engine="spark", limit=3).toArrow()
        assert first(found) == first(query.trends(table, limit=3))


def test_files_that_lack_a_column(tmp_path: Path) -> None:
    write(tmp_path, TABLE.slice(0, 60).drop_columns(["x"]), 1)
    pq.write_table(TABLE.slice(60), tmp_path / "1.parquet")
    table = pa.concat_tables([TABLE.slice(0, 60).drop_columns(["x"]), TABLE.slice(60)], promote_options="default")
    text = "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE B.x > 0 WITHIN 20 SLIDE 20"
    same(tmp_path, text, table)
    found = sk.query(text).trends(tmp_path, engine="spark", limit=3).toArrow()
    assert first(found) == first(sk.query(text).trends(table, limit=3))


@pytest.mark.parametrize("shuffled", [False, True])
def test_text_keys_with_many_values(tmp_path: Path, shuffled: bool) -> None:
    count = 3000
    names = [f"key {n}" if n < 1000 else "few"[n % 3] for n in range(count)]  # dictionaries pay for some files only
    table = pa.table(
        {"time": range(count), "type": ["AB"[n % 2] for n in range(count)], "k": names, "g": [*"uvw"] * 1000}
    )
    rows = table.take(pa.array([n * 7 % count for n in range(count)])) if shuffled else table
    write(tmp_path, rows, 3, 500)
    text = "RETURN g, COUNT(*), MIN(A.time) PATTERN SEQ(A, B) WHERE [k, g] GROUP-BY g WITHIN 100 SLIDE 100"
    assert strategy_of(tmp_path, text) == ("shuffle" if shuffled else "combine")
    same(tmp_path, text, table)
    same(tmp_path, "RETURN k, COUNT(*) PATTERN A GROUP-BY k", table)


def test_empty(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(sk.DataError) as caught:
        sk.query(ONE).run(tmp_path / "none", engine="spark")
    assert caught.value.diagnostics[0].code == "unreadable-file"
    write(tmp_path / "some", TABLE.slice(0, 0), 1)
    for text in (ONE, MANY):
        found = sk.query(text).run(tmp_path / "some", engine="spark")
        assert found.columns == sk.query(text).run(TABLE).column_names
        assert found.collect() == []


def test_mistakes(ordered: Path) -> None:
    def wrong(text: str, **options: Any) -> str:
        with pytest.raises(sk.SparkleeneError) as caught:
            sk.query(text, **options).run(ordered, engine="spark")
        return str(caught.value)

    assert "did you mean 'user'?" in wrong("RETURN COUNT(*) PATTERN A+ WHERE [usr]")
    assert "did you mean 'fare'?" in wrong("RETURN SUM(A.ride.fair) PATTERN A+")
    assert "error[missing-column]" in wrong(ONE, time="when")
    message = wrong("RETURN SUM(A.user) PATTERN A+")
    assert "error[wrong-type]" in message and "'user'" in message and "for example ''" in message
    with pytest.raises(sk.DataError, match=r"did you mean '0\.parquet'"):
        sk.query(ONE).run(ordered / "0.parquett", engine="spark")


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    for folder, table in (("ordered", TABLE), ("mixed", TABLE.take(pa.array(range(ROWS - 1, -1, -1))))):
        write(tmp_path / folder, table, 3)
        result = sk.query(MANY).run(tmp_path / folder, engine="spark")
        os.remove(tmp_path / folder / "1.parquet")
        with pytest.raises(PySparkException) as caught:
            result.collect()
        told(str(caught.value), "unreadable-file", f"{folder}/1.parquet")


@pytest.mark.parametrize(
    ("code", "name", "columns", "where", "options"),
    [("null-time", "time", {"time": pa.array([1, None, 3])}, "A.y < 9", {}),
     ("nan-time", "time", {"time": pa.array([1.0, math.nan, 3.0])}, "A.y < 9", {}),
     ("overflow", "y + 1", {"y": pa.array([1, 2**63 - 1, 3])}, "A.y + 1 > 0", {}),
     ("not-exact", "x", {"x": pa.array([1.0, math.inf, 3.0])}, "A.y < 9", {"numbers": "exact"})],
)  # fmt: skip
def test_faults_of_rows(
    tmp_path: Path, code: str, name: str, columns: dict[str, Any], where: str, options: dict[str, Any]
) -> None:
    data = {"time": [1, 2, 3], "type": [*"AAA"], "x": [1.0, 2.0, 3.0], "y": [1, 2, 3], "k": [*"ppp"], **columns}
    write(tmp_path, pa.table(data), 2)
    keys = "[k] AND " if code in ("null-time", "overflow") else ""
    query = sk.query(f"RETURN SUM(A.x) AS s PATTERN A+ WHERE {keys}{where}", **options)
    result = query.run(tmp_path, engine="spark")
    with pytest.raises(PySparkException) as caught:
        result.where("s > 0").collect()
    told(str(caught.value), code, name)


def test_settings_stay(spark: SparkSession, ordered: Path) -> None:
    before = {row.key: row.value for row in spark.sql("SET").collect()}
    result = sk.query(MANY).run(ordered, engine="spark")
    assert result.limit(2).count() == 2
    assert {row.key: row.value for row in spark.sql("SET").collect()} == before


# ---- nanoseconds, in which pandas keeps times


NANOS = """
    RETURN k, COUNT(*), MIN(A.seen) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k WITHIN 1 minute SLIDE 30 seconds
"""


def nanoseconds(odd: int = 0) -> pa.Table:
    """Return events as pandas writes them; `odd` nanoseconds are beside whole microseconds in the other times."""
    ticks = [n * 7_000_001_000 for n in range(60)]
    return pa.table(
        {
            "time": pa.array(ticks, pa.timestamp("ns")),
            "type": ["AAB"[n % 3] for n in range(60)],
            "k": pa.array([n % 2 * 1000 for n in range(60)], pa.timestamp("ns")),
            "seen": pa.array([tick + odd for tick in ticks], pa.timestamp("ns", "UTC")),
        }
    )


def test_nanoseconds_that_are_whole_microseconds(tmp_path: Path) -> None:
    table, q = nanoseconds(), sk.query(NANOS)
    pq.write_table(table, tmp_path / "events.parquet")
    here, there = q.run(table), q.run(tmp_path, engine="spark").toArrow()
    assert there.schema.field("window_start").type == pa.timestamp("us")
    same = here.cast(there.schema).to_pylist()
    assert plain(there.to_pylist()) == plain(same) and len(same) > 5
    trends = q.trends(tmp_path, limit=7, engine="spark").toArrow()
    local = q.trends(table, limit=7)
    events = [[(event["label"], event["time"]) for event in row["events"]] for row in trends.to_pylist()]
    wanted = [[(e["label"], e["time"].to_pydatetime()) for e in row["events"]] for row in local.to_pylist()]
    assert events == wanted


def test_nanoseconds_that_are_not(tmp_path: Path) -> None:
    table, q = nanoseconds(odd=1), sk.query(NANOS)
    pq.write_table(table, tmp_path / "events.parquet")
    assert q.run(tmp_path).num_rows
    for frame in (q.run(tmp_path, engine="spark"), q.trends(tmp_path, engine="spark")):
        with pytest.raises(PySparkException) as caught:
            frame.collect()
        told(str(caught.value), "time-too-fine", "times in 'seen'")
        assert "pass engine='local'" in str(caught.value)
    text = "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 1 minute SLIDE 30 seconds"
    assert sk.query(text).run(tmp_path, engine="spark").count()  # a column that nobody reads does no harm
