"""The syntax tree of a query: frozen, comparable, with source spans.

Spans take no part in equality, so `parse(print(tree)) == tree` can be stated as it reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from sparkleene.errors import NOWHERE, Span

Semantics = Literal["skip-till-any-match", "skip-till-next-match", "contiguous", "contiguous maximal"]


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a place in the query text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# ---- patterns


@dataclass(frozen=True, slots=True)
class Atom(Node):
    """An event type, with the alias that labels its events."""

    type: str
    alias: str | None = None

    @property
    def label(self) -> str:
        """The alias, or the type's name where there is none."""
        return self.alias or self.type


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """`P+` is (1, None), `P*` (0, None), `P?` (0, 1), `P{n}` (n, n), `P{n,m}` (n, m)."""

    pattern: Pattern
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Seq(Node):
    """`SEQ(P, ...)`."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """`P OR P ...`."""

    options: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class And(Node):
    """`P AND P`, only at the top of a pattern; binding checks that there are two operands."""

    operands: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    """`NOT P`, a part of a SEQ."""

    pattern: Pattern


Pattern = Atom | Repeat | Seq | Or | And | Not


# ---- expressions

Scalar = int | float | str | bool | None
Arithmetic = Literal["+", "-", "*", "/", "%"]
Comparison = Literal["=", "!=", "<", "<=", ">", ">="]


Unit = Literal[
    "milliseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "quarters", "years", "events"
]  # fmt: skip
MILLISECONDS: dict[Unit, int] = {
    "weeks": 604_800_000,
    "days": 86_400_000,
    "hours": 3_600_000,
    "minutes": 60_000,
    "seconds": 1_000,
    "milliseconds": 1,
}
"""What the units of a fixed length are, from the largest on."""

MONTHS: dict[Unit, int] = {"years": 12, "quarters": 3, "months": 1}
"""What the units without a fixed length are, from the largest on."""


def largest_unit(milliseconds: Fraction) -> Unit:
    """Return the largest unit up to a day that a length is a multiple of: 7 days from any day on are no week."""
    units = ((unit, size) for unit, size in MILLISECONDS.items() if unit != "weeks")
    return next((unit for unit, size in units if milliseconds % size == 0), "milliseconds")


@dataclass(frozen=True, slots=True)
class Duration(Node):
    """A length of time or of a window; without a unit it is in the unit of the time column."""

    value: Fraction
    unit: Unit | None


@dataclass(frozen=True, slots=True)
class Ref(Node):
    """A dotted name as written: `price`, `S.price`, `NEXT(S).price`, `PREV(S).price`, `S.payload.price`.

    What its first part is (a label, a type, a column, a bare word) is decided when it is bound.
    """

    parts: tuple[str, ...]
    next: bool = False
    prev: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class Const(Node):
    """A number, text, TRUE, FALSE or NULL."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """`-x`."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic on two operands."""

    op: Arithmetic
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """`a < b`, and chains: `X.a = Y.a = Z.a` has three operands and two operators."""

    operands: tuple[Expr, ...]
    ops: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class Bool(Node):
    """AND or OR of two or more conditions."""

    op: Literal["and", "or"]
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Invert(Node):
    """`NOT condition`."""

    operand: Expr


@dataclass(frozen=True, slots=True)
class In(Node):
    """`x [NOT] IN (a, b, ...)`."""

    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Node):
    """`x [NOT] BETWEEN low AND high`, both inclusive."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """`x IS [NOT] NULL`."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Node):
    """`x [NOT] LIKE 'pattern'`."""

    operand: Expr
    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function of values, such as `ABS(x)`; its name is in capitals."""

    name: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Gap(Node):
    """`GAP()` is the time between two neighbours, `GAP(X, Y)` between an X and the Y directly after it."""

    labels: tuple[str, ...] = ()


# ---- aggregates

AggregateFunction = Literal[
    "count", "min", "max", "sum", "avg",
    "var_pop", "var_samp", "stddev_pop", "stddev_samp",
    "first", "last",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`COUNT(*)` has no arguments, `COUNT(E)` a Ref of one part, `SUM(E.x * 2)` any expression.

    `LOG2(COUNT(*))` is the count with `log` 2. An aggregate inside another one, and FIRST and LAST anywhere, are of
    one trend: `MAX(SUM(E.x))`.
    """

    function: AggregateFunction
    args: tuple[Expr, ...] = ()
    log: Literal[2, 10] | None = None
    modifier: Literal["distinct", "each"] | None = None


@dataclass(frozen=True, slots=True)
class Extent(Node):
    """`LENGTH()` or `DURATION()` of a trend; without parentheses they are a Ref, until it is bound."""

    word: Literal["length", "duration"]


Expr = (
    Ref
    | Const
    | Duration
    | Negate
    | Binary
    | Compare
    | Bool
    | Invert
    | In
    | Between
    | IsNull
    | Like
    | Function
    | Gap
    | Aggregate
    | Extent
)


# ---- clauses


@dataclass(frozen=True, slots=True)
class Equivalence(Node):
    """`[a, L.b]` in WHERE."""

    refs: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Item(Node):
    """One item of RETURN or GROUP-BY: an expression, perhaps with AS; in RETURN it may hold aggregates."""

    value: Expr
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Order(Node):
    """One item of ORDER BY."""

    value: Expr
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Within(Node):
    """`WITHIN size [SLIDE slide]`."""

    size: Duration
    slide: Duration | None


@dataclass(frozen=True, slots=True)
class Session(Node):
    """`WITHIN SESSION gap [MAX most]`."""

    gap: Duration
    most: Duration | None = None


@dataclass(frozen=True, slots=True)
class FromTo(Node):
    """`WITHIN FROM condition [TO condition] [MAX most]`."""

    opens: Expr
    closes: Expr | None = None
    most: Duration | None = None


@dataclass(frozen=True, slots=True)
class Query(Node):
    """A whole query."""

    pattern: Pattern
    returns: tuple[Item, ...]
    semantics: Semantics = "skip-till-any-match"
    where: tuple[Equivalence | Expr, ...] = ()
    group: tuple[Ref | Item, ...] = ()  # an Item where it is an expression or has a name
    within: Within | Session | FromTo | None = None
    name: str | None = None
    having: Expr | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
