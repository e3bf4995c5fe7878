"""Queries over DataFrames return what the in-process engine does, lazily, whatever the columns and settings are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql import types as T
from tests.chance import rest

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

STRATEGIES = ("shuffle", "combine", "sort")
NAMES = ["", "é", "日本", "a'b", "x", None, "\U0001f600 `"]
ROWS: list[dict[str, Any]] = [
    {
        "time": 3 * n - 70,
        "type": "AABC"[n * 7 % 4],
        "user": NAMES[n % 7],
        "site": n % 2,
        "x": n * 5 % 11 - 2.5 if n % 9 else None,
        "word": NAMES[n * 3 % 7],
        "ride": {"fare": n % 5, "place": {"city": NAMES[n % 3]}} if n % 8 else None,
    }
    for n in range(60)
]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[DataFrame]:
    """The rows above, in three partitions that overlap in time."""
    frame = spark.createDataFrame(TABLE).repartition(3).cache()
    yield frame
    frame.unpersist()


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    """Change settings of SQL for a while."""
    before = {name: spark.conf.get(f"spark.sql.{name}") for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(f"spark.sql.{name}", value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(f"spark.sql.{name}", str(old))


def near(value: Any) -> Any:
    """Return a value so that equal ones have one text: times in UTC, numbers with twelve digits."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, dict):
        return {name: near(each) for name, each in value.items()}
    return [near(each) for each in value] if isinstance(value, list) else value


