"""Whether the Python of Spark's workers can run queries: it is asked once for each session."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from sparkleene.errors import Diagnostic, SparkleeneError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = ("sparkleene", "numba", "numpy", "pyarrow")

_PROBE = """
def probe(names):
    import sys
    from importlib.util import find_spec
    return "\\n".join([sys.executable, *(name for name in names.split() if find_spec(name) is None)])
"""
"""What workers are asked; as text, for a function of this package could only be sent to workers that have it."""

_good: WeakSet[Any] = WeakSet()


def check_workers(spark: SparkSession) -> None:
    """Raise if the workers of a session lack what queries need; one small task finds it out, the first time.

    None is needed where all of Spark runs on this machine with the Python of this process.
    """
    if spark in _good:
        return
    if not _runs_this_python(spark):
        python, missing = ask_workers(spark)
        if missing:
            raise _unfit(f"Spark's workers run {python}, which has no {', '.join(missing)}", missing)
    _good.add(spark)


def ask_workers(spark: SparkSession) -> tuple[str, list[str]]:
    """Return the Python that a worker runs, and which of the needed packages it lacks."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    made: dict[str, Any] = {"__name__": "__main__"}  # whose functions are sent as they are, not by name
    exec(_PROBE, made)
    probe = F.udf(made["probe"], "string", useArrow=False)  # Arrow may be what is missing
    try:
        [[found]] = spark.range(1).select(probe(F.lit(" ".join(NEEDED)))).collect()
    except PySparkException as error:
        text = str(error)
        if "PYTHON_VERSION_MISMATCH" in text or "Cannot run program" in text:
            line = next(
                (line.strip() for line in text.splitlines() if "MISMATCH" in line or "Cannot run" in line), ""
            )
            raise _unfit("the Python of Spark's workers is not one that this process can use", (), line) from error
        raise
    python, *missing = found.split("\n")
    return python, missing


def _runs_this_python(spark: SparkSession) -> bool:
    """Tell whether all workers are on this machine and run this very Python."""
    from sparkleene.spark.session import cores_here

    found = None if cores_here(spark) is None else shutil.which(spark.sparkContext.pythonExec)
    return found is not None and os.path.abspath(found) == os.path.abspath(sys.executable)


def _unfit(message: str, missing: Any, note: str = "") -> SparkleeneError:
    """Return the error for workers that cannot run queries."""
    help = (
        f"set PYSPARK_PYTHON={sys.executable} before Spark starts; on a cluster let it, or spark.pyspark.python,"
        " name a Python there that has them"
    )
    if list(missing) == ["sparkleene"]:
        help = f"call sparkleene.spark.ship(spark), or {help}"
    notes = (note[:200],) if note else ()
    return SparkleeneError(Diagnostic("worker-python", message, notes=notes, help=help))
