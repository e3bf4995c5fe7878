"""Workloads over streams: all queries together give what a batch gives, with one scan and one state."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from tests.chance import SOAK, cases, rest
from tests.conformance.strategies import SEMANTICS, windows
from tests.conformance.test_random import Rows
from tests.ongoing.test_live import TIMED, bounded
from tests.spark.test_stream_conformance import (
    ONLY_NEW,
    SCHEMA,
    WINDOW,
    Clock,
    Given,
    Variable,
    arrived,
    compare,
    early,
    flushed,
    table,
)
from tests.spark.test_streaming import END, SIMPLE, Ended, Source, at, events, plain
from tests.spark.test_streaming import settings as spark_settings
from tests.workload.test_workload import workloads

import sparkleene as sk
from sparkleene.columns.schema import result_schema
from sparkleene.engine import cost
from sparkleene.language import parse, to_text
from sparkleene.ongoing import live
from sparkleene.spark import streaming, tasks
from sparkleene.spark.lower import lower_table
from sparkleene.spark.request import Request, lower_together
from sparkleene.spark.results import schema_of
from sparkleene.spark.state import processor
from sparkleene.spark.state.bucket_ids import hash_ids, spread_ids
from sparkleene.spark.state.carrier import make_carrier
from sparkleene.spark.state.parcels import PARCELS, Enter
from sparkleene.spark.state.processor import Processor
from sparkleene.spark.state.stream_job import BEFORE, LATE, StreamJob, StreamRun
from sparkleene.workload import Workload, workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


# ---- what Spark's workers run, without Spark


class Partition:
    """State variables and timers of the buckets of a partition, in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[Any, str], dict[Any, Any]] = {}
        self.timers: set[tuple[int, int]] = set()
        self.key: Any = None

    def getValueState(self, name: str, schema: str) -> Variable:
        return OfKey(self, name)

    def getMapState(self, name: str, keys: str, values: str) -> Variable:
        return OfKey(self, name)

    def registerTimer(self, expiry: int) -> None:
        self.timers.add((self.key, expiry))


class OfKey(Variable):
    """A state variable of the key whose turn it is."""

    def __init__(self, partition: Partition, name: str) -> None:
        self.partition, self.name = partition, name

    @property
    def kept(self) -> dict[Any, Any]:  # type: ignore[override]
        return self.partition.kept.setdefault((self.partition.key, self.name), {})


def spread(count: int) -> Any:
    """Let streams have so many partitions, which no Spark says."""
    return patch.object(StreamRun, "partitions", count)


