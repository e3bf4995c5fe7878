"""Workloads that change while a stream runs: each query's rows are those of a batch, from its border on."""

from __future__ import annotations

import copy
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from tests.chance import cases
from tests.spark.test_stream_conformance import ONLY_NEW
from tests.spark.test_streaming import END, MIDNIGHT, SIMPLE, Rows, Source, at, events, plain
from tests.spark.test_streaming import settings as spark_settings
from tests.spark.test_workload_stream import TEXTS, Partition, Workers, spread

import sparkleene as sk
from sparkleene.engine import cost
from sparkleene.ongoing import live
from sparkleene.spark.generations import Change, Wanted, plan_change
from sparkleene.spark.state.checkpoint_folder import CheckpointFolder
from sparkleene.spark.state.ledger import write_generation
from sparkleene.workload import workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SLIDING = "WITHIN 10 seconds SLIDE 5 seconds"
POOL = {
    "pairs": [TEXTS["pairs"], TEXTS["pairs"].replace("SEQ(A, B)", "SEQ(B, A)")],
    "later": [
        TEXTS["pairs"].replace("10 seconds SLIDE 5", length)
        for length in ("20 seconds SLIDE 10", "4 seconds SLIDE 2")
    ],
    "runs": [TEXTS["runs"], TEXTS["runs"].replace("SLIDE 5", "SLIDE 10")],
    "alone": [TEXTS["alone"]],
    "parts": [TEXTS["parts"], TEXTS["parts"].replace("6 seconds", "9 seconds")],
    "calm": [f"RETURN k, COUNT(*) AS m PATTERN SEQ(A, NOT C, B) GROUP-BY k {SLIDING}"],
    "other": [f"RETURN k, COUNT(*) AS m PATTERN SEQ(C, B) GROUP-BY k {SLIDING}"],
    "rising": [f"RETURN COUNT(*) AS m PATTERN A+ WHERE A.k <= NEXT(A).k {SLIDING}"],
    "gaps": ["RETURN COUNT(*) AS m PATTERN B WITHIN 3 seconds SLIDE 8 seconds"],
    "ends": [
        "RETURN k, COUNT(*) AS m PATTERN SEQ(A, B) GROUP-BY k WITHIN 4 seconds",
        "RETURN COUNT(*) AS m PATTERN SEQ(A, C) WITHIN 7 seconds",
    ],
}
FAR = 10**6


