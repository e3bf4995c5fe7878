"""Measures: numbers that every trend has, as sums of pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sparkleene.language import ast
from sparkleene.language.bound import Measure, Piece
from sparkleene.language.derived import DerivedColumns
from sparkleene.language.names import Scope
from sparkleene.language.trees import walk_nodes

EXTENTS = {"LENGTH": "length", "DURATION": "duration"}

Linear = tuple[Mapping[Piece, Fraction], Fraction]
"""Pieces of factor 1 with the factors that they get, and a constant."""


def extent_of(node: ast.Node, scope: Scope) -> str | None:
    """Return "length" or "duration" for what means one, with or without parentheses."""
    if isinstance(node, ast.Extent):
        return node.word
    if isinstance(node, ast.Ref) and len(node.parts) == 1 and not node.next and not scope.labels_of(node.parts[0]):
        return EXTENTS.get(node.parts[0].upper())
    return None


def is_measure(expr: ast.Expr, scope: Scope) -> bool:
    """Tell whether an expression is about whole trends, not about events one by one."""
    return any(isinstance(node, ast.Aggregate) or extent_of(node, scope) for node in walk_nodes(expr))


@dataclass(frozen=True, slots=True)
class MeasureBinder:
    """Bind measures, and report what is none."""

    scope: Scope
    derived: DerivedColumns
    time: str

    def bind(self, expr: ast.Expr) -> Measure | None:
        """Return a measure, or None after reporting what is wrong."""
        if any([self.is_ambiguous(node) for node in walk_nodes(expr)]):
            return None
        found = self.linear(expr)
        if found is None:
            return None
        pieces, constant = found
        kept = [replace(p, factor=f) for p, f in pieces.items() if f or p.kind != "sum"]  # a NULL at an end counts
        return Measure(tuple(kept), constant)

    def linear(self, expr: ast.Expr) -> Linear | None:
        """Return an expression as a sum of pieces, each times a constant."""
        extent = extent_of(expr, self.scope)
        if extent is not None:
            return self.extent(extent)
        match expr:
            case ast.Ref(parts):
                word = ".".join(parts)
                message = f"'{word}' is an attribute of events, and the rest is about whole trends"
                self.report(expr, message, f"write SUM({word}), FIRST({word}) or LAST({word})")
                return None
            case ast.Const(int() | float() as value) if not isinstance(value, bool):
                return {}, Fraction(repr(value))  # as it is written: 0.1 is a tenth
            case ast.Negate(operand):
                return _times(self.linear(operand), Fraction(-1))
            case ast.Binary("+" | "-" as op, left, right):
                return _plus(self.linear(left), _times(self.linear(right), Fraction(1 if op == "+" else -1)))
            case ast.Binary("*" | "/" as op, left, right):
                one, two = self.linear(left), self.linear(right)
                if one is None or two is None:
                    return None
                if not two[0] and (op == "*" or two[1]):
                    return _times(one, two[1] if op == "*" else 1 / two[1])
                if not one[0] and op == "*":
                    return _times(two, one[1])
            case ast.Aggregate():
                return self.aggregate(expr)
        self.report(expr, "a measure of trends is made of sums, differences and multiples by constants")
        return None

    def is_ambiguous(self, node: ast.Node) -> bool:
        """Report LENGTH or DURATION without parentheses where the data has a column of that name."""
        extent = extent_of(node, self.scope)
        if not isinstance(node, ast.Ref) or extent is None:
            return False
        word = extent.upper()
        return self.scope.is_also_a_column(node, word, f"the {word} of a trend")

    def extent(self, extent: str) -> Linear:
        """Return LENGTH or DURATION."""
        scope = self.scope
        every = frozenset(scope.positive(range(len(scope.labels))))
        if extent == "length":
            return {Piece("sum", every, ()): Fraction(1)}, Fraction(0)
        first = Piece("first", every, (self.time,), nullable=False)
        last = Piece("last", every, (self.time,), nullable=False)
        return {last: Fraction(1), first: Fraction(-1)}, Fraction(0)

    def aggregate(self, inner: ast.Aggregate) -> Linear | None:
        """Return COUNT(E), SUM(E.x), FIRST(E.x) or LAST(E.x) of one trend."""
        function, scope = inner.function, self.scope
        if function not in ("count", "sum", "first", "last") or inner.modifier or inner.log:
            self.report(inner, "inside an aggregate stand COUNT(E), SUM(E.x), FIRST(E.x) and LAST(E.x)")
            return None
        if function == "count":
            word = inner.args[0] if inner.args else None
            labels = scope.labels_of(word.parts[0]) if isinstance(word, ast.Ref) and len(word.parts) == 1 else ()
            if not labels:
                self.report(inner, "COUNT of one trend takes a label or an event type; its events are LENGTH")
                return None
            path: tuple[str, ...] = ()
        else:
            if any(is_measure(arg, scope) for arg in inner.args):
                self.report(inner, f"{function.upper()} of one trend takes an attribute")
                return None
            values = [self.derived.value_of(arg, "RETURN") for arg in inner.args]
            found = [value for value in values if value is not None]
            if len(found) < len(values):
                return None
            if len({value.path for value in found}) > 1:
                message = f"{function.upper()} of several labels takes one attribute of all of them"
                self.report(inner, message, f"such as {function.upper()}(A.x, B.x)")
                return None
            labels = tuple(i for value in found for i in value.labels or range(len(scope.labels)))
            path = found[0].path
        positive = scope.positive(labels)
        if not positive:
            message = f"'{scope.labels[labels[0]].name}' is negated: no trend holds such an event"
            scope.errors.report("negated-aggregate", message, inner.span)
            return None
        kind = "sum" if function in ("count", "sum") else function
        piece = Piece(kind, frozenset(positive), path, nullable=path != (self.time,))  # type: ignore[arg-type]
        return {piece: Fraction(1)}, Fraction(0)

    def report(self, expr: ast.Expr, message: str, help: str | None = None) -> None:
        """Report what is no measure."""
        help = help or "such as LENGTH, DURATION, COUNT(E), LAST(E.x) - FIRST(E.x), 2 * SUM(E.x) + 1"
        self.scope.errors.report("bad-measure", message, expr.span, help=help)


def _times(linear: Linear | None, factor: Fraction) -> Linear | None:
    if linear is None:
        return None
    return {piece: before * factor for piece, before in linear[0].items()}, linear[1] * factor


def _plus(one: Linear | None, two: Linear | None) -> Linear | None:
    if one is None or two is None:
        return None
    pieces = dict(one[0])
    for piece, factor in two[0].items():
        pieces[piece] = pieces.get(piece, Fraction(0)) + factor
    return pieces, one[1] + two[1]
