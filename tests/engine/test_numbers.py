"""Numbers small and astronomically large: closed forms, and dynamic programming in Python's integers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.conformance.engines import through_tasks

import sparkleene as sk
from sparkleene import reference
from sparkleene.language import parse
from sparkleene.language.bind import bind

Row = dict[str, Any]

MANY = 100_000
EPOCH = datetime(1970, 1, 1)


def table(types: str, times: Any = None, **columns: Any) -> pa.Table:
    steps = np.arange(1, len(types) + 1) if times is None else times
    return pa.table({"time": steps, "type": pa.array(list(types), pa.string()), **columns})


def one(text: str, data: pa.Table, **options: Any) -> Row:
    """Return the only row of a result."""
    (row,) = sk.query(text, **options).run(data).to_pylist()
    return row  # type: ignore[no-any-return]


def test_long_counts_are_integers_or_an_error_that_names_the_window() -> None:
    text = "RETURN COUNT(*), COUNT(A) AS a, SUM(A.time) AS s PATTERN A+ WITHIN 100 SLIDE 100"
    (row,) = sk.query(text, numbers="long").run(table("AAAA")).to_pylist()
    assert row == {"window_start": 0, "window_end": 100, "count": 15, "a": 32, "s": 80.0}
    assert [type(row[name]) for name in ("count", "a", "s")] == [int, int, float]
    with pytest.raises(
        sk.DataError, match=r"'COUNT\(\*\)' is more than 2\^63"
    ):  # as it is written, not its hidden name
        sk.query("RETURN COUNT(*) / COUNT(A) AS share PATTERN A+", numbers="long").run(table("A" * 80))
    # 53 events have 2^53 - 1 trends, the last count that a double tells from its neighbours.
    assert one("RETURN COUNT(*) PATTERN A+", table("A" * 53), numbers="long") == {"count": 2**53 - 1}
    for many in (54, 60, 63):
        assert one("RETURN COUNT(*) PATTERN A+", table("A" * many), numbers="long") == {"count": 2**many - 1}
        counts = one("RETURN COUNT(*), COUNT(A) AS a PATTERN A+", table("A" * (many - 5)), numbers="long")
        assert counts == {"count": 2 ** (many - 5) - 1, "a": (many - 5) * 2 ** (many - 6)}
    # Two sub-streams of a group: each count is exact as a double, and their sum is not.
    both = table("A" * 107, k=[0] * 53 + [1] * 54)
    assert one("RETURN COUNT(*) PATTERN A+ WHERE [k]", both, numbers="long") == {"count": 2**53 - 1 + 2**54 - 1}
    late = pa.concat_tables([table("AAAA"), table("A" * 64, np.arange(100, 164))])
    with pytest.raises(sk.DataError, match="'count' is more than 2\\^63 at window_start 100"):
        sk.query(text, numbers="long").run(late)


WINDOWS = ["", "WITHIN 10 SLIDE 10", "WITHIN 20 SLIDE 5", "WITHIN 7 EVENTS SLIDE 2 EVENTS"]
PATTERNS = ["A", "SEQ(A+, B)", "A+ SEMANTICS contiguous", "A+ WHERE A.x < NEXT(A).x"]


@pytest.mark.parametrize("within", WINDOWS)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("numbers", ["double", "exact"])
def test_a_spread_of_values_keeps_its_digits_in_every_window(within: str, pattern: str, numbers: str) -> None:
    chance = random.Random(len(within))
    rows = []
    for at in range(40):
        level = 10**9 * (at // 10)  # far from the mean of all, and hardly any difference within a window
        low = chance.choice([0, 1, 2, 3]) / 1024
        kind = chance.choice("AAB")
        rows += [{"time": at, "type": kind, "k": at % 2, "x": float(level * (1 + at % 2) + low)}]
    condition = "WHERE [k]" if "WHERE" not in pattern else "AND [k]"
    returns = "k, COUNT(*), VAR_POP(A.x) AS v, STDDEV(A.x) AS s"
    text = f"RETURN {returns} PATTERN {pattern} {condition} GROUP-BY k {within}"
    wanted = reference.evaluate(bind(parse(text), columns=("time", "type", "k", "x")), rows)
    data, query = pa.Table.from_pylist(rows), sk.query(text, numbers=numbers)  # type: ignore[arg-type]
    together = sk.workload({"one": text, "two": text.replace("VAR_POP", "VAR_SAMP")}, numbers=numbers)  # type: ignore[arg-type]
    of_one = [row for row in together.run(data).to_pylist() if row["query"] == "one"]
    results = query.run(data).to_pylist(), through_tasks(query, data), of_one
    assert [len(found) for found in results] == [len(wanted)] * 3
    for row, other in zip(chain(*results), wanted * 3, strict=True):
        for name in ("v", "s"):
            expected = other[name]
            assert (row[name] is None) == (expected is None)
            if expected is not None:
                assert row[name] == pytest.approx(float(expected), rel=1e-6, abs=1e-13), (row, other)


@pytest.mark.parametrize(("days", "within"), [(12, ""), (1000, "WITHIN 1 hour SLIDE 1 hour"), (1000, "")])
def test_a_spread_of_durations_keeps_its_digits_or_says_so(days: int, within: str) -> None:
    chance = random.Random(days)
    start = [900 * chance.randrange(96 * days) for _ in range(500)]
    took = {at: chance.randint(100, 149) for at in start}
    ends = sorted((at + later, kind) for at, length in took.items() for later, kind in ((0, "A"), (length, "B")))
    times = pa.array([1_700_000_000_000_000 + 1_000_000 * at for at, _ in ends]).cast(pa.timestamp("us"))
    data = pa.table({"time": times, "type": [kind for _, kind in ends]})
    text = f"RETURN COUNT(*), AVG(DURATION) AS a, STDDEV_POP(DURATION) AS s PATTERN SEQ(A, B) {within}"
    text = text.replace("SEQ(A, B)", "SEQ(A, B) SEMANTICS contiguous")
    if days > 100 and not within:
        with pytest.raises(sk.DataError, match="has lost its digits"):
            sk.query(text).run(data)
        return
    found = sk.query(text).run(data).to_pylist()
    by_window: dict[int, list[int]] = {}
    for at, length in took.items():
        hour = (1_700_000_000 + at) // 3600 if within else 0
        if not within or (1_700_000_000 + at + length) // 3600 == hour:
            by_window.setdefault(hour, []).append(length)
    for row, lengths in zip(found, [by_window[hour] for hour in sorted(by_window)], strict=True):
        mean = sum(lengths) / len(lengths)
        spread = math.sqrt(sum((length - mean) ** 2 for length in lengths) / len(lengths))
        assert row["a"] == pytest.approx(mean, rel=1e-9)
        assert row["s"] == pytest.approx(spread, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("within", ["", "WITHIN 1 hour SLIDE 1 hour", "WITHIN 2 hours SLIDE 1 hour"])
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_a_measure_of_two_columns_of_times(within: str, unit: str) -> None:
    start, second = 1_700_006_400, 10**6
    times = pa.array([(start + 600 * i) * second for i in range(8)]).cast(pa.timestamp("us"))
    sent = (
        pa.array([start + 600 * i - 60 * (i % 3) for i in range(8)])
        .cast(pa.timestamp("s"))
        .cast(pa.timestamp(unit))
    )
    data = pa.table({"time": times, "type": ["A", "B"] * 4, "sent": sent})
    text = "RETURN COUNT(*), AVG(LAST(B.time) - FIRST(A.sent)) AS a, MAX(LAST(B.time) - FIRST(A.sent)) AS m"
    found = sk.query(f"{text} PATTERN SEQ(A, B) SEMANTICS contiguous {within}").run(data).to_pylist()
    took = {600 * i: 600 + 60 * (i % 3) for i in range(0, 8, 2)}
    for row in found:
        first = -(10**9) if not within else int((row["window_start"] - EPOCH).total_seconds()) - start
        last = 10**9 if not within else int((row["window_end"] - EPOCH).total_seconds()) - start
        inside = [length for at, length in took.items() if first <= at and at + 600 < last]
        assert (row["count"], row["a"], row["m"]) == (len(inside), sum(inside) / len(inside), max(inside))
    assert found


def value(text: str) -> Fraction:
    """Read the decimal text of an exact number, however long."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    whole, _, rest = digits.partition(".")
    number = 0
    for start in range(0, len(whole + rest), 1000):
        part = (whole + rest)[start : start + 1000]
        number = number * 10 ** len(part) + int(part)
    return Fraction(sign * number, 10 ** len(rest))


