"""Kernels compiled from other sources are not used."""

import errno
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sparkleene
from sparkleene.kernels import _forget_stale, _unpack


def test_changed_source_empties_the_cache(tmp_path: Path) -> None:
    source = tmp_path / "numbers.py"
    source.write_text("one = 1")
    cache = tmp_path / "__pycache__"
    _forget_stale(tmp_path)
    kernel = cache / "linear.vectors-1.py311.1.nbc"
    kernel.write_text("compiled")
    _forget_stale(tmp_path)
    assert kernel.exists()
    source.write_text("one = 2")
    _forget_stale(tmp_path)
    assert not kernel.exists()


def test_a_folder_that_cannot_be_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    (tmp_path / "numbers.py").write_text("one = 1")
    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(Path, "write_text", refuse)
    _forget_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["numbers.py"]


def test_sources_are_unpacked_once(tmp_path: Path) -> None:
    sources = {"numbers.py": b"one = 1", "order.py": b""}
    folder = _unpack(sources, [tmp_path / "cache"])
    assert folder is not None
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == sources
    kernel = folder / "kernel.nbc"
    kernel.write_text("compiled")
    assert _unpack(sources, [tmp_path / "cache"]) == folder
    assert kernel.exists()
    assert _unpack(sources | {"order.py": b"two = 2"}, [tmp_path / "cache"]) != folder
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_place_that_cannot_be_used_is_passed_over(tmp_path: Path) -> None:
    file, open_to_all, mine = tmp_path / "file", tmp_path / "open", tmp_path / "mine"
    file.touch()
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    folder = _unpack({"numbers.py": b""}, [file / "cache", open_to_all, mine])
    assert folder is not None
    assert folder.parent == mine
    (folder / "numbers.py").write_text("another = 1")
    assert _unpack({"numbers.py": b""}, [mine]) is None


def test_the_package_runs_from_a_zip(tmp_path: Path) -> None:
    root = Path(sparkleene.__file__).parents[1]
    with zipfile.ZipFile(tmp_path / "sparkleene.zip", "w") as archive:
        for path in root.glob("sparkleene/**/*.py"):
            archive.write(path, path.relative_to(root))
    code = "import sparkleene.kernels.numbers as module; print(module.__file__, module.__spec__.name)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "sparkleene.zip")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    file, name = done.stdout.split()
    assert Path(file).parents[1] == tmp_path / "cache" / "sparkleene"
    assert name == "sparkleene.kernels.numbers"
