"""Bursts: shared by all, by some or by no queries, whatever is decided, the results are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.chance import cases

from sparkleene.engine import bursts
from sparkleene.workload import Workload, workload

COMMON = ("T+", "(SEQ(T, U))+", "SEQ(T+, U+)", "SEQ(T, U)", "(T OR U)+", "SEQ(T, T t, U)", "SEQ(T{1,2}, U*)")
ENDS = ("", "E", "E+", "P1", "NOT X, E", "NOT P2, E+", "NOT U")  # what one forbids another may want
LOWS = (
    ", MIN(T.v) AS least, SUM(T.v) AS s",
    ", MAX(T.v) AS most",
    ", MAX(LENGTH) AS longest, MIN(SUM(T.v)) AS low",
)
LOCAL = ("", "T.v > 1", "T.v > 2", "U.v < 3")


@st.composite
def workloads(draw: st.DrawFn) -> dict[str, str]:
    """Draw queries with sub-patterns in common, at any place, some with other conditions on them."""
    commons = draw(st.lists(st.sampled_from(COMMON), min_size=1, max_size=2, unique=True))
    texts = {}
    for number in range(draw(st.integers(2, 12))):
        middle = draw(st.sampled_from(commons))
        first = f"P{draw(st.integers(0, 3))}"
        both = f"NOT {first}", "NOT U" if "U" in middle else "NOT T"  # no label inside of NOT and outside of it
        ends = [end for end in ENDS if not end.startswith(both)]
        parts = [first, middle, draw(st.sampled_from(ends))]
        if draw(st.booleans()):
            parts = parts[1:]
        pattern = ", ".join(part for part in parts if part)
        local = draw(st.sampled_from(LOCAL))
        where = f" WHERE {local}" if local and local[0] in middle else ""
        more = ["", ", COUNT(P1) AS m"] if "P1" in parts else [""]
        more += [", SUM(T.v) AS s", ", AVG(T.v) AS a", *LOWS] if "T" in middle and "T{" not in middle else []
        returns = f"COUNT(*) AS n{draw(st.sampled_from(more))}"
        texts[f"q{number}"] = f"RETURN {returns} PATTERN SEQ({pattern}){where}"
    return texts


@st.composite
def streams(draw: st.DrawFn) -> pa.Table:
    """Draw rows in bursts of one or two types, some of them at the same time."""
    types: list[str] = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["T", "U", "TU", "P0", "P1", "P2", "P3", "E", "X"]))
        count = draw(st.integers(1, 9))
        types += [kind] * count if kind[-1].isdigit() else [kind[i % len(kind)] for i in range(count)]
    steps = draw(st.sampled_from([(1,), (1, 1, 1, 0), (1, 0)]))
    times = np.cumsum([steps[i % len(steps)] for i in range(len(types))]).tolist()
    values = draw(st.lists(st.sampled_from([1, 2, 3, None]), min_size=len(types), max_size=len(types)))
    return pa.table({"time": times, "type": types, "v": pa.array(values, pa.int64())})


def forced(texts: dict[str, str], choice: bytes | None, **options: Any) -> Workload:
    made = workload(texts, "always", **options)
    made.prepared.forced_bursts = choice
    return made


@given(
    texts=workloads(),
    table=streams(),
    choice=st.binary(min_size=1, max_size=7),
    numbers=st.sampled_from(["double", "exact"]),
)
@settings(max_examples=cases(150))
def test_every_choice_of_copies(texts: dict[str, str], table: pa.Table, choice: bytes, numbers: str) -> None:
    note(f"{texts}\n{table.to_pydict()}\n{choice!r}")
    options: dict[str, Any] = {"numbers": numbers}
    choice = bytes(one % 2 for one in choice)
    never = workload(texts, "never", **options).run(table)
    assert forced(texts, choice, **options).run(table).equals(never)
    assert workload(texts, "always", **options).run(table).equals(never)
    assert workload(texts, **options).run(table).equals(never)


@given(texts=workloads(), table=streams(), costs=st.tuples(*[st.sampled_from([0.0, 1.0, 9.0, 60.0])] * 4))
@settings(max_examples=cases(150))
def test_every_sequence_of_decisions(texts: dict[str, str], table: pa.Table, costs: tuple[float, ...]) -> None:
    """Which bursts are shared, and by which copies, changes from one burst to the next; costs decide."""
    note(f"{texts}\n{table.to_pydict()}\n{costs!r}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bursts, "COSTS", dict.fromkeys(bursts.COSTS, costs))
        assert forced(texts, None).run(table).equals(workload(texts, "never").run(table))


@given(table=streams(), choice=st.binary(min_size=1, max_size=5))
@settings(max_examples=cases(60))
def test_decisions_in_windows_and_sub_streams(table: pa.Table, choice: bytes) -> None:
    table = table.append_column("u", pa.array([i % 2 for i in range(table.num_rows)]))
    texts = {
        f"q{i}": f"RETURN u, COUNT(*) AS n, AVG(T.v) AS m, MIN(U.v) AS low PATTERN SEQ(P{i}, (SEQ(T, U))+)"
        " WHERE [u] GROUP-BY u WITHIN 9 SLIDE 4"
        for i in range(4)
    }
    choice = bytes(one % 2 for one in choice)
    assert forced(texts, choice).run(table).equals(workload(texts, "never").run(table))


def test_what_is_counted() -> None:
    texts = {f"q{i}": f"RETURN COUNT(*) PATTERN SEQ(P{i}, (SEQ(T, U))+, E)" for i in range(20)}
    types = ["P0", "P1", *"TUTUTUTU" * 8, "E", "T", "U"]
    table = pa.table({"time": range(len(types)), "type": types})
    made = workload(texts)
    assert made.run(table).equals(workload(texts, "never").run(table))
    (found,) = [one for one in made.stats if "T" in one.types]
    assert found.types == ("T", "U") and found.bursts == 2 and found.shared == 1
    assert found.rows == 66 and found.shared_rows == 64
    assert found.snapshots == 20 and found.matrices == 1 and found.columns == 3
    assert "T, U" in str(made.stats)


def test_minima_and_measures_share_bursts() -> None:
    returns = "COUNT(*), MIN(T.v) AS least, MAX(SUM(U.v)) AS most"
    texts = {f"q{i}": f"RETURN {returns} PATTERN SEQ(P{i}, (SEQ(T, U))+, E)" for i in range(20)}
    types = ["P0", "P1", *"TUTUTUTU" * 8, "E", "T", "U"]
    table = pa.table({"time": range(len(types)), "type": types, "v": [i * 7 % 11 - 5 for i in range(len(types))]})
    made = workload(texts)
    assert made.run(table).equals(workload(texts, "never").run(table))
    (found,) = [one for one in made.stats if "T" in one.types]
    assert found.types == ("T", "U") and found.shared == 1 and found.shared_rows == 64 and found.snapshots == 20
    assert "and is shared from" in made.explain()
