"""Labels of a pattern, the rules of its shape, and which labels can be neighbours in a trend."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from typing import NamedTuple

from sparkleene.errors import Span
from sparkleene.language.ast import And, Atom, Not, Or, Pattern, Repeat, Seq
from sparkleene.language.bound import Label
from sparkleene.language.names import Errors
from sparkleene.language.trees import atoms, parts

MAX_LABELS = 64


# ---- labels


def find_labels(pattern: Pattern, errors: Errors) -> tuple[Label, ...]:
    """Return the labels of a pattern in order of first appearance."""
    found: dict[str, Label] = {}
    reported: set[str] = set()
    for atom, negated in atoms(pattern):
        label = found.setdefault(atom.label, Label(atom.label, atom.type, negated))
        if label.name in reported:
            continue
        if label.type != atom.type:
            reported.add(label.name)
            message = f"'{label.name}' labels events of type '{label.type}' and of type '{atom.type}'"
            errors.report("alias-two-types", message, atom.span, help="give each type an alias of its own")
        elif label.negated != negated:
            reported.add(label.name)
            message = f"'{label.name}' stands both inside a NOT and outside of it"
            help = f"give the two an alias each, such as '{atom.type} x' and 'NOT {atom.type} y'"
            errors.report("label-across-negation", message, atom.span, help=help)
    if len(found) > MAX_LABELS:
        message = f"the pattern has {len(found)} labels, {MAX_LABELS} are allowed"
        help = "split the query, or define wider event types"
        errors.report("too-many-labels", message, pattern.span, help=help)
    return tuple(found.values())


# ---- shape


def check_shape(pattern: Pattern, errors: Errors) -> None:
    """Report whatever stands where it cannot."""
    before = len(errors.found)
    if isinstance(pattern, And):
        if len(pattern.operands) != 2:
            message = f"AND joins exactly two patterns, here are {len(pattern.operands)}"
            errors.report("and-operands", message, pattern.span, help="write a query for each pair")
        for operand in pattern.operands:
            _check(operand, errors, _Edges())
    else:
        _check(pattern, errors, _Edges())
    if len(errors.found) == before and all(negated for _, negated in atoms(pattern)):
        errors.report("empty-pattern", "the pattern holds no event", pattern.span)


class _Edges(NamedTuple):
    """What is beyond the left and the right edge of a sub-pattern; empty at an edge of the whole."""

    left: str = ""
    right: str = ""


_REPEATED = _Edges("this SEQ is repeated", "this SEQ is repeated")
_NEGATED = _Edges("this SEQ is itself negated", "this SEQ is itself negated")


def _check(pattern: Pattern, errors: Errors, edges: _Edges) -> None:
    """Check a pattern that is neither the top AND nor a part that NOT may be."""
    match pattern:
        case Atom():
            pass
        case Repeat():
            _check_bounds(pattern, errors)
            _check(pattern.pattern, errors, _REPEATED)
        case Or():
            for option in pattern.options:
                _check(option, errors, edges)
        case Seq():
            _check_sequence(pattern, errors, edges)
        case And():
            message = "AND stands only at the top of a pattern"
            help = "write PATTERN P AND Q; to match in either order write SEQ(P, Q) OR SEQ(Q, P)"
            errors.report("misplaced-and", message, pattern.span, help=help)
            for operand in pattern.operands:
                _check(operand, errors, edges)
        case Not():
            message = "NOT stands only as a part of a SEQ"
            help = "write SEQ(P, NOT N, Q): no match of N between P and Q"
            errors.report("misplaced-negation", message, pattern.span, help=help)
            _check_negated(pattern, errors)


def _check_bounds(pattern: Repeat, errors: Errors) -> None:
    """Report repetition bounds that no number satisfies, or only zero."""
    if pattern.high is not None and (pattern.high < 1 or pattern.low > pattern.high):
        least = f"at least {pattern.low} and " if pattern.high >= 1 else ""
        message = f"a pattern cannot repeat {least}at most {pattern.high} times"
        errors.report("bad-repetition", message, pattern.span, help="in P{n,m} let n <= m and m >= 1")


def _check_sequence(pattern: Seq, errors: Errors, edges: _Edges) -> None:
    """Check the parts of a SEQ, and that no NOT is at an edge with events beyond."""
    positive = [not isinstance(part, Not) for part in pattern.parts]
    if pattern.parts and not any(positive):
        message = "this SEQ has only negated parts"
        help = "add the event that a match begins or ends with"
        errors.report("only-negation", message, pattern.span, help=help)
    skippable = [nullable(part) for part in pattern.parts]
    for i, part in enumerate(pattern.parts):
        if not isinstance(part, Not):
            left = "events can come before this SEQ" if any(positive[:i]) else edges.left
            right = "events can come after this SEQ" if any(positive[i + 1 :]) else edges.right
            _check(part, errors, _Edges(left, right))
            continue
        _check_negated(part, errors)
        before = edges.left if all(skippable[:i]) else ""
        after = edges.right if all(skippable[i + 1 :]) else ""
        if any(positive) and (before or after):
            message = f"NOT may {'begin' if before else 'end'} a SEQ only at the edge of the whole pattern"
            help = "write the NOT between two parts of a SEQ, if need be of the outer one"
            errors.report("negation-at-edge", message, part.span, notes=(before or after,), help=help)


def _check_negated(pattern: Not, errors: Errors) -> None:
    """Check what a NOT negates."""
    inner = pattern.pattern
    if isinstance(inner, Not):
        errors.report("double-negation", "NOT of NOT", pattern.span, help="drop both")
        _check_negated(inner, errors)
        return
    if not isinstance(inner, (Atom, Seq)):
        message = "NOT negates an event type or a SEQ"
        errors.report("negation-operand", message, inner.span, help="put SEQ( ) around what is negated")
    _check(inner, errors, _NEGATED)


def nullable(pattern: Pattern) -> bool:
    """Tell whether a pattern can match the empty word; a NOT takes no event."""
    match pattern:
        case Atom():
            return False
        case Not():
            return True
        case Repeat():
            return pattern.low == 0 or nullable(pattern.pattern)
        case Seq():
            return all(map(nullable, pattern.parts))
        case Or() | And():
            return any(map(nullable, parts(pattern)))


def avoidable(pattern: Pattern, labels: Collection[str]) -> bool:
    """Tell whether a match can do without any event of these labels.

    >>> both = Or((Repeat(Atom("A"), 1, None), Atom("B")))
    >>> avoidable(both, {"A"}), avoidable(both, {"A", "B"})
    (True, False)
    """
    return _words_without(pattern, labels)[1]


def _words_without(pattern: Pattern, labels: Collection[str]) -> tuple[bool, bool]:
    """Tell whether the empty word, and whether some other word, matches without these labels."""
    match pattern:
        case Atom():
            return False, pattern.label not in labels
        case Not():
            return True, False
        case Repeat():
            empty, other = _words_without(pattern.pattern, labels)
            return empty or pattern.low == 0, other and pattern.high != 0
    found = [_words_without(part, labels) for part in parts(pattern)]
    match pattern:
        case Or():
            return any(empty for empty, _ in found), any(other for _, other in found)
        case And():  # a pair of trends, none of which is empty
            return False, all(other for _, other in found)
        case Seq():
            return all(empty for empty, _ in found), all(map(any, found)) and any(other for _, other in found)


# ---- neighbours


class Shape(NamedTuple):
    """Whether a pattern can be empty, labels that can begin and end it, pairs that can be neighbours."""

    nullable: bool
    first: frozenset[str]
    last: frozenset[str]
    follow: frozenset[tuple[str, str]]


_EMPTY = Shape(True, frozenset(), frozenset(), frozenset())


def shape_of(pattern: Pattern) -> Shape:
    """Return the first, last and follow sets of a pattern, as if its NOT parts were not there."""
    match pattern:
        case Atom():
            one = frozenset({pattern.label})
            return Shape(False, one, one, frozenset())
        case Not():
            return _EMPTY
        case Repeat():
            inner = shape_of(pattern.pattern)
            again = pattern.high is None or pattern.high > 1
            loop = frozenset(product(inner.last, inner.first)) if again else frozenset()
            return inner._replace(nullable=inner.nullable or pattern.low == 0, follow=inner.follow | loop)
        case Seq():
            shape = _EMPTY
            for part in pattern.parts:
                shape = _concatenate(shape, shape_of(part))
            return shape
        case Or() | And():
            shapes = [shape_of(part) for part in parts(pattern)]
            return Shape(
                any(shape.nullable for shape in shapes),
                frozenset().union(*(shape.first for shape in shapes)),
                frozenset().union(*(shape.last for shape in shapes)),
                frozenset().union(*(shape.follow for shape in shapes)),
            )


def _concatenate(a: Shape, b: Shape) -> Shape:
    """Return the shape of a followed by b."""
    return Shape(
        a.nullable and b.nullable,
        a.first | b.first if a.nullable else a.first,
        a.last | b.last if b.nullable else b.last,
        a.follow | b.follow | frozenset(product(a.last, b.first)),
    )


def neighbours(pattern: Pattern) -> set[tuple[str, str]]:
    """Return the pairs of labels that can stand directly one after the other in a trend.

    >>> sorted(neighbours(Seq((Repeat(Atom("A"), 1, None), Atom("B")))))
    [('A', 'A'), ('A', 'B')]
    """
    return set(shape_of(pattern).follow)


def type_spans(pattern: Pattern) -> dict[str, Span]:
    """Return the types of a pattern, each with the place of its first appearance."""
    spans: dict[str, Span] = {}
    for atom, _ in atoms(pattern):
        spans.setdefault(atom.type, atom.span)
    return spans
