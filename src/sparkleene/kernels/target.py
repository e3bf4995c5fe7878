"""For which processors kernels are compiled, and which of them this machine can run.

Prebuilt kernels are for a *level*: a set of instructions that all processors of some age have. Kernels that this
machine compiles for itself use all that its processor can do.
"""

from __future__ import annotations

import platform
import sys
from functools import cache
from typing import NamedTuple

from llvmlite import binding

_V2 = frozenset(["cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"])
_V3 = _V2 | frozenset(["avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"])

LEVELS = {"x86-64-v3": _V3, "x86-64": frozenset[str]()}
"""Levels for which kernels may be prebuilt, the best first, and the instructions that each needs."""


class Target(NamedTuple):
    """What machine code is made for; LLVM's names."""

    triple: str
    cpu: str
    features: str

    def __str__(self) -> str:
        return f"{self.cpu} ({self.triple})"


@cache
def prebuilt_targets() -> tuple[Target, ...]:
    """Return the targets of prebuilt kernels that this machine can run, the best first."""
    if not (sys.platform == "linux" and platform.machine() == "x86_64"):
        return ()
    there = {name for name, has in binding.get_host_cpu_features().items() if has}
    triple = binding.get_process_triple()
    return tuple(Target(triple, level, "") for level, needed in LEVELS.items() if needed <= there)
