"""A second evaluator by definition, written from the text of the semantics alone.

It shares nothing with the reference but the bound query. A pattern becomes a regular expression over labels
and markers, a marker for each NOT; derivatives say what may follow. Every sequence of labelled events is
tried, and each sentence of the definition is a function of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import Any

from sparkleene.language.ast import And, Atom, Not, Or, Pattern, Repeat, Seq
from sparkleene.language.bound import Bound, Call, Field, Literal_, Output, Term

Row = Mapping[str, Any]
Regex = tuple[Any, ...]
Step = tuple["Event", int]  # an event with its label
Trend = tuple[Step, ...]

# ---- regular expressions and their derivatives

NOTHING: Regex = ("nothing",)
EMPTY: Regex = ("empty",)


def cat(a: Regex, b: Regex) -> Regex:
    if NOTHING in (a, b):
        return NOTHING
    return b if a == EMPTY else a if b == EMPTY else ("cat", a, b)


def alt(*options: Regex) -> Regex:
    flat = frozenset(
        inner
        for option in options
        if option != NOTHING
        for inner in (option[1] if option[0] == "alt" else (option,))
    )
    return NOTHING if not flat else next(iter(flat)) if len(flat) == 1 else ("alt", flat)


def regex(pattern: Pattern, index: Mapping[str, int]) -> Regex:
    """Translate a pattern; `index` numbers its labels."""
    match pattern:
        case Atom():
            return ("letter", index[pattern.label])
        case Not():
            return ("letter", pattern)
        case Seq(parts):
            whole = EMPTY
            for part in reversed(parts):
                whole = cat(regex(part, index), whole)
            return whole
        case Or(options):
            return alt(*(regex(option, index) for option in options))
        case Repeat(inner, low, high):
            one = regex(inner, index)
            whole = ("star", one) if high is None else EMPTY
            for _ in range(0 if high is None else high - low):
                whole = alt(EMPTY, cat(one, whole))
            for _ in range(low):
                whole = cat(one, whole)
            return whole
    raise AssertionError(pattern)


def nullable(r: Regex) -> bool:
    match r[0]:
        case "empty" | "star":
            return True
        case "cat":
            return nullable(r[1]) and nullable(r[2])
        case "alt":
            return any(map(nullable, r[1]))
    return False


def derive(r: Regex, letter: Any) -> Regex:
    """Return what may follow the letter."""
    match r[0]:
        case "letter":
            return EMPTY if r[1] == letter else NOTHING
        case "cat":
            first = cat(derive(r[1], letter), r[2])
            return alt(first, derive(r[2], letter)) if nullable(r[1]) else first
        case "alt":
            return alt(*(derive(option, letter) for option in r[1]))
        case "star":
            return cat(derive(r[1], letter), r)
    return NOTHING


def markers(r: Regex) -> Iterator[tuple[frozenset[Not], Regex]]:
    """Yield what is left after any number of markers, and these."""
    yield frozenset(), r
    for marker in _first_markers(r):
        for more, rest in markers(derive(r, marker)):
            yield more | {marker}, rest


def _first_markers(r: Regex) -> frozenset[Not]:
    match r[0]:
        case "letter":
            return frozenset({r[1]}) if isinstance(r[1], Not) else frozenset()
        case "cat":
            return _first_markers(r[1]) | (_first_markers(r[2]) if nullable(r[1]) else frozenset())
        case "alt":
            return frozenset().union(*map(_first_markers, r[1]))
        case "star":
            return _first_markers(r[1])
    return frozenset()


# ---- conditions


def value(term: Term, events: Sequence[Row]) -> Any:
    """Evaluate a term over one event or two neighbours; None is NULL, and NaN is NULL too."""
    match term:
        case Literal_(constant):
            return constant
        case Field(path, side):
            found: Any = events[side]
            for name in path:
                found = None if found is None else found[name]
            return None if isinstance(found, float) and math.isnan(found) else found
        case Call(op, args):
            values = [value(arg, events) for arg in args]
    if op == "isnull":
        return values[0] is None
    if op == "and":
        return False if False in values else None if None in values else True
    if op == "or":
        return True if True in values else None if None in values else False
    if None in values:
        return None
    a, b = values[0], values[-1]
    if op in "/%" and b == 0:
        return None
    operations = {
        "not": lambda: not a, "neg": lambda: -a, "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b,
        "/": lambda: a / b, "%": lambda: math.copysign(math.fmod(abs(a), abs(b)), a),
        "=": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b, "<=": lambda: a <= b,
        ">": lambda: a > b, ">=": lambda: a >= b,
    }  # fmt: skip
    return operations[op]()


# ---- events, sub-streams, windows


@dataclass(frozen=True, eq=False)
class Event:
    """A row in its order; `labels` are those of its type, whatever the predicates say."""

    row: Row
    order: tuple[Any, ...]
    labels: frozenset[int]

    @property
    def time(self) -> Any:
        return self.order[0]


@dataclass(frozen=True)
class SubStream:
    """Events in order, each with the labels that the keys leave it, and the values of the group."""

    events: tuple[tuple[Event, frozenset[int]], ...]
    group: tuple[Any, ...]


def _attribute(row: Row, path: Sequence[str]) -> Any:
    return value(Field(tuple(path)), [row])


def sub_streams(bound: Bound, events: Sequence[Event]) -> Iterator[SubStream]:
    """Split the events by the keys; a typed key binds the events of its labels only."""
    common = [i for i, key in enumerate(bound.keys) if key.labels is None]
    typed = [i for i, key in enumerate(bound.keys) if key.labels is not None]
    parts: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        at = tuple(_attribute(event.row, bound.keys[i].path) for i in common)
        if None not in at:
            parts.setdefault(at, []).append(event)
    if not common:
        parts.setdefault((), [])
    for at, part in parts.items():
        choices = [
            {_attribute(e.row, bound.keys[i].path) for e in part if e.labels & bound.keys[i].labels} - {None}  # type: ignore[operator]
            for i in typed
        ]
        for chosen in product(*choices):
            values = dict(zip(common, at, strict=True)) | dict(zip(typed, chosen, strict=True))
            held = []
            for e in part:
                free = frozenset(
                    label
                    for label in e.labels
                    if all(
                        _attribute(e.row, bound.keys[i].path) == values[i]
                        for i in typed
                        if label in bound.keys[i].labels  # type: ignore[operator]
                    )
                )
                if free or not e.labels:
                    held.append((e, free))
            yield SubStream(tuple(held), tuple(values[i] for i in bound.group))


def contents(bound: Bound, stream: SubStream, offset: Any) -> Iterator[tuple[Any, SubStream]]:
    """Yield the windows that hold an event: bounds and events."""
    window = bound.window
    if window is None:
        yield (), stream
        return
    size = window.size
    if window.slide is None:
        for t in sorted({e.time for e, _ in stream.events}):
            yield (t - size, t), _only(stream, [t - size < e.time <= t for e, _ in stream.events])
        return
    places = (
        list(range(len(stream.events)))
        if window.unit == "events"
        else [Fraction(e.time) - Fraction(offset) for e, _ in stream.events]
    )
    shift = 0 if window.unit == "events" else Fraction(offset)
    numbers = {
        k for at in places for k in range(math.floor((at - size) / window.slide), math.floor(at / window.slide) + 1)
    }
    for k in sorted(numbers):
        start = k * window.slide
        inside = [start <= at < start + size for at in places]
        if any(inside):
            yield (start + shift, start + size + shift), _only(stream, inside)


def _only(stream: SubStream, inside: Sequence[bool]) -> SubStream:
    kept = tuple(pair for pair, held in zip(stream.events, inside, strict=True) if held)
    return SubStream(kept, stream.group)


# ---- trends of one sub-stream in one window


@dataclass(frozen=True)
class World:
    """The events of one sub-stream in one window, and the questions that the definition asks of them."""

    bound: Bound
    stream: SubStream

    @cached_property
    def index(self) -> dict[str, int]:
        return {label.name: i for i, label in enumerate(self.bound.labels)}

    @cached_property
    def steps(self) -> list[Step]:
        """All events with all labels whose local predicates they satisfy, in order."""
        return [
            (event, label)
            for event, labels in self.stream.events
            for label in sorted(labels)
            if all(value(term, [event.row]) is True for term in self.bound.local[label])
        ]

    def neighbours(self, p: Step, e: Step) -> bool:
        """Tell whether two steps satisfy the adjacent predicates of their labels."""
        return all(
            value(item.condition, [p[0].row, e[0].row]) is True
            for item in self.bound.adjacent
            if (item.before, item.after) == (p[1], e[1])
        )

    @cached_property
    def _forbidden(self) -> dict[Not, list[tuple[Any, Any]]]:
        return {}

    def forbidden(self, negation: Not) -> list[tuple[Any, Any]]:
        """Return where the matches of a negated pattern start and end."""
        if negation not in self._forbidden:
            found = self.sequences(negation.pattern)
            self._forbidden[negation] = [(trend[0][0].order, trend[-1][0].order) for trend in found]
        return self._forbidden[negation]

    def allowed(self, guards: frozenset[Not], after: Any, before: Any) -> bool:
        """Tell whether no guard has a match after one order and before another; None is the window's edge."""
        return not any(
            (after is None or start > after) and (before is None or end < before)
            for guard in guards
            for start, end in self.forbidden(guard)
        )

    def follow(self, states: frozenset[Regex], last: Step | None, e: Step) -> frozenset[Regex]:
        """Return what is left of the pattern if the trend goes on with e; nothing if it cannot."""
        after = None if last is None else last[0].order
        return frozenset(
            rest
            for state in states
            for guards, left in markers(state)
            if (rest := derive(left, e[1])) != NOTHING and self.allowed(guards, after, e[0].order)
        )

    def accepted(self, states: frozenset[Regex], last: Step) -> bool:
        return any(
            nullable(left) and self.allowed(guards, last[0].order, None)
            for state in states
            for guards, left in markers(state)
        )

    def sequences(self, pattern: Pattern) -> list[Trend]:
        """Return the trends of skip-till-any-match, without adjacent predicates."""
        return [trend for trend, _ in self._sequences(pattern, adjacent=False)]

    def _sequences(self, pattern: Pattern, adjacent: bool) -> Iterator[tuple[Trend, list[frozenset[Regex]]]]:
        start = frozenset({regex(pattern, self.index)})
        todo: list[tuple[Trend, list[frozenset[Regex]]]] = [((), [start])]
        while todo:
            trend, path = todo.pop()
            last = trend[-1] if trend else None
            if last is not None and self.accepted(path[-1], last):
                yield trend, path
            for e in self.steps:
                if last is not None and not (
                    last[0].order < e[0].order and (not adjacent or self.neighbours(last, e))
                ):
                    continue
                states = self.follow(path[-1], last, e)
                if states:
                    todo.append(((*trend, e), [*path, states]))

    def trends(self, pattern: Pattern) -> list[Trend]:
        """Return the trends of the pattern under the query's semantics."""
        return [
            trend
            for trend, path in self._sequences(pattern, adjacent=True)
            if all(self.undisturbed(p, e, path[i + 1]) for i, (p, e) in enumerate(pairwise(trend)))
        ]

    def undisturbed(self, p: Step, e: Step, states: frozenset[Regex]) -> bool:
        """Tell whether nothing between two neighbours of a trend stands against it."""
        if self.bound.semantics == "skip-till-any-match":
            return True
        between = [event for event, _ in self.stream.events if p[0].order < event.order < e[0].order]
        if self.bound.semantics == "contiguous":
            return not between
        return not any(
            step[0] in between and self.neighbours(p, step) and self.follow(states, p, step) for step in self.steps
        )

    def matches(self) -> list[tuple[Trend, ...]]:
        """Return the trends, or for AND the unordered pairs of different trends."""
        pattern = self.bound.pattern
        if not isinstance(pattern, And):
            return [(trend,) for trend in self.trends(pattern)]
        first, second = map(self.trends, pattern.operands)
        pairs = {frozenset((one, two)) for one in first for two in second if one != two}
        return [tuple(pair) for pair in pairs]


