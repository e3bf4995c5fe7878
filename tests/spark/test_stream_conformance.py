"""Streams give what batches give: random queries over random rows, out of order, in random batches.

A batch of a stream on Spark takes about a second. So most cases run without Spark around what its workers run, and
on Spark one query is given many small streams at once, a group each; `make soak` runs many more of both.
"""

from __future__ import annotations

import os
import pickle
import random
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, assume, given, note, seed, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F
from tests.chance import cases, chance, rest
from tests.conformance import strategies, test_papers
from tests.conformance.engines import in_order
from tests.conformance.paper_cases import CASES, PaperCase, at
from tests.conformance.strategies import Case
from tests.conformance.test_random import Rows, same
from tests.ongoing.test_live import DRAWN, DRAWN_KINDS, KINDS, START, TIMED, bounded
from tests.runs import flatten, lower_run, run_of

import sparkleene as sk
from sparkleene.columns.schema import result_schema as checked
from sparkleene.engine import cost
from sparkleene.language.bind import bind
from sparkleene.language.parser import parse
from sparkleene.ongoing import live
from sparkleene.reference import evaluate
from sparkleene.spark import tasks
from sparkleene.spark.request import Request
from sparkleene.spark.results import make_job, task_columns
from sparkleene.spark.state.bucket_ids import spread_ids
from sparkleene.spark.state.carrier import make_carrier
from sparkleene.spark.state.parcels import PARCELS, Enter
from sparkleene.spark.state.processor import Processor
from sparkleene.spark.state.stream_job import LATE, StreamJob, StreamRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FAR = 10**6  # so many seconds after all others a last row comes, for the watermark to pass them
WINDOW = ("window_start", "window_end")
SCHEMA = pa.schema(
    [
        pa.field("time", pa.timestamp("us", "UTC")),
        *(pa.field(name, kind) for name, kind in strategies.KINDS.items() if name != "time"),
        pa.field("g", pa.int64()),
    ]
)


# ---- what a stream is given, and what it has to return


@dataclass(frozen=True)
class Given:
    """A query with windows in seconds, its rows in the batches that they come in, and a watermark's delay."""

    case: Case  # times are whole seconds
    batches: tuple[tuple[dict[str, Any], ...], ...]
    delay: int  # in milliseconds

    @property
    def query(self) -> sk.Query:
        """The query, over timestamps."""
        text = re.sub(r"(WITHIN|SLIDE|SESSION|MAX) (\d+)", r"\1 \2 seconds", self.case.text)
        text = re.sub(r"(DURATION(?:\(\))? (?:[<>=!]+|BETWEEN 1 seconds AND)) (\d+)", r"\1 \2 seconds",
                      text.replace("DURATION BETWEEN 1", "DURATION BETWEEN 1 seconds"))  # fmt: skip
        text = re.sub(r"(\d+) >= DURATION", r"\1 seconds >= DURATION", text)
        options: dict[str, Any] = {
            name: getattr(self.case, name) for name in ("time", "type", "tiebreak", "numbers")
        }
        return sk.query(text, offset=timedelta(seconds=self.case.offset), **options)

    def expected(self) -> Rows:
        """Return what the reference says."""
        case = self.case
        bound = bind(parse(case.text), columns=tuple(SCHEMA.names), any_type=case.type is None)
        options = {name: getattr(case, name) for name in ("time", "type", "tiebreak", "offset")}
        rows = evaluate(bound, case.rows, **options)
        return [{name: moment(value) if name in WINDOW else value for name, value in row.items()} for row in rows]

    @property
    def refused(self) -> bool:
        """Whether planning refuses the query, or a stream does."""
        try:
            return not bounded(self.query, SCHEMA.empty_table())
        except sk.QueryError as error:
            assert error.diagnostics[0].code == "ambiguous-negation"
            return True


def moment(seconds: Any) -> datetime:
    """Return a time of the reference as a timestamp."""
    return EPOCH + timedelta(seconds=float(seconds))