class Stream:
    """A stream without Spark, with a checkpoint of which as much is real as a change of the workload reads."""

    def __init__(self, folder: Path, count: int = 2, delay: int = 3000, update: bool = False) -> None:
        self.folder, self.count, self.delay, self.update = folder, count, delay, update
        self.partitions = [Partition() for _ in range(count)]
        self.batch, self.watermark = 0, 0
        self.texts: dict[str, str] = {}
        self.workers: Workers | None = None
        self.waiting: pa.Table | None = None  # the rows of a batch that has begun
        self.rows: Rows = []  # all that were read
        self.sent: Rows = []
        self.change: Change | None = None
        self.last: dict[str, str] = {}  # the workload of the last batch that was committed
        self.terms: list[tuple[str, str, int, float]] = []  # name, text, and the border it begins and ends at

    def start(self, texts: Mapping[str, str], sharing: Any = "auto", **options: Any) -> Change:
        """Go on with a workload."""
        made = workload(dict(texts), sharing, **options)
        alone = made.prepared.single_requests(SIMPLE.names, None, "update" if self.update else None, None)
        columns = tuple(SIMPLE.names)
        wanted = Wanted(
            made.prepared.queries, alone, columns, sharing, lambda one: SIMPLE.empty_table().select(one.needed)
        )
        opened = CheckpointFolder.open(str(self.folder))
        self.change = plan_change(wanted, opened, self.delay)
        write_generation(opened, self.change.generation)
        self.texts = dict(texts)
        self.workers = Workers(made, SIMPLE, self.count, self.update, requests=self.change.requests)
        return self.change

    def run(self, rows: pa.Table, killed: bool = False) -> None:
        """Run a batch, or the one that was killed before; a kill leaves the state as it was."""
        assert self.workers is not None
        if self.waiting is None:
            self._log("offsets", {"batchWatermarkMs": self.watermark})
            self.waiting = rows
        self.workers.partitions = copy.deepcopy(self.partitions)
        self.workers.watermark = self.watermark
        sent = self.workers.batch(self.waiting)
        if killed:
            return
        own = {
            name: given
            for request in self.workers.requests
            if request.standing is not None
            for name, given in zip(request.part.names, request.standing.names, strict=True)
        }
        self.sent += [row | {"query": own[row["query"]]} for row in sent]
        self.partitions = self.workers.partitions
        self._turn()
        self.rows += self.waiting.to_pylist()
        most = max((row["time"].timestamp() * 1000 for row in self.rows), default=0)
        self.watermark = max(self.watermark, int(most) - self.delay)
        self._log("commits", {"nextBatchWatermarkMs": self.watermark})
        self.batch, self.waiting = self.batch + 1, None

    def _log(self, name: str, content: dict[str, Any]) -> None:
        (self.folder / name).mkdir(exist_ok=True, parents=True)
        (self.folder / name / str(self.batch)).write_text(f"v1\n{json.dumps(content)}\n{{}}")

    def _turn(self) -> None:
        """Remember which queries come and go with the batch."""
        if self.texts == self.last:
            return
        border = self.watermark + self.delay + 1 if self.last else 0
        for i, (name, text, begin, end) in enumerate(self.terms):
            if end == float("inf") and self.texts.get(name) != text:
                self.terms[i] = (name, text, begin, border)
        going = {(name, text) for name, text, _, end in self.terms if end == float("inf")}
        self.terms += [(*one, border, float("inf")) for one in self.texts.items() if one not in going]
        self.last = self.texts

    def expected(self) -> Rows:
        """Return what a batch gives for each query, of the windows that start while it is there."""
        whole, found = pa.Table.from_pylist(self.rows, SIMPLE), []
        for name, text, begin, end in self.terms:
            early = timedelta(microseconds=0 if "SLIDE" in text else 1)  # such windows are without their start
            for row in sk.query(text).run(whole).to_pylist():
                start = (row["window_start"] + early).timestamp() * 1000
                if begin <= start < end and row["window_end"] < at(FAR):
                    found.append({"query": name, **row})
        return found

    def check(self) -> None:
        """Compare all that was sent."""
        sent = self.sent
        if self.update:
            last = {repr([row.get(name) for name in ("query", "window_start", "k")]): row for row in sent}
            sent = [row for row in last.values() if any(row.get(name) for name in ("count", "n", "m"))]
        sent = [row for row in sent if row["window_end"] < at(FAR)]
        assert plain(filled(sent)) == plain(filled(self.expected()))


def filled(rows: Rows) -> Rows:
    """Return rows in the columns of all queries, in one order."""
    names = ["query", "window_start", "window_end", "k", "count", "n", "last", "mean", "m"]
    return [{name: row.get(name) for name in names} for row in rows]


def table(*batches: str, k: int = 1) -> pa.Table:
    return pa.Table.from_pylist([row for text in batches for row in events(text, k)], SIMPLE)


def drawn_rows(drawn: random.Random, now: float, delay: int) -> tuple[pa.Table, float]:
    """Draw the rows of a batch, none of them late, and the time up to which they go."""
    rows = []
    for _ in range(drawn.randint(0, 12)):
        now += drawn.choice([0, 0.25, 0.5, 1, 2])
        time = MIDNIGHT + timedelta(seconds=now - drawn.uniform(0, 0.9) * delay / 1000)
        rows.append({"time": time, "type": drawn.choice("AABBC"), "k": drawn.randint(1, 3)})
    return pa.Table.from_pylist(rows, SIMPLE), now


