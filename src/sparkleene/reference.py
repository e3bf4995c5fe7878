"""Enumerate trends by definition: slow, obvious, the oracle of all tests.

Nothing here is shared with the engines. What may follow a partial trend is read off the pattern itself: a
*rest* is the sequence of patterns still to be matched, and crossing a NOT on the way to the next label is a
guard on that step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import product
from typing import Any

from sparkleene.language.ast import And, Atom, Not, Or, Pattern, Repeat, Seq
from sparkleene.language.bound import LENGTH, Bound, Drawn, Finish, Measure, Output, Piece, Window
from sparkleene.reference_calendar import calendar_windows
from sparkleene.reference_events import Event, Named, Order, SubStream, Trend, divide_events, list_events
from sparkleene.reference_values import count_durations, evaluate_term, read_attribute

Rest = tuple[Pattern, ...]
Guards = frozenset[Pattern]


# ---- the two ways in


def evaluate(
    bound: Bound,
    rows: Sequence[Mapping[str, object]],
    *,
    time: str = "time",
    type: str | None = "type",
    tiebreak: str | None = None,
    offset: Any = 0,
    timezone: str = "UTC",
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
    cells = _cells(bound, list_events(bound, rows, time, type, tiebreak), offset, timezone)
    for (window, group), found in sorted(cells.items(), key=_cell_order):
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
    timezone: str = "UTC",
) -> Iterator[tuple[Any, Any, tuple[Any, ...], Named | tuple[Named, Named]]]:
    """Yield window start, window end, sub-stream key and trend (a pair of trends for AND), for each match."""
    bound = count_durations(bound, rows, time)
    cells = _cells(bound, list_events(bound, rows, time, type, tiebreak), offset, timezone)
    for ((start, end), _), found in sorted(cells.items(), key=_cell_order):
        for key, match in found:
            named = [tuple((event, bound.labels[label].name) for event, label in trend) for trend in match]
            yield start, end, key, named[0] if len(named) == 1 else (named[0], named[1])


WINDOW = ("window_start", "window_end")
Match = tuple[Trend, ...]  # one trend, or two of P AND Q
Found = tuple[tuple[Any, ...], Match]  # with the key of its sub-stream
Cell = tuple[tuple[Any, Any], tuple[Any, ...]]  # a window and a group


def _cell_order(cell: tuple[Cell, Any]) -> tuple[Any, ...]:
    """Return what orders cells: when the window begins, then the group."""
    (start, _), group = cell[0]
    return start is not None, start, group


def _cells(bound: Bound, events: list[Event], offset: Any, timezone: str) -> dict[Cell, list[Found]]:
    """Collect the matches of every window and group, each with the key of its sub-stream."""
    cells: dict[Cell, list[Found]] = {}
    times = sorted({event.time for event in events})
    drawn = _drawn_windows(bound, bound.window, events) if isinstance(bound.window, Drawn) else None
    for stream in divide_events(bound, events):
        group = tuple(stream.key[index] for index in bound.group)
        if drawn is None:
            found = _windows(bound.window, stream, times, offset, timezone)
        else:
            found = _within(stream, drawn[group])
        for window, inside in found:
            for match in _matches(bound, Matcher(bound, inside, stream.labels)):
                cells.setdefault((window, group), []).append((stream.key, match))
    if isinstance(bound.window, Window) and bound.window.slide is None:  # only where some match of the group ends
        return {
            cell: found
            for cell, found in cells.items()
            if any(max(trend[-1][0].time for trend in match) == cell[0][1] for _, match in found)
        }
    return cells


def _matches(bound: Bound, matcher: Matcher) -> Iterator[Match]:
    """Yield the trends of a window, or for P AND Q the unordered pairs of different trends."""
    if not isinstance(bound.pattern, And):
        yield from ((trend,) for trend in _choose(bound, list(matcher.trends(bound.pattern))))
        return
    left, right = (tuple(matcher.trends(operand)) for operand in bound.pattern.operands)
    seen: set[frozenset[Trend]] = set()
    for pair in product(left, right):
        if pair[0] != pair[1] and frozenset(pair) not in seen:
            seen.add(frozenset(pair))
            yield pair


def _choose(bound: Bound, trends: list[Trend]) -> Iterator[Trend]:
    """Yield those trends of a sub-stream and window that satisfy the conditions on whole trends."""
    rows = [frozenset(event.position for event, _ in trend) for trend in trends]
    for trend, held in zip(trends, rows, strict=True):
        if bound.maximal and any(held < other for other in rows):
            continue
        length = {LENGTH[0]: len(trend)}
        if not all(evaluate_term(term, length) is True for term in bound.lengths):
            continue
        first, last = trend[0][0].row, trend[-1][0].row
        if all(evaluate_term(term, first, last) is True for term in (*bound.durations, *bound.ends)):
            yield trend


# ---- windows


def _windows(
    window: Window | Drawn | None, stream: SubStream, times: Iterable[Any], offset: Any, timezone: str
) -> Iterator[tuple[tuple[Any, Any], tuple[Event, ...]]]:
    """Yield each window that holds an event of the sub-stream, as (start, end), with its events."""
    assert not isinstance(window, Drawn)
    if window is None:
        yield (None, None), stream.events
    elif window.slide is None:
        for end in times:
            start = _plain(Fraction(end) - window.size)
            yield (start, end), tuple(event for event in stream.events if start < event.time <= end)
    elif window.calendar in ("days", "months"):
        for start, end in calendar_windows(window, [event.time for event in stream.events], offset, timezone):
            yield (start, end), tuple(event for event in stream.events if start <= event.time < end)
    else:
        counted = window.unit == "events"
        places = [n if counted else event.time for n, event in enumerate(stream.events)]
        base = Fraction(0 if counted else offset) + window.origin
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


def _within(
    stream: SubStream, windows: Iterable[tuple[Any, Any, Any]]
) -> Iterator[tuple[tuple[Any, Any], tuple[Event, ...]]]:
    """Yield windows as (start, end), with the events of a sub-stream up to the last time of each."""
    for start, last, end in windows:
        yield (start, end), tuple(event for event in stream.events if start <= event.time <= last)


def _drawn_windows(
    bound: Bound, window: Drawn, events: Iterable[Event]
) -> dict[tuple[Any, ...], list[tuple[Any, Any, Any]]]:
    """Return the windows that the rows of each group draw: the first and the last row's time, and the end."""
    ticks: dict[tuple[Any, ...], dict[Any, list[Event]]] = {}
    for event in events:  # all of them, whatever their labels and the keys that are not of the group
        group = tuple(read_attribute(bound.keys[index].path, event.row) for index in bound.group)
        if None not in group:
            ticks.setdefault(group, {}).setdefault(event.time, []).append(event)
    draw = _sessions if window.gap is not None else _from_to
    return {group: draw(window, by_time) for group, by_time in ticks.items()}


