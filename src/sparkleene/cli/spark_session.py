"""Spark for a command: a session without chatter, and how far its jobs are."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from sparkleene.cli.failures import usage_error
from sparkleene.cli.inputs import parse_pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def start_spark(
    master: str | None, conf: Sequence[str] | None, defaults: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Start a session as the options say, and stop it in the end."""
    given = parse_pairs(conf, "--conf", "spark.sql.shuffle.partitions=8")
    require_pyspark()
    from sparkleene.spark import session
    from sparkleene.spark.session import QUIET

    before = signal.getsignal(signal.SIGINT)
    with _silence_stderr():
        spark = session(master=master, config=QUIET | dict(defaults or {}) | given)
    # PySpark's own answer to Ctrl-C asks the JVM something, amid whatever was being asked.
    signal.signal(signal.SIGINT, before)
    logging.disable()  # py4j would log the interrupt as an error of its own
    try:
        yield spark
    except BaseException:
        with suppress(Exception), _silence_stderr():  # what went wrong before counts; the JVM ends with us
            spark.stop()
        raise
    with _silence_stderr():
        spark.stop()


def require_pyspark() -> None:
    """Raise at once if PySpark is not installed."""
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        help = "add --engine local, or install it: pip install 'sparkleene[spark]', in a checkout '.[spark]'"
        raise usage_error("PySpark is not installed", help, code="missing-pyspark")


def few_partitions(master: str | None) -> dict[str, str]:
    """Return the setting for streams on this machine: each partition costs time in every batch."""
    from sparkleene.spark.session import local_cores

    cores = local_cores(master or "local[*]")
    return {} if cores is None else {"spark.sql.shuffle.partitions": str(cores)}


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Keep what Spark's launcher and JVM write to standard error away from it, unless starting fails.

    The JVM keeps this place for its errors as long as it lives.
    """
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    with tempfile.TemporaryFile() as aside:
        os.dup2(aside.fileno(), 2)
        try:
            yield
        except BaseException as error:
            os.dup2(kept, 2)
            if not isinstance(error, KeyboardInterrupt):
                aside.seek(0)
                _show_errors(aside.read().decode(errors="replace"))
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _show_errors(chatter: str) -> None:
    """Show what could say why Spark did not start."""
    for line in chatter.splitlines():
        if any(word in line for word in ("Error", "Exception", "error", "not found")):
            print(f"spark: {line.strip()}", file=sys.stderr)


def describe_jobs(spark: Any) -> str:
    """Return how far a session's running job is, as a person reads it; empty if nothing is known."""
    try:
        tracker = spark.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds())]
    except Exception:  # Connect has no tracker, and one of a session that is ending fails in many ways
        return ""
    done = [f"stage {s.stageId}: {s.numCompletedTasks}/{s.numTasks} tasks" for s in stages if s is not None]
    return ", ".join(done)
