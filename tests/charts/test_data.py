"""What a chart is made of: columns, groups, numbers, scales and windows."""

import math

import numpy as np
import pyarrow as pa
import pytest

from sparkleene.charts import Chart, chart
from sparkleene.charts.numbers import Numbers, format_number, numbers, parse_decimals
from sparkleene.charts.scale import Scale, scale_of
from sparkleene.charts.times import axis_of, localize, read_starts
from sparkleene.errors import DataError, QueryError


def windows(values: list[float | str | None], **more: object) -> Chart:
    return chart(pa.table({"window_start": list(range(len(values))), "value": values}), **more)  # type: ignore[arg-type]


# ---- which column


def test_the_first_number_is_drawn() -> None:
    table = pa.table(
        {"window_start": [0], "window_end": [9], "g": [3], "max_t": ["b"], "count": ["12"], "n": [1.0]}
    )
    assert chart(table, groups=["g"]).value == "count"
    assert chart(table, groups=["g"], value="n").value == "n"


def test_a_wrong_name_lists_the_columns() -> None:
    table = pa.table({"sector": ["a"], "count": [1.0]})
    with pytest.raises(DataError) as caught:
        chart(table, value="coutn", groups=["sector"])
    [wrong] = caught.value.diagnostics
    assert wrong.code == "missing-column"
    assert wrong.notes == ("its columns are sector, count",)
    assert wrong.help == "did you mean 'count'?"
    with pytest.raises(DataError, match="'sektor'"):
        chart(table, groups=["sektor"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": "max_t"}, "column 'max_t' is no number to draw"),
        ({"value": "g", "groups": ["g"]}, "column 'g' is no number to draw"),
        ({"most": 0}, "most is 0"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    table = pa.table({"g": [3], "max_t": ["b"], "count": [1.0]})
    with pytest.raises(QueryError, match=message) as caught:
        chart(table, **options)  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code == "bad-option"


def test_a_result_without_numbers() -> None:
    with pytest.raises(QueryError, match="no column of numbers"):
        chart(pa.table({"max_t": ["b"]}))


# ---- numbers


def test_numbers_of_any_size() -> None:
    read = parse_decimals(["9" * 5000, "-" + "9" * 5000, "0", "0.000", "12.5", "-0.0025", None, "1" + "0" * 17])
    assert read.sign.tolist()[:6] == [1, -1, 0, 0, 1, -1] and math.isnan(read.sign[6])
    assert read.log10 == pytest.approx(
        [5000, 5000, -math.inf, -math.inf, math.log10(12.5), math.log10(0.0025), math.nan, 17], nan_ok=True
    )
    tiny = parse_decimals(["0." + "0" * 400 + "25"])
    assert tiny.log10[0] == pytest.approx(-401 + math.log10(2.5))


def test_exact_and_double_numbers_are_the_same() -> None:
    values = [0.0, 1.0, -3.25, 1e300, 123456789.0]
    double = numbers(pa.chunked_array([values]))
    exact = parse_decimals([f"{value:f}" for value in values])
    assert double.sign.tolist() == exact.sign.tolist()
    assert double.log10 == pytest.approx(exact.log10)
    assert double.words() == exact.words()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (1234, "1,234"),
        (-1234567, "-1,234,567"),
        (0.1, "0.1"),
        (2.34567, "2.346"),
        (99999999.0, "1.0e+08"),
        (1e-7, "1.0e-07"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (1234.6, "1,235"),
    ],
)
def test_words(value: float, text: str) -> None:
    size = -math.inf if value == 0 else math.log10(abs(value)) if math.isfinite(value) else math.inf
    assert format_number(float(np.sign(value)), size) == text


# ---- scales


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([1, 10, 900], False),
        ([1, 10, 9000], True),
        ([1e7, 9e8], True),
        ([1e7, 1.1e7], False),
        ([-1, 10, 1e9], False),
        ([0, 1, 1e5], True),
        ([math.inf, 5], True),
        ([-math.inf, 5], False),
        ([None, 3], False),
        ([1e-3] + [5.0] * 99, False),
    ],
)
def test_log_scale(values: list[float | None], log: bool) -> None:
    assert windows(values).scale.log is log


