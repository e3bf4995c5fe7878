"""Workloads on Spark return what the in-process engine does, and read and move the rows once where they can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from benchmarks.workloads import mixed_queries, mixed_stream
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from tests.chance import SOAK, cases, rest
from tests.conformance.strategies import SEMANTICS, Case
from tests.conformance.test_random import same, table
from tests.spark.test_batch import TABLE, plain
from tests.spark.test_by_path import TABLE as FILES
from tests.spark.test_by_path import write
from tests.workload import test_mixed
from tests.workload.test_workload import options_of, workloads

import sparkleene as sk
from sparkleene.columns.schema import result_schema
from sparkleene.language import parse, to_text
from sparkleene.ongoing.compose import why_not_combined
from sparkleene.spark import packing, results, tasks
from sparkleene.spark.by_path import Packer
from sparkleene.spark.lower import lower_table
from sparkleene.spark.request import Request, lower_together
from sparkleene.spark.results import make_jobs, schema_of
from sparkleene.spark.sorting import EvaluateSorted
from sparkleene.spark.strategy import Choice, Strategy, find_families
from sparkleene.workload import Workload, workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[dict[str, Any]]


# ---- random workloads


@st.composite
def mixed(draw: st.DrawFn, most: int) -> tuple[dict[str, str], Case]:
    """Draw queries with different keys, windows and semantics, and a stream for them."""
    several = [draw(workloads(draw(st.sampled_from(SEMANTICS)), most)) for _ in range(draw(st.integers(1, 3)))]
    texts = {}
    for text in (text for found, _ in several for text in found.values()):
        tree, number = parse(text), len(texts)
        items = tuple(replace(item, alias=f"{item.alias}_{number}") for item in tree.returns)
        texts[f"q{number}"] = to_text(replace(tree, returns=items))
    return texts, several[0][1]


def compiled(texts: dict[str, str], **options: Any) -> Workload:
    try:
        return workload(texts, **options)
    except sk.QueryError as error:
        assume(error.diagnostics[0].code not in ("ambiguous-negation", "pattern-too-large"))
        raise


def in_order(made: Workload, rows: Rows) -> Rows:
    """Sort rows as the in-process engine does; Spark's are in no order."""
    place = {name: number for number, name in enumerate(made.queries)}

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        bound = made.queries[row["query"]].plan.bound
        window = () if bound.window is None else (row["window_start"],)
        return place[row["query"]], *window, *(row[name] for name in bound.group_names)

    return sorted(rows, key=key)


def agree(made: Workload, found: Rows, expected: Rows) -> None:
    """Compare rows, of which some are in no order."""
    found = in_order(made, found)
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert row.keys() == other.keys()
        assert all(same(row[name], value) for name, value in other.items()), (row, other)


def by_definition(texts: dict[str, str], case: Case, numbers: str) -> Rows:
    """Return what the reference says of each query."""
    found = []
    for name, text in texts.items():
        expected = replace(case, text=text, type="type", numbers=numbers).expected()
        found += [{"query": name, **row} for row in expected]
    return found


def through_tasks(made: Workload, rows: pa.Table, way: str) -> Rows:
    """Run what tasks run: rows lowered and packed in parts, evaluated by bucket, added up."""
    requests = made.prepared.requests(rows.column_names)
    schema = schema_of(requests, lambda one: result_schema(one.plan, rows.slice(0, 0), one.options, one.place))
    families = find_families(requests, [Choice(strategy(one, rows, way), "") for one in requests])
    lows = [lower_together(family, lambda term: True, [True] * len(family)) for _, family in families]
    plans = make_jobs([(family, some) for (_, family), some in zip(families, lows, strict=True)], schema)
    jobs = [plan.job for plan in plans]
    packers = []
    for number, ((how, family), (some, job, _)) in enumerate(zip(families, plans, strict=True)):
        pack = packing.Pack(job, how.strategy == "combine", 3 if job.keys else 1, 3 * number)
        parts = tuple((request.part, low) for request, low in zip(family, some, strict=True))
        packers.append(Packer(pack, parts))
    size = 4 if rows.num_rows > 4 else 1
    pieces = [rows.slice(i, size) for i in range(0, rows.num_rows, size)]
    packed = [packer.pack(piece, requests[0].options) for piece in pieces for packer in packers]
    sent: list[pa.RecordBatch] = []
    kinds = tuple(Sorting(job) if way == "sort" else packing.Compose(job, certain=True) for job in jobs)
    for bucket in range(3 * len(jobs)):
        mine = [batch.filter(pa.compute.equal(batch.column(0), bucket)) for batch in packed]
        sent += packing.ComposeEach(kinds, 3)(mine)
    found = pa.Table.from_batches(sent, jobs[0].schema)
    errors = found.column(tasks.ERROR).drop_null()
    if len(errors):
        assume("ambiguous-order" not in errors[0].as_py())
        raise AssertionError(errors[0].as_py())
    if not plans[0].whole:
        together = replace(jobs[0], runs=tuple(run for job in jobs for run in job.runs))
        found = pa.Table.from_batches(tasks.Total(together, schema)(found.to_batches()), schema)
    return found.select(schema.names).to_pylist()  # type: ignore[no-any-return]


