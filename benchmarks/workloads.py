"""Many queries over one stream: together, one by one, and how the time grows with their number."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa

import sparkleene as sk
from benchmarks.common import Line, best
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
        best(lambda text=text: sk.query(text, numbers="exact").run(exact), 1)
        for text in list(texts.values())[:10]
    )
    detail = f"{several:.2f} s / {one:.2f} s"
    yield Line(f"the same in exact numbers, {events // 10:,} events", several / one, "", detail)
    times = {count: best(lambda count=count: workload_of(count).run(data)) for count in (10, 50, 100, 200)}
    detail = ", ".join(f"{count}: {seconds * 1e3:.1f} ms" for count, seconds in times.items())
    growth = (times[200] - times[100]) / 100 / (times[50] - times[10]) * 40
    yield Line("time of a query more, 100 to 200 / 10 to 50", growth, "", detail)


_MADE: dict[tuple[int, str, str], Workload] = {}


def workload_of(count: int, sharing: str = "auto", numbers: str = "double") -> Workload:
    """Return a workload, made once: compiling queries is not what is measured."""
    key = (count, sharing, numbers)
    if key not in _MADE:
        _MADE[key] = workload(queries(count), sharing, numbers=numbers)  # type: ignore[arg-type]
    return _MADE[key]