class Workers:
    """What Spark runs for a workload over a stream, a batch at a time; partitions outlive it."""

    def __init__(
        self,
        made: Workload,
        rows: pa.Schema,
        count: int = 2,
        update: bool = False,
        masks: bool = True,
        requests: Sequence[Request] = (),
    ) -> None:
        self.count = count
        asked = [*requests] or made.prepared.requests(rows.names, None, "update" if update else None)
        self.requests = streaming.share_panes(asked)
        self.lows = lower_together(self.requests, lambda term: masks, [masks for _ in self.requests])
        self.schema = schema_of(
            self.requests, lambda one: result_schema(one.plan, rows.empty_table(), one.options, one.place)
        )
        flat = self.flat(rows.empty_table()).schema
        self.stream = streaming.make_stream_job(self.requests, self.lows, flat, self.schema)
        self.partitions = [Partition() for _ in range(count)]
        self.watermark = 0
        self.late = self.number = 0
        self.told: dict[str, int | None] = {}

    def flat(self, rows: pa.Table) -> pa.Table:
        """Return rows as SQL selects them."""
        found: dict[str, Any] = {}
        for request, low in zip(self.requests, self.lows, strict=True):
            part = lower_table(request.part, low, rows, request.options, 1)
            found |= dict(zip(part.column_names, part.columns, strict=True))
        return pa.table(found)

    def batch(self, rows: pa.Table) -> Rows:
        """Run a batch, and return what comes out."""
        with spread(self.count), patch.object(processor, "find_batch", lambda: self.number):
            sent = pa.Table.from_batches(self._sent(self.flat(rows)), self.stream.schema)
        errors = sent[tasks.ERROR].drop_null().to_pylist()
        if errors:
            raise AssertionError(errors[0])
        self.number += 1
        assert len(pc.unique(sent[BEFORE].drop_null())) <= 1, "all buckets are of the same batch"
        self.late = pc.sum(sent[LATE]).as_py() or 0
        self.told = {name: how(sent[f"sparkleene {name}"]).as_py()
                     for name, how in (("kept", pc.sum), ("open", pc.max), ("end", pc.min))}  # fmt: skip
        sent = sent.filter(sent[LATE].is_null())
        if not self.stream.job.partial:
            return self._fitted(sent.select(self.schema.names))
        total = tasks.Total(self.stream.job, self.schema)
        return self._fitted(
            pa.Table.from_batches(total(sent.select(self.stream.job.schema.names).to_batches()), self.schema)
        )

    def _fitted(self, found: pa.Table) -> Rows:
        assert found.schema.names == self.schema.names
        rows: Rows = found.to_pylist()
        return rows

    def _sent(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        cut = rows.num_rows // 3
        packs = [
            pack for part in (rows.slice(0, cut), rows.slice(cut)) for pack in Enter(self.stream)(part.to_batches())
        ]
        parcels = pa.Table.from_batches(packs, PARCELS)
        sent = []
        for place, partition in enumerate(self.partitions):
            turn = pickle.loads(pickle.dumps(make_carrier(Processor(self.stream))))
            turn.init(partition)
            for home in sorted(set(parcels["bucket"].to_pylist()), key=lambda home: home % 7):
                if hash_ids(np.array([home], np.uint32))[0] % self.count == place:
                    partition.key = home
                    mine = parcels.filter(pc.equal(parcels["bucket"], home))
                    given = ((home,), iter([mine.to_pandas()]), Clock(self.watermark))
                    sent += list(turn.handleInputRows(*given))
            expired = {timer for timer in partition.timers if timer[1] <= self.watermark}
            partition.timers -= expired
            for home, _ in sorted(expired):
                partition.key = home
                sent += list(turn.handleExpiredTimer((home,), Clock(self.watermark), None))
            turn.close()
        return (pa.RecordBatch.from_pandas(frame, self.stream.schema) for frame in sent)

    def run(self, batches: Sequence[pa.Table], delay: int) -> Iterator[Rows]:
        """Yield what comes out after each batch, the last of which has no rows."""
        most = 0
        for batch in [*batches, batches[0].slice(0, 0)]:
            yield self.batch(batch)
            if batch.num_rows:
                most = max(most, pc.max(batch["time"]).cast(pa.int64()).as_py() // 1000)
                self.watermark = max(self.watermark, most - delay)


# ---- random workloads


@st.composite
def given_workloads(
    draw: st.DrawFn, semantics: str, most: int, kinds: Sequence[str], mixed: bool = False
) -> tuple[dict[str, str], Given, dict[str, Any]]:
    """Draw queries that a stream takes, in seconds, and a stream for them, as it comes.

    If they are `mixed`, each has windows of its own, and is asked a second time in others.
    """
    texts, case = draw(workloads(semantics, most))
    numbers = "double" if mixed else draw(st.sampled_from(["double", "exact"]))
    windowed: dict[str, str] = {}
    swapped: dict[Any, Any] = {}
    if mixed:
        texts |= {f"{name}_again": text for name, text in texts.items()}
    for name, text in texts.items():
        tree = parse(text)
        kind = name if mixed else tree.within
        if kind not in swapped:
            swapped[kind] = parse(f"RETURN COUNT(*) PATTERN A {draw(windows(kinds))}").within
        windowed[name] = to_text(replace(tree, within=swapped[kind]))
    options = {"tiebreak": case.tiebreak, "numbers": numbers}
    good = {name: text for name, text in windowed.items() if taken(text, options)}
    assume(len(good) > 1)
    given = arrived(replace(case, type="type"), random.Random(draw(st.integers(0, 2**32))))
    return good, given, options


def taken(text: str, options: dict[str, Any]) -> bool:
    """Tell whether a stream takes a query."""
    try:
        return bounded(sk.query(text, **options), SCHEMA.empty_table())
    except sk.QueryError as error:
        assert error.diagnostics[0].code in ("ambiguous-negation", "pattern-too-large")
        return False


def in_seconds(text: str) -> str:
    return re.sub(r"(WITHIN|SLIDE) (\d+)", r"\1 \2 seconds", text)


def check_workload(drawn: tuple[dict[str, str], Given, dict[str, Any]], seed: int, sharing: Any = "auto") -> None:
    """Compare what workers send with the reference and a run in process, and their updates with batches."""
    texts, given, options = drawn
    note(f"{texts}\n{given}")
    offset = timedelta(seconds=given.case.offset)
    made = workload({name: in_seconds(text) for name, text in texts.items()}, sharing, offset=offset, **options)
    count = seed % 3 + 1
    with (
        patch.object(live, "FEW", seed % 3 + 2),
        patch.object(live, "PARTS", seed % 5 + 1),
        patch.object(live, "STEPS", seed % 2),
        patch.object(cost, "matrices_are_smaller", lambda *given: bool(seed % 4)),
    ):
        found = early(
            [row for rows in Workers(made, SCHEMA, count).run(flushed(given), given.delay) for row in rows]
        )
        whole = early(made.run(table(given.case.rows)).to_pylist())
        for name, text in texts.items():
            expected = replace(given, case=replace(given.case, text=text)).expected()
            same_rows(name, found, expected)
            same_rows(name, whole, expected)
        if given.batches and all("SLIDE" in text for text in texts.values()):
            *updates, last = Workers(made, SCHEMA, count, update=True).run(
                [*map(table, given.batches)], given.delay
            )
            assert last == [], "no update without rows"
            check_updates(made, given, updates)


def same_rows(name: str, found: Rows, expected: Rows) -> None:
    """Compare the rows of a query, in its own columns."""
    mine = [row for row in found if row["query"] == name]
    columns = list((expected or [{}])[0])
    assert len(mine) == len(expected), f"{name}: {mine} is not {expected}"
    compare([{column: row[column] for column in columns} for row in mine], expected, name)


def check_updates(made: Workload, given: Given, updates: Sequence[Rows]) -> None:
    """Compare the last values that were sent, after each batch, with a batch of all rows so far."""
    last: dict[str, dict[tuple[Any, ...], Any]] = {name: {} for name in made.queries}
    rows: list[dict[str, Any]] = []
    for batch, sent in zip(given.batches, updates, strict=True):
        for row in sent:
            query = made.queries[row["query"]]
            key = tuple(row[column] for column in (*WINDOW, *query.plan.bound.group_names))
            last[row["query"]][key] = row
        rows += batch
        for name, query in made.queries.items():
            count = query.plan.bound.outputs[0].name
            mine = [row for row in last[name].values() if row[count] not in (0, "0")]
            same_rows(name, mine, query.run(table(rows)).to_pylist())


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=cases(12), suppress_health_check=ONLY_NEW)
def test_workers(semantics: str, data: st.DataObject, seed: int) -> None:
    kinds = TIMED if seed % 2 else TIMED[:-1]
    sharing = ("never", "auto", "always")[seed % 3]
    check_workload(data.draw(given_workloads(semantics, 6, kinds)), seed, sharing)


@pytest.mark.parametrize("semantics", SEMANTICS)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=cases(12), suppress_health_check=ONLY_NEW)
def test_windows_of_several_kinds(semantics: str, data: st.DataObject, seed: int) -> None:
    drawn = data.draw(given_workloads(semantics, 3, TIMED[:-1], mixed=True))
    check_workload(drawn, seed, "always" if seed % 2 else "auto")


