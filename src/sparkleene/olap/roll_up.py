"""Finer and coarser queries: types replaced by concepts above or below them, types put in and taken out.

These are the roll-up and drill-down of the 2016 survey, section 4, as functions from syntax tree to syntax tree.
A label keeps its name whatever becomes of its type, so that all that WHERE, RETURN and GROUP-BY say of it stays; a
word that meant labels by their type is replaced by one that means the same labels now.
"""

from __future__ import annotations

from dataclasses import replace

from sparkleene.errors import mistake, suggest
from sparkleene.language import ast
from sparkleene.language.build import PatternPart, part
from sparkleene.language.names import listing
from sparkleene.language.trees import atoms, map_atoms, map_parts, parts, with_parts
from sparkleene.olap.hierarchy import Hierarchy
from sparkleene.olap.reword import Names, find_labels, replace_pattern


def roll_up(
    tree: ast.Query, name: str | None, to: str | None, remove: str | None, hierarchy: Hierarchy | None
) -> ast.Query:
    """Return a coarser query; see `Query.roll_up`."""
    if (name is None) == (remove is None) or (to is not None and name is None):
        raise mistake("what is to be rolled up?", "give the name of a type, or remove=")
    return remove_labels(tree, str(remove)) if name is None else generalize(tree, name, to, _require(hierarchy))


def drill_down(
    tree: ast.Query,
    name: str | None,
    to: str | None,
    insert: PatternPart | None,
    before: str | None,
    after: str | None,
    hierarchy: Hierarchy | None,
) -> ast.Query:
    """Return a finer query; see `Query.drill_down`."""
    if insert is None:
        if name is None or to is None or before is not None or after is not None:
            help = "give the name of a type and of one below it, or insert= with before= or after="
            raise mistake("what is to be drilled down to?", help)
        return specialize(tree, name, to, _require(hierarchy))
    beside = after if before is None else before
    if beside is None or (before and after) or name is not None or to is not None:
        help = "give insert= with the label that it is before= or after="
        raise mistake("where is the type to be put in?", help)
    return insert_part(tree, part(insert), beside, before is None)


def _require(hierarchy: Hierarchy | None) -> Hierarchy:
    if hierarchy is None:
        raise mistake("the query has no hierarchy", "give it one: hierarchy={'Dallas': 'Texas'}")
    return hierarchy


# ---- concepts


def generalize(tree: ast.Query, name: str, to: str | None, hierarchy: Hierarchy) -> ast.Query:
    """Return the query with a type replaced by the concept above it, or by one further up.

    >>> from sparkleene.language import parse, to_text
    >>> tree = parse("RETURN COUNT(Dallas) PATTERN SEQ(Dallas, Bus+)")
    >>> print(to_text(generalize(tree, "Dallas", None, Hierarchy({"Dallas": "Texas"}))))
    RETURN COUNT(Dallas)
    PATTERN SEQ(Texas Dallas, Bus+)
    """
    chosen = find_labels(tree.pattern, name)
    kind = _type_of(tree.pattern, chosen)
    above = _concepts_above(kind, hierarchy)
    if not above:
        known = listing(sorted(hierarchy.parents))
        raise mistake(
            f"there is no concept above '{kind}'", suggest(kind, hierarchy.parents), f"below one are {known}"
        )
    if to is not None and to not in above:
        raise mistake(f"'{to}' is not above '{kind}'", suggest(to, above), f"above it are {listing(above)}")
    return _change_type(tree, chosen, to or above[0])


def specialize(tree: ast.Query, name: str, to: str, hierarchy: Hierarchy) -> ast.Query:
    """Return the query with a concept replaced by a type or concept below it."""
    chosen = find_labels(tree.pattern, name)
    kind = _type_of(tree.pattern, chosen)
    below = hierarchy.below(kind)[1:]
    if to not in below:
        note = f"below it are {listing(below)}" if below else f"nothing is below '{kind}'"
        raise mistake(f"'{to}' is not below '{kind}'", suggest(to, below), note)
    return _change_type(tree, chosen, to)


