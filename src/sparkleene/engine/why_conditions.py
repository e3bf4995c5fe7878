"""The conditions that bear on a step of a pattern, and the query without each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import pyarrow as pa

from sparkleene.columns.arrow import make_array
from sparkleene.columns.expressions import evaluate, evaluate_condition
from sparkleene.columns.fields import find_column
from sparkleene.columns.labels import label_masks
from sparkleene.engine.chosen_rows import WINDOW_KEY, Chosen
from sparkleene.engine.run import Run
from sparkleene.language import ast
from sparkleene.language.bound import Adjacent, Bound, Key, Term, Window
from sparkleene.language.printer import pattern_to_text
from sparkleene.plan.beginnings import labels_in, negations, without_negation
from sparkleene.plan.explain_whole import end_to_text
from sparkleene.plan.text import attribute, length, term_to_text


@dataclass(frozen=True)
class Condition:
    """A condition on a step, and how a query is changed to be without it."""

    kind: str
    text: str
    drop: Callable[[Bound], Bound]
    events: int | None = None  # for which it is not true
    nulls: int = 0  # of these, those for which it is unknown


def list_conditions(chosen: Chosen, bound: Bound, step: ast.Pattern, table: pa.Table) -> Iterator[Condition]:
    """Yield the conditions that bear on a step, which is the last of the query's pattern; also its windows."""
    run = chosen.run
    labels = labels_in(bound, step)
    yield from _single(run, bound, labels, table)
    every = labels_in(bound, bound.pattern)
    for one in bound.adjacent:
        if (one.after in labels or one.before in labels) and {one.before, one.after} <= every:
            text = term_to_text(one.condition, bound.labels[one.before].name, bound.labels[one.after].name)
            yield Condition("adjacent", text, partial(_drop_adjacent, one))
    for negation in negations(bound.pattern):
        yield Condition("negation", pattern_to_text(negation), partial(_drop_negation, negation))
    for k, key in enumerate(bound.keys):
        if k not in chosen.values and key != WINDOW_KEY:
            nulls = find_column(table, key.path, run.place).null_count
            text = f"equal values of {attribute(bound, key.labels, key.path)}"
            yield Condition("key", text, partial(drop_key, key), nulls or None, nulls)
    yield from _whole(bound)
    if bound.semantics != "skip-till-any-match":
        yield Condition("semantics", f"SEMANTICS {bound.semantics}", _drop_semantics)


def window_condition(chosen: Chosen) -> Condition | None:
    """Return that trends lie in a window, if they do."""
    if chosen.window is None:
        return None
    text = "the window's borders"
    if isinstance(chosen.window, Window):
        text = f"WITHIN {length(chosen.window.size, chosen.window.unit)}"
    return Condition("window", text, _drop_window)


def _single(run: Run, bound: Bound, labels: set[int], table: pa.Table) -> Iterator[Condition]:
    """Yield the conditions on one event."""
    mask = label_masks(bound.without_local(), table, run.options.type, run.place)
    for i in sorted(labels):
        typed = table.filter(make_array(mask & mask.dtype.type(1 << i) != 0))
        for term in bound.local[i]:
            stopped = int((~evaluate_condition(term, typed, run.place)).sum())
            unknown = int(getattr(evaluate(term, typed, run.place), "null_count", 0))
            text = term_to_text(term, bound.labels[i].name)
            yield Condition("local", text, partial(_drop_local, i, term), stopped, unknown)


def _whole(bound: Bound) -> Iterator[Condition]:
    """Yield the conditions on whole trends."""
    for term in bound.lengths:
        yield Condition("trend", term_to_text(term), partial(_drop_whole, "lengths", term))
    for term in bound.durations:
        yield Condition("trend", end_to_text(term, is_duration=True), partial(_drop_whole, "durations", term))
    for term in bound.ends:
        yield Condition("trend", end_to_text(term), partial(_drop_whole, "ends", term))
    if bound.maximal:
        yield Condition("trend", "maximal", lambda given: replace(given, maximal=False))


# ---- the query without a condition


def clear_whole(bound: Bound) -> Bound:
    """Return the query without conditions on whole trends."""
    return replace(bound, lengths=(), durations=(), ends=(), maximal=False)


def _drop_whole(field: Literal["lengths", "durations", "ends"], term: Term, bound: Bound) -> Bound:
    kept = tuple(one for one in getattr(bound, field) if one != term)
    return replace(bound, **{field: kept})  # type: ignore[arg-type]


def _drop_local(label: int, term: Term, bound: Bound) -> Bound:
    local = [tuple(one for one in terms if n != label or one != term) for n, terms in enumerate(bound.local)]
    return replace(bound, local=tuple(local))


def _drop_adjacent(adjacent: Adjacent, bound: Bound) -> Bound:
    return replace(bound, adjacent=tuple(other for other in bound.adjacent if other != adjacent))


def _drop_negation(negation: ast.Not, bound: Bound) -> Bound:
    return replace(bound, pattern=without_negation(bound.pattern, negation))


def _drop_semantics(bound: Bound) -> Bound:
    return replace(bound, semantics="skip-till-any-match", maximal=False)


def _drop_window(bound: Bound) -> Bound:
    bound = replace(bound, window=None)
    return drop_key(WINDOW_KEY, bound) if WINDOW_KEY in bound.keys else bound


def drop_key(key: Key, bound: Bound) -> Bound:
    """Return the query without a key, which may be one of GROUP-BY."""
    k = bound.keys.index(key)
    group = [(n - (n > k), name) for n, name in zip(bound.group, bound.group_names, strict=True) if n != k]
    keys = bound.keys[:k] + bound.keys[k + 1 :]
    return replace(bound, keys=keys, group=tuple(n for n, _ in group), group_names=tuple(name for _, name in group))
