"""Counts as 64-bit integers: as doubles have them up to 2^53, as exact mode has them up to 2^63, else an error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.strategies import Case
from tests.conformance.test_random import compare, compiled, table

import sparkleene as sk

LARGEST = 2**63 - 1


@settings(max_examples=cases(40))
@given(case=strategies.case())
def test_small_counts_are_those_of_the_reference_and_of_doubles(case: Case) -> None:
    found = {numbers: compiled(replace(case, numbers=numbers)).run(table(case)) for numbers in ("double", "long")}
    compare(found["long"].to_pylist(), case.expected())
    assert found["long"].schema.field("n").type == pa.int64()
    assert found["long"].column("n").to_pylist() == found["double"].column("n").cast(pa.int64()).to_pylist()


PATTERNS = ("A+", "SEQ(A+, B+)", "(A OR B)+", "SEQ(A, B)+", "SEQ(A+, NOT C, B+)", "SEQ(A+, B+) WHERE [k]", "A{3,}")
WINDOWS = ("", "WITHIN 70 SLIDE 10", "WITHIN 66", "WITHIN SESSION 5", "WITHIN 64 EVENTS SLIDE 32 EVENTS")


@settings(max_examples=cases(40))
@given(
    pattern=st.sampled_from(PATTERNS),
    window=st.sampled_from(WINDOWS),
    types=st.lists(st.sampled_from("AAAAABBBC"), min_size=45, max_size=90),
    keys=st.sampled_from([1, 1, 2]),
)
def test_large_counts_are_exact_or_an_error(pattern: str, window: str, types: list[str], keys: int) -> None:
    k = [n % keys for n in range(len(types))]
    data = pa.table({"time": range(len(types)), "type": types, "k": k})
    text = f"RETURN COUNT(*) AS n, COUNT(A) AS a PATTERN {pattern} {window}"
    exact: list[dict[str, Any]] = sk.query(text, numbers="exact").run(data).to_pylist()
    expected = [(int(row["n"]), int(row["a"])) for row in exact]
    try:
        found = sk.query(text, numbers="long").run(data).to_pylist()
    except sk.DataError as error:
        assert error.diagnostics[0].code == "overflow"
        assert max(number for row in expected for number in row) > LARGEST
    else:
        assert [(row["n"], row["a"]) for row in found] == expected
