import math
import operator
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases

from sparkleene.columns.expressions import evaluate, evaluate_condition, evaluate_number, rank_sides
from sparkleene.errors import DataError, Place, Span
from sparkleene.language.bound import Call, Field, Literal_

COMPARISONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
TEXT = st.text(alphabet="ab\u00e9\U0001f600\uffff", max_size=2)
INT = st.one_of(
    st.integers(-3, 3), st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 2**60 + 1, 2**60, 2**63 - 1, -(2**63)])
)
FLOAT = st.one_of(
    st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 2.0**53, 2.0**60, 1e300, 2.0**63])
)
COLUMNS = {
    "i": (pa.int64(), INT),
    "j": (pa.int64(), INT),
    "n": (pa.int16(), st.integers(-5, 5)),
    "f": (pa.float64(), FLOAT),
    "g": (pa.float64(), FLOAT),
    "s": (pa.string(), TEXT),
    "d": (pa.dictionary(pa.int8(), pa.string()), TEXT),
    "b": (pa.bool_(), st.booleans()),
    "c": (pa.bool_(), st.booleans()),
}


@st.composite
def tables(draw):
    count = draw(st.integers(0, 6))
    columns = {}
    for name, (type, values) in COLUMNS.items():
        items = draw(st.lists(st.none() | values, min_size=count, max_size=count))
        value_type = type.value_type if pa.types.is_dictionary(type) else type
        array = pa.array(items, value_type)
        array = array.dictionary_encode() if pa.types.is_dictionary(type) else array
        cut = draw(st.integers(0, count))
        columns[name] = pa.chunked_array([array.slice(0, cut), array.slice(cut)])
    return pa.table(columns)


def leaf(names, constants):
    return st.one_of(st.sampled_from(names).map(lambda n: Field((n,))), constants.map(Literal_))


def call(ops, *args):
    return st.builds(lambda op, items: Call(op, items), st.sampled_from(ops), st.tuples(*args))


NUMBER = st.recursive(
    leaf(["i", "j", "n", "f", "g"], INT | FLOAT | st.none()),
    lambda inner: call(["+", "-", "*", "/", "%"], inner, inner) | call(["neg"], inner),
    max_leaves=3,
)
WORD = leaf(["s", "d"], TEXT | st.none())
TRUTH = leaf(["b", "c"], st.booleans() | st.none())
COMPARISON = st.one_of(call(list(COMPARISONS), kind, kind) for kind in (NUMBER, WORD, TRUTH))
CONDITION = st.recursive(
    COMPARISON | TRUTH | call(["isnull"], NUMBER | WORD | TRUTH),
    lambda inner: (
        call(["and", "or"], inner, inner) | call(["and", "or"], inner, inner, inner) | call(["not"], inner)
    ),
    max_leaves=4,
)


class Overflow(Exception):
    pass


def value(term, row):
    if isinstance(term, Literal_):
        return None if isinstance(term.value, float) and math.isnan(term.value) else term.value
    if isinstance(term, Field):
        item = row[term.path[0]]
        return None if isinstance(item, float) and math.isnan(item) else item
    args = [value(arg, row) for arg in term.args]
    if term.op == "isnull":
        return args[0] is None
    if term.op == "and":
        return False if False in args else None if None in args else True
    if term.op == "or":
        return True if True in args else None if None in args else False
    if None in args:
        return None
    if term.op == "not":
        return not args[0]
    if term.op in COMPARISONS:
        if isinstance(args[0], str):
            args = [arg.encode() for arg in args]
        return COMPARISONS[term.op](*args)
    result = arithmetic(term.op, *args)
    if isinstance(result, int) and not -(2**63) <= result < 2**63:
        raise Overflow
    return None if isinstance(result, float) and math.isnan(result) else result


