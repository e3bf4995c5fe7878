"""Bound terms as Spark columns, so that the JVM labels rows and drops others before Python sees them.

A column means exactly what `engine.expressions` means, whatever the session's settings; where that cannot be
shown there is none, and the engine has to be asked. Names and constants never become SQL text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkleene.engine import compare
from sparkleene.engine.expressions import evaluate
from sparkleene.engine.fields import EXACT, Place
from sparkleene.errors import DataError
from sparkleene.language.bound import Bound, Call, Field, Literal_, Path, Term

NO_TEXT = Place()
INT64 = (-(2**63), 2**63 - 1)
_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_FLOATS = (T.FloatType, T.DoubleType)
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)
_OTHERS = (T.DecimalType, T.BooleanType, T.BinaryType, T.NullType)
_BITS = dict(zip((*_INTEGERS, *_TIMES), (8, 16, 32, 64, 32, 64, 64), strict=True))
_MASKS = ((7, "tinyint"), (15, "smallint"), (31, "int"), (64, "bigint"))

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_PLAIN: dict[str, Callable[..., Any]] = {
    "neg": operator.neg, "+": operator.add, "-": operator.sub, "*": operator.mul,
    "/": F.try_divide, "%": F.try_mod,
}  # fmt: skip
_TRY: dict[str, Callable[..., Column]] = {
    "neg": lambda a: F.try_subtract(F.lit(0).cast("long"), a),
    "+": F.try_add, "-": F.try_subtract, "*": F.try_multiply,
}  # fmt: skip


class _Unsure(Exception):
    """SQL cannot be shown to give what the engine gives."""


def column(path: Path) -> Column:
    """Return a column, or a field of a struct column, by its name."""
    quoted = path[0].replace("`", "``")
    return reduce(Column.getField, path[1:], F.col(f"`{quoted}`"))


def value(
    term: Term, schema: T.StructType, place: Place = NO_TEXT, zone: str | None = None
) -> tuple[Column, T.DataType] | None:
    """Return the value of a term on one event, whichever side it is on, and its type; None where unsure.

    Integers are long, floats are double with NULL for NaN. `zone` is the session's time zone: without it a time
    that is written without an offset is not compared with timestamps.
    """
    try:
        found = _Translator(schema, place, zone).checked(term)
    except _Unsure:
        return None
    if isinstance(found.type, _INTEGERS):
        return found.column.cast("long"), T.LongType()
    return (found.column, found.type) if _known(found.type) else None


def condition(
    term: Term, schema: T.StructType, place: Place = NO_TEXT, zone: str | None = None
) -> Column | None:
    """Return a condition on one event, which may be NULL; None where unsure."""
    try:
        return _Translator(schema, place, zone).condition(term)
    except _Unsure:
        return None


def masks(
    bound: Bound,
    schema: T.StructType,
    type_column: str | None,
    local: bool = True,
    place: Place = NO_TEXT,
    zone: str | None = None,
) -> Column | None:
    """Return the bits of the labels that a row can have, as `engine.columns.label_masks`; None where unsure.

    Without `local` types alone decide. The column is tinyint, smallint, int or bigint, whichever has room; the
    last of 64 labels is its sign. A local predicate is asked only of rows that its label can still have.
    """
    count = len(bound.labels)
    width = next((name for most, name in _MASKS if count <= most), None)
    if width is None:
        return None

    def mask(labels: Iterable[int]) -> Column:
        bits = sum(1 << i for i in labels)
        return F.lit(bits - (1 << 64) if bits >= 1 << 63 else bits).cast(width)

    def having(labels: list[int]) -> Column:
        """Return the labels, of those of a row's types, whose predicates hold."""
        free = [i for i in labels if not (local and bound.local[i])]
        found = [mask(free)]
        for i in sorted({*labels} - {*free}):
            terms = [translator.condition(term) for term in bound.local[i]]
            # nested, not AND: Spark may compute in advance what the sides of an AND have in common
            nested = reduce(lambda inner, each: F.when(each, inner), reversed(terms), mask([i]))
            found.append(F.coalesce(nested, mask([])))
        return _joined(Column.bitwiseOR, found)

    translator = _Translator(schema, place, zone)
    labels: dict[str, list[int]] = {}
    for i, label in enumerate(bound.labels):
        labels.setdefault(label.type, []).append(i)
    try:
        if bound.types is not None:
            own = [(translator.condition(term), labels[name]) for name, term in bound.types if name in labels]
            cases = [F.when(each, having(numbers)).otherwise(mask([])) for each, numbers in own]
            return reduce(Column.bitwiseOR, cases, mask([]))
        if type_column is None:
            return having(list(range(count)))
        types = translator.types(bound, type_column)
        typed = column((type_column,))
        found: Any = reduce(
            lambda case, name: case.when(typed == types[name], having(labels[name])), types, F
        )
        return found.otherwise(mask([])) if types else mask([])
    except _Unsure:
        return None


