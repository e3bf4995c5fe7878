"""Labels for the events of steps: each step has its own, so that one type can be in several steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from sparkleene.errors import mistake
from sparkleene.funnel.steps import Step
from sparkleene.language import ast
from sparkleene.language.trees import atoms, map_atoms, map_nodes, walk_nodes


class Labels:
    """Gives out labels: a type's own name where only one step has it."""

    def __init__(self, patterns: Iterable[ast.Pattern]) -> None:
        """Take all patterns that are going to be labelled."""
        found = [atom for pattern in patterns for atom in {one for one, _ in atoms(pattern)}]
        self._names = {name for atom in found for name in (atom.type, atom.alias) if name}
        self._shared = {name for name in self._names if sum(name in (a.type, a.alias) for a in found) > 1}

    def assign(self, pattern: ast.Pattern) -> ast.Pattern:
        """Give the atoms of a pattern their labels: occurrences of one have the same."""
        given: dict[str, str] = {}

        def change(atom: ast.Atom) -> ast.Atom:
            if atom.label not in given:
                given[atom.label] = self._fresh(atom.label) if atom.label in self._shared else atom.label
            label = given[atom.label]
            return ast.Atom(atom.type, None if label == atom.type else label)

        return map_atoms(pattern, change)

    def _fresh(self, name: str) -> str:
        """Return a name like another that nothing has."""
        number = 1
        while (fresh := f"{name}_{number}") in self._names:
            number += 1
        self._names.add(fresh)
        return fresh


def label_step(step: Step, labels: Labels) -> tuple[ast.Pattern, tuple[ast.Expr, ...]]:
    """Return the pattern of a step's events with labels, and the step's conditions on them."""
    labelled = labels.assign(step.pattern)
    before, after = list(atoms(step.pattern)), list(atoms(labelled))
    every = [atom.label for atom, negated in after if not negated] or [atom.label for atom, _ in after]
    owners: dict[str, list[str]] = {}
    for (old, _), (new, _) in zip(before, after, strict=True):
        for name in (old.type, old.label):
            owners.setdefault(name, []).append(new.label)
    conditions = [made for one in step.where for made in _qualify(one, owners, every, step.name)]
    return labelled, tuple(dict.fromkeys(conditions))


def _qualify(
    condition: ast.Expr, owners: dict[str, list[str]], every: Sequence[str], step: str
) -> Iterator[ast.Expr]:
    """Yield a condition for each label that it is on."""

    def owner(ref: ast.Ref) -> str | None:
        return ref.parts[0] if len(ref.parts) > 1 and ref.parts[0] in owners else None

    mentioned = list(dict.fromkeys(owner(one) for one in walk_nodes(condition) if isinstance(one, ast.Ref)))
    choices = [list(dict.fromkeys(every if name is None else owners[name])) for name in mentioned]
    if len(mentioned) > 1 and any(len(labels) > 1 for labels in choices):
        help = "give the types aliases, and write the condition with them: V.price < C.price"
        raise mistake(f"a condition of the step '{step}' is on several events, and it is not clear which", help)
    for chosen in product(*choices):
        label = dict(zip(mentioned, chosen, strict=True))

        def change(node: ast.Node, label: dict[str | None, str] = label) -> ast.Node | None:
            if not isinstance(node, ast.Ref):
                return None
            name = owner(node)
            rest = node.parts if name is None else node.parts[1:]
            return ast.Ref((label[name], *rest), node.next, node.prev)

        yield map_nodes(condition, change)
