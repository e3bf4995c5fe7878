"""Terms as values of SQL, None where SQL could give another value than the engine does."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkleene.columns import compare
from sparkleene.columns.durations import Settled, settle
from sparkleene.errors import DataError, Place
from sparkleene.language.bound import Bound, Call, Field, Literal_, Path, Term
from sparkleene.language.operators import FLIPPED, RELATIONS
from sparkleene.language.trees import is_constant
from sparkleene.spark.sql.functions import FUNCTIONS, interval_micros
from sparkleene.spark.sql.types import to_arrow
from sparkleene.spark.sql.values import (
    BITS,
    BOOLEAN,
    DOUBLE,
    FLOATS,
    INT64,
    INTEGERS,
    LONG,
    PLAIN,
    TIMES,
    TRY,
    Unsure,
    Value,
    align,
    around_float,
    column,
    combine,
    constant_of,
    decimal,
    ends_of,
    has_offset,
    is_comparable,
    literal,
    no_nan,
    number,
)

DAYS = 106_751_991
"""So many days before and after the epoch are 64-bit integers in microseconds."""


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates terms over one schema."""

    schema: T.StructType
    place: Place
    zone: str | None
    overflows: dict[Term, Column] = field(default_factory=dict)  # of the term that is being translated

    def checked_value(self, term: Term) -> Value:
        """Return a term's value; an overflow in any part of it is an error, for that part may not be computed."""
        return self.check_overflow(self.settle(term).term)

    def settle(self, term: Term) -> Settled:
        """Return a term over plain numbers in place of times and durations."""

        def type_of(field: Field) -> pa.DataType:
            type = self.type_of(field.path)
            return pa.timestamp("us", self.zone) if isinstance(type, T.TimestampType) else to_arrow(type)

        try:
            settled = settle(term, type_of)
        except DataError as error:
            raise Unsure from error
        if self.zone is None and settled.term is not term:  # a time in quotes may have been read in no zone
            raise Unsure
        return settled

    def check_overflow(self, term: Term) -> Value:
        """Return the value of a settled term, with its overflows checked."""
        self.overflows.clear()
        found = self.value(term)
        if not self.overflows:
            return found
        cases: Any = F
        for part, overflow in self.overflows.items():
            text = self.place.source[part.span.start : part.span.end]
            name = f"'{text}'" if text else "this expression"
            message = f"{name} goes beyond the range of 64-bit integers"
            help = "calculate with doubles: write a constant with a point, as 2.0, or cast the column"
            error = self.place.error("overflow", message, part.span, help)
            cases = cases.when(overflow, F.raise_error(F.lit(error.render())).cast(found.type))
        return Value(cases.otherwise(found.column), found.type)

    def condition(self, term: Term) -> Column:
        """Return a condition with its overflows checked."""
        return self._truth(self.checked_value(term))

    def types(self, bound: Bound, type_column: str) -> dict[str, Column]:
        """Return the value of the type column for each event type that it can hold."""
        type = self.type_of((type_column,))
        names = dict.fromkeys(label.type for label in bound.labels)
        if isinstance(type, T.NullType):
            return {}
        if isinstance(type, T.StringType) and is_comparable(type):
            return {name: constant_of(Literal_(name)).column for name in names}
        if not isinstance(type, INTEGERS):
            raise Unsure
        whole = {name: int(name) for name in names if len(name) < 21 and name.removeprefix("-").isdecimal()}
        ends = 1 << BITS[type.__class__] - 1
        inside = {name: n for name, n in whole.items() if str(n) == name and -ends <= n < ends}
        return {name: F.lit(n).cast(type) for name, n in inside.items()}

    # ---- values

    def value(self, term: Term) -> Value:
        """Return a term's value; what overflows is NULL, and noted."""
        if is_constant(term):
            return constant_of(term)
        if isinstance(term, Field):
            return self._field(term.path)
        assert isinstance(term, Call)
        if term.op in RELATIONS:
            return Value(self._comparison(term), T.BooleanType())
        listed = self.membership(term)
        if listed is not None:
            return Value(listed, T.BooleanType())
        if term.op in ("micros", "nanos"):
            return self._ticks(term)
        values = [self.value(arg) for arg in term.args]
        if term.op in FUNCTIONS:
            overflow, found = FUNCTIONS[term.op](term, values)
            if overflow is not None:
                self.overflows[term] = overflow
            return found
        if term.op == "isnull":
            return Value(values[0].column.isNull(), T.BooleanType())
        if term.op in ("and", "or", "not"):
            truth = [self._truth(each) for each in values]
            whole = combine(operator.and_ if term.op == "and" else operator.or_, truth)
            return Value(~whole if term.op == "not" else whole, T.BooleanType())
        return self._arithmetic(term, [number(each) for each in values])

    def _truth(self, found: Value) -> Column:
        if isinstance(found.type, T.NullType):
            return found.column.cast(BOOLEAN)
        if not isinstance(found.type, T.BooleanType):
            raise Unsure
        return found.column

    def type_of(self, path: Path) -> T.DataType:
        """Return the type of a path whose names each mean one column, with or without regard to case."""
        type: T.DataType = self.schema
        for name in path:
            if not isinstance(type, T.StructType):
                raise Unsure
            if [each for each in type.names if _fold_case(each) == _fold_case(name)] != [name]:
                raise Unsure
            type = type[name].dataType
        return type

    def _field(self, path: Path) -> Value:
        type, found = self.type_of(path), column(path)
        if isinstance(type, FLOATS):
            return Value(no_nan(found.cast(DOUBLE)), T.DoubleType())
        if isinstance(type, INTEGERS):
            end = 1 << BITS[type.__class__] - 1
            return Value(found, type, ends=(-end, end - 1), known=(found.isNotNull(),))
        return Value(found, type)

    def _ticks(self, term: Call) -> Value:
        """Return a time since the epoch, or a duration, in microseconds."""
        [field] = term.args
        if term.op != "micros" or not isinstance(field, Field):
            raise Unsure
        type, found = self.type_of(field.path), column(field.path)
        if isinstance(type, T.DateType):
            micros = F.unix_date(found).cast(LONG) * F.lit(86_400_000_000).cast(LONG)
            inside = found.between(literal(-DAYS, type), literal(DAYS, type))
            self.overflows[term] = ~inside
            return Value(F.when(inside, micros), T.LongType(), known=(found.isNotNull(),))
        if isinstance(type, T.TimestampType):
            return Value(F.unix_micros(found), T.LongType(), known=(found.isNotNull(),))
        if isinstance(type, T.TimestampNTZType):
            found = found - literal(0, type)
        elif not isinstance(type, T.DayTimeIntervalType):
            raise Unsure
        return Value(interval_micros(found), T.LongType(), known=(found.isNotNull(),))

    def _arithmetic(self, term: Call, values: list[Value]) -> Value:
        """Return numbers calculated in long where all are, else in double."""
        if term.op == "/" or any(isinstance(each.type, FLOATS) for each in values):
            doubles = [each.column.cast(DOUBLE) for each in values]
            return Value(no_nan(PLAIN[term.op](*doubles)), T.DoubleType())
        columns = [each.column.cast(LONG) for each in values]
        known = tuple(part for each in values for part in each.known)
        ends = ends_of(term.op, [each.ends for each in values])
        if term.op == "%":
            known += (columns[1] != 0,)
        if INT64[0] <= ends[0] and ends[1] <= INT64[1]:
            return Value(PLAIN[term.op](*columns), T.LongType(), ends=ends, known=known)
        tried = TRY[term.op](*columns)
        self.overflows[term] = reduce(operator.and_, known, tried.isNull())
        return Value(tried, T.LongType(), known=known)

    # ---- comparisons

    def _comparison(self, term: Call) -> Column:
        """Return a comparison of two values of one kind."""
        op: str = term.op
        left, right = (self.value(arg) for arg in term.args)
        if not (is_comparable(left.type) and is_comparable(right.type)):
            raise Unsure
        if isinstance(left.type, T.NullType) or isinstance(right.type, T.NullType):
            return F.lit(None).cast(BOOLEAN)
        fixed = term.args[1]
        if left.constant is not ...:
            op, left, right, fixed = FLIPPED[op], right, left, term.args[0]
        if right.constant is not ...:
            found = self.beside(op, left.column, left.type, right, isinstance(fixed, Literal_))
            return F.when(left.column.isNotNull(), F.lit(found)) if isinstance(found, bool) else found
        return RELATIONS[op](*align(left, right))  # type: ignore[no-any-return]

    def beside(self, op: str, column: Column, type: T.DataType, constant: Value, written: bool) -> Column | bool:
        """Return a comparison of a column with a constant, or what it is wherever the column is not NULL."""
        if not is_comparable(type):
            raise Unsure
        low, high = self._around(type, constant, written)
        if op in ("=", "!="):
            return RELATIONS[op](column, low) if low is high else op == "!="
        end = high if op in ("<", ">=") else low
        return op in ("<", ">") if end is None else RELATIONS[op](column, end)

    def membership(self, term: Call) -> Column | None:
        """Return alternatives that are an attribute's equalities with constants as IN, which Spark looks up."""
        pairs = [arg.args for arg in term.args if isinstance(arg, Call) and arg.op == "="]
        if term.op != "or" or len(pairs) < len(term.args) or not all(is_constant(pair[1]) for pair in pairs):
            return None
        one = pairs[0][0]
        if not isinstance(one, Field) or any(pair[0] != one for pair in pairs):
            return None
        type, values = self.type_of(one.path), []
        for _, two in pairs:
            constant = constant_of(two)
            if not is_comparable(type) or isinstance(type, FLOATS) or isinstance(constant.type, T.NullType):
                return None
            low, high = self._around(type, constant, isinstance(two, Literal_))
            if low is high and low is not None:
                values.append(low)
        return column(one.path).isin(values) if values else None

    def _around(self, type: T.DataType, constant: Value, written: bool) -> tuple[Column | None, Column | None]:
        """Return the values of a type next to a constant, below and above; one column where it is such a value."""
        if isinstance(type, T.BooleanType | T.StringType):
            if type != constant.type:
                raise Unsure
            return constant.column, constant.column
        item = constant.constant
        if isinstance(item, bool) or isinstance(item, str) != isinstance(type, TIMES):
            raise Unsure
        if isinstance(type, FLOATS):
            return around_float(type, item)
        scale = 0
        if isinstance(type, T.DecimalType):
            scale, end = type.scale, 10**type.precision
            ends = (1 - end, end - 1)
        elif isinstance(type, (*INTEGERS, *TIMES)):
            end = 1 << BITS[type.__class__] - 1
            ends = (-end, end - 1)
        else:
            raise Unsure
        if isinstance(item, str):
            item = self._time(type, item)
        elif isinstance(item, float) and math.isinf(item):
            return (literal(ends[1], type), None) if item > 0 else (None, literal(ends[0], type))
        elif isinstance(item, float) and isinstance(type, T.DecimalType):
            item = decimal(item, written)
        at = Fraction(item) * 10**scale
        low, high = math.floor(at), math.ceil(at)
        if low == high and ends[0] <= low <= ends[1]:
            same = literal(low, type)
            return same, same
        below = literal(min(low, ends[1]), type) if low >= ends[0] else None
        return below, literal(max(high, ends[0]), type) if high <= ends[1] else None

    def _time(self, type: T.DataType, text: str) -> Fraction:
        """Return a time in the unit of a type, which is days or microseconds."""
        scalar = pa.scalar(text)
        try:
            if isinstance(type, T.DateType):
                found = compare.parse_constant(text, pa.date32(), scalar)
            elif isinstance(type, T.TimestampNTZType):
                found = compare.parse_constant(text, pa.timestamp("us"), scalar)
            else:
                if self.zone is None and not has_offset(text):
                    raise Unsure
                found = compare.parse_constant(text, pa.timestamp("us", self.zone or "UTC"), scalar)
        except ValueError as error:
            raise Unsure from error
        if pa.types.is_date(found.type):
            return Fraction(found.value)
        if found.type.unit == "ns":  # in which the engine cannot hold all of Spark's times
            raise Unsure
        seconds = Fraction(found.value, {"s": 1, "ms": 1000, "us": 1_000_000}[found.type.unit])
        return seconds / 86_400 if isinstance(type, T.DateType) else seconds * 1_000_000


def _fold_case(name: str) -> str:
    """Return a name in a form that is the same for all names that Spark may take for it."""
    return name.replace("İ", "i").upper().casefold()