def table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Return rows as a table with timestamps."""
    return pa.Table.from_pylist([{**row, "time": moment(row["time"])} for row in rows], SCHEMA)


def arrived(case: Case, drawn: random.Random) -> Given:
    """Let the rows of a case come in some order up to a delay, in some batches."""
    rows = [{**row, "time": row["time"] + START} for row in case.rows]
    delay = drawn.choice([0, 1, 3, 20])
    order = sorted(rows, key=lambda row: row["time"] + drawn.uniform(0, delay))
    cuts = sorted({0, len(rows), *(drawn.randint(0, len(rows)) for _ in range(drawn.randint(0, 2)))})
    batches = tuple(tuple(order[begin:end]) for begin, end in pairwise(cuts))
    return Given(replace(case, rows=tuple(rows)), batches, 1000 * delay + 1)


def several(case: Case, streams: Sequence[Sequence[dict[str, Any]]], grouped: bool) -> Case:
    """Give a query several streams at once: a key apart, and a group each or one group of all."""
    rows = tuple({**row, "g": number} for number, some in enumerate(streams) for row in some)
    text = case.text
    if not grouped:
        where = "WHERE [g] AND " if " WHERE " in text else "WHERE [g] "
        text = text.replace("WHERE ", where) if " WHERE " in text else _before(text, where)
    elif "GROUP-BY" in text:
        text = text.replace("GROUP-BY ", "GROUP-BY g, ")
    else:
        text = text.replace("WITHIN", "GROUP-BY g WITHIN")
    return replace(case, text=text, rows=rows)


def _before(text: str, clause: str) -> str:
    place = text.index("GROUP-BY" if "GROUP-BY" in text else "WITHIN")
    return text[:place] + clause + text[place:]


@st.composite
def given_streams(draw: st.DrawFn, /, most: int = 1, **kind: Any) -> Given:
    """Draw a query with its rows, or those of several streams at once, as they come."""
    case = draw(strategies.case(**{"kinds": TIMED + DRAWN, **kind}))
    if most > 1 or draw(st.booleans()):
        rows = strategies.streams(tuple(re.findall(r"\b[A-D]\b", case.text)) or ("A",), len(case.rows))
        more = draw(st.lists(rows, min_size=most - 1, max_size=max(most, 3)))
        grouped = draw(st.integers(0, 2)) > 0
        case = several(case, [case.rows, *more], grouped)
    return arrived(case, random.Random(draw(st.integers(0, 2**32))))


def compare(found: Rows, expected: Rows, what: str) -> None:
    """Compare rows in any order."""
    names = [name for name in (expected or found or [{}])[0] if name in WINDOW or name[0] not in "no"]

    def place(row: dict[str, Any]) -> list[Any]:
        return [row[name] for name in names]

    found, expected = sorted(found, key=place), sorted(expected, key=place)
    assert list(map(place, found)) == list(map(place, expected)), what
    for row, wanted in zip(found, expected, strict=True):
        assert list(row) == list(wanted)
        for name, value in wanted.items():
            assert same(row[name], value), f"{name}: {row[name]!r} is not {value!r} in {row}\n{what}"


def compare_updates(given: Given, query: sk.Query, updates: Sequence[Rows], count: str = "n") -> None:
    """Compare the last values that were sent, after each batch, with a batch of all rows so far."""
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    names = [*WINDOW, *query.plan.bound.group_names]
    for batch, sent in zip(given.batches, updates, strict=True):
        for row in sent:
            last[tuple(row[name] for name in names)] = row
        assert len({tuple(row[name] for name in names) for row in sent}) == len(sent), "a window twice"
        rows += batch
        expected = query.run(table(rows)).to_pylist()
        compare([row for row in last.values() if row[count] not in (0, "0")], expected, f"{given}\n{updates}")


# ---- what Spark's workers run, without Spark


class Handle:
    """State variables and timers of one key, in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[Any, Any]] = {}
        self.timers: set[int] = set()

    def getValueState(self, name: str, schema: str) -> Variable:
        return Variable(self.kept.setdefault(name, {}))

    def getMapState(self, name: str, keys: str, values: str) -> Variable:
        return Variable(self.kept.setdefault(name, {}))

    def registerTimer(self, expiry: int) -> None:
        self.timers.add(expiry)


