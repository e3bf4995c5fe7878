"""Charts as text, as they look."""

import re
from textwrap import dedent
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkleene.charts import Chart, chart
from sparkleene.charts.cells import width_of

STARTS = np.datetime64("2024-03-04T09:00:00") + np.arange(8) * np.timedelta64(600, "s")


def shows(made: Chart, expected: str, **options: Any) -> None:
    drawn = made.text(**options)
    assert drawn == dedent(expected).strip("\n"), f"\n{drawn}"


def one_group() -> Chart:
    return chart(pa.table({"window_start": STARTS, "count": [1.0, 2, 4, 8, 7, 5, 3, 1]}), title="Trends")


def two_groups() -> Chart:
    banks = ["9", "900", "90000", None, "1" + "0" * 40, "8", "70", "600"]
    tools = ["1", "20", "3" + "0" * 30, "4" + "0" * 60, "5" + "0" * 120, "100", None, "7"]
    columns = {"window_start": np.tile(STARTS, 2), "sector": ["tools"] * 8 + ["banks"] * 8}
    return chart(pa.table(columns | {"count": tools + banks}), groups=["sector"])


def test_one_group() -> None:
    shows(
        one_group(),
        """
        Trends
        count
        8 ┤         ███▄▄▄
          │         ██████▄▄▄
          │      ████████████▄▄▄
        0 ┤▄▄▄██████████████████▄▄▄
           2024-03-04 09:00   10:10
        """,
        width=30,
        height=7,
    )


def test_plain_characters() -> None:
    shows(
        one_group(),
        """
        Trends
        count
        8 +         ###===
          |         ######===
          |      ############===
        0 +===##################===
           2024-03-04 09:00   10:10
        """,
        width=30,
        height=7,
        ascii=True,
    )


def test_groups_have_a_panel_each_on_one_scale() -> None:
    shows(
        two_groups(),
        """
        count by sector (log scale, 1 to 5.0e+120)
        banks                            1.0e+40
              ▁▁▁▁▁▁▁▁▁   ▅▅▅▁▁▁▁▁▁▁▁▁

        tools             ███           5.0e+120
              ▁▁▁▁▁▁▄▄▄██████▁▁▁   ▁▁▁
              2024-03-04 09:00   10:10
        """,
        width=42,
        height=9,
    )


def test_colors_change_nothing_else() -> None:
    plain, colored = two_groups().text(width=50), two_groups().text(width=50, color=True)
    assert "\033[38;5;" in colored
    assert re.sub(r"\033\[[0-9;]*m", "", colored) == plain


def test_both_signs_grow_from_zero_and_a_missing_window_is_a_gap() -> None:
    made = chart(pa.table({"window_start": [0, 10, 20, 30, 50], "sum_x": [5.0, -3, 0, 2, -5]}))
    shows(
        made,
        """
        sum_x
         5 ┤████
           │████    ▄▄▄▄████
           │    ████            ████
        -5 ┤                    ████
            0                     50
        """,
        width=30,
        height=6,
    )


def test_negative_values_hang() -> None:
    made = chart(pa.table({"window_start": [0, 10, 20], "sum_x": [-1.0, -2, -4]}))
    shows(
        made,
        """
        sum_x
         0 ┤██████████████████
           │      ▀▀▀▀▀▀██████
        -4 ┤            ██████
            0               20
        """,
        width=30,
        height=5,
    )


def test_bars() -> None:
    table = pa.table({"g": ["a", "b", "c", "d"], "count": [3.0, 12, None, 6]})
    shows(
        chart(table, groups=["g"]),
        """
        count by g
        b ███████████████████████    12
        d ███████████▌                6
        a █████▊                      3
        c                          none
        """,
        width=31,
    )


def test_bars_of_both_signs() -> None:
    made = chart(pa.table({"g": ["a", "b"], "sum_x": [5.0, -3]}), groups=["g"])
    shows(made, "sum_x by g\na          ███████████████   5\nb █████████                 -3", width=30)


