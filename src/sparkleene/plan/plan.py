"""The plan of a query: everything that is decided before the data is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from sparkleene.errors import Place
from sparkleene.language.bound import Bound, Drawn
from sparkleene.plan.aggregates import Aggregates, aggregates
from sparkleene.plan.copies import CopyFinder
from sparkleene.plan.lengths import longest_length
from sparkleene.plan.machine import MAX_STATES, Machine, MachineTooLarge, machine
from sparkleene.plan.marks import Marked, mark
from sparkleene.plan.physical import Physical, physical
from sparkleene.plan.positions import PatternTooLarge, Positions
from sparkleene.plan.predicates import Pair, pairs
from sparkleene.plan.sole_events import find_sole_events
from sparkleene.plan.whole_trends import Choice, choose_trends

MOST_BITS = 64  # labels, pairs of neighbours and labels with marks that kernels can tell apart

Granularity = Literal["pattern", "type", "event"]


@dataclass(frozen=True)
class Plan:
    """A bound query with its machine and its predicates classified.

    `memo` is where later stages keep what they make of a plan once.
    """

    bound: Bound
    machine: Machine
    pairs: tuple[Pair, ...]
    backward: Machine | None = None  # for rows read from the end of windows, where that is cheaper
    whole: Choice | None = None  # which trends count, by their first and last event or by what holds them
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def pair_index(self) -> dict[tuple[int, int], int]:
        """The number of the predicate pair that joins two labels."""
        return {(pair.before, pair.after): i for i, pair in enumerate(self.pairs)}

    @cached_property
    def conditions(self) -> tuple[Pair, ...]:
        """The pairs without those that ask the same as one before; a kernel's `pair` is an index into these."""
        return tuple({pair.condition: pair for pair in reversed(self.pairs)}.values())[::-1]

    @cached_property
    def condition_of(self) -> tuple[int, ...]:
        """For each pair the place of its condition."""
        place = {pair.condition: i for i, pair in enumerate(self.conditions)}
        return tuple(place[pair.condition] for pair in self.pairs)

    @cached_property
    def aggregates(self) -> Aggregates:
        """What is added up, and how the outputs are made of it."""
        return aggregates(self.bound, find_sole_events(self.bound.outputs, self.machine.operands))

    @cached_property
    def marked(self) -> Marked:
        """The machine with marks for the first and last events that outputs ask for."""
        return mark(self.machine, self.aggregates.trackers, self.aggregates.demands)

    @cached_property
    def copy_finder(self) -> CopyFinder:
        """The parts of the machine that do the same."""
        kinds = {label.type: i for i, label in enumerate(self.bound.labels)}
        return CopyFinder(self.machine.transitions, [kinds[label.type] for label in self.bound.labels])

    @cached_property
    def physical(self) -> Physical:
        """Which algorithm runs."""
        return physical(self, self.machine)

    @cached_property
    def directed(self) -> Plan:
        """The plan for rows in the order in which they are read: its own, or that for the opposite order."""
        if self.backward is None:
            return self
        return Plan(self.bound, self.backward, tuple(pair.reverse() for pair in self.pairs))

    @property
    def lookups(self) -> int:
        """In how many ways events look for earlier ones."""
        return sum(self.pair_of(source, label) >= 0 for source, label, _ in self.machine.transitions)

    def pair_of(self, source: int, label: int) -> int:
        """Return the predicate pair that a transition must satisfy, -1 for none."""
        return self.pair_between(self.machine, source, label)

    def pair_between(self, machine: Machine, source: int, label: int) -> int:
        """Return the predicate pair for a transition of a machine over the labels of this plan, -1 for none."""
        return self.pair_index.get((machine.label[source], label), -1)

    @cached_property
    def stored(self) -> frozenset[int]:
        """The states whose events are kept one by one, because some predicate asks for them."""
        if self.machine.semantics == "contiguous":  # predicates on neighbouring rows become labels
            return frozenset()
        return frozenset(s for s, by, _ in self.machine.transitions if self.pair_of(s, by) >= 0)

    @cached_property
    def granularity(self) -> tuple[Granularity, ...]:
        """The granularity of each state's aggregate, by COGRA's table 5."""
        if self.machine.semantics != "skip-till-any-match":
            return tuple("pattern" for _ in self.machine.states)
        kinds: dict[bool, Granularity] = {True: "event", False: "type"}
        return tuple(kinds[s in self.stored] for s in range(len(self.machine.states)))

    @property
    def overall(self) -> str:
        """The granularity of the whole query, by COGRA's table 5."""
        kinds = {g for g, by in zip(self.granularity, self.machine.label, strict=True) if by >= 0}
        return "mixed" if "event" in kinds else kinds.pop()

    @property
    def composes(self) -> bool:
        """Whether the effect of a stretch of time is one small matrix.

        So it is without adjacent predicates, and under contiguous semantics, where they become labels; but not
        where the first and last events of trends are compared.
        """
        return self.whole is None and (not self.pairs or self.machine.semantics == "contiguous")

    @cached_property
    def pane(self) -> Fraction | None:
        """The length of a pane: the greatest common divisor of window and slide."""
        window = self.bound.window
        if window is None or isinstance(window, Drawn) or window.slide is None:
            return None
        a, b = window.size, window.slide
        scale = math.lcm(a.denominator, b.denominator)
        return Fraction(math.gcd(int(a * scale), int(b * scale)), scale)

    @property
    def every_row(self) -> bool:
        """Whether rows without a label matter: where gaps tell, rows are counted, or rows draw windows."""
        window = self.bound.window
        counted = window is not None and window.unit == "events"
        return self.bound.semantics == "contiguous" or counted or isinstance(window, Drawn)

    @cached_property
    def universal(self) -> tuple[int, ...]:
        """The keys that bind every row."""
        return tuple(k for k, key in enumerate(self.bound.keys) if key.labels is None)

    @property
    def needed_keys(self) -> tuple[int, ...]:
        """The keys without which a row has no part in the result; all rows of a group draw its windows."""
        if isinstance(self.bound.window, Drawn):
            return tuple(k for k in self.universal if k in self.bound.group)
        return self.universal

    @cached_property
    def shuffle_keys(self) -> tuple[int, ...]:
        """The keys whose equal values have to be in one place, by which rows can be spread.

        Windows per trigger end where a trend of their group does, and rows of a group draw other windows, so there
        all of a group has to come together.
        What COUNT(DISTINCT ...) counts adds up only where all trends of a value are in one place.
        """
        bound = self.bound
        keys = self.universal
        if bound.per_trigger or isinstance(bound.window, Drawn):
            keys = tuple(k for k in keys if k in bound.group)
        for output in bound.outputs:
            if output.distinct:
                keys = tuple(k for k in keys if k in bound.group or k in output.distinct)
        return keys

    @cached_property
    def mandatory(self) -> frozenset[int]:
        """The labels that every trend has."""
        return frozenset.intersection(*self.mandatory_by_operand)

    @cached_property
    def mandatory_by_operand(self) -> tuple[frozenset[int], ...]:
        """For each operand the labels that every trend of it has."""
        return tuple(_mandatory(p) for p in self.machine.operands)

    @cached_property
    def needed_labels(self) -> tuple[int, ...]:
        """For each operand, as bits, the labels without which a sub-stream has no trend of it.

        Empty if some operand has none, or where rows without a label matter.
        """
        bits = tuple(sum(1 << label for label in labels) for labels in self.mandatory_by_operand)
        return bits if all(bits) and not self.every_row else ()


