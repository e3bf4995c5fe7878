"""Sparkleene aggregates event trends, the matches of Kleene patterns, without building them.

>>> import sparkleene as sk
>>> q = sk.query("RETURN COUNT(*) PATTERN (SEQ(A+, B))+ SEMANTICS contiguous")
"""

from typing import TYPE_CHECKING, Any

from sparkleene.errors import DataError, Diagnostic, QueryError, SparkleeneError
from sparkleene.query import Query, query

if TYPE_CHECKING:
    from sparkleene import spark

__all__ = ["DataError", "Diagnostic", "Query", "QueryError", "SparkleeneError", "query", "spark"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what belongs to Spark when it is asked for."""
    if name == "spark":
        import importlib

        return importlib.import_module("sparkleene.spark")
    raise AttributeError(f"module 'sparkleene' has no attribute '{name}'")
