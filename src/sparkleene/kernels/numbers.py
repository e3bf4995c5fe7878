"""Three number systems behind one set of operations, chosen by dtype.

The kernels are written once. What they compute with is decided by the dtype of the arrays they are given:

- float64: plain doubles, for stretches too short to overflow.
- complex128: *wide* doubles, mantissa * 2**(256 * exponent), the mantissa in `real` and the exponent in `imag`.
  They never overflow, and every value keeps a double's relative precision whatever stands beside it.
- uint64: residues modulo a prime below 2**31, the bricks of exact integers.

A modulus travels with every operation and is ignored by the first two.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba.extending import overload

from sparkleene.kernels.jit import jit

BLOCK = 256
_UP = 2.0**BLOCK
_DOWN = 2.0**-BLOCK
_DOWN2 = 2.0 ** (-2 * BLOCK)
_HIGH = 2.0 ** (BLOCK // 2)
_LOW = 2.0 ** (-BLOCK // 2)
_INFINITE = 2.0**50  # the exponent of infinity, beyond that of any number
NULL_INT = np.iinfo(np.int64).min


def _wide_add(a: complex, b: complex) -> complex:
    d = a.imag - b.imag
    if d == 0.0:
        m, e = a.real + b.real, a.imag
    elif d > 0.0:
        m, e = a.real, a.imag
        if d <= 2.0:
            m += b.real * (_DOWN if d == 1.0 else _DOWN2)
    else:
        m, e = b.real, b.imag
        if d >= -2.0:
            m += a.real * (_DOWN if d == -1.0 else _DOWN2)
    if abs(m) > _HIGH:
        return complex(m * _DOWN, e + 1.0) if abs(m) < np.inf else complex(m, _INFINITE)
    if m == 0.0:
        return complex(0.0, 0.0)
    while abs(m) < _LOW and e > 0.0:  # numbers of opposite sign have cancelled
        m, e = m * _UP, e - 1.0
    return complex(m, e if m == m else _INFINITE)


def _wide_mul(a: complex, b: complex) -> complex:
    if a.real == 0.0 or b.real == 0.0:  # nothing of infinity is nothing
        return complex(0.0, 0.0)
    m, e = a.real * b.real, a.imag + b.imag
    if abs(m) > _HIGH:
        return complex(m * _DOWN, e + 1.0) if abs(m) < np.inf else complex(m, _INFINITE)
    if abs(m) < _LOW and e > 0.0:  # again, since m may have lost digits
        m, e = a.real * _UP * b.real, e - 1.0
        while abs(m) < _LOW and e > 0.0:
            m, e = m * _UP, e - 1.0
    return complex(m, e if m == m else _INFINITE)


def _wide(x: float) -> complex:
    """Widen a double of any size."""
    m, e = x, 0.0
    while abs(m) > _HIGH and abs(m) < np.inf:
        m, e = m * _DOWN, e + 1.0
    return complex(m, e if abs(m) < np.inf else _INFINITE)


def _residue(x: int, p: int) -> int:
    r = x % np.int64(p)
    return np.uint64(r)  # type: ignore[return-value]


# Plain Python forms run when the JIT is off; numba takes the overloads below.


def add(a: Any, b: Any, p: Any) -> Any:
    """Return a + b."""
    if isinstance(a, (complex, np.complexfloating)):
        return _wide_add(a, b)
    if isinstance(a, np.uint64):
        return np.uint64((int(a) + int(b)) % int(p))
    return a + b


def mul(a: Any, b: Any, p: Any) -> Any:
    """Return a * b."""
    if isinstance(a, (complex, np.complexfloating)):
        return _wide_mul(a, b)
    if isinstance(a, np.uint64):
        return np.uint64(int(a) * int(b) % int(p))
    return a * b


def times(a: Any, x: Any, p: Any) -> Any:
    """Return a * x for an attribute value x: float64, or int64 for residues."""
    if isinstance(a, (complex, np.complexfloating)):
        return _wide_mul(a, _wide(x))
    if isinstance(a, np.uint64):
        return np.uint64(int(a) * int(x) % int(p))
    return a * x if a != 0.0 else 0.0


def nonzero(a: Any) -> bool:
    """Tell whether a count is not zero (meaningless for residues)."""
    if isinstance(a, (complex, np.complexfloating)):
        return bool(a.real != 0.0)
    return bool(a != 0)


def null(x: Any) -> bool:
    """Tell whether an attribute value is absent: NaN, or the least int64."""
    if isinstance(x, (int, np.integer)):
        return int(x) == NULL_INT
    return bool(x != x)


_wide_add_nb = jit(inline="never")(_wide_add)
_wide_mul_nb = jit(inline="never")(_wide_mul)
widen = jit(_wide)
_residue_nb = jit(_residue)


@overload(add, inline="always", strict=False)
def _add(a: Any, b: Any, p: Any) -> Any:
    if isinstance(a, nb.types.Complex):
        return lambda a, b, p: _wide_add_nb(a, b)
    if isinstance(a, nb.types.Integer):
        return lambda a, b, p: (a + b) % p
    return lambda a, b, p: a + b


@overload(mul, inline="always", strict=False)
def _mul(a: Any, b: Any, p: Any) -> Any:
    if isinstance(a, nb.types.Complex):
        return lambda a, b, p: _wide_mul_nb(a, b)
    if isinstance(a, nb.types.Integer):
        return lambda a, b, p: (a * b) % p
    return lambda a, b, p: a * b


@overload(times, inline="always", strict=False)
def _times(a: Any, x: Any, p: Any) -> Any:
    if isinstance(a, nb.types.Complex):
        return lambda a, x, p: _wide_mul_nb(a, widen(x))
    if isinstance(a, nb.types.Integer):
        return lambda a, x, p: (a * _residue_nb(x, p)) % p
    return lambda a, x, p: a * x if a != 0.0 else 0.0


@overload(nonzero, inline="always", strict=False)
def _nonzero(a: Any) -> Any:
    if isinstance(a, nb.types.Complex):
        return lambda a: a.real != 0.0
    return lambda a: a != 0


@overload(null, inline="always", strict=False)
def _null(x: Any) -> Any:
    if isinstance(x, nb.types.Integer):
        return lambda x: x == NULL_INT
    return lambda x: x != x


def to_wide(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Widen an array of doubles; wide arrays pass as they are."""
    if values.dtype == np.complex128:
        return values
    out = values.astype(np.complex128)
    while (big := (np.abs(out.real) > _HIGH) & np.isfinite(out.real)).any():
        out.real[big] *= _DOWN
        out.imag[big] += 1.0
    out.imag[np.isinf(out.real)] = _INFINITE
    return out


def to_double(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Narrow wide numbers to doubles; what is beyond a double's range is Infinity."""
    exponent = np.minimum(values.imag, 8.0).astype(np.int64) * BLOCK
    with np.errstate(over="ignore"):
        return np.ldexp(values.real, exponent.astype(np.int32))


def log2(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the binary logarithm of wide numbers; it is finite for every positive one."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(values.real) + values.imag * BLOCK)
