"""Samples of trends: each trend with the same chance, whatever the query; and the same trends for the same seed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from tests.chance import rest
from tests.engine.test_trends import cell, shown

import sparkleene as sk
from sparkleene.engine import trend_passes, trend_sample, trend_weights

DRAWS = 4000
LETTERS = "ABACABBACBAABCAB"
TABLE = pa.table(
    {
        "time": [1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13],
        "type": list(LETTERS),
        "k": [1, 2, 1, 1, 2, 1, 2, 1, 1, 2, 2, 1, 1, 2, 1, 1],
        "x": [3.0, 5.0, 2.0, None, 7.0, 1.0, 4.0, 6.0, 2.0, 8.0, 3.0, 5.0, 1.0, 9.0, 4.0, 2.0],
    }
)
QUERIES = [
    "SEQ(A+, B) WITHIN 7 SLIDE 7",
    "SEQ(A, A, A+)",
    "A+ WHERE A.x > NEXT(A).x",
    "SEQ(A+, B) WHERE A.x != NEXT(A).x AND A.x < B.x",
    "SEQ(A+, B+) WHERE A.x < NEXT(A).x AND A.k <= NEXT(A).k",
    "SEQ(A+, B) WHERE A.x * NEXT(A).x < 13",
    "SEQ(A+, NOT C, B)",
    "SEQ(A+, NOT C, B) WHERE A.x >= B.x",
    "SEQ(A+, B) WHERE [k]",
    "SEQ(A+, B) WHERE [A.k]",
    "SEQ(A, B) AND SEQ(A, C)",
    "A+ AND (A OR B) WITHIN 4 SLIDE 4",
    "(SEQ(A+, B))+ SEMANTICS skip-till-next-match",
    "SEQ(A+, B) WHERE A.x > NEXT(A).x SEMANTICS skip-till-next-match",
    "(A | B)+ SEMANTICS contiguous",
    "(A | B)+ WHERE A.x > NEXT(B).x SEMANTICS contiguous",
]


def check_chances(text: str) -> None:
    """Compare how often each trend is drawn with all having the same chance, by chi-square."""
    query = sk.query(f"RETURN COUNT(*) PATTERN {text}")
    known: dict[object, Counter[object]] = {}
    names = [name for name in query.trends(TABLE, limit=1).column_names if name.startswith("events")]
    for row in query.trends(TABLE, limit=None).to_pylist():
        known.setdefault(cell(row), Counter())[tuple(shown(row[name]) for name in names)] += 1
    drawn: dict[object, Counter[object]] = {}
    for row in query.trends(TABLE, limit=DRAWS, order="sample", seed=7).to_pylist():
        drawn.setdefault(cell(row), Counter())[tuple(shown(row[name]) for name in names)] += 1
    assert drawn.keys() == known.keys()
    for key, trends in known.items():
        share = DRAWS / trends.total()  # a trend of several sub-streams counts once for each
        assert drawn[key].keys() <= trends.keys()
        chi = sum((drawn[key][trend] - share * many) ** 2 / (share * many) for trend, many in trends.items())
        free = len(trends) - 1
        assert chi <= free + 4.5 * np.sqrt(2 * free) + 8, (key, chi, free)  # about one in 100,000


@pytest.mark.parametrize("text", [*QUERIES[::2], *rest(QUERIES[1::2])])
def test_every_trend_has_the_same_chance(text: str) -> None:
    check_chances(text)


@pytest.mark.parametrize("text", [QUERIES[2], QUERIES[3], QUERIES[7], QUERIES[9]])
def test_chances_by_trees(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where windows are long, trees tell the counts."""
    monkeypatch.setattr(trend_weights, "TRACED", 0)
    check_chances(text)


