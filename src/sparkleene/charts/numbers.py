"""Numbers of any size to draw: their doubles, and logarithms that do not overflow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Array = np.ndarray[Any, Any]

EXACT = r"^-?[0-9]+(\.[0-9]+)?$"
TOP = math.log10(np.finfo(np.float64).max)
"""What is infinite in double mode is beyond ten to this power."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers, some of them beyond the range of a double.

    `sign` is -1, 0 or 1, and NaN for what is NULL or NaN; `log10` is that of the absolute value: -inf for zero,
    and inf only for what was infinite from the start.
    """

    sign: Array
    log10: Array

    def __len__(self) -> int:
        """Return how many there are."""
        return int(self.sign.size)

    def take(self, which: Any) -> Numbers:
        """Return some of them, by place or by a mask."""
        return Numbers(self.sign[which], self.log10[which])

    def present(self) -> Array:
        """Return a mask of those that are not missing."""
        return ~np.isnan(self.sign)

    def keys(self) -> tuple[Array, Array]:
        """Return two arrays to sort by, the more important one last; what is missing comes before all else."""
        sized = self.present() & (self.sign != 0)
        minor = np.where(sized, self.sign, 0.0) * np.where(sized, self.log10, 0.0)
        return minor, np.where(self.present(), self.sign, -2.0)

    def scale(self, power: int = 0) -> Array:
        """Return the numbers as doubles, divided by a power of ten.

        >>> parse_decimals(["-2" + "0" * 400, None]).scale(400).round(9).tolist()
        [-2.0, nan]
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return np.where(self.sign == 0, 0.0, self.sign * 10.0 ** (self.log10 - power))

    def words(self) -> list[str]:
        """Write each of them for a person; '' for what is missing."""
        return [format_number(s, g) for s, g in zip(self.sign.tolist(), self.log10.tolist(), strict=True)]


def is_numeric(column: pa.ChunkedArray) -> bool:
    """Tell whether a column can be drawn: numbers, or the decimal text of exact ones.

    >>> [is_numeric(pa.chunked_array([column])) for column in ([1, 2], ["12", None], ["12", "x"], [True])]
    [True, True, False, False]
    """
    type = column.type
    if pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type):
        return True
    if not (pa.types.is_string(type) or pa.types.is_large_string(type)):
        return bool(pa.types.is_null(type))
    matches = pc.all(pc.match_substring_regex(column, EXACT), min_count=0)
    return bool(matches.as_py())


def numbers(column: pa.ChunkedArray) -> Numbers:
    """Read a column that is numeric.

    >>> numbers(pa.chunked_array([[0.0, -100.0, float("inf"), None]])).words()
    ['0', '-100', 'inf', '']
    """
    type = column.type
    if pa.types.is_decimal(type):
        return parse_decimals([None if value is None else f"{value:f}" for value in column.to_pylist()])
    if pa.types.is_string(type) or pa.types.is_large_string(type):
        return parse_decimals(column.to_pylist())
    values = column.cast(pa.float64(), safe=False).to_numpy()  # NULL is NaN
    with np.errstate(divide="ignore"):
        return Numbers(np.sign(values), np.log10(np.abs(values)))


def parse_decimals(texts: list[str | None]) -> Numbers:
    """Read decimal text of any length.

    >>> parse_decimals(["1" + "0" * 5000, "-0.001", "0.0"]).log10.tolist()
    [5000.0, -3.0, -inf]
    """
    sign, log = np.empty(len(texts)), np.empty(len(texts))
    for i, text in enumerate(texts):
        sign[i], log[i] = (math.nan, math.nan) if text is None else _parse(text)
    return Numbers(sign, log)


def _parse(text: str) -> tuple[float, float]:
    """Return the sign and the logarithm of decimal text, from its first digits and its length."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    whole = whole.lstrip("0")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0.0, -math.inf
    power = len(whole) or len(digits) - len(fraction)
    size = math.log10(float(f"{digits[0]}.{digits[1:18]}")) + power - 1  # exact for powers of ten
    return (-1.0 if text.startswith("-") else 1.0), size


def format_number(sign: float, log10: float) -> str:
    """Write a number for a person, in ten characters or less unless its power is beyond four digits.

    >>> [format_number(1, log10) for log10 in (math.log10(12345), 120.6337, 9.9999999, -4.0)]
    ['12,345', '4.3e+120', '1.0e+10', '1.0e-04']
    """
    if math.isnan(sign):
        return ""
    if sign == 0:
        return "0"
    minus = "-" if sign < 0 else ""
    if math.isinf(log10):
        return f"{minus}inf"
    if -3 <= log10 < 7:
        value = 10.0**log10
        whole = math.isclose(value, round(value), rel_tol=1e-9, abs_tol=0)
        return minus + (f"{value:,.0f}" if whole or value >= 1000 else f"{value:.4g}")
    power = math.floor(log10)
    mantissa = round(10.0 ** (log10 - power), 1)
    if mantissa >= 10:
        mantissa, power = 1.0, power + 1
    return f"{minus}{mantissa:.1f}e{power:+03d}"