def plain(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows as sorted texts."""
    return sorted(repr([(name, near(value)) for name, value in row.items()]) for row in rows)


def same(
    frame: DataFrame,
    text: str,
    table: pa.Table | None = None,
    *,
    strategy: Any = None,
    some: bool = True,
    **options: Any,
) -> pa.Table:
    """Compare Spark's rows with those of the in-process engine, and return them."""
    query = sk.query(text, **options)
    expected = query.run(frame.toArrow() if table is None else table)
    found = query.run(frame, strategy=strategy)
    arrow = found.toArrow()
    assert found.columns == expected.column_names
    assert plain(arrow.to_pylist()) == plain(expected.to_pylist())
    assert bool(expected.num_rows) == some
    return arrow


def spark_types(frame: DataFrame) -> list[str]:
    return [kind for _, kind in frame.dtypes]


# ---- lazy


def test_no_job_starts(spark: SparkSession, events: DataFrame) -> None:
    context = spark.sparkContext
    text = "RETURN user, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user, site] AND A.x > -1 GROUP-BY user"
    context.setJobGroup("nothing yet", "")
    try:
        query = sk.query(text)
        frames = [query.run(events, strategy=strategy) for strategy in (None, *STRATEGIES)]
        frames += [events.transform(query), query.trends(events), query(events)]
        query.explain(events)
        [frame.schema for frame in frames]
        tracker = context.statusTracker()
        assert not tracker.getJobIdsForGroup("nothing yet")
        frames[0].collect()
        assert tracker.getJobIdsForGroup("nothing yet")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_the_result_is_a_data_frame_like_any_other(events: DataFrame, tmp_path: Path) -> None:
    text = "RETURN user, COUNT(*) AS n PATTERN SEQ(A, B) GROUP-BY user"
    expected = plain(sk.query(text).run(TABLE).to_pylist())
    result = events.transform(sk.query(text))
    assert result.count() == len(expected)
    assert len(result.limit(2).collect()) == 2
    assert result.where("n < 0").collect() == []
    joined = events.join(result, "user").select("user", "n").distinct()
    assert plain([row.asDict() for row in joined.collect()]) == expected
    result.cache().write.parquet(str(tmp_path / "out"))
    assert plain(pq.read_table(tmp_path / "out").to_pylist()) == expected
    assert result.alias("a").join(result.alias("b"), "user").count() == len(expected)
    result.unpersist()


def test_a_query_of_a_query(events: DataFrame) -> None:
    first = "RETURN user, COUNT(*) AS n, MAX(A.word) AS type PATTERN A+ GROUP-BY user WITHIN 30 SLIDE 30"
    second = sk.query("RETURN COUNT(*), SUM(E.n) PATTERN E+", time="window_start", type=None)
    expected = second.run(sk.query(first).run(TABLE)).to_pylist()
    assert plain(second.run(sk.query(first).run(events)).toArrow().to_pylist()) == plain(expected)


# ---- what Spark reads


@pytest.fixture(scope="module")
def stored(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = tmp_path_factory.mktemp("stored") / "events.parquet"
    pq.write_table(TABLE, path)
    return spark.read.parquet(str(path))


def scans(frame: DataFrame) -> list[tuple[set[str], str]]:
    """Return the filters and the schema of each scan of Parquet in a physical plan."""
    plan = frame._jdf.queryExecution().toString()  # type: ignore[operator]
    plan = plan[plan.index("== Physical Plan ==") :]
    found = re.findall(r"PushedFilters: \[(.*?)\], ReadSchema: (\S+)", plan)
    return [(set(re.split(r", (?=[A-Z])", filters)), schema) for filters, schema in found]


@pytest.mark.parametrize(
    ("text", "filters", "schema"),
    [
        ("RETURN COUNT(*) PATTERN A+", {"IsNotNull(type)", "EqualTo(type,A)"}, "struct<time:bigint,type:string>"),
        ("RETURN COUNT(*) PATTERN SEQ(A+, B)", {"In(type, [A,B])"}, "struct<time:bigint,type:string>"),
        ("RETURN user, SUM(A.x) PATTERN SEQ(A+, B) WHERE [user, site] AND x >= 1 GROUP-BY user",
         {"In(type, [A,B])", "GreaterThanOrEqual(x,1.0)", "IsNotNull(x)", "IsNotNull(user)", "IsNotNull(site)"},
         "struct<time:bigint,type:string,user:string,site:bigint,x:double>"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.ride.fare > 2",
         {"EqualTo(type,A)", "GreaterThan(ride.fare,2)", "IsNotNull(type)", "IsNotNull(ride.fare)"},
         "struct<time:bigint,type:string,ride:struct<fare:bigint>>"),
        ("RETURN MAX(A.ride.fare) PATTERN A+ GROUP-BY ride.place.city",
         {"EqualTo(type,A)", "IsNotNull(type)", "IsNotNull(ride.place.city)"},
         "struct<time:bigint,type:string,ride:struct<fare:bigint,place:struct<city:string>>>"),
        ("RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE [site] AND A.x > 1", {"IsNotNull(site)"},
         "struct<time:bigint,type:string,site:bigint,x:double>"),
    ],
)  # fmt: skip
def test_filters_and_columns_reach_the_files(stored: DataFrame, text: str, filters: set[str], schema: str) -> None:
    result = sk.query(text).run(stored)
    assert scans(result)
    for pushed, read in scans(result):
        assert pushed == filters
        assert sorted(re.findall(r"\w+:", read)) == sorted(re.findall(r"\w+:", schema))
    if "ride" in text:
        same(stored, text, TABLE)


# ---- times

DAYS = [date(1969, 12, 28), date(1969, 12, 31), date(1970, 1, 1), date(1970, 1, 3), date(2024, 2, 29)]


@pytest.mark.parametrize(
    ("type", "kind"),
    [(pa.int16(), "bigint"), (pa.float32(), "double"),
     *rest([(pa.int32(), "bigint"), (pa.int64(), "bigint"), (pa.float64(), "double")])],
    ids=str,
)  # fmt: skip
def test_times_that_are_numbers(spark: SparkSession, type: pa.DataType, kind: str) -> None:
    times = [-7, -5, -5, -1, 0, 2, 3, 3, 8, 12]
    table = pa.table({"time": pa.array(times, type), "type": list("AABABAABAB")})
    frame = spark.createDataFrame(table).repartition(2)
    text = "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 8 SLIDE 4"
    strategy = STRATEGIES[len(str(type)) % 3]
    same(frame, text, table, strategy=strategy, offset=3)
    result = sk.query(text).run(frame)
    assert result.dtypes == [("window_start", kind), ("window_end", kind), ("count", "double")]
    same(frame, "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 8", table)
    text = "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 1 minute SLIDE 6 s"
    same(frame, text, table, time_unit="seconds", offset=timedelta(seconds=2))


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", *rest(["UTC", "America/New_York"])])
def test_timestamps(spark: SparkSession, zone: str) -> None:
    hours = [-30, -25, -1, 0, 1, 5, 26, 475_000, 475_001, 475_003]
    moments = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=h, microseconds=h) for h in hours]
    table = pa.table(
        {"time": pa.array(moments, pa.timestamp("us", "UTC")), "type": list("AABABAABAB"), "k": [*"xy"] * 5}
    )
    with settings(spark, **{"session.timeZone": zone}):
        frame = spark.createDataFrame(table).repartition(2)
        assert frame.schema["time"].dataType == T.TimestampType()
        text = "RETURN k, COUNT(*), MIN(A.time) PATTERN A+ GROUP-BY k WITHIN 1 day SLIDE 8 hours"
        same(frame, text, table, strategy=STRATEGIES[len(zone) % 3], offset=timedelta(minutes=90))
        result = sk.query(text).run(frame)
        assert spark_types(result) == ["timestamp", "timestamp", "string", "double", "timestamp"]
        there = table.set_column(0, "time", table["time"].cast(pa.timestamp("us", zone)))
        text = "RETURN COUNT(*), MAX(B.time) PATTERN SEQ(A, B) WHERE A.time < '1970-01-01' AND A.time < B.time"
        same(frame, text, there)


