"""The demo runs to its end and shows what it promises."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
def test_demo(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sparkleene", "demo", "--events", "20000", "--output", "made"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for number, word in enumerate(
        ("contiguous", "skip-till-next", "skip-till-any", "negation", "the same live"), 1
    ):
        assert f"\n{number}  {word}" in done.stdout
    assert "each equals that of the batch" in done.stdout
    assert "\nwhere the time went\n" in done.stdout
    made = tmp_path / "made"
    assert (made / "falling_prices.svg").read_text().startswith("<?xml")
    assert {path.stem for path in made.glob("*.parquet")} == {"cluster", "rides", "stock", "traffic"}
