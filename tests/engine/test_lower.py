"""A lowered plan over its own columns gives what the plan gives over the table."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.test_random import compiled, table

import sparkleene as sk
from sparkleene.engine.lower import MASK, lower, lowered
from sparkleene.engine.run import run
from sparkleene.errors import Place


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("ready", [True, False])
@given(data=st.data())
@settings(max_examples=cases(120))
def test_lowered_plans(data: st.DataObject, ready: bool, masks: bool) -> None:
    case = data.draw(strategies.case())
    query = compiled(case)
    rows = table(case)
    plan, options = query.prepared.plan_for(tuple(rows.column_names)), query.prepared.options.for_engine()
    low = lower(plan, options, lambda term: ready, masks)
    flat = lowered(plan, low, rows, options, 1, Place(query.text))
    assert flat.column_names[: len(low.columns)] == [name for name, _ in low.columns]
    result = run(low.plan, flat, low.options, 1, Place(query.text))
    assert result.to_pylist() == query.run(rows).to_pylist()


def test_columns_are_flat_and_few() -> None:
    query = sk.query(
        "RETURN COUNT(*), MAX(S.pay.fee) PATTERN S+ "
        "WHERE [who] AND S.pay.price * 2 - S.tax < NEXT(S).pay.price * 2 - NEXT(S).tax AND S.kind = 'x'"
    )
    struct = pa.array([{"price": 1, "fee": 7}, {"price": 5, "fee": 3}])
    rows = pa.table(
        {"time": [1, 2], "type": ["S", "S"], "who": [1, 1], "pay": struct, "tax": [1, 2], "kind": ["x", "x"]}
    )
    plan, options = query.prepared.plan_for(tuple(rows.column_names)), query.prepared.options.for_engine()
    low = lower(plan, options, lambda term: True, True)
    flat = lowered(plan, low, rows, options, 1, Place(query.text))
    assert flat.column_names == ["time", "who", "pay.fee", "pay.price * 2 - tax", MASK]
    assert run(low.plan, flat, low.options).to_pylist() == [{"count": 3.0, "max_S_pay_fee": 7}]


def test_names_that_meet_are_kept_apart() -> None:
    query = sk.query("RETURN MAX(S.a.b) AS deep, MAX(S.`a.b`) AS flat PATTERN S")
    rows = pa.table({"time": [1], "type": ["S"], "a": pa.array([{"b": 1}]), "a.b": [2]})
    plan, options = query.prepared.plan_for(tuple(rows.column_names)), query.prepared.options.for_engine()
    low = lower(plan, options, lambda term: True, True)
    flat = lowered(plan, low, rows, options, 1, Place(query.text))
    assert run(low.plan, flat, low.options).to_pylist() == [{"deep": 1, "flat": 2}]
