"""Exact numbers of any length as decimal text, and back. Python's own conversions stop at 4300 digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa

from sparkleene.engine.arrays import Scaled
from sparkleene.language.bound import Output

PLAIN = 600  # digits that Python converts itself, whatever its limit is


def exact_column(
    output: Output, rows: Sequence[Sequence[int | Fraction]], made_of: tuple[int, ...], totals: tuple[Scaled, ...]
) -> pa.Array:
    """Return a column of results from integers."""

    def total(row: Sequence[int | Fraction], which: int) -> Fraction:
        return sum((row[1 + column] * scale for column, scale in totals[which]), Fraction(0))

    counts = [int(total(row, made_of[-1])) if made_of else int(row[0]) for row in rows]
    if output.log is not None:
        per = 1.0 if output.log == 2 else math.log10(2)
        return pa.array([_log2(count) * per if count else None for count in counts], pa.float64())
    if output.function == "count":
        return pa.array([digits_of(count) for count in counts], pa.string())
    sums = [total(row, made_of[0]) if count else None for row, count in zip(rows, counts, strict=True)]
    if output.function == "sum":
        return pa.array([None if value is None else write_decimal(value) for value in sums], pa.string())
    assert output.function == "avg", output.function
    means = [None if value is None else float(value / n) for value, n in zip(sums, counts, strict=True)]
    return pa.array(means, pa.float64())


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
