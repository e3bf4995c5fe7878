"""What is behind numbers on Spark: trends in every order, of windows that rows draw too, and why there are none."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chance import rest
from tests.spark.test_streaming import at

import sparkleene as sk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

VISITS = """
ann View 0  View 2   View 9  Buy 20  Noise 21  View 95  View 99  Cart 100  Buy 101
bob View 3  View 4   Noise 30  View 55  Buy 58
cat Buy 5   View 7   Cart 8
"""
SESSIONS = "RETURN user, COUNT(*) PATTERN SEQ(View+, Buy) GROUP-BY user WITHIN SESSION 30 minutes"


@pytest.fixture(scope="module")
def clicks() -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"user": user, "type": kind, "time": at(60 * int(minute))}
            for user, *words in map(str.split, VISITS.strip().splitlines())
            for kind, minute in zip(words[::2], words[1::2], strict=True)
        ]
    )


def same(value: Any) -> Any:
    """Return a value without what differs: the zone's object, and the rows' numbers, which Spark has not."""
    if isinstance(value, list):
        return [same(one) for one in value]
    if isinstance(value, dict):
        return {name: same(one) for name, one in value.items() if name != "row"}
    return value.timestamp() if hasattr(value, "timestamp") else value


@pytest.mark.parametrize("order", ["longest", "sample", *rest(["first", "last", "shortest"])])
def test_trends_of_sessions(order: Any, spark: SparkSession, clicks: pa.Table) -> None:
    query = sk.query(SESSIONS)
    wanted = query.trends(clicks, order=order, limit=3).to_pylist()
    assert wanted
    found = query.trends(spark.createDataFrame(clicks).repartition(3), order=order, limit=3).toArrow()
    assert same(found.to_pylist()) == same(wanted)


STEPS = "RETURN user, COUNT(*) PATTERN SEQ(View+, Cart, Buy) GROUP-BY user"
WHY: list[tuple[str, dict[str, Any]]] = [
    (f"{STEPS} WITHIN 1 hour SLIDE 1 hour", {"group": {"user": "ann"}, "window": at(60)}),
    ("RETURN COUNT(*) PATTERN SEQ(View, Cart) WHERE [user] AND DURATION <= 30 seconds", {}),
    (SESSIONS, {"group": {"user": "bob"}, "window": at(180)}),
    (STEPS.replace("GROUP-BY user", "GROUP-BY UPPER(user) AS user"), {"group": {"user": "ANN"}}),
    (STEPS, {"group": {"user": "cat"}}),
    ("RETURN COUNT(*) PATTERN SEQ(View, Buy) WHERE [user] WITHIN SESSION 1 minute", {"group": {"user": "ann"}}),
]


@pytest.mark.parametrize(("text", "asked"), [*WHY[:4], *rest(WHY[4:])])
def test_why(spark: SparkSession, clicks: pa.Table, tmp_path: Path, text: str, asked: dict[str, Any]) -> None:
    pq.write_table(clicks, tmp_path / "a.parquet")
    query = sk.query(text)
    wanted = str(query.why(clicks, **asked))
    assert str(query.why(spark.createDataFrame(clicks), **asked)) == wanted
    assert str(query.why(str(tmp_path), **asked)) == wanted


def test_why_of_keys_that_are_numbers(spark: SparkSession) -> None:
    table = pa.table({"time": [1, 2, 3], "type": list("ABA"), "u": pa.array([1, 1, 2], pa.int32())})
    query = sk.query("RETURN u, COUNT(*) PATTERN SEQ(A, B) GROUP-BY u")
    frame = spark.createDataFrame(table)
    assert query.why(frame, group={"u": "1"}).trends == query.why(frame, group={"u": 1}).trends == 1
    with pytest.raises(sk.QueryError, match="'one' is no int32"):
        query.why(frame, group={"u": "one"})


PICTURES: list[tuple[str, dict[str, Any]]] = [
    (SESSIONS, {"group": {"user": "bob"}}),
    ("RETURN COUNT(*) PATTERN View+ WITHIN 10 minutes SLIDE 5 minutes", {}),
    (SESSIONS, {}),
    ("RETURN COUNT(*) PATTERN SEQ(View+, Buy) WHERE [user]", {}),
]


@pytest.mark.parametrize(("text", "asked"), [*PICTURES[:2], *rest(PICTURES[2:])])
def test_pictures(spark: SparkSession, clicks: pa.Table, tmp_path: Path, text: str, asked: dict[str, Any]) -> None:
    """The rows of the window and group with most trends are drawn as in this process."""
    pq.write_table(clicks, tmp_path / "a.parquet")
    query = sk.query(text)
    wanted = query.plot_trends(clicks, **asked)
    assert wanted.trends
    for found in (
        query.plot_trends(spark.createDataFrame(clicks).repartition(3), **asked),
        query.plot_trends(str(tmp_path), engine="spark", **asked),
    ):
        assert (found.caption, found.labels, found.trends) == (wanted.caption, wanted.labels, wanted.trends)
        assert [one.timestamp() for one in found.times] == [one.timestamp() for one in wanted.times]


def test_why_in_days_of_the_session(spark: SparkSession, clicks: pa.Table) -> None:
    """The rows that are brought here have windows of the zone that they had there."""
    text = "RETURN user, COUNT(*) PATTERN SEQ(View+, Cart, Buy) GROUP-BY user WITHIN 1 day SLIDE 1 day"
    asked: dict[str, Any] = {"group": {"user": "cat"}, "window": at(0) + timedelta(minutes=6)}
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        found = str(sk.query(text, timezone="session").why(spark.createDataFrame(clicks), **asked))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found == str(sk.query(text, timezone="Asia/Tokyo").why(clicks, **asked))