def arithmetic(op, a, b=None):
    if op == "neg":
        return -a
    if op in "+-*":
        if isinstance(a, float) or isinstance(b, float):
            a, b = float(a), float(b)
        return {"+": operator.add, "-": operator.sub, "*": operator.mul}[op](a, b)
    if b == 0:
        return None
    if op == "/":
        return float(np.float64(a) / np.float64(b))
    if isinstance(a, int) and isinstance(b, int):
        return (abs(a) % abs(b)) * (-1 if a < 0 else 1)
    return float(np.fmod(np.float64(a), np.float64(b)))


@settings(max_examples=cases(600), deadline=None)
@given(tables(), CONDITION | NUMBER)
@np.errstate(all="ignore")
def test_evaluate_is_what_python_says_row_by_row(table, term):
    rows = [{name: table[name][i].as_py() for name in COLUMNS} for i in range(table.num_rows)]
    try:
        wanted = [value(term, row) for row in rows]
    except Overflow:
        with pytest.raises(DataError, match="overflow"):
            evaluate(term, table)
        return
    try:
        found = evaluate(term, table)
    except DataError as error:  # a constant part overflows, and no row asks for it
        assert error.diagnostics[0].code == "overflow"
        return
    found = [found.as_py()] * len(rows) if isinstance(found, pa.Scalar) else found.to_pylist()
    assert found == wanted
    assert [type(item) is bool for item in found] == [type(item) is bool for item in wanted]


@settings(max_examples=cases(400), deadline=None)
@given(tables(), st.sampled_from(list(COMPARISONS)), st.one_of(st.tuples(k, k) for k in (NUMBER, WORD, TRUTH)))
@np.errstate(all="ignore")
def test_sides_compare_like_the_values_for_every_pair(table, op, pair):
    rows = [{name: table[name][i].as_py() for name in COLUMNS} for i in range(table.num_rows)]
    try:
        wanted = [[value(term, row) for row in rows] for term in pair]
        left, right = rank_sides(*pair, op, table)
    except (Overflow, DataError):
        return
    assert left.dtype == right.dtype == np.float64
    for i, a in enumerate(wanted[0]):
        for j, b in enumerate(wanted[1]):
            assert (a is None or b is None) == (math.isnan(left[i]) or math.isnan(right[j]))
            if a is not None and b is not None:
                one, two = (a.encode(), b.encode()) if isinstance(a, str) else (a, b)
                assert COMPARISONS[op](left[i], right[j]) == COMPARISONS[op](one, two)


def compare(column, op, other, type=None):
    table = pa.table({"x": column if isinstance(column, pa.Array) else pa.array(column, type)})
    return evaluate(Call(op, (Field(("x",)), Literal_(other))), table).to_pylist()


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (pa.timestamp("s"), [datetime(2024, 5, 1), None, datetime(2024, 5, 2)]),
        (pa.timestamp("ns"), [datetime(2024, 5, 1), None, datetime(2024, 5, 2)]),
        (pa.timestamp("us", "UTC"), [datetime(2024, 5, 1), None, datetime(2024, 5, 2)]),
        (pa.date32(), [date(2024, 5, 1), None, date(2024, 5, 2)]),
        (pa.date64(), [date(2024, 5, 1), None, date(2024, 5, 2)]),
    ],
)
def test_text_constants_are_read_as_times(type, values):
    assert compare(values, "<", "2024-05-01 12:00:00", type) == [True, None, False]
    assert compare(values, "=", "2024-05-02", type) == [False, None, True]
    assert compare(values, "<=", "2024-05-01 00:00:00.5", type) == [True, None, False]


def test_a_constant_without_offset_is_in_the_column_s_zone():
    column = pa.array([datetime(2024, 5, 1, 10)], pa.timestamp("us", "Europe/Berlin"))
    assert compare(column, "=", "2024-05-01 12:00:00") == [True]
    assert compare(column, "=", "2024-05-01T10:00:00Z") == [True]


