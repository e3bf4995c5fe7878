"""Kernels that run as plain Python while they are not compiled: small arguments do not wait, and give the same."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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
        print(run(np.zeros(size, np.int64), times), len(run.given.overloads))
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
    print(run(values, out), *out.tolist(), len(run.given.overloads))
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


SHARED = """
import numpy as np
from threading import Thread
from sparkleene.kernels.jit import kernel


@kernel
def run(out, begin, end):
    for i in range(begin, end):
        for j in range(3):
            out[i] += i


if __name__ == "__main__":
    from sparkleene.kernels import interpret
    from sparkleene.kernels.example import run
    for dtype, seconds in ((np.int32, 100), (np.float64, 0.03)):
        interpret.SECONDS, out = seconds, np.ones(80_000, dtype)
        parts = [Thread(target=run, args=(out, begin, begin + 20_000)) for begin in range(0, 80_000, 20_000)]
        [one.start() for one in parts], [one.join() for one in parts]
        print((out == 1 + 3 * np.arange(80_000)).all(), len(run.given.overloads))
"""


def test_threads_that_share_an_array_keep_what_others_write(tmp_path: Path) -> None:
    package(tmp_path, SHARED)
    found = started(tmp_path, SPARKLEENE_COMPILE="").communicate()[0].splitlines()
    assert found == ["True 0", "True 1"]  # the second time the kernel is given up, and compiled


THREADS = """
import json, sys, warnings
import pyarrow as pa
import sparkleene as sk
from sparkleene.kernels import ahead, interpret, store

warnings.simplefilter("ignore")
mode, load, seen, ran = sys.argv[1], store.KernelFiles.load_overload, set(), []
if mode != "compiled":
    interpret.LARGEST = interpret.ROOM = interpret.SECONDS = 10**15
    interpret._LOOK = 40
    ahead.tell = lambda *_: ran.append(1)

    def is_kept(files, types):
        known = (files.file_name(types) in seen) and mode == "given up"
        seen.add(files.file_name(types))
        return known

    store.KernelFiles.is_kept = is_kept
size = 1500
rows = {
    "time": range(size), "type": ["ABAACBAB"[i * 7 % 8] for i in range(size)], "k": [i % 3 for i in range(size)],
    "x": [float(i * 37 % 101) for i in range(size)], "y": [float(i * 53 % 97) for i in range(size)],
}
table = pa.table({name: list(column) for name, column in rows.items()})
texts = [
    "RETURN COUNT(*), SUM(A.x), MIN(A.x) PATTERN SEQ(A+, B)",
    "RETURN k, COUNT(*), AVG(A.x) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k WITHIN 50 SLIDE 10",
    "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous WHERE A.x < NEXT(A).x WITHIN 100 SLIDE 50",
    "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) SEMANTICS skip-till-next-match WHERE A.x < NEXT(A).x",
    "RETURN COUNT(*), SUM(A.x) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 100 SLIDE 100",
    "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x AND A.y > NEXT(A).y WITHIN 100 SLIDE 100",
    "RETURN COUNT(*) PATTERN A+ WHERE LAST(A.x) > FIRST(A.x) WITHIN 100 SLIDE 100",
    "RETURN COUNT(*), AVG(DURATION) PATTERN SEQ(A, B) WHERE DURATION <= 9",
    "RETURN COUNT(*), COUNT(EACH A) PATTERN SEQ(A+, NOT C, B) WITHIN 20",
]
found = [
    sk.query(text, numbers=numbers).run(table, threads=5).to_pylist()
    for text in texts for numbers in ("double", "exact") if numbers == "double" or "LAST" not in text
]
print(json.dumps([bool(ran), found], default=str))
"""


@pytest.mark.repeat
def test_several_threads_give_the_same_results() -> None:
    """Threads work on parts of a query, and some kernels are given up in the middle of their work."""

    def answers(mode: str) -> Any:
        environment = os.environ | {"SPARKLEENE_COMPILE": "never" if mode == "compiled" else ""}
        command = [sys.executable, "-c", THREADS, mode]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    ran, expected = answers("compiled")
    assert not ran
    for mode in ("interpreted", "given up"):
        assert answers(mode) == [True, expected], mode


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
