"""Enumerate trends by definition: slow, obvious, the oracle of all tests.

Nothing here is shared with the engines. What may follow a partial trend is read off the pattern itself: a
*rest* is the sequence of patterns still to be matched, and crossing a NOT on the way to the next label is a
guard on that step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product
from typing import Any

from sparkleene.language.ast import And, Atom, Not, Or, Pattern, Repeat, Seq
from sparkleene.language.bound import Bound, Finish, Key, Measure, Output, Piece
from sparkleene.reference_values import count_durations, evaluate_term, read_attribute

Order = tuple[Any, Any]
Rest = tuple[Pattern, ...]
Guards = frozenset[Pattern]


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


# ---- the two ways in


def evaluate(
    bound: Bound,
    rows: Sequence[Mapping[str, object]],
    *,
    time: str = "time",
    type: str | None = "type",
    tiebreak: str | None = None,
    offset: Any = 0,
) -> list[dict[str, object]]:
    """Return the result rows, ordered by window and group, with exact integers and fractions.

    >>> from sparkleene.language.bind import bind
    >>> from sparkleene.language.parser import parse
    >>> rows = [{"time": 1, "type": "A"}, {"time": 2, "type": "A"}, {"time": 3, "type": "B"}]
    >>> query = bind(parse("RETURN COUNT(*) AS n PATTERN SEQ(A+, B)"), columns=["time", "type"])
    >>> evaluate(query, rows)
    [{'n': 3}]
    """
    result = []
    bound = count_durations(bound, rows, time)
    cells = _cells(bound, _events(bound, rows, time, type, tiebreak), offset)
    for (window, group), found in sorted(cells.items(), key=lambda cell: cell[0]):
        row: dict[str, object] = {} if bound.window is None else dict(zip(WINDOW, window, strict=True))
        row |= zip(bound.group_names, group, strict=True)
        row |= {output.name: _aggregate(output, found) for output in bound.outputs}
        result.append(row)
    return result if bound.finish is None else _finish(bound, bound.finish, result)


def _finish(bound: Bound, finish: Finish, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows that are kept of each window, in order, with the columns that are asked for."""
    windows: dict[object, list[dict[str, object]]] = {}
    for row in rows:
        if finish.having is None or evaluate_term(finish.having, row) is True:
            windows.setdefault(row.get(WINDOW[0]), []).append(row)
    result = []
    for kept in windows.values():  # ordered by group, and sorting keeps that among equals
        for term, descending in reversed(finish.order):
            kept.sort(key=lambda row, term=term: _rank(evaluate_term(term, row)), reverse=descending)  # type: ignore[misc]
        for row in kept[: finish.limit]:
            made = {name: row[name] for name in WINDOW if bound.window is not None}
            result.append(made | {column.name: evaluate_term(column.term, row) for column in finish.columns})
    return result


def _rank(value: Any) -> tuple[bool, Any]:
    """Return what orders values; NULL is less than all others."""
    return value is not None, 0 if value is None else value


def trends(
    bound: Bound,
    rows: Sequence[Mapping[str, object]],
    *,
    time: str = "time",
    type: str | None = "type",
    tiebreak: str | None = None,
    offset: Any = 0,
) -> Iterator[tuple[Any, Any, tuple[Any, ...], Named | tuple[Named, Named]]]:
    """Yield window start, window end, sub-stream key and trend (a pair of trends for AND), for each match."""
    bound = count_durations(bound, rows, time)
    cells = _cells(bound, _events(bound, rows, time, type, tiebreak), offset)
    for ((start, end), _), found in sorted(cells.items(), key=lambda cell: cell[0]):
        for key, match in found:
            named = [tuple((event, bound.labels[label].name) for event, label in trend) for trend in match]
            yield start, end, key, named[0] if len(named) == 1 else (named[0], named[1])


WINDOW = ("window_start", "window_end")
Match = tuple[Trend, ...]  # one trend, or two of P AND Q
Found = tuple[tuple[Any, ...], Match]  # with the key of its sub-stream
Cell = tuple[tuple[Any, Any], tuple[Any, ...]]  # a window and a group


def _cells(bound: Bound, events: list[Event], offset: Any) -> dict[Cell, list[Found]]:
    """Collect the matches of every window and group, each with the key of its sub-stream."""
    cells: dict[Cell, list[Found]] = {}
    times = sorted({event.time for event in events})
    for stream in _substreams(bound, events):
        group = tuple(stream.key[index] for index in bound.group)
        for window, inside in _windows(bound, stream, times, offset):
            for match in _matches(bound, Matcher(bound, inside, stream.labels)):
                cells.setdefault((window, group), []).append((stream.key, match))
    if bound.window is not None and bound.window.slide is None:  # only where some match of the group ends
        return {
            cell: found
            for cell, found in cells.items()
            if any(max(trend[-1][0].time for trend in match) == cell[0][1] for _, match in found)
        }
    return cells