class Variable:
    """A state variable, a value or a map."""

    def __init__(self, kept: dict[Any, Any]) -> None:
        self.kept = kept

    def get(self) -> Any:
        return self.kept.get(())

    def update(self, value: Any) -> None:
        self.kept[()] = value

    def getValue(self, key: Any) -> Any:
        return self.kept.get(key)

    def updateValue(self, key: Any, value: Any) -> None:
        self.kept[key] = value

    def removeKey(self, key: Any) -> None:
        del self.kept[key]


@dataclass(frozen=True)
class Clock:
    """The watermark of a batch, in milliseconds."""

    watermark: int

    def getCurrentWatermarkInMs(self) -> int:
        return self.watermark


@dataclass(frozen=True)
class Spread(StreamRun):
    """A stream whose number of partitions no Spark says."""

    count: int = 1

    @property
    def partitions(self) -> int:
        return self.count


def stream_of(query: sk.Query, rows: pa.Schema, buckets: int, update: bool) -> tuple[StreamJob, Any, pa.Schema]:
    """Return what workers are sent, a function from rows of a stream to those they are given, and the result."""
    run = run_of(query, rows.names, numbered=False)
    plan, low = run.plan, lower_run(run)

    def flat(table: pa.Table) -> pa.Table:
        found = flatten(run, low, table)
        for k in low.plan.needed_keys:
            found = found.filter(found.column(low.plan.bound.keys[k].path[0]).is_valid())
        return found

    schema = checked(plan, rows.empty_table(), run.options, run.place)
    group = set(low.plan.bound.group)
    together = [k for k in low.plan.shuffle_keys if not update or k in group]
    parts = not set(together) <= group
    job = make_job([Request(run.part, run.options, ())], [low], task_columns([low], schema, parts), parts)
    keys = tuple(low.plan.bound.keys[k].path[0] for k in together)
    stream = Spread(job.runs[0], flat(rows.empty_table()).schema, keys, {}, count=buckets)
    return StreamJob(job, (stream,), update), flat, schema


def in_workers(
    query: sk.Query, batches: Sequence[pa.Table], delay: int, *, buckets: int = 2, update: bool = False
) -> Iterator[Rows]:
    """Yield what comes out after each batch, the last of which has no rows."""
    stream, flat, schema = stream_of(query, batches[0].schema, buckets, update)
    handles: dict[int, Handle] = {home: Handle() for home in spread_ids(stream.runs[0].buckets)}
    watermark = most = 0
    for batch in [*batches, batches[0].slice(0, 0)]:
        processors = {home: pickle.loads(pickle.dumps(make_carrier(Processor(stream)))) for home in handles}
        out_of = []
        rows = flat(batch)
        cut = rows.num_rows // 3
        parts = (rows.slice(0, cut), rows.slice(cut))
        packs = [pack for part in parts for pack in Enter(stream)(part.to_batches())]
        parcels = pa.Table.from_batches(packs, PARCELS)
        for home, handle in handles.items():
            processors[home].init(handle)
            mine = parcels.filter(pc.equal(parcels["bucket"], home))
            if mine.num_rows:
                out_of += list(
                    processors[home].handleInputRows((home,), iter([mine.to_pandas()]), Clock(watermark))
                )
        for home, handle in handles.items():
            if expired := {timer for timer in handle.timers if timer <= watermark}:
                handle.timers -= expired
                out_of += list(processors[home].handleExpiredTimer((home,), Clock(watermark), None))
        out = [pa.RecordBatch.from_pandas(frame, stream.schema) for frame in out_of]
        found = pa.Table.from_batches(out, stream.schema)
        assert found[tasks.ERROR].null_count == found.num_rows, found[tasks.ERROR].to_pylist()
        assert not pc.sum(found[LATE]).as_py(), "no row is late"
        found = found.filter(found[LATE].is_null())  # the others are for `sk.spark.status`
        if stream.job.partial:
            total = tasks.Total(stream.job, schema)(found.select(stream.job.schema.names).to_batches())
            found = pa.Table.from_batches(total, schema)
        yield found.select(schema.names).to_pylist()
        if batch.num_rows:
            most = max(most, pc.max(batch["time"]).cast(pa.int64()).as_py() // 1000)
            watermark = max(watermark, most - delay)


def flushed(given: Given) -> list[pa.Table]:
    """Return the batches and one with a row after which all windows are over."""
    first = {"type": "A", "x": 0, "y": 0, "f": 0.0, "k": 1, "s": 0, "g": 0}
    return [*map(table, given.batches), table([{**first, "time": START + FAR}])]


def early(rows: Rows) -> Rows:
    """Leave out windows that have the last row."""
    return [row for row in rows if row["window_end"] < moment(START + FAR)]


# Measures are drawn over numbers, and here times are timestamps; see tests/ongoing/test_live.py.
STREAMED = [kind for kind in KINDS + DRAWN_KINDS if "measured" not in kind]
ONLY_NEW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]


