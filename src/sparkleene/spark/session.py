"""A Spark session: the active one, or a local one with settings that fit the machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkleene.errors import Diagnostic, SparkleeneError
from sparkleene.spark.class_archive import OPTIONS, java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = (17, 25)  # the oldest and newest that Spark 4.3 runs on
ENVIRONMENT = "the environment of this Python"
GIB = 1 << 30
QUIET = {
    "spark.log.level": "OFF",  # what fails is reported once, in our words
    "spark.ui.showConsoleProgress": "false",
    # Times without a zone are shown as they are in the files, whatever the machine's zone is.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}
"""Settings for those who tell themselves what goes on, and show times to people."""
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BATCH_BYTES, UNLIMITED = "spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1)
"""With a limit, Spark measures what it sends to Python after each row, which takes longer than sending it."""


def session(
    app_name: str = "sparkleene",
    *,
    master: str | None = None,
    ui: bool = False,
    memory: str | None = None,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return the active Spark session as it is, or start one.

    An active session, classic or Connect, is never changed: if it contradicts an argument, that is an error. The
    application's name is only a name and is not compared.

    Args:
        app_name: the name that Spark shows.
        master: where to run: `local[4]`, `spark://host:7077`, or `sc://host:15002` for Spark Connect. By default
            what spark-submit or SPARK_REMOTE says, and else all cores of this machine.
        ui: whether Spark serves its web page.
        memory: the memory of Spark's JVM, such as "8g"; by default at most half of the machine's, since the rows
            are evaluated outside of it.
        config: more settings of Spark, which win over those chosen here.
    """
    try:
        from pyspark.sql import SparkSession
        from pyspark.util import is_remote_only
    except ImportError as error:
        raise _missing_pyspark(str(error)) from error
    asked: dict[str, Any] = dict(config or {})
    if master is not None:
        asked["spark.remote" if master.startswith("sc://") else "spark.master"] = master
    if memory is not None:
        asked["spark.driver.memory"] = memory
    if ui:
        asked["spark.ui.enabled"] = "true"
    active = _active()
    if active is not None:
        _compare(active, asked)
        return active
    asked.setdefault("spark.app.name", app_name)
    if "spark.remote" in asked or "SPARK_REMOTE" in os.environ:
        return SparkSession.builder.config(map=asked).getOrCreate()
    if is_remote_only():
        raise _missing_spark()
    if "PYSPARK_GATEWAY_PORT" in os.environ or "PYSPARK_SUBMIT_ARGS" in os.environ:
        return _start(SparkSession.builder.config(map=asked))
    settings = defaults(asked.get("spark.master", "local[*]")) | asked
    with _environment(settings["spark.master"]):
        return _start(SparkSession.builder.config(map=settings))


def defaults(master: str) -> dict[str, Any]:
    """Return the settings for a session on a master, where the caller does not choose."""
    settings: dict[str, Any] = {
        "spark.master": master,
        "spark.driver.memory": f"{heap(memory_of_machine()) >> 20}m",
        "spark.log.level": "ERROR",
        "spark.pyspark.python": sys.executable,
        # The store that the state of streams needs; at every batch it writes what changed and not all.
        PROVIDER: ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        BATCH_BYTES: UNLIMITED,  # a batch has 10,000 rows at most
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower(),
    }
    cores = local_cores(master)
    if cores is not None:
        settings |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            # Spark's default of 200 starts 200 small tasks. A few per core even out keys of different weight.
            "spark.sql.shuffle.partitions": str(4 * cores),
        }
    return settings


def local_cores(master: str) -> int | None:
    """Return how many cores a local master uses, None for a master elsewhere.

    >>> local_cores("local"), local_cores("local[3]"), local_cores("local[3, 4]"), local_cores("spark://host:7077")
    (1, 3, 3, None)
    """
    found = re.fullmatch(r"local(?:\[\s*(\*|\d+)\s*(?:,\s*\d+\s*)?\])?", master)
    if found is None:
        return None
    if found[1] == "*":
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else (os.cpu_count() or 1)
    return int(found[1] or 1)


def suggest_settings(spark: SparkSession) -> Iterator[str]:
    """Yield what to set in a session so that queries take less time."""
    from pyspark.errors import PySparkException

    try:
        found = str(spark.conf.get(BATCH_BYTES))
    except PySparkException:  # some hosts show few settings
        return
    if found.removesuffix("b") != UNLIMITED:
        yield f'spark.conf.set("{BATCH_BYTES}", "{UNLIMITED}"): else Spark measures what it sends at every row'