def superset(
    bound: Bound,
    schema: T.StructType,
    type_column: str | None,
    place: Place = NO_TEXT,
    zone: str | None = None,
) -> Column | None:
    """Return a filter that every row with a label passes, made of what Parquet readers know; None for none."""
    translator = _Translator(schema, place, zone)
    types: dict[str, Column] | None = None
    if type_column is not None and bound.types is None:
        try:
            types = translator.types(bound, type_column)
        except _Unsure:
            return None
    groups: dict[str, list[_Parts]] = {}  # by type: what Parquet can tell of each label
    for label, local in zip(bound.labels, bound.local, strict=True):
        if types is None or label.type in types:
            defined = [term for name, term in bound.types or () if name == label.type]
            parts = {key: part for term in (*local, *defined) for key, part in translator.pushed(term)}
            groups.setdefault(label.type if types else "", []).append(parts)
    if not groups:
        return None
    everywhere = set.intersection(*({*parts} for group in groups.values() for parts in group))
    first = next(iter(groups.values()))[0]
    common = [part for key, part in first.items() if key in everywhere]
    rests: dict[str, Column | None] = {}
    for name, group in groups.items():
        left = [_all(part for key, part in parts.items() if key not in everywhere) for parts in group]
        some = [each for each in left if each is not None]
        rests[name] = _joined(operator.or_, some) if len(some) == len(left) else None
    if types is None or type_column is None:
        return _all([*common, *(rest for rest in rests.values() if rest is not None)])
    typed = column((type_column,))
    either = [(typed == types[name]) & rest for name, rest in rests.items() if rest is not None]
    bare = [types[name] for name, rest in rests.items() if rest is None]
    if bare:
        either.append(typed.isin(bare) if len(bare) > 1 else typed == bare[0])
    return _all([*common, _joined(operator.or_, either)])


_Parts = dict[object, Column]


def _all(parts: Iterable[Column]) -> Column | None:
    """Return the conjunction, None of nothing."""
    found = list(parts)
    return _joined(operator.and_, found) if found else None


