"""An error in one query of a workload: it is told at once, by the query at fault, and nothing hides it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.engine.run import Run
from sparkleene.workload import run

ROWS = pa.table({"time": [1, 2, 3, 4], "type": [*"ABAB"], "x": [1, 2, 3, 4], "pair": [{"y": 1}] * 4})
TEXTS = {
    "count": "RETURN COUNT(*) PATTERN SEQ(A+, B)",
    "sum": "RETURN SUM(A.x) PATTERN SEQ(A+, B)",
    "wrong": "RETURN SUM(A.pair) PATTERN SEQ(A+, B)",
}


@pytest.mark.parametrize("sharing", ["auto", "always", "never"])
def test_the_query_at_fault_tells_it(sharing: Any) -> None:
    with pytest.raises(sk.DataError) as failure:
        sk.workload(TEXTS, sharing).run(ROWS)
    assert failure.value.filename == "wrong"
    assert "pair" in str(failure.value)


def test_the_others_are_not_evaluated_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the types, as in columns/schema.py, finds who is at fault without an evaluation."""
    done: list[Any] = []
    aggregate = Run.aggregate

    def counted(*given: Any) -> Any:
        done.append(aggregate(*given))
        return done[-1]

    monkeypatch.setattr(Run, "aggregate", counted)
    together = sk.workload(TEXTS, "always")
    assert len(together.prepared.parts(None)) == 1
    with pytest.raises(sk.DataError):
        together.run(ROWS)
    assert not done


def test_an_error_in_common_panes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panes give nothing where they cost more; an error is no such case."""

    def fail(*given: Any) -> Any:
        raise sk.DataError(sk.Diagnostic("unsupported-data", "these panes"))

    monkeypatch.setattr(run, "evaluate_by_panes", fail)
    windows = {f"{n}": f"RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN {n} SLIDE 1" for n in (2, 3)}
    both = sk.workload(windows)
    assert both.prepared.joints(None)
    with pytest.raises(sk.DataError, match="these panes"):
        both.run(ROWS)