@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=cases(3), suppress_health_check=ONLY_NEW)
def test_many_queries(data: st.DataObject, seed: int) -> None:
    semantics = SEMANTICS[seed % 3]
    check_workload(
        data.draw(given_workloads(semantics, 30 if SOAK else 10, TIMED)), seed, "never" if seed % 2 else "auto"
    )


# ---- by hand, without Spark

TEXTS = {
    "pairs": "RETURN k, COUNT(*) PATTERN SEQ(A, B) GROUP-BY k WITHIN 10 seconds SLIDE 5 seconds",
    "runs": "RETURN k, COUNT(*) AS n, MAX(A.time) AS last PATTERN SEQ(A+, B) GROUP-BY k "
    "WITHIN 10 seconds SLIDE 5 seconds",
    "alone": "RETURN COUNT(*) PATTERN SEQ(B, C) WITHIN 4 seconds SLIDE 4 seconds",
    "parts": "RETURN COUNT(*), AVG(A.k) AS mean PATTERN SEQ(A, A x) WHERE [k] WITHIN 6 seconds SLIDE 6 seconds",
}


def rows_of(*batches: str, k: int = 1) -> list[pa.Table]:
    return [pa.Table.from_pylist(events(text, k), SIMPLE) for text in batches]


def over(made: Workload, rows: pa.Table) -> Rows:
    """Return what a batch gives, without windows of the last row."""
    return [row for row in made.run(rows).to_pylist() if row["window_end"] < at(10**5)]