def _matches(bound: Bound, matcher: Matcher) -> Iterator[Match]:
    """Yield the trends of a window, or for P AND Q the unordered pairs of different trends."""
    if not isinstance(bound.pattern, And):
        yield from ((trend,) for trend in matcher.trends(bound.pattern))
        return
    left, right = (tuple(matcher.trends(operand)) for operand in bound.pattern.operands)
    seen: set[frozenset[Trend]] = set()
    for pair in product(left, right):
        if pair[0] != pair[1] and frozenset(pair) not in seen:
            seen.add(frozenset(pair))
            yield pair


# ---- events, sub-streams, windows


def _events(
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


def _substreams(bound: Bound, events: Iterable[Event]) -> Iterator[SubStream]:
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


def _windows(
    bound: Bound, stream: SubStream, times: Iterable[Any], offset: Any
) -> Iterator[tuple[tuple[Any, Any], tuple[Event, ...]]]:
    """Yield each window that holds an event of the sub-stream, as (start, end), with its events."""
    window = bound.window
    if window is None:
        yield (None, None), stream.events
    elif window.slide is None:
        for end in times:
            start = _plain(Fraction(end) - window.size)
            yield (start, end), tuple(event for event in stream.events if start < event.time <= end)
    else:
        counted = window.unit == "events"
        places = [n if counted else event.time for n, event in enumerate(stream.events)]
        base = Fraction(0 if counted else offset)
        starts = set()
        for place in places:
            k = (Fraction(place) - base) // window.slide
            while base + k * window.slide + window.size > place:
                starts.add(base + k * window.slide)
                k -= 1
        for first in sorted(starts):
            last = first + window.size
            inside = [e for place, e in zip(places, stream.events, strict=True) if first <= place < last]
            yield (_plain(first), _plain(last)), tuple(inside)


def _plain(number: Fraction) -> int | Fraction:
    """Return a whole number as an int."""
    return int(number) if number.denominator == 1 else number


# ---- what the pattern lets follow


def _heads(rest: Rest, guards: Guards = frozenset()) -> Iterator[tuple[str, Guards, Rest]]:
    """Yield each label that may come first, the negations crossed before it, and the rest after it."""
    if not rest:
        return
    head, tail = rest[0], rest[1:]
    match head:
        case Atom():
            yield head.label, guards, tail
        case Not():
            yield from _heads(tail, guards | {head.pattern})
        case Seq():
            yield from _heads(head.parts + tail, guards)
        case Or():
            for option in head.options:
                yield from _heads((option, *tail), guards)
        case Repeat():
            if head.high != 0:
                high = None if head.high is None else head.high - 1
                again = Repeat(head.pattern, max(head.low - 1, 0), high)
                for label, crossed, after in _heads((head.pattern,), guards):
                    yield label, crossed, (*after, again, *tail)
            for crossed in _skips(head, guards):
                yield from _heads(tail, crossed)


def _ends(rest: Rest, guards: Guards = frozenset()) -> Iterator[Guards]:
    """Yield the negations crossed on each way to match the rest with no event at all."""
    if not rest:
        yield guards
        return
    head, tail = rest[0], rest[1:]
    match head:
        case Not():
            yield from _ends(tail, guards | {head.pattern})
        case Seq():
            yield from _ends(head.parts + tail, guards)
        case Or():
            for option in head.options:
                yield from _ends((option, *tail), guards)
        case Repeat():
            for crossed in _skips(head, guards):
                yield from _ends(tail, crossed)


def _skips(repeat: Repeat, guards: Guards) -> Iterator[Guards]:
    """Yield the negations crossed where a repetition matches no event: none if it may be left out."""
    if repeat.low == 0:
        yield guards
    else:
        yield from _ends((repeat.pattern,), guards)


# ---- trends of one sub-stream in one window


class Matcher:
    """The events of one sub-stream in one window: nothing else exists for the trends among them."""

    def __init__(self, bound: Bound, events: tuple[Event, ...], labels: Mapping[int, tuple[int, ...]]) -> None:
        """Keep the events, and the spans of negated patterns once they are known."""
        self.bound = bound
        self.events = events
        self.labels = labels
        self.spans: dict[Pattern, set[tuple[Order, Order]]] = {}

    def trends(self, pattern: Pattern, negated: bool = False) -> Iterator[Trend]:
        """Yield every trend of the pattern; a negated one is matched by skip-till-any-match, unchained."""
        return self._grow((), frozenset({(pattern,)}), negated)

    def _grow(self, trend: Trend, rests: frozenset[Rest], negated: bool) -> Iterator[Trend]:
        """Yield the trend if it is whole, and all that go on from it; `rests` are its parses still alive."""
        if trend and any(self._free(guards, trend[-1][0].order, None) for rest in rests for guards in _ends(rest)):
            yield trend
        steps = list(self._steps(trend, rests, negated))
        for event, label, after in steps:
            if not trend or negated or not self._skipped(trend[-1][0], event, [step[0] for step in steps]):
                yield from self._grow((*trend, (event, label)), after, negated)

    def _steps(
        self, trend: Trend, rests: frozenset[Rest], negated: bool
    ) -> Iterator[tuple[Event, int, frozenset[Rest]]]:
        """Yield each event and label that could extend (or begin) the partial trend, and the rests after."""
        last = trend[-1][0].order if trend else None
        moves = [move for rest in rests for move in _heads(rest)]
        for event in self.events:
            if last is not None and event.order <= last:
                continue
            for label in self.labels[event.position]:
                if trend and not negated and not self._neighbours(trend[-1], (event, label)):
                    continue
                after = frozenset(
                    rest
                    for name, guards, rest in moves
                    if name == self.bound.labels[label].name and self._free(guards, last, event.order)
                )
                if after:
                    yield event, label, after

    def _neighbours(self, one: tuple[Event, int], two: tuple[Event, int]) -> bool:
        """Tell whether two events satisfy all adjacent predicates of their labels."""
        return all(
            evaluate_term(adjacent.condition, one[0].row, two[0].row) is True
            for adjacent in self.bound.adjacent
            if (adjacent.before, adjacent.after) == (one[1], two[1])
        )

    def _skipped(self, last: Event, event: Event, extending: Iterable[Event]) -> bool:
        """Tell whether going from `last` to `event` skips an event that the semantics lets nobody skip."""
        kept: Iterable[Event] = ()
        if self.bound.semantics == "skip-till-next-match":
            kept = extending
        elif self.bound.semantics == "contiguous":
            kept = self.events
        return any(last.order < other.order < event.order for other in kept)

    def _free(self, guards: Guards, after: Order | None, before: Order | None) -> bool:
        """Tell whether no negated match lies strictly between the two; None is the window's border."""
        return not any(
            (after is None or start > after) and (before is None or end < before)
            for negated in guards
            for start, end in self._spans(negated)
        )

    def _spans(self, negated: Pattern) -> set[tuple[Order, Order]]:
        """Return where the matches of a negated pattern start and end."""
        if negated not in self.spans:
            found = self.trends(negated, negated=True)
            self.spans[negated] = {(trend[0][0].order, trend[-1][0].order) for trend in found}
        return self.spans[negated]


# ---- aggregates


def _aggregate(output: Output, found: list[Found]) -> object:
    """Return an aggregate over the trends of all matches, None for NULL."""
    function = output.function
    if output.distinct:
        return _logarithm(len({tuple(key[k] for k in output.distinct) for key, _ in found}), output.log)
    matches = [match for _, match in found]
    values: list[Any]
    if output.measure is not None:
        values = [_measure(output.measure, trend) for match in matches for trend in match]
    elif function == "count" and not output.labels:
        return _logarithm(len(matches), output.log)
    else:
        held = [e for match in matches for trend in match for e, label in trend if label in output.labels]
        held = list({event.position: event for event in held}.values()) if output.each else held
        if function == "count" and not output.path:
            return _logarithm(len(held), output.log)
        values = [read_attribute(output.path, event.row) for event in held]
    values = [value for value in values if value is not None]
    if function == "count":
        return _logarithm(len(values), output.log)
    if not values:
        return None
    if function in ("min", "max"):
        return min(values) if function == "min" else max(values)
    numbers = [_number(value) for value in values]
    total, many = sum(numbers), len(numbers)
    if function == "sum":
        return total
    mean = Fraction(total) / many
    if function == "avg":
        return mean
    if function.endswith("samp") and many == 1:
        return None
    variance = sum((number - mean) ** 2 for number in numbers) / (many - function.endswith("samp"))
    return variance if function.startswith("var") else math.sqrt(variance)


def _measure(measure: Measure, trend: Trend) -> int | Fraction | None:
    """Return the number that a trend has, None where an end that it asks for is absent or NULL."""
    values = [_piece(piece, trend) for piece in measure.pieces]
    known = [value * piece.factor for value, piece in zip(values, measure.pieces, strict=True) if value is not None]
    return None if len(known) < len(values) else _plain(Fraction(sum(known) + measure.constant))


def _piece(piece: Piece, trend: Trend) -> Any:
    """Return the sum over a trend's events of some labels, or the value of the first or last of them."""
    held = [event for event, label in trend if label in piece.labels]
    if not piece.path:
        return len(held)
    values = [read_attribute(piece.path, event.row) for event in held]
    if piece.kind == "sum":
        return sum(_number(value) for value in values if value is not None)
    value = (values[0] if piece.kind == "first" else values[-1]) if values else None
    return None if value is None else _number(value)


def _number(value: Any) -> Any:
    """Return a value as an exact number: durations and times in seconds."""
    if isinstance(value, datetime):
        value -= datetime(1970, 1, 1, tzinfo=value.tzinfo)
    if isinstance(value, timedelta):
        return Fraction(value // timedelta(microseconds=1), 1_000_000)
    return Fraction(value) if isinstance(value, float) else value


def _logarithm(count: int, base: int | None) -> object:
    """Return the count, or its logarithm; that of no occurrence is NULL."""
    if base is None:
        return count
    return (math.log2(count) if base == 2 else math.log10(count)) if count else None