def test_timestamps_without_a_zone_and_dates(spark: SparkSession) -> None:
    table = pa.table({"time": DAYS * 2, "type": list("AABABAABAB"), "n": range(10)})
    dates = spark.createDataFrame(table).repartition(2)
    days = "RETURN COUNT(*), MIN(A.time) PATTERN SEQ(A, B) WITHIN 4 days SLIDE 2 days"
    hours = "RETURN COUNT(*), MIN(A.time) PATTERN SEQ(A, B) WITHIN 36 hours SLIDE 12 hours"
    with settings(spark, **{"session.timeZone": "America/New_York"}):
        same(dates, days, table, strategy="combine")
        same(dates, hours, table)
        same(dates, "RETURN time, COUNT(*) PATTERN A GROUP-BY time WITHIN 1 day", table)
        assert spark_types(sk.query(days).run(dates)) == ["date", "date", "double", "date"]
        assert spark_types(sk.query(hours).run(dates)) == ["timestamp_ntz", "timestamp_ntz", "double", "date"]
        naive = table.set_column(0, "time", table["time"].cast(pa.timestamp("us")))
        times = dates.withColumn("time", F.col("time").cast("timestamp_ntz"))
        same(times, hours, naive, strategy="sort", offset=timedelta(hours=1))
        assert spark_types(sk.query(hours).run(times)) == ["timestamp_ntz"] * 2 + ["double", "timestamp_ntz"]


@pytest.mark.parametrize("strategy", ["sort", *rest(["shuffle", "combine"])])
def test_a_tiebreak_orders_rows_of_equal_time(spark: SparkSession, strategy: str) -> None:
    table = pa.table({"time": [1, 1, 1, 2, 2], "type": list("AABAB"), "n": [3, 1, 2, 1, 1]})
    frame = spark.createDataFrame(table).repartition(3)
    same(frame, "RETURN COUNT(*) PATTERN SEQ(A+, B)", table, tiebreak="n", strategy=strategy)


# ---- keys

KEYS: dict[str, tuple[pa.DataType, list[Any], str]] = {
    "text": (pa.string(), ["", "é", "日本\0", None], "string"),
    "byte": (pa.int8(), [-128, 127, 0, None], "tinyint"),
    "short": (pa.int16(), [-(2**15), 2**15 - 1, 0, None], "smallint"),
    "int": (pa.int32(), [-(2**31), 2**31 - 1, 0, None], "int"),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 0, None], "bigint"),
    "float": (pa.float32(), [0.0, -0.0, math.nan, 1e-40], "float"),
    "double": (pa.float64(), [0.0, -0.0, math.nan, math.inf], "double"),
    "truth": (pa.bool_(), [True, False, None], "boolean"),
    "bytes": (pa.binary(), [b"", b"\0\xff", b"\xff", None], "binary"),
    "day": (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31), None], "date"),
    "moment": (pa.timestamp("us", "UTC"),
               [datetime(1900, 1, 1, 1, tzinfo=UTC), datetime(2024, 3, 10, 7, 30, tzinfo=UTC), None], "timestamp"),
    "amount": (pa.decimal128(38, 9), [Decimal("0.000000001"), Decimal(-10) ** 28, None], "decimal(38,9)"),
}  # fmt: skip


