"""Kernels compiled from other sources are not used, wherever numba keeps them."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sparkleene
from sparkleene.kernels import digest_of, unpack
from sparkleene.kernels.jit import remove_stale

HELPER = "from sparkleene.kernels.jit import jit\n\n\n@jit\ndef helper(x):\n    return x + {}\n"
KERNEL = """
from sparkleene.kernels.helper import helper
from sparkleene.kernels.jit import jit


@jit
def kernel(x):
    return helper(x)


if __name__ == "__main__":
    from sparkleene.kernels.kernel import kernel
    print(kernel(1), sum(kernel.stats.cache_hits.values()))
"""


def small_package(root: Path) -> Path:
    """Make a package with one kernel and one helper, cached as those of the real one are."""
    folder = root / "sparkleene" / "kernels"
    folder.mkdir(parents=True)
    folder.parent.joinpath("__init__.py").touch()
    for name in ("__init__.py", "jit.py"):
        shutil.copy(Path(sparkleene.__file__).parent / "kernels" / name, folder)
    folder.joinpath("kernel.py").write_text(KERNEL)
    folder.joinpath("helper.py").write_text(HELPER.format(10))
    return folder


def started(root: Path, **environment: str) -> "subprocess.Popen[str]":
    """Start the small package's kernel in a process of its own."""
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-m", "sparkleene.kernels.kernel"],
        env=inherited | {"PYTHONPATH": str(root)} | environment,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("named", [False, True], ids=["beside the sources", "NUMBA_CACHE_DIR"])
def test_a_changed_helper_changes_the_kernels_that_call_it(tmp_path: Path, named: bool) -> None:
    folder = small_package(tmp_path)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if named else {}
    assert started(tmp_path, **environment).communicate()[0].split() == ["11", "0"]
    cached = set(tmp_path.rglob("*.nb?"))
    assert cached and all(path.is_relative_to(tmp_path / "cache") == named for path in cached)
    assert started(tmp_path, **environment).communicate()[0].split() == ["11", "1"]
    folder.joinpath("helper.py").write_text(HELPER.format(20))
    assert started(tmp_path, **environment).communicate()[0].split() == ["21", "0"]
    assert not cached & set(tmp_path.rglob("*.nb?"))  # what is stale does not pile up


def test_processes_may_start_at_once(tmp_path: Path) -> None:
    small_package(tmp_path)
    some = [started(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(4)]
    assert {process.communicate()[0].split()[0] for process in some} == {"11"}
    assert started(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache")).communicate()[0].split() == ["11", "1"]


def test_another_compiler_is_another_digest() -> None:
    assert digest_of({"a.py": b""}, "1") != digest_of({"a.py": b""}, "2") != digest_of({"a.py": b"x"}, "2")


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("Read-only file system")

    stale = tmp_path / "linear.vectors_old-1.py311.1.nbc"
    stale.touch()
    monkeypatch.setattr(Path, "unlink", refuse)
    remove_stale(tmp_path, "_new")
    assert stale.exists()


def test_sources_are_unpacked_once(tmp_path: Path) -> None:
    sources = {"numbers.py": b"one = 1", "order.py": b""}
    folder = unpack(sources, "one", [tmp_path / "cache"])
    assert folder is not None
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == sources
    kernel = folder / "kernel.nbc"
    kernel.write_text("compiled")
    assert unpack(sources, "one", [tmp_path / "cache"]) == folder
    assert kernel.exists()
    assert unpack(sources | {"order.py": b"two = 2"}, "two", [tmp_path / "cache"]) != folder
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_place_that_cannot_be_used_is_passed_over(tmp_path: Path) -> None:
    file, open_to_all, mine = tmp_path / "file", tmp_path / "open", tmp_path / "mine"
    file.touch()
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    folder = unpack({"numbers.py": b""}, "one", [file / "cache", open_to_all, mine])
    assert folder is not None
    assert folder.parent == mine
    (folder / "numbers.py").write_text("another = 1")
    assert unpack({"numbers.py": b""}, "one", [mine]) is None


def test_the_package_runs_from_a_zip(tmp_path: Path) -> None:
    root = Path(sparkleene.__file__).parents[1]
    with zipfile.ZipFile(tmp_path / "sparkleene.zip", "w") as archive:
        for path in root.glob("sparkleene/**/*.py"):
            archive.write(path, path.relative_to(root))
    code = "import sparkleene.kernels.numbers as module; print(module.__file__, module.__spec__.name)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "sparkleene.zip")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    file, name = done.stdout.split()
    assert Path(file).parents[1] == tmp_path / "cache" / "sparkleene"
    assert name == "sparkleene.kernels.numbers"