def _concepts_above(kind: str, hierarchy: Hierarchy) -> list[str]:
    """Return the concepts above a type, the nearest first."""
    found = [kind]
    while (above := hierarchy.parents.get(found[-1])) is not None:
        found.append(above)
    return found[1:]


def _type_of(pattern: ast.Pattern, chosen: Names) -> str:
    """Return the type of some labels, which they have in common."""
    return next(atom.type for atom, _ in atoms(pattern) if atom.label in chosen)


def _change_type(tree: ast.Query, chosen: Names, kind: str) -> ast.Query:
    """Give some labels another type."""

    def change(atom: ast.Atom) -> ast.Atom:
        if atom.label not in chosen:
            return atom
        return replace(atom, type=kind, alias=None if atom.label == kind else atom.label)

    return replace_pattern(tree, map_atoms(tree.pattern, change), frozenset())


# ---- patterns


def insert_part(tree: ast.Query, new: ast.Pattern, beside: str, after: bool) -> ast.Query:
    """Return the query with a part put into its pattern, directly before or after a type.

    >>> from sparkleene.language import parse, pattern_to_text
    >>> tree = parse("RETURN COUNT(*) PATTERN SEQ(G, A, T)")
    >>> pattern_to_text(insert_part(tree, ast.Not(ast.Atom("D")), "G", True).pattern)
    'SEQ(G, NOT D, A, T)'
    """
    chosen = find_labels(tree.pattern, beside)
    places = [atom for atom, _ in atoms(tree.pattern) if atom.label in chosen]
    if len(places) > 1:
        help = "name one of them, by an alias of its own"
        raise mistake(f"'{beside}' stands in the pattern {len(places)} times", help)
    pattern = _join(_insert(tree.pattern, new, places[0].label, after))
    return replace(tree, pattern=pattern)


def _insert(pattern: ast.Pattern, new: ast.Pattern, label: str, after: bool) -> tuple[ast.Pattern, ...]:
    """Put a part beside a label: into the SEQ around it if there is one, else as two parts for one."""
    if not any(atom.label == label for atom, _ in atoms(pattern)):
        return (pattern,)
    if isinstance(pattern, ast.Atom | ast.Not) or (
        isinstance(pattern, ast.Repeat) and isinstance(pattern.pattern, ast.Atom)
    ):
        return (pattern, new) if after else (new, pattern)
    if isinstance(pattern, ast.Seq):
        made = (one for each in pattern.parts for one in _insert(each, new, label, after))
        return (replace(pattern, parts=tuple(made)),)
    return (map_parts(pattern, lambda inner: _join(_insert(inner, new, label, after))),)


def _join(parts: tuple[ast.Pattern, ...]) -> ast.Pattern:
    return parts[0] if len(parts) == 1 else ast.Seq(parts)


def remove_labels(tree: ast.Query, name: str) -> ast.Query:
    """Return the query with the events of a label or type taken out of its pattern, and the conditions on them.

    >>> from sparkleene.language import parse, to_text
    >>> tree = parse("RETURN COUNT(*) PATTERN SEQ(G, D+, A) WHERE D.x > 3 AND G.x = A.x = D.x")
    >>> print(to_text(remove_labels(tree, "D")))
    RETURN COUNT(*)
    PATTERN SEQ(G, A)
    WHERE G.x = A.x
    """
    chosen = find_labels(tree.pattern, name)
    pattern = _remove(tree.pattern, chosen)
    if pattern is None or all(negated for _, negated in atoms(pattern)):
        raise mistake(f"without '{name}' nothing is left of the pattern", None)
    return replace_pattern(tree, pattern, chosen)


def _remove(pattern: ast.Pattern, removed: Names) -> ast.Pattern | None:
    """Return what is left of a pattern without some labels."""
    if isinstance(pattern, ast.Atom):
        return None if pattern.label in removed else pattern
    given = parts(pattern)
    kept = tuple(left for each in given if (left := _remove(each, removed)) is not None)
    if len(kept) < min(2, len(given)):
        return kept[0] if kept else None
    return with_parts(pattern, kept)
