"""On a real cluster: executors use the shipped package, and tasks that die are run again."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from sparkleene.kernels.store import prebuilt_folder
from sparkleene.spark.shipping import pack

pytestmark = pytest.mark.spark


def test_a_table_is_the_same_after_it_was_a_frame(on_cluster: dict[str, Any]) -> None:
    assert on_cluster["round_trip"] is True


def test_the_session_is_found(on_cluster: dict[str, Any]) -> None:
    assert on_cluster["one_session"] == [True, "session-differs"]


def test_executors_run_the_shipped_package(on_cluster: dict[str, Any]) -> None:
    found = on_cluster["in_task"]
    assert found["count"] == 43
    assert ".zip/sparkleene/__init__.py" in found["package"]
    assert found["kernels"].startswith("prebuilt") or prebuilt_folder() is None


def test_a_task_that_dies_is_run_again(on_cluster: dict[str, Any]) -> None:
    assert on_cluster["run_again"] == [["x", 43], ["y", 60]]


def test_queries_in_sql(on_cluster: dict[str, Any]) -> None:
    assert on_cluster["in_sql"] == [["x", 43], ["y", 60]]


def test_cases_of_the_papers(on_cluster: dict[str, Any]) -> None:
    assert on_cluster["cases"]["wrong"] == []
    assert on_cluster["cases"]["run"] >= 8


def test_executors_tell_what_they_share(on_cluster: dict[str, Any]) -> None:
    found = on_cluster["shared"]
    assert found["rows"] > 0 and found["there"] == found["here"] > 0


def test_the_same_sources_make_the_same_zip(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = pack(tmp_path / "one"), pack(tmp_path / "two")
    assert (one.name, one.read_bytes()) == (two.name, two.read_bytes())
    with zipfile.ZipFile(one) as archive:
        names = archive.namelist()
    assert "sparkleene/__init__.py" in names
    assert all(name.startswith("sparkleene/") for name in names)
    assert all(name.endswith(".py") or "/prebuilt/" in name for name in names)
