"""Columns that a query computes from a row: expressions inside aggregates and in GROUP-BY."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sparkleene.language import ast
from sparkleene.language.bound import Derived, Path
from sparkleene.language.names import Scope
from sparkleene.language.operators import COMPARISONS
from sparkleene.language.printer import expr_to_text
from sparkleene.language.terms import assign_sides, make_term, names_in
from sparkleene.language.trees import map_nodes

CONDITIONS = (*COMPARISONS, "and", "or", "not", "isnull", "like")


@dataclass(frozen=True, slots=True)
class Value:
    """A value that events of some labels have: an attribute or a derived column; no labels are all labels."""

    labels: tuple[int, ...]
    path: Path


@dataclass(slots=True)
class DerivedColumns:
    """The derived columns of a query, each once."""

    scope: Scope
    found: list[Derived] = field(default_factory=list)

    def value_of(self, expr: ast.Expr, clause: Literal["RETURN", "GROUP-BY"]) -> Value | None:
        """Return where the value of an expression over one label is, or None after reporting what is wrong."""
        errors, before = self.scope.errors, len(self.scope.errors.found)
        if isinstance(expr, ast.Ref):
            if expr.next or expr.prev:
                self.scope.report_misplaced_next(clause, expr)
                return None
            name = self.scope.name_of(expr)
            return None if name is None else Value(name.labels, name.path)
        term = make_term(expr, self.scope)
        names = names_in(term)
        if len(errors.found) > before:
            return None
        for name in names:
            if name.next or name.prev or name.gap:
                self.scope.report_misplaced_next(clause, name)
                return None
        mentioned = list(dict.fromkeys(name.labels for name in names if name.labels))
        if not names:
            help = "name an attribute, such as E.x; COUNT(*) counts trends, and COUNT(E) events"
            errors.report("constant-predicate", "this expression mentions no attribute", expr.span, help=help)
        elif len(mentioned) > 1:
            message = "this expression is over events of several labels"
            help = "an expression inside an aggregate or in GROUP-BY is over attributes of one event"
            errors.report("too-many-events", message, expr.span, help=help)
        elif getattr(term, "op", None) in CONDITIONS:
            errors.report("not-a-value", "here a value is needed, not a condition", expr.span)
        else:
            finished = assign_sides(term)
            known = next((one for one in self.found if one.term == finished), None)
            if known is None:
                known = Derived(self._new_name(self._without_labels(expr)), finished, expr.span)
                self.found.append(known)
            return Value(mentioned[0] if mentioned else (), (known.name,))
        return None

    def _without_labels(self, expr: ast.Expr) -> str:
        """Return the text of an expression as it reads for one row."""

        def shorten(node: ast.Node) -> ast.Node | None:
            if isinstance(node, ast.Ref) and len(node.parts) > 1 and self.scope.labels_of(node.parts[0]):
                return ast.Ref(node.parts[1:])
            return None

        return expr_to_text(map_nodes(expr, shorten))

    def _new_name(self, name: str) -> str:
        """Return a name that no column has."""
        taken = {*(self.scope.columns or ()), *(one.name for one in self.found)}
        number, unused = 1, name
        while unused in taken:
            number += 1
            unused = f"{name} {number}"
        return unused
