"""The demo runs to its end and shows what it promises."""

from pathlib import Path

import pytest
from tests.cli.command import good


@pytest.mark.spark
@pytest.mark.usefixtures("commands_share_spark")
def test_demo(tmp_path: Path) -> None:
    shown = good("demo", "--events", "8000", "--output", "made", "--master", "local[2]", cwd=tmp_path)
    for number, word in enumerate(
        ("contiguous", "skip-till-next", "skip-till-any", "negation", "the same live"), 1
    ):
        assert f"\n{number}  {word}" in shown
    assert "each equals that of the batch" in shown
    assert "\nwhere the time went\n" in shown
    made = tmp_path / "made"
    assert (made / "falling_prices.svg").read_text().startswith("<?xml")
    assert {path.stem for path in made.glob("*.parquet")} == {"cluster", "rides", "stock", "traffic"}
