import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases

from sparkleene.columns import fields, keys
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.labels import label_masks
from sparkleene.columns.times import time_column, window_units
from sparkleene.columns.values import exact_values, low_values, sum_values
from sparkleene.errors import DataError, QueryError
from sparkleene.language.ast import Atom
from sparkleene.language.bound import Bound, Call, Field, Label, Literal_, Window

NULL = -(2**63)
DAY = datetime(2024, 5, 1)


def code(error, function, *args, **kwargs):
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    return caught.value.diagnostics[0].code


# ---- time


@pytest.mark.parametrize(
    ("type", "ticks"),
    [
        (pa.timestamp("s"), Fraction(1, 1000)),
        (pa.timestamp("ns", "UTC"), Fraction(10**6)),
        (pa.duration("us"), Fraction(1000)),
        (pa.date32(), Fraction(1, 86_400_000)),
    ],
)
def test_clocks_are_integers_in_their_unit(type, ticks):
    whole = pa.array([0, 86_400_000])
    column = (whole.cast(pa.int32()) if type == pa.date32() else whole).cast(type)
    time = time_column(pa.table({"t": pa.chunked_array([column[:1], column[1:]])}), "t")
    assert time.values.tolist() == [0, 86_400_000] and time.values.dtype == np.int64
    assert time.ticks_per_ms == ticks and time.type == type
    assert time.to_array(time.values).equals(column)
    assert time.to_array([Fraction(0), Fraction(86_400_000)]).equals(column)


def test_dates_of_both_types_are_days():
    time = time_column(pa.table({"t": pa.array([0, 86_400_000]).cast(pa.date64())}), "t")
    assert time.values.tolist() == [0, 1]
    assert time.ticks_per_ms == Fraction(1, 86_400_000) and time.type == pa.date32()


def test_number_times():
    table = pa.table({"i": pa.array([1, 2], pa.uint8()), "f": pa.array([0.5, 1], pa.float32())})
    whole, real = time_column(table, "i"), time_column(table, "f", "seconds")
    assert whole.values.tolist() == [1, 2] and whole.ticks_per_ms is None
    assert whole.to_array([-300]).to_pylist() == [-300]
    assert real.values.tolist() == [0.5, 1] and real.ticks_per_ms == Fraction(1, 1000)
    assert real.to_array([Fraction(1, 4)]).to_pylist() == [0.25]


def test_bad_times():
    table = pa.table(
        {
            "null": [1, None],
            "day": [DAY, None],
            "nan": [1.0, math.nan],
            "inf": [1.0, -math.inf],
            "text": ["1", "2"],
            "flag": [True, False],
            "big": pa.array([2**63, 1], pa.uint64()),
            "ok": [DAY, DAY],
        }
    )
    wrong = {"null": "null-time", "day": "null-time", "nan": "nan-time", "inf": "nan-time", "text": "wrong-type"}
    wrong |= {"flag": "wrong-type", "big": "overflow", "other": "missing-column"}
    for name, expected in wrong.items():
        assert code(DataError, time_column, table, name) == expected
    with pytest.raises(DataError, match="NULL in row 1"):
        time_column(table, "null")
    assert code(QueryError, time_column, table, "ok", "seconds") == "time-unit-given"
    assert code(QueryError, time_column, table, "null", "second") == "unknown-time-unit"


