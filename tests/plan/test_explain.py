"""What `explain` prints, as golden files; `make golden` rewrites them."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sparkleene.language import parse_expression
from sparkleene.language.bind import bind
from sparkleene.language.parser import parse
from sparkleene.plan.text import length, term_to_text
from sparkleene.query import Query

GOLDEN = Path(__file__).parent / "fixtures" / "explain"
PAPERS = Path(__file__).parents[1] / "language" / "fixtures" / "papers"
FILES = sorted([*GOLDEN.glob("*.q"), *PAPERS.glob("*.q")], key=lambda file: file.stem)
MOST_LINES = 65
WIDEST = 110


def query_of(file: Path) -> Query:
    """Compile the query of a file; a first line `-- options: {...}` holds the arguments beside it."""
    text = file.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    marker = "-- options: "
    options: dict[str, Any] = json.loads(first.removeprefix(marker)) if first.startswith(marker) else {}
    return Query(text, **options)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_golden(file: Path) -> None:
    """The text of each query is as its golden file has it, short and narrow enough to read."""
    printed = query_of(file).explain() + "\n"
    golden = GOLDEN / f"{file.stem}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(printed, encoding="utf-8")
    assert printed == golden.read_text(encoding="utf-8")
    assert len(printed.splitlines()) <= MOST_LINES
    planned = printed.partition("\nMatching\n")[2].splitlines()  # the query's own lines are as long as they are
    assert max(map(len, planned)) <= WIDEST
    assert not any(line != line.rstrip() for line in printed.splitlines())


def test_no_golden_file_is_left_over() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == {file.stem for file in FILES}


@pytest.mark.parametrize(
    ("condition", "printed"),
    [
        ("S.price>NEXT(S).price", "S.price > NEXT(S).price"),
        ("NEXT(S).price < S.price", "NEXT(S).price < S.price"),
        ("(S.a + S.b) * 2 >= -NEXT(S).c", "(S.a + S.b) * 2 >= -NEXT(S).c"),
        ("S.a - (NEXT(S).b - S.c) != 0", "S.a - (NEXT(S).b - S.c) != 0"),
        ("S.a IN (NEXT(S).a, 1)", "S.a IN (NEXT(S).a, 1)"),
        ("S.a NOT IN (NEXT(S).a, 'it''s')", "S.a NOT IN (NEXT(S).a, 'it''s')"),
        ("S.a NOT BETWEEN 1 AND NEXT(S).a", "NOT (S.a >= 1 AND S.a <= NEXT(S).a)"),
        ("S.a = NEXT(S).a OR S.b IS NOT NULL", "S.a = NEXT(S).a OR S.b IS NOT NULL"),
        ("(S.a IS NULL) = (NEXT(S).a IS NULL)", "(S.a IS NULL) = (NEXT(S).a IS NULL)"),
        ("NOT S.x.y.z % 2 = NEXT(S).`odd name`", "NOT S.x.y.z % 2 = NEXT(S).`odd name`"),
        ("S.a = NEXT(S).a OR TRUE", "S.a = NEXT(S).a OR TRUE"),
    ],
)
def test_terms(condition: str, printed: str) -> None:
    """Bound terms print as conditions that read as the same terms."""
    assert _adjacent(condition) == printed
    assert _adjacent(printed) == printed


def _adjacent(condition: str) -> str:
    bound = bind(parse(f"RETURN COUNT(*) PATTERN Stock S+ WHERE {condition}"))
    (found,) = bound.adjacent
    return term_to_text(found.condition, "S", "S")


def test_terms_without_labels() -> None:
    """Definitions of types have attributes alone."""
    bound = bind(parse("RETURN COUNT(*) PATTERN A+"), types={"A": parse_expression("x > 1 AND y.z < 2")})
    assert bound.types is not None
    assert term_to_text(bound.types[0][1]) == "x > 1 AND y.z < 2"


@pytest.mark.parametrize(
    ("value", "unit", "printed"),
    [
        (Fraction(1000), "milliseconds", "1 second"),
        (Fraction(1500), "milliseconds", "1500 milliseconds"),
        (Fraction(90 * 60_000), "milliseconds", "90 minutes"),
        (Fraction(7 * 86_400_000), "milliseconds", "7 days"),
        (Fraction(1, 2), "milliseconds", "0.5 milliseconds"),
        (Fraction(1), "events", "1 event"),
        (Fraction(12), "events", "12 events"),
        (Fraction(3), "time", "3"),
    ],
)
def test_lengths(value: Fraction, unit: Any, printed: str) -> None:
    assert length(value, unit) == printed
