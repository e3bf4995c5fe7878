"""Spark's classes as Java has read and checked them, kept in a file, so that a session starts in half the time.

Most of what a JVM of Spark does in its first ten seconds is to read classes. Java can write them to a file when it
ends, a class data archive, and another JVM with the same class path maps that file. `sparkleene warm --spark` makes
one, and sessions on this machine use it if it is there. Java itself refuses an archive of another Java or of other
jars, and reads the classes then. It is about 200 MB, in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

OPTIONS = "SPARK_SUBMIT_OPTS"  # the variable whose options Spark adds to those of its JVM
_QUIET = "-Xshare:auto -Xlog:cds*=off -Xlog:class+path*=off"  # what does not fit is no reason to say something


def archive_file(java: str) -> Path:
    """Return where the archive for a `java` and for the Spark of this Python is, or would be."""
    import pyspark

    home = Path(java).resolve()
    jars = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent, "jars")
    changed = [path.stat().st_mtime_ns for path in (home, jars) if path.exists()]
    name = hashlib.sha256(repr((str(home), str(jars), changed)).encode()).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache, "sparkleene", "spark", f"{pyspark.__version__}-{name}.jsa")


def java_options(java: str) -> str:
    """Return the options that let a JVM use the archive, if there is one and nobody else can have written it."""
    file = archive_file(java)
    try:
        found = [path.stat() for path in (file, file.parent)]
    except OSError:
        return ""
    ours = all(one.st_uid == os.getuid() and not one.st_mode & 0o022 for one in found)
    return f'"-XX:SharedArchiveFile={file}" {_QUIET}' if ours else ""


def describe(java: str) -> str:
    """Tell whether there is an archive that sessions use."""
    if java_options(java):
        return f"kept in {archive_file(java)}"
    return "not kept: `sparkleene warm --spark` lets sessions start in half the time"
