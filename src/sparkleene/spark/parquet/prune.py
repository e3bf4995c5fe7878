"""Which stretches of rows can hold no event of a query, by the least and greatest values in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy
from sparkleene.columns.expressions import evaluate
from sparkleene.columns.fields import kind
from sparkleene.errors import SparkleeneError
from sparkleene.language.bound import Bound, Call, Drawn, Field, Key, Literal_, Op, Path, Term
from sparkleene.language.operators import FLIPPED, NEGATED
from sparkleene.language.trees import is_constant

Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Ends:
    """Bounds of one column in each stretch: no value is below `low` or above `high`, which are NULL if unknown.

    `full` tells where there surely is no NULL, `empty` where there surely is nothing else.
    """

    low: pa.Array
    high: pa.Array
    full: Flags
    empty: Flags


Lookup = Callable[[Path], Ends | None]
"""Gives the bounds of a column, None if nothing is known."""


def can_matter(bound: Bound, type_column: str | None, count: int, ends: Lookup) -> Flags:
    """Return which of `count` stretches may hold a row that has a part in the result.

    >>> from sparkleene.language import parse
    >>> from sparkleene.language.bind import bind
    >>> none = np.zeros(2, bool)
    >>> known = Ends(pa.array([1, 5]), pa.array([4, 9]), ~none, none)
    >>> bound = bind(parse("RETURN COUNT(*) PATTERN A+ WHERE A.x > 4"))
    >>> can_matter(bound, "type", 2, lambda path: known if path == ("x",) else None)
    array([False,  True])
    """
    judge = _Judge(count, ends)
    keep = np.ones(count, bool)
    for key in bound.keys:
        keep &= ~judge.empty(key)
    if not only_labelled(bound):
        return keep
    labelled = np.zeros(count, bool)
    for label, terms in zip(bound.labels, bound.local, strict=True):
        able = judge.of_type(bound, label.type, type_column)
        for term in terms:
            able &= judge.outcomes(term)[0]
        labelled |= able
    return keep & labelled


def only_labelled(bound: Bound) -> bool:
    """Tell whether rows that can have no label leave the result as it is.

    Under contiguous semantics they part trends, and windows in events count them; others may be drawn by them.
    """
    counted = isinstance(bound.window, Drawn) or (bound.window is not None and bound.window.unit == "events")
    partial = any(key.labels is not None for key in bound.keys)
    return not (bound.semantics == "contiguous" or counted or partial)


@dataclass(frozen=True)
class _Judge:
    """Tells for each stretch how conditions can come out."""

    count: int
    ends: Lookup

    def empty(self, key: Key) -> Flags:
        """Return where a key that binds all rows is always NULL."""
        known = self.ends(key.path) if key.labels is None else None
        return np.zeros(self.count, bool) if known is None else known.empty

    def of_type(self, bound: Bound, name: str, type_column: str | None) -> Flags:
        """Return where a row can be of an event type."""
        if bound.types is not None:
            return self.outcomes(dict(bound.types)[name])[0]
        known = None if type_column is None else self.ends((type_column,))
        if type_column is None or known is None:
            return np.ones(self.count, bool)
        if kind(known.low.type) == "text":
            return self.outcomes(Call("=", (Field((type_column,)), Literal_(name))))[0]
        if name.removeprefix("-").isdecimal():
            return self.outcomes(Call("=", (Field((type_column,)), Literal_(int(name)))))[0]
        return np.ones(self.count, bool)

    def outcomes(self, term: Term) -> tuple[Flags, Flags]:
        """Return where a condition may be true for a row, and where it may be false."""
        if isinstance(term, Call) and term.op == "not":
            yes, no = self.outcomes(term.args[0])
            return no, yes
        if isinstance(term, Call) and term.op in ("and", "or"):
            parts = [self.outcomes(arg) for arg in term.args]
            every = np.logical_and.reduce, np.logical_or.reduce
            both = every if term.op == "and" else every[::-1]
            return both[0]([yes for yes, _ in parts]), both[1]([no for _, no in parts])
        if isinstance(term, Field):
            return self._compare(Call("=", (term, Literal_(True))))
        if isinstance(term, Call) and term.op == "isnull":
            return self._null(term.args[0])
        if isinstance(term, Call) and term.op in NEGATED:
            return self._compare(term)
        value = term.value if isinstance(term, Literal_) else ...
        return np.full(self.count, value in (True, ...)), np.full(self.count, value in (False, ...))

    def _null(self, term: Term) -> tuple[Flags, Flags]:
        """Return where a term may be NULL, and where it may be something; NaN is NULL."""
        known = self.ends(term.path) if isinstance(term, Field) else None
        if known is None:
            return np.ones(self.count, bool), np.ones(self.count, bool)
        full = known.full & (not pa.types.is_floating(known.low.type))
        return ~full, ~known.empty

    def _compare(self, term: Call) -> tuple[Flags, Flags]:
        """Return how a comparison of a column with a constant can come out."""
        anything = np.ones(self.count, bool), np.ones(self.count, bool)
        (left, right), op = term.args, term.op
        if isinstance(right, Field):
            left, right, op = right, left, FLIPPED[term.op]
        known = self.ends(left.path) if isinstance(left, Field) and is_constant(right) else None
        if known is None:
            return anything
        try:
            return _can(op, known, right), _can(NEGATED[op], known, right)
        except SparkleeneError:  # the rows themselves will say what is wrong
            return anything


def _can(op: Op, known: Ends, constant: Term) -> Flags:
    """Return where `column op constant` may be true: asked of the bounds, as the engine would of rows."""

    def at(op: Op, end: pa.Array) -> Flags:
        value = evaluate(Call(op, (Field(("end",)), constant)), pa.table({"end": end}))
        return as_numpy(pc.fill_null(value, True)).astype(bool)

    if op == "=":
        able = at("<=", known.low) & at(">=", known.high)
    elif op == "!=":
        able = at("!=", known.low) | at("!=", known.high)
    else:
        able = at(op, known.low if op in ("<", "<=") else known.high)
    return able & ~known.empty
