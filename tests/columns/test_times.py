"""The time column as numbers, and windows in its unit."""

import math
from datetime import datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.columns.faults import code

from sparkleene.columns.times import time_column, window_units
from sparkleene.errors import DataError, QueryError
from sparkleene.language.bound import Window

NULL = -(2**63)
DAY = datetime(2024, 5, 1)


@pytest.mark.parametrize(
    ("type", "ticks"),
    [
        (pa.timestamp("s"), Fraction(1, 1000)),
        (pa.timestamp("ns", "UTC"), Fraction(10**6)),
        (pa.duration("us"), Fraction(1000)),
        (pa.date32(), Fraction(1, 86_400_000)),
        (pa.date64(), Fraction(1)),
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
    wrong = {
        "null": "null-time",
        "day": "null-time",
        "nan": "nan-time",
        "inf": "nan-time",
        "text": "wrong-type",
    }
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
