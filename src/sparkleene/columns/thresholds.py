"""Separable conditions as two arrays of doubles, one of the earlier event and one of the later, that compare alike.

Arithmetic over both events becomes such arrays in one of two ways. Both decide every pair of rows exactly as the
condition that is written does:

- Integers are moved to their event's side, in 64 bits where no sum can leave them, else as integers of any length.
- All else goes by borders. The condition rises or falls with the value of one event, and rounding keeps the order
  of numbers. So for each row of the other event it holds for the first of all values in order, or for the last, and
  bisection by the condition itself finds how many. Nothing is solved for a variable, so nothing is rounded anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns import compare
from sparkleene.columns.arrow import Array, as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.durations import settle, types_of
from sparkleene.columns.expressions import Floats, Value, drop_sides, evaluate, evaluate_arithmetic, rank_sides
from sparkleene.columns.fields import bounds
from sparkleene.errors import Place
from sparkleene.language.bound import Call, Field, Literal_, Term
from sparkleene.language.operators import FLIPPED
from sparkleene.language.trees import fields
from sparkleene.plan.predicates import Comparison, Threshold, sides

MOST = 2**62
"""Sums of integers below this are made in 64 bits."""


def rank_comparison(
    comparison: Comparison | Threshold, table: pa.Table, place: Place = Place()
) -> tuple[Floats, Floats]:
    """Return two arrays of float64 that compare by the operator as the condition says, for every pair of rows.

    >>> gap = Call("-", (Field(("t",), 1), Field(("t",), 0)))
    >>> rank_comparison(Threshold(">=", Call("<=", (gap, Literal_(3))), 0), pa.table({"t": [1, 5, None]}))
    (array([ 1.,  5., nan]), array([-2.,  2., nan]))
    """
    if isinstance(comparison, Comparison):
        return rank_sides(comparison.left, comparison.right, comparison.op, table, place)
    condition = settle(comparison.condition, types_of(table, place), place).term
    assert isinstance(condition, Call)
    found = _Parts.of(condition, table, place)
    if any(pa.types.is_null(value.type) for value in found.values.values()):
        nothing = np.full(table.num_rows, math.nan)
        return nothing, nothing
    weights = weigh_attributes(Call("-", found.condition.args))
    if weights is not None and all(value.type == pa.int64() for value in found.values.values()):
        return _move(weights, found.values, comparison.op != comparison.condition.op)
    return _bisect(found, comparison, place)


@dataclass(frozen=True)
class _Parts:
    """A condition over columns of the largest parts that speak of one event, and the values of these."""

    condition: Call
    values: dict[Field, Value]

    @classmethod
    def of(cls, condition: Call, table: pa.Table, place: Place) -> _Parts:
        values: dict[Field, Value] = {}

        def cut(term: Term) -> Term:
            of = sides(term)
            if len(of) > 1:
                assert isinstance(term, Call)
                return Call(term.op, tuple(map(cut, term.args)), term.span)
            if not of:
                return term
            value = evaluate_arithmetic(drop_sides(term), table, place, boolean=True)
            name = Field((str(len(values)),), 1 if 1 in of else 0, term.span)
            values[name] = value.cast(pa.int64()) if pa.types.is_boolean(value.type) else value
            return name

        whole = cut(condition)
        assert isinstance(whole, Call)
        return cls(whole, values)


# ---- integers, each on its event's side


Weights = dict[Field | None, int]
"""A linear sum: how often each attribute is in it, and under None its constant."""


def weigh_attributes(term: Term) -> Weights | None:
    """Return a term as a sum with whole weights, None if it is not that."""
    if isinstance(term, Field):
        return {term: 1}
    if isinstance(term, Literal_):
        whole = isinstance(term.value, int) and not isinstance(term.value, bool)
        return {None: int(term.value)} if whole else None  # type: ignore[arg-type]
    found = [weigh_attributes(arg) for arg in term.args]
    parts = [one for one in found if one is not None]
    if len(parts) < len(found):
        return None
    if term.op == "neg":
        return _scale(parts[0], -1)
    if term.op in ("+", "-"):
        left, right = parts[0], _scale(parts[1], 1 if term.op == "+" else -1)
        return {key: left.get(key, 0) + right.get(key, 0) for key in {**left, **right}}
    if term.op == "*":
        left, right = parts if parts[1].keys() == {None} else parts[::-1]
        return _scale(left, right[None]) if right.keys() == {None} else None
    return None


def _scale(weights: Weights, factor: int) -> Weights:
    return {key: weight * factor for key, weight in weights.items()}


def _move(weights: Weights, values: dict[Field, Value], turned: bool) -> tuple[Floats, Floats]:
    """Return the sums of both sides: `weights` compared with 0 is the first compared with the second.

    If the operator is turned around, so are the signs.
    """
    ends = {name: bounds(value) or (0, 0) for name, value in values.items()}
    largest = sum(abs(weights[name]) * max(map(abs, pair)) for name, pair in ends.items())
    fits = largest + sum(map(abs, weights.values())) < MOST
    signs = (-1, 1) if turned else (1, -1)
    sums: list[Any] = []
    for side, sign in zip((0, 1), signs, strict=True):
        terms = [(sign * weights[name], value) for name, value in values.items() if name.side == side]
        constant = sign * weights.get(None, 0) if side else 0
        sums.append(_sum(terms, constant) if fits else _long_sum(terms, constant))
    if fits:
        return compare.ranks(sums[0], sums[1], len(sums[0]))
    order = {value: rank for rank, value in enumerate(sorted({*sums[0], *sums[1]} - {None}))}
    first, second = (np.array([order.get(value, math.nan) for value in each], np.float64) for each in sums)
    return first, second


def _sum(terms: list[tuple[int, Value]], constant: int) -> Value:
    """Return sums of columns of integers with weights, which fit 64 bits."""
    total: Value = make_scalar(constant)
    for weight, value in terms:
        total = pc.add(total, pc.multiply(value, make_scalar(weight)))
    return total


def _long_sum(terms: list[tuple[int, Value]], constant: int) -> list[int | None]:
    """Return such sums of any length."""
    rows = zip(*(value.to_pylist() for _, value in terms), strict=True)
    weights = [weight for weight, _ in terms]
    return [
        None if None in row else constant + sum(w * x for w, x in zip(weights, row, strict=True)) for row in rows
    ]


# ---- borders


def _bisect(found: _Parts, threshold: Threshold, place: Place) -> tuple[Floats, Floats]:
    """Return ranks of the values of one event, and for each row of the other the border among these."""
    condition, side = found.condition, threshold.side
    [name] = [name for name in found.values if name.side == side]
    others = {other.path[0]: value for other, value in found.values.items() if other != name}
    ranks, distinct = compare.dense_ranks(found.values[name])
    beside = FLIPPED[threshold.op] if side else threshold.op  # value `beside` border
    rows, first = len(ranks), beside in ("<", "<=")  # whether it holds for the first values, or for the last

    def at(term: Term, place_of_value: Array) -> Value:
        """Return a term where each row of the other event meets one of the values."""
        columns = {name.path[0]: distinct.take(make_array(place_of_value)), **others}
        return evaluate(drop_sides(term), pa.table(columns), place)

    low, high = np.zeros(rows, np.int64), np.full(rows, len(distinct), np.int64)
    if len(distinct):
        ends = [np.full(rows, end) for end in (0, len(distinct) - 1)]
        _check_infinite(condition, name, [at(_sides(condition, name)[0], end) for end in ends], others, place)
    for _ in range(len(distinct).bit_length() if rows else 0):
        middle = (low + high) // 2
        holds = as_numpy(fill_null(at(condition, np.minimum(middle, len(distinct) - 1)), False))
        before, open_ = holds == first, low < high
        low = np.where(open_ & before, middle + 1, low)
        high = np.where(open_ & ~before, middle, high)
    border = (low - (beside in ("<=", ">"))).astype(np.float64)
    return (border, ranks) if side else (ranks, border)


def _sides(condition: Call, name: Field) -> tuple[Term, Term]:
    """Return the side of a condition that the value is in, and the other."""
    one, two = condition.args
    return (one, two) if name in fields(one) else (two, one)


def _check_infinite(
    condition: Call, name: Field, ends: list[Value], others: dict[str, Value], place: Place
) -> None:
    """Raise where infinities cancel to NULL beside an infinite bound: what holds then has no border.

    `x - y >= z` with y = Infinity and z = -Infinity holds for finite x, and neither for x = Infinity.
    """
    if condition.op not in ("<=", ">="):
        return
    bound = evaluate(drop_sides(_sides(condition, name)[1]), pa.table(others), place)
    if not pa.types.is_floating(bound.type) or not _any(pc.is_inf(bound)):
        return
    known = [pc.is_valid(value) for value in others.values()]
    for end in ends:
        cancelled = pc.and_(pc.is_null(end), pc.is_inf(bound))
        for each in known:
            cancelled = pc.and_(cancelled, each)
        if _any(cancelled):
            text = place.source[condition.span.start : condition.span.end]
            name_of = f"'{text}'" if text else "a condition"
            message = f"infinite values meet on both sides of {name_of}"
            raise place.error("not-exact", message, condition.span, "leave rows with infinite values out")


def _any(truth: Value) -> bool:
    """Tell whether some value is true."""
    if isinstance(truth, pa.Scalar):
        return truth.as_py() is True
    return pc.any(truth).as_py() is True
