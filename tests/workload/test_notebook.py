"""A workload in a notebook: its queries with pictures, and charts of its results."""

import pyarrow as pa
import pytest

import sparkleene as sk

TEXTS = {
    "pairs <&>": "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 SLIDE 10",
    "runs": "RETURN user, MAX(A.x), COUNT(*) PATTERN A+ WHERE [user] GROUP-BY user",
}
TABLE = pa.table({"time": [0, 1, 12, 30, 31], "type": list("ABAAB"), "user": list("xyxyx"), "x": [1.0, 2, 3, 4, 5]})


def test_a_workload_shows_its_queries_and_what_they_share() -> None:
    work = sk.workload(TEXTS)
    shown = work._repr_html_()
    assert shown.count("<svg") == 2
    assert "<h4>pairs &lt;&amp;&gt;</h4>" in shown and "PATTERN A+" in shown
    assert "Workload of 2 queries" in shown


def test_each_query_has_a_chart_of_its_rows() -> None:
    work = sk.workload(TEXTS)
    charts = work.plot(work.run(TABLE))
    assert list(charts) == list(TEXTS) and len(charts) == 2
    assert charts["pairs <&>"].series[0].y.words() == ["1", "0", "0", "1"]
    assert [series.name for series in charts["runs"].series] == ["y", "x"]
    assert charts._repr_html_().count("<svg") == 2
    assert "runs\nmax_A_x by user" in charts.text()
    assert list(work.plot(work.run(TABLE), "max_A_x")) == ["runs"]


def test_a_value_that_no_query_has() -> None:
    work = sk.workload(TEXTS)
    with pytest.raises(sk.QueryError, match="no query has an aggregate 'size'") as caught:
        work.plot(work.run(TABLE), "size")
    assert caught.value.diagnostics[0].help == "choose from count, max_A_x"


def test_charts_of_all_are_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    work = sk.workload(TEXTS)
    work.plot(work.run(TABLE)).show()
    shown = capsys.readouterr().out
    assert "pairs <&>\n" in shown and "runs\n" in shown
