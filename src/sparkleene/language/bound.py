"""A query after binding: every name has its meaning, every predicate its labels.

`bind` (bind.py) makes these from the syntax tree. The plan, the reference evaluator and the engines read
nothing else: what is here is the whole meaning of a query, free of spelling.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from sparkleene.errors import NOWHERE, Span
from sparkleene.language.ast import Pattern, Scalar, Semantics

Path = tuple[str, ...]
"""A column, or a field inside a struct column: ("payload", "price")."""

LENGTH: Path = ("LENGTH",)
"""What stands for the number of a trend's events, in conditions on that alone."""


@dataclass(frozen=True, slots=True)
class Label:
    """A label of the pattern. Its index in `Bound.labels` is its bit in label masks."""

    name: str
    type: str
    negated: bool  # stands inside a NOT


# ---- expressions over one event, or over two neighbours


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of an event: side 0 is the only or the earlier event, side 1 the one directly after it."""

    path: Path
    side: Literal[0, 1] = 0
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Interval:
    """A length of time that is written with a unit.

    `number` is what it is in the unit of a time column that is a number, None where nobody said what that counts.
    """

    milliseconds: Fraction
    number: int | float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Literal_:
    """A constant; 1, 1.0 and true are different ones."""

    value: Scalar | Interval
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Tell whether another constant has the same type and value."""
        return isinstance(other, Literal_) and self._key == other._key

    def __hash__(self) -> int:
        """Hash the type and the value."""
        return hash(self._key)

    @property
    def _key(self) -> tuple[type, Scalar | Interval]:
        return type(self.value), self.value


