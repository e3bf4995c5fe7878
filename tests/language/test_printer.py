"""Printed queries are canonical and read as the same tree."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from sparkleene.language import ast, expr_to_text, parse, parse_expression, pattern_to_text, to_text

IDENTITY = (Path(__file__).parent / "fixtures" / "identity.q").read_text(encoding="utf-8").split("\n---\n")


@pytest.mark.parametrize("text", [text.strip("\n") for text in IDENTITY])
def test_identity(text: str) -> None:
    """Canonical text prints as itself."""
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("((a))=(1)", "a = 1"),
        ("(a*b)+c>(0)", "a * b + c > 0"),
        ("a == 1 && !(b <> 2)", "a = 1 AND NOT b != 2"),
        ('a="it\'s"', "a = 'it''s'"),
        ("a = -(-1)", "a = - -1"),
        ("(a and b) or c", "a AND b OR c"),
        ("a = 100000000000000000000", "a = 100000000000000000000"),
        ("a = 0.50", "a = 0.5"),
    ],
)
def test_expression(text: str, printed: str) -> None:
    """Expressions lose parentheses that say nothing."""
    assert expr_to_text(parse_expression(text)) == printed


def test_clause_order() -> None:
    """Clauses are printed in one order, one per line; the default semantics is left out."""
    text = "within 90s slide 1s group by b where [a] semantics any pattern (((A|B)))+ agg count"
    lines = ["RETURN COUNT(*)", "PATTERN (A OR B)+", "WHERE [a]", "GROUP-BY b", "WITHIN 90 seconds SLIDE 1 second"]
    assert to_text(parse(text)).split("\n") == lines


def test_parts_alone() -> None:
    """Patterns and expressions are printed by themselves too."""
    assert pattern_to_text(ast.Repeat(ast.Not(ast.Atom("A")), 2, 3)) == "(NOT A){2,3}"
    assert expr_to_text(ast.Const(True)) == "TRUE"


def test_endless_fraction_is_rounded() -> None:
    """A duration that no text can hold is printed rounded instead of not at all."""
    within = ast.Within(ast.Duration(Fraction(1, 3), None), None)
    text = to_text(ast.Query(ast.Atom("A"), (ast.Item(ast.Aggregate("count")),), within=within))
    assert "WITHIN 0.3333" in text


@pytest.mark.parametrize("name", ["a-b", "a-b-c-d-e-f", "-".join("abcdefghij" * 5)])
def test_names_with_many_hyphens_are_read_back(name: str) -> None:
    text = f"{name}: RETURN COUNT(*)\nPATTERN A+"
    assert parse(text).name == name
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    "window",
    [
        "SESSION 30 minutes",
        "SESSION 1.5 MAX 3",
        "FROM x > 3",
        "FROM x > 3 OR type = 'Login' TO NOT y IS NULL MAX 2 hours",
        "FROM x IN (1, 2) MAX 1 day",
    ],
)
def test_windows_whose_borders_rows_draw(window: str) -> None:
    text = f"RETURN COUNT(*)\nPATTERN A+\nWITHIN {window}"
    assert to_text(parse(text)) == text
    assert parse(to_text(parse(text))) == parse(text)