def test_windows_and_keys_differ_among_parts() -> None:
    made = workload(TEXTS)
    batches = [
        *rows_of("a1 b3 a2 c5", "b4 a7 c8 c6"),
        *rows_of("a11 b12 a12 c13", "b14", k=2),
        *rows_of("a1000000"),
    ]
    for count in (1, 2, 5):
        workers = Workers(made, SIMPLE, count)
        assert [request.part.names for request in workers.requests if request.part] == [
            ("pairs", "runs"),
            ("alone",),
            ("parts",),
        ]
        found = [row for rows in workers.run(batches, 6000) for row in rows if row["window_end"] < at(10**5)]
        assert plain(found) == plain(over(made, pa.concat_tables(batches)))
        assert {row["query"] for row in found} == set(TEXTS)


FALLS = "RETURN k, COUNT(*) AS n, SUM(A.k) AS s PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k"


def test_windows_made_of_common_panes() -> None:
    lengths = {
        "short": "4 seconds SLIDE 2 seconds",
        "long": "12 seconds SLIDE 4 seconds",
        "day": "1 day SLIDE 1 day",
    }
    made = workload({name: f"{FALLS} WITHIN {length}" for name, length in lengths.items()})
    batches = [
        *rows_of("a1 b3 a2 c5", "b4 a7 c8 c6"),
        *rows_of("a11 b12 a12 c13", "b14", k=2),
        *rows_of("a21 b22", "a40 b41 a42", "a1000000"),
    ]
    for count in (1, 3):
        workers = Workers(made, SIMPLE, count)
        assert [request.part.names for request in workers.requests] == [("short", "long"), ("day",)]
        found = [row for rows in workers.run(batches, 6000) for row in rows if row["window_end"] < at(10**5)]
        assert plain(found) == plain(over(made, pa.concat_tables(batches)))
        assert {row["query"] for row in found} == set(lengths)


def test_what_windows_of_common_panes_wait_for() -> None:
    texts = {
        "short": f"{FALLS} WITHIN 4 seconds SLIDE 2 seconds",
        "long": f"{FALLS} WITHIN 12 seconds SLIDE 4 seconds",
    }
    workers = Workers(workload(texts), SIMPLE, 1)
    [*_] = workers.run(rows_of("a1 b3"), 1000)
    # of short from -2, 0 and 2 s on, the first of which has ended; of long from -8, -4 and 0 s on
    assert (workers.told["open"], workers.told["end"]) == (5, int(at(4).timestamp() * 1000))


def test_labels_that_are_found_by_workers() -> None:
    made = workload(TEXTS | {"big": "RETURN COUNT(*) PATTERN A+ WHERE A.k + 1 < NEXT(A).k WITHIN 9 seconds"})
    batches = [*rows_of("a1 b3 a2 c5 z4"), *rows_of("a4 b4 a7 c8 c6", k=3), *rows_of("a1000000")]
    workers = Workers(made, SIMPLE, masks=False)
    assert all("type" in each.rows.names for each in workers.stream.runs)
    found = [row for rows in workers.run(batches, 6000) for row in rows if row["window_end"] < at(10**5)]
    assert plain(found) == plain(over(made, pa.concat_tables(batches)))


