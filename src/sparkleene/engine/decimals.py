"""Exact numbers of any length as decimal text, and back. Python's own conversions stop at 4300 digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import make_array
from sparkleene.engine.outputs import spread_column
from sparkleene.plan.aggregates import Made

PLAIN = 600  # digits that Python converts itself, whatever its limit is


def exact_column(made: Made, parts: Sequence[Sequence[Fraction]]) -> pa.Array:
    """Return a column of results from exact numbers: what an output is made of, in each row."""
    function, log = made.output.function, made.output.log
    counts = [int(row[-1]) for row in parts]
    if log is not None:
        per = 1.0 if log == 2 else math.log10(2)
        return make_array([_log2(count) * per if count else None for count in counts], pa.float64())
    if function == "count" and made.is_apart:
        return make_array(counts, pa.int64())
    if function == "count":
        return make_array([digits_of(count) for count in counts], pa.string())
    if function == "sum":
        sums = [write_decimal(row[0]) if row[-1] else None for row in parts]
        return make_array(sums, pa.string())
    if function == "avg":
        return make_array([float(row[0] / row[-1]) if row[-1] else None for row in parts], pa.float64())
    variance = np.array([float(row[0]) for row in parts], np.float64)
    return spread_column(function, variance, np.array([_as_double(count) for count in counts], np.float64))


def _as_double(count: int) -> float:
    return float(count) if count.bit_length() < 1000 else math.inf


def write_decimal(value: Fraction) -> str:
    """Write a number whose denominator divides a power of ten exactly.

    >>> write_decimal(Fraction(-7, 4)), write_decimal(Fraction(10**30))
    ('-1.75', '1000000000000000000000000000000')
    """
    digits = 0
    while (10**digits) % value.denominator:
        digits += 1
    whole = abs(value.numerator) * (10**digits // value.denominator)
    text = digits_of(whole).rjust(digits + 1, "0")
    body = text if not digits else f"{text[:-digits]}.{text[-digits:]}"
    return f"-{body}" if value < 0 else body


def read_decimal(text: str) -> Fraction:
    """Read what `write_decimal` wrote.

    >>> read_decimal("-1.75"), read_decimal(digits_of(7**9000)) == 7**9000
    (Fraction(-7, 4), True)
    """
    sign = -1 if text.startswith("-") else 1
    whole, _, part = text.removeprefix("-").partition(".")
    return Fraction(sign * _integer(whole + part), 10 ** len(part))


def digits_of(value: int) -> str:
    """Write an integer that is not negative."""
    if value.bit_length() <= 2048:
        return str(value)
    low = int(value.bit_length() * math.log10(2) / 2)
    head, tail = divmod(value, 10**low)
    return digits_of(head) + digits_of(tail).rjust(low, "0")


def _integer(digits: str) -> int:
    if len(digits) <= PLAIN:
        return int(digits)
    low = len(digits) // 2
    scale: int = 10**low
    return _integer(digits[:-low]) * scale + _integer(digits[-low:])


def _log2(value: int) -> float:
    shift = max(0, value.bit_length() - 64)
    return math.log2(value >> shift) + shift
