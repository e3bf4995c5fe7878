"""Times and durations in expressions: their kinds are checked, and they become integers to calculate with.

Only like is compared with like. A time minus a time is a duration, a time plus or minus a duration is a time.
Durations add and subtract, are multiplied and divided by numbers, and divided by each other. `settle` checks that
by the types of the columns, and returns an expression over plain numbers: times since the epoch and durations in
microseconds, or in nanoseconds where a column or a constant needs them; a product or quotient is rounded to these.
A time that is compared as it is stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns import compare
from sparkleene.columns.arrow import make_scalar
from sparkleene.columns.fields import decode, describe_type, find_column, kind, value_type
from sparkleene.errors import DataError, Place
from sparkleene.language.bound import Call, Field, Interval, Literal_, Term
from sparkleene.language.trees import walk_term

TypeOf = Callable[[Field], pa.DataType]
Unit = Literal["micros", "nanos"]
TIMES = ("timestamp", "zoned timestamp")
EITHER = "either"
"""The kind of a constant such as `5 minutes` where the time column is a number: beside numbers it is one."""

PER_SECOND: dict[Unit, int] = {"micros": 10**6, "nanos": 10**9}
_ARROW: dict[str, str] = {"micros": "us", "nanos": "ns"}
_CHOICES = ("least", "greatest", "coalesce")


class Settled(NamedTuple):
    """An expression over plain numbers, of which kind its value is, and for a time in which zone."""

    term: Term
    kind: str
    zone: str | None = None
    unit: Unit = "micros"  # of a time or a duration, unless it is an attribute as it is

    @property
    def is_plain(self) -> bool:
        """Whether it is an attribute or a constant, and so not a number that stands for a time."""
        return isinstance(self.term, Field) or (
            isinstance(self.term, Literal_) and not isinstance(self.term.value, Interval)
        )


def settle(term: Term, type_of: TypeOf, place: Place = Place()) -> Settled:
    """Return an expression over plain numbers, or raise where kinds do not go together.

    >>> from fractions import Fraction
    >>> gap = Call("-", (Field(("time",), 1), Field(("time",))))
    >>> short = Call("<=", (gap, Literal_(Interval(Fraction(1500)))))
    >>> settled = settle(short, lambda _: pa.timestamp("ms"))
    >>> settled.kind, settled.term.args[1]
    ('boolean', Literal_(value=1500000))
    """
    settler = _Settler(type_of, place, _unit(term, type_of))
    found = settler.close(settler.settle(term))
    return found._replace(unit=settler.unit)


def types_of(table: pa.Table, place: Place = Place()) -> TypeOf:
    """Return what tells the types of a table's attributes."""
    empty = table.slice(0, 0)
    return lambda field: find_column(empty, field.path, place, field.span).type


def settle_for_doubles(term: Term, table: pa.Table, place: Place = Place()) -> Term:
    """Return an expression over plain numbers for calculation in double: in microseconds if all times are whole.

    Times in nanoseconds are too large to be exact as doubles.
    """
    types = types_of(table, place)

    def coarse(field: Field) -> pa.DataType:
        type = types(field)
        if getattr(value_type(type), "unit", "") != "ns":
            return type
        ticks = count_ticks(decode(find_column(table, field.path, place, field.span)), "nanos")
        whole = pc.all(pc.equal(pc.multiply(pc.divide(ticks, make_scalar(1000)), make_scalar(1000)), ticks)).as_py()
        return pa.timestamp("us", getattr(type, "tz", None)) if whole is not False and kind(type) in TIMES else type

    return settle(term, coarse, place).term


def count_ticks(value: Any, unit: str) -> Any:
    """Return times since the epoch, or durations, as integers; ArrowInvalid if they do not fit 64 bits.

    >>> count_ticks(pa.array([1500], pa.duration("ms")), "micros").to_pylist()
    [1500000]
    """
    wanted = _ARROW[unit]
    type = value.type
    if pa.types.is_duration(type):
        return value.cast(pa.duration(wanted)).cast(pa.int64())
    return value.cast(pa.timestamp(wanted, getattr(type, "tz", None))).cast(pa.int64())


