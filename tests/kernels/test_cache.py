"""Kernels compiled from other sources are not used."""

import errno
from pathlib import Path

import pytest

from sparkleene.kernels import _forget_stale


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
