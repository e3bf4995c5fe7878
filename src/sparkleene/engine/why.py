"""Why a group has no trend, or few: how far the pattern was followed, and what each condition holds back.

The pattern is cut off after each of its steps, and the trends of these beginnings are counted. The first that has
none is the step that nobody passed. Then conditions that bear on it are left out one by one: what is counted
without one is what it holds back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.fields import find_column
from sparkleene.columns.labels import label_masks
from sparkleene.engine.chosen_rows import Chosen, change_query, equals
from sparkleene.engine.results import write_results
from sparkleene.engine.run import Run
from sparkleene.engine.why_conditions import clear_whole, drop_key, list_conditions, window_condition
from sparkleene.engine.windows import WINDOW
from sparkleene.language import ast
from sparkleene.language.bound import Bound, Key, Output
from sparkleene.language.printer import pattern_to_text
from sparkleene.plan.beginnings import labels_in, list_steps
from sparkleene.plan.text import count
from sparkleene.plan.text import table as lay_out

MOST_ROWS = 1_000_000  # of a DataFrame of Spark that are looked at here


@dataclass(frozen=True)
class Step:
    """A step of the pattern: how many events could take it, and how many trends the pattern has up to it."""

    pattern: str
    events: int  # of the types of this step
    fit: int  # of these, those for which the conditions on one event hold
    trends: float


@dataclass(frozen=True)
class Obstacle:
    """A condition on the step that nobody passed, or on all of the pattern: what it holds back."""

    kind: str  # type, local, adjacent, negation, key, trend, semantics, window or order
    condition: str
    events: int | None  # for which it is not true; None where it is not about single events
    nulls: int  # of these, those for which it is unknown
    trends: float  # that there would be without this condition


@dataclass(frozen=True)
class Why:
    """Why there are as many trends as there are; `print` it, or read its fields."""

    where: str
    rows: int
    trends: float
    steps: tuple[Step, ...]
    stuck: int | None  # the number of the first step that nobody passed
    obstacles: tuple[Obstacle, ...]

    @property
    def reached(self) -> str:
        """The longest beginning of the pattern that has trends, '' if there is none."""
        last = len(self.steps) if self.stuck is None else self.stuck
        return ", ".join(step.pattern for step in self.steps[:last])

    def __str__(self) -> str:
        """Return it as a page to read."""
        of = f" of {self.where}" if self.where else ""
        lines = [f"{_number(self.trends, 'trend')} in {count(self.rows, 'row')}{of}", ""]
        head = ("step", "events", "that fit", "trends so far")
        body = [(step.pattern, f"{step.events:,}", f"{step.fit:,}", _number(step.trends)) for step in self.steps]
        lines += [f"  {line}" for line in lay_out([head, *body])] + [""]
        if self.stuck is not None:
            after = f" after {self.reached}" if self.stuck else ""
            lines.append(f"Nobody passed {self.steps[self.stuck].pattern}{after}.")
        if [one.kind for one in self.obstacles] == ["type"]:
            lines.append(f"{self.obstacles[0].condition}.")
        elif self.obstacles:
            up_to = "" if self.stuck is None else f" up to {self.steps[self.stuck].pattern}"
            lines.append(f"Without one of the conditions there would be, in trends{up_to}:")
            rows = [(_number(one.trends), one.condition, _say_stops(one)) for one in self.obstacles]
            lines += [f"  {line}" for line in lay_out(rows)]
            if self.stuck is not None and not any(one.trends for one in self.obstacles):
                lines.append("No condition, nor two together, keep them out.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return it as a page to read, for a notebook too."""
        return str(self)


def _number(value: float, word: str = "") -> str:
    """Write a number of trends."""
    text = f"{value:,.0f}" if value < 1e15 else f"{value:.6g}"
    return text if not word else f"{text if value else 'no'} {word}{'' if value == 1 else 's'}"


def _say_stops(one: Obstacle) -> str:
    """Say for how many events a condition is not true."""
    if one.events is None:
        return ""
    unknown = f", {one.nulls:,} of them NULL" if one.nulls else ""
    return f"not true for {count(one.events, 'event')}{unknown}"


# ---- one group and window


@dataclass(frozen=True)
class Asker:
    """Counts trends of a window and a group under changed queries."""

    chosen: Chosen
    keys: tuple[Key, ...]  # of the query as it is

    def trends(self, bound: Bound, inside: bool = True) -> float:
        """Return how many trends a query has in the window, or in all rows of the group."""
        chosen = self.chosen
        # Columns of the keys that have a value here tell which rows of the result are meant.
        known = {self.keys[k]: value for k, value in chosen.values.items() if self.keys[k].labels is not None}
        given = {k: known[key] for k, key in enumerate(bound.keys) if key in known}
        group = tuple(dict.fromkeys((*bound.group, *given)))
        names = tuple(f"key {k}" for k in group)
        counted = replace(bound, group=group, group_names=names)
        run = change_query(chosen.run, counted)
        found = write_results(run.evaluate(chosen.rows if inside else chosen.group_rows))
        for k, value in given.items():
            found = found.filter(equals(run.place, found.column(f"key {k}"), value))
        if inside and chosen.key is not None and chosen.borders is not None:
            found = found.filter(pc.equal(found.column(WINDOW[0]), chosen.borders[0]))
        return float(sum(map(float, found.column(COUNT).to_pylist())))


