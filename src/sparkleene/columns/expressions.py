"""Expressions over the rows of an Arrow table, vectorised.

NaN is NULL, a comparison with NULL is NULL, AND, OR and NOT are three-valued, x / 0 and x % 0 are NULL.
Integers are compared exactly, with floats too; integer arithmetic that overflows is an error. Times and durations
are calculated with as integers (`durations.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns import compare, functions
from sparkleene.columns.arrow import as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.durations import count_ticks, from_ticks, settle, types_of
from sparkleene.columns.fields import describe_column, doubles, find_column, kind, nan_to_null, sample, simplify
from sparkleene.errors import Place, Span
from sparkleene.language.ast import Scalar
from sparkleene.language.bound import Call, Field, Interval, Literal_, Term
from sparkleene.language.trees import is_constant, map_leaves, walk_term

Value = Any
"""A pyarrow ChunkedArray, Array or Scalar."""

Floats = np.ndarray[Any, np.dtype[np.float64]]
Truth = np.ndarray[Any, np.dtype[np.bool_]]


def evaluate(term: Term, table: pa.Table, place: Place = Place()) -> Value:
    """Return the value of a term for each row, or one scalar where no attribute is in it.

    >>> term = Call("<", (Field(("price",)), Literal_(3)))
    >>> evaluate(term, pa.table({"price": [1, 5, None]})).to_pylist()
    [True, False, None]
    """
    settled = settle(term, types_of(table, place), place)
    return from_ticks(_Evaluator(table, place).value(settled.term), settled)


def evaluate_condition(term: Term, table: pa.Table, place: Place = Place()) -> Truth:
    """Return which rows satisfy a condition; NULL does not.

    >>> evaluate_condition(Field(("ok",)), pa.table({"ok": [True, None, False]}))
    array([ True, False, False])
    """
    evaluator = _Evaluator(table, place)
    value = evaluator.value(settle(term, types_of(table, place), place).term)
    evaluator.check(term, value, "boolean", "here a condition is needed")
    if isinstance(value, pa.Scalar):
        return np.full(table.num_rows, value.as_py() is True)
    if pa.types.is_null(value.type):
        return np.zeros(table.num_rows, bool)
    return as_numpy(fill_null(value, False))


def evaluate_number(term: Term, table: pa.Table, place: Place = Place(), *, boolean: bool = False) -> Floats:
    """Return a number for each row as float64, NaN for NULL; with `boolean` also TRUE as 1 and FALSE as 0.

    >>> evaluate_number(Field(("x",)), pa.table({"x": [1, None]}))
    array([ 1., nan])
    """
    value = evaluate_arithmetic(term, table, place, boolean=boolean)
    if value.type == pa.int64() and not compare.is_exact(value):
        name = _Evaluator(table, place).name(term)
        fine = any(isinstance(part, Call) and part.op == "nanos" for part in walk_term(term))
        help = "round the times to microseconds" if fine else "cast it to double"
        raise place.error("not-exact", f"{name} has integers beyond 2^53", term.span, help)
    if isinstance(value, pa.Scalar):
        item = value.as_py()
        return np.full(table.num_rows, math.nan if item is None else float(item))
    return doubles(value)


def evaluate_arithmetic(term: Term, table: pa.Table, place: Place = Place(), *, boolean: bool = False) -> Value:
    """Return a number for each row in a type that holds it; with `boolean` also truth values as they are."""
    evaluator = _Evaluator(table, place)
    value = evaluator.value(settle(term, types_of(table, place), place).term)
    if not (boolean and kind(value.type) == "boolean"):
        evaluator.check(term, value, "number", "here a number is needed")
    return value


def rank_sides(left: Term, right: Term, op: str, table: pa.Table, place: Place = Place()) -> tuple[Floats, Floats]:
    """Return two arrays of float64 that compare like the two sides of a comparison, for every pair of rows.

    NULL is NaN, so for `!=` a NaN on either side has to be told apart. Where the sides are one expression, so
    are the arrays.

    >>> rank_sides(Field(("name",)), Field(("name",), 1), "<", pa.table({"name": ["b", "a", None]}))[0]
    array([ 1.,  0., nan])
    """
    evaluator = _Evaluator(table, place)
    whole = settle(Call(op, (left, right)), types_of(table, place), place).term  # type: ignore[arg-type]
    assert isinstance(whole, Call)
    left, right = whole.args
    one = drop_sides(left)
    two = drop_sides(right)
    first = evaluator.value(one)
    if one == two:
        evaluator.comparable(left, first, right, first, op)
        keys = compare.ranks(first, first, table.num_rows)[0]
        return keys, keys
    first, second = evaluator.comparable(left, first, right, evaluator.value(two), op)
    return compare.ranks(first, second, table.num_rows)


def drop_sides(term: Term) -> Term:
    """Return a term with every attribute on side 0."""
    return map_leaves(term, Field, lambda field: Field(field.path, 0, field.span))


@dataclass(frozen=True, slots=True)
class _Evaluator:
    """Evaluates terms over one table."""

    table: pa.Table
    place: Place

    def value(self, term: Term) -> Value:
        """Return the value of a term."""
        if isinstance(term, Literal_):
            return literal(term.value)
        if isinstance(term, Field):
            return simplify(find_column(self.table, term.path, self.place, term.span))
        values = [self.value(arg) for arg in term.args]
        if term.op == "isnull":
            return pc.is_null(values[0])
        if term.op in functions.CHOICES:
            self._check_choices(term, values)
            return functions.choose(term.op, values)
        if term.op in functions.TEXTS:
            self.check(term.args[0], values[0], "text", f"{term.op.upper()} needs text")
            return functions.apply_to_text(term.op, values[0], *_constants(term.args[1:]))
        if term.op in ("and", "or", "not"):
            for arg, value in zip(term.args, values, strict=True):
                self.check(arg, value, "boolean", f"{term.op.upper()} needs a condition")
            truth = [_give_type(value, pa.bool_()) for value in values]
            kernel = pc.and_kleene if term.op == "and" else pc.or_kleene
            return pc.invert(truth[0]) if term.op == "not" else reduce(kernel, truth)
        if term.op in compare.OPERATORS:
            first, second = self.comparable(term.args[0], values[0], term.args[1], values[1], term.op)
            return compare.compare(term.op, first, second)
        return self._calculate(term, values)

    def _calculate(self, term: Call, values: list[Value]) -> Value:
        """Return a number made of numbers, or of a time."""
        try:
            if term.op in ("micros", "nanos"):
                return count_ticks(values[0], term.op)
            function = term.op in functions.NUMBERS
            what = f"{term.op.upper()} needs a number" if function else "arithmetic needs numbers"
            for arg, value in zip(term.args, values, strict=True):
                self.check(arg, value, "number", what)
            if function:
                return functions.apply_to_number(term.op, values[0], *_constants(term.args[1:]))
            return _arithmetic(term.op, values)
        except pa.ArrowInvalid as error:
            message = f"{self.name(term)} goes beyond the range of 64-bit integers"
            help = "calculate with doubles: write a constant with a point, as 2.0, or cast the column"
            raise self.place.error("overflow", message, term.span, help) from error

    def _check_choices(self, term: Call, values: list[Value]) -> None:
        """Raise unless all values are of one kind, NULL beside."""
        kinds = {kind(value.type) for value in values} - {"null"}
        if len(kinds) > 1 or kinds & {"other"}:
            message = f"{term.op.upper()} needs values of one kind"
            notes = [self._describe(arg, value) for arg, value in zip(term.args, values, strict=True)]
            raise self.place.error("wrong-type", message, term.span, notes=notes)

    def check(self, term: Term, value: Value, wanted: str, message: str) -> None:
        """Raise unless a value is of the wanted kind, or always NULL."""
        if kind(value.type) not in (wanted, "null"):
            help = "convert the column in the data" if isinstance(term, Field) else None
            raise self.place.error("wrong-type", f"{message}, but {self._describe(term, value)}", term.span, help)

    def comparable(self, left: Term, first: Value, right: Term, second: Value, op: str) -> tuple[Value, Value]:
        """Return both sides of a comparison in one type where that loses nothing, or raise."""
        kinds = (kind(first.type), kind(second.type))
        for term, value, word in ((left, first, kinds[0]), (right, second, kinds[1])):
            if word == "other":
                raise self.place.error("wrong-type", self._describe(term, value), term.span)
        try:
            if isinstance(left, Literal_) and isinstance(left.value, str):
                first = compare.parse_constant(left.value, second.type, first)
            if isinstance(right, Literal_) and isinstance(right.value, str):
                second = compare.parse_constant(right.value, first.type, second)
        except ValueError as error:
            text, other, column = left, right, second
            if not isinstance(left, Literal_):
                text, other, column = right, left, first
            raise self.place.error(
                "wrong-type",
                f"{self._describe(text, None)} and does not read as {self._type(column)}",
                text.span,
                "write it like '2024-05-31', '2024-05-31 23:59:59' or '2024-05-31T23:59:59Z'",
                [self._describe(other, column)],
            ) from error
        kinds = (kind(first.type), kind(second.type))
        if kinds[0] != kinds[1] and "null" not in kinds:
            span = _over(left, right)
            notes = [self._describe(left, first), self._describe(right, second)]
            message = f"cannot compare {_KIND[kinds[0]]} with {_KIND[kinds[1]]} by {op}"
            raise self.place.error("wrong-type", message, span, self._advice(kinds, left, right, op), notes)
        try:
            return compare.align(first, second, (isinstance(left, Literal_), isinstance(right, Literal_)))
        except pa.ArrowInvalid as error:
            message = "the two sides have no common unit of time in which both fit 64 bits"
            notes = [self._describe(left, first), self._describe(right, second)]
            raise self.place.error("overflow", message, _over(left, right), notes=notes) from error

    def name(self, term: Term) -> str:
        """Return a term as it is called in errors."""
        if isinstance(term, Field):
            return f"'{'.'.join(term.path)}'"
        text = self.place.source[term.span.start : term.span.end]
        return f"'{text}'" if text else "this expression"

    def _describe(self, term: Term, value: Value) -> str:
        """Return what a term is: a column with its type and a sample, or a constant."""
        if isinstance(term, Field):
            return describe_column(term.path, find_column(self.table, term.path, self.place, term.span))
        if isinstance(term, Literal_):
            return f"{term.value!r} is {_KIND_OF_CONSTANT.get(type(term.value), 'a constant')}"
        return f"{self.name(term)} is {self._type(value)}"

    def _type(self, value: Value) -> str:
        """Return the kind of a value with an article."""
        return _KIND[kind(value.type)]

    def _advice(self, kinds: tuple[str, str], left: Term, right: Term, op: str) -> str | None:
        """Return how two kinds can be made comparable."""
        if set(kinds) == {"timestamp", "zoned timestamp"}:
            return "give both a time zone, or neither, in the data"
        fixed = {word for term, word in ((left, kinds[0]), (right, kinds[1])) if is_constant(term)}
        if fixed == {"number"} and not {"text", "timestamp", "zoned timestamp"}.isdisjoint(kinds):
            number, other = (left, right) if kinds[0] == "number" else (right, left)
            if re.fullmatch(r"'\d+(-\d+)+'", text := self.name(number)):
                return f"put it in quotes: {text}"  # it is read as a subtraction
            if "text" not in kinds:
                return "write times in quotes, like '2024-05-31' or '2024-05-31 23:59:59'"
            if self._holds_numbers(other, op):
                return "convert the column to numbers in the data"
            return "put the constant in quotes"
        if set(kinds) == {"number", "text"}:
            return "write the number without quotes" if fixed else "convert one of them in the data"
        if "boolean" in kinds and ("number" in kinds or "text" in kinds):
            return "compare a boolean with TRUE or FALSE"
        return None

    def _holds_numbers(self, term: Term, op: str) -> bool:
        """Tell whether text looks like numbers; bare digits compared by = are as likely names."""
        if not isinstance(term, Field):
            return False
        value = (sample(find_column(self.table, term.path, self.place, term.span)) or "")[1:-1].strip()
        return bool(_NUMBER.fullmatch(value)) and not (value.isdigit() and op in ("=", "!="))


_NUMBER = re.compile(r"[-+]?\W?\d+(?:[.,' ]\d{3})*(?:[.,]\d+)?(?:e[-+]?\d+)?\s*(?:[^\W\d]*|[^\w\s])", re.IGNORECASE)
"""A number as people write it: 12.50, 1,000, -3 km, $5, 7 %."""


def _over(left: Term, right: Term) -> Span:
    """Return the place of both sides."""
    return left.span.to(right.span) if left.span.end and right.span.end else left.span


_KIND = {
    "number": "a number",
    "text": "text",
    "boolean": "a boolean",
    "timestamp": "a timestamp without a time zone",
    "zoned timestamp": "a timestamp with a time zone",
    "time of day": "a time of day",
    "duration": "a duration",
    "binary": "binary data",
    "null": "NULL",
    "other": "another type",
}
_KIND_OF_CONSTANT = {str: "text", int: "a number", float: "a number", bool: "a boolean"}


def _constants(terms: Sequence[Term]) -> list[Any]:
    """Return the constants that a function has beside its operand: digits, or a pattern."""
    return [term.value for term in terms if isinstance(term, Literal_)]


def literal(value: Scalar | Interval) -> Value:
    """Return a constant; integers beyond int64 are decimals, and floats where those end.

    >>> literal(2**70).type, literal(float("nan")).is_valid
    (Decimal128Type(decimal128(38, 0)), False)
    """
    assert not isinstance(value, Interval), "durations are settled before"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return make_scalar(None, pa.null())
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        if abs(value) < 10**38:
            return make_scalar(Decimal(value), pa.decimal128(38, 0))
        try:
            return make_scalar(float(value))
        except OverflowError:
            return make_scalar(math.copysign(math.inf, value))
    return make_scalar(value)


def _give_type(value: Value, type: pa.DataType) -> Value:
    """Return values that are always NULL as NULLs of a type."""
    return value.cast(type) if pa.types.is_null(value.type) else value


# ---- arithmetic


def _arithmetic(op: str, values: list[Value]) -> Value:
    """Apply an operator to numbers: in int64 or decimal where all are, else in double."""
    if any(pa.types.is_null(value.type) for value in values):
        values = [_give_type(value, pa.int64()) for value in values]
    floats = any(pa.types.is_floating(value.type) for value in values) or op == "/"
    decimals = any(pa.types.is_decimal(value.type) for value in values)
    if not floats and decimals and op != "%":
        try:
            return _KERNELS[op](*values)
        except pa.ArrowInvalid:  # more than 38 digits
            floats = True
    if floats or decimals:
        values = [_double(value) for value in values]
    if op in _KERNELS:
        result = _KERNELS[op](*values)
        return nan_to_null(result) if pa.types.is_floating(result.type) else result
    a, b = values
    zero = make_scalar(0, b.type)
    b = pc.if_else(pc.equal(b, zero), make_scalar(None, b.type), b)
    if op == "/":
        return nan_to_null(pc.divide(a, b))
    if pa.types.is_floating(a.type):
        return _fmod(a, b)
    b = pc.if_else(
        pc.equal(b, make_scalar(-1)), make_scalar(1, pa.int64()), b
    )  # the least int64 has no quotient by -1
    return pc.subtract(a, pc.multiply(pc.divide(a, b), b))


_KERNELS: dict[str, Callable[..., Value]] = {
    "neg": pc.negate_checked,
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}


def _double(value: Value) -> Value:
    """Return numbers as float64."""
    return value if value.type == pa.float64() else value.cast(pa.float64(), safe=False)


def _fmod(a: Value, b: Value) -> Value:
    """Return the remainder with the sign of the dividend, NULL for NaN."""
    with np.errstate(invalid="ignore"):
        result = np.fmod(*(_array(value) for value in (a, b)))
    if result.ndim == 0:
        return nan_to_null(make_scalar(float(result)))
    return make_array(result, nan_is_null=True)


def _array(value: Value) -> Any:
    """Return float64 values, or one, with NaN for NULL."""
    if isinstance(value, pa.Scalar):
        return np.float64(math.nan if value.as_py() is None else value.as_py())
    return doubles(value)
