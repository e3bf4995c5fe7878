"""Kernels that run as plain Python while they are not compiled: small arguments do not wait, and give the same."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.chance import rest
from tests.kernels.test_ahead import package
from tests.kernels.test_store import started

from sparkleene.kernels import interpret, store
from sparkleene.kernels.interpret import count_rounds

ROOT = Path(__file__).parents[2]
LOOPS = """
import numpy as np
from sparkleene.kernels.jit import helper, kernel


@helper
def step(x):
    return x + 1


@kernel
def run(values, times):
    for i in range(times):
        for j in range(len(values)):
            values[j] = step(values[j])
    return values.sum()


if __name__ == "__main__":
    from sparkleene.kernels.example import run
    for size, times in ((10, 10), (10, 10_000_000), (10, 1), (2_000_000, 1)):
        print(run(np.zeros(size, np.int64), times), len(run.overloads))
"""


def test_small_arguments_do_not_wait_for_a_compiler_and_large_ones_do(tmp_path: Path) -> None:
    package(tmp_path, LOOPS)
    found = started(tmp_path, SPARKLEENE_COMPILE="").communicate()[0].splitlines()
    # The second call takes too long: what it has written is taken back, and the kernel is compiled.
    assert found == ["100 0", "100000000 1", "10 1", "2000000 1"]


def test_the_compiler_may_be_asked_for(tmp_path: Path) -> None:
    package(tmp_path, LOOPS)
    found = started(tmp_path, SPARKLEENE_COMPILE="yes").communicate()[0].splitlines()
    assert found == ["100 1", "100000000 1", "10 1", "2000000 1"]


def test_what_is_kept_is_not_interpreted(tmp_path: Path) -> None:
    package(tmp_path, LOOPS)
    started(tmp_path, SPARKLEENE_COMPILE="alone").communicate()
    found = started(tmp_path, SPARKLEENE_COMPILE="").communicate()[0].splitlines()
    assert found == ["100 1", "100000000 1", "10 1", "2000000 1"]


NARROW = """
import numpy as np
from sparkleene.kernels.jit import kernel


@kernel
def run(values, out):
    for i in range(len(values)):
        out[i] = values[i] * 3 // 2
    return values[0] * 200 + values[1]


if __name__ == "__main__":
    from sparkleene.kernels.example import run
    values, out = np.array([200, 100], np.uint8), np.zeros(2, np.uint8)
    print(run(values, out), *out.tolist(), len(run.overloads))
"""


@pytest.mark.parametrize(("mode", "compiled"), [("", 0), ("yes", 1)])
def test_narrow_integers_do_not_overflow(tmp_path: Path, mode: str, compiled: int) -> None:
    package(tmp_path, NARROW)
    assert started(tmp_path, SPARKLEENE_COMPILE=mode).communicate()[0].split() == [
        *("40100", "44", "150"),  # 300 does not fit where it is written to
        str(compiled),
    ]


@pytest.mark.parametrize("name", sorted(store.SOURCES))
def test_every_loop_counts_its_rounds(name: str) -> None:
    source = store.SOURCES[name].decode()
    tree = ast.parse(count_rounds(source))
    loops = [one for one in ast.walk(tree) if isinstance(one, ast.For | ast.While)]
    inside = {
        id(one)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for one in ast.walk(function)
    }
    for loop in loops:
        if id(loop) in inside:
            assert ast.unparse(loop.body[0]) == f"{interpret._count_round.__name__}()", ast.unparse(loop)


@pytest.mark.parametrize("file", ["papers", *rest(["found", "random", "once"])])
def test_the_same_results(file: str) -> None:
    """Run the conformance tests with all kernels interpreted."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.kernels.all_interpreted",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, f"tests/conformance/test_{file}.py"],
        env=environment | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