@pytest.mark.parametrize("order", ["longest", "shortest", "sample"])
def test_trees_tell_what_comparing_each_tells(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in QUERIES:
        query = sk.query(f"RETURN COUNT(*) PATTERN {text}")
        few = query.trends(TABLE, limit=15, order=order, seed=3)  # type: ignore[arg-type]
        for traced, kept in ((0, trend_weights.KEPT), (0, 0), (4, trend_weights.KEPT)):
            with monkeypatch.context() as changed:
                changed.setattr(trend_weights, "TRACED", traced)
                changed.setattr(trend_weights, "KEPT", kept)
                again = query.trends(TABLE, limit=15, order=order, seed=3)  # type: ignore[arg-type]
                assert str(again.to_pylist()) == str(few.to_pylist())


def test_lengths_are_as_expected() -> None:
    """Of 10^46 trends and more, those drawn have on average the length that all have."""
    size = 3000
    prices = np.random.default_rng(1).permutation(size).astype(float)
    table = pa.table({"time": np.arange(size), "price": prices})
    text = "PATTERN Stock S+ WHERE S.price > NEXT(S).price"
    [known] = (
        sk.query(f"RETURN COUNT(*), AVG(LENGTH) AS mean, STDDEV(LENGTH) AS spread {text}", type=None)
        .run(table)
        .to_pylist()
    )
    sample = sk.query(f"RETURN COUNT(*) {text}", type=None).trends(table, limit=1000, order="sample")
    mean = np.mean(sample.column("length").to_numpy())
    assert known["count"] > 1e40 and sample.column("trends")[0].as_py() == known["count"]
    assert abs(mean - known["mean"]) < 4 * known["spread"] / 1000**0.5


def test_a_seed_draws_the_same_trends_again_whatever_else_is_there() -> None:
    query = sk.query("RETURN k, COUNT(*) PATTERN A+ GROUP-BY k")

    def draw(table: pa.Table, seed: int) -> list[object]:
        return [
            [event["time"] for event in row["events"]]
            for row in query.trends(table, limit=10, order="sample", seed=seed).to_pylist()
            if row["k"] == 1
        ]

    alone = TABLE.filter(pa.compute.equal(TABLE["k"], 1))
    assert draw(TABLE, 1) == draw(TABLE, 1) == draw(alone, 1) != draw(TABLE, 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"order": "odd"}, "there is no order 'odd'"), ({"order": "sample", "limit": None}, "a sample needs a limit")],
)
def test_mistakes(given: dict[str, object], message: str) -> None:
    with pytest.raises(sk.QueryError, match=message):
        sk.query("RETURN COUNT(*) PATTERN A").trends(TABLE, **given)  # type: ignore[arg-type]


WHOLE = [
    "A+ WHERE DURATION <= 3 AND LENGTH >= 2",
    "(A | B)+ WHERE LAST(x) > FIRST(x) + 5 WITHIN 9 SLIDE 4",
    "SEQ(A+, B) WHERE LAST(x) > FIRST(x) AND A.x > NEXT(A).x AND DURATION <= 6",
    "SEQ(A+, NOT C, B) WHERE DURATION < 4",
    "SEQ(A+, NOT C) WHERE LAST(x) >= FIRST(x) AND DURATION > 2",
    "SEQ(A+, B) WHERE [k] AND LAST(x) * FIRST(x) < 9",
    "(SEQ(A+, B))+ SEMANTICS skip-till-next-match WHERE DURATION <= 5",
    "(A | B)+ SEMANTICS contiguous WHERE LAST(x) != FIRST(x)",
]
MAXIMAL = "(A | B)+ SEMANTICS contiguous maximal WHERE LAST(x) < 9"


@pytest.mark.parametrize("text", [*WHOLE, MAXIMAL])
def test_trends_that_count_as_a_whole_are_found_in_two_ways(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at all trends gives what a pass for each first event gives, in the same order."""
    query = sk.query(f"RETURN COUNT(*) PATTERN {text}", tiebreak="k" if text == MAXIMAL else None)
    table = TABLE if text != MAXIMAL else TABLE.set_column(0, "time", pa.array(range(TABLE.num_rows)))
    for order in ("first", "last", "longest", "shortest"):
        for limit in (1, 4, 1000):
            found = []
            for misses in (1 << 60, 1):
                monkeypatch.setattr(trend_passes, "MISSES", misses)
                found.append(query.trends(table, limit=limit, order=order).to_pylist())  # type: ignore[arg-type]
            assert found[0]
            assert found[0] == found[1]


@pytest.mark.parametrize("text", [*WHOLE[::2], *rest(WHOLE[1::2])])
def test_chances_of_trends_that_count_as_a_whole(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing until one counts, and drawing among those that do, are fair."""
    monkeypatch.setattr(f"{__name__}.DRAWS", 1500)
    check_chances(text)
    monkeypatch.setattr(trend_sample, "TURNS", 0)
    check_chances(text)


def test_few_of_many_trends() -> None:
    """Of 2^400 trends those that count are found, with two conditions that leave few."""
    size = 400
    table = pa.table({"time": range(size), "x": [0.0] * 390 + [5.0, *[0.0] * 5, 9.0, *[0.0] * 3]})
    query = sk.query("RETURN COUNT(*) PATTERN A+ WHERE LAST(x) > FIRST(x) AND FIRST(x) > 1", type=None)
    assert query.run(table).column("count").to_pylist() == [2**5]
    found = {
        order: query.trends(table, limit=40, order=order) for order in ("longest", "shortest", "last", "sample")
    }  # type: ignore[arg-type]
    assert found["longest"].column("length").to_pylist()[:3] == [7, 6, 6]
    assert found["shortest"].column("length").to_pylist()[:3] == [2, 3, 3]
    assert found["last"].num_rows == found["longest"].num_rows == 32
    for table in found.values():
        assert {row[0]["x"] for row in table.column("events").to_pylist()} == {5.0}
