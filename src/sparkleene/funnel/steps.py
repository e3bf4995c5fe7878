"""The steps of a funnel as users give them: types, patterns, or conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkleene.errors import mistake
from sparkleene.language import ast
from sparkleene.language.build import PatternPart, pattern
from sparkleene.language.patterns import nullable
from sparkleene.language.printer import pattern_to_text
from sparkleene.language.trees import atoms, walk_pattern


@dataclass(frozen=True)
class Step:
    """A step of a funnel; make one with `sparkleene.step`.

    `where` are conditions on the events of the step; `when` is the condition that an event of the step fulfils,
    where it is no event type.
    """

    pattern: ast.Pattern
    name: str
    where: tuple[ast.Expr, ...] = ()
    when: str | None = None

    @property
    def is_optional(self) -> bool:
        """Whether later steps can do without it."""
        return nullable(self.pattern)

    @property
    def reached(self) -> ast.Pattern:
        """The pattern of those who have come to the step, with an event of it: `P` for `P?`, and `P+` for `P*`."""
        given = self.pattern
        return replace(given, low=1) if isinstance(given, ast.Repeat) and given.low == 0 else given


StepLike = PatternPart | Step | Mapping[str, str]
Steps = Sequence[StepLike] | Mapping[str, str]


def step(given: PatternPart, *, name: str | None = None, where: str | Sequence[str] = ()) -> Step:
    """Return a step of a funnel: a pattern with a name of its own, and conditions on its events.

    A condition is over attributes, which are those of the step's events, and text stands in quotes.

    >>> step("View V", name="Expensive", where="price > 100")
    Step(pattern=Atom(type='View', alias='V'), name='Expensive', where=(Compare(...),), when=None)
    """
    built = pattern(given)
    conditions = built.where(*([where] if isinstance(where, str) else where)).built.where
    if any(isinstance(one, ast.Equivalence) for one in conditions):
        raise mistake("a step has a condition in brackets", "name the columns of a user with by=")
    if name is not None and (not isinstance(name, str) or not name.strip() or "\n" in name):
        raise mistake(f"the name of a step is {name!r}", "give text on one line")
    found = built.built.pattern
    if any(isinstance(part, ast.And) for part, _ in walk_pattern(found)):
        raise mistake("a step of a funnel is one pattern, and AND joins two", "make it two steps, or two funnels")
    made = Step(found, name or _name(found), conditions)  # type: ignore[arg-type]
    _check_events(made)
    return made


def read_steps(given: Steps) -> tuple[Step, ...]:
    """Return the steps, each with a name of its own.

    >>> [one.name for one in read_steps(["View", "Search S+", "View", {"Till": "page = '/till'"}])]
    ['View', 'Search S+', 'View 2', 'Till']
    """
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping):
        raise mistake(f"the steps are {given!r}", "give a list of them: ['View', 'Cart', 'Buy']")
    found: list[Step] = []
    for one in [given] if isinstance(given, Mapping) else given:
        if isinstance(one, Mapping):
            found += [Step(ast.Atom(name), name, when=_condition(name, text)) for name, text in one.items()]
        else:
            found.append(one if isinstance(one, Step) else step(one))
    if not found:
        raise mistake("a funnel has no steps", "give a list of them: ['View', 'Cart', 'Buy']")
    if found[0].is_optional:
        raise mistake(f"the first step, '{found[0].name}', can be left out", "begin with one that everybody has")
    names: set[str] = set()
    for i, one in enumerate(found):
        name, number = one.name, 1
        while name in names:
            number += 1
            name = f"{one.name} {number}"
        names.add(name)
        found[i] = replace(one, name=name)
    return tuple(found)


def _condition(name: str, text: str) -> str:
    if not isinstance(name, str) or not isinstance(text, str):
        help = "give the name and the condition as text: {'Till': \"page = '/till'\"}"
        raise mistake(f"a step is {{{name!r}: {text!r}}}", help)
    return text


def _check_events(one: Step) -> None:
    """Raise if a step has no event of its own."""
    if all(negated for _, negated in atoms(one.pattern)):
        raise mistake(f"the step '{one.name}' has no event", "a NOT stands before or after one: SEQ(NOT A, B)")
    if nullable(one.reached):
        raise mistake(f"the step '{one.name}' may be empty in several ways", "write P? or P* around all of it")


def _name(given: ast.Pattern) -> str:
    """Return the name of a step that has none."""
    if isinstance(given, ast.Atom):
        return given.label
    return pattern_to_text(given)
