"""Adjacent predicates: what separates into f(previous) op g(new), and what does not.

Arithmetic over both events separates where the attributes of one event stand together in one place, below nothing
but sums, differences and multiples by constants: `NEXT(S).t - S.t <= 300`. Seen from the other event the condition
then holds for all values of that place up to a border, or from one on, for rounding never changes the order of two
numbers. A band, `ABS(NEXT(S).x - S.x) <= 3`, is two such conditions. The engine finds the border by the condition
as it is written (`columns/thresholds.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sparkleene.language.ast import Comparison as Operator
from sparkleene.language.bound import Adjacent, Call, Field, Interval, Literal_, Term
from sparkleene.language.operators import FLIPPED, NEGATED
from sparkleene.language.trees import conjuncts, fields, map_leaves


@dataclass(frozen=True)
class Comparison:
    """A separable comparison: `left` is of the earlier event alone, `right` of the later."""

    op: Operator
    left: Term
    right: Term
    rises: bool = False  # both sides rise with the time of their event, and rows are read in order of time


@dataclass(frozen=True)
class Threshold:
    """A condition with arithmetic over both events, such as `NEXT(S).t - S.t <= 300`, that separates all the same.

    It holds for values of the event `side` up to a border, or from one on, that the other event sets.

    What stands on the left of `op` is of the earlier event: the value for side 0, the border for side 1.
    """

    op: Operator
    condition: Call  # <, <=, > or >=, as it is written
    side: Literal[0, 1]  # the event whose attributes stand in one place
    rises: bool = False  # as for a comparison


@dataclass(frozen=True)
class Pair:
    """All that must hold where an event labelled `before` is directly followed by one labelled `after`."""

    before: int
    after: int
    comparisons: tuple[Comparison | Threshold, ...]
    general: tuple[Term, ...]  # conditions that do not separate

    @property
    def condition(self) -> str:
        """The conditions as text, which tells pairs that ask the same; as values, 1 and 1.0 would be equal."""
        return repr((self.comparisons, self.general))

    @property
    def is_gap(self) -> bool:
        """Whether it is about the times of the two events alone, with an upper bound, a lower one, or both."""
        upper = [comparison.op in (">", ">=") for comparison in self.comparisons]
        rises = not self.general and all(comparison.rises for comparison in self.comparisons)
        return rises and upper.count(True) < 2 and upper.count(False) < 2

    def reverse(self) -> Pair:
        """Return the same for events that come in the opposite order; then times fall."""
        comparisons = tuple(map(_reverse, self.comparisons))
        return Pair(self.after, self.before, comparisons, tuple(map(swap_events, self.general)))


def _reverse(c: Comparison | Threshold) -> Comparison | Threshold:
    if isinstance(c, Comparison):
        return Comparison(FLIPPED[c.op], swap_events(c.right), swap_events(c.left))
    condition = swap_events(c.condition)
    assert isinstance(condition, Call)
    return Threshold(FLIPPED[c.op], condition, 0 if c.side else 1)


def swap_events(term: Term) -> Term:
    """Return a term with the two events exchanged."""
    return map_leaves(term, Field, lambda field: replace(field, side=0 if field.side else 1))


def sides(term: Term) -> frozenset[int]:
    """Return which of the two events a term speaks of."""
    return frozenset(field.side for field in fields(term))


def separate(term: Term) -> Comparison | None:
    """Return a term as a comparison between a term of the earlier event and one of the later, if it is that."""
    if not isinstance(term, Call):
        return None
    if term.op == "not" and (inner := separate(term.args[0])) is not None:
        return Comparison(NEGATED[inner.op], inner.left, inner.right)
    if term.op not in FLIPPED:
        return None
    left, right = term.args
    if 1 not in sides(left) and 0 not in sides(right):
        return Comparison(term.op, left, right)  # type: ignore[arg-type]
    if 0 not in sides(left) and 1 not in sides(right):
        return Comparison(FLIPPED[term.op], right, left)
    return None


def find_thresholds(term: Term) -> tuple[Threshold, ...]:
    """Return a condition with arithmetic over both events as borders, none if it has none.

    There are two for `=`, and two for a band such as `ABS(x) < y`.

    >>> from sparkleene.language.bound import Field
    >>> gap = Call("-", (Field(("t",), 1), Field(("t",), 0)))
    >>> [(found.op, found.side) for found in find_thresholds(Call("<=", (gap, Literal_(300))))]
    [('>=', 0)]
    """
    if not isinstance(term, Call) or len(sides(term)) < 2:
        return ()
    if term.op == "not":
        inner = term.args[0]
        if not isinstance(inner, Call):
            return ()
        if inner.op == "not":
            return find_thresholds(inner.args[0])
        return find_thresholds(replace(inner, op=NEGATED[inner.op])) if inner.op in NEGATED else ()
    if term.op == "=":
        above, below = (find_thresholds(replace(term, op=op)) for op in (">=", "<="))
        return above + below if above and below else ()
    if term.op not in FLIPPED or term.op == "!=":
        return ()
    if (parts := _open_abs(term)) is not None:
        found = [find_thresholds(part) for part in parts]
        return found[0] + found[1] if all(found) else ()
    for side in (0, 1):
        slope = _slope(Call("-", term.args), side)
        if slope is not None:
            turned = (slope < 0) != (side == 1)
            return (Threshold(FLIPPED[term.op] if turned else term.op, term, side),)  # type: ignore[arg-type]
    return ()


def _open_abs(term: Call) -> tuple[Call, Call] | None:
    """Return `ABS(x) < y` as `x < y` and `-x < y`, None for all else."""
    left, right = term.args if term.op in ("<", "<=") else term.args[::-1]
    if not (isinstance(left, Call) and left.op == "abs" and len(sides(left)) > 1):
        return None
    op: Literal["<", "<="] = "<" if term.op in ("<", ">") else "<="
    inner = left.args[0]
    return Call(op, (inner, right), term.span), Call(op, (Call("neg", (inner,), inner.span), right), term.span)


def _slope(term: Term, side: int) -> int | None:
    """Return 1 if a term rises with an event's value, -1 if it falls, 0 if it has none, None if that is unknown."""
    if side not in sides(term):
        return 0
    if len(sides(term)) == 1:
        return 1
    assert isinstance(term, Call)
    if term.op == "neg":
        inner = _slope(term.args[0], side)
        return None if inner is None else -inner
    if term.op not in ("+", "-", "*", "/"):
        return None
    left, right = term.args
    if term.op in ("+", "-"):
        slopes = (_slope(left, side), _slope(right, side))
        if None in slopes or 0 not in slopes:
            return None
        return slopes[0] or (slopes[1] or 0) * (-1 if term.op == "-" else 1)
    inner, factor = _slope(left, side), _factor(right)
    if term.op == "*" and not factor:
        inner, factor = _slope(right, side), _factor(left)
    return None if not factor or inner is None else inner * (1 if factor > 0 else -1)