def _joined(op: Callable[[Column, Column], Column], parts: list[Column]) -> Column:
    """Join columns in a tree that is not deep, for Spark descends by recursion."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return op(_joined(op, parts[:half]), _joined(op, parts[half:]))


def _known(type: T.DataType) -> bool:
    """Tell whether Spark's values of a type are compared as the engine's are."""
    if isinstance(type, T.StringType):
        return type == T.StringType()  # by bytes, not by a collation
    return isinstance(type, (*_INTEGERS, *_FLOATS, *_TIMES, *_OTHERS))


def _has_field(term: Term) -> bool:
    return isinstance(term, Field) or (isinstance(term, Call) and any(map(_has_field, term.args)))


def _folded(name: str) -> str:
    """Return a name in a form that is the same for all names that Spark may take for it."""
    return name.replace("İ", "i").upper().casefold()


@dataclass(frozen=True, slots=True)
class _Value:
    """A column with what is known of it."""

    column: Column
    type: T.DataType
    constant: Any = ...  # what it always is, if that is known
    ends: tuple[int, int] = INT64  # of integers
    known: tuple[Column, ...] = ()  # integers are NULL unless these hold


@dataclass(frozen=True, slots=True)
class _Translator:
    """Translates terms over one schema."""

    schema: T.StructType
    place: Place
    zone: str | None
    overflows: dict[Term, Column] = field(default_factory=dict)  # of the term that is being translated

    def checked(self, term: Term) -> _Value:
        """Return a term's value; an overflow in any part of it is an error, for that part may not be computed."""
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
        return _Value(cases.otherwise(found.column), found.type)

    def condition(self, term: Term) -> Column:
        """Return a condition with its overflows checked."""
        return self._truth(self.checked(term))

    def types(self, bound: Bound, type_column: str) -> dict[str, Column]:
        """Return the value of the type column for each event type that it can hold."""
        type = self._type((type_column,))
        names = dict.fromkeys(label.type for label in bound.labels)
        if isinstance(type, T.NullType):
            return {}
        if isinstance(type, T.StringType) and _known(type):
            return {name: _constant(Literal_(name)).column for name in names}
        if not isinstance(type, _INTEGERS):
            raise _Unsure
        whole = {name: int(name) for name in names if len(name) < 21 and name.removeprefix("-").isdecimal()}
        ends = 1 << _BITS[type.__class__] - 1
        inside = {name: n for name, n in whole.items() if str(n) == name and -ends <= n < ends}
        return {name: F.lit(n).cast(type) for name, n in inside.items()}

    # ---- values

    def value(self, term: Term) -> _Value:
        """Return a term's value; what overflows is NULL, and noted."""
        if not _has_field(term):
            return _constant(term)
        if isinstance(term, Field):
            return self._field(term.path)
        assert isinstance(term, Call)
        if term.op in _COMPARE:
            return _Value(self._comparison(term), T.BooleanType())
        listed = self._listed(term)
        if listed is not None:
            return _Value(listed, T.BooleanType())
        values = [self.value(arg) for arg in term.args]
        if term.op == "isnull":
            return _Value(values[0].column.isNull(), T.BooleanType())
        if term.op in ("and", "or", "not"):
            truth = [self._truth(each) for each in values]
            joined = _joined(operator.and_ if term.op == "and" else operator.or_, truth)
            return _Value(~joined if term.op == "not" else joined, T.BooleanType())
        return self._arithmetic(term, [_number(each) for each in values])

    def _truth(self, found: _Value) -> Column:
        if isinstance(found.type, T.NullType):
            return found.column.cast("boolean")
        if not isinstance(found.type, T.BooleanType):
            raise _Unsure
        return found.column

    def _type(self, path: Path) -> T.DataType:
        """Return the type of a path whose names each mean one column, with or without regard to case."""
        type: T.DataType = self.schema
        for name in path:
            if not isinstance(type, T.StructType):
                raise _Unsure
            if [each for each in type.names if _folded(each) == _folded(name)] != [name]:
                raise _Unsure
            type = type[name].dataType
        return type

    def _field(self, path: Path) -> _Value:
        type, found = self._type(path), column(path)
        if isinstance(type, _FLOATS):
            return _Value(_no_nan(found.cast("double")), T.DoubleType())
        if isinstance(type, _INTEGERS):
            end = 1 << _BITS[type.__class__] - 1
            return _Value(found, type, ends=(-end, end - 1), known=(found.isNotNull(),))
        return _Value(found, type)

    def _arithmetic(self, term: Call, values: list[_Value]) -> _Value:
        """Return numbers calculated in long where all are, else in double."""
        if term.op == "/" or any(isinstance(each.type, _FLOATS) for each in values):
            doubles = [each.column.cast("double") for each in values]
            return _Value(_no_nan(_PLAIN[term.op](*doubles)), T.DoubleType())
        columns = [each.column.cast("long") for each in values]
        known = tuple(part for each in values for part in each.known)
        ends = _ends(term.op, [each.ends for each in values])
        if term.op == "%":
            known += (columns[1] != 0,)
        if INT64[0] <= ends[0] and ends[1] <= INT64[1]:
            return _Value(_PLAIN[term.op](*columns), T.LongType(), ends=ends, known=known)
        tried = _TRY[term.op](*columns)
        self.overflows[term] = reduce(operator.and_, known, tried.isNull())
        return _Value(tried, T.LongType(), known=known)

    # ---- comparisons

    def _comparison(self, term: Call) -> Column:
        """Return a comparison of two values of one kind."""
        op: str = term.op
        left, right = (self.value(arg) for arg in term.args)
        if not (_known(left.type) and _known(right.type)):
            raise _Unsure
        if isinstance(left.type, T.NullType) or isinstance(right.type, T.NullType):
            return F.lit(None).cast("boolean")
        fixed = term.args[1]
        if left.constant is not ...:
            op, left, right, fixed = _FLIPPED[op], right, left, term.args[0]
        if right.constant is not ...:
            found = self._beside(op, left.column, left.type, right, isinstance(fixed, Literal_))
            return F.when(left.column.isNotNull(), F.lit(found)) if isinstance(found, bool) else found
        return _COMPARE[op](*_aligned(left, right))  # type: ignore[no-any-return]

    def _beside(
        self, op: str, column: Column, type: T.DataType, constant: _Value, written: bool
    ) -> Column | bool:
        """Return a comparison of a column with a constant, or what it is wherever the column is not NULL."""
        if not _known(type):
            raise _Unsure
        if isinstance(type, T.BooleanType | T.StringType):
            if type != constant.type:
                raise _Unsure
            return _COMPARE[op](column, constant.column)  # type: ignore[no-any-return]
        low, high = self._around(type, constant.constant, written)
        if op in ("=", "!="):
            return _COMPARE[op](column, low) if low is high else op == "!="
        end = high if op in ("<", ">=") else low
        return op in ("<", ">") if end is None else _COMPARE[op](column, end)

    def _listed(self, term: Call) -> Column | None:
        """Return alternatives that are an attribute's equalities with constants as IN, which Spark looks up."""
        pairs = [arg.args for arg in term.args if isinstance(arg, Call) and arg.op == "="]
        if term.op != "or" or len(pairs) < len(term.args) or any(_has_field(pair[1]) for pair in pairs):
            return None
        one = pairs[0][0]
        if not isinstance(one, Field) or any(pair[0] != one for pair in pairs):
            return None
        type, values = self._type(one.path), []
        for _, two in pairs:
            constant = _constant(two)
            if not _known(type) or isinstance(type, _FLOATS) or isinstance(constant.type, T.NullType):
                return None
            if isinstance(type, T.BooleanType | T.StringType):
                if type != constant.type:
                    raise _Unsure
                values.append(constant.column)
            else:
                low, high = self._around(type, constant.constant, isinstance(two, Literal_))
                if low is high and low is not None:
                    values.append(low)
        return column(one.path).isin(values) if values else None

    def _around(self, type: T.DataType, item: Any, written: bool) -> tuple[Column | None, Column | None]:
        """Return the values of a type next to a constant, below and above; one column where it is such a value."""
        if isinstance(item, bool) or isinstance(item, str) != isinstance(type, _TIMES):
            raise _Unsure
        if isinstance(type, _FLOATS):
            return _around_float(type, item)
        scale = 0
        if isinstance(type, T.DecimalType):
            scale, end = type.scale, 10**type.precision
            ends = (1 - end, end - 1)
        elif isinstance(type, (*_INTEGERS, *_TIMES)):
            end = 1 << _BITS[type.__class__] - 1
            ends = (-end, end - 1)
        else:
            raise _Unsure
        if isinstance(item, str):
            item = self._time(type, item)
        elif isinstance(item, float) and math.isinf(item):
            return (_literal(ends[1], type), None) if item > 0 else (None, _literal(ends[0], type))
        elif isinstance(item, float) and isinstance(type, T.DecimalType):
            item = _decimal(item, written)
        at = Fraction(item) * 10**scale
        low, high = math.floor(at), math.ceil(at)
        if low == high and ends[0] <= low <= ends[1]:
            same = _literal(low, type)
            return same, same
        below = _literal(min(low, ends[1]), type) if low >= ends[0] else None
        return below, _literal(max(high, ends[0]), type) if high <= ends[1] else None

    def _time(self, type: T.DataType, text: str) -> Fraction:
        """Return a time in the unit of a type, which is days or microseconds."""
        scalar = pa.scalar(text)
        try:
            if isinstance(type, T.DateType):
                found = compare.constant(text, pa.date32(), scalar)
            elif isinstance(type, T.TimestampNTZType):
                found = compare.constant(text, pa.timestamp("us"), scalar)
            else:
                if self.zone is None and not _has_offset(text):
                    raise _Unsure
                found = compare.constant(text, pa.timestamp("us", self.zone or "UTC"), scalar)
        except ValueError as error:
            raise _Unsure from error
        if pa.types.is_date(found.type):
            return Fraction(found.value)
        if found.type.unit == "ns":  # in which the engine cannot hold all of Spark's times
            raise _Unsure
        seconds = Fraction(found.value, {"s": 1, "ms": 1000, "us": 1_000_000}[found.type.unit])
        return seconds / 86_400 if isinstance(type, T.DateType) else seconds * 1_000_000

    # ---- parts for Parquet

    def pushed(self, term: Term, negated: bool = False) -> Iterator[tuple[object, Column]]:
        """Yield conditions on bare columns that hold wherever a term does, or its negation, each with a key."""
        if isinstance(term, Call) and term.op == "not":
            yield from self.pushed(term.args[0], not negated)
        elif isinstance(term, Call) and term.op == ("or" if negated else "and"):
            for arg in term.args:
                yield from self.pushed(arg, negated)
        elif isinstance(term, Call) and term.op in ("and", "or"):
            try:
                listed = None if negated else self._listed(term)
            except _Unsure:
                return
            if listed is not None:
                yield (term, negated), listed
                return
            ways = [_all(part for _, part in self.pushed(arg, negated)) for arg in term.args]
            some = [way for way in ways if way is not None]
            if len(some) == len(ways):
                yield (term, negated), _joined(operator.or_, some)
        else:
            try:
                yield from self._leaf(term, negated)
            except _Unsure:  # a weaker filter will do
                return

    def _leaf(self, term: Term, negated: bool) -> Iterator[tuple[object, Column]]:
        if isinstance(term, Field) and isinstance(self._type(term.path), T.BooleanType):
            yield (term.path, negated), column(term.path) == F.lit(not negated)
        if not isinstance(term, Call):
            return
        if term.op == "isnull" and isinstance(term.args[0], Field):
            path = term.args[0].path
            type = self._type(path)
            if negated:
                yield path, column(path).isNotNull()
            elif not isinstance(type, _FLOATS):  # NaN is NULL, which Parquet does not know
                yield (path, None), column(path).isNull()
        if term.op not in _COMPARE:
            return
        op = _NEGATED[term.op] if negated else term.op
        for (one, two), name in ((term.args, op), (term.args[::-1], _FLIPPED[op])):
            if isinstance(one, Field) and not _has_field(two):
                constant = _constant(two)
                if isinstance(constant.type, T.NullType):
                    return
                bare, type = column(one.path), self._type(one.path)
                found = self._beside(name, bare, type, constant, isinstance(two, Literal_))
                if isinstance(type, _FLOATS) and constant.constant == 0 and name in ("=", "<=", ">="):
                    # Parquet's dictionaries tell -0.0 from 0.0, so each side has to let both pass
                    above, below = bare >= F.lit(-0.0).cast(type), bare <= F.lit(0.0).cast(type)
                    found = {">=": above, "<=": below, "=": above & below}[name]
                if not isinstance(found, bool):
                    yield (term, negated), found
                    return
        for path in _operands(term):
            self._type(path)
            yield path, column(path).isNotNull()