# ---- beyond doubles


def test_a_hundred_thousand_events_of_one_kleene_type() -> None:
    x = np.arange(MANY, dtype=np.float64) % 1000 - 400
    text = (
        "RETURN COUNT(*), LOG2(COUNT(*)), LOG10(COUNT(*)), COUNT(A), LOG2(COUNT(A)), SUM(A.x), AVG(A.x),"
        " MIN(A.x), MAX(A.x) PATTERN A+"
    )
    count, log2, log10, events, log2_events, total, mean, low, high = one(text, table("A" * MANY, x=x)).values()
    assert count == events == total == math.inf
    assert log2 == pytest.approx(MANY, abs=1e-6)
    assert log10 == pytest.approx(MANY * math.log10(2), abs=1e-6)
    assert log2_events == pytest.approx(MANY - 1 + math.log2(MANY), abs=1e-6)
    assert mean == pytest.approx(x.mean(), rel=1e-9)  # every event is in as many trends
    assert (low, high) == (-400, 599)


def test_the_counts_alone() -> None:
    row = one("RETURN COUNT(*), LOG2(COUNT(*)), LOG10(COUNT(*)) PATTERN A+", table("A" * MANY))
    assert row["count"] == math.inf
    assert row["log2_count"] == pytest.approx(MANY, abs=1e-6)
    assert row["log10_count"] == pytest.approx(MANY * math.log10(2), abs=1e-6)


