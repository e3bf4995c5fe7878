"""The result's schema, known before any row is read, is that of the result."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.test_random import compiled, table
from tests.runs import run_of

import sparkleene as sk
from sparkleene.columns.schema import result_schema
from sparkleene.engine.results import add_partial, write_partial
from sparkleene.errors import Place


@given(data=st.data())
@settings(max_examples=cases(150))
def test_schema_of_random_queries(data: st.DataObject) -> None:
    case = data.draw(strategies.case())
    query = compiled(case)
    rows = table(case)
    plan = query.prepared.plan_for(tuple(rows.column_names))
    schema = result_schema(plan, rows.slice(0, 0), query.prepared.options.for_engine(), Place(query.text))
    assert schema == query.run(rows).schema


@pytest.mark.parametrize("numbers", ["double", "exact"])
@given(data=st.data())
@settings(max_examples=cases(150))
def test_partial_results_add_up(data: st.DataObject, numbers: str) -> None:
    case = data.draw(strategies.case(numbers=numbers))
    query = compiled(case)
    rows = table(case)
    plan = query.prepared.plan_for(tuple(rows.column_names))
    whole = query.run(rows)
    part = write_partial(run_of(query, rows.column_names).evaluate(rows))
    assert add_partial(plan, part, numbers).to_pylist() == whole.to_pylist()
    if not (case.numbers == "double" and "LOG" in case.text):
        twice = add_partial(plan, pa.concat_tables([part, part]), numbers)
        assert twice.num_rows == whole.num_rows


def test_wrong_types_are_found_without_rows() -> None:
    empty = pa.table(
        {"time": pa.array([], pa.int64()), "type": pa.array([], pa.string()), "x": pa.array([], pa.string())}
    )
    for text, code in [
        ("RETURN SUM(A.x) PATTERN A", "wrong-type"),
        ("RETURN COUNT(*) PATTERN A WHERE A.x > 3", "wrong-type"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).time", "wrong-type"),
        ("RETURN COUNT(*) PATTERN A+ WHERE A.x + NEXT(A).time > 3", "wrong-type"),
        ("RETURN COUNT(*) PATTERN A WITHIN 5 minutes SLIDE 5 minutes", "unit-unknown"),
    ]:
        query = sk.query(text)
        plan = query.prepared.plan_for(tuple(empty.column_names))
        with pytest.raises(sk.SparkleeneError) as caught:
            result_schema(plan, empty, query.prepared.options.for_engine(), Place(text))
        assert caught.value.diagnostics[0].code == code, text