def _factor(term: Term) -> float:
    """Return a number that is written as a factor, 0 for all else."""
    if isinstance(term, Call):
        return -_factor(term.args[0]) if term.op == "neg" else 0.0
    if not isinstance(term, Literal_) or not isinstance(term.value, int | float) or isinstance(term.value, bool):
        return 0.0
    try:
        value = float(term.value)
    except OverflowError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _is_time(term: Term, time: str) -> bool:
    """Tell whether a term of one event is its time, or that and a constant."""
    if isinstance(term, Call) and term.op in ("+", "-"):
        first, second = term.args
        swapped = term.op == "+" and isinstance(first, Literal_)
        moved, by = (second, first) if swapped else (first, second)
        return _is_length(by) and _is_time(moved, time)
    return isinstance(term, Field) and term.path == (time,)


def _is_length(term: Term) -> bool:
    """Tell whether a term is written as a number or a duration."""
    if isinstance(term, Call) and term.op == "neg":
        return _is_length(term.args[0])
    if not isinstance(term, Literal_) or isinstance(term.value, bool):
        return False
    return isinstance(term.value, int | Interval) or (isinstance(term.value, float) and math.isfinite(term.value))


def _rise(found: Comparison | Threshold, time: str) -> Comparison | Threshold:
    """Mark a comparison whose sides rise with the times of the two events, and with nothing else."""
    if found.op not in ("<", "<=", ">", ">="):
        return found
    if isinstance(found, Comparison):
        return replace(found, rises=_is_time(found.left, time) and _is_time(found.right, time))
    whole = Call("-", found.condition.args)
    slopes = _slope(whole, 0), _slope(whole, 1)
    parts = tuple(_parts_of_one(whole))
    times = all(_is_time(part, time) if sides(part) else _is_length(part) for part in parts)
    return replace(found, rises=times and sorted(slopes, key=lambda slope: slope or 0) == [-1, 1])


def _parts_of_one(term: Term) -> Iterator[Term]:
    """Yield the largest parts of a term that speak of one event, or of none."""
    if len(sides(term)) < 2:
        yield term
    elif isinstance(term, Call):
        for arg in term.args:
            yield from _parts_of_one(arg)


def pairs(adjacent: Sequence[Adjacent], time: str = "") -> tuple[Pair, ...]:
    """Gather the adjacent predicates by the two labels that they join; rows are in order of the column `time`."""
    found: dict[tuple[int, int], list[Term]] = {}
    for item in adjacent:
        found.setdefault((item.before, item.after), []).extend(conjuncts(item.condition))
    out = []
    for (before, after), conditions in found.items():
        comparisons: list[Comparison | Threshold] = []
        general = []
        for term in dict.fromkeys(conditions):
            comparison = separate(term)
            parts = find_thresholds(term) if comparison is None else (comparison,)
            comparisons += [_rise(part, time) for part in parts]
            general += [] if parts else [term]
        out.append(Pair(before, after, tuple(comparisons), tuple(general)))
    return tuple(out)
