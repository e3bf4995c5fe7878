"""The machine of a query: an automaton that is deterministic over labels, with negation folded into its states.

A state says all that matters about a partial trend apart from its aggregates: which positions of the pattern it
may be at (the subset construction makes every trend one run), and how far each forbidden pattern has come since
its last event. What an event or a tick does to the partial trends of a state is then a fixed linear map, under all
three semantics. The start is a state too (it holds the empty trend), and so are finished trends where something
can still happen to them. For P AND Q a state pairs the two operands' views of one trend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from sparkleene.language.ast import And, Semantics
from sparkleene.language.bound import Bound
from sparkleene.plan.lengths import allowed_lengths
from sparkleene.plan.positions import Guards, Positions, positions

MAX_STATES = 4096
MAX_NEGATED = 10
START = -1

Progress = frozenset["Point"] | None  # how far a forbidden pattern has come; None once it has matched
Clocks = tuple[tuple[int, Progress], ...]  # per guard that matters here
Point = tuple[int, Clocks]  # a partial match of a forbidden pattern


@dataclass(frozen=True)
class View:
    """One operand's view of a partial trend: the positions it may be at, and the guards since its last event."""

    at: frozenset[int]
    clocks: Clocks


@dataclass(frozen=True)
class State:
    """A state: a view per operand, None where the operand has no such trend; `final` for finished trends."""

    views: tuple[View | None, ...]
    final: bool = False
    length: int = 0  # how many events a partial trend has, as far as conditions on LENGTH ask


class MachineTooLarge(Exception):
    """The pattern needs more states than a machine may have."""


@dataclass(frozen=True)
class Machine:
    """The automaton with its states numbered; state 0 is the start."""

    semantics: Semantics
    operands: tuple[Positions, ...]
    states: tuple[State, ...]
    label: tuple[int, ...]  # the label that leads into a state, -1 for start and final states
    transitions: tuple[tuple[int, int, int], ...]  # (state, label, state)
    outs: tuple[tuple[int, int], ...]  # states whose trends count at the window's end, with their class
    accepting: frozenset[int]
    negated: int  # mask of the labels inside NOT
    momentary: bool = False  # finished trends count only at the tick at which they end
    per_query: bool = False  # the operands are patterns of several queries, each with results of its own
    moves: frozenset[tuple[int, int]] = frozenset()  # states between which a tick can move partial trends

    @property
    def classes(self) -> int:
        """The number of kinds of result: 1 for each query, or for AND 3 (first operand only, second only, both)."""
        return len(self.operands) if self.per_query or len(self.operands) == 1 else 3

    @property
    def monotone(self) -> bool:
        """Whether more rows never take trends away."""
        return self.semantics == "skip-till-any-match" and not any(p.guards for p in self.operands)

    @property
    def forgetful(self) -> bool:
        """Whether a tick can move or drop partial trends; if not, states only ever grow."""
        return not self.monotone or self.momentary

    def keep(self, union: int, extended: bool) -> list[int]:
        """Return where the partial trends of each state are after a tick with these labels, -1 for gone.

        With `extended`, skip-till-next-match drops those that the tick's events extend; without, the caller does.
        """
        if not self.forgetful:
            return list(range(len(self.states)))
        number: dict[State, int] = {}
        drop = union if extended else 0
        found = list(range(len(self.states)))
        for i, state in enumerate(self.states):
            if self.momentary and state.final:
                found[i] = -1
                continue
            if self.semantics == "skip-till-any-match" and not _find_watched_labels(self.operands, state) & union:
                continue  # as most are, of many queries
            number = number or {other: n for n, other in enumerate(self.states)}
            kept = _keep(self.operands, self.semantics, state, union, drop)
            found[i] = -1 if kept is None else number[kept]
        return found

    def leave(self, label: int) -> list[int]:
        """Return where the partial trends of each state go when an event extends them by a label."""
        if self.semantics != "skip-till-next-match":
            return list(range(len(self.states)))
        number = {state: i for i, state in enumerate(self.states)}
        out = []
        for state in self.states:
            left = state if state.final else _leave(self.operands, state, 1 << label)
            out.append(-1 if left is None else number[left])
        return out


@dataclass(frozen=True)
class Counting:
    """What a machine has to know of whole trends: which lengths count, and where trends end.

    `allowed[n]` is for trends of n events, the last for all longer ones. With `ends` a trend enters a final state
    where it ends, so that some ends can be left out.
    """

    allowed: tuple[bool, ...] = (True,)
    ends: bool = False

    def step(self, length: int) -> int:
        """Return the length after one more event."""
        return min(length + 1, len(self.allowed) - 1)

    def is_past(self, length: int) -> bool:
        """Tell whether no trend counts that has this length or grows from it."""
        return not any(self.allowed[length:])


