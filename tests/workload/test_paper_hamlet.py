"""Examples of "To Share, or not to Share Online Event Trend Aggregation Over Bursty Event Streams" (2021)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.benefit import Burst, Cost, Snapshots, choose, plan_cost

import sparkleene as sk
from sparkleene.columns.reading import EngineOptions
from sparkleene.engine import bursts as engine_bursts
from sparkleene.engine.arrays import Arrays
from sparkleene.engine.run import Run
from sparkleene.kernels import bursts as kernel
from sparkleene.kernels.burst_arrays import BURST, CLOSED, PRODUCT, STEP
from sparkleene.kernels.vectors import Table
from sparkleene.language.query_files import read_query_file
from sparkleene.workload import Sharing, Workload, workload

SHARING: tuple[Sharing, ...] = ("always", "never", "auto")

pays, run_rows = nb.njit(kernel.pays.py_func), nb.njit(kernel.run_rows.py_func)  # helpers are not for Python


def compiled(made: Workload, rows: pa.Table) -> Arrays:
    """Return what the kernel is given for a workload that is one part."""
    (part,) = made.prepared.parts(tuple(rows.column_names))
    return Run(part, EngineOptions()).prepare(rows)[1]


# ---- tables 3, 4 and 5: snapshots

# Figures 4 and 5 are pictures. The tables fix two A and one C before b3, and 2 and 3 for A4 and C5; b7 begins B6.
# Of the edges among b3 to b6 all hold where v grows or stays, all but (b4, b5) where it grows.
STREAM = ["a1", "a2", "c1", "b3", "b4", "b5", "b6", "a3", "a4", "c2", "c3", "c4", "b7"]
V = {"b4": 1, "b5": 1, "b6": 2, "b7": 3}
PATTERNS = {"q1": "SEQ(A, B+)", "q2": "SEQ(C, B+)"}


def table(ids: Sequence[str]) -> pa.Table:
    values = [V.get(id, 0) for id in ids]
    return pa.table({"time": range(len(ids)), "type": [id[0].upper() for id in ids], "v": values})


def texts(**where: str) -> dict[str, str]:
    return {name: f"RETURN COUNT(*) PATTERN {pattern} {where.get(name, '')}" for name, pattern in PATTERNS.items()}


def totals(result: pa.Table) -> dict[str, int]:
    found = {row["query"]: int(row["count"]) for row in result.to_pylist()}
    return {name: found.get(name, 0) for name in PATTERNS}


def ending_at(id: str, where: dict[str, str]) -> dict[str, int]:
    """Return the intermediate trend count of an event for each query, however bursts are done."""
    at = STREAM.index(id)
    before, after = table(STREAM[:at]), table(STREAM[: at + 1])
    given = texts(**where)
    counts = {}
    for name, text in given.items():
        now, then = (sum(sk.query(text).run(rows)["count"].to_pylist()) for rows in (after, before))
        counts[name] = int(now - then)
    for sharing in SHARING:
        made = workload(given, sharing)
        now, then = totals(made.run(after)), totals(made.run(before))
        assert {name: now[name] - then[name] for name in now} == counts
    return counts


def starts(id: str) -> dict[str, int]:
    """Return how many trends began before an event: those of one A, and of one C."""
    at = STREAM.index(id)
    return {name: sum(one[0] == first for one in STREAM[:at]) for name, first in (("q1", "a"), ("q2", "c"))}


def test_table_3_shared_propagation() -> None:
    """The kernel's matrix of b3, of b3 and b4, and so on has the sums of the coefficients of x."""
    given = compiled(workload(texts()), table(STREAM))
    assert given.bursts is not None
    g = given.bursts.graphlets
    first = STREAM.index("b3")
    kind = g.set_of[given.events.symbol[first]]
    (group,) = range(g.group_off[kind], g.group_off[kind + 1])
    assert g.copy_off[group + 1] - g.copy_off[group] == 2  # q1 and q2 share one
    t = g.template[group]
    assert (g.inner[t], g.outer[t]) == (1, 1)  # B, and the snapshot x before it
    sums = [0]
    for length in (1, 2, 3, 4):
        none = np.zeros((2, 0))
        matrix, scratch = Table(np.eye(2), none), Table(np.zeros((2, 2)), none)
        burst = (group, first, first + length)
        run_rows(given.program, g, given.events, *burst, np.zeros(2, np.uint64), matrix, scratch)
        sums.append(int(matrix.value[0, 1]))
    assert [b - a for a, b in pairwise(sums)] == [1, 2, 4, 8]
    assert sums[-1] == 15  # 15 * 2 and 15 * 1 in table 4