def _operands(term: Term) -> Iterator[Path]:
    """Yield the attributes that are not NULL where a comparison is true."""
    if isinstance(term, Field):
        yield term.path
    elif isinstance(term, Call) and (term.op in _COMPARE or term.op in _PLAIN):
        for arg in term.args:
            yield from _operands(arg)


# ---- constants and numbers


def _constant(term: Term) -> _Value:
    """Return a term without attributes, as the engine calculates it."""
    try:
        item = evaluate(term, pa.table({})).as_py()
    except (DataError, UnicodeError) as error:
        raise _Unsure from error
    if item is None:
        return _Value(F.lit(None), T.NullType(), None)
    if isinstance(item, bool):
        return _Value(F.lit(item), T.BooleanType(), item)
    if isinstance(item, str):
        return _Value(F.lit(item), T.StringType(), item)
    if isinstance(item, float):
        return _Value(F.lit(item), T.DoubleType(), item)
    if isinstance(item, Decimal):  # an integer beyond int64
        return _Value(_literal(int(item), T.DecimalType(38, 0)), T.DecimalType(38, 0), item)
    return _Value(F.lit(item).cast("long"), T.LongType(), item, (item, item))


def _literal(number: int, type: T.DataType) -> Column:
    """Return the value of a type that is so many of its units: whole numbers, last digits, days, microseconds."""
    if isinstance(type, T.DecimalType):
        return F.lit(f"{number}E-{type.scale}").cast(type)
    if isinstance(type, T.DateType):
        return F.date_from_unix_date(F.lit(number))
    if isinstance(type, T.TimestampType):
        return F.timestamp_micros(F.lit(number).cast("long"))
    if isinstance(type, T.TimestampNTZType):
        return F.lit(pa.scalar(number, pa.timestamp("us")).cast(pa.string()).as_py()).cast(type)
    return F.lit(number).cast(type)


