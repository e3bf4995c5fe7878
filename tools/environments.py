"""Run tests on other versions of Spark, each in an environment of its own under build/matrix.

    python tools/environments.py 4.0 4.2 -- tests/spark/test_conformance.py

One line for each version tells what passed; the exit code is 1 if something failed on one of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WITH = {
    "4.0": ["delta-spark==4.0.0"]
}  # Python packages that tests of a version need besides, without what they need


def make_environment(version: str) -> Path:
    """Return the Python of the environment with a version of Spark; it is made if it is not there."""
    folder = ROOT / "build" / "matrix" / version
    python = folder / "bin" / "python"
    made = folder / ".installed"
    if not made.exists() or made.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        environment = os.environ | {"SPARKLEENE_PREBUILT": "ignore"}
        install = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        spark = f"pyspark[connect]=={version}.*"
        subprocess.run([*install, "--editable", ".[spark,dev]", spark], cwd=ROOT, env=environment, check=True)
        if version in WITH:
            subprocess.run([*install, "--no-deps", *WITH[version], "importlib_metadata", "zipp"], check=True)
        subprocess.run([python, "tools/setup_java.py"], cwd=ROOT, check=True)
        made.touch()
    return python


def run_tests(version: str, arguments: list[str]) -> bool:
    """Run pytest with a version of Spark, and print what came of it."""
    python = make_environment(version)
    log = ROOT / "build" / "matrix" / f"{version}.log"
    environment = os.environ | {"PYSPARK_PYTHON": str(python)}
    jre = python.parents[1] / "jre"
    if (jre / "bin" / "java").exists():
        environment["JAVA_HOME"] = str(jre)
    with log.open("w") as output:
        done = subprocess.run(
            [python, "-m", "pytest", "-rs", *arguments], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
    text = log.read_text()
    there = subprocess.run(
        [python, "-c", "import pyspark; print(pyspark.__version__)"], capture_output=True, text=True
    )
    counted = re.findall(r"^\d+ (?:passed|failed|skipped|error|deselected).*$", text, re.MULTILINE)
    told = counted[-1] if counted else f"{len(re.findall(r'^FAILED', text, re.MULTILINE))} failed"
    ended = "passed" if done.returncode == 0 else f"FAILED, see {log.relative_to(ROOT)}"
    print(f"Spark {there.stdout.strip()}: {ended}: {told}", flush=True)
    for line in dict.fromkeys(re.findall(r"^SKIPPED .*$", text, re.MULTILINE)):
        print(f"  {line[:300]}", flush=True)
    return done.returncode == 0


def main(words: list[str]) -> int:
    """Run the tests on all versions that are named before `--`."""
    versions, arguments = words[: words.index("--")], words[words.index("--") + 1 :]
    return 0 if all([run_tests(version, arguments) for version in versions]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
