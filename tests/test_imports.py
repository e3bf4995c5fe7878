"""Imports are cheap, and between the folders of the package they point one way."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "sparkleene"

# A module imports from its own layer and from earlier ones.
LAYERS = (
    {"collector", "errors", "interrupts", "threads"},
    {"language"},
    {"plan"},
    {"kernels"},
    {"columns"},
    {"engine"},
    {"ongoing"},
    {"workload"},
    {"olap"},
    {"options"},
    {"funnel"},
    {"prepared"},
    {"spark"},
    {"serve"},
    {"cli", "__main__"},
)
FACADES = {"__init__", "cube", "evaluation", "query", "funnel/__init__", "workload/__init__"}
DOORS = {Path("spark", "__init__.py")}  # may wait for a call and then import a facade
ALLOWED = {name: set().union(*LAYERS[: i + 1]) for i, layer in enumerate(LAYERS) for name in layer}
ALLOWED |= {
    "kernels": {"kernels", "collector"},
    # It shares no code with what it judges.
    "reference": {"reference", "reference_calendar", "reference_events", "reference_values", "errors", "language"},
    "reference_calendar": {"reference_calendar", "errors", "language"},
    "reference_events": {"reference_events", "reference_values", "errors", "language"},
    "reference_values": {"reference_values", "errors", "language"},
    "generators": {"generators", "errors"},
    "charts": {"charts", "errors"},
    "draw": {"draw", "language", "plan", "olap"},
} | {name: FACADES | {"collector", "errors", "language", "plan", "options", "prepared"} for name in FACADES}
ALLOWED["funnel/__init__"] = ALLOWED["funnel/__init__"] | {"funnel"}
for top in LAYERS[-1]:
    ALLOWED[top] |= FACADES | {"reference", "charts"}
ALLOWED["serve"] |= FACADES | {"charts"}
for user in ({"spark"}, {"serve"}, *LAYERS[-1:]):
    for name in user:
        ALLOWED[name].add("generators")

KERNELS_MAY_USE = {"llvmlite", "numba", "numpy"}

Import = tuple[str, int, bool]  # dotted name, line, and whether it waits for a call or only serves types


def imports(tree: ast.AST, package: str, lazy: bool = False) -> Iterator[Import]:
    """Find the imports of a module; `from x import y` gives x.y, for y may be a module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, lazy
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base]).rstrip(".")
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno, lazy
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(node, package, True)
        else:
            deferred = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(node, package, lazy or deferred)


def unit(relative: Path) -> str:
    """Return the folder or module right under the package that a file belongs to, or the facade that it is."""
    name = relative.as_posix().removesuffix(".py")
    return name if name in FACADES else name.partition("/")[0]


def unit_of(dotted: str, units: set[str], modules: set[str]) -> str:
    """Return the unit that a dotted name below the package is imported from."""
    first, _, rest = dotted.partition(".")
    front = f"{first}/__init__"
    if front in units and f"{first}.{rest.partition('.')[0]}" not in modules:
        return front
    return first if first in units else "__init__"


def wrong_imports(relative: Path, source: str, units: set[str], modules: set[str]) -> list[str]:
    """Return what is wrong with the imports of one file, a line each."""
    name = unit(relative)
    if name not in ALLOWED:
        return [f"{name} has no place in the order of imports yet: add it to LAYERS in {Path(__file__).name}"]
    wrong = []
    package = ".".join(["sparkleene", *relative.parts[:-1]])
    for target, line, lazy in imports(ast.parse(source), package):
        root, _, rest = target.partition(".")
        if root == "sparkleene":
            imported = unit_of(rest, units, modules)
            waits = lazy and (name in FACADES or (relative in DOORS and imported in FACADES))
            if imported not in ALLOWED[name] and not waits:
                wrong.append(f"{relative}:{line}: {name} must not import {imported} ({target})")
        elif name == "kernels" and root not in KERNELS_MAY_USE | sys.stdlib_module_names:
            wrong.append(f"{relative}:{line}: kernels must not import {root}")
    return wrong


FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
UNITS = {unit(path) for path in FILES}
MODULES = {".".join(path.with_suffix("").parts) for path in FILES}


@pytest.mark.parametrize("relative", FILES, ids=str)
def test_imports_point_one_way(relative: Path) -> None:
    wrong = wrong_imports(relative, (PACKAGE / relative).read_text(), UNITS, MODULES)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("file", "source", "ok"),
    [
        ("plan/a.py", "from sparkleene.language.ast import Node", True),
        ("plan/a.py", "from . import b\nfrom .b import c\nfrom ..language import ast", True),
        ("plan/a.py", "from ..engine import run", False),
        ("plan/__init__.py", "from ..engine import run", False),
        ("plan/__init__.py", "from .a import run", True),
        ("plan/a.py", "import sparkleene.engine.run", False),
        ("plan/a.py", "from sparkleene import engine", False),
        ("plan/a.py", "from sparkleene import query", False),
        ("plan/a.py", "import sparkleene", False),
        ("plan/a.py", "def f():\n    from sparkleene.spark import batch", False),
        ("plan/a.py", "if TYPE_CHECKING:\n    from sparkleene.spark import batch", False),
        ("plan/a.py", "import numpy", True),
        ("engine/a.py", "from sparkleene.kernels import count", True),
        ("kernels/a.py", "import math, numba, numpy\nfrom sparkleene.kernels.b import c", True),
        ("kernels/a.py", "import pyarrow", False),
        ("kernels/a.py", "from sparkleene.errors import Diagnostic", False),
        ("reference.py", "from sparkleene.language.bound import Bound", True),
        ("reference.py", "from sparkleene.plan import automaton", False),
        ("cli.py", "from sparkleene import query, errors", True),
        ("query.py", "from sparkleene.spark import batch", False),
        ("query.py", "def f():\n    from sparkleene.spark import batch", True),
        ("__init__.py", "from sparkleene.query import query", True),
        ("__init__.py", "if TYPE_CHECKING:\n    from sparkleene.workload.stats import Stats", True),
        ("__init__.py", "from sparkleene.workload import workload", True),
        ("workload/__init__.py", "from sparkleene.query import query", True),
        ("workload/__init__.py", "from sparkleene.workload.stats import Stats", False),
        ("workload/__init__.py", "def f():\n    from sparkleene.workload.stats import Stats", True),
        ("workload/a.py", "from sparkleene.query import query", False),
        ("workload/a.py", "from sparkleene.workload import workload", False),
        ("workload/a.py", "from sparkleene.workload.stats import Stats", True),
        ("spark/a.py", "from sparkleene.workload.stats import Stats", True),
        ("spark/a.py", "from sparkleene.workload import workload", False),
        ("spark/__init__.py", "def f():\n    from sparkleene.query import query", True),
        ("spark/__init__.py", "from sparkleene.query import query", False),
        ("spark/a.py", "def f():\n    from sparkleene.query import query", False),
        ("novel/a.py", "import math", False),
    ],
)
def test_the_check_itself(file: str, source: str, ok: bool) -> None:
    units = set(ALLOWED) - {"__init__"}
    assert (wrong_imports(Path(file), source, units, {"workload.stats"}) == []) is ok


def test_an_unplaced_folder_says_what_to_do() -> None:
    [message] = wrong_imports(Path("novel/a.py"), "", {"novel"}, set())
    assert "add it to LAYERS" in message


def test_import_is_light() -> None:
    code = "import json, sys, sparkleene; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    print(done.stderr.splitlines()[-1])  # self [us] | cumulative | sparkleene: shown when this fails
    loaded = set(json.loads(done.stdout))
    assert "sparkleene" in loaded
    assert not loaded & {"matplotlib", "numba", "pandas", "polars", "pyspark", "rich", "typer"}


def test_a_driver_of_spark_does_without_the_compiler() -> None:
    code = "import sys, sparkleene.spark.source, sparkleene.spark.streaming; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
