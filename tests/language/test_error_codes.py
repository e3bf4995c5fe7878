"""Every error code of the sources is in the table of docs/reference/errors.md, and every code there is in use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparkleene as sk
from sparkleene import QueryError

ROOT = Path(__file__).parents[2]
REPORTERS = {"Diagnostic", "report", "note", "fail", "failure", "error", "mistake", "_error", "usage_error"}
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)+|limit|overflow|spark")


def arguments(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions of a node that make a code."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in REPORTERS:
            yield from node.args  # no message and no help is a single hyphenated word
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "code")
        case ast.Assign(targets=[ast.Name(id="code")], value=value):
            yield value
        case ast.Return(value=ast.Tuple(elts=[first, *_])):
            yield first


def used() -> set[str]:
    nodes = [node for path in ROOT.glob("src/sparkleene/**/*.py") for node in ast.walk(ast.parse(path.read_text()))]
    texts = [part.value for node in nodes for each in arguments(node) for part in ast.walk(each)
             if isinstance(part, ast.Constant) and isinstance(part.value, str)]  # fmt: skip
    return {text for text in texts if CODE.fullmatch(text)}


def listed() -> list[str]:
    text = (ROOT / "docs" / "reference" / "errors.md").read_text()
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def test_the_table_lists_the_codes_in_use() -> None:
    assert set(listed()) == used()


def test_the_table_is_in_order() -> None:
    assert listed() == sorted(set(listed()))


def test_very_long_lines_are_shown_around_the_place() -> None:
    text = "RETURN COUNT(*) PATTERN A WHERE " + " AND ".join(["A.x > 0"] * 5000) + " AND A.y @ 3"
    with pytest.raises(QueryError) as caught:
        sk.query(text)
    lines = str(caught.value).splitlines()
    shown, carets = (line.partition("| ")[2] for line in lines[3:5])
    assert len(shown) <= 160
    assert shown[carets.index("^")] == "@"