def test_a_sum_below_zero_is_minus_infinity() -> None:
    row = one("RETURN SUM(A.x), AVG(A.x) PATTERN A+", table("A" * 3000, x=np.full(3000, -0.5)))
    assert row == {"sum_A_x": -math.inf, "avg_A_x": -0.5}


def test_a_small_number_beside_a_large_one() -> None:
    n = 50_000
    text = (
        "RETURN COUNT(*), LOG2(COUNT(*)), COUNT(C), COUNT(B), SUM(C.x), AVG(C.x), MAX(B.x) PATTERN A+ OR SEQ(B, C)"
    )
    x = np.arange(n + 5)
    row = one(text, table("BBC" + "A" * n + "BC", x=x))
    assert row["count"] == math.inf
    assert row["log2_count"] == pytest.approx(n, abs=1e-6)
    assert row["count_C"] == row["count_B"] == 5  # 2 with the first C, 3 with the second
    assert row["sum_C_x"] == 2 * 2 + 3 * (n + 4)
    assert row["avg_C_x"] == pytest.approx((2 * 2 + 3 * (n + 4)) / 5, rel=1e-15)
    assert row["max_B_x"] == n + 3


def test_a_kleene_type_whose_end_comes_early() -> None:
    row = one(
        "RETURN COUNT(*), COUNT(A), SUM(B.x) PATTERN SEQ(A+, B)", table("AAABAB" + "A" * 60_000, x=[1] * 60_006)
    )
    assert row == {"count": 7.0 + 15, "count_A": 3 * 4.0 + 4 * 8, "sum_B_x": 22.0}


def test_tiny_and_huge_values_keep_each_other() -> None:
    n = 1000  # the A trends add up to 1000 * 2^999 * 1e-300, far below the one B
    text = "RETURN SUM(x) AS s, SUM(A.x) AS a PATTERN A+ OR B"
    row = one(text, table("A" * n + "B", x=[1e-300] * n + [2.0**100]))
    assert row["a"] == pytest.approx(float(n * 2 ** (n - 1) * Fraction(1e-300)), rel=1e-9)
    assert row["s"] == pytest.approx(row["a"] + 2.0**100, rel=1e-12)
    row = one("RETURN AVG(A.x) AS m PATTERN A+", table("A" * 5000, x=[5e-324] * 5000))
    assert row["m"] == 5e-324


def test_infinite_values() -> None:
    text = "RETURN SUM(B.x) AS s, AVG(B.x) AS m, MIN(B.x) AS low, MAX(B.x) AS high PATTERN SEQ(A, B)"
    # the first B ends no trend
    assert one(text, table("BABB", x=[math.inf, 0, 2, 4])) == {"s": 6.0, "m": 3.0, "low": 2.0, "high": 4.0}
    assert set(one(text, table("BAB", x=[1, 0, math.inf])).values()) == {math.inf}
    assert set(one(text, table("BAB", x=[1, 0, -math.inf])).values()) == {-math.inf}
    mixed = one(text, table("ABB", x=[0, -math.inf, 5]))
    assert mixed == {"s": -math.inf, "m": -math.inf, "low": -math.inf, "high": 5.0}
    long = one("RETURN SUM(A.x) AS s, MAX(A.x) AS high PATTERN A+", table("A" * 3000, x=[1.0] * 2999 + [math.inf]))
    assert long == {"s": math.inf, "high": math.inf}
    sliding = sk.query(f"{text} WITHIN 4 SLIDE 1").run(table("BABBAB", x=[math.inf, 0, 2, 4, 0, 1]))
    assert all(0 < row["s"] < 20 for row in sliding.to_pylist())


