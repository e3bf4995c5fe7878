"""The demo: questions that people ask, answered over data made here; the last one also on Spark, live."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent, indent, wrap
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparkleene.charts import chart
from sparkleene.cli import output_files, show
from sparkleene.cli.results import are_same, sort_rows
from sparkleene.cli.spark_session import few_partitions, start_spark
from sparkleene.columns.files import open_files
from sparkleene.generators import generate
from sparkleene.query import query
from sparkleene.workload import workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 5
"""Rows of a result that are shown."""
FALLS = range(1, 11)
"""How many falls in a row the second question looks for."""

SEARCHES = """
    searched: RETURN userId, COUNT(*)
              PATTERN Search S{3} SEMANTICS contiguous
              WHERE [userId] GROUP-BY userId
    bought:   RETURN userId, COUNT(*)
              PATTERN SEQ(Search S{3}, Kindle K) SEMANTICS contiguous
              WHERE [userId] GROUP-BY userId"""
STREAK = """
    falls_5: RETURN COUNT(*)
             PATTERN Stock S{6} SEMANTICS contiguous
             WHERE [company] AND S.price > NEXT(S).price"""
JAMS = """
    RETURN segment, COUNT(*), MIN(P.speed)
    PATTERN SEQ(NOT Accident A, Position P{3,})
    WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed
    GROUP-BY segment WITHIN 5 minutes SLIDE 5 minutes"""
FALLING = """
    RETURN sector, COUNT(*), AVG(S.price)
    PATTERN Stock S+
    SEMANTICS skip-till-any-match
    WHERE [company, sector] AND S.price > NEXT(S).price
    GROUP-BY sector WITHIN 10 minutes SLIDE 5 minutes"""


@dataclass(frozen=True)
class Stream:
    """Events to ask about: their generator, what they are, which part of the demo's events, and in what time."""

    name: str
    about: str
    share: float
    minutes: int
    groups: int | None = None

    def path(self, folder: Path) -> Path:
        """Return the file of the stream."""
        return folder / f"{self.name}.parquet"

    def make(self, most: int, folder: Path) -> None:
        """Make the stream."""
        events = max(1000, int(most * self.share))
        table = generate(self.name, events, rate=events / self.minutes / 60, groups=self.groups)
        output_files.write_events(table, "parquet", str(self.path(folder)))


CLICKS = Stream("clicks", "clicks in an online shop, in an hour", 0.3, 60, groups=5000)
STOCK = Stream("stock", "prices of 220 companies, in four hours", 1.0, 240)
TRAFFIC = Stream("traffic", "reports of cars on a road, in twenty minutes", 0.25, 10)


