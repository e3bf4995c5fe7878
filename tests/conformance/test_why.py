"""Why there are so many trends: what is counted of each step, or without a condition, is what the reference has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.strategies import WINDOWS, Case
from tests.conformance.test_random import compiled, table

import sparkleene as sk
from sparkleene import reference
from sparkleene.engine.why import Why
from sparkleene.language.ast import And, Atom, Pattern
from sparkleene.language.bound import Bound, Drawn, Key
from sparkleene.language.trees import atoms
from sparkleene.plan.beginnings import list_steps

EXAMPLES = 20


class Oracle:
    """Counts trends of a case by enumeration, of a group and of the window that holds a time."""

    def __init__(self, case: Case, group: dict[Key, Any], at: Any) -> None:
        self.case, self.group, self.bound = case, group, case.bound()
        self.options: dict[str, Any] = {
            "time": case.time, "type": case.type, "tiebreak": case.tiebreak, "offset": case.offset
        }  # fmt: skip
        self.events = getattr(self.bound.window, "unit", None) == "events"
        self.rows: Any = case.rows
        self.borders = None if at is None else self.find_window(at)
        if self.borders is not None and not self.events:
            self.rows = [row for n, row in enumerate(case.rows) if self.holds(n, row["time"])]

    def find_window(self, at: Any) -> Any:
        """Return the latest window with rows of the group that holds a time, None if there is none."""
        trigger = self.bound.per_trigger
        kinds = [{one[:2] for one in self.all_windows()}]
        if trigger:
            kinds.insert(0, {one[:2] for one in self.matches(self.bound)})
        for windows in kinds:
            closed = trigger or isinstance(self.bound.window, Drawn)
            holding = [
                (start, end)
                for start, end in windows
                if (start < at if trigger else start <= at) and (at <= end if closed else at < end)
            ]
            if holding:
                return max(holding)
        return None

    def holds(self, number: int, time: Any) -> bool:
        """Tell whether the window that was found holds a row."""
        start, end = self.borders
        if self.bound.per_trigger:
            return bool(start < time <= end)
        if not isinstance(self.bound.window, Drawn):
            return bool(start <= time < end)
        return (start, end, number) in self.all_windows()

    def all_windows(self) -> set[Any]:
        """Return the windows of a pattern that each row is a trend of, with the rows that they hold."""
        bound, events = self.bound, self.events
        keys = tuple(key for key in bound.keys if events or (key.labels is None and self.is_listed(key)))
        anything = replace(
            bound, pattern=Atom("\0"), labels=(*bound.labels, replace(bound.labels[0], name="\0", negated=False)),
            local=(*bound.local, ()), adjacent=(), keys=keys, semantics="skip-till-any-match",
            group=tuple(keys.index(bound.keys[k]) for k in bound.group if bound.keys[k] in keys),
            lengths=(), durations=(), ends=(),
        )  # fmt: skip
        rows = self.case.rows if events else [row for row in self.case.rows if self.can_belong(row)]
        found = reference.trends(anything, rows, **{**self.options, "type": None})
        return {
            (start, end, trend[0][0].position) for start, end, key, trend in found if self.is_asked(anything, key)
        }

    def is_listed(self, key: Key) -> bool:
        """Tell whether a key divides the rows whose windows are looked for."""
        listed = self.bound.keys.index(key) in self.bound.group
        return listed or (key in self.group and not isinstance(self.bound.window, Drawn))

    def can_belong(self, row: Any) -> bool:
        """Tell whether a row has a label that keys of the group let it have, or has none."""
        labels = self.bound.labels
        mine = {i for i, label in enumerate(labels) if self.case.type is None or label.type == row["type"]}
        others = [key for key, value in self.group.items() if self.is_listed(key) and row[key.path[0]] != value]
        return not mine or not any(mine <= key.labels for key in others if key.labels is not None)

    def is_asked(self, bound: Bound, key: tuple[Any, ...]) -> bool:
        """Tell whether a sub-stream is one of the group."""
        return all(self.group.get(one, value) == value for one, value in zip(bound.keys, key, strict=True))

    def matches(self, bound: Bound, rows: Any = None) -> list[Any]:
        """Return the trends of the group, with windows."""
        if bound.per_trigger:  # windows end where trends of the group do, all its keys taken
            given = [k for k, key in enumerate(bound.keys) if key in self.group]
            bound = replace(bound, group=tuple(dict.fromkeys((*bound.group, *given))))
        found = reference.trends(bound, self.case.rows if rows is None else rows, **self.options)
        return [one for one in found if self.is_asked(bound, one[2])]

    def count(self, bound: Bound) -> int:
        """Return how many trends a query has in the group and window."""
        if self.borders is None or bound.window is None:
            return len(self.matches(bound))
        if self.events:
            return sum(one[:2] == self.borders for one in self.matches(bound))
        return len(self.matches(replace(bound, window=None), self.rows))

    def has_values(self, key: Key, labels: frozenset[int]) -> bool:
        """Tell whether there is a sub-stream at all, by a key of events of some labels."""
        types = {self.bound.labels[i].type for i in labels}
        rows = [row for row in self.rows if self.case.type is None or row["type"] in types]
        rows = [row for row in rows if self.can_belong(row)]
        rows = [row for row in rows if all(key.labels or row[key.path[0]] == v for key, v in self.group.items())]
        return any(row[key.path[0]] is not None for row in rows)

    def cut_off(self, up_to: Pattern, operand: Pattern) -> Bound:
        """Return the query up to a step: what is of later steps alone, or of whole trends, is no part of it."""
        bound = replace(self.bound, pattern=up_to)
        if up_to == operand:
            return bound
        names = {atom.label for atom, _ in atoms(up_to)}
        labels = {i for i, label in enumerate(bound.labels) if label.name in names}
        rows = bound.semantics == "contiguous" or self.events
        keys = tuple(
            key
            for key in bound.keys
            if key.labels is None or key.labels & labels or (rows and self.has_values(key, key.labels))
        )
        group = tuple(keys.index(self.bound.keys[k]) for k in bound.group if self.bound.keys[k] in keys)
        return replace(bound, keys=keys, group=group, lengths=(), durations=(), ends=(), maximal=False)


def compare(case: Case, group: dict[Key, Any], at: Any) -> Why | None:
    """Compare what is said of a case with what the reference counts."""
    query = compiled(case)
    oracle = Oracle(case, group, at)
    bound = oracle.bound
    names = dict(zip(bound.group, bound.group_names, strict=True))
    named = {names.get(bound.keys.index(key), ".".join(key.path)): value for key, value in group.items()}
    assume(len({key.path for key in bound.keys}) == len(bound.keys))  # a name means one key
    if at is not None and oracle.borders is None:
        with pytest.raises(sk.QueryError, match="no window with rows"):
            query.why(table(case), group=named, window=at)
        return None
    why = query.why(table(case), group=named, window=at)
    note(str(why))
    assert why.trends == oracle.count(bound)
    operands = bound.pattern.operands if isinstance(bound.pattern, And) else (bound.pattern,)
    expected: list[int] = []
    for operand in operands:
        here = [oracle.count(oracle.cut_off(up_to, operand)) for _, up_to in list_steps(operand)]
        if 0 in here:
            assert why.stuck == here.index(0) and [step.trends for step in why.steps] == here
            last = oracle.cut_off(list_steps(operand)[why.stuck][1], operand)
            break
        expected += here
    else:
        assert why.stuck is None and [step.trends for step in why.steps] == expected
        last = bound
    for one in why.obstacles:
        changed = {
            "semantics": replace(last, semantics="skip-till-any-match", maximal=False),
            "window": replace(last, window=None),
        }
        if one.kind in changed:
            assert one.trends == oracle.count(changed[one.kind]), one
    return why


@pytest.mark.parametrize("window", WINDOWS)
@settings(max_examples=cases(EXAMPLES))
@given(data=st.data())
def test_steps_are_counted_as_the_reference_counts(window: str, data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([(), (), ("length", "duration", "ends")]))
    case = data.draw(strategies.case(kinds=(window,), max_rows=8, whole=whole))
    bound = case.bound()
    keys = data.draw(st.lists(st.sampled_from(bound.keys), unique=True)) if bound.keys else []
    group = {}
    for key in keys:
        known = [row[key.path[0]] for row in case.rows if row[key.path[0]] is not None]
        assume(known)
        group[key] = data.draw(st.sampled_from(known))
    at = None
    typed = any(key.labels is not None for key in bound.keys)
    numbered = getattr(bound.window, "unit", None) == "events"
    if bound.window is not None and not (typed and numbered) and data.draw(st.booleans()):
        at = data.draw(st.integers(-3, 10))
    compare(case, group, at)
