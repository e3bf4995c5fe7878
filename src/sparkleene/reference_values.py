"""Expressions by definition, in plain Python: what the reference reads of a row, and of two neighbours."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from sparkleene.language.bound import Bound, Call, Drawn, Field, Interval, Literal_, Path, Term


def read_attribute(path: Path, row: Mapping[str, object]) -> Any:
    """Return an attribute, None where it or a struct on the way is NULL or NaN."""
    value: Any = row
    for name in path:
        value = None if value is None else value[name]
    return _drop_nan(value)


def _drop_nan(value: Any) -> Any:
    """Return the value, None for NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def evaluate_term(term: Term, *rows: Mapping[str, object]) -> Any:
    """Evaluate an expression over one event, or two neighbours, in three-valued logic; None is unknown."""
    if isinstance(term, Literal_):
        return _drop_nan(term.value)
    if isinstance(term, Field):
        value = read_attribute(term.path, rows[term.side])
        is_date = isinstance(value, date) and not isinstance(value, datetime)
        return datetime(value.year, value.month, value.day) if is_date else value
    values = [evaluate_term(arg, *rows) for arg in term.args]
    match term.op:
        case "least" | "greatest" | "coalesce":
            known = [value for value in values if value is not None] or [None]
            return known[0] if term.op == "coalesce" else min(known) if term.op == "least" else max(known)
        case "isnull":
            return values[0] is None
        case "and":
            return False if False in values else None if None in values else True
        case "or":
            return True if True in values else None if None in values else False
    if None in values:
        return None
    if term.op in FUNCTIONS:
        return FUNCTIONS[term.op](*values)
    if len(values) == 1:
        return not values[0] if term.op == "not" else -values[0]
    return _drop_nan(_binary(term.op, values[0], values[1]))


def _binary(op: str, a: Any, b: Any) -> Any:
    """Apply a comparison or an arithmetic operator to two known values; division by zero gives None."""
    if op in ("*", "/") and isinstance(a, timedelta) != isinstance(b, timedelta):
        return _scale(a, b, op)
    if op in OPERATORS:
        return OPERATORS[op](a, b)
    if not b:
        return None
    if op == "/":
        return a / b
    if isinstance(a, int) and isinstance(b, int):
        return (abs(a) % abs(b)) * (-1 if a < 0 else 1)  # the sign of the dividend
    return None if math.isinf(a) else math.fmod(a, b)


def _scale(a: Any, b: Any, op: str) -> timedelta | None:
    """Multiply or divide a duration by a number, to whole microseconds."""
    duration, number = (a, b) if isinstance(a, timedelta) else (b, a)
    if op == "/" and not number:
        return None
    micros = duration // timedelta(microseconds=1)
    scaled = micros / number if op == "/" else micros * number
    return timedelta(microseconds=math.floor(scaled + 0.5) if isinstance(scaled, float) else scaled)


def _round(value: Any, digits: int = 0) -> Any:
    """Round a number as it is written; half goes away from zero."""
    if isinstance(value, float) and math.isinf(value):
        return value
    with localcontext(prec=400):
        rounded = Decimal(repr(value)).quantize(Decimal((0, (1,), -digits)), ROUND_HALF_UP)
    return type(value)(rounded)


def _whole(value: Any, function: Callable[[Any], int]) -> int | None:
    """Return the floor or the ceiling of a number if it is a 64-bit integer."""
    if math.isinf(value):
        return None
    found = function(value)
    return found if -(2**63) <= found < 2**63 else None


def _is_like(text: str, pattern: str) -> bool:
    """Tell whether text matches: % is any text, _ a character, and a backslash takes the next one as it is."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_is_like(text[skipped:], pattern[1:]) for skipped in range(len(text) + 1))
    if pattern[0] == "_":
        return text != "" and _is_like(text[1:], pattern[1:])
    pattern = pattern[1:] if pattern[0] == "\\" else pattern
    return text[:1] == pattern[0] and _is_like(text[1:], pattern[1:])


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "round": _round,
    "floor": lambda value: _whole(value, math.floor),
    "ceil": lambda value: _whole(value, math.ceil),
    "lower": str.lower,
    "upper": str.upper,
    "like": _is_like,
}


def count_durations(bound: Bound, rows: Sequence[Mapping[str, Any]], time: str) -> Bound:
    """Return the query with durations as values: numbers in the unit of the times where these are numbers."""
    numbers = all(isinstance(row[time], int | float) for row in rows)

    def count(term: Term) -> Term:
        if isinstance(term, Call):
            return replace(term, args=tuple(map(count, term.args)))
        if isinstance(term, Field) or not isinstance(term.value, Interval):
            return term
        duration = timedelta(microseconds=int(term.value.milliseconds * 1000))
        return Literal_(term.value.number if numbers else duration)  # type: ignore[arg-type]

    window = bound.window
    if isinstance(window, Drawn):
        opens, closes = (None if term is None else count(term) for term in (window.opens, window.closes))
        window = replace(window, opens=opens, closes=closes)
    return replace(
        bound,
        window=window,
        local=tuple(tuple(map(count, terms)) for terms in bound.local),
        adjacent=tuple(replace(item, condition=count(item.condition)) for item in bound.adjacent),
        durations=tuple(map(count, bound.durations)),
        ends=tuple(map(count, bound.ends)),
        types=None if bound.types is None else tuple((name, count(term)) for name, term in bound.types),
        derived=tuple(replace(column, term=count(column.term)) for column in bound.derived),
    )


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
