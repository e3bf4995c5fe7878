"""Where a command evaluates its queries, if nobody says: in this process, or on Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal

from sparkleene.cli.failures import usage_error
from sparkleene.cli.progress import note
from sparkleene.cli.spark_session import require_pyspark
from sparkleene.columns.files import Files
from sparkleene.spark.session import memory_of_machine

Chosen = Literal["local", "spark"]

SHARE = 16
"""Files of up to a sixteenth of the memory are read here: Parquet was seen to take nine times its size."""


def check_engine(engine: str, master: str | None, conf: Sequence[str] | None) -> None:
    """Raise for settings of Spark where Spark has nothing to do, and for Spark where it is not."""
    if engine == "local" and (master is not None or conf):
        given = "--master" if master is not None else "--conf"
        raise usage_error(f"{given} is for Spark", "leave it out, or choose --engine spark")
    if engine == "spark":
        require_pyspark()


def choose_engine(engine: str, found: Files, master: str | None, conf: Sequence[str] | None) -> Chosen:
    """Return where queries over files are evaluated; where it is chosen here, say so on standard error.

    In a pipe nothing is said of this process, which takes no longer than anybody expects.
    """
    if engine == "local" or found.blank:
        return "local"
    if engine == "spark" or master is not None or conf:
        require_pyspark()
        return "spark"
    most = memory_of_machine() // SHARE
    size = f"{show_bytes(found.bytes)} of events"
    if found.bytes <= most:
        text = f"in this process, for {size} are at most {show_bytes(most)}, 1/{SHARE} of the memory"
        note(f"note: {text}; --engine spark chooses Spark")
        return "local"
    require_pyspark()
    text = f"on Spark, for {size} are more than {show_bytes(most)}, 1/{SHARE} of the memory"
    print(f"note: {text}; --engine local chooses this process", file=sys.stderr)
    return "spark"


def show_bytes(count: int) -> str:
    """Return a number of bytes as a person reads it.

    >>> show_bytes(999), show_bytes(1_550_000), show_bytes(23_000_000_000)
    ('999 bytes', '1.6 MB', '23 GB')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            value = count / size
            return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    return f"{count} bytes"