def test_plans_that_read_from_the_end() -> None:
    within = "WHERE [k] AND C.x <= NEXT(C).x WITHIN 10 seconds SLIDE 5 seconds"
    made = workload({name: f"RETURN COUNT(*) PATTERN SEQ({name}, C+, D) {within}" for name in "AB"})
    schema = SIMPLE.append(pa.field("x", pa.int64()))
    rows = [{**row, "x": n % 3} for n, row in enumerate(events("a1 c2 b3 c4 d5 c3.5 d7 c6 d6.5 a8 c9 d9"))]
    batches = [pa.Table.from_pylist(some, schema) for some in (rows[::2], rows[1::2], END)]
    workers = Workers(made, schema)
    assert workers.requests[0].plan.backward is not None
    found = [row for some in workers.run(batches, 20_000) for row in some if row["window_end"] < at(10**5)]
    assert plain(found) == plain(over(made, pa.concat_tables(batches))) and len(found) > 1


def test_a_null_time_is_an_error() -> None:
    rows = pa.Table.from_pylist([{"time": None, "type": "Z", "k": 1}], SIMPLE)
    with pytest.raises(AssertionError, match="null-time"):
        Workers(workload(TEXTS), SIMPLE).batch(rows)


def test_a_late_row_is_counted_once() -> None:
    made = workload(TEXTS)
    workers = Workers(made, SIMPLE, 2)
    [_ for _ in workers.run(rows_of("a1 b2 a60", "c1"), 10_000)]
    assert workers.watermark // 1000 == int(at(50).timestamp())
    workers.batch(*rows_of("a3 b4 z5 a55 b56 c57"))  # z is nobody's
    assert workers.late == 2
    workers.batch(*rows_of("c3 b3 b50"))
    assert workers.late == 3
    nowhere = pa.Table.from_pylist(events("a3 b4", None), SIMPLE)
    workers.batch(nowhere)
    assert workers.late == 1  # A has no key, and B is in the query that needs none


def test_a_row_that_one_query_leaves_out() -> None:
    texts = {
        "touching": "RETURN COUNT(*) AS n PATTERN SEQ(A, B) SEMANTICS contiguous WITHIN 9 seconds SLIDE 9 seconds",
        "any": "RETURN COUNT(*) AS n PATTERN SEQ(A, B) WITHIN 9 seconds SLIDE 9 seconds",
    }
    workers = Workers(workload(texts), SIMPLE)
    found = [row for rows in workers.run(rows_of("a1 z2 b3", "a1000000"), 0) for row in rows]
    assert [(row["query"], row["n"]) for row in found] == [("any", 1)]


def test_columns_of_its_own_alone() -> None:
    """A part keeps the columns that it reads, whatever the others do."""
    texts = {
        "whole": "RETURN COUNT(*) AS n PATTERN A+ WHERE A.k + 1 < NEXT(A).k WITHIN 9 seconds SLIDE 9 seconds",
        "half": "RETURN COUNT(*) AS n PATTERN A+ WHERE A.k + 1.0 < NEXT(A).k WITHIN 9 seconds SLIDE 9 seconds",
        "none": "RETURN COUNT(*) AS n PATTERN SEQ(B, C) WITHIN 9 seconds SLIDE 9 seconds",
    }
    made = workload(texts, "never")
    workers = Workers(made, SIMPLE)
    names = [each.rows.names for each in workers.stream.runs]
    assert [len(some) for some in names] == [4, 4, 2]
    assert names[0][1] == "k + 1" and names[1][1] == "k + 1.0" and names[2][0] == "time"
    batches = rows_of("a1 b2 c3", "a4") + rows_of("a5", k=3) + rows_of("a1000000")
    found = [row for rows in workers.run(batches, 0) for row in rows]
    assert plain(found) == plain(over(made, pa.concat_tables(batches)))


def test_a_workload_of_one_query() -> None:
    made = workload({"pairs": TEXTS["pairs"]})
    found = [row for rows in Workers(made, SIMPLE).run(rows_of("a1 b2", "a1000000"), 0) for row in rows]
    assert plain(found) == plain(over(made, *rows_of("a1 b2")))
    assert list(found[0]) == ["query", "window_start", "window_end", "k", "count"]