@pytest.fixture(scope="module")
def keyed(spark: SparkSession) -> tuple[DataFrame, pa.Table]:
    count = 48
    columns: dict[str, Any] = {
        "time": [n * 7 % count - 9 for n in range(count)],
        "type": ["AAB"[n % 3] for n in range(count)],
        "half": [n * 5 % 7 % 2 for n in range(count)],
        "x": [n * 3 % 8 - 2.0 for n in range(count)],
        "word": [["ab", "é", "", None][n * 3 % 4] for n in range(count)],
    }
    for name, (type, values, _) in KEYS.items():
        columns[name] = pa.array([values[n // 2 % len(values)] for n in range(count)], type)
    table = pa.table(columns)
    return spark.createDataFrame(table).repartition(3).cache(), table


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("together", [["double", "float"], sorted(KEYS.keys() - {"double", "float"})], ids=len)
def test_keys_of_many_types(keyed: tuple[DataFrame, pa.Table], together: list[str], strategy: str) -> None:
    frame, table = keyed
    names = ", ".join(together)
    text = f"RETURN {names}, COUNT(*) PATTERN SEQ(A, B) GROUP-BY {names}"
    same(frame, text, table, strategy=strategy)
    assert spark_types(sk.query(text).run(frame)) == [*(KEYS[name][2] for name in together), "double"]
    if strategy == "shuffle":
        of_one = ", ".join(f"A.{name}" for name in together)
        lows = ", ".join(f"MIN({name}) AS m{i}" for i, name in enumerate(together))
        same(frame, f"RETURN {of_one}, COUNT(*), {lows} PATTERN SEQ(A+, B) GROUP-BY {of_one}", table)


@pytest.mark.repeat
@pytest.mark.parametrize("name", KEYS)
def test_keys_of_all_types(keyed: tuple[DataFrame, pa.Table], name: str) -> None:
    frame, table = keyed
    text = f"RETURN {name}, COUNT(*) PATTERN SEQ(A+, B) WHERE [half] GROUP-BY {name}"
    same(frame, text, table, strategy=("shuffle", "sort")[len(name) % 2])
    assert spark_types(sk.query(text).run(frame)) == [KEYS[name][2], "double"]
    if name not in ("byte", "short", "long", "float"):
        same(frame, text, table, strategy="combine")
        same(frame, f"RETURN A.{name}, COUNT(*), MIN({name}) AS m PATTERN SEQ(A+, B) GROUP-BY A.{name}", table)


GROUPED = [
    ("RETURN COUNT(*), COUNT(A)", {}),
    ("RETURN half, COUNT(*), MIN(A.x), MAX(word)", {}),
    ("RETURN half, SUM(A.x), AVG(A.x), COUNT(B)", {}),
    ("RETURN half, MIN(A.x), MAX(B.x)", {}),
    ("RETURN LOG2(COUNT(*)), LOG10(COUNT(A)), MAX(word), MIN(double)", {}),
    ("RETURN half, COUNT(*), SUM(A.x), AVG(A.x), LOG2(COUNT(*)), MIN(word), MAX(amount)", {"numbers": "exact"}),
    ("RETURN half, COUNT(*)", {"numbers": "exact"}),
]


WINDOWS = ("", " WITHIN 20 SLIDE 10", " WITHIN 12")
ADDED = [(*head, WINDOWS[(n + k) % 3]) for k in range(3) for n, head in enumerate(GROUPED)]


@pytest.mark.parametrize(("head", "options", "window"), [*ADDED[: len(GROUPED)], *rest(ADDED[len(GROUPED) :])])
def test_the_parts_of_groups_are_added_up(
    keyed: tuple[DataFrame, pa.Table], head: str, options: dict[str, Any], window: str
) -> None:
    frame, table = keyed
    by = " GROUP-BY half" if "half" in head else ""
    number = next(i for i, (other, _) in enumerate(GROUPED) if other == head)
    text = f"{head} PATTERN SEQ(A+, B) WHERE [half, truth]{by}{window}"
    fits = not options and not window.endswith("12") and "word" not in head
    strategies = ("shuffle", "sort", "combine") if fits else ("shuffle", "sort")
    turn = WINDOWS.index(window) + number
    same(frame, text, table, strategy=strategies[turn % len(strategies)], **options)


@pytest.mark.parametrize(
    "where",
    ["WHERE [A.half, int]", "WHERE [int] AND [B.word] AND A.x > 0", "WHERE [int] GROUP-BY B.word, int",
     *rest(["WHERE [A.half]", "WHERE [A.half] AND [B.word]", "GROUP-BY A.half", "WHERE [A.half] GROUP-BY truth"])],
)  # fmt: skip
def test_keys_that_bind_some_labels(keyed: tuple[DataFrame, pa.Table], where: str) -> None:
    frame, table = keyed
    groups = where.partition("GROUP-BY ")[2].split(", ") if "GROUP-BY" in where else []
    head = ", ".join([*groups, "COUNT(*)", "SUM(A.x)"])
    ways = ["", " SEMANTICS contiguous", " WITHIN 15", " WITHIN 9 EVENTS SLIDE 3 EVENTS"]
    same(frame, f"RETURN {head} PATTERN SEQ(A, B+) {where}", table, strategy="sort")
    same(frame, f"RETURN {head} PATTERN SEQ(A, B+) {where}{ways[1 + len(where) % 3]}", table, strategy="shuffle")


@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_counts_beyond_all_doubles(spark: SparkSession, numbers: Any) -> None:
    rows = [(n, k % 2, k, (-1) ** k * 1.5) for k in range(4) for n in range(1100)]
    table = pa.table(dict(zip(("time", "g", "k", "x"), map(list, zip(*rows, strict=True)), strict=True)))
    frame = spark.createDataFrame(table)
    all = "COUNT(*), LOG2(COUNT(*)), LOG10(COUNT(A)), SUM(A.x), AVG(A.x), MIN(A.x)"
    grouped, whole = "RETURN g, {} PATTERN A+ WHERE [k] GROUP-BY g", "RETURN {} PATTERN A+ WHERE [k]"
    options = {"numbers": numbers, "type": None}
    found = same(frame, grouped.format(all), table, **options).to_pylist()
    same(frame, whole.format(all), table, **options)  # sums of both signs cancel
    if numbers == "double":
        same(frame, grouped.format("COUNT(*)"), table, **options)
        same(frame, whole.format("AVG(A.x), COUNT(*)"), table, strategy="combine", **options)
    [row] = [row for row in found if row["g"] == 0]
    assert row["avg_A_x"] == 1.5 and row["log2_count"] == 1101
    # each event is in half of the 2**1100 sub-sets of a sub-stream
    assert row["sum_A_x"] == (math.inf if numbers == "double" else str(3 * 1100 * 2**1099))


# ---- names

ODD = ["a.b", "a b", "a`b", "a'b", 'a"b', "日本", "select", "order", "k0", "c0", "c1", "mask", "count", "rows",
       "units", "a\\nb", "${x}", "%s", "*", "a.*", "-", "window"]  # fmt: skip
OWN = ["sparkleene labels", "sparkleene error", "sparkleene key 0", "Sparkleene again", "sparkleene sums"]


@pytest.mark.parametrize("strategy", ["combine", *rest(["shuffle", "sort"])])
def test_odd_names(spark: SparkSession, strategy: str) -> None:
    count = 12
    columns = {name: [(n + i) % 2 for n in range(count)] for i, name in enumerate(ODD)}
    table = pa.table({"time": range(count), "type": ["AAB"[n % 3] for n in range(count)], **columns})
    frame = spark.createDataFrame(table).repartition(2)
    quoted = ["`" + name.replace("`", "``") + "`" for name in ODD]
    sums = ", ".join(f"SUM(A.{name}) AS s{i}" for i, name in enumerate(quoted))
    where = " AND ".join(f"A.{name} < 9" for name in quoted)
    text = f"RETURN {', '.join(quoted)}, COUNT(*) AS n, {sums} PATTERN SEQ(A+, B) WHERE {where}"
    text += f" GROUP-BY {', '.join(quoted)}"
    same(frame, text, table, strategy=strategy)
    assert sk.query(text).trends(frame).columns == [*ODD, "trends", "length", "duration", "events"]
    for name in ("a.b", "`*`"):
        other = table.rename_columns([name, f"{name}.type", *(f"x{i}" for i in range(len(ODD)))])
        named = {"time": name, "type": f"{name}.type"}
        text = "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [A.x1] AND A.x2 < NEXT(A).x2 + B.x3".partition(" AND")[0]
        same(spark.createDataFrame(other), text, other, **named)
        assert sk.query(text, **named).trends(spark.createDataFrame(other), limit=2).count() == 2


@pytest.mark.parametrize("name", OWN)
def test_names_that_are_taken(spark: SparkSession, name: str) -> None:
    frame = spark.createDataFrame(pa.table({"time": [1], "type": ["A"], name: [1]}))
    query = sk.query(f"RETURN COUNT(*) PATTERN A+ WHERE [`{name}`]")
    for ask in (query.run, query.trends):
        with pytest.raises(sk.DataError, match="names that begin with 'sparkleene ' are used inside"):
            ask(frame)
    with pytest.raises(sk.DataError, match="rename the column"):
        sk.query(f"RETURN COUNT(*) AS `{name}` PATTERN A+").run(frame)
    assert sk.query("RETURN COUNT(*) PATTERN A+").run(frame).columns == ["count"]


def test_fields_of_structs(events: DataFrame) -> None:
    text = ("RETURN ride.place.city, COUNT(*), SUM(A.ride.fare) AS s, MAX(ride.place.city) AS m PATTERN SEQ(A+, B) "
            "WHERE [ride.place.city, site] AND A.ride.fare < 4 AND A.ride.fare <= NEXT(A).ride.fare "
            "GROUP-BY ride.place.city")  # fmt: skip
    same(events, text, TABLE, strategy="shuffle")
    same(events, "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [ride.place.city]", TABLE, strategy="combine")


@pytest.mark.parametrize("strategy", ["shuffle", *rest(["combine", "sort"])])
def test_names_that_differ_in_case(spark: SparkSession, strategy: str) -> None:
    table = pa.table({"time": range(6), "type": list("AABAAB"), "k": [1] * 6, "K": [1, 2] * 3, "T": range(6)})
    text = "RETURN k, K, COUNT(*) AS n, SUM(A.K) AS N PATTERN SEQ(A+, B) WHERE A.K < 9 GROUP-BY k, K"
    with settings(spark, caseSensitive="true"):
        same(spark.createDataFrame(table).repartition(2), text, table, strategy=strategy)
    frame = spark.createDataFrame(table.drop_columns(["k"]))
    same(frame, "RETURN K, COUNT(*) PATTERN SEQ(A+, B) WHERE [K] AND A.K < 9 GROUP-BY K", table)
    with pytest.raises(sk.DataError, match="unknown-attribute"):
        sk.query("RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE A.k < 9").run(frame)


# ---- shapes and settings

MANY = "RETURN user, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user, site] GROUP-BY user WITHIN 60 SLIDE 30"
ONE = "RETURN COUNT(*), AVG(A.x) PATTERN SEQ(A+, B)"


@pytest.mark.repeat
def test_no_rows_and_one(events: DataFrame) -> None:
    same(events.where("time > 1000"), MANY, TABLE.slice(0, 0), strategy="combine", some=False)
    same(events.where("time = -67"), ONE, TABLE.slice(1, 1), some=False)


def test_few_rows(spark: SparkSession, events: DataFrame) -> None:
    for text, strategy in ((MANY, "shuffle"), (ONE, "combine"), (ONE, "sort")):
        same(events.where("time > 1000"), text, TABLE.slice(0, 0), strategy=strategy, some=False)
    empty = spark.createDataFrame([], events.schema)
    text = "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user]"
    assert sk.query(text).run(empty).collect() == []
    assert sk.query(ONE).trends(empty).collect() == []
    one = events.where("time = -67")
    same(one, "RETURN user, COUNT(*) PATTERN A OR B OR C GROUP-BY user", TABLE.slice(1, 1))


@pytest.mark.parametrize("parts", [1, 7, *rest([40])])
def test_partitions_of_the_input(spark: SparkSession, parts: int) -> None:
    frame = spark.createDataFrame(TABLE).repartition(parts, "time")
    same(frame, MANY, TABLE, strategy="combine" if parts == 7 else "shuffle")
    same(frame, ONE, TABLE, strategy="sort" if parts == 7 else "combine")


@pytest.mark.parametrize(
    "values",
    [{"shuffle.partitions": "13", "adaptive.enabled": "false", "autoBroadcastJoinThreshold": "-1"},
     {"ansi.enabled": "false", "caseSensitive": "true", "execution.arrow.maxRecordsPerBatch": "2"},
     *rest([{"shuffle.partitions": "1"}, {"shuffle.partitions": "13"}, {"adaptive.enabled": "false"},
            {"ansi.enabled": "false"}, {"caseSensitive": "true"}, {"execution.arrow.maxRecordsPerBatch": "2"},
            {"autoBroadcastJoinThreshold": "-1"}])],
    ids=str,
)  # fmt: skip
def test_settings(spark: SparkSession, events: DataFrame, values: dict[str, str]) -> None:
    frame = spark.createDataFrame(TABLE).repartition(3)
    with settings(spark, **values):
        before = {row.key: row.value for row in spark.sql("SET").collect()}
        same(frame, MANY, TABLE, strategy="combine")
        same(frame, MANY, TABLE, strategy="sort" if "ansi.enabled" in values else "shuffle")
        sk.query(MANY).trends(frame)
        assert {row.key: row.value for row in spark.sql("SET").collect()} == before


# ---- strategies


def test_partitions_in_order_of_time_are_combined(spark: SparkSession) -> None:
    ordered = spark.createDataFrame(TABLE).repartitionByRange(4, "time").cache()
    for text in (ONE, MANY, "RETURN COUNT(*) PATTERN SEQ(B, NOT C, A+) SEMANTICS next"):
        same(ordered, text, TABLE, strategy="combine")
    ordered.unpersist()


def test_strategies_that_cannot_be(events: DataFrame) -> None:
    def refused(text: str, strategy: Any, **options: Any) -> str:
        with pytest.raises(sk.QueryError) as caught:
            sk.query(text, **options).run(events, strategy=strategy)
        [found] = caught.value.diagnostics
        assert found.code == "bad-option"
        return f"{found.message}; {found.help}"

    assert "did you mean 'shuffle'?" in refused(ONE, "shufle")
    assert "choose one of shuffle, combine, sort" in refused(ONE, "")
    adjacent = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x"
    assert "an adjacent predicate compares events one by one" in refused(adjacent, "combine")
    assert "MAX of 'word' (string) needs all its values" in refused("RETURN MAX(A.word) PATTERN A+", "combine")
    assert "exact integers need the rows" in refused(ONE, "combine", numbers="exact")
    with pytest.raises(sk.QueryError, match="a strategy is for Spark"):
        sk.query(ONE).run(TABLE, strategy="shuffle")
    with pytest.raises(sk.QueryError, match="is not local"):
        sk.query(ONE).run(events, engine="local")
    with pytest.raises(sk.QueryError, match=r"spark\.createDataFrame"):
        sk.query(ONE).run(TABLE, engine="spark")


# ---- errors


def wrong(frame: Any, text: str, **options: Any) -> sk.SparkleeneError:
    context = frame.sparkSession.sparkContext
    context.setJobGroup(text, "")
    try:
        with pytest.raises(sk.SparkleeneError) as caught:
            sk.query(text, **options).run(frame)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    if caught.value.diagnostics[0].code != "wrong-type":
        assert not context.statusTracker().getJobIdsForGroup(text)
    return caught.value


def test_mistakes_are_told_at_once(spark: SparkSession, events: DataFrame) -> None:
    assert "error[unexpected" in str(wrong(events, "RETURN COUNT(* PATTERN A+"))
    assert "did you mean 'word'?" in str(wrong(events, "RETURN COUNT(*) PATTERN A+ WHERE A.wrd = 'x'"))
    assert "did you mean 'user'?" in str(wrong(events, "RETURN COUNT(*) PATTERN A+ WHERE [usr]"))
    assert "did you mean 'fare'?" in str(wrong(events, "RETURN SUM(A.ride.fair) PATTERN A+"))
    assert "did you mean 'time'?" in str(wrong(events, ONE, time="tme"))
    assert "error[missing-column]" in str(wrong(events, ONE, type="kind"))
    assert "error[unit-unknown]" in str(wrong(events, "RETURN COUNT(*) PATTERN A+ WITHIN 1 hour"))
    assert "error[unit-unknown]" in str(wrong(events, "RETURN COUNT(*) PATTERN A+ WITHIN 9 SLIDE 3",
                                              offset=timedelta(1)))  # fmt: skip
    twice = events.select("*", F.lit(1).alias("x"))
    assert "error[duplicate-column]" in str(wrong(twice, ONE))
    assert sk.query("RETURN COUNT(*) PATTERN SEQ(A+, B)").run(twice).count() == 1


def test_wrong_types_show_a_value(spark: SparkSession, events: DataFrame) -> None:
    for text, column, value in (
        ("RETURN SUM(A.word) PATTERN A+", "word", "日本"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.word > 3", "word", "日本"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).word", "word", "日本"),
        ("RETURN COUNT(*) PATTERN A+ WHERE [ride]", "ride", "fare"),
    ):
        message = str(wrong(events.where("word = '日本'"), text))
        assert "error[wrong-type]" in message
        assert f"'{column}'" in message and value in message
    for expression in ("map('a', 1)", "interval '1' year", "parse_json('1')", "array(1)"):
        frame = events.withColumn("odd", F.expr(expression))
        assert "'odd'" in str(wrong(frame, "RETURN COUNT(*) PATTERN A+ WHERE [odd]"))
        assert "'odd'" in str(wrong(frame, "RETURN SUM(A.odd) PATTERN A+"))
        assert "'odd'" in str(wrong(frame, ONE, time="odd"))
        assert sk.query(ONE).run(frame).columns == ["count", "avg_A_x"]


@pytest.mark.parametrize("strategy", ["combine", *rest(["shuffle", "sort"])])
def test_columns_without_values(events: DataFrame, strategy: str) -> None:
    frame = events.withColumn("void", F.lit(None))
    table = TABLE.append_column("void", pa.nulls(TABLE.num_rows))
    text = "RETURN COUNT(*), SUM(A.void), MAX(B.void) PATTERN SEQ(A+, B)"
    same(frame, text, table, strategy=strategy)
    same(frame, "RETURN void, COUNT(*) PATTERN A+ GROUP-BY void", table, some=False)
    same(frame, "RETURN COUNT(*) PATTERN A+ WHERE A.void = 1", table, some=False)


FAULTS = [
    ("null-time", "time", {"time": pa.array([1, None, 3])}, "A.y < 9", {}),
    ("nan-time", "time", {"time": pa.array([1.0, math.nan, 3.0])}, "A.y < 9", {}),
    ("nan-time", "time", {"time": pa.array([1.0, math.inf, 3.0])}, "A.y < 9", {}),
    ("overflow", "y + 1", {"y": pa.array([1, 2**63 - 1, 3])}, "A.y + 1 > 0", {}),
    ("not-exact", "x", {"x": pa.array([1.0, math.inf, 3.0])}, "A.y < 9", {"numbers": "exact"}),
    ("null-tiebreak", "y", {"y": pa.array([1, None, 3])}, "A.x < 9", {"tiebreak": "y"}),
]


ASKED = ("RETURN SUM(A.x) AS s PATTERN A+ WHERE {}",
         "RETURN k, SUM(A.x) AS s PATTERN A+ WHERE [k, z] AND {} GROUP-BY k")  # fmt: skip
TOLD = [(*fault, ASKED[(n + k) % 2]) for k in range(2) for n, fault in enumerate(FAULTS)]


@pytest.mark.parametrize(
    ("code", "name", "columns", "where", "options", "text"), [*TOLD[: len(FAULTS)], *rest(TOLD[len(FAULTS) :])]
)
def test_faults_of_rows_are_told_without_a_trace(
    spark: SparkSession, code: str, name: str, columns: dict[str, Any], where: str, options: Any, text: str
) -> None:
    table = pa.table(
        {
            "time": [1, 2, 3],
            "type": [*"AAA"],
            "x": [1.0, 2.0, 3.0],
            "y": [1, 2, 3],
            "k": [*"ppp"],
            "z": [0] * 3,
            **columns,
        }
    )
    frame = spark.createDataFrame(table).repartition(2)
    turn = [fault[:2] for fault in FAULTS].index((code, name))
    query = sk.query(text.format(where), **options)
    every = ("shuffle", "sort") if options.get("numbers") else STRATEGIES
    result = query.run(frame, strategy=every[(turn + ASKED.index(text)) % len(every)])
    with pytest.raises(PySparkException) as caught:
        result.where("s > 0").collect()
    told(str(caught.value), code, name)
    if code in ("null-time", "overflow"):
        with pytest.raises(PySparkException) as caught:
            query.trends(frame).collect()
        told(str(caught.value), code, name)


def told(message: str, code: str, name: str) -> None:
    """Check that a message is one for people."""
    assert f"error[{code}]" in message
    assert name in message
    assert "Traceback" not in message and "\tat " not in message and "org.apache" not in message


# ---- pandas on Spark


def test_frames_of_pandas_on_spark(spark: SparkSession) -> None:
    import pyspark.pandas as ps

    table = pa.table({"time": [1, 2, 3], "type": list("AAB")})
    q = sk.query("RETURN COUNT(*) PATTERN SEQ(A+, B)")
    frame = spark.createDataFrame(table).pandas_api()
    result = q.run(frame)
    assert isinstance(result, ps.DataFrame) and result.to_spark().collect() == [(3.0,)]
    assert isinstance(q.trends(frame), ps.DataFrame) and "Spark" in q.explain(frame)
    both = sk.workload({"one": q.text, "two": q.text}).run(frame)
    assert sorted(both.to_spark().collect()) == [("one", 3.0), ("two", 3.0)]
    with pytest.raises(sk.DataError, match="cannot read data of type pyspark"):
        q.run(frame["time"])


# ---- trends and explain


def first(table: pa.Table) -> list[Any]:
    """Return rows of trends without the events' row numbers."""
    rows = table.to_pylist()
    for row in rows:
        for name in ("events", "events_2"):
            for event in row.get(name, ()):
                event.pop("row", None)
    return [near(row) for row in rows]


@pytest.mark.parametrize(
    ("text", "limit"),
    [("RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user, site] GROUP-BY user WITHIN 30 SLIDE 10", 5),
     ("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.ride.fare < B.ride.fare AND [site]", None),
     ("RETURN COUNT(*) PATTERN A AND B WITHIN 20", 7),
     *rest([("RETURN COUNT(*) PATTERN SEQ(A, B)", 5),
            ("RETURN COUNT(*) PATTERN SEQ(A, B)", 0),
            ("RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [A.user] WITHIN 20 SLIDE 20", None)])],
)  # fmt: skip
def test_trends(events: DataFrame, text: str, limit: int | None) -> None:
    query = sk.query(text)
    found = query.trends(events, limit=limit)
    expected = query.trends(TABLE, limit=limit)
    assert found.columns == expected.column_names
    assert first(found.toArrow()) == first(expected)


OF_USERS = (
    "RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user, site] AND A.x < B.x GROUP-BY user WITHIN 30 SLIDE 30"
)
PAIRS = "RETURN COUNT(*) PATTERN A+ AND B WHERE [user] WITHIN 20 SLIDE 20"
ORDERS = [("last", 2, OF_USERS, "double"), ("longest", 3, PAIRS, "double"), ("shortest", 2, OF_USERS, "double"),
          ("sample", 3, OF_USERS, "double"), ("sample", 3, PAIRS, "exact")]  # fmt: skip
MORE_ORDERS = [
    (order, limit, text, numbers)
    for order, limit in (("last", 2), ("longest", 3), ("shortest", 2), ("sample", 3))
    for text in (OF_USERS, PAIRS)
    for numbers in ("double", "exact")
]


@pytest.mark.parametrize(
    ("order", "limit", "text", "numbers"), [*ORDERS, *rest(one for one in MORE_ORDERS if one not in ORDERS)]
)
def test_orders_of_trends(events: DataFrame, order: Any, limit: int, text: str, numbers: Any) -> None:
    """Tasks have some of the sub-streams of a group each, and rows of a sample depend on none of that."""
    query = sk.query(text, numbers=numbers)
    found = query.trends(events, limit=limit, order=order, seed=5)
    expected = query.trends(TABLE, limit=limit, order=order, seed=5)
    assert found.columns == expected.column_names
    assert first(found.toArrow()) == first(expected)


def test_trends_of_odd_columns(spark: SparkSession) -> None:
    columns = {"row": [1, 2, 3, 4], "label": list("AABB"), "events": [1.0, -0.0, 0.0, 1.0], "k": [1, 1, 1, 1]}
    table = pa.table(columns)
    frame = spark.createDataFrame(table).repartition(4, "row")
    query = sk.query("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [events] GROUP-BY events", time="row", type="label")
    expected = query.trends(table)
    assert query.trends(frame).columns == expected.column_names
    found = query.trends(frame).toArrow()
    assert [len(row["events"]) for row in found.to_pylist()] == [2, 2]
    with pytest.raises(sk.QueryError, match="limit is -1"):
        query.trends(frame, limit=-1)


def test_explain(events: DataFrame) -> None:
    def section(text: str, strategy: Any = None, **options: Any) -> str:
        whole = sk.query(text, **options).explain(events, strategy=strategy)
        assert "\nSpark\n" in whole
        return whole.partition("\nSpark\n")[2]

    assert "strategy" in section(ONE) and "combine: " in section(ONE)
    assert "there is no key to spread rows by" in section(ONE)
    keyed = section(MANY)
    assert "shuffle: " in keyed and "keys spread the rows" in keyed
    assert re.search(r"spread +by user, site", keyed)
    assert "it was asked for" in section(MANY, "combine")
    assert "an adjacent predicate" in section("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x")
    assert "\nSpark\n" not in sk.query(ONE).explain(TABLE)


def test_integers_of_any_length_are_added_up(spark: SparkSession) -> None:
    from tests.engine.test_results import LONG, QUERY

    assert QUERY.run(spark.createDataFrame(LONG)).toArrow().to_pylist() == QUERY.run(LONG).to_pylist()
