"""Keys as dense codes."""

import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.columns.faults import code

from sparkleene.columns import fields, keys
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.errors import DataError

DAY = datetime(2024, 5, 1)


KEYS = {
    pa.int64(): st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)]),
    pa.uint8(): st.integers(0, 5),
    pa.uint64(): st.sampled_from([0, 1, 2**64 - 1]),
    pa.float64(): st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf]),
    pa.float32(): st.sampled_from([0.0, -0.0, 1.5, math.nan]),
    pa.string(): st.text("ab", max_size=2),
    pa.string_view(): st.text("ab", max_size=2),
    pa.bool_(): st.booleans(),
    pa.binary(): st.binary(max_size=1),
    pa.timestamp("us"): st.sampled_from([DAY, datetime(1, 1, 1)]),
    pa.date32(): st.sampled_from([date(2024, 5, 1), date(1, 1, 1)]),
    pa.decimal128(5, 2): st.sampled_from([Decimal("0.10"), Decimal("1.00")]),
}


@st.composite
def key_columns(draw):
    type = draw(st.sampled_from(list(KEYS)))
    items = draw(st.lists(st.none() | KEYS[type], max_size=8))
    array = pa.array(items, type)
    cut = draw(st.integers(0, len(items)))
    parts = [array[:cut], array[cut:]]
    if draw(st.booleans()) and not pa.types.is_boolean(type):
        parts = [part.dictionary_encode() for part in parts]
    return type, items, pa.chunked_array(parts)


def same(values):
    return [None if v is None or v != v else v for v in values]


@settings(max_examples=cases(300), deadline=None)
@given(key_columns())
def test_codes_stand_for_the_values(case):
    type, items, column = case
    found, values = codes(pa.table({"k": column}), ("k",))
    assert values.type == fields.value_type(type)
    assert len(values) == len(set(same(items)) - {None}) == len(set(values.to_pylist()))
    assert [None if c < 0 else values[c].as_py() for c in found.tolist()] == same(items)


def test_dictionaries_with_repeated_null_and_unused_values():
    one = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 3], pa.int8()), ["a", "z", "a", None])
    two = pa.DictionaryArray.from_arrays(pa.array([1, 1], pa.int8()), ["b", "b"])
    table = pa.table({"k": pa.chunked_array([one, two]), "u": pa.chunked_array([two, two, two])})
    found, values = codes(table, ("k",))
    assert found.tolist() == [0, 0, -1, -1, 1, 1] and values.to_pylist() == ["a", "b"]
    assert codes(table, ("u",))[0].tolist() == [0] * 6
    unused = pa.table({"k": pa.DictionaryArray.from_arrays(pa.array([2, 0, None]), ["a", "z", "c"])})
    found, values = codes(unused, ("k",))
    assert found.tolist() == [1, 0, -1] and values.to_pylist() == ["a", "c"]


def test_keys_that_cannot_be():
    table = pa.table({"l": [[1]], "p": [{"a": 1}], "n": pa.nulls(1)})
    assert code(DataError, codes, table, ("l",)) == code(DataError, codes, table, ("p",)) == "wrong-type"
    assert codes(table, ("p", "a"))[0].tolist() == [0]
    assert codes(table, ("n",))[0].tolist() == [-1]


@settings(max_examples=cases(300), deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(0, 30), st.sampled_from([1, 3, 5, 1000]), st.booleans())
def test_combinations(data, count, rows, size, hashing):
    parts = [
        np.array(data.draw(st.lists(st.integers(-1, size - 1), min_size=rows, max_size=rows)), np.int32)
        for _ in range(count)
    ]
    with pytest.MonkeyPatch.context() as patch:
        if hashing:
            patch.setattr(keys, "_table_limit", lambda rows: 0)
        found, first = combine_codes(parts, [size] * count)
    tuples = [None if -1 in each else each for each in zip(*(p.tolist() for p in parts), strict=True)]
    assert [c < 0 for c in found.tolist()] == [t is None for t in tuples]
    assert (
        len(set(zip(found.tolist(), tuples, strict=True)) - {(-1, None)})
        == len(set(tuples) - {None})
        == len(first)
    )
    assert found[first].tolist() == list(range(len(first)))


def test_many_combinations_and_many_pieces(monkeypatch):
    monkeypatch.setattr(fields, "PIECE", 1000)
    random = np.random.default_rng(1)
    a, b = random.integers(-1, 60_000, 20_000), random.integers(-1, 60_000, 20_000)
    found, first = combine_codes([a, b], [60_000, 60_000])
    wanted = {pair for pair in zip(a.tolist(), b.tolist(), strict=True) if -1 not in pair}
    assert len(first) == len(wanted) == found.max() + 1
    assert np.array_equal(a[first[found[found >= 0]]], a[found >= 0])
    assert np.array_equal(b[first[found[found >= 0]]], b[found >= 0])
    text = pa.table({"k": pa.array(a % 500).cast(pa.string())})
    coded, values = codes(text, ("k",))
    assert values.take(pa.array(coded)).equals(text["k"].combine_chunks())