def _mandatory(p: Positions) -> frozenset[int]:
    def avoidable(label: int) -> bool:
        seen = {q for q in p.first if p.labels[q] != label}
        todo = list(seen)
        while todo:
            fresh = {q for q in p.follow[todo.pop()] if p.labels[q] != label} - seen
            seen |= fresh
            todo.extend(fresh)
        return bool(seen & p.last.keys())

    return frozenset(label for label in set(p.labels) if not avoidable(label))


def plan(bound: Bound, place: Place = Place()) -> Plan:
    """Plan a bound query, or say why it cannot be run."""
    span, window = bound.pattern.span, bound.window
    longest = longest_length(bound.lengths)
    if longest > MAX_STATES:
        message = f"a condition on LENGTH asks for {longest - 1:,} events, and a machine counts to {MAX_STATES:,}"
        raise place.mistake("pattern-too-large", message, bound.lengths[0].span, "ask for shorter trends")
    try:
        built = machine(bound)
    except (PatternTooLarge, MachineTooLarge):
        if longest > 1:
            message = (
                f"the pattern times the {longest} lengths that are told apart has more than {MAX_STATES:,} states"
            )
            help = "use smaller numbers in conditions on LENGTH"
            raise place.mistake("pattern-too-large", message, bound.lengths[0].span, help) from None
        help = "use smaller repetition bounds, or fewer labels inside NOT"
        message = "the pattern unrolls to too many states"
        raise place.mistake("pattern-too-large", message, span, help) from None
    if any(map(_unclear, built.operands)):
        help = "give the occurrences of a repeated type aliases of their own"
        message = "the pattern can read one trend in two ways, so the place of NOT in it is not clear"
        raise place.mistake("ambiguous-negation", message, span, help)
    if window is not None and window.unit == "events" and window.slide is None:
        help = "write WITHIN n EVENTS SLIDE m EVENTS"
        raise place.mistake("slide-needed", "a window of events needs a SLIDE", window.span, help)
    made = Plan(bound, built, pairs(bound.adjacent, bound.time), whole=choose_trends(bound))
    each = next((output for output in bound.outputs if output.each), None)
    if made.whole is not None and each is not None:
        message = "EACH asks which events are in some trend, and here not all trends that match count"
        help = "ask for it in a query without conditions on the first and last events of trends"
        raise place.mistake("bad-trend-condition", message, each.span, help)
    variants = 2 * len(made.marked.variants)  # also of observed pairs
    if len(made.marked.states) > MAX_STATES or len(bound.labels) + len(made.pairs) + variants > MOST_BITS:
        message = "the pattern has too many labels for so many FIRST and LAST"
        raise place.mistake("pattern-too-large", message, span, "ask for fewer of them in one query")
    return made


def _unclear(p: Positions) -> bool:
    """Tell whether a NOT stands at any depth in a pattern that reads some word in two ways."""
    return (bool(p.guards) and p.ambiguous()) or any(map(_unclear, p.guards))
