"""Compiled kernels: never stale, never foreign, never compiled twice, found wherever the package is."""

from __future__ import annotations

import ast
import fcntl
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from llvmlite import binding
from tests.chance import rest

import sparkleene
from sparkleene.kernels import build, store
from sparkleene.kernels.build import count_forms
from sparkleene.kernels.target import LEVELS, Target, prebuilt_targets

PACKAGE = Path(sparkleene.__file__).parent
HELPER = "from sparkleene.kernels.jit import helper\n\n\n@helper\ndef help(x):\n    return x + {}\n"
KERNEL = """
from sparkleene.kernels.help import help
from sparkleene.kernels.jit import kernel


@kernel
def run(x):
    return help(x)


if __name__ == "__main__":
    from sparkleene.kernels.example import run
    print(run(1), sum(run.given.stats.cache_misses.values()))
"""
OWN = ("NUMBA_CACHE_DIR", "SPARKLEENE_COMPILE", "XDG_CACHE_HOME")


def small_package(root: Path) -> Path:
    """Make a package with one kernel and one helper, stored as those of the real one are."""
    folder = root / "sparkleene" / "kernels"
    folder.mkdir(parents=True)
    folder.parent.joinpath("__init__.py").touch()
    shutil.copy(PACKAGE / "collector.py", folder.parent)
    compiling = ("compiler", "interpret", "jit", "lean", "lowered", "store", "target")
    for name in ("__init__", *compiling, "numbers", "tuples", "wide"):
        shutil.copy(PACKAGE / "kernels" / f"{name}.py", folder)
    folder.joinpath("example.py").write_text(KERNEL)
    folder.joinpath("help.py").write_text(HELPER.format(10))
    return folder


def change_helper(folder: Path, number: int) -> None:
    """Change what the helper adds, at a second of its own, by which Python knows that its bytecode is old."""
    helper = folder / "help.py"
    helper.write_text(HELPER.format(number))
    os.utime(helper, (number, number))


