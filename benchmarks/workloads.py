"""Many queries over one stream: together, one by one, and how the time grows with their number."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

import sparkleene as sk
from benchmarks import spark_batch
from benchmarks.common import Line, best
from sparkleene.engine.run import Run
from sparkleene.kernels import bursts as kernel
from sparkleene.language.query_files import read_query_file
from sparkleene.workload import Workload, workload

TYPES = [f"T{number}" for number in range(1, 15)]


def stream(events: int, seed: int = 0) -> pa.Table:
    """Return a stream like the one published with HAMLET: types in bursts of five or so, one event a second."""
    chance = random.Random(seed)
    types: list[str] = []
    while len(types) < events:
        types += [chance.choice(TYPES)] * chance.randint(1, 10)
    return pa.table({"time": range(events), "type": pa.array(types[:events]).dictionary_encode()})


def queries(count: int, seed: int = 0) -> dict[str, str]:
    """Return sequences of different types that all have T2 repeated, as in the published workload."""
    chance = random.Random(seed)
    found = {}
    for number in range(count):
        others = chance.sample([name for name in TYPES if name != "T2"], chance.randint(2, 9))
        place = chance.randint(1, 3)
        parts = [*others[:place], "T2+", *others[place:]]
        found[f"q{number}"] = f"RETURN COUNT(*) PATTERN SEQ({', '.join(parts)})"
    return found


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure workloads of sequences with one repeated type."""
    events = int(100_000 * scale)
    data = stream(events)
    texts = queries(50)
    together = best(lambda: workload_of(50).run(data))
    slowest = max(best(lambda q=q: q.run(data), 2) for q in map(sk.query, texts.values()))
    apart = best(lambda: workload_of(50, "never").run(data), 1)
    detail = f"{together:.4f} s / {slowest:.4f} s"
    yield Line(f"50 queries / the slowest alone, {events:,} events", together / slowest, "<= 4", detail)
    detail = f"{apart:.3f} s / {together:.4f} s"
    yield Line("50 queries one by one / together", apart / together, "", detail)
    exact = data.slice(0, events // 10)
    several = best(lambda: workload_of(50, numbers="exact").run(exact), 1)
    one = max(
        best(lambda text=text: sk.query(text, numbers="exact").run(exact), 1) for text in list(texts.values())[:10]
    )
    detail = f"{several:.2f} s / {one:.2f} s"
    yield Line(f"the same in exact numbers, {events // 10:,} events", several / one, "", detail)
    times = {count: best(lambda count=count: workload_of(count).run(data)) for count in (10, 50, 100, 200)}
    detail = ", ".join(f"{count}: {seconds * 1e3:.1f} ms" for count, seconds in times.items())
    growth = (times[200] - times[100]) / 100 / (times[50] - times[10]) * 40
    yield Line("time of a query more, 100 to 200 / 10 to 50", growth, "", detail)
    yield from published()
    yield from per_trigger(scale)
    yield from figure_1(scale)
    yield from compared(scale)
    yield from ends_differ(scale)
    yield from mixed(scale)
    yield from bursty(scale)
    yield from on_spark(scale)


# ---- the workload published with HAMLET

SHARED = Path(__file__).parents[2] / "shared" / "data"


def published() -> Iterator[Line]:
    """Measure the published queries over the published stream, where these files are."""
    if not SHARED.exists():
        return
    stream = csv.read_csv(
        SHARED / "published_stream_shared_10.csv.gz", csv.ReadOptions(column_names=["time", "type", "value"])
    )
    names = pa.array([f"T{number}" for number in stream["type"].to_pylist()]).dictionary_encode()
    data = pa.table({"time": stream["time"], "type": names}).slice(0, 100_000)
    lines = (SHARED / "published_workload_50.txt").read_text().split()
    texts = {
        f"q{i}": f"RETURN COUNT(*) PATTERN SEQ({', '.join(f'T{one}' for one in line.split(','))})"
        for i, line in enumerate(lines)
    }
    several, exact = workload(texts), workload(texts, numbers="exact")
    together = best(lambda: several.run(data))
    slowest = max(best(lambda q=q: q.run(data), 2) for q in map(sk.query, texts.values()))
    small = best(lambda: exact.run(data.slice(0, 10_000)), 1)
    detail = f"{together:.4f} s / {slowest:.4f} s; exact, 10,000 events: {small:.3f} s"
    yield Line(
        f"50 published queries / the slowest alone, {len(data):,} events", together / slowest, "<= 4", detail
    )


# ---- the papers' own workloads

PURCHASES = (
    "VKindle, BKindle, VCase, BCase",
    "VKindle, BKindle, VKindleFire",
    "VKindle, BKindle, VCase, BCase, VeBook, BeBook",
    "VKindle, BKindle, VCase, BCase, VLight, BLight",
    "ViPad, VKindleFire, VKindle, BKindle",
)


def per_trigger(scale: float = 1.0) -> Iterator[Line]:
    """Measure the five queries of A-Seq's example 6 in windows that end where trends do."""
    events = int(100_000 * scale)
    kinds = sorted({name for one in PURCHASES for name in one.split(", ")})
    codes = np.random.default_rng(0).integers(0, len(kinds), events).astype(np.int8)
    types = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(kinds))
    data = pa.table({"time": np.arange(events), "type": types})
    for window in (100, 1000):
        texts = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ({one}) WITHIN {window}" for i, one in enumerate(PURCHASES)}
        several, apart = workload(texts), workload(texts, "never")
        together, never = best(lambda: several.run(data)), best(lambda: apart.run(data))  # noqa: B023
        name = f"A-Seq, example 6, WITHIN {window}: one by one / together"
        yield Line(name, never / together, ">= 4", f"{never:.3f} s / {together:.3f} s, {events:,} events")


