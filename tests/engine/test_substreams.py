"""Sub-streams that can have no trend are left out, and results stay the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.conformance.test_random import same

import sparkleene as sk
from sparkleene.engine.results import write_results
from sparkleene.engine.run import Run
from sparkleene.evaluation import PreparedWorkload

QUERIES = [
    "RETURN k, COUNT(*), SUM(A.x) PATTERN SEQ(A, B+) WHERE [k] GROUP-BY k",
    "RETURN k, COUNT(*), MAX(B.x) PATTERN SEQ(A?, NOT C, B) WHERE [k] AND A.x < 5 GROUP-BY k WITHIN 40 SLIDE 20",
    "RETURN B.d, COUNT(*), STDDEV(B.x) PATTERN SEQ(A, B+) WHERE [k] GROUP-BY B.d WITHIN 40 SLIDE 10",
    "RETURN B.d, COUNT(*), AVG(A.x) PATTERN SEQ(A, B, C) WHERE [k] GROUP-BY B.d WITHIN 60",
    "RETURN k, COUNT(*), MIN(A.x) PATTERN SEQ(A, C) AND SEQ(B, C) WHERE [k] GROUP-BY k",
    "RETURN k, COUNT(*) PATTERN SEQ(A, B) SEMANTICS skip-till-next-match WHERE [k] AND A.x < B.x GROUP-BY k",
    "RETURN COUNT(*), COUNT(EACH B) PATTERN SEQ(A, B+) WHERE [k]",
]
LEFT = [
    "RETURN k, COUNT(*) PATTERN A OR B WHERE [k] GROUP-BY k",
    "RETURN k, COUNT(*) PATTERN SEQ(A, B) SEMANTICS contiguous WHERE [k] GROUP-BY k",
    "RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN 5 EVENTS SLIDE 5 EVENTS",
    "RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN SESSION 3",
]


def stream() -> pa.Table:
    """Return rows in no order, of keys that have some of the types only."""
    rng = np.random.default_rng(7)
    keys = rng.integers(0, 40, 400)
    types = np.array(["AB", "BC", "A", "ABC", "CCB"])[keys % 5]
    return pa.table(
        {
            "time": rng.integers(0, 100, keys.size),
            "type": [str(rng.choice(list(some))) for some in types],
            "k": keys,
            "d": rng.integers(0, 5, keys.size),
            "x": rng.integers(0, 10, keys.size),
        }
    )


def run_of(text: str, table: pa.Table) -> Run:
    work = PreparedWorkload({"q": sk.query(text).prepared})
    [part] = work.parts(tuple(table.column_names))
    return Run(part, work.options.for_engine())


@pytest.mark.parametrize("text", QUERIES)
def test_results_are_the_same(text: str) -> None:
    table = stream()
    run = run_of(text, table)
    whole = run.prepare(table)
    pruned = run.prepare(table, pruned=True)
    assert pruned[0].tick.size < whole[0].tick.size
    wanted, found = (write_results(run.aggregate(table, *given)) for given in (whole, pruned))
    assert found.num_rows
    for row, other in zip(found.to_pylist(), wanted.to_pylist(), strict=True):
        assert all(same(row[name], value) for name, value in other.items())


@pytest.mark.parametrize("text", LEFT)
def test_what_may_have_trends_stays(text: str) -> None:
    table = stream()
    run = run_of(text, table)
    assert run.prepare(table, pruned=True)[0].tick.size == run.prepare(table)[0].tick.size


def test_each_row_keeps_its_labels() -> None:
    table = stream()
    rows = run_of(QUERIES[0], table).prepare(table, pruned=True)[0]
    types = np.array(table["type"].to_pylist())[rows.rows]
    assert (np.array(["", "A", "B"])[rows.mask] == types).all()
    keys = np.array(table["k"].to_pylist())[rows.rows]
    assert set(keys.tolist()) == {
        k for k in range(40) if {"A", "B"} <= {row["type"] for row in table.to_pylist() if row["k"] == k}
    }
