"""The queries of a funnel: one for each step, over the pattern of all steps up to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Literal, NamedTuple

from sparkleene.errors import mistake
from sparkleene.funnel.labels import Labels, label_step
from sparkleene.funnel.steps import Step
from sparkleene.language import ast
from sparkleene.language.build import Builder
from sparkleene.language.patterns import shape_of
from sparkleene.language.printer import expr_to_text
from sparkleene.language.trees import atoms, walk_nodes

Order = Literal["any", "next", "strict"]
Touch = Literal["every", "first", "last"]
AnyOrder = Literal["none", "between", "all"]
Measure = Literal["users", "trends", "times"]

SEMANTICS: dict[Order, ast.Semantics] = {
    "any": "skip-till-any-match",
    "next": "skip-till-next-match",
    "strict": "contiguous",
}
TIMES: dict[str, ast.AggregateFunction] = {
    "avg_time": "avg",
    "min_time": "min",
    "max_time": "max",
    "stddev_time": "stddev_samp",
}
"""The columns of the time from the step before, and what they are over trends."""
VARIANCE = "variance of times"
"""The column of the spread of times in a session, which those of several sessions are combined from."""
SHORTEST = "shortest trend"
"""The column of the time that the shortest trend of a user takes."""
EXACT = 2**53 / 10**9
"""Seconds up to which a double tells nanoseconds apart."""
MOST_FREE = 5
"""How many steps may come in any order: a pattern lists all orders."""


class Part(NamedTuple):
    """What a step is in the pattern of a query, at a place in an order of the steps."""

    exclude: tuple[ast.Pattern, ...]  # what must not come on the way from the step before
    before: tuple[ast.Pattern, ...]  # what must not come before it, since the step before or the beginning
    events: ast.Pattern  # on the way to later steps
    reached: ast.Pattern  # at the end
    after: tuple[ast.Pattern, ...]  # what must not come between it and the next step
    where: tuple[ast.Expr, ...]  # conditions on all of these

    @property
    def patterns(self) -> tuple[ast.Pattern, ...]:
        """All patterns of the step."""
        return (*self.exclude, *self.before, self.events, *self.after)


@dataclass(frozen=True)
class Design:
    """What a funnel is made of, checked."""

    steps: tuple[Step, ...]
    by: tuple[ast.Ref, ...]
    exclude: tuple[tuple[ast.Pattern, ...], ...]  # for each step what must not come on the way to it
    where: tuple[ast.Expr, ...] = ()
    breakdown: tuple[ast.Ref, ...] = ()
    order: Order = "any"
    touch: Touch = "every"
    any_order: AnyOrder = "none"
    limit: ast.Duration | None = None
    session: ast.Duration | None = None  # the pause that a session may have
    window: ast.Within | None = None
    measures: frozenset[Measure] = frozenset()
    time: str = "time"

    @cached_property
    def free(self) -> range:
        """The places in the order of steps that several steps can have."""
        count = len(self.steps)
        inner = {"none": range(0), "between": range(1, count - 1), "all": range(count)}[self.any_order]
        return inner if len(inner) > 1 else range(0)

    @property
    def names(self) -> list[str]:
        """The names of the steps in results; of those in any order how many were done."""
        names, many = [step.name for step in self.steps], len(self.free)
        for done, place in enumerate(self.free, 1):
            names[place] = f"any {done} of {many}" if done < many else f"all {many}"
        return names

    @property
    def queries(self) -> dict[str, str]:
        """The text of each step's query, by the step's name."""
        return {name: Builder(self._query(i)).text for i, name in enumerate(self.names)}

    @property
    def shortest_queries(self) -> dict[str, str]:
        """For each step a query of how long the shortest trend of each user takes; none if that is no question.

        A user has a trend within the limit if the shortest is. So where only users are asked for, one number for
        each state tells who reached a step, and no trend has to be counted by its duration.
        """
        names = [ref.parts[-1] for ref in dict.fromkeys((*self.breakdown, *self.by))]
        is_clear = len(set(names)) == len(names)  # columns of one name cannot stand side by side
        if self.measures != {"users"} or self.seconds is None or self.seconds > EXACT or not is_clear:
            return {}
        if self.session is not None:
            return {}
        return {name: Builder(self._shortest(i)).text for i, name in enumerate(self.names)}

    @property
    def types(self) -> dict[str, str]:
        """The types of steps that are conditions; with one of them all types have to be conditions."""
        return {step.name: step.when for step in self.steps if step.when is not None}

    @property
    def plain_types(self) -> list[str]:
        """The types that are no conditions of steps."""
        patterns = [*(step.pattern for step in self.steps), *(one for some in self.exclude for one in some)]
        found = dict.fromkeys(atom.type for pattern in patterns for atom, _ in atoms(pattern))
        return [name for name in found if name not in self.types]

    @property
    def has_units(self) -> bool:
        """Whether lengths are given in units of time, so that times come in seconds."""
        lengths = [self.limit, self.session, *([] if self.window is None else [self.window.size])]
        return any(one is not None and one.unit is not None for one in lengths)

    @property
    def seconds(self) -> float | None:
        """How long a trend may take, None if there is no limit in units of a fixed length."""
        if self.limit is None or self.limit.unit not in ast.MILLISECONDS:
            return None
        return float(self.limit.value * ast.MILLISECONDS[self.limit.unit] / 1000)

    @property
    def user_columns(self) -> dict[str, ast.Ref]:
        """What tells users apart in the results of queries with sessions, beside the breakdown."""
        others = [ref for ref in dict.fromkeys(self.by) if ref not in self.breakdown]
        return {f"user column {i}": ref for i, ref in enumerate(others, 1)}

    def required_before(self, i: int) -> int:
        """Return the last step before another one that everybody has who comes there."""
        return next((j for j in reversed(range(i)) if not self.steps[j].is_optional), 0)

    @cached_property
    def _parts(self) -> list[dict[int, Part]]:
        """For each place in an order the steps that can have it, with labels.

        Where times are asked for, a step has labels of its own at each place, which tell what came before what.
        """
        steps, free = self.steps, self.free
        excluded = dict.fromkeys(one for some in self.exclude for one in some)
        again = [step.pattern for step in steps if self.touch != "every"]
        copies = [[step.pattern] * (self._labelled_places if i in free else 1) for i, step in enumerate(steps)]
        labels = Labels([*(one for some in copies for one in some), *excluded, *again])
        unwanted = {one: label_step(Step(one, ""), labels)[0] for one in excluded}
        others: dict[int, tuple[ast.Pattern, tuple[ast.Expr, ...]]] = {}
        found: list[dict[int, Part]] = []
        for place in range(len(steps)):
            if place in free[self._labelled_places :]:
                found.append(found[free.start])
                continue
            found.append({})
            for i in free if place in free else [place]:
                events, where = label_step(steps[i], labels)
                exclude = tuple(ast.Not(unwanted[one]) for one in self.exclude[i])
                other: tuple[ast.Pattern, ...] = ()
                if self.touch != "every":
                    if i not in others:
                        others[i] = self._label_others(steps[i], labels)
                    other, where = (ast.Not(others[i][0]),), where + others[i][1]
                before, after = (other, ()) if self.touch == "first" else ((), other)
                found[place][i] = Part(exclude, before, events, Step(events, "").reached, after, where)
        return found

    @property
    def _labelled_places(self) -> int:
        """At how many of the free places steps have labels of their own."""
        return len(self.free) if "times" in self.measures else 1

    def _label_others(self, step: Step, labels: Labels) -> tuple[ast.Pattern, tuple[ast.Expr, ...]]:
        """Return the pattern of other events of a step, and conditions on them."""
        if isinstance(step.pattern, ast.Atom):
            return label_step(step, labels)
        help = "leave touch out, or make it a step of one event"
        raise mistake(f"touch='{self.touch}' is for single events, and '{step.name}' is a pattern", help)

    def _orders(self, last: int) -> Iterator[list[Part]]:
        """Yield the steps up to a place in each order that they may have."""
        places = [place for place in self.free if place <= last]
        for chosen in permutations(self.free, len(places)):
            steps = dict(zip(places, chosen, strict=True))
            yield [parts[steps.get(place, place)] for place, parts in enumerate(self._parts[: last + 1])]

    def _query(self, last: int) -> ast.Query:
        """Return the query of those who reach a step."""
        patterns = [_sequence(parts) for parts in self._orders(last)]
        parts = [part for place in self._parts[: last + 1] for part in place.values()]
        every = _names_in([one for place in self._parts for part in place.values() for one in part.patterns])
        known = _names_in(patterns)
        own = dict.fromkeys(one for part in parts for one in part.where)
        where = [one for one in (*own, *self.where) if _find_names(one) & every <= known]
        is_longer = last or not all(isinstance(part.reached, ast.Atom) for part in parts)  # than one event
        if self.limit is not None and is_longer:
            where.append(ast.Compare((ast.Extent("duration"), self.limit), ("<=",)))
        group = tuple(self._group(ref) for ref in self.breakdown)
        items = [ast.Item(ref) for ref in group]
        if self.session is not None:  # sessions are of groups, so each user is one
            items += [ast.Item(ref, name) for name, ref in self.user_columns.items()]
            group += tuple(self.user_columns.values())
        return ast.Query(
            patterns[0] if len(patterns) == 1 else ast.Or(tuple(patterns)),
            (*items, *self._returns(last)),
            SEMANTICS[self.order],
            (ast.Equivalence(self.by), *where),
            group,
            self.window if self.session is None else ast.Session(self.session),
        )

    def _shortest(self, last: int) -> ast.Query:
        """Return the query of how long the shortest trend of each user to a step takes."""
        whole = replace(self, limit=None)._query(last)
        group = tuple(dict.fromkeys((*whole.group, *self.by)))
        shortest = ast.Item(ast.Aggregate("min", (ast.Extent("duration"),)), SHORTEST)
        returns = (*(ast.Item(ref) for ref in group if isinstance(ref, ast.Ref)), shortest)
        return replace(whole, returns=returns, group=group)

    def _returns(self, last: int) -> list[ast.Item]:
        """Return what is asked of the trends that reach a step."""
        items = [ast.Item(ast.Aggregate("count", self.by, modifier="distinct"), "users")]
        is_added_up = self.session is not None and "times" in self.measures  # which takes the number of times
        if "trends" in self.measures or is_added_up:
            items.append(ast.Item(ast.Aggregate("count"), "trends"))
        if "times" in self.measures and last:
            before = self.required_before(last)
            end = ast.Aggregate("last", self._times(before, "last"))
            begin = ast.Aggregate("first", self._times(last, "first"))
            passed = ast.Binary("-", begin, end)
            functions = dict(TIMES)
            if self.session is not None:
                del functions["stddev_time"]
                functions[VARIANCE] = "var_pop"
            items += [ast.Item(ast.Aggregate(function, (passed,)), name) for name, function in functions.items()]
        return items

    def _times(self, place: int, end: Literal["first", "last"]) -> tuple[ast.Ref, ...]:
        """Return the times of the events that can be the first or last of the step at a place."""
        found = {label for part in self._parts[place].values() for label in getattr(shape_of(part.reached), end)}
        return tuple(ast.Ref((label, self.time)) for label in sorted(found))

    def _group(self, ref: ast.Ref) -> ast.Ref:
        """Return an attribute of the breakdown, for one of the first step with its label."""
        first = self.steps[0]
        names = set() if 0 in self.free else {first.name, *_names_in([first.pattern])}
        if len(ref.parts) == 1 or ref.parts[0] not in names:
            other = next((one.name for one in self.steps if len(ref.parts) > 1 and one.name == ref.parts[0]), None)
            if other is not None:
                text = expr_to_text(ref)
                help = "break down by one of the first step, or of all events"
                raise mistake(f"the breakdown '{text}' is of a step that not all have", help)
            return ref
        if self.session is not None:
            text = expr_to_text(ref)
            help = "break down by a column of all events"
            raise mistake(f"the breakdown '{text}' is of some events, and sessions are of all of a group", help)
        found = shape_of(self._parts[0][0].reached)
        [*labels] = {*found.first, *found.last}
        if len(labels) > 1:
            raise mistake(
                "a breakdown by the first step needs a step of one event type", "break down by all events"
            )
        return ast.Ref((labels[0], *ref.parts[1:]))


def _sequence(parts: Sequence[Part]) -> ast.Pattern:
    """Return the pattern of steps in an order, the last of which is reached."""
    found: list[ast.Pattern] = []
    for i, part in enumerate(parts):
        is_last = i == len(parts) - 1
        found += (*part.exclude, *part.before) if i else part.before
        events = part.reached if is_last else part.events
        found += events.parts if isinstance(events, ast.Seq) else (events,)  # its NOT is between steps then
        found += () if is_last else part.after
    return found[0] if len(found) == 1 else ast.Seq(tuple(found))


def _names_in(patterns: Sequence[ast.Pattern]) -> set[str]:
    """Return the types and labels of patterns."""
    return {name for one in patterns for atom, _ in atoms(one) for name in (atom.type, atom.label)}


def _find_names(condition: ast.Expr) -> set[str]:
    """Return the names that may be of labels or types in a condition."""
    refs = {one.parts[0] for one in walk_nodes(condition) if isinstance(one, ast.Ref) and len(one.parts) > 1}
    return refs | {label for one in walk_nodes(condition) if isinstance(one, ast.Gap) for label in one.labels}