def from_ticks(ticks: Any, settled: Settled) -> Any:
    """Return integers as the times or durations that they stand for, all else as it is."""
    if settled.is_plain or settled.kind not in (*TIMES, "duration"):
        return ticks
    unit = _ARROW[settled.unit]
    return ticks.cast(pa.duration(unit) if settled.kind == "duration" else pa.timestamp(unit, settled.zone))


def has_intervals(term: Term) -> bool:
    """Tell whether a duration is written in an expression."""
    return any(isinstance(part, Literal_) and isinstance(part.value, Interval) for part in walk_term(term))


def _unit(term: Term, type_of: TypeOf) -> Unit:
    """Return the unit in which all times and durations of an expression are whole."""
    for part in walk_term(term):
        match part:
            case Literal_(Interval(milliseconds)):
                fine = (milliseconds * 1000).denominator != 1
            case Field():
                fine = getattr(value_type(type_of(part)), "unit", "") == "ns"
            case _:
                fine = isinstance(part, Call) and part.op == "nanos"
        if fine:
            return "nanos"
    return "micros"


@dataclass(frozen=True)
class _Settler:
    """Settles the parts of one expression, in one unit."""

    type_of: TypeOf
    place: Place
    unit: Unit

    def settle(self, term: Term) -> Settled:
        """Return a part over plain numbers; constants of the kind `EITHER` are still open."""
        if isinstance(term, Field):
            type = value_type(self.type_of(term))
            return Settled(term, kind(type), getattr(type, "tz", None))
        if isinstance(term, Literal_):
            return Settled(term, _kind_of_constant(term))
        parts = [self.settle(arg) for arg in term.args]
        if term.op in compare.OPERATORS:
            parts = self._alike(term, self._read_texts(parts), "compare")
            return self._rebuild(term, parts, "boolean")
        if term.op in _CHOICES:
            parts = self._alike(term, self._read_texts(parts), "choose between")
            known = [part for part in parts if part.kind != "null"] or parts
            if known[0].kind in (*TIMES, "duration"):
                parts = [self.ticks(part) for part in parts]
            return self._rebuild(term, parts, known[0].kind, known[0].zone)
        if term.op in ("neg", "abs") and parts[0].kind in ("duration", EITHER):
            closed = parts if parts[0].kind == EITHER else [self.ticks(parts[0])]
            return self._rebuild(term, closed, parts[0].kind)
        if term.op in ("+", "-", "*", "/", "%"):
            return self._arithmetic(term, parts)
        if term.op in ("micros", "nanos"):
            return Settled(term, "number")
        if term.op in _OF_NUMBERS and parts[0].kind in (*TIMES, "duration"):
            message = f"{_OF_NUMBERS[term.op]} needs a number, not {_WORDS[parts[0].kind]}"
            help = "divide a duration by another, such as 1 second, to have a number"
            raise self.place.error("wrong-type", message, term.span, help, [self._tell(term.args[0], parts[0])])
        words = ("and", "or", "not", "isnull", "like")
        result = "boolean" if term.op in words else "text" if term.op in ("lower", "upper") else "number"
        return self._rebuild(term, [self.close(part) for part in parts], result)

    def close(self, part: Settled) -> Settled:
        """Return a part that stands by itself: nothing beside it says what an open constant is."""
        return part if part.is_plain else self.ticks(self._number(part))

    def _arithmetic(self, term: Call, parts: list[Settled]) -> Settled:
        """Return a sum, difference, product or quotient."""
        kinds = [part.kind for part in parts]
        if not {*kinds} & {*TIMES, "duration", EITHER}:
            return self._rebuild(term, parts, "number")
        if "null" in kinds:
            return self._rebuild(term, [self.ticks(self._number(part)) for part in parts], "null")
        shapes = tuple("time" if word in TIMES else word for word in kinds)
        result = _RESULTS.get((shapes[0], term.op, shapes[1]))
        if result is None or (shapes == ("time", "time") and kinds[0] != kinds[1]):
            raise self._mismatch(term, parts, _VERBS[term.op])
        if result == "time":
            time = parts[0] if shapes[0] == "time" else parts[1]
            return self._rebuild(term, [self.ticks(part) for part in parts], time.kind, time.zone)
        if "number" in shapes and result == "number":
            return self._rebuild(term, [self._number(part) for part in parts], "number")
        if result == EITHER:
            return self._rebuild(term, parts, EITHER)
        if result == "ratio":
            return self._rebuild(term, [self.ticks(part) for part in parts], "number")
        found = self._rebuild(term, [self.ticks(part) for part in parts], result)
        return found._replace(term=self._whole(found.term)) if term.op in "*/" else found

    def _alike(self, term: Call, parts: list[Settled], verb: str) -> list[Settled]:
        """Return parts of one kind, or raise where a time or a duration is beside something else."""
        kinds = {part.kind for part in parts} - {"null"}
        if kinds == {EITHER, "number"} or kinds == {EITHER}:
            return [self._number(part) for part in parts]
        if EITHER in kinds and kinds <= {EITHER, "duration"}:
            parts = [part._replace(kind="duration") if part.kind == EITHER else part for part in parts]
            kinds = {"duration"}
        if len(kinds) > 1:
            timely = [part for part in parts if part.kind in (*TIMES, "duration", EITHER)]
            if not timely or (verb == "compare" and all(part.is_plain for part in timely)):
                return parts  # the values themselves will say what is wrong
            raise self._mismatch(term, parts, verb)
        plain = all(part.is_plain for part in parts)
        return parts if plain or not kinds & {*TIMES, "duration"} else [self.ticks(part) for part in parts]

    def _read_texts(self, parts: list[Settled]) -> list[Settled]:
        """Return constants in quotes as times where they stand beside a time that was calculated."""
        times = [part for part in parts if part.kind in TIMES and not part.is_plain]
        return [self._read_text(part, times[0]) if times and part.kind == "text" else part for part in parts]

    def _read_text(self, part: Settled, beside: Settled) -> Settled:
        """Return a constant as a time of the kind of another."""
        if not isinstance(part.term, Literal_) or not isinstance(part.term.value, str):
            return part
        type = pa.timestamp(_ARROW[self.unit], beside.zone)
        text = part.term.value
        try:
            ticks = count_ticks(compare.parse_constant(text, type, make_scalar(text)), self.unit).as_py()
        except (ValueError, pa.ArrowInvalid) as error:
            message = f"{text!r} is text and does not read as a time"
            help = "write it like '2024-05-31', '2024-05-31 23:59:59' or '2024-05-31T23:59:59Z'"
            raise self.place.error("wrong-type", message, part.term.span, help) from error
        return Settled(Literal_(ticks, part.term.span), beside.kind, beside.zone)

    def ticks(self, part: Settled) -> Settled:
        """Return a time or a duration as a number, other parts as they are."""
        if part.kind in (*TIMES, "duration") and isinstance(part.term, Field):
            return part._replace(term=Call(self.unit, (part.term,), part.term.span))
        if part.kind in (EITHER, "duration"):
            counted = _map_intervals(part.term, self._count)
            return part._replace(term=counted if counted is part.term else self._whole(counted))
        return part

    def _whole(self, term: Term) -> Term:
        """Return a duration that is calculated in double as a whole number again."""
        if not self._is_double(term):
            return term
        return Call("floor", (Call("+", (term, Literal_(0.5)), term.span),), term.span)

    def _is_double(self, term: Term) -> bool:
        """Tell whether a number can have a fraction."""
        if isinstance(term, Field):
            type = value_type(self.type_of(term))
            return bool(pa.types.is_floating(type) or pa.types.is_decimal(type))
        if isinstance(term, Literal_):
            return isinstance(term.value, float)
        return term.op == "/" or (term.op not in _WHOLE and any(map(self._is_double, term.args)))

    def _number(self, part: Settled) -> Settled:
        """Return an open constant as a number in the unit of the time column, other parts as they are."""
        if part.kind != EITHER:
            return part
        return Settled(_map_intervals(part.term, lambda interval: interval.number or 0), "number")

    def _count(self, interval: Interval) -> int:
        return int(interval.milliseconds * PER_SECOND[self.unit] / 1000)

    def _rebuild(self, term: Call, parts: Sequence[Settled], kind: str, zone: str | None = None) -> Settled:
        """Return an expression of settled parts; the same one where nothing changed."""
        args = tuple(part.term for part in parts)
        same = all(one is other for one, other in zip(args, term.args, strict=True))
        return Settled(term if same else Call(term.op, args, term.span), kind, zone)

    def _mismatch(self, term: Call, parts: Sequence[Settled], verb: str) -> DataError:
        """Return the error for kinds that do not go together."""
        different = dict.fromkeys(_WORDS.get(part.kind, part.kind) for part in parts if part.kind != "null")
        words = list(different) if len(different) > 1 else [*different, *different]
        by = f" by {term.op}" if verb == "compare" else ""
        message = f"cannot {verb} {' and '.join(words)}{by}"
        notes = [self._tell(arg, part) for arg, part in zip(term.args, parts, strict=True)]
        return self.place.error("wrong-type", message, term.span, self._advise(term, parts), notes)

    def _tell(self, arg: Term, part: Settled) -> str:
        """Return what a part is."""
        if isinstance(arg, Field):
            return f"'{'.'.join(arg.path)}' is {describe_type(self.type_of(arg))}"
        text = self.place.source[arg.span.start : arg.span.end]
        return f"'{text}' is {_WORDS.get(part.kind, part.kind)}" if text else f"one is {_WORDS[part.kind]}"

    def _advise(self, term: Call, parts: Sequence[Settled]) -> str | None:
        """Return what to write instead."""
        kinds = {part.kind for part in parts}
        numbers = [part.term for part in parts if part.kind == "number"]
        if numbers and isinstance(numbers[0], Literal_):
            return f"give the number a unit, such as {numbers[0].value} seconds"
        if numbers and any(has_intervals(arg) for arg in term.args):
            return "where the times are numbers, pass time_unit, for example 'seconds', or write no unit"
        if kinds == {*TIMES}:
            return "give both a time zone, or neither, in the data"
        if term.op == "+" and kinds <= {*TIMES}:
            return "a time minus a time is a duration"
        if "number" in kinds and "duration" in kinds:
            return "divide the duration by one, such as 1 second, to have a number"
        return None


