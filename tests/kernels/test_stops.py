"""Every kernel hands back control soon: it looks at the flag that tells it to stop, or has little to do."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene import interrupts

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "src" / "sparkleene" / "kernels"
ROWS, MORE = 100, 400
PIECE = 8
"""Rows between two looks of the kernels that are too fast to look at every tick; here it is small."""

RISES = "A.x < NEXT(A).x"
NEXT, SHORT, HIGHER = "SEMANTICS skip-till-next-match", "DURATION <= 30", "LAST(A.x) > FIRST(A.x)"
CASES = {
    "bursts": "RETURN COUNT(*) PATTERN SEQ(A, B+)\nRETURN COUNT(*) PATTERN SEQ(C, B+)",
    "divide": f"RETURN COUNT(*) PATTERN A+ WHERE {RISES} AND A.y > NEXT(A).y",
    "duration_counts": f"RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE {SHORT}",
    "fenwick": f"RETURN COUNT(*) PATTERN A+ WHERE {RISES}",
    "first_last": f"RETURN SUM(A.x) PATTERN A+ WHERE {HIGHER}",
    "heap": f"RETURN SUM(A.x) PATTERN SEQ(A+, B) {NEXT} WHERE {RISES}",
    "latest_starts": "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 40",
    "linear": "RETURN SUM(A.x), MIN(A.x) PATTERN SEQ(A+, B)",
    "matrices": "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 64 SLIDE 4",
    "maximal": "RETURN SUM(A.x) PATTERN (A | B)+ SEMANTICS contiguous maximal",
    "meeting_counts": f"RETURN COUNT(*) PATTERN A+ WHERE {HIGHER}",
    "participation": "RETURN COUNT(EACH A) PATTERN SEQ(A+, B)",
    "participation, stored": f"RETURN COUNT(EACH A) PATTERN A+ WHERE {RISES}",
    "queue": "RETURN SUM(A.x) PATTERN A+ WHERE GAP <= 20",
    "queue_counts": "RETURN COUNT(*) PATTERN A+ WHERE GAP <= 20",
    "row_stack_counts": "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 40 SLIDE 1",
    "row_stacks": "RETURN SUM(A.x), MIN(A.x) PATTERN SEQ(A+, B) WITHIN 40 SLIDE 1",
    "scan": "RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x > 3",
    "sort": "RETURN k, COUNT(*) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k",
    "start_queue": f"RETURN SUM(A.x) PATTERN SEQ(A+, B) WHERE {SHORT}",
    "word_totals": "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A, B)",
    "trends": f"RETURN COUNT(*) PATTERN A+ WHERE {RISES}",
    "wait_stack": f"RETURN COUNT(*) PATTERN A+ {NEXT} WHERE {RISES}",
    "walks": f"RETURN COUNT(*) PATTERN A+ WHERE {RISES}",
    "windows": "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 8 SLIDE 2",
    "words": "RETURN COUNT(*) PATTERN SEQ(A, B)",
}
"""A query for each module whose kernels look at the flag."""

ONE_PASS = {
    "columns": {"write_since", "find_largest", "mark_seen", "translate"},
    "contiguous_labels": {"observe"},  # of a piece of rows
    "inner_states": {"_find_stretches"},
    "matrices": {"collect_all"},
    "maximal": {"_find"},
    "results": {"pair_up", "add_to_cells"},
    "sort": {"survey", "ties", "by_code_into", "take", "unions"},
    "ticks": {"longest"},
    "whole_pairs": {"find_passes", "find_longest", "check_pairs"},
    "windows": {"windows", "sessions", "from_to", "trailing", "ticks"},
}
"""Kernels that go over rows or windows once, a few nanoseconds each: short by construction."""


class Flag:
    """A flag that counts in which modules it is looked at, and is set after some looks."""

    def __init__(self, most: float) -> None:
        self.looks: Counter[str] = Counter()
        self.most = most

    def __getitem__(self, place: int) -> bool:
        self.looks[sys._getframe(1).f_globals["__name__"].rpartition(".")[2]] += 1
        return self.looks.total() > self.most


def events(rows: int, shuffled: bool) -> pa.Table:
    order = [i * 37 % rows if shuffled else i for i in range(rows)]
    columns = {
        "time": order,
        "type": ["ABC"[i * 7 % 5 % 3] for i in order],
        "x": [float(i * 7 % 11) for i in order],
        "y": [float(i * 5 % 13) for i in order],
        "k": [i % 2 for i in order],
    }
    return pa.table(columns)


def question(name: str, rows: int) -> Callable[[], Any]:
    text, data = CASES[name], events(rows, name == "sort")
    if name == "bursts":
        texts = {str(i): one for i, one in enumerate(text.splitlines())}
        return lambda: sk.workload(texts, sharing="always").run(data, threads=1)
    if name in ("trends", "walks"):
        return partial(sk.query(text).trends, data, order="longest" if name == "trends" else "sample", limit=5)
    return partial(sk.query(text).run, data, threads=1)


def looks(name: str, rows: int, most: float = float("inf")) -> dict[str, int]:
    """Ask with a flag that is set after some looks, and return the looks by module."""
    flag = Flag(most)
    interrupts.stop_flag = lambda: flag  # type: ignore[assignment, return-value]
    try:
        question(name, rows)()
    except IndexError:  # of what was not counted to its end nothing can be drawn
        assert flag.looks.total() > most
    return dict(flag.looks)


def survey() -> dict[str, Any]:
    """Ask everything: over few rows, over more, and over more with a flag that is set halfway."""
    from sparkleene.engine import cost
    from sparkleene.kernels import wait_stack, word_totals, words

    warnings.simplefilter("ignore")
    word_totals.PIECE = words.PIECE = wait_stack.PIECE = PIECE  # type: ignore[attr-defined]
    found, sliding_way = {}, cost.sliding_way
    for name in CASES:
        cost.WORTH_WORDS = 0 if name in ("word_totals", "words") else 10**9
        way = {"matrices": "units", "row_stack_counts": "rows"}.get(name)
        cost.sliding_way = sliding_way if way is None else lambda *_, way=way: way  # type: ignore[assignment, misc]
        part = 2 if name in ("trends", "walks") else 1  # of more rows only a part is looked at
        few, more = looks(name, ROWS // part), looks(name, MORE // part)
        half = sum(more.values()) // 2
        found[name] = [few, more, sum(looks(name, MORE // part, half).values()) - half]
    return found


@pytest.fixture(scope="module")
def found() -> Any:
    """What a process finds in which kernels are plain Python."""
    code = "import json; from tests.kernels.test_stops import survey; print(json.dumps(survey()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_looks_while_it_works(found: Any, name: str) -> None:
    """Looks grow with the rows of one window, so that the work between two of them does not."""
    few, more, _ = found[name]
    module = name.partition(",")[0]
    least = (
        2 if module == "sort" else (MORE - ROWS) / (4 * PIECE)
    )  # sorting looks for every two runs that it merges
    assert more[module] - few.get(module, 0) >= least


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_ends_when_it_is_told_to(found: Any, name: str) -> None:
    assert found[name][2] <= 40


def test_every_kernel_is_of_one_kind_or_the_other() -> None:
    known = {(module, name) for module, names in ONE_PASS.items() for name in names}
    there = set()
    for path in KERNELS.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", ())]
            if isinstance(node, ast.FunctionDef) and any(mark.startswith("kernel") for mark in marks):
                there.add((path.stem, node.name))
    assert known < there
    assert {module for module, _ in there - known} == {name.partition(",")[0] for name in CASES}