@pytest.mark.parametrize("kind", STREAMED, ids=str)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=cases(6), suppress_health_check=ONLY_NEW)
def test_workers(kind: dict[str, Any], data: st.DataObject, seed: int) -> None:
    check_workers(data.draw(given_streams(**kind)), seed)


def check_workers(given: Given, seed: int) -> None:
    """Compare what workers send with the reference, and their updates with batches."""
    assume(not given.refused)
    note(f"{given}")
    with (
        patch.object(live, "FEW", seed % 3 + 2),
        patch.object(live, "PARTS", seed % 5 + 1),
        patch.object(live, "STEPS", seed % 2),
        patch.object(cost, "matrices_are_smaller", lambda *given: bool(seed % 4)),
    ):
        buckets = seed % 3 + 1
        found = in_workers(given.query, flushed(given), given.delay, buckets=buckets)
        compare(early([row for rows in found for row in rows]), given.expected(), str(given))
        if "SLIDE" in given.case.text and given.batches:
            updates = in_workers(
                given.query, [*map(table, given.batches)], given.delay, buckets=buckets, update=True
            )
            *updated, last = updates
            assert last == [], "no update without rows"
            compare_updates(given, given.query, updated)


# ---- on Spark


@pytest.fixture(autouse=True)
def two_partitions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let streams have two partitions, for each takes time in every batch."""
    if "spark" not in request.fixturenames:
        yield
        return
    spark: SparkSession = request.getfixturevalue("spark")
    before = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def written(folder: Path, batches: Sequence[pa.Table]) -> Path:
    """Write a file for each batch, in order."""
    folder.mkdir()
    for number, batch in enumerate(batches):
        path = folder / f"{number:05}.parquet"
        pq.write_table(batch, path)
        os.utime(path, (10**9 + number, 10**9 + number))
    return folder


def stream(spark: SparkSession, folder: Path, delay: int, time: str = "time") -> DataFrame:
    """Read a file for each batch; all rows move the watermark, also those that the query leaves out."""
    schema = spark.read.parquet(str(folder)).schema
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    # Spark moves conditions to before a watermark, but not past an observation.
    return files.withWatermark(time, f"{delay} milliseconds").observe("all", F.count(F.lit(1)).alias("rows"))


def appended(frame: DataFrame, folder: Path) -> Rows:
    """Run a stream to its end, and return all rows that came."""
    name = f"t{uuid.uuid4().hex}"
    to = frame.writeStream.format("memory").queryName(name).option("checkpointLocation", str(folder / name))
    to.trigger(availableNow=True).start().awaitTermination()
    found: Rows = frame.sparkSession.table(name).toArrow().to_pylist()
    frame.sparkSession.catalog.dropTempView(name)
    return found


def updated(frame: DataFrame, folder: Path) -> list[Rows]:
    """Run a stream to its end, and return the rows that came after each batch."""
    found: dict[int, Rows] = {}

    def take(rows: DataFrame, number: int) -> None:
        found[number] = rows.toArrow().to_pylist()

    to = frame.writeStream.foreachBatch(take).outputMode("update")
    to.option("checkpointLocation", str(folder / "updates")).trigger(availableNow=True).start().awaitTermination()
    return [rows for _, rows in sorted(found.items())]


def drawn_streams(number: int, most: int, **kind: Any) -> list[Given]:
    """Return the streams of several batches that a seed draws."""
    found: list[Given] = []

    @seed(number)
    @given(data=given_streams(most, **kind))
    @settings(max_examples=40, database=None, phases=[Phase.generate], suppress_health_check=ONLY_NEW)
    def collect(data: Given) -> None:
        if len(data.batches) > 1 and not data.refused:
            found.append(data)

    collect()
    return found


def chosen(name: str, count: int, most: int, **kind: Any) -> list[Given]:
    """Return random streams that have results, as many as a test asks for."""
    drawn, found = chance(name), list[Given]()
    while len(found) < count:
        more = drawn_streams(drawn.randrange(2**32), most, **kind)
        some = (data for data in drawn.sample(more, len(more)) if data.expected())
        found += islice(some, count - len(found))
    return found


SOME: list[dict[str, Any]] = [
    {"semantics": "skip-till-any-match", "negation": False, "adjacent": False, "keys": True, "numbers": "exact"},
    {"semantics": "contiguous", "adjacent": True, "conjunction": True},
    {"semantics": "skip-till-next-match", "negation": True, "tiebreak": True},
    {"kinds": ("trigger",), "keys": True},
]


def check_spark(spark: SparkSession, given: Given, folder: Path) -> None:
    """Compare a stream on Spark with the reference and with a batch."""
    files = written(folder / "files", flushed(given))
    found = appended(given.query.run(stream(spark, files, given.delay)), folder)
    compare(early(found), given.expected(), str(given))
    compare(given.query.run(table(given.case.rows)).to_pylist(), given.expected(), str(given))


def check_updates(spark: SparkSession, given: Given, folder: Path) -> None:
    """Compare the updates of a stream on Spark with batches."""
    files = written(folder / "files", [*map(table, given.batches)])
    frame = given.query.run(stream(spark, files, given.delay), output_mode="update")
    found = updated(frame, folder)
    assert all(rows == [] for rows in found[len(given.batches) :])
    compare_updates(given, given.query, found[: len(given.batches)])


@pytest.mark.parametrize("kind", [*SOME[:1], *rest(SOME[1:])], ids=str)
def test_streams(spark: SparkSession, tmp_path: Path, kind: dict[str, Any]) -> None:
    [case] = chosen(f"test_streams {kind}", 1, 8, **kind)
    check_spark(spark, case, tmp_path)


def test_updates(spark: SparkSession, tmp_path: Path) -> None:
    kind = {"negation": True, "keys": True, "kinds": ("tumbling", "sliding", "hopping")}
    [case] = chosen("test_updates", 1, 8, **kind)
    check_updates(spark, case, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", STREAMED, ids=str)
def test_many_streams(spark: SparkSession, tmp_path: Path, kind: dict[str, Any]) -> None:
    for number, case in enumerate(chosen(f"test_many_streams {kind}", 3, 8, **kind)):
        (tmp_path / str(number)).mkdir()
        check_spark(spark, case, tmp_path / str(number))
        if "SLIDE" in case.case.text:
            (tmp_path / f"{number} updates").mkdir()
            check_updates(spark, case, tmp_path / f"{number} updates")


# ---- the papers


def dated(case: PaperCase) -> PaperCase:
    """Return a case whose times are timestamps, where they are numbers seconds after a midnight."""
    time = case.options.get("time", "time")
    if isinstance(case.events[0][time], datetime):
        return case
    options = {name: value for name, value in case.options.items() if name != "time_unit"}
    if "offset" in options:
        options["offset"] = timedelta(seconds=options["offset"])
    text = re.sub(r"(WITHIN|SLIDE) (\d+)(?= SLIDE|$)", r"\1 \2 seconds", case.query)
    events = [{**row, time: at(row[time])} for row in case.events]
    expected = [{n: at(v) if n in WINDOW else v for n, v in row.items()} for row in case.expected]
    return PaperCase(case.cite, text, events, options, expected)


def timed(case: PaperCase) -> bool:
    """Tell whether a case can be a stream."""
    query = sk.query(case.query, **case.options)
    window = query.plan.bound.window
    return window is not None and window.unit != "events" and bounded(query, test_papers.table(case))


PAPERS = [dated(case) for case in CASES if timed(case)]


def in_batches(case: PaperCase) -> list[pa.Table]:
    """Return the rows of a case, shuffled within two minutes, in batches, and one that ends all windows."""
    time = case.options.get("time", "time")
    rows = test_papers.table(case)
    rows = rows.set_column(
        rows.column_names.index(time), time, rows[time].cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    )
    drawn = random.Random(case.cite)
    order = sorted(range(rows.num_rows), key=lambda row: rows[time][row].value + drawn.uniform(0, 12e7))
    rows = rows.take(pa.array(order))
    last = pa.Table.from_pylist([{**case.events[0], time: at(FAR)}], rows.schema)
    return [rows.slice(begin, 4) for begin in range(0, rows.num_rows, 4)] + [last]


def ended(case: PaperCase, rows: Rows) -> Rows:
    """Return the rows of windows without the last event, in order."""
    rows = [row for row in rows if test_papers.plain(row["window_end"]) < at(FAR)]
    return in_order(sk.query(case.query, **case.options).plan.bound.group_names, rows)


@pytest.mark.parametrize("case", PAPERS, ids=lambda case: case.cite)
def test_papers_in_workers(case: PaperCase) -> None:
    def run(case: PaperCase) -> Rows:
        found = in_workers(sk.query(case.query, **case.options), in_batches(case), 120_000)
        return ended(case, [row for rows in found for row in rows])

    test_papers.test_paper(case, run)


def test_there_are_papers() -> None:
    assert len(PAPERS) > 30


@pytest.mark.slow
@pytest.mark.parametrize("case", PAPERS, ids=lambda case: case.cite)
def test_papers_on_spark(spark: SparkSession, tmp_path: Path, case: PaperCase) -> None:
    def run(case: PaperCase) -> Rows:
        files = written(tmp_path / "files", in_batches(case))
        frame = stream(spark, files, 120_000, case.options.get("time", "time"))
        return ended(case, appended(sk.query(case.query, **case.options).run(frame), tmp_path))

    test_papers.test_paper(case, run)


def test_a_partition_has_one_bucket() -> None:
    """Where it has two, the state of one was put in the place of the other's."""
    query = sk.query("RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k WITHIN 5 seconds SLIDE 5 seconds")
    schema = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.int64())])
    stream, _, _ = stream_of(query, schema, 2, False)
    handle, processor = Handle(), Processor(stream)
    processor.open(handle, handle.getValueState("head", ""), handle.getMapState("segments", "", ""))
    one, other = spread_ids(2)
    [frame] = processor.keep_rows(one, iter([]), 0)
    told = pa.Table.from_pandas(frame)
    assert told[LATE].to_pylist() == [0] and told[tasks.ERROR].to_pylist() == [None]
    [frame] = processor.move_watermark(other, 1)
    [error] = frame[tasks.ERROR]
    assert "error[damaged-state]" in error and f"bucket {other}" in error