def test_places() -> None:
    scale = Scale(True, 0.0, 4.0)
    assert scale.places(parse_decimals(["1", "100", "10000", None])) == pytest.approx(
        [0, 0.5, 1, math.nan], nan_ok=True
    )
    zero = scale_of(parse_decimals(["0", "1", "10000"]))
    assert zero.zero and zero.places(parse_decimals(["0"])).tolist() == [0]
    assert zero.places(parse_decimals(["1"]))[0] > 0.1
    both = scale_of(parse_decimals(["-2" + "0" * 400, "2" + "0" * 400]))
    assert both.places(parse_decimals(["0", "1" + "0" * 400])) == pytest.approx([0.5, 0.75])
    assert both.places(Numbers(np.array([1.0, -1.0]), np.array([np.inf, np.inf]))).tolist() == [1, 0]


def test_ticks_are_few_and_inside() -> None:
    for values in (["1", "2"], ["-5", "3"], ["1", "9" * 5000], ["0.001", "0.002"], ["0", "3", "9" * 30], ["7" * 9]):
        for scale in (scale_of(parse_decimals(values)), scale_of(parse_decimals(values), bars=True)):
            ticks = scale.ticks()
            assert 2 <= len(ticks) <= 9
            assert all(-0.05 <= tick.place <= 1.05 for tick in ticks)
            assert len({tick.place for tick in ticks}) == len(ticks)


# ---- groups


def test_the_largest_groups_are_kept_in_order() -> None:
    table = pa.table({"window_start": [0, 1] * 5, "g": list("ddaabbccee"), "n": [1.0, 2, 9, 1, 5, 5, 8, 0, -1, -9]})
    made = chart(table, groups=["g"], most=3)
    assert [series.name for series in made.series] == ["a", "b", "c"]
    assert (made.left_out, made.more(3), made.more(2)) == (2, "and 2 groups more", "and 3 groups more")
    assert made.series[0].peak().words() == ["9"]


def test_infinite_groups_are_the_largest_and_missing_ones_the_smallest() -> None:
    table = pa.table({"g": list("abcd"), "n": [None, -1e300, math.inf, 3.0]})
    assert [series.name for series in chart(table, groups=["g"]).series] == ["c", "d", "b", "a"]


def test_groups_of_several_columns_of_any_type() -> None:
    table = pa.table(
        {
            "g": pa.chunked_array(
                [pa.array(["b", "a"]).dictionary_encode(), pa.array([None, "a"]).dictionary_encode()]
            ),
            "h": [10, 9, 1, 10],
            "window_start": [0, 0, 1, 1],
            "n": [1.0, 2.0, 3.0, 4.0],
        }
    )
    made = chart(table, groups=["g", "h"])
    assert [series.name for series in made.series] == ["a, 9", "a, 10", "b, 10", "NULL, 1"]
    assert made.by == "g, h"


def test_of_rows_for_one_window_the_largest_counts() -> None:
    made = chart(pa.table({"window_start": [1, 0, 1, 0], "n": [2.0, 7.0, None, 5.0]}))
    [series] = made.series
    assert series.x.tolist() == [0, 1] and series.y.words() == ["7", "2"]


def test_a_thousand_groups() -> None:
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "window_start": np.repeat(np.arange(100), 1000),
            "g": np.tile(np.arange(1000), 100),
            "n": rng.random(100_000),
        }
    )
    made = chart(table, groups=["g"])
    assert len(made.series) == 8 and made.left_out == 992
    assert all(series.x.size == 100 for series in made.series)


# ---- windows


def test_windows_at_equal_distances_have_a_step() -> None:
    axis = axis_of(np.array([0, 10, 20, 50, 60]))
    assert (axis.step, axis.cells, axis.windows) == (10, 7, 5)
    assert axis_of(np.array([0, 1, 50, 800])).step == 0
    assert axis_of(np.array([-(2**63), 0, 2**63 - 1])).span == pytest.approx(2.0**64)


def test_times_are_those_of_their_zone() -> None:
    column = pa.chunked_array([pa.array([0], pa.timestamp("s", "Europe/Berlin"))])
    values, zone = localize(*read_starts(column))
    assert (str(values[0]), zone) == ("1970-01-01T01:00:00", "Europe/Berlin")
    assert localize(values, "Nowhere/Atlantis")[1] == "UTC"


def test_dates_and_decimals_are_windows_too() -> None:
    for column in (pa.array([0, 1, 2], pa.date32()), pa.array([0, 1, 2], pa.int64()).cast(pa.decimal128(30, 2))):
        made = chart(pa.table({"window_start": column, "n": [1.0, 2.0, 3.0]}))
        assert made.axis is not None and made.axis.windows == 3


def test_one_window_is_drawn_as_bars() -> None:
    made = chart(
        pa.table({"window_start": [5, 5], "window_end": [9, 9], "g": ["a", "b"], "n": [1, 2]}), groups=["g"]
    )
    assert made.axis is None and made.window == "5 to 9"
