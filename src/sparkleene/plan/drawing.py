"""Draw the automaton of a plan as an SVG, with nothing but text and paths."""

from __future__ import annotations

from sparkleene.language.printer import pattern_to_text
from sparkleene.plan.layout import BEND, DOT, RADIUS, Lane, Layout, lines_of
from sparkleene.plan.picture import Automaton, Edge, Node, graph
from sparkleene.plan.plan import Plan
from sparkleene.plan.svg import LINE, Canvas, cut

MARGIN = 20.0


def to_svg(plan: Plan) -> str:
    """Return the automaton of a plan as an SVG that needs nothing else.

    >>> from sparkleene.query import query
    >>> svg = to_svg(query("RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price").plan)
    >>> svg.startswith("<svg "), "S.price &gt; NEXT(S).price" in svg
    (True, True)
    """
    canvas = Canvas()
    for i, automaton in enumerate(graph(plan).automata):
        if i:
            canvas.note("AND", 28)
        canvas.add(_drawn(automaton), 20)
    return canvas.to_svg(MARGIN, f"automaton of {pattern_to_text(plan.bound.pattern)}")


def _drawn(automaton: Automaton) -> Canvas:
    """Draw one automaton: lines first, what is written on them, states over their ends."""
    layout, canvas = Layout(automaton), Canvas()
    for edge in automaton.edges:
        _step(canvas, layout, edge)
    for lane in layout.lanes:
        _lane(canvas, layout, lane)
    for x, y, edge in layout.labels:
        canvas.label(x, y, lines_of(edge), " AND ".join(edge.texts))
    for i, node in enumerate(automaton.nodes):
        _node(canvas, layout, i, node)
    for left, right, top, bottom in layout.boxes:
        canvas.reach(left, top, right, bottom)
    for note in automaton.notes:
        canvas.note(note, 22)
    return canvas


def _step(canvas: Canvas, layout: Layout, edge: Edge) -> None:
    """Draw a step from a state to the next, or to itself."""
    style = "no" if edge.forbidden else "line"
    if edge.target == edge.source + 1:
        start, end = layout.between(edge)
        canvas.path(style, "M", start, 0.0, "H", end - 7)
        canvas.head(end, 0, 1, 0, style)
    elif edge.target == edge.source:
        x, top = layout.x[edge.source], -layout.edge_of(edge.source, 9)
        there, back = (x - 27, top - 44), (x + 27, top - 44, x + 11.5, top - 6)
        canvas.path(style, "M", x - 9, top, "C", *there, *back)
        canvas.head(x + 9, top, -0.37, 0.93, style)


def _lane(canvas: Canvas, layout: Layout, lane: Lane) -> None:
    """Draw a lane: from its farthest beginning to the target, and how the other beginnings join it."""
    style = "no" if lane.edge.forbidden else "line"
    up, right = (-1, 1) if lane.above else (1, -1)
    near = lane.y - up * BEND  # where corners begin
    arrival = lane.arrival
    end = up * layout.edge_of(lane.target, arrival - layout.x[lane.target])
    far = min(lane.sources) if lane.above else max(lane.sources)
    for i in lane.sources:
        x, y = lane.departures[i], layout.beginning(lane, i)
        path: list[str | float] = ["M", x, y, "V", near, "Q", x, lane.y, x + right * BEND, lane.y]
        if i == far:
            path += ["H", arrival - right * BEND, "Q", arrival, lane.y, arrival, near, "V", end + up * 7]
        canvas.path(style, *path)
    canvas.head(arrival, end, 0, -up, style)


def _node(canvas: Canvas, layout: Layout, i: int, node: Node) -> None:
    """Draw a node."""
    x = layout.x[i]
    if node.kind in ("start", "end"):
        canvas.dot(x, 0, DOT, ring=node.kind == "end")
        canvas.text(x, DOT + LINE, layout.below(i), "type")
        return
    said = " ".join(dict.fromkeys([node.type, node.label])).strip()
    if node.conditions:
        said += f" where {' AND '.join(node.conditions)}"
    canvas.state(x, layout.half[i], RADIUS, node.accepting, node.kind == "more", said)
    label, kind = cut(node.label), cut(node.type)
    if node.kind == "more":
        canvas.text(x, 4, f"… {label}", "type")
    elif kind and kind != label:
        canvas.text(x, 1, label, "name")
        canvas.text(x, 14, kind, "type")
    else:
        canvas.text(x, 5, label, "name")
