"""What the first answer of a fresh process loads: nothing that takes longer than the answer."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.startup import KINDS

ASK = """
import json, sys
import pyarrow.parquet as pq
import sparkleene as sk
path, kinds = sys.argv[1], json.loads(sys.argv[2])
table = pq.ParquetFile(path).read()  # pa.table itself would load pandas

def ask(name, text, data):
    if name.startswith("workload"):
        texts = {str(i): each for i, each in enumerate(text.splitlines())}
        return sk.workload(texts, sharing="always").run(data)
    if name.startswith("trends"):
        return sk.query(text).trends(data, order=name.partition(", ")[2] or "first")
    if name == "why":
        return sk.query(text).why(data)
    if name == "funnel":
        return sk.funnel(text.split(), by="k").run(data)
    return sk.query(text, numbers="exact" if name.endswith("exact") else "double").run(data)

found = {}
for name, text in kinds.items():
    for data in (table, path):
        assert ask(name, text, data) is not None
    found[name] = sorted({"pandas", "polars", "pyspark", "matplotlib", "typer", "rich"} & set(sys.modules))
print(json.dumps(found))
"""

MORE = {
    "texts": "RETURN name, COUNT(*) PATTERN A+ WHERE [name] AND A.name LIKE 'a%' AND A.name != 'b' GROUP-BY name",
    "arithmetic": "RETURN AVG(A.x), STDDEV(A.x) PATTERN A+ WHERE ROUND(A.x / 3, 1) % 2 < 5 AND FLOOR(A.y) >= 0",
    "ends of times": "RETURN MIN(A.at), AVG(LAST(B.at) - FIRST(A.at)) PATTERN SEQ(A, B) WHERE A.at < '2024-02-01'",
    "best": "RETURN name, COUNT(*) AS c PATTERN A+ WHERE [name] GROUP-BY name HAVING c > 0 ORDER BY c DESC LIMIT 1",
    "flags": "RETURN COUNT(*) PATTERN A+ WHERE A.flag",
}


@pytest.fixture
def events(tmp_path: Path) -> str:
    columns = {
        "time": list(range(6)),
        "type": list("AABACB"),
        "x": [1.0, None, 3.0, 4.0, 2.0, 1.0],
        "y": [3.0, 2.0, 1.0, 5.0, 2.0, 1.0],
        "k": [0] * 6,
        "name": ["a", "ab", None, "a", "b", "ab"],
        "at": pa.array([1_704_067_200_000 + 1000 * i for i in range(6)], pa.timestamp("ms")),
        "flag": [True, None, False, True, True, False],
    }
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_no_first_answer_loads_pandas(events: str) -> None:
    """One process asks everything: what an earlier kind has loaded is seen there."""
    kinds = KINDS | MORE
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ASK, events, json.dumps(kinds)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: [] for name in kinds}