Op = Literal[
    "neg", "+", "-", "*", "/", "%",
    "=", "!=", "<", "<=", ">", ">=",
    "and", "or", "not", "isnull",
    "abs", "round", "floor", "ceil", "least", "greatest", "coalesce", "like", "lower", "upper",
    "micros", "nanos",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """An operator applied; chains, IN, BETWEEN, IS NOT NULL are spelled out with these by binding.

    `and` and `or` take two or more operands, `neg`, `not` and `isnull` one, other operators two. `least`,
    `greatest` and `coalesce` take one or more, `round` has the number of digits as its second, `like` the pattern.
    `micros` and `nanos` are times since the epoch, and durations, as integers: see `columns/durations.py`.
    """

    op: Op
    args: tuple[Term, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Term = Field | Literal_ | Call


@dataclass(frozen=True, slots=True)
class Key:
    """An attribute that partitions the input. `labels` are the labels that it binds, None for every row."""

    path: Path
    labels: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Adjacent:
    """A condition on a neighbouring pair: an event labelled `before` directly followed by one labelled `after`."""

    before: int
    after: int
    condition: Term


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a measure: a sum over a trend's events of some labels, or the value of the first or last of them.

    Without a path every event counts as 1. A piece is multiplied by its factor. The time of an event is never NULL.
    Plans know of a `sole` event that every trend has exactly one such event, which is both first and last.
    """

    kind: Literal["sum", "first", "last", "sole"]
    labels: frozenset[int]
    path: Path
    factor: Fraction = Fraction(1)
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that every trend has: the sum of its pieces and a constant.

    A trend without the event that a `first` or `last` asks for, or with NULL there, has no such number.
    """

    pieces: tuple[Piece, ...]
    constant: Fraction = Fraction(0)

    @property
    def is_whole(self) -> bool:
        """Whether it only counts events, and so is an integer."""
        numbers = [self.constant, *(piece.factor for piece in self.pieces)]
        return not any(piece.path for piece in self.pieces) and all(one.denominator == 1 for one in numbers)


Function = Literal["count", "min", "max", "sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"]


@dataclass(frozen=True, slots=True)
class Output:
    """An aggregate of the result: over occurrences of events in trends, over events, over trends, or over keys.

    Over occurrences `labels` and `path` are empty for COUNT(*), `path` also for COUNT(E). With `each` every event
    that is in some trend counts once. With a `measure` the aggregate is over trends, and with `distinct` it counts
    the values of these keys (places in `Bound.keys`) that have a trend.
    """

    name: str
    function: Function
    labels: frozenset[int]
    path: Path
    log: Literal[2, 10] | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    each: bool = False
    measure: Measure | None = None
    distinct: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Derived:
    """A column that the query computes from its row before anything else; outputs and keys may name it."""

    name: str
    term: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the result that is made of group attributes and outputs, which are fields of its term."""

    name: str
    term: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Finish:
    """What becomes of the rows of a result: which are kept, in what order, how many of a window, which columns."""

    columns: tuple[Column, ...]  # all columns but those of the window, in order
    having: Term | None = None
    order: tuple[tuple[Term, bool], ...] = ()  # with whether it is descending
    limit: int | None = None
    seconds: tuple[Span, ...] = field(default=(), compare=False, repr=False)  # durations that are read as seconds


@dataclass(frozen=True, slots=True)
class Window:
    """`size` and `slide` in the time column's own unit, or in milliseconds, or in events.

    `slide` None is a window per trigger. `unit` tells which: "time" (the column is a number, in its own unit),
    "milliseconds", "months" or "events". Windows of whole days and weeks, and of months, have their borders in a
    `calendar`; "mixed" are those of days with a border that is none. Some window begins at the `origin`.
    """

    size: Fraction
    slide: Fraction | None
    unit: Literal["time", "milliseconds", "months", "events"]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    calendar: Literal["days", "months", "mixed"] | None = None
    origin: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Windows whose borders the rows of a group draw: sessions, which have a `gap`, or from a row that `opens` on.

    The latter last to the first row that `closes`, or where there is no such condition to before the next that
    opens. None is longer than `most`. Lengths are as in a Window.
    """

    gap: Fraction | None
    opens: Term | None
    closes: Term | None
    most: Fraction | None
    unit: Literal["time", "milliseconds"]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def conditions(self) -> tuple[Term, ...]:
        """What opens and what closes, as far as there is such a condition."""
        return tuple(term for term in (self.opens, self.closes) if term is not None)


@dataclass(frozen=True, slots=True)
class Bound:
    """A query with all names resolved."""

    pattern: Pattern  # an Atom stands for the label `atom.label`
    labels: tuple[Label, ...]  # in order of first appearance in the pattern
    semantics: Semantics
    local: tuple[tuple[Term, ...], ...]  # per label, all of which its events must satisfy
    adjacent: tuple[Adjacent, ...]
    keys: tuple[Key, ...]  # equivalence and group attributes, without repetition
    group: tuple[int, ...]  # the keys listed in GROUP-BY, in that order
    group_names: tuple[str, ...]  # their result columns
    outputs: tuple[Output, ...]
    window: Window | Drawn | None
    types: tuple[tuple[str, Term], ...] | None  # types defined by predicates, or None for a type column
    derived: tuple[Derived, ...] = ()  # columns to compute first
    lengths: tuple[Term, ...] = ()  # of a whole trend: comparisons of LENGTH with numbers
    durations: tuple[Term, ...] = ()  # of a whole trend: its last time less its first is <, <= something constant
    ends: tuple[Term, ...] = ()  # other conditions on its first event, side 0, and its last, side 1
    maximal: bool = False  # only trends whose rows are not a proper part of another's
    finish: Finish | None = None  # None where the result is the group attributes and the outputs as they are
    time: str = "time"  # the column that rows are in order of

    @property
    def chooses(self) -> bool:
        """Whether only some of the trends that match count, by what they are as a whole."""
        return bool(self.lengths or self.durations or self.ends or self.maximal)

    @property
    def per_trigger(self) -> bool:
        """Whether windows end where trends end."""
        return isinstance(self.window, Window) and self.window.slide is None

    @property
    def value_names(self) -> tuple[str, ...]:
        """The columns of the result after those of the window and the groups."""
        if self.finish is None:
            return tuple(output.name for output in self.outputs)
        return tuple(column.name for column in self.finish.columns if column.name not in self.group_names)

    @property
    def count_names(self) -> tuple[str, ...]:
        """The columns of the result that count, and that would be 0 in a window without a row."""
        counts = {o.name for o in self.outputs if o.function == "count" and o.log is None}
        finish = self.finish
        if finish is None:
            return tuple(name for name in self.value_names if name in counts)
        if finish.having is not None or finish.limit is not None:
            return ()
        plain = [column for column in finish.columns if isinstance(column.term, Field)]
        return tuple(column.name for column in plain if column.name in counts)

    def without_local(self) -> Bound:
        """Return the query without its local predicates."""
        return replace(self, local=tuple(() for _ in self.labels))
