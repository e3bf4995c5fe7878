"""What runs over one table have in common is kept by their own memo, not by whoever happens to run in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.columns import keys
from sparkleene.engine import run as engine
from sparkleene.engine.results import write_results
from sparkleene.engine.run import Run
from sparkleene.workload.run import evaluate_queries

TEXTS = {
    "one": "RETURN k, COUNT(*) AS n PATTERN A+ GROUP-BY k",
    "two": "RETURN k, COUNT(*) AS n PATTERN A+ GROUP-BY k WITHIN 2",
    "three": "RETURN k, COUNT(*) AS n PATTERN SEQ(A, A) GROUP-BY k",
}
TABLES = [pa.table({"time": [0, 1, 2], "type": ["A"] * 3, "k": [k] * 3}) for k in ("x", "y")]


def results(table: pa.Table) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Give the rows of one query after the other."""
    made = sk.workload(TEXTS, sharing="never").prepared
    runs = [Run(part, made.options.for_engine()) for part in made.parts(tuple(table.column_names))]
    for member, evaluated in evaluate_queries(runs, table):
        yield member.name, write_results(evaluated).to_pylist()


def test_generators_that_take_turns_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [list(results(table)) for table in TABLES]
    read: list[int] = []
    once = engine.time_column
    monkeypatch.setattr(engine, "time_column", lambda table, *rest: read.append(id(table)) or once(table, *rest))
    turns = list(zip(results(TABLES[0]), results(TABLES[1]), strict=True))
    assert [[turn[i] for turn in turns] for i in range(2)] == alone
    assert sorted(read) == sorted(map(id, TABLES))  # each table's times are read once


def test_nothing_is_kept_after_a_generator_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = results(TABLES[0])
    next(begun)
    first, _ = keys.codes(TABLES[0], ("k",))
    again, _ = keys.codes(TABLES[0], ("k",))
    assert first is not again  # what the generator holds is its own
    begun.close()
