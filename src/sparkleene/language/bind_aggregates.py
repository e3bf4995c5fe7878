"""Aggregates: over occurrences, over events, over trends and over keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sparkleene.errors import suggest
from sparkleene.language import ast
from sparkleene.language.bind_measures import MeasureBinder, extent_of, is_measure
from sparkleene.language.bound import Function, Key, Output
from sparkleene.language.derived import DerivedColumns
from sparkleene.language.names import Scope, listing
from sparkleene.language.printer import expr_to_text
from sparkleene.language.trees import walk_nodes


def default_name(expr: ast.Expr) -> str:
    """Return the column that an expression of RETURN makes if it is given no name.

    >>> default_name(ast.Binary("/", ast.Aggregate("sum", (ast.Ref(("T", "fare")),)), ast.Aggregate("count")))
    'sum_T_fare_count'
    """
    if isinstance(expr, ast.Aggregate) and all(isinstance(arg, ast.Ref) for arg in expr.args):
        log = () if expr.log is None else (f"log{expr.log}",)
        modifier = () if expr.modifier is None else (expr.modifier,)
        parts = [part for arg in expr.args if isinstance(arg, ast.Ref) for part in arg.parts]
        return "_".join((*log, expr.function, *modifier, *parts))
    functions = {node.function for node in walk_nodes(expr) if isinstance(node, ast.Aggregate)}
    words = re.findall(r"\w+", expr_to_text(expr))
    return "_".join(word.lower() if word.lower() in functions else word for word in words) or "value"


@dataclass(frozen=True, slots=True)
class AggregateBinder:
    """Bind aggregates, and report what is wrong with them."""

    scope: Scope
    derived: DerivedColumns
    keys: tuple[Key, ...]
    time: str
    pairs: bool  # a match is a pair of trends, of P AND Q
    named: Mapping[str, Key]  # what GROUP-BY and RETURN give names to

    def bind(self, aggregate: ast.Aggregate, name: str) -> Output | None:
        """Return an aggregate of the result, or None after reporting what is wrong."""
        function, span = aggregate.function, aggregate.span
        if function == "first" or function == "last":
            message = f"{function.upper()} is of one trend: aggregate it over trends"
            help = f"write MAX or AVG around it, such as MAX({expr_to_text(aggregate)})"
            self.scope.errors.report("bad-aggregate", message, span, help=help)
            return None
        if not aggregate.args:
            return Output(name, "count", frozenset(), (), aggregate.log, span)
        if aggregate.modifier == "distinct" and not self._counts_events(aggregate):
            return self._count_distinct(aggregate, name)
        if function == "count":
            return self._count(aggregate, name)
        arg = aggregate.args[0]
        if is_measure(arg, self.scope):
            return self._over_trends(aggregate, function, name)
        each = aggregate.modifier == "each"
        if each and function not in ("sum", "avg"):
            same = function in ("min", "max")
            message = "EACH is for COUNT, SUM and AVG"
            advice = f"write {function.upper()}({expr_to_text(arg)}): it is the same" if same else None
            self.scope.errors.report("bad-aggregate", message, span, help=advice)
            return None
        if isinstance(arg, ast.Ref) and len(arg.parts) == 1 and self.scope.labels_of(arg.parts[0]) and not arg.next:
            self.scope.report_label_alone(arg.parts[0], arg.span)
            return None
        value = self.derived.value_of(arg, "RETURN")
        if value is None:
            return None
        labels = self._positive(value.labels or tuple(range(len(self.scope.labels))), arg)
        return None if labels is None else Output(name, function, labels, value.path, None, arg.span, each)

    def _positive(self, labels: tuple[int, ...], arg: ast.Expr) -> frozenset[int] | None:
        """Return those of the labels that trends hold, or report that they hold none."""
        positive = self.scope.positive(labels)
        if positive:
            return frozenset(positive)
        word = arg.parts[0] if isinstance(arg, ast.Ref) else self.scope.labels[labels[0]].name
        message = f"'{word}' is negated: no trend holds such an event"
        self.scope.errors.report("negated-aggregate", message, arg.span)
        return None

    # ---- COUNT

    def _counts_events(self, aggregate: ast.Aggregate) -> bool:
        """Tell whether DISTINCT is over a label: each event once."""
        [first, *more] = aggregate.args
        alone = isinstance(first, ast.Ref) and len(first.parts) == 1 and not more
        return alone and bool(self.scope.labels_of(first.parts[0]))  # type: ignore[union-attr]

    def _count(self, aggregate: ast.Aggregate, name: str) -> Output | None:
        """Bind COUNT(E), or COUNT(EACH E)."""
        [arg] = aggregate.args
        if isinstance(arg, ast.Ref) and (arg.next or arg.prev):
            self.scope.report_misplaced_next("RETURN", arg)
            return None
        found = self._find_counted(arg)
        labels = None if found is None else self._positive(found, arg)
        each = aggregate.modifier is not None
        return None if labels is None else Output(name, "count", labels, (), aggregate.log, arg.span, each)

    def _find_counted(self, arg: ast.Expr) -> tuple[int, ...] | None:
        """Return the labels that COUNT(E) counts."""
        scope = self.scope
        if not isinstance(arg, ast.Ref) or (extent_of(arg, scope) and not scope.labels_of(arg.parts[0])):
            message = "COUNT counts trends or events, not values"
            help = "write COUNT(*) for trends, COUNT(E) for events"
            scope.errors.report("bad-aggregate", message, arg.span, help=help)
            return None
        word = arg.parts[0]
        labels = scope.labels_of(word)
        if labels and len(arg.parts) == 1:
            return labels
        if labels:
            message = "COUNT counts trends or events, not attributes"
            help = f"write COUNT({word}) and, to leave out NULLs, {'.'.join(arg.parts)} IS NOT NULL"
            scope.errors.report("bad-aggregate", message, arg.span, help=help)
        else:
            known = scope.words()
            message = f"COUNT needs a label or an event type of the pattern, '{'.'.join(arg.parts)}' is none"
            help = suggest(word, known) or "COUNT(*) counts trends"
            notes = (f"the pattern has {listing(known)}",)
            scope.errors.report("unknown-label", message, arg.span, notes=notes, help=help)
        return None

    def _count_distinct(self, aggregate: ast.Aggregate, name: str) -> Output | None:
        """Bind COUNT(DISTINCT a, b) over keys."""
        if aggregate.function != "count":
            message = "DISTINCT is for COUNT"
            help = f"{aggregate.function.upper()}(EACH E.x) takes each event once"
            self.scope.errors.report("bad-aggregate", message, aggregate.span, help=help)
            return None
        places = [self._key_of(arg) for arg in aggregate.args if isinstance(arg, ast.Ref)]
        known = tuple(place for place in places if place is not None)
        if len(known) < len(places):
            return None
        return Output(name, "count", frozenset(), (), aggregate.log, aggregate.span, distinct=known)

    def _key_of(self, ref: ast.Ref) -> int | None:
        """Return the place of a key attribute, or None after reporting that it is none."""
        if len(ref.parts) == 1 and not (ref.next or ref.prev) and ref.parts[0] in self.named:
            return self.keys.index(self.named[ref.parts[0]])
        name = self.scope.name_of(ref)
        if name is None:
            return None
        same = [place for place, key in enumerate(self.keys) if key.path == name.path]
        labels = frozenset(name.labels)
        exact = [place for place in same if self.keys[place].labels == (labels or None)]
        found = exact or [place for place in same if self.keys[place].labels is None or not labels]
        if found:
            return found[0]
        attribute, written = ".".join(name.path), ".".join(ref.parts)
        message = f"COUNT(DISTINCT ...) is of attributes that all events of a trend share, and '{written}' is none"
        help = (
            f"WHERE [{written}] makes it a key, so that only trends whose events have the same {attribute} match;"
            " COUNT(EACH E) counts events, each once"
        )
        self.scope.errors.report("bad-aggregate", message, ref.span, help=help)
        return None

    # ---- measures

    def _over_trends(self, aggregate: ast.Aggregate, function: Function, name: str) -> Output | None:
        """Bind an aggregate over trends."""
        [arg] = aggregate.args
        if self.pairs:
            message = "a measure is of one trend, and a match of P AND Q is a pair of trends"
            help = "write a query for each of the two patterns"
            self.scope.errors.report("bad-measure", message, arg.span, help=help)
            return None
        if aggregate.modifier is not None:
            message = f"{aggregate.modifier.upper()} is about events, and this is a measure of whole trends"
            self.scope.errors.report("bad-measure", message, aggregate.span)
            return None
        measure = MeasureBinder(self.scope, self.derived, self.time).bind(arg)
        if measure is None:
            return None
        if function == "sum" and not measure.constant and len(measure.pieces) == 1:
            [piece] = measure.pieces
            if piece.kind == "sum" and not piece.path and piece.factor == Fraction(1):
                return Output(name, "count", piece.labels, (), None, aggregate.span)  # SUM(COUNT(E)) is COUNT(E)
        return Output(name, function, frozenset(), (), None, aggregate.span, measure=measure)
