"""Sparkleene aggregates event trends, the matches of Kleene patterns, without building them.

>>> import sparkleene as sk
>>> q = sk.query("RETURN COUNT(*) PATTERN (SEQ(A+, B))+ SEMANTICS contiguous")
"""

from typing import TYPE_CHECKING, Any

from sparkleene.cube import Cube, cube
from sparkleene.errors import DataError, Diagnostic, QueryError, SparkleeneError, SparkleeneWarning
from sparkleene.funnel import Funnel, funnel, step
from sparkleene.language.build import both, either, no, optional, plus, seq, star, times
from sparkleene.query import Query, pattern, query
from sparkleene.workload import Workload, workload

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkleene import spark

__all__ = [
    "Cube",
    "DataError",
    "Diagnostic",
    "Funnel",
    "Query",
    "QueryError",
    "SparkleeneError",
    "SparkleeneWarning",
    "Workload",
    "both",
    "cube",
    "either",
    "funnel",
    "generate",
    "no",
    "optional",
    "pattern",
    "plus",
    "query",
    "seq",
    "spark",
    "star",
    "step",
    "times",
    "workload",
]
__version__ = "0.1.0"


def generate(
    name: str,
    events: int = 1_000_000,
    *,
    seed: int = 0,
    groups: int | None = None,
    rate: float | None = None,
    **more: Any,
) -> "pa.Table":
    """Return an event stream like those of the papers, in order of time, the same for the same arguments.

    `name` is activity, clicks, cluster, homes, rides, stock or traffic; `groups` is how many patients, users,
    mappers, houses, drivers, companies or vehicles there are, and `rate` how many events a second has.
    docs/reference/data.md has the columns and the other options.

    >>> generate("cluster", 1000, groups=4).column_names
    ['time', 'type', 'mapper', 'job', 'cpu', 'memory', 'load']
    """
    from sparkleene.generators import generate as made

    return made(name, events, seed=seed, groups=groups, rate=rate, **more)


def __getattr__(name: str) -> Any:
    """Import what belongs to Spark when it is asked for."""
    if name == "spark":
        import importlib

        return importlib.import_module("sparkleene.spark")
    raise AttributeError(f"module 'sparkleene' has no attribute '{name}'")
