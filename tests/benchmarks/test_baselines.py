"""Every baseline finds what Sparkleene finds, on random streams: else its times would mean nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest
from benchmarks import baselines, figures
from benchmarks.experiments import EXPERIMENTS, OURS
from tests.chance import chance

import sparkleene as sk
from sparkleene import reference

SEMANTICS = ("skip-till-any-match", "skip-till-next-match", "contiguous")
PATTERNS = (
    "A+", "SEQ(A+, B)", "(SEQ(A+, B))+", "SEQ(A, B+, C)", "(A OR B)+",
    "SEQ(A, NOT C, B)", "SEQ(B, A, NOT C)", "SEQ(NOT C, A+)",
)  # fmt: skip
CONDITIONS = ("", "A.x < NEXT(A).x", "A.x >= NEXT(A).x AND A.y <> NEXT(A).y")
WINDOWS = ("", "WITHIN 9 SLIDE 9", "WITHIN 9 SLIDE 2")


def stream(random, events: int) -> pa.Table:
    """Return a stream of four types, two keys, and few values."""
    columns = {
        "time": sorted(random.sample(range(2 * events), events)),
        "type": random.choices("ABCD", k=events),
        "k": random.choices("uv", k=events),
        "x": [float(random.randrange(4)) for _ in range(events)],
        "y": [float(random.randrange(3)) for _ in range(events)],
    }
    return pa.table(columns)


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_baselines_find_what_we_find(semantics: str) -> None:
    random = chance(f"baselines {semantics}")
    compared = 0
    for _ in range(25):
        pattern, window = random.choice(PATTERNS), random.choice(WINDOWS)
        condition = random.choice(CONDITIONS) if "A+" in pattern else ""
        where = f"WHERE [k]{' AND ' if condition else ''}{condition}"
        text = f"RETURN k, COUNT(*) PATTERN {pattern} SEMANTICS {semantics} {where} GROUP-BY k {window}"
        query, table = sk.query(text), stream(random, random.randint(0, 18))
        wanted = sorted(baselines.run_ours(query, table))
        for system in ("two-step", "event graph", *(() if condition else ("flattened", "per window"))):
            assert sorted(baselines.run(system, query, table)) == wanted, f"{system}: {text}"
        compared += len(wanted)
    assert compared > 20


def test_windows_per_trigger() -> None:
    random = chance("baselines per trigger")
    for pattern in ("SEQ(A, B)", "SEQ(A, B, C)", "SEQ(A, B, NOT D, C)", "SEQ(A, B, C, D)"):
        query = sk.query(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 40")
        for _ in range(4):
            table = stream(random, 50)
            wanted = baselines.run_ours(query, table)
            assert wanted
            for system in ("prefix counts", "sequences built"):
                assert baselines.run(system, query, table) == wanted, f"{system}: {pattern}"


@pytest.mark.parametrize("paper", ["cogra", "greta", "aseq", "hamlet"])
def test_figures_ask_what_all_systems_can_answer(paper: str) -> None:
    for experiment in EXPERIMENTS.values():
        if not experiment.name.startswith(paper):
            continue
        texts, table = experiment.ask(min(experiment.quick))
        few = dict(list(texts.items())[:3])
        found = {
            system: figures.summary(figures.solver(system, few, 1)(table.slice(0, 14)))
            for system in experiment.systems
        }
        assert all(one == found[OURS] for one in found.values()), (experiment.name, found)


def test_the_judge_agrees() -> None:
    table = stream(chance("baselines and the reference"), 12)
    query = sk.query("RETURN COUNT(*) PATTERN (SEQ(A+, B))+ SEMANTICS skip-till-next-match")
    rows = reference.evaluate(query.plan.bound, table.to_pylist())
    assert baselines.run("two-step", query, table) == [row["count"] for row in rows]


def test_what_a_baseline_cannot_do_is_said() -> None:
    table = pa.table({"time": [1, 2], "type": ["A", "A"], "x": [1.0, 2.0]})
    falls = sk.query("RETURN COUNT(*) PATTERN A+ WHERE A.x > NEXT(A).x")
    with pytest.raises(ValueError, match="no comparisons"):
        baselines.run("flattened", falls, table)
    with pytest.raises(ValueError, match="event graph"):
        baselines.run("per window", falls, table)
    with pytest.raises(ValueError, match="two attributes only"):
        baselines.run("event graph", sk.query("RETURN COUNT(*) PATTERN A+ WHERE A.x * NEXT(A).x > 1"), table)
    with pytest.raises(ValueError, match="simultaneous"):
        baselines.run("event graph", falls, pa.concat_tables([table, table]))
