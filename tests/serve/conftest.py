from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.serve.server import Person, serving

from sparkleene.generators import generate
from sparkleene.serve.settings import find_roots


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with events, beside one that nobody may read."""
    base = tmp_path_factory.mktemp("serve")
    given, other = base / "given", base / "other"
    (given / "days" / "day=1").mkdir(parents=True)
    other.mkdir()
    clicks = generate("clicks", 2000, rate=2)
    pq.write_table(clicks, given / "clicks.parquet")
    pq.write_table(clicks.slice(0, 500), given / "days" / "day=1" / "part.parquet")
    named = pa.table({"at": clicks.column("time"), "kind": clicks.column("type"), "who": clicks.column("userId")})
    pa_csv.write_csv(named, given / "renamed.csv")
    (given / "notes.txt").write_text("no events")
    (given / ".hidden.csv").write_text("time,type\n1,A\n")
    pq.write_table(clicks, other / "secret.parquet")
    (given / "link.parquet").symlink_to(other / "secret.parquet")
    (given / "linked").symlink_to(other, target_is_directory=True)
    (given / "mixed").mkdir()
    (given / "mixed" / "inner.parquet").symlink_to(other / "secret.parquet")
    return given


@pytest.fixture(scope="session")
def address(folder: Path) -> Iterator[str]:
    with serving(roots=find_roots([str(folder)]), processes=2) as found:
        yield found


@pytest.fixture
def person(address: str) -> Person:
    return Person(address)
