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


@dataclass(frozen=True, slots=True, eq=False)
class Literal_:
    """A constant; 1, 1.0 and true are different ones."""

    value: Scalar
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Tell whether another constant has the same type and value."""
        return isinstance(other, Literal_) and self._key == other._key

    def __hash__(self) -> int:
        """Hash the type and the value."""
        return hash(self._key)

    @property
    def _key(self) -> tuple[type, Scalar]:
        return type(self.value), self.value


Op = Literal[
    "neg", "+", "-", "*", "/", "%",
    "=", "!=", "<", "<=", ">", ">=",
    "and", "or", "not", "isnull",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """An operator applied; chains, IN, BETWEEN, IS NOT NULL are spelled out with these by binding.

    `and` and `or` take two or more operands, `neg`, `not` and `isnull` one, the others two.
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
class Output:
    """An aggregate of the result. `labels` and `path` are empty for COUNT(*), `path` also for COUNT(E)."""

    name: str
    function: Literal["count", "min", "max", "sum", "avg"]
    labels: frozenset[int]
    path: Path
    log: Literal[2, 10] | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Window:
    """`size` and `slide` in the time column's own unit, or in milliseconds, or in events.

    `slide` None is a window per trigger. `unit` tells which: "time" (the column is a number, in its own unit),
    "milliseconds", or "events".
    """

    size: Fraction
    slide: Fraction | None
    unit: Literal["time", "milliseconds", "events"]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


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
    window: Window | None
    types: tuple[tuple[str, Term], ...] | None  # types defined by predicates, or None for a type column

    def without_local(self) -> Bound:
        """Return the query without its local predicates."""
        return replace(self, local=tuple(() for _ in self.labels))