# ---- exact integers


@pytest.mark.parametrize("n", [*range(1, 70), 100, 500, 1023, 1024, 1025, 2000])
def test_exact_counts_of_one_kleene_type(n: int) -> None:
    x = [3 * i - n for i in range(n)]
    row = one("RETURN COUNT(*), COUNT(A), SUM(A.x), AVG(A.x) PATTERN A+", table("A" * n, x=x), numbers="exact")
    assert row["count"] == str(2**n - 1)
    assert row["count_A"] == str(n * 2 ** (n - 1))
    assert row["sum_A_x"] == str(sum(x) * 2 ** (n - 1))
    assert row["avg_A_x"] == pytest.approx(sum(x) / n, rel=1e-15)


def test_exact_counts_longer_than_python_writes() -> None:
    n = 20_000
    row = one("RETURN COUNT(*), SUM(A.x), LOG2(COUNT(*)) PATTERN A+", table("A" * n, x=[-0.5] * n), numbers="exact")
    assert value(row["count"]) == 2**n - 1
    assert value(row["sum_A_x"]) == Fraction(-n * 2 ** (n - 1), 2)
    assert row["log2_count"] == pytest.approx(n, abs=1e-6)


def test_counts_of_a_sequence_are_products() -> None:
    a, b, c = 70_001, 80_021, 90_001  # the product is below 2^53
    data = table("A" * a + "B" * b + "C" * c)
    for numbers in ("double", "exact"):
        count = one("RETURN COUNT(*) PATTERN SEQ(A, B, C)", data, numbers=numbers)["count"]
        assert int(count) == a * b * c < 2**53


@pytest.mark.parametrize("n", [51, 52, 53, 54])
def test_counts_near_the_end_of_exact_doubles(n: int) -> None:
    for text in ("RETURN COUNT(*) PATTERN A+", "RETURN COUNT(*), MIN(A.x) PATTERN A+"):
        double = one(text, table("A" * n, x=range(n)))["count"]
        assert double == float(2**n - 1)
        if n <= 53:
            assert int(double) == 2**n - 1
    assert one("RETURN COUNT(*) PATTERN A+", table("A" * n), numbers="exact")["count"] == str(2**n - 1)


def test_pairs_are_exact() -> None:
    n = 40
    count = 2**n - 1
    assert one("RETURN COUNT(*) PATTERN A+ AND A+", table("A" * n), numbers="exact")["count"] == str(
        count * (count - 1) // 2
    )
    count = 2**26 - 1
    text = "RETURN COUNT(*), COUNT(A) PATTERN A+ AND A+"
    assert int(one(text, table("A" * 26))["count"]) == count * (count - 1) // 2
    assert int(one(text, table("A" * 20))["count_A"]) == (2**20 - 2) * 20 * 2**19


def test_large_integers_in_minima_and_maxima() -> None:
    big = [2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1]
    text = "RETURN MIN(A.x) AS low, MAX(A.x) AS high PATTERN A WITHIN 2 SLIDE 1"
    for numbers in ("double", "exact"):
        rows = sk.query(text, numbers=numbers).run(table("A" * len(big), range(len(big)), x=big)).to_pylist()  # type: ignore[arg-type]
        seen = {(row["low"], row["high"]) for row in rows}
        assert seen == {
            (min(big[max(0, k - 1) : k + 1]), max(big[max(0, k - 1) : k + 1])) for k in range(len(big) + 1)
        }
    close = table("AA", x=[2**53, 2**53 + 1])
    assert one("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x", close)["count"] == 3
    assert one("RETURN COUNT(*) PATTERN A+ WHERE A.x >= NEXT(A).x", close)["count"] == 2


def test_large_integers_in_exact_sums() -> None:
    x = [2**63 - 1, -(2**63) + 1, 2**62, 7]
    row = one("RETURN SUM(A.x), AVG(A.x) PATTERN A+", table("AAAA", x=x), numbers="exact")
    assert row["sum_A_x"] == str(8 * sum(x))
    assert row["avg_A_x"] == sum(x) / 4


