"""Choose the kernel for a program with adjacent predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparkleene.kernels import divide, ordered, scan, waiting
from sparkleene.kernels.program import Predicates, Program

_KERNELS = {"ordered": ordered, "divide": divide, "waiting": waiting, "scan": scan}


def choose(program: Program, predicates: Predicates) -> tuple[str, Callable[..., Any]]:
    """Return the name and the function of the best kernel that can run a program."""
    for name, kernel in _KERNELS.items():
        if kernel.supports(program, predicates):
            return name, kernel.run
    raise AssertionError("the general kernel runs everything")
