"""Tuples of numbers, which kernels keep in registers."""

from __future__ import annotations


def tuple_setitem(values: tuple[float, ...], at: int, value: float) -> tuple[float, ...]:
    """Return the tuple with one item replaced. In kernels it is a single store (see lowered.py)."""
    return (*values[:at], value, *values[at + 1 :])
