"""The demo runs to its end and shows what it promises."""

import re
import sys
from pathlib import Path

import pytest
from tests.cli.command import good

QUESTIONS = ("Do people who search", "How often do prices", "Where do cars get", "In how many ways")


@pytest.mark.spark
@pytest.mark.usefixtures("commands_share_spark")
def test_demo(tmp_path: Path) -> None:
    shown = good("demo", "--events", "20000", "--output", "made", "--master", "local[2]", cwd=tmp_path)
    for number, question in enumerate((*QUESTIONS, "The same on Spark"), 1):
        assert f"\n{number}  {question}" in shown
    assert shown.count("\n  => ") == 5
    assert re.search(r"The same \d+ rows as before, number by number", shown)
    assert all(len(line) <= 120 for line in shown.splitlines())
    made = tmp_path / "made"
    assert (made / "falling_prices.svg").read_text().startswith("<?xml")
    assert {path.stem for path in made.glob("*.parquet")} == {"clicks", "stock", "traffic"}
    for ending in re.findall(r"^    \S*sparkleene (.+)$", shown, re.MULTILINE):  # what it says comes next
        assert good(*ending.split(), cwd=tmp_path)


def test_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setattr("sparkleene.cli.demo.find_spec", lambda name: None)
    shown = good("demo", "--events", "8000", "--output", "made", cwd=tmp_path)
    assert all(question in shown for question in QUESTIONS)
    assert "pip install '.[spark]'" in shown and "Where to go next" in shown
    assert not (tmp_path / "made" / "falling_prices.svg").exists()
