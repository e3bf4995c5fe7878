"""The position automaton of a pattern (Glushkov): one position per occurrence of a label, guards on the edges.

A NOT is no position. It leaves a *guard* on every step that crosses it: between two events, between the window's
start and the first event (leading), between the last event and the window's end (trailing).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sparkleene.language.ast import And, Atom, Not, Or, Pattern, Repeat, Seq

Guards = frozenset[int]
NONE: Guards = frozenset()
MAX_POSITIONS = 4096


class PatternTooLarge(Exception):
    """The pattern unrolls to more positions than a machine may have."""


@dataclass(frozen=True)
class Positions:
    """A nondeterministic automaton whose states are positions; entering position p reads the label `labels[p]`."""

    labels: tuple[int, ...]
    first: Mapping[int, Guards]  # where trends begin, with the guards since the window's start
    last: Mapping[int, Guards]  # where trends end, with the guards until the window's end
    follow: Mapping[int, Mapping[int, Guards]]
    guards: tuple[Positions, ...]  # what each guard number forbids
    clash: bool  # two parses take one step under different guards
    pattern: Pattern  # that they are the positions of

    @property
    def every_label(self) -> int:
        """The labels of all positions, and of what the guards forbid, as bits."""
        found = 0
        for label in self.labels:
            found |= 1 << label
        for guard in self.guards:
            found |= guard.every_label
        return found

    def ambiguous(self) -> bool:
        """Tell whether some label word has two accepting runs (then NOT has no clear place in it)."""
        if self.clash:
            return True
        found = {(p, q) for p in self.first for q in self.first if self.labels[p] == self.labels[q]}
        todo = list(found)
        back: dict[tuple[int, int], set[tuple[int, int]]] = {}
        while todo:
            pair = todo.pop()
            for p in self.follow[pair[0]]:
                for q in self.follow[pair[1]]:
                    if self.labels[p] == self.labels[q]:
                        back.setdefault((p, q), set()).add(pair)
                        if (p, q) not in found:
                            found.add((p, q))
                            todo.append((p, q))
        useful = {(p, q) for p, q in found if p in self.last and q in self.last}
        todo = list(useful)
        while todo:
            for pair in back.get(todo.pop(), ()):
                if pair not in useful:
                    useful.add(pair)
                    todo.append(pair)
        return any(p != q for p, q in useful)


@dataclass
class _Fragment:
    first: dict[int, Guards] = field(default_factory=dict)
    last: dict[int, Guards] = field(default_factory=dict)
    empty: Guards | None = None  # guards pending over the empty word, None if it is not in the language


class _Builder:
    def __init__(self, index: Mapping[str, int]) -> None:
        self.index = index
        self.labels: list[int] = []
        self.follow: list[dict[int, Guards]] = []
        self.guards: list[Positions] = []
        self.clash = False

    def connect(self, last: Mapping[int, Guards], first: Mapping[int, Guards]) -> None:
        for p, before in last.items():
            for q, after in first.items():
                guards = before | after
                self.clash |= self.follow[p].setdefault(q, guards) != guards

    def merge(self, into: dict[int, Guards], other: Mapping[int, Guards], more: Guards = NONE) -> None:
        for p, guards in other.items():
            self.clash |= into.setdefault(p, guards | more) != guards | more

    def concat(self, a: _Fragment, b: _Fragment) -> _Fragment:
        self.connect(a.last, b.first)
        out = _Fragment(dict(a.first), dict(b.last))
        if a.empty is not None:
            self.merge(out.first, b.first, a.empty)
        if b.empty is not None:
            self.merge(out.last, a.last, b.empty)
        if a.empty is not None and b.empty is not None:
            out.empty = a.empty | b.empty
        return out

    def unite(self, a: _Fragment, b: _Fragment) -> _Fragment:
        out = _Fragment(dict(a.first), dict(a.last), a.empty if a.empty is not None else b.empty)
        self.merge(out.first, b.first)
        self.merge(out.last, b.last)
        return out

    def loop(self, a: _Fragment) -> _Fragment:
        self.connect(a.last, a.first)
        return a

    def build(self, pattern: Pattern) -> _Fragment:
        match pattern:
            case Atom():
                if len(self.labels) >= MAX_POSITIONS:
                    raise PatternTooLarge
                p = len(self.labels)
                self.labels.append(self.index[pattern.label])
                self.follow.append({})
                return _Fragment({p: NONE}, {p: NONE})
            case Seq(parts):
                out = _Fragment(empty=NONE)
                for part in parts:
                    out = self.concat(out, self.build(part))
                return out
            case Or(options):
                out = self.build(options[0])
                for option in options[1:]:
                    out = self.unite(out, self.build(option))
                return out
            case Not(inner):
                guard = positions(inner, self.index)
                if guard not in self.guards:
                    self.guards.append(guard)
                return _Fragment(empty=frozenset({self.guards.index(guard)}))
            case Repeat(inner, low, high):
                return self.repeat(inner, low, high)
            case And():
                raise AssertionError("AND is split before positions are built")

    def repeat(self, inner: Pattern, low: int, high: int | None) -> _Fragment:
        out = _Fragment(empty=NONE)
        for _ in range(low if high is not None else max(low - 1, 0)):
            out = self.concat(out, self.build(inner))
        if high is None:
            tail = self.loop(self.build(inner))
            if low == 0:
                tail.empty = NONE
            return self.concat(out, tail)
        optional = _Fragment(empty=NONE)
        for _ in range(high - low):  # P{0,k} = (P P{0,k-1})?
            optional = self.concat(self.build(inner), optional)
            optional.empty = NONE
        return self.concat(out, optional)


def positions(pattern: Pattern, index: Mapping[str, int]) -> Positions:
    """Build the position automaton of a pattern without AND; `index` numbers the labels."""
    builder = _Builder(index)
    whole = builder.build(pattern)
    found = Positions(
        tuple(builder.labels),
        whole.first,
        whole.last,
        dict(enumerate(builder.follow)),
        tuple(builder.guards),
        builder.clash,
        pattern,
    )
    return found if builder.clash else _unite_alike(found)


def _unite_alike(p: Positions) -> Positions:
    """Return the positions with those made one that have the same label and go on in the same ways.

    A pattern that lists orders, `SEQ(A, B, C) OR SEQ(B, A, C)`, has a position for each set of what came.
    """
    kinds: list[Hashable] = [(label, p.last.get(q)) for q, label in enumerate(p.labels)]
    kind = _number(kinds)
    while True:
        ways = [frozenset((kind[after], guards) for after, guards in p.follow[q].items()) for q in p.follow]
        finer = _number(list(zip(kind, ways, strict=True)))
        if max(finer, default=0) == max(kind, default=0):
            break
        kind = finer
    is_ambiguous = any(len({kind[q] for q in some}) < len(some) for some in (p.first, *p.follow.values()))
    if is_ambiguous or len(set(kind)) == len(kind):
        return p
    chosen = {number: q for q, number in reversed(list(enumerate(kind)))}
    return replace(
        p,
        labels=tuple(p.labels[chosen[number]] for number in sorted(chosen)),
        first={kind[q]: guards for q, guards in p.first.items()},
        last={kind[q]: guards for q, guards in p.last.items()},
        follow={
            number: {kind[after]: guards for after, guards in p.follow[chosen[number]].items()}
            for number in sorted(chosen)
        },
    )


def _number(kinds: Sequence[Hashable]) -> list[int]:
    """Return a number for each thing, in order of first appearance, the same for equal ones."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(kind, len(numbers)) for kind in kinds]


def reverse_positions(p: Positions) -> Positions:
    """Return the positions of the same pattern, without NOT, read from its end."""
    follow: dict[int, dict[int, Guards]] = {q: {} for q in p.follow}
    for a, after in p.follow.items():
        for b, guards in after.items():
            follow[b][a] = guards
    return replace(p, first=p.last, last=p.first, follow=follow)
