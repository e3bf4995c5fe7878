"""Exact numbers of any length as decimal text, and back. Python's own conversions stop at 4300 digits."""

from __future__ import annotations

import math
from fractions import Fraction

PLAIN = 600  # digits that Python converts itself, whatever its limit is


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
