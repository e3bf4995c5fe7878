"""The package with `pyspark-client` alone: a client of Spark Connect in an environment without Spark and Java."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.external.jars import SPARK
from tests.spark.conftest import connect, empty_cache, remote

__all__ = ["connect", "empty_cache"]  # fixtures

pytestmark = pytest.mark.external

ROOT = Path(__file__).parents[2]
TESTS = ("hypothesis>=6.100", "pytest>=8")  # what the checks import


def make_environment() -> Path:
    """Return the Python of an environment with the newest client up to this Spark, and what the package needs."""
    folder = ROOT / "build" / "client" / SPARK
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        extra = [one for one in project["optional-dependencies"]["spark"] if not one.startswith("pyspark")]
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        wanted = [f"pyspark-client<={SPARK}", *project["dependencies"], *extra, *TESTS]
        done = subprocess.run([python, "-m", "pip", "install", "-q", *wanted], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"pyspark-client cannot be had: {done.stderr.strip().splitlines()[-1][:300]}")
        (folder / "made").touch()
    return python


@pytest.fixture(scope="module")
def found(connect: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the checks of remote_script.py find, with the client alone."""
    return remote(connect, tmp_path_factory.mktemp("client"), str(make_environment()))


def test_there_is_no_spark() -> None:
    look = "import pyspark, pathlib; print((pathlib.Path(pyspark.__file__).parent / 'jars').exists())"
    assert subprocess.check_output([make_environment(), "-c", look], text=True) == "False\n"


OLD = pytest.mark.skipif(
    tuple(map(int, SPARK.split(".")[:2])) < (4, 1),
    reason="clients before 4.1 have neither table functions over Arrow nor state",
)


@OLD
def test_queries(found: dict[str, Any]) -> None:
    assert found["round_trip"] is True
    assert found["one_session"] == [True, "session-differs"]
    assert found["in_task"]["count"] == 43
    assert found["in_sql"] == found["run_again"] == [["x", 43], ["y", 60]]
    assert found["cases"]["wrong"] == [] and found["cases"]["run"] >= 8


@OLD
def test_a_stream(found: dict[str, Any]) -> None:
    assert found["streamed"].get("windows") == [["00:00:00", 1], ["00:00:30", 9]], found["streamed"]
    assert found["streamed"]["late"] == 1


def test_a_session_of_this_machine_needs_spark(tmp_path: Path) -> None:
    """Without an address there is nothing to connect to, and the error says so."""
    script = (
        tmp_path / "ask.py"
    )  # a file, for with `python -c` the client takes itself for a doctest and wants Spark
    script.write_text("import sparkleene as sk\nsk.spark.session()\n")
    settings = {"PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run([make_environment(), script], env=settings, capture_output=True, text=True)
    assert "error[missing-pyspark]" in told.stderr and "sc://" in told.stderr, told.stderr