def figure_1(scale: float = 1.0) -> Iterator[Line]:
    """Measure the three queries of HAMLET's figure 1 over rides."""
    from sparkleene.generators import generate

    events = int(1_000_000 * scale)
    data = generate("rides", events, seed=0)
    folder = Path(__file__).parents[1] / "examples" / "queries"
    texts = {
        name: one.source for n in (1, 2, 3) for name, one in read_query_file(folder / f"hamlet_q{n}.q").items()
    }
    single = {name: sk.query(text) for name, text in texts.items()}
    alone = {name: best(lambda q=q: q.run(data)) for name, q in single.items()}
    made = workload(texts)
    together = best(lambda: made.run(data))
    each = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in alone.items())
    name = f"HAMLET, figure 1: together / sum, {events:,} rides"
    yield Line(name, together / sum(alone.values()), "<= 0.55", f"{together:.3f} s; {each}")


# ---- one comparison in common


def compared(scale: float = 1.0) -> Iterator[Line]:
    """Measure 50 queries that differ in their first event and compare neighbours of the same repeated type."""
    events = int(100_000 * scale)
    rng = np.random.default_rng(0)
    first = [f"P{number}" for number in range(50)]
    kinds = np.where(rng.random(events) < 0.3, rng.integers(0, 50, events), 50)
    types = pa.DictionaryArray.from_arrays(pa.array(kinds.astype(np.int8)), pa.array([*first, "T"]))
    data = pa.table({"time": np.arange(events), "type": types, "x": rng.random(events)})
    texts = {name: f"RETURN COUNT(*) PATTERN SEQ({name}, T+) WHERE T.x < NEXT(T).x" for name in first}
    several, apart = workload(texts), workload(texts, "never")
    one = sk.query(texts["P0"])
    together, alone = best(lambda: several.run(data)), best(lambda: one.run(data))
    never = best(lambda: apart.run(data), 1)
    name = f"50 queries with a comparison / one, {events:,} events"
    yield Line(name, together / alone, "<= 6", f"{together:.4f} s / {alone:.4f} s")
    yield Line("the same, one by one / together", never / together, ">= 8", f"{never:.3f} s / {together:.4f} s")


def ends_differ(scale: float = 1.0, count: int = 30) -> Iterator[Line]:
    """Measure queries that differ in both their ends and compare neighbours in the middle."""
    events = int(100_000 * scale)
    rng = np.random.default_rng(0)
    names = [*(f"P{i}" for i in range(count)), *(f"E{i}" for i in range(count)), "T"]
    kinds = np.where(rng.random(events) < 0.3, rng.integers(0, 2 * count, events), 2 * count)
    types = pa.DictionaryArray.from_arrays(pa.array(kinds.astype(np.int8)), pa.array(names))
    data = pa.table({"time": np.arange(events), "type": types, "x": rng.random(events)})
    texts = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(P{i}, T+, E{i}) WHERE T.x < NEXT(T).x" for i in range(count)}
    several, one = workload(texts), sk.query(texts["q0"])
    together, alone = best(lambda: several.run(data)), best(lambda: one.run(data))
    detail = f"{together:.4f} s / {alone:.4f} s, {events:,} events"
    yield Line(f"{count} comparisons between other ends / one", together / alone, "<= 4", detail)


# ---- many queries of all kinds