PANES = ("WITHIN 4 SLIDE 2", "WITHIN 6 SLIDE 3", "WITHIN 12 SLIDE 4")


@given(data=st.data())
@settings(max_examples=cases(40))
def test_windows_share_panes_in_tasks(data: st.DataObject) -> None:
    limits = data.draw(st.lists(st.integers(0, 2), min_size=3, max_size=3))
    key = data.draw(st.sampled_from(["k", "A.k"]))
    texts = {
        f"{kind}{i}": f"RETURN {key} AS {kind}k, COUNT(*) AS n{i}, SUM(A.v) AS s PATTERN {pattern} "
        f"WHERE [{key}] AND A.v >= {limit} GROUP-BY {key} {window}"
        for i, (window, limit) in enumerate(zip(PANES, limits, strict=True))
        for kind, pattern in (("a", "SEQ(A+, B)"), ("b", "SEQ(A, B+)"))
    }
    types = data.draw(st.lists(st.sampled_from("AB"), min_size=1, max_size=30))
    size = len(types)
    values = {"v": st.integers(0, 3), "k": st.integers(0, 1), "step": st.integers(0, 3)}
    drawn = {name: data.draw(st.lists(of, min_size=size, max_size=size)) for name, of in values.items()}
    times = [sum(drawn["step"][: i + 1]) for i in range(size)]
    rows = pa.table({"time": times, "type": types, "v": drawn["v"], "k": drawn["k"]})
    note(f"{texts}\n{rows.to_pydict()}")
    expected = workload(texts, "never").run(rows).to_pylist()
    for sharing in ("always", "auto"):
        made = workload(texts, sharing)  # type: ignore[arg-type]
        agree(made, through_tasks(made, rows, "shuffle"), expected)


def test_panes_are_shared_where_conditions_differ() -> None:
    texts = {
        f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE A.v >= {i} {window}" for i, window in enumerate(PANES)
    }
    requests = workload(texts, "always").prepared.requests(("time", "type", "v"))
    rows = pa.table({"time": [0, 1, 2, 3], "type": list("AABC"), "v": [0, 2, 1, 2]})
    schema = schema_of(requests, lambda one: result_schema(one.plan, rows, one.options, one.place))
    lows = lower_together(requests, lambda term: True, [True] * 3)
    [plan] = make_jobs([(requests, lows)], schema)
    [joint] = plan.job.joints
    part = joint.run.part
    assert part.names == ("q0", "q1", "q2") and len(part.plan.bound.labels) == 4
    columns = [lower_table(one.part, low, rows, one.options, 1) for one, low in zip(requests, lows, strict=True)]
    flat = pa.table({name: table.column(name) for table in columns for name in table.column_names})
    [name] = joint.run.options.masks
    found = joint.add_labels(flat).column(name).to_pylist()
    assert [bin(mask).count("1") for mask in found] == [1, 3, 1, 0]  # A of q0; of all three; B; C is nobody's


class Sorting(packing.Compose):
    """Packed rows, sorted and evaluated as they come."""

    def results(self, found: Any) -> Iterator[pa.Table]:
        for rows, _ in found.values():
            together = packing.concat(rows)
            options = self.job.runs[0].options
            names = [*self.job.keys, options.time, *([options.tiebreak] if options.tiebreak else [])]
            ordered = together.sort_by([(name, "ascending") for name in names])
            yield from EvaluateSorted(self.job, 5).results(ordered.to_batches(max_chunksize=2))


