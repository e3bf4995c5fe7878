"""Levels of users by ClickHouse's windowFunnel, through chDB, on the same rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conformance.test_questions import SHARED, public

import sparkleene as sk

chdb = pytest.importorskip(
    "chdb", reason="chdb is not here: pip install 'sparkleene[bench]' compares funnels with it"
)

STEPS = ["A", "B", "C", "D"]


@pytest.fixture(scope="module")
def clickhouse() -> Iterator[Any]:
    from chdb import session

    with session.Session() as opened:
        yield opened


def levels(clickhouse: Any, path: Path, steps: list[str], seconds: int) -> dict[str, int]:
    """Return the level of each user, by windowFunnel."""
    conditions = ", ".join(f"type = '{step}'" for step in steps)
    funnel = f"windowFunnel({seconds})(toDateTime(time), {conditions})"
    found = clickhouse.query(f"SELECT user, {funnel} FROM file('{path}', Parquet) GROUP BY user", "CSV")
    rows = [line.partition(",") for line in str(found.data()).split()]
    return {user.strip('"'): int(level) for user, _, level in rows}


def our_levels(table: pa.Table, steps: list[str], seconds: int, measures: list[Any]) -> dict[str, int]:
    """Return the same by a funnel for each user."""
    made = sk.funnel(steps, by="user", within=f"{seconds} seconds", breakdown="user", measures=measures)
    found = dict.fromkeys(table.column("user").to_pylist(), 0)
    for row in made.run(table).to_pylist():
        found[row["user"]] += row["users"]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_levels_of_users(seed: int, clickhouse: Any, tmp_path: Path) -> None:
    rng = random.Random(seed)
    count = 600
    times = pa.array(sorted(rng.sample(range(1_700_000_000, 1_700_003_000), count))).cast(pa.timestamp("s", "UTC"))
    users = [f"u{rng.randrange(30)}" for _ in range(count)]
    types = rng.choices("ABCDE", [5, 4, 3, 2, 4], k=count)
    table = pa.table({"time": times, "type": types, "user": users})
    pq.write_table(table, tmp_path / "events.parquet")
    seconds = rng.choice([60, 400, 1500])
    wanted = levels(clickhouse, tmp_path / "events.parquet", STEPS, seconds)
    assert our_levels(table, STEPS, seconds, ["users"]) == wanted
    assert our_levels(table, STEPS, seconds, ["users", "trends", "times"]) == wanted
    made = sk.funnel(STEPS, by="user", within=f"{seconds} seconds", measures=["users"])
    assert made.run(table).column("users").to_pylist() == [
        sum(level >= k for level in wanted.values()) for k in range(1, len(STEPS) + 1)
    ]


@public
def test_levels_of_users_of_a_shop(clickhouse: Any, tmp_path: Path) -> None:
    found = pd.read_csv(SHARED / "clickstream_ecom.csv.gz", parse_dates=["timestamp"])
    found = found.rename(columns={"timestamp": "time", "event": "type", "user_id": "user"})
    tied = found[found.duplicated(["user", "time"], keep=False)]["user"].unique()  # there the meanings differ
    table = pa.Table.from_pandas(found[~found["user"].isin(tied)][["time", "type", "user"]], preserve_index=False)
    assert table.num_rows > 10_000
    pq.write_table(table, tmp_path / "events.parquet")
    steps = ["home", "product_view", "add_to_cart", "purchase"]
    wanted = levels(clickhouse, tmp_path / "events.parquet", steps, 1800)
    assert our_levels(table, steps, 1800, ["users"]) == wanted
