"""A pattern step by step: what comes first, what the pattern is up to each step, and what it is without a NOT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sparkleene.language import ast
from sparkleene.language.bound import Bound
from sparkleene.language.trees import atoms, map_parts, walk_pattern

MOST = 8  # repetitions that are steps of their own


def list_steps(pattern: ast.Pattern) -> list[tuple[ast.Pattern, ast.Pattern]]:
    """Return the steps of a pattern, each with the pattern up to it; that of the last one is the whole.

    >>> from sparkleene.language import parse
    >>> from sparkleene.language.printer import pattern_to_text
    >>> def show(text):
    ...     steps = list_steps(parse(f"RETURN COUNT(*) PATTERN {text}").pattern)
    ...     return [(pattern_to_text(step), pattern_to_text(up_to)) for step, up_to in steps]
    >>> show("SEQ(A, NOT C, B{2})")
    [('A', 'A'), ('B{1}', 'SEQ(A, NOT C, B{1})'), ('B{2}', 'SEQ(A, NOT C, B{2})')]
    >>> show("SEQ(A, D*)"), show("(A OR B)+")
    ([('A', 'A'), ('D*', 'SEQ(A, D*)')], [('(A OR B)+', '(A OR B)+')])
    """
    found = list(_beginnings(pattern))
    if not found or found[-1][1] != pattern:
        found.append((_end(pattern), pattern))
    return found


def _beginnings(pattern: ast.Pattern) -> Iterator[tuple[ast.Pattern, ast.Pattern]]:
    """Yield the steps of a pattern that every trend takes, each with the pattern up to it."""
    match pattern:
        case ast.Seq():
            done: tuple[ast.Pattern, ...] = ()
            for part in pattern.parts:
                if isinstance(part, ast.Not):
                    done = (*done, part)
                    if part is pattern.parts[-1]:
                        yield part, replace(pattern, parts=done)
                    continue
                if not _is_optional(part):
                    for step, up_to in _beginnings(part):
                        yield step, replace(pattern, parts=(*done, up_to)) if done else up_to
                done = (*done, part)
        case ast.Repeat() if pattern.low >= 1 and not isinstance(pattern.pattern, ast.Atom | ast.Or):
            yield from _beginnings(pattern.pattern)
            if pattern.low > 1:
                yield pattern, pattern
        case ast.Repeat() if 1 < pattern.low <= MOST:
            for n in range(1, pattern.low):
                yield replace(pattern, low=n, high=n), replace(pattern, low=n, high=n)
            yield pattern, pattern
        case _:
            yield pattern, pattern


def _is_optional(part: ast.Pattern) -> bool:
    """Tell whether a part may be left out."""
    return isinstance(part, ast.Repeat) and part.low == 0


def _end(pattern: ast.Pattern) -> ast.Pattern:
    """Return what a pattern has after the last step that every trend takes, or else its last part."""
    if not isinstance(pattern, ast.Seq):
        return pattern
    taken = [i for i, part in enumerate(pattern.parts) if not _is_optional(part) and not isinstance(part, ast.Not)]
    after = pattern.parts[taken[-1] + 1 :] if taken else pattern.parts
    last = after or pattern.parts[-1:]
    return last[0] if len(last) == 1 else replace(pattern, parts=last)


def labels_in(bound: Bound, pattern: ast.Pattern) -> set[int]:
    """Return the labels of a pattern, those inside NOT too."""
    names = {atom.label for atom, _ in atoms(pattern)}
    return {i for i, label in enumerate(bound.labels) if label.name in names}


def negations(pattern: ast.Pattern) -> list[ast.Not]:
    """Return what a pattern forbids, each once; what stands inside a NOT is a part of it."""
    inside = [part for part, negated in walk_pattern(pattern) if isinstance(part, ast.Not) and not negated]
    return list(dict.fromkeys(inside))


def without_negation(pattern: ast.Pattern, negation: ast.Not) -> ast.Pattern:
    """Return a pattern without one of its negations."""
    if isinstance(pattern, ast.Seq):
        parts = tuple(without_negation(part, negation) for part in pattern.parts if part != negation)
        return parts[0] if len(parts) == 1 else replace(pattern, parts=parts)
    if isinstance(pattern, ast.Atom | ast.Not):
        return pattern
    return map_parts(pattern, lambda part: without_negation(part, negation))
