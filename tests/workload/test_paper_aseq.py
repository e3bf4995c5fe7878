"""Examples of section 4 of "Complex Event Analytics: Online Aggregation of Stream Sequence Patterns" (2014)."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.plan.copies import Copy, Template
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan
from sparkleene.workload import Sharing, Workload, workload

SHARING: tuple[Sharing, ...] = ("always", "never", "auto")


def count(pattern: str) -> str:
    return f"RETURN COUNT(*) PATTERN {pattern}"


def labels(plan: Plan, *types: str) -> frozenset[int]:
    return frozenset(i for i, label in enumerate(plan.bound.labels) if label.type in types)


def part(made: Workload) -> Part:
    """Return what the queries of a workload are evaluated by, together."""
    (only,) = made.prepared.parts(None)
    return only


def template(plan: Plan, *types: str) -> tuple[Template, list[Copy]]:
    """Return the one template of some types, with its copies."""
    ((found, copies),) = plan.copy_finder.copies(labels(plan, *types)).items()
    return found, list(copies)


# ---- examples 6 and 7: purchases

PURCHASES = {
    "Q1": "SEQ(VKindle, BKindle, VCase, BCase)",
    "Q2": "SEQ(VKindle, BKindle, VKindleFire)",
    "Q3": "SEQ(VKindle, BKindle, VCase, BCase, VeBook, BeBook)",
    "Q4": "SEQ(VKindle, BKindle, VCase, BCase, VLight, BLight)",
    "Q5": "SEQ(ViPad, VKindleFire, VKindle, BKindle)",
}
TEXTS = {name: count(pattern) for name, pattern in PURCHASES.items()}
PREFIXED = {name: text for name, text in TEXTS.items() if name != "Q5"}

# Fig. 9 is a picture; the stream is ours, and its counts are worked out by hand.
CLICKS = [
    "ViPad", "VKindleFire", "VKindle", "VKindle", "BKindle", "VCase", "BCase", "VKindleFire", "BKindle", "VeBook",
    "VLight", "BeBook", "BLight", "BLight",
]  # fmt: skip
COUNTS = {
    "Q1": 2,  # two VKindle before the first BKindle
    "Q2": 2,
    "Q3": 2,
    "Q4": 4,  # two BLight
    "Q5": 4,  # two VKindle, two BKindle
}


def clicks() -> pa.Table:
    return pa.table({"time": range(len(CLICKS)), "type": CLICKS})


def test_example_7_prefix_tree() -> None:
    made = part(workload(PREFIXED))
    plan = made.plan
    # The root, VKindle, BKindle and under it VKindleFire, and VCase, BCase with VeBook, BeBook and VLight, BLight.
    alone = sum(len(member.plan.machine.states) for member in made.members)
    assert (len(plan.machine.states), alone) == (10, 23)
    after: dict[int, set[int]] = {}
    for source, _, target in plan.machine.transitions:
        after.setdefault(source, set()).add(target)
    assert sum(map(len, after.values())) == 9  # a tree: one way to each node but the root
    ends = {kind: state for state, kind in plan.machine.outs}
    _, (viewed,) = template(plan, "VKindle")
    _, (bought,) = template(plan, "BKindle")
    assert bought.inputs == (viewed.states,)
    (shared,) = bought.states
    assert ends[1] in after[shared] and len(after[shared]) == 2  # Q2, and Q1 by VCase
    assert len(after[ends[0]]) == 2  # Q3 and Q4 go on where Q1 ends


def test_example_7_one_update_in_place_of_four() -> None:
    made = part(workload(PREFIXED))

    def updates(plan: Plan) -> int:
        return sum(label in labels(plan, "BKindle") for _, label, _ in plan.machine.transitions)

    assert updates(made.plan) == 1
    assert sum(updates(member.plan) for member in made.members) == 4


def test_sub_pattern_at_the_tail_is_a_copy_of_the_one_at_the_prefix() -> None:
    """Q5 is (ViPad, VKindleFire) connected with (VKindle, BKindle) of the other four."""
    plan = part(workload(TEXTS)).plan
    common, copies = template(plan, "VKindle", "BKindle")
    assert (common.inner, common.outer, len(common.steps)) == (2, 1, 2)
    assert len(copies) == 2  # for five queries
    prefix, tail = sorted(copies, key=lambda copy: copy.inputs)
    assert prefix.labels == tail.labels
    assert prefix.inputs == ((0,),)
    ((before,),) = tail.inputs
    fire = labels(plan, "VKindleFire")
    assert before in {d for _, label, d in plan.machine.transitions if label in fire}


@pytest.mark.parametrize("sharing", SHARING)
def test_purchases(sharing: Sharing) -> None:
    found = workload(TEXTS, sharing).run(clicks()).to_pylist()
    assert {row["query"]: row["count"] for row in found} == COUNTS
    assert {name: sk.query(text).run(clicks())["count"][0].as_py() for name, text in TEXTS.items()} == COUNTS


def test_purchases_in_windows_that_end_where_trends_do() -> None:
    """The paper's own windows: one machine for all, each query with the ticks at which its own trends end."""
    texts = {name: f"{text} WITHIN 11" for name, text in TEXTS.items()}
    assert part(workload(texts)).names == tuple(texts)
    found = workload(texts).run(clicks()).to_pylist()
    alone = [
        {"query": name} | row for name, text in texts.items() for row in sk.query(text).run(clicks()).to_pylist()
    ]
    assert found == alone
    assert [row["window_end"] for row in found if row["query"] == "Q4"] == [12, 13]