TEMPLATES = (
    "SEQ({0}, {1}, {2})", "SEQ({0}, {1}+, {2})", "SEQ({0}, {1}, {2}+)", "SEQ({0}+, {1})", "({0} OR {1})+",
    "SEQ({0}, NOT {1}, {2})", "(SEQ({0}, {1}))+",
)  # fmt: skip
SLIDES = ("WITHIN 1000 SLIDE 100", "WITHIN 600 SLIDE 100", "WITHIN 500 SLIDE 500")
GROUPINGS = ("WHERE [user] GROUP-BY user", "WHERE [user]", "WHERE [user] AND {0}.x < 5 GROUP-BY user")


def mixed_queries(count: int, seed: int = 0) -> dict[str, str]:
    """Return queries of templates like the papers', with conditions, windows and groupings that differ."""
    chance = random.Random(seed)
    found = {}
    for number in range(count):
        types = chance.sample(TYPES, 3)
        pattern, grouping = (chance.choice(some).format(*types) for some in (TEMPLATES, GROUPINGS))
        returns = chance.choice(["COUNT(*)", f"COUNT(*), SUM({types[0]}.x)", f"COUNT(*), AVG({types[0]}.x)"])
        names = ", ".join(f"{one.strip()} AS a{i}" for i, one in enumerate(returns.split(", ")))
        found[f"q{number}"] = f"RETURN {names} PATTERN {pattern} {grouping} {chance.choice(SLIDES)}"
    return found


MEMORY = """
import resource, sys, time
import pyarrow as pa
from benchmarks.workloads import mixed_queries, mixed_stream, workload
count, events = int(sys.argv[1]), int(sys.argv[2])
data = mixed_stream(events)
workload(mixed_queries(1)).run(data)
before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
made = workload(mixed_queries(count))
made.prepared.parts(tuple(data.column_names))
made.prepared.joints(tuple(data.column_names))
planned = time.perf_counter()
made.run(data)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(planned - begin, time.perf_counter() - planned, (after - before) / 1024)
"""


def mixed_stream(events: int) -> pa.Table:
    """Return events of 100 users."""
    rng = np.random.default_rng(0)
    kinds = pa.array(rng.integers(0, len(TYPES), events).astype(np.int8))
    return pa.table(
        {
            "time": np.arange(events),
            "type": pa.DictionaryArray.from_arrays(kinds, pa.array(TYPES)),
            "user": rng.integers(0, 100, events),
            "x": rng.integers(0, 10, events),
        }
    )


def mixed(scale: float = 1.0) -> Iterator[Line]:
    """Measure 10, 100 and 1,000 mixed queries, each number in a process of its own."""
    events = int(20_000 * scale)
    for count in (10, 100, 1000):
        command = [sys.executable, "-c", MEMORY, str(count), str(events)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
        plan, seconds, memory = map(float, done.stdout.split())
        detail = f"run {seconds:.2f} s, {seconds / count * 1e3:.1f} ms a query, {memory:.0f} MB, {events:,} events"
        yield Line(f"{count:,} mixed queries: seconds to plan", plan, "<= 5", detail)


# ---- bursts that pay and bursts that do not


def phases(events: int) -> dict[str, pa.Table]:
    """Return streams of runs of T and U in turn between other types: long runs, short ones, and both."""
    chance = random.Random(0)

    def made(lengths: tuple[int, int]) -> list[str]:
        found: list[str] = []
        while len(found) < events:
            found += [f"P{chance.randrange(50)}", *"TU" * chance.randint(*lengths)]
        return found[:events]

    runs = {"long": made((20, 60)), "short": made((1, 1)), "middling": made((2, 6))}
    runs["all"] = [kind for some in list(runs.values()) for kind in some]
    return {
        name: pa.table({"time": range(len(types)), "type": pa.array(types).dictionary_encode()})
        for name, types in runs.items()
    }


def bursty(scale: float = 1.0) -> Iterator[Line]:
    """Measure the decision for each burst against sharing all bursts and none, phase by phase and over all."""
    texts = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(P{i}, (SEQ(T, U))+, E)" for i in range(50)}
    ways = {"auto": workload(texts), "always": workload(texts, "always"), "none": workload(texts, "always")}
    ways["none"].prepared.forced_bursts = bytes([0])  # one machine, but every burst row by row
    streams = phases(int(300_000 * scale))
    for phase, data in streams.items():
        for made in ways.values():
            made.run(data)
        times = dict.fromkeys(ways, math.inf)
        for _ in range(7):  # in turn, for what else the machine does
            for name, made in ways.items():
                begin = time.perf_counter()
                made.run(data)
                times[name] = min(times[name], time.perf_counter() - begin)
        better = min(times["always"], times["none"])
        bound = "<= 1.1" if phase != "all" else "< 1"
        detail = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items())
        yield Line(f"bursts, {phase}: decided / better of all and none", times["auto"] / better, bound, detail)
    never = best(lambda: workload(texts, "never").run(streams["all"]), 1)
    detail = f"{never:.3f} s / {times['auto']:.3f} s"
    yield Line("bursts, all: queries one by one / decided", never / times["auto"], "", detail)
    decisions = sum(one.decisions for one in ways["auto"].stats)
    each = decision()
    detail = f"{decisions:,} decisions of {each * 1e9:.0f} ns"
    yield Line("decisions / the whole run", decisions * each / times["auto"], "<= 0.01", detail)


