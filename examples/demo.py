"""Three queries of the papers over streams made here: counts of more trends than anyone could build.

make demo                                       a million prices, half a million rides, a quarter on the road
.venv/bin/python examples/demo.py --events 20000    smaller
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pyarrow as pa
import pyarrow.compute as pc
import streams

import sparkleene as sk

Row = dict[str, Any]

STOCKS = """
    RETURN sector, COUNT(*), AVG(S.price)
    PATTERN Stock S+
    SEMANTICS skip-till-any-match
    WHERE [company, sector] AND S.price > NEXT(S).price
    GROUP-BY sector
    WITHIN 10 minutes SLIDE 5 minutes"""

RIDES = """
    RETURN district, COUNT(*), COUNT(T), AVG(T.speed)
    PATTERN SEQ(Pickup P, Trip T+, Dropoff D)
    SEMANTICS skip-till-next-match
    WHERE [driver, rider, district]
    GROUP-BY district
    WITHIN 30 minutes SLIDE 10 minutes"""

ROAD = """
    RETURN segment, COUNT(*), AVG(P.speed)
    PATTERN SEQ(NOT Accident A, Position P+)
    WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed
    GROUP-BY segment
    WITHIN 5 minutes SLIDE 1 minute"""


FIRST = "first run, which compiles kernels that are not in the cache yet"


# ---- running


class Clock:
    """Runs steps, says what is going on, and keeps how long each took."""

    def __init__(self) -> None:
        """Start the clock."""
        self.begin = time.perf_counter()
        self.steps: list[tuple[str, str, float, int]] = []

    def step(
        self, stream: str, what: str, doing: str, task: Callable[[], pa.Table], events: int = 0
    ) -> pa.Table:
        """Run a task; without `events` the rows of its result are what it handled."""
        say(f"  {doing} ... ", end="")
        begin = time.perf_counter()
        result = task()
        seconds = time.perf_counter() - begin
        say(f"{seconds:.2f} s")
        self.steps.append((stream, what, seconds, events or result.num_rows))
        return result

    def show(self) -> None:
        """Print where the time went."""
        heading("Where the time went")
        rows = [
            (stream, what, f"{events:,}", f"{seconds:.2f} s", f"{seconds / events * 1e9:,.0f} ns")
            for stream, what, seconds, events in self.steps
        ]
        table(("stream", "step", "events", "time", "an event"), rows, left=2)
        say(f"\n  in all {time.perf_counter() - self.begin:.1f} s")
        say(
            "  A first run also loads the compiled kernels, and compiles those that no run before it has compiled."
        )


def compile_aside() -> subprocess.Popen[bytes]:
    """Start a second process that compiles what the rides need, while this one is busy with the prices."""
    return subprocess.Popen([sys.executable, __file__, "--only-compile"])


def evaluate(
    clock: Clock, name: str, text: str, data: pa.Table, type: str | None = "type"
) -> tuple[sk.Query, list[Row]]:
    """Print a query, run it twice over a stream, and return it with its rows."""
    say(text.strip("\n"), end="\n\n")
    q = sk.query(text, type=type)
    clock.step(name, "first run", FIRST, lambda: q.run(data), data.num_rows)
    result = clock.step(name, "second run", "second run", lambda: q.run(data), data.num_rows)
    say(f"  {data.num_rows:,} events, {result.num_rows:,} rows of results\n")
    return q, result.to_pylist()


# ---- printing


def say(text: str = "", end: str = "\n") -> None:
    """Print at once."""
    print(text, end=end, flush=True)


def heading(text: str) -> None:
    """Print a heading."""
    say(f"\n{text}\n{'-' * len(text)}")


def table(names: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print rows in aligned columns, the first `left` of them aligned to the left."""
    lines = [tuple(names), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    for line in lines:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        say("  " + "   ".join(cells).rstrip())


def number(value: float) -> str:
    """Return a count to read: 12,345 or 4.3e+120.

    >>> number(12345.0), number(4.31e120)
    ('12,345', '4.3e+120')
    """
    return f"{value:,.0f}" if value < 1e9 else f"{value:.1e}"


def pivot(rows: Sequence[Row], column: str, value: str, every: int) -> None:
    """Print one value per window and group: a line for every so many windows, a column per group."""
    groups = sorted({row[column] for row in rows})
    cells = {(row["window_start"], row[column]): row[value] for row in rows}
    starts = sorted({row["window_start"] for row in rows})[::every]
    lines = [
        (
            f"{start:%H:%M}",
            *(number(cells[start, group]) if (start, group) in cells else "-" for group in groups),
        )
        for start in starts
    ]
    table(("window from", *map(str, groups)), lines)


def chart(rows: Sequence[Row], column: str, group: str, width: int = 60) -> None:
    """Print a bar per window whose length is the number of digits of the count."""
    chosen = [row for row in rows if row[column] == group]
    most = max(math.log10(row["count"]) for row in chosen) or 1.0
    say(f"\n  COUNT(*) of {group}, log scale: the whole width is {number(10**most)}")
    for row in chosen[1::4]:
        bar = "#" * max(1, round(math.log10(row["count"]) / most * width))
        say(f"  {row['window_start']:%H:%M}  {bar} {number(row['count'])}")


def sections(text: str, *names: str) -> None:
    """Print some sections of an explanation."""
    for part in text.split("\n\n"):
        if part.startswith(names):
            say("\n".join(f"  {line}" for line in part.splitlines()) + "\n")


def rides_of(clock: Clock, q: sk.Query, data: pa.Table) -> None:
    """Print the first trends behind the numbers."""
    say("\n  The first trends behind these numbers, by q.trends(data, limit=3)")
    found = clock.step("rides", "three trends", FIRST, lambda: q.trends(data, limit=3), data.num_rows)
    for row in found.to_pylist():
        events = [
            f"{event['label']} {event['time']:%H:%M:%S}"
            + ("" if event["speed"] is None else f" {event['speed']:.0f} km/h")
            for event in row["events"]
        ]
        shown = events if len(events) <= 4 else [*events[:2], f"... {len(events) - 3} more ...", events[-1]]
        say(f"    {row['district']:<7} {', '.join(shown)}")


# ---- the demo


def main() -> None:
    """Make the streams, run the queries, show what came out."""
    parser = argparse.ArgumentParser(description="Run three queries over streams made here.")
    parser.add_argument("--events", type=int, default=1_000_000, help="prices in the stock stream")
    parser.add_argument("--only-compile", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    events = max(1000, arguments.events)
    if arguments.only_compile:
        small = streams.rides(1000)
        sk.query(RIDES).run(small)
        sk.query(RIDES).trends(small, limit=3)
        return
    clock = Clock()
    say("The first run on a machine compiles kernels: up to a minute, once. They are cached after that.")
    other = compile_aside()

    heading("1  Falling prices: skip-till-any-match with a comparison (COGRA q3)")
    data = clock.step("stocks", "make the stream", "making a day of prices", lambda: streams.stocks(events))
    q, rows = evaluate(clock, "stocks", STOCKS, data, type=None)
    pivot(rows, "sector", "count", every=8)
    chart(rows, "sector", "tech")
    say("\n  How: parts of q.explain()\n")
    sections(q.explain(), "Automaton", "Predicates", "Cost")

    heading("2  Rides: skip-till-next-match (COGRA q2)")
    say("  waiting for kernels to be compiled ... ", end="")
    other.wait()
    say("done")
    data = clock.step("rides", "make the stream", "making rides", lambda: streams.rides(events // 2))
    q, rows = evaluate(clock, "rides", RIDES, data)
    chosen = [row for row in rows if f"{row['window_start']:%H:%M}" in ("10:00", "13:00")]
    lines = [
        (
            f"{row['window_start']:%H:%M}",
            row["district"],
            number(row["count"]),
            number(row["count_T"]),
            f"{row['avg_T_speed']:.1f}",
        )
        for row in chosen
    ]
    table(("window from", "district", "rides", "trip events", "average speed"), lines, left=2)
    rides_of(clock, q, data)

    heading("3  Slowing down before any accident: negation (GRETA Q3)")
    data = clock.step("road", "make the stream", "making a road", lambda: streams.road(events // 4))
    q, rows = evaluate(clock, "road", ROAD, data)
    crash = data.filter(pc.equal(data["type"], "Accident")).slice(4, 1).to_pylist()[0]
    say(f"  Around the accident on segment {crash['segment']} at {crash['time']:%H:%M:%S}:\n")
    near = [
        row
        for row in rows
        if row["segment"] == crash["segment"]
        and abs((row["window_start"] - crash["time"]).total_seconds()) < 600
    ]
    lines = [
        (
            f"{row['window_start']:%H:%M} to {row['window_end']:%H:%M}",
            number(row["count"]),
            f"{row['avg_P_speed']:.1f}",
        )
        for row in near
    ]
    table(("window", "trends", "average speed"), lines)
    say("\n  A window that holds the accident counts only trends that began before it.")

    clock.show()


if __name__ == "__main__":
    main()
