"""Walk over patterns and terms, and change what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any, TypeVar

from sparkleene.language.ast import And, Atom, Node, Not, Or, Pattern, Repeat, Seq
from sparkleene.language.bound import Call, Field, Literal_, Term

Leaf = TypeVar("Leaf", bound=Field | Literal_)

# ---- patterns


def parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """Return the direct parts of a pattern."""
    match pattern:
        case Atom():
            return ()
        case Repeat() | Not():
            return (pattern.pattern,)
        case Seq(items) | Or(items) | And(items):
            return items


def with_parts(pattern: Pattern, items: tuple[Pattern, ...]) -> Pattern:
    """Return a pattern with other direct parts, as many as it had or, in SEQ, OR and AND, any number."""
    match pattern:
        case Atom():
            return pattern
        case Repeat() | Not():
            return replace(pattern, pattern=items[0])
        case Seq() | Or() | And():
            return type(pattern)(items, span=pattern.span)


def walk_pattern(pattern: Pattern, negated: bool = False) -> Iterator[tuple[Pattern, bool]]:
    """Yield a pattern and all parts of it from left to right, each with whether it stands inside a NOT.

    >>> [type(part).__name__ for part, negated in walk_pattern(Seq((Atom("A"), Not(Atom("C"))))) if not negated]
    ['Seq', 'Atom', 'Not']
    """
    yield pattern, negated
    for part in parts(pattern):
        yield from walk_pattern(part, negated or isinstance(pattern, Not))


def atoms(pattern: Pattern) -> Iterator[tuple[Atom, bool]]:
    """Yield the atoms of a pattern from left to right, each with whether it stands inside a NOT."""
    return ((part, negated) for part, negated in walk_pattern(pattern) if isinstance(part, Atom))


def map_parts(pattern: Pattern, change: Callable[[Pattern], Pattern]) -> Pattern:
    """Return a pattern with each of its direct parts changed."""
    return with_parts(pattern, tuple(map(change, parts(pattern))))


def map_atoms(pattern: Pattern, change: Callable[[Atom], Pattern]) -> Pattern:
    """Return a pattern with each of its atoms changed.

    >>> map_atoms(Repeat(Atom("A"), 1, None), lambda atom: Atom("B"))
    Repeat(pattern=Atom(type='B', alias=None), low=1, high=None)
    """
    if isinstance(pattern, Atom):
        return change(pattern)
    return map_parts(pattern, lambda part: map_atoms(part, change))


# ---- any nodes of the syntax tree


def walk_nodes(node: Any) -> Iterator[Node]:
    """Yield a node and all nodes in it from left to right."""
    if isinstance(node, tuple):
        for one in node:
            yield from walk_nodes(one)
    elif isinstance(node, Node):
        yield node
        for field in fields_of(node):
            yield from walk_nodes(getattr(node, field.name))


def map_nodes(node: Any, change: Callable[[Node], Node | None]) -> Any:
    """Return a tree with some nodes changed: `change` says what a node becomes, or None to look inside of it."""
    if isinstance(node, tuple):
        return tuple(map_nodes(one, change) for one in node)
    if not isinstance(node, Node):
        return node
    changed = change(node)
    if changed is not None:
        return changed
    names = [field.name for field in fields_of(node) if field.name != "span"]
    return replace(node, **{name: map_nodes(getattr(node, name), change) for name in names})


# ---- terms


def walk_term(term: Term) -> Iterator[Term]:
    """Yield a term and all terms in it from left to right."""
    yield term
    if isinstance(term, Call):
        for arg in term.args:
            yield from walk_term(arg)


def fields(term: Term) -> Iterator[Field]:
    """Yield the attributes that a term reads from left to right.

    >>> [field.path for field in fields(Call("<", (Field(("price",)), Field(("open",)))))]
    [('price',), ('open',)]
    """
    return (part for part in walk_term(term) if isinstance(part, Field))


def is_constant(term: Term) -> bool:
    """Tell whether a term reads no attribute."""
    return not any(fields(term))


def map_leaves(term: Term, kind: type[Leaf], change: Callable[[Leaf], Term]) -> Term:
    """Return a term with each attribute, or each constant, of a kind changed."""
    if isinstance(term, Call):
        return Call(term.op, tuple(map_leaves(arg, kind, change) for arg in term.args), term.span)
    return change(term) if isinstance(term, kind) else term


def conjuncts(term: Term) -> Iterator[Term]:
    """Yield the conditions that a term is the conjunction of."""
    if isinstance(term, Call) and term.op == "and":
        for arg in term.args:
            yield from conjuncts(arg)
    else:
        yield term
