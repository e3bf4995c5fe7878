"""Other systems on the same stream with the same question, where their counts are ours; skipped where they are not.

.venv/bin/python benchmarks/live_peers.py --get    fetch and build them into build/peers (pip, Maven, Cargo)
make bench ARGS=peers                              compare

All run on one core's worth of threads; times are of processors, except Varpulis' own clock. Flink's are without
what a job of 10 events takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparkleene as sk
from benchmarks.common import Line
from sparkleene.workload import workload

HERE = Path(__file__).parent / "peers"
PEERS = Path(os.environ.get("PEERS", Path(__file__).parents[1] / "build" / "peers"))
EVENTS, KEYS = 1_000_000, 10_000
FLINK, LIMIT = "2.3.0", 300
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>p</groupId><artifactId>p</artifactId><version>1</version>
<dependencies>{}</dependencies></project>"""
NEEDS = ("flink-cep", "flink-streaming-java", "flink-clients")
SEMANTICS = {"next": ("skip-till-next-match", ">= 100"), "contiguous": ("contiguous", ">= 30")}

SQL = """
import json, sys, time
system, path = sys.argv[1:]
if system == "chdb":
    import chdb
    def ask(text):
        return int(chdb.query(text.format(table=f"file('{path}', Parquet)"), "CSV").data())
    pairs = '''SELECT sum(n) FROM (
                   SELECT sequenceCount('(?1)(?2)')(toUInt64(time), type = 'A', type = 'B', true) AS n
                   FROM {table} GROUP BY key) SETTINGS max_threads = 1'''
    hard = "SELECT sequenceMatch('(?1)(?t>1)(?2)')(number, number > 0, number = 0) FROM numbers(2000)"
else:
    import duckdb
    base = duckdb.connect()
    base.execute("SET threads = 1")
    def ask(text):
        return base.execute(text.format(table=f"'{path}'")).fetchall()[0][0]
    pairs = '''SELECT count(*) FROM (
                   SELECT type, lead(type) OVER (PARTITION BY key ORDER BY time) AS next FROM {table})
               WHERE type = 'A' AND next = 'B' '''
    hard = "SELECT 1 FROM {table} MATCH_RECOGNIZE (ORDER BY time MEASURES 1 AS n PATTERN (A B) DEFINE A AS true)"
found = []
for _ in range(3):
    begin = time.process_time()
    count = ask(pairs)
    found.append(time.process_time() - begin)
try:
    said = str(ask(hard))
except Exception as error:
    said = str(error).splitlines()[0][:160]
print(json.dumps({"count": count, "seconds": min(found), "said": said}))
"""


def stream(events: int = EVENTS, keys: int = KEYS) -> pa.Table:
    """Return events of three types and many keys."""
    rng = np.random.default_rng(0)
    kinds = pa.array(rng.choice(3, events, p=[0.3, 0.2, 0.5]).astype(np.int8))
    types = pa.DictionaryArray.from_arrays(kinds, pa.array(["A", "B", "C"]))
    return pa.table({"time": np.arange(events), "type": types, "key": rng.integers(0, keys, events)})


def ours(text: str, table: pa.Table) -> tuple[float, float]:
    """Return our count, and the processor's seconds on one thread, the least of five."""
    query = sk.query(text)
    count, found = query.run(table, threads=1)["count"][0].as_py(), []
    for _ in range(5):
        begin = time.process_time()
        query.run(table, threads=1)
        found.append(time.process_time() - begin)
    return count, min(found)


def compared(name: str, theirs: tuple[float, float], own: tuple[float, float], bound: str, note: str = "") -> Line:
    """Return a line, if the counts are the same."""
    if theirs[0] != own[0]:
        raise RuntimeError(f"{name}: {theirs[0]:,.0f} and not {own[0]:,.0f}")
    detail = f"{theirs[1]:.3g} s / {own[1]:.3g} s, {own[0]:,.0f} trends{note}"
    return Line(name, theirs[1] / own[1], bound, detail)


def run(scale: float = 1.0) -> Iterator[Line]:
    """Compare with whichever is there."""
    table = stream(int(EVENTS * scale), max(1, int(KEYS * scale)))
    yield from flink(table)
    yield from sql(table)
    yield from varpulis(int(EVENTS * scale))


# ---- Flink