def drawn_texts(drawn: random.Random, names: Sequence[str]) -> dict[str, str]:
    some = drawn.sample(names, drawn.randint(1, 4))
    return {name: drawn.choice(POOL[name]) for name in some}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=cases(40), suppress_health_check=ONLY_NEW)
def test_changes_and_kills(seed: int) -> None:
    drawn = random.Random(seed)
    update = drawn.random() < 0.3
    names = [name for name in POOL if not update or name not in ("ends", "parts")]
    log = []
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(live, "FEW", drawn.randint(2, 4)),
        patch.object(live, "PARTS", drawn.randint(1, 5)),
        patch.object(live, "STEPS", drawn.randint(0, 1)),
        patch.object(cost, "matrices_are_smaller", lambda *given: seed % 4 > 0),
    ):
        stream = Stream(Path(folder), drawn.randint(1, 4), drawn.choice([1, 1000, 4500]), update)
        now = 1.0
        texts = drawn_texts(drawn, names)
        stream.start(texts)
        for _ in range(drawn.randint(3, 14)):
            chance = drawn.random()
            if chance < 0.35:
                texts = drawn_texts(drawn, names) if drawn.random() < 0.5 else changed(drawn, texts, names)
                log.append(f"start {texts}")
                stream.start(texts, drawn.choice(["auto", "never", "always"]))
            elif chance < 0.45:
                stream.start(texts)
            else:
                rows, now = drawn_rows(drawn, now, stream.delay)
                killed = drawn.random() < 0.25
                log.append(f"{'killed' if killed else 'batch'} {stream.batch} {rows.num_rows}")
                note("\n".join(log))
                stream.run(rows, killed)
        for rows in (table(f"z{now + 60}"), table(f"z{FAR}"), SIMPLE.empty_table(), SIMPLE.empty_table()):
            stream.run(rows)
        stream.check()


