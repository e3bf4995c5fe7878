"""Queries that are evaluated together by one plan. A query by itself is a part with one member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sparkleene.errors import Place
from sparkleene.language.bound import Drawn, Window
from sparkleene.plan.plan import Plan


@dataclass(frozen=True)
class Member:
    """One query of a part: its own plan, the text that errors point into, and what is its own of the results."""

    name: str
    plan: Plan
    place: Place
    outputs: tuple[int, ...]  # the places of its outputs among those of the part's plan

    @property
    def group_names(self) -> tuple[str, ...]:
        """What the query calls the columns of its groups."""
        return self.plan.bound.group_names


@dataclass(frozen=True)
class Part:
    """One plan for one query or several: result class k of its machine is that of member k."""

    plan: Plan
    members: tuple[Member, ...]

    @classmethod
    def single(cls, name: str, plan: Plan, place: Place) -> Part:
        """Return the part of one query."""
        return cls(plan, (Member(name, plan, place, tuple(range(len(plan.bound.outputs)))),))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries."""
        return tuple(member.name for member in self.members)

    @property
    def place(self) -> Place:
        """The text that errors point into when nothing says which query is at fault."""
        return self.members[0].place

    @property
    def is_shared(self) -> bool:
        """Whether there are several queries."""
        return len(self.members) > 1

    @property
    def windows(self) -> tuple[Window | Drawn | None, ...]:
        """The different windows of the queries."""
        return tuple(dict.fromkeys(member.plan.bound.window for member in self.members))

    @property
    def is_mixed(self) -> bool:
        """Whether queries have different windows; the part's own is then made of the panes of all."""
        return len(self.windows) > 1

    def find_members(self, window: Window | Drawn | None) -> tuple[int, ...]:
        """Return the places of the queries that have a window."""
        return tuple(k for k, member in enumerate(self.members) if member.plan.bound.window == window)

    def map(self, change: Callable[[Plan], Plan]) -> Part:
        """Return the part with all of its plans changed in one way."""
        if not self.is_shared:
            plan = change(self.plan)
            return Part(plan, (replace(self.members[0], plan=plan),))
        return Part(change(self.plan), tuple(replace(member, plan=change(member.plan)) for member in self.members))