ALL = Counting()
"""All trends that match count."""


def counting(bound: Bound) -> Counting:
    """Return what the conditions on whole trends ask of a machine."""
    if bound.maximal:  # only once it is known which these are, their lengths matter
        return Counting(ends=True)
    return Counting(allowed_lengths(bound.lengths), bool(bound.ends or bound.durations))


def machine(bound: Bound, momentary: bool = False) -> Machine:
    """Build the machine of a bound query; a `momentary` one tells which trends end at the very last tick."""
    index = {label.name: i for i, label in enumerate(bound.labels)}
    parts = bound.pattern.operands if isinstance(bound.pattern, And) else (bound.pattern,)
    operands = tuple(positions(part, index) for part in parts)
    negated = sum(1 << i for i, label in enumerate(bound.labels) if label.negated)
    return build(operands, bound.semantics, negated, momentary, counts=counting(bound))


def build(
    operands: tuple[Positions, ...],
    semantics: Semantics,
    negated: int,
    momentary: bool = False,
    per_query: bool = False,
    most: int = MAX_STATES,
    counts: Counting = ALL,
) -> Machine:
    """Build the machine of one or several patterns over the same labels.

    Several are the operands of an AND or, if results are `per_query`, patterns of queries evaluated together:
    where a partial trend can go on in several of them, it is in one state for all of these. With more than `most`
    states it is given up.
    """
    if not per_query and negated.bit_count() > MAX_NEGATED:
        raise MachineTooLarge
    simple = semantics == "skip-till-any-match" and not any(p.guards for p in operands) and not momentary
    simple = simple and not counts.ends
    fails = semantics == "skip-till-next-match"  # trends that are too long still take what they extend

    start = State(tuple(View(frozenset({START}), _clocks(p, frozenset({START}))) for p in operands))
    number = {start: 0}
    label = [-1]
    transitions: list[tuple[int, int, int]] = []
    accepting: set[int] = set()
    moves: set[tuple[int, int]] = set()

    def visit(state: State, by: int) -> int:
        if state not in number:
            if len(number) >= most:
                raise MachineTooLarge
            number[state] = len(number)
            label.append(by)
            todo.append(state)
        return number[state]

    todo = [start]
    while todo:
        state = todo.pop(0)
        source = number[state]
        if not state.final:
            for by, reached in _extend(operands, state):
                target = replace(reached, length=counts.step(state.length))
                if counts.is_past(target.length) and not fails:
                    continue
                transitions.append((source, by, visit(target, by)))
                done = _accept(operands, target) if counts.allowed[target.length] else None
                if done is not None:
                    accepting.add(number[target])
                    if not simple:
                        transitions.append((source, by, visit(done, -1)))
        watched = negated & _find_watched_labels(operands, state)
        if semantics == "skip-till-any-match" and not watched:
            moves.add((source, source))
            continue
        drops = _extending(operands, state) if semantics == "skip-till-next-match" else [0]
        for mask in _subsets(watched):
            for drop in drops:
                kept = _keep(operands, semantics, state, mask, drop)
                if kept is not None:
                    moves.add((source, visit(kept, label[source])))

    states = tuple(number)
    if simple:
        ends = [(i, _accept(operands, states[i])) for i in sorted(accepting)]
    else:
        ends = [(i, state) for i, state in enumerate(states) if state.final]
    outs = tuple((i, kind) for i, state in ends for kind in _classes(state, per_query))
    return Machine(
        semantics,
        operands,
        states,
        tuple(label),
        tuple(transitions),
        outs,
        frozenset(accepting),
        negated,
        momentary,
        per_query,
        frozenset(moves),
    )


def _subsets(mask: int) -> Iterator[int]:
    """Yield the sets of labels within a set, the smaller ones first."""
    bits = [1 << i for i in range(mask.bit_length()) if mask >> i & 1]
    if len(bits) > MAX_NEGATED:
        raise MachineTooLarge
    for size in range(len(bits) + 1):
        yield from map(sum, combinations(bits, size))


def _find_watched_labels(operands: tuple[Positions, ...], state: State) -> int:
    """Return the labels that the guards of a state look out for: no others move its partial trends to a state."""
    found = 0
    for p, view in zip(operands, state.views, strict=True):
        for guard, progress in view.clocks if view is not None else ():
            if progress is not None:
                found |= p.guards[guard].every_label
    return found


# ---- one step of one operand


def _follow(p: Positions, at: int) -> Iterator[tuple[int, Guards]]:
    yield from (p.first if at == START else p.follow[at]).items()


def _clocks(p: Positions, at: frozenset[int]) -> Clocks:
    """Start the clocks of all guards that stand on a step out of these positions."""
    guards = sorted({g for position in at for _, guards in _follow(p, position) for g in guards})
    return tuple((g, frozenset({(START, ())})) for g in guards)


