"""The wheel, in an empty environment with an empty home: every kind of query answers, and nothing is compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_BYTES = 30_000_000

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
    given = {**os.environ, **environment}
    given.pop("PYTHONPATH", None)
    done = subprocess.run(list(map(str, command)), env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns(".venv", ".git", "build", "dist", ".*_cache", ".hypothesis", "__pycache__")
    shutil.copytree(ROOT, source, ignore=ignored)
    run(sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--wheel-dir", tmp_path, source)
    [wheel] = tmp_path.glob("*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        folders = {Path(name).parent.name for name in archive.namelist() if "/prebuilt/" in name}
    assert len(folders) == 2  # x86-64-v3, and what every processor can run
    home, environment = tmp_path / "home", tmp_path / "environment"
    home.mkdir()
    run(sys.executable, "-m", "venv", environment)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "-qq", wheel)
    own = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "SPARKLEENE_COMPILE": "never"}
    assert run(python, "-c", EVERY_KIND, **own).endswith("all kinds\n")
    assert not [path for path in home.rglob("*") if path.is_file()]  # nothing was to be kept
