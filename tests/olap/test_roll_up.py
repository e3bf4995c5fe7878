"""Rolled up and drilled down queries: they are those that one would write, and say the same of the same labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.strategies import KINDS, Case
from tests.conformance.test_random import same, table

import sparkleene as sk
from sparkleene.language import parse, parse_expression, to_text
from sparkleene.language.bind import bind
from sparkleene.language.bound import Label
from sparkleene.language.trees import atoms
from sparkleene.olap.hierarchy import Hierarchy
from sparkleene.reference import evaluate

CITIES = {"Dallas": "Texas", "Austin": "Texas", "Texas": "USA", "Tulsa": "Oklahoma", "Oklahoma": "USA"}


def q(pattern: str, rest: str = "", returns: str = "COUNT(*)", **options: Any) -> sk.Query:
    return sk.query(f"RETURN {returns} PATTERN {pattern} {rest}", hierarchy=CITIES, **options)


def clauses(query: sk.Query) -> list[str]:
    return query.text.splitlines()


# ---- queries with concepts


def test_a_query_may_name_concepts(tmp_path: Path) -> None:
    rows = pa.table({"time": range(5), "type": ["Dallas", "Tulsa", "Texas", "Bus", "Tulsa"]})
    (tmp_path / "tree.json").write_text(json.dumps(CITIES))
    for tree in (CITIES, tmp_path / "tree.json", str(tmp_path / "tree.json")):
        made = sk.query("RETURN COUNT(*) PATTERN SEQ(Texas, NOT Bus, Oklahoma)", hierarchy=tree)
        assert made.run(rows).to_pylist() == [{"count": 1.0}]
        none = sk.query("RETURN COUNT(*) PATTERN SEQ(Dallas, NOT Oklahoma o, Tulsa)", hierarchy=tree)
        assert none.run(rows).to_pylist() == [{"count": 1.0}]
    with pytest.raises(sk.QueryError, match="types in a column"):
        q("A", type=None)
    with pytest.raises(sk.QueryError, match="types in a column"):
        q("A", types={"A": "x > 1"})
    with pytest.raises(sk.QueryError, match="in a circle"):
        sk.query("RETURN COUNT(*) PATTERN A", hierarchy={"A": "B", "B": "A"})


# ---- concepts up and down


@pytest.mark.parametrize(
    ("pattern", "name", "to", "made"),
    [
        ("SEQ(Dallas, Tulsa)", "Dallas", None, "SEQ(Texas Dallas, Tulsa)"),
        ("SEQ(Dallas d, Tulsa)", "Dallas", None, "SEQ(Texas d, Tulsa)"),
        ("SEQ(Dallas d, Tulsa)", "d", "USA", "SEQ(USA d, Tulsa)"),
        ("SEQ(Dallas d, Dallas e+)", "Dallas", None, "SEQ(Texas d, Texas e+)"),
        ("SEQ(Dallas d, Dallas e+)", "e", None, "SEQ(Dallas d, Texas e+)"),
        ("SEQ(Dallas, Dallas)", "Dallas", None, "SEQ(Texas Dallas, Texas Dallas)"),
        ("SEQ(Tulsa, NOT Dallas, Bus)", "Dallas", None, "SEQ(Tulsa, NOT Texas Dallas, Bus)"),
        ("(Dallas OR SEQ(Tulsa, Bus))+", "Tulsa", None, "(Dallas OR SEQ(Oklahoma Tulsa, Bus))+"),
        ("Dallas Texas", "Texas", None, "Texas"),
    ],
)
def test_types_rise(pattern: str, name: str, to: str | None, made: str) -> None:
    assert clauses(q(pattern).roll_up(name, to))[1] == f"PATTERN {made}"


@pytest.mark.parametrize(
    ("pattern", "name", "to", "made"),
    [
        ("SEQ(Texas, Bus)", "Texas", "Dallas", "SEQ(Dallas Texas, Bus)"),
        ("SEQ(USA u, Bus)", "u", "Austin", "SEQ(Austin u, Bus)"),
        ("SEQ(Texas Dallas, Bus)", "Dallas", "Dallas", "SEQ(Dallas, Bus)"),
    ],
)
def test_types_sink(pattern: str, name: str, to: str, made: str) -> None:
    assert clauses(q(pattern).drill_down(name, to))[1] == f"PATTERN {made}"


def test_words_go_on_meaning_the_same() -> None:
    made = q(
        "SEQ(Dallas d, Bus b, Dallas e)",
        "WHERE Dallas.x > 1 AND Bus.x > 2 AND [Dallas.k] AND d.y < b.y GROUP-BY Dallas.k, b.k",
        "Dallas.k, COUNT(Dallas), SUM(d.x)",
    )
    assert clauses(made.roll_up("Dallas")) == [
        "RETURN Texas.k AS Dallas_k, COUNT(Texas) AS count_Dallas, SUM(d.x)",
        "PATTERN SEQ(Texas d, Bus b, Texas e)",
        "WHERE Texas.x > 1 AND Bus.x > 2 AND [Texas.k] AND d.y < b.y",
        "GROUP-BY Texas.k, b.k",
    ]
    with pytest.raises(sk.QueryError, match="means what 'Dallas' did: d, e"):
        made.roll_up("d")
    one = q("SEQ(Dallas d, Texas)", "WHERE Texas.x > 1 AND Dallas.x > 2").roll_up("d")
    assert clauses(one)[1:] == ["PATTERN SEQ(Texas d, Texas)", "WHERE Texas.x > 1 AND d.x > 2"]


TREE = Hierarchy({"A": "E", "B": "E", "C": "F", "E": "F", "D": "G"})


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@given(data=st.data())
@settings(max_examples=cases(150))
def test_only_the_type_is_another(up: bool, data: st.DataObject) -> None:
    """Compare with the same bound query in which the labels have other types."""
    case = data.draw(strategies.case(max_rows=9))
    tree = parse(case.text)
    if not up:  # begin with concepts
        for kind in dict.fromkeys(atom.type for atom, _ in atoms(tree.pattern)):
            begun = compiled(case, to_text(tree))
            tree = parse(said(lambda q=begun, k=kind: q.roll_up(k, "F" if k != "D" else None)).text)
    kinds = sorted({atom.type for atom, _ in atoms(tree.pattern)} & set("ABCD" if up else "FG"))
    kind = data.draw(st.sampled_from(kinds))
    above = ["E", "F"] if kind in "AB" else [TREE.parents.get(kind, "")]
    others = above if up else TREE.below(kind)[1:]
    to = data.draw(st.sampled_from(others))
    query = compiled(case, to_text(tree))
    made = said(lambda: query.roll_up(kind, to) if up else query.drill_down(kind, to))
    note(f"{case}\n{made.text}")
    old = bind(tree, columns=KINDS)
    word = frozenset(label.name for label in old.labels if label.name == kind)
    chosen = word or {label.name for label in old.labels if label.type == kind}
    labels = tuple(label if label.name not in chosen else changed(label, to) for label in old.labels)
    types = TREE.type_conditions({label.type for label in labels}, "type")
    terms = bind(parse(f"RETURN COUNT(*) PATTERN {' OR '.join(types)}"), columns=KINDS, types={
        name: parse_expression(text) for name, text in types.items()
    }).types  # fmt: skip
    meant = replace(old, labels=labels, types=terms)
    expected = evaluate(meant, case.rows, time=case.time, tiebreak=case.tiebreak, offset=case.offset)
    found = made.run(table(case)).to_pylist()
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        assert list(row) == list(wanted)
        assert all(same(row[name], value) for name, value in wanted.items()), (row, wanted)


def said(make: Callable[[], sk.Query]) -> sk.Query:
    """Return a query, unless some of its words meant labels for which the new pattern has no word."""
    try:
        return make()
    except sk.QueryError as error:
        assume("no word of the new pattern" not in str(error))
        raise


def changed(label: Label, kind: str) -> Label:
    return replace(label, type=kind)


def compiled(case: Case, text: str) -> sk.Query:
    try:
        return sk.query(
            text,
            time=case.time,
            tiebreak=case.tiebreak,
            offset=case.offset,
            numbers=case.numbers,  # type: ignore[arg-type]
            hierarchy=TREE.parents,
        )
    except sk.QueryError as error:
        assume(error.diagnostics[0].code not in ("ambiguous-negation", "pattern-too-large"))
        raise


# ---- patterns


@pytest.mark.parametrize(
    ("pattern", "how", "made"),
    [
        ("SEQ(G, A, T)", {"insert": "D", "after": "G"}, "SEQ(G, D, A, T)"),
        ("SEQ(G, A, T)", {"insert": "D", "before": "G"}, "SEQ(D, G, A, T)"),
        ("SEQ(G, A, T)", {"insert": "NOT D", "after": "G"}, "SEQ(G, NOT D, A, T)"),
        ("SEQ(G, A, T)", {"insert": sk.no(sk.seq("D", "E")), "before": "T"}, "SEQ(G, A, NOT SEQ(D, E), T)"),
        ("G", {"insert": "D+", "after": "G"}, "SEQ(G, D+)"),
        ("G x+", {"insert": "D", "before": "G"}, "SEQ(D, G x+)"),
        ("SEQ(G+, NOT C, T)", {"insert": "D", "before": "C"}, "SEQ(G+, D, NOT C, T)"),
        ("(SEQ(G, T))+", {"insert": "D", "after": "G"}, "SEQ(G, D, T)+"),
        ("(G OR H)+", {"insert": "D", "after": "H"}, "(G OR SEQ(H, D))+"),
        ("SEQ(G, NOT SEQ(C, E), T)", {"insert": "D", "before": "E"}, "SEQ(G, D, NOT SEQ(C, E), T)"),
    ],
)
def test_types_are_put_in(pattern: str, how: dict[str, Any], made: str) -> None:
    assert clauses(q(pattern).drill_down(**how))[1] == f"PATTERN {made}"


@pytest.mark.parametrize(
    ("pattern", "where", "made", "left"),
    [
        ("SEQ(G, D, T)", "D.x > 1 AND [D.k]", "SEQ(G, T)", ""),
        ("SEQ(G, D, T)", "G.x > 1 AND [k, D.k]", "SEQ(G, T)", "G.x > 1 AND [k]"),
        ("SEQ(G, NOT D, T)", "D.x > 1", "SEQ(G, T)", ""),
        ("SEQ(G, NOT SEQ(C, D), T)", "C.x > 1", "SEQ(G, NOT C, T)", "C.x > 1"),
        ("SEQ(G, D d, D e)", "D.x > d.y", "G", ""),
        ("SEQ(G, D+)", "G.k = D.k", "G", ""),
        ("(G OR D)+", "(x > 1 OR y > 2)", "G+", "x > 1 OR y > 2"),
        ("SEQ(G, D, T)", "G.k = D.k = T.k AND (D.x > 1 AND (G.x > 2 AND T.x > 3))", "SEQ(G, T)",
         "G.k = T.k AND G.x > 2 AND T.x > 3"),
        ("G+ AND D", "", "G+", ""),
    ],
)  # fmt: skip
def test_types_are_taken_out(pattern: str, where: str, made: str, left: str) -> None:
    found = clauses(q(pattern, f"WHERE {where}" if where else "").roll_up(remove="D"))
    assert found[1:] == [f"PATTERN {made}", *([f"WHERE {left}"] if left else [])]


def test_what_a_type_name_means_when_a_label_goes() -> None:
    made = q("SEQ(D d, D e, D f)", "WHERE D.x > 1", "COUNT(D)").roll_up(remove="f")
    assert clauses(made) == ["RETURN COUNT(D)", "PATTERN SEQ(D d, D e)", "WHERE D.x > 1"]


# ---- around it


def test_options_are_kept() -> None:
    given: dict[str, Any] = {
        "time": "ts", "type": "kind", "tiebreak": "n", "numbers": "exact", "offset": timedelta(seconds=5),
        "time_unit": "seconds",
    }  # fmt: skip
    made = q("SEQ(Dallas, Tulsa)", "WITHIN 10 seconds SLIDE 10 seconds", **given)
    for other in (
        made.roll_up("Dallas").drill_down("Dallas", "Austin"),
        made.drill_down(insert="Bus", after="Dallas").roll_up(remove="Bus"),
    ):
        assert other.prepared.options == made.prepared.options
    assert other.text == to_text(parse(made.text))
    rows = pa.table({"ts": [1, 6, 7], "n": [1, 1, 1], "kind": ["Austin", "Dallas", "Tulsa"]})
    assert made.roll_up("Dallas").run(rows).to_pylist() == [{"window_start": 5, "window_end": 15, "count": "1"}]
    typed = sk.query("RETURN COUNT(*) PATTERN SEQ(A, B)", types={"A": "x > 1", "B": "x < 1", "C": "x = 1"})
    assert typed.drill_down(insert="C", after="A").run(pa.table({"time": range(3), "x": [2, 1, 0]})).num_rows


def test_a_hierarchy_can_be_given_later() -> None:
    plain = sk.query("RETURN COUNT(*) PATTERN SEQ(Dallas, Tulsa)")
    made = plain.roll_up("Dallas", hierarchy=CITIES).roll_up("Tulsa")
    assert clauses(made)[1] == "PATTERN SEQ(Texas Dallas, Oklahoma Tulsa)"
    rows = pa.table({"time": [1, 2, 3], "type": ["Austin", "Dallas", "Tulsa"]})
    assert made.run(rows).to_pylist() == [{"count": 2.0}]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda made: made.roll_up("Dalas"), "no label or event type 'Dalas'(?s:.*)did you mean 'Dallas'"),
        (lambda made: made.roll_up("Bus"), "no concept above 'Bus'(?s:.*)Austin, Dallas, Oklahoma"),
        (lambda made: made.roll_up("Dallas", "Txas"), "'Txas' is not above 'Dallas'(?s:.*)mean 'Texas'"),
        (lambda made: made.drill_down("Dallas", "Austin"), "not below 'Dallas'(?s:.*)nothing is below"),
        (lambda made: made.drill_down("Texas", "Dalas"), "below it are Dallas, Austin(?s:.*)mean 'Dallas'"),
        (lambda made: made.roll_up(), "what is to be rolled up"),
        (lambda made: made.roll_up("Dallas", remove="Bus"), "what is to be rolled up"),
        (lambda made: made.drill_down("Texas"), "what is to be drilled down to"),
        (lambda made: made.drill_down(insert="D"), "where is the type to be put in"),
        (lambda made: made.drill_down(insert="D", after="Bus", before="Bus"), "where is the type"),
        (lambda made: made.drill_down(insert="D+ E+", after="Bus"), "error\\[syntax\\]|expected"),
        (lambda made: made.drill_down(insert="NOT Bus", after="Bus"), "label-across-negation"),
        (lambda made: made.roll_up(remove="Texas"), "RETURN names what is taken out"),
        (lambda made: sk.query("RETURN COUNT(*) PATTERN A").roll_up("A"), "the query has no hierarchy"),
        (lambda made: sk.query("RETURN COUNT(*) PATTERN A").roll_up(remove="A"), "nothing is left"),
        (lambda made: q("SEQ(A, B, A)").drill_down(insert="D", after="A"), "stands in the pattern 2 times"),
    ],
)
def test_errors_say_what_there_is(ask: Callable[[sk.Query], Any], told: str) -> None:
    made = q("SEQ(Dallas, Texas, Bus)", returns="COUNT(Texas)")
    with pytest.raises(sk.QueryError, match=told):
        ask(made)