# ---- example 8, figure 10: (A, B, C) connected with (D, E) under expiration

# Events come a second apart. No size of window is given: a1 comes at 1 and expires at 10, so it is 9 seconds.
WINDOW = 9
FIGURE_10: dict[str, float] = {
    "a1": 1, "b1": 2, "c1": 3, "a2": 4, "b2": 5, "d1": 6, "c2": 7, "a3": 8, "d2": 9, "e1": 10,
}  # fmt: skip


def table(stream: dict[str, float], before: float) -> pa.Table:
    ids = [id for id, time in stream.items() if time < before]
    times = [float(stream[id]) for id in ids]
    return pa.table({"id": ids, "type": [id[0].upper() for id in ids], "time": times})


def counters(pattern: str, stream: dict[str, float], before: float) -> Counter[str]:
    """Return the PreCntr of each START event over what came before a time: those of 0 are not there."""
    first = pattern[len("SEQ(")]
    text = f"RETURN {first}.id, COUNT(*) PATTERN {pattern} GROUP-BY {first}.id"
    found = sk.query(text).run(table(stream, before)).to_pylist()
    return Counter({row["id"]: int(row["count"]) for row in found})


def active(stream: dict[str, float], type: str, before: float) -> dict[str, float]:
    """Return when the START events that came before a time expire, of those that are there at it."""
    some = {id: time + WINDOW for id, time in stream.items() if id[0] == type and time < before}
    return {id: expires for id, expires in some.items() if expires > before}


def total(pattern: str, stream: dict[str, float], at: float) -> int:
    """Return the count of the window that ends at a time."""
    found = sk.query(f"{count(pattern)} WITHIN {WINDOW}").run(table(stream, at + 0.5)).to_pylist()
    return sum(int(row["count"]) for row in found if row["window_end"] == at)


Snapshot = dict[str, tuple[float, int]]


def snapshot(pattern: str, stream: dict[str, float], at: str) -> Snapshot:
    """Return the table of START, Exp and Cnt that an event is given when it arrives."""
    found = counters(pattern, stream, stream[at])
    return {id: (expires, found[id]) for id, expires in active(stream, "a", stream[at]).items()}


def test_figure_10_when_d1_arrives() -> None:
    now = FIGURE_10["d1"]
    assert active(FIGURE_10, "a", now) == {"a1": 10, "a2": 13}
    assert counters("SEQ(A, B)", FIGURE_10, now) == {"a1": 2, "a2": 1}
    assert counters("SEQ(A, B, C)", FIGURE_10, now) == {"a1": 1}
    assert active(FIGURE_10, "d", now + 0.5) == {"d1": 15}
    assert counters("SEQ(D, E)", FIGURE_10, now + 0.5)["d1"] == 0
    assert snapshot("SEQ(A, B, C)", FIGURE_10, "d1") == {"a1": (10, 1), "a2": (13, 0)}


def test_figure_10_when_d2_arrives() -> None:
    now = FIGURE_10["d2"]
    assert active(FIGURE_10, "a", now) == {"a1": 10, "a2": 13, "a3": 17}
    assert counters("SEQ(A, B)", FIGURE_10, now) == {"a1": 2, "a2": 1}
    assert counters("SEQ(A, B, C)", FIGURE_10, now) == {"a1": 3, "a2": 1}
    assert active(FIGURE_10, "d", now + 0.5) == {"d1": 15, "d2": 18}
    assert counters("SEQ(D, E)", FIGURE_10, now + 0.5)["d2"] == 0
    assert snapshot("SEQ(A, B, C)", FIGURE_10, "d2") == {"a1": (10, 3), "a2": (13, 1), "a3": (17, 0)}