def test_windows_in_the_unit_of_the_column():
    def units(column, size, slide, unit, time_unit=None):
        time = time_column(pa.table({"t": column}), "t", time_unit)
        return window_units(Window(Fraction(size), slide and Fraction(slide), unit), time)

    seconds = pa.array([1, 2], pa.timestamp("s"))
    size, slide, time = units(seconds, 3000, 1000, "milliseconds")
    assert (size, slide, time.values.tolist(), time.type) == (3, 1, [1, 2], pa.timestamp("s"))
    size, slide, time = units(seconds, 3000, Fraction("0.5"), "milliseconds")
    assert (size, slide, time.values.tolist(), time.type) == (
        3_000_000,
        500,
        [10**6, 2 * 10**6],
        pa.timestamp("us"),
    )
    size, slide, time = units(pa.array([1, 2], pa.date32()), 3_600_000, None, "milliseconds")
    assert (size, slide, time.values.tolist(), time.type) == (3600, None, [86400, 172800], pa.timestamp("s"))
    zoned = units(pa.array([1], pa.timestamp("ms", "UTC")), Fraction(1, 2), None, "milliseconds")[2]
    assert zoned.type == pa.timestamp("us", "UTC")
    assert units([1, 2], 5, None, "time")[0] == 5
    assert units([1, 2], 5000, 1000, "milliseconds", "seconds")[:2] == (5, 1)
    assert units([1.0, 2.0], 500, None, "milliseconds", "seconds")[0] == Fraction(1, 2)
    assert units(seconds, 5, 1, "events")[:2] == (5, 1)
    assert code(QueryError, units, seconds, 5, None, "time") == "unit-needed"
    assert code(QueryError, units, [1], 5, None, "milliseconds") == "unit-unknown"
    assert code(QueryError, units, [1], Fraction(1, 2), None, "time") == "window-not-integer"
    assert code(QueryError, units, [1], 1500, None, "milliseconds", "seconds") == "window-not-integer"
    assert code(QueryError, units, seconds, Fraction(1, 10**9), None, "milliseconds") == "window-not-integer"
    far = pa.array([2**40], pa.timestamp("s"))
    assert code(DataError, units, far, Fraction(1, 10**6), None, "milliseconds") == "overflow"


# ---- labels


def bound(*labels, local=None, types=None):
    made = tuple(Label(name, type, False) for name, type in labels)
    local = local or ((),) * len(made)
    return Bound(Atom("A"), made, "skip-till-any-match", local, (), (), (), (), (), None, types)


X = Field(("x",))


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([["A", "C", None], ["B"]]),
        pa.chunked_array([["A", "C", None], ["B"]], pa.large_string()),
        pa.chunked_array([["A", "C", None], ["B"]], pa.string_view()),
        pa.chunked_array([["A", "C", None], ["B"]]).dictionary_encode(),
        pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(pa.array([2, 1, 0], pa.int8()), [None, "C", "A"]),
                pa.DictionaryArray.from_arrays(pa.array([1], pa.int8()), ["B", "B"]),
            ]
        ),
    ],
)
def test_masks_of_a_type_column(column):
    masks = label_masks(bound(("x", "A"), ("y", "A"), ("None", "None"), ("B", "B")), pa.table({"t": column}), "t")
    assert masks.tolist() == [3, 0, 0, 8] and masks.dtype == np.uint8 and masks.flags.writeable


@pytest.mark.parametrize("type", [pa.int8(), pa.uint64(), pa.int64(), pa.dictionary(pa.int8(), pa.int32())])
def test_masks_of_numbered_types(type):
    values = pa.array([1, 20, None, 7], type.value_type if pa.types.is_dictionary(type) else type)
    column = values.dictionary_encode() if pa.types.is_dictionary(type) else values
    names = bound(("a", "1"), ("b", "20"), ("c", "020"), ("d", "99999999999999999999"))
    assert label_masks(names, pa.table({"t": column}), "t").tolist() == [1, 2, 0, 0]


def test_masks_of_far_numbers():
    for type, far in ((pa.int64(), 2**62), (pa.uint64(), 2**64 - 1)):
        table = pa.table({"t": pa.array([1, far, None], type)})
        assert label_masks(bound(("a", "1"), ("b", str(far)), ("c", "x")), table, "t").tolist() == [1, 2, 0]


