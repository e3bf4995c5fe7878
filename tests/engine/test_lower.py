"""A lowered plan over its own columns gives what the plan gives over the table."""

from __future__ import annotations

from itertools import product
from typing import Any

import pyarrow as pa
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.test_random import compiled, table
from tests.runs import flatten, lower_run, run_of

import sparkleene as sk
from sparkleene.engine.results import write_results
from sparkleene.engine.run import Run
from sparkleene.spark.lower import MASK, Lowered


def lowered(query: sk.Query, rows: pa.Table, ready: bool = True, masks: bool = True) -> tuple[Lowered, pa.Table]:
    run = run_of(query, rows.column_names)
    low = lower_run(run, ready, masks)
    return low, flatten(run, low, rows)


def results(low: Lowered, flat: pa.Table) -> list[dict[str, Any]]:
    return write_results(Run(low.part, low.options).evaluate(flat)).to_pylist()  # type: ignore[no-any-return]


@given(data=st.data())
@settings(max_examples=cases(160))
def test_lowered_plans(data: st.DataObject) -> None:
    case = data.draw(strategies.case())
    query = compiled(case)
    rows = table(case)
    expected = query.run(rows).to_pylist()
    for ready, masks in product([True, False], repeat=2):
        note(f"{ready=} {masks=}")
        low, flat = lowered(query, rows, ready, masks)
        assert flat.column_names[: len(low.columns)] == [name for name, _ in low.columns]
        assert results(low, flat) == expected


def test_columns_are_flat_and_few() -> None:
    query = sk.query(
        "RETURN COUNT(*), MAX(S.pay.fee) PATTERN S+ "
        "WHERE [who] AND S.pay.price * 2 - S.tax < NEXT(S).pay.price * 2 - NEXT(S).tax AND S.kind = 'x'"
    )
    struct = pa.array([{"price": 1, "fee": 7}, {"price": 5, "fee": 3}])
    rows = pa.table(
        {"time": [1, 2], "type": ["S", "S"], "who": [1, 1], "pay": struct, "tax": [1, 2], "kind": ["x", "x"]}
    )
    low, flat = lowered(query, rows)
    assert flat.column_names == ["time", "who", "pay.fee", "pay.price * 2 - tax", MASK]
    assert results(low, flat) == [{"count": 3.0, "max_S_pay_fee": 7}]


def test_names_that_meet_are_kept_apart() -> None:
    query = sk.query("RETURN MAX(S.a.b) AS deep, MAX(S.`a.b`) AS flat PATTERN S")
    rows = pa.table({"time": [1], "type": ["S"], "a": pa.array([{"b": 1}]), "a.b": [2]})
    low, flat = lowered(query, rows)
    assert results(low, flat) == [{"deep": 1, "flat": 2}]
