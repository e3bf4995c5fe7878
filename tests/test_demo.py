"""The demo runs to its end and shows what it promises."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_demo_runs() -> None:
    command = [sys.executable, "examples/demo.py", "--events", "20000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for heading in ("1  Falling prices", "2  Rides", "3  Slowing down", "Where the time went"):
        assert f"\n{heading}" in done.stdout
    assert "20,000 events" in done.stdout
