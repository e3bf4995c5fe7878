"""Results of parts of the data, added up elsewhere."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.runs import run_of

import sparkleene as sk
from sparkleene.engine.decimals import digits_of
from sparkleene.engine.results import add_partial, write_partial

EVENTS = 15_000  # so that 2**EVENTS has more digits than Python writes or reads by itself
LONG = pa.table({"time": range(2 * EVENTS), "type": ["A"] * 2 * EVENTS, "k": [0, 1] * EVENTS})
QUERY = sk.query("RETURN COUNT(*), SUM(A.k) AS s, AVG(A.k) AS mean PATTERN A+ WHERE [k]", numbers="exact")


def test_integers_of_any_length_are_added_up() -> None:
    halves = [LONG.filter(pa.compute.equal(LONG["k"], k)) for k in (0, 1)]
    run = run_of(QUERY, LONG.column_names)
    parts = pa.concat_tables([write_partial(run.evaluate(half)) for half in halves])
    [row] = add_partial(run.plan, parts, "exact").to_pylist()
    assert row["count"] == digits_of(2 * (2**EVENTS - 1))
    assert row["s"] == digits_of(EVENTS * 2 ** (EVENTS - 1))
    assert row["mean"] == pytest.approx(0.5)
