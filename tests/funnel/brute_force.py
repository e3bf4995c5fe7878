"""A funnel by definition, in plain Python: every way along the steps is listed, without the library."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]
Way = list[list[Event]]  # for each step its events


@dataclass(frozen=True)
class BruteStep:
    """A step of events of one type, with a price above something."""

    type: str
    above: int | None = None
    times: str = ""  # "", "+" or "?"

    def takes(self, event: Event) -> bool:
        return event["type"] == self.type and (self.above is None or event["price"] > self.above)


@dataclass(frozen=True)
class BruteFunnel:
    """The options of a funnel."""

    steps: tuple[BruteStep, ...]
    order: str = "any"
    touch: str = "every"
    any_order: str = "none"
    exclude: tuple[str | None, ...] = ()  # for each step a type that must not come on the way to it
    within: int | None = None
    session: int | None = None
    every: int | None = None
    window: int | None = None
    breakdown: bool = False

    def run(self, events: Sequence[Event]) -> list[dict[str, Any]]:
        """Return the rows of the funnel."""
        rows = []
        for window in self.windows(events):
            low, high = window or (None, None)
            inside = [one for one in events if low is None or low <= one["time"] < high]
            for group in sorted({one["platform"] for one in inside}) if self.breakdown else [None]:
                own = [one for one in inside if group is None or one["platform"] == group]
                found = list(self.count(own))
                if not found[0]["users"] and (window or group):
                    continue
                head = {} if window is None else {"window_start": low, "window_end": high}
                head |= {} if group is None else {"platform": group}
                rows += [head | row for row in found]
        return rows

    def windows(self, events: Sequence[Event]) -> list[tuple[int, int] | None]:
        if self.every is None:
            return [None]
        size = self.window or self.every
        last = max(one["time"] for one in events)
        starts = range(-(size // self.every + 1) * self.every, last + 1, self.every)
        return [(start, start + size) for start in starts]

    def count(self, events: Sequence[Event]) -> Iterator[dict[str, Any]]:
        users = sorted({one["user"] for one in events})
        many: list[int] = []
        for k in range(len(self.steps)):
            found_in = {
                user: [list(self.ways(part, k)) for part in self.sessions([e for e in events if e["user"] == user])]
                for user in users
            }
            ways = {user: [way for found in parts for way in found] for user, parts in found_in.items()}
            sessions = sum(bool(found) for parts in found_in.values() for found in parts)
            before = max((j for j in range(k) if self.steps[j].times != "?"), default=0)
            many.append(sum(bool(found) for found in ways.values()))
            every = [way for found in ways.values() for way in found]
            times = [way[k][0]["time"] - way[before][-1]["time"] for way in every] if k else []
            yield {
                "step": k + 1,
                "users": many[k],
                **({} if self.session is None else {"sessions": sessions}),
                "trends": len(every),
                "share_of_first": many[k] / many[0] if many[0] else None,
                "share_of_previous": many[k] / many[before] if many[before] else None,
                "drop_off": many[before] - many[k],
                "avg_time": statistics.fmean(times) if times else None,
                "min_time": min(times, default=None),
                "max_time": max(times, default=None),
                "stddev_time": statistics.stdev(times) if len(times) > 1 else None,
            }

    # ---- the ways of one user

    def sessions(self, events: Sequence[Event]) -> list[list[Event]]:
        """Part the events of a user where a pause is too long."""
        parts: list[list[Event]] = []
        for event in sorted(events, key=lambda one: one["time"]):
            pause = event["time"] - parts[-1][-1]["time"] if parts else 0
            if not parts or (self.session is not None and pause > self.session):
                parts.append([])
            parts[-1].append(event)
        return parts

    @property
    def free(self) -> range:
        """The places of steps that may be done in any order."""
        count = len(self.steps)
        return {"none": range(0), "between": range(1, count - 1), "all": range(count)}[self.any_order]

    def choices(self, place: int, done: Sequence[int]) -> list[int]:
        """Return the steps that can be at a place after others."""
        return [step for step in self.free if step not in done] if place in self.free else [place]

    def ways(self, events: Sequence[Event], k: int) -> Iterator[Way]:
        """Yield the ways to place k."""
        for event in events:
            for step in self.choices(0, ()):
                if self.steps[step].takes(event) and self.is_first(events, event, step):
                    yield from self.go_on(events, k, [[event], *([] for _ in range(k))], {0: step})

    def is_first(self, events: Sequence[Event], event: Event, step: int) -> bool:
        return self.touch != "first" or not any(
            self.steps[step].takes(one) and one["time"] < event["time"] for one in events
        )

    def go_on(self, events: Sequence[Event], k: int, way: Way, steps: dict[int, int]) -> Iterator[Way]:
        """Yield the ways that begin with one; `steps` has those that were taken, by their places."""
        at = max(steps)
        if at == k and (self.within is None or way[k][-1]["time"] - way[0][0]["time"] <= self.within):
            yield [list(some) for some in way]
        last = way[at][-1]
        options = list(self.extensions(events, k, last, steps))
        for event, to, step in options:
            between = [one for one in events if last["time"] < one["time"] < event["time"]]
            if self.order == "strict" and between:
                continue
            if self.order == "next" and any(last["time"] < one["time"] < event["time"] for one, *_ in options):
                continue
            longer = [list(some) for some in way]
            longer[to].append(event)
            yield from self.go_on(events, k, longer, steps | {to: step})

    def extensions(
        self, events: Sequence[Event], k: int, last: Event, steps: dict[int, int]
    ) -> Iterator[tuple[Event, int, int]]:
        """Yield the events that can come next, each with its place and its step."""
        at = max(steps)
        targets = [(at, steps[at])] if self.steps[steps[at]].times == "+" else []
        for j in range(at + 1, k + 1):
            targets += [(j, step) for step in self.choices(j, list(steps.values()))]
            if j in self.free or self.steps[j].times != "?":
                break
        for event in events:
            between = [one for one in events if last["time"] < one["time"] < event["time"]]
            for to, step in targets:
                on_the_way = [] if to == at else [*range(at + 1, to), step]
                unwanted = {self.exclude[j] for j in on_the_way} if self.exclude else set()
                if (
                    event["time"] > last["time"]
                    and self.steps[step].takes(event)
                    and not any(one["type"] in unwanted for one in between)
                    and not (self.touch == "first" and any(map(self.steps[step].takes, between)))
                    and not (self.touch == "last" and any(map(self.steps[steps[at]].takes, between)))
                ):
                    yield event, to, step
