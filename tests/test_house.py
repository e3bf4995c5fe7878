"""What keeps the code easy to enter: short argument lists, no private names of others, no circles of imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.test_imports import FILES, PACKAGE, imports

MOST_ARGUMENTS = 10
MOST_LINES = 520
NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make"}  # public, in spite of their names
PYSPARK = {"_active_spark_context", "_gateway"}  # there is no other way to ask
NUMBA = {"_cache"}  # where a dispatcher keeps compiled code
OPEN = NAMED_TUPLES | PYSPARK | NUMBA


def argument_counts(tree: ast.AST) -> Iterator[tuple[str, int, int]]:
    """Yield the functions of a module: name, line and number of arguments, without `self`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = node.args
            names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            yield node.name, node.lineno, len([name for name in names if name not in ("self", "cls")])


def private_uses(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield where a module reaches for a private name of another module or of an object of another class."""
    own = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    }
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sparkleene"):
            yield from ((alias.name, node.lineno) for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own | OPEN:
            yield node.attr, node.lineno


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize("relative", FILES, ids=str)
def test_shapes(relative: Path) -> None:
    source = (PACKAGE / relative).read_text()
    tree = ast.parse(source)
    wrong = [f"{relative}:{line}: {name} is private to another place" for name, line in private_uses(tree)]
    if relative.parts[0] != "cli":  # commands have an argument for each option
        wrong += [
            f"{relative}:{line}: {name} has {count} arguments, {MOST_ARGUMENTS} is the most"
            for name, line, count in argument_counts(tree)
            if count > MOST_ARGUMENTS
        ]
    lines = source.count("\n")
    if lines > MOST_LINES:
        wrong.append(f"{relative} has {lines} lines, {MOST_LINES} is the most")
    assert not wrong, "\n".join(wrong)


def test_no_circles() -> None:
    """Modules that wait for each other at import cannot be read one after the other."""
    modules = {
        ".".join(("sparkleene", *path.with_suffix("").parts)).removesuffix(".__init__"): path for path in FILES
    }
    needs: dict[str, set[str]] = {}
    for name, path in modules.items():
        package = ".".join(["sparkleene", *path.parts[:-1]])
        found = imports(ast.parse((PACKAGE / path).read_text()), package)
        eager = [target for target, _, lazy in found if not lazy]
        needs[name] = {t if t in modules else t.rpartition(".")[0] for t in eager} & modules.keys() - {name}
    done: set[str] = set()
    while ready := {name for name, wanted in needs.items() if wanted <= done} - done:
        done |= ready
    assert not needs.keys() - done, sorted(needs.keys() - done)
