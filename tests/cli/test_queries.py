"""The papers' queries in examples/queries run as they are over what `generate` writes."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from tests.cli.command import LOCAL, good

QUERIES = Path(__file__).parents[2] / "examples" / "queries"
LISTED = re.findall(
    r"^\| `(\w+\.q)` \| (\w+) \|", (QUERIES / "README.md").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stream of each kind, as the command writes it."""
    folder = tmp_path_factory.mktemp("made")
    for number, stream in enumerate(sorted({stream for _, stream in LISTED})):
        kind = ("parquet", "csv", "json")[number % 3]
        good("generate", stream, "--events", "2000", "--groups", "8", "-o", f"{stream}.{kind}", cwd=folder)
    return folder


@pytest.mark.parametrize(("query", "stream"), LISTED, ids=[query for query, _ in LISTED])
def test_query_runs_as_it_is(made: Path, query: str, stream: str) -> None:
    [events] = made.glob(f"{stream}.*")
    rows = list(csv.DictReader(io.StringIO(good("run", QUERIES / query, events.name, *LOCAL, cwd=made))))
    assert rows
    for name, value in rows[0].items():
        if name.startswith(("count", "sum")):
            assert float(value) > 0