def test_table_4_snapshots_of_graphlets() -> None:
    x = starts("b3")
    assert x == {"q1": 2, "q2": 1}
    for id, coefficient in zip(("b3", "b4", "b5", "b6"), (1, 2, 4, 8), strict=True):
        assert ending_at(id, {}) == {name: coefficient * x[name] for name in x}
    assert ending_at("b7", {}) == {"q1": 34, "q2": 19}  # y


@pytest.mark.parametrize("all_edges", ["", "WHERE B.v <= NEXT(B).v"], ids=["plain", "predicate"])
def test_table_5_snapshots_of_events(all_edges: str) -> None:
    where = {"q1": all_edges, "q2": "WHERE B.v < NEXT(B).v"}
    x, z = starts("b3"), ending_at("b5", where)
    assert z == {"q1": 8, "q2": 2}
    assert ending_at("b6", where) == {name: 4 * x[name] + z[name] for name in x} == {"q1": 16, "q2": 6}
    assert ending_at("b7", where) == {"q1": 34, "q2": 15}  # y


# ---- equations 8 to 10, figure 6: decisions

DECISIONS = [
    (Burst(b=4, n=7, g=4, t=2), Snapshots(1, 1), (44, 56, 12)),
    (Burst(b=4, n=11, g=8, t=2), Snapshots(2, 1), (120, 88, -32)),
    (Burst(b=4, n=15, g=4, t=2), Snapshots(1, 1), (76, 120, 44)),
]


def test_equations_8_to_10() -> None:
    for burst, snapshots, expected in DECISIONS:
        assert (burst.shared(2, snapshots), burst.apart(2), burst.benefit(2, snapshots)) == expected


def test_figure_6_decisions() -> None:
    made = []
    for burst, snapshots, _ in DECISIONS:
        cost = plan_cost(burst, snapshots, dict.fromkeys(PATTERNS, Snapshots()))
        made.append("merge" if choose(PATTERNS, set(), cost) == {"q1", "q2"} else "split")
    assert made == ["merge", "split", "merge"]


def test_equations_4_and_6_are_those_of_a_burst_as_long_as_the_window() -> None:
    n, s, k, g, t = 7, 3, 2, 4, 2
    assert Burst(n, n, g, t).apart(k) == k * n**2
    assert Burst(n, n, g, t).shared(k, Snapshots(s, s)) == n**2 * s + s * k * g * t


# ---- figure 7: the choice of queries


def plans(queries: Sequence[int]) -> Iterator[frozenset[int]]:
    """Enumerate plans by the queries that share, from all to none; one alone shares nothing."""
    for size in (*range(len(queries), 1, -1), 0):
        yield from map(frozenset, combinations(queries, size))


def written(plan: frozenset[int], queries: Sequence[int]) -> str:
    groups = [sorted(plan)] * bool(plan) + [[q] for q in queries if q not in plan]
    return "".join(f"({''.join(map(str, group))})" for group in groups)


FOUR = (1, 2, 3, 4)
LEVELS = [
    ["(1234)"],
    ["(123)(4)", "(124)(3)", "(134)(2)", "(234)(1)"],
    ["(12)(3)(4)", "(13)(2)(4)", "(14)(2)(3)", "(23)(1)(4)", "(24)(1)(3)", "(34)(1)(2)"],
    ["(1)(2)(3)(4)"],
]

# A burst of which query 2 creates a snapshot for later events only, and query 4 one for its own events too.
OWN = {1: Snapshots(), 2: Snapshots(0, 1), 3: Snapshots(), 4: Snapshots(1, 1)}
COST: Cost[int] = plan_cost(Burst(b=10, n=20, g=5, t=2), Snapshots(1, 1), OWN)


def test_figure_7_search_space() -> None:
    every = [written(plan, FOUR) for plan in plans(FOUR)]
    assert len(every) == 12
    assert every == [plan for level in LEVELS for plan in level]


def test_example_4_4_snapshots_prune() -> None:
    considered = [plan for plan in plans(FOUR) if {1, 3} <= plan]
    assert [written(plan, FOUR) for plan in considered] == ["(1234)", "(123)(4)", "(134)(2)", "(13)(2)(4)"]
    pruned = [plan for plan in plans(FOUR) if plan not in considered]
    assert len(pruned) == 8
    assert all(COST(plan | {1, 3}) < COST(plan) for plan in pruned)


def test_example_4_6_benefit_prunes() -> None:
    asked = []

    def cost(plan: frozenset[int]) -> float:
        asked.append(written(plan, FOUR))
        return COST(plan)

    assert COST(frozenset(FOUR)) <= COST(frozenset({1, 3, 4}))  # 2 is beneficial to share
    assert COST(frozenset(FOUR)) > COST(frozenset({1, 2, 3}))  # 4 is not
    chosen = choose(FOUR, {2, 4}, cost)
    assert written(chosen, FOUR) == "(123)(4)"
    assert COST(chosen) == min(map(COST, plans(FOUR)))
    levels_1_and_2, check = asked[:-2], asked[-2:]
    assert sorted(levels_1_and_2) == ["(123)(4)", "(1234)", "(134)(2)"]  # m + 1
    assert check == ["(123)(4)", "(1)(2)(3)(4)"]