def run_demo(events: int, output: str, master: str | None, conf: Sequence[str] | None) -> None:
    """Make streams, ask questions, draw a chart, and ask one of them on Spark."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    say("Sparkleene answers questions about what happens one after the other.")
    say("The first run on a machine compiles code, which takes a minute more.")
    with time_step("Making three streams of events"):
        for stream in (CLICKS, STOCK, TRAFFIC):
            stream.make(events, folder)
    ask_searches(folder)
    ask_streaks(folder)
    ask_jams(folder)
    result = ask_falls(folder)
    if find_spec("pyspark") is None:
        say("\nThe same runs on Spark and over live streams: pip install '.[spark]' in a checkout adds it.")
    else:
        ask_spark(folder, result, master, conf)
    point_on(folder, time.perf_counter() - begin)


# ---- the questions


def ask_searches(folder: Path) -> None:
    """Ask how many of the users who search again and again buy in the end."""
    path = CLICKS.path(folder)
    asked = pose(1, "Do people who search again and again buy in the end?", CLICKS, folder, "searches.q", SEARCHES)
    with time_step("Counting"):
        names = workload(asked).run(path).column("query").to_pylist()
    searched, bought = names.count("searched"), names.count("bought")
    users = len(pq.read_table(path, columns=["userId"]).column(0).unique())
    answer(
        f"{searched:,} of {users:,} users searched three times in a row, and {bought:,} of them bought a Kindle "
        f"right after: {bought / max(1, searched):.0%}."
    )
    steps = {"users": ["all", "searched three times", "and then bought"], "number": [users, searched, bought]}
    draw(chart(pa.table(steps), groups=["users"]).text(width=74))
    explain("A result has a row for each user who did it, so rows are users. [userId] keeps users apart.")


def ask_streaks(folder: Path) -> None:
    """Ask how long streaks of falling prices are."""
    texts = [STREAK.replace("falls_5", f"falls_{n}").replace("{6}", f"{{{n + 1}}}") for n in FALLS]
    asked = pose(2, "How often do prices fall, fall and fall again?", STOCK, folder, "streaks.q", *texts)
    with time_step("Counting"):
        result = workload(asked).run(STOCK.path(folder))
    counts = dict(zip(result.column("query").to_pylist(), result.column("count").to_pylist(), strict=True))
    falls = {n: counts.get(f"falls_{n}", 0.0) for n in FALLS}
    longest = max((n for n, count in falls.items() if count), default=0)
    answer(
        f"A price is lower than the one before {falls[1]:,.0f} times. Five falls in a row are found "
        f"{falls[5]:,.0f} times, and {longest} still {falls.get(longest, 0.0):,.0f} times."
    )
    bars = {"falls in a row": list(falls), "times": list(falls.values())}
    draw(chart(pa.table(bars), groups=["falls in a row"], most=len(FALLS)).text(width=74))
    explain(
        "contiguous: no other price of the company lies between two of a streak. A streak of six falls holds two "
        "of five. All ten queries take one pass."
    )


def ask_jams(folder: Path) -> None:
    """Ask where cars slow down more and more."""
    question = "Where do cars get slower and slower, though there was no accident?"
    asked = pose(3, question, TRAFFIC, folder, "slower.q", JAMS)
    with time_step("Counting"):
        result = query(asked.read_text()).run(TRAFFIC.path(folder))
    top = result.sort_by([("count", "descending")]).slice(0, ROWS)
    for row in top.slice(0, 1).to_pylist():
        answer(
            f"Most of all in segment {row['segment']}, in the five minutes from {row['window_start']:%H:%M}: "
            f"{row['count']:,.0f} times, down to {row['min_P_speed']:g} miles an hour."
        )
    draw(show.align(top.column_names, show.cells(top), show.are_numeric(top)))
    explain("count is the number of chains: three reports of a car or more, each slower than the one before.")


def ask_falls(folder: Path) -> Any:
    """Ask how many ways down there are, which nobody could list, and return the answer."""
    question = "In how many ways do prices fall, if any price may be skipped?"
    asked = query(pose(4, question, STOCK, folder, "falling.q", FALLING).read_text())
    with time_step("Counting"):
        result = sort_rows(asked.run(STOCK.path(folder)), asked)
    most = max(result.column("count").to_pylist(), default=0.0)
    answer(
        f"Up to {most:.1e} ways in ten minutes of one sector. To list them, a million a second, would take "
        f"{most / 1e6 / 3.15e7:.0e} years."
    )
    made = asked.plot(result, most=4)
    draw(made.text(width=74))
    if find_spec("matplotlib") is not None:
        made.save(folder / "falling_prices.svg")
        say(f"\n  As a picture: {folder / 'falling_prices.svg'}")
    explain("Each choice of prices that fall from one to the next is a way. None was built in order to count them.")
    return result


def ask_spark(folder: Path, here: Any, master: str | None, conf: Sequence[str] | None) -> None:
    """Ask the last question on Spark, as a batch and live, and compare the answers with the one found here."""
    heading("5  The same on Spark, over the file and live")
    path, asked = STOCK.path(folder), query(FALLING)
    say("  Starting Spark ... ", end="")
    begin = time.perf_counter()
    with start_spark(master, conf, few_partitions(master)) as spark:
        say(f"{time.perf_counter() - begin:.1f} s")
        with time_step("The file, read by Spark's tasks"):
            batch = sort_rows(asked.run(str(path), engine="spark").toArrow(), asked)
        with time_step("The file played as a stream, in four batches"):
            live = run_live(spark, path, folder)
    end = max(live.column("window_end").to_pylist())
    closed = [row for row in here.to_pylist() if row["window_end"] <= end]
    if not (are_same(here.to_pylist(), batch.to_pylist()) and are_same(closed, live.to_pylist())):
        raise AssertionError("the answers of Spark are not those of this process")
    answer(f"The same {batch.num_rows} rows as before, number by number.")
    explain(
        f"Live, {live.num_rows} of them: each comes once, when its window is over. The windows of the other "
        f"{batch.num_rows - live.num_rows} are still open when the stream ends."
    )


def run_live(spark: SparkSession, path: Path, folder: Path) -> Any:
    """Play a file as a stream and return the rows of the windows that close."""
    from sparkleene.spark import register

    register(spark)
    rows = -(-int(open_files(path).rows or 4) // 4)
    options = {"path": str(path.absolute()), "time": "time", "rowsPerBatch": str(rows)}
    stream = spark.readStream.format("sparkleene.replay").options(**options).load()
    windows = query(FALLING).run(stream.withWatermark("time", "10 seconds"))
    checkpoint, found = str((folder / "checkpoint").absolute()), str((folder / "windows").absolute())
    for old in (checkpoint, found):
        shutil.rmtree(old, ignore_errors=True)
    writer = windows.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    running = writer.trigger(availableNow=True).start(found)
    while not running.awaitTermination(0.5):
        pass
    return sort_rows(spark.read.parquet(found).toArrow(), query(FALLING))


def point_on(folder: Path, seconds: float) -> None:
    """Say where to go from here."""
    heading("Where to go next")
    say(f"  It took {seconds:.0f} seconds. Streams and queries are in {folder}: change a query and ask again.\n")
    for name, stream, more in (("searches.q", CLICKS, ""), ("falling.q", STOCK, " --plot")):
        say(f"    {command()} run {folder / name} {stream.path(folder)} --engine local{more}")
    say(f"    {command()} trends {folder / 'falling.q'} {STOCK.path(folder)} --engine local --limit 3")
    say("\n  docs/tutorial.md begins with a table of your own, docs/reference/language.md says what can be asked.")


def command() -> str:
    """Return how a shell here finds the command."""
    if shutil.which("sparkleene") is not None:
        return "sparkleene"
    beside = Path(sys.executable).with_name("sparkleene")
    here = Path.cwd()
    return str(beside.relative_to(here) if beside.is_relative_to(here) else beside)


# ---- printing


def pose(number: int, question: str, stream: Stream, folder: Path, name: str, *texts: str) -> Path:
    """Print a question, what it is asked of, and how it is written; return the file that it is written to."""
    heading(f"{number}  {question}")
    say(f"  Asked of {open_files(stream.path(folder)).rows:,} {stream.about}:\n")
    shown = texts[(len(texts) - 1) // 2]
    say(indent(dedent(shown).strip("\n"), "    "))
    if len(texts) > 1:
        say(f"    ... and {len(texts) - 1} queries like it")
    say()
    path = folder / name
    path.write_text("\n".join(dedent(text).strip("\n") + "\n" for text in texts))
    return path


def answer(text: str) -> None:
    """Print an answer."""
    say("\n" + "\n".join(wrap(text, 76, initial_indent="  => ", subsequent_indent="     ")) + "\n")


def draw(text: str) -> None:
    """Print a table or a chart."""
    say(indent(text.rstrip("\n"), "    "))


def explain(text: str) -> None:
    """Print what a number means."""
    say("\n" + "\n".join(wrap(text, 76, initial_indent="  ", subsequent_indent="  ")))


@contextmanager
def time_step(doing: str) -> Iterator[None]:
    """Say what is going on, and how long it took."""
    say(f"  {doing} ... ", end="")
    begin = time.perf_counter()
    yield
    say(f"{time.perf_counter() - begin:.1f} s")


def say(text: str = "", end: str = "\n") -> None:
    """Print a line without waiting for more."""
    print(text, end=end, flush=True)


def heading(text: str) -> None:
    """Print a heading."""
    say(f"\n\n{text}\n{'-' * len(text)}")