COUNT = "trends"


def explain_trends(chosen: Chosen) -> Why:
    """Tell why the rows of a group and window have as many trends as they have."""
    run = chosen.run
    run = replace(run, options=replace(run.options, numbers="double"))
    chosen = replace(chosen, run=run)
    counted = (Output(COUNT, "count", frozenset(), (), None),)
    bound = replace(run.plan.bound, outputs=counted, finish=None)
    asker = Asker(chosen, bound.keys)
    whole = asker.trends(bound)
    table = run.with_derived(chosen.rows)
    operands = bound.pattern.operands if isinstance(bound.pattern, ast.And) else (bound.pattern,)
    steps: list[Step] = []
    for operand in operands:
        found = [(step, cut_off(bound, up_to, operand, run, table)) for step, up_to in list_steps(operand)]
        here = [_take_step(asker, step, up_to, table) for step, up_to in found]
        stuck = next((i for i, step in enumerate(here) if not step.trends), None)
        if stuck is not None:
            step, up_to = found[stuck]
            obstacles = list(_obstacles(asker, up_to, step, table))
            if not here[stuck].events and not isinstance(step, ast.Not):
                types = sorted({bound.labels[i].type for i in _positive(bound, step)})
                nothing = f"There is no event of type {' or '.join(types)}"
                obstacles = [Obstacle("type", nothing, None, 0, 0.0)]
            return Why(chosen.where, table.num_rows, whole, tuple(here), stuck, tuple(obstacles))
        steps += here
    obstacles = list(_obstacles(asker, bound, bound.pattern, table))
    return Why(chosen.where, table.num_rows, whole, tuple(steps), None, tuple(obstacles))


def cut_off(bound: Bound, up_to: ast.Pattern, operand: ast.Pattern, run: Run, table: pa.Table) -> Bound:
    """Return the query up to a step, without what is of whole trends, or of later steps alone."""
    made = replace(bound, pattern=up_to)
    if up_to == operand:
        return made
    labels = labels_in(bound, up_to)
    # Where gaps tell, or rows are counted, such keys still say which rows are in a sub-stream.
    matters = bound.semantics == "contiguous" or getattr(bound.window, "unit", None) == "events"
    for key in bound.keys:
        later = key.labels is not None and not key.labels & labels
        if later and not (matters and _has_values(bound, key, run, table)):
            made = drop_key(key, made)
    return clear_whole(made)


def _has_values(bound: Bound, key: Key, run: Run, table: pa.Table) -> bool:
    """Tell whether an event that a key binds has a value of it."""
    mask = label_masks(bound.without_local(), table, run.options.type, run.place)
    there = np.asarray(find_column(table, key.path, run.place).is_valid())
    bits = mask.dtype.type(sum(1 << label for label in key.labels or ()))
    return bool((there & (mask & bits != 0)).any())


def _positive(bound: Bound, step: ast.Pattern) -> set[int]:
    """Return the labels of events that take a step; of a NOT those that it forbids."""
    labels = labels_in(bound, step)
    return labels if isinstance(step, ast.Not) else {i for i in labels if not bound.labels[i].negated}


def _take_step(asker: Asker, step: ast.Pattern, up_to: Bound, table: pa.Table) -> Step:
    """Return how many events could take a step, and how many trends there are up to it."""
    run, bits = asker.chosen.run, sum(1 << label for label in _positive(up_to, step))
    masks = (label_masks(one, table, run.options.type, run.place) for one in (up_to.without_local(), up_to))
    events, fit = (int(np.count_nonzero(mask & mask.dtype.type(bits))) for mask in masks)
    return Step(pattern_to_text(step), events, fit, asker.trends(up_to))


def _obstacles(asker: Asker, bound: Bound, step: ast.Pattern, table: pa.Table) -> Iterator[Obstacle]:
    """Yield the conditions that bear on a step and what there would be without each, or without two if need be."""
    found = list(list_conditions(asker.chosen, bound, step, table))
    window = window_condition(asker.chosen)
    found += [] if window is None else [window]
    if bound.maximal:  # rows of several sub-streams may tie, and then nobody knows which is first
        found = [one for one in found if one.kind != "key"]
    singles = [
        Obstacle(one.kind, one.text, one.events, one.nulls, asker.trends(one.drop(bound), one.kind != "window"))
        for one in found
    ]
    yield from singles
    if step != bound.pattern and not isinstance(step, ast.Not):
        alone = asker.trends(clear_whole(replace(bound, pattern=step)))
        yield Obstacle("order", "coming after the steps before it", None, 0, alone)
    if any(one.trends for one in singles):
        return
    for one, other in combinations(found, 2):
        inside = "window" not in (one.kind, other.kind)
        if trends := asker.trends(other.drop(one.drop(bound)), inside):
            yield Obstacle(f"{one.kind} and {other.kind}", f"both {one.text} and {other.text}", None, 0, trends)
