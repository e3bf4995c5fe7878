"""Arithmetic over two events, separated: for every pair of rows it is what the condition says as it is written."""

from __future__ import annotations

import math
import operator
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.chance import cases

import sparkleene as sk
from sparkleene.columns.thresholds import rank_comparison
from sparkleene.language.bind import bind
from sparkleene.language.bound import Bound, Call, Field, Literal_, Term
from sparkleene.language.parser import parse
from sparkleene.language.trees import walk_term
from sparkleene.plan.predicates import Threshold, find_thresholds, pairs, separate, sides

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": lambda x, y: float(x) / float(y)}
OPERATORS: dict[str, Any] = {**COMPARE, **ARITHMETIC}
NAMES = ("a", "b")
INTEGERS = (
    st.integers(-3, 3)
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
)
FLOATS = (
    st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.3, 1e16, 1e-300, 5e-324, 1.7e308, -1.7e308])
    | st.floats(allow_nan=False)
    | st.integers(-5, 5).map(lambda n: n / 10)
)


def value(term: Term, rows: tuple[dict[str, Any], dict[str, Any]]) -> Any:
    """Evaluate a term over two events by its definition; None is NULL, integers have any length."""
    if isinstance(term, Literal_):
        return term.value
    if isinstance(term, Field):
        return rows[term.side][term.path[0]]
    args = [value(arg, rows) for arg in term.args]
    if None in args:
        return None
    if term.op == "neg":
        return -args[0]
    try:
        found = OPERATORS[term.op](*args)
    except OverflowError:  # an integer that no double is near to
        assume(False)
    return None if isinstance(found, float) and math.isnan(found) else found


@st.composite
def terms(draw: st.DrawFn, single: int, depth: int = 3) -> Term:
    """Draw arithmetic in which the attributes of one event stand in one place."""
    other = 1 - single
    held: Term = Field((draw(st.sampled_from(NAMES)),), single)  # type: ignore[arg-type]
    if draw(st.booleans()):
        held = Call("neg", (held,))
    for _ in range(draw(st.integers(1, depth))):
        number = Literal_(draw(st.integers(-3, 3) | st.sampled_from([0.1, -0.5, 1e10, 7, 10**19])))
        beside = draw(st.sampled_from([Field(("a",), other), Field(("b",), other), number]))  # type: ignore[arg-type]
        kind = draw(st.sampled_from(["+", "-", "other -", "other +", "neg", "*", "/"]))
        if kind in ("*", "/") and not number.value:
            continue
        held = {
            "neg": Call("neg", (held,)),
            "*": Call("*", (held, number)),
            "/": Call("/", (held, number)),
            "other -": Call("-", (beside, held)),
            "other +": Call("+", (beside, held)),
        }.get(kind) or Call(kind, (held, beside))  # type: ignore[arg-type]
    return held


@st.composite
def conditions(draw: st.DrawFn) -> Call:
    """Draw such comparisons, over both events."""
    single = draw(st.sampled_from([0, 1]))
    other = 1 - single
    one = draw(terms(single))
    two = draw(
        st.sampled_from([Field(("a",), other), Literal_(0), Literal_(300), Literal_(0.3)])  # type: ignore[arg-type]
        | st.just(Call("+", (Field(("a",), other), Literal_(1))))  # type: ignore[arg-type]
    )
    term = Call(draw(st.sampled_from([*COMPARE])), draw(st.sampled_from([(one, two), (two, one)])))  # type: ignore[arg-type]
    assume(sides(term) == {0, 1} and separate(term) is None)
    return term


def check(term: Call, table: pa.Table) -> None:
    """Compare the separated form with the definition for every pair of rows."""
    found = find_thresholds(term)
    assert len(found) == (2 if term.op == "=" else 1)
    try:
        ranked = [(each.op, *rank_comparison(each, table)) for each in found]
    except sk.DataError as error:  # of doubles and integers together the integers are not of any length
        assert error.diagnostics[0].code in ("overflow", "not-exact")
        assume(False)
    rows = table.to_pylist()
    for (i, one), (j, two) in product(enumerate(rows), repeat=2):
        holds = all(COMPARE[op](f[i], g[j]) for op, f, g in ranked)
        assert holds == (value(term, (one, two)) is True), (term, one, two)


