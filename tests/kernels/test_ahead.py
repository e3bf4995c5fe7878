"""Kernels that a second process compiles while the first is at its own."""

from __future__ import annotations

import fcntl
import shutil
import time
from pathlib import Path

import pytest
from tests.kernels.test_store import KERNEL, PACKAGE, small_package, started

from sparkleene.kernels import ahead
from sparkleene.kernels.forms import forms

FORMS = """
from functools import partial
from typing import NamedTuple
import numba as nb
from sparkleene.kernels.more import other

class Form(NamedTuple):
    name: str
    compile: object

def forms():
    yield Form("other", partial(other.compile, (nb.int64,)))
"""
OTHER = "from sparkleene.kernels.jit import kernel\n\n\n@kernel\ndef other(x):\n    return x - 1\n"
WAITS = """
import time
from sparkleene.kernels.example import run
from sparkleene.kernels.store import own_folder

def is_there():
    return any(one.suffix != ".lock" for one in own_folder().glob("more.other-*"))

print(run(1), flush=True)
end = time.monotonic() + {seconds}
while time.monotonic() < end and not is_there():
    time.sleep(0.05)
print(int(is_there()))
"""


def package(root: Path, example: str = KERNEL, silence: str = "0.1") -> None:
    """Make a small package with kernels to be compiled ahead."""
    folder = small_package(root)
    folder.joinpath("example.py").write_text(example)
    source = (PACKAGE / "kernels" / "ahead.py").read_text()
    assert "_SILENCE = 10.0" in source
    folder.joinpath("ahead.py").write_text(source.replace("_SILENCE = 10.0", f"_SILENCE = {silence}"))
    folder.joinpath("forms.py").write_text(FORMS)
    folder.joinpath("more.py").write_text(OTHER)


@pytest.mark.parametrize(("may", "there"), [("", "1"), ("alone", "0")])
def test_other_kernels_are_compiled_meanwhile(tmp_path: Path, may: str, there: str) -> None:
    package(tmp_path)
    code = WAITS.format(seconds=60 if may == "" else 2)
    process = started(tmp_path, "-c", code, SPARKLEENE_COMPILE=may)
    assert process.communicate()[0].split() == ["11", there]


def test_what_compiles_ahead_ends_with_the_process_that_wanted_it(tmp_path: Path) -> None:
    package(tmp_path, silence="600.0")
    process = started(tmp_path, "-c", WAITS.format(seconds=3), SPARKLEENE_COMPILE="")
    assert process.communicate()[0].split() == ["11", "0"]
    [lock] = tmp_path.rglob("ahead.lock")
    end = time.monotonic() + 30
    with lock.open("wb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)


def test_one_that_compiles_ahead_is_enough_and_nobody_hears_of_others(tmp_path: Path) -> None:
    package(tmp_path)
    code = "import time; from sparkleene.kernels.example import run; run(1); time.sleep(3); run(1.5); print('ok')"
    assert started(tmp_path, "-c", code, SPARKLEENE_COMPILE="alone").communicate()[0] == "ok\n"
    [kernel, *others] = [one for one in tmp_path.rglob("example.run-*") if one.suffix != ".lock"]
    for one in (kernel, *others):
        one.unlink()
    with (kernel.parent / "ahead.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out, err = started(tmp_path, "-c", code, SPARKLEENE_COMPILE="").communicate()
    assert (out, err) == ("ok\n", "")


@pytest.mark.parametrize("may", ["", "never"])
def test_nothing_is_compiled_ahead_of_those_that_compile_all(tmp_path: Path, may: str) -> None:
    package(tmp_path)
    shutil.copy(PACKAGE / "kernels" / "build.py", tmp_path / "sparkleene" / "kernels")
    code = "from sparkleene.kernels.build import compile_all; print(*compile_all([{}]))"
    assert started(tmp_path, "-c", code, SPARKLEENE_COMPILE=may).communicate() == ("other\n", "")
    assert list(tmp_path.rglob("more.other-*"))
    assert not list(tmp_path.rglob("ahead.lock"))


def test_what_is_wanted_together_is_there() -> None:
    names = {form.name for form in forms()}
    assert {name for some in ahead._TOGETHER.values() for name in some} <= names
