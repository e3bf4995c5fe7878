"""What others do, compiled as our kernels are, over what our reader makes of a table: for figures and ratios."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import sparkleene as sk
from benchmarks.baselines import event_graph, flattened, per_trigger, two_step, type_grained
from benchmarks.baselines.problem import Array, Problem, pose, total

SYSTEMS: dict[str, Callable[[Problem], Array]] = {
    "two-step": two_step.count,
    "event graph": event_graph.count,
    "flattened": flattened.count,
    "per window": type_grained.count,
    "prefix counts": per_trigger.count_prefixes,
    "sequences built": per_trigger.build_sequences,
}
"""Baselines by name: SASE, GRETA, A-Seq on Kleene patterns, COGRA as published; then A-Seq and SASE per trigger."""

SHARING = {"one by one": "never", "always shared": "always", "decided": "auto"}
"""Workloads by name: each query by itself, static sharing, and the decision for each burst."""


def run(system: str, query: sk.Query, table: pa.Table) -> list[float]:
    """Return the counts of all groups and windows that have trends, in no order."""
    problem = pose(query, table)
    counts = SYSTEMS[system](problem)
    if problem.size:  # a window for each trigger, of one sub-stream
        return [count for count in counts.tolist() if count]
    return list(total(problem, counts).values())


def run_ours(query: sk.Query, table: pa.Table, **options: Any) -> list[float]:
    """Return the same counts by Sparkleene."""
    return [count for count in query.run(table, **options)["count"].to_pylist() if count]