def started(root: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    """Start the small package's kernel in a process of its own."""
    inherited = {name: value for name, value in os.environ.items() if name not in OWN}
    return subprocess.Popen(
        [sys.executable, *(command or ("-m", "sparkleene.kernels.example"))],
        env=inherited
        | {"PYTHONPATH": str(root), "HOME": str(root / "home"), "SPARKLEENE_COMPILE": "alone"}
        | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(root: Path, **environment: str) -> list[str]:
    """Return what the kernel gave, and how many times it was compiled."""
    return started(root, **environment).communicate()[0].split()


def stored(root: Path) -> set[Path]:
    return {path for path in root.rglob("example.run-*") if path.suffix != ".lock"}


@pytest.mark.parametrize("named", [False, True], ids=["the user's cache", "NUMBA_CACHE_DIR"])
def test_a_changed_helper_changes_the_kernels_that_call_it(tmp_path: Path, named: bool) -> None:
    folder = small_package(tmp_path)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if named else {}
    assert answer(tmp_path, **environment) == ["11", "1"]
    (kept,) = stored(tmp_path)
    assert kept.is_relative_to(tmp_path / ("cache" if named else "home"))
    assert answer(tmp_path, **environment) == ["11", "0"]
    change_helper(folder, 20)
    assert answer(tmp_path, **environment) == ["21", "1"]
    change_helper(folder, 10)
    assert answer(tmp_path, **environment) == ["11", "0"]


def test_processes_that_start_at_once_compile_once(tmp_path: Path) -> None:
    small_package(tmp_path)
    found = [process.communicate()[0].split() for process in [started(tmp_path) for _ in range(4)]]
    assert [one[0] for one in found] == ["11"] * 4
    assert sum(int(one[1]) for one in found) == 1


def test_nobody_waits_for_ever_for_another_that_compiles(tmp_path: Path) -> None:
    folder = small_package(tmp_path)
    answer(tmp_path)
    (kept,) = stored(tmp_path)
    source = folder.joinpath("store.py").read_text()
    assert "_PATIENCE = 120.0" in source
    folder.joinpath("store.py").write_text(source.replace("_PATIENCE = 120.0", "_PATIENCE = 0.5"))
    kept.unlink()
    with kept.with_name(f"{kept.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out, err = started(tmp_path).communicate()
        assert out.split() == ["11", "1"]
        assert err == f"sparkleene: another process has not compiled {kept.name} within 0 s, so this one does\n"
    assert stored(tmp_path) == {kept}


def test_who_is_interrupted_while_compiling_leaves_it_to_others(tmp_path: Path) -> None:
    small_package(tmp_path)
    code = """
from sparkleene.kernels import compiler
from sparkleene.kernels.example import run
from sparkleene.kernels.store import own_folder

def interrupt(*given):
    raise KeyboardInterrupt

compile, compiler._KernelCompiler.compile_extra = compiler._KernelCompiler.compile_extra, interrupt
try:
    run(1)
except KeyboardInterrupt:
    print(*own_folder().iterdir())
compiler._KernelCompiler.compile_extra = compile
print(run(1))
"""
    assert started(tmp_path, "-c", code).communicate() == ("\n11\n", "")


def test_a_damaged_kernel_is_compiled_again(tmp_path: Path) -> None:
    small_package(tmp_path)
    answer(tmp_path)
    (kept,) = stored(tmp_path)
    whole = kept.read_bytes()
    for damaged in (b"", whole[:-1], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]):
        kept.write_bytes(damaged)
        assert answer(tmp_path) == ["11", "1"]
        assert answer(tmp_path) == ["11", "0"]


def test_without_a_home_and_without_any_place(tmp_path: Path) -> None:
    small_package(tmp_path)
    file = tmp_path / "file"
    file.touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    nowhere = {"HOME": str(file / "home"), "TMPDIR": str(temporary)}
    assert answer(tmp_path, **nowhere) == ["11", "1"]
    assert answer(tmp_path, **nowhere) == ["11", "0"]
    assert all(path.is_relative_to(temporary) for path in stored(tmp_path))
    assert answer(tmp_path, NUMBA_CACHE_DIR=str(file / "cache")) == ["11", "1"]  # kept nowhere
    assert answer(tmp_path, NUMBA_CACHE_DIR=str(file / "cache")) == ["11", "1"]


@pytest.mark.parametrize("above", [1, *rest([0, 2])])
def test_a_folder_that_others_can_write_is_not_trusted(tmp_path: Path, above: int) -> None:
    small_package(tmp_path)
    answer(tmp_path)
    (kept,) = stored(tmp_path / "home")
    kept.parents[above].chmod(0o777)
    assert answer(tmp_path, TMPDIR=str(tmp_path)) == ["11", "1"]


def test_compiling_can_be_forbidden(tmp_path: Path) -> None:
    small_package(tmp_path)
    process = started(tmp_path, SPARKLEENE_COMPILE="never")
    assert "KernelMissing" in process.communicate()[1] and process.returncode


def test_folders_without_use_are_removed(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (time.time() - 40 * 24 * 3600,) * 2)
    store.remove_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_names_tell_what_kernels_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target("x86_64", "x86-64-v3", "")
    names = {store.folder_name(target), store.folder_name(target._replace(features="+avx"))}
    names |= {store.folder_name(target._replace(triple="arm64")), store.folder_name(target._replace(cpu="znver4"))}
    monkeypatch.setattr(store.numba, "__version__", "0.99")
    names.add(store.folder_name(target))
    monkeypatch.setattr(store, "DIGEST", "0")
    names.add(store.folder_name(target))
    assert len(names) == 6
    assert store.digest_of({"a.py": b""}) != store.digest_of({"a.py": b"x"})


def test_an_older_processor_gets_what_it_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    here = dict.fromkeys(LEVELS["x86-64-v3"], True)
    for missing, levels in ((None, ["x86-64-v3", "x86-64"]), ("avx2", ["x86-64"])):
        monkeypatch.setattr(binding, "get_host_cpu_features", lambda missing=missing: here | {missing: False})
        monkeypatch.setattr("sparkleene.kernels.target.platform.machine", lambda: "x86_64")
        prebuilt_targets.cache_clear()
        assert [target.cpu for target in prebuilt_targets()] == levels
    monkeypatch.setattr("sparkleene.kernels.target.platform.machine", lambda: "aarch64")
    prebuilt_targets.cache_clear()
    assert prebuilt_targets() == ()
    monkeypatch.undo()
    prebuilt_targets.cache_clear()


@pytest.mark.skipif(store.prebuilt_folder() is None, reason="kernels are not prebuilt: make kernels")
def test_the_package_runs_from_a_zip_without_compiling(tmp_path: Path) -> None:
    prebuilt = PACKAGE / "kernels" / store.PREBUILT
    assert sum(1 for _ in next(prebuilt.iterdir()).iterdir()) >= count_forms()
    with zipfile.ZipFile(tmp_path / "sparkleene.zip", "w") as archive:
        for path in [*PACKAGE.rglob("*.py"), *prebuilt.glob("*/*")]:
            archive.write(path, path.relative_to(PACKAGE.parent))
    ask = "sk.query('RETURN COUNT(*) PATTERN A+').run([{'time': 1, 'type': 'A'}])"
    code = f"import sparkleene as sk; print(sk.__file__, {ask})"
    process = started(tmp_path / "sparkleene.zip", "-c", code, SPARKLEENE_COMPILE="never", HOME="/nowhere")
    out, error = process.communicate()
    assert process.returncode == 0, error
    assert "sparkleene.zip" in out and "[{'count': 1.0}]" in out


@pytest.mark.skipif(store.prebuilt_folder() is None, reason="kernels are not prebuilt: make kernels")
def test_prebuilt_kernels_are_loaded_without_what_compiling_needs() -> None:
    code = """
from numba.core.base import BaseContext

def refresh(context):
    raise AssertionError("all that numba can compile was loaded")

BaseContext.refresh = refresh
from sparkleene.kernels.forms import forms
for form in forms():
    form.compile()
import sparkleene as sk
print(sk.query("RETURN SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x").run([{"time": 1, "type": "A", "x": 2.0}]))
"""
    process = started(PACKAGE.parent, "-c", code, SPARKLEENE_COMPILE="never")
    out, error = process.communicate()
    assert process.returncode == 0, error
    assert out == "[{'sum_A_x': 2.0}]\n"


def imports_of(module: str) -> set[str]:
    """Return the modules of kernels that a module imports, by Python's own reading of it."""
    tree = ast.parse((PACKAGE / "kernels" / f"{module}.py").read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    whole = {one.name for node in found if node.module == "sparkleene.kernels" for one in node.names}
    return whole | {
        (node.module or "").removeprefix("sparkleene.kernels.")
        for node in found
        if "kernels." in (node.module or "")
    }


def test_a_kernel_is_named_after_all_sources_that_it_is_made_of() -> None:
    for name in store.SOURCES:
        module = name.removesuffix(".py")
        found, new = set[str](), {module, "compiler"}  # which `kernel` and `helper` import when they are asked
        while new:
            found |= new
            new = {one for known in new for one in imports_of(known) if f"{one}.py" in store.SOURCES} - found
        known = {one for one in store.imported_modules(module) if f"{one}.py" in store.SOURCES}
        assert module == "forms" or known == found, module
    assert len(store.SOURCES) > 30


def test_a_build_keeps_kernels_whose_sources_are_the_same(tmp_path: Path) -> None:
    target = Target("x86_64", "x86-64-v3", "")
    name = store.folder_name(target)
    earlier = tmp_path / name.replace(store.DIGEST, "0" * 16)
    other = tmp_path / f"{earlier.name}x"  # of another target
    same = f"linear.run-{store.module_digest('linear')}-1"
    for folder in (earlier, other):
        folder.mkdir()
        for file in (same, "linear.run-00000000-2", f"heap.run-{store.module_digest('linear')}-3", build.KEPT):
            (folder / file).touch()
    made = tmp_path / "made" / name
    assert build.keep_unchanged(tmp_path, made) == 1
    assert [file.name for file in made.iterdir()] == [same]


def test_wheels_are_not_made_of_kept_kernels(tmp_path: Path) -> None:
    assert not build.is_built(tmp_path / "none", again=False)
    assert build.is_built(tmp_path, again=True)
    (tmp_path / build.KEPT).touch()
    assert build.is_built(tmp_path, again=False) and not build.is_built(tmp_path, again=True)


@pytest.mark.skipif(store.prebuilt_folder() is None, reason="kernels are not prebuilt: make kernels")
def test_names_in_prebuilt_kernels_are_the_same_in_every_build() -> None:
    """Expressions of whole arrays become functions that are named after where they are in memory."""
    files = [file for file in (PACKAGE / "kernels" / store.PREBUILT).rglob("*") if file.is_file()]
    assert [file.name for file in files if b"numba_array_expr" in file.read_bytes()] == []