def flink(table: pa.Table) -> Iterator[Line]:
    """Compare with Flink CEP: A+ then B by key, and the 14 events that have many matches."""
    jars = PEERS / "flink"
    if not list(jars.glob("*.jar")):
        print(f"Flink is not in {jars}: live_peers.py --get")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = f"{jars}/*{os.pathsep}{folder}"
        subprocess.run(["javac", "-d", folder, "-cp", path, HERE / "FlinkCount.java"], check=True)

        def ask(some: pa.Table, semantics: str) -> list[tuple[float, float, float]] | None:
            rows = zip(some["key"].to_pylist(), some["type"].to_pylist(), strict=True)
            Path(folder, "events.txt").write_text("".join(f"{key} {kind}\n" for key, kind in rows))
            command = ["java", "-Xmx6g", "-cp", path, "FlinkCount", f"{folder}/events.txt", semantics]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
            except subprocess.TimeoutExpired:
                return None
            lines = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
            return [(float(count), float(wall), float(cpu)) for count, wall, cpu in lines]

        for semantics, (name, bound) in SEMANTICS.items():
            found = ask(table, semantics)
            own = ours(f"RETURN COUNT(*) PATTERN SEQ(A+, B) SEMANTICS {name} WHERE [key]", table)
            title = f"Flink CEP / ours, A+ B {name}, {len(table):,} events"
            if found is None:
                print(f"{title}: Flink did not end in {LIMIT} s")
                continue
            yield compared(title, (found[2][0], found[2][2] - found[1][2]), own, bound)
        many = "RETURN COUNT(*) PATTERN SEQ(A+, B) SEMANTICS skip-till-any-match"
        few = pa.table({"time": range(14), "type": [*"A" * 13, "B"], "key": [0] * 14})
        found, own = ask(few, "any"), ours(many, few)
        if found is not None:
            yield compared("Flink CEP / ours, 14 events of A+ B, all matches", found[2][::2], own, "")
        kinds = pa.DictionaryArray.from_arrays(
            pa.array(np.r_[np.zeros(13_999_999, np.int8), np.int8(1)]), ["A", "B"]
        )
        long = pa.table({"time": np.arange(14_000_000), "type": kinds})
        _, seconds = ours(many, long)
        yield Line(
            "14 million events of A+ B / 14, ours", seconds / own[1], "", f"{seconds:.3g} s / {own[1]:.2g} s"
        )


# ---- ClickHouse and DuckDB


def sql(table: pa.Table) -> Iterator[Line]:
    """Compare with databases: A directly followed by B, by key, from the same file; and what they cannot do."""
    python = PEERS / "sql" / "bin" / "python"
    if not python.exists():
        print(f"chDB and DuckDB are not in {python.parent}: live_peers.py --get")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/events.parquet"
        pq.write_table(table, path)
        query = sk.query("RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS contiguous WHERE [key]")
        count, found = query.run(path, threads=1)["count"][0].as_py(), []
        for _ in range(5):
            begin = time.process_time()
            query.run(path, threads=1)
            found.append(time.process_time() - begin)
        for system, name in (("chdb", "ClickHouse sequenceCount"), ("duckdb", "DuckDB lead()")):
            command = [python, "-c", SQL, system, path]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT)
            said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            title = f"{name} / ours, A B contiguous, Parquet, {len(table):,} events"
            yield compared(title, (said["count"], said["seconds"]), (count, min(found)), "", f"; {said['said']}")


# ---- Varpulis


def varpulis(events: int) -> Iterator[Line]:
    """Compare with Varpulis' HAMLET: each P once, then T repeated; its counts end at 2^64 - 1."""
    program = PEERS / "varpulis" / "release" / "varpulis-peer"
    if not program.exists():
        print(f"Varpulis is not in {program.parent}: live_peers.py --get")
        return
    for queries in (1, 10, 50):
        texts = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(P{i}, T+)" for i in range(queries)}
        several, title = workload(texts), f"Varpulis / ours, {queries} queries P T+, {events:,} events"
        for size in (queries + 20, events):
            types = [*(f"P{i}" for i in range(queries)), *["T"] * (size - queries)]
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write("\n".join(types) + "\n")
                file.flush()
                done = subprocess.run(
                    [program, file.name, str(queries)], capture_output=True, text=True, check=True
                )
            count, _, theirs = done.stdout.split()
            table = pa.table({"time": np.arange(size), "type": pa.array(types).dictionary_encode()})
            result, begin = several.run(table, threads=1), time.process_time()
            several.run(table, threads=1)
            seconds, own = time.process_time() - begin, result["count"][0].as_py()
            if size != events and int(count) != own:
                print(f"{title}: not compared, of {size} events it counts {int(count):,} and we {own:,.0f}")
                break
        else:
            yield Line(title, float(theirs) / seconds, "", f"{float(theirs):.3g} s / {seconds:.3g} s")


def get() -> None:
    """Fetch and build the peers outside the repository's files; what cannot be had is said in one line."""
    PEERS.mkdir(parents=True, exist_ok=True)
    parts = "".join(
        f"<dependency><groupId>org.apache.flink</groupId><artifactId>{name}</artifactId>"
        f"<version>{FLINK}</version></dependency>"
        for name in NEEDS
    )
    (PEERS / "pom.xml").write_text(POM.format(parts))
    target = {"CARGO_TARGET_DIR": str(PEERS / "varpulis")}
    steps = {
        "chDB and DuckDB": f"{sys.executable} -m venv {PEERS}/sql && {PEERS}/sql/bin/pip install -q chdb duckdb",
        "Flink": f"mvn -q -f {PEERS}/pom.xml dependency:copy-dependencies -DoutputDirectory={PEERS}/flink",
        "Varpulis": f"cargo build -q --release --manifest-path {HERE}/varpulis/Cargo.toml",
    }
    for name, command in steps.items():
        done = subprocess.run(command, shell=True, env=os.environ | target, check=False)
        print(f"{name}: {'ready' if done.returncode == 0 else 'cannot be had'}", flush=True)


if __name__ == "__main__":
    if "--get" in sys.argv:
        get()
    else:
        for one in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
            print(one.show(), flush=True)