@pytest.mark.parametrize("sharing", ["auto", "never"])
def test_updates_of_queries_that_share(sharing: Any) -> None:
    texts = {
        "calm": "RETURN k, COUNT(*) AS n PATTERN SEQ(A, NOT C, B) GROUP-BY k WITHIN 10 seconds SLIDE 10 seconds",
        "any": "RETURN k, COUNT(*) AS n PATTERN SEQ(A, B) GROUP-BY k WITHIN 10 seconds SLIDE 10 seconds",
    }
    workers = Workers(workload(texts, sharing), SIMPLE, update=True)
    *updates, _ = workers.run(rows_of("a1 b4", "c3", "b5"), 60_000)
    sent = [{(row["query"], row["n"]) for row in rows} for rows in updates]
    assert sent[0] == {("calm", 1), ("any", 1)}
    assert ("calm", 0) in sent[1]
    assert ("any", 2) in sent[2]


def with_most(stream: StreamJob, most: int) -> StreamJob:
    """Return a stream with so many buckets at most."""
    return replace(stream, runs=tuple(replace(run, most=most) for run in stream.runs))


def test_buckets_of_a_partition_are_in_it() -> None:
    keyed = with_most(Workers(workload(TEXTS, "never"), SIMPLE).stream, 200)
    for count in (1, 2, 3, 8, 200):
        with spread(count):
            numbers = keyed.bucket_ids()
        assert [len(some) for some in numbers] == [count, count, 1, count]
        assert 0 in numbers[0] and len({home for some in numbers for home in some}) == 3 * count + 1
        for some in numbers[:2] + numbers[3:]:
            assert (hash_ids(np.array(some, np.uint32)) % count).tolist() == [*range(count)]


def test_some_partitions_have_no_bucket() -> None:
    keyed = Workers(workload(TEXTS, "never"), SIMPLE).stream
    for count, most in ((5, 2), (40, 32), (200, 32), (200, 1)):
        fewer = with_most(keyed, most)
        with spread(count):
            numbers = fewer.bucket_ids()
            homes = [[fewer.partition(home) for home in some] for some in numbers]
        assert [len(some) for some in numbers] == [most, most, 1, most]
        assert 0 in numbers[0] and len({home for some in numbers for home in some}) == 3 * most + 1
        assert most == 1 or (len(set(homes[0])) == most and homes[0] == homes[1] == homes[3])


def test_parts_without_a_key_are_spread() -> None:
    texts = {f"q{i}": f"RETURN COUNT(*) PATTERN A WITHIN {i} seconds SLIDE {i} seconds" for i in range(1, 8)}
    stream = Workers(workload(texts | {"k": TEXTS["pairs"]}, "never"), SIMPLE).stream
    with spread(4):
        numbers = [some[0] for some in stream.bucket_ids() if len(some) == 1]
    assert numbers[0] == 0
    places = (hash_ids(np.array(numbers, np.uint32)) % 4).tolist()
    assert sorted(map(places.count, range(4))) == [1, 2, 2, 2]


# ---- a state of other queries


def going_on(before: Workload, after: Workload, count: int = 2, **how: Any) -> str:
    """Return what is told when a stream goes on with another workload."""
    first = Workers(before, SIMPLE, count)
    [_ for _ in first.run(rows_of("a1 b2 c3", "a20 b21", "a40"), 0)]
    then = Workers(after, SIMPLE, count, **how)
    then.partitions, then.watermark = first.partitions, first.watermark
    with pytest.raises(AssertionError) as caught:
        then.batch(*rows_of("a41 b42"))
    return str(caught.value)


@pytest.mark.parametrize("sharing", ["auto", "never"])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(
    ("before", "after", "notes"),
    [
        (["pairs", "runs"], ["pairs"], ["removed: runs"]),
        (["pairs"], ["pairs", "runs"], ["added: runs"]),
        (["pairs", "alone"], ["pairs", "alone", "parts"], ["added: parts"]),
        (["pairs", "alone", "parts"], ["pairs", "parts"], ["removed: alone"]),
        (["alone", "pairs"], ["pairs"], ["removed: alone"]),
        (["alone"], ["pairs"], ["added: pairs", "removed: alone"]),
        (["alone", "pairs", "parts"], ["parts", "runs"], ["added: runs", "removed: alone, pairs"]),
    ],
)
def test_other_queries(before: list[str], after: list[str], notes: list[str], count: int, sharing: Any) -> None:
    one, two = (workload({name: TEXTS[name] for name in names}, sharing) for names in (before, after))
    error = going_on(one, two, count)
    assert "error[query-changed]: the checkpoint was written by a workload of other queries" in error
    assert re.findall(r"= note: (.*)", error) == notes
    assert "run others beside it from a new checkpoint" in error


