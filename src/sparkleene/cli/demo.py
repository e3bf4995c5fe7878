"""The demo: queries of the papers on Spark, over streams made here; then one of them live."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sparkleene.cli import output_files, show
from sparkleene.cli.results import are_same, sort_rows
from sparkleene.cli.spark_session import few_partitions, start_spark
from sparkleene.columns.files import open_files
from sparkleene.generators import generate
from sparkleene.query import Query, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

ROWS = 6
"""Rows of a result that are shown."""


@dataclass(frozen=True)
class Scene:
    """A query of a paper, the stream it is for, which part of the demo's events that has, and in what time."""

    title: str
    stream: str
    share: float
    minutes: int
    text: str
    says: str

    @property
    def query(self) -> Query:
        """The query."""
        return query(self.text)

    def events(self, most: int) -> int:
        """Return how many events the stream has."""
        return max(1000, int(most * self.share))

    def path(self, folder: Path) -> Path:
        """Return the file of the stream."""
        return folder / f"{self.stream}.parquet"

    def make(self, most: int, folder: Path) -> None:
        """Make the stream."""
        events = self.events(most)
        table = generate(self.stream, events, rate=events / self.minutes / 60)
        output_files.write_events(table, "parquet", str(self.path(folder)))


SCENES = (
    Scene(
        "contiguous: mappers whose CPU load only rises (COGRA, q1)",
        "cluster",
        0.5,
        3,
        """
    q1: RETURN mapper, COUNT(*), SUM(L.cpu)
    PATTERN SEQ(Start S, Measurement L+, End E)
    SEMANTICS contiguous
    WHERE [job, mapper] AND L.cpu < NEXT(L).cpu
    GROUP-BY job, mapper
    WITHIN 1 minute SLIDE 30 seconds""",
        "Nothing may come between two events of a trend, so there are few.",
    ),
    Scene(
        "skip-till-next-match: rides and their speed (COGRA, q2)",
        "rides",
        0.5,
        60,
        """
    q2: RETURN district, COUNT(*), AVG(T.speed)
    PATTERN SEQ(Pickup P, Trip T+, Dropoff D)
    SEMANTICS skip-till-next-match
    WHERE [driver, rider, district]
    GROUP-BY district
    WITHIN 30 minutes SLIDE 10 minutes""",
        "Events that do not fit are skipped, those that fit are not.",
    ),
    Scene(
        "skip-till-any-match: falling prices (COGRA, q3)",
        "stock",
        1.0,
        240,
        """
    q3: RETURN sector, COUNT(*), AVG(S.price)
    PATTERN Stock S+
    SEMANTICS skip-till-any-match
    WHERE [company, sector] AND S.price > NEXT(S).price
    GROUP-BY sector
    WITHIN 10 minutes SLIDE 5 minutes""",
        "A trend may skip any price, so there are more of them than anyone could build.",
    ),
    Scene(
        "negation: cars that slow down, and no accident before (GRETA, Q3)",
        "traffic",
        0.25,
        10,
        """
    Q3: RETURN segment, COUNT(*), AVG(P.speed)
    PATTERN SEQ(NOT Accident A, Position P+)
    WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed
    GROUP-BY segment
    WITHIN 5 minutes SLIDE 1 minute""",
        "Only trends that no accident precedes, in their window and segment.",
    ),
)
LIVE = SCENES[2]
COMPILE = """
from sparkleene.cli.demo import SCENES
from sparkleene.columns.files import open_files
from sparkleene.generators import generate
for scene in SCENES:
    scene.query.run(generate(scene.stream, 2000))
"""


def run_demo(events: int, output: str, master: str | None, conf: Sequence[str] | None) -> None:
    """Make streams, run the queries on Spark, draw a chart, and replay a stream."""
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    say("Event trends on Spark: four queries of the papers, over streams like theirs.")
    say("The first run on a machine also compiles kernels, up to a minute in all; they are cached after that.\n")
    other = subprocess.Popen([sys.executable, "-c", COMPILE])  # on another core while streams are made
    try:
        for scene in SCENES:
            doing = f"making the stream {scene.stream}, {scene.events(events):,} events"
            clock.step("making streams", doing, partial(scene.make, events, folder))
        clock.step("compiling kernels", "compiling kernels that are not in the cache", other.wait)
    finally:
        other.kill()
    say("  starting Spark ...")
    begin = time.perf_counter()
    with start_spark(master, conf, few_partitions(master)) as spark:
        clock.add("starting Spark", time.perf_counter() - begin)
        results = [run_scene(clock, number, scene, folder) for number, scene in enumerate(SCENES, 1)]
        draw_chart(results[2], folder)
        replay_live(clock, spark, results[2], folder)
    clock.show()
    say(f"\nThe streams and the chart are in {folder}. Ask something of your own, for example:\n")
    ask = "RETURN district, COUNT(*) PATTERN SEQ(Request, Pickup) WHERE [rider, district] GROUP-BY district"
    say(f"  {command()} run '{ask}' {SCENES[1].path(folder)} --engine local")


