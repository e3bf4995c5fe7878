"""The papers' figures: what is asked, how a point is measured, and what is said and drawn of the results."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from functools import partial

import pytest
from benchmarks import figure_page, figures, plots, record
from benchmarks.experiments import EXPERIMENTS, OURS

PAPERS = {"COGRA": range(5, 14), "GRETA": range(14, 18), "A-Seq": range(12, 17), "HAMLET": (8, 10, 11)}


def content(**seconds: list[float | None]) -> dict:
    points = [
        {"system": name.replace("_", " "), "x": 10**place, "seconds": one, "peak_bytes": 1000}
        for name, several in seconds.items()
        for place, one in enumerate(several, 1)
    ]
    return {"axis": "events", "points": points}


def test_all_figures_are_there() -> None:
    names = {one.figure for one in EXPERIMENTS.values()}
    for paper, numbers in PAPERS.items():
        for number in numbers:
            assert any(name.startswith(paper) and f" {number}" in name for name in names), (paper, number)


def test_work_grows() -> None:
    assert EXPERIMENTS["cogra-10"].values(full=True)[-1] == 100_000_000
    assert EXPERIMENTS["cogra-12"].values(full=False) == (3000, 1000, 30, 5)  # fewer groups are more work


def test_points_have_a_limit() -> None:
    nothing = partial(list, ())
    found = figures.apart(lambda: [1.0, 2.0], nothing, 20)
    assert found is not None
    assert found.found == (2, 3.0, 0)
    assert figures.apart(lambda: [time.sleep(20)], nothing, 0.2) is None
    with pytest.raises(RuntimeError, match="a point failed"):
        figures.apart(lambda: [1 / 0], nothing, 20)


def test_results_are_compared() -> None:
    assert figures.summary([1.0, float("inf"), 2.0]) == (3, 3.0, 1)
    assert figures._alike((2, 3.0, 0), (2, 3.0 + 1e-12, 0))
    assert not figures._alike((2, 3.0, 0), (2, 3.1, 0))


def test_an_experiment_runs(tmp_path) -> None:
    found = figures.run(EXPERIMENTS["hamlet-11b"], "quick", (2,))
    assert found["differences"] == []
    assert [point["system"] for point in found["points"]] == ["one by one", "always shared", OURS]
    assert all(point["seconds"] > 0 and point["peak_bytes"] >= 0 for point in found["points"])


def test_what_is_said() -> None:
    said = figure_page.compare(content(Sparkleene=[0.1, 0.1], event_graph=[1.0, None], per_window=[0.05, 0.2]))
    assert said == (
        "Their time by ours: event graph 10 times at 10 and no further; per window 2 times at 100."
        " **Faster than we:** per window at 10 (2.0 times)."
    )


def test_exponents(tmp_path) -> None:
    assert figure_page.fit([(1.0, 2.0), (10.0, 200.0), (100.0, 20000.0)]) == pytest.approx(2)
    made = content(Sparkleene=[0.001, 0.01, 0.1])
    record.write("figures/scaling-events", made, tmp_path)
    assert list(figure_page.exponents(tmp_path))[-1].endswith("10: 1 ms, 100: 10 ms, 1,000: 100 ms | 1.00 |")


def test_plots_are_small_and_well_formed() -> None:
    text = plots.plot(content(Sparkleene=[0.1, 0.2], event_graph=[1.0, None]))
    root = ET.fromstring(text)
    assert len(root.findall(".//{*}circle")) == 6  # three points, twice
    assert len(text) < 8000
