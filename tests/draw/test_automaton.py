"""Pictures of automata: what is in them, golden files of two, and that they can be read whatever the query."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from tests.chance import cases
from tests.conformance.strategies import Case, case

from sparkleene.draw.automaton import to_dot, to_svg
from sparkleene.draw.graph import Automaton, GraphEdge, GraphNode, automata
from sparkleene.draw.layout import BEND, AutomatonLayout
from sparkleene.plan.explain import MOST_STATES
from sparkleene.plan.plan import Plan, plan
from sparkleene.query import query

GOLDEN = Path(__file__).parent / "fixtures" / "automaton"
QUERIES = {
    "rides": "PATTERN SEQ(Pickup P, Trip T+, Dropoff D) WHERE T.speed < NEXT(T).speed AND P.fare > 2",
    "negation": "PATTERN (A OR SEQ(B, NOT SEQ(C, D), E))+ AND SEQ(NOT F, G, NOT H)",
}


def planned(text: str) -> Plan:
    return query(f"RETURN COUNT(*) {text}").plan


def only(text: str) -> Automaton:
    (automaton,) = automata(planned(text))
    return automaton


def names(automaton: Automaton) -> list[str]:
    return [node.label + "!" * node.accepting for node in automaton.nodes if node.kind == "state"]


def steps(automaton: Automaton) -> set[tuple[int, int]]:
    return {(edge.source, edge.target) for edge in automaton.edges}


@pytest.mark.parametrize("name", QUERIES)
def test_golden(name: str) -> None:
    """Pictures are as their golden files have them; `make golden` rewrites these."""
    for suffix, draw in (("svg", to_svg), ("dot", to_dot)):
        made, golden = draw(planned(QUERIES[name])) + "\n", GOLDEN / f"{name}.{suffix}"
        if os.environ.get("UPDATE_GOLDEN"):
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(made, encoding="utf-8")
        assert made == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("pattern", "states", "arrows"),
    [
        ("Stock S+", ["S!"], {(0, 1), (1, 1)}),
        ("(SEQ(A+, B))+", ["A", "B!"], {(0, 1), (1, 1), (1, 2), (2, 1)}),
        ("(A OR SEQ(B, C))+", ["A!", "B", "C!"], {(0, 1), (0, 2), (1, 1), (1, 2), (2, 3), (3, 1), (3, 2)}),
        ("SEQ(A?, B)", ["A", "B!"], {(0, 1), (0, 2), (1, 2)}),
        ("A{2,5}", ["A", "A!", "A!", "A!", "A!"], {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)}),
        ("SEQ(A, B, C){1,2}", ["A", "B", "C!"] * 2, {(i, i + 1) for i in range(6)}),
        ("SEQ(X, A{0,2}, B{2,})", ["X", "A", "A", "B", "B!"],
         {(0, 1), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4), (4, 5), (5, 5)}),
    ],
)  # fmt: skip
def test_states_and_steps(pattern: str, states: list[str], arrows: set[tuple[int, int]]) -> None:
    """A state per event of the pattern, in the order in which they are read."""
    automaton = only(f"PATTERN {pattern}")
    assert (names(automaton), steps(automaton)) == (states, arrows)


def test_conditions_are_at_their_place() -> None:
    where = "S.price > NEXT(S).price AND S.volume < NEXT(S).volume AND S.price > 3 AND [company]"
    automaton = only(f"PATTERN Stock S+ WHERE {where}")
    assert automaton.edges == (
        GraphEdge(0, 1),
        GraphEdge(1, 1, ("S.price > NEXT(S).price", "S.volume < NEXT(S).volume")),
    )
    assert automaton.nodes == (GraphNode("start"), GraphNode("state", "S", "Stock", ("S.price > 3",), True))


def test_a_negated_condition_is_no_forbidden_pattern() -> None:
    svg = to_svg(planned("PATTERN A+ WHERE NOT A.x = NEXT(A).x"))
    assert '<text class="said"' in svg and '<text class="not"' not in svg


def test_negation_is_on_the_steps_that_it_guards() -> None:
    automaton = only("PATTERN SEQ(NOT Accident X, A, NOT SEQ(C, D), B?, NOT E)")
    assert [node.kind for node in automaton.nodes] == ["start", "state", "state", "end"]
    assert {(edge.source, edge.target): edge.texts for edge in automaton.edges} == {
        (0, 1): ("NOT Accident X",),
        (1, 2): ("NOT SEQ(C, D)",),
        (1, 3): ("NOT SEQ(C, D)", "NOT E"),
        (2, 3): ("NOT E",),
    }


def test_and_has_two() -> None:
    one, two = automata(planned("PATTERN A+ AND SEQ(B, C)"))
    assert (names(one), names(two)) == (["A!"], ["B", "C!"])
    svg = to_svg(planned("PATTERN A+ AND SEQ(B, C)"))
    assert ">AND</text>" in svg


def test_ambiguous_patterns_have_a_note() -> None:
    assert not only("PATTERN SEQ(A+, B+)").notes
    assert "counts once" in only("PATTERN SEQ(A+, A+)").notes[0]
    assert "counts once" in to_svg(planned("PATTERN SEQ(A+, A+)"))


@pytest.mark.parametrize(("pattern", "more"), [("SEQ(A, B{15}, C)", 1), ("(SEQ(A, B{0,40}))+", 25)])
def test_many_states_are_not_all_drawn(pattern: str, more: int) -> None:
    automaton = only(f"PATTERN {pattern}")
    assert len(names(automaton)) == MOST_STATES
    assert automaton.nodes[-1] == GraphNode("more", f"and {more} state{'s' * (more > 1)} more")
    last = len(automaton.nodes) - 1
    assert (last - 1, last) in steps(automaton) and (last, last) not in steps(automaton)
    assert f"… and {more} state" in to_svg(planned(f"PATTERN {pattern}"))


@pytest.mark.parametrize("name", ['a<b"&', "]]>", "\\N\\", "é株", "a\x00b\x1bc", "</text>", "x" * 200, "{|}"])
def test_odd_names(name: str) -> None:
    """Names are escaped, and cut if they are long; what XML cannot hold is replaced."""
    made = planned(f"PATTERN SEQ(`{name}`, NOT `{name}` n, B+) WHERE B.`{name}` < NEXT(B).`{name}`")
    root = ElementTree.fromstring(to_svg(made))
    shown = re.sub("[\x00\x1b]", "\N{REPLACEMENT CHARACTER}", name)
    assert shown in [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    quoted = re.sub("[\x00\x1b]", "\N{REPLACEMENT CHARACTER}", name).replace("\\", "\\\\").replace('"', '\\"')
    assert f'[label="{quoted}"]' in to_dot(made)


def crossed(automaton: Automaton) -> bool:
    """Tell whether two lanes of one automaton lie on each other, or a corner has no room."""
    layout = AutomatonLayout(automaton)
    runs = []
    for lane in layout.lanes:
        ends = (*lane.departures.values(), lane.arrival)
        runs.append((lane.above, lane.y, min(ends), max(ends)))
        if max(ends) - min(ends) < 2 * BEND:
            return True
    return any(
        a is not b and a[0] == b[0] and abs(a[1] - b[1]) < 5 and a[2] < b[3] and b[2] < a[3]
        for a in runs
        for b in runs
    )


@settings(max_examples=cases(150), deadline=None)
@given(case(max_rows=0))
def test_every_query_has_its_picture(drawn: Case) -> None:
    """Pictures are well-formed, the same each time, show every label, and no two arrows lie on each other."""
    made = plan(drawn.bound())
    svg = to_svg(made)
    assert svg == to_svg(plan(drawn.bound()))
    texts = {element.text for element in ElementTree.fromstring(svg).iter() if element.text}
    shown = automata(made)
    states = [node for automaton in shown for node in automaton.nodes if node.kind == "state"]
    assert {node.label for node in states} <= texts
    assert not any(map(crossed, shown))
    forbidden = sum(len(edge.forbidden) for automaton in shown for edge in automaton.edges)
    assert bool(forbidden) == any(label.negated for label in made.bound.labels)
    outside = re.sub(r'"(\\.|[^"\\])*"', "", to_dot(made))  # of quoted text
    assert '"' not in outside and outside.count("{") == outside.count("}")