def test_masks_without_a_type_column_and_with_predicates():
    table = pa.table({"x": [1, 5, None]})
    low, high = Call("<", (X, Literal_(3))), Call(">", (X, Literal_(0)))
    assert label_masks(bound(("a", "A"), ("b", "B")), table, None).tolist() == [3, 3, 3]
    defined = bound(("a", "Low"), ("b", "High"), types=(("Low", low), ("High", high), ("Other", low)))
    assert label_masks(defined, table, None).tolist() == [3, 2, 0]
    local = bound(("a", "A"), ("b", "A"), local=((low,), (high, low)))
    assert label_masks(local, table, None).tolist() == [3, 0, 0]


@pytest.mark.parametrize(("count", "dtype"), [(8, np.uint8), (9, np.uint64), (64, np.uint64)])
def test_masks_have_two_widths(count, dtype):
    term = Call("=", (X, Literal_(1)))
    names = bound(*((f"l{i}", "A") for i in range(count)), local=((),) * (count - 1) + ((term,),))
    masks = label_masks(names, pa.table({"t": ["A", "A"], "x": [1, 2]}), "t")
    assert masks.dtype == dtype
    assert [int(mask) for mask in masks] == [2**count - 1, 2 ** (count - 1) - 1]


def test_masks_that_cannot_be():
    table = pa.table({"t": [0.5], "x": [1]})
    assert code(DataError, label_masks, bound(("a", "A")), table, "t") == "wrong-type"
    assert code(DataError, label_masks, bound(("a", "A")), table, "u") == "missing-column"
    many = bound(*((f"l{i}", "A") for i in range(65)))
    assert code(QueryError, label_masks, many, table, None) == "too-many-labels"


def test_a_predicate_that_overflows_on_rows_of_another_type_is_fine():
    term = Call(">", (Call("*", (X, Literal_(4))), Literal_(4)))
    names = bound(("A", "A"), ("B", "B"), local=((term,), ()))
    table = pa.table({"t": ["A", "B", "A"], "x": [1, 2**62, 2]})
    assert label_masks(names, table, "t").tolist() == [0, 2, 1]
    assert code(DataError, label_masks, names, table.slice(0).set_column(0, "t", [["A"] * 3]), "t") == "overflow"