def test_decimals_are_compared_as_written():
    column = pa.array([Decimal("0.10"), Decimal("0.25"), None])
    assert compare(column, "=", 0.1) == [True, False, None]
    assert compare(column, ">", 0) == [True, True, None]
    assert compare(column, "<", 2**80) == [True, True, None]
    table = pa.table({"x": column, "w": pa.array([Decimal("1e-30"), None, None], pa.decimal128(38, 35))})
    assert evaluate(Call(">", (Field(("x",)), Field(("w",)))), table).to_pylist() == [True, None, None]
    total = evaluate(Call("+", (Field(("x",)), Literal_(1))), table).to_pylist()
    assert total == [Decimal("1.10"), Decimal("1.25"), None]
    assert evaluate(Call("*", (Field(("w",)), Field(("w",)))), table).to_pylist()[0] == pytest.approx(1e-60)


def test_unsigned_and_small_types():
    assert compare([2**63 + 1, 5], ">", 2**63, pa.uint64()) == [True, False]
    assert compare([200, 5], "=", 200, pa.uint8()) == [True, False]
    assert compare([0.5, None], "=", 0.5, pa.float32()) == [True, None]
    assert compare(pa.array([1, 2]).dictionary_encode(), "=", 2) == [False, True]
    assert compare(["x", "y"], "=", "y", pa.string_view()) == [False, True]
    assert compare([True, False], "=", True) == [True, False]
    assert compare([None, None], "=", 1, pa.null()) == [None, None]


def test_dictionaries_with_nulls_inside_and_different_chunks():
    one = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), ["a", None])
    two = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), ["b", "b", "a"])
    table = pa.table({"x": pa.chunked_array([one, two])})
    x = Field(("x",))
    assert evaluate(Call("isnull", (x,)), table).to_pylist() == [False, True, True, False, False, False]
    assert evaluate(Call("=", (Literal_("a"), x)), table).to_pylist() == [True, None, None, False, False, True]
    assert rank_sides(x, x, "<", table)[0].tolist() == pytest.approx([0, math.nan, math.nan, 1, 1, 0], nan_ok=True)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([datetime(1, 1, 1), datetime(2024, 1, 1), None], pa.timestamp("us")),
        pa.array([-(2**63), 2**63 - 1, None], pa.timestamp("ns")),
        pa.array([date(1900, 1, 1), date(2024, 1, 1), None]),
        pa.array([Decimal("-1.5"), Decimal("1.5"), None]),
        pa.array([b"a", b"b", None]),
        pa.array([b"aa", b"bb", None], pa.binary(2)),
        pa.array([1, 2, None], pa.duration("s")),
        pa.array([1, 2, None], pa.time32("s")),
        pa.array([2**63, 2**63 + 1, None], pa.uint64()),
    ],
)
def test_sides_of_every_type_are_ordered(column):
    x, y = Field(("x",)), Field(("y",), 1)
    table = pa.table({"x": column, "y": column})
    for left, right in (rank_sides(x, y, "<", table), rank_sides(x, Field(("x",), 1), "<", table)):
        assert left[0] == right[0] < left[1] == right[1]
        assert math.isnan(left[2]) and math.isnan(right[2])


def test_sides_of_one_expression_are_one_array():
    left, right = rank_sides(Field(("x",)), Field(("x",), 1), "<", pa.table({"x": ["b", "a"]}))
    assert left is right


def test_struct_fields():
    table = pa.table({"p": pa.array([{"price": 1, "in": {"x": 2}}, None, {"price": None, "in": None}])})
    assert evaluate(Field(("p", "price")), table).to_pylist() == [1, None, None]
    assert evaluate(Field(("p", "in", "x")), table).to_pylist() == [2, None, None]
    with pytest.raises(DataError) as caught:
        evaluate(Field(("p", "prise")), table)
    assert caught.value.diagnostics[0].code == "unknown-attribute"
    assert caught.value.diagnostics[0].help == "did you mean 'price'?"
    with pytest.raises(DataError, match="not a struct"):
        evaluate(Field(("p", "price", "x")), table)


