"""`sparkleene doctor`: a page that ends well, and problems with what to do about them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import good, sparkleene

from sparkleene.cli import doctor


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
    known = doctor.installed
    monkeypatch.setattr(doctor, "installed", lambda name: None if name == "pyspark" else known(name))
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
    names = [line.split()[1] for line in lines[-5:-1]]
    assert (code, lines[-1], names) == (0, "all is well", ["Java", "Spark", "workers", "query"]), lines
