"""A kernel that has no form for what it is given: users see an error of ours that asks for a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.runs import flatten, lower_run, run_of

import sparkleene as sk
from sparkleene.columns.schema import result_schema
from sparkleene.engine import run
from sparkleene.errors import SparkleeneError, report_faults
from sparkleene.kernels import results, ticks
from sparkleene.spark import jobs, packing, tasks
from sparkleene.spark.request import Request
from sparkleene.spark.results import make_jobs

TEXT = "RETURN COUNT(*)\nPATTERN A+"
TABLE = pa.table({"time": [1, 2], "type": ["A", "A"]})


@pytest.fixture
def unfit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let rows be put in order by a kernel that is given text."""
    monkeypatch.delenv("SPARKLEENE_COMPILE", raising=False)

    def order_rows(*given: Any) -> None:
        ticks.longest("text", "text", "text")

    monkeypatch.setattr(run, "order_rows", order_rows)
    yield


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sk.query(TEXT).run(TABLE),
        lambda: sk.query(TEXT).trends(TABLE),
        lambda: sk.workload({"one": TEXT, "two": TEXT.replace("A+", "B+")}).run(TABLE),
    ],
    ids=["run", "trends", "workload"],
)
def test_in_this_process(unfit: None, ask: Callable[[], Any]) -> None:
    with pytest.raises(SparkleeneError) as caught:
        ask()
    check(str(caught.value))


@pytest.mark.parametrize("made", [tasks.Evaluate, lambda job: packing.Pack(job, True, 2)], ids=["evaluate", "pack"])
def test_in_tasks(unfit: None, made: Callable[[jobs.Job], Any]) -> None:
    given = run_of(sk.query(TEXT), TABLE.column_names)
    low = lower_run(given)
    schema = result_schema(given.plan, TABLE.slice(0, 0), given.options, given.place)
    [(_, job, _)] = make_jobs([([Request(given.part, given.options, ())], [low])], schema)
    [batch] = made(job)(flatten(given, low, TABLE).to_batches())
    check(batch.column(batch.num_columns - 1)[0].as_py())


def test_totals(unfit: None, monkeypatch: pytest.MonkeyPatch) -> None:
    given = run_of(sk.query(TEXT), TABLE.column_names)
    job = jobs.Job((given,), pa.schema([]), True, False, ())
    monkeypatch.setattr(jobs, "add_partial", lambda *_: results.pair_up("text", 1))
    with pytest.raises(SparkleeneError) as caught:
        [*tasks.Total(job, pa.schema([]))(pa.table({tasks.ERROR: ["x"]}).to_batches())]
    check(str(caught.value))


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(KeyError), report_faults():
        raise KeyError("a")


def check(text: str) -> None:
    assert text.startswith("error[internal-error]: no compiled code fits")
    assert "note: numba says: " in text and "report" in text
    assert "the query is RETURN COUNT(*) PATTERN A+" in text
