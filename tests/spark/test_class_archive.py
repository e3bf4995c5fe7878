"""Classes that are kept: used where they fit, and left alone where somebody else may have written them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkleene.cli.spark_classes import keep_classes
from sparkleene.spark.class_archive import OPTIONS, archive_file, describe, java_options
from sparkleene.spark.session import find_java

START = """
from sparkleene.spark.session import session
session(master="local[1]", memory="1g").range(1).count()
"""


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    found = find_java()[0]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(OPTIONS, raising=False)
    return found


def keep(java: str, content: bytes = b"") -> Path:
    file = archive_file(java)
    file.parent.mkdir(mode=0o700, parents=True)
    file.write_bytes(content)
    file.chmod(0o600)
    return file


def test_options_name_the_archive_if_there_is_one(java: str) -> None:
    assert java_options(java) == "" and describe(java).startswith("not kept: `sparkleene warm --spark`")
    file = keep(java)
    assert java_options(java).startswith(f'"-XX:SharedArchiveFile={file}" ') and describe(java) == f"kept in {file}"


@pytest.mark.parametrize("folder", [True, False])
def test_what_others_can_write_is_not_used(java: str, folder: bool) -> None:
    file = keep(java)
    (file.parent if folder else file).chmod(0o770)
    assert java_options(java) == ""


def test_another_java_has_another_archive(java: str, tmp_path: Path) -> None:
    other = tmp_path / "java"
    other.touch()
    assert archive_file(str(other)) != archive_file(java)


def test_a_java_that_does_not_start_is_told(java: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert keep_classes(java).startswith("not kept: ") and not archive_file(java).exists()


def test_a_place_that_cannot_be_written_is_told(java: str, tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    assert keep_classes(java).startswith("not kept: ")


@pytest.mark.repeat
@pytest.mark.spark
def test_an_archive_that_does_not_fit_does_no_harm(java: str) -> None:
    keep(java, b"no archive at all")
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0 and "archive" not in done.stderr + done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_classes_come_from_the_archive(java: str, tmp_path: Path) -> None:
    assert keep_classes(java).startswith("kept in ")
    assert keep_classes(java).startswith("kept in ")  # at once
    log = tmp_path / "classes.log"
    told = os.environ | {OPTIONS: f"-Xlog:class+load=info:file={log}"}
    subprocess.run([sys.executable, "-c", START], check=True, env=told, capture_output=True)
    lines = log.read_text().splitlines()
    kept = [line for line in lines if "org.apache.spark" in line and "shared objects file (top)" in line]
    assert len(kept) > 1000
