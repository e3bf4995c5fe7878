"""A query with another pattern, whose words go on meaning the same labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from sparkleene.errors import Place, mistake, suggest
from sparkleene.language import ast, parse, to_text
from sparkleene.language.bind import bind
from sparkleene.language.bind_aggregates import default_name
from sparkleene.language.names import listing
from sparkleene.language.trees import atoms

Names = frozenset[str]
"""Labels."""


def find_labels(pattern: ast.Pattern, word: str) -> Names:
    """Return the labels that a word means, or raise if there are none."""
    found = _labels_of(pattern, word)
    if not found:
        known = dict.fromkeys(each for atom, _ in atoms(pattern) for each in (atom.label, atom.type))
        help = suggest(word, known)
        raise mistake(f"the pattern has no label or event type '{word}'", help, f"it has {listing(known)}")
    return found


def _labels_of(pattern: ast.Pattern, word: str) -> Names:
    """Return the label of a name, or else all labels of that type."""
    every = [atom for atom, _ in atoms(pattern)]
    named = frozenset(atom.label for atom in every if atom.label == word)
    return named or frozenset(atom.label for atom in every if atom.type == word)


def replace_pattern(tree: ast.Query, pattern: ast.Pattern, removed: Names) -> ast.Query:
    """Return the query with another pattern; its words mean the labels that they meant, but for those removed."""

    def is_about_removed(node: Any) -> bool:
        return any(labels and labels <= removed for labels in _labels_by_word(node, tree.pattern))

    def reword(old: str) -> str:
        labels = _labels_of(tree.pattern, old) - removed
        for new in (old, *sorted(labels), *(atom.type for atom, _ in atoms(pattern))):
            if _labels_of(pattern, new) == labels:
                return new
        which = listing(sorted(labels)) if labels else "a column"
        raise mistake(
            f"no word of the new pattern means what '{old}' did: {which}", "name the labels one by one in the query"
        )

    having = () if tree.having is None else (tree.having,)
    clauses = (("RETURN", tree.returns), ("GROUP-BY", tree.group), ("HAVING", having), ("ORDER BY", tree.order))
    for place, nodes in clauses:
        if any(map(is_about_removed, nodes)):
            raise mistake(f"{place} names what is taken out", f"change {place} first")
    where = tuple(left for one in tree.where if (left := _cut_condition(one, is_about_removed)) is not None)
    returns = tuple(_write_name(item) for item in tree.returns)
    changed = _map_words(replace(tree, where=where, returns=returns), reword)
    made: ast.Query = replace(changed, pattern=pattern)
    groups = _group_names(tree, made)
    unnamed = {ast.Item(item.value) for item in groups}
    items = tuple(_leave_out_name(item) for item in made.returns if item not in unnamed)
    return replace(made, returns=groups + items)


def _labels_by_word(node: Any, pattern: ast.Pattern) -> list[Names]:
    """Return the labels that each word of a condition or an item means."""
    found: list[Names] = []

    def note(word: str) -> str:
        found.append(_labels_of(pattern, word))
        return word

    _map_words(node, note)
    return found


def _cut_condition(condition: Any, is_about_removed: Callable[[Any], bool]) -> Any:
    """Return what is left of a condition without what is about labels that are removed."""
    if isinstance(condition, ast.Equivalence):
        refs = tuple(ref for ref in condition.refs if not is_about_removed(ref))
        return replace(condition, refs=refs) if refs else None
    if isinstance(condition, ast.Bool) and condition.op == "and":
        items = tuple(
            left for item in condition.items if (left := _cut_condition(item, is_about_removed)) is not None
        )
        return replace(condition, items=items) if len(items) > 1 else items[0] if items else None
    if isinstance(condition, ast.Compare) and set(condition.ops) == {"="}:
        operands = tuple(one for one in condition.operands if not is_about_removed(one))
        if len(operands) < 2:
            return None
        return replace(condition, operands=operands, ops=condition.ops[: len(operands) - 1])
    return None if is_about_removed(condition) else condition


def _default_name(item: ast.Item) -> str | None:
    """Return the column that an aggregate or an expression makes if it is given no name."""
    return None if isinstance(item.value, ast.Ref) else default_name(item.value)


def _write_name(item: ast.Item) -> ast.Item:
    """Write the name of an aggregate's column out."""
    return replace(item, alias=item.alias or _default_name(item))


def _leave_out_name(item: ast.Item) -> ast.Item:
    """Leave the name of an aggregate's column out where it has it anyway."""
    return replace(item, alias=None) if item.alias is not None and item.alias == _default_name(item) else item


def _group_names(old: ast.Query, new: ast.Query) -> tuple[ast.Item, ...]:
    """Return what gives the columns of groups the names that they had."""
    if old.group == new.group:
        return ()
    text = to_text(new)
    names = bind(parse(text), place=Place(text)).group_names
    pairs = zip(new.group, bind(old).group_names, names, strict=True)
    changed = [(one, before) for one, before, after in pairs if before != after]
    return tuple(ast.Item(one.value if isinstance(one, ast.Item) else one, before) for one, before in changed)


def _map_words(node: Any, reword: Callable[[str], str], counted: bool = False) -> Any:
    """Return a tree of clauses with each word changed that can be a label: before a dot, in NEXT and in COUNT."""
    if isinstance(node, ast.Ref):
        labelled = node.next or node.prev or counted or len(node.parts) > 1
        return replace(node, parts=(reword(node.parts[0]), *node.parts[1:])) if labelled else node
    if isinstance(node, tuple):
        return tuple(_map_words(one, reword, counted) for one in node)
    if isinstance(node, ast.Node):
        counted = isinstance(node, ast.Aggregate) and node.function == "count"
        names = [field.name for field in fields(node) if field.name != "span"]
        changed = {name: _map_words(getattr(node, name), reword, counted) for name in names}
        return replace(node, **changed)
    return node
