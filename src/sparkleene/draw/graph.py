"""The automaton of a plan as people draw it: a state per event of the pattern, arrows between, NOT on the arrows.

The machine that is run is finer: it is deterministic, and a state of it also knows how far a forbidden pattern has
come. `explain` lists that one. Here is its outline, the position automaton, as nodes and edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as count_from
from typing import Literal

from sparkleene.language.ast import Atom, Not, Pattern, Repeat
from sparkleene.language.bound import Bound
from sparkleene.language.printer import pattern_to_text
from sparkleene.language.trees import conjuncts, parts
from sparkleene.plan.explain import MOST_STATES
from sparkleene.plan.plan import Plan
from sparkleene.plan.positions import Guards, Positions
from sparkleene.plan.text import count, term_to_text


@dataclass(frozen=True)
class GraphNode:
    """A state, or what is drawn in the row of states beside them.

    The start is before the first event; the end is the window's, drawn where a NOT reaches up to it; `more` stands
    for the states that are too many to draw. A state is entered by an event with its label.
    """

    kind: Literal["start", "state", "end", "more"]
    label: str = ""
    type: str = ""
    conditions: tuple[str, ...] = ()  # on the event alone
    accepting: bool = False


@dataclass(frozen=True)
class GraphEdge:
    """A step from node to node, with the conditions on the two events and the patterns forbidden in between."""

    source: int
    target: int
    conditions: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All that is written at the edge, a line each."""
        return (*self.conditions, *(f"NOT {text}" for text in self.forbidden))


@dataclass(frozen=True)
class Automaton:
    """Nodes from left to right, at most one edge from one to another, and notes below."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    notes: tuple[str, ...] = ()


def automata(plan: Plan) -> tuple[Automaton, ...]:
    """Return what is drawn of a plan: one automaton, or for P AND Q two.

    >>> from sparkleene.query import query
    >>> text = "RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) WHERE B.x < NEXT(B).x"
    >>> (drawn,) = automata(query(text).plan)
    >>> [(node.kind, node.label) for node in drawn.nodes]
    [('start', ''), ('state', 'A'), ('state', 'B')]
    >>> [(edge.source, edge.target, *edge.texts) for edge in drawn.edges]
    [(0, 1), (1, 2, 'NOT C'), (2, 2, 'B.x < NEXT(B).x')]
    """
    return tuple(_automaton(plan.bound, operand) for operand in plan.machine.operands)


def _automaton(bound: Bound, p: Positions) -> Automaton:
    """Return the automaton of one operand."""
    order = _order(p.pattern, count_from(0))
    shown = order[:MOST_STATES]
    nodes = [GraphNode("start"), *(_state(bound, p, position) for position in shown)]
    if len(order) > len(shown):
        nodes.append(GraphNode("more", f"and {count(len(order) - len(shown), 'state')} more"))
    if any(p.last.values()):
        nodes.append(GraphNode("end", "window's end"))
    places = {-1: 0} | {position: i for i, position in enumerate(shown, 1)}

    found: dict[tuple[int, int], GraphEdge] = {}
    for source, target, guards in _steps(p):
        a = places.get(source, len(shown) + 1)
        b = len(nodes) - 1 if target is None else places.get(target, len(shown) + 1)
        if nodes[a].kind == "more" and a == b:
            continue
        forbidden = tuple(pattern_to_text(p.guards[guard].pattern) for guard in sorted(guards))
        conditions: tuple[str, ...] = ()
        if nodes[a].kind == nodes[b].kind == "state" and target is not None:
            conditions = _conditions(bound, p.labels[source], p.labels[target])
        if "more" in (nodes[a].kind, nodes[b].kind):
            forbidden = ()  # many steps are one arrow there, with nothing that could be said of all
        found.setdefault((a, b), GraphEdge(a, b, conditions, forbidden))
    notes = []
    if len(shown) == len(order) and p.ambiguous():
        notes.append("a trend that several ways through the automaton spell out counts once")
    return Automaton(tuple(nodes), tuple(found[key] for key in sorted(found)), tuple(notes))


def _order(pattern: Pattern, numbers: Iterator[int]) -> list[int]:
    """Return the positions of a pattern as it reads; those of optional repetitions are numbered backwards."""
    match pattern:
        case Atom():
            return [next(numbers)]
        case Not():
            return []
        case Repeat(inner, low, high):
            copies = [_order(inner, numbers) for _ in range(max(low, 1) if high is None else high)]
            copies = copies if high is None else [*copies[:low], *reversed(copies[low:])]
        case _:
            copies = [_order(part, numbers) for part in parts(pattern)]
    return [position for copy in copies for position in copy]


def _state(bound: Bound, p: Positions, position: int) -> GraphNode:
    """Return a position as a node."""
    index = p.labels[position]
    label = bound.labels[index]
    local = tuple(term_to_text(term, label.name) for term in bound.local[index])
    return GraphNode("state", label.name, label.type, local, position in p.last)


def _steps(p: Positions) -> Iterator[tuple[int, int | None, Guards]]:
    """Yield the steps of an automaton: from the start, which is -1, and to the window's end, which is None."""
    for target, guards in p.first.items():
        yield -1, target, guards
    for source, follow in p.follow.items():
        for target, guards in follow.items():
            yield source, target, guards
    for source, guards in p.last.items():
        if guards:
            yield source, None, guards


def _conditions(bound: Bound, before: int, after: int) -> tuple[str, ...]:
    """Return what must hold between neighbours with these labels, a text each."""
    one, two = bound.labels[before].name, bound.labels[after].name
    terms = (
        term
        for each in bound.adjacent
        if (each.before, each.after) == (before, after)
        for term in conjuncts(each.condition)
    )
    return tuple(dict.fromkeys(term_to_text(term, one, two) for term in terms))