def connected(stream: dict[str, float], now: float) -> dict[str, Counter[str]]:
    """Multiply the counts of (D, E) up to a time with those of the snapshots' rows that have not expired."""
    middle = counters("SEQ(D, E)", stream, now + 0.5)
    return {
        d: Counter({
            a: cnt * middle[d] for a, (exp, cnt) in snapshot("SEQ(A, B, C)", stream, d).items() if exp > now
        })
        for d in ("d1", "d2")
    }  # fmt: skip


def test_example_8_when_e1_arrives() -> None:
    now = FIGURE_10["e1"]
    assert now == 10
    assert counters("SEQ(D, E)", FIGURE_10, now + 0.5) == {"d1": 1, "d2": 1}
    products = connected(FIGURE_10, now)
    assert products == {"d1": {"a2": 0}, "d2": {"a2": 1, "a3": 0}}
    assert {d: one.total() for d, one in products.items()} == {"d1": 0, "d2": 1}  # count1 and count2
    assert total("SEQ(A, B, C, D, E)", FIGURE_10, now) == 0 + 1
    each = {d: f"SEQ(A, B, C, D, E) WHERE D.id = '{d}'" for d in products}
    assert {d: total(pattern, FIGURE_10, now) for d, pattern in each.items()} == {"d1": 0, "d2": 1}
    assert sk.query(count("SEQ(A, B, C, D, E)")).run(table(FIGURE_10, 11))["count"].to_pylist() == [
        0 + 1 + 1 + 3
    ]  # none expires


# ---- example 9, figure 11: (A, B, C), (D, E) and (F, G)

# Fig. 11 is a picture. The text fixes that f1 comes at 12, after a1 expired, that a2 has the count 1 on d1 and 2 on
# d2, and that these are products with the counts of (D, E). In figure 10's stream they would be 0 and 1; it has
# another C before d1 here. The two G are ours: a2 is there at the first, and not at the second.
FIGURE_11 = FIGURE_10 | {"c0": 5.5, "f1": 12, "g1": 12.5, "g2": 13}


def test_example_9_multi_connect() -> None:
    now = FIGURE_11["f1"]
    products = connected(FIGURE_11, now)
    assert products == {"d1": {"a2": 1}, "d2": {"a2": 2, "a3": 0}}
    stitched = products["d1"] + products["d2"]
    assert stitched == {"a2": 3}
    longer = counters("SEQ(A, B, C, D, E)", FIGURE_11, now)
    assert {a: longer[a] for a in active(FIGURE_11, "a", now)} == {"a2": 3, "a3": 0}
    assert counters("SEQ(F, G)", FIGURE_11, now + 0.1)["f1"] == 0
    assert total("SEQ(A, B, C, D, E, F, G)", FIGURE_11, FIGURE_11["g1"]) == 3
    assert total("SEQ(A, B, C, D, E, F, G)", FIGURE_11, FIGURE_11["g2"]) == 0  # a2 expires at 13


# Queries among which (D, E) and (F, G) are shared, as in the text; the others are ours.
CHOPPED = {
    "whole": "SEQ(A, B, C, D, E, F, G)",
    "first": "SEQ(A, B, C, D, E)",
    "middle": "SEQ(D, E)",
    "last": "SEQ(F, G)",
    "other": "SEQ(C, F, G)",
}


def test_chopped_sub_patterns_are_copies() -> None:
    plan = part(workload({name: count(pattern) for name, pattern in CHOPPED.items()})).plan
    for types, contexts in (("DE", 2), ("FG", 3)):  # after (A, B, C) or nothing; after (.., E), C or nothing
        common, copies = template(plan, *types)
        assert (common.inner, common.outer, common.slots) == (2, 1, 2)
        assert len(copies) == contexts
        assert sum(copy.inputs == ((0,),) for copy in copies) == 1


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize(
    ("stream", "begin", "expected"),
    [
        (FIGURE_10, 2, {"first": 1, "middle": 2}),  # up to e1, without a1
        (FIGURE_11, 4, {"whole": 3, "first": 3, "middle": 2, "last": 1, "other": 2}),  # up to g1, from a2 on
        (FIGURE_11, 5, {"middle": 2, "last": 2, "other": 4}),  # up to g2, without a2
    ],
)
def test_connected_in_a_workload(
    sharing: Sharing, stream: dict[str, float], begin: float, expected: dict[str, int]
) -> None:
    made = workload(
        {name: f"{count(pattern)} WITHIN {WINDOW} SLIDE 1" for name, pattern in CHOPPED.items()}, sharing
    )
    found = made.run(table(stream, 99)).to_pylist()
    assert {row["query"]: row["count"] for row in found if row["window_start"] == begin} == expected