def _tick_clocks(p: Positions, clocks: Clocks, union: int) -> Clocks:
    return tuple((g, _tick_progress(p.guards[g], progress, union)) for g, progress in clocks)


def _tick_progress(n: Positions, progress: Progress, union: int) -> Progress:
    """Advance the partial matches of a forbidden pattern by a tick; None once one is complete."""
    if progress is None:
        return None
    after = {(at, _tick_clocks(n, clocks, union)) for at, clocks in progress}
    for at, clocks in progress:
        open_ = dict(clocks)
        for q, guards in _follow(n, at):
            if union >> n.labels[q] & 1 and all(open_[g] is not None for g in guards):
                if q in n.last:
                    return None
                after.add((q, _clocks(n, frozenset({q}))))
    return frozenset(after)


def _step(p: Positions, view: View | None, label: int) -> View | None:
    """Extend a view by an event of this label."""
    if view is None:
        return None
    open_ = dict(view.clocks)
    at = frozenset(
        q
        for position in view.at
        for q, guards in _follow(p, position)
        if p.labels[q] == label and all(open_[g] is not None for g in guards)
    )
    return View(at, _clocks(p, at)) if at else None


# ---- one step of all operands together


def _extend(operands: tuple[Positions, ...], state: State) -> Iterator[tuple[int, State]]:
    """Yield the labels of events that extend some of the views, in order, with the states into which they lead."""
    found: dict[int, dict[int, View]] = {}
    for i, (p, view) in enumerate(zip(operands, state.views, strict=True)):
        if view is None:  # as most are, of many queries
            continue
        for label in {p.labels[q] for position in view.at for q, _ in _follow(p, position)}:
            if (after := _step(p, view, label)) is not None:
                found.setdefault(label, {})[i] = after
    for label, views in sorted(found.items()):
        yield label, State(tuple(map(views.get, range(len(operands)))))


def _leave(operands: tuple[Positions, ...], state: State, union: int) -> State | None:
    """Take away the views that an event of one of these labels extends."""
    if state.views[0] is not None and START in state.views[0].at:
        return state
    if state.views[-1] is not None and START in state.views[-1].at:
        return state
    views = tuple(
        None if any(_step(p, view, q) for q in set(p.labels) if union >> q & 1) else view
        for p, view in zip(operands, state.views, strict=True)
    )
    return None if all(view is None for view in views) else State(views, length=state.length)


def _extending(operands: tuple[Positions, ...], state: State) -> list[int]:
    """Return label sets that show every way in which a tick can extend only some of the views."""
    if state.final:
        return [0]
    there = [
        (i, p, view) for i, (p, view) in enumerate(zip(operands, state.views, strict=True)) if view is not None
    ]
    labels = sorted({q for _, p, _ in there for q in p.labels})
    hits = {0: 0}
    for by in labels:
        which = sum(1 << i for i, p, view in there if _step(p, view, by) is not None)
        for seen, mask in list(hits.items()):
            hits.setdefault(seen | which, mask | 1 << by)
    return list(hits.values())


def _keep(
    operands: tuple[Positions, ...], semantics: Semantics, state: State, union: int, drop: int
) -> State | None:
    """Return the state of a partial trend that sat through a tick, or None if it is gone."""
    start = not state.final and any(view is not None and START in view.at for view in state.views)
    if semantics == "contiguous" and not state.final and not start:
        return None
    kept: State | None = state
    if semantics == "skip-till-next-match" and not state.final and not start and drop:
        kept = _leave(operands, state, drop)
    if kept is None:
        return None
    views = tuple(
        None if view is None else View(view.at, _tick_clocks(p, view.clocks, union))
        for p, view in zip(operands, kept.views, strict=True)
    )
    if state.final:
        views = tuple(
            None if view is None or any(progress is None for _, progress in view.clocks) else view for view in views
        )
        if all(view is None for view in views):
            return None
    return State(views, state.final, state.length)


def _accept(operands: tuple[Positions, ...], state: State) -> State | None:
    """Return the final state that finished trends enter, with the clocks of trailing guards started."""
    views: list[View | None] = [None] * len(operands)
    ended = False
    for i, view in enumerate(state.views):
        if view is None or not (ends := view.at & operands[i].last.keys()):
            continue
        ended = True
        guards = sorted(operands[i].last[min(ends)])
        views[i] = View(frozenset(), tuple((g, frozenset({(START, ())})) for g in guards))
    return State(tuple(views), final=True) if ended else None


def _classes(state: State | None, per_query: bool) -> list[int]:
    """Return the kinds of result that finished trends count for."""
    assert state is not None
    there = [i for i, view in enumerate(state.views) if view is not None]
    if per_query or len(state.views) == 1:
        return there
    return [2] if len(there) == 2 else there
