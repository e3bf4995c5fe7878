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
NUMBA = {
    "_cache", "_compile_for_args", "_types_active_call",  # of dispatchers
    "_data_layout", "_function_pass_manager", "_tm",  # of code generators
}  # fmt: skip
OPEN = NAMED_TUPLES | PYSPARK | NUMBA
SPEECH = {"told", "asked", "said"}
IRREGULAR = SPEECH | {
    "begun", "bought", "broken", "brought", "built", "chosen", "done", "drawn", "found", "given", "gone", "grown",
    "held", "hidden", "kept", "known", "left", "lost", "made", "meant", "seen", "sent", "shown", "taken", "thought",
    "thrown", "written",
}  # fmt: skip
BASE_FORMS = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed"}
ALLOWED_NAMES = {
    "named",  # of the builder, whose methods read like the query
    "expected", "joined", "moved", "saved",  # what sharing is expected to save
}  # fmt: skip


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


def participles(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield functions called by a past participle: it says neither what they do nor what they are asked.

    Properties may be: they say of their object what has become of it. So may what answers yes or no.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = " ".join(ast.unparse(mark) for mark in node.decorator_list)
            answers = node.returns is not None and ast.unparse(node.returns) == "bool"
            if "property" not in marks and not answers and is_participle(node.name.strip("_")):
                yield node.name, node.lineno


def is_participle(name: str) -> bool:
    first, _, rest = name.partition("_")
    if name in ALLOWED_NAMES:
        return False
    if name.endswith("_apart") or name == "apart":
        return True
    past = first in IRREGULAR or (first.endswith("ed") and first not in BASE_FORMS)
    return past and (not rest or first in SPEECH)


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
    wrong += [
        f"{relative}:{line}: {name} is a participle; call it by a verb, or by what it returns"
        for name, line in participles(tree)
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


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def _told(): ...", ["_told"]),
        ("def told_progress() -> None: ...", ["told_progress"]),
        ("class A:\n    def stopped(self) -> str: ...", ["stopped"]),
        ("def rows_apart() -> int: ...", ["rows_apart"]),
        ("def f():\n    def found(): ...", ["found"]),
        ("class A:\n    @property\n    def kept(self) -> int: ...", []),
        ("def skipped() -> bool: ...", []),
        ("def seed() -> int: ...\ndef finished_schema(): ...\ndef find_needed(): ...\ndef read(): ...", []),
    ],
)
def test_participles_are_seen(source: str, found: list[str]) -> None:
    assert [name for name, _ in participles(ast.parse(source))] == found
