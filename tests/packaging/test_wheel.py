"""The wheel, and `pip install .`: in an empty environment every kind of query answers, and nothing is compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_BYTES = 30_000_000
HERE = sys.version_info[:2]
VERSIONS = ((3, 11), (3, 12), (3, 13))

pytestmark = pytest.mark.slow

EVERY_KIND = """
import numba.core.event as event
from pathlib import Path

class Compiled(event.Listener):
    def on_start(self, event):
        raise AssertionError(f"compiled: {event.data['dispatcher']}")
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
import pyarrow as pa
import sparkleene as sk
from sparkleene.kernels.forms import forms
from sparkleene.kernels.store import describe

assert describe().startswith("prebuilt"), describe()
for form in forms():
    form.compile()
assert "site-packages" in sk.__file__
numbers = {"x": [1.0, 2.0, 3.0, 4.0, 2.0, 1.0], "y": [3.0, 2.0, 1.0, 5.0, 2.0, 1.0], "k": [0] * 6}
rows = pa.table({"time": list(range(6)), "type": list("AABACB"), **numbers})
rises = "A.x < NEXT(A).x"
for pattern in ("SEQ(A+, B)", "A+", "SEQ(A+, NOT B, A)", "(A OR B)+", "A+ AND SEQ(A+, B)"):
    for where in ("", f"WHERE {rises}", f"WHERE {rises} AND A.y > NEXT(A).y", "WHERE A.x * NEXT(A).y < 3"):
        for semantics in ("skip-till-any-match", "skip-till-next-match", "contiguous"):
            for window in ("", "WITHIN 3 SLIDE 1", "WITHIN 3", "WITHIN 2 EVENTS SLIDE 1 EVENTS"):
                asked = f"PATTERN {pattern} SEMANTICS {semantics} {where} {window}"
                text = f"RETURN COUNT(*), SUM(A.k), MIN(A.x) {asked}"
                for numbers in ("double", "exact"):
                    sk.query(text, numbers=numbers).run(rows)
                sk.query(text).trends(rows)
texts = {name: f"RETURN COUNT(*) PATTERN SEQ({name}, B+)" for name in "AC"}
for sharing in ("always", "never", "auto"):
    sk.workload(texts, sharing=sharing).run(rows)
print("all kinds")
"""


def run(*command: str | Path, **environment: str) -> str:
    """Run a command and return what it printed."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARKLEENE_COMPILE")}
    done = subprocess.run(list(map(str, command)), env=kept | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def find_python(version: tuple[int, int]) -> str:
    """Return the interpreter of a version, this one if it fits; skip the test if there is none that starts."""
    name = sys.executable if version == HERE else f"python{version[0]}.{version[1]}"
    starts = shutil.which(name) and subprocess.run([name, "-c", "import ensurepip, venv"], capture_output=True)
    if not starts or starts.returncode:
        pytest.skip(f"there is no {name} that starts and has venv")
    return name


def copy_sources(folder: Path) -> Path:
    """Copy what a checkout has, without anything compiled."""
    names = (".venv", ".git", "build", "dist", "prebuilt", ".*_cache", ".hypothesis", "__pycache__")
    return Path(shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*names)))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[int, int]], Path]:
    """Return the wheel that `make wheel` builds for a version of Python."""

    @cache
    def build(version: tuple[int, int]) -> Path:
        python = find_python(version)
        source = copy_sources(tmp_path_factory.mktemp("made"))
        run("make", "-C", source, "wheel", f"PYTHON={python}")
        [wheel] = source.joinpath("dist").glob("*.whl")
        return wheel

    return build


def make_environment(python: str, folder: Path) -> Path:
    """Make an empty environment and return its Python."""
    run(python, "-m", "venv", folder / "environment")
    return folder / "environment" / "bin" / "python"


def check_queries(python: Path, folder: Path) -> None:
    """Ask every kind of query with an empty home; nothing may be compiled, so nothing is kept."""
    home = folder / "home"
    home.mkdir()
    own = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "SPARKLEENE_COMPILE": "never"}
    assert run(python, "-c", EVERY_KIND, **own).endswith("all kinds\n")
    assert not [path for path in home.rglob("*") if path.is_file()]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_the_wheel(version: tuple[int, int], wheels: Callable[..., Path], tmp_path: Path) -> None:
    wheel = wheels(version)
    assert f"-cp{version[0]}{version[1]}-" in wheel.name
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        folders = {Path(name).parent.name for name in archive.namelist() if "/prebuilt/" in name}
    assert len(folders) == 2  # x86-64-v3, and what every processor can run
    python = make_environment(find_python(version), tmp_path)
    run(python, "-m", "pip", "install", "-qq", wheel)
    check_queries(python, tmp_path)


def test_a_plain_checkout_is_installed_with_the_same_bytes(wheels: Callable[..., Path], tmp_path: Path) -> None:
    wheel = wheels(HERE)
    source = copy_sources(tmp_path / "elsewhere")
    python = make_environment(sys.executable, tmp_path)
    run(python, "-m", "pip", "install", "-qq", source)
    check_queries(python, tmp_path)
    [folder] = (tmp_path / "environment").glob("lib/*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/RECORD")]  # pip adds what it writes
        other = [name for name in names if folder.joinpath(name).read_bytes() != archive.read(name)]
    assert not other
    run(python, "-m", "pip", "wheel", "-qq", "--no-deps", "--wheel-dir", tmp_path, source)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