def strategy(request: Request, rows: pa.Table, way: str) -> Strategy:
    """Return the strategy of a part: the one that is asked for, where it can be."""
    if way == "combine" and why_not_combined(request.plan, rows.schema, request.options) is not None:
        return "shuffle"
    return way  # type: ignore[return-value]


def check_tasks(way: str, numbers: str, texts: dict[str, str], case: Case) -> None:
    """Compare what tasks find with the in-process engine, and small workloads with the reference."""
    note(f"{texts}\n{case.rows}")
    made = compiled(texts, **options_of(case, numbers=numbers))
    rows = table(case)
    if way == "combine":  # stretches must not overlap
        rows = rows.sort_by(case.time)
    expected = made.run(rows).to_pylist()
    agree(made, through_tasks(made, rows, way), expected)
    if len(texts) < 7 and way == "shuffle":
        for row, other in zip(expected, by_definition(texts, case, numbers), strict=True):
            assert all(same(row[name], value) for name, value in other.items()), (row, other)


WAYS = [(way, numbers) for way in ("shuffle", "combine", "sort") for numbers in ("double", "exact")]
FEW = settings(
    max_examples=cases(10), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def tasks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave nothing to Spark."""
    monkeypatch.setattr(results, "_spark_adds_up", lambda lows: False)


@pytest.mark.usefixtures("tasks_add_up")
@pytest.mark.parametrize(("way", "numbers"), WAYS)
@given(given=mixed(2) | mixed(2) | mixed(10))
@FEW
def test_tasks(way: str, numbers: str, given: tuple[dict[str, str], Case]) -> None:
    check_tasks(way, numbers, *given)


@pytest.mark.usefixtures("tasks_add_up")
@pytest.mark.parametrize("way", ["shuffle", "sort"])
@given(data=st.data())
@FEW
def test_tasks_of_typed_keys_and_other_windows(way: str, data: st.DataObject) -> None:
    texts = {
        name: text
        for name, text in data.draw(test_mixed.texts("skip-till-any-match")).items()
        if "[" in text or "GROUP-BY" in text
    }
    assume(texts)
    rows = test_mixed.to_table(data.draw(test_mixed.streams()))
    note(f"{texts}\n{rows.to_pylist()}")
    made = sk.workload(texts)
    agree(made, through_tasks(made, rows, way), made.run(rows).to_pylist())


def check_spark(spark: SparkSession, numbers: str, texts: dict[str, str], case: Case) -> None:
    """Compare Spark with the in-process engine."""
    note(f"{texts}\n{case.rows}")
    made = compiled(texts, **options_of(case, numbers=numbers))
    rows = table(case)
    strategy: Any = [None, "shuffle", "sort"][len(str(texts)) % 3]
    try:
        found = made.run(spark.createDataFrame(rows).repartition(3), strategy=strategy).toArrow().to_pylist()
    except PySparkException as error:  # rows of one time have no order on Spark
        assume("error[ambiguous-order]" not in str(error))
        raise
    agree(made, found, made.run(rows).to_pylist())


@pytest.mark.spark
@pytest.mark.parametrize("numbers", ["double", "exact"])
@given(given=mixed(3) | mixed(10) if SOAK else mixed(3))
@settings(FEW, max_examples=cases(4))
def test_random(spark: SparkSession, numbers: str, given: tuple[dict[str, str], Case]) -> None:
    check_spark(spark, numbers, *given)


# ---- on Spark

MIXED = {
    "pairs": "RETURN user, COUNT(*), SUM(A.x) PATTERN SEQ(A, B) WHERE [user, site] GROUP-BY user",
    "many": "RETURN user, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user, site] GROUP-BY user",
    "next": "RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS skip-till-next-match WHERE [user]",
    "close": "RETURN user AS who, COUNT(*) PATTERN SEQ(A, B) SEMANTICS contiguous WHERE [user] GROUP-BY user",
    "windows": "RETURN user, COUNT(*), MIN(A.x) AS low PATTERN SEQ(A+, C) GROUP-BY user WITHIN 60 SLIDE 30",
    "events": "RETURN COUNT(*) PATTERN SEQ(A, C) WHERE [user] WITHIN 6 EVENTS SLIDE 3 EVENTS",
    "trigger": "RETURN user, COUNT(*) PATTERN SEQ(A, C) WHERE [user] GROUP-BY user WITHIN 25",
    "rising": "RETURN COUNT(*), MAX(A.word) AS last PATTERN A+ WHERE [user] AND A.x < NEXT(A).x",
    "some": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [A.site, user] AND A.x > 0",
}
MORE = MIXED | {
    "all": "RETURN COUNT(*), AVG(A.x) PATTERN SEQ(A+, B)",
    "all_windows": "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 40 SLIDE 40",
    "all_rising": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.x < B.x",
    "words": "RETURN COUNT(*) PATTERN SEQ(A, C) WHERE [word, ride.fare]",
}


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[DataFrame]:
    """Rows in three partitions that overlap in time."""
    frame = spark.createDataFrame(TABLE).repartition(3).cache()
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files that follow each other in time."""
    found = tmp_path_factory.mktemp("workload")
    write(found, FILES, 3, 15)
    return found


def matches(found: DataFrame, made: Workload, rows: pa.Table) -> pa.Table:
    """Compare the rows of Spark with those of the in-process engine."""
    expected = made.run(rows)
    assert found.columns == expected.column_names
    assert plain(found.toArrow().to_pylist()) == plain(expected.to_pylist())
    assert expected.num_rows
    return expected


def exchanges(frame: DataFrame) -> tuple[int, int, int]:
    """Return how often a physical plan reads, shuffles and calls Python."""
    text = frame._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    return text.count("InMemoryTableScan ["), text.count("Exchange hashpartitioning"), text.count("InArrow")


@pytest.mark.spark
@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_data_frames(events: DataFrame, numbers: Any) -> None:
    made = workload(MORE, numbers=numbers)
    matches(made.run(events), made, TABLE)


@pytest.mark.spark
@pytest.mark.parametrize("strategy", ["shuffle", "sort"])
def test_strategies(events: DataFrame, strategy: Any) -> None:
    made = workload(MORE)
    matches(made.run(events, strategy=strategy), made, TABLE)
    one = workload({"a": MORE["pairs"], "b": MORE["many"]})
    matches(one.run(events, strategy="combine"), one, TABLE)
    with pytest.raises(sk.QueryError, match=r"cannot be combined before the shuffle: windows of events"):
        made.run(events, strategy="combine")


@pytest.mark.spark
@pytest.mark.parametrize("names", [["many", "windows", "rising", "all", "words"], *rest([[*MORE]])], ids=len)
def test_queries_one_by_one(events: DataFrame, folder: Path, names: list[str]) -> None:
    texts = {name: MORE[name] for name in names}
    made = workload(texts, "never")
    matches(made.run(events), made, TABLE)
    few = workload({name: text for name, text in texts.items() if "word" not in text}, "never")
    matches(few.run(folder, engine="spark"), few, FILES)


@pytest.mark.spark
@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.usefixtures("spark")
def test_paths(folder: Path, tmp_path: Path, numbers: Any) -> None:
    made = workload({name: text for name, text in MORE.items() if "word" not in text}, numbers=numbers)
    matches(made.run(folder, engine="spark"), made, FILES)
    write(tmp_path / "overlap", FILES.take(pa.array([n * 37 % 120 for n in range(120)])), 3, 15)
    matches(made.run(str(tmp_path / "overlap"), engine="spark", strategy="shuffle"), made, FILES)
    with pytest.raises(sk.QueryError, match="not sorted by Spark"):
        made.run(folder, engine="spark", strategy="sort")


@pytest.mark.spark
def test_keys_in_common_are_one_scan_and_one_shuffle(events: DataFrame, folder: Path) -> None:
    made = workload(MIXED)
    assert len(made.prepared.parts(tuple(events.columns))) == 8
    assert exchanges(made.run(events))[:2] == (1, 2)  # of rows, of parts of groups
    whole = {name: MIXED[name] for name in ("close", "windows", "trigger")}
    assert exchanges(workload(whole).run(events)) == (1, 1, 1)
    assert exchanges(workload(whole, "never").run(events)) == (3, 3, 3)
    apart = {"user": "RETURN COUNT(*) PATTERN A WHERE [user] GROUP-BY user",
             "site": "RETURN COUNT(*) PATTERN A WHERE [site] GROUP-BY site"}  # fmt: skip
    assert exchanges(workload(apart).run(events)) == (2, 2, 2)
    assert exchanges(workload(apart).run(folder, engine="spark")) == (0, 1, 2)  # files are read once anyway


@pytest.mark.spark
@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_queries_are_still_a_small_plan(spark: SparkSession, count: int) -> None:
    made, rows = workload(mixed_queries(count)), mixed_stream(1000)
    found = made.run(spark.createDataFrame(rows))
    assert exchanges(found)[1:] == (2, 2)  # of rows, of parts of groups
    matches(found, made, rows)


@pytest.mark.spark
def test_what_needs_adding_up(events: DataFrame) -> None:
    by_spark = {
        "a": "RETURN COUNT(*) AS n, MIN(A.x) AS low PATTERN A+ WHERE [user]",
        "b": "RETURN site, COUNT(*) AS n PATTERN SEQ(A, B) WHERE [user, site] GROUP-BY site",
    }
    made = workload(by_spark)
    assert exchanges(made.run(events)) == (1, 2, 1)
    matches(made.run(events), made, TABLE)
    by_tasks = by_spark | {"c": "RETURN site AS low_site, SUM(A.x) AS n PATTERN A WHERE [user, site] GROUP-BY site"}
    made = workload(by_tasks)
    assert exchanges(made.run(events)) == (1, 2, 2)
    matches(made.run(events), made, TABLE)
    several = {  # 'site' is a group, a minimum and a count
        "a": "RETURN site, COUNT(*) PATTERN A WHERE [user, site] GROUP-BY site",
        "b": "RETURN MIN(A.site) AS site, COUNT(*) PATTERN A WHERE [user]",
        "c": "RETURN COUNT(*) AS low PATTERN A WHERE [user]",
        "d": "RETURN MIN(A.x) AS low PATTERN A WHERE [user]",
    }
    made = workload(several)
    matches(made.run(events), made, TABLE)
    matches(made.run(events, strategy="sort"), made, TABLE)


@pytest.mark.spark
def test_no_job_starts(spark: SparkSession, events: DataFrame, folder: Path) -> None:
    context = spark.sparkContext
    context.setJobGroup("no workload yet", "")
    try:
        frames = [workload(MORE, sharing).run(events) for sharing in ("auto", "never")]  # type: ignore[arg-type]
        frames.append(workload({"a": MORE["all"]}).run(folder, engine="spark"))
        [frame.schema for frame in frames]
        assert not context.statusTracker().getJobIdsForGroup("no workload yet")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


@pytest.mark.spark
def test_concepts(spark: SparkSession) -> None:
    cities = {"Dallas": "Texas", "Austin": "Texas", "Texas": "USA", "Reno": "Nevada", "Nevada": "USA"}
    rows = pa.table({"time": range(6), "type": ["Dallas", "Reno", "Austin", "Texas", "Bus", "Reno"], "k": [1] * 6})
    texts = {
        "cities": "RETURN COUNT(*) PATTERN SEQ(Dallas, Reno)",
        "states": "RETURN COUNT(*) PATTERN SEQ(Texas T+, Nevada)",
        "none": "RETURN COUNT(*) PATTERN SEQ(Dallas, NOT Texas T, Reno) WHERE [k]",
    }
    made = workload(texts, hierarchy=cities)
    matches(made.run(spark.createDataFrame(rows)), made, rows)


@pytest.mark.spark
def test_odd_names(spark: SparkSession) -> None:
    rows = pa.table(
        {
            "the time": [1, 2, 3, 4],
            "a.b 'c": ["x", "x", "y", "x"],
            "v": [{"w": 1}, {"w": 2}, {"w": 3}, {"w": 4}],
            "v.w": [5, 6, 7, 8],
        }
    )
    texts = {
        "it's": "RETURN COUNT(*) AS `n.*`, MIN(E.v.w) AS `a b` PATTERN E+ WHERE [`a.b 'c`]",
        "b`.*": "RETURN `a.b 'c`, SUM(E.`v.w`) AS s PATTERN E+ GROUP-BY `a.b 'c` WITHIN 2 SLIDE 2",
        "c": "RETURN COUNT(*) AS `n.*` PATTERN E+ WHERE [`a.b 'c`] AND E.v.w < NEXT(E).`v.w` - 3",
    }
    made = workload(texts, time="the time", type=None)
    matches(made.run(spark.createDataFrame(rows)), made, rows)


@pytest.mark.spark
def test_explain_names_the_jobs(events: DataFrame, folder: Path) -> None:
    texts = {
        "first": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [site] AND A.x < NEXT(B).x",
        "second": "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [site] AND A.x < NEXT(B).x",
        "third": "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.x < NEXT(B).x",
    }

    def jobs(data: Any, sharing: Any) -> list[tuple[str, str]]:
        told = workload(texts, sharing).explain(data, engine="spark").partition("\nSpark\n")[2]
        lines = [line.split(maxsplit=1) for line in told.splitlines()]
        assert {word for word, _ in lines} == {"job", "queries", "spread"}
        return [(word, text.partition(":")[0]) for word, text in lines if word != "queries"]

    job, spread, alone = ("job", "shuffle"), ("spread", "once, by site"), ("spread", "not at all")
    assert jobs(events, "auto") == [job, spread, job, alone]
    assert jobs(events, "never") == [job, spread, job, spread, job, alone]
    job = ("job", "tasks read the files themselves")
    assert jobs(folder, "auto") == [job, spread, alone]  # files are read once, and packed for each
    assert jobs(folder, "never") == [job, spread, job, spread, job, alone]


# ---- mistakes


@pytest.mark.spark
def test_errors_name_the_query(events: DataFrame, folder: Path) -> None:
    texts = {
        "first": "RETURN COUNT(*) PATTERN A",
        "second": "RETURN COUNT(*) PATTERN SEQ(A, A q) WHERE q.nothing > 1",
    }
    for data in (events, folder):
        with pytest.raises(sk.SparkleeneError, match=r"--> second:1:(?s:.*)nothing"):
            workload(texts).run(data, engine="spark")
    texts["second"] = "RETURN COUNT(*) PATTERN SEQ(A, A q) WHERE q.x > 'x'"
    for data in (events, folder):
        with pytest.raises(sk.DataError, match=r"--> second:1:(?s:.*)q\.x > 'x'"):
            workload(texts).run(data, engine="spark")
    kinds = {"a": "RETURN COUNT(*) AS x PATTERN A", "b": "RETURN MIN(A.site) AS x PATTERN A"}
    for data in (events, folder):
        with pytest.raises(sk.DataError, match=r"the column 'x' is .* in 'a' and .* in 'b'(?s:.*)with AS"):
            workload(kinds).run(data, engine="spark")


ERRORS = [("frame", "overflow"), ("path", "not-exact"), *rest([("frame", "not-exact"), ("path", "overflow")])]


@pytest.mark.spark
@pytest.mark.parametrize(("source", "error"), ERRORS)
def test_errors_in_the_data_name_the_query(spark: SparkSession, tmp_path: Path, source: str, error: str) -> None:
    rows = pa.table(
        {
            "time": [1, 2, 3],
            "type": ["A", "A", "B"],
            "k": [1, 1, 1],
            "x": [1, 2**62, 3],
            "f": [1.0, float("inf"), 2.0],
        }
    )
    write(tmp_path / "rows", rows, 1)
    over = {
        "first": "RETURN COUNT(*) PATTERN A WHERE [k]",
        "second": "RETURN COUNT(*) AS other PATTERN SEQ(A, B) WHERE [k] AND A.x * 8 > 3",
    }
    wide = {"first": over["first"], "second": "RETURN SUM(A.f) PATTERN SEQ(A, B) WHERE [k]"}
    data = spark.createDataFrame(rows) if source == "frame" else str(tmp_path / "rows")
    made = workload(over) if error == "overflow" else workload(wide, numbers="exact")
    with pytest.raises((sk.SparkleeneError, PySparkException)) as raised:
        made.run(data, engine="spark").toArrow()
    assert f"error[{error}]" in str(raised.value)
    assert error != "overflow" or "--> second:1:" in str(raised.value)


@pytest.mark.spark
def test_arguments(events: DataFrame) -> None:
    made = workload({"a": "RETURN COUNT(*) PATTERN A"})
    with pytest.raises(sk.QueryError, match="an output mode is for streams"):
        made.run(events, output_mode="update")
    with pytest.raises(sk.QueryError, match="is not local"):
        made.run(events, engine="local")
    with pytest.raises(sk.QueryError, match="a strategy is for Spark"):
        made.run(TABLE, strategy="shuffle")
    with pytest.raises(sk.QueryError, match="strategy is 'shufle'"):
        made.run(events, strategy="shufle")  # type: ignore[arg-type]
