from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
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


@pytest.fixture
def commands_share_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let commands that run in this process use its session; to start another takes ten seconds."""
    before: dict[str, str | None] = {}

    def start(master: str, config: dict[str, str]) -> SparkSession:
        assert master == spark.conf.get("spark.master")
        for name, value in config.items():
            if spark.conf.isModifiable(name):
                before.setdefault(name, spark.conf.get(name, None))
                spark.conf.set(name, value)
        return spark

    monkeypatch.setattr(sk.spark, "session", start)
    monkeypatch.setattr(spark, "stop", lambda: None)
    yield
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
