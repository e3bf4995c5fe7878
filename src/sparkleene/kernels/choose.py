"""Choose the kernel for a program with adjacent predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import divide, ordered, scan, waiting
from .program import Predicates, Program

REASONS = {
    "ordered": "comparisons of one inequality and equalities: order statistics, O(n log n)",
    "divide": "comparisons of two inequalities: divide and conquer over time, O(n log^2 n)",
    "waiting": "each stored event is extended once: a heap per state, O(n log n)",
    "scan": "every stored event that is still alive is compared with every new one",
}
_KERNELS = {"ordered": ordered, "divide": divide, "waiting": waiting, "scan": scan}


def choose(program: Program, predicates: Predicates) -> tuple[str, Callable[..., Any]]:
    """Return the name and the function of the best kernel that can run a program; REASONS says why."""
    for name, kernel in _KERNELS.items():
        if kernel.supports(program, predicates):
            return name, kernel.run
    raise AssertionError("the general kernel runs everything")
