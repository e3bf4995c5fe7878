"""Every script in examples/spark runs from top to bottom and shows what it promises."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.chance import rest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FOLDER = Path(__file__).parents[2] / "examples" / "spark"

LINES = {
    "a_seq": """
        |10.0.0.99|36.0|      8|
        10.0.0.99 has 36 sequences with a wrong password in ten seconds.
        spread    by IP
        |10.0.0.99|09:30:00.0 TypeUsername, 09:30:02.0 TypePassword, 09:30:02.5 ClickSubmit|
        """,
    "greta": """
        |2024-03-04 13:30:00|1,704 |881    |1,169 |130,193|1,509|
        Most are in energy from 10:26:50: 455,235 down trends.
        groups    the parts of each are added up by Spark
        finance, 09:21:00 to 09:31:00: 12
        |fin-7 97.91, fin-7 97.86|
        """,
    "cogra": """
        |2024-03-04 12:00:00|8 at 13.1 |7 at 15.3 |10 at 19.9|7 at 22.7 |16 at 25.4|
        The fastest rides are in the west: 34.7 km/h.
        spread    by driver, rider, district
        north, 09:12 to 09:42: 3 rides
        |1    |09:37:00|09:41:56|33.7 36.6 37.6 38.2                         |
        """,
    "live": """
        batch 0: 10000 prices, 0 late
        95 rows of windows up to 00:00:25
        95 rows live, 95 as a batch; 3 late prices, 3 rows differ
        """,
    "hamlet": """
        |11:00|centre  |50316 |21.3 |4608     |18.0      |
        8,189,421 trends of pooled rides in all windows.
        spread    by driver, rider
        west, 14:00 to 14:30: 10 trends
        |R 14:22:40, T 14:23:45, T 14:24:25, T 14:25:19, D 14:26:31|
        """,
    "by_path": """
        19,992 events in 6 files
        |11:49|11:54|1,067,759|62.8 |
        reads     12 of 12 row groups of 6 files, 19,992 rows
        reads     9 of 12 row groups of 6 files, 14,994 rows
        |2024-03-04 11:00:00|2024-03-04 12:00:00|6.0  |
        |09:27|1      |09:30:32 92.3, 09:30:42 81.9, 09:31:02 81.7               |
        """,
}


NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
QUICK = ["a_seq", "by_path"]  # a frame, and files; streams are run by the pages of the docs


@pytest.mark.parametrize("name", [*QUICK, *rest(name for name in NAMES if name not in QUICK)])
def test_example_runs(
    name: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    spark.catalog.clearCache()
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    wanted = [line.strip() for line in LINES[name].strip().splitlines()]
    assert [line for line in wanted if line not in shown] == []


@pytest.mark.parametrize("name", sorted(LINES))
def test_example_is_there_in_cells(name: str) -> None:
    assert (FOLDER / f"{name}.py").read_text(encoding="utf-8").startswith("# %% [markdown]\n# # ")
