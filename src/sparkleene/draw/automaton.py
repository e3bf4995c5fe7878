"""Draw the automaton of a plan: as an SVG, with nothing but text and paths, and as text for Graphviz."""

from __future__ import annotations

from sparkleene.draw.graph import Automaton, GraphEdge, GraphNode, automata
from sparkleene.draw.graphviz import digraph, quote
from sparkleene.draw.layout import BEND, DOT, RADIUS, AutomatonLayout, Lane, lines_of
from sparkleene.draw.svg import LINE, Canvas, cut
from sparkleene.language.printer import pattern_to_text
from sparkleene.plan.plan import Plan

MARGIN = 20.0


def to_svg(plan: Plan) -> str:
    """Return the automaton of a plan as an SVG that needs nothing else.

    >>> from sparkleene.query import query
    >>> svg = to_svg(query("RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price").plan)
    >>> svg.startswith("<svg "), "S.price &gt; NEXT(S).price" in svg
    (True, True)
    """
    canvas = Canvas()
    for i, automaton in enumerate(automata(plan)):
        if i:
            canvas.note("AND", 28)
        canvas.add(_draw_automaton(automaton), 20)
    return canvas.to_svg(MARGIN, f"automaton of {pattern_to_text(plan.bound.pattern)}")


def _draw_automaton(automaton: Automaton) -> Canvas:
    """Draw one automaton: lines first, what is written on them, states over their ends."""
    layout, canvas = AutomatonLayout(automaton), Canvas()
    for edge in automaton.edges:
        _draw_step(canvas, layout, edge)
    for lane in layout.lanes:
        _draw_lane(canvas, layout, lane)
    for x, y, edge in layout.labels:
        canvas.label(x, y, lines_of(edge), " AND ".join(edge.texts))
    for i, node in enumerate(automaton.nodes):
        _draw_node(canvas, layout, i, node)
    for left, right, top, bottom in layout.boxes:
        canvas.reach(left, top, right, bottom)
    for note in automaton.notes:
        canvas.note(note, 22)
    return canvas


def _draw_step(canvas: Canvas, layout: AutomatonLayout, edge: GraphEdge) -> None:
    """Draw a step from a state to the next, or to itself."""
    style = "no" if edge.forbidden else "line"
    if edge.target == edge.source + 1:
        start, end = layout.step_ends(edge)
        canvas.path(style, "M", start, 0.0, "H", end - 7)
        canvas.head(end, 0, 1, 0, style)
    elif edge.target == edge.source:
        x, top = layout.x[edge.source], -layout.edge_of(edge.source, 9)
        there, back = (x - 27, top - 44), (x + 27, top - 44, x + 11.5, top - 6)
        canvas.path(style, "M", x - 9, top, "C", *there, *back)
        canvas.head(x + 9, top, -0.37, 0.93, style)


def _draw_lane(canvas: Canvas, layout: AutomatonLayout, lane: Lane) -> None:
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


def _draw_node(canvas: Canvas, layout: AutomatonLayout, i: int, node: GraphNode) -> None:
    """Draw a node."""
    x = layout.x[i]
    if node.kind in ("start", "end"):
        canvas.dot(x, 0, DOT, ring=node.kind == "end")
        canvas.text(x, DOT + LINE, layout.text_below(i), "type")
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


# ---- Graphviz


def to_dot(plan: Plan) -> str:
    """Return the automaton of a plan as text for Graphviz.

    >>> from sparkleene.query import query
    >>> print(to_dot(query("RETURN COUNT(*) PATTERN A+").plan))
    digraph automaton {
      rankdir=LR
      node [shape=circle fontname="Helvetica"]
      edge [fontname="Courier" fontsize=10]
      n0_0 [shape=point width=0.12 label=""]
      n0_1 [label="A" shape=doublecircle]
      n0_0 -> n0_1
      n0_1 -> n0_1
    }
    """
    lines: list[str] = []
    drawn = automata(plan)
    for i, automaton in enumerate(drawn):
        inside = _dot(automaton, f"n{i}_")
        if len(drawn) > 1:
            inside = [f"  {line}" for line in (f"label={quote('AND' if i else '')} color=gray", *inside)]
            inside = [f"subgraph cluster_{i} {{", *inside, "}"]
        lines += inside
    return digraph("automaton", "LR", "shape=circle", lines)


def _dot(automaton: Automaton, prefix: str) -> list[str]:
    """Return the statements of one automaton."""
    lines = []
    for i, node in enumerate(automaton.nodes):
        name = "\n".join(dict.fromkeys([node.label, node.type])) if node.type else node.label
        shapes = {
            "start": 'shape=point width=0.12 label=""',
            "state": f"label={quote(name)}" + (" shape=doublecircle" if node.accepting else ""),
            "end": 'shape=doublecircle width=0.12 label="" style=filled fillcolor=black',
            "more": f"label={quote(f'... {name}')} shape=plaintext",
        }
        where = f" tooltip={quote(' AND '.join(node.conditions))}" if node.conditions else ""
        lines.append(f"{prefix}{i} [{shapes[node.kind]}{where}]")
    for edge in automaton.edges:
        marks = [f"label={quote(chr(10).join(edge.texts))}"] if edge.texts else []
        if edge.forbidden:
            marks.append('color="#c02626" fontcolor="#c02626" style=dashed')
        shown = f" [{' '.join(marks)}]" if marks else ""
        lines.append(f"{prefix}{edge.source} -> {prefix}{edge.target}{shown}")
    for i, note in enumerate(automaton.notes):
        lines.append(f"{prefix}note{i} [label={quote(note)} shape=plaintext fontsize=10]")
    return lines
