"""Results that follow from others: when the trends of a coarse query are exactly those of some finer ones.

Let a label stand once in a pattern, outside of repetitions, options and NOT: then every trend has exactly one event
of it. Its type is Texas; the types below are Dallas and Austin, and no event is just of the type Texas. Then the
trends fall into two classes by the type of that event, and the classes are the trends of the two queries that say
Dallas and Austin in its place, if all else is the same. Counts and sums add up, minima and maxima combine. So it is
- under skip-till-any-match, where nothing else depends on the type;
- under contiguous, where no event may be skipped whatever its type;
- under skip-till-next-match only for the label that begins each trend: elsewhere an event of Austin ends the wait
  for one of Texas, but not that for one of Dallas;
- not for windows per trigger, where a query has rows only at the ticks at which its own trends end;
- not where a key binds some labels and rows are counted or must be neighbours: then the types tell whose rows are
  in a sub-stream.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache

from sparkleene.language.ast import Atom, Not, Pattern, Seq
from sparkleene.language.bound import Bound, Drawn, Key, Output, Window
from sparkleene.language.names import listing
from sparkleene.language.trees import atoms, map_atoms
from sparkleene.olap.hierarchy import Hierarchy
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import output_to_text

ADDITIVE = ("count", "sum", "min", "max")


@dataclass(frozen=True)
class Form:
    """All that a query means, but for the types of its labels and the names of its columns."""

    pattern: Pattern  # an atom's type is the number of its label
    semantics: str
    local: tuple[frozenset[str], ...]  # conditions as they are shown, since 2 and 2.0 are equal but not the same
    adjacent: frozenset[str]
    keys: frozenset[Key]
    group: tuple[Key, ...]
    window: Window | Drawn | None
    derived: frozenset[str]
    whole: frozenset[str]  # conditions on whole trends
    maximal: bool
    finish: str | None  # the query, where its rows are made of its aggregates: nothing follows from those


CLAUSES = {
    "pattern": "its labels are",
    "semantics": "its SEMANTICS is",
    "local": "its WHERE is",
    "adjacent": "its WHERE is",
    "keys": "its keys are",
    "group": "its GROUP-BY is",
    "window": "its WITHIN is",
    "derived": "its expressions are",
    "whole": "its WHERE is",
    "maximal": "its SEMANTICS is",
    "finish": "what is made of its aggregates is",
}


@dataclass(frozen=True)
class CubeQuery:
    """A query of a cube: its form, the types of its labels, its aggregates without their names."""

    name: str
    form: Form
    types: tuple[str, ...]
    outputs: tuple[Output, ...]
    cost: float
    bound: Bound

    @classmethod
    def of(cls, name: str, plan: Plan) -> CubeQuery:
        """Return a planned query as a cube sees it; it costs as much as its machine has states."""
        bound = plan.bound
        number = {label.name: str(i) for i, label in enumerate(bound.labels)}
        form = Form(
            map_atoms(bound.pattern, lambda atom: Atom(number[atom.label])),
            bound.semantics,
            tuple(frozenset(map(repr, terms)) for terms in bound.local),
            frozenset(map(repr, bound.adjacent)),
            frozenset(bound.keys),
            tuple(bound.keys[i] for i in bound.group),
            bound.window,
            frozenset(map(repr, bound.derived)),
            frozenset(map(repr, (*bound.lengths, *bound.durations, *bound.ends))),
            bound.maximal,
            None if bound.finish is None else name,
        )
        types = tuple(label.type for label in bound.labels)
        outputs = tuple(replace(output, name="") for output in bound.outputs)
        return cls(name, form, types, outputs, len(plan.machine.states), bound)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the window and of the groups, by which results are told apart."""
        return (*self._window, *self.bound.group_names)

    @property
    def columns(self) -> list[str]:
        """The columns of the result."""
        finish = self.bound.finish
        if finish is not None:
            return [*self._window, *(column.name for column in finish.columns)]
        return [*self.keys, *(output.name for output in self.bound.outputs)]

    @property
    def _window(self) -> tuple[str, ...]:
        return () if self.form.window is None else ("window_start", "window_end")


@dataclass(frozen=True)
class Concepts:
    """A hierarchy, and which types events have: as far as nobody looked, those with nothing below them."""

    hierarchy: Hierarchy
    present: Collection[str] | None = None

    def occurs(self, name: str) -> bool:
        """Tell whether events may be of a type, and of none below it."""
        return len(self.hierarchy.below(name)) == 1 if self.present is None else name in self.present

    def below(self, name: str) -> list[str]:
        """Return what is directly below a concept and occurs, or has below it what occurs."""
        children = [child for child, parent in self.hierarchy.parents.items() if parent == name]
        return [child for child in children if any(map(self.occurs, self.hierarchy.below(child)))]


# ---- labels that divide the trends


