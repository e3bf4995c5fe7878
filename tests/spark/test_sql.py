import datetime
import math
import random
import re
import unicodedata
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import SparkRuntimeException
from pyspark.sql import functions as F
from pyspark.sql import types as T
from tests.chance import cases

import sparkleene
from sparkleene.columns.expressions import evaluate
from sparkleene.columns.labels import label_masks
from sparkleene.columns.row_values import row_values
from sparkleene.errors import DataError, Place, Span
from sparkleene.language.ast import Atom
from sparkleene.language.bound import Bound, Call, Field, Interval, Label, Literal_
from sparkleene.spark.sql.pushdown import superset
from sparkleene.spark.sql.terms import condition, masks, value
from sparkleene.spark.sql.types import to_arrow

pytestmark = pytest.mark.spark
SOURCES = Path(sparkleene.__file__).parent / "spark"

ROWS = 40
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
LONGS = [0, 1, -1, 2, 2**53, 2**53 + 1, -(2**53) - 1, 2**60 + 1, 2**63 - 1, -(2**63)]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    1.5,
    -2.5,
    0.1,
    math.nan,
    math.inf,
    -math.inf,
    2.0**53,
    2.0**63,
    -(2.0**63),
    1e300,
    5e-324,
]
TEXTS = ["", "a", "A", "aa", "b", "é", "\uffff", "\U0001f600", "\0", "a\n", "'; --", "\\", "NaN", "1", "2024-01-01"]
UTC = datetime.UTC
MOMENTS = [
    datetime.datetime(1, 1, 2),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(1970, 1, 1),
    datetime.datetime(2024, 5, 31),
    datetime.datetime(2024, 5, 31, 4, 0, 0, 1),
    datetime.datetime(2024, 11, 3, 5, 30),
    datetime.datetime(9999, 12, 30, 23, 59, 59),
]
DECIMALS = [Decimal(text) for text in ("0.00", "0.10", "-0.10", "1.50", "99999.99", "-99999.99", "12.34")]
COLUMNS = {
    "i8": (pa.int8(), [0, 1, -1, 2, 127, -128]),
    "i16": (pa.int16(), [0, 1, 300, 32767, -32768]),
    "i32": (pa.int32(), [0, 1, 2, -3, 2**31 - 1, -(2**31)]),
    "long": (pa.int64(), LONGS),
    "far": (pa.int64(), LONGS),
    "near": (pa.int64(), [0, 1, -1, 2, 3, -7, 10]),
    "small": (pa.int64(), [0, 1, -2, 5, 2**31]),
    "f32": (pa.float32(), [0.0, -0.0, 0.1, 1.5, math.nan, math.inf, -math.inf, 16777216.0, 1e-45]),
    "f64": (pa.float64(), FLOATS),
    "g64": (pa.float64(), FLOATS),
    "dec": (pa.decimal128(7, 2), DECIMALS),
    "fee": (pa.decimal128(20, 4), DECIMALS),
    "wide": (pa.decimal128(38, 30), DECIMALS),
    "text": (pa.string(), TEXTS),
    "word": (pa.string(), TEXTS),
    "yes": (pa.bool_(), [True, False]),
    "no": (pa.bool_(), [True, False]),
    "bytes": (pa.binary(), [b"", b"\0", b"\xff", b"a", b"ab"]),
    "raw": (pa.binary(), [b"", b"\0", b"\xff", b"a", b"ab"]),
    "at": (pa.timestamp("us", "UTC"), [each.replace(tzinfo=UTC) for each in MOMENTS]),
    "end": (pa.timestamp("us", "UTC"), [each.replace(tzinfo=UTC) for each in MOMENTS]),
    "local": (pa.timestamp("us"), MOMENTS),
    "day": (pa.date32(), [each.date() for each in MOMENTS]),
}


def table():
    draw = random.Random(5)
    columns = {
        name: pa.array([draw.choice([None, *values, *values]) for _ in range(ROWS)], type)
        for name, (type, values) in COLUMNS.items()
    }
    inner = [{"x.y": draw.choice(FLOATS), "n": draw.choice([None, 1, 2])} for _ in range(ROWS)]
    struct = pa.array([None, *inner[1:]], pa.struct({"x.y": pa.float64(), "n": pa.int32()}))
    return pa.table({"row": pa.array(range(ROWS)), **columns, "s t": struct})


