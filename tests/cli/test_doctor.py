"""`sparkleene doctor`: a page that ends well, and problems with what to do about them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import good, sparkleene

from sparkleene.cli import doctor, spark_session
from sparkleene.errors import Diagnostic, SparkleeneError
from sparkleene.kernels import store
from sparkleene.spark import workers


def page(cwd: Path, *arguments: str) -> tuple[int, list[str]]:
    done = sparkleene("doctor", *arguments, cwd=cwd)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_all_is_well(tmp_path: Path) -> None:
    lines = good("doctor", "--no-spark", cwd=tmp_path).splitlines()
    assert [line[:5] for line in lines[:-1]] == ["ok   "] * (len(lines) - 1) and lines[-1] == "all is well"
    names = [line.split()[1] for line in lines[:-1]]
    assert names == ["Python", *doctor.NEEDED, "optional", "machine", "kernels", "query"]


def test_wrong_numbers_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "WANTED", {"count": 4.0})
    code, lines = page(tmp_path, "--no-spark")
    assert code == 1 and lines[-1] == "1 problem found"
    assert lines[-3].startswith("WRONG  query here   wrong: ") and "help: reinstall" in lines[-2]


def test_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = doctor.version_of
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name == "pyspark" else known(name))
    code, lines = page(tmp_path)
    assert code == 1 and "WRONG  Spark        PySpark is not installed" in lines
    monkeypatch.undo()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, lines = page(tmp_path)
    assert code == 1 and any(line.startswith("WRONG  Java         JAVA_HOME is ") for line in lines)


@pytest.mark.spark
@pytest.mark.usefixtures("commands_share_spark")
def test_spark_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: object) -> None:
    monkeypatch.setattr(doctor, "MASTER", spark.conf.get("spark.master"))  # type: ignore[attr-defined]
    code, lines = page(tmp_path)
    names = [line.split()[1] for line in lines[-6:-1]]
    assert (code, lines[-1], names) == (0, "all is well", ["Java", "classes", "Spark", "workers", "query"]), lines


def problems(spark: bool = False) -> dict[str, tuple[str, str]]:
    """Return what is wrong by name: what is said, and what to do."""
    return {one.name: (one.text, one.help) for one in doctor.examine(spark) if one.help is not None}


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version_of", lambda name: None)
    found = problems()
    assert found == {name: ("not installed", f"pip install {name}") for name in doctor.NEEDED}
    [optional] = [one.text for one in doctor.examine(False) if one.name == "optional"]
    assert optional == f"none; not installed: {', '.join(doctor.OPTIONAL)}"


def test_a_package_that_is_not_there() -> None:
    assert doctor.version_of("no-such-package-at-all") is None


def test_an_old_python_and_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    monkeypatch.setattr(doctor, "memory_of_machine", lambda: 1 << 29)
    found = problems()
    assert list(found) == ["Python", "machine"]
    assert found["Python"][1] == "install Python 3.11 or newer" and "537 MB" in found["machine"][0]


def test_kernels_that_can_be_kept_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "prebuilt_folder", lambda: None)
    monkeypatch.setattr(store, "own_folder", lambda: None)
    found = doctor.examine(False)
    [kernels] = [one for one in found if one.name == "kernels"]
    assert "nowhere: no folder can be written" in kernels.text and "NUMBA_CACHE_DIR" in str(kernels.help)


def test_a_query_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "ROWS", {"time": [1], "type": ["A"]})
    text, help = problems()["query here"]
    assert text.startswith("fails: error[unknown-attribute]") and help == doctor.REINSTALL


@pytest.mark.parametrize(("version", "shown"), [(None, "does not run, "), (8, "8, "), (99, "99, ")])
def test_a_java_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, version: int | None, shown: str) -> None:
    monkeypatch.setattr(doctor, "find_java", lambda: ("/some/java", "PATH"))
    monkeypatch.setattr(doctor, "java_version", lambda java: version)
    text, help = problems(spark=True)["Java"]
    assert text == f"{shown}/some/java, by PATH" and help.startswith("install Java 17 to ")


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be a Java that fits; Spark is not started by these tests."""
    monkeypatch.setattr(doctor, "find_java", lambda: ("/some/java", "PATH"))
    monkeypatch.setattr(doctor, "java_version", lambda java: 17)


OURS = SparkleeneError(Diagnostic("missing-java", "there is no Java", help="install it"))
NO_HELP = SparkleeneError(Diagnostic("missing-java", "there is no Java"))


@pytest.mark.parametrize(
    ("error", "text", "help"),
    [
        (OURS, "there is no Java", "install it"),
        (NO_HELP, "there is no Java", "look at the message"),
        (
            RuntimeError("the port is taken\nat some place"),
            "error: Spark says: the port is taken",
            "look at JAVA_HOME",
        ),
    ],
    ids=["ours", "without help", "Spark's"],
)
def test_spark_that_does_not_start(
    monkeypatch: pytest.MonkeyPatch, java: None, error: Exception, text: str, help: str
) -> None:
    def start_spark(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(spark_session, "start_spark", start_spark)
    said, todo = problems(spark=True)["Spark"]
    assert said == text and todo.startswith(help)


class Session:
    """What the doctor asks of a session."""

    version = "4.9"

    def createDataFrame(self, *_: Any) -> Any:
        raise RuntimeError("no rows")


def test_workers_and_queries_that_fail(monkeypatch: pytest.MonkeyPatch, java: None) -> None:
    @contextmanager
    def start_spark(*_: Any) -> Iterator[Session]:
        yield Session()

    def unfit(session: Any) -> None:
        raise SparkleeneError(Diagnostic("worker-python", "workers lack numba", help="set PYSPARK_PYTHON"))

    monkeypatch.setattr(spark_session, "start_spark", start_spark)
    monkeypatch.setattr(workers, "ask_workers", lambda session: ("/some/python", ["numba"]))
    monkeypatch.setattr(workers, "check_workers", unfit)
    assert problems(spark=True) == {"workers": ("workers lack numba", "set PYSPARK_PYTHON")}
    monkeypatch.setattr(workers, "check_workers", lambda session: None)
    for name, origin in (("PYSPARK_PYTHON", "PYSPARK_PYTHON"), (None, "this process")):
        monkeypatch.setenv("PYSPARK_PYTHON", "python")
        if name is None:
            monkeypatch.delenv("PYSPARK_PYTHON")
        found = {one.name: one for one in doctor.examine(True)}
        assert found["workers"].text == f"run /some/python, by {origin}" and found["workers"].help is None
        assert found["query there"].text == "error: Spark says: no rows"