@st.composite
def bursts(draw: st.DrawFn) -> tuple[dict[int, Snapshots], Cost[int]]:
    """Draw costs by equation 7 for which the theorems hold: s_c k g t <= b n, and all share one snapshot at least.

    A query more then costs less than it saves if it adds no snapshot to the burst's events, and more if it does.
    """
    some = st.builds(Snapshots, st.integers(0, 2), st.integers(0, 3))
    own = dict(enumerate(draw(st.lists(some, min_size=1, max_size=6))))
    common = Snapshots(draw(st.integers(1, 2)), draw(st.integers(0, 1)))
    g, t = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    created = sum((one.created for one in own.values()), common.created)
    least = max(1, created * len(own) * g * t)
    burst = Burst(draw(st.integers(1, 9)), draw(st.integers(least, 3 * least)), g, t)
    return own, plan_cost(burst, common, own)


def subsets(queries: Sequence[int]) -> list[frozenset[int]]:
    return [frozenset(some) for size in range(len(queries) + 1) for some in combinations(queries, size)]


@given(bursts())
def test_pruning_loses_no_optimum_by_equation_7(drawn: tuple[dict[int, Snapshots], Cost[int]]) -> None:
    own, cost = drawn
    introduces = {q for q, snapshots in own.items() if snapshots != Snapshots()}
    assert cost(choose(own, introduces, cost)) == min(map(cost, subsets(list(own))))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7), st.integers(0, 20), st.data()
)
def test_pruning_loses_no_optimum_where_costs_add_up(
    prices: list[tuple[int, int]], once: int, data: st.DataObject
) -> None:
    """Each query has a price shared and one apart, whatever the others do; theorem 4.3 is assumed."""
    every = range(len(prices))

    def cost(sharing: frozenset[int]) -> float:
        return once * bool(sharing) + sum(prices[q][q not in sharing] for q in every)

    free = data.draw(st.sets(st.sampled_from([q for q in every if prices[q][0] <= prices[q][1]] or [0])))
    introduces = {q for q in every if q not in free or prices[q][0] > prices[q][1]}
    assert cost(choose(every, introduces, cost)) == min(map(cost, subsets(every)))


def test_theorem_4_5_has_a_limit() -> None:
    """By equation 7 a snapshot has a value for every query, so a query can pay among few and not among many."""
    own = {q: Snapshots(0, 1) for q in range(6)}
    cost = plan_cost(Burst(b=10, n=10, g=5, t=2), Snapshots(1, 1), own)
    every = frozenset(own)
    assert all(cost(every) > cost(every - {q}) for q in every)
    assert cost(frozenset({0, 1, 2, 3})) < cost(frozenset({0, 1, 2}))
    assert choose(own, every, cost) == frozenset()
    assert min(map(cost, subsets(list(own)))) < cost(frozenset())


# ---- the engine: the same comparison with its own costs


@dataclass(frozen=True)
class Class:
    """Copies that see the same rows of a burst and add up the same; what they cost in nanoseconds."""

    copies: frozenset[int]
    once: float
    shared: float  # each
    apart: float  # each
    pays: bool

    def cost(self, sharing: frozenset[int]) -> float:
        some = len(self.copies & sharing)
        return self.once * bool(some) + self.shared * some + self.apart * (len(self.copies) - some)


def classes(given: Arrays, burst: range) -> list[Class]:
    """Part the copies of a burst's types, and price them."""
    assert given.bursts is not None
    sums = given.program.sum_row
    g = given.bursts.with_costs(np.float64, 1, len(sums))
    symbols = given.events.symbol[burst]
    (kind,) = set(g.set_of[symbols].tolist())
    found: dict[tuple[Any, ...], list[int]] = {}
    for group in range(g.group_off[kind], g.group_off[kind + 1]):
        adds = [tuple(sums[:, label].tolist()) for label in g.label[group]]
        sees = tuple(g.pattern[group, symbols].tolist())
        found.setdefault((g.template[group], sees, tuple(adds)), []).append(group)
    made = []
    for (t, *_), groups in found.items():
        copies = frozenset(c for group in groups for c in range(g.copy_off[group], g.copy_off[group + 1]))
        steps, width = int(g.weight[groups[0], symbols].sum()), g.inner[t] + g.outer[t]
        closed, cost = not len(sums) and g.closed[t], g.cost[groups[0]]
        once = cost[BURST] + (cost[CLOSED] if closed else len(burst) + steps * width * cost[STEP])
        each = g.inner[t] * width * cost[PRODUCT]
        verdict = pays(g, groups[0], len(burst), steps, len(copies), not len(sums))
        made.append(Class(copies, once, each, steps * cost[STEP], bool(verdict)))
    return made


