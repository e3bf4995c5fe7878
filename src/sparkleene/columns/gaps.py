"""Comparisons of two events' times, which are integers: how far apart they are says all."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa

from sparkleene.columns.durations import settle, types_of
from sparkleene.columns.thresholds import weigh_attributes
from sparkleene.errors import Place
from sparkleene.language.bound import Call, Field, Term
from sparkleene.language.operators import FLIPPED
from sparkleene.plan.predicates import Comparison, Threshold

_PER_MS = {"micros": 1000, "nanos": 10**6}


def gap_limit(
    comparison: Comparison | Threshold, time: str, per_ms: Fraction | None, table: pa.Table, place: Place = Place()
) -> int | None:
    """Return the number x for which `earlier op later - x` is the comparison, None where it has no such form.

    `time` is the column of times, which are counted in integers; their number in a millisecond is given if known.

    >>> from sparkleene.language.bound import Literal_
    >>> gap = Call("-", (Field(("t",), 1), Field(("t",), 0)))
    >>> gap_limit(Threshold(">", Call("<", (gap, Literal_(3))), 0), "t", None, pa.table({"t": [1]}))
    3
    """
    if isinstance(comparison, Comparison):
        condition = Call(comparison.op, (comparison.left, comparison.right))
    else:
        condition = comparison.condition
    settled = settle(condition, types_of(table, place), place).term
    assert isinstance(settled, Call)
    units: set[str] = set()
    weights = weigh_attributes(_plain(Call("-", settled.args), units))
    if weights is None or len(units) > 1 or (units - {""} and per_ms is None):
        return None
    constant, fields = weights.pop(None, 0), {field: weight for field, weight in weights.items() if field}
    slopes = {field.side: weight for field, weight in fields.items() if field.path == (time,)}
    if len(fields) != 2 or len(slopes) != 2 or slopes[0] + slopes[1] != 0 or not slopes[1]:
        return None
    unit = units.pop()
    each = Fraction(_PER_MS[unit]) / per_ms if unit and per_ms is not None else Fraction(1)
    limit = -constant / (slopes[1] * each)  # what later - earlier is compared with
    op = settled.op if slopes[1] > 0 else FLIPPED[settled.op]
    # Of integers `gap <= 2.5` and `gap < 2.5` are `gap <= 2` and `gap < 3`.
    return math.floor(limit) if op in ("<=", ">") else math.ceil(limit)


def _plain(term: Term, units: set[str]) -> Term:
    """Return a term with times as they are stored, and add the units in which it counted them."""
    if isinstance(term, Field):
        units.add("")
        return term
    if isinstance(term, Call) and term.op in _PER_MS:
        units.add(term.op)
        return term.args[0]
    return Call(term.op, tuple(_plain(arg, units) for arg in term.args)) if isinstance(term, Call) else term