TABLE = table()


@pytest.fixture(scope="module")
def frame(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("sql") / "events.parquet"
    pq.write_table(TABLE, path)
    return spark.read.parquet(str(path))


@contextmanager
def set_to(spark, **options):
    names = {
        "ansi": "spark.sql.ansi.enabled",
        "zone": "spark.sql.session.timeZone",
        "case": "spark.sql.caseSensitive",
    }
    before = {name: spark.conf.get(names[name]) for name in options}
    try:
        for name, option in options.items():
            spark.conf.set(names[name], option)
        yield
    finally:
        for name, option in before.items():
            spark.conf.set(names[name], option)


# ---- random terms

NUMBERS = ["i8", "i16", "i32", "near", "small", "f32", "f64", "g64"]
TIME = [
    "2024-05-31", "1970-01-01", "2024-05-31 04:00:00", "2024-05-31 00:00:00.000001", "9999-12-30T23:59:59",
    "2024-11-03 12:00", "2024-05-31 04:00:00.0000000",
]  # fmt: skip
OFFSET = ["2024-05-31 00:00:00Z", "2024-05-31T02:00:00+02:00", "1970-01-01 00:00:00.5Z"]
CONSTANTS = st.sampled_from(
    [*LONGS, *FLOATS, 0.5, 2.5, 1e19, -1e19, 2**63, 2**64, -(2**70), 10**38, 2, 3, -3, None]
)


def fields(*names):
    return st.sampled_from([Field((name,), side) for name in names for side in (0, 1)])


def constants(values):
    return st.sampled_from([Literal_(each) for each in values])


def call(ops, *args):
    return st.builds(Call, st.sampled_from(ops), st.tuples(*args))


COMPARISONS = ["=", "!=", "<", "<=", ">", ">="]
INNER = st.sampled_from([Field(("s t", "x.y")), Field(("s t", "n"))])
DIGITS = constants([0, 1, 2, 5, 17])
NUMBER = st.recursive(
    fields(*NUMBERS) | INNER | CONSTANTS.map(Literal_),
    lambda inner: st.one_of(
        call(["+", "-", "*", "/", "%"], inner, inner),
        call(["+", "-", "*", "/", "%"], inner, inner),
        call(["neg", "abs", "round", "floor", "ceil"], inner),
        call(["round"], inner, DIGITS),
        call(["least", "greatest", "coalesce"], inner, inner),
    ),
    max_leaves=3,
)
LENGTHS = constants([Interval(Fraction(ms)) for ms in (0, 1, 60_000, 86_400_000, Fraction(1, 1000))])
ZONED, PLAIN_TIMES = fields("at", "end"), fields("local", "day")
DURATION = st.recursive(
    call(["-"], ZONED, ZONED) | call(["-"], PLAIN_TIMES, PLAIN_TIMES) | LENGTHS,
    lambda inner: st.one_of(
        call(["+", "-", "least", "greatest", "coalesce"], inner, inner),
        call(["neg", "abs"], inner),
        call(["*", "/"], inner, constants([2, 0, -3, 0.5, 1.1, None]) | fields("i8", "f32")),
    ),
    max_leaves=3,
)
TEXT = st.recursive(
    fields("text", "word") | constants([*TEXTS, None]),
    lambda inner: call(["lower", "upper"], inner) | call(["least", "greatest", "coalesce"], inner, inner),
    max_leaves=3,
)
PATTERNS = constants(
    ["%", "_", "a%", "%a", "%a%", "__", "\\\\", "\\%", "é", "A_", "", "a\n", "%.%", "'; --", "_%_"]
)
LONG = fields("long", "far")
DECIMAL = fields("dec", "fee", "wide")
WRITTEN = constants([0, 1, -1, 0.1, 1.5, 12.34, 12.345, -0.1, 1e10, 100000, 2**64, math.inf, 1e-20, 1e-30])
WHOLE = fields("i8", "i16", "i32", "long", "far", "near", "small")
COMPARED = st.one_of(
    call(COMPARISONS, NUMBER, NUMBER),
    call(COMPARISONS, WHOLE, WHOLE | CONSTANTS.map(Literal_)),
    call(COMPARISONS, CONSTANTS.map(Literal_), WHOLE | fields("f32", "f64") | INNER),
    call(COMPARISONS, DECIMAL, DECIMAL | WRITTEN | WHOLE),
    call(COMPARISONS, WRITTEN, DECIMAL),
    call(COMPARISONS, fields("text", "word"), fields("text", "word") | constants([*TEXTS, None])),
    call(COMPARISONS, fields("yes", "no"), fields("yes", "no") | constants([True, False, None])),
    call(COMPARISONS, fields("bytes"), fields("raw", "bytes")),
    call(COMPARISONS, fields("at", "end"), fields("at", "end") | constants([*TIME, *OFFSET])),
    call(COMPARISONS, constants([*TIME, *OFFSET]), fields("at")),
    call(COMPARISONS, fields("local", "day"), fields("local", "day") | constants(TIME)),
    call(COMPARISONS, DURATION, DURATION),
    call(COMPARISONS, call(["+", "-"], ZONED, DURATION), ZONED | constants(OFFSET)),
    call(COMPARISONS, call(["+", "-"], PLAIN_TIMES, DURATION), PLAIN_TIMES | constants(TIME)),
    call(COMPARISONS, call(["/"], DURATION, DURATION), NUMBER),
    call(COMPARISONS, TEXT, TEXT),
    call(["like"], TEXT, PATTERNS),
)
EQUAL = st.sampled_from(
    [
        Call("or", tuple(Call("=", (Field((name,)), Literal_(each))) for each in values))
        for name, values in {
            "i8": [1, 2.5, -1.0, 2**70], "long": LONGS, "far": [0.5, 2.0**60, 2**53 + 1], "near": [0.5, 1.5],
            "small": [0, None, 5], "f64": [0, -1.5, math.inf], "f32": FLOATS, "dec": [0.1, 1.5, 1, 0.125],
            "text": TEXTS, "word": ["a", "é"], "yes": [True, False], "at": OFFSET,
            "local": TIME[:5], "day": TIME[:5],
        }.items()
    ]
)  # fmt: skip
ANY = fields(*COLUMNS) | INNER | fields("s t") | NUMBER
TRUTH = st.recursive(
    COMPARED | EQUAL | fields("yes", "no") | call(["isnull"], ANY) | constants([True, None]),
    lambda inner: (
        call(["and", "or"], inner, inner) | call(["and", "or"], inner, inner, inner) | call(["not"], inner)
    ),
    max_leaves=3,
)


def expected(term, rows, zone):
    """Return the engine's values, or None if it refuses the term or some row overflows."""
    at = [rows.schema.get_field_index(name) for name in ("at", "end")]
    for i in at:  # as Spark hands it to Python
        rows = rows.set_column(i, rows.schema.field(i).name, rows.column(i).cast(pa.timestamp("us", zone)))
    try:
        found = evaluate(term, rows)
    except DataError as error:
        return error.diagnostics[0].code
    if isinstance(found, pa.Scalar):
        return [found.as_py()] * rows.num_rows
    return found.to_pylist()


def seen(frame, columns):
    """Return the values of columns in the order of rows; NaN must not come out."""
    named = [each.alias(f"c{i}") for i, each in enumerate(columns)]
    found = frame.select("row", *named).toArrow().sort_by("row")
    return [found.column(f"c{i}").to_pylist() for i in range(len(columns))]


def same(left, right):
    """Tell whether two values are one, with -0.0 apart from 0.0."""
    if isinstance(left, float) and isinstance(right, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return left == right and (left is None) == (right is None)


UNSURE = {"terms": 0, "none": 0}
BATCH = st.lists(st.one_of(TRUTH, TRUTH, TRUTH, NUMBER), min_size=50, max_size=50)


@settings(max_examples=cases(12), phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(BATCH, st.booleans(), st.sampled_from(ZONES))
def test_terms_mean_what_the_engine_means(spark, frame, terms, ansi, zone):
    wanted, columns = [], []
    with set_to(spark, ansi=ansi, zone=zone):
        for term in terms:
            values = expected(term, TABLE, zone)
            found = value(term, frame.schema, zone=zone)
            if values == "wrong-type":
                assert found is None, term
            elif values != "overflow":
                UNSURE["terms"] += 1
                UNSURE["none"] += found is None
                if found is not None:
                    wanted.append((term, values))
                    columns.append(found[0])
        for (term, values), got in zip(wanted, seen(frame, columns), strict=True):
            wrong = [(i, v, g) for i, (v, g) in enumerate(zip(values, got, strict=True)) if not same(v, g)]
            assert not wrong, (term, ansi, zone, wrong[:3])


def test_few_terms_are_left_to_the_engine():
    assert UNSURE["terms"] > 100 and UNSURE["none"] < UNSURE["terms"] / 20, UNSURE


def test_attributes(spark, frame):
    paths = [*((name,) for name in COLUMNS), ("s t", "x.y"), ("s t", "n")]
    found = [value(Field(path), frame.schema) for path in paths]
    for path, got in zip(paths, seen(frame, [each[0] for each in found]), strict=True):
        assert all(map(same, expected(Field(path), TABLE, "UTC"), got)), path
    assert value(Field(("s t",)), frame.schema) is None
    types = {type for _, type in found}
    assert T.LongType() in types and not types & {T.ByteType(), T.ShortType(), T.IntegerType(), T.FloatType()}


A, B, C = Field(("a",)), Field(("b",)), Field(("c",))
LARGE = 2**62
OVERFLOWS = [
    Call("+", (A, B)),
    Call("-", (Call("neg", (A,)), Call("+", (B, Literal_(3))))),
    Call("neg", (Call("-", (Literal_(-(2**63)), C)),)),
    Call("+", (Call("*", (A, Literal_(2))), Literal_(1))),
    Call("isnull", (Call("*", (A, B)),)),
    Call("isnull", (Call("+", (A, Call("*", (B, Literal_(4))))),)),
    Call("<", (Field(("none",)), Call("*", (A, B)))),  # though NULL whatever the other side is
    Call("/", (Call("*", (A, B)), C)),
    Call("%", (Call("*", (A, B)), C)),
    Call("and", (Literal_(False), Call("=", (Call("*", (A, B)), A)))),
    Call("or", (Call("isnull", (Field(("none",)),)), Call("=", (A, Call("*", (A, B)))))),
]


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("term", OVERFLOWS, ids=range(len(OVERFLOWS)))
def test_overflow_is_an_error_wherever_it_happens(spark, term, ansi):
    rows = pa.table({"a": [LARGE], "b": [LARGE], "c": [0], "none": pa.array([None], pa.int64())})
    assert expected_code(term, rows) == "overflow"
    with set_to(spark, ansi=ansi):
        frame = spark.createDataFrame(rows)
        with pytest.raises(SparkRuntimeException, match=r"error\[overflow\]: .*64-bit integers"):
            frame.select(value(term, frame.schema)[0]).collect()


def expected_code(term, rows):
    with pytest.raises(DataError) as caught:
        evaluate(term, rows)
    return caught.value.diagnostics[0].code


def test_overflow_shows_its_place(spark):
    source = "WHERE A.a * 4 > 1"
    term = Call(">", (Call("*", (A, Literal_(4)), Span(6, 13)), Literal_(1)))
    rows = pa.table({"a": [LARGE]})
    with pytest.raises(DataError) as wanted:
        evaluate(term, rows, Place(source, "a.q"))
    frame = spark.createDataFrame(rows)
    with pytest.raises(SparkRuntimeException) as found:
        frame.filter(condition(term, frame.schema, Place(source, "a.q"))).collect()
    assert wanted.value.render() in str(found.value)


@pytest.mark.parametrize(
    "term",
    [
        Call("<", (Field(("long",)), Field(("f64",)))),
        Call("<", (Field(("dec",)), Field(("f64",)))),
        Call("<", (Field(("dec",)), Call("+", (Literal_(0.5), Literal_(0.5))))),
        Call("<", (Field(("dec",)), Literal_(1e-40))),
        Call("<", (Field(("wide",)), Field(("long",)))),
        Call("+", (Field(("dec",)), Literal_(1))),
        Call("=", (Field(("text",)), Literal_(1))),
        Call("=", (Field(("yes",)), Literal_(1))),
        Call("=", (Field(("i8",)), Literal_(True))),
        Call("=", (Field(("at",)), Field(("local",)))),
        Call("=", (Field(("at",)), Literal_("2024-05-31"))),  # in which zone is not said
        Call("=", (Field(("local",)), Literal_("2024-05-31 00:00:00.000000001"))),
        Call("=", (Field(("local",)), Literal_("today"))),
        Call("=", (Field(("word",)), Literal_("\ud800"))),
        Call("=", (Field(("s t",)), Field(("s t",)))),
        Call("and", (Field(("i8",)), Field(("yes",)))),
        Call("+", (Call("*", (Literal_(2**62), Literal_(4))), Field(("i8",)))),
        Field(("missing",)),
        Field(("TEXT",)),
        Field(("text", "x")),
        Field(("s t", "X.Y")),
    ],
    ids=str,
)
def test_what_is_left_to_the_engine(frame, term):
    assert value(term, frame.schema) is None and condition(term, frame.schema) is None


def test_types_left_to_the_engine(spark):
    schema = (
        T.StructType()
        .add("c", T.StringType("UNICODE_CI"))
        .add("d", T.DayTimeIntervalType())
        .add("v", T.VarcharType(3))
    )
    schema = schema.add("Twin", T.LongType()).add("twin", T.LongType())
    for name in schema.names:
        assert value(Field((name,)), schema) is None
        assert condition(Call("=", (Field((name,)), Literal_("a"))), schema) is None
        assert superset(bound(["A"], ((Call("<", (Field((name,)), Literal_("a"))),),)), schema, None) is None
    assert condition(Call("isnull", (Field(("d",)),)), schema) is not None


def test_a_time_that_occurs_twice_is_left_to_the_engine(frame):
    term = Call("<", (Field(("at",)), Literal_("2024-11-03 01:30:00")))
    assert condition(term, frame.schema, zone="UTC") is not None
    assert condition(term, frame.schema, zone="America/New_York") is None


# ---- labels


def bound(types, local=None, defined=None):
    labels = tuple(Label(f"x{i}", type, False) for i, type in enumerate(types))
    return Bound(
        pattern=Atom("x0", "x0"), labels=labels, semantics="any", local=local or ((),) * len(labels), adjacent=(),
        keys=(), group=(), group_names=(), outputs=(), window=None, types=defined,
    )  # fmt: skip


MANY = [f"x{i}" for i in range(64)]
PRICE = Field(("price",))
EVENTS = pa.table(
    {
        "type": ["A", "B", "C", None, "A", "B", "'A'", "a"],
        "code": pa.array([1, 2, -3, None, 1, 127, 0, 2], pa.int8()),
        "void": pa.nulls(8),
        "price": pa.array([1.0, 5.0, math.nan, 2.0, None, -0.0, 9.0, 4.0]),
        "size": [LARGE, 2, 3, LARGE, None, 0, 7, LARGE],
        "row": range(8),
    }
)
HIGH, LOW = Call(">", (PRICE, Literal_(3))), Call("<=", (PRICE, Literal_(2)))
DOUBLED = Call(">", (Call("*", (Field(("size",)), Literal_(4))), Literal_(8)))
CASES = [
    (bound(["A", "B", "A"]), "type"),
    (bound(["A", "B", "A"], ((HIGH,), (HIGH, LOW), ())), "type"),
    (bound(["A", "B"], ((LOW, HIGH), ())), "type"),
    (bound(["B", "C"], ((DOUBLED,), (DOUBLED,))), "type"),  # rows of type A would overflow
    (bound(["A", "B"], ((HIGH, DOUBLED), (DOUBLED,))), "type"),
    (bound(["1", "-3", "127", "200", "01", "x", "1"]), "code"),
    (bound(["x"]), "code"),
    (bound(["1", "2"]), "void"),
    (bound(["A", "B"], ((HIGH,), ())), None),
    (bound(["cheap", "dear", "any"], ((), (Call("!=", (PRICE, Literal_(5))),), ()),
           (("cheap", LOW), ("dear", HIGH), ("any", Literal_(True)))), None),
    (bound(["A"] * 7), "type"),
    (bound(["B"] * 8, ((HIGH,),) * 8), "type"),
    (bound(["A"] * 15 + ["B"]), "type"),
    (bound([*"AB"] * 16), "type"),
    (bound([*"AB"] * 32), "type"),
    (bound([*"BA"] * 32, ((HIGH,),) * 64), "type"),
    (bound(["A"] * 65), "type"),
]  # fmt: skip


@pytest.mark.parametrize("local", [True, False])
def test_masks(spark, local):
    frame = spark.createDataFrame(EVENTS)
    found = [masks(query, frame.schema, name, local) for query, name in CASES]
    assert found.pop() is None
    result = frame.select("row", *(each.alias(f"c{i}") for i, each in enumerate(found))).toArrow().sort_by("row")
    for i, (query, name) in enumerate(CASES[:-1]):
        got = result.column(f"c{i}")
        count = len(query.labels)
        assert got.type.bit_width == next(bits for bits in (8, 16, 32, 64) if count < bits or bits == 64)
        asked = query if local else bound([label.type for label in query.labels], None, query.types)
        wanted = label_masks(asked, EVENTS, name)
        unsigned = got.to_numpy().astype(np.int64).view(np.uint64)
        assert unsigned.tolist() == wanted.astype(np.uint64).tolist(), i


def test_masks_raise_as_the_engine_does(spark):
    frame = spark.createDataFrame(EVENTS)
    query = bound(["A", "B"], ((DOUBLED,), (DOUBLED,)))
    with pytest.raises(DataError):
        label_masks(query, EVENTS, "type")
    with pytest.raises(SparkRuntimeException, match="overflow"):
        frame.select(masks(query, frame.schema, "type")).collect()


def test_masks_left_to_the_engine(frame):
    assert masks(bound(["A"]), frame.schema, "f64") is None
    assert masks(bound(["A"]), frame.schema, "missing") is None
    mixed = Call("<", (Field(("long",)), Field(("f64",))))
    assert masks(bound(["A"], ((mixed,),)), frame.schema, "text") is None
    assert masks(bound(["A"], ((mixed,),)), frame.schema, "text", local=False) is not None


# ---- filters for Parquet


def pushed(frame, part):
    frame.sparkSession.conf.set("spark.sql.maxMetadataStringLength", 1000)
    plan = frame.filter(part)._jdf.queryExecution().executedPlan().toString()
    [line] = [line for line in plan.splitlines() if "PushedFilters" in line]
    return line.split("PushedFilters: [")[1].split("], ReadSchema")[0]


@pytest.fixture(scope="module")
def stored(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("sql") / "few.parquet"
    pq.write_table(EVENTS.drop_columns("void").append_column("s", pa.array([{"x": i} for i in range(8)])), path)
    return spark.read.parquet(str(path))


CODE, SIZE, TYPE = Field(("code",)), Field(("size",)), Field(("type",))
INSIDE = Call(">", (Field(("s", "x")), Literal_(2)))
MIXED = Call("<", (SIZE, PRICE))
LISTED = Call("or", tuple(Call("=", (CODE, Literal_(each))) for each in (1, 2.0)))


@pytest.mark.parametrize(
    ("query", "name", "wanted"),
    [
        (bound(["A"]), "type", ["IsNotNull(type)", "EqualTo(type,A)"]),
        (bound(["A", "B", "A"]), "type", ["In(type, [A,B])"]),
        (bound(["A", "B"], ((HIGH,), ())), "type",
         ["Or(And(EqualTo(type,A),GreaterThan(price,3.0)),EqualTo(type,B))"]),
        (bound(["A", "B", "C"], ((HIGH, LOW), (HIGH,), (HIGH,))), "type",
         ["GreaterThan(price,3.0)", "Or(And(EqualTo(type,A),LessThanOrEqual(price,2.0)),In(type, [B,C]))"]),
        (bound(["A", "A"], ((HIGH,), (LOW,))), "type",
         ["EqualTo(type,A)", "Or(GreaterThan(price,3.0),LessThanOrEqual(price,2.0))"]),
        (bound(["1", "2", "x"]), "code", ["In(code, [1,2])"]),
        (bound(["A"], ((INSIDE, MIXED),)), None, ["GreaterThan(s.x,2)", "IsNotNull(size)", "IsNotNull(price)"]),
        (bound(["A"], ((Call("<", (SIZE, Literal_(2.5))), LISTED),)), None,
         ["LessThan(size,3)", "In(code, [1,2])"]),
        (bound(["A"], ((Call("not", (Call("and", (HIGH, INSIDE)),)),),)), None,
         ["Or(LessThanOrEqual(price,3.0),LessThanOrEqual(s.x,2))"]),
        (bound(["A"], ((Call("not", (Call("isnull", (SIZE,)),)),),)), None, ["IsNotNull(size)"]),
        (bound(["A"], ((Call("isnull", (CODE,)),),)), None, ["IsNull(code)"]),
        (bound(["cheap", "dear"], None, (("cheap", LOW), ("dear", HIGH))), None,
         ["Or(LessThanOrEqual(price,2.0),GreaterThan(price,3.0))"]),
    ],
)  # fmt: skip
def test_filters_reach_parquet(stored, query, name, wanted):
    part = superset(query, stored.schema, name)
    found = pushed(stored, part)
    assert all(each in found for each in wanted), found
    kept = {row.row for row in stored.filter(part).collect()}
    try:
        has = label_masks(query, stored.toArrow(), name) != 0
    except DataError:
        return
    assert set(np.flatnonzero(has)) <= kept < set(range(8))


def test_both_zeros_pass(spark, tmp_path):
    rows = pa.table({"f": [-0.0, -1.0, -0.0], "g": pa.array([0.0, 1.0, 0.0], pa.float32())})
    pq.write_table(rows, tmp_path / "zeros.parquet")
    frame = spark.read.parquet(str(tmp_path / "zeros.parquet"))
    for name, op, zero in (("f", ">=", 0), ("f", "=", 0.0), ("g", "<=", -0.0), ("g", "=", -0.0)):
        query = bound(["A"], ((Call(op, (Field((name,)), Literal_(zero))),),))
        part = superset(query, frame.schema, None)
        assert "Equal" in pushed(frame, part)
        assert frame.filter(part & (masks(query, frame.schema, None) != 0)).count() == 2


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (bound(["A"]), None),
        (bound(["A"], ((Call("isnull", (PRICE,)),),)), None),
        (bound(["A", "B"], ((HIGH,), ())), None),
        (bound(["A"], ((Call("or", (HIGH, Call("isnull", (PRICE,)))),),)), None),
        (bound(["A"]), "missing"),
        (bound(["A"], ((Call("not", (Call("isnull", (Field(("missing",)),)),)),),)), None),
        (bound(["any"], None, (("any", Literal_(True)),)), None),
    ],
)
def test_nothing_to_push(stored, query, name):
    assert superset(query, stored.schema, name) is None


@settings(max_examples=cases(4), phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(TRUTH, max_size=2), min_size=30, max_size=30), st.booleans())
def test_filters_keep_all_that_has_a_label(spark, frame, predicates, ansi):
    queries, flags = [], []
    with set_to(spark, ansi=ansi):
        for i in range(0, len(predicates), 2):
            query = bound(["a", "b"], tuple(map(tuple, predicates[i : i + 2])))
            name = "text" if i % 3 else None
            part = superset(query, frame.schema, name, zone="UTC")
            try:
                has = label_masks(query, TABLE, name) != 0
            except DataError:
                continue
            if part is not None:
                queries.append((query, has))
                flags.append(F.coalesce(part, F.lit(False)))
        assert queries
        for (query, has), got in zip(queries, seen(frame, flags), strict=True):
            assert not (has & ~np.array(got)).any(), query


def test_long_lists(stored):
    listed = Call("or", tuple(Call("=", (SIZE, Literal_(each))) for each in range(2, 300)))
    query = bound(["A"], ((listed,),))
    rows = stored.filter(superset(query, stored.schema, None)).select(masks(query, stored.schema, None))
    assert [row[0] for row in rows.collect()] == [1, 1, 1]


# ---- names and constants of others

HOSTILE = [
    "a`b",
    "``",
    "a.b",
    "a b",
    "a'b",
    'a"b',
    "1); DROP TABLE x; --",
    "*",
    "x.*",
    "é",
    "",
    "${x}",
    "a\nb",
    "current_date",
]


@pytest.mark.parametrize("case", [True, False])
def test_hostile_names(spark, case):
    rows = pa.table(
        {
            **{name: [i, None] for i, name in enumerate(HOSTILE)},
            "in `s": pa.array([{name: i for i, name in enumerate(HOSTILE)}, None]),
            "text": [HOSTILE[1], "x"],
        }
    )
    with set_to(spark, case=case):
        frame = spark.createDataFrame(rows)
        paths = [*((name,) for name in HOSTILE), *(("in `s", name) for name in HOSTILE)]
        found = frame.select(*(value(Field(path), frame.schema)[0] for path in paths)).collect()
        assert list(found[0]) == [*range(len(HOSTILE))] * 2 and set(found[1]) == {None}
        equal = [condition(Call("=", (Field(("text",)), Literal_(text))), frame.schema) for text in HOSTILE]
        assert list(frame.select(*equal).first()) == [text == HOSTILE[1] for text in HOSTILE]
        odd = bound(HOSTILE)
        assert [row[0] for row in frame.select(masks(odd, frame.schema, "text")).collect()] == [2, 0]
        typed = bound(["0", "1"])
        for name in HOSTILE[:2]:
            got = [row[0] for row in frame.select(masks(typed, frame.schema, name)).collect()]
            assert got == label_masks(typed, rows, name).tolist()
            assert frame.filter(superset(typed, frame.schema, name)).count() == 1


def test_no_text_is_parsed_by_spark():
    # its parser of SQL takes a third of a second to load, in the first query of a session
    text = re.compile(r"""\b(cast|try_cast|astype|expr|selectExpr|filter|where)\(f?["']""")
    found = [(path.name, line) for path in SOURCES.rglob("*.py") for line in text.findall(path.read_text())]
    assert not found


# ---- times, durations and functions


@pytest.mark.parametrize("zone", ZONES)
def test_values_of_rows(spark, frame, zone):
    """What a query computes from a row is the same column here and there, in SQL wherever SQL has one."""
    minute = Literal_(Interval(Fraction(60_000)))
    at, end, f64, text = (Field((name,)) for name in ("at", "end", "f64", "text"))
    terms = [
        Call("/", (Call("-", (end, at)), minute)), Call("abs", (f64,)),
        Call("round", (f64, Literal_(1))), Call("floor", (f64,)), Call("ceil", (Field(("f32",)),)),
        Call("least", (Field(("i8",)), f64)), Call("coalesce", (Field(("i8",)), Field(("small",)))),
        Call("upper", (text,)), Call("coalesce", (text, Literal_("none"))),
    ]  # fmt: skip
    at_index = [TABLE.schema.get_field_index(name) for name in ("at", "end")]
    rows = TABLE
    for i in at_index:
        rows = rows.set_column(i, rows.schema.field(i).name, rows.column(i).cast(pa.timestamp("us", zone)))
    with set_to(spark, zone=zone):
        found = [value(term, frame.schema, zone=zone) for term in terms]
        assert None not in found
        for term, (_, type), got in zip(terms, found, seen(frame, [each[0] for each in found]), strict=True):
            wanted = row_values(term, rows)
            assert to_arrow(type).id == wanted.type.id, term
            assert all(same(v, g) for v, g in zip(wanted.to_pylist(), got, strict=True)), (term, zone)


def test_case_of_all_letters(spark):
    """Letters have one case in Python and in Java, but for those that a newer Unicode has given one."""
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    old = [letter for letter in letters if unicodedata.ucd_3_2_0.category(letter) != "Cn"]
    words = [*old, "ΑΣ", "ΑΣ ΑΣΑ", "ﬃ", "ŉx"]
    frame = spark.createDataFrame(pa.table({"row": range(len(words)), "w": words}))
    columns = [value(Call(op, (Field(("w",)),)), frame.schema)[0] for op in ("lower", "upper")]
    lower, upper = seen(frame, columns)
    assert lower == [word.lower() for word in words]
    other = [word for word, found in zip(words, upper, strict=True) if found != word.upper()]
    assert len(other) < 10 and all(word.upper() == word for word in other)
