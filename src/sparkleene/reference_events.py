"""Rows as events, and events in sub-streams, by definition: where the reference begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sparkleene.language.bound import Bound, Key
from sparkleene.reference_values import evaluate_term, read_attribute

Order = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """A row with its time, its order (time and tie-break), its types and its place in the input."""

    time: Any
    order: Order
    types: frozenset[str]
    row: Mapping[str, object] = field(compare=False)
    position: int


Trend = tuple[tuple[Event, int], ...]
"""Events with the index of their label, in order."""

Named = tuple[tuple[Event, str], ...]
"""Events with the name of their label, in order."""


@dataclass(frozen=True, slots=True)
class SubStream:
    """A sub-stream: the values of its keys, its events in order, and the labels that each may carry."""

    key: tuple[Any, ...]
    events: tuple[Event, ...]
    labels: Mapping[int, tuple[int, ...]]  # by Event.position


def list_events(
    bound: Bound, rows: Sequence[Mapping[str, object]], time: str, type: str | None, tiebreak: str | None
) -> list[Event]:
    """Return the rows as events in order of time, tie-break and place in the input."""
    events = []
    for position, given in enumerate(rows):
        row = dict(given) | {one.name: evaluate_term(one.term, given) for one in bound.derived}
        if bound.types is not None:
            types = {name for name, condition in bound.types if evaluate_term(condition, row) is True}
        elif type is not None:
            types = {str(name) for name in (row[type],) if name is not None}
        else:
            types = {label.type for label in bound.labels}
        order = (row[time], 0 if tiebreak is None else row[tiebreak])
        events.append(Event(row[time], order, frozenset(types), row, position))
    return sorted(events, key=lambda event: (event.order, event.position))


def divide_events(bound: Bound, events: Iterable[Event]) -> Iterator[SubStream]:
    """Split the events into sub-streams: by universal keys, then by all combinations of typed ones."""
    universal = [key for key in bound.keys if key.labels is None]
    typed = [key for key in bound.keys if key.labels is not None]
    parts: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        common = tuple(read_attribute(key.path, event.row) for key in universal)
        if None not in common:
            parts.setdefault(common, []).append(event)
    for common, part in parts.items():
        for chosen in product(*(_existing(bound, key, part) for key in typed)):
            values = dict(zip(universal + typed, common + chosen, strict=True))
            members, labels = [], {}
            for event in part:
                possible = [i for i, label in enumerate(bound.labels) if label.type in event.types]
                allowed = [
                    i
                    for i in possible
                    if all(read_attribute(key.path, event.row) == values[key] for key in typed if _binds(key, i))
                ]
                if allowed or not possible:
                    members.append(event)
                    labels[event.position] = tuple(
                        i for i in allowed if all(evaluate_term(term, event.row) is True for term in bound.local[i])
                    )
            yield SubStream(tuple(values[key] for key in bound.keys), tuple(members), labels)


def _binds(key: Key, label: int) -> bool:
    """Tell whether the key binds the events of this label."""
    return key.labels is None or label in key.labels


def _existing(bound: Bound, key: Key, events: Iterable[Event]) -> list[Any]:
    """Return the values of a typed key among the events that it binds."""
    types = {label.type for index, label in enumerate(bound.labels) if _binds(key, index)}
    values = [read_attribute(key.path, event.row) for event in events if event.types & types]
    return list(dict.fromkeys(value for value in values if value is not None))
