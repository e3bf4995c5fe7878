"""Expressions over results in exact mode: integers of any length, which Arrow does not have."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pyarrow as pa

from sparkleene.columns.arrow import make_array
from sparkleene.engine.decimals import read_decimal, write_decimal
from sparkleene.errors import Place
from sparkleene.language.bound import Bound, Call, Field, Literal_, Term
from sparkleene.language.operators import RELATIONS
from sparkleene.plan.aggregates import is_whole

Numbers = Sequence[Fraction | None]

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "neg": operator.neg,
    "%": lambda a, b: None if not b else abs(a) % abs(b) * (-1 if a < 0 else 1),  # the sign of the dividend
    "abs": abs,
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
    "round": lambda value, digits=Fraction(0): _round(value, int(digits)),
}
_CHOICES: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "least": min,
    "greatest": max,
    "coalesce": lambda known: known[0],
}
"""What is chosen of the values that are not NULL."""


def exact_outputs(bound: Bound, table: pa.Table) -> frozenset[str]:
    """Return the aggregates that are decimal text in the results of exact mode."""
    numbers = [output.name for output in bound.outputs if output.measure is not None or is_whole(output)]
    return frozenset(name for name in numbers if table.schema.field(name).type == pa.string())


@dataclass(slots=True)
class ExactValues:
    """The values of expressions over a result, some of whose columns are decimal text."""

    table: pa.Table
    exact: frozenset[str]
    place: Place = Place()
    made: dict[str, Any] = field(default_factory=dict)

    def numbers(self, term: Term) -> Numbers | None:
        """Return the exact values of an expression, None where it has none: it is not made of exact ones."""
        match term:
            case Field((name,)) if name in self.exact:
                found = self.table.column(name).to_pylist()
                return [None if text is None else read_decimal(text) for text in found]
            case Field((name,)) if pa.types.is_integer(self.table.schema.field(name).type):
                found = self.table.column(name).to_pylist()
                return [None if value is None else Fraction(value) for value in found]
            case Literal_(int() as value) if not isinstance(value, bool):
                return [Fraction(value)] * self.table.num_rows
            case Call(op, args) if (op in _ARITHMETIC or op in _CHOICES) and self._is_exact(term):
                parts = [self.numbers(arg) for arg in args]
                if all(part is not None for part in parts):
                    rows = zip(*(part for part in parts if part is not None), strict=True)
                    return [_apply(op, row) for row in rows]
        return None

    def _is_exact(self, term: Term) -> bool:
        """Tell whether an expression reads an exact column."""
        if isinstance(term, Call):
            return any(self._is_exact(arg) for arg in term.args)
        return isinstance(term, Field) and term.path[0] in self.exact

    def exact_text(self, term: Term) -> pa.Array | None:
        """Return an expression as decimal text, None where it is not exact."""
        found = self.numbers(term) if self._is_exact(term) else None
        if found is None:
            return None
        return make_array([None if one is None else write_decimal(one) for one in found], pa.string())

    def ranks(self, term: Term) -> pa.Array | None:
        """Return integers in the order of an exact expression, None where it is not exact."""
        found = self.numbers(term) if self._is_exact(term) else None
        if found is None:
            return None
        place = {one: i for i, one in enumerate(sorted({one for one in found if one is not None}))}
        return make_array([None if one is None else place[one] for one in found], pa.int64())

    def simplify(self, term: Term) -> tuple[Term, pa.Table]:
        """Return an expression without exact values, and the table it is over: exact parts are columns of it.

        Comparisons of exact values are made here; elsewhere they become doubles.
        """
        if not self.exact:
            return term, self.table
        simple = self._simple(term)
        table = self.table
        for name, column in self.made.items():
            table = table.append_column(name, column)
        return simple, table

    def _simple(self, term: Term) -> Term:
        if not self._is_exact(term):
            return term
        if isinstance(term, Call) and (term.op in RELATIONS or term.op == "/"):
            one, two = (self._operand(arg) for arg in term.args)
            if one is not None and two is not None:
                rows = list(zip(one, two, strict=True))
                if term.op == "/":
                    ratios = [None if None in row or not row[1] else to_double(row[0] / row[1]) for row in rows]  # type: ignore[operator]
                    return self._keep(ratios, pa.float64(), term)
                compare = RELATIONS[term.op]
                return self._keep([None if None in row else compare(*row) for row in rows], pa.bool_(), term)
        found = self.numbers(term)
        if found is not None:
            return self._keep([None if one is None else to_double(one) for one in found], pa.float64(), term)
        assert isinstance(term, Call)
        return Call(term.op, tuple(self._simple(arg) for arg in term.args), term.span)

    def _operand(self, term: Term) -> Numbers | None:
        """Return the exact values of a side of a comparison or a division; a constant with a point has them too."""
        if isinstance(term, Literal_) and isinstance(term.value, float) and math.isfinite(term.value):
            return [Fraction(term.value)] * self.table.num_rows
        return self.numbers(term)

    def _keep(self, values: list[Any], type: pa.DataType, term: Term) -> Field:
        """Keep values as a column, and return what names it."""
        name = f"exact {len(self.made)}"
        while name in self.table.column_names:
            name += "_"
        self.made[name] = make_array(values, type)
        return Field((name,), 0, term.span)


def _apply(op: str, row: Sequence[Fraction | None]) -> Fraction | None:
    """Return what an operator or a function makes of exact values."""
    known = [value for value in row if value is not None]
    if op in _CHOICES:
        return _CHOICES[op](known) if known else None
    found: Fraction | None = _ARITHMETIC[op](*known) if len(known) == len(row) else None
    return found


def _round(value: Fraction, digits: int) -> Fraction:
    """Round a number to some digits behind the point; half goes away from zero.

    >>> _round(Fraction(-25, 10), 0), _round(Fraction(1249), -2)
    (Fraction(-3, 1), Fraction(1200, 1))
    """
    scale = Fraction(10) ** digits
    whole = math.floor(abs(value) * scale + Fraction(1, 2))
    return (-whole if value < 0 else whole) / scale


def to_double(value: Fraction) -> float:
    """Return a number as a double, infinite where it is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
