"""Find a place for everything in the drawing of an automaton: states in a row, arrows above and below.

Steps to the next state are straight, loops stand on their state, steps that skip states run in lanes above, steps
back in lanes below. Steps to one state share a lane where they say the same, so that even an automaton in which
every state follows every other stays readable. A lane is put as near to the row as what is there already allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from textwrap import wrap

from sparkleene.draw.graph import Automaton, GraphEdge
from sparkleene.draw.svg import LINE, NAME, SMALL, Lines, block, cut, wide

RADIUS = 28.0  # of a state, half its height
DOT = 6.0  # radius of start and end
GAP = 48.0  # between two states
LANE = 16.0  # between two lanes
LOOP = 36.0  # height of a loop
BEND = 10.0  # radius of a lane's corners
PORT = 9.0  # between two lines that leave a state
WIDEST = 26  # letters of a line at an arrow
SHARES = sorted((k / 25 for k in range(-10, 11)), key=abs)  # of a lane's length, where its text is tried

Box = tuple[float, float, float, float]  # left, right, top, bottom


@dataclass
class Lane:
    """Steps to one target that say the same, drawn as one line with several beginnings."""

    edge: GraphEdge  # one of them
    sources: list[int]
    above: bool
    y: float = 0.0
    arrival: float = 0.0
    departures: dict[int, float] = field(default_factory=dict)

    @property
    def target(self) -> int:
        """The node that they lead to."""
        return self.edge.target

    @property
    def lines(self) -> Lines:
        """What is written at the lane."""
        return lines_of(self.edge)


class AutomatonLayout:
    """The places of nodes, lanes and texts; the states' middles are at y = 0."""

    def __init__(self, automaton: Automaton) -> None:
        """Find them, from the row of states outwards."""
        self.nodes, self.edges = automaton.nodes, automaton.edges
        self.lanes = _lanes(self.edges)
        self.loops = {edge.source: block(lines_of(edge)) for edge in self.edges if edge.source == edge.target}
        self.half = [self.half_width(i) for i in range(len(self.nodes))]
        self.x = self.places()
        self.boxes = [self.box(i) for i in range(len(self.nodes))]
        self.labels: list[tuple[float, float, GraphEdge]] = []  # the middle of the text's foot
        for edge in self.edges:
            self.reserve_beside(edge)
        for lane in self.lanes:
            self.run(lane)
        for i in range(len(self.nodes)):
            self.ports(i, above=True)
            self.ports(i, above=False)
        for lane in self.lanes:
            self.write(lane)

    # ---- nodes

    def half_width(self, i: int) -> float:
        """Return half the width of a node: of a circle, or longer for a long name or many lines."""
        node = self.nodes[i]
        if node.kind in ("start", "end"):
            return DOT
        name, kind = wide(cut(node.label), 1.05 * NAME) / 2, wide(cut(node.type), SMALL) / 2
        half = max(RADIUS, name + 12, kind + (12 if node.accepting else 7))
        for above in (True, False):
            near = [lane for lane in self.lanes if lane.above is above]
            leaving = sum(1 for lane in near if i in lane.sources and lane.lines)
            plain = any(i in lane.sources and not lane.lines for lane in near)
            lines = max(leaving + plain, sum(lane.target == i for lane in near))
            room = self.inner(i, above) + PORT * lines + 8
            half = max(half, room if lines > 1 or (lines and above and i in self.loops) else 0)
        return half

    def inner(self, i: int, above: bool) -> float:
        """Return how far from a node's middle its lines begin, to be clear of a loop."""
        return 18.0 if above and i in self.loops else 12.0

    def box(self, i: int) -> Box:
        """Return the room that a node takes, with what is written below the window's start and end."""
        node, x, half = self.nodes[i], self.x[i], self.half[i]
        if node.kind not in ("start", "end"):
            return x - half, x + half, -RADIUS, RADIUS
        if text := self.text_below(i):
            half = wide(text, SMALL) / 2
            return x - half, x + half, -DOT, DOT + LINE + 2
        return x - half, x + half, -DOT, DOT

    def text_below(self, i: int) -> str:
        """Return what is written below a dot: which end of the window a NOT reaches to."""
        if self.nodes[i].kind == "end":
            return self.nodes[i].label
        leading = any(edge.source == i and edge.forbidden for edge in self.edges)
        return "window's start" if leading else ""

    def places(self) -> list[float]:
        """Return where the nodes' middles are, so far apart that what is written between them has room."""
        steps = {edge.source: edge for edge in self.edges if edge.target == edge.source + 1}
        x = [0.0]
        for i in range(1, len(self.nodes)):
            gap = GAP if i - 1 in steps else 0.6 * GAP
            if i - 1 in steps and steps[i - 1].texts:
                gap = max(gap, block(lines_of(steps[i - 1])) + 30)
            if self.nodes[i].kind == "end":
                gap = max(gap, 0.8 * GAP)
            apart = (self.loops.get(i - 1, 0.0) + self.loops.get(i, 0.0)) / 2 + 16
            x.append(x[-1] + max(self.half[i - 1] + gap + self.half[i], apart))
        return x

    def edge_of(self, i: int, dx: float) -> float:
        """Return how far above and below its middle a node ends, `dx` beside the middle."""
        if self.nodes[i].kind in ("start", "end"):
            return DOT
        beyond = max(0.0, abs(dx) - (self.half[i] - RADIUS))
        return float((RADIUS**2 - beyond**2) ** 0.5)

    # ---- arrows and what is written at them

    def reserve_beside(self, edge: GraphEdge) -> None:
        """Note the room that a straight step or a loop takes with its text."""
        if edge.target == edge.source + 1:
            self.label(sum(self.step_ends(edge)) / 2 - 3, -7, edge)
        elif edge.target == edge.source:
            x, top = self.x[edge.source], -self.edge_of(edge.source, 9)
            self.boxes.append((x - 18, x + 18, top - LOOP, top))
            self.label(x, top - LOOP - 3, edge)

    def step_ends(self, edge: GraphEdge) -> tuple[float, float]:
        """Return where a straight step begins and ends."""
        return (self.x[edge.source] + self.half[edge.source], self.x[edge.target] - self.half[edge.target])

    def label(self, x: float, y: float, edge: GraphEdge) -> None:
        """Note what is to be written above a height once all arrows are drawn."""
        if lines := lines_of(edge):
            half = block(lines) / 2 + 3
            self.boxes.append((x - half, x + half, y - len(lines) * LINE, y))
            self.labels.append((x, y, edge))

    def run(self, lane: Lane) -> None:
        """Find the nearest height at which a lane is free."""
        ends = [self.x[i] for i in (*lane.sources, lane.target)]
        left, right = min(ends), max(ends)
        half = block(lane.lines) / 2 + 6
        middle = (left + right) / 2
        left, right = min(left, middle - half), max(right, middle + half)
        near = [box for box in self.boxes if box[0] < right and box[1] > left]
        tall = len(lane.lines) * LINE + (4 if lane.lines else 0)
        if lane.above:
            lane.y = min(box[2] for box in near) - LANE
            self.boxes.append((left, right, lane.y - tall, lane.y))
        else:
            lane.y = max(box[3] for box in near) + LANE
            self.boxes.append((left, right, lane.y, lane.y + tall))

    def ports(self, i: int, above: bool) -> None:
        """Share out the edge of a node among the lines that leave and reach it, so that none cross there.

        Lines leave on the side to which they go and arrive on the other; those that say nothing leave as one.
        """
        side = 1 if above else -1
        near = sorted((lane for lane in self.lanes if lane.above is above), key=lambda lane: -abs(lane.y))
        arriving = [lane for lane in near if lane.target == i]
        for k, lane in enumerate(arriving):
            lane.arrival = self.x[i] - side * self.port(i, above, k, len(arriving))
        leaving = [lane for lane in near if i in lane.sources]
        silent = [lane for lane in leaving if not lane.lines]
        own = [lane for lane in leaving if lane not in silent[:-1]]
        for k, lane in enumerate(own):
            lane.departures[i] = self.x[i] + side * self.port(i, above, k, len(own))
        for lane in silent:
            lane.departures[i] = silent[-1].departures[i]

    def port(self, i: int, above: bool, k: int, of: int) -> float:
        """Return how far from a node's middle the k-th of its lines on a side is."""
        if self.nodes[i].kind in ("start", "end"):
            return 0.0
        inner, outer = self.inner(i, above), self.half[i] - 8
        return inner + (outer - inner) * (k + 1) / (of + 1)

    def beginning(self, lane: Lane, i: int) -> float:
        """Return the height at which a line begins: at its node, or where one with which it leaves there bends."""
        up = -1 if lane.above else 1
        x = lane.departures[i]
        before = [
            abs(other.y)
            for other in self.lanes
            if other.above is lane.above and other.departures.get(i) == x and abs(other.y) < abs(lane.y)
        ]
        return up * (max(before) - BEND if before else self.edge_of(i, x - self.x[i]))

    def write(self, lane: Lane) -> None:
        """Write the text of a lane where no line crosses it, if there is such a place."""
        if not lane.lines:
            return
        ends = [*lane.departures.values(), lane.arrival]
        left, right = min(ends), max(ends)
        half = block(lane.lines) / 2 + 4
        crossing = [
            x
            for other in self.lanes
            if other is not lane and other.above is lane.above and abs(other.y) > abs(lane.y)
            for x in (other.arrival, *other.departures.values())
        ]
        middle = (left + right) / 2
        places = [middle + share * (right - left) for share in SHARES]
        free = [
            x
            for x in places
            if (left < x - half and x + half < right) and not any(abs(x - line) < half for line in crossing)
        ]
        x = free[0] if free else middle
        y = lane.y - 5 if lane.above else lane.y + LINE * len(lane.lines) + 2
        self.labels.append((x, y, lane.edge))


def _lanes(edges: Iterable[GraphEdge]) -> list[Lane]:
    """Gather the steps that are neither straight nor loops into lanes, short ones first."""
    found: dict[tuple[object, ...], Lane] = {}
    for edge in edges:
        if edge.target not in (edge.source, edge.source + 1):
            above = edge.target > edge.source
            lane = found.setdefault((edge.target, edge.texts, above), Lane(edge, [], above))
            lane.sources.append(edge.source)
    return sorted(found.values(), key=lambda lane: max(abs(i - lane.target) for i in lane.sources))


def lines_of(edge: GraphEdge) -> Lines:
    """Break what is written at an arrow into lines, each with its style."""
    styled = [(text, "said" if k < len(edge.conditions) else "not") for k, text in enumerate(edge.texts)]
    return tuple(
        (line, style) for text, style in styled for line in wrap(text, WIDEST, max_lines=3, placeholder=" …")
    )
