"""Every engine returns the numbers of the papers.

An engine here is a function `run(case) -> list[dict]`; add it to ENGINES and it runs all cases.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from tests.conformance.engines import through_tasks
from tests.conformance.paper_cases import CASES, PaperCase

import sparkleene as sk
from sparkleene.errors import Place
from sparkleene.language import parse
from sparkleene.language.bind import bind
from sparkleene.reference import evaluate

Rows = list[dict[str, Any]]

EPOCH = datetime(1970, 1, 1)
MILLISECOND = timedelta(milliseconds=1)
WINDOW = ("window_start", "window_end")


def table(case: PaperCase) -> pa.Table:
    """Return the events as a table; times are timestamps in seconds where they are not numbers."""
    columns = {name: [row[name] for row in case.events] for name in case.events[0]}
    time = case.options.get("time", "time")
    kind = pa.timestamp("s") if isinstance(columns[time][0], datetime) else None
    return pa.table({name: pa.array(v, kind if name == time else None) for name, v in columns.items()})


def in_process(case: PaperCase) -> Rows:
    """Run the in-process engine."""
    return sk.query(case.query, **case.options).run(table(case)).to_pylist()


def reference(case: PaperCase) -> Rows:
    """Run the reference evaluator, whose timestamps are milliseconds since the epoch."""
    options = dict(case.options)
    scale = {None: 1, "seconds": 1000}[options.pop("time_unit", None)]
    time = options.get("time", "time")
    dated = isinstance(case.events[0][time], datetime)

    def inward(moment: Any) -> Any:
        return (moment - EPOCH) // MILLISECOND if dated else moment * scale

    def outward(number: Any) -> Any:
        return EPOCH + int(number) * MILLISECOND if dated else Fraction(number) / scale

    if "offset" in options:
        options["offset"] *= scale
    bound = bind(parse(case.query), columns=list(case.events[0]), place=Place(case.query))
    rows = evaluate(bound, [{**row, time: inward(row[time])} for row in case.events], **options)
    return [{name: outward(value) if name in WINDOW else value for name, value in row.items()} for row in rows]


def in_tasks(case: PaperCase) -> Rows:
    """Run what the tasks of Spark run."""
    return through_tasks(sk.query(case.query, **case.options), table(case))


ENGINES: list[Callable[[PaperCase], Rows]] = [reference, in_process, in_tasks]


def plain(value: Any) -> Any:
    """Return a timestamp without its zone, which is UTC or none."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


@pytest.mark.parametrize("run", ENGINES, ids=lambda run: run.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.cite)
def test_paper(case: PaperCase, run: Callable[[PaperCase], Rows]) -> None:
    rows = run(case)
    assert [list(row) for row in rows] == [list(row) for row in case.expected], "columns, in order"
    for found, expected in zip(rows, case.expected, strict=True):
        for name, value in expected.items():
            if isinstance(value, float):
                assert float(found[name]) == pytest.approx(value, rel=1e-12), (name, found)
            else:
                assert plain(found[name]) == value, (name, found, expected)


def test_cites_are_unique() -> None:
    assert len({case.cite for case in CASES}) == len(CASES)