def test_a_changed_query() -> None:
    texts = {name: TEXTS[name] for name in ("pairs", "alone")}
    changed = texts | {"alone": texts["alone"].replace("SEQ(B, C)", "SEQ(C, B)")}
    assert "= note: changed: alone\n" in going_on(workload(texts), workload(changed))
    texas, ohio = (
        workload({"all": texts["alone"].replace("B,", "City,")}, hierarchy={"B": "City"} | more)
        for more in ({}, {"A": "City"})
    )
    assert "= note: changed: all\n" in going_on(texas, ohio)
    spaces = texts | {"alone": texts["alone"].replace(" ", "  ")}
    first, then = Workers(workload(texts), SIMPLE), Workers(workload(spaces), SIMPLE)
    first.batch(*rows_of("a1"))
    then.partitions = first.partitions
    assert then.batch(*rows_of("b2")) == []  # as it was


def test_other_sharing_options_and_modes() -> None:
    texts = {name: TEXTS[name] for name in ("pairs", "runs")}
    error = going_on(workload(texts), workload(texts, "never"))
    assert "written with another sharing" in error and "was: pairs, runs" in error and "now: pairs; runs" in error
    turned = {name: texts[name] for name in reversed(texts)}
    assert "now: runs, pairs" in going_on(workload(texts), workload(turned))
    assert "another option numbers" in going_on(workload(texts), workload(texts, numbers="exact"))
    assert "another output mode" in going_on(workload(texts), workload(texts), update=True)


def test_a_bucket_of_no_query() -> None:
    workers = Workers(workload(TEXTS), SIMPLE)
    workers.batch(*rows_of("a1"))
    [first, _] = workers.partitions
    with spread(2):
        known = {home for some in workers.stream.bucket_ids() for home in some}
        processor = pickle.loads(pickle.dumps(make_carrier(Processor(workers.stream))))
        processor.init(first)
        strange = next(home for home in spread_ids(2, 9) if home not in known)
        first.key = strange
        [frame] = processor.handleInputRows((strange,), iter([]), Clock(0))
    [error] = frame[tasks.ERROR]
    assert "error[damaged-state]" in error and f"bucket {strange}" in error


# ---- on Spark


@pytest.fixture
def two_partitions(spark: SparkSession) -> Iterator[None]:
    """Let streams have two partitions, for each takes time in every batch."""
    with spark_settings(spark, **{"shuffle.partitions": "2"}):
        yield


@pytest.fixture
def source(spark: SparkSession, two_partitions: None, tmp_path: Path) -> Source:
    return Source(spark, tmp_path / "files")


def test_restart_late_rows_and_other_queries(source: Source, tmp_path: Path) -> None:
    made = workload(TEXTS | {"later": TEXTS["pairs"].replace("10 seconds SLIDE 5", "20 seconds SLIDE 10")})
    assert "Together: pairs, runs, later" in made.explain(source.marked("6 seconds"))
    source.add(events("a1 b3 a2 c5"), events("b4 a7 c8 c6", 2) + events("a21 z99"))
    assert Ended(made.run(source.marked("6 seconds")), tmp_path, sink="parquet").rows
    late = events("a9 b2 c3")
    source.add(late + events("z1") + events("b95 a96 b97", 2), END)
    then = Ended(made.run(source.marked("6 seconds")), tmp_path, sink="parquet")
    kept = [row for row in pq.read_table(source.folder).to_pylist() if row not in late]
    assert plain(then.rows) == plain(over(made, pa.Table.from_pylist(kept, SIMPLE)))
    assert then.late()[0] == sum(then.late()) == 3
    [operator], [_] = then.progress[-1]["stateOperators"], then.progress[-1]["sources"]
    assert operator["numRowsTotal"] > 0
    some = {name: text for name, text in TEXTS.items() if name != "alone"}
    source.add(events("a1000001"))
    with pytest.raises(StreamingQueryException, match=r"query-changed(?s:.*)removed: later, alone"):
        Ended(workload(some).run(source.marked("6 seconds")), tmp_path, sink="parquet")