def _decimal(number: float, written: bool) -> Decimal:
    """Return a constant beside decimals as it was written; the engine calculates in double if that is too long."""
    _, digits, exponent = (found := Decimal(repr(number))).as_tuple()
    if not written or len(digits) + abs(int(exponent)) > 38:
        raise _Unsure
    return found


def _around_float(type: T.DataType, item: Any) -> tuple[Column, Column]:
    """Return the floats next to a number, below and above."""
    if isinstance(item, Decimal):
        item = pa.scalar(item).cast(pa.float64(), safe=False).as_py()
    kind: Any = np.float32 if isinstance(type, T.FloatType) else np.float64
    with np.errstate(over="ignore"):
        near = kind(float(item))
    if float(near) == item:
        same = F.lit(float(near)).cast(type)
        return same, same
    above = float(near) > item
    other = np.nextafter(near, kind(-math.inf if above else math.inf))
    low, high = (other, near) if above else (near, other)
    return F.lit(float(low)).cast(type), F.lit(float(high)).cast(type)


def _no_nan(double: Column) -> Column:
    return F.nanvl(double, F.lit(None).cast("double"))


def _number(found: _Value) -> _Value:
    """Return a number to calculate with: NULL is an integer, and decimals are left to the engine."""
    if isinstance(found.type, T.NullType):
        return _Value(found.column.cast("long"), T.LongType(), None, (0, 0), (F.lit(False),))
    if not isinstance(found.type, (*_INTEGERS, *_FLOATS)):
        raise _Unsure
    return found


