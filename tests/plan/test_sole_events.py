"""First and last events that need no mark, because every trend has exactly one of their labels."""

import pytest

import sparkleene as sk
from sparkleene.evaluation import PreparedWorkload


@pytest.mark.parametrize(
    ("pattern", "measure", "marks"),
    [
        ("SEQ(A, B, C)", "LAST(C.time) - FIRST(B.time)", 0),
        ("SEQ(A, B+, C)", "DURATION", 0),  # it begins with its A and ends with its C
        ("SEQ(A, B+, C)", "FIRST(B.time) - LAST(A.time)", 1),  # there may be several B
        ("SEQ(A, B?, C)", "LAST(B.time) - FIRST(A.time)", 1),  # or none
        ("SEQ(A, A x, C)", "LAST(C.time) - FIRST(A.time)", 0),  # `A` is one label, x another
        ("SEQ(A, NOT A x, C)", "DURATION", 0),
        ("SEQ(A OR B, C)", "DURATION", 0),  # one of two labels, and just one event of them
        ("SEQ(A+ OR B, C)", "DURATION", 1),
        ("(SEQ(A, B))+", "DURATION", 2),
        ("SEQ(A, B, C)", "LAST(C.price) - FIRST(B.price)", 2),  # a price may be NULL
    ],
)
def test_which_ends_need_marks(pattern: str, measure: str, marks: int) -> None:
    plan = sk.query(f"RETURN AVG({measure}) AS m PATTERN {pattern}").plan
    assert len(plan.aggregates.trackers) == marks


def test_queries_with_times_of_sole_events_share_one_machine() -> None:
    returns = "RETURN COUNT(*), AVG(LAST({0}.time) - FIRST({1}.time)) AS m, MIN(DURATION) AS d"
    texts = {
        "b": f"{returns.format('B', 'A')} PATTERN SEQ(A, B)",
        "c": f"{returns.format('C', 'B')} PATTERN SEQ(A, B, C)",
    }
    queries = {name: sk.query(text).prepared for name, text in texts.items()}
    [part] = PreparedWorkload(queries, "auto").parts(None)
    assert part.names == ("b", "c")
    assert len(part.plan.machine.states) == 4
