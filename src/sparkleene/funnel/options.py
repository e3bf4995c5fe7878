"""What a user says beside the steps of a funnel, checked, and the funnel's design made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar, get_args

from sparkleene.errors import mistake
from sparkleene.funnel.queries import MOST_FREE, AnyOrder, Design, Measure, Order, Touch
from sparkleene.funnel.steps import Step, Steps, read_steps
from sparkleene.language import ast
from sparkleene.language.build import Length, PatternPart, part, pattern, read_length
from sparkleene.language.printer import expr_to_text
from sparkleene.options import Keywords, list_options

Exclude = PatternPart | Sequence[PatternPart] | Mapping[str, PatternPart | Sequence[PatternPart]]
F = TypeVar("F", bound=Callable[..., Any])


class FunnelKeywords(Keywords, total=False):
    """The arguments of `sparkleene.funnel` beside the steps and the users."""

    within: Length | None
    session: Length | None
    every: Length | None
    window: Length | None
    order: Order
    touch: Touch
    any_order: AnyOrder
    exclude: Exclude
    where: str | Sequence[str]
    breakdown: str | Sequence[str]
    measures: Sequence[Measure]


@dataclass(frozen=True)
class FunnelOptions:
    """The options of a funnel itself, with what they are if they are not given."""

    within: Length | None = None
    session: Length | None = None
    every: Length | None = None
    window: Length | None = None
    order: Order = "any"
    touch: Touch = "every"
    any_order: AnyOrder = "none"
    exclude: Exclude = ()
    where: str | Sequence[str] = ()
    breakdown: str | Sequence[str] = ()
    measures: Sequence[Measure] = ("users", "trends", "times")

    def design(self, steps: Steps, by: str | Sequence[str], time: str) -> Design:
        """Return the design of a funnel, or raise what is wrong with its options."""
        _choose("order", self.order, Order)
        _choose("touch", self.touch, Touch)
        _choose("any_order", self.any_order, AnyOrder)
        for one in self.measures:
            _choose("measures", one, Measure)
        if self.session is not None and self.every is not None:
            help = "leave one of them out"
            raise mistake("a funnel has sessions, or windows: session= and every= are both given", help)
        found = read_steps(steps)
        made = Design(
            found,
            _columns("by", by),
            _read_exclude(self.exclude, found, self.any_order),
            _conditions(self.where),
            _columns("breakdown", self.breakdown) if self.breakdown else (),
            self.order,
            self.touch,
            self.any_order,
            None if self.within is None else read_length(self.within, "within="),
            None if self.session is None else read_length(self.session, "session="),
            _window(self.every, self.window),
            frozenset(self.measures) | {"users"},
            time,
        )
        _check_free(made)
        return made


def split_options(given: FunnelKeywords) -> tuple[FunnelOptions, Keywords]:
    """Return the options of the funnel, and those of its queries."""
    own = {field.name for field in fields(FunnelOptions)}
    options: dict[str, Any] = dict(given)
    mine = FunnelOptions(**{name: value for name, value in options.items() if name in own})
    return mine, Keywords(**{name: value for name, value in options.items() if name not in own})  # type: ignore[typeddict-item]


def list_funnel_options(function: F) -> F:
    """Make `help` and editors show the options of a function one by one, those of funnels first."""
    return list_options(function, FunnelOptions)


def _choose(option: str, given: object, kinds: Any) -> None:
    """Raise if an option is none of the words that it can be."""
    words = get_args(kinds)
    if given not in words:
        listed = ", ".join(f"'{word}'" for word in words)
        raise mistake(f"{option} is {given!r}", f"choose from {listed}")


def _as_list(given: Any) -> list[Any]:
    """Return what is given as a list."""
    return [given] if isinstance(given, str | ast.Node) else list(given)


def _columns(option: str, given: str | Sequence[str]) -> tuple[ast.Ref, ...]:
    """Return the columns that an option names; a dot leads into a struct."""
    names = _as_list(given)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise mistake(f"{option} is {given!r}", f"name a column, or several: {option}='user'")
    return tuple(ast.Ref(tuple(name.split("."))) for name in names)


def _conditions(given: str | Sequence[str]) -> tuple[ast.Expr, ...]:
    """Return the conditions on all events."""
    found = pattern("A").where(*_as_list(given)).built.where
    for one in found:
        if isinstance(one, ast.Equivalence):
            raise mistake("where has a condition in brackets", "name the columns of a user with by=")
    return tuple(one for one in found if not isinstance(one, ast.Equivalence))


def _check_free(design: Design) -> None:
    """Raise if steps cannot come in any order."""
    free = [design.steps[i] for i in design.free]
    if len(free) > MOST_FREE:
        message = f"any_order='{design.any_order}' is for at most {MOST_FREE} steps, and here are {len(free)}"
        raise mistake(message, "make one step of several, such as 'Cart OR Wish', or give some of them an order")
    for one in free:
        if one.is_optional:
            help = "leave it out: what is no step may come between"
            raise mistake(f"the step '{one.name}' can be left out, so it is none that is done in any order", help)
    names = design.names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise mistake(f"two rows of the result are called '{twice}'", "rename the step")


def _read_exclude(
    given: Exclude, steps: Sequence[Step], any_order: AnyOrder
) -> tuple[tuple[ast.Pattern, ...], ...]:
    """Return for each step what must not come on the way to it."""
    if not isinstance(given, Mapping):
        every = tuple(part(one) for one in _as_list(given))
        return tuple(every if i or any_order == "all" else () for i in range(len(steps)))
    names = [one.name for one in steps]
    for name in given:
        if name not in names:
            raise mistake(f"exclude is for the way to '{name}', and there is no such step", f"choose from {names}")
        if name == names[0] and any_order != "all":
            help = "exclude is for the ways between steps; write step('SEQ(NOT A, B)') for none before"
            raise mistake(f"there is no way to the first step, '{name}'", help)
    return tuple(tuple(part(one) for one in _as_list(given.get(name, ()))) for name in names)


def _window(every: Length | None, window: Length | None) -> ast.Within | None:
    """Return the windows: one after the other, or longer than the way from one to the next."""
    if every is None:
        if window is not None:
            raise mistake("window is given without every", "say how far windows are apart: every='5 minutes'")
        return None
    made = pattern("A").within(every if window is None else window, every).built.within
    assert isinstance(made, ast.Within)
    return made


def with_types(design: Design, options: Keywords) -> Keywords:
    """Return the options with steps that are conditions among the types."""
    if not design.types:
        return options
    given, column = options.get("types"), options.get("type", "type")
    known = {} if given is None else dict(given)
    for name in design.types:
        if name in known:
            raise mistake(f"the step '{name}' is a condition, and so is the type of that name", "rename the step")
    if given is None and column is not None:  # the other types are as they were
        for name in design.plain_types:
            known[name] = expr_to_text(ast.Compare((ast.Ref((column,)), ast.Const(name)), ("=",)))
    return Keywords(**{**options, "types": {**known, **design.types}})
