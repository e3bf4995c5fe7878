"""Which engine a command chooses, and what it says about that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import EVENTS, QUERY, ROWS, good, sparkleene, terminal

from sparkleene.cli import engines
from sparkleene.columns.files import open_files


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose memory holds hardly anything."""
    monkeypatch.setattr(engines, "memory_of_machine", lambda: 16 * 50)


def test_small_files_are_done_in_this_process(here: Path) -> None:
    assert good("run", QUERY, "events.csv", cwd=here) == ROWS
    assert len(good("trends", QUERY, "events.csv", cwd=here).splitlines()) == 4
    code, seen = terminal("run", QUERY, "events.csv", "-f", "csv", cwd=here)
    assert code == 0 and "note: in this process, for 66 bytes of events are at most " in seen
    assert "; --engine spark chooses Spark\n" in seen and ROWS in seen
    code, seen = terminal("run", QUERY, "events.csv", "-f", "csv", "--engine", "local", cwd=here)
    assert code == 0 and "in this process" not in seen


@pytest.mark.usefixtures("tiny")
def test_large_files_go_to_spark(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = open_files(here / "events.csv")
    assert engines.choose_engine("auto", found, None, None) == "spark"
    said = "on Spark, for 66 bytes of events are more than 50 bytes, 1/16 of the memory"
    assert capsys.readouterr().err == f"note: {said}; --engine local chooses this process\n"
    assert engines.choose_engine("local", found, None, None) == "local"
    assert capsys.readouterr().err == ""


def test_settings_of_spark_choose_spark(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = open_files(here / "events.csv")
    assert engines.choose_engine("auto", found, "local[2]", None) == "spark"
    assert engines.choose_engine("auto", found, None, ["a=b"]) == "spark"
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("tiny")
def test_files_without_rows_need_no_spark(here: Path) -> None:
    (here / "events.csv").write_text(EVENTS.partition("\n")[0] + "\n" * 100)
    assert sparkleene("run", QUERY, "events.csv", cwd=here).returncode == 0