def test_decimals() -> None:
    x = [Decimal("0.10"), Decimal("-12345678901234.56"), None, Decimal("99.99")]
    known = [item for item in x if item is not None]
    row = one(
        "RETURN SUM(A.x) AS s, MIN(A.x) AS low, MAX(A.x) AS high PATTERN A+", table("AAAA", x=x), numbers="exact"
    )
    assert Decimal(row["s"]) == 8 * sum(known)
    assert (row["low"], row["high"]) == (min(known), max(known))
    assert one("RETURN SUM(A.x) AS s PATTERN A+", table("AAAA", x=x))["s"] == pytest.approx(float(8 * sum(known)))


def test_floats_are_summed_exactly() -> None:
    x = [0.1, 0.2, -0.3, 0.75, 1.0]
    row = one("RETURN SUM(A.x) AS s PATTERN A+", table("A" * 5, x=x), numbers="exact")
    assert value(row["s"]) == 16 * sum(map(Fraction, x))


# ---- against dynamic programming in Python's integers

# A pattern is a machine over labels: {state: {label: state}}, from 0, accepting the states in the set.
MIDDLE = {"B": 2, "C": 3, "A": 4}
SECOND, THIRD = {"A": 3, "B": 4}, {"A": 5, "B": 6}
MACHINES: dict[str, tuple[dict[int, dict[str, int]], set[int]]] = {
    "A+": ({0: {"A": 1}, 1: {"A": 1}}, {1}),
    "SEQ(A+, B+)": ({0: {"A": 1}, 1: {"A": 1, "B": 2}, 2: {"B": 2}}, {2}),
    "(SEQ(A+, B))+": ({0: {"A": 1}, 1: {"A": 1, "B": 2}, 2: {"A": 1}}, {2}),
    "SEQ(A, B, C)": ({0: {"A": 1}, 1: {"B": 2}, 2: {"C": 3}, 3: {}}, {3}),
    "SEQ(A, (B OR C)*, A)": ({0: {"A": 1}, 1: MIDDLE, 2: MIDDLE, 3: MIDDLE, 4: {}}, {4}),
    "(A OR B){2,3}": ({0: {"A": 1, "B": 2}, 1: SECOND, 2: SECOND, 3: THIRD, 4: THIRD, 5: {}, 6: {}}, {3, 4, 5, 6}),
}

Event = tuple[int, str, int]  # time, type, x
Holds = Callable[[str, int, str, int], bool]


def aggregates(pattern: str, semantics: str, events: list[Event], holds: Holds) -> tuple[int, int, int | None]:
    """Return COUNT(*), SUM(x) and MIN(x) over all trends, by partial trends that end in each event.

    A partial trend is known by its last event and state; `waiting` are those that may still be extended.
    """
    follow, accepting = MACHINES[pattern]
    count = total = 0
    low: int | None = None
    waiting: list[tuple[int, str, int, int, int, int]] = []  # state, label, x, count, sum, least
    ticks = sorted({time for time, _, _ in events})
    for tick in ticks:
        fresh = []
        extended: set[int] = set()
        for time, label, x in events:
            if time != tick:
                continue
            made: dict[int, tuple[int, int, int]] = {}
            if label in follow[0]:
                made[follow[0][label]] = (1, x, x)
            for i, (state, before, y, n, s, least) in enumerate(waiting):
                if label in follow[state] and holds(before, y, label, x):
                    extended.add(i)
                    target = follow[state][label]
                    more = (n, s + n * x, min(least, x))
                    old = made.get(target)
                    made[target] = more if old is None else (old[0] + n, old[1] + more[1], min(old[2], more[2]))
            for state, (n, s, least) in made.items():
                fresh.append((state, label, x, n, s, least))
                if state in accepting:
                    count, total = count + n, total + s
                    low = least if low is None else min(low, least)
        if semantics == "contiguous":
            waiting = []
        elif semantics == "skip-till-next-match":
            waiting = [entry for i, entry in enumerate(waiting) if i not in extended]
        waiting += fresh
    return count, total, low


PREDICATES: dict[str, tuple[str, Holds]] = {
    "none": ("", lambda a, x, b, y: True),
    "A rises": ("WHERE A.x <= NEXT(A).x", lambda a, x, b, y: a != "A" or b != "A" or x <= y),
    "A before B": (
        "WHERE A.x > NEXT(B).x AND A.x != NEXT(A).x",
        lambda a, x, b, y: (a, b) not in {("A", "B"), ("A", "A")} or (x > y if b == "B" else x != y),
    ),
}