def changed(drawn: random.Random, texts: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return a workload with a query more, less or another."""
    name = drawn.choice(names)
    rest = {one: text for one, text in texts.items() if one != name}
    if name in texts and rest and drawn.random() < 0.5:
        return rest
    return rest | {name: drawn.choice(POOL[name])}


# ---- by hand


def begun(folder: Path, texts: Mapping[str, str], *batches: str, **how: Any) -> Stream:
    stream = Stream(folder, **how)
    stream.start(texts)
    for text in batches:
        stream.run(table(text))
    return stream


def some(*names: str) -> dict[str, str]:
    return {name: POOL[name][0] for name in names}


def test_what_is_told(tmp_path: Path) -> None:
    stream = begun(tmp_path, some("pairs", "runs", "alone"), "a1 b2", "a21 b22")
    change = stream.start(some("pairs", "ends") | {"runs": POOL["runs"][1]})
    assert change.notes == (
        "'ends' begins with the window at 2024-01-01 00:00:22.001",
        "'runs' begins with the window at 2024-01-01 00:00:30; until then it is what it was",
        "'alone' ends: its last windows are those that start before 2024-01-01 00:00:22.001",
    )
    assert stream.start(some("pairs", "runs", "alone")).notes == ()  # as if it had never been
    assert [path.name for path in (tmp_path / "sparkleene").iterdir()] == ["0.json"]


def test_windows_of_several_kinds_that_come(tmp_path: Path) -> None:
    stream = begun(tmp_path, some("alone"), "b1 c2", "b21 c22")
    change = stream.start(some("alone", "pairs", "later"))
    assert [part.queries[-1].name for part in change.generation.parts] == ["alone", "later"]
    assert change.notes == (
        "'pairs' begins with the window at 2024-01-01 00:00:25",
        "'later' begins with the window at 2024-01-01 00:00:30",
    )
    for rows in ("a26 b27 a31", "b32 a45 b46 a48", f"z{FAR}"):
        stream.run(table(rows))
    stream.run(SIMPLE.empty_table())
    stream.check()


def test_parts_that_are_over_are_gone(tmp_path: Path) -> None:
    stream = begun(tmp_path, some("pairs", "alone"), "a1 b2", "a21 b22")
    stream.start(some("pairs"))
    assert [part.end is None for part in stream.start(some("pairs")).generation.parts] == [True, False]
    for text in ("a23", "a60", "a61"):
        stream.run(table(text))
    kept = {key: kept for partition in stream.partitions for key, kept in partition.kept.items()}
    assert kept[second(stream), "segments"] == {} and len(kept[second(stream), "head"]) == 1
    change = stream.start(some("pairs"))
    assert [part.rank for part in change.generation.parts] == [0] and change.generation.ranks == 2
    again = stream.start(some("pairs", "alone"))
    assert [part.rank for part in again.generation.parts] == [0, 2]


def test_a_part_is_kept_until_its_buckets_know_that_it_is_over(tmp_path: Path) -> None:
    """Between two windows a part is over as soon as it ends, and its timer comes when the watermark moves."""
    stream = begun(tmp_path, some("pairs", "gaps"), "a1 b15", delay=1000)
    stream.run(SIMPLE.empty_table())
    stream.start(some("pairs"))
    stream.run(table("a14.5"))
    assert [part.end is None for part in stream.start(some("pairs")).generation.parts] == [True, False]
    for rows in (table("a30"), table(f"z{FAR}"), SIMPLE.empty_table()):
        stream.run(rows)
    assert len(stream.start(some("pairs")).generation.parts) == 1
    stream.check()


def second(stream: Stream) -> int:
    """Return the id of the only bucket of the second part."""
    assert stream.workers is not None
    with spread(stream.count):
        [home] = stream.workers.stream.bucket_ids()[1]
    return int(home)


def test_an_untouched_part_keeps_its_place_whatever_comes(tmp_path: Path) -> None:
    """Parts without a key alone are numbered as for one partition, and go on so beside others."""
    stream = begun(tmp_path, some("alone", "gaps"), "a1 b2 c3", "b6", count=3)
    for texts in (some("alone", "gaps", "pairs"), some("alone", "pairs", "rising", "other"), some("pairs", "gaps")):
        stream.start(texts)
        stream.run(table(f"a{7 * stream.batch} b{7 * stream.batch + 1} c{7 * stream.batch + 2}"))
    stream.run(table(f"z{FAR}"))
    stream.run(SIMPLE.empty_table())
    stream.check()


def test_the_delay_may_not_hide_rows(tmp_path: Path) -> None:
    """A shorter delay than before would put the border before rows that were read."""
    stream = begun(tmp_path, some("pairs"), "a1 b2", "a21 b22", delay=5000)
    stream.delay = 1000
    assert stream.start(some("pairs", "alone")).border == stream.watermark + 5001


def test_rows_between_the_plan_and_the_start(tmp_path: Path) -> None:
    stream = begun(tmp_path, some("pairs"), "a1 b2", "a21 b22")
    old = stream.workers
    stream.start(some("pairs", "alone"))
    new, stream.workers = stream.workers, old
    stream.run(table("b23 c24 a40"))
    stream.workers = new
    with pytest.raises(AssertionError, match="has gone on after the workload's change was planned"):
        stream.run(table("b41"))


def test_a_plan_of_before_is_refused(tmp_path: Path) -> None:
    stream = begun(tmp_path, some("pairs", "alone"), "a1 b2", "a21 b22")
    old = stream.workers
    stream.start(some("pairs"))
    stream.run(table("a30"))
    stream.workers = old
    with pytest.raises(AssertionError, match=r"query-changed(?s:.*)workload.run\(df, checkpoint=path\)"):
        stream.run(table("b41"))
    stream.workers = Workers(workload(some("pairs", "alone")), SIMPLE, stream.count)
    with pytest.raises(AssertionError, match=r"query-changed(?s:.*)workload.run\(df, checkpoint=path\)"):
        stream.run(table("b41"))


def test_a_checkpoint_of_before_is_taken_over(tmp_path: Path) -> None:
    """One that was begun without a ledger goes on with one, and may change then."""
    texts = some("pairs", "runs", "alone")
    stream = Stream(tmp_path)
    first = Workers(workload(texts), SIMPLE)
    first.partitions = stream.partitions
    rows = table("a1 b2 c3 a4")
    assert first.batch(rows) == []
    stream.rows, stream.batch, stream.watermark = rows.to_pylist(), 1, int(at(1).timestamp() * 1000)
    for name, content in (("offsets", "batchWatermarkMs"), ("commits", "nextBatchWatermarkMs")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0").write_text(f'v1\n{{"{content}": {stream.watermark}}}\n{{}}')
    stream.start(some("pairs", "alone", "other"))
    with pytest.raises(AssertionError, match=r"query-changed(?s:.*)added: other"):
        stream.run(table("b6 c7"))  # what it had was never told
    for each in (texts, some("pairs", "alone", "other")):
        stream.start(each)
        stream.run(table("b6 c7"))
    for rows in (table("b20 c21"), table(f"z{FAR}"), SIMPLE.empty_table()):
        stream.run(rows)
    stream.check()


@pytest.mark.parametrize("text", ["SESSION 5 seconds", "FROM k = 1 MAX 9 seconds"])
def test_windows_that_rows_draw(tmp_path: Path, text: str) -> None:
    drawn = {"drawn": f"RETURN COUNT(*) AS m PATTERN A WITHIN {text}"}
    stream = begun(tmp_path, some("pairs") | drawn, "a1 b2", "a21 b22")
    for other in (some("pairs"), some("pairs") | {"drawn": drawn["drawn"].replace("PATTERN A", "PATTERN B")}):
        with pytest.raises(sk.QueryError, match="neither come nor go while a stream runs"):
            stream.start(other)
    stream.start(some("alone") | drawn)  # it is untouched
    with pytest.raises(sk.QueryError, match="drawn: sessions"):
        begun(tmp_path / "other", some("pairs"), "a1").start(some("pairs") | drawn)


def test_a_damaged_ledger(tmp_path: Path) -> None:
    stream = begun(tmp_path, some("pairs"), "a1 b2")
    path = tmp_path / "sparkleene" / "0.json"
    path.write_text(path.read_text().replace("pairs", "peers"))
    with pytest.raises(sk.DataError, match=r"damaged-checkpoint(?s:.*)0.json"):
        stream.start(some("pairs"))


def test_a_hierarchy_that_changes(tmp_path: Path) -> None:
    """What types mean is kept with a query."""
    text = "RETURN COUNT(*) AS m PATTERN Shop WITHIN 4 seconds SLIDE 4 seconds"
    stream = Stream(tmp_path, delay=1)
    stream.start({"all": text}, hierarchy={"A": "Shop"})
    stream.run(table("a1 b2 a5"))
    change = stream.start({"all": text}, hierarchy={"A": "Shop", "B": "Shop"})
    assert change.border is not None
    for rows in (table("a6 b7 b8 a9 b10"), table(f"z{FAR}"), SIMPLE.empty_table()):
        stream.run(rows)
    found = [(row["window_start"], row["m"]) for row in stream.sent if row["window_end"] < at(FAR)]
    assert sorted(found) == [(at(0), 1), (at(4), 2), (at(8), 3)]


# ---- on Spark


class Died(Exception):
    """What ends a stream in the middle of a batch."""


def run_stream(
    source: Source, folder: Path, texts: Mapping[str, str], found: dict[int, Rows], die: int = -1
) -> None:
    """Go on with a workload over all files, or up to a batch in which the stream dies after it has written rows."""

    def take(rows: DataFrame, number: int) -> None:
        new = rows.toArrow().to_pylist()
        assert plain(found.setdefault(number, new)) == plain(new), "a batch that is done again gives the same rows"
        if number == die:
            raise Died

    checkpoint = folder / "checkpoint"
    windows = workload(dict(texts)).run(source.marked("3 seconds"), checkpoint=checkpoint)
    writer = windows.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(take)
    running = writer.trigger(availableNow=True).start()
    if die < 0:
        running.awaitTermination()
        return
    with pytest.raises(StreamingQueryException, match="Died"):
        running.awaitTermination()


def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Start, change, die in the first batch of a change, change again, go on."""
    with spark_settings(spark, **{"shuffle.partitions": "2"}):
        source, found = Source(spark, tmp_path / "files"), dict[int, Rows]()
        source.add(events("a1 b3 a2 c5"), events("b4 a7 c8 c6", 2) + events("a12 b13"))
        first = some("pairs", "runs", "alone")
        run_stream(source, tmp_path, first, found)
        source.add(events("a16 b14 c15 b17"), events("a21 b24 c22 a26 b28", 2))
        second = some("pairs", "alone", "ends")
        with pytest.warns(sk.SparkleeneWarning) as told:
            run_stream(source, tmp_path, second, found, die=len(found))
        assert {str(one.message).partition(":")[0] for one in told} == {
            "'ends' begins with the window at 2024-01-01 00", "'runs' ends"}  # fmt: skip
        third = second | {"alone": POOL["alone"][0].replace("4 seconds", "8 seconds"), "gaps": POOL["gaps"][0]}
        with pytest.warns(sk.SparkleeneWarning, match="'gaps' begins with the window at 2024-01-01 00:00:16"):
            run_stream(source, tmp_path, third, found)
        source.add(events("a31 b32 c33 a34 b41 c40 b50"), events("a60 b61", 2))
        run_stream(source, tmp_path, third, found)
        source.add(events("a70 b71 c73"), END)
        run_stream(source, tmp_path, some("runs", "gaps"), found)
    # The borders: all that was read before the batch of the change.
    changes = [(-100.0, first), (13.001, third), (61.001, some("runs", "gaps"))]
    whole, expected = pq.read_table(source.folder), []
    for (begin, texts), (end, _) in pairwise([*changes, (10**5, {})]):
        for name, text in texts.items():
            early = timedelta(microseconds=0 if "SLIDE" in text else 1)
            rows = [{"query": name} | row for row in sk.query(text).run(whole).to_pylist()]
            expected += [row for row in rows if at(begin) <= row["window_start"] + early < at(end)]
    sent = [row for number in sorted(found) for row in found[number] if row["window_end"] < at(10**5)]
    assert plain(filled(sent)) == plain(filled(expected))
    assert {row["query"] for row in sent} == {"pairs", "runs", "alone", "ends", "gaps"}
    assert (
        json.loads((tmp_path / "checkpoint" / "sparkleene" / "2.json").read_text())["generation"]["arrivals"][0]
        is None
    )


@pytest.mark.repeat
def test_a_running_query_is_to_be_stopped_first(spark: SparkSession, tmp_path: Path) -> None:
    with spark_settings(spark, **{"shuffle.partitions": "2"}):
        source = Source(spark, tmp_path / "files").add(events("a1 b3"))
        run_stream(source, tmp_path, some("pairs"), {})
        windows = workload(some("pairs")).run(source.marked(), checkpoint=tmp_path / "checkpoint")
        writer = windows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).format("noop")
        running = writer.start()
        try:
            with pytest.raises(sk.QueryError, match="stop it first"):
                workload(some("alone")).run(source.marked(), checkpoint=tmp_path / "checkpoint")
        finally:
            running.stop()
        twice = source.marked("3 seconds").union(source.marked("9 seconds"))
        with pytest.raises(sk.QueryError, match="several watermarks"):
            workload(some("alone")).run(twice, checkpoint=tmp_path / "checkpoint")
        rows = pq.read_table(source.folder)
        with pytest.raises(sk.QueryError, match="a checkpoint is for streams"):
            workload(some("alone")).run(rows, checkpoint=tmp_path / "checkpoint")
