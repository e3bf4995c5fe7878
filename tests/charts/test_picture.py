"""Charts as PNG and SVG."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sparkleene.charts import Chart, chart
from sparkleene.charts.curve import band, break_at_gaps, thin_out
from sparkleene.charts.picture import figure, render
from sparkleene.charts.times import axis_of
from sparkleene.errors import QueryError

STARTS = np.datetime64("2024-03-04T09:00:00") + np.arange(12) * np.timedelta64(600, "s")
INF = float("inf")


def grouped(count: int, title: str = "") -> Chart:
    names = [f"_${i}$ <&> 東" for i in range(count)]
    columns = {"window_start": np.tile(STARTS, count), "g": np.repeat(names, 12), "n": np.arange(12.0 * count)}
    return chart(pa.table(columns), groups=["g"], title=title, most=50)


CASES = {
    "lines": grouped(3, "Trends & more, $5"),
    "panels": grouped(7),
    "one line": grouped(1),
    "exact": chart(pa.table({"window_start": STARTS, "n": ["7" * (400 * i + 1) for i in range(12)]})),
    "both signs": chart(pa.table({"window_start": STARTS, "n": ["-7" + "0" * 5000] + ["7"] * 11})),
    "zeros and gaps": chart(pa.table({"window_start": STARTS, "n": [0.0, 1e9, None] * 4})),
    "infinite": chart(pa.table({"window_start": STARTS, "n": [INF, 1e300, 1.0] * 4})),
    "infinite both ways": chart(pa.table({"window_start": STARTS, "n": [INF, -INF, 1.0] * 4})),
    "only infinite": chart(pa.table({"window_start": STARTS, "n": [INF] * 12})),
    "far off": chart(
        pa.table({"window_start": pa.array([3 * 10**11, 9 * 10**11], pa.timestamp("s")), "n": [1, 2]})
    ),
    "long ago": chart(pa.table({"window_start": pa.array([-9 * 10**10, 0], pa.timestamp("s")), "n": [1, 2]})),
    "fine": chart(
        pa.table({"window_start": pa.array([17 * 10**17, 17 * 10**17 + 1], pa.timestamp("ns")), "n": [1, 2]})
    ),
    "extreme": chart(pa.table({"window_start": [-(2**63), 2**63 - 1], "n": [1e308, 1.7e308]})),
    "numbers": chart(pa.table({"window_start": [-4, -2, 0, 2], "n": [1.0, 7.0, 31.0, 15.0]})),
    "bars": chart(pa.table({"g": ["$a", "b"], "n": [12.0, 7.0]}), groups=["g"]),
    "bars of both signs": chart(pa.table({"g": ["a", "b"], "n": [12.0, -7.0]}), groups=["g"]),
    "log bars": chart(pa.table({"g": ["a", "b", "c", "d"], "n": ["1" + "0" * 5000, "3", None, "0"]}), groups=["g"]),
    "infinite bars": chart(pa.table({"g": ["a", "b"], "n": [INF, -INF]}), groups=["g"]),
    "many bars": chart(pa.table({"g": list(range(99)), "n": list(range(99))}), groups=["g"], most=70),
    "one number": chart(pa.table({"n": [43.0]})),
    "no rows": chart(pa.table({"window_start": STARTS[:0], "n": pa.array([], pa.string())}), title="T"),
    "no values": chart(pa.table({"window_start": STARTS, "n": pa.array([None] * 12, pa.float64())})),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_pictures(name: str, tmp_path: Path) -> None:
    made = CASES[name]
    made.save(tmp_path / "chart.png")
    made.save(str(tmp_path / "chart.SVG"))
    made.save(tmp_path / "chart.pdf")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (tmp_path / "chart.pdf").read_bytes().startswith(b"%PDF-")
    svg = (tmp_path / "chart.SVG").read_text()
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert "<dc:date>" not in svg


@pytest.mark.parametrize("name", ["lines", "panels", "log bars"])
def test_the_same_chart_is_the_same_picture(name: str) -> None:
    assert CASES[name]._repr_svg_() == CASES[name]._repr_svg_()
    assert render(CASES[name], "pdf") == render(CASES[name], "pdf")


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("name", ["lines", "panels", "bars", "bars of both signs", "log bars"])
def test_all_that_is_written_is_inside(name: str) -> None:
    made = figure(CASES[name])
    renderer = FigureCanvasAgg(made).get_renderer()  # type: ignore[no-untyped-call]
    width, height = made.get_size_inches() * made.dpi
    for axes in made.axes:
        box = axes.get_tightbbox(renderer)
        assert box is not None
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, axes


def test_another_kind_of_file(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"does not end in \.png, \.svg or \.pdf") as caught:
        CASES["bars"].save(tmp_path / "chart.gif")
    assert caught.value.diagnostics[0].code == "bad-option"


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        CASES["bars"].save(tmp_path / "nowhere" / "chart.png")


def test_nothing_is_left_behind() -> None:
    code = """if 1:
        import sys
        import pyarrow as pa
        from sparkleene.charts import chart
        made = chart(pa.table({"window_start": [0, 1], "n": [1.0, 2.0]}))
        made.text()
        assert "matplotlib" not in sys.modules
        import matplotlib
        names = sorted(set(matplotlib.rcParams) - {"backend"})  # to ask for that one imports pyplot
        before = [matplotlib.rcParams[name] for name in names]
        made._repr_svg_()
        assert [matplotlib.rcParams[name] for name in names] == before
        assert "matplotlib.pyplot" not in sys.modules
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- lines


def test_lines_break_at_missing_windows() -> None:
    x = np.array([0, 10, 40, 50, 60])
    broken_x, y = break_at_gaps(x, np.arange(5.0), axis_of(x))
    assert (
        broken_x.tolist() == [0, 10, 10, 40, 50, 60] and np.isnan(y).tolist() == [False, False, True] + [False] * 3
    )
    uneven = np.array([0, 1, 50, 800])
    assert not np.isnan(break_at_gaps(uneven, np.arange(4.0), axis_of(uneven))[1]).any()


def test_long_lines_are_thinned_and_keep_their_peaks() -> None:
    x = np.arange(100_000)
    y = np.sin(x / 1000)
    y[77_777], y[50_000:50_010] = 9.0, np.nan
    short_x, short_y = thin_out(x, y)
    assert short_x.size < 5_000
    assert np.nanmax(short_y) == 9.0 and np.isnan(short_y).any()
    assert (np.diff(short_x) > 0).all()


def test_the_band_holds_all_lines() -> None:
    made = grouped(7)
    assert made.axis is not None
    x, low, high = band(made.series, [made.scale.places(series.y) for series in made.series], made.axis)
    assert x.tolist() == STARTS.tolist()
    assert low[0] == 0 and high[-1] == 1 and (low < high).all()