@pytest.mark.parametrize("sharing", ["auto", *rest(["never"])])
def test_updates_on_spark(source: Source, tmp_path: Path, sharing: Any) -> None:
    texts = {name: text.replace("WHERE [k]", "") for name, text in TEXTS.items()}
    texts["later"] = texts["pairs"].replace("10 seconds SLIDE 5", "20 seconds SLIDE 10")
    made = workload(texts, sharing)
    batches = [events("a1 b3 a2 c5 b2") + events("a1 b2", 2), events("b4 a7 c8 c6 a8", 2)]
    source.add(*batches)
    found: dict[int, Rows] = {}

    def take(rows: DataFrame, number: int) -> None:
        found[number] = rows.toArrow().to_pylist()

    updates = made.run(source.marked("1 minute"), output_mode="update")
    writer = updates.writeStream.outputMode("update").foreachBatch(take)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    last = {
        repr([row[name] for name in ("query", "window_start", "k")]): row
        for number in sorted(found)
        for row in found[number]
    }
    expected = made.run(pa.Table.from_pylist([row for rows in batches for row in rows], SIMPLE))
    assert plain([*last.values()]) == plain(expected.to_pylist())


# ---- what a stream cannot be asked, and what is told


def test_the_query_at_fault_is_told(source: Source) -> None:
    def run(frame: DataFrame, text: str, **how: Any) -> Any:
        return workload({"good": TEXTS["pairs"], "bad": text}).run(frame, **how)

    marked, within = source.marked(), "WITHIN 9 seconds SLIDE 9 seconds"
    cases = [
        (marked, "RETURN COUNT(*) AS n PATTERN A", {}, "'bad'(?s:.*)write WITHIN and SLIDE"),
        (marked, "RETURN COUNT(*) AS n PATTERN A WITHIN 9 EVENTS SLIDE 3 EVENTS", {}, "--> bad:1(?s:.*)of time"),
        (
            marked,
            f"RETURN COUNT(*) AS n PATTERN SEQ(A, B?) WHERE [B.k] {within}",
            {},
            "a trend may lack(?s:.*)'bad'",
        ),
        (marked, "RETURN COUNT(*) AS n PATTERN A WITHIN 9 seconds", {"output_mode": "update"}, "--> bad:1"),
        (marked, f"RETURN COUNT(*) AS n PATTERN A WHERE A.type > 3 {within}", {}, "--> bad:1"),
        (marked, f"RETURN COUNT(*) AS k PATTERN A {within}", {}, "the column 'k' is .* in 'good' and .* in 'bad'"),
        (marked, f"RETURN COUNT(*) AS n PATTERN A {within}", {"output_mode": "complete"}, "choose 'append'"),
        (marked, f"RETURN COUNT(*) AS n PATTERN A {within}", {"strategy": "sort"}, "a strategy is for batches"),
        (source.plain, f"RETURN COUNT(*) AS n PATTERN A {within}", {}, "no-watermark"),
    ]
    for frame, text, how, told in cases:
        with pytest.raises(sk.SparkleeneError, match=told):
            run(frame, text, **how)


def test_explained(source: Source) -> None:
    lines = [*streaming.explain(workload(TEXTS).prepared.requests(SIMPLE.names), source.marked())]
    assert lines[:2] == [
        ("stream", "each window once, when the watermark has passed its end"),
        ("reads", "5 columns, once for 3 parts"),
    ]
    assert [text for word, text in lines if word == "part"] == ["pairs, runs", "alone", "parts"]
    assert [text for word, text in lines if word == "spread"] == [
        "2 buckets, by k",
        "one bucket: there is no key to spread rows by",
        "2 buckets, by k",
    ]
    assert {text for word, text in lines if word == "groups"} == {"the parts of each are added up by tasks"}
