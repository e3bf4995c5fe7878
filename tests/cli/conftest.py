from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import EVENTS

import sparkleene as sk
from sparkleene.cli.output_files import write_events


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder to work in, with a file of events."""
    (tmp_path / "events.csv").write_text(EVENTS)
    return tmp_path


@pytest.fixture(scope="session")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stock stream in every kind of file."""
    folder = tmp_path_factory.mktemp("streams")
    table = sk.generate("stock", 2000, groups=5)
    for kind in ("parquet", "csv", "json"):
        write_events(table, kind, str(folder / f"stock.{kind}"))  # type: ignore[arg-type]
    return folder