def find_obstacle(form: Form, label: int, name: str) -> str | None:
    """Return why the type of a label does not divide the trends into classes, None if it does."""
    window = form.window
    partial = any(key.labels is not None for key in form.keys)
    if isinstance(window, Window) and window.slide is None:
        return "a window per trigger has rows only where trends of the query itself end"
    if form.maximal:
        return "which trends are maximal depends on the trends of all types"
    if not _occurs_once(form.pattern, str(label)):
        return f"not every trend has exactly one event '{name}' that is not negated"
    if form.semantics == "skip-till-next-match" and not _begins_with(form.pattern, str(label)):
        return f"under skip-till-next-match the type of '{name}' decides which events are skipped before it"
    if partial and form.semantics == "contiguous":
        return "which rows must be neighbours depends on the types, since a key binds only some labels"
    if partial and window is not None and window.unit == "events":
        return "how rows are numbered depends on the types, since a key binds only some labels"
    return None


def _occurs_once(pattern: Pattern, label: str) -> bool:
    """Tell whether every trend has exactly one event of a label."""
    return sum(atom.type == label for atom, _ in atoms(pattern)) == 1 and label in _certain_types(pattern)


def _certain_types(pattern: Pattern) -> Iterator[str]:
    """Yield the atoms that every trend goes through once."""
    if isinstance(pattern, Atom):
        yield pattern.type
    elif isinstance(pattern, Seq):
        for part in pattern.parts:
            yield from _certain_types(part)


def _begins_with(pattern: Pattern, label: str) -> bool:
    """Tell whether every trend begins with a label, which is one that every trend has once."""
    if isinstance(pattern, Seq):
        begins = next(part for part in pattern.parts if not isinstance(part, Not))
        return _begins_with(begins, label)
    return isinstance(pattern, Atom) and pattern.type == label


# ---- sets of finer queries that make up a coarser one


def find_copies(target: CubeQuery, others: Iterable[CubeQuery]) -> list[str]:
    """Return the queries that are the same but for names, and return all that is asked for."""
    return [
        other.name
        for other in others
        if other.name != target.name
        and (other.form, other.types) == (target.form, target.types)
        and set(target.outputs) <= set(other.outputs)
    ]


def find_cover(target: CubeQuery, others: Iterable[CubeQuery], concepts: Concepts) -> tuple[str, ...]:
    """Return queries whose trends together are those of a coarser one, each once; none if there are no such.

    Concepts are taken apart, one place of the pattern after the other, until there is a query for each part.
    """
    places = [i for i in range(len(target.types)) if find_obstacle(target.form, i, "") is None]
    able = {
        other.types: other.name
        for other in reversed([*others])
        if other.form == target.form and other.types != target.types and set(target.outputs) <= set(other.outputs)
    }

    @cache
    def inside(types: tuple[str, ...]) -> bool:
        """Tell whether some query is for a part of what is asked."""
        return any(
            all(
                a == b or (i in places and a in concepts.hierarchy.below(b))
                for i, (a, b) in enumerate(zip(other, types, strict=True))
            )
            for other in able
        )

    @cache
    def find(types: tuple[str, ...]) -> tuple[str, ...]:
        return (able[types],) if types in able else parts(types)

    @cache
    def parts(types: tuple[str, ...]) -> tuple[str, ...]:
        ways = []
        for i in places if inside(types) else ():
            if concepts.occurs(types[i]):  # such events are of nothing below
                continue
            finer = [find((*types[:i], kind, *types[i + 1 :])) for kind in concepts.below(types[i])]
            if finer and all(finer):
                ways.append(tuple(name for names in finer for name in names))
        return min(ways, key=len, default=())

    made = parts(target.types)
    return made if len(made) < 2 or all(map(is_additive, target.outputs)) else ()


def is_additive(output: Output) -> bool:
    """Tell whether the aggregate of a whole follows from those of its parts.

    An average does not: nobody knows how many values it is of. A logarithm would be rounded twice. What is counted
    once may be in several parts.
    """
    once = output.each or output.distinct
    return output.function in ADDITIVE and output.log is None and not once


def explain_refusal(target: CubeQuery, finer: CubeQuery, others: Iterable[CubeQuery], concepts: Concepts) -> str:
    """Say why results do not follow from those of a finer query, together with others."""
    for field in fields(Form):
        if getattr(target.form, field.name) != getattr(finer.form, field.name):
            return f"{CLAUSES[field.name]} different"
    for i, (a, b) in enumerate(zip(finer.types, target.types, strict=True)):
        name = target.bound.labels[i].name
        if a != b and (why := find_obstacle(target.form, i, name)) is not None:
            return why
    for output in target.outputs:
        if output not in finer.outputs:
            return f"it does not return {output_to_text(output, target.bound)}"
        if not is_additive(output):
            return f"{output_to_text(output, target.bound)} does not follow from those of parts"
    return "; ".join(_missing_types(target, others, concepts)) or "the queries below do not make up the whole"


def _missing_types(target: CubeQuery, others: Iterable[CubeQuery], concepts: Concepts) -> Iterator[str]:
    """Say for which types no finer query is there."""
    for i, kind in enumerate(target.types):
        able = [other.types[i] for other in others if other.form == target.form and other.types != target.types]
        known = {name for each in able if each != kind for name in concepts.hierarchy.below(each)}
        every = concepts.hierarchy.below(kind)
        lacking = [name for name in every if concepts.occurs(name) and name not in known]
        if known & set(every) and lacking:
            yield f"no query is for {listing(lacking)}"
