"""What a workload says of its last run, also while several threads run it."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.workload import Workload


def rows(bursts: int) -> pa.Table:
    """Return bursts of T, each after an A and a B."""
    types = [*"ABTTTT"] * bursts
    return pa.table({"time": range(len(types)), "type": types})


def made() -> Workload:
    return sk.workload({x: f"RETURN COUNT(*) PATTERN SEQ({x}, T+)" for x in "AB"}, sharing="always")


def bursts_of_t(workload: Workload) -> int:
    (found,) = (one.bursts for one in workload.stats if one.types == ("T",))
    return found


def test_each_thread_sees_its_own_run() -> None:
    one = made()
    ready = threading.Barrier(2)

    def run(bursts: int) -> list[int]:
        found = []
        for _ in range(5):
            ready.wait()
            one.run(rows(bursts))
            ready.wait()  # both have run
            found.append(bursts_of_t(one))
        return found

    with ThreadPoolExecutor(2) as threads:
        assert [*threads.map(run, (2, 7))] == [[2] * 5, [7] * 5]


def test_a_thread_that_has_not_run_it_sees_the_last_run_of_any() -> None:
    one = made()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(one.run, rows(3)).result()
    assert bursts_of_t(one) == 3
    one.run(rows(4))
    assert bursts_of_t(one) == 4


def test_rows_in_one_order_are_told() -> None:
    """Two queries have one automaton, a third the same keys and another window, a fourth other keys."""
    texts = {x: f"RETURN COUNT(*) PATTERN SEQ({x}, T+) WHERE [k] WITHIN 4 SLIDE 4" for x in "AB"}
    texts["next"] = "RETURN COUNT(*) PATTERN SEQ(A, T) SEMANTICS skip-till-next-match WHERE [k] WITHIN 4 SLIDE 4"
    texts["all"] = "RETURN COUNT(*) PATTERN A+"
    one = sk.workload(texts)
    one.run(rows(3).append_column("k", pa.array([i % 2 for i in range(18)])))
    assert one.stats.together == (("A", "B"),)
    assert one.stats.orders == (("A", "B", "next"),)
    assert str(one.stats).startswith("one order of rows: A, B, next\none automaton: A, B")
    never = sk.workload(texts, sharing="never")
    never.run(rows(3).append_column("k", pa.array([i % 2 for i in range(18)])))
    assert never.stats.orders == ()


def test_there_are_none_before_a_run() -> None:
    one = made()
    one.run(rows(1))
    for fresh in (made(), pickle.loads(pickle.dumps(one))):
        with pytest.raises(sk.QueryError, match="has not been run"):
            _ = fresh.stats