def command() -> str:
    """Return how a shell here finds the command."""
    if shutil.which("sparkleene") is not None:
        return "sparkleene"
    beside = Path(sys.executable).with_name("sparkleene")
    here = Path.cwd()
    return str(beside.relative_to(here) if beside.is_relative_to(here) else beside)


# ---- scenes


def run_scene(clock: Clock, number: int, scene: Scene, folder: Path) -> Any:
    """Run a query on Spark and show the first rows of its result."""
    heading(f"{number}  {scene.title}")
    say(scene.text.strip("\n") + "\n")
    run = scene.query.run
    result = clock.step(
        f"{number}  {scene.stream}",
        "reading Parquet and counting on Spark",
        lambda: sort_rows(run(str(scene.path(folder)), engine="spark").toArrow(), scene.query),
    )
    say(f"  {scene.says}\n")
    middle = max(0, result.num_rows // 2 - ROWS // 2)
    some = result.slice(middle, ROWS)
    text = show.align(some.column_names, show.cells(some), show.are_numeric(some))
    say("".join(f"  {line}\n" for line in text.splitlines()), end="")
    say(f"  ... {some.num_rows} of {result.num_rows:,} rows")
    return result


def draw_chart(result: Any, folder: Path) -> None:
    """Draw a result here, and to a file."""
    say()
    chart = LIVE.query.plot(result)
    text = chart.text(width=78)
    say("".join(f"  {line}\n" for line in text.splitlines()), end="")
    path = folder / "falling_prices.svg"
    chart.save(path)
    say(f"\n  The same as a picture: {path}")


def replay_live(clock: Clock, spark: SparkSession, batch: Any, folder: Path) -> None:
    """Play a stream from its file, and compare the windows that close with those of the batch."""
    heading("5  the same live: prices replayed as a stream, windows as they close")
    from sparkleene.spark import register

    register(spark)
    path = LIVE.path(folder)
    rows = -(-int(open_files(path).rows or 4) // 4)
    options = {"path": str(path.absolute()), "time": "time", "rowsPerBatch": str(rows)}
    stream = spark.readStream.format("sparkleene.replay").options(**options).load()
    windows = LIVE.query.run(stream.withWatermark("time", "10 seconds"))
    checkpoint, found = str((folder / "checkpoint").absolute()), str((folder / "windows").absolute())
    for old in (checkpoint, found):
        shutil.rmtree(old, ignore_errors=True)
    writer = windows.writeStream.format("parquet").option("checkpointLocation", checkpoint)

    def live() -> Any:
        running = writer.trigger(availableNow=True).start(found)
        while not running.awaitTermination(0.5):
            pass
        return sort_rows(spark.read.parquet(found).toArrow(), LIVE.query)

    result = clock.step("5  stream", "four batches, in a stateful streaming query", live)
    ends = result.column("window_end").to_pylist()
    closed = [row for row in batch.to_pylist() if row["window_end"] <= max(ends)]
    rows_live = result.to_pylist()
    if not are_same(closed, rows_live):
        raise AssertionError("the windows of the stream are not those of the batch")
    say(f"  {len(rows_live)} rows of windows that closed: each equals that of the batch, number by number.")
    say(f"  The last {batch.num_rows - len(closed)} rows of the batch are of windows that are still open.")


# ---- printing


class Clock:
    """Runs steps, says what is going on, and keeps how long each took."""

    def __init__(self) -> None:
        """Start the clock."""
        self.begin = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def add(self, name: str, seconds: float) -> None:
        """Add time to a step."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def step(self, name: str, doing: str, task: Callable[[], T]) -> T:
        """Run a task."""
        say(f"  {doing} ... ", end="")
        begin = time.perf_counter()
        result = task()
        seconds = time.perf_counter() - begin
        say(f"{seconds:.1f} s")
        self.add(name, seconds)
        return result

    def show(self) -> None:
        """Print where the time went."""
        heading("where the time went")
        whole = time.perf_counter() - self.begin
        self.add("the rest", whole - sum(self.seconds.values()))
        longest = max(self.seconds.values())
        for name, seconds in self.seconds.items():
            bar = "#" * round(seconds / longest * 40)
            say(f"  {name:<18} {seconds:6.1f} s  {bar}".rstrip())
        say(f"  {'in all':<18} {whole:6.1f} s")


def say(text: str = "", end: str = "\n") -> None:
    """Print at once."""
    print(text, end=end, flush=True)


def heading(text: str) -> None:
    """Print a heading."""
    say(f"\n{text}\n{'-' * len(text)}")
