"""Values to add up and to compare."""

import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.columns.faults import code

from sparkleene.columns import fields
from sparkleene.columns.values import exact_values, low_values, sum_values
from sparkleene.errors import DataError

NULL = -(2**63)
DAY = datetime(2024, 5, 1)


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
        code(DataError, sum_values, NUMBERS, ("t",))
        == code(DataError, sum_values, NUMBERS, ("b",))
        == "wrong-type"
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
    assert kept.dtype == np.float64 and np.argsort(kept).tolist() == (
        [3, 0, 2, 1] if maximum else [2, 0, 3, 1]
    )
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
