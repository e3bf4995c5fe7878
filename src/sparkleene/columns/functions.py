"""Functions of expressions over Arrow values: NaN is NULL already, and a NULL gives NULL unless said otherwise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.compare import OPERATORS
from sparkleene.columns.fields import decode, doubles, kind, value_type

Value = Any
"""A pyarrow ChunkedArray, Array or Scalar."""

NUMBERS = ("abs", "round", "floor", "ceil")
TEXTS = ("lower", "upper", "like")
CHOICES = ("least", "greatest", "coalesce")


# ---- numbers


def apply_to_number(op: str, value: Value, digits: int = 0) -> Value:
    """Return ABS, ROUND, FLOOR or CEIL; ArrowInvalid where an integer goes beyond 64 bits.

    >>> apply_to_number("round", pa.array([2.5, -2.5, 1.005]), 2).to_pylist()
    [2.5, -2.5, 1.01]
    """
    if pa.types.is_null(value.type):
        return value.cast(pa.int64())
    if op == "abs":
        return pc.abs_checked(value)
    if op == "round":
        return _round(value, digits)
    if pa.types.is_integer(value.type):
        return value
    whole = (pc.floor if op == "floor" else pc.ceil)(value)
    if not pa.types.is_floating(value.type):
        return whole
    inside = pc.and_(pc.greater_equal(whole, make_scalar(-(2.0**63))), pc.less(whole, make_scalar(2.0**63)))
    return pc.if_else(inside, whole, make_scalar(None, pa.float64())).cast(pa.int64(), safe=False)


def _round(value: Value, digits: int) -> Value:
    """Return numbers rounded to digits after the point, or before it: half goes away from zero."""
    if pa.types.is_integer(value.type):
        return value if digits >= 0 else _round_integers(value, -digits)
    if not pa.types.is_floating(value.type):
        return pc.round(value, ndigits=min(digits, value.type.scale), round_mode="half_towards_infinity")
    if isinstance(value, pa.Scalar):
        return value if value.as_py() is None else make_scalar(_round_float(value.as_py(), digits))
    return make_array(round_doubles(doubles(value), digits), nan_is_null=True)


def _round_integers(value: Value, digits: int) -> Value:
    if isinstance(value, pa.Scalar):
        return _round_integers(make_array([value.as_py()], pa.int64()), digits)[0]
    if digits > 19:
        return pc.multiply(value, make_scalar(0))
    numbers = as_numpy(fill_null(value, 0))
    size = np.abs(numbers.astype(object)) if digits == 19 else np.abs(numbers).astype(np.uint64)
    step = 10**digits if digits == 19 else np.uint64(10**digits)
    whole = (size // step + (2 * (size % step) >= step)) * step
    if len(whole) and int(whole.max()) >= 2**63:
        raise pa.ArrowInvalid("rounded beyond 64 bits")
    rounded = make_array(np.where(numbers < 0, -1, 1) * whole.astype(np.int64))
    return pc.if_else(pc.is_valid(value), rounded, make_scalar(None, pa.int64()))


def round_doubles(numbers: np.ndarray[Any, Any], digits: int) -> np.ndarray[Any, Any]:
    """Return doubles rounded as their shortest decimals are; those near a half one by one."""
    if not 0 <= digits <= 15:
        return np.array([_round_float(number, digits) for number in numbers.tolist()], np.float64)
    scale = 10.0**digits
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.abs(numbers) * scale
        below = np.floor(scaled)
        rest = scaled - below
        clear = (scaled < 2.0**52) & (np.abs(rest - 0.5) > 1e-3)
        rounded = np.copysign((below + (rest > 0.5)) / scale, numbers)
    for row in np.flatnonzero(~clear & np.isfinite(numbers)):
        rounded[row] = _round_float(float(numbers[row]), digits)
    return np.where(np.isfinite(numbers), rounded, numbers) + 0.0  # which is not -0.0


def _round_float(number: float, digits: int) -> float:
    if not math.isfinite(number):
        return number
    written = Decimal(repr(number))
    exponent = written.as_tuple().exponent
    assert isinstance(exponent, int)
    if -exponent <= digits:
        return number + 0.0  # which is not -0.0
    if written.adjusted() + 1 < -digits:  # less than a tenth of what is rounded to
        return 0.0
    return float(written.quantize(Decimal((0, (1,), -digits)), ROUND_HALF_UP)) + 0.0


# ---- text


def apply_to_text(op: str, value: Value, pattern: str = "") -> Value:
    r"""Return LOWER, UPPER or LIKE.

    >>> apply_to_text("like", pa.array(["abc", "a%c", None]), "a\\%_").to_pylist()
    [False, True, None]
    """
    if pa.types.is_null(value.type):
        return value.cast(pa.bool_() if op == "like" else pa.string())
    if op == "like":
        matcher = like_to_regex(pattern)
        return _map_text(value, lambda each: pc.match_substring_regex(each, matcher))
    return _map_text(value, _LOWER if op == "lower" else _UPPER)


def _map_text(value: Value, function: Callable[[Value], Value]) -> Value:
    """Apply a function to text, once to each value of a dictionary."""
    if isinstance(value, pa.Scalar):
        return function(make_array([value.as_py()], value_type(value.type)))[0]
    if not pa.types.is_dictionary(value.type):
        chunks = value.chunks if isinstance(value, pa.ChunkedArray) else [value]
        parts = [function(chunk) for chunk in chunks] or [function(make_array([], value.type))]
        return pa.chunked_array(parts)
    chunks = value.chunks if isinstance(value, pa.ChunkedArray) else [value]
    parts = [function(chunk.dictionary).take(chunk.indices) for chunk in chunks]
    return pa.chunked_array(parts or [function(make_array([], value_type(value.type)))])


def _case(plain: Callable[[Value], Value], full: Callable[[str], str]) -> Callable[[Value], Value]:
    """Return what changes the case of letters, with all of Unicode's rules where there are others than A to Z."""

    def change(texts: Value) -> Value:
        if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
            return plain(texts)
        coded = texts.dictionary_encode()
        words = [full(word) for word in coded.dictionary.to_pylist()]
        return make_array(words, texts.type).take(coded.indices)

    return change