@pytest.mark.parametrize(("first", "second"), [("int64", "int64"), ("float64", "float64"), ("int64", "float64")])
@given(data=st.data())
@settings(max_examples=cases(150), deadline=None)
def test_what_is_separated_is_what_is_written(first: str, second: str, data: st.DataObject) -> None:
    kinds = {"int64": INTEGERS | st.none(), "float64": FLOATS | st.none()}
    columns = {
        name: pa.array(data.draw(st.lists(kinds[kind], min_size=5, max_size=5)), kind)
        for name, kind in zip(NAMES, (first, second), strict=True)
    }
    term = data.draw(conditions())
    if "int64" in (first, second) and any(isinstance(part, Call) and part.op == "/" for part in walk_term(term)):
        # an integer is a double before it is divided, so those beyond 2^53 are not the definition's
        columns = {name: pa.array([3, 1, None, -2, 0], column.type) for name, column in columns.items()}
    check(term, pa.table(columns))


def minus(op: str, bound: Any = 300) -> Call:
    return Call(op, (Call("-", (Field(("a",), 1), Field(("a",), 0))), Literal_(bound)))  # type: ignore[arg-type]


@pytest.mark.parametrize("op", [*COMPARE])
@given(values=st.lists(FLOATS, min_size=6, max_size=6), bound=FLOATS)
@example(values=[0.1, 0.2, 0.30000000000000004, 0.3, 1e16, 1e16 + 2], bound=0.1)
@example(values=[math.inf, -math.inf, 1.7e308, -1.7e308, 0.0, 5e-324], bound=1.0)
@settings(max_examples=cases(100), deadline=None)
def test_the_last_bit_of_a_difference(op: str, values: list[float], bound: float) -> None:
    check(minus(op, bound), pa.table({"a": values, "b": values}))


def test_integers_at_the_ends_of_64_bits() -> None:
    ends = [2**63 - 1, -(2**63), 0, 2**62, -(2**62) - 1, None]
    for op, bound in product(COMPARE, (0, 300, 2**63 - 1, -(2**63), 2**64)):
        check(minus(op, bound), pa.table({"a": pa.array(ends, "int64"), "b": pa.array(ends, "int64")}))


def test_what_cancels_still_has_to_be_known() -> None:
    """`x - x` of a NULL is NULL."""
    rows = pa.table({"a": [1, None, 3], "b": [None, 1, 1]})
    (pair,) = pairs(bound_of("S.a - S.a + NEXT(S).a > 0 AND NEXT(S).b - NEXT(S).b + S.a < 9").adjacent)
    found = [rank_comparison(each, rows) for each in pair.comparisons]
    assert [[math.isnan(x) for x in side] for side in found[0]] == [[False, True, False], [False, True, False]]
    assert math.isnan(found[1][1][0])


def test_decimals_are_exact() -> None:
    values = pa.array(["0.10", "0.20", "0.30", None]).cast(pa.decimal128(9, 2))
    (found,) = find_thresholds(minus("<=", 0.1))
    f, g = rank_comparison(found, pa.table({"a": values}))
    assert [[bool(x >= y) for y in g] for x in f] == [
        [True, True, False, False], [True, True, True, False], [True, True, True, False], [False] * 4,
    ]  # fmt: skip


def test_infinite_values_that_cancel_beside_an_infinite_bound_are_refused() -> None:
    term = Call(">=", (Call("-", (Field(("a",), 0), Field(("a",), 1))), Field(("b",), 1)))
    (found,) = find_thresholds(term)
    with pytest.raises(sk.DataError, match="infinite values meet"):
        rank_comparison(found, pa.table({"a": [math.inf, 1.0], "b": [-math.inf, 0.0]}))


def test_text_is_no_number() -> None:
    (found,) = find_thresholds(minus("<"))
    with pytest.raises(sk.DataError, match="'a' is text"):
        rank_comparison(found, pa.table({"a": ["x"]}))


def bound_of(where: str) -> Bound:
    return bind(parse(f"RETURN COUNT(*) PATTERN S+ WHERE {where}"))


def test_nothing_is_known_of_a_column_of_nulls() -> None:
    found = Threshold(">=", minus("<="), 0)
    f, g = rank_comparison(found, pa.table({"a": pa.nulls(2)}))
    assert all(map(math.isnan, [*f, *g]))
