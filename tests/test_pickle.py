"""Queries, workloads and cubes go to other processes: joblib, Dask, the workers of Spark."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import sparkleene as sk

ROWS = pa.table(
    {
        "at": [*range(8)],
        "kind": ["Dallas", "Bus", "Austin", "Dallas", "Bus", "Bus", "Austin", "Bus"],
        "n": [1, 2, 3, 4, 5, 6, 7, 8],
    }
)
PLACES = {"Dallas": "Texas", "Austin": "Texas"}
COUNT = "RETURN COUNT(*), SUM(Bus.n) PATTERN SEQ({}, Bus+)"
COLUMNS: Any = {"time": "at", "type": "kind"}

MADE: dict[str, Callable[[], Any]] = {
    "query": lambda: sk.query(COUNT.format("Dallas"), **COLUMNS),
    "exact": lambda: sk.query(COUNT.format("Dallas"), numbers="exact", offset=Fraction(1, 3), **COLUMNS),
    "concepts": lambda: sk.query(COUNT.format("Texas"), hierarchy=PLACES, **COLUMNS),
    "conditions": lambda: sk.query(
        COUNT.format("City"), time="at", types={"City": "kind != 'Bus'", "Bus": "kind = 'Bus'"}
    ),
    "built": lambda: sk.pattern("Dallas", "Bus+").query(**COLUMNS),
    "workload": lambda: sk.workload({x: COUNT.format(x) for x in PLACES}, "always", **COLUMNS),
    "workload of concepts": lambda: sk.workload(
        {x: COUNT.format(x) for x in ("Dallas", "Texas")}, hierarchy=PLACES, **COLUMNS
    ),
    "cube": lambda: sk.cube(
        {x: f"RETURN COUNT(*) PATTERN SEQ({x}, Bus)" for x in ("Texas", "Dallas", "Austin")}, PLACES, **COLUMNS
    ),
}
WAYS = {
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "oldest pickle": lambda made: pickle.loads(pickle.dumps(made, 0)),
    "cloudpickle": lambda made: pickle.loads(cloudpickle.dumps(made)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MADE)
def test_runs_and_explains_the_same(kind: str, way: str) -> None:
    made = MADE[kind]()
    expected = made.run(ROWS)  # so that it is not fresh when it is pickled
    again = WAYS[way](made)
    assert type(again) is type(made)
    assert again.run(ROWS).equals(expected)
    assert again.explain() == made.explain()
    assert again.to_dot() == made.to_dot() if hasattr(made, "to_dot") else repr(again) == repr(made)


def test_in_another_process() -> None:
    made = {name: make() for name, make in MADE.items()}
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        found = [*other.map(run, made.values())]
    assert found == [run(one) for one in made.values()]


def run(made: Any) -> list[dict[str, Any]]:
    """Be found by name in the other process."""
    rows: list[dict[str, Any]] = made.run(ROWS).to_pylist()
    return rows


def test_a_file_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "places.json"
    path.write_text('{"Dallas": "Texas"}')
    made = sk.query(COUNT.format("Texas"), hierarchy=path, offset=timedelta(hours=1), **COLUMNS)
    sent = pickle.dumps(made)
    path.unlink()
    assert pickle.loads(sent).explain() == made.explain()


def test_errors_still_name_the_file() -> None:
    made = sk.Query("RETURN COUNT(*) PATTERN A+", filename="a.q")
    for one in (made, pickle.loads(pickle.dumps(made))):
        with pytest.raises(sk.DataError) as failure:
            one.run(ROWS)
        assert failure.value.filename == "a.q"
