"""Sparkleene aggregates event trends, the matches of Kleene patterns, without building them.

>>> import sparkleene as sk
>>> q = sk.query("RETURN COUNT(*) PATTERN (SEQ(A+, B))+ SEMANTICS contiguous")
"""

from sparkleene.errors import DataError, Diagnostic, QueryError, SparkleeneError
from sparkleene.query import Query, query

__all__ = ["DataError", "Diagnostic", "Query", "QueryError", "SparkleeneError", "query"]
__version__ = "0.1.0"
