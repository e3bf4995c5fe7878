"""A funnel per user and hour over two million events, in CPU seconds of this process.

Run with a Python that has chDB, and with one that has Sparkleene: it takes what it finds. The answers differ:
ClickHouse says how far a user got, Sparkleene how many trends there are, by three semantics.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EVENTS, USERS = 2_000_000, 20_000


def write(path: Path) -> None:
    random = np.random.default_rng(7)
    types = np.array(["View", "Search", "Cart", "Buy"])[random.choice(4, EVENTS, p=[0.6, 0.3, 0.07, 0.03])]
    seconds = np.sort(random.integers(0, 86_400, EVENTS))
    table = {"time": pa.array(seconds, pa.timestamp("s")), "user": random.integers(0, USERS, EVENTS), "type": types}
    pq.write_table(pa.table(table), path)


def clickhouse(path: Path) -> None:
    from chdb import session

    run = session.Session().query
    run("CREATE TABLE t (time DateTime, user UInt32, type LowCardinality(String)) ENGINE = Memory")
    run(f"INSERT INTO t SELECT * FROM file('{path}', 'Parquet')")
    for name in ("windowFunnel(3600)", "sequenceCount('(?1).*(?2).*(?3)')"):
        measure(
            name,
            lambda name=name: run(f"""
                SELECT sum(x) FROM (SELECT {name}(time, type = 'View', type = 'Cart', type = 'Buy') AS x
                                    FROM t GROUP BY user, toStartOfHour(time))"""),
        )


def sparkleene(path: Path) -> None:
    import sparkleene as sk

    table = pq.read_table(path)
    for semantics in ("skip-till-any-match", "skip-till-next-match", "contiguous"):
        query = sk.query(f"""
            RETURN user, COUNT(*) PATTERN SEQ(View V+, Cart C, Buy B) SEMANTICS {semantics}
            GROUP-BY user WITHIN 1 hour SLIDE 1 hour""")
        measure(semantics, lambda query=query: query.run(table).num_rows)


def measure(name: str, work) -> None:
    work()
    start = time.process_time()
    result = work()
    print(f"{name}: {time.process_time() - start:.2f} CPU s, {str(result).strip()}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.parquet")
        write(path)
        for system in (clickhouse, sparkleene):
            try:
                system(path)
            except ModuleNotFoundError as error:
                print(error)


if __name__ == "__main__":
    main()
