"""Parts that differ in their windows, and what they become where these are made of common panes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.time_zones import is_utc
from sparkleene.language.bound import Window
from sparkleene.plan.part import Member, Part
from sparkleene.workload.merge import WORTH, count_numbers, find_kind, merge
from sparkleene.workload.windows import unite_windows

MOST_PANES = 64  # of a window: those of longer ones are also multiplied beforehand, for each length by itself


@dataclass(frozen=True)
class Joint:
    """Parts that differ in their windows alone, and one part for all of their queries."""

    part: Part
    members: tuple[Part, ...]


def find_joints(parts: Sequence[Part], always: bool = False) -> list[Joint]:
    """Find the parts that differ in their windows, and can be evaluated together all the same."""
    found = []
    for members in _group_parts(parts):
        queries = [member for part in members for member in part.members]
        if (whole := merge(queries, always)) is not None:
            found.append(Joint(whole, tuple(members)))
    return found


def _group_parts(parts: Sequence[Part]) -> list[list[Part]]:
    """Return parts that differ in their windows, which have a slide."""
    kinds: dict[Hashable, list[Part]] = {}
    for part in parts:
        window = part.plan.bound.window
        slides = isinstance(window, Window) and window.slide is not None and window.unit != "events"
        kind = find_kind(part.members[0])
        if slides and not part.plan.pairs and isinstance(kind, tuple):
            semantics, _, *rest = kind
            kinds.setdefault((semantics, *rest), []).append(part)
    return [members for members in kinds.values() if len(members) > 1]


def divide_stream(parts: Sequence[Part], options: EngineOptions, always: bool = False) -> list[Part]:
    """Return the parts of a workload as a stream keeps their state: those in one that pay by common panes.

    What is kept for all of them is not larger than `WORTH` times what each of them keeps, or they are together
    `always` where it can be. This is decided before rows are seen, and for as long as the stream lasts.
    """
    if options.numbers != "double":
        return list(parts)
    found: dict[str, Part] = {}
    for members in _group_parts(parts):
        groups: list[Group] = []
        for part in members:
            if _is_fixed(part, options):
                _add(part, groups, always)
        found |= {part.names[0]: group.whole for group in groups for part in group.parts}
    return list({id(part): part for part in (found.get(part.names[0], part) for part in parts)}.values())


@dataclass
class Group:
    """Parts that become one."""

    parts: list[Part]
    whole: Part


def _add(part: Part, groups: list[Group], always: bool) -> None:
    """Put a part into the first group that it fits in, or into one of its own."""
    for group in groups:
        if (whole := _join([*group.parts, part], always)) is not None:
            group.parts.append(part)
            group.whole = whole
            return
    groups.append(Group([part], part))


def _is_fixed(part: Part, options: EngineOptions) -> bool:
    """Tell whether windows are of one length, and made of few panes, and their results of nothing but these."""
    plan = part.plan
    window = plan.bound.window
    assert isinstance(window, Window)
    by_calendar = window.calendar is not None and (window.calendar == "months" or not is_utc(options.timezone))
    return plan.whole is None and not plan.aggregates.spreads and not by_calendar and _panes(window) < MOST_PANES


def _join(parts: Sequence[Part], always: bool) -> Part | None:
    """Return one part for parts with different windows, or None where it would keep more than they do."""
    united = unite_windows([part.plan.bound.window for part in parts])
    if united is None or _panes(united) >= MOST_PANES:
        return None
    whole = merge_stream([member for part in parts for member in part.members], always)
    if whole is None or always:
        return whole
    return whole if _count_kept(whole) <= WORTH * sum(map(_count_kept, parts)) else None


def merge_stream(members: Sequence[Member], always: bool = False) -> Part | None:
    """Return one part for queries that keep their state together, or None where it would not pay."""
    part = merge(members, always)
    if part is None or not part.is_mixed:
        return part
    bound = replace(part.plan.bound, window=unite_windows(part.windows))
    return replace(part, plan=replace(part.plan, bound=bound))


def _count_kept(part: Part) -> Fraction:
    """Return how many numbers the matrices of a sub-stream have for a unit of time."""
    window = part.plan.bound.window
    assert isinstance(window, Window)
    return len(part.plan.machine.states) * count_numbers(part.plan) / _pane(window)


def _panes(window: Window) -> Fraction:
    """Return how many panes a window is made of."""
    return window.size / _pane(window)


def _pane(window: Window) -> Fraction:
    """Return how long the panes of windows are."""
    one = unite_windows([window])
    assert one is not None and one.slide is not None
    return one.slide