# ---- aggregates


def aggregate(output: Output, matches: Sequence[tuple[Trend, ...]]) -> Any:
    events = [event.row for match in matches for trend in match for event, label in trend if label in output.labels]
    if output.function == "count":
        number = len(events) if output.labels else len(matches)
        if output.log is None:
            return number
        return math.log(number, output.log) if number else None
    values = [found for row in events if (found := _attribute(row, output.path)) is not None]
    if not values:
        return None
    total = sum(map(Fraction, values))
    functions = {"min": lambda: min(values), "max": lambda: max(values), "sum": lambda: total}
    return functions.get(output.function, lambda: total / len(values))()


def evaluate(
    bound: Bound,
    rows: Sequence[Row],
    *,
    time: str = "time",
    type: str | None = "type",
    tiebreak: str | None = None,
    offset: Any = 0,
) -> list[dict[str, Any]]:
    """Return the result rows in the order of windows and groups."""
    events = [
        Event(
            row,
            (row[time],) if tiebreak is None else (row[time], row[tiebreak]),
            frozenset(i for i, label in enumerate(bound.labels) if type is None or row[type] == label.type),
        )
        for row in rows
    ]
    events.sort(key=lambda event: event.order)
    streams = list(sub_streams(bound, events))
    trigger = bound.window is not None and bound.window.slide is None
    cells: dict[tuple[Any, Any], list[tuple[Trend, ...]]] = {}
    ends: set[tuple[Any, Any]] = set()
    for stream in streams:
        for edges, content in contents(bound, stream, offset):
            for match in World(bound, content).matches():
                cells.setdefault((edges, stream.group), []).append(match)
                if trigger and max(trend[-1][0].time for trend in match) == edges[1]:
                    ends.add((edges, stream.group))
    if trigger:  # other sub-streams of the group count at this tick too, with no event of theirs at it
        cells = {}
        for edges, group in ends:
            for stream in streams:
                if stream.group == group:
                    inside = [edges[0] < e.time <= edges[1] for e, _ in stream.events]
                    found = World(bound, _only(stream, inside)).matches()
                    cells.setdefault((edges, group), []).extend(found)
    result = []
    for (edges, group), matches in sorted(cells.items(), key=lambda cell: cell[0]):
        row: dict[str, Any] = dict(zip(("window_start", "window_end"), edges, strict=False))
        row |= zip(bound.group_names, group, strict=True)
        row |= {output.name: aggregate(output, matches) for output in bound.outputs}
        result.append(row)
    return result