TU = [("T", 1), ("U", 1), ("T", 2), ("U", 2)]


@pytest.mark.parametrize(
    ("limits", "rows", "returns", "middle", "share"),
    [
        ([0] * 4, [("T", 1)] * 5, "COUNT(*)", "T+", 0),  # too short
        ([0] * 4, [("T", 1)] * 9, "COUNT(*)", "T+", 4),
        ([0, 0, 0, 1, 1], [("T", 1)] * 6 + [("T", 2)] * 12, "COUNT(*)", "T+", 3),  # few rows for the last two
        ([0, 0, 0, 1, 1], [("T", 1)] * 6 + [("T", 2)] * 18, "COUNT(*)", "T+", 5),  # two classes
        ([0, 1, 2, 2, 3], [("T", 3)] * 10 + [("T", 4)], "COUNT(*)", "T+", 4),  # conditions differ, rows do not
        ([0, 1, 1, 1], [("T", 1)] * 40 + [("T", 2)], "COUNT(*)", "T+", 1),  # one alone, in closed form
        ([0] * 6 + [1] * 3, [("T", 1)] * 2 + [("T", 2)] * 9, "COUNT(*), SUM(T.v)", "T+", 6),
        ([0] * 6 + [1] * 4, [("T", 1)] * 2 + [("T", 2)] * 30, "COUNT(*), SUM(T.v)", "T+", 10),
        ([0] * 7 + [1] * 3, TU * 12, "COUNT(*)", "(SEQ(T, U))+", 7),
        ([0] * 5 + [1] * 5, TU * 12, "COUNT(*)", "(SEQ(T, U))+", 5),
        ([0] * 5 + [1] * 5, TU * 30, "COUNT(*)", "(SEQ(T, U))+", 10),
    ],
)  # fmt: skip
def test_the_kernel_takes_the_cheapest_of_all_plans(
    limits: list[int],
    rows: list[tuple[str, int]],
    returns: str,
    middle: str,
    share: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_bursts, "COSTS", dict.fromkeys(engine_bursts.COSTS, (4.0, 12.0, 100.0, 50.0)))
    given = {
        f"q{i}": f"RETURN {returns} PATTERN SEQ(P{i}, {middle}, E) WHERE T.v > {limit}"
        for i, limit in enumerate(limits)
    }
    before = [f"P{i}" for i in range(len(limits))] * 5
    types, values = zip(*((p, 0) for p in before), *rows, *[("E", 0)] * 5, strict=True)
    made = workload(given)
    stream = pa.table({"time": range(len(types)), "type": types, "v": values})
    counts, alone = (one.run(stream)["count"].to_pylist() for one in (made, workload(given, "never")))
    assert counts == pytest.approx(alone, rel=1e-12)
    (found,) = (one for one in made.stats if "T" in one.types)
    assert (found.bursts, found.rows, found.copies) == (1, len(rows), len(limits))

    parts = classes(compiled(made, stream), range(len(before), len(before) + len(rows)))

    def cost(sharing: frozenset[int]) -> float:
        return sum(one.cost(sharing) for one in parts)

    every = sorted(frozenset().union(*(one.copies for one in parts)))
    best = min(subsets(every), key=cost)
    chosen = [choose(one.copies, one.copies, one.cost) for one in parts]
    assert frozenset().union(*chosen) == best
    assert [one.copies if one.pays else frozenset() for one in parts] == chosen
    assert found.snapshots == len(best) == share


# ---- figure 1: queries that differ in windows, conditions and negation, with a key of some events only


def test_figure_1_is_one_automaton() -> None:
    folder = Path(__file__).parents[2] / "examples" / "queries"
    texts = {name: one.source for n in "123" for name, one in read_query_file(folder / f"hamlet_q{n}.q").items()}
    rides = sk.generate("rides", events=30_000, seed=1)
    always, never = sk.workload(texts, "always"), sk.workload(texts, "never")
    expected = never.run(rides)
    assert set(expected.column("query").to_pylist()) == set(texts)
    for found in (always.run(rides), sk.workload(texts).run(rides)):
        assert found.column_names == expected.column_names
        for name in found.column_names:
            if pa.types.is_floating(found[name].type):  # means, whose sums are in another order
                np.testing.assert_allclose(found[name].to_numpy(), expected[name].to_numpy(), rtol=1e-12)
            else:
                assert found[name].equals(expected[name])
    assert [set(names) for names in always.stats.together] == [set(texts)]
    assert never.stats.together == ()