_LOWER = _case(pc.ascii_lower, str.lower)
_UPPER = _case(pc.ascii_upper, str.upper)


def like_to_regex(pattern: str) -> str:
    r"""Return a pattern of LIKE as a regular expression: % is any text, _ one character, \ takes the next as it is.

    >>> print(like_to_regex("a_%"))
    (?s)\Aa..*\z
    """
    found = re.sub(r"\\(.)|(.)", _like_piece, pattern, flags=re.DOTALL)
    return rf"(?s)\A{found}\z"


def _like_piece(match: re.Match[str]) -> str:
    escaped, plain = match.groups()
    return re.escape(escaped) if escaped else {"%": ".*", "_": "."}.get(plain) or re.escape(plain)


# ---- choices


def choose(op: str, values: Sequence[Value]) -> Value:
    """Return LEAST, GREATEST or COALESCE of values of one kind; NULLs are skipped.

    >>> choose("least", [pa.array([1, None, None]), pa.array([0.5, 2.0, None])]).to_pylist()
    [0.5, 2.0, None]
    """
    same = _in_one_type(values)
    if op == "coalesce":
        return pc.coalesce(*same)
    return reduce(lambda one, two: _better(OPERATORS["<" if op == "least" else ">"], one, two), same)


def _better(before: Callable[..., Value], one: Value, two: Value) -> Value:
    """Return the first of two values, NULL if both are."""
    second = pc.or_kleene(pc.is_null(one), before(two, one))
    return pc.if_else(pc.and_(pc.is_valid(two), fill_null(second, False)), two, one)


def _in_one_type(values: Sequence[Value]) -> list[Value]:
    """Return values of one kind in one type; numbers are doubles if one of them is."""
    values = [decode(value) for value in values]
    types = list(dict.fromkeys(value.type for value in values if not pa.types.is_null(value.type)))
    if not types:
        return list(values)
    wanted = types[0]
    if len(types) > 1:
        wanted = pa.large_string() if kind(wanted) == "text" else pa.float64()
        if all(pa.types.is_decimal(each) or pa.types.is_integer(each) for each in types):
            wanted = _wide_decimal(types) or wanted
    return [value if value.type == wanted else value.cast(wanted, safe=False) for value in values]


def _wide_decimal(types: Sequence[pa.DataType]) -> pa.DataType | None:
    """Return a decimal type that holds all values of these, None if there is none."""
    sizes = [(t.precision - t.scale, t.scale) if pa.types.is_decimal(t) else (19, 0) for t in types]
    scale = max(size[1] for size in sizes)
    digits = max(size[0] for size in sizes) + scale
    return pa.decimal128(digits, scale) if digits <= 38 else None