SOURCE = "WHERE S.x < S.y"
X, Y = Field(("x",), span=Span(6, 9)), Field(("y",), span=Span(12, 15))
DAY = datetime(2024, 5, 1)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (pa.array(["a"]), pa.array([1]), "cannot compare text with a number by <"),
        (pa.array([True]), pa.array([1]), "cannot compare a boolean with a number"),
        (pa.array([DAY]), pa.array([1]), "timestamp without a time zone with a number"),
        (pa.array([DAY]), pa.array([DAY], pa.timestamp("us", "UTC")), "give both a time zone, or neither"),
        (pa.array([[1]]), pa.array([1]), "cannot be compared"),
        (pa.array([2**40], pa.timestamp("s")), pa.array([1], pa.timestamp("ns")), "no common unit"),
    ],
)
def test_types_that_do_not_compare(x, y, message):
    for ask in (
        lambda t: evaluate(Call("<", (X, Y)), t, Place(SOURCE, "f.q")),
        lambda t: rank_sides(X, Y, "<", t, Place(SOURCE, "f.q")),
    ):
        with pytest.raises(DataError, match=message) as caught:
            ask(pa.table({"x": x, "y": y}))
        assert "f.q:1:7" in str(caught.value)


def test_wrong_types_name_the_column_its_type_and_a_value():
    table = pa.table({"x": [None, "tall"], "y": [1, 2]})
    with pytest.raises(DataError) as caught:
        evaluate(Call("+", (Y, X), Span(6, 15)), table, Place(SOURCE, "f.q"))
    assert str(caught.value).splitlines() == [
        "error[wrong-type]: arithmetic needs numbers, but 'x' is text (string), for example 'tall'",
        " --> f.q:1:7",
        "  |",
        "1 | WHERE S.x < S.y",
        "  |       ^^^",
        "  = help: convert the column in the data",
    ]


@pytest.mark.parametrize("text", ["soon", "2024-13-01", "2024-05-01T00:00:00+02:00"])
def test_text_that_is_no_time(text):
    with pytest.raises(DataError, match="does not read as a timestamp"):
        compare([DAY], "<", text)


def test_conditions():
    table = pa.table({"x": pa.chunked_array([[1, None], [3]])})
    x = Field(("x",))
    assert evaluate_condition(Call(">", (x, Literal_(1))), table).tolist() == [False, False, True]
    assert evaluate_condition(Call("=", (x, Literal_(None))), table).tolist() == [False] * 3
    assert evaluate_condition(Literal_(True), table).tolist() == [True] * 3
    assert evaluate_condition(Literal_(None), table).tolist() == [False] * 3
    assert evaluate_condition(Call(">", (x, Literal_(1))), table.slice(0, 0)).tolist() == []
    with pytest.raises(DataError, match="here a condition is needed"):
        evaluate_condition(x, table)


def test_numeric():
    table = pa.table({"x": [1, None], "b": [True, None], "t": ["a", "b"], "big": [2**53 + 1, 0]})
    assert evaluate_number(Call("+", (Field(("x",)), Literal_(1))), table).tolist() == pytest.approx(
        [2, math.nan], nan_ok=True
    )
    assert evaluate_number(Literal_(2), table).tolist() == [2, 2]
    assert evaluate_number(Literal_(None), table).tolist() == pytest.approx([math.nan] * 2, nan_ok=True)
    assert evaluate_number(Field(("b",)), table, boolean=True).tolist() == pytest.approx([1, math.nan], nan_ok=True)
    for name, message in (("b", "number is needed"), ("t", "number is needed"), ("big", "beyond 2\\^53")):
        with pytest.raises(DataError, match=message):
            evaluate_number(Field((name,)), table)


def test_missing_and_duplicate_columns():
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["price", "a", "a"])
    with pytest.raises(DataError, match="did you mean 'price'"):
        evaluate(Field(("prise",)), table)
    with pytest.raises(DataError, match="more than one column 'a'"):
        evaluate(Field(("a",)), table)
    assert evaluate(Field(("price",)), table).to_pylist() == [1]
