"""Results of Spark, whose rows come in any order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sparkleene.query import Query


def by_window(result: Any, q: Query) -> Any:
    """Return the rows by window and group."""
    names = [name for name in ("window_start", *q.plan.bound.group_names) if name in result.column_names]
    return result.sort_by([(name, "ascending") for name in names]) if names and result.num_rows else result


def same(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> bool:
    """Tell whether rows are equal; sums and averages may differ in their last digits.

    >>> same([{"a": 1.0, "b": "x"}], [{"a": 1.0 + 1e-15, "b": "x"}]), same([{"a": 1}], [{"a": 2}]), same([], [{}])
    (True, False, False)
    """
    if len(left) != len(right):
        return False
    return all(
        one.keys() == other.keys() and all(_alike(value, other[name]) for name, value in one.items())
        for one, other in zip(left, right, strict=True)
    )


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)
