"""Kernels compiled from other sources are not used."""

from pathlib import Path

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