def is_connect(spark: SparkSession) -> bool:
    """Tell whether a session is one of Spark Connect, which has no context."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def cores_here(spark: SparkSession) -> int | None:
    """Return the cores of this machine that a session runs on, None where it runs elsewhere."""
    return None if is_connect(spark) else local_cores(str(spark.sparkContext.master))


def heap(memory: int) -> int:
    """Return the bytes for Spark's JVM: half of the memory, but 1 to 16 GiB.

    >>> [heap(gib * GIB) / GIB for gib in (1, 6, 256)]
    [1.0, 3.0, 16.0]
    """
    return min(max(memory // 2, GIB), 16 * GIB)


def memory_of_machine(groups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes of memory of the machine, or of the container if that has fewer."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in ("memory.max", "memory/memory.limit_in_bytes"):  # version 2, and version 1
        path = groups / file
        text = path.read_text().strip() if path.is_file() else ""
        if text.isdigit():
            limits.append(int(text))
    return min(limits)


def _active() -> SparkSession | None:
    """Return the session of this thread, else that of this process."""
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if is_remote():
        connect = getattr(sys.modules.get("pyspark.sql.connect.session"), "SparkSession", None)
        started: SparkSession | None = getattr(connect, "_default_session", None)
        return None if started is None or getattr(started, "is_stopped", False) else started
    from pyspark import SparkContext

    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.builder.getOrCreate()  # without settings it changes none


def _compare(active: SparkSession, asked: Mapping[str, str]) -> None:
    """Raise if the active session's settings are not those asked for."""
    for key, value in asked.items():
        there = active.conf.get(key, None)
        if there != value and key != "spark.app.name":
            message = f"a Spark session is active with another {key}: {there}, not {value}"
            help = "leave the argument out to use that session, or stop it first: spark.stop()"
            raise SparkleeneError(Diagnostic("session-differs", message, help=help))


def _start(builder: Any) -> SparkSession:
    """Start a session, and say what is wrong with Java if that is why it does not start."""
    from pyspark.errors import PySparkRuntimeError

    java = _java()
    try:
        with _kept_classes(java):
            started: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError as error:
        version = java_version(java) if java else None
        if version is not None and not JAVA[0] <= version <= JAVA[1]:
            raise _missing_java(f"Spark does not run on the Java {version} of {java}") from error
        raise
    return started


@contextmanager
def _environment(master: str) -> Iterator[None]:
    """Let a session that starts within be one of this machine, if all of Spark runs on it.

    Its JVM binds to the loopback address, and its workers run this Python: a context takes their Python from the
    environment when it starts, and does not look at `spark.pyspark.python`.
    """
    wanted = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    here = local_cores(master) is not None
    with _variables({name: value for name, value in wanted.items() if here and name not in os.environ}):
        yield


@contextmanager
def _kept_classes(java: str | None) -> Iterator[None]:
    """Let a JVM that starts within use the classes that `sparkleene warm --spark` has kept, if there are any."""
    given = os.environ.get(OPTIONS, "")
    options = java_options(java) if java and "ArchiveFile" not in given and "ArchiveClasses" not in given else ""
    with _variables({OPTIONS: f"{given} {options}"} if options else {}):
        yield


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set some variables of the environment, and put them back."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _java() -> str | None:
    """Return the Java that Spark would start, and raise if there is none; None if its JVM runs already."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    java, origin = find_java()
    if origin == ENVIRONMENT:
        os.environ["JAVA_HOME"] = str(Path(java).parents[1])
    return java


def find_java() -> tuple[str, str]:
    """Return the `java` that Spark would start, and what led to it; raise if there is none."""
    own = Path(sys.prefix, "jre", "bin", "java")  # made by `make setup` where the machine has no Java
    home = os.environ.get("JAVA_HOME")
    if home is None and own.exists():
        return str(own), ENVIRONMENT
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    if java is None:
        raise _missing_java(f"JAVA_HOME is {home}, and there is no Java" if home else "there is no Java")
    return java, "JAVA_HOME" if home else "PATH"


def java_version(java: str) -> int | None:
    """Return the major version of a `java` executable, or None if it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def _missing_java(what: str) -> SparkleeneError:
    oldest, newest = JAVA
    help = f"install Java {oldest} to {newest} and let JAVA_HOME name its folder, or put `java` on PATH"
    return SparkleeneError(Diagnostic("missing-java", f"{what}, which Spark needs", help=help))


def _missing_spark() -> SparkleeneError:
    message = "pyspark-client is installed, which has no Spark of its own and connects to a server"
    help = (
        'name the server, session(master="sc://host:15002"), or pip install pyspark for a session on this machine'
    )
    return SparkleeneError(Diagnostic("missing-pyspark", message, help=help))


def _missing_pyspark(what: str) -> SparkleeneError:
    help = "pip install 'sparkleene[spark]', or in a checkout '.[spark]'"
    return SparkleeneError(Diagnostic("missing-pyspark", "PySpark is not installed", notes=(what,), help=help))