_WHOLE = ("floor", "ceil", "micros", "nanos")
_OF_NUMBERS = {"neg": "'-'", "abs": "ABS", "round": "ROUND", "floor": "FLOOR", "ceil": "CEIL"}
_VERBS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "take the remainder of"}
_WORDS = {
    "number": "a number",
    "timestamp": "a time",
    "zoned timestamp": "a time with a time zone",
    "duration": "a duration",
    EITHER: "a duration",
    "boolean": "a boolean",
    "null": "NULL",
    "text": "text",
    "binary": "binary data",
    "time of day": "a time of day",
    "other": "another type",
}
_RESULTS: dict[tuple[str, str, str], str] = {
    ("time", "-", "time"): "duration",
    **{("time", op, word): "time" for op in "+-" for word in ("duration", EITHER)},
    **{(word, "+", "time"): "time" for word in ("duration", EITHER)},
    **{("duration", op, "duration"): "duration" for op in "+-"},
    **{(EITHER, op, EITHER): EITHER for op in "+-"},
    **{("duration", op, EITHER): "duration" for op in "+-"},
    **{(EITHER, op, "duration"): "duration" for op in "+-"},
    **{(EITHER, op, "number"): "number" for op in "+-%"},
    **{("number", op, EITHER): "number" for op in "+-%/"},
    **{(word, op, "number"): word for op in "*/" for word in ("duration", EITHER)},
    **{("number", "*", word): word for word in ("duration", EITHER)},
    **{(one, "/", two): "ratio" for one in ("duration", EITHER) for two in ("duration", EITHER)},
}
"""What comes out of two kinds, each by an operator."""


def _kind_of_constant(term: Literal_) -> str:
    """Return the kind of a constant."""
    value = term.value
    if isinstance(value, Interval):
        return "duration" if value.number is None else EITHER
    if value is None:
        return "null"
    return "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def _map_intervals(term: Term, change: Callable[[Interval], int | float]) -> Term:
    """Return a term with every written duration as a number."""
    if isinstance(term, Literal_) and isinstance(term.value, Interval):
        return Literal_(change(term.value), term.span)
    if isinstance(term, Call):
        args = tuple(_map_intervals(arg, change) for arg in term.args)
        same = all(one is other for one, other in zip(args, term.args, strict=True))
        return term if same else Call(term.op, args, term.span)
    return term