def _ends(op: str, ends: list[tuple[int, int]]) -> tuple[int, int]:
    """Return between which integers a result is."""
    if op == "%":
        size = min(max(map(abs, ends[0])), max(1, *map(abs, ends[1])) - 1)
        return -size, size
    found = [_PLAIN[op](*each) for each in product(*ends)]
    return min(found), max(found)


def _aligned(left: _Value, right: _Value) -> tuple[Column, Column]:
    """Return two columns in one type that holds all values of both."""
    one, two = left.type, right.type
    if isinstance(one, _INTEGERS) and isinstance(two, _INTEGERS):
        return left.column, right.column
    if isinstance(one, _FLOATS) or isinstance(two, _FLOATS):
        for each in (left, right):
            if not isinstance(each.type, _FLOATS) and not (
                isinstance(each.type, _INTEGERS) and each.ends[0] >= -EXACT and each.ends[1] <= EXACT
            ):
                raise _Unsure
        return left.column.cast("double"), right.column.cast("double")
    if isinstance(one, T.DecimalType) or isinstance(two, T.DecimalType):
        sizes = [_digits(each) for each in (one, two)]
        scale = max(size[1] for size in sizes)
        digits = max(size[0] for size in sizes) + scale
        if digits > 38:
            raise _Unsure
        type = T.DecimalType(digits, scale)
        return left.column.cast(type), right.column.cast(type)
    if {one.__class__, two.__class__} == {T.DateType, T.TimestampNTZType}:
        return left.column.cast("timestamp_ntz"), right.column.cast("timestamp_ntz")
    if one != two:
        raise _Unsure
    return left.column, right.column


def _digits(type: T.DataType) -> tuple[int, int]:
    """Return how many digits a number has before and after its point."""
    if isinstance(type, T.DecimalType):
        return type.precision - type.scale, type.scale
    if not isinstance(type, _INTEGERS):
        raise _Unsure
    return 19, 0


def _has_offset(text: str) -> bool:
    """Tell whether a time is not written in a zone that is left open."""
    try:
        compare.constant(text, pa.timestamp("us"), pa.scalar(text))
    except ValueError:
        return True
    return False
