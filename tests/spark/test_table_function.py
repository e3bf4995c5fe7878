"""`SELECT * FROM trends(TABLE(events), '...')` returns what the in-process engine does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.chance import rest

import sparkleene as sk
from sparkleene.spark.table_function import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

USERS = 23
ROWS = [
    {
        "time": 3 * n,
        "at": datetime(2024, 1, 1, 0, n // 60, n % 60),
        "type": "AAB"[(n // USERS) % 3],
        "user": f"user {n % USERS}" if n % USERS else None,
        "site": n % 2,
        "odd name": float(n * 7 % 10),
        "ride": {"fare": n % 5},
    }
    for n in range(300)
]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.fixture(scope="module")
def trends(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with the function, and the events as a view."""
    register(spark, sk.query)
    spark.createDataFrame(TABLE).repartition(3).createOrReplaceTempView("events")
    yield spark
    spark.catalog.dropTempView("events")


def plain(rows: list[dict[str, Any]]) -> list[list[tuple[str, Any]]]:
    """Return rows in an order of their own, times without a zone."""
    cleared = [
        {k: v.replace(tzinfo=None) if isinstance(v, datetime) else v for k, v in row.items()} for row in rows
    ]
    return sorted((list(row.items()) for row in cleared), key=repr)


SAME: list[tuple[str, str, dict[str, Any]]] = [
    ("RETURN user, SUM(A.`odd name`) PATTERN SEQ(A, B) WHERE [user, site] GROUP-BY user", "", {}),
    ("RETURN user, COUNT(*) PATTERN A+ WHERE A.time < NEXT(A).time GROUP-BY user WITHIN 2 hours SLIDE 1 hour",
     ", time => 'at'", {"time": "at"}),
    ("RETURN site, COUNT(*) PATTERN E GROUP-BY site WITHIN 10 SLIDE 10",
     ", type => NULL, offset => 2.0", {"type": None, "offset": 2}),
    ("RETURN site, COUNT(*) PATTERN SEQ(Low, High) WHERE [user] GROUP-BY site",
     ", types => map('Low', 'ride.fare = 0', 'High', 'ride.fare > 2'), numbers => 'exact'",
     {"types": {"Low": "ride.fare = 0", "High": "ride.fare > 2"}, "numbers": "exact"}),
    ("RETURN COUNT(*) PATTERN SEQ(A+, B) SEMANTICS contiguous", "", {}),
    ("RETURN user, COUNT(*), MAX(A.time) PATTERN SEQ(A+, B) GROUP-BY user", "", {}),
    ("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [user]", "", {}),
    ("RETURN ride.fare, COUNT(*) PATTERN SEQ(A, B) GROUP-BY ride.fare WITHIN 100 SLIDE 50", "", {}),
]  # fmt: skip
NAMES = ["keys of groups only", "timestamps", "no type", "types", "one task", "keys", "keys that are not groups",
         "a field"]  # fmt: skip


@pytest.mark.parametrize(("text", "arguments", "options"), [*SAME[:5], *rest(SAME[5:])], ids=NAMES)
def test_same_rows(trends: SparkSession, text: str, arguments: str, options: dict[str, Any]) -> None:
    literal = text.replace("'", "\\'")
    found = trends.sql(f"SELECT * FROM trends(TABLE(events), '{literal}'{arguments})").toArrow()
    expected = sk.query(text, **options).run(TABLE)
    assert expected.num_rows > 0
    assert found.column_names == expected.column_names
    assert plain(found.to_pylist()) == plain(expected.to_pylist())


def test_no_rows(trends: SparkSession) -> None:
    text = "RETURN user, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY user"
    found = trends.sql(f"SELECT * FROM trends(TABLE(SELECT * FROM events WHERE time < 0), '{text}')")
    assert found.columns == ["user", "count"]
    assert found.collect() == []


def test_it_is_a_table_like_any_other(trends: SparkSession) -> None:
    text = "RETURN user, COUNT(*) AS n PATTERN SEQ(A, B) GROUP-BY user"
    [row] = trends.sql(f"SELECT max(n) AS m FROM trends(query => '{text}', events => TABLE(events)) t").collect()
    assert row.m == max(r["n"] for r in sk.query(text).run(TABLE).to_pylist())


def test_zeros_of_both_signs_are_one_key(trends: SparkSession) -> None:
    rows = "VALUES (1, 'A', 0.0D), (2, 'B', -0.0D), (3, 'B', CAST('NaN' AS DOUBLE)) AS t(time, type, k)"
    text = "RETURN k, COUNT(*) PATTERN SEQ(A, B) GROUP-BY k"
    found = trends.sql(f"SELECT * FROM trends(TABLE(SELECT * FROM {rows}), '{text}')").collect()
    assert [(row["k"], row["count"]) for row in found] == [(0.0, 1.0)]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("TABLE(events), 'RETURN COUNT(*) PATTERN A+ WHERE A.prise > 3'",
         ["error[unknown-attribute]", "\n1 | RETURN COUNT(*) PATTERN A+ WHERE A.prise > 3\n", "  ^^^^^\n"]),
        ("TABLE(events), 'RETURN COUNT(*) PATTERN A+', tim => 'at'", ["error[bad-option]", "did you mean 'time'?"]),
        ("TABLE(events), 'RETURN COUNT(*) PATTERN A+', time => 'when'", ["error[missing-column]"]),
        ("TABLE(events), 3", ["error[bad-option]", "the second argument is not a text"]),
        ("'events', 'RETURN COUNT(*) PATTERN A+'", ["error[bad-option]", "the first argument is not a table"]),
    ],
)  # fmt: skip
def test_mistakes(trends: SparkSession, call: str, said: list[str]) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException) as caught:
        trends.sql(f"SELECT * FROM trends({call})")
    for part in said:
        assert part in str(caught.value)