def decision() -> float:
    """Return the seconds that a decision on a burst takes: its classes, and the costs of each."""
    texts = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(P{i}, (SEQ(T, U))+, E)" for i in range(50)}
    made = workload(texts)
    data = phases(1000)["long"]
    (part,) = made.prepared.parts(tuple(data.column_names))
    options = made.prepared.options.for_engine()
    _, compiled, _, _ = Run(part, options).prepare(data)
    assert compiled.bursts is not None
    given = compiled.bursts.with_costs(np.complex128, 1, 0)
    kind = int(given.set_of[compiled.events.symbol[1]])
    seen = np.bincount(compiled.events.symbol, minlength=compiled.program.labels.size)
    count = 100_000
    return (
        best(lambda: _decide(given, kind, compiled.program.sum_row, compiled.program.low_row, seen, count)) / count
    )


@nb.njit
def _decide(g: Any, kind: int, sum_row: Any, low_row: Any, seen: Any, count: int) -> int:
    leader = np.zeros(g.template.size, np.int64)
    steps = np.zeros(g.template.size, np.int64)
    found = 0
    for _ in range(count):
        kernel.find_classes(g, kind, sum_row, low_row, seen, leader, steps)
        h = g.group_off[kind]
        found += kernel.pays(g, h, 40, steps[h], 50, True)
    return found


# ---- on Spark

BY_USER = "WHERE [user] GROUP-BY user WITHIN 1 hour SLIDE 1 hour"


def write(folder: Path, files: int, rows: int) -> list[str]:
    """Write files of events, one a millisecond, in order of time, of 3,000 users."""
    paths = []
    for number in range(files):
        rng = np.random.default_rng(number)
        begin = number * rows
        times = spark_batch.FIRST + np.arange(begin, begin + rows).astype("timedelta64[ms]")
        kinds = pa.array(rng.integers(0, len(TYPES), rows).astype(np.int8))
        table = pa.table(
            {
                "time": pa.array(times).cast(pa.timestamp("us", "UTC")),
                "type": pa.DictionaryArray.from_arrays(kinds, pa.array(TYPES)),
                "user": rng.integers(0, spark_batch.USERS, rows),
            }
        )
        paths.append(str(folder / f"{number:02}.parquet"))
        pq.write_table(table, paths[-1], row_group_size=max(1, rows // 5))
    return paths


def on_spark(scale: float = 1.0, repeat: int = 2) -> Iterator[Line]:
    """Measure 20 queries by user against the job of the longest of them, from a DataFrame and by path."""
    texts = {name: f"{text} {BY_USER}" for name, text in queries(20).items()}
    several, one = workload(texts), sk.query(max(texts.values(), key=len))
    rows = max(1000, int(5_000_000 * scale))
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), 2, rows)
        spark = spark_batch.session("local[2]")
        jobs = {
            ("DataFrame", "20"): lambda: several.run(spark.read.parquet(*paths)),
            ("DataFrame", "1"): lambda: one.run(spark.read.parquet(*paths)),
            ("by path", "20"): lambda: several.run(paths, engine="spark"),
            ("by path", "1"): lambda: one.run(paths, engine="spark"),
        }
        found = spark_batch.measure(jobs, repeat)
        spark_batch.same("20 queries", found["DataFrame", "20"], found["by path", "20"])
        spark.stop()
    for way in ("DataFrame", "by path"):
        name = f"20 queries / one on Spark, {2 * rows:,} events, {way}"
        yield spark_batch.ratio(name, found[way, "20"], found[way, "1"], "<= 3")


_MADE: dict[tuple[int, str, str], Workload] = {}


def workload_of(count: int, sharing: str = "auto", numbers: str = "double") -> Workload:
    """Return a workload, made once: compiling queries is not what is measured."""
    key = (count, sharing, numbers)
    if key not in _MADE:
        _MADE[key] = workload(queries(count), sharing, numbers=numbers)  # type: ignore[arg-type]
    return _MADE[key]
