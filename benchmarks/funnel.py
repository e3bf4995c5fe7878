"""A funnel of five steps beside ClickHouse's windowFunnel, through chDB, over the same rows in the same process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkleene as sk
from benchmarks.common import Line
from benchmarks.measures import in_pairs

EVENTS = 10_000_000
USERS = 100_000
STEPS = ("Visit", "View", "Cart", "Pay", "Done")
SECONDS = 6 * 3600
COLUMNS = "time DateTime64(6), type LowCardinality(String), user Int64"


def events(count: int = EVENTS, users: int = USERS, seed: int = 0) -> pa.Table:
    """Return clicks of a day: later steps are rarer, and no two events have one time."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(6, count, p=[0.4, 0.25, 0.1, 0.05, 0.05, 0.15]).astype(np.int8)
    names = pa.DictionaryArray.from_arrays(pa.array(kinds), pa.array([*STEPS, "Other"]))
    times = pa.array(np.arange(count) * (86_400_000_000 // count)).cast(pa.timestamp("us", "UTC"))
    return pa.table({"time": times, "type": names, "user": rng.integers(0, users, count)})


def level_query(source: str, seconds: int | None) -> str:
    """Return the SQL for how many users reach each level."""
    steps = ", ".join(f"type = '{step}'" for step in STEPS)
    window = 10**15 if seconds is None else seconds * 1_000_000
    level = f"windowFunnel({window})(toUInt64(toUnixTimestamp64Micro(time)), {steps}) AS level"
    return f"SELECT level, count() FROM (SELECT user, {level} FROM {source} GROUP BY user) GROUP BY level"


def reached(levels: dict[int, int]) -> list[int]:
    """Return how many users have each level or a higher one."""
    return [sum(users for level, users in levels.items() if level >= k) for k in range(1, len(STEPS) + 1)]


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure users by step, then all measures, against windowFunnel over a table in memory and over a file."""
    data = events(int(EVENTS * scale), max(1, int(USERS * scale)))
    users = sk.funnel(STEPS, by="user", measures=["users"])
    every = sk.funnel(STEPS, by="user")
    plain, more = in_pairs(lambda: users.run(data), lambda: every.run(data), 3)
    yield Line("funnel: trends and times too / users", more / plain, "", f"{plain:.2f}, {more:.2f} s")
    if find_spec("chdb") is None:
        print("chdb is not here: pip install chdb compares with windowFunnel")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "events.parquet")
        pq.write_table(data, path)
        yield from _compare(path, data)


def _compare(path: str, data: pa.Table) -> Iterator[Line]:
    """Measure against windowFunnel, with and without a limit of time."""
    from chdb import session

    with session.Session() as chdb:
        chdb.query("CREATE DATABASE bench ENGINE = Atomic")
        chdb.query(f"CREATE TABLE bench.events ({COLUMNS}) ENGINE = Memory")
        chdb.query(f"INSERT INTO bench.events SELECT time, type, user FROM file('{path}', Parquet)")
        for name, seconds in (("", None), (" within 6 hours", SECONDS)):
            for measures in (["users"], ["users", "trends", "times"]):
                limit = {} if seconds is None else {"within": f"{seconds} seconds"}
                made = sk.funnel(STEPS, by="user", measures=measures, **limit)
                text = level_query("bench.events", seconds)
                theirs = reached(dict(_rows(chdb.query(text, "CSV").data())))
                ours = made.run(data).column("users").to_pylist()
                if ours != theirs:
                    raise AssertionError(f"{ours} is not {theirs}")
                slow, fast = in_pairs(
                    lambda text=text: chdb.query(text, "CSV"), lambda made=made: made.run(data), 3
                )
                what = "users" if len(measures) == 1 else "all measures"
                bound = "<= 2" if len(measures) == 1 else ""
                yield Line(f"funnel{name}, {what} / windowFunnel", fast / slow, bound, f"{fast:.2f}, {slow:.2f} s")


def _rows(text: Any) -> Iterator[tuple[int, int]]:
    """Yield the rows of CSV of two integers."""
    for line in str(text).split():
        level, _, users = line.partition(",")
        yield int(level), int(users)
