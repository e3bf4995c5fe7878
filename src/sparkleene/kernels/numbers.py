"""Three number systems behind one set of operations, chosen by dtype.

The kernels are written once. What they compute with is decided by the dtype of the arrays they are given:

- float64: plain doubles, for stretches too short to overflow.
- complex128: wide numbers, which never overflow (see wide.py).
- uint64: residues modulo a prime below 2**31, the bricks of exact integers.

A modulus travels with every operation and is ignored by the first two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparkleene.kernels import wide

NULL_INT = int(np.iinfo(np.int64).min)


# Plain Python forms run when the JIT is off; numba takes those of lowered.py.


def add(a: Any, b: Any, p: Any) -> Any:
    """Return a + b."""
    if isinstance(a, (complex, np.complexfloating)):
        return wide.add(a, b)
    if isinstance(a, np.uint64):
        return np.uint64((int(a) + int(b)) % int(p))
    return a + b


def mul(a: Any, b: Any, p: Any) -> Any:
    """Return a * b."""
    if isinstance(a, (complex, np.complexfloating)):
        return wide.multiply(a, b)
    if isinstance(a, np.uint64):
        return np.uint64(int(a) * int(b) % int(p))
    return a * b


def times(a: Any, x: Any, p: Any) -> Any:
    """Return a * x for an attribute value x: float64, or int64 for residues."""
    if isinstance(a, (complex, np.complexfloating)):
        return wide.multiply(a, wide.widen(x))
    if isinstance(a, np.uint64):
        return np.uint64(int(a) * int(x) % int(p))
    return a * x if a != 0.0 else 0.0


def nonzero(a: Any) -> bool:
    """Tell whether a count is not zero (meaningless for residues)."""
    if isinstance(a, (complex, np.complexfloating)):
        return bool(wide.is_nonzero(a))
    return bool(a != 0)


def null(x: Any) -> bool:
    """Tell whether an attribute value is absent: NaN, or the least int64."""
    if isinstance(x, (int, np.integer)):
        return int(x) == NULL_INT
    return bool(x != x)
