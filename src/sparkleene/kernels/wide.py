"""Wide numbers: doubles that never overflow, mantissa * 2**(256 * exponent), as complex128.

The mantissa is in `real` and the exponent, a whole number, in `imag`; nobody else reads these. Every number keeps a
double's relative precision whatever stands beside it. Numbers with exponent 0 are *plain*: doubles as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparkleene.kernels.jit import helper

Array = np.ndarray[Any, Any]

WIDE = np.complex128
BLOCK = 256
_UP = 2.0**BLOCK
_DOWN = 2.0**-BLOCK
_DOWN2 = 2.0 ** (-2 * BLOCK)
_HIGH = 2.0 ** (BLOCK // 2)
_LOW = 2.0 ** (-BLOCK // 2)
_INFINITE = 2.0**50  # the exponent of infinity, beyond that of any number


# ---- one number, in kernels


@helper
def add(a: complex, b: complex) -> complex:
    """Return a + b."""
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


@helper
def multiply(a: complex, b: complex) -> complex:
    """Return a * b; nothing times infinity is nothing."""
    if a.real == 0.0 or b.real == 0.0:
        return complex(0.0, 0.0)
    m, e = a.real * b.real, a.imag + b.imag
    if abs(m) > _HIGH:
        return complex(m * _DOWN, e + 1.0) if abs(m) < np.inf else complex(m, _INFINITE)
    if abs(m) < _LOW and e > 0.0:  # again, since m may have lost digits
        m, e = a.real * _UP * b.real, e - 1.0
        while abs(m) < _LOW and e > 0.0:
            m, e = m * _UP, e - 1.0
    return complex(m, e if m == m else _INFINITE)


@helper
def widen(x: float) -> complex:
    """Return a double as a wide number."""
    m, e = x, 0.0
    while abs(m) > _HIGH and abs(m) < np.inf:
        m, e = m * _DOWN, e + 1.0
    return complex(m, e if abs(m) < np.inf else _INFINITE)


@helper
def mantissa(a: complex) -> float:
    """Return a number without its exponent."""
    return a.real


@helper
def scale_beside(a: complex, b: complex) -> float:
    """Return the mantissa that a number has beside the exponent of a greater one."""
    below = b.imag - a.imag
    if below == 0.0:
        return a.real
    return a.real * _DOWN if below == 1.0 else 0.0


@helper
def is_nonzero(a: complex) -> bool:
    """Tell whether a number is not zero."""
    return a.real != 0.0


# ---- arrays of numbers


def to_wide(values: Array) -> Array:
    """Widen an array of doubles; wide arrays pass as they are."""
    if values.dtype == WIDE:
        return values
    out = values.astype(WIDE)
    if (np.abs(values) <= _HIGH).all():  # mostly
        return out
    while (big := (np.abs(out.real) > _HIGH) & np.isfinite(out.real)).any():
        out.real[big] *= _DOWN
        out.imag[big] += 1.0
    out.imag[np.isinf(out.real)] = _INFINITE
    return out


def to_double(values: Array) -> Array:
    """Narrow wide numbers to doubles; what is beyond a double's range is Infinity."""
    exponent = np.minimum(values.imag, 8.0).astype(np.int64) * BLOCK
    with np.errstate(over="ignore"):
        return np.ldexp(values.real, exponent.astype(np.int32))


def log2(values: Array) -> Array:
    """Return the binary logarithm of wide numbers; it is finite for every positive one."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(values.real) + values.imag * BLOCK)


def ratio(above: Array, below: Array) -> Array:
    """Divide wide numbers by others that are not zero, giving doubles."""
    exponent = np.clip((above.imag - below.imag) * BLOCK, -4096, 4096).astype(np.int32)
    with np.errstate(over="ignore"):
        return np.ldexp(above.real / below.real, exponent)


def add_multiples(columns: Sequence[Array], factors: Sequence[float]) -> Array:
    """Add up multiples of columns of wide numbers."""
    exponent = np.maximum.reduce([column.imag for column in columns])
    total = np.zeros(exponent.shape)
    for column, factor in zip(columns, factors, strict=True):
        shift = np.clip((column.imag - exponent) * BLOCK, -4096, 0).astype(np.int32)
        total = total + np.ldexp(column.real * factor, shift)
    out = np.empty(exponent.shape, WIDE)
    out.real, out.imag = total, exponent
    return out


def is_positive(values: Array) -> Array:
    """Tell which numbers are above zero."""
    return np.asarray(values.real > 0)


def is_one(values: Array) -> Array:
    """Tell which numbers are one."""
    return np.asarray((values.real == 1) & (values.imag == 0))


def is_plain(values: Array) -> Array:
    """Tell which numbers are doubles as they stand."""
    return np.asarray(values.imag == 0)


def as_doubles(values: Array) -> Array:
    """Return the doubles that plain numbers are."""
    return np.ascontiguousarray(values.real)