def stream(seed: int, n: int, ties: int) -> list[Event]:
    rng = random.Random(seed)
    return [
        (rng.randrange(n * 10 // ties) if ties > 1 else i, rng.choice("AABBC"), rng.randrange(-50, 50))
        for i in range(n)
    ]


@pytest.mark.parametrize("semantics", ["skip-till-any-match", "skip-till-next-match", "contiguous"])
@pytest.mark.parametrize(
    ("pattern", "predicate"),
    [
        *((pattern, "none") for pattern in MACHINES),
        *((pattern, "A rises") for pattern in MACHINES if pattern != "SEQ(A, B, C)"),
        *((pattern, "A before B") for pattern in MACHINES if pattern not in ("A+", "SEQ(A, B, C)")),
    ],
)
def test_dynamic_programming(pattern: str, predicate: str, semantics: str) -> None:
    clause, holds = PREDICATES[predicate]
    for seed, ties in ((1, 1), (2, 30)):
        events = stream(seed, 300, ties)
        times, types, x = (list(column) for column in zip(*events, strict=True))
        data = table("".join(types), times, x=x)
        text = (
            "RETURN COUNT(*) AS n, SUM(x) AS s, MIN(x) AS low, LOG2(COUNT(*)) AS bits"
            f" PATTERN {pattern} SEMANTICS {semantics} {clause}"
        )
        count, total, low = aggregates(pattern, semantics, events, holds)
        assert count > 0
        row = one(text, data, numbers="exact")
        assert (int(row["n"]), int(row["s"]), row["low"]) == (count, total, low)
        row = one(text, data)
        assert row["n"] == pytest.approx(count, rel=1e-12) if count > 2**53 else row["n"] == count
        assert row["s"] == pytest.approx(total, rel=1e-9)
        assert row["low"] == low
        assert row["bits"] == pytest.approx(math.log2(count), rel=1e-12)
        alone = one(f"RETURN COUNT(*) AS n PATTERN {pattern} SEMANTICS {semantics} {clause}", data)
        assert alone["n"] == pytest.approx(row["n"], rel=1e-12)


def test_the_dynamic_programming_itself() -> None:
    events = [
        (1, "A", 1),
        (2, "B", 2),
        (3, "A", 3),
        (4, "A", 4),
        (5, "C", 5),
        (6, "B", 6),
        (7, "A", 7),
        (8, "B", 8),
    ]
    free = PREDICATES["none"][1]
    counts = {"skip-till-any-match": 43, "skip-till-next-match": 8, "contiguous": 2}
    for semantics, count in counts.items():
        assert aggregates("(SEQ(A+, B))+", semantics, events, free)[0] == count
    assert aggregates("A+", "skip-till-any-match", events, free)[0] == 2**4 - 1


def test_exact_sums_of_doubles_of_all_sizes() -> None:
    values = [0.1, 0.2, -0.3, 12.75, 0.001, 1e300, -1e-300]
    data = pa.table({"time": range(len(values)), "x": values})
    result = sk.query("RETURN SUM(A.x) PATTERN A", type=None, numbers="exact").run(data)
    assert Fraction(result["sum_A_x"][0].as_py()) == sum(map(Fraction, values))


def test_sums_that_cancel_in_wide_numbers() -> None:
    values, power = [2.0**1000], 1000
    while power > 80:
        values.append(-(2.0**power) + 2.0 ** (power - 50))
        power -= 50
    data = pa.table({"time": range(len(values)), "x": values})
    result = sk.query("RETURN SUM(A.x) PATTERN A", type=None).run(data)
    assert result["sum_A_x"][0].as_py() == float(sum(map(Fraction, values)))


def test_infinities_of_both_signs_are_no_number() -> None:
    data = pa.table({"time": range(6), "x": [math.inf, 1.0, 1.0, 1.0, 1.0, -math.inf]})
    for rows in (data, data.take([5, 4, 3, 2, 1, 0])):
        rows = rows.set_column(0, "time", pa.array(range(6)))
        row = sk.query("RETURN SUM(A.x), AVG(A.x) PATTERN A+", type=None).run(rows).to_pylist()[0]
        assert math.isnan(row["sum_A_x"]) and math.isnan(row["avg_A_x"])


def test_windows_far_from_the_epoch_by_a_fraction() -> None:
    offset = Fraction(56552002258801, 10**6)
    data = pa.table({"time": [56552002.358801]})
    query = sk.query("RETURN COUNT(*) PATTERN A WITHIN 0.1 SLIDE 100000000", type=None, offset=offset)
    inside = offset <= Fraction(56552002.358801) < offset + Fraction(1, 10)
    assert query.run(data).num_rows == inside