def _sessions(window: Drawn, ticks: Mapping[Any, list[Event]]) -> list[tuple[Any, Any, Any]]:
    """Return the sessions of a group: a row is at most the gap after the one before, and MAX after the first."""
    found: list[tuple[Any, Any]] = []
    for time in ticks:
        if found:
            first, last = found[-1]
            if _length(last, time) <= window.gap and (window.most is None or _length(first, time) <= window.most):
                found[-1] = (first, time)
                continue
        found.append((time, time))
    return [(first, last, _later(last, window.gap)) for first, last in found]


def _from_to(window: Drawn, ticks: Mapping[Any, list[Event]]) -> list[tuple[Any, Any, Any]]:
    """Return the windows of a group from a row that opens one on; a window ends with its last row."""
    found: list[tuple[Any, Any]] = []
    is_open = False
    for time, rows in ticks.items():
        opens, closes = (
            any(term is not None and evaluate_term(term, event.row) is True for event in rows)
            for term in (window.opens, window.closes)
        )
        if is_open and window.most is not None and _length(found[-1][0], time) > window.most:
            is_open = False
        if is_open and window.closes is None and opens:
            is_open = False
        if is_open:
            found[-1] = (found[-1][0], time)
            is_open = not closes
        elif opens:
            found.append((time, time))
            is_open = True
    return [(first, last, last) for first, last in found]


def _length(first: Any, last: Any) -> Any:
    """Return the time from one time to another, of timestamps in milliseconds."""
    if isinstance(first, datetime):
        return Fraction((last - first) // timedelta(microseconds=1), 1000)
    return Fraction(last) - Fraction(first)


def _later(time: Any, length: Any) -> Any:
    """Return a time after another."""
    if isinstance(time, datetime):
        return time + timedelta(microseconds=int(length * 1000))
    return _plain(Fraction(time) + length)


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