# ---- keys


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
            patch.setattr(keys, "_room", lambda rows: 0)
        found, first = combine_codes(parts, [size] * count)
    tuples = [None if -1 in each else each for each in zip(*(p.tolist() for p in parts), strict=True)]
    assert [c < 0 for c in found.tolist()] == [t is None for t in tuples]
    assert (
        len(set(zip(found.tolist(), tuples, strict=True)) - {(-1, None)}) == len(set(tuples) - {None}) == len(first)
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


# ---- values


NUMBERS = pa.table(
    {
        "i": [3, None, -4],
        "f": [0.5, math.nan, 3.0],
        "d": pa.array([Decimal("1.25"), None, Decimal("-2.00")]),
        "w": pa.array([Decimal("1.25"), None, Decimal("-2.00")], pa.decimal256(50, 2)),
        "t": ["a", "b", None],
        "b": [True, False, None],
        "z": [0.0, None, -0.0],
        "n": pa.nulls(3),
    }
)


def test_sum_values():
    for name, wanted in {"i": [3, math.nan, -4], "f": [0.5, math.nan, 3], "d": [1.25, math.nan, -2]}.items():
        assert sum_values(NUMBERS, (name,)).tolist() == pytest.approx(wanted, nan_ok=True)
    assert np.isnan(sum_values(NUMBERS, ("n",))).all()
    assert (
        code(DataError, sum_values, NUMBERS, ("t",)) == code(DataError, sum_values, NUMBERS, ("b",)) == "wrong-type"
    )
    with pytest.raises(DataError, match=r"'t' is text .string., for example 'a'"):
        sum_values(NUMBERS, ("t",))


def test_exact_values():
    wanted = {
        "i": ([3, NULL, -4], Fraction(1)),
        "f": ([1, NULL, 6], Fraction(1, 2)),
        "d": ([125, NULL, -200], Fraction(1, 100)),
        "w": ([125, NULL, -200], Fraction(1, 100)),
        "z": ([0, NULL, 0], Fraction(1)),
        "n": ([NULL] * 3, Fraction(1)),
    }
    for name, (values, scale) in wanted.items():
        ((found, found_scale),) = exact_values(NUMBERS.slice(0), (name,))
        assert (found.tolist(), found_scale) == (values, scale)
        assert exact_values(NUMBERS.slice(1), (name,))[0][0].tolist()[0] == NULL
    far = {"b": [math.inf, 1.0], "c": [NULL, 1]}
    far["d"] = pa.array([Decimal(10) ** 20, Decimal(1)])
    for name in far:
        assert code(DataError, exact_values, pa.table(far), (name,)) == "not-exact"


@settings(deadline=None)
@given(st.lists(st.none() | st.floats(allow_infinity=False, allow_nan=False), max_size=8))
def test_exact_floats(values):
    parts = exact_values(pa.table({"x": pa.array(values, pa.float64())}), ("x",))
    for i, value in enumerate(values):
        if value is None:
            assert all(found[i] == NULL for found, _ in parts)
        else:
            assert sum(int(found[i]) * scale for found, scale in parts) == Fraction(value)


LOW = [
    pa.array([3, None, -4, 7]),
    pa.array([3, None, 2, 7], pa.uint8()),
    pa.array([2**63 + 1, None, 2**63, 2**64 - 1], pa.uint64()),
    pa.array([2**53 + 1, None, 2**53, 2**53 + 2]),
    pa.array([5, None, -(2**63), 2**63 - 1]),
    pa.array([0.5, math.nan, -1.0, math.inf]),
    pa.array([0.5, None, -1.0, 2.0], pa.float32()),
    pa.array([Decimal("0.50"), None, Decimal("-1.00"), Decimal("2.00")]),
    pa.array(["b", None, "a", "\u00e9"]),
    pa.array(["b", None, "a", "c"], pa.string_view()),
    pa.array(["b", None, "a", "c"]).dictionary_encode(),
    pa.array([b"b", None, b"a", b"c"]),
    pa.array([DAY, None, datetime(1, 1, 1), datetime(9000, 1, 1)]),
    pa.array([DAY, None, datetime(2000, 1, 1), datetime(2100, 1, 1)], pa.timestamp("ns", "UTC")),
    pa.array([date(2024, 5, 1), None, date(1, 1, 1), date(9000, 1, 1)]),
    pa.array([date(2024, 5, 1), None, date(1, 1, 1), date(9000, 1, 1)], pa.date64()),
    pa.array([2, None, 1, 3], pa.duration("s")),
    pa.array([2, None, 1, 3], pa.time32("s")),
]


@pytest.mark.parametrize("column", LOW, ids=lambda column: str(column.type))
@pytest.mark.parametrize("maximum", [False, True])
def test_low_values(column, maximum):
    table = pa.table({"x": pa.chunked_array([column[:2], column[2:]])})
    kept, back = low_values(table, ("x",), maximum)
    assert kept.dtype == np.float64 and np.argsort(kept).tolist() == ([3, 0, 2, 1] if maximum else [2, 0, 3, 1])
    type = fields.value_type(column.type)
    found = back(np.array([kept[0], math.nan, np.nanmin(kept)]))
    assert found.type == type
    assert found.to_pylist() == [column[0].as_py(), None, column[3 if maximum else 2].as_py()]
    assert back(np.zeros(0)).type == type


def test_low_values_of_booleans_and_nothing():
    kept, back = low_values(NUMBERS, ("b",), True)
    assert back(np.array([np.nanmin(kept), math.nan])).to_pylist() == [True, None]
    kept, back = low_values(NUMBERS, ("n",), False)
    assert np.isnan(kept).all() and back(np.array([math.nan])).to_pylist() == [None]
    assert code(DataError, low_values, pa.table({"l": [[1]]}), ("l",), False) == "wrong-type"
    for name in NUMBERS.column_names:
        assert len(low_values(NUMBERS.slice(0, 0), (name,), False)[0]) == 0