def test_the_only_window_is_named() -> None:
    table = pa.table({"window_start": STARTS[:1], "window_end": STARTS[1:2], "count": [43.0]})
    first = chart(table).text(width=70).splitlines()[0]
    assert first == "count (2024-03-04 09:00 to 2024-03-04 09:10)"


@pytest.mark.parametrize("values", [[], [None, None], [float("nan")] * 2])
def test_nothing_to_draw(values: list[float | None]) -> None:
    table = pa.table({"window_start": list(range(len(values))), "count": pa.array(values, pa.float64())})
    assert chart(table, title="T").text().splitlines() == ["T", "count", "  no values" if values else "  no rows"]


def test_a_column_shows_the_largest_of_its_windows() -> None:
    values = np.ones(10_000)
    values[7_777] = 100.0
    lines = chart(pa.table({"window_start": np.arange(10_000), "count": values})).text(60).splitlines()
    assert lines[1].startswith("100 ┤") and lines[1].count("█") == 1
    assert all(width_of(line) <= 60 for line in lines)


def test_groups_that_do_not_fit_are_counted() -> None:
    table = pa.table({"window_start": [0, 1] * 50, "g": np.repeat(np.arange(50), 2), "count": np.arange(100.0)})
    made = chart(table, groups=["g"], most=20)
    lines = made.text(height=8).splitlines()
    assert lines[-1] == "and 45 groups more"
    assert [line.split()[0] for line in lines[1:-2]] == ["45", "46", "47", "48", "49"]
    assert made.text(height=40).splitlines()[-1] == "and 30 groups more"


def test_infinite_values_are_explained() -> None:
    text = chart(pa.table({"window_start": [0, 1], "count": [1.0, float("inf")]})).text()
    assert "1.8e+308 ┤" in text and text.splitlines()[-1].startswith("inf is beyond")


def test_printing_a_chart_draws_it() -> None:
    made = one_group()
    assert str(made) == made.text()
    assert repr(made) == "<chart of count over 8 windows, 1 series>"


# ---- any table

numbers = st.one_of(st.none(), st.floats(), st.integers(-5, 5).map(float), st.floats(1e300, 1.7e308))
exact = st.one_of(
    st.none(),
    st.integers(-(10**40), 10**40).map(str),
    st.integers(1, 6000).map(lambda n: "7" * n),
    st.integers(1, 600).map(lambda n: "-0." + "0" * n + "3"),
)
starts = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(0, 50), st.floats(-1e6, 1e6), st.datetimes().map(np.datetime64)
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, list[str]]:
    rows = draw(st.integers(0, 12))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    columns: dict[str, Any] = {}
    kind = draw(st.sampled_from([None, *starts.original_strategies]))  # type: ignore[attr-defined]
    if kind is not None:
        columns["window_start"] = pa.array(np.array(column(kind)) if rows else pa.array([], pa.int64()))
    groups = draw(st.sampled_from([[], ["g"], ["g", "h"]]))
    for name in groups:
        columns[name] = pa.array(column(st.one_of(st.none(), st.text(max_size=30))), pa.string())
    if draw(st.booleans()):
        columns["value"] = pa.array(column(numbers), pa.float64())
    else:
        columns["value"] = pa.array(column(exact), pa.string())
    return pa.table(columns), groups


@given(tables(), st.integers(24, 120), st.integers(4, 30), st.booleans(), st.text(max_size=60))
def test_text_fits_whatever_the_table(
    made: tuple[pa.Table, list[str]], width: int, height: int, ascii: bool, title: str
) -> None:
    table, groups = made
    drawn = chart(table, groups=groups, title=title).text(width, height, ascii=ascii)
    lines = drawn.split("\n")
    assert all(width_of(line) <= width for line in lines), drawn
    assert len(lines) <= max(height, 6), drawn
    assert drawn.isascii() or not ascii
    assert all(c.isprintable() for line in lines for c in line)
